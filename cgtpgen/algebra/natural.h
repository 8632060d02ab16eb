/* natural.h - natural numbers of any size, for the exact numbers of exact.h.
 *
 * Values are immutable and live in the arena; they can be shared freely.
 */
#ifndef CGTPGEN_NATURAL_H
#define CGTPGEN_NATURAL_H

#include "util/text.h"

#include <stdbool.h>
#include <stdint.h>

/* A natural number: n limbs of 32 bits, least significant first, no leading zero limb; n == 0 is zero. */
struct nat {
    int n;
    const uint32_t *limb;
};

extern const struct nat nat_one;

struct nat nat_make(struct arena *, uint64_t value);
struct nat nat_trim(const uint32_t *limb, int n); /* n limbs, of which the highest may be zero */
bool nat_is_one(struct nat);
int nat_bit_length(struct nat);          /* 0 for zero */
int nat_compare(struct nat, struct nat); /* <0, 0, >0 */
struct nat nat_add(struct arena *, struct nat, struct nat);
struct nat nat_mul(struct arena *, struct nat, struct nat);

/* a / b, rounded down; b > 0. *remainder may be wanted (NULL: no). */
struct nat nat_divide(struct arena *, struct nat a, struct nat b, struct nat *remainder);

/* The greatest common divisor; both > 0. */
struct nat nat_gcd(struct arena *, struct nat, struct nat);
uint64_t gcd64(uint64_t a, uint64_t b);

/* Divides both by their greatest common divisor; both > 0. */
void nat_cancel(struct arena *, struct nat *a, struct nat *b);

/* Is a a square? Then *root is its root. */
bool nat_square_root(struct arena *, struct nat a, struct nat *root);

void nat_print(struct text *, struct nat); /* in decimal */

/* Digits of the binary number, 0 for 0. */
int bit_length64(uint64_t);

/* out[0 .. n-1] = a * 2^bits; the product fits in n limbs. */
void limbs_shift_left(uint32_t *out, int n, struct nat a, int bits);

/* Divides a[0 .. an] (an + 1 limbs, the highest zero) by b[0 .. bn-1], whose highest bit is set; an >= bn.
 * The quotient's an - bn + 1 limbs go to q, the remainder stays in a[0 .. bn-1]. */
void limbs_divide(uint32_t *q, uint32_t *a, int an, const uint32_t *b, int bn);

#endif
