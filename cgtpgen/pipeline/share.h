/* share.h - which threads meet in a place: what sync.c and check.c both know of accesses. */
#ifndef CGTPGEN_SHARE_H
#define CGTPGEN_SHARE_H

#include "pipeline/pipeline.h"

#include <stdint.h>

/* The scope of a barrier in this pipeline: a team of one warp is a warp, a block of one team is a team. */
enum scope scope_of(const struct pipeline *, enum scope);

/* The scope in which two accesses meet: lane, where each element that both touch has the same thread. */
enum scope share_scope(const struct pipeline *, const struct access *, const struct access *);

/* Those that have been compared since fields are where they are, and how; how many. Do accesses meet so? */
struct share_pair {
    uint64_t key; /* place, index and who of both */
    enum scope scope;
};
int share_pairs(struct arena *, const struct pipeline *, struct share_pair **);
bool share_as(const struct pipeline *, int n, const struct share_pair *);

/* What was found before holds no longer: fields are elsewhere. */
void share_forget(struct pipeline *);

/* The place whose bytes it has: itself, that which it is an alias of, or the first of those that have them
 * one instead of the other. Is what one of these had still there for another? */
int share_leader(const struct pipeline *, int place);
bool share_holds(const struct pipeline *, int had, int place);

/* Threads of a scope. */
int share_threads(const struct pipeline *, enum scope);

#endif
