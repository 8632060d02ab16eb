/* irreps.h - direct sums of irreducible representations of O(3), in e3nn's notation: 128x0e+64x1o. */
#ifndef CGTPGEN_IRREPS_H
#define CGTPGEN_IRREPS_H

#include "util/text.h"

#include <stdbool.h>
#include <stdint.h>

struct irrep {
    int l;      /* 0 .. L_MAX */
    int parity; /* +1 even, -1 odd */
};

/* mul copies of one irrep; in a row (layout mul_ir) element (u, i) stands at offset + u (2l+1) + i. */
struct segment {
    int mul; /* >= 0 */
    struct irrep ir;
    int64_t offset; /* of the first element in the row */
};

struct irreps {
    int n;
    struct segment *segment;
    int64_t dim; /* elements of a row */
};

enum { MUL_MAX = 1 << 20, DIM_MAX = 1 << 30, SEGMENTS_MAX = 1 << 12 };

/* What is wrong with an irreps string, and where in it. */
struct irreps_error {
    int at, width;       /* byte offset and length of the offending part */
    bool too_large;      /* it means something, but is beyond a limit */
    const char *message; /* in the arena; NULL if nothing is wrong */
};

/* Parses e3nn's syntax ("16x0e + 1o", spaces free, "" is empty). On an error returns false and fills *error.
 */
bool irreps_parse(struct arena *, const char *s, struct irreps *out, struct irreps_error *error);

/* Appends a segment, setting its offset. *capacity starts at 0. */
void irreps_append(struct arena *, struct irreps *, int *capacity, int mul, struct irrep);

/* 128x0e+64x1o; an empty sum prints as "". */
void irreps_print(struct text *, const struct irreps *);
void irrep_print(struct text *, struct irrep);
const char *irreps_text(struct arena *, const struct irreps *);
const char *irrep_text(struct arena *, struct irrep);
const char *segment_text(struct arena *, int mul, struct irrep); /* 128x0e */

/* Order by (l, parity), odd before even: 0o 0e 1o 1e ... : <0, 0, >0. */
int irrep_compare(struct irrep, struct irrep);

/* 0 .. IRREP_COUNT-1, in that order. */
int irrep_number(struct irrep);

/* Is c in the product of a and b: |la - lb| <= lc <= la + lb and parities multiply. */
bool irrep_in_product(struct irrep c, struct irrep a, struct irrep b);

#endif
