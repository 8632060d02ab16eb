/* compile.c - see compile.h. The order of the passes is that of main.c. */
#include "cli/compile.h"
#include "cli/judge.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "emit/emitter.h"
#include "emit/measured.h"
#include "form/form.h"
#include "form/lint.h"
#include "plan/plan.h"
#include "schedule/check.h"
#include "schedule/cover.h"
#include "schedule/print.h"
#include "schedule/program.h"
#include "spec/names.h"
#include "util/answers.h"
#include "util/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    SPEC_LIMIT =
        (1 << 20) + 1, /* bytes read: one more than spec_read takes, so that it sees when there are more */
    MEMORY_MOST = 900 << 20, /* bytes that a spec may take */
    ENTRIES_MOST = 6000000   /* form_entries, for which it takes 600 MB */
};

struct kept {
    struct wigner wigner;
    struct answers *synced;
};

struct kept *compile_begin(struct arena *a)
{
    struct kept *kept = NEW(a, struct kept);
    kept->wigner.arena = arena_part(a);
    kept->synced = answers_begin(a);
    return kept;
}

static void tell(struct product *product, const struct diag *diag, const struct options *options)
{
    diag_print(&product->told, diag, messages_format(&options->messages, isatty(STDERR_FILENO)));
}

/* `cgtpgen: path: reason` for what errno says. */
static enum exit_status io_error(struct product *product, const struct options *options, const char *path)
{
    messages_lines(&product->told, options->messages.json, "error",
                   arena_printf(product->told.arena, "cgtpgen: %s: %s\n", path, strerror(errno)));
    return EXIT_IO;
}

/* What is no path was hardly meant as a file: `cgtpgen help`. */
static enum exit_status no_spec(struct product *product, const struct options *options)
{
    messages_lines(&product->told, options->messages.json, "error",
                   arena_printf(product->told.arena,
                                "cgtpgen: %s: %s; a spec is a file, and --help lists the options\n",
                                product->shown, strerror(ENOENT)));
    return EXIT_IO;
}

static bool has(unsigned bits, int kind)
{
    return bits & 1u << kind;
}

/* The log's rows of a product, where there is one. */
static enum exit_status read_measured(struct arena *a, const struct options *options, struct product *product,
                                      const struct measured **measured)
{
    if (!options->measured)
        return EXIT_OK;
    struct diag diag = {.arena = a, .file = options->measured};
    diag.source = file_read_regular(a, options->measured, &diag.source_size);
    if (!diag.source)
        return io_error(product, options, options->measured);
    if (diag.source_size >= SPEC_LIMIT)
        diag_report(&diag, DIAG_LIMIT, (struct pos){0}, "the file is larger than 1 MiB");
    else
        *measured = measured_read(a, product->schedules, &diag);
    tell(product, &diag, options);
    return diag.errors ? EXIT_SPEC : EXIT_OK;
}

/* Makes the files that are asked for. */
static enum exit_status emit(struct arena *a, const struct options *options, struct product *product,
                             struct diag *diag)
{
    struct output_file *file;
    struct emission from = {.backend = options->backend,
                            .schedules = product->schedules,
                            .of_folder = product->first,
                            .progress = progress_show};
    const enum exit_status read = read_measured(a, options, product, &from.measured);
    if (read)
        return read;
    product->files = emit_files(a, &from, options->emit, &file);
    product->text = file;
    product->own = product->files;
    product->output = NEW_ARRAY(a, struct file_content, product->files);
    for (int i = 0; i < product->files; i++)
        product->output[i] =
            (struct file_content){product_path(a, options->output, file[i].name), file[i].text, file[i].size};
    diag->messages = diag->errors = diag->warnings = 0; /* those until here are told */
    if (!options->list)
        judge_cost(product->schedules, file, product->files, options->messages.severity, diag);
    tell(product, diag, options);
    return diag->errors ? EXIT_SPEC : EXIT_OK;
}

/* Runs the passes on one spec. */
static enum exit_status compile(struct arena *a, struct kept *kept, const struct options *options,
                                struct mutation *mutation, struct product *product)
{
    struct text dump = {.arena = a};
    size_t size;
    const char *source = file_read(a, product->file, SPEC_LIMIT, &size);
    if (!source && errno == ENOENT && !strpbrk(product->file, "./"))
        return no_spec(product, options);
    if (!source)
        return io_error(product, options, product->shown);

