/* staged_plan.h - staged items: each item's rows are brought into shared memory, the work is done there, and
 * results leave as whole lines. For whatever the paths are.
 *
 * A team of warps takes whole items, and many teams share a multiprocessor, so that some copy while others
 * work. What is summed over all items stays in a team's shared memory until the end. Of a graph, items may be
 * in the order of the nodes whose rows are summed: then these stay there from one item of a node to the next.
 *
 * Where weights connect the channels of x with those of z (uvw) and y has few channels, the channels of a
 * segment are worked on in passes, each of one warp. z is made by columns: a lane has some channels of z and
 * goes through the rows of weights, by which it multiplies T, which lanes with a channel of x have made
 * before. All else is made by rows: a lane has a channel of x and goes through its rows of weights, one for
 * each channel of y, which gives P and gradients of weights at once, and gradients of x from P. Where a
 * channel of x is tied to one of z for each channel of y or all of them (uvu, uvuv), a lane does all that
 * there is for its channel of x, by rows. Other paths are done one after the other (item_device.h): by the
 * team's warps together where each can have rows of results of its own, or by the first one.
 *
 * Weights that connect channels are most of what is moved. Where few items fit, an item's rows of them come
 * in parts, one after the other through a ring of stages, so that the next parts are under way while one is
 * worked on: with all else of the item in shared memory, z and gradients of x are summed there over the
 * parts, and gradients of a part's weights leave in its place. A part is a range of the row of weights, cut
 * between paths or between channels of x.
 */
#ifndef CGTPGEN_STAGED_PLAN_H
#define CGTPGEN_STAGED_PLAN_H

#include "util/layout.h"
#include "schedule/schedule.h"

/* Lanes of a warp. */
enum { STAGED_LANES = 32 };

/* How far apart alike passes may be in the order of passes. */
enum { STAGED_NEAR = 16 };

/* The two kinds of passes. */
enum staged_by { BY_COLUMNS, BY_ROWS, BY_COUNT };

/* Channels of a segment that one warp works on at a time. */
struct staged_pass {
    int segment;      /* of z (columns) or of x (rows) */
    int first, lanes; /* the first channel; lanes that have any */
    int channels;     /* of a lane, neighbours */
    int piece;        /* the first of the part's that leads to the segment, or reads it */
    int work;         /* instructions */
    int warp;         /* of the team */
    bool tied;        /* to others that add to channels of z that this one adds to: all are the same warp's */
};

/* The weights of a path for channels `from` to `to` of x. */
struct staged_piece {
    int path, from, to;
    int next[BY_COUNT]; /* the next of its part with the same segment of z (columns), of x (rows); -1: none */
};

/* What is in shared memory at a time of the rows of weights, and the passes that use it. */
struct staged_part {
    int64_t base; /* the element of the row that stands first in the stage: a multiple of 16 bytes */
    int from, to; /* elements from there on that are the part's */
    int pieces;
    struct staged_piece *piece;
    int passes[BY_COUNT];
    struct staged_pass *pass[BY_COUNT];
};

