/* paired_plan.h - paired items: products in which channel u of x meets channel u of y alone, and makes
 * channel u of z.
 *
 * A thread has one channel of an item: its components of x, y and z, and of their gradients, are in registers
 * for many paths, and no sum crosses threads. The rows of items come through shared memory by asynchronous
 * copies, as neighbouring threads read elements that are no neighbours, and leave through it as whole lines.
 *
 * Paths are divided into sets whose registers a thread has. A team of warps takes one item, or several where
 * channels are few; its warps are divided into groups, and each takes sets in turn. What several sets add to
 * one segment is added in their order. Sets of one kind, such as those of either parity of y, have the same
 * code, which is there once.
 *
 * Weights of all items are in shared memory by set, path and channel, and so are their gradients, by thread,
 * until the kernel ends.
 *
 * Where a thread holds all of its channel's paths at once and rows are summed at nodes, it may do without
 * shared memory (direct): it reads and writes rows where they stand, keeps its node's row and sums in
 * registers from one item of a chunk to the next, and waits for no other thread.
 */
#ifndef CGTPGEN_PAIRED_PLAN_H
#define CGTPGEN_PAIRED_PLAN_H

#include "util/layout.h"
#include "schedule/schedule.h"

enum {
    PAIRED_LANES = 32,
    PAIRED_CHANNELS_MOST = 128, /* of a set */
    PAIRED_SETS_MOST = 32,
    PAIRED_RULES = 4,   /* of dividing paths */
    PAIRED_TOGETHER = 2 /* paths of a call: at most DEMAND_TOGETHER */
};

/* Paths that a thread computes together, for a block of channels. */
struct paired_set {
    int kind;
    int mul, first, lanes; /* channels of its segments; the first one of the block, how many */
    int paths, *path;      /* numbers, in the order of computation */
    int *together;         /* [paths]: so many from this one on are one call; 0: it is in one from before */
    int parts[SLOT_COUNT],
        *part[SLOT_COUNT]; /* segments of x, y and z, in the order in which paths meet them */
    int forms;             /* of y, of a path's matrix, at most */
    int values; /* words of a thread's components of them, of all the demand's inputs and outputs */
};

/* Sets of the same code: they follow each other. */
struct paired_kind {
    int first, sets;
    int work; /* instructions of a thread */
};

struct paired {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct demand *demand;
    const struct device *device;
    int sets;
    struct paired_set *set;
    int kinds;
    struct paired_kind *kind;
    int warps, groups; /* of a team; into which these are divided */
    int items;         /* that a team works on at a time; direct: chunks are dealt out to threads instead */
    enum index_kind owner; /* of whose nodes rows are summed, items being in their order; item: of none */
    int teams, blocks;     /* of a block; a multiprocessor must hold */
    bool keeps_weights;    /* shared weights are in shared memory */
    bool direct;           /* threads read and write rows where they stand; warps are teams of their own */
    bool in_place;         /* results take the place of the rows that were read */
    double bytes, work;    /* per item: moved; instructions of a warp */
    struct layout nodes;   /* sums for a node */
    struct layout rows, out, sums; /* items' rows; results; gradients of weights by thread */
    struct layout room;            /* rows and results, where these take their place: a union */
    struct layout team, *block;    /* shared memory */
};

/* The code of the call that begins with path number `path` of the set's. */
const struct code *paired_code(const struct demand *, const struct paired_set *, int path);

/* Threads that work on a set. */
int paired_threads(const struct paired *);

/* How often a group takes a set at most. */
int paired_rounds(const struct paired *);

/* Numbers of weights, by set, path and channel, before those of the set; of all. */
int64_t paired_weights_before(const struct paired *, int set);

/* The same of sums by thread. */
int64_t paired_sums_before(const struct paired *, int set);

/* Does a thread read rows of items but once, before it computes: in a single round, and weights are of all
 * items? */
bool paired_reads_once(const struct paired *);

/* Does a team know its next items before it needs them: one at a time, in the order of nodes? */
bool paired_looks_ahead(const struct paired *);

/* Is the demand's output summed over the items of a node before it leaves? */
bool paired_owns(const struct paired *, int output);

/* Is the kernel's input of weights in shared memory, for all items? */
bool paired_keeps(const struct paired *, int input);

/* Lays out shared memory. */
void paired_layout(struct arena *, struct paired *);

/* Names the device code of a schedule, and its structs. */
void paired_layout_name(struct arena *, const struct schedule *);

/* Words that a thread holds at once: its components, and for a path the forms of y and what flows back to
 * them. */
int paired_words(const struct demand *, const struct paired_set *);

/* Divides the paths into sets, by so fine a rule (from 0 on), of so many of these words at most. Returns
 * whether the rule's sets are small enough and few enough. */
bool paired_divide(struct arena *, struct paired *, int rule, int words_most);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *paired_refuses(const struct target *, const struct demand *);
const char *paired_refuses_path(const struct target *, const struct demand *, const struct path *);

/* May a thread do without others and without shared memory: with one path set, sums at nodes, of no weights?
 */
bool paired_may_be_direct(const struct schedule *, const struct paired *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *paired_plan(struct arena *, struct schedule *);

#endif
