/* carbon.h - a periodic lattice of diamond as a graph: the input of the demo and of the benchmark. */
#ifndef CARBON_H
#define CARBON_H

#include "cgtp.h"

enum { CARBON_HARMONICS = 16 }; /* components of l = 0 .. 3 */

struct carbon {
    cgtp_graph graph;    /* indexed; edges sorted by receiver, then by sender */
    double (*vector)[3]; /* [items]: from receiver to sender, in Angstrom */
    /* What graph points into. */
    int32_t *sender, *receiver, *by_sender;
    int64_t *receiver_row, *sender_row;
};

/* cells^3 conventional cells of 8 atoms, lattice constant 3.567 Angstrom; an edge for every two atoms nearer
 * than 6 Angstrom (in one of their periodic images: at least 4 cells are needed); at most max_edges, the
 * first of them. Returns false when memory runs out. */
int carbon_build(struct carbon *, int cells, int64_t max_edges);
void carbon_free(struct carbon *);

/* Real spherical harmonics of edge e, l = 0 .. 3, e3nn's order and axes, normalisation "component" (the
 * squares of a degree l sum to 2l + 1). */
void carbon_harmonics(const struct carbon *, int64_t e, float y[CARBON_HARMONICS]);

#endif
