/* unit_problem.c - what a spec's instructions mean: coefficients, weights and generated instructions as
 * e3nn's, and every rule that an instruction can break reported at its place.
 *
 * Specs are built here by hand; data/problem/cases.txt holds e3nn's own answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct wigner wigner;
static struct diag diag;

static int setup(void **state)
{
    (void)state;
    wigner = (struct wigner){.arena = &arena};
    diag = (struct diag){.file = "spec", .source = "", .arena = &arena};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* ---- specs ---- */

/* Lines of the spec: irreps x, y, z stand on 1, 2, 3; variances on 4, 5, 6; the sugar on 7; instruction n
 * on 10 + n with its elements in columns 1 to 6. */
enum { X_LINE = 1, VARIANCE_LINE = 4, SUGAR_LINE = 7, INSTRUCTION_LINE = 10 };

static struct pos at(int line, int column)
{
    return (struct pos){line, column, 1};
}

static struct irreps irreps(const char *s)
{
    struct irreps out;
    struct irreps_error error;
    if (!irreps_parse(&arena, s, &out, &error))
        fail_msg("%s: %s", s, error.message);
    return out;
}

static struct rat number(const char *s)
{
    struct rat value;
    if (!rat_parse(&arena, s, &value))
        fail_msg("%s is no number", s);
    return value;
}

/* z may be NULL. */
static struct spec *make_spec(const char *x, const char *y, const char *z, enum sugar sugar)
{
    struct spec *spec = NEW(&arena, struct spec);
    spec->name = "test";
    spec->description = "";
    spec->x = irreps(x);
    spec->y = irreps(y);
    spec->has_z = z != NULL;
    if (z)
        spec->z = irreps(z);
    spec->x_pos = at(X_LINE, 1);
    spec->y_pos = at(X_LINE + 1, 1);
    spec->z_pos = at(X_LINE + 2, 1);
    spec->sugar = sugar;
    spec->sugar_pos = spec->instructions_pos = at(SUGAR_LINE, 1);
    spec->order_output = true;
    spec->compute = PRECISION_FLOAT64;
    return spec;
}

static enum mode mode_of(const char *name)
{
    for (int i = 0; i < MODE_COUNT; i++)
        if (!strcmp(mode_table[i].name, name))
            return (enum mode)i;
    fail_msg("%s is no mode", name);
    return MODE_COUNT;
}

static void add(struct spec *spec, int x, int y, int z, const char *mode, bool weighted,
                const char *path_weight)
{
    struct spec_instruction *longer = NEW_ARRAY(&arena, struct spec_instruction, spec->instructions + 1);
    if (spec->instructions)
        memcpy(longer, spec->instruction, (size_t)spec->instructions * sizeof *longer);
    int line = INSTRUCTION_LINE + spec->instructions;
    longer[spec->instructions++] = (struct spec_instruction){
        .x = x,
        .y = y,
        .z = z,
        .mode = mode_of(mode),
        .weighted = weighted,
        .path_weight = number(path_weight),
        .pos = at(line, 1),
        .x_pos = at(line, 1),
        .y_pos = at(line, 2),
        .z_pos = at(line, 3),
        .mode_pos = at(line, 4),
        .weighted_pos = at(line, 5),
        .path_weight_pos = at(line, 6),
    };
    spec->instruction = longer;
}

/* values: numbers between spaces. */
static void set_variance(struct spec *spec, int slot, const char *values)
{
    struct spec_variance *variance = &spec->variance[slot];
    variance->pos = at(VARIANCE_LINE + slot, 1);
    variance->value = NEW_ARRAY(&arena, struct rat, strlen(values));
    char *copy = arena_string(&arena, values, strlen(values));
    for (char *s = strtok(copy, " \n"); s; s = strtok(NULL, " \n"))
        variance->value[variance->n++] = number(s);
}

static struct problem *build(const struct spec *spec)
{
    struct problem *problem = problem_build(&arena, &wigner, spec, &diag);
    if (!problem)
        fail_msg("%s", diag_text(&diag));
    assert_int_equal(diag.errors, 0);
    return problem;
}

static const char *printed(const struct irreps *irreps)
{
    struct text t = {.arena = &arena};
    irreps_print(&t, irreps);
    return text_string(&t);
}

