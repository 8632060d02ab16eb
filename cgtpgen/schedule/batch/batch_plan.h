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
 */
#ifndef CGTPGEN_BATCH_PLAN_H
#define CGTPGEN_BATCH_PLAN_H

#include "util/layout.h"
#include "schedule/schedule.h"

/* Lanes of a warp. */
enum { BATCH_LANES = 32 };

/* Segments of x with the same number of channels. */
struct batch_part {
    int mul, blocks; /* channels; channel blocks */
    int xs, *x;      /* segments that paths read */
};

/* Paths whose weights and rows of z are in a stage together; all into a segment of z are in one. */
struct batch_set {
    int part;            /* of its paths */
    int paths, *path;    /* numbers, in the order of computation */
    int xs, *x;          /* segments of x they read */
    int ends, *end;      /* of these, those that no later set reads: their gradients are complete */
    int zs, *z;          /* of the paths, the first into each segment of z */
    int work;            /* instructions per channel block */
    int bytes;           /* per channel block, of a stage and of results that leave it */
    struct layout stage; /* what comes in for it */
    struct layout out;   /* results on their way to memory */
};

/* Path sets that one loop over items computes. */
struct batch_phase {
    int first, sets; /* the first, and how many */
};

struct batch {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    int parts;
    struct batch_part *part;
    int paths, *order; /* that it computes: numbers, in the order in which the sets take them */
    bool *begins;      /* [paths]: in that order, the first of a phase */
    int sets;
    struct batch_set *set;
    int phases, most_phases; /* of the latter no more */
    struct batch_phase *phase;
    int channels;              /* V: neighbouring channels of a lane */
    int channel_blocks;        /* of an item: most of any part */
    int stages, warps, blocks; /* of a ring; of a block; a multiprocessor must hold */
    bool x_by_set;             /* x comes with each path set that reads it */
    int buffers;               /* of rows: of the channel blocks in use, and ahead */
    int held;                  /* registers that would be enough for rows that stay in them and for forms */
    int alive;                 /* words of values that are alive at once */
    int registers_least;       /* that a thread needs, if nothing is to spill */
    int registers;             /* that ptxas is predicted to take */
    double bytes, work;        /* per item: moved; instructions of a warp */
    struct layout rows;        /* slices of x and y, of a channel block */
    struct layout wide;        /* rows of y in 16 bits, widened */
    struct layout stage, out;  /* those of the sets: unions */

    struct layout warp, *block; /* shared memory of a warp; of a block */
};

/* The name of an input's or output's part in layouts: of a path (slot w), or of a segment (slots x, z); for
 * slot y its own. */
const char *batch_field(struct arena *, const char *name, enum slot slot, int number);

/* Lays out rows, stages and results; and, once stages and buffers are chosen, shared memory. */
void batch_layout_slices(struct arena *, struct batch *);
void batch_layout_block(struct arena *, struct batch *);

/* Counts the values that are alive at once, and the registers that follow; `most`: that there are. */
void batch_registers(struct arena *, struct batch *, int most);

/* Names the device code of a schedule, and its structs. */
void batch_layout_name(struct arena *, const struct schedule *);

/* The set's paths with weights, by the place of those; returns their number. */
int batch_by_weights(struct arena *, const struct problem *, const struct batch_set *, int **path);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *batch_refuses(const struct target *, const struct demand *);
const char *batch_refuses_path(const struct target *, const struct demand *, const struct path *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *batch_plan(struct arena *, struct schedule *);

#endif
