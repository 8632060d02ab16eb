/* emitter.c - see emitter.h. */
#include "emit/emitter.h"
#include "emit/effort.h"
#include "emit/emit.h"
#include "emit/jax.h"
#include "emit/memory.h"
#include "emit/plan_text.h"
#include "emit/python.h"
#include "emit/report.h"
#include "emit/seal.h"
#include "emit/torch.h"
#include "emit/tune.h"
#include "emit/unity.h"
#include "schedule/alternatives.h"
#include "schedule/cover.h"

#include <string.h>

static void header(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_header(out, e->schedules, e->memory);
}

static void descriptor(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_descriptor(out, e->schedules, e->memory, e->backend->name);
}

static void kernel_source(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    e->backend->kernel(out, e->schedules, kernel);
}

static void selftest(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_selftest(out, e->schedules->plan);
}

static void cpp_header(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_cpp(out, e->schedules->plan);
}

static void unity(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_unity(out, e);
}

static void report(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_report(out, e);
}

static void plan_text(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_plan_text(out, e);
}

static void torch_operators(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_torch_operators(out, e);
}

static void torch_module(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_torch_module(out, e->schedules->plan);
}

static void jax_handlers(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_jax_handlers(out, e);
}

static void jax_module(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_jax_module(out, e->schedules->plan);
}

static void python_project(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)e;
    (void)kernel;
    emit_python_project(out);
}

static void python_setup(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)e;
    (void)kernel;
    emit_python_setup(out);
}

static void tune_program(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_tune_program(out, e);
}

static void tune_makefile(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_tune_makefile(out, e);
}

const struct emitter emitter_table[] = {
    {.word = "header", .by_default = true, .suffix = ".h", .emit = header},
    {.word = "hpp", .suffix = ".hpp", .emit = cpp_header},
    {.word = "source", .by_default = true, .suffix = ".c", .emit = descriptor},
    {.word = "source", .by_default = true, .emit = kernel_source},
    {.word = "unity", .of_backend = true, .suffix = ".unity", .emit = unity},
    {.word = "plan", .suffix = ".plan.txt", .emit = plan_text},
    {.word = "selftest", .suffix = "_selftest.c", .emit = selftest},
    {.word = "torch", .suffix = "_torch.cpp", .emit = torch_operators},
    {.word = "torch", .suffix = ".py", .emit = torch_module},
    {.word = "torch", .of_folder = true, .suffix = "pyproject.toml", .emit = python_project},
    {.word = "torch", .of_folder = true, .suffix = "setup.py", .emit = python_setup},
    {.word = "jax", .suffix = "_jax.cpp", .emit = jax_handlers},
    {.word = "jax", .suffix = "_jax.py", .emit = jax_module},
    {.word = "jax", .of_folder = true, .suffix = "pyproject.toml", .emit = python_project},
    {.word = "jax", .of_folder = true, .suffix = "setup.py", .emit = python_setup},
    {.word = "tune", .backend = "cuda", .tunes = true, .suffix = ".tune.c", .emit = tune_program},
    {.word = "tune", .backend = "cuda", .tunes = true, .suffix = ".tune.mk", .emit = tune_makefile},
    {.word = "tune", .backend = "cuda", .tunes = true, .of_alternative = true, .emit = emit_tune_alternative},
    {.word = "runtime", .of_call = true},
    {.word = "check", .of_call = true, .runtime = "cgtp_check.h"},
    {.word = "ranks", .of_call = true, .runtime = "cgtp_ranks.h"},
    {.word = "device", .backend = "cuda", .of_call = true, .runtime = "cgtp_graph.cu"},
    {.word = "report", .reads_measured = true, .suffix = ".html", .emit = report},
};
const int emitter_count = sizeof emitter_table / sizeof *emitter_table;

/* The name of a row's file; f: the kernel where it has one for each; number: of the alternative, likewise. */
static const char *file_name(struct arena *a, const struct emitter *e, const struct backend *b,
                             const struct plan *plan, const struct kernel_form *f, int number)
{
    const char *name = plan->problem->spec->name;
    return e->of_folder        ? e->suffix
           : e->suffix         ? arena_printf(a, "%s%s%s", name, e->suffix, e->of_backend ? b->suffix : "")
           : e->of_alternative ? emit_tune_file(a, b, plan, f, number)
                               : arena_printf(a, "%s_%s%s", name, f->name, b->suffix);
}

/* Has a row before this one, of those that are asked for, the same file? */
static bool repeats(int row, unsigned rows)
{
    const struct emitter *e = &emitter_table[row];
    bool found = false;
    for (int i = 0; i < row && e->of_folder; i++)
        found |= rows & 1u << i && emitter_table[i].of_folder && !strcmp(emitter_table[i].suffix, e->suffix);
    return found;
}

int emit_names(struct arena *a, const struct backend *b, const struct plan *plan, const char ***names)
{
    const char **list = NEW_ARRAY(a, const char *, emitter_count + plan->kernels * (1 + ALTERNATIVES_MOST));
    int n = 0;
    for (int i = 0; i < emitter_count; i++) {
        const struct emitter *e = &emitter_table[i];
        for (int k = 0; k < (e->suffix ? 1 : plan->kernels) && !e->of_call && !repeats(i, ~0u); k++)
            for (int number = 1; number <= (e->of_alternative ? ALTERNATIVES_MOST : 1); number++)
                list[n++] = file_name(a, e, b, plan, plan->kernel[k].form, number);
    }
    *names = list;
    return n;
}