static const char *coefficient(const struct problem *problem, int path)
{
    struct text t = {.arena = &arena};
    surd_print(&t, problem->path[path].coefficient);
    return text_string(&t);
}

/* ---- e3nn's answers ---- */

static double worst; /* ulp */

/* e3nn adds variances and divides in double, then takes the root: with n paths into an output, each
 * rounding at most half an ulp of the square, n + 4 of them, halved by the root. */
static void compare_coefficient(const struct problem *problem, int path, double theirs)
{
    double ours = surd_double(problem->path[path].coefficient);
    int terms = 0;
    for (int i = 0; i < problem->paths; i++)
        terms += problem->path[i].z == problem->path[path].z;
    double ulp = nextafter(ours, INFINITY) - ours, error = fabs(theirs - ours) / ulp;
    if (error > 1 + (terms + 4) / 2.0)
        fail_msg("path %d: coefficient %.17g, e3nn has %.17g", path, ours, theirs);
    worst = fmax(worst, error);
}

struct golden_path {
    int x, y, z, weighted;
    char mode[8], path_weight[32];
    double coefficient;
};

enum { PATHS = 400 };

struct golden_case {
    char name[64];
    struct spec *spec;
    int paths;
    struct golden_path path[PATHS];
    long weights;
};

static void compare_paths(const struct golden_case *c, const struct problem *problem)
{
    assert_int_equal(problem->paths, c->paths);
    assert_int_equal(problem->weight_numel, c->weights);
    assert_int_equal(problem->dim[SLOT_W], c->weights);
    int64_t offset = 0;
    for (int i = 0; i < c->paths; i++) {
        const struct path *p = &problem->path[i];
        const struct golden_path *g = &c->path[i];
        if (p->x != g->x || p->y != g->y || p->z != g->z || p->mode != mode_of(g->mode) ||
            p->weighted != g->weighted)
            fail_msg("path %d is %d %d %d %s, e3nn's is %d %d %d %s", i, p->x, p->y, p->z,
                     mode_table[p->mode].name, g->x, g->y, g->z, g->mode);
        assert_int_equal(p->number, i);
        assert_true(p->cg->l1 == p->l1 && p->cg->l2 == p->l2 && p->cg->l3 == p->l3);
        if (p->weighted) {
            assert_int_equal(p->weight_offset, offset);
            offset += p->weight_numel;
        } else {
            assert_int_equal(p->weight_numel, 0);
        }
        compare_coefficient(problem, i, g->coefficient);
    }
    assert_int_equal(offset, c->weights);
}

/* The class that made the case, asked the same. */
static void compare_sugar(const struct golden_case *c, const char *name, const char *x, const char *y,
                          const char *z)
{
    static const char *const names[] = {"channelwise_output", "fully_connected", "elementwise", "full"};
    int kind = 0;
    while (kind < 4 && strcmp(names[kind], name))
        kind++;
    assert_true(kind < 4);
    struct spec *spec = make_spec(x, y, z, (enum sugar)(SUGAR_CHANNELWISE + kind));
    spec->irrep_normalization = c->spec->irrep_normalization;
    spec->path_normalization = c->spec->path_normalization;
    struct problem *problem = build(spec);
    assert_string_equal(printed(&problem->x), printed(&c->spec->x));
    assert_string_equal(printed(&problem->y), printed(&c->spec->y));
    assert_string_equal(printed(&problem->z), printed(&c->spec->z));
    assert_int_equal(problem->dim[SLOT_G], c->spec->z.dim);
    compare_paths(c, problem);
}

static int position(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(word, words[i]))
            return i;
    fail_msg("%s is not known", word);
    return -1;
}

