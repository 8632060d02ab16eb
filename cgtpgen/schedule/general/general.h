/* general.h - the general evaluation on a GPU: a warp owns rows, or items of a sum over all of them, and does
 * the work of an item path by path. Simple, and right for every product, index and order of edges.
 */
#ifndef CGTPGEN_GENERAL_H
#define CGTPGEN_GENERAL_H

#include "schedule/source.h"

struct general {
    bool *tables;    /* [paths]: those that are computed by tables (path_table.h); NULL: none */
    int64_t scratch; /* elements that a warp needs for the vectors of contracted paths, and by tables */
};

/* The area of the partial rows of output o of the demand: its own where another schedule has one, too. */
const char *general_parts(struct arena *, const struct schedule *, int o);
/* The kernel that adds them up. */
const char *general_sum(struct arena *, const struct schedule *, int o);

/* Writes the kernels that visit items, and finish sums over all items (general_kernel.c). */
void general_kernels(struct source *);

#endif
