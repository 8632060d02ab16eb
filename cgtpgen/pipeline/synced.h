/* synced.h - what sync.c has found, for pipelines that are alike: a tuner's plans of one kernel differ mostly
 * in numbers of which waits and barriers are no matter, and layers of one model likewise.
 */
#ifndef CGTPGEN_SYNCED_H
#define CGTPGEN_SYNCED_H

#include "pipeline/pipeline.h"

/* Of each step: the barrier before it (lane: none), the wait before that (-1: none), whether it is a commit
 * that goes. why: it cannot be; NULL. */
struct decision {
    const char *why;
    enum scope *barrier;
    bool *idle;
    int *wait;
};

/* An empty memory, in an arena of its own: as long as the arena that is given. */
struct synced *synced_begin(struct arena *);

/* All that sync.c reads of a pipeline whose groups of copies are closed, but for the scopes in which accesses
 * meet. */
struct shape {
    int n, capacity, *word;
};
struct shape shape_of(struct arena *, const struct pipeline *);

/* What was decided of one of the same shape, whose accesses meet in the same scopes; NULL: nothing yet. */
const struct decision *synced_find(const struct synced *, const struct shape *, const struct pipeline *);

/* Keeps what was decided of a pipeline, all of whose accesses that matter have been compared. */
void synced_add(struct synced *, const struct shape *, const struct pipeline *, const struct decision *);

#endif
