/* options.c - see options.h. One table holds every option; lists and letters have tables of their own. */
#include "cli/options.h"

#include "cli/print.h"
#include "emit/emitter.h"
#include "util/diag.h"

#include <string.h>

const char options_help[] =
    "Usage: cgtpgen [options] SPEC...\n"
    "Writes source code for the tensor products that the YAML files SPEC describe (-: standard input).\n"
    "\n"
    "  -o DIR            write into DIR, made if missing (default: the current folder; -: standard output)\n"
    "  --name=PATTERN    call products, their files and functions so, with % for the spec's name, as in "
    "%_gpu\n"
    "  --backend=NAME    cuda (default) or c\n"
    "  --arch=NAME       the GPU to plan for, sm_80 to sm_120 (default sm_90); not with --backend=c\n"
    "  --emit=LIST       of header, hpp, source, unity, plan, selftest, torch, jax, tune, runtime, check,\n"
    "                    ranks, device, report (default: header,source)\n"
    "  --measured=FILE   show in the report what ran: FILE has the rows of a gpu-bench\n"
    "  --prune           remove files that were generated for a kernel that the spec no longer has\n"
    "  --force           replace files that cgtpgen did not write, too; with --prune remove edited ones\n"
    "  --check           write nothing; print a diff of every file that is missing, differs or is left over\n"
    "  --list            write nothing; print the names of the files; --list=runtime: of those that "
    "products\n"
    "                    need of the runtime\n"
    "  --lint            write nothing; read the specs, and say what is wrong or in vain\n"
    "  -W NAME           warn of NAME, or of all; no-NAME: do not; error, error=NAME: as an error\n"
    "  --diagnostics=AS  messages as text (default) or json: for programs, an object a line\n"
    "  --color=WHEN      always or never, not only where standard error is a terminal (auto)\n"
    "  --print=LIST      of paths, nnz, weights, plan, cost, json: report on standard output\n"
    "                    (files are then written only if -o is given too)\n"
    "  -MD               write dependency files for make\n"
    "  -MF FILE          the dependency file (default: DIR/NAME.spec.d for each spec; -: standard output)\n"
    "  -MT TARGET        name TARGET in it instead of the generated files; may be repeated\n"
    "  -MP               add an empty rule for each spec\n"
    "  --jobs=N          compile so many specs at a time (default: as many as processors, up to 4)\n"
    "  -d LETTERS        dump to standard error: s spec, p problem, f form, l plan,\n"
    "                    e schedules, c code of paths, m memory\n"
    "  -h, --help        print this\n"
    "  -V, --version     print the version\n"
    "  @FILE             the arguments that stand in FILE, between spaces or line ends, or in quotes\n"
    "\n"
    "Exit status: 0 all right, 1 a spec is wrong, 2 the command line is wrong, 3 --check found differences,\n"
    "4 reading, writing or memory failed, 5 a plan is wrong: a defect of cgtpgen. The manual is "
    "cgtpgen(1).\n";

enum option {
    OPTION_OUTPUT,
    OPTION_NAME,
    OPTION_BACKEND,
    OPTION_ARCH,
    OPTION_EMIT,
    OPTION_MEASURED,
    OPTION_PRUNE,
    OPTION_FORCE,
    OPTION_CHECK,
    OPTION_LIST_RUNTIME,
    OPTION_LIST,
    OPTION_LINT,
    OPTION_WARNING,
    OPTION_DIAGNOSTICS,
    OPTION_COLOR,
    OPTION_PRINT,
    OPTION_MD,
    OPTION_MF,
    OPTION_MT,
    OPTION_MP,
    OPTION_JOBS,
    OPTION_DUMP,
    OPTION_MUTATE,
    OPTION_HELP,
    OPTION_HELP_SHORT,
    OPTION_VERSION,
    OPTION_VERSION_SHORT,
    OPTION_COUNT
};

