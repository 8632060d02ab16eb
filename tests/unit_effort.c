/* unit_effort.c - effort.h: what is counted in a source, after all that is inlined and unrolled. */
#include "emit/effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int set_up(void **state)
{
    struct arena *a = *state = calloc(1, sizeof *a);
    return a ? setjmp(a->failure) : -1;
}

static int tear_down(void **state)
{
    arena_free(*state);
    free(*state);
    return 0;
}

static struct effort of(void **state, const char *text)
{
    return effort_of(*state, &backend_cuda, text);
}

#define SEES(what, text, number) assert_float_equal(of(state, text).count[what], number, 1e-9)

/* Three arguments and a product in each call. */
#define INLINED                                                                                              \
    "CGTP_DEVICE void uvu_0_0_0(const real *x,\n    const real *y)\n{\n    f(1, 2, 3), g = 2 * x[0];\n}\n"

static void functions_count_where_they_are_called(void **state)
{
    SEES(EFFORT_ARGUMENT, INLINED, 0);
    SEES(EFFORT_ARGUMENT, INLINED "static void k(int a, int b)\n{\n    uvu_0_0_0(1);\n    uvu_0_0_0(1, 2);\n}\n", 7);
    SEES(EFFORT_PRODUCT, INLINED "static void k(int a, int b)\n{\n    uvu_0_0_0(1);\n    uvu_0_0_0(1, 2);\n}\n", 2);
    SEES(EFFORT_ARGUMENT,
         INLINED "CGTP_DEVICE int twice(int n)\n{\n    uvu_0_0_0(1);\n    uvu_0_0_0(1);\n}\n"
                 "CGTP_KERNEL(32, 2) k(int a)\n{\n    twice(1);\n    twice(2);\n}\n",
         12);
    const char *const called = "CGTP_DEVICE_CALL void uvu_0_0_0(const real *x)\n{\n    f(1 * 2 * 3, 2);\n}\n"
                               "CGTP_KERNEL(32, 2) k(int a, int b)\n{\n    uvu_0_0_0(1);\n    uvu_0_0_0(1);\n}\n";
    SEES(EFFORT_ARGUMENT, called, 1);
    SEES(EFFORT_CALL, called, 2);
    SEES(EFFORT_CALLEE, called, 2);
}

static void loops_that_are_unrolled_count_as_often(void **state)
{
    SEES(EFFORT_ARGUMENT,
         "static void k(void)\n{\n    CGTP_UNROLL for (int u = 0; u < 8; u += 2) {\n        f(1, 2);\n    }\n"
         "    f(1, 2);\n}\n",
         5);
    SEES(EFFORT_ARGUMENT,
         "static void k(void)\n{\n    CGTP_UNROLL\n    for (int u = 0; u < 4; u++)\n"
         "        CGTP_UNROLL for (int v = 0; v < 5; v++) {\n            if (u) {\n                f(1, 2);\n            }\n"
         "        }\n    f(1, 2);\n}\n",
         21);
    SEES(EFFORT_ARGUMENT,
         "static void k(void)\n{\n    CGTP_UNROLL for (int u = 0; u < 7; u++)\n        f(1, 2);\n    f(1, 2);\n}\n", 8);
    SEES(EFFORT_ARGUMENT, "static void k(void)\n{\n    CGTP_UNROLL for (int u = 0; u < n; u++)\n        f(1, 2);\n}\n", 1);
    const char *const kept = "static void k(void)\n{\n    CGTP_LOOP\n    for (int u = 0; u < 9; u++) {\n"
                             "        f(2 * 3, 2);\n    }\n}\n";
    SEES(EFFORT_ARGUMENT, kept, 1);
    SEES(EFFORT_LOOP, kept, 1);
    SEES(EFFORT_LONG_LOOP, kept, 1);
    const char *const plain = "static void k(void)\n{\n    for (int u = 0; u < 9; u++) {\n        f(1, 2);\n    }\n"
                              "    for (int u = 0; u < 2; u++)\n        f(1, 2);\n    for (; e < n; e++)\n"
                              "        f(1, 2);\n}\n";
    SEES(EFFORT_ARGUMENT, plain, 3 + 2 + 1);
}

static void kernels_count_as_often_as_they_are_compiled(void **state)
{
    const char *const text = "template <int nodes>\nCGTP_KERNEL(128, 64 / nodes) k(const launch l)\n{\n    f(1, 2), g(1, 2);\n}\n"
                             "extern \"C\" int run(int n)\n{\n    go(n ? code::k<1> : n > 2 ? code::k<2> : code::k<4>);\n}\n";
    SEES(EFFORT_ARGUMENT, text, 9);
    SEES(EFFORT_INSTANCE, text, 9);
    SEES(EFFORT_LONG_ARGUMENT, text, 81 / (9 + 3000.0));
}

