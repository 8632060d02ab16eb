/* batch_plan.h - the pipelined batch: channelwise products of items that have rows of their own.
 *
 * A warp takes whole items. It works on a channel block (32 V channels) at a time, and on a path set at a
 time
 * in that. The slices of x and y that a channel block needs lie in shared memory until its last path set; the
 * slices of w and z of a path set come through a ring of stages by asynchronous copies, one path set per
 * turn, and rows of results leave from shared memory as whole lines. Where slices of x are too large to lie
 * there, those that a path set reads come with it, some again from L2. Nothing but sums of slots x and y
 * stays in registers from one path to the next, and paths that read a segment of x follow each other, so that
 * many warps share a multiprocessor.
 *
 * Where the loop over items is longer than the instructions that a multiprocessor keeps, it becomes several,
 one
 * per phase: path sets that share no segment of x with those of another phase. A warp goes through all its
 items
 * once per phase, and adds up gradients of y in memory.
 *
 * Segments of at most 16 channels have phases of their own, in which a warp works on several items side by
 * side, each with so many of its lanes.
 */
#ifndef CGTPGEN_BATCH_PLAN_H
#define CGTPGEN_BATCH_PLAN_H

#include "pipeline/build.h"
#include "schedule/schedule.h"

/* Lanes of a warp. */
enum { BATCH_LANES = 32 };

/* Segments of x with the same number of channels. */
struct batch_part {
    int mul, blocks; /* channels; channel blocks, of which the last may have fewer */
    int lanes;       /* of an item: of all of the warp, or fewer */
    int xs, *x;      /* segments that paths read */
};

/* Paths whose weights and rows of z are in a stage together; all into a segment of z are in one. */
struct batch_set {
    int part;         /* of its paths */
    int paths, *path; /* numbers, in the order of computation */
    int xs, *x;       /* segments of x they read */
    int ends, *end;   /* of these, those that no later set reads: their gradients are complete */
    int zs, *z;       /* segments of z */
    int ws, *w;       /* paths with weights, by the place of those */
    int work;         /* instructions per channel block */
    int bytes;        /* per channel block, of a stage and of results that leave it */
    int in, out;      /* places: what comes in for it, results on their way to memory; -1: none */
};

/* Path sets that one loop over items computes. */
struct batch_phase {
    int first, sets; /* the first, and how many */
    int blocks;      /* channel blocks of an item: most of any part */
    int lanes;       /* of an item, in all of them */
    bool sums; /* are there sums over an item's? Then there is a loop over items around that over them */
    int item, block; /* loops: over items, over channel blocks */
    int rows, wide;  /* places: of what all sets read, of rows of y in 16 bits, widened; -1: none */
};

struct batch {
    const struct schedule *schedule;
    const struct demand *demand;
    const struct device *device;
    int parts;
    struct batch_part *part;
    int paths, *order; /* that it computes: numbers, in the order in which the sets take them */
    int *last;         /* [segments of x]: the last path that reads it, and */
    bool *begins;      /* [paths]: is it the first of a phase? By their places in that order */
    int sets;
    struct batch_set *set;
    int phases, most_phases; /* of the latter no more, but for those that other lanes make */
    bool several;            /* are there others than the first? */
    int sides;               /* most items side by side in a phase */
    struct batch_phase *phase;
    int channels;              /* V: neighbouring channels of a lane */
    int stages, warps, blocks; /* of a ring; of a block; a multiprocessor must hold */
    int aligned[SLOT_COUNT];   /* see demand_aligned */
    bool x_by_set;             /* x comes with each path set that reads it, as where there are phases */
    int held;                  /* registers that would be enough for rows that stay in them and for forms */
    struct pipeline *pipeline;
};

/* Channel blocks of so many channels, of which a lane has so many. */
static inline int batch_blocks(int mul, int channels)
{
    const int width = BATCH_LANES * channels;
    return (mul + width - 1) / width;
}

/* Do all items share the weights? */
static inline bool batch_shares(const struct batch *g)
{
    return g->demand->plan->problem->spec->index[SLOT_W] == INDEX_SHARED;
}

/* Have all lanes of all its blocks channels? */
static inline bool batch_is_whole(const struct batch *g, const struct batch_part *part)
{
    return part->mul == part->blocks * part->lanes * g->channels;
}

/* The number of the part with so many channels. */
static inline int batch_part(const struct batch *g, int64_t mul)
{
    int i = 0;
    while (g->part[i].mul != mul)
        i++;
    return i;
}

/* What a set has of an operand, its parts by number: paths (slot w), or segments (slots x, z); returns how
 * many. */
int batch_numbers(const struct batch_set *, const struct operand *, const int **number);

/* Elements from an item's row of y to the next where they are side by side: whole chunks. */
static inline int batch_y_room(const struct batch *g, const struct operand *o)
{
    const int wide = 16 / kernel_size(g->demand->kernel);
    return (int)(o->dim + wide - 1) / wide * wide;
}

/* Bytes of a channel block that a path brings in and sends out, beside x and y (new_z: with its segment of
 * z); its instructions. */
int batch_path_bytes(const struct batch *, const struct path *, bool new_z);
int batch_path_work(const struct batch *, const struct path *);

/* Registers that would be enough; instructions of a warp per item and bytes, as evaluations of graphs count;
 * bytes of instructions of the longest loop over items, or of all loops together. */
int batch_registers_held(struct arena *, const struct batch *);
double batch_cost(const struct batch *);
int64_t batch_loop_bytes(const struct batch *, bool all);

/* Makes the pipeline, with its places; lays them out, with rings of so many stages. */
void batch_places(struct arena *, struct batch *);
void batch_stages(struct batch *, int stages);

/* Adds the steps. */
void batch_steps(struct batch *);

#endif
