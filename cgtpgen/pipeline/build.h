/* build.h - the words in which planners write pipelines. */
#ifndef CGTPGEN_BUILD_H
#define CGTPGEN_BUILD_H

#include "pipeline/pipeline.h"

/* A pipeline with the loop that stands for its launch. */
struct pipeline *build_pipeline(struct arena *, struct worker, int items);

/* Each returns the number of what it adds. A place has one version a turn, one at once, and numbers that are
 * computed in, where nothing else is said. */
int build_loop(struct pipeline *, struct loop);
int build_group(struct pipeline *, struct group);
int build_place(struct pipeline *, struct place);
void build_field(struct pipeline *, int place, struct field);
void build_behind(struct pipeline *, int place, struct field); /* the fields that it has */

/* The channel block's part of an operand's block: a run, or one for each component where these are apart. */
struct field build_slice(const struct pipeline *, const struct operand *, int number, int spread);

/* A place of the launch: a row that all units share, which the block's threads bring; or a team's sums for
 * one. */
int build_shared(struct pipeline *, const struct operand *);

/* All of these come, sums as zeros; or sums leave (ends). */
void build_launch(struct pipeline *, bool ends);

/* Paths that it computes. */
void build_set(struct pipeline *, int paths, const int *path);

/* ---- steps, each behind those before it ---- */

/* One that touches no place, for its planner to say the rest. */
struct step *build_step(struct pipeline *, enum step_kind);

void build_begin(struct pipeline *, int loop);
struct step *build_block(struct pipeline *, int index); /* of that version of a turn; -1: of none */
void build_end(struct pipeline *);                      /* of the innermost bracket that is open */

/* Version `index` of a turn (-1: all), `skew` turns ahead. */
void build_copy(struct pipeline *, int place, int index, int skew);
void build_store(struct pipeline *, int place, int index, int skew);
void build_zero(struct pipeline *, int place);

void build_hand_over(struct pipeline *, int arguments, const struct argument *);

/* Of the step added last: it is done every so many turns; reads a place's versions of the turn, too; its
 * call. */
void build_every(struct pipeline *, int turns);
void build_reads(struct pipeline *, int place);
struct call *build_last(struct pipeline *);

int build_local(struct pipeline *, struct local);

/* A function of the runtime (see call.c), which says what becomes of its arguments; of `numbers` those of its
 * template up to a 0. */
void build_call(struct pipeline *, const char *function, const int *numbers, int arguments,
                const struct argument *);

/* The code of a path: what it touches stands in the arguments. */
void build_code(struct pipeline *, int path, const struct code *, int arguments, const struct argument *);

struct argument build_at(int place, int index, struct address); /* in a place */
struct argument build_in(int local, int64_t offset);            /* in a local */
struct argument build_named(const struct pipeline *,
                            const char *); /* the local declared last under that name */
struct argument build_number(int);
struct argument build_variable(const char *name, int64_t by);
struct argument build_from(struct argument, int64_t offset); /* one so many elements further */

/* One that is passed through a conversion, after whose numbers a type stands, or NULL. */
struct argument build_through(struct pipeline *, const char *function, const int *numbers, const char *type,
                              int arguments, const struct argument *);

/* The number of a place's field of that name; elements of a lane's sums over lanes for n values
 * (cgtp_sums_length). */
int build_field_named(const struct pipeline *, int place, const char *name);
int build_sums_length(int n, int lanes);

void build_term(struct address *, const char *variable, int64_t by);

#endif
