/* bracket.h - is a floating-point number the one nearest to sqrt(p/q), ties to even?
 *
 * Asks the definition, in integers of its own (it shares no code with algebra/exact.c): with the number
 * written as m * 2^e, m of full width, the root must lie between (m - 1/2) 2^e and (m + 1/2) 2^e, the ends
 * belonging to even m only; all three are squared. The lower end is half as far away where m is a power of
 * two.
 */
#ifndef BRACKET_H
#define BRACKET_H

#include "algebra/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BIG_LIMBS = 64 };

struct big {
    uint32_t limb[BIG_LIMBS]; /* least significant first */
};

static inline struct big big_of(struct nat a)
{
    struct big r = {{0}};
    if (a.n > BIG_LIMBS)
        abort();
    if (a.n)
        memcpy(r.limb, a.limb, (size_t)a.n * sizeof *a.limb);
    return r;
}

static inline struct big big_mul(const struct big *a, uint32_t small)
{
    struct big r;
    uint64_t carry = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        carry += (uint64_t)a->limb[i] * small;
        r.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        abort();
    return r;
}

static inline struct big big_add(const struct big *a, const struct big *b)
{
    struct big r;
    uint64_t carry = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        carry += (uint64_t)a->limb[i] + b->limb[i];
        r.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        abort();
    return r;
}

/* a * 2^n, bit by limb: nothing clever. */
static inline struct big big_double(struct big a, int n)
{
    for (; n >= 31; n -= 31)
        a = big_mul(&a, 1u << 31);
    return big_mul(&a, 1u << n);
}

/* a * m, m of 64 bits. */
static inline struct big big_mul64(const struct big *a, uint64_t m)
{
    struct big low = big_mul(a, (uint32_t)m), high = big_mul(a, (uint32_t)(m >> 32));
    high = big_double(high, 32);
    return big_add(&low, &high);
}

static inline int big_compare(const struct big *a, const struct big *b)
{
    for (int i = BIG_LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* Compares (n * 2^e)^2 with the value: <0, 0, >0. */
static inline int bracket_compare(uint64_t n, int e, struct rat value)
{
    struct big left = big_of(value.den), right = big_of(value.num);
    for (int i = 0; i < 2; i++) {
        left = big_mul64(&left, n);
        if (e >= 0)
            left = big_double(left, e);
        else
            right = big_double(right, -e);
    }
    return big_compare(&left, &right);
}

/* Is x > 0, of `bits` binary digits, the correctly rounded root of the value? */
static inline bool bracket_nearest(double x, int bits, struct rat value)
{
    int e;
    double fraction = frexp(x, &e);
    uint64_t m = (uint64_t)ldexp(fraction, bits);
    e -= bits;
    if (!(x > 0) || ldexp((double)m, e) != x)
        return false;
    int tie_allowed = m % 2 == 0;
    bool power = m == (uint64_t)1 << (bits - 1);
    int low = bracket_compare(power ? 4 * m - 1 : 2 * m - 1, power ? e - 2 : e - 1, value);
    int high = bracket_compare(2 * m + 1, e - 1, value);
    return (low < 0 || (low == 0 && tie_allowed)) && (high > 0 || (high == 0 && tie_allowed));
}

#endif
