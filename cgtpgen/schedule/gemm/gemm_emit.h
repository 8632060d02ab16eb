/* gemm_emit.h - items by GEMM: what its files write. */
#ifndef CGTPGEN_GEMM_EMIT_H
#define CGTPGEN_GEMM_EMIT_H

#include "schedule/gemm/gemm_plan.h"
#include "schedule/path_device.h"

struct gemm_writer {
    struct source *w;
    struct out *o;
    const struct gemm *g;
    const struct demand *d; /* of the kernel that is written: of rows, or of sums */
};

/* A path while it is written. */
struct gemm_path {
    struct gemm_writer *c;
    const struct path_plan *e;
    const struct path *path;
    const struct variant *v;
    int d;            /* components of z */
    const char *item; /* which of a lane's two items element i is of, as a C expression */
};
struct gemm_path gemm_path_of(struct gemm_writer *, int path, const char *item);

/* The functions of all paths of the demand. */
void gemm_functions(struct gemm_writer *);

/* What the path is, as a comment. */
void gemm_comment(const struct gemm_path *);

/* "for (int a = 0; a < 4; a++) {", or "{" where y has one channel. */
void gemm_begin_channels(const struct gemm_path *);

/* Declares and reads the inputs of A that the recipe reads, of both items of the lane; from: the expression
 * of item i's number in the tile. */
void gemm_take_items(const struct gemm_path *, const struct recipe *, const char *from);

/* The same of the inputs of B, for `item` and `channel`; all: there is one for every lane. */
void gemm_take_channel(const struct gemm_path *, const struct recipe *, const char *item, const char *channel,
                       bool all);

/* Calls the path's function. */
void gemm_call(const struct gemm_path *, bool tensor);

/* Makes T of elements i of left operands, t0 and so on: of item `item` and channel `channel` of x. */
void gemm_left(const struct gemm_path *, const char *item, const char *channel, bool all);

/* Starts the copies of the demand's rows of tile number `tile` to `to`, by `thread`, one of so many. */
void gemm_copies(struct gemm_writer *, const char *tile, const char *to, const char *thread, int threads);

/* The kernels. */
void gemm_rows_kernel(struct gemm_writer *);
void gemm_sums_kernel(struct gemm_writer *);

#endif
