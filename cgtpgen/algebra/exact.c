/* exact.c - see exact.h.
 *
 * Rationals are kept in lowest terms by cancelling before multiplying, which also makes equality a comparison
 * of limbs. Rounding divides once, takes an integer square root, and lets a sticky bit stand for everything
 * below.
 */
#include "algebra/exact.h"
#include "util/hash.h"

#include <assert.h>
#include <string.h>

/* ---- rationals ---- */

static const struct rat rat_zero = {{0, NULL}, {1, (const uint32_t[]){1}}};

struct rat rat_make(struct arena *arena, uint64_t num, uint64_t den)
{
    assert(den > 0);
    if (!num)
        return rat_zero;
    uint64_t common = gcd64(num, den);
    return (struct rat){nat_make(arena, num / common), nat_make(arena, den / common)};
}

bool rat_is_zero(struct rat a)
{
    return a.num.n == 0;
}

struct rat rat_mul(struct arena *arena, struct rat a, struct rat b)
{
    if (rat_is_zero(a) || rat_is_zero(b))
        return rat_zero;
    nat_cancel(arena, &a.num, &b.den);
    nat_cancel(arena, &b.num, &a.den);
    return (struct rat){nat_mul(arena, a.num, b.num), nat_mul(arena, a.den, b.den)};
}

struct rat rat_div(struct arena *arena, struct rat a, struct rat b)
{
    assert(!rat_is_zero(b));
    return rat_mul(arena, a, (struct rat){b.den, b.num});
}

struct rat rat_add(struct arena *arena, struct rat a, struct rat b)
{
    if (rat_is_zero(a))
        return b;
    if (rat_is_zero(b))
        return a;
    /* With common = gcd of the denominators, only a divisor of it can be left to cancel. */
    struct nat common = nat_gcd(arena, a.den, b.den);
    struct nat a_rest = nat_divide(arena, a.den, common, NULL);
    struct nat b_rest = nat_divide(arena, b.den, common, NULL);
    struct nat num = nat_add(arena, nat_mul(arena, a.num, b_rest), nat_mul(arena, b.num, a_rest));
    nat_cancel(arena, &num, &common);
    return (struct rat){num, nat_mul(arena, common, nat_mul(arena, a_rest, b_rest))};
}

/* Digit `column` of the product a * b in base 2^32; *carry: what the columns below hand on. */
static uint32_t product_column(struct nat a, struct nat b, int column, uint64_t *carry)
{
    uint64_t low = *carry, high = 0; /* fewer than 2^32 terms, so the carry fits in 64 bits */
    int first = column < b.n ? 0 : column - b.n + 1;
    for (int i = first; i < a.n && i <= column; i++) {
        uint64_t product = (uint64_t)a.limb[i] * b.limb[column - i];
        low += product;
        high += low < product;
    }
    *carry = low >> 32 | high << 32;
    return (uint32_t)low;
}

/* Compares the cross products column by column from the lowest, so that no memory is needed. */
int rat_compare(struct rat a, struct rat b)
{
    uint64_t a_carry = 0, b_carry = 0;
    int order = 0, a_columns = a.num.n + b.den.n, b_columns = b.num.n + a.den.n;
    for (int i = 0; i < a_columns || i < b_columns; i++) {
        uint32_t a_column = product_column(a.num, b.den, i, &a_carry);
        uint32_t b_column = product_column(b.num, a.den, i, &b_carry);
        if (a_column != b_column)
            order = a_column < b_column ? -1 : 1;
    }
    return order;
}