static const struct {
    const char *name;
    bool value, repeat; /* takes one; may be given more than once */
} option_table[OPTION_COUNT] = {
    [OPTION_OUTPUT] = {"-o", true, false},
    [OPTION_NAME] = {"--name", true, false},
    [OPTION_BACKEND] = {"--backend", true, false},
    [OPTION_ARCH] = {"--arch", true, false},
    [OPTION_EMIT] = {"--emit", true, true},
    [OPTION_MEASURED] = {"--measured", true, false},
    [OPTION_PRUNE] = {"--prune", false, true},
    [OPTION_FORCE] = {"--force", false, true},
    [OPTION_CHECK] = {"--check", false, true},
    [OPTION_LIST_RUNTIME] = {"--list=runtime", false, true},
    [OPTION_LIST] = {"--list", false, true},
    [OPTION_LINT] = {"--lint", false, true},
    [OPTION_WARNING] = {"-W", true, true},
    [OPTION_DIAGNOSTICS] = {"--diagnostics", true, false},
    [OPTION_COLOR] = {"--color", true, true},
    [OPTION_PRINT] = {"--print", true, true},
    [OPTION_MD] = {"-MD", false, true},
    [OPTION_MF] = {"-MF", true, false},
    [OPTION_MT] = {"-MT", true, true},
    [OPTION_MP] = {"-MP", false, true},
    [OPTION_JOBS] = {"--jobs", true, false},
    [OPTION_DUMP] = {"-d", true, true},
    [OPTION_MUTATE] = {"--mutate", true, false},
    [OPTION_HELP] = {"--help", false, true},
    [OPTION_HELP_SHORT] = {"-h", false, true},
    [OPTION_VERSION] = {"--version", false, true},
    [OPTION_VERSION_SHORT] = {"-V", false, true},
};

static const char dump_letter[DUMP_COUNT + 1] = "spflecm";

static void put_suggestion(struct text *error, const char *word, const char *const *words, int count)
{
    const char *nearest = diag_nearest(word, words, count);
    if (nearest)
        text_printf(error, "; did you mean %s?", nearest);
    text_put(error, "\n", 1);
}

/* Ends the message about a word that is none of these: names them, each once (they may stand there in a row).
 */
static void put_words(struct text *error, const char *word, const char *const *words, int count)
{
    const char *nearest = diag_nearest(word, words, count);
    if (nearest)
        text_printf(error, "; did you mean %s?", nearest);
    text_puts(error, nearest ? " There are " : "; there are ");
    for (int i = 0; i < count; i++)
        if (i == 0 || strcmp(words[i - 1], words[i]) != 0)
            text_printf(error, "%s%s", i == 0 ? "" : i == count - 1 ? " and " : ", ", words[i]);
    text_put(error, "\n", 1);
}

/* What options that other programs have are here; NULL: nothing is known. */
static const char *known_elsewhere(const char *name)
{
    static const struct {
        const char *name, *here;
    } elsewhere[] = {{"--output", "-o DIR says where files go"},
                     {"--out", "-o DIR says where files go"},
                     {"--verbose", "--print=plan and -d say more"},
                     {"-v", "--print=plan and -d say more; -V is the version"}};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (!strcmp(name, elsewhere[i].name))
            return elsewhere[i].here;
    return NULL;
}

static void unknown_option(struct arena *a, const char *s, struct text *error)
{
    const char *words[OPTION_COUNT];
    for (int i = 0; i < OPTION_COUNT; i++)
        words[i] = option_table[i].name;
    size_t n = strcspn(s, "=");
    const char *name = arena_string(a, s, n);
    text_printf(error, "cgtpgen: unknown option %s", name);
    if (known_elsewhere(name)) {
        text_printf(error, "; %s\n", known_elsewhere(name));
        return;
    }
    put_suggestion(error, name, words, OPTION_COUNT);
}

/* The option that argument s is, and its value where it stands in the same argument (--emit=source, -oDIR);
 * -1: none. */
static int find_option(const char *s, const char **value)
{
    *value = NULL;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *name = option_table[i].name;
        size_t n = strlen(name);
        if (strncmp(s, name, n))
            continue;
        if (!s[n])
            return i;
        bool is_long = name[1] == '-';
        if (is_long ? s[n] == '=' : option_table[i].value) {
            *value = s + n + is_long;
            return i;
        }
    }
    return -1;
}

