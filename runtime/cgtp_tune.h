/* SPDX-License-Identifier: MIT */
/* cgtp_tune.h - what a program that tunes a product (NAME.tune.c) is made of: other plans of its kernels, and
 * the code that times them beside the planner's own on a graph or a batch, compares what they compute, and
 * prints the knobs to put into the spec. NAME.tune.mk builds it. C11 and C++.
 */
#ifndef CGTP_TUNE_H
#define CGTP_TUNE_H

#include "cgtp_selftest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Another plan of a kernel, in a source of its own. */
typedef struct cgtp_tune_alternative {
    const char *knobs;  /* by which it was planned: "warps: 12" */
    const char *all;    /* these and those that the spec has for this kernel alone: "stages: 3, warps: 12" */
    const char *source; /* a hash of its source */
    size_t (*workspace)(const void *graph); /* as in cgtp_kernel */
    cgtp_status (*run)(const void *graph, const void *const *input, void *const *output, const int64_t *stride,
                       void *ws, size_t ws_bytes, cgtp_stream stream);
} cgtp_tune_alternative;

typedef struct cgtp_tune_kernel {
    const char *all;     /* knobs that the spec has for this kernel alone; "": none */
    const char *source;  /* a hash of the source that the product has */
    const char *dropped; /* for people: which alternatives are not here, and why */
    int alternatives;
    const cgtp_tune_alternative *const *alternative;
} cgtp_tune_kernel;

typedef struct cgtp_tune {
    const cgtp_selftest *test; /* the product, and its tables */
    const char *architecture;  /* that was planned for */
    const char *knobs;         /* those that the spec has for it and all kernels, lines of YAML; "": none */
    const char *others;        /* those of other architectures */
    const cgtp_tune_kernel *kernel; /* of each kernel of the product */
} cgtp_tune;

/* The program: reads its arguments, measures, prints. Returns an exit status: 0; 1 where an alternative
 * computed something else or could not run; 2 for wrong arguments. */
int cgtp_tune_run(const cgtp_tune *, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
