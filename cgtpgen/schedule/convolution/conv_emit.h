/* conv_emit.h - the pipelined convolution: what the files that write it share. A path set's function is a
 * pipeline (conv_program.h), which pipeline/print_edges.c writes; conv_tables.c writes the tables that it
 * needs, conv_kernel.c the kernel around, conv_sums.c the kernels that finish outputs, conv_launch.c the
 * launches.
 */
#ifndef CGTPGEN_CONV_EMIT_H
#define CGTPGEN_CONV_EMIT_H

#include "pipeline/edges.h"
#include "schedule/code_print.h"
#include "schedule/convolution/conv_plan.h"
#include "schedule/path_device.h"
#include "schedule/source.h"
#include "util/out.h"

/* A path set while it is written. */
struct conv {
    struct source *w;
    struct out *o;
    const struct path_set *s;
    int number; /* of the set in its schedule */
    int label;  /* of the set in the file: what its structs and function end in */
    int alike;  /* sets whose loop it is: it and those that follow it and are like it */
};

/* Set number `number` of a schedule, whose first is labelled first->label. */
struct conv conv_of_set(const struct conv *first, int number);

/* "set_0", "set_0_of_64": its struct, and what those of its tables begin with. */
static inline const char *conv_table(const struct conv *c, int64_t mul)
{
    return arena_printf(c->w->arena, c->s->parts > 1 ? "set_%d_of_%lld" : "set_%d", c->label, (long long)mul);
}

/* The plan of the current schedule. */
static inline const struct convolution *own(const struct source *w)
{
    return w->schedule->own;
}

/* Writes the kernel, with its functions, and the kernels that finish its outputs. */
void conv_kernels(struct source *);

/* Its launches; C expressions of how many partial rows and counters they need. */
void conv_launch(struct source *, const struct schedule *);
const char *conv_partial_rows(struct arena *, const struct convolution *);
const char *conv_counters(struct arena *, const struct convolution *);

/* Queues of tiles that its warps take from. */
int conv_queues(const struct convolution *);

/* Kernels that sum what warps left for an output of x (a buffer of edges) or of y (shares of edges). */
void conv_gather(struct source *, const struct form_output *);
void conv_parts_sum(struct source *, const struct form_output *);

/* The kernel's inputs or outputs of a slot that the demand has, by number: returns their number. */
int conv_operands(const struct source *, enum slot, bool outputs, int *number);

/* Do the path sets write every element of a row of z? */
bool conv_covers_z(const struct source *);

/* An array of the slot, of which the kernel has one: all have the same layout. */
const struct operand *conv_array(const struct source *, enum slot);

/* The operand of an output of the kernel. */
static inline const struct operand *conv_output(const struct source *w, const struct form_output *f)
{
    return kernel_output(w->demand->kernel, (int)(f - w->form->output));
}

/* Where the set's irreps segments and weights are in rows, as structs. */
void conv_tables(struct conv *);

/* The set's path number i, for its function and its call. */
struct device_path conv_path(const struct conv *, int i);

/* Assignments that move the arrays of the launch `at` from where the set has its parts of them to where
 * `other` has, which is like it. */
const char *conv_move(const struct conv *, const struct conv *other);

#endif