/* A comma-separated list of names into bits; a name that stands twice in `names` sets both. */
static bool read_list(struct arena *a, const char *option, const char *list, const char *const *names,
                      int count, unsigned *bits, struct text *error)
{
    for (;;) {
        size_t n = strcspn(list, ",");
        const char *word = arena_string(a, list, n);
        unsigned found = 0;
        for (int i = 0; i < count; i++)
            found |= strcmp(word, names[i]) ? 0 : 1u << i;
        if (!found) {
            text_printf(error, "cgtpgen: %s: unknown word '%s'", option, word);
            put_words(error, word, names, count);
            return false;
        }
        *bits |= found;
        if (!list[n])
            return true;
        list += n + 1;
    }
}

/* The number of a word, -1 after an error. */
static int read_word(const char *what, const char *value, const char *const *names, int count,
                     struct text *error)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(value, names[i]))
            return i;
    text_printf(error, "cgtpgen: unknown %s '%s'", what, value);
    put_words(error, value, names, count);
    return -1;
}

static bool read_emit(struct arena *a, const char *list, unsigned *bits, struct text *error)
{
    const char **words = NEW_ARRAY(a, const char *, emitter_count);
    for (int i = 0; i < emitter_count; i++)
        words[i] = emitter_table[i].word;
    return read_list(a, "--emit", list, words, emitter_count, bits, error);
}

static bool read_print(struct arena *a, const char *list, unsigned *bits, struct text *error)
{
    const char **words = NEW_ARRAY(a, const char *, print_count);
    for (int i = 0; i < print_count; i++)
        words[i] = print_table[i].word;
    return read_list(a, "--print", list, words, print_count, bits, error);
}

static bool read_backend(struct arena *a, const char *value, const struct backend **backend,
                         struct text *error)
{
    const char **names = NEW_ARRAY(a, const char *, backend_count);
    for (int i = 0; i < backend_count; i++)
        names[i] = backend_table[i]->name;
    int word = read_word("backend", value, names, backend_count, error);
    *backend = word < 0 ? NULL : backend_table[word];
    return word >= 0;
}

static bool read_device(struct arena *a, const char *value, const struct device **device, struct text *error)
{
    int word = read_word("architecture", value, device_names(a), device_count, error);
    *device = word < 0 ? NULL : &device_table[word];
    return word >= 0;
}

static bool read_diagnostics(const char *value, bool *json, struct text *error)
{
    static const char *const words[] = {"text", "json"};
    int word = read_word("form of diagnostics", value, words, 2, error);
    *json = word == 1;
    return word >= 0;
}

static bool read_color(const char *value, enum when *when, struct text *error)
{
    static const char *const words[WHENS] = {
        [WHEN_AUTO] = "auto", [WHEN_ALWAYS] = "always", [WHEN_NEVER] = "never"};
    int word = read_word("choice of --color", value, words, WHENS, error);
    *when = word < 0 ? WHEN_AUTO : (enum when)word;
    return word >= 0;
}

static bool read_letters(const char *letters, unsigned *bits, struct text *error)
{
    for (; *letters; letters++) {
        const char *at = strchr(dump_letter, *letters);
        if (!at) {
            text_printf(error, "cgtpgen: -d: unknown letter '%c'; there are %s\n", *letters, dump_letter);
            return false;
        }
        *bits |= 1u << (at - dump_letter);
    }
    return true;
}

static bool read_number(const char *option, const char *value, int *number, struct text *error)
{
    size_t n = strspn(value, "0123456789");
    if (!n || n > 8 || value[n]) {
        text_printf(error, "cgtpgen: %s: '%s' is no number\n", option, value);
        return false;
    }
    *number = 0;
    for (size_t i = 0; i < n; i++)
        *number = *number * 10 + (value[i] - '0');
    return true;
}

static bool read_jobs(const char *value, int *number, struct text *error)
{
    if (!read_number("--jobs", value, number, error))
        return false;
    const bool right = *number >= 1 && *number <= JOBS_MOST;
    if (!right)
        text_printf(error, "cgtpgen: --jobs: from 1 to %d, not %d\n", JOBS_MOST, *number);
    return right;
}

/* Whether the names are right is seen where the specs' are known. */
static bool read_pattern(const char *value, const char **pattern, struct text *error)
{
    static const char allowed[] = "%_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    *pattern = value;
    if (value[strspn(value, allowed)])
        text_printf(error, "cgtpgen: --name: '%s' has more than letters, digits, _ and %%\n", value);
    return !value[strspn(value, allowed)];
}

