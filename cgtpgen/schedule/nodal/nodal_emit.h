/* nodal_emit.h - matrices of nodes: what the files that write them share. nodal_kernel.c writes the kernel
 * and its launch, nodal_code.c what is done once for a node.
 */
#ifndef CGTPGEN_NODAL_EMIT_H
#define CGTPGEN_NODAL_EMIT_H

#include "schedule/nodal/nodal_plan.h"
#include "schedule/source.h"
#include "util/out.h"

struct nodal_writer {
    struct source *w;
    struct out *o;
    const struct nodal *g;
    bool alike; /* rows of x and of z have the same places */
};

/* Where a channel's matrix begins. */
const char *nodal_matrix_of(const struct nodal_writer *, const char *matrix, const char *channel);

/* Elements between the components of a channel in what a block has of a row, and where channel 0 begins. */
int nodal_step(const struct operand_block *);
int nodal_place(const struct operand *, int segment);

/* The functions of matrices, there and back. */
void nodal_functions(struct nodal_writer *);

/* A node's matrices, from its rows of y; and what flows back from sums over its items. */
void nodal_make_matrices(struct nodal_writer *);
void nodal_flow_back(struct nodal_writer *);

/* Where weights of paths are in their row, of the part's first channel, as a table; -1: none. In a loop over
 * them, `i`, `at`, which ends there: they come; sums of so many that stand abreast leave, to a part of a
 * partial row. */
void nodal_weight_places(struct source *, struct out *, const char *name);
void nodal_bring_weights(const struct source *, struct out *);
void nodal_leave_weights(const struct source *, struct out *, int abreast, int parts);

/* The launch of blocks whose teams take nodes, and of what finishes outputs. */
struct nodal_launch {
    const char *name, *block; /* of the kernel; of its shared memory */
    enum index_kind owner;
    int parts, fit, threads; /* blocks of a team; of a multiprocessor; of a block */
};
void nodal_launch_teams(struct source *, const struct nodal_launch *);

/* Writes the kernels and their launches. */
void nodal_kernel(struct source *);
void nodal_launch(struct source *, const struct schedule *);

/* Partial rows of sums over all items, as a C expression. */
const char *nodal_teams(struct arena *, const struct nodal *);

#endif
