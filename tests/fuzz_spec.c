/* fuzz_spec.c - feeds specs, right, wrong and mutated, to everything that reads them: spec_read,
 * problem_build, form_build, lint.
 *
 *   fuzz_spec [FILE...]                       each file (or standard input) once
 *   fuzz_spec --mutate SEED COUNT FILE...     so many mutants of the files, the same ones for the same seed
 *
 * Built with ASan and UBSan (tests/fuzz.t). Whatever the input: no crash, no leak, no endless loop, a result
 * exactly when there are no errors, every error at a place that exists, nothing printed that a terminal might
 * obey. Every tenth mutant gets too little memory. The mutant that fails is left in the file named by
 * $FUZZ_KEEP.
 */
#include "form/lint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 1024, SIZE_MAX_ = 1 << 21, SECONDS_A_RUN = 100 };

struct input {
    size_t size;
    char *s;
};

static _Noreturn void fail(const char *what, const struct diag *diag)
{
    fprintf(stderr, "fuzz_spec: %s\n%s", what, diag ? diag_text(diag) : "");
    abort();
}

static void check(const struct diag *diag, bool result)
{
    if (result == (diag->errors > 0))
        fail("a result in spite of errors, or none without", diag);
    const char *out = diag_text(diag);
    if (diag->errors == 0 && diag->warnings == 0 && *out)
        fail("diagnostics without an error or a warning", diag);
    for (const unsigned char *p = (const unsigned char *)out; *p; p++)
        if ((*p < 0x20 && *p != '\n') || *p == 0x7f)
            fail("a control character among the diagnostics", diag);
    for (int i = 0; i < diag->messages; i++) {
        struct pos pos = diag->message[i].pos;
        if (pos.line == 0) /* no place */
            continue;
        const char *s = diag->source, *end = s + diag->source_size;
        for (int line = 1; line < pos.line && s; line++)
            s = (s = memchr(s, '\n', (size_t)(end - s))) ? s + 1 : NULL;
        if (!s && pos.column != 0)
            fail("an error in a line that is not there", diag);
        if (!s)
            continue;
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        if (pos.column < 1 || pos.column - 1 > (newline ? newline : end) - s || pos.width < 1)
            fail("an error in a column that is not there", diag);
    }
}

/* Reads one spec as far as it can be read; false where something is wrong, or memory ran out. */
static bool compile(struct arena *arena, const char *source, size_t size, struct wigner *wigner)
{
    if (setjmp(arena->failure)) {
        if (!arena->limit)
            fail("out of memory", NULL);
        return false;
    }
    struct diag diag = {.file = "fuzz.yaml", .source = source, .source_size = size, .arena = arena};
    const struct spec *spec = spec_read(arena, &diag);
    check(&diag, spec);
    const struct problem *problem = spec ? problem_build(arena, wigner, spec, &diag) : NULL;
    check(&diag, problem);
    const struct form *form = problem ? form_build(arena, problem, &diag) : NULL;
    check(&diag, form);
    if (form) {
        lint(problem, form, &diag);
        check(&diag, form);
    }
    return form;
}

/* The same with at most `limit` bytes of memory (0: any), and not forever. */
static bool run(const struct input *in, size_t limit, struct wigner *wigner)
{
    struct arena arena = {.limit = limit};
    char *copy = malloc(in->size ? in->size : 1); /* of the exact size: ASan sees one byte too far */
    if (!copy)
        fail("no memory", NULL);
    if (in->size)
        memcpy(copy, in->s, in->size);
    alarm(SECONDS_A_RUN);
    bool right = compile(&arena, copy, in->size, wigner);
    alarm(0);
    arena_free(&arena);
    free(copy);
    return right;
}

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? state % n : 0;
}

/* Replaces `cut` bytes at `at` by n bytes at s. */
static void splice(struct input *in, size_t at, size_t cut, const char *s, size_t n)
{
    cut = cut < in->size - at ? cut : in->size - at;
    if (in->size - cut + n > SIZE_MAX_)
        return;
    char *moved = malloc(in->size - cut + n + 1);
    if (!moved)
        fail("no memory", NULL);
    memcpy(moved, in->s, at);
    memcpy(moved + at, s, n);
    memcpy(moved + at + n, in->s + at + cut, in->size - at - cut);
    free(in->s);
    in->s = moved;
    in->size = in->size - cut + n;
}

