/* streamed_plan.h - streamed weights: paths whose weights connect the channels of x with those of z, where
 * each item has weights of its own.
 *
 * Nearly all that an item moves is its row of weights. A team of warps takes whole items: an item's rows are
 * copied into shared memory, the work is done there, and results leave as whole lines, gradients of weights
 * from the place of the weights. Many teams share a multiprocessor, so that some copy while others work.
 *
 * The channels of a segment are worked on in passes, each of one warp. z is made by columns: a lane has some
 * channels of z and goes through the rows of weights, by which it multiplies T, which lanes with a channel of
 * x have made before. All else is made by rows: a lane has a channel of x and goes through its row of
 * weights, which gives P and gradients of weights at once, and gradients of x from P.
 */
#ifndef CGTPGEN_STREAMED_PLAN_H
#define CGTPGEN_STREAMED_PLAN_H

#include "schedule/layout.h"
#include "schedule/schedule.h"

/* Lanes of a warp. */
enum { STREAMED_LANES = 32 };

/* Channels of a segment that one warp works on at a time. */
struct streamed_pass {
    int segment;      /* of z (columns) or of x (rows) */
    int first, lanes; /* the first channel; lanes that have any */
    int channels;     /* of a lane, neighbours */
    int work;         /* instructions */
    int warp;         /* of the team */
};

struct streamed {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    int columns, rows; /* passes */
    struct streamed_pass *column, *row;
    int *in_place; /* [demand's outputs]: the input of weights that a gradient of weights takes the place of;
                      -1: none */
    int teams, warps,
        stages;         /* of a block, which a multiprocessor has to itself; of a team; of a team's ring */
    double bytes, work; /* per item: moved; instructions of a warp */
    struct layout stage, out;   /* an item's rows; its results and T */
    struct layout team, *block; /* shared memory */
};

/* The path's T vector number t, in shared memory. */
const char *streamed_tensor(struct arena *, const struct path *, int t);

/* Is T vector t of a path's variant read by columns? */
bool streamed_keeps(const struct variant *, int t);

/* The variant of a path that the demand has; NULL: the path takes no part. */
const struct variant *streamed_variant(const struct demand *, int path);

/* How many neighbouring channels of z one access has at most in all of a path's rows: 16 bytes, or fewer
 * where their number or alignment demands it. */
int streamed_together(const struct demand *, const struct path *);

/* Lays out shared memory for so many stages and teams. */
void streamed_layout(struct arena *, struct streamed *, int stages, int teams);

/* Names the device code of a schedule, and its structs. */
void streamed_layout_name(struct arena *, const struct schedule *);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *streamed_refuses(const struct target *, const struct demand *);
const char *streamed_refuses_path(const struct target *, const struct demand *, const struct path *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *streamed_plan(struct arena *, struct schedule *);

#endif
