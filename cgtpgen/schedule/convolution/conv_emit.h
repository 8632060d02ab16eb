/* conv_emit.h - the pipelined convolution: what the files that write it share. conv_edge.c writes what
 * happens for an edge, conv_path.c the arithmetic of a path, conv_kernel.c what happens for a receiver, a
 * range of edges and a kernel, conv_sums.c the kernels that finish outputs.
 */
#ifndef CGTPGEN_CONV_EMIT_H
#define CGTPGEN_CONV_EMIT_H

#include "schedule/convolution/conv_plan.h"
#include "schedule/code_print.h"
#include "schedule/path.h"
#include "schedule/source.h"

enum { LANES = 32 };

/* A segment while it is written. */
struct conv {
    struct source *w;
    const struct gpu_segment *s;
    int number;     /* of the segment */
    int partial_at; /* element of a lane in a partial row */
    const struct path *path;
};

/* The plan of the current schedule. */
static inline const struct convolution *own(const struct source *w)
{
    return w->schedule->own;
}

/* Writes the kernel, with its functions, and the kernels that finish its outputs. */
void conv_kernels(struct source *);

/* Counters of ranges that its warps take. */
int conv_takers(const struct convolution *);

/* Kernels that sum what warps left for an output of x (a buffer of edges) or of y (shares of edges). */
void conv_gather(struct source *, const struct form_output *);
void conv_parts_sum(struct source *, const struct form_output *);

/* Components of a segment of x. */
int conv_components_x(const struct source *, int x);

/* Does the segment sum A outputs over the warps of a team? */
bool conv_in_team(const struct conv *);

/* Writes pointers to the lane's first 16 bytes of the segment's part of a row of slot X or G, which begins at
 * `row`. In a group of several, vectors of d components have a pointer for each d. */
void conv_rows(struct conv *, const char *indent, const char *type, const char *name, const char *row,
               enum slot);
const char *conv_row(const struct conv *, const char *name, int d);

/* The function `load`, which starts the copies of an edge; `add_up`, which sums A outputs over the team. */
void conv_load(struct conv *);
void conv_add_up(struct conv *);

/* The numbers of a kernel input in the current edge's stage, as a C expression: a path's weights, a segment
 * of x, or (number 0) y. */
const char *conv_staged(const struct conv *, int input, int number);

/* The arithmetic of c->path for the current edge. */
void conv_path(struct conv *);

/* The loop over the edges of a receiver; what is left to do after the last edge of a range. */
void conv_edges(struct conv *);
void conv_end_edges(struct conv *);

#endif
