/* SPDX-License-Identifier: MIT */
/* cgtp_selftest.h - what a self-test program (NAME_selftest.c) is made of: tables that say what a product is,
 * in the plainest form, and the code that evaluates them and compares every kernel with the result.
 *
 * For one item Q(x, y, w, g) = sum over paths and nonzeros of a C[i,j,k] x[u,i] y[v,j] w[..] g[..,k]. A
 * kernel's output is a sum of terms Q_s(..), derivatives of Q by one slot at given arguments of the other
 * three. The dense loop in cgtp_selftest.c follows these tables term by term and shares nothing with the
 * kernels.
 *
 * C11; build with
 *
 *     cc -I. -I$CGTP NAME_selftest.c NAME*.o $CGTP/cgtp_selftest.c $CGTP/cgtp.c -lm
 *
 * and for CUDA products with -DCGTP_SELFTEST_CUDA, CUDA's include folder and its runtime library: kernels are
 * then given memory of the device.
 */
#ifndef CGTP_SELFTEST_H
#define CGTP_SELFTEST_H

#include "cgtp.h"

/* One nonzero C[i,j,k]. */
typedef struct cgtp_selftest_entry {
    int i, j, k;
    double value;
} cgtp_selftest_entry;

/* The real Clebsch-Gordan tensor of (l1, l2, l3), of Frobenius norm one. */
typedef struct cgtp_selftest_cg {
    int l1, l2, l3, entries;
    const cgtp_selftest_entry *entry;
} cgtp_selftest_cg;

/* e3nn's connection modes: how the channels u of x, v of y and w of z are tied. */
typedef enum cgtp_selftest_mode {
    CGTP_UVW,    /* z[w] += W[u,v,w] x[u] y[v] */
    CGTP_UVU,    /* z[u] += W[u,v] x[u] y[v] */
    CGTP_UVV,    /* z[v] += W[u,v] x[u] y[v] */
    CGTP_UUW,    /* z[w] += W[u,w] x[u] y[u] */
    CGTP_UUU,    /* z[u] += W[u] x[u] y[u] */
    CGTP_UVUV,   /* z[u,v] += W[u,v] x[u] y[v] */
    CGTP_UVULTV, /* z[uv] += W[uv] x[u] y[v], pairs u < v in row-major order */
    CGTP_ULTVW   /* z[w] += W[uv,w] x[u] y[v], the same pairs */
} cgtp_selftest_mode;

/* Channels of one irrep in a row, from element `offset` on. */
typedef struct cgtp_selftest_segment {
    int64_t offset;
    int mul;
} cgtp_selftest_segment;

typedef struct cgtp_selftest_path {
    cgtp_selftest_segment x, y, z;
    cgtp_selftest_mode mode;
    int weighted;
    int64_t weight_offset, weight_numel; /* of its block in a row of w; 0, 0 where not weighted */
    double coefficient;                  /* a */
    const cgtp_selftest_cg *cg;
} cgtp_selftest_path;

/* Q_target at the kernel's inputs with these numbers; -1 at the target, and at w where no path has weights. */
typedef struct cgtp_selftest_term {
    cgtp_slot target;
    int argument[CGTP_SLOTS];
} cgtp_selftest_term;

typedef struct cgtp_selftest_output {
    const char *name;
    cgtp_slot slot;
    int terms;
    const cgtp_selftest_term *term;
} cgtp_selftest_output;

typedef struct cgtp_selftest_kernel {
    const char *name;
    int inputs;
    const cgtp_argument
        *input; /* tangent matters in slot w: paths without weights count only at primal values */
    int outputs;
    const cgtp_selftest_output *output;
} cgtp_selftest_kernel;

typedef struct cgtp_selftest {
    const cgtp_product *product; /* what is tested: the kernels are called through this */
    const char *digest;          /* of the spec that the tables were made from */
    int64_t dim[CGTP_SLOTS];
    cgtp_index index[CGTP_SLOTS];
    cgtp_layout layout[CGTP_SLOTS];
    cgtp_type type[CGTP_SLOTS], compute;
    int graph, sorted, index_size; /* as in cgtp_product */
    int cgs, paths, kernels;
    const cgtp_selftest_cg *cg;
    const cgtp_selftest_path *path;
    const cgtp_selftest_kernel *kernel;
} cgtp_selftest;

/* Runs all tests and prints TAP. Returns an exit status: 0 if all passed. */
int cgtp_selftest_run(const cgtp_selftest *test);

#endif
