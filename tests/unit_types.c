/* unit_types.c - numbers of 16 bits (runtime/cgtp_types.h): every one of them to float, and floats and doubles back,
 * against the definition: the multiple of the last place that is nearest, the even one of two.
 */
#include "cgtp_types.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Digits of the mantissa, with the first; the least exponent of a normal number; the largest number. */
struct format {
    int digits, least;
    double largest;
    cgtp_type type;
    int exponents; /* bits */
};

static const struct format formats[] = {{8, -126, 0x1.fep127, CGTP_BFLOAT16, 8}, {11, -14, 65504, CGTP_FLOAT16, 5}};

static uint16_t to_bits(const struct format *f, double x, bool from_float)
{
    if (f->type == CGTP_BFLOAT16)
        return (from_float ? cgtp_float_to_bfloat16((float)x) : cgtp_double_to_bfloat16(x)).bits;
    return (from_float ? cgtp_float_to_float16((float)x) : cgtp_double_to_float16(x)).bits;
}

static double from_bits(const struct format *f, uint16_t bits)
{
    const cgtp_bfloat16 b = {bits};
    const cgtp_float16 h = {bits};
    return (double)(f->type == CGTP_BFLOAT16 ? cgtp_bfloat16_to_float(b) : cgtp_float16_to_float(h));
}

/* What a number of these bits is. */
static double defined(const struct format *f, uint16_t bits)
{
    const int places = f->digits - 1, exponent = bits >> places & ((1 << f->exponents) - 1);
    const double mantissa = bits & ((1 << places) - 1), sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << f->exponents) - 1)
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(ldexp(1, places) + mantissa, f->least + exponent - 1 - places)
                            : ldexp(mantissa, f->least - places));
}

/* The number nearest to x, as a double: rint rounds to nearest even. */
static double rounded(const struct format *f, double x)
{
    int exponent;
    frexp(x, &exponent);
    exponent = exponent - 1 < f->least ? f->least : exponent - 1;
    const double near = ldexp(rint(ldexp(x, f->digits - 1 - exponent)), exponent - f->digits + 1);
    return fabs(near) > f->largest ? copysign((double)INFINITY, x) : near;
}

static void same(double a, double b)
{
    assert_true((isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)));
}

static void check(const struct format *f, double x)
{
    const double wanted = isfinite(x) && x != 0 ? rounded(f, x) : x;
    const uint16_t bits = to_bits(f, x, false);
    same(defined(f, bits), wanted);
    if (isnan(x))
        assert_int_equal(bits, 0x7fff);
    if (isnan(x) || (double)(float)x == x)
        assert_int_equal(to_bits(f, x, true), bits);
}

static void every_number(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int bits = 0; bits <= UINT16_MAX; bits++) {
            const double x = from_bits(&formats[i], (uint16_t)bits);
            same(x, defined(&formats[i], (uint16_t)bits));
            assert_int_equal(to_bits(&formats[i], x, true), isnan(x) ? 0x7fff : bits);
            assert_int_equal(to_bits(&formats[i], x, false), isnan(x) ? 0x7fff : bits);
        }
}

/* Half way between neighbours, and as little to either side of it as floats and doubles allow. */
static void ties(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int bits = 0; bits < 0x7fff; bits++) {
            const struct format *f = &formats[i];
            const double a = defined(f, (uint16_t)bits), b = defined(f, (uint16_t)(bits + 1));
            if (!isfinite(a) || isnan(b))
                continue;
            const double half = isfinite(b) ? a + (b - a) / 2 : a + (a - defined(f, (uint16_t)(bits - 1))) / 2;
            const double at[] = {half, nextafter(half, 0), nextafter(half, HUGE_VAL), (double)nextafterf((float)half, 0),
                                 (double)nextafterf((float)half, HUGE_VALF)};
            for (int k = 0; k < 5; k++) {
                check(f, at[k]);
                check(f, -at[k]);
            }
        }
}

/* Floats of all kinds, by their bits; doubles with what floats have not; the ends of the ranges. */
static void samples(void **state)
{
    static const double ends[] = {0, 5e-324, DBL_MIN, 0x1p-150, 0x1.8p-150, 0x1p-149, FLT_MIN, 0x1p-25, 0x1.000001p-25,
                                  0x1p-24, 65519.996, 65520, 65536, 0x1.fefffep127, 0x1.ffp127, FLT_MAX, 0x1.ffffffp127,
                                  0x1p128, DBL_MAX, (double)INFINITY, (double)NAN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            check(&formats[i], ends[k]);
            check(&formats[i], -ends[k]);
        }
        uint64_t seed = 1;
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093) {
            const double x = (double)cgtp_float_of_bits((uint32_t)bits);
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            check(&formats[i], x);
            check(&formats[i], x * (1 + ldexp((double)(int64_t)seed, -63 - (int)(seed >> 40 & 31))));
        }
    }
}

static void arrays(void **state)
{
    const float from[3] = {1, 0x1.018p0f, -3};
    cgtp_bfloat16 to[3] = {{7}, {7}, {7}};
    double back[3] = {7, 7, 7};
    (void)state;
    cgtp_float32_to_bfloat16(1, 3, from, to);
    cgtp_bfloat16_to_float64(1, 2, to, back);
    assert_int_equal(to[0].bits, 7);
    assert_int_equal(to[1].bits, 0x3f81);
    assert_true(back[0] == 7 && back[1] == 0x1.02p0 && back[2] == 7);
    for (int type = CGTP_FLOAT32; type <= CGTP_FLOAT16; type++) {
        double room[2];
        cgtp_put_number(room, (cgtp_type)type, 1, 1 + 0x1p-40);
        const double found = cgtp_get_number(room, (cgtp_type)type, 1);
        assert_true(fabs(found - (1 + 0x1p-40)) <= cgtp_rounding((cgtp_type)type, 1 + 0x1p-40));
        assert_true((found == 1) == (type != CGTP_FLOAT64));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number),
        cmocka_unit_test(ties),
        cmocka_unit_test(samples),
        cmocka_unit_test(arrays),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
