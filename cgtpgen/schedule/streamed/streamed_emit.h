/* streamed_emit.h - streamed weights: what the files that write them share. streamed_kernel.c writes the
 * kernel and its launch, streamed_pass.c the work of passes.
 */
#ifndef CGTPGEN_STREAMED_EMIT_H
#define CGTPGEN_STREAMED_EMIT_H

#include "schedule/path_device.h"
#include "schedule/streamed/streamed_plan.h"
#include "util/out.h"

struct streamed_writer {
    struct source *w;
    struct out *o;
    const struct streamed *g;
};

/* The functions of the paths. */
void streamed_functions(struct streamed_writer *);

/* What the team does with the item in `at`, whose results are to be in `own.out`: T, then z by columns, then
 * all else by rows. The team has arrived before each. */
void streamed_work(struct streamed_writer *);

/* Does the demand need what is made by rows; what is made by columns? */
bool streamed_by_rows(const struct demand *);
bool streamed_by_columns(const struct demand *);

/* Writes the kernels and their launches. */
void streamed_kernel(struct source *);
void streamed_launch(struct source *, const struct schedule *);

#endif
