/* tiled_plan.h - tiled items: a warp takes a tile of items, and each of its lanes one of them, for products
 * whose weights are few.
 *
 * Nothing crosses lanes but rows, which come and go through shared memory as whole lines, and sums over all
 * items. Weights that all items share are in shared memory, where one access gives a number to all lanes. The
 * longer of x and z is a stream: it comes, and leaves, segment by segment (a part), while the rest of an
 * item's rows stays for the tile. Paths that read or add to the part are worked on in groups: of paths of one
 * product of channels each, which share the turns over channels of z, or of one path, whose turns are over
 * some of its channels.
 */
#ifndef CGTPGEN_TILED_PLAN_H
#define CGTPGEN_TILED_PLAN_H

#include "schedule/layout.h"
#include "schedule/schedule.h"

/* Lanes of a warp, items of a tile. */
enum { TILED_LANES = 32 };

struct tiled_group {
    int paths;
    const int *path;
    int together; /* channels of B at a time, of a group's only path */
    int turn;     /* channels of z at a time */
    bool once;    /* it works on each channel of its part, and nobody else does: outputs are written there */
    int words;    /* registers of 32 bits that it holds at a time */
};

struct tiled_part {
    int segment; /* of the stream */
    int elements;
    int channels, pieces; /* the former come by so many at a time, where each is worked on once */
    int paths;
    const int *path;
    int groups;
    struct tiled_group *group;
};

struct tiled {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    enum slot stream;
    int *in_place;     /* [demand's outputs]: the input of the stream whose place an output takes; -1: none */
    bool wide;         /* rows of the stream are copied, and read, by 16 bytes */
    int parts, pieces; /* the latter of all parts */
    struct tiled_part *part;
    int registers;               /* of a thread */
    int warps, stages;           /* of a block, which a multiprocessor has to itself; of a warp's ring */
    double bytes, work;          /* per item: moved; instructions of a warp */
    struct layout stage, rows;   /* inputs of a tile: a part of the stream; all else */
    struct layout leaving, out;  /* outputs of a tile: the same */
    struct layout sums, weights; /* over all items of the warp; that all items share */
    struct layout warp, *block;  /* shared memory */
};

/* Channels of z, and of B, that a path's part of a group has at a time. */
static inline const struct variant *tiled_variant(const struct tiled *g, int path)
{
    return &g->demand->variant[g->demand->variant_of[path]];
}

/* Is it there for a part only? Is it in a row of each item? */
static inline bool tiled_streams(const struct tiled *g, const struct operand *q)
{
    return q->slot == g->stream;
}
static inline bool tiled_is_row(const struct operand *q)
{
    return q->index == INDEX_ITEM;
}

/* Does the path of such a variant multiply by weights, or make their gradients, of the channels of z in
 * turns? */
bool tiled_turns(const struct variant *);

/* Lays out shared memory for so many stages and warps. */
void tiled_layout(struct arena *, struct tiled *, int stages, int warps);

/* Names the device code of a schedule, and its structs. */
void tiled_layout_name(struct arena *, const struct schedule *);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *tiled_refuses(const struct target *, const struct demand *);
const char *tiled_refuses_path(const struct target *, const struct demand *, const struct path *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *tiled_plan(struct arena *, struct schedule *);

#endif
