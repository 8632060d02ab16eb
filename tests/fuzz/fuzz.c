/* fuzz.c - any bytes as a spec, for libFuzzer: through the reader (spec_read, problem_build, form_build,
 * lint) or, where EMIT is defined, also through everything that is made of a right one: both backends, each
 * kind of file, each report.
 *
 * Whatever the input: no crash, no leak, no endless loop; a result exactly when there are no errors; each
 * message at a place that exists, with nothing in it that a terminal might obey; plans that the checker
 * accepts; files in which comments and literals end and brackets match. One input in sixteen goes the same
 * way again with too little memory. At the end it says how many inputs came how far.
 */
#include "form/lint.h"
#ifdef EMIT
#include "cli/print.h"
#include "emit/emitter.h"
#include "schedule/check.h"
#include "schedule/cover.h"
#include "schedule/print.h"
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an input may take, which bounds the time too: many small inputs find more than few large ones. */
enum { MEMORY_MOST = 3 << 20 };

static struct {
    long inputs, specs, emitted, starved;
} seen;

/* Tensors, kept from input to input: making them would take most of the time. */
static struct arena tensors;
static struct wigner wigner = {.arena = &tensors};

/* Memory that is freed is kept from use for a while, but not for so long that caches do not hold it; it is
 * not filled; reports of it show few callers. Three times as many inputs go through. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:max_malloc_fill_size=0:malloc_context_size=4";
}

static _Noreturn void fail(const char *what, const char *text)
{
    fprintf(stderr, "fuzz: %s\n%s\n", what, text);
    abort();
}

static void tell(void)
{
    printf("%ld inputs, %ld of them right, %ld emitted, %ld out of memory\n", seen.inputs, seen.specs,
           seen.emitted, seen.starved);
}

static void check_place(const struct diag *diag, struct pos pos)
{
    const char *s = diag->source, *end = s + diag->source_size;
    if (pos.line == 0) /* no place */
        return;
    for (int line = 1; line < pos.line && s; line++)
        s = (s = memchr(s, '\n', (size_t)(end - s))) ? s + 1 : NULL;
    if (!s && pos.column != 0)
        fail("a message in a line that is not there", diag_text(diag));
    if (!s)
        return;
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    if (pos.column < 1 || pos.column - 1 > (newline ? newline : end) - s || pos.width < 1)
        fail("a message in a column that is not there", diag_text(diag));
}

static void check_messages(const struct diag *diag, bool result)
{
    if (result == (diag->errors > 0))
        fail("a result in spite of errors, or none without", diag_text(diag));
    for (int i = 0; i < diag->messages; i++) {
        check_place(diag, diag->message[i].pos);
        for (const struct diag_note *n = diag->message[i].note; n; n = n->next)
            check_place(diag, n->pos);
    }
}

