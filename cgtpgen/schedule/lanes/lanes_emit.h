/* lanes_emit.h - matrices in lanes: what the files that write them share. lanes_kernel.c writes the kernel,
 * its warps that copy, and its launch; lanes_code.c what lanes do with channels.
 */
#ifndef CGTPGEN_LANES_EMIT_H
#define CGTPGEN_LANES_EMIT_H

#include "schedule/lanes/lanes_plan.h"
#include "schedule/source.h"
#include "util/out.h"

struct lanes_writer {
    struct source *w;
    struct out *o;
    const struct lanes *g;
    int split; /* which is being written */
};

/* Parts that a node's channels have, a block each. */
int lanes_parts(const struct lanes *);

/* What warps with channels do: before the first node, all, and those of the split; for each of its nodes. */
void lanes_begin_channels(struct lanes_writer *);
void lanes_begin_split(struct lanes_writer *);
void lanes_node(struct lanes_writer *);

/* Do all warps meet after a node, where sums of several become rows of y? */
bool lanes_meets(const struct lanes_writer *);

/* A turn of those that copy: the tile is there, the rows of the one before leave, others are asked for. */
void lanes_turn(struct lanes_writer *);

/* Writes the kernel and its launch. */
void lanes_kernel(struct source *);
void lanes_launch(struct source *, const struct schedule *);

/* Partial rows of sums over all items, as a C expression. */
const char *lanes_teams(struct arena *, const struct lanes *);

#endif
