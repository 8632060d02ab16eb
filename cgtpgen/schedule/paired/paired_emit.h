/* paired_emit.h - paired items: what the files that write them share. paired_kernel.c writes the kernel and
 * its launch, paired_code.c the work of path sets.
 */
#ifndef CGTPGEN_PAIRED_EMIT_H
#define CGTPGEN_PAIRED_EMIT_H

#include "schedule/paired/paired_plan.h"
#include "schedule/path_device.h"
#include "util/out.h"

struct paired_writer {
    struct source *w;
    struct out *o;
    const struct paired *g;
};

/* Blocks of a launch at most, as a C expression. */
const char *paired_blocks(struct arena *, const struct paired *);

/* Partial rows of nodes, as a C expression. */
const char *paired_partial(struct arena *, const struct paired *);

/* The fields of a team's memory that hold rows, results. */
const char *paired_rows(const struct paired *);
const char *paired_out(const struct paired *);

/* Starts the copies of the team's next items. */
void paired_load_next(struct paired_writer *);

/* The functions of the paths. */
void paired_functions(struct paired_writer *);

/* What a group does with its set, number `set` of those of a kind: rows that have come become results. All of
 * the team call. */
void paired_set_work(struct paired_writer *, int kind);

/* What a thread does with item `e`, of run `run`, in rows where they stand; what it keeps from one to the
 * next. */
void paired_direct_kept(struct paired_writer *);
void paired_direct_work(struct paired_writer *);

/* Writes the kernels and their launches. */
void paired_kernel(struct source *);
void paired_launch(struct source *, const struct schedule *);

#endif