/* The messages as one of the formats has them. */
static void check_printed(const struct diag *diag, enum diag_format format)
{
    struct text t = {.arena = diag->arena};
    diag_print(&t, diag, format);
    for (const char *p = text_string(&t); *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n' && !(*p == 0x1b && format == DIAG_COLOR)) || *p == 0x7f)
            fail("a control character among the messages", text_string(&t));
}

#ifdef EMIT
/* The end of the comment or literal that begins at p, or of the slash that does not begin one. */
static const char *skip_quoted(const char *p)
{
    if (p[0] == '/' && p[1] != '*')
        return p + 1;
    if (p[0] == '/') {
        for (p += 2; p[0] && (p[0] != '*' || p[1] != '/'); p++) /* ASan's strstr looks at all that follows */
            ;
        if (!*p)
            fail("a comment without an end", p);
        return p + 2;
    }
    const char *end = p + 1;
    while (*end && *end != '\n' && *end != *p)
        end += end[0] == '\\' && end[1] ? 2 : 1;
    if (*end != *p)
        fail("a literal without an end", p);
    return end + 1;
}

/* A source in C, or JSON: comments and literals end, brackets match, nothing but what is printed. */
static void check_source(const char *s)
{
    enum { DEPTH_MOST = 100 };
    static const char partner[] = {[')'] = '(', [']'] = '[', ['}'] = '{'};
    char open[DEPTH_MOST];
    int depth = 0;
    for (const char *p = s; *p;) {
        const char c = *p;
        if (c == '/' || c == '"' || c == '\'') {
            p = skip_quoted(p);
            continue;
        }
        p++;
        if ((unsigned char)c >= 0x7f || ((unsigned char)c < 0x20 && c != '\n'))
            fail("a character that no source has", s);
        if ((c == '(' || c == '[' || c == '{') && depth < DEPTH_MOST)
            open[depth++] = c;
        else if ((c == ')' || c == ']' || c == '}') && (depth == 0 || open[--depth] != partner[(int)c]))
            fail("brackets that do not match", s);
    }
    if (depth)
        fail("a bracket that is not closed", s);
}

/* tunes: with the other plans of each kernel, which take four times as long as all else. */
static void emit(struct arena *a, const struct plan *plan, const struct backend *backend,
                 const struct device *device, bool tunes)
{
    struct schedules *all =
        schedules_build(a, plan, &(struct target){.device = device, .evaluations = backend->evaluations});
    struct text wrong = {.arena = a}, shown = {.arena = a};
    if (schedules_check(a, all, &wrong))
        fail("a wrong plan", text_string(&wrong));
    unsigned rows = 0;
    for (int i = 0; i < emitter_count; i++)
        if ((!emitter_table[i].backend || !strcmp(emitter_table[i].backend, backend->name)) &&
            (tunes || !emitter_table[i].tunes))
            rows |= 1u << i;
    const struct emission from = {.backend = backend, .schedules = all, .of_folder = true};
    struct output_file *file;
    for (int i = 0, files = emit_files(a, &from, rows, &file); i < files; i++)
        if (!strstr(file[i].name, ".html") && !strstr(file[i].name, ".py") &&
            !strstr(file[i].name, ".mk")) /* report.t, names.t and tuner.t read these */
            check_source(file[i].text);
    for (int i = 0; i < print_count; i++) {
        struct text report = {.arena = a};
        print_table[i].print(&report, all);
        if (print_table[i].is_json)
            check_source(text_string(&report));
    }
    schedules_dump(&shown, all);
}

/* Each backend for one of its devices, and one input in four with programs that tune; hash chooses. */
static void emit_all(struct arena *a, const struct problem *problem, const struct form *form, uint32_t hash)
{
    const struct plan *plan = plan_build(a, problem, form);
    struct text shown = {.arena = a};
    spec_print(&shown, problem->spec);
    print_form(&shown, form);
    for (int b = 0; b < backend_count; b++) {
        const struct device *of[16];
        unsigned devices = 0;
        for (int d = 0; d < device_count; d++)
            if (!strcmp(device_table[d].backend, backend_table[b]->name))
                of[devices++] = &device_table[d];
        emit(a, plan, backend_table[b], of[hash % devices], hash / 256 % 4 == 0);
    }
    seen.emitted++;
}
#endif

/* Everything for one input, or as far as the arena's memory goes. */
static void compile(struct arena *arena, const char *source, size_t size, uint32_t hash)
{
    if (setjmp(tensors.failure))
        fail("no memory for tensors", "");
    if (setjmp(arena->failure)) {
        seen.starved++;
        return;
    }
    struct diag diag = {.file = "fuzz.yaml", .source = source, .source_size = size, .arena = arena};
    const struct spec *spec = spec_read(arena, &diag);
    check_messages(&diag, spec);
    const struct problem *problem = spec ? problem_build(arena, &wigner, spec, &diag) : NULL;
    const struct form *form = problem ? form_build(arena, problem, &diag) : NULL;
    if (form)
        lint(problem, form, &diag);
    if (diag.errors) /* as of segments that are not unused */
        form = NULL;
    check_messages(&diag, form);
    if (hash % 8 <= DIAG_JSON) /* printing takes longer than reading: often enough */
        check_printed(&diag, hash % 8);
    if (!form)
        return;
    seen.specs++;
#ifdef EMIT
    emit_all(arena, problem, form, hash);
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (seen.inputs++ == 0)
        atexit(tell);
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 16777619u;
    struct arena arena = {.limit = MEMORY_MOST};
    compile(&arena, (const char *)data, size, hash >> 4);
    if (hash % 16 == 0) {
        size_t used = arena.most;
        arena_free(&arena);
        arena = (struct arena){.limit = 1 + (hash >> 4) % used};
        compile(&arena, (const char *)data, size, hash >> 4);
    }
    arena_free(&arena);
    return 0;
}