struct staged {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    bool *passes, *others;        /* [paths]: computed by passes; one after the other; */
    bool *tables;                 /* the latter by tables (path_table.h); NULL: none */
    const struct matrix **matrix; /* [paths] */
    struct path_code *code;       /* [paths]: of those with passes */
    struct surd *factor; /* [paths]: that weights and their gradients are multiplied with, as the matrix has
                            it not; its sign is 0: there is none */
    struct operations operations; /* per item */
    bool *added, adds; /* [paths]: z is added to what is there, by rows; is there a path of that kind whose z
                          nothing has made before? */
    bool any_others, divisible; /* are there such paths; may a team's warps divide them? */
    bool *apart;                /* [demand's outputs]: do warps that divide them add to different elements? */
    enum index_kind owner; /* of whose nodes rows are summed, items being in their order; item: of none */
    bool *owned;           /* [demand's outputs]: are they? */
    int64_t sums_from, sums_to; /* elements of y whose gradients passes sum */
    bool holds;                 /* sums of z at nodes stay in the registers of the only pass */
    int64_t scratch;            /* elements that the latter need (item_device.h) */
    struct staged_part whole;   /* all weights at once: its passes by rows make T */
    int parts;
    struct staged_part *part;
    int *in_place; /* [demand's outputs]: the input of weights that a gradient of weights takes the place of;
                      -1: none */
    bool shares_code;   /* passes of one segment have one code, as code is long */
    int teams, warps;   /* of a block, which a multiprocessor has to itself; of a team */
    int stages, items;  /* of a team's ring; whose rows are under way, where weights come in parts */
    double bytes, work; /* per item: moved; instructions of a warp */
    struct layout rows,
        stage;          /* what an item reads; where that comes in parts, all but weights, and a part */
    struct layout out;  /* its results, T, scratch */
    struct layout sums; /* over all items of the team */
    bool wide;          /* has a lane two channels in passes by rows where it may? */
    bool keeps;         /* are weights that all items share in shared memory? */
    struct layout common;
    struct layout team, *block; /* shared memory */
};

/* Rows of weights of a path for each channel of x: one for each of y; how many weights these are. */
int staged_rows(const struct path *);
int staged_row_length(const struct path *);

/* Do the path's weights connect channels of x with those of z? */
bool staged_connects(const struct path *);

/* The segment of z or x that passes of a path work on. */
int staged_segment(const struct path *, enum staged_by);

/* The path's T vector number t, in shared memory. */
const char *staged_tensor(struct arena *, const struct path *, int t);

/* Is T vector t of a path's variant read by columns? */
bool staged_keeps(const struct variant *, int t);

/* The variant of a path that is computed by passes; NULL: it is not. */
const struct variant *staged_variant(const struct staged *, int path);

/* How many neighbouring channels of z one access has at most in all of a path's rows: 16 bytes, or fewer
 * where their number or alignment demands it. */
int staged_together(const struct demand *, const struct path *);

/* Do a team's warps divide paths without passes? Has each of them a row of its own of output number o, which
 * are added up at the end? */
bool staged_divides(const struct staged *);
bool staged_by_warps(const struct staged *, int o);

/* Does a path take channels of y one by one, each in an array of the lane? */
bool staged_takes_ys(const struct path *);

/* Are they weights that all items share? */
bool staged_is_common(const struct operand *);

/* Do an item's weights come in parts? */
bool staged_in_parts(const struct staged *);

/* Does a lane hold its channel's sums of the demand's output, of slot z, in registers as long as the node
 * stays? */
bool staged_holds(const struct staged *, int output);

/* The length of chunks of items and the number of partial rows, as C expressions. */
const char *staged_chunk(struct arena *, const struct staged *);
const char *staged_partial(struct arena *, const struct staged *);

/* Chooses the codes of paths that are computed by passes. */
void staged_codes(struct arena *, struct staged *);

/* Instructions of a path that a warp does by itself. */
double staged_other_work(const struct staged *, int path);

/* All weights are one part. */
void staged_whole(struct arena *, struct staged *);

/* Cuts them into at most so many parts, as short as that allows. false: into none. */
bool staged_cut(struct arena *, struct staged *, int parts);

/* Elements of weights in a stage. */
int staged_part_length(const struct staged *);

/* Channels of x that a lane may have in the path's pass by rows: two neighbours share what is made of y, and
 * are loaded and stored together, where they stand at multiples of 8 bytes. */
int staged_row_channels(const struct staged *, const struct path *);

/* Makes the passes of all parts, and deals them out to the team's warps. */
void staged_passes(struct arena *, struct staged *);

/* Are two passes by rows, each the first one of its segment, alike: have they the same code but for where
 * their channels are? path: of each path of the first that of the second; or NULL. */
bool staged_alike(const struct staged *, const struct staged_part *, const struct staged_pass *first,
                  const struct staged_pass *second, int *path);

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