unsigned emit_default(void)
{
    unsigned rows = 0;
    for (int i = 0; i < emitter_count; i++)
        rows |= emitter_table[i].by_default ? 1u << i : 0;
    return rows;
}

bool emit_has(unsigned rows, const char *word)
{
    bool has = false;
    for (int i = 0; i < emitter_count; i++)
        has |= rows & 1u << i && !strcmp(emitter_table[i].word, word);
    return has;
}

/* Files in memory. */
struct files {
    struct arena *arena;
    int n, capacity;
    struct output_file *file;
};

/* The text of a mutant's file says so, for it looks like any other. */
static char *marked(struct arena *a, const char *text, size_t *size, int mutant)
{
    const char *by = strstr(text, SEAL_BY), *rest = by ? by : text;
    struct text t = {.arena = a};
    text_put(&t, text, (size_t)(rest - text));
    text_printf(&t, "With a mistake made on purpose (--mutate=%d). ", mutant);
    text_put(&t, rest, *size - (size_t)(rest - text));
    *size = t.n;
    return t.s;
}

static void add_file(struct files *all, const struct emission *from, const char *name, char *text,
                     size_t size, int kernel)
{
    const struct mutation *mutation = from->schedules->mutation;
    if (mutation && mutation->wanted)
        text = marked(all->arena, text, &size, mutation->wanted);
    seal_set(text, size);
    all->file = arena_grow(all->arena, all->file, all->n, &all->capacity, sizeof *all->file);
    all->file[all->n++] = (struct output_file){name, text, size, kernel};
}

/* A row's files: one, or one for each kernel. */
static void add_files(struct files *all, const struct emission *from, const struct emitter *e)
{
    const struct plan *plan = from->schedules->plan;
    int count = e->of_folder && !from->of_folder ? 0 : e->suffix ? 1 : plan->kernels;
    for (int k = 0; k < count; k++) {
        struct text out = {.arena = all->arena};
        e->emit(&out, from, e->suffix ? NULL : &from->schedules->kernel[k]);
        add_file(all, from, file_name(all->arena, e, from->backend, plan, plan->kernel[k].form, 0), out.s,
                 out.n, e->suffix ? -1 : k);
    }
}

/* The same for each alternative of each kernel, whose plans are large: each is made again, and forgotten. */
static void add_alternatives(struct files *all, const struct emission *from, const struct emitter *e)
{
    struct arena *a = all->arena;
    const struct plan *plan = from->schedules->plan;
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < from->alternatives[k]->n; i++) {
            const struct alternative *q = &from->alternatives[k]->alternative[i];
            const char *name = file_name(a, e, from->backend, plan, plan->kernel[k].form, i + 1);
            const struct arena_mark mark = arena_mark(a);
            struct text out = {.arena = a};
            struct emission one = *from;
            struct schedules *planned = schedules_with(a, from->schedules, k, q->knobs, q->knob);
            schedules_finish(a, planned, k);
            one.schedules = planned;
            one.alternative = i + 1;
            e->emit(&out, &one, &one.schedules->kernel[k]);
            const size_t size = out.n;
            const char *kept = arena_copy(arena_scratch(a), text_string(&out), size + 1);
            arena_release(a, mark);
            add_file(all, from, name, arena_copy(a, kept, size + 1), size, k);
            arena_empty(a->scratch);
        }
}

static void tell(const struct emission *from, int kernel)
{
    if (from->progress)
        from->progress(from->schedules->plan, kernel);
}

int emit_files(struct arena *a, const struct emission *from, unsigned rows, struct output_file **files)
{
    struct files all = {.arena = a};
    struct emission e = *from;
    e.memory = memory_build(a, from->schedules);
    bool tunes = false;
    for (int i = 0; i < emitter_count; i++)
        tunes |= emitter_table[i].tunes && (rows & 1u << i);
    const int kernels = from->schedules->plan->kernels;
    const struct alternatives **found = NEW_ARRAY(a, const struct alternatives *, kernels + 1);
    for (int k = 0; k < kernels && tunes; k++) {
        tell(from, k);
        found[k] = alternatives_find(a, from->schedules, k);
    }
    e.alternatives = tunes ? found : NULL;
    for (int i = 0; i < emitter_count; i++) {
        if (!(rows & 1u << i) || emitter_table[i].of_call || repeats(i, rows))
            continue;
        if (emitter_table[i].of_alternative)
            add_alternatives(&all, &e, &emitter_table[i]);
        else
            add_files(&all, &e, &emitter_table[i]);
    }
    if (tunes)
        tell(from, -1);
    *files = all.file;
    return all.n;
}

void emit_lint(const struct schedules *all, const struct output_file *file, int files, struct diag *diag)
{
    enum { LONG = 60 }; /* seconds */
    const struct backend *b = backend_of(all);
    for (int i = 0; i < files; i++) {
        const double seconds = file[i].kernel >= 0 ? effort_of(diag->arena, b, file[i].text).seconds : 0;
        if (seconds < LONG)
            continue;
        const struct spec_kernel *k = &all->plan->problem->spec->kernel[file[i].kernel];
        diag_report(diag, DIAG_LARGE_CODE, k->pos,
                    "%s takes about %s for the source of kernel %s, which has %.1f MB", b->rates.compiler,
                    duration_text(diag->arena, seconds), k->name, (double)file[i].size / 1e6);
    }
}
