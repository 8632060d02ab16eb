/* memory.h - bytes that a kernel holds and moves: its workspace as a formula, by area, and its traffic. */
#ifndef CGTPGEN_MEMORY_H
#define CGTPGEN_MEMORY_H

#include "schedule/source.h"

/* The areas of the workspace of a kernel whose file is written: copies of arrays, then the schedules'. */
struct areas memory_areas(struct source *);

/* Is there a copy of the kernel's array: does a schedule see one? */
bool memory_has_copy(const struct source *, int operand);

/* What bytes are multiplied by. */
enum memory_by {
    BY_ITEM,
    BY_SENDER,
    BY_RECEIVER,
    BY_WORKER, /* a multiprocessor of the GPU; a thread of the host */
    BY_CALL,   /* nothing: a constant */
    BY_COUNT
};

struct memory_area {
    const char *name;
    double bytes[BY_COUNT];
    const char *unknown; /* C expression of its rows of bytes[BY_CALL] bytes, which nobody knows; or NULL */
    const char *because; /* the option of the spec that it is due to; NULL: none */
    bool by_reduction;   /* that is the reduction: with atomic additions it is not there */
};

struct memory {
    int areas;
    struct memory_area *area;
    double all[BY_COUNT], by_reduction[BY_COUNT]; /* sums of areas */
    double least[BY_COUNT]; /* where rows of edges have room in it in turns, of graphs with many edges */
};

/* Each area takes the next multiple of 128 bytes (of 64 on the host). Where the number of partial rows
 * depends on how long a graph is, the formula is that of graphs with many edges, at most. */
const struct memory *memory_build(struct arena *, const struct schedules *); /* [kernels] */

/* What the kernel reads and writes per item: rows of nodes that are read for it, rows that several path sets
 * or schedules read, and rows of the workspace among them. */
double memory_moved(struct arena *, const struct schedules *, const struct kernel_schedule *);

/* Workspace and arguments per item of a graph with `degree` items per node. */
double memory_per_item(const double bytes[BY_COUNT], double degree);
double memory_arguments_per_item(const struct kernel_plan *, double degree);

/* "edge", "multiprocessor": one of what bytes are multiplied by; BY_CALL: "call". */
const char *memory_word(const struct schedules *, enum memory_by);

/* "4608 an edge + 12 + 4 a multiprocessor", "none". */
const char *memory_formula(struct arena *, const struct schedules *, const double bytes[BY_COUNT]);

/* A table of all areas. */
void memory_print(struct text *, const struct schedules *, const struct memory *);
/* "workspace": {..} */
void memory_json(struct text *, const struct schedules *, const struct memory *);

#endif