bool rat_parse(struct arena *arena, const char *s, struct rat *out)
{
    enum { DIGITS_MAX = 18, EXPONENT_MAX = 30, CLAMP = 1000000 };
    uint64_t mantissa = 0; /* of the digits so far, without the zeros that now end them */
    int digits = 0, zeros = 0, exponent = 0;
    bool any = false, point = false;
    for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        any = true;
        if (point)
            exponent--;
        if (*s == '0') {
            zeros += mantissa && zeros < CLAMP;
            continue;
        }
        digits += zeros + 1;
        if (digits > DIGITS_MAX)
            return false;
        for (; zeros; zeros--)
            mantissa *= 10;
        mantissa = 10 * mantissa + (uint64_t)(*s - '0');
    }
    if (!any)
        return false;
    exponent += zeros;
    if (*s == 'e' || *s == 'E') {
        s++;
        bool minus = *s == '-';
        s += *s == '-' || *s == '+';
        int written = 0;
        if (*s < '0' || *s > '9')
            return false;
        for (; *s >= '0' && *s <= '9'; s++)
            written = written < CLAMP ? 10 * written + (*s - '0') : written;
        exponent += minus ? -written : written;
    }
    if (*s)
        return false;
    if (!mantissa) {
        *out = rat_zero;
        return true;
    }
    int power = exponent + digits - 1; /* 10^power <= value < 10^(power + 1) */
    if (power < -EXPONENT_MAX || power > EXPONENT_MAX || (power == EXPONENT_MAX && mantissa != 1))
        return false;
    struct rat value = rat_make(arena, mantissa, 1), ten = rat_make(arena, 10, 1);
    for (; exponent > 0; exponent--)
        value = rat_mul(arena, value, ten);
    for (; exponent < 0; exponent++)
        value = rat_div(arena, value, ten);
    *out = value;
    return true;
}

void rat_print(struct text *t, struct rat a)
{
    nat_print(t, a.num);
    if (!nat_is_one(a.den)) {
        text_put(t, "/", 1);
        nat_print(t, a.den);
    }
}

/* ---- rounding ---- */

/* significand * 2^exponent, and a little more where sticky: what is left to round. */
struct truncated {
    uint64_t significand;
    int exponent;
    bool sticky;
};

/* The square root of a value > 0 to `bits` (at most 56), bits + 1 or bits + 2 binary digits. */
static struct truncated truncate_root(struct rat value, int bits)
{
    /* Scale by 2^shift, shift even, so that the quotient has 2 * bits to 2 * bits + 2 digits. */
    int shift = 2 * bits - nat_bit_length(value.num) + nat_bit_length(value.den);
    shift += shift % 2 != 0;
    /* limbs_divide() wants the divisor's top bit set. */
    int normalize = 32 * value.den.n - nat_bit_length(value.den);
    while (shift + normalize < 0)
        normalize += 32;
    int an = (nat_bit_length(value.num) + shift + normalize + 31) / 32;
    int bn = (nat_bit_length(value.den) + normalize) / 32;
    uint32_t a[an + 1], b[bn], q[an - bn + 1]; /* a few limbs each; an >= bn since the quotient is not zero */
    limbs_shift_left(a, an + 1, value.num, shift + normalize);
    limbs_shift_left(b, bn, value.den, normalize);
    limbs_divide(q, a, an, b, bn);

    struct truncated t = {0, -shift, nat_trim(a, bn).n != 0};
    /* Digit by digit: remainder <= 2 * root throughout, so 64 bits are enough. */
    uint64_t remainder = 0;
    for (int i = 16 * (an - bn + 1) - 1; i >= 0; i--) {
        uint64_t trial = t.significand << 2 | 1;
        remainder = remainder << 2 | (q[i / 16] >> 2 * (i % 16) & 3);
        t.significand <<= 1;
        if (remainder >= trial) {
            remainder -= trial;
            t.significand |= 1;
        }
    }
    t.exponent /= 2;
    t.sticky |= remainder != 0;
    return t;
}

/* To `bits` binary digits, nearest, ties to even; the result is *significand * 2^*exponent with its top bit
 * set. */
static void round_truncated(struct truncated t, int bits, uint64_t *significand, int *exponent)
{
    int drop = bit_length64(t.significand) - bits;
    uint64_t half = (uint64_t)1 << (drop - 1), rest = t.significand & (2 * half - 1);
    uint64_t kept = t.significand >> drop;
    if (rest > half || (rest == half && (t.sticky || kept & 1)))
        kept++;
    if (kept >> bits) { /* 1.11..1 became 10.0 */
        kept >>= 1;
        drop++;
    }
    *significand = kept;
    *exponent = t.exponent + drop;
}

