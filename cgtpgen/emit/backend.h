/* backend.h - the kinds of machine that code is generated for: one row each.
 *
 * A row names the evaluations that can compute a kernel there, and writes a kernel's source. backend.c lists
 * the rows; each is in the file of its target.
 */
#ifndef CGTPGEN_BACKEND_H
#define CGTPGEN_BACKEND_H

#include "schedule/schedule.h"

/* What is counted in a source, with all that is inlined and unrolled in it (effort.c). */
enum effort_kind {
    EFFORT_ARGUMENT, /* commas in functions: of calls, of what is declared */
    EFFORT_PRODUCT,
    EFFORT_LOOP,   /* of a GPU's kernel, over tiles and items */
    EFFORT_CALL,   /* of the runtime, and of functions that are not inlined */
    EFFORT_DENSE,  /* sums with blocks of weights on a CPU, up to as many as are compiled for their sizes */
    EFFORT_UNEVEN, /* of these, those whose columns are no whole vectors */
    EFFORT_DOT,    /* of these, dots that are so short that compilers write them out */
    EFFORT_BLOCK,  /* the same on a GPU, of weights that each item has */
    EFFORT_ROW,    /* on a CPU, rows of segments that change their order */
    EFFORT_SUM,    /* on a CPU, over channels: the first few cost most */
    /* Of the whole: */
    EFFORT_LONG_ARGUMENT, /* arguments, of which a long function's take more than their share */
    EFFORT_LONG_LOOP,     /* products in each loop of their function */
    EFFORT_CALLEE,        /* products in functions of a GPU that are not inlined */
    EFFORT_INSTANCE,      /* arguments of kernels that are templates, in all their instances */
    EFFORT_PATH,          /* calls of loops over channels that a CPU's compiler inlines */
    EFFORT_REST,          /* their products for each channel that no whole vector has */
    EFFORT_APART,         /* products of the loops that it does not, long ones' more than their share */
    EFFORT_COUNT
};

/* Seconds of the compiler: of starting it, and of each thing that is counted. */
struct compile_rates {
    const char *compiler;
    double start;
    double rate[EFFORT_COUNT];
};

struct backend {
    const char *name;                            /* in --backend, and of generated products */
    const char *device;                          /* what to plan for where the command line does not say */
    const char *suffix;                          /* of the files of kernels */
    const struct evaluation *const *evaluations; /* struct target's */
    void (*kernel)(struct text *, const struct schedules *,
                   const struct kernel_schedule *); /* writes the source */
    struct compile_rates rates;                     /* of the compiler that is usual (effort.h) */
};

extern const struct backend *const backend_table[]; /* the first is the default */
extern const int backend_count;

/* Reports the spec's knobs that are to name an evaluation, and name none of their device's backend. */
void backend_check_knobs(const struct spec *, struct diag *);

extern const struct backend backend_cuda, backend_c;

#endif
