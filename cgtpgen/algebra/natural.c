/* natural.c - see natural.h.
 *
 * Schoolbook arithmetic on 32-bit limbs with 64-bit intermediates: the numbers met here have a few limbs
 * (numerators and denominators of squared 3j symbols to l = 11 have one or two), so what matters is that
 * small ones are quick.
 */
#include "algebra/natural.h"

#include <string.h>

const struct nat nat_one = {1, (const uint32_t[]){1}};

struct nat nat_trim(const uint32_t *limb, int n)
{
    while (n > 0 && limb[n - 1] == 0)
        n--;
    return (struct nat){n, limb};
}

struct nat nat_make(struct arena *a, uint64_t value)
{
    if (value == 1)
        return nat_one;
    uint32_t *limb = NEW_ARRAY(a, uint32_t, 2);
    limb[0] = (uint32_t)value;
    limb[1] = (uint32_t)(value >> 32);
    return nat_trim(limb, 2);
}

bool nat_is_one(struct nat a)
{
    return a.n == 1 && a.limb[0] == 1;
}

/* Does it fit in 64 bits? Then *value is it. */
static bool nat_small(struct nat a, uint64_t *value)
{
    if (a.n > 2)
        return false;
    *value = (a.n > 0 ? a.limb[0] : 0) | (a.n > 1 ? (uint64_t)a.limb[1] << 32 : 0);
    return true;
}

int bit_length64(uint64_t value)
{
    int n = 0;
    for (int step = 32; step; step /= 2)
        if (value >> step) {
            value >>= step;
            n += step;
        }
    return n + (value != 0);
}

int nat_bit_length(struct nat a)
{
    return a.n ? 32 * (a.n - 1) + bit_length64(a.limb[a.n - 1]) : 0;
}

int nat_compare(struct nat a, struct nat b)
{
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    for (int i = a.n - 1; i >= 0; i--)
        if (a.limb[i] != b.limb[i])
            return a.limb[i] < b.limb[i] ? -1 : 1;
    return 0;
}

