/* tiled.h - tiled items: a warp takes a tile of items, and each of its lanes one of them, for products whose
 * weights are few.
 *
 * Nothing crosses lanes but rows, which come and go through shared memory as whole lines, and sums over all
 * items. Weights that all items share are in shared memory, where one access gives a number to all lanes. The
 * longer of x and z is a stream: it comes, and leaves, segment by segment (a part), while the rest of an
 * item's rows stays for the tile. Paths that read or add to the part are worked on in groups: of paths of one
 * product of channels each, which share the turns over channels of z, or of one path, whose turns are over
 * some of its channels.
 */
#ifndef CGTPGEN_TILED_H
#define CGTPGEN_TILED_H

#include "pipeline/build.h"
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
    int first;            /* the number of its first piece among those of a tile */
    int paths;
    const int *path;
    int groups;
    struct tiled_group *group;
};

/* What the planner decides. */
struct tiled {
    struct arena *arena;
    const struct demand *demand;
    const struct device *device;
    enum slot stream;
    bool wide;         /* rows of the stream are copied, and read, by 16 bytes */
    int parts, pieces; /* the latter of all parts */
    struct tiled_part *part;
    int registers; /* of a thread */
    int stages;    /* of the stream */
    struct pipeline *pipeline;
    int tile;   /* its loop over tiles */
    int *place; /* [operands]: of inputs, then of the demand's outputs; -1: none */
};

static inline const struct variant *tiled_variant(const struct tiled *g, int path)
{
    return &g->demand->variant[g->demand->variant_of[path]];
}

/* Does the path of such a variant multiply by weights, or make their gradients, of channels of z in turns? */
static inline bool tiled_turns(const struct variant *v)
{
    return v->contracted && v->zs + v->ps + v->ws > 0;
}

/* The places of so many warps; outputs of the stream take those of its inputs (in_place). */
void tiled_places(struct tiled *, int stages, int warps, bool in_place);

/* Copies of a tile's rows, of a piece of the stream (or of all else), so many turns ahead; and what leaves.
 */
void tiled_copy(const struct tiled *, bool stream, int index, int skew);
void tiled_store(const struct tiled *, bool stream, int index);

/* The steps, when all is decided. */
void tiled_steps(struct tiled *);

/* See struct evaluation. */
const char *tiled_refuses(const struct target *, const struct demand *);
const char *tiled_refuses_path(const struct target *, const struct demand *, const struct path *);
const char *tiled_plan(struct arena *, struct schedule *);

#endif