static double root_double(struct rat value)
{
    uint64_t significand;
    int exponent;
    round_truncated(truncate_root(value, 53 + 2), 53, &significand, &exponent);
    int biased = exponent + 52 + 1023;
    assert(biased > 0 && biased < 2047);
    uint64_t bits = (uint64_t)biased << 52 | (significand & (((uint64_t)1 << 52) - 1));
    double result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static float root_float(struct rat value)
{
    uint64_t significand;
    int exponent;
    round_truncated(truncate_root(value, 24 + 2), 24, &significand, &exponent);
    int biased = exponent + 23 + 127;
    assert(biased > 0 && biased < 255);
    uint32_t bits = (uint32_t)biased << 23 | ((uint32_t)significand & ((1u << 23) - 1));
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* ---- surds ---- */

struct surd surd_make(int sign, struct rat square)
{
    if (sign == 0 || rat_is_zero(square))
        return (struct surd){0, rat_zero};
    return (struct surd){sign < 0 ? -1 : 1, square};
}

struct surd surd_mul(struct arena *arena, struct surd a, struct surd b)
{
    return surd_make(a.sign * b.sign, rat_mul(arena, a.square, b.square));
}

struct surd surd_div(struct arena *arena, struct surd a, struct surd b)
{
    assert(b.sign);
    return surd_make(a.sign * b.sign, rat_div(arena, a.square, b.square));
}

struct surd surd_negate(struct surd a)
{
    return (struct surd){-a.sign, a.square};
}

static bool nat_equal(struct nat a, struct nat b)
{
    bool equal = a.n == b.n;
    for (int i = 0; equal && a.limb != b.limb && i < a.n; i++)
        equal = a.limb[i] == b.limb[i];
    return equal;
}

static struct nat copied(struct arena *a, struct nat q)
{
    return (struct nat){q.n, arena_copy(a, q.limb, (size_t)q.n * sizeof *q.limb)};
}

struct surd surd_copy(struct arena *a, struct surd s)
{
    return (struct surd){s.sign, {copied(a, s.square.num), copied(a, s.square.den)}};
}

bool surd_equal(struct surd a, struct surd b)
{
    return a.sign == b.sign && nat_equal(a.square.num, b.square.num) && nat_equal(a.square.den, b.square.den);
}

uint32_t surd_hash(struct surd a)
{
    uint32_t key = hash_bytes(0, &a.sign, sizeof a.sign);
    key = hash_bytes(key, a.square.num.limb, (size_t)a.square.num.n * sizeof *a.square.num.limb);
    return hash_bytes(key, a.square.den.limb, (size_t)a.square.den.n * sizeof *a.square.den.limb);
}

bool surd_is_one(struct surd a)
{
    return a.sign > 0 && nat_equal(a.square.num, a.square.den);
}

double surd_double(struct surd a)
{
    return a.sign ? a.sign * root_double(a.square) : 0.0;
}

float surd_float(struct surd a)
{
    return a.sign ? (float)a.sign * root_float(a.square) : 0.0f;
}

void surd_print(struct text *t, struct surd a)
{
    if (a.sign < 0)
        text_put(t, "-", 1);
    struct rat root, square = a.square;
    if (nat_square_root(t->arena, square.num, &root.num) &&
        nat_square_root(t->arena, square.den, &root.den)) {
        rat_print(t, root);
        return;
    }
    text_put(t, "sqrt(", 5);
    rat_print(t, square);
    text_put(t, ")", 1);
}

/* Not printf's %a: its digits and decimal point depend on the library and the locale. */
void hex_print(struct text *t, double value, bool float_suffix)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int biased = (int)(bits >> 52 & 2047), exponent = biased - 1023;
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    assert(biased < 2047); /* no infinity, no NaN */
    if (biased == 0) {
        exponent = 0;
        if (fraction) /* subnormal: normalise */
            for (exponent = -1022; !(fraction >> 52); exponent--)
                fraction <<= 1;
        fraction &= ((uint64_t)1 << 52) - 1;
    }
    bool zero = value == 0.0; /* lead digit 0 for zero, 1 for everything else */
    text_printf(t, "%s0x%d", bits >> 63 ? "-" : "", !zero);
    if (fraction) {
        int digits = 13;
        for (; fraction % 16 == 0; digits--)
            fraction /= 16;
        text_printf(t, ".%0*llx", digits, (unsigned long long)fraction);
    }
    text_printf(t, "p%+d%s", exponent, float_suffix ? "f" : "");
}
