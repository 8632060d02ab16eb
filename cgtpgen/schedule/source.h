/* source.h - what evaluations write with: the file of a kernel while it is written, and pieces of source that
 * stand in the files of every target.
 */
#ifndef CGTPGEN_SOURCE_H
#define CGTPGEN_SOURCE_H

#include "schedule/schedule.h"

/* The file of one kernel while it is written. */
struct source {
    struct arena *arena;
    struct text *out;
    const struct plan *plan;
    const struct problem *problem;
    const struct spec *spec;
    const struct kernel_form *form;
    const struct kernel_schedule *kernel;
    const struct schedule *schedule; /* the current one, and what it computes */
    const struct demand *demand;
    struct constants *constants;         /* that the code of the file uses (code_print.h) */
    struct mutation *mutation;           /* of struct schedules */
    struct product_functions *functions; /* of the current schedule, where it has some (path.h) */
    bool graph;                          /* takes a graph, not a number of items */
    bool orders;                         /* its launcher puts edges in order by receiver; */
    bool lists_senders;                  /* finds the edges of each sender */
    int told, told_capacity;
    const char **tell; /* what source_once was asked for */
};

/* Why no wait of a kernel can block, for the comment above one whose threads wait within their block alone.
 */
#define SOURCE_WAITS                                                                                         \
    "No wait lasts for ever: threads wait for their own copies, and for threads of their block, which come " \
    "to the same barriers; blocks do not wait for one another."

/* Writes from now on for this schedule. */
void source_set(struct source *, const struct schedule *);

/* Is this the first time in the file that this is asked for? */
bool source_once(struct source *, const char *what);

/* The type of arithmetic: float or double. */
const char *source_real(const struct plan *);

/* The type of the caller's arrays of a slot. */
const char *source_stored(const struct plan *, enum slot);

/* The type of the rows that schedules see, as a kernel's file calls it. */
const char *source_held(const struct plan *, const struct operand *);

/* Number of rows of arrays with this index, as a C expression in a launcher. */
const char *source_rows(const struct plan *, enum index_kind);

/* "3: 128x1o * 1x2e -> 128x3o, uvu, a = sqrt(7)" */
const char *source_path_line(struct arena *, const struct plan *, const struct path *);

/* Appends an irreps segment to a table of them: components, offset; elements from one component to the next,
 * where those of a channel are no neighbours. */
void source_segment(struct text *, const struct operand_block *, int64_t offset);

/* The row of edge or item e in arrays of items, as a C expression in device code. */
const char *source_item(const struct source *);

/* The number of items, in a kernel, as a C expression: of the graph where the product takes one, whether or
 * not the kernel looks at its nodes. */
const char *source_items(const struct source *);

/* The operand of an input of the kernel. */
const struct operand *source_input(const struct source *, int input);

/* Elements of a row, as text_printf takes them. */
long long source_dim(const struct operand *);

/* Elements of n rows in memory, with the space between them, as a C expression, where the launch is `launch`
 * (l., l->, or nothing: the caller's arguments). */
const char *source_rows_apart(struct arena *, const struct operand *, int n, const char *launch);
/* The same of one row, in device code. */
const char *source_stride(const struct source *, const struct operand *);

/* A step of a launcher that returns a status: `    if ((status = call)) return status;`. */
void source_step(struct source *, const char *call);

#endif
