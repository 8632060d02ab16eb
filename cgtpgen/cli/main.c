/* main.c - the order of the passes, and what becomes of their results.
 *
 *     arguments_read  the command line, with words that stand in files
 *     options_read    -> struct options
 *     spec_read       YAML text -> struct spec            what the file says
 *     problem_build   -> struct problem                   paths, exact coefficients, weight layout
 *     form_build      -> struct form                      every kernel as sums of derivatives of one number
 *     lint                                                what was said in vain?
 *     plan_build      -> struct plan                      roles of paths, their matrices
 *     schedules_build -> struct schedules                 which evaluations compute a kernel, and how
 *     schedules_check                                     is that sound?
 *     emit_files      -> files                            text in memory
 *     deliver         print, compare or write them
 *
 * The passes from spec_read to emit_files are called by compile.c, for several specs at a time (crew.c). All
 * specs of a call are compiled before anything is written: when one is wrong, no file changes.
 */
#include "cli/arguments.h"
#include "cli/crew.h"
#include "cli/depend.h"
#include "cli/leftover.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/product.h"
#include "cli/replace.h"
#include "cli/vendor.h"
#include "emit/emitter.h"
#include "emit/seal.h"
#include "schedule/code_print.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Generated files that stayed behind. */
struct leftovers {
    int n, capacity;
    struct file_content *file;
};

/* Lines about no spec. */
static void put_lines(const struct options *options, const char *severity, const struct text *lines)
{
    struct text t = {.arena = lines->arena};
    messages_lines(&t, options->messages.json, severity, text_string(lines));
    file_put(STDERR_FILENO, text_string(&t), t.n); /* where errors cannot be told, the exit status still is */
}

static void put_messages(const struct diag *diag, const struct options *options)
{
    struct text t = {.arena = diag->arena};
    diag_print(&t, diag, messages_format(&options->messages, isatty(STDERR_FILENO)));
    file_put(STDERR_FILENO, text_string(&t), t.n);
}

/* `cgtpgen: path: reason` for what errno says. */
static enum exit_status io_error(struct arena *a, const struct options *options, const char *path)
{
    struct text t = {.arena = a};
    text_printf(&t, "cgtpgen: %s: %s\n", path, strerror(errno));
    put_lines(options, "error", &t);
    return EXIT_IO;
}

static enum exit_status write_error(struct arena *a, const struct options *options, const char *path)
{
    const int reason = errno;
    path = arena_printf(a, "cannot write %s", path);
    errno = reason;
    return io_error(a, options, path);
}

static bool has(unsigned bits, int kind)
{
    return bits & 1u << kind;
}

/* The runtime's files that all products together need are the first one's, after its own. */
static void add_runtime(struct arena *a, const struct options *options, struct product *product)
{
    struct output_file *needed;
    struct vendored all = {.arena = a};
    for (int i = 0; i < options->specs; i++)
        vendor_product(&all, options, product[i].schedules, product[i].text, product[i].files);
    const int n = vendor_files(&all, options, &needed);
    product->output = arena_resize(a, product->output, (size_t)product->files * sizeof *product->output,
                                   (size_t)(product->files + n) * sizeof *product->output);
    for (int i = 0; i < n; i++)
        product->output[product->files++] = (struct file_content){
            product_path(a, options->output, needed[i].name), needed[i].text, needed[i].size};
}

static enum exit_status check_collisions(struct arena *a, const struct options *options,
                                         const struct product *product)
{
    struct diag diag = {.arena = a};
    const bool collide = product_collision(product, options->specs, &diag);
    put_messages(&diag, options);
    return collide ? EXIT_SPEC : EXIT_OK;
}

static enum exit_status put_output(struct arena *a, const struct options *options, const struct text *t)
{
    return file_put(STDOUT_FILENO, text_string(t), t->n) ? EXIT_OK : io_error(a, options, "standard output");
}