    struct diag diag = {.arena = a,
                        .file = product->shown,
                        .source = source,
                        .source_size = size,
                        .severity = options->messages.severity};
    struct form *form = NULL;
    struct spec *spec = spec_read(a, &diag);
    if (spec && options->name && !name_product(a, spec, options->name, &diag))
        spec = NULL;
    if (spec && has(options->dump, DUMP_SPEC))
        spec_print(&dump, spec);
    struct problem *problem = spec ? problem_build(a, &kept->wigner, spec, &diag) : NULL;
    if (problem) {
        if (has(options->dump, DUMP_PROBLEM))
            print_problem(&dump, problem);
        form = form_build(a, problem, &diag);
        backend_check_knobs(spec, &diag);
    }
    if (form)
        lint(problem, form, &diag);
    const int64_t entries = form ? form_entries(problem, form) : 0;
    if (entries > ENTRIES_MOST)
        diag_report(&diag, DIAG_LIMIT, (struct pos){0},
                    "its kernels have %lld terms of coefficients; at most %d can be coded in one spec",
                    (long long)entries, ENTRIES_MOST);
    tell(product, &diag, options);
    if (diag.errors) /* warnings may be errors */
        form = NULL;
    enum exit_status status = form ? EXIT_OK : EXIT_SPEC;
    if (form && !options->lint) {
        if (has(options->dump, DUMP_FORM))
            print_form(&dump, form);
        const struct plan *plan = plan_build(a, problem, form);
        if (has(options->dump, DUMP_PLAN))
            plan_print(&dump, plan);
        const struct target target = {
            .device = options->device, .evaluations = options->backend->evaluations, .synced = kept->synced};
        struct schedules *all = schedules_build(a, plan, &target);
        all->mutation = mutation;
        product->schedules = all;
        if (has(options->dump, DUMP_SCHEDULES))
            programs_dump(&dump, all);
        if (has(options->dump, DUMP_CODE))
            schedules_dump(&dump, all);
        struct text wrong = {.arena = a};
        if (schedules_check(a, all, &wrong)) {
            text_printf(&dump, "%s: the plan is wrong; please report this:\n%s", product->shown,
                        text_string(&wrong));
            text_put(&product->told, text_string(&dump), dump.n);
            return EXIT_INTERNAL;
        }
        if (options->write)
            status = emit(a, options, product, &diag);
    }
    if (has(options->dump, DUMP_MEMORY))
        text_printf(&dump, "%s: %zu bytes of memory at most so far\n", product->shown, a->most);
    text_put(&product->told, text_string(&dump), dump.n);
    return status;
}

/* compile() in no more memory than a spec may take. What grows with a spec and with all that is made of it
 * is memory, so that this bounds the time, too. */
static enum exit_status compile_within(struct arena *a, struct kept *kept, const struct options *options,
                                       struct mutation *mutation, struct product *product)
{
    jmp_buf outer;
    memcpy(&outer, &a->failure, sizeof outer);
    a->limit = a->used + MEMORY_MOST;
    if (setjmp(a->failure)) {
        memcpy(&a->failure, &outer, sizeof outer);
        if (!a->limited)
            longjmp(a->failure, 1);
        a->limit = 0;
        if (a->scratch)
            arena_empty(a->scratch);
        struct diag diag = {.file = product->shown, .arena = a};
        diag_report(&diag, DIAG_LIMIT, (struct pos){0},
                    "it takes more than 900 MiB of memory: it needs fewer paths, fewer kernels, or to be "
                    "several specs");
        tell(product, &diag, options);
        return EXIT_SPEC;
    }
    enum exit_status status = compile(a, kept, options, mutation, product);
    memcpy(&a->failure, &outer, sizeof outer);
    a->limit = 0;
    return status;
}

enum exit_status compile_spec(struct arena *a, struct kept *kept, const struct options *options,
                              struct mutation *mutation, struct product *product)
{
    const struct arena_mark mark = arena_mark(a);
    product->told = (struct text){.arena = a};
    const enum exit_status status = compile_within(a, kept, options, mutation, product);
    if (product->schedules)
        product_learn(a, options->backend, product);
    if (!options->print && !mutation && !emit_has(options->emit, "runtime"))
        product_settle(a, mark, product);
    return status;
}
