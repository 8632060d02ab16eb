/* matrix.h - a path's CG tensor as a matrix of linear forms of one operand.
 *
 * With one channel of operand A (x or y) held fixed, a path is the matrix M[r,k] = a_p sum_j C[i,j,k] A[j]
 * applied to operand B: (2 l_B + 1) x (2 l_G + 1) entries, each plus or minus one of few distinct
 * linear forms of A. The forms are compared exactly, up to sign, so each is computed once and every entry
 * costs one multiply-add.
 */
#ifndef CGTPGEN_MATRIX_H
#define CGTPGEN_MATRIX_H

#include "problem/problem.h"
#include "util/hash.h"

/* sum over terms of coefficient * A[index]; the first coefficient is positive. In a scaled matrix a form is
 * mostly a bare component of A. */
struct linear_form {
    int terms;
    int *index;
    struct surd *coefficient; /* a_p times entries of C */
};

struct matrix {
    int l1, l2, l3;
    enum slot a, b, g;   /* which of x, y and z is A, B, G */
    struct surd scale;   /* a_p */
    struct surd *column; /* scaled: M[r,k] = column[k] * entry; NULL: the forms hold the whole coefficient */
    int rows, columns;   /* 2 l_B + 1, 2 l_G + 1 */
    int depth;           /* 2 l_A + 1 */
    int forms, form_terms; /* distinct forms, and their terms together */
    struct linear_form *form;
    int entries; /* nonzero entries */
    int *entry;  /* [rows * columns]: 0, or +-(form + 1) */
};

/* Every matrix made so far; zero-initialise and set the arena. Paths of equal l's, roles and scale share one.
 */
struct matrices {
    struct arena *arena;
    struct hash hash; /* by l's, role and scale */
    int n, capacity;
    struct matrix **matrix;
    struct root *root; /* values of coefficients that were met; NULL: none */
};

/* The matrix of path p (coefficient not zero) with A standing in slot a, G in slot g. */
const struct matrix *matrix_of(struct matrices *, const struct path *p, enum slot a, enum slot g);

/* The same with a factor taken out of each column, so chosen that the forms cost least: for code that can
 * apply the factors once (to sums over many items), not once an item. G is z. */
const struct matrix *matrix_scaled(struct matrices *, const struct path *p, enum slot a);

/* Are they equal, whoever made them? A hash of it, which goes on from the key; a copy without forms and
 * entries. */
bool matrix_same(const struct matrix *, const struct matrix *);
uint32_t matrix_hash(uint32_t key, const struct matrix *);
const struct matrix *matrix_kind(struct arena *, const struct matrix *);

/* Does it leave out factors of columns, which are not all one? */
bool matrix_has_factors(const struct matrix *);

#endif
