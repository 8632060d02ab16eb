/* staged_plan.h - staged items: each item's rows are brought into shared memory, the work is done there, and
 * results leave as whole lines. For whatever the paths are.
 *
 * A team of warps takes whole items, and many teams share a multiprocessor, so that some copy while others
 * work. What is summed over all items stays in a team's shared memory until the end.
 *
 * Where weights connect the channels of x with those of z (uvw) and y has one channel, the channels of a
 * segment are worked on in passes, each of one warp. z is made by columns: a lane has some channels of z and
 * goes through the rows of weights, by which it multiplies T, which lanes with a channel of x have made
 * before. All else is made by rows: a lane has a channel of x and goes through its row of weights, which
 * gives P and gradients of weights at once, and gradients of x from P. Other paths are done one after the
 * other by the first warp (item_device.h).
 */
#ifndef CGTPGEN_STAGED_PLAN_H
#define CGTPGEN_STAGED_PLAN_H

#include "schedule/layout.h"
#include "schedule/schedule.h"

/* Lanes of a warp. */
enum { STAGED_LANES = 32 };

/* Channels of a segment that one warp works on at a time. */
struct staged_pass {
    int segment;      /* of z (columns) or of x (rows) */
    int first, lanes; /* the first channel; lanes that have any */
    int channels;     /* of a lane, neighbours */
    int work;         /* instructions */
    int warp;         /* of the team */
};

/* Paths that are computed by passes, by a segment of theirs: each segment's first one, each path's next one,
 * in ascending order; -1: none. */
struct staged_chain {
    int *first, *next;
};

struct staged {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    bool *passes, *others; /* [paths]: computed by passes; one after the other */
    bool any_others;
    struct staged_chain by_x, by_z; /* the former */
    int64_t scratch;                /* elements that the latter need (item_device.h) */
    int columns, rows;              /* passes */
    struct staged_pass *column, *row;
    int *in_place; /* [demand's outputs]: the input of weights that a gradient of weights takes the place of;
                      -1: none */
    int teams, warps,
        stages;         /* of a block, which a multiprocessor has to itself; of a team; of a team's ring */
    double bytes, work; /* per item: moved; instructions of a warp */
    struct layout stage, out;   /* an item's rows; its results, T, scratch */
    struct layout sums;         /* over all items of the team */
    struct layout team, *block; /* shared memory */
};

/* The path's T vector number t, in shared memory. */
const char *staged_tensor(struct arena *, const struct path *, int t);

/* Is T vector t of a path's variant read by columns? */
bool staged_keeps(const struct variant *, int t);

/* The variant of a path that is computed by passes; NULL: it is not. */
const struct variant *staged_variant(const struct staged *, int path);

/* How many neighbouring channels of z one access has at most in all of a path's rows: 16 bytes, or fewer
 * where their number or alignment demands it. */
int staged_together(const struct demand *, const struct path *);

/* Lays out shared memory for so many stages and teams. */
void staged_layout(struct arena *, struct staged *, int stages, int teams);

/* Names the device code of a schedule, and its structs. */
void staged_layout_name(struct arena *, const struct schedule *);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *staged_refuses(const struct target *, const struct demand *);
const char *staged_refuses_path(const struct target *, const struct demand *, const struct path *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *staged_plan(struct arena *, struct schedule *);

#endif
