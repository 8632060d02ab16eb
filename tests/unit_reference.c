/* unit_reference.c - the dense reference itself: its tensors are e3nn's and invariant, its products e3nn's to
 * third order for every golden case, and kernels without golden values agree with difference quotients.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden_case.h"

#include <float.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ---- */

static void dense(const struct ref_w3j *w, long double *out)
{
    const int d2 = 2 * w->l2 + 1, d3 = 2 * w->l3 + 1;
    for (int a = 0; a < (2 * w->l1 + 1) * d2 * d3; a++)
        out[a] = 0;
    for (int e = 0; e < w->n; e++)
        out[(w->entry[e].i * d2 + w->entry[e].j) * d3 + w->entry[e].k] = w->entry[e].value;
}

/* e3nn's rounding leaves noise of up to some 1e-16 where a tensor is zero and 8.5 ulp elsewhere. */
static void test_tensors_of_e3nn(void **state)
{
    (void)state;
    FILE *file = fopen("tests/data/w3j/w3j.f64", "rb");
    static long double mine[13 * 13 * 13];
    double theirs;
    assert_non_null(file);
    for (int l1 = 0; l1 <= 6; l1++)
        for (int l2 = 0; l2 <= 6; l2++)
            for (int l3 = abs(l1 - l2); l3 <= l1 + l2 && l3 <= 6; l3++) {
                struct ref_w3j *w = ref_w3j(l1, l2, l3);
                dense(w, mine);
                for (int a = 0; a < (2 * l1 + 1) * (2 * l2 + 1) * (2 * l3 + 1); a++) {
                    assert_int_equal(fread(&theirs, sizeof theirs, 1, file), 1);
                    assert_true(fabsl(mine[a] - theirs) <= 16 * DBL_EPSILON * fabs(theirs) + 2 * DBL_EPSILON);
                }
                ref_w3j_free(w);
            }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

/* The tensor turned in all three indices is what it was, to well below double precision. */
static void test_tensors_are_invariant(void **state)
{
    (void)state;
    enum { SIDE = 2 * REF_L_MAX + 1, VOLUME = SIDE * SIDE * SIDE };
    static long double t[2][VOLUME], d[REF_L_MAX + 1][SIDE * SIDE];
    const long double turn[3] = {0.7L, -1.9L, 1.1L};
    for (int l = 0; l <= REF_L_MAX; l++)
        ref_rotation(l, turn, d[l]);
    for (int l = 0; l <= REF_L_MAX; l++) /* a rotation is orthogonal, and no trivial one for l > 0 */
        for (int a = 0; a < 2 * l + 1; a++)
            for (int b = 0; b < 2 * l + 1; b++) {
                long double sum = 0;
                for (int c = 0; c < 2 * l + 1; c++)
                    sum += d[l][a * (2 * l + 1) + c] * d[l][b * (2 * l + 1) + c];
                assert_true(fabsl(sum - (a == b)) < 1e-17L);
                assert_true(l == 0 || fabsl(d[l][a * (2 * l + 1) + a] - 1) > 1e-3L);
            }
    for (int l1 = 0; l1 <= REF_L_MAX; l1 += 1 + l1 / 4)
        for (int l2 = 0; l2 <= REF_L_MAX; l2 += 1 + l2 / 4)
            for (int l3 = abs(l1 - l2); l3 <= l1 + l2 && l3 <= REF_L_MAX; l3++) {
                struct ref_w3j *w = ref_w3j(l1, l2, l3);
                const int n[3] = {2 * l1 + 1, 2 * l2 + 1, 2 * l3 + 1}, l[3] = {l1, l2, l3};
                const int volume = n[0] * n[1] * n[2], stride[3] = {n[1] * n[2], n[2], 1};
                long double *from = t[0], *to = t[1];
                dense(w, from);
                for (int axis = 0; axis < 3; axis++) {
                    for (int a = 0; a < volume; a++) {
                        int at = a / stride[axis] % n[axis];
                        to[a] = 0;
                        for (int b = 0; b < n[axis]; b++)
                            to[a] += d[l[axis]][at * n[axis] + b] * from[a + (b - at) * stride[axis]];
                    }
                    long double *swap = from;
                    from = to;
                    to = swap;
                }
                dense(w, to);
                for (int a = 0; a < volume; a++)
                    assert_true(fabsl(from[a] - to[a]) < DBL_EPSILON / 4);
                ref_w3j_free(w);
            }
}

/* ---- golden cases ---- */

/* Compares every golden array that is an output of the kernel; returns how many there are. */
static int compare_kernel(const struct golden_case *c, const char *path, const char *name, double *worst)
{
    struct ref_kernel kernel;
    const double *input[REF_ARGUMENTS];
    int compared = 0;
    ref_kernel_parse(&kernel, name, ref_kernel_text(name), NULL);
    for (int a = 0; a < kernel.arguments; a++)
        input[a] = golden_array(c, kernel.argument[a].name);
    for (int o = 0; o < kernel.outputs; o++) {
        const double *expected = golden_array(c, kernel.output[o].name);
        if (!expected)
            continue;
        const int slot = kernel.output[o].slot;
        const int64_t n = ref_rows(c->problem, &c->graph, slot) * c->problem->dim[slot];
        long double *value = malloc((size_t)n * sizeof *value + 1),
                    *magnitude = malloc((size_t)n * sizeof *value + 1);
        assert_true(value && magnitude);
        ref_evaluate(c->problem, &c->graph, &kernel, o, input, -1, value, magnitude);
        for (int64_t i = 0; i < n; i++) {
            long double error = fabsl(expected[i] - value[i]);
            if (!(error <= 1e-14L * magnitude[i]))
                fail_msg("%s: %s[%lld] is %.17g, the reference has %.17Lg, terms' sum %.3Lg", path,
                         kernel.output[o].name, (long long)i, expected[i], value[i], magnitude[i]);
            if (magnitude[i] > 0)
                *worst = fmax(*worst, (double)(error / magnitude[i]));
        }
        compared++;
        free(value);
        free(magnitude);
    }
    return compared;
}

static void test_golden_cases(void **state)
{
    (void)state;
    glob_t found;
    double worst = 0;
    int triple = 0;
    assert_int_equal(glob("tests/golden/*.problem", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 90);
    for (size_t f = 0; f < found.gl_pathc; f++) {
        char name[128];
        struct golden_case c;
        snprintf(name, sizeof name, "%s", strrchr(found.gl_pathv[f], '/') + 1);
        *strrchr(name, '.') = 0;
        golden_case_read(&c, "tests/golden", name);
        const double *coefficient = golden_array(&c, "coefficients");
        for (int i = 0; i < c.problem->paths; i++)
            if (!(fabsl(c.problem->path[i].coefficient - coefficient[i]) <= 4 * DBL_EPSILON * coefficient[i]))
                fail_msg("%s: path %d has coefficient %.17g, the reference %.17Lg", name, i, coefficient[i],
                         c.problem->path[i].coefficient);
        bool weights = c.problem->dim[REF_W] > 0;
        assert_int_equal(compare_kernel(&c, name, "forward", &worst), 1);
        assert_int_equal(compare_kernel(&c, name, "backward", &worst), weights ? 3 : 2);
        assert_int_equal(compare_kernel(&c, name, "double_backward", &worst), weights ? 4 : 3);
        int third = compare_kernel(&c, name, "triple_backward", &worst);
        assert_true(third == 0 || third == (weights ? 7 : 5));
        triple += third > 0;
        golden_case_free(&c);
    }
    assert_int_equal(triple, 5);
    print_message("# largest error of e3nn: %.2g of the sum of absolute terms\n", worst);
    globfree(&found);
}

/* ---- what golden values do not cover ---- */

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1;
}

/* Kernel NAME_jvp is the derivative of NAME along the tangents; triple_backward that of double_backward,
 * paired with its cotangents, by each argument. Q is linear in every operand, so the kernels are polynomials
 * of low degree in a step h and the derivative follows exactly from values at h = -2, -1, 1, 2. */
enum { SAMPLES = 4 };
static const double steps[SAMPLES] = {-2, -1, 1, 2};
static const long double quotient[SAMPLES] = {1.0L / 12, -2.0L / 3, 2.0L / 3, -1.0L / 12};

struct problem_case {
    struct ref_problem *problem;
    struct ref_graph graph;
};

static struct problem_case mixed_problem(void)
{
    static const int64_t sender[5] = {0, 2, 2, 1, 0}, receiver[5] = {1, 1, 2, 3, 3};
    struct problem_case c = {ref_problem_new("2x0e+2x1o+1x2e", "2x0e+2x1o", "2x0e+2x1o+4x1o+3x2e+1x1e+1x0e"),
                             {5, 3, 4, sender, receiver}};
    ref_add_path(c.problem, 0, 0, 0, "uuu", true, 1);
    ref_add_path(c.problem, 1, 0, 1, "uvu", false, 2);
    ref_add_path(c.problem, 0, 1, 1, "uvv", true, 1);
    ref_add_path(c.problem, 1, 0, 2, "uvuv", true, 0.5);
    ref_add_path(c.problem, 2, 0, 3, "uvw", true, 1);
    ref_add_path(c.problem, 1, 1, 3, "uuw", true, 1);
    ref_add_path(c.problem, 1, 1, 4, "uvu<v", true, 1);
    ref_add_path(c.problem, 1, 1, 5, "u<vw", true, 1);
    ref_add_path(c.problem, 2, 1, 1, "uvv", false, 1);
    c.problem->index[REF_X] = REF_SENDER;
    c.problem->index[REF_G] = REF_RECEIVER;
    c.problem->index[REF_W] = REF_SHARED;
    ref_problem_finish(c.problem);
    return c;
}

static int64_t count(const struct problem_case *c, int slot)
{
    return ref_rows(c->problem, &c->graph, slot) * c->problem->dim[slot];
}

static double *random_array(int64_t n, uint64_t *seed)
{
    double *a = malloc((size_t)n * sizeof *a + 1);
    assert_non_null(a);
    for (int64_t i = 0; i < n; i++)
        a[i] = uniform(seed);
    return a;
}

/* The tangent part of an argument of a derivative kernel: the argument of `of` that `name` moves, -1 for
 * none. */
static void check_jvp(const char *of_name, const char *name)
{
    struct ref_kernel of, jvp;
    struct problem_case c = mixed_problem();
    double *point[REF_ARGUMENTS], *tangent[REF_ARGUMENTS], *moved[REF_ARGUMENTS];
    uint64_t seed = 5;
    ref_kernel_parse(&of, of_name, ref_kernel_text(of_name), NULL);
    ref_kernel_parse(&jvp, name, ref_kernel_text(name), NULL);
    assert_int_equal(of.outputs, jvp.outputs);
    assert_int_equal(2 * of.arguments, jvp.arguments);
    for (int a = 0; a < of.arguments; a++) {
        point[a] = random_array(count(&c, of.argument[a].slot), &seed);
        tangent[a] = random_array(count(&c, of.argument[a].slot), &seed);
        moved[a] = random_array(count(&c, of.argument[a].slot), &seed);
    }
    for (int o = 0; o < of.outputs; o++) {
        const double *input[REF_ARGUMENTS] = {NULL};
        char output[REF_NAME + 1];
        snprintf(output, sizeof output, "d%s", of.output[o].name);
        assert_string_equal(output, jvp.output[o].name);
        for (int a = 0; a < jvp.arguments; a++) {
            const char *argument = jvp.argument[a].name;
            int at = ref_find_argument(&of, argument);
            input[a] = at >= 0 ? point[at] : tangent[ref_find_argument(&of, argument + 1)];
        }
        int64_t n = count(&c, of.output[o].slot);
        long double *value = malloc((size_t)n * sizeof *value),
                    *magnitude = malloc((size_t)n * sizeof *value), *sum = calloc((size_t)n, sizeof *sum),
                    *scale = calloc((size_t)n, sizeof *scale);
        assert_true(value && magnitude && sum && scale);
        for (int s = 0; s < SAMPLES; s++) {
            for (int a = 0; a < of.arguments; a++)
                for (int64_t i = 0; i < count(&c, of.argument[a].slot); i++)
                    moved[a][i] = point[a][i] + steps[s] * tangent[a][i];
            ref_evaluate(c.problem, &c.graph, &of, o, (const double *const *)moved, -1, value, magnitude);
            for (int64_t i = 0; i < n; i++) {
                sum[i] += quotient[s] * value[i];
                scale[i] += magnitude[i];
            }
        }
        ref_evaluate(c.problem, &c.graph, &jvp, o, input, -1, value, magnitude);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabsl(sum[i] - value[i]) <= 1e-15L * scale[i]);
        free(value);
        free(magnitude);
        free(sum);
        free(scale);
    }
    for (int a = 0; a < of.arguments; a++) {
        free(point[a]);
        free(tangent[a]);
        free(moved[a]);
    }
    ref_problem_free(c.problem);
}

static void test_jvps(void **state)
{
    (void)state;
    check_jvp("forward", "jvp");
    check_jvp("backward", "backward_jvp");
    check_jvp("double_backward", "double_backward_jvp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_of_e3nn),
        cmocka_unit_test(test_tensors_are_invariant),
        cmocka_unit_test(test_golden_cases),
        cmocka_unit_test(test_jvps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
