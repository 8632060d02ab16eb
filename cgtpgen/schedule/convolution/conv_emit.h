/* conv_emit.h - the pipelined convolution: what the files that write it share. A path set's function is a
 * pipeline, which pipeline/print_edges.c writes; conv_tables.c writes the tables that it needs, conv_kernel.c
 * the kernel around, conv_sums.c the kernels that finish outputs, conv_launch.c the launches. They know a
 * schedule's pipelines and nothing of how these were chosen.
 */
#ifndef CGTPGEN_CONV_EMIT_H
#define CGTPGEN_CONV_EMIT_H

#include "pipeline/edges.h"
#include "schedule/code_print.h"
#include "schedule/path_device.h"
#include "schedule/source.h"
#include "util/out.h"

/* Groups of places: a ring of what edges bring, what leaves, rows of receivers, sums of a warp group. */
enum { RING, STAGING, KEPT, SUMS, GROUPS };

/* What a schedule's pipelines are together. */
struct conv_kernel {
    const char *name; /* kernel and schedule: backward_convolution; what its device code is called */
    int sets;         /* of all pipelines */
    struct pipeline *first;
    int warps, blocks;                    /* of a block; a multiprocessor must hold */
    bool reduces, one_reduce;             /* do groups of warps sum; groups of one size? */
    bool edge_buffer, part_buffer, whole; /* see the routes; tiles are whole receivers */
    int parts, edge_row;                  /* of an item's sums; elements of a row of the buffer of edges */
};
struct conv_kernel conv_kernel_of(struct arena *, const struct schedule *);

/* A path set while it is written. */
struct conv {
    struct source *w;
    struct out *o;
    struct conv_kernel g;
    struct pipeline *p; /* whose loop computes it, as one of its sets */
    const struct path_list *s;
    int number; /* of the set in its schedule */
    int label;  /* of the set in the file: what its structs and function end in */
    int alike;  /* sets whose loop it is: it and those that follow it and are like it */
    int blocks; /* warps that share its channels */
};

/* The first set; one that is so many sets further. */
struct conv conv_first(struct source *, struct out *, int label);
struct conv conv_after(const struct conv *, int sets);

/* Shared memory of a block, and of a warp and of warp groups whichever path set they have. */
struct conv_memory {
    struct layout warp, reduce, block;
};
void conv_memory(struct arena *, struct pipeline *first, struct conv_memory *);

/* Bytes of a warp's sums of a receiver in a partial row: the most of all sets. */
int conv_partial_bytes(const struct schedule *, const struct pipeline *);

/* Where gradients of x leave from, sums for outputs of slot y go; NULL: nowhere. */
const struct place *conv_edge_place(const struct pipeline *);
const struct place *conv_sums_place(const struct pipeline *);

/* Writes the kernel, with its functions, and the kernels that finish its outputs. */
void conv_kernels(struct source *, int label);

/* Its launches; C expressions of how many partial rows and counters they need. */
void conv_launch(struct source *, const struct schedule *);
const char *conv_partial_rows(struct arena *, const struct conv_kernel *);
const char *conv_counters(struct arena *, const struct conv_kernel *);

/* Queues of tiles that its warps take from. */
int conv_queues(const struct conv_kernel *);

/* Kernels that sum what warps left for an output of x (a buffer of edges) or of y (shares of edges). */
void conv_gather(struct conv *first, const struct form_output *);
void conv_parts_sum(struct conv *first, const struct form_output *);

/* The operand of an output of the kernel. */
static inline const struct operand *conv_output(const struct source *w, const struct form_output *f)
{
    return kernel_output(w->demand->kernel, (int)(f - w->form->output));
}

/* Where the set's irreps segments and weights are in rows, as structs. */
void conv_tables(struct conv *);

/* What is said above a call of a path. */
const char *conv_words(const struct conv *, const struct call *);

/* Assignments that move the arrays of the launch `at` from where the set has its parts of them to where
 * `other` has, which is like it. */
const char *conv_move(const struct conv *, const struct conv *other);

#endif