static void the_rest_is_no_code(void **state)
{
    SEES(EFFORT_ARGUMENT,
         "/* a, b */\nstruct launch {\n    real a, b;\n};\nstatic const int t[] = {1, 2, 3};\nconstexpr real A = 1, B = 2;\n"
         "static void k(void)\n{\n    /* c, d */\n    const int t[] = {1, 2,\n        3};\n}\n",
         0);
    const char *const calls = "static void k(void)\n{\n    cgtp_load<3>(a);\n    cgtp_add_dots<1>(a);\n    cgtp_lane;\n"
                              "    cgtp_weights_rows(5, 4, 1, a);\n    cgtp_weights_rows(5, 3, 1, a);\n}\n";
    SEES(EFFORT_CALL, calls, 4);
    SEES(EFFORT_BLOCK, calls, 1);
    SEES(EFFORT_DENSE, calls, 5);
    SEES(EFFORT_UNEVEN, calls, 5);
    SEES(EFFORT_DENSE,
         "static void k(void)\n{\n    CGTP_UNROLL for (int i = 0; i < 20; i++)\n        cgtp_weights_rows(5, 4, 1);\n}\n", 60);
    SEES(EFFORT_ARGUMENT, "static void k(void)\n{\n    f(1, /* never ends", 1);
}

/* A loop over channels. */
#define LOOP(products) "static void uvu(int64_t n, const real *x)\n{\n    " products ";\n}\n"
#define CALLS(calls) "static void k(void)\n{\n" calls "}\n"

static void vectors_leave_a_rest(void **state)
{
    const char *const some = LOOP("1 * 2 * 3") CALLS("    uvu(7, x);\n    uvu(7, y);\n");
    SEES(EFFORT_PATH, some, 2);
    SEES(EFFORT_REST, some, 2 * 2 * 3);
    SEES(EFFORT_APART, some, 0);
    SEES(EFFORT_REST, "typedef double real;\n" LOOP("1 * 2 * 3") CALLS("    uvu(7, x);\n    uvu(7, y);\n"), 2 * 2 * 1);
    SEES(EFFORT_REST, LOOP("1 * 2 * 3") CALLS("    uvu(8, x);\n"), 0);
    SEES(EFFORT_REST, LOOP("1 * 2 * 3") CALLS("    uvu(3, x);\n"), 2 * 2);
    SEES(EFFORT_REST, LOOP("1 * 2 * 3") CALLS("    uvu(8, x);\n    uvu(16, y);\n    uvu(16, y);\n"), 3 * 2 * 1);
}

static void long_loops_stay_apart(void **state)
{
    const char *const twice = LOOP("1 * 2 * 3 * 4 * 5 * 6 * 7 * 8 * 9 * 10 * 11 * 12 * 13 * 14")
        CALLS("    uvu(8, x);\n    uvu(8, y);\n");
    SEES(EFFORT_PATH, twice, 0);
    SEES(EFFORT_REST, twice, 0);
    SEES(EFFORT_APART, twice, 13 * 13 / (13 + 350.0));
    const char *const once = LOOP("1 * 2 * 3 * 4 * 5 * 6 * 7 * 8 * 9 * 10 * 11 * 12 * 13 * 14") CALLS("    uvu(8, x);\n");
    SEES(EFFORT_PATH, once, 1);
    SEES(EFFORT_APART, once, 0);
}

static void what_a_cpu_does_with_rows_counts(void **state)
{
    const char *const text = CALLS("    cgtp_weights_rows(3, 4, 32, 32, w);\n    cgtp_weights_columns(5, 4, 30, 30, w);\n"
                                   "    cgtp_weights_rows(1, 4, 8, 8, w);\n    cgtp_weights_rows(1, 3, 32, 32, w);\n"
                                   "    cgtp_row_to_components(1, s);\n    cgtp_row_from_components(1, s);\n"
                                   "    for (int j = 0; j < 2; j++)\n        a = cgtp_sum(5, b);\n");
    SEES(EFFORT_DENSE, text, 3 + 5 + 1);
    SEES(EFFORT_UNEVEN, text, 5);
    SEES(EFFORT_DOT, text, 1);
    SEES(EFFORT_ROW, text, 2);
    SEES(EFFORT_SUM, text, 2 * 10 / 12.0);
}

static void seconds_are_rates_of_it(void **state)
{
    const struct compile_rates *r = &backend_c.rates;
    const char *const text = "static void k(int a, int b, int c)\n{\n    cgtp_row_to_components(1, a);\n}\n";
    const struct effort e = effort_of(*state, &backend_c, text);
    assert_float_equal(e.seconds, r->start + r->rate[EFFORT_ARGUMENT] + r->rate[EFFORT_ROW], 1e-9);
    assert_true(r->rate[EFFORT_ARGUMENT] > 0 && r->rate[EFFORT_ROW] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_count_where_they_are_called, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loops_that_are_unrolled_count_as_often, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kernels_count_as_often_as_they_are_compiled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_rest_is_no_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vectors_leave_a_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_loops_stay_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_cpu_does_with_rows_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seconds_are_rates_of_it, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