/* The runtime's files that no product needs any more, where they are looked after. */
static enum exit_status find_old_runtime(struct arena *a, const struct options *options,
                                         const struct product *product, struct leftovers *all)
{
    struct file_content *found;
    const int n = emit_has(options->emit, "runtime")
                      ? vendor_leftovers(a, options->output, product->output + product->own,
                                         product->files - product->own, &found)
                      : 0;
    for (int k = 0; k < n; k++) {
        all->file = arena_grow(a, all->file, all->n, &all->capacity, sizeof *all->file);
        all->file[all->n++] = found[k];
    }
    return n < 0 ? io_error(a, options, options->output ? options->output : ".") : EXIT_OK;
}

/* The files of all products that stayed behind. */
static enum exit_status find_leftovers(struct arena *a, const struct options *options,
                                       const struct product *product, struct leftovers *all)
{
    struct leftover_folder folder;
    if (!leftover_read(a, options->output, &folder))
        return io_error(a, options, options->output ? options->output : ".");
    for (int i = 0; i < options->specs; i++) {
        const struct leftover_of of = {product[i].name, product[i].names, product[i].possible};
        struct file_content *found;
        const int n = leftover_find(a, &folder, &of, &found);
        for (int k = 0; k < n; k++) {
            all->file = arena_grow(a, all->file, all->n, &all->capacity, sizeof *all->file);
            all->file[all->n++] = found[k];
        }
    }
    return find_old_runtime(a, options, product, all);
}

/* With --prune removes them, and says so, but for those that somebody edited; without says that they are
 * there. */
static enum exit_status mind_leftovers(struct arena *a, const struct options *options,
                                       const struct product *product)
{
    struct leftovers all = {0};
    struct text notes = {.arena = a};
    enum exit_status status = find_leftovers(a, options, product, &all);
    for (int i = 0; i < all.n && !status; i++) {
        const struct file_content *file = &all.file[i];
        const enum seal seal = vendor_seal(a, file->path, file->text, file->size);
        const bool edited = seal != SEAL_WHOLE && !options->force;
        if (options->prune && !edited && remove(file->path))
            status = io_error(a, options, file->path);
        else
            text_printf(&notes, "cgtpgen: %s is left over: today's spec does not make it; %s\n", file->path,
                        !options->prune ? "--prune removes it"
                        : edited ? seal == SEAL_OLD ? "it stays, for it has no checksum, and may be edited"
                                                    : "it stays, for it was edited since cgtpgen wrote it"
                                 : "it is removed");
    }
    put_lines(options, "note", &notes);
    return status;
}

/* Every file that is missing, differs or stayed behind, as a diff that would bring it up to date. */
static enum exit_status check_files(struct arena *a, const struct options *options,
                                    const struct product *product, const struct file_content *file, int count)
{
    struct leftovers all = {0};
    enum exit_status found = find_leftovers(a, options, product, &all);
    if (found)
        return found;
    struct text diff = {.arena = a};
    for (int i = 0; i < count; i++) {
        size_t size;
        const char *there = file_read_regular(a, file[i].path, &size);
        if (!there && errno != ENOENT)
            return io_error(a, options, file[i].path);
        file_diff(&diff, there ? file[i].path : "/dev/null", there ? there : "", there ? size : 0,
                  file[i].path, file[i].text, file[i].size);
    }
    for (int i = 0; i < all.n; i++)
        file_diff(&diff, all.file[i].path, all.file[i].text, all.file[i].size, "/dev/null", "", 0);
    enum exit_status status = put_output(a, options, &diff);
    return status || !diff.n ? status : EXIT_STALE;
}

/* The dependency files, appended to the list of files. */
static int add_dependencies(struct arena *a, const struct options *options, const struct product *product,
                            struct file_content *file)
{
    struct text all = {.arena = a};
    int files = 0;
    for (int i = 0; i < options->specs; i++) {
        const struct product *p = &product[i];
        struct text own = {.arena = a}, *rules = options->depend_file ? &all : &own;
        const char **target = NEW_ARRAY(a, const char *, p->files);
        for (int k = 0; k < p->files; k++)
            target[k] = p->output[k].path;
        bool named = options->depend_targets;
        const char *source[2];
        int sources = 0;
        if (strcmp(p->file, "-"))
            source[sources++] = p->file;
        if (options->measured)
            source[sources++] = options->measured;
        depend_rule(rules, named ? options->depend_target : target,
                    named ? options->depend_targets : p->files, named, source, sources,
                    options->depend_phony);
        if (!options->depend_file) {
            const char *name = arena_printf(a, "%s.spec.d", p->name);
            file[files++] =
                (struct file_content){product_path(a, options->output, name), text_string(&own), own.n};
        }
    }
    if (options->depend_file)
        file[files++] = (struct file_content){options->depend_file, text_string(&all), all.n};
    return files;
}

