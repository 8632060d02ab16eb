/* lanes_emit.h - matrices in lanes: what the files that write them share. */
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

/* ---- lanes_places.c ---- */

/* Lanes of a channel. */
int lanes_alike(const struct lanes *);

/* "name + 64 + group_x * 8": offsets of the lanes of a channel, by number. */
const char *lanes_offset(const struct lanes_writer *, const char *name, const int *offset);

/* Segments of a group of the slot, x or z; segment i of a group; components that lanes have. */
int lanes_segments(const struct lanes *, enum slot);
int lanes_segment(const struct lanes *, enum slot, int group, int i);
int lanes_side(const struct lanes *, enum slot);

/* Of components that lanes have, the warp's first, and how many. */
int lanes_first_of(const struct lanes_writer *, int components);
int lanes_part_of(const struct lanes_writer *, int components);

/* 'x' or 'z', by which names of the slot begin. */
char lanes_letter(enum slot);

/* Components of segment i of a group. */
int lanes_components(const struct lanes_writer *, enum slot, int i);

/* The slot's segments as kernels have them. */
const struct operand *lanes_operand(const struct lanes_writer *, enum slot);

/* Where component m of the lane's channel is in a row of the slot, of segment i of its group. */
const char *lanes_place(const struct lanes_writer *, enum slot, int i, int m);

/* The same of component k of all that a lane has. */
const char *lanes_place_of(const struct lanes_writer *, enum slot, int k);

/* Of segment i of a group, which begins at a component of all that a lane has, those from `first` on, n of
 * them; returns how many there are. */
int lanes_clip(const struct lanes_writer *, enum slot, int i, int before, int first, int n, int *from);

/* ---- lanes_copy.c ---- */

/* Has the kernel input a row of each item, which is copied? */
bool lanes_is_copied(const struct lanes_writer *, int input);

/* Tables of where pieces of rows are. */
void lanes_tables(struct lanes_writer *);

/* What warps that copy have, their rows of tiles and how these come and leave; a turn: a tile is there, the
 * rows of the one before leave, others are asked for; after the last turn. */
void lanes_begin_copies(struct lanes_writer *);
void lanes_turn(struct lanes_writer *);
void lanes_end_copies(struct lanes_writer *);

/* ---- lanes_code.c ---- */

/* What warps with channels do: before the first node, all, and those of the split; for each of its nodes. */
void lanes_begin_channels(struct lanes_writer *);
void lanes_begin_split(struct lanes_writer *);
void lanes_node(struct lanes_writer *);

/* Do all warps meet after a node, where sums of several become rows of y? */
bool lanes_meets(const struct lanes_writer *);

/* ---- lanes_kernel.c ---- */

/* Writes the kernel and its launch. */
void lanes_kernel(struct source *);
void lanes_launch(struct source *, const struct schedule *);

/* Partial rows of sums over all items, as a C expression. */
const char *lanes_teams(struct arena *, const struct lanes *);

#endif
