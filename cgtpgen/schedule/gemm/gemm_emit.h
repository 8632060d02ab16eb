/* gemm_emit.h - items by GEMM: what its files write. */
#ifndef CGTPGEN_GEMM_EMIT_H
#define CGTPGEN_GEMM_EMIT_H

#include "schedule/gemm/gemm_plan.h"
#include "schedule/path_device.h"

struct gemm_writer {
    struct source *w;
    struct out *o;
    const struct gemm *g;
    const struct gemm_rows *r; /* the kernel of rows that is written; NULL: it is that of sums */
    const struct demand *d;    /* its demand */
    bool beside;               /* it runs beside the kernels before it */
    int cut;                   /* of rows, the piece that is worked on */
};

/* A path while it is written. */
struct gemm_path {
    struct gemm_writer *c;
    const struct path_plan *e;
    const struct path *path;
    const struct variant *v;
    int d;               /* components of G */
    const char *item;    /* which of a lane's two items an element is of, as a C expression */
    const char *channel; /* what follows the name of an input, or output, of slot B of an element */
    const char *sum;
};
struct gemm_path gemm_path_of(struct gemm_writer *, int path, const char *item, const char *channel,
                              const char *sum);

/* The functions of all paths of the demand. */
void gemm_functions(struct gemm_writer *);

/* What the path is, as a comment. */
void gemm_comment(const struct gemm_path *);

/* "for (int a = 0; a < 4; a++) {", or "{" where y has one channel; from: the first, NULL: of all. */
void gemm_begin_channels(const struct gemm_path *, const char *from);

/* Are numbers in the role of the lane's channels: those of B, and of A where channels of both are tied? */
bool gemm_has_channels(const struct gemm_path *, enum role);

/* Declares and reads the inputs of A that the recipe reads, of both items of the lane, where these are of all
 * channels of B; from: the expression of item i's number in the tile. */
void gemm_take_items(const struct gemm_path *, const struct recipe *, const char *from);

/* Calls the path's function. */
void gemm_call(const struct gemm_path *, bool tensor);

/* Before memory is used, and at the end of a kernel. */
void gemm_begin_launch(struct gemm_writer *);
void gemm_end_launch(struct gemm_writer *);

/* Starts the copies of the demand's rows of tile number `tile` to `to`, by `warp`, one of so many: piece
 * number `cut` of them. */
void gemm_copies(struct gemm_writer *, const char *tile, const char *to, const char *warp, int warps,
                 int cut);

/* The row of an item in shared memory, moved on to the block that the path reads. */
const char *gemm_row(const struct gemm_path *, const struct operand *, const char *item);

/* Which rows in shared memory are the warp's. */
const char *gemm_own_number(const struct gemm_writer *);

/* What is done with the rows of a tile for a span of outputs. */
void gemm_span(struct gemm_writer *, const struct gemm_span *);

/* The weights of an input as a kernel of rows reads them: where they begin, those of the path and of channel
 * a of y. */
const char *gemm_weights_name(struct gemm_writer *, const struct operand *);
const char *gemm_weights_of(const struct gemm_path *, int input);

/* Puts all that the kernel reads where it is read, by a block of so many threads; meanwhile: what is done
 * while the first of them are on their way. */
void gemm_arrange_weights(struct gemm_writer *, int threads, void (*meanwhile)(struct gemm_writer *));

/* The kernels; that of weights is for a kernel of rows which has no room for them. */
void gemm_weights_kernel(struct gemm_writer *);
void gemm_rows_kernel(struct gemm_writer *);
void gemm_sums_kernel(struct gemm_writer *);

#endif
