/* unit_exact.c - exact numbers: the field's laws on numbers of many shapes, known values, rounding
 * against the definition of "nearest" (bracket.h), decimals in, fractions and hexadecimal floats out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "algebra/exact.h"
#include "bracket.h"

#include <stdio.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static uint64_t random_state;

static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static struct rat whole(uint64_t n)
{
    return rat_make(&arena, n, 1);
}

/* 1 .. limbs digits in base 2^32, half of them the awkward ones that division stumbles over. */
static struct rat random_whole(int limbs)
{
    static const uint32_t awkward[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
    struct rat base = whole((uint64_t)1 << 32), value = whole(random64() % 1000 + 1);
    for (int n = (int)(random64() % (uint64_t)limbs); n > 0; n--) {
        uint64_t r = random64();
        value = rat_add(&arena, rat_mul(&arena, value, base), whole(r & 1 ? awkward[r >> 40 & 7] : r >> 32));
    }
    return value;
}

static struct rat random_rat(int limbs)
{
    return rat_div(&arena, random_whole(limbs), random_whole(limbs));
}

static const char *printed(struct rat a)
{
    struct text t = {.arena = &arena};
    rat_print(&t, a);
    return text_string(&t);
}

static const char *surd_text(int sign, struct rat square)
{
    struct text t = {.arena = &arena};
    surd_print(&t, surd_make(sign, square));
    return text_string(&t);
}

static bool same(struct rat a, struct rat b)
{
    return rat_compare(a, b) == 0 && surd_equal(surd_make(1, a), surd_make(1, b));
}

static struct rat integer_power(uint64_t base, int n)
{
    struct rat value = whole(1);
    for (; n > 0; n--)
        value = rat_mul(&arena, value, whole(base));
    return value;
}

static void known_values(void **state)
{
    (void)state;
    assert_string_equal(printed(rat_make(&arena, 6, 4)), "3/2");
    assert_string_equal(printed(rat_make(&arena, 0, 7)), "0");
    assert_string_equal(printed(rat_make(&arena, UINT64_MAX, 1)), "18446744073709551615");
    struct rat factorial = whole(1), harmonic = rat_make(&arena, 0, 1);
    for (uint64_t n = 1; n <= 50; n++) {
        factorial = rat_mul(&arena, factorial, whole(n));
        harmonic = rat_add(&arena, harmonic, rat_make(&arena, 1, n));
    }
    assert_string_equal(printed(factorial),
                        "30414093201713378043612608166064768844377641568960512000000000000");
    /* OEIS A001008/A002805 */
    assert_string_equal(printed(harmonic), "13943237577224054960759/3099044504245996706400");
    assert_string_equal(printed(integer_power(10, 27)), "1000000000000000000000000000");
    assert_string_equal(printed(rat_div(&arena, integer_power(2, 100), integer_power(6, 50))),
                        "1125899906842624/717897987691852588770249");
}

static void lowest_terms(void **state)
{
    (void)state;
    /* Common factors of any size cancel, and telescoping products collapse. */
    random_state = 1;
    for (int i = 0; i < 300; i++) {
        struct rat p = random_whole(6), q = random_whole(6), k = random_whole(6);
        struct rat common = rat_div(&arena, rat_mul(&arena, p, k), rat_mul(&arena, q, k));
        assert_true(same(common, rat_div(&arena, p, q)));
    }
    struct rat product = whole(1);
    for (uint64_t n = 1; n < 400; n++)
        product = rat_mul(&arena, product, rat_make(&arena, n, n + 1));
    assert_string_equal(printed(product), "1/400");
    arena_free(&arena);
}

static void field_laws(void **state)
{
    (void)state;
    random_state = 2;
    for (int i = 0; i < 500; i++) {
        struct rat a = random_rat(5), b = random_rat(5), c = random_rat(5);
        assert_true(same(rat_add(&arena, a, b), rat_add(&arena, b, a)));
        assert_true(
            same(rat_add(&arena, rat_add(&arena, a, b), c), rat_add(&arena, a, rat_add(&arena, b, c))));
        assert_true(same(rat_mul(&arena, a, rat_add(&arena, b, c)),
                         rat_add(&arena, rat_mul(&arena, a, b), rat_mul(&arena, a, c))));
        assert_true(same(rat_div(&arena, rat_mul(&arena, a, b), b), a));
        assert_true(same(rat_mul(&arena, rat_div(&arena, a, b), rat_div(&arena, b, a)), whole(1)));
        assert_true(rat_compare(rat_add(&arena, a, b), a) > 0);
        assert_int_equal(rat_compare(a, b) > 0,
                         rat_compare(rat_mul(&arena, a, c), rat_mul(&arena, b, c)) > 0);
        assert_int_equal(rat_compare(a, b), -rat_compare(b, a));
        arena_free(&arena);
    }
    struct rat zero = rat_make(&arena, 0, 1), one = whole(1);
    assert_true(rat_is_zero(rat_mul(&arena, zero, one)) && rat_is_zero(rat_add(&arena, zero, zero)));
    assert_true(rat_is_zero(rat_div(&arena, zero, one)) && same(rat_add(&arena, zero, one), one));
    assert_true(rat_compare(zero, one) < 0 && rat_compare(one, zero) > 0 && rat_compare(zero, zero) == 0);
}

/* Remainders make gcds, and gcds of neighbours are one: checks long division where it must correct its
 * guess. */
static void division_corrects_its_guess(void **state)
{
    (void)state;
    static const uint32_t digits[][7] = {
        /* dividend (low first, 4 limbs), divisor (3 limbs); from Hacker's Delight's tests, scaled to 32
         * bits */
        {0, 0, 0x80000000, 0x7fffffff, 1, 0, 0x80000000},
        {3, 0, 0x80000000, 0, 1, 0, 0x20000000},
        {0, 0xfffe0000, 0x80000000, 0, 0xffff, 0x80000000, 0},
        {0, 0, 1, 0x80000000, 0, 1, 0x80000000},
    };
    for (size_t n = 0; n < sizeof digits / sizeof digits[0]; n++) {
        struct rat base = whole((uint64_t)1 << 32), dividend = whole(0), divisor = whole(0);
        for (int i = 3; i >= 0; i--)
            dividend = rat_add(&arena, rat_mul(&arena, dividend, base), whole(digits[n][i]));
        for (int i = 6; i >= 4; i--)
            divisor = rat_add(&arena, rat_mul(&arena, divisor, base), whole(digits[n][i]));
        struct rat value = rat_div(&arena, dividend, divisor);
        assert_true(bracket_nearest(surd_double(surd_make(1, value)), 53, value));
        for (uint64_t k = 3; k < 2000; k += 97) {
            struct rat quotient =
                rat_div(&arena, rat_mul(&arena, dividend, whole(k)), rat_mul(&arena, divisor, whole(k)));
            assert_true(same(quotient, rat_div(&arena, dividend, divisor)));
        }
    }
}

static void check_rounding(struct rat value)
{
    assert_true(bracket_nearest(surd_double(surd_make(1, value)), 53, value));
    assert_true(bracket_nearest((double)surd_float(surd_make(1, value)), 24, value));
    assert_true(surd_double(surd_make(-1, value)) == -surd_double(surd_make(1, value)));
    assert_true(surd_float(surd_make(-1, value)) == -surd_float(surd_make(1, value)));
}

static void rounds_to_nearest(void **state)
{
    (void)state;
    random_state = 3;
    for (int i = 0; i < 3000; i++) {
        uint64_t r = random64();
        check_rounding(rat_make(&arena, (random64() >> r % 64) | 1, (random64() >> (r >> 8) % 64) | 1));
        arena_free(&arena);
    }
    for (uint64_t p = 1; p < 40; p++)
        for (uint64_t q = 1; q < 40; q++)
            check_rounding(rat_make(&arena, p, q));
    for (int i = 0; i < 300; i++) {
        struct rat value = random_rat(3); /* within 2^-74 .. 2^74 */
        check_rounding(value);
        arena_free(&arena);
    }
    assert_true(surd_double(surd_make(0, whole(0))) == 0.0 && surd_float(surd_make(0, whole(0))) == 0.0f);
}

/* Halfway cases and their neighbours, squared so that the root meets them exactly; and values that would
 * come out wrong if float were rounded from double. */
static void ties_go_to_even(void **state)
{
    (void)state;
    random_state = 4;
    for (int i = 0; i < 500; i++) {
        for (int bits = 24; bits <= 53; bits += 29) {
            uint64_t m = random64() >> (64 - bits) | (uint64_t)1 << (bits - 1);
            struct rat tie = whole(2 * m + 1), tiny = rat_div(&arena, whole(1), integer_power(2, 60));
            struct rat above = rat_add(&arena, tie, tiny);
            struct rat nearly_one = rat_make(&arena, 0xfffffffffffffff, 0x1000000000000000);
            struct rat below = rat_add(&arena, whole(2 * m), nearly_one);
            double down = (double)(2 * m), up = ldexp((double)(m + 1), 1), even = m % 2 ? up : down;
            struct surd root[3] = {surd_make(1, rat_mul(&arena, tie, tie)),
                                   surd_make(1, rat_mul(&arena, above, above)),
                                   surd_make(1, rat_mul(&arena, below, below))};
            if (bits == 24) {
                assert_true((double)surd_float(root[0]) == even);
                assert_true((double)surd_float(root[1]) == up);
                assert_true((double)surd_float(root[2]) == down);
            } else {
                assert_true(surd_double(root[0]) == even);
                assert_true(surd_double(root[1]) == up);
                assert_true(surd_double(root[2]) == down);
            }
        }
        arena_free(&arena);
    }
    /* 1.11..1 rounds up to the next power of two. */
    struct rat almost = rat_make(&arena, ((uint64_t)1 << 55) - 1, (uint64_t)1 << 55);
    assert_true(surd_double(surd_make(1, rat_mul(&arena, almost, almost))) == 1.0);
    assert_true(surd_float(surd_make(1, rat_mul(&arena, almost, almost))) == 1.0f);
}

static void surds(void **state)
{
    (void)state;
    random_state = 5;
    for (int i = 0; i < 300; i++) {
        struct surd a = surd_make(random64() & 1 ? 1 : -1, random_rat(4));
        struct surd b = surd_make(random64() & 1 ? 1 : -1, random_rat(4));
        assert_true(surd_equal(surd_div(&arena, surd_mul(&arena, a, b), b), a));
        assert_int_equal(surd_mul(&arena, a, b).sign, a.sign * b.sign);
        assert_true(surd_equal(surd_negate(surd_negate(a)), a) && !surd_equal(surd_negate(a), a));
        arena_free(&arena);
    }
    struct surd zero = surd_make(1, whole(0)), one = surd_make(1, whole(1));
    assert_int_equal(zero.sign, 0);
    assert_int_equal(surd_make(0, whole(3)).sign, 0);
    assert_true(surd_equal(surd_make(0, whole(3)), zero));
    assert_int_equal(surd_mul(&arena, zero, one).sign, 0);
}

static void prints_surds(void **state)
{
    (void)state;
    assert_string_equal(surd_text(1, whole(1)), "1");
    assert_string_equal(surd_text(-1, rat_make(&arena, 4, 9)), "-2/3");
    assert_string_equal(surd_text(1, rat_make(&arena, 3, 10)), "sqrt(3/10)");
    assert_string_equal(surd_text(-1, whole(2)), "-sqrt(2)");
    assert_string_equal(surd_text(0, whole(2)), "0");
    assert_string_equal(surd_text(1, rat_make(&arena, 4, 3)), "sqrt(4/3)");
    random_state = 6;
    for (int i = 0; i < 300; i++) {
        struct rat a = random_rat(4), square = rat_mul(&arena, a, a);
        assert_string_equal(surd_text(1, square), printed(a));
        struct rat no_square = rat_div(&arena, square, whole(2)); /* sqrt 2 is irrational */
        assert_memory_equal(surd_text(1, no_square), "sqrt(", 5);
        arena_free(&arena);
    }
    for (uint64_t n = 1, root = 1; n < 5000; n++) {
        if (n == root * root)
            assert_string_equal(surd_text(1, whole(n)), printed(whole(root++)));
        else
            assert_string_equal(surd_text(1, whole(n)),
                                arena_printf(&arena, "sqrt(%llu)", (unsigned long long)n));
    }
}

static void decimals(void **state)
{
    (void)state;
    static const struct {
        const char *s, *value;
    } good[] = {
        {"2", "2"},
        {"0.5", "1/2"},
        {"1e-3", "1/1000"},
        {"0", "0"},
        {"0.000", "0"},
        {"0e99", "0"},
        {"00012.50", "25/2"},
        {".25", "1/4"},
        {"3.", "3"},
        {"1E+2", "100"},
        {"12e0", "12"},
        {"0.1", "1/10"},
        {"123456789012345678", "123456789012345678"},
        {"0.123456789012345678", "61728394506172839/500000000000000000"},
        {"100000000000000000000000000", "100000000000000000000000000"},
        {"1e30", "1000000000000000000000000000000"},
        {"0.0000000000000000000000000001e28", "1"},
        {"1000e-3", "1"},
        {"1.0000000000000000000000000000000", "1"},
        {"1e-30", "1/1000000000000000000000000000000"},
        {"0.000000000000000000000000000001", "1/1000000000000000000000000000000"},
        {"999999999999999999e12", "999999999999999999000000000000"},
    };
    static const char *const bad[] = {
        "",
        ".",
        "e5",
        "1e",
        "1e+",
        "-1",
        "+1",
        "1.2.3",
        "1 ",
        " 1",
        "0x10",
        "inf",
        "nan",
        "1,5",
        "1f",
        "--1",
        "1e5.0",
        "1234567890123456789",
        "0.1234567890123456789",
        "1e31",
        "2e30",
        "9e-31",
        "1.000001e30",
        "1e999999999999999999999",
        "1e-999999999999999999999",
        "10000000000000000000000000000000",
        "10000000000000000001",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct rat value;
        if (!rat_parse(&arena, good[i].s, &value))
            fail_msg("%s was refused", good[i].s);
        assert_string_equal(printed(value), good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct rat value;
        if (rat_parse(&arena, bad[i], &value))
            fail_msg("%s was read as %s", bad[i], printed(value));
    }
}

static void hexadecimal(void **state)
{
    (void)state;
    static const struct {
        double value;
        bool suffix;
        const char *s;
    } cases[] = {
        {0.0, false, "0x0p+0"},
        {-0.0, false, "-0x0p+0"},
        {1.0, false, "0x1p+0"},
        {3.0, false, "0x1.8p+1"},
        {-0.125, true, "-0x1p-3f"},
        {0.1, false, "0x1.999999999999ap-4"},
        {1e300, false, "0x1.7e43c8800759cp+996"},
        {0x1.0000000000001p+0, false, "0x1.0000000000001p+0"},
        {0x1p-1074, false, "0x1p-1074"},
        {0x1.8p-1073, false, "0x1.8p-1073"},
        {0.0, true, "0x0p+0f"},
        {0x1.002p+10, true, "0x1.002p+10f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = {.arena = &arena};
        hex_print(&t, cases[i].value, cases[i].suffix);
        assert_string_equal(text_string(&t), cases[i].s);
    }
    random_state = 7; /* what is printed reads back as the same bits */
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = random64();
        if ((bits >> 52 & 2047) == 2047)
            continue;
        double value, back;
        memcpy(&value, &bits, sizeof value);
        struct text t = {.arena = &arena};
        hex_print(&t, value, false);
        back = strtod(text_string(&t), NULL);
        assert_memory_equal(&back, &value, sizeof value);
        arena_free(&arena);
    }
}

int main(void)
{
    if (setjmp(arena.failure)) {
        puts("Bail out! out of memory");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(known_values, teardown),
        cmocka_unit_test_teardown(lowest_terms, teardown),
        cmocka_unit_test_teardown(field_laws, teardown),
        cmocka_unit_test_teardown(division_corrects_its_guess, teardown),
        cmocka_unit_test_teardown(rounds_to_nearest, teardown),
        cmocka_unit_test_teardown(ties_go_to_even, teardown),
        cmocka_unit_test_teardown(surds, teardown),
        cmocka_unit_test_teardown(prints_surds, teardown),
        cmocka_unit_test_teardown(decimals, teardown),
        cmocka_unit_test_teardown(hexadecimal, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
