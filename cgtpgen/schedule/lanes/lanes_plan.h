/* lanes_plan.h - matrices in lanes: the products that matrices of nodes are for (nodal_plan.h), where a
 * channel's matrix falls apart into blocks that a lane's registers hold.
 *
 * Cells that are alike, those of the parities of x and of z, are where matrices fall apart: a lane has one
 * parity of either, and makes all of its cells with the code of the path, which other lanes run with it. What
 * an item's row is multiplied with never leaves registers, and lanes that add to one component exchange what
 * they have. Gradients are sums of as many numbers that stay in registers, too.
 *
 * A block has all channels, or a part of them that is many lines long. Warps of their own bring rows and
 * take them away, so that nothing else stands between a tile and the next one; where registers allow no more
 * warps, those with channels do so. Blocks of matrices that are too large for registers are split: several
 * warps have the same channels and items, but make other components.
 */
#ifndef CGTPGEN_LANES_PLAN_H
#define CGTPGEN_LANES_PLAN_H

#include "schedule/nodal/nodal_plan.h"

enum { LANES_ALIKE_MOST = 4, LANES_GROUPS_MOST = 2 };

/* What lanes have of y: a segment each, of the same l. Lanes that have the same one are those whose numbers
 * differ by these bits. */
struct lanes_y {
    int segment[LANES_ALIKE_MOST];
    int before, components; /* of a lane, before these */
    int bits;
    unsigned first; /* a bit for each number: of lanes with its segment it is the lowest */
};

struct lanes {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct nodal *nodal;
    int rows,
        columns; /* groups of segments of x, of z: lane number r * columns + q of a channel has one each */
    int nx, nz;  /* segments of a group */
    int *x, *z;  /* [rows][nx], [columns][nz] */
    int ys;
    struct lanes_y *y;
    int dx, dz, dy;          /* components that a lane has of a channel */
    int lanes;               /* of a warp, neighbours: channels */
    int splits;              /* of what lanes make: the components of a part are a warp's */
    int warps, copiers, fit; /* of a block; blocks of a multiprocessor */
    int items, stages;       /* of a tile; of a ring of tiles */
    int registers;           /* that a thread needs */
    bool alike;              /* rows of x and of z have the same places */
    int *x_place, *z_place;  /* [segments + 1] of a row in shared memory */
    int *in_place_of;        /* [outputs of the demand]: the kernel input whose rows it replaces; -1: none */
    double work;             /* instructions of a warp per item */
    struct layout stage, block; /* a tile's rows; shared memory */
};

/* Channels of a block; threads; parts that a node's channels have, a block each. */
int lanes_channels(const struct lanes *);
int lanes_threads(const struct lanes *);
int lanes_parts(const struct lanes *);

/* Of so many components of an output or of sums that lanes have, the first of a warp's part; after the last
 * part all of them. */
int lanes_first(const struct lanes *, int split, int components);

/* Where segments begin in a row of the slot in shared memory, after the last one its elements. */
const int *lanes_places(const struct lanes *, enum slot);

/* Elements from a channel to the next, from a component to the next, in what a block has of a row. */
int lanes_channel_step(const struct operand_block *);
int lanes_component_step(const struct lanes *, const struct operand_block *);

/* Is no matrix read in both directions? Then they are made with their results in the order in which lanes
 * keep these. */
bool lanes_turns(const struct lanes *);

/* Does an output of the slot fall to several lanes, which exchange what they have? */
bool lanes_joins(const struct lanes *, enum slot output);

/* Lays out shared memory; names it. */
void lanes_layout(struct arena *, struct lanes *);
void lanes_layout_name(struct arena *, const struct schedule *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *lanes_plan(struct arena *, struct schedule *);

#endif
