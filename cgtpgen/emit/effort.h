/* effort.h - how long a compiler takes for a source, by what is counted in it.
 *
 * The rates of a backend (struct compile_rates) were fitted to processor time of one core of a server,
 * nvcc 13.0 and gcc 12.2, by tests/bench/compile.py. How many of 20 kernels are within a factor of 1.5, of
 * layers drawn at random (tests/gpu/drawn.py) that the fit did not see: seed 311 20 by nvcc and 20 by gcc,
 * 310 19 and 20, 309 19 and 17, 308 19 and 19 (tests/data/compile_cuda.tsv, compile_c.tsv). By nvcc the
 * farthest off, with narrow segments of both parities, takes twice what is said; of those that were fitted a
 * forward of degree 5 takes 2.5 times as long. By gcc products with blocks of weights take up to 2.7 times as
 * long, or half, for of constant sizes it writes out some loops and others not, and convolutions with two
 * channels of y, of whose weights it reads every other one, up to 1.9 times.
 */
#ifndef CGTPGEN_EFFORT_H
#define CGTPGEN_EFFORT_H

#include "emit/backend.h"

struct effort {
    double seconds;
    double count[EFFORT_COUNT];
};

/* What the backend's compiler does for the source of a kernel. */
struct effort effort_of(struct arena *, const struct backend *, const char *text);
struct effort kernel_effort(struct arena *, const struct schedules *, const struct kernel_schedule *);

extern const char *const effort_name[EFFORT_COUNT];

/* The backend that schedules were made for. */
const struct backend *backend_of(const struct schedules *);

/* "3.2 s", "45 s", "4 minutes" */
const char *duration_text(struct arena *, double seconds);

#endif
