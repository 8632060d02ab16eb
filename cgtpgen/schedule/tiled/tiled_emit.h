/* tiled_emit.h - tiled items: what the files that write them share. tiled_kernel.c writes the kernel and its
 * launch, tiled_group.c the work of a group of paths.
 */
#ifndef CGTPGEN_TILED_EMIT_H
#define CGTPGEN_TILED_EMIT_H

#include "schedule/path_device.h"
#include "schedule/tiled/tiled_plan.h"
#include "util/out.h"

struct tiled_writer {
    struct source *w;
    struct out *o;
    const struct tiled *g;
    const struct tiled_part *part; /* that is worked on, */
    int piece;                     /* and of that; */
    int number;                    /* of those that a tile has */
    /* Begin and end what is done with a piece. */
    void (*enter)(struct tiled_writer *), (*leave)(struct tiled_writer *);
};

/* The functions of the paths. */
void tiled_functions(struct tiled_writer *);

/* What each lane does with its item for a group, which enters and leaves the pieces of its part itself where
 * it works on each channel once. Of each operand q the lane's row, or its part of the stream, or what all
 * have in common, begins at `q_row`. */
void tiled_group(struct tiled_writer *, const struct tiled_group *);

/* Writes the kernels and their launches. */
void tiled_kernel(struct source *);
void tiled_launch(struct source *, const struct schedule *);

#endif
