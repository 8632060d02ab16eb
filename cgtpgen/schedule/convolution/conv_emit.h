/* conv_emit.h - the pipelined convolution: what the files that write it share. conv_load.c writes how
 * an edge's rows come, conv_edge.c what happens per edge, conv_kernel.c what happens per receiver and tile,
 * and the kernel, conv_sums.c the kernels that finish outputs, conv_launch.c the launches.
 */
#ifndef CGTPGEN_CONV_EMIT_H
#define CGTPGEN_CONV_EMIT_H

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

/* The part of the set that has so many channels, or number `part`: what its tables end in, "" where it is
 * all; "64" .. Those of segments of x, paths, segments of z. */
static inline const char *conv_suffix(const struct conv *c, int64_t mul)
{
    return c->s->parts > 1 ? arena_printf(c->w->arena, "%lld", (long long)mul) : "";
}
/* "set_0", "set_0_of_64": its struct, and what those of its tables begin with. */
static inline const char *conv_table(const struct conv *c, int64_t mul)
{
    return arena_printf(c->w->arena, c->s->parts > 1 ? "set_%d_of_%lld" : "set_%d", c->label, (long long)mul);
}

/* Has the set's warp several edges side by side? */
static inline bool conv_narrow(const struct conv *c)
{
    return c->s->lanes < LANES;
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

/* Components of a segment of x. */
int conv_components_x(const struct source *, int x);

/* The kernel's inputs or outputs of a slot that the demand has, by number: returns their number. */
int conv_operands(const struct source *, enum slot, bool outputs, int *number);

/* Do the path sets write every element of a row of z? */
bool conv_covers_z(const struct source *);
/* Does a stage hold what depends on the edge's sender? */
bool conv_needs_senders(const struct source *);

/* An array of the slot, of which the kernel has one: all have the same layout. */
const struct operand *conv_array(const struct source *, enum slot);

/* The operand of an output of the kernel. */
static inline const struct operand *conv_output(const struct source *w, const struct form_output *f)
{
    return kernel_output(w->demand->kernel, (int)(f - w->form->output));
}

const char *conv_name(const struct source *, bool output, int number);

/* Where the set's irreps segments and weights are in rows, as structs. */
void conv_tables(struct conv *);

/* Whose segments a gradient of x has where it is written: "x", or "edge" where they are elsewhere in the rows
 * of the buffer of edges. */
const char *conv_x_out(const struct conv *);

/* Where the rows of a tile's edges begin, if registers hold it as long as the tile lasts. */
void conv_rows(struct conv *);

/* The function `load`, which starts the copies of an edge; `reduce`, which sums outputs of slot y over the
 * warp group. */
void conv_load(struct conv *);
void conv_reduce(struct conv *);

/* Where gradients of weights go, as conv_rows says of other rows; has the set weights, whose gradients it
 * makes? */
void conv_rows_out(struct conv *);
bool conv_has_weights(const struct conv *);

/* The input of weights in whose slices of a stage their gradients wait until all lanes have left theirs, as
 * otherwise each lane would write several numbers apart; NULL: they leave at once. */
const struct operand *conv_waits_in(const struct conv *);

/* The first field of an input of weights in a stage, of paths of so many channels; NULL: none. */
const char *conv_first_weights(const struct conv *, int input, int mul);

/* Has x a segment of so many channels in the set? Elements of a lane in segments of z before those of so
 * many. */
bool conv_x_has(const struct conv *, int mul);
int conv_z_begin(const struct conv *, int mul);

/* Do matrices of paths of so many channels leave out factors of z? */
bool conv_has_factors(const struct conv *, int mul);

/* ", to.x0, to.x1": the fields of the segments of x; ", 8": lanes of an edge, where they are not all of the
 * warp's. */
const char *conv_x_fields(const struct conv *, const char *from, const char *name, int mul);
const char *conv_of_lanes(const struct conv *);

/* The function `put_x`, which brings gradients of x of the edge before to their rows, if they leave later. */
void conv_put_x(struct conv *);

/* The numbers of a kernel input in the current edge's stage, as a C expression: a path's weights, a segment
 * of x, or (number 0) y. */
const char *conv_in_stage(const struct conv *, int input, int number);

/* The set's path number i, for its function and its call. */
struct device_path conv_path(const struct conv *, int i);

/* Assignments that move the arrays of the launch `at` from where the set has its parts of them to where
 * `other` has, which is like it. */
const char *conv_move(const struct conv *, const struct conv *other);

/* The loop over the edges of a receiver; what is left to do after the last edge of a tile. */
void conv_edges(struct conv *);
void conv_end_edges(struct conv *);

#endif