static void mutate(struct input *in, const struct input *files, int count)
{
    static const char *const words[] = {
        "[",
        "]",
        "{",
        "}",
        ": ",
        ", ",
        "- ",
        "\n",
        "\n  ",
        "\t",
        "#",
        "&a ",
        "*a",
        "!t ",
        "\"",
        "'",
        "|\n",
        ">-\n",
        "---\n",
        "...\n",
        "? ",
        "%YAML 1.1\n",
        "\\",
        "\r\n",
        "\xef\xbb\xbf",
        "\xc3\xa4",
        "\xff",
        "-1",
        "0",
        "1e30",
        "1e-30",
        "1e999",
        "99999999999999999999",
        "2147483648",
        ".5",
        "nan",
        "true",
        "false",
        "uvw",
        "uvu<v",
        "u<vw",
        "uvuv",
        "0x0e",
        "11o",
        "12e",
        "1048576x",
        "+",
        "x",
        "e",
        "o",
        "channelwise",
        "elementwise",
        "full",
        "fully_connected",
        "shared",
        "sender",
        "Q_x(y, w, gz)",
        "Q_g(",
        ")",
        "d y",
        "forward",
        "triple_backward",
        "[]",
        "{}",
        "\"\"",
        "name: a\n",
        "cgtp: 1\n",
    };
    size_t at = random_below(in->size + 1);
    const struct input *other = &files[random_below((uint64_t)count)];
    const char *word = words[random_below(sizeof words / sizeof *words)];
    char byte = (char)random_below(256);
    switch (random_below(8)) {
    case 0:
        splice(in, at, 1, &byte, 1);
        break;
    case 1:
        splice(in, at, 0, word, strlen(word));
        break;
    case 2:
        splice(in, at, random_below(8), word, strlen(word));
        break;
    case 3:
        splice(in, at, random_below(16), "", 0);
        break;
    case 4: { /* a piece of the same */
        size_t from = random_below(in->size), n = random_below(in->size - from + 1);
        char *piece = malloc(n + 1);
        if (!piece)
            fail("no memory", NULL);
        memcpy(piece, in->s + from, n);
        splice(in, at, 0, piece, n);
        free(piece);
        break;
    }
    case 5: { /* a piece of another file */
        size_t from = random_below(other->size), n = random_below(other->size - from + 1);
        splice(in, at, random_below(n + 1), other->s + from, n);
        break;
    }
    case 6: { /* a line of another file in the place of a line */
        size_t from = random_below(other->size), n = 0, begin = at;
        while (from > 0 && other->s[from - 1] != '\n')
            from--;
        while (from + n < other->size && other->s[from + n] != '\n')
            n++;
        while (begin > 0 && in->s[begin - 1] != '\n')
            begin--;
        const char *newline = memchr(in->s + begin, '\n', in->size - begin);
        splice(in, begin, newline ? (size_t)(newline - in->s) - begin : in->size - begin, other->s + from, n);
        break;
    }
    default: /* cut the end off */
        if (random_below(8) == 0)
            splice(in, at, in->size, "", 0);
        else
            splice(in, at, 0, &"0123456789"[random_below(10)], 1);
    }
}

/* Opened once: opening and truncating a file for every mutant would take longer than the mutant. */
static void keep(const struct input *in)
{
    static int fd = -1;
    const char *name = getenv("FUZZ_KEEP");
    if (!name)
        return;
    if (fd < 0)
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || pwrite(fd, in->s, in->size, 0) != (ssize_t)in->size || ftruncate(fd, (off_t)in->size) != 0)
        fail("cannot write $FUZZ_KEEP", NULL);
}

static struct input read_input(FILE *f)
{
    struct input in = {0, malloc(SIZE_MAX_)};
    if (!f || !in.s)
        fail("cannot read a file", NULL);
    in.size = fread(in.s, 1, SIZE_MAX_, f);
    if (ferror(f))
        fail("cannot read a file", NULL);
    char *fitting = realloc(in.s, in.size + 1);
    in.s = fitting ? fitting : in.s;
    return in;
}

/* Runs mutants of the files, most of them of right ones. */
static void run_mutants(const struct input *file, int count, const int *right, int rights, long mutants,
                        struct wigner *wigner)
{
    long good = 0;
    for (long runs = 0; runs < mutants; runs++) {
        int from = (int)random_below((uint64_t)count);
        if (rights && random_below(4))
            from = right[random_below((uint64_t)rights)];
        struct input in = {0, malloc(1)};
        if (!in.s)
            fail("no memory", NULL);
        splice(&in, 0, 0, file[from].s, file[from].size);
        for (uint64_t n = 1 + random_below(1 + random_below(6)); n > 0; n--)
            mutate(&in, file, count);
        keep(&in);
        good += run(&in, runs % 10 == 9 ? 1 + random_below(1 << 17) : 0, wigner);
        free(in.s);
    }
    printf("%ld mutants, %ld of them right\n", mutants, good);
}

static void run_files(int argc, char **argv, struct wigner *wigner)
{
    static struct input file[FILES_MAX];
    static int right[FILES_MAX];
    bool mutants = argc > 4 && strcmp(argv[1], "--mutate") == 0;
    int count = 0, rights = 0;
    for (int i = mutants ? 4 : 1; i < argc && count < FILES_MAX; i++) {
        FILE *f = fopen(argv[i], "rb");
        file[count++] = read_input(f);
        fclose(f);
    }
    if (count == 0)
        file[count++] = read_input(stdin);
    for (int i = 0; i < count; i++) {
        keep(&file[i]);
        if (run(&file[i], 0, wigner))
            right[rights++] = i;
    }
    printf("%d files, %d of them right\n", count, rights);
    if (mutants) {
        state = strtoull(argv[2], NULL, 10) * 2 + 1;
        run_mutants(file, count, right, rights, atol(argv[3]), wigner);
    }
    for (int i = 0; i < count; i++)
        free(file[i].s);
}

int main(int argc, char **argv)
{
    static struct arena arena;
    struct wigner wigner = {.arena = &arena}; /* kept from run to run: most of the time is spent here */
    if (setjmp(arena.failure))
        fail("out of memory", NULL);
    run_files(argc, argv, &wigner);
    arena_free(&arena);
    return 0;
}
