/* synced.h - what sync.c has found and check.c has seen to be sound, for pipelines that are alike: a tuner's
 * plans of one kernel differ mostly in numbers of which waits and barriers are no matter, and layers of one
 * model likewise.
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

/* All that a pipeline's runs depend on, of its steps as they are, but for the scopes in which accesses meet.
 */
struct shape {
    int n, *word;
};
struct shape shape_of(struct arena *, const struct pipeline *);

/* What was decided of one of the same shape, whose accesses meet in the same scopes; NULL: nothing yet. */
const struct decision *synced_find(const struct synced *, const struct shape *, const struct pipeline *);

/* Keeps what was decided of a pipeline of a shape, all of whose accesses that matter have been compared. */
void synced_add(struct synced *, const struct shape *, const struct pipeline *, const struct decision *);

/* Was one of the same shape, whose accesses meet in the same scopes, run and found to be sound? It was. */
bool synced_is_sound(const struct synced *, const struct shape *, const struct pipeline *);
void synced_add_sound(struct synced *, const struct shape *, const struct pipeline *);

#endif
