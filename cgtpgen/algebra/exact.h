/* exact.h - exact numbers: rationals and sign * sqrt(rational), rounded once, at the end.
 *
 * Values are immutable and live in the arena; they can be shared freely.
 */
#ifndef CGTPGEN_EXACT_H
#define CGTPGEN_EXACT_H

#include "algebra/natural.h"

/* num / den >= 0, in lowest terms, den > 0. */
struct rat {
    struct nat num, den;
};

/* sign * sqrt(square), sign in {-1, 0, +1}; sign == 0 if and only if square is zero. */
struct surd {
    int sign;
    struct rat square;
};

struct rat rat_make(struct arena *, uint64_t num, uint64_t den); /* den > 0 */
struct rat rat_add(struct arena *, struct rat, struct rat);
struct rat rat_mul(struct arena *, struct rat, struct rat);
struct rat rat_div(struct arena *, struct rat, struct rat); /* divisor > 0 */
int rat_compare(struct rat, struct rat);                    /* <0, 0, >0 */
bool rat_is_zero(struct rat);

/* A non-negative decimal such as 2, 0.5, 1e-3, exactly. False when it is no such number, has more than 18
 * significant digits, or is not zero and outside 1e-30 .. 1e30. (A sign, inf and nan are the caller's to
 * diagnose.) */
bool rat_parse(struct arena *, const char *s, struct rat *out);
void rat_print(struct text *, struct rat); /* 3/10, or 3 where the denominator is one */

struct surd surd_make(int sign, struct rat square);
struct surd surd_mul(struct arena *, struct surd, struct surd);
struct surd surd_div(struct arena *, struct surd, struct surd); /* divisor not zero */
struct surd surd_negate(struct surd);
struct surd surd_copy(struct arena *, struct surd); /* with its limbs */
bool surd_equal(struct surd, struct surd);
uint32_t surd_hash(struct surd); /* equals have the same */
bool surd_is_one(struct surd);

/* Correctly rounded to nearest even; magnitudes are always in the normal range of the type for the numbers
 * met here. */
double surd_double(struct surd);
float surd_float(struct surd);

/* 1, -2/3, sqrt(3/10), -sqrt(2)  (rational where the square root is). */
void surd_print(struct text *, struct surd);

/* A C hexadecimal floating constant: 0x1.8p+1, -0x1p-3f (float_suffix), 0x0p+0. */
void hex_print(struct text *, double value, bool float_suffix);

#endif
