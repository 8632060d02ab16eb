/* trace.h - what a pipeline does where its loops turn so many times: loops turned, fill and drain done,
 * versions counted. sync.c and check.c look at such runs; no other file knows what skew and fill mean.
 */
#ifndef CGTPGEN_TRACE_H
#define CGTPGEN_TRACE_H

#include "pipeline/pipeline.h"

/* Versions of a place that an access touches: n of them, of neighbouring ids from `id` on; n = 0: none, since
 * they would be beyond the loop's bounds. Ids ascend over the launch. */
struct use {
    int id, stage, n; /* stage: of the first; of the others those after it, in turn */
};

/* A step that is done once. */
struct event {
    int step;
    bool skewed;   /* within a fill or drain: a barrier cannot stand before it */
    int turn;      /* a number that changes with each turn of each loop that is not counted */
    int use;       /* the first of its uses, one for each access of the step */
    int closed;    /* groups of copies, before it */
    uint64_t hash; /* of the steps before it: a polynomial, so that those of a part follow */
};
#define TRACE_BASE 0x9e3779b97f4a7c15u

struct trace {
    int events;
    struct event *event; /* and one that ends them */
    int uses;
    struct use *use;
};

/* How many runs there are to look at: so many turns of each loop, in all combinations, that whatever comes
 * after has happened before. */
int trace_count(const struct pipeline *);

/* An earlier run that begins as run i does; -1: there is none. */
int trace_like(const struct pipeline *, int i);

/* Run number i. */
void trace_run(struct arena *, const struct pipeline *, int i, struct trace *);

/* The number of the step that begins a loop; that ends a bracket. */
int trace_begin(const struct pipeline *, int loop);
int trace_end(const struct pipeline *, int step);

/* What is around a step: brackets; loops among them; those of unknown turns among these; a block that some
 * threads go through. */
struct around {
    int brackets, looped, clocks;
    bool some;
};
struct around *trace_around(struct arena *, const struct pipeline *); /* [steps] */

#endif
