/* synced.h - what sync.c has found and check.c has seen to be sound, for pipelines that are alike: a tuner's
 * plans of one kernel differ mostly in numbers of which waits and barriers are no matter, and layers of one
 * model likewise.
 */
#ifndef CGTPGEN_SYNCED_H
#define CGTPGEN_SYNCED_H

#include "pipeline/pipeline.h"
#include "util/answers.h"

/* Of each step: the barrier before it (lane: none), the wait before that, until so many groups are under way
 * (-1: none), whether it is a commit before which, and the next one, nobody waits. why: it cannot be; NULL.
 */
struct decision {
    const char *why;
    enum scope *barrier;
    bool *idle;
    int *wait;
};

/* Asks by all that a pipeline's runs depend on, of its steps as they are, but for the scopes in which
 * accesses meet: what was decided, or whether they are sound. */
void synced_ask(struct answers *, const struct pipeline *, bool sound);

/* What was decided of one that is so alike and whose accesses meet in the same scopes, or that it was run and
 * found to be sound; NULL: nothing yet, or nothing is kept. */
const struct decision *synced_find(const struct pipeline *, bool sound);

/* Keeps it of what was asked for last, where anything is kept: all of whose accesses that matter have been
 * compared. The arrays stay. */
void synced_add(const struct pipeline *, struct decision);

#endif