static bool read_value(struct arena *a, enum option option, const char *value, struct options *o,
                       struct text *error)
{
    switch (option) {
    case OPTION_OUTPUT:
        o->output = value;
        return true;
    case OPTION_NAME:
        return read_pattern(value, &o->name, error);
    case OPTION_BACKEND:
        return read_backend(a, value, &o->backend, error);
    case OPTION_ARCH:
        return read_device(a, value, &o->device, error);
    case OPTION_EMIT:
        return read_emit(a, value, &o->emit, error);
    case OPTION_MEASURED:
        o->measured = value;
        return true;
    case OPTION_PRUNE:
        o->prune = true;
        return true;
    case OPTION_FORCE:
        o->force = true;
        return true;
    case OPTION_CHECK:
        o->check = true;
        return true;
    case OPTION_LIST_RUNTIME:
        o->list = o->list_runtime = true;
        return true;
    case OPTION_LIST:
        o->list = true;
        return true;
    case OPTION_LINT:
        o->lint = true;
        return true;
    case OPTION_WARNING:
        return messages_read_warning(a, &o->messages, value, error);
    case OPTION_DIAGNOSTICS:
        return read_diagnostics(value, &o->messages.json, error);
    case OPTION_COLOR:
        return read_color(value, &o->messages.color, error);
    case OPTION_PRINT:
        return read_print(a, value, &o->print, error);
    case OPTION_MD:
        o->depend = true;
        return true;
    case OPTION_MF:
        o->depend_file = value;
        return true;
    case OPTION_MT:
        o->depend_target[o->depend_targets++] = value;
        return true;
    case OPTION_MP:
        o->depend_phony = true;
        return true;
    case OPTION_DUMP:
        return read_letters(value, &o->dump, error);
    case OPTION_JOBS:
        return read_jobs(value, &o->jobs, error);
    case OPTION_MUTATE:
        return read_number("--mutate", value, &o->mutate, error);
    case OPTION_HELP:
    case OPTION_HELP_SHORT:
        o->action = ACTION_HELP;
        return true;
    case OPTION_VERSION:
    case OPTION_VERSION_SHORT:
        o->action = o->action == ACTION_HELP ? ACTION_HELP : ACTION_VERSION;
        return true;
    case OPTION_COUNT:
        break;
    }
    return true;
}

/* What is asked for and only another backend has; NULL: nothing. */
static const char *emit_of_other_backend(struct arena *a, const struct options *o)
{
    for (int i = 0; i < emitter_count; i++)
        if (o->emit & 1u << i && emitter_table[i].backend &&
            strcmp(emitter_table[i].backend, o->backend->name))
            return arena_printf(a, "--emit=%s is for --backend=%s", emitter_table[i].word,
                                emitter_table[i].backend);
    return NULL;
}

/* Is anything to be written that shows what ran? */
static bool shows_measured(const struct options *o)
{
    bool shows = false;
    for (int i = 0; i < emitter_count; i++)
        shows |= o->emit & 1u << i && emitter_table[i].reads_measured;
    return shows && o->write;
}