/* A file that is written must be no spec, not the log, nor another that is written, under whatever name. */
static bool check_distinct(struct arena *a, const struct options *options, const struct file_content *file,
                           int files)
{
    struct text wrong = {.arena = a};
    const int specs = files + options->specs, all = specs + (options->measured != NULL);
    const char **place = NEW_ARRAY(a, const char *, all + 1);
    for (int i = 0; i < all; i++)
        place[i] = i < files ? file_place(a, file[i].path)
                             : file_input_place(a, i < specs ? options->spec[i - files] : options->measured,
                                                file, files);
    int first, later = hash_repeated(a, place, all, &first);
    if (later >= 0 && first < files) /* what is read may be read twice */
        text_printf(&wrong, "cgtpgen: %s would be overwritten: it is %s\n", file[first].path,
                    later < files   ? "the dependency file and generated too"
                    : later < specs ? "a spec"
                                    : "the log that is read");
    put_lines(options, "error", &wrong);
    return !wrong.n;
}

/* Nothing is written over that others wrote; what somebody edited is named. */
static enum exit_status check_replaced(struct arena *a, const struct options *options,
                                       const struct file_content *file, int generated, int files)
{
    struct text refused = {.arena = a};
    struct diag *edited = NEW_ARRAY(a, struct diag, generated + 1);
    const char *failed;
    bool wrong = false;
    if (!replace_check(a, options, file, generated, files, edited, &refused, &failed))
        return io_error(a, options, failed);
    for (int i = 0; i < generated; i++)
        if (edited[i].messages) {
            put_messages(&edited[i], options);
            wrong |= edited[i].errors;
        }
    put_lines(options, "error", &refused);
    return refused.n ? EXIT_IO : wrong ? EXIT_SPEC : EXIT_OK;
}

/* Writes everything: generated files to the folder or to standard output, dependency files. */
static enum exit_status write_files(struct arena *a, const struct options *options,
                                    const struct product *product, struct file_content *file, int files)
{
    struct text out = {.arena = a};
    bool to_stdout = options->output && !strcmp(options->output, "-");
    for (int i = 0; to_stdout && i < files; i++) {
        if (files > 1)
            text_printf(&out, "==> %s <==\n", file[i].path);
        text_put(&out, file[i].text, file[i].size);
    }
    if (to_stdout)
        files = 0;
    const int generated = files;
    if (options->depend) {
        int more = add_dependencies(a, options, product, &file[files]);
        if (options->depend_file && !strcmp(options->depend_file, "-"))
            text_put(&out, file[files].text, file[files].size);
        else
            files += more;
    }
    if (!check_distinct(a, options, file, files))
        return EXIT_USAGE;
    enum exit_status status = check_replaced(a, options, file, generated, files);
    if (status)
        return status;
    if (!to_stdout && options->output && !file_make_folder(a, options->output))
        return write_error(a, options, options->output);
    const char *failed = file_replace(a, file, files);
    status = failed ? write_error(a, options, failed) : EXIT_OK;
    if (!status && !to_stdout && options->write)
        status = mind_leftovers(a, options, product);
    return status ? status : put_output(a, options, &out);
}

/* Reports: of each product those for people, then for programs one list of all products, where there are
 * several. */
static void put_reports(struct text *out, const struct options *options, const struct product *product)
{
    for (int i = 0; i < options->specs; i++)
        for (int k = 0; k < print_count; k++)
            if (has(options->print, k) && !print_table[k].is_json)
                print_table[k].print(out, product[i].schedules);
    for (int k = 0; k < print_count; k++) {
        if (!has(options->print, k) || !print_table[k].is_json)
            continue;
        for (int i = 0; i < options->specs; i++) {
            text_puts(out, options->specs == 1 ? "" : i ? ",\n" : "[\n");
            print_table[k].print(out, product[i].schedules);
        }
        text_puts(out, options->specs == 1 ? "" : "]\n");
    }
}