struct nat nat_add(struct arena *arena, struct nat a, struct nat b)
{
    if (a.n < b.n) {
        struct nat t = a;
        a = b;
        b = t;
    }
    uint32_t *sum = NEW_ARRAY(arena, uint32_t, a.n + 1);
    uint64_t carry = 0;
    for (int i = 0; i < a.n; i++) {
        carry += (uint64_t)a.limb[i] + (i < b.n ? b.limb[i] : 0);
        sum[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum[a.n] = (uint32_t)carry;
    return nat_trim(sum, a.n + 1);
}

struct nat nat_mul(struct arena *arena, struct nat a, struct nat b)
{
    if (nat_is_one(a))
        return b;
    if (nat_is_one(b))
        return a;
    uint32_t *product = NEW_ARRAY(arena, uint32_t, a.n + b.n);
    for (int i = 0; i < a.n; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < b.n; j++) {
            carry += (uint64_t)a.limb[i] * b.limb[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + b.n] = (uint32_t)carry;
    }
    return nat_trim(product, a.n + b.n);
}

void limbs_shift_left(uint32_t *out, int n, struct nat a, int bits)
{
    int whole = bits / 32, part = bits % 32;
    memset(out, 0, (size_t)n * sizeof *out);
    for (int i = 0; i < a.n; i++) {
        uint64_t wide = (uint64_t)a.limb[i] << part;
        out[i + whole] |= (uint32_t)wide;
        if (wide >> 32)
            out[i + whole + 1] = (uint32_t)(wide >> 32);
    }
}

/* Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D. */
void limbs_divide(uint32_t *q, uint32_t *a, int an, const uint32_t *b, int bn)
{
    const uint64_t base = (uint64_t)1 << 32;
    for (int j = an - bn; j >= 0; j--) {
        uint64_t top = (uint64_t)a[j + bn] << 32 | a[j + bn - 1];
        uint64_t guess = top / b[bn - 1], rest = top % b[bn - 1];
        while (guess >= base || (bn > 1 && guess * b[bn - 2] > (rest << 32 | a[j + bn - 2]))) {
            guess--;
            rest += b[bn - 1];
            if (rest >= base)
                break;
        }
        uint64_t carry = 0, borrow = 0;
        for (int i = 0; i < bn; i++) {
            carry += guess * b[i];
            uint64_t difference = (uint64_t)a[i + j] - (uint32_t)carry - borrow;
            a[i + j] = (uint32_t)difference;
            borrow = difference >> 63;
            carry >>= 32;
        }
        uint64_t difference = (uint64_t)a[j + bn] - carry - borrow;
        a[j + bn] = (uint32_t)difference;
        if (difference >> 63) { /* the guess was one too large: add b back */
            guess--;
            carry = 0;
            for (int i = 0; i < bn; i++) {
                carry += (uint64_t)a[i + j] + b[i];
                a[i + j] = (uint32_t)carry;
                carry >>= 32;
            }
            a[j + bn] += (uint32_t)carry;
        }
        q[j] = (uint32_t)guess;
    }
}

struct nat nat_divide(struct arena *arena, struct nat a, struct nat b, struct nat *remainder)
{
    uint64_t small_a, small_b;
    if (nat_small(a, &small_a) && nat_small(b, &small_b)) {
        if (remainder)
            *remainder = nat_make(arena, small_a % small_b);
        return nat_make(arena, small_a / small_b);
    }
    if (nat_compare(a, b) < 0) {
        if (remainder)
            *remainder = a;
        return (struct nat){0, NULL};
    }
    int shift = 32 * b.n - nat_bit_length(b);
    int an = a.n + 1;
    uint32_t *dividend = NEW_ARRAY(arena, uint32_t, an + 1);
    uint32_t *divisor = NEW_ARRAY(arena, uint32_t, b.n);
    uint32_t *quotient = NEW_ARRAY(arena, uint32_t, an - b.n + 1);
    limbs_shift_left(dividend, an + 1, a, shift);
    limbs_shift_left(divisor, b.n, b, shift);
    limbs_divide(quotient, dividend, an, divisor, b.n);
    if (remainder) {
        for (int i = 0; i < b.n; i++) {
            uint64_t wide = dividend[i] | (i + 1 < b.n ? (uint64_t)dividend[i + 1] << 32 : 0);
            dividend[i] = (uint32_t)(wide >> shift);
        }
        *remainder = nat_trim(dividend, b.n);
    }
    return nat_trim(quotient, an - b.n + 1);
}

/* Binary. */
uint64_t gcd64(uint64_t a, uint64_t b)
{
    int twos = __builtin_ctzll(a | b);
    a >>= __builtin_ctzll(a);
    while (b) {
        b >>= __builtin_ctzll(b);
        uint64_t low = a < b ? a : b;
        b = a < b ? b - a : a - b;
        a = low;
    }
    return a << twos;
}

/* Euclid until the numbers are small. */
struct nat nat_gcd(struct arena *arena, struct nat a, struct nat b)
{
    uint64_t small_a, small_b;
    while (b.n) {
        if (nat_small(a, &small_a) && nat_small(b, &small_b))
            return nat_make(arena, gcd64(small_a, small_b));
        struct nat rest;
        nat_divide(arena, a, b, &rest);
        a = b;
        b = rest;
    }
    return a;
}

void nat_cancel(struct arena *arena, struct nat *a, struct nat *b)
{
    if (nat_is_one(*a) || nat_is_one(*b))
        return;
    struct nat common = nat_gcd(arena, *a, *b);
    if (nat_is_one(common))
        return;
    *a = nat_divide(arena, *a, common, NULL);
    *b = nat_divide(arena, *b, common, NULL);
}

/* Newton's iteration falls from above to floor(sqrt a). */
bool nat_square_root(struct arena *arena, struct nat a, struct nat *root)
{
    if (a.n == 0) {
        *root = a;
        return true;
    }
    if (0xfdfdfdedfdfcfdecULL >> (a.limb[0] & 63) & 1) /* bit r: r is no square modulo 64 */
        return false;
    int bits = (nat_bit_length(a) + 1) / 2 + 1;
    uint32_t *limb = NEW_ARRAY(arena, uint32_t, bits / 32 + 1);
    limbs_shift_left(limb, bits / 32 + 1, nat_one, bits - 1);
    struct nat x = nat_trim(limb, bits / 32 + 1);
    for (;;) {
        struct nat sum = nat_add(arena, x, nat_divide(arena, a, x, NULL));
        struct nat next = nat_divide(arena, sum, nat_make(arena, 2), NULL);
        if (nat_compare(next, x) >= 0)
            break;
        x = next;
    }
    *root = x;
    return nat_compare(nat_mul(arena, x, x), a) == 0;
}

void nat_print(struct text *t, struct nat a)
{
    uint64_t small = 0;
    if (nat_small(a, &small)) {
        text_printf(t, "%llu", (unsigned long long)small);
        return;
    }
    struct nat rest, quotient = nat_divide(t->arena, a, nat_make(t->arena, 1000000000), &rest);
    nat_print(t, quotient);
    nat_small(rest, &small);
    text_printf(t, "%09llu", (unsigned long long)small);
}