/* Options that contradict each other, or that would do nothing: none is ignored silently. */
static bool check_together(struct options *o, struct text *error)
{
    bool to_stdout = o->output && !strcmp(o->output, "-");
    bool depend_to_stdout = o->depend_file && !strcmp(o->depend_file, "-");
    const char *wrong = emit_of_other_backend(error->arena, o);
    const bool runtime = emit_has(o->emit, "runtime");
    int stdins = 0;
    for (int i = 0; i < o->specs; i++)
        stdins += !strcmp(o->spec[i], "-");
    if (!o->specs)
        wrong = "no spec given; cgtpgen --help lists the options";
    else if (strcmp(o->device->backend, o->backend->name))
        wrong =
            arena_printf(error->arena, "--arch=%s is for --backend=%s", o->device->name, o->device->backend);
    else if (o->name && o->specs > 1 && !strchr(o->name, '%'))
        wrong = "--name needs a % for the specs' names where there are several";
    else if (o->measured && !shows_measured(o))
        wrong = "--measured is for the report: it needs --emit=report and files to be written";
    else if (stdins > 1)
        wrong = "standard input (-) can be read only once";
    else if (o->messages.json && o->messages.color == WHEN_ALWAYS)
        wrong = "--color=always is for text, not for --diagnostics=json";
    else if (o->lint && (o->output || o->measured || o->check || o->list || o->print || o->depend))
        wrong = "--lint writes nothing: not with -o, --measured, --check, --list, --print or -MD";
    else if (runtime && (emit_has(o->emit, "torch") || emit_has(o->emit, "jax")))
        wrong = "--emit=runtime is for programs in C, C++ and CUDA: packages of Python find the runtime by "
                "CGTP_RUNTIME";
    else if (o->check && o->list)
        wrong = "--check and --list exclude each other";
    else if (o->check && to_stdout)
        wrong = "--check compares with a folder; -o - names none";
    else if (o->prune && (o->check || o->list || to_stdout || !o->write))
        wrong = "--prune removes files: not with --check, --list, -o - or --print without -o";
    else if (o->force && (o->lint || o->check || o->list || (to_stdout && !o->depend_file) || !o->write))
        wrong = "--force replaces files: not with --lint, --check, --list, -o - or --print without -o";
    else if (o->print && (to_stdout || o->check || o->list || depend_to_stdout))
        wrong = "--print needs standard output for itself: not with -o -, -MF -, --check or --list";
    else if (to_stdout && depend_to_stdout)
        wrong = "-o - and -MF - both write to standard output";
    else if (!o->depend && (o->depend_file || o->depend_targets || o->depend_phony))
        wrong = "-MF, -MT and -MP need -MD";
    else if (o->depend && (o->check || o->list))
        wrong = "-MD writes a file; --check and --list write none";
    else if (o->depend && to_stdout && !o->depend_file)
        wrong = "-MD with -o - needs -MF FILE";
    else if (o->depend && o->print && !o->output)
        wrong = "-MD with --print needs -o DIR: nothing is generated otherwise";
    if (wrong)
        text_printf(error, "cgtpgen: %s\n", wrong);
    return !wrong;
}

bool options_read(struct arena *a, int argc, char *const *argv, struct options *o, struct text *error)
{
    int given[OPTION_COUNT] = {0};
    bool only_specs = false;
    *o = (struct options){.backend = backend_table[0], .mutate = -1};
    messages_begin(&o->messages);
    o->spec = NEW_ARRAY(a, const char *, argc + 1);
    o->depend_target = NEW_ARRAY(a, const char *, argc + 1);
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i], *value;
        if (only_specs || s[0] != '-' || !s[1]) {
            o->spec[o->specs++] = s;
            continue;
        }
        if (!strcmp(s, "--")) {
            only_specs = true;
            continue;
        }
        int option = find_option(s, &value);
        if (option < 0) {
            unknown_option(a, s, error);
            return false;
        }
        const char *name = option_table[option].name;
        if (value && !option_table[option].value) {
            text_printf(error, "cgtpgen: %s takes no value\n", name);
            return false;
        }
        if (!value && option_table[option].value)
            value = argv[++i]; /* argv[argc] is NULL */
        if (option_table[option].value && (!value || !*value)) {
            text_printf(error, "cgtpgen: %s needs a value\n", name);
            return false;
        }
        if (given[option]++ && !option_table[option].repeat) {
            text_printf(error, "cgtpgen: %s is given twice\n", name);
            return false;
        }
        if (!read_value(a, (enum option)option, value ? value : "", o, error))
            return false;
    }
    if (o->action != ACTION_GENERATE)
        return true;
    if (!given[OPTION_ARCH])
        o->device = device_named(o->backend->device);
    if (!given[OPTION_EMIT])
        o->emit = emit_default();
    bool runtime = o->list_runtime;
    for (int i = 0; i < emitter_count; i++) /* are among these */
        runtime |= o->emit & 1u << i && emitter_table[i].runtime;
    for (int i = 0; i < emitter_count && runtime; i++)
        o->emit |= strcmp(emitter_table[i].word, "runtime") ? 0 : 1u << i;
    o->write = !o->print || o->output;
    messages_end(&o->messages);
    return check_together(o, error);
}
