/* emit_cuda_conv.h - the pipelined convolution: what its parts share. emit_cuda_edge.c writes what happens
 * per edge, emit_cuda_conv.c what happens per receiver and tile, and the kernel.
 */
#ifndef CGTPGEN_EMIT_CUDA_CONV_H
#define CGTPGEN_EMIT_CUDA_CONV_H

#include "emit/emit_cuda.h"
#include "util/out.h"

/* A path set while it is written. */
struct conv {
    struct cuda_writer *w;
    struct out *o;
    const struct gpu_segment *s;
    int number; /* of the set in its pass */
    int label;  /* of the set in the file: what its structs and function end in */
    int v;      /* the channel of the lane that is written */
    const struct path *path;
};

/* Does the current pass read the kernel's input? */
bool conv_reads(const struct cuda_writer *, int input);

/* The kernel's inputs or outputs of a slot that the pass has, by number: returns their number. */
int conv_operands(const struct cuda_writer *, enum slot, bool outputs, int *number);
/* Does a stage hold what depends on the edge's sender? */
bool conv_needs_senders(const struct cuda_writer *);

const char *conv_name(const struct cuda_writer *, bool output, int number);

/* Where the set's irreps segments and weights are in rows, as structs. */
void conv_tables(struct conv *);

/* Whose segments a gradient of x has where it is written: "x", or "edge" where they are elsewhere in the rows
 * of the buffer of edges. */
const char *conv_x_out(const struct conv *);

/* The function `load`, which starts the copies of an edge; `reduce`, which sums outputs of slot y over the
 * warp group. */
void conv_load(struct conv *);
void conv_reduce(struct conv *);

/* The numbers of a kernel input in the current edge's stage, as a C expression: a path's weights, a segment
 * of x, or (number 0) y. */
const char *conv_staged(const struct conv *, int input, int number);

/* The arithmetic of c->path for the current edge. */
void conv_path(struct conv *);

/* The loop over the edges of a receiver; what is left to do after the last edge of a tile. */
void conv_edges(struct conv *);
void conv_end_edges(struct conv *);

#endif