static void equals_e3nn(void **state)
{
    (void)state;
    static const char *const irrep_names[] = {"component", "norm", "none"};
    static const char *const path_names[] = {"element", "path", "none"};
    FILE *f = fopen("tests/data/problem/cases.txt", "r");
    assert_non_null(f);
    static struct golden_case c;
    static char line[4096];
    static char part[4][4096];
    char irrep[16], path[16], coefficient_text[64], slot;
    int cases = 0, sugars = 0, skip;
    while (fgets(line, sizeof line, f)) {
        struct golden_path *g = &c.path[c.paths];
        if (sscanf(line, "case %63s", c.name) == 1) {
            c.paths = 0;
            c.spec = make_spec("", "", "", SUGAR_NONE);
        } else if (sscanf(line, "%c %4095s", &slot, part[0]) == 2 && line[1] == ' ' && strchr("xyz", slot)) {
            *(slot == 'x' ? &c.spec->x : slot == 'y' ? &c.spec->y : &c.spec->z) = irreps(part[0]);
        } else if (sscanf(line, "normalization %15s %15s", irrep, path) == 2) {
            c.spec->irrep_normalization = (enum irrep_normalization)position(irrep, irrep_names, 3);
            c.spec->path_normalization = (enum path_normalization)position(path, path_names, 3);
        } else if (sscanf(line, "variance %c %n", &slot, &skip) == 1) {
            set_variance(c.spec, slot - 'x', line + skip);
        } else if (sscanf(line, "path %d %d %d %7s %d %31s %63s", &g->x, &g->y, &g->z, g->mode, &g->weighted,
                          g->path_weight, coefficient_text) == 7) {
            g->coefficient = strtod(coefficient_text, NULL);
            add(c.spec, g->x, g->y, g->z, g->mode, g->weighted, g->path_weight);
            c.paths++;
            assert_true(c.paths < PATHS);
        } else if (sscanf(line, "weights %ld", &c.weights) == 1) {
            compare_paths(&c, build(c.spec));
            cases++;
        } else if (sscanf(line, "made_by %4095s %4095s %4095s%n %4095s", part[0], part[1], part[2], &skip,
                          part[3]) >= 3) {
            compare_sugar(&c, part[0], part[1], part[2], line[skip] == '\n' ? NULL : part[3]);
            sugars++;
        } else {
            assert_string_equal(line, "end\n");
            arena_free(&arena);
            setup(NULL);
        }
    }
    fclose(f);
    assert_int_equal(cases, 90);
    assert_int_equal(sugars, 23);
    printf("# largest difference from e3nn: %.1f ulp\n", worst);
}

/* ---- by hand ---- */

