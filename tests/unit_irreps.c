/* unit_irreps.c - irreps strings as e3nn reads them, and where in a wrong one the error points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "algebra/irreps.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* What the string prints as once read, or the error's "at+width message". */
static const char *read(const char *s)
{
    struct irreps irreps;
    struct irreps_error error;
    struct text text = {.arena = &arena};
    if (irreps_parse(&arena, s, &irreps, &error))
        irreps_print(&text, &irreps);
    else
        text_printf(&text, "%d+%d %s", error.at, error.width, error.message);
    return text_string(&text);
}

static void right_strings(void **state)
{
    (void)state;
    assert_string_equal(read("128x0e+64x1o"), "128x0e+64x1o");
    assert_string_equal(read(" 16 x 0e +\t1o\n+ 2x11e "), "16x0e+1x1o+2x11e");
    assert_string_equal(read(""), "");
    assert_string_equal(read("   "), "");
    assert_string_equal(read("0x3o"), "0x3o");
    assert_string_equal(read("0y+1y+2y+3y"), "1x0e+1x1o+1x2e+1x3o");
    assert_string_equal(read("007x01o"), "7x1o");
    assert_string_equal(read("1048576x0e"), "1048576x0e");
}

static void offsets(void **state)
{
    (void)state;
    struct irreps irreps;
    struct irreps_error error;
    assert_true(irreps_parse(&arena, "3x0e+0x5o+2x1o+2e", &irreps, &error));
    assert_null(error.message);
    assert_int_equal(irreps.n, 4);
    assert_int_equal(irreps.segment[0].offset, 0);
    assert_int_equal(irreps.segment[1].offset, 3);
    assert_int_equal(irreps.segment[2].offset, 3);
    assert_int_equal(irreps.segment[3].offset, 9);
    assert_int_equal(irreps.dim, 14);
    assert_int_equal(irreps.segment[2].ir.parity, -1);
    assert_int_equal(irreps.segment[3].mul, 1);
}

static void wrong_strings(void **state)
{
    (void)state;
    static const char *const around = "expected a term such as 16x1o on both sides of '+'";
    static const struct {
        const char *s, *at, *message;
    } wrong[] = {
        {"1o+", "2+1", "both sides of '+'"},
        {"1o++2e", "3+1", "both sides of '+'"},
        {"+1o", "0+1", "both sides of '+'"},
        {"x1o", "0+1", "expected a multiplicity before 'x'"},
        {"4x", "0+2", "expected an irrep such as 1o after the multiplicity"},
        {"4x+1e", "0+2", "expected an irrep such as 1o after the multiplicity"},
        {"1e+4xx1o", "5+3", "expected an irrep"},
        {"2x1", "2+1", "expected a parity after l, as in 1o (odd) or 1e (even)"},
        {"2x1q", "3+1", "expected a parity, e (even) or o (odd), after l"},
        {"2x1oo", "4+1", "expected '+' or the end"},
        {"2x1o 3x2e", "5+4", "expected '+' or the end"},
        {"2x12e", "2+2", "l = 12 is above the largest supported, 11"},
        {"2x99999999999999999999e", "2+20", "l = 99999999999999999999 is above"},
        {"1048577x0e", "0+7", "multiplicity 1048577 is above the largest supported, 1048576"},
        {"4294967297x0e", "0+10", "is above the largest"},
        {"-2x1o", "0+5", "negative"},
        {"2x-1o", "2+3", "expected an irrep"},
        {"hello", "0+5", "expected a term such as 16x1o or 1o"},
        {"1.5x0e", "0+6", "multiplicities and l are whole numbers"},
        {"2x1.0e", "0+6", "multiplicities and l are whole numbers"},
        {"16*0e", "2+1", "a small x stands between multiplicity and irrep"},
        {"16 X0e", "3+1", "a small x stands between multiplicity and irrep"},
        {"16x0E", "4+1", "a parity is a small letter"},
    };
    assert_string_equal(strchr(read("1o+"), ' ') + 1, around);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *got = read(wrong[i].s);
        size_t n = strlen(wrong[i].at);
        if (strncmp(got, wrong[i].at, n) || got[n] != ' ' || !strstr(got, wrong[i].message))
            fail_msg("\"%s\": got \"%s\", expected %s %s", wrong[i].s, got, wrong[i].at, wrong[i].message);
    }
}

static void order_and_product(void **state)
{
    (void)state;
    struct irrep e0 = {0, 1}, o0 = {0, -1}, o1 = {1, -1}, e1 = {1, 1}, e2 = {2, 1}, o2 = {2, -1}, e3 = {3, 1};
    const struct irrep sorted[] = {o0, e0, o1, e1, o2, e2, e3};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            int c = irrep_compare(sorted[i], sorted[j]);
            assert_true(i < j ? c < 0 : i > j ? c > 0 : c == 0);
        }
    assert_true(irrep_in_product(e2, o1, o1));
    assert_true(irrep_in_product(e0, o1, o1));
    assert_false(irrep_in_product(o2, o1, o1));
    assert_false(irrep_in_product(e3, o1, o1));
    assert_false(irrep_in_product(e0, e1, e2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(right_strings, teardown),
        cmocka_unit_test_teardown(offsets, teardown),
        cmocka_unit_test_teardown(wrong_strings, teardown),
        cmocka_unit_test_teardown(order_and_product, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
