/* emit_cuda_conv.h - the pipelined convolution: what its two parts share. emit_cuda_edge.c writes what
 * happens for an edge, emit_cuda_conv.c what happens for a receiver, a range of edges and a kernel.
 */
#ifndef CGTPGEN_EMIT_CUDA_CONV_H
#define CGTPGEN_EMIT_CUDA_CONV_H

#include "emit/emit_cuda.h"

enum { LANES = 32 };

/* A segment while it is written. */
struct conv {
    struct cuda_writer *w;
    const struct gpu_segment *s;
    int number;     /* of the segment */
    int partial_at; /* element of a lane in a partial row */
    const struct path *path;
};

/* Does the current pass read the kernel's input? */
bool conv_reads(const struct cuda_writer *, int input);

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