/* Modes, their weights' shapes, and what they sum. */
static void modes(void **state)
{
    (void)state;
    static const struct {
        const char *x, *y, *z, *mode, *coefficient;
        int rank, shape[3], numel;
    } cases[] = {
        {"2x0e", "3x0e", "5x0e", "uvw", "sqrt(1/6)", 3, {2, 3, 5}, 30},
        {"2x0e", "3x0e", "2x0e", "uvu", "sqrt(1/3)", 2, {2, 3}, 6},
        {"2x0e", "3x0e", "3x0e", "uvv", "sqrt(1/2)", 2, {2, 3}, 6},
        {"3x0e", "3x0e", "5x0e", "uuw", "sqrt(1/3)", 2, {3, 5}, 15},
        {"3x0e", "3x0e", "3x0e", "uuu", "1", 1, {3}, 3},
        {"2x0e", "3x0e", "6x0e", "uvuv", "1", 2, {2, 3}, 6},
        {"4x0e", "4x0e", "6x0e", "uvu<v", "1", 1, {6}, 6},
        {"4x0e", "4x0e", "5x0e", "u<vw", "sqrt(1/6)", 2, {6, 5}, 30},
        {"0x0e", "3x0e", "0x0e", "uvu", "sqrt(1/3)", 2, {0, 3}, 0},
        {"0x0e", "3x0e", "2x0e", "uvw", "1", 3, {0, 3, 2}, 0}, /* nothing summed: no division, as e3nn */
        {"1x0e", "1x0e", "0x0e", "uvu<v", "1", 1, {0}, 0},
        {"1x0e", "1x0e", "4x0e", "u<vw", "1", 2, {0, 4}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct spec *spec = make_spec(cases[i].x, cases[i].y, cases[i].z, SUGAR_NONE);
        add(spec, 0, 0, 0, cases[i].mode, true, "1");
        const struct problem *problem = build(spec);
        assert_string_equal(coefficient(problem, 0), cases[i].coefficient);
        int shape[3] = {0, 0, 0};
        assert_int_equal(path_weight_shape(&problem->path[0], shape), cases[i].rank);
        assert_memory_equal(shape, cases[i].shape, sizeof shape);
        assert_int_equal(problem->path[0].weight_numel, cases[i].numel);
        assert_int_equal(problem->weight_numel, cases[i].numel);
    }
}

static void layout(void **state)
{
    (void)state;
    /* Empty, repeated and unused segments; unweighted paths between weighted ones; a path weight of zero. */
    struct spec *spec = make_spec("2x0e+0x1o+3x1o+2x0e", "1x0e+1x1o", "2x0e+7x2e+3x1o+2x0e", SUGAR_NONE);
    add(spec, 0, 0, 0, "uvu", true, "1");
    add(spec, 3, 0, 0, "uvu", false, "0.25");
    add(spec, 2, 0, 2, "uvu", true, "0");
    add(spec, 2, 1, 3, "uvw", true, "1");
    add(spec, 0, 0, 0, "uvu", true, "2");
    const struct problem *problem = build(spec);
    static const int64_t offset[] = {0, 0, 2, 5, 11}, numel[] = {2, 0, 3, 6, 2};
    static const char *const expected[] = {"sqrt(1/3)", "sqrt(1/12)", "0", "sqrt(1/3)", "sqrt(2/3)"};
    for (int i = 0; i < problem->paths; i++) {
        assert_int_equal(problem->path[i].weight_offset, offset[i]);
        assert_int_equal(problem->path[i].weight_numel, numel[i]);
        assert_string_equal(coefficient(problem, i), expected[i]);
    }
    assert_int_equal(problem->dim[SLOT_X], 13);
    assert_int_equal(problem->dim[SLOT_Y], 4);
    assert_int_equal(problem->dim[SLOT_W], 13);
    assert_int_equal(problem->dim[SLOT_G], 48);
}

static void variances(void **state)
{
    (void)state;
    struct spec *spec = make_spec("2x0e+2x0e", "1x0e", "2x0e+2x0e", SUGAR_NONE);
    set_variance(spec, 0, "0.5 0");
    set_variance(spec, 1, "3");
    set_variance(spec, 2, "5 0.1");
    add(spec, 0, 0, 0, "uvu", true, "1");
    add(spec, 1, 0, 0, "uvu", true, "1");
    add(spec, 1, 0, 1, "uvu", true, "1");
    const struct problem *problem = build(spec);
    assert_string_equal(coefficient(problem, 0), "sqrt(10/3)"); /* 5 / (3/2 + 0) */
    assert_string_equal(coefficient(problem, 1), "sqrt(10/3)");
    assert_string_equal(coefficient(problem, 2), "sqrt(1/10)"); /* variance zero does not divide, as e3nn */
    spec->path_normalization = PATH_PATH;
    problem = build(spec);
    assert_string_equal(coefficient(problem, 0), "sqrt(5/3)"); /* 5 / (3/2 * 2) */
    assert_string_equal(coefficient(problem, 1), "sqrt(5)");
    spec->path_normalization = PATH_NONE;
    assert_string_equal(coefficient(build(spec), 0), "sqrt(5)");

    /* full merges neighbours, elementwise splits them: variances follow. */
    spec = make_spec("1x0e+2x0e+0x1o+3x1o", "1x0e", NULL, SUGAR_FULL);
    set_variance(spec, 0, "4 4 7 9");
    problem = build(spec);
    assert_string_equal(printed(&problem->x), "3x0e+3x1o");
    assert_string_equal(coefficient(problem, 0), "1/2");
    assert_string_equal(coefficient(problem, 1), "sqrt(1/3)"); /* 3 / 9 */
    spec = make_spec("1x0e+1x0e+1x0o", "1x0e+2x0o", NULL, SUGAR_ELEMENTWISE);
    set_variance(spec, 0, "4 4 9");
    set_variance(spec, 1, "1 25");
    problem = build(spec);
    assert_string_equal(printed(&problem->x), "1x0e+1x0e+1x0o");
    assert_string_equal(printed(&problem->y), "1x0e+1x0o+1x0o");
    assert_string_equal(printed(&problem->z), "1x0e+1x0o+1x0e");
    assert_string_equal(coefficient(problem, 0), "1/2");
    assert_string_equal(coefficient(problem, 1), "1/10");
    assert_string_equal(coefficient(problem, 2), "1/15");
    spec = make_spec("2x0e", "1x0e", "3x0e", SUGAR_FULLY_CONNECTED);
    set_variance(spec, 2, "8");
    assert_string_equal(coefficient(build(spec), 0), "2");
}

static void channelwise(void **state)
{
    (void)state;
    /* Without a filter: everything; outputs sorted, equals in the order of x, then y. */
    struct spec *spec = make_spec("4x1o+8x0e", "1x0e+1x1o", NULL, SUGAR_CHANNELWISE);
    const struct problem *problem = build(spec);
    assert_string_equal(printed(&problem->z), "4x0e+8x0e+4x1o+8x1o+4x1e+4x2e");
    static const int by_output[6][3] = {{0, 1, 0}, {1, 0, 1}, {0, 0, 2}, {1, 1, 3}, {0, 1, 4}, {0, 1, 5}};
    static const int by_input[6][3] = {{0, 0, 2}, {0, 1, 0}, {0, 1, 4}, {0, 1, 5}, {1, 0, 1}, {1, 1, 3}};
    assert_int_equal(problem->paths, 6);
    for (int i = 0; i < 6; i++) {
        const struct path *p = &problem->path[i];
        assert_true(p->x == by_output[i][0] && p->y == by_output[i][1] && p->z == by_output[i][2]);
        assert_true(p->mode == MODE_UVU && p->weighted);
    }
    spec->order_output = false;
    problem = build(spec);
    assert_string_equal(printed(&problem->z), "4x0e+8x0e+4x1o+8x1o+4x1e+4x2e");
    for (int i = 0; i < 6; i++) {
        const struct path *p = &problem->path[i];
        assert_true(p->x == by_input[i][0] && p->y == by_input[i][1] && p->z == by_input[i][2]);
    }
    /* A filter's multiplicities mean nothing, and it may name what never comes. */
    problem = build(make_spec("4x1o+8x0e", "1x0e+1x1o", "1x1o+0x0e+99x7o", SUGAR_CHANNELWISE));
    assert_string_equal(printed(&problem->z), "4x0e+8x0e+4x1o+8x1o");
    problem = build(make_spec("4x1o", "", NULL, SUGAR_CHANNELWISE));
    assert_int_equal(problem->paths, 0);
    assert_int_equal(problem->dim[SLOT_G], 0);
}

/* ---- errors ---- */

static void put_report(struct text *t, struct pos pos, const char *kind, const char *message)
{
    if (pos.line > 0)
        text_printf(t, "%d:%d:", pos.line, pos.column);
    text_printf(t, " %s: %s\n", kind, message);
}

/* What was reported, without the source lines: `line:column: ...`, a line each. */
static const char *reports(const struct spec *spec)
{
    diag = (struct diag){.file = "spec", .source = "", .arena = &arena};
    struct problem *problem = problem_build(&arena, &wigner, spec, &diag);
    assert_true((problem == NULL) == (diag.errors > 0));
    struct text t = {.arena = &arena};
    for (int i = 0; i < diag.messages; i++) {
        const struct diag_message *m = &diag.message[i];
        put_report(&t, m->pos, "error", m->text);
        for (const struct diag_note *note = m->note; note; note = note->next)
            put_report(&t, note->pos, "note", note->text);
    }
    return text_string(&t);
}

static void wrong_segments(void **state)
{
    (void)state;
    struct spec *spec = make_spec("1x0e+1x0e+1x0e", "1x0e", "", SUGAR_NONE);
    add(spec, 3, 1, 0, "uvw", true, "1");
    add(spec, -1, 0, 0, "uvw", true, "1");
    assert_string_equal(reports(spec), "10:1: error: there is no segment 3 in x: expected 0 to 2\n"
                                       "1:1: note: the segments of x\n"
                                       "10:2: error: there is no segment 1 in y: expected 0, its only one\n"
                                       "2:1: note: the segments of y\n"
                                       "10:3: error: there is no segment 0 in z, which is empty\n"
                                       "3:1: note: the segments of z\n"
                                       "11:1: error: there is no segment -1 in x: expected 0 to 2\n"
                                       "1:1: note: the segments of x\n"
                                       "11:3: error: there is no segment 0 in z, which is empty\n"
                                       "3:1: note: the segments of z\n");
}

static void wrong_irreps(void **state)
{
    (void)state;
    struct spec *spec = make_spec("2x1o+2x0e", "1x1o+1x2e", "2x1o+2x3e+2x4o", SUGAR_NONE);
    add(spec, 0, 0, 0, "uvu", true, "1");
    add(spec, 0, 0, 1, "uvu", true, "1");
    add(spec, 1, 1, 2, "uvu", true, "1");
    assert_string_equal(reports(spec),
                        "10:3: error: the parity of 1o times 1o is even, but segment 0 of z, 2x1o, is odd\n"
                        "3:1: note: segment 0 of z is 2x1o\n"
                        "11:3: error: 1o times 1o has l from 0 to 2, but segment 1 of z, 2x3e, has l = 3\n"
                        "3:1: note: segment 1 of z is 2x3e\n"
                        "12:3: error: the parity of 0e times 2e is even, but segment 2 of z, 2x4o, is odd\n"
                        "12:3: error: 0e times 2e has l = 2 only, but segment 2 of z, 2x4o, has l = 4\n"
                        "3:1: note: segment 2 of z is 2x4o\n");
}

static void wrong_multiplicities(void **state)
{
    (void)state;
    struct spec *spec = make_spec("2x0e", "3x0e", "4x0e", SUGAR_NONE);
    for (int mode = MODE_UVW; mode < MODE_COUNT; mode++)
        add(spec, 0, 0, 0, mode_table[mode].name, true, "1");
    assert_string_equal(
        reports(spec),
        "11:4: error: uvu needs equal multiplicities of x and z, but they are 2 and 4\n"
        "1:1: note: segment 0 of x is 2x0e\n"
        "3:1: note: segment 0 of z is 4x0e\n"
        "12:4: error: uvv needs equal multiplicities of y and z, but they are 3 and 4\n"
        "2:1: note: segment 0 of y is 3x0e\n"
        "3:1: note: segment 0 of z is 4x0e\n"
        "13:4: error: uuw needs equal multiplicities of x and y, but they are 2 and 3\n"
        "1:1: note: segment 0 of x is 2x0e\n"
        "2:1: note: segment 0 of y is 3x0e\n"
        "14:4: error: uuu needs equal multiplicities of x and y, but they are 2 and 3\n"
        "14:4: error: uuu needs equal multiplicities of x and z, but they are 2 and 4\n"
        "1:1: note: segment 0 of x is 2x0e\n"
        "2:1: note: segment 0 of y is 3x0e\n"
        "3:1: note: segment 0 of z is 4x0e\n"
        "15:4: error: uvuv needs multiplicity 2 * 3 = 6 in z, that of x times that of y, but it is 4\n"
        "1:1: note: segment 0 of x is 2x0e\n"
        "2:1: note: segment 0 of y is 3x0e\n"
        "3:1: note: segment 0 of z is 4x0e\n"
        "16:4: error: uvu<v needs equal multiplicities of x and y, but they are 2 and 3\n"
        "16:4: error: uvu<v needs multiplicity 2 * 1 / 2 = 1 in z, the pairs u < v of x, but it is 4\n"
        "1:1: note: segment 0 of x is 2x0e\n"
        "2:1: note: segment 0 of y is 3x0e\n"
        "3:1: note: segment 0 of z is 4x0e\n"
        "17:4: error: u<vw needs equal multiplicities of x and y, but they are 2 and 3\n"
        "1:1: note: segment 0 of x is 2x0e\n"
        "2:1: note: segment 0 of y is 3x0e\n");
}

static void missing_weights(void **state)
{
    (void)state;
    struct spec *spec = make_spec("3x0e", "3x0e", "3x0e+1x0e+9x0e", SUGAR_NONE);
    add(spec, 0, 0, 0, "uvw", false, "1");
    add(spec, 0, 0, 0, "u<vw", false, "1");
    add(spec, 0, 0, 0, "uuw", false, "1");
    add(spec, 0, 0, 1, "uuw", false, "1"); /* these are fine */
    add(spec, 0, 0, 0, "uvu", false, "1");
    add(spec, 0, 0, 0, "uvv", false, "1");
    add(spec, 0, 0, 0, "uuu", false, "1");
    add(spec, 0, 0, 2, "uvuv", false, "1");
    add(spec, 0, 0, 0, "uvu<v", false, "1");
    assert_string_equal(
        reports(spec), "10:5: error: uvw needs weights: expected true\n"
                       "11:5: error: u<vw needs weights: expected true\n"
                       "12:5: error: uuw without weights sums into one channel, but the multiplicity of z is "
                       "3: expected true here, or 1 there\n"
                       "3:1: note: segment 0 of z is 3x0e\n");
}

static void wrong_variances(void **state)
{
    (void)state;
    struct spec *spec = make_spec("2x0e+1x0e", "1x0e", "2x0e", SUGAR_NONE);
    set_variance(spec, 0, "1");
    set_variance(spec, 1, "1 1");
    set_variance(spec, 2, "1 1 1");
    assert_string_equal(reports(spec),
                        "4:1: error: expected one variance for each segment of x, that is 2, but got 1\n"
                        "1:1: note: the segments of x\n"
                        "5:1: error: expected one variance for each segment of y, that is 1, but got 2\n"
                        "2:1: note: the segments of y\n"
                        "6:1: error: expected one variance for each segment of z, that is 1, but got 3\n"
                        "3:1: note: the segments of z\n");
    static const enum sugar expanding[] = {SUGAR_CHANNELWISE, SUGAR_ELEMENTWISE, SUGAR_FULL};
    for (int i = 0; i < 3; i++) {
        spec = make_spec("1x0e", "1x0e", "1x0e", expanding[i]);
        set_variance(spec, 2, "1");
        assert_string_equal(
            reports(spec), "6:1: error: z takes no list of variances here: its segments follow from x and y\n"
                           "7:1: note: with these instructions\n");
    }
    static const char *const differing[] = {
        "4:1: error: neighbours of equal irreps in x are merged here, so their variances must be equal\n"
        "1:1: note: the segments of x\n",
        "5:1: error: neighbours of equal irreps in y are merged here, so their variances must be equal\n"
        "2:1: note: the segments of y\n",
    };
    for (int i = 1; i < 3; i++)
        for (int slot = 0; slot < 2; slot++) {
            spec = make_spec("1x0e+0x1o+2x0e", "1x0e+0x1o+2x0e", NULL, expanding[i]);
            set_variance(spec, slot, "1 1 2");
            assert_string_equal(reports(spec), differing[slot]);
        }
}

static const char *repeated(const char *s, int n)
{
    struct text t = {.arena = &arena};
    for (int i = 0; i < n; i++)
        text_printf(&t, "%s%s", i ? "+" : "", s);
    return text_string(&t);
}

static void too_large(void **state)
{
    (void)state;
    const char *giant = repeated("1048576x11e", 45); /* 2^20 * 23 * 45 > 2^30 */
    assert_string_equal(reports(make_spec(giant, "1x0e", giant, SUGAR_NONE)),
                        "1:1: error: a row of x has 1085276160 elements, more than the largest number "
                        "supported, 1073741824\n"
                        "3:1: error: a row of z has 1085276160 elements, more than the largest number "
                        "supported, 1073741824\n");
    /* As a filter it stands for irreps only. */
    assert_string_equal(reports(make_spec("1x11e", "1x0e", giant, SUGAR_CHANNELWISE)), "");

#define WEIGHTS_TOO_MANY                                                                                     \
    "with this instruction a row of w has more than 1073741824 elements, the largest number supported\n"
    struct spec *spec = make_spec("1048576x0e+1x0e", "1048576x0e+1x0e", "1048576x0e+1024x0e", SUGAR_NONE);
    add(spec, 0, 1, 1, "uvw", true, "1"); /* exactly 2^30 */
    assert_string_equal(reports(spec), "");
    add(spec, 0, 0, 0, "uvw", true, "1");  /* 2^60 */
    add(spec, 1, 1, 1, "uvw", true, "1");  /* and 2^10 more */
    add(spec, 0, 0, 1, "u<vw", true, "1"); /* 2^39 pairs */
    assert_string_equal(reports(spec), "11:4: error: " WEIGHTS_TOO_MANY "12:4: error: " WEIGHTS_TOO_MANY
                                       "13:4: error: " WEIGHTS_TOO_MANY);
    /* Pairs that no integer holds, though no output channel needs a weight for them. */
    spec = make_spec("1048576x0e", "1048576x0e", "0x0e", SUGAR_NONE);
    add(spec, 0, 0, 0, "u<vw", true, "1");
    assert_string_equal(reports(spec), "10:4: error: " WEIGHTS_TOO_MANY);

    assert_string_equal(reports(make_spec("2000x0e+1x1o", "2000x0e", NULL, SUGAR_FULL)),
                        "7:1: error: this makes an output segment of multiplicity 4000000, above the largest "
                        "supported, 1048576\n");
    const char *filter = "7e+8e+9e+10e+11e";
    assert_string_equal(reports(make_spec("1000000x10e", "1x10e", filter, SUGAR_CHANNELWISE)), "");
    assert_string_equal(reports(make_spec(repeated("1000000x10e", 12), "1x10e", filter, SUGAR_CHANNELWISE)),
                        "7:1: error: a row of z has 1140000000 elements, more than the largest number "
                        "supported, 1073741824\n");
}

static void too_many(void **state)
{
    (void)state;
    static const char error[] =
        "7:1: error: this makes more than 4096 instructions, the largest number supported\n";
    const char *many = repeated("1x0e", 17); /* 17^3 > 2^12 */
    assert_string_equal(reports(make_spec(many, many, many, SUGAR_FULLY_CONNECTED)), error);
    many = repeated("1x0e", 65);
    assert_string_equal(reports(make_spec(many, many, NULL, SUGAR_CHANNELWISE)), error);
    many = repeated("1x0e", 64);
    assert_string_equal(reports(make_spec(many, many, NULL, SUGAR_CHANNELWISE)), "");
}

static void beyond_l_max(void **state)
{
    (void)state;
    assert_string_equal(
        reports(make_spec("1x0e+1x6o", "1x7e", NULL, SUGAR_CHANNELWISE)),
        "7:1: error: 6o times 7e has l = 12, above the largest supported, 11: give the irreps "
        "wanted as z\n1:1: note: 6o in x\n2:1: note: 7e in y\n");
    assert_string_equal(reports(make_spec("1x11o", "1x11o", "11e", SUGAR_FULL)), "");
}

static void unequal_channels(void **state)
{
    (void)state;
    assert_string_equal(reports(make_spec("2x0e+3x1o", "4x0e", NULL, SUGAR_ELEMENTWISE)),
                        "7:1: error: elementwise needs as many channels in x as in y, but x has 5 and y 4\n"
                        "1:1: note: x\n2:1: note: y\n");
}

static void extreme_coefficients(void **state)
{
    (void)state;
    struct spec *spec = make_spec("1x0e", "1x0e", "1x0e+1x0e", SUGAR_NONE);
    add(spec, 0, 0, 0, "uvu", true, "1e30");
    add(spec, 0, 0, 1, "uvu", true, "1e-30");
    set_variance(spec, 0, "1e-30");
    assert_string_equal(reports(spec), "");
    spec->compute = PRECISION_FLOAT32; /* 1e30 and 1: the bounds themselves are allowed */
    assert_string_equal(reports(spec), "");
    set_variance(spec, 1, "0.5");
    assert_string_equal(reports(spec),
                        "10:6: error: variances and path weights make the coefficient of this instruction "
                        "1.41e+30, outside 1e-30 .. 1e30: change them, or ask for precision: float64\n");
    spec->variance[0].n = spec->variance[1].n = 0;
    set_variance(spec, 0, "1e30");
    set_variance(spec, 1, "1e1");
    assert_string_equal(reports(spec),
                        "11:6: error: variances and path weights make the coefficient of this instruction "
                        "3.16e-31, outside 1e-30 .. 1e30: change them, or ask for precision: float64\n");
    spec->compute = PRECISION_FLOAT64;
    assert_string_equal(reports(spec), "");
}

int main(void)
{
    if (setjmp(arena.failure)) {
        puts("Bail out! out of memory");
        return 1;
    }
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(equals_e3nn),
        TEST(modes),
        TEST(layout),
        TEST(variances),
        TEST(channelwise),
        TEST(wrong_segments),
        TEST(wrong_irreps),
        TEST(wrong_multiplicities),
        TEST(missing_weights),
        TEST(wrong_variances),
        TEST(too_large),
        TEST(too_many),
        TEST(beyond_l_max),
        TEST(unequal_channels),
        TEST(extreme_coefficients),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
