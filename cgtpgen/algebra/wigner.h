/* wigner.h - exact Wigner 3j tensors in e3nn's real basis.
 *
 * C[i,j,k] of shape (2 l1 + 1, 2 l2 + 1, 2 l3 + 1), i = m1 + l1 and so on, sum of squares one, signs as
 * e3nn.o3.wigner_3j. Every entry is sign * sqrt(p/q).
 */
#ifndef CGTPGEN_WIGNER_H
#define CGTPGEN_WIGNER_H

#include "algebra/exact.h"

enum { L_MAX = 11, IRREP_COUNT = 2 * (L_MAX + 1) }; /* L_MAX: e3nn's own limit */

struct cg_entry {
    int i, j, k;
    struct surd value; /* never zero */
};

/* The nonzero entries, sorted by (i, j, k). */
struct cg {
    int l1, l2, l3;
    int n;
    struct cg_entry *entry;
};

/* Entries with zeros. */
int cg_dense(const struct cg *);

/* A cache, so that each tensor is computed once; zero-initialise and set the arena. */
struct wigner {
    struct arena *arena;
    struct tables *tables; /* factorials and binomials; NULL: not yet made */
    struct cg *table[L_MAX + 1][L_MAX + 1][L_MAX + 1];
};

/* |l1 - l2| <= l3 <= l1 + l2, each in 0 .. L_MAX. */
const struct cg *wigner_3j(struct wigner *, int l1, int l2, int l3);

#endif
