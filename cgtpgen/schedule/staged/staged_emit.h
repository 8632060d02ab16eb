/* staged_emit.h - staged items: what the files that write them share. staged_kernel.c writes the
 * kernel and its launch, staged_pass.c the work of passes.
 */
#ifndef CGTPGEN_STAGED_EMIT_H
#define CGTPGEN_STAGED_EMIT_H

#include "schedule/path_device.h"
#include "schedule/staged/staged_plan.h"
#include "util/out.h"

/* Passes by rows of two segments of x that differ only in where their channels are, while they are written:
 * of the second one from pass number `first` on. */
struct staged_alike {
    int first;       /* 0: of one segment */
    int segment;     /* the second one */
    const int *path; /* [paths]: of each path of the first one that of the second */
};

struct staged_writer {
    struct source *w;
    struct out *o;
    const struct staged *g;
    struct staged_alike alike;
};

/* The item's row of a kernel's input; where its row of output number o of the demand is made. Of weights in
 * parts the part's elements. */
const char *staged_input(const struct staged_writer *, int input);
const char *staged_output(const struct staged_writer *, int o);

/* The same of all warps, where each has a row of its own. */
const char *staged_rows_of(const struct staged_writer *, int o);

/* Does output number o of the demand come in parts? */
bool staged_output_in_parts(const struct staged_writer *, int o);

/* The functions of the paths. */
void staged_functions(struct staged_writer *);

/* What the team does with an item in `at`, and a part of its weights in `part` where there are several: T,
 * with the first, then z by columns, then all else by rows. Results are to be in `own.out`. The team has
 * arrived before each. */
void staged_work(struct staged_writer *, const struct staged_part *);

/* Writes the kernels and their launches. */
void staged_kernel(struct source *);
void staged_launch(struct source *, const struct schedule *);

#endif
