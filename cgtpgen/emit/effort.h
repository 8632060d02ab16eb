/* effort.h - how long a compiler takes for a source, by what is counted in it.
 *
 * The rates of a backend (struct compile_rates) were fitted to processor time of one core of a server,
 * nvcc 13.0 and gcc 12 and 13, by tests/bench/compile.py. How many of 20 kernels are within a factor of 1.5,
 * of layers drawn at random (tests/gpu/drawn.py) that the fit did not see: seed 211, before it joined the
 * fit, 19 by nvcc and 18 by gcc; seed 212 20 and 19; seed 213 17 and 15; and of 20 of specs/ 18 and 20
 * (tests/data/compile_cuda.tsv, compile_c.tsv). The farthest off are a large convolution, of degree 5, that
 * takes 2.3 times as long as said by nvcc, and numbers of channels of which vectors leave a rest by gcc, up
 * to 2.4 times.
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