/* What was asked for, once every spec is compiled. */
static enum exit_status deliver(struct arena *a, const struct options *options, const struct product *product)
{
    struct text out = {.arena = a};
    int files = 0;
    for (int i = 0; i < options->specs; i++)
        files += product[i].files;
    struct file_content *file = NEW_ARRAY(a, struct file_content, files + options->specs + 1);
    files = 0;
    for (int i = 0; i < options->specs; i++)
        for (int k = 0; k < product[i].files; k++) {
            file[files++] = product[i].output[k];
            if (options->list && !(options->list_runtime && k < product[i].own))
                text_printf(&out, "%s\n", product[i].output[k].path);
        }
    put_reports(&out, options, product);
    if (options->check)
        return check_files(a, options, product, file, files);
    enum exit_status status = put_output(a, options, &out);
    return status || options->list ? status : write_files(a, options, product, file, files);
}

static enum exit_status run(struct arena *a, int argc, char *const *argv)
{
    struct options options;
    struct text text = {.arena = a};
    char **words = NULL;
    enum exit_status status = arguments_read(a, argc, argv, &argc, &words, &text);
    if (!status && !options_read(a, argc, words, &options, &text))
        status = EXIT_USAGE;
    if (status) {
        options.messages.json = messages_wants_json(argc, words ? words : argv);
        put_lines(&options, "error", &text);
        return status;
    }
    if (options.action == ACTION_HELP)
        text_printf(&text, "%s", options_help);
    else if (options.action == ACTION_VERSION)
        text_printf(&text, "cgtpgen %s\n", CGTPGEN_VERSION);
    if (options.action != ACTION_GENERATE)
        return put_output(a, &options, &text);

    struct product *product = NEW_ARRAY(a, struct product, options.specs);
    struct mutation mutation = {.wanted = options.mutate, .list = {.arena = a}};
    for (int i = 0; i < options.specs; i++) {
        product[i].file = options.spec[i];
        product[i].first = i == 0;
        product[i].shown = strcmp(options.spec[i], "-") ? options.spec[i] : "<stdin>";
    }
    status = crew_compile(a, &options, options.mutate < 0 ? NULL : &mutation, product);
    if (options.lint)
        return status;
    if (!status && options.write && emit_has(options.emit, "runtime"))
        add_runtime(a, &options, product);
    if (!status)
        status = check_collisions(a, &options, product);
    status = status ? status : deliver(a, &options, product);
    return status ? status : put_output(a, &options, &mutation.list);
}

/* run(), where running out of memory comes back to. */
static enum exit_status run_guarded(struct arena *a, int argc, char *const *argv)
{
    static const char *const message[] = {"cgtpgen: out of memory\n", MESSAGES_OUT_OF_MEMORY};
    if (setjmp(a->failure)) {
        const char *told = message[messages_wants_json(argc, argv)];
        file_put(STDERR_FILENO, told, strlen(told));
        return EXIT_IO;
    }
    return run(a, argc, argv);
}

/* A standard descriptor that is closed would be given to the next file opened, and output meant for it end up
 * there: occupy it with something that cannot be used. */
static bool occupy_standard_descriptors(void)
{
    for (int d = STDIN_FILENO; d <= STDERR_FILENO; d++)
        if (fcntl(d, F_GETFD) < 0 && open("/dev/null", d == STDIN_FILENO ? O_WRONLY : O_RDONLY) != d)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct arena arena[JOBS_MOST] = {{0}}; /* only where specs are compiled are there more than the first */
    if (!occupy_standard_descriptors())
        return EXIT_IO;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not be so large is an error of write(2), like a full disk */
    enum exit_status status = run_guarded(arena, argc, argv);
    for (int i = 0; i < JOBS_MOST; i++)
        arena_free(&arena[i]);
    return status;
}
