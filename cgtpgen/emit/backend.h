/* backend.h - the kinds of machine that code is generated for: one row each.
 *
 * A row names the evaluations that can compute a kernel there, and writes a kernel's source. backend.c lists
 * the rows; each is in the file of its target.
 */
#ifndef CGTPGEN_BACKEND_H
#define CGTPGEN_BACKEND_H

#include "schedule/schedule.h"

/* Seconds of the compiler: of starting it, and of each thing that a source has (effort.c). */
struct compile_rates {
    const char *compiler;
    double start, argument, loop, dense;
    double long_code; /* of each product in each loop */
    double sweep, call, function;
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
