/* nodal_plan.h - matrices of nodes: products in which channel u of x meets channel u of y alone, y is a row
 * of a node and weights are of all items.
 *
 * Then what y and the weights make of an item's x is, for each channel, a matrix that all items of the node
 * share: z = x M. It is made once for a node, in shared memory, and rows of items are multiplied with it on
 * tensor cores: x M and g M^T. What flows back to it is x^T g, summed over the node's items on tensor cores
 * as well, and from there once for a node to y and to the weights. So paths cost nothing by item.
 *
 * A block has 8 channels, a warp one of them, whose matrices are in its registers as left operands; items
 * come in tiles of 8 or 16. Blocks take nodes at equal distances, each as a whole.
 *
 * A cell is the part of a matrix that leads from a segment of x to one of z. Cells that are alike, such as
 * those of other parities, are worked on by the lanes of one warp at a time, 8 channels of each.
 */
#ifndef CGTPGEN_NODAL_PLAN_H
#define CGTPGEN_NODAL_PLAN_H

#include "util/layout.h"
#include "schedule/schedule.h"

enum {
    NODAL_CHANNELS = 8, /* of a block, one for each of its warps */
    NODAL_ITEMS = 8,    /* that are multiplied at a time */
    NODAL_LANES = 32,
    NODAL_THREADS = NODAL_CHANNELS * NODAL_LANES,
    NODAL_CELLS = NODAL_LANES / NODAL_CHANNELS, /* that a warp works on at a time */
    NODAL_PAD = 4,                              /* elements behind a row's part, the first of which is zero */
    NODAL_SIDE_MOST = 32 /* components of x and of z: tensor cores are to add up no more */
};

/* A cell, and the paths that make it; there may be none. */
struct nodal_cell {
    int x, z; /* segments */
    int paths, *path;
};

/* Cells that are alike, which the lanes of a warp work on. */
struct nodal_job {
    int cells, cell[NODAL_CELLS];
};

/* What is done for a node with a job's cells of each matrix: they are made, or what flows back from them by
 * some of its paths. Warps that stand abreast have the same tasks, each for matrices of its own, as
 * instructions that are used once for a node are waited for longer than they take.
 */
struct nodal_task {
    int job;
    int first, paths; /* of a cell, that flow back */
    int warp, work;   /* the first of those abreast is the first warp, or so many times their number later */
    bool *waits;      /* [paths]: other lanes add to the same segments of y later in the warp */
};

/* Kernel inputs that make a matrix: it is the sum over these. */
struct nodal_matrix {
    int terms;
    struct nodal_pair {
        int y, w; /* w -1: paths without weights only */
    } * term;
};

/* A matrix as a left operand, in registers. */
struct nodal_operand {
    int matrix;
    bool back; /* transposed */
};

/* Output number `output` of the demand += rows of kernel input `from` times an operand. */
struct nodal_product {
    int output, from, operand;
};

/* x^T g of kernel inputs, summed over a node's items. */
struct nodal_outer {
    int x, g;
};

/* What it gives an output of y or of weights: by kernel input `by` of the other. */
struct nodal_share {
    int output, outer, by;
};

struct nodal {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    enum index_kind owner; /* of y: sender or receiver */
    int mul, dx, dz, dy;   /* channels of all segments; components of a channel in all of them */
    int cells, jobs;
    struct nodal_cell *cell;
    struct nodal_job *job;
    int makings, flows, making_abreast, flow_abreast; /* tasks; warps abreast */
    struct nodal_task *making, *flow;
    int matrices, operands, products, outers, shares;
    struct nodal_matrix *matrix;
    struct nodal_operand *operand;
    struct nodal_product *product;
    struct nodal_outer *outer;
    struct nodal_share *share;
    int copies;       /* of a warp's sums of a node's row */
    int fit, stages;  /* blocks of a multiprocessor; of a ring of tiles */
    int items;        /* of a tile: NODAL_ITEMS, or twice as many */
    bool keeps_parts; /* of matrices' elements, in registers */
    int registers;    /* that a thread needs, but for those parts; and for them */
    int more_registers;
    double bytes, work;  /* per item: moved; instructions of a warp */
    struct layout stage; /* a tile's rows */
    struct layout out;   /* what they become */
    struct layout now;   /* that; or matrices, where there are no rows */
    struct layout block; /* shared memory */
};

/* Components of all segments before this one. */
int nodal_before(const struct irreps *, int segment);

/* Tiles of a matrix's rows, blocks of its columns, as an operand. */
int nodal_tiles(int components);
int nodal_blocks(int components);

/* Elements of a matrix's row. */
int nodal_pitch(const struct nodal *);

/* How matrices of neighbouring channels lie: `channel` elements apart, with a gap after each group of them;
 * elements of all. So lanes that have a channel of one of four cells each meet in no bank. */
struct nodal_spread {
    int channel, group, gap, elements;
};
struct nodal_spread nodal_spread(const struct nodal *);

/* Components of the slot's rows; elements of a row's part. */
int nodal_side(const struct nodal *, enum slot);
int nodal_row_elements(const struct nodal *, enum slot);

/* Does a share of an output come to paths without weights, and does a term of a matrix? */
bool nodal_takes(const struct nodal *, const struct path *, int w);

/* Has the demand outputs of the slot that this evaluation sums for a node: of y; of weights? */
bool nodal_has(const struct nodal *, enum slot);

/* Cells of a job before cell k whose path number i is of the same segment of y. */
int nodal_same_before(const struct nodal *, const struct nodal_job *, int i, int k);

/* Lays out shared memory. */
void nodal_layout(struct arena *, struct nodal *);

/* Names the device code of a schedule, and its structs. */
void nodal_layout_name(struct arena *, const struct schedule *);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *nodal_refuses(const struct target *, const struct demand *);
const char *nodal_refuses_path(const struct target *, const struct demand *, const struct path *);

/* How outputs leave; why they cannot, or NULL. */
const char *nodal_routes(struct arena *, struct schedule *);

/* The matrices, what is made with them, and their cells: the plan so far. */
struct nodal *nodal_begin(struct arena *, const struct schedule *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *nodal_plan(struct arena *, struct schedule *);

#endif
