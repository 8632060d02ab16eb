/* effort.h - how long a compiler takes for a source, by what is counted in it.
 *
 * The rates of a backend (struct compile_rates) were fitted to processor time of one core of a server,
 * nvcc 13.0 and gcc 12, by tests/bench/compile.py. Of 20 kernels that the fit did not see, in three
 * precisions, all are within a factor of 1.3 for gcc, and 1.5 for nvcc
 * (tests/data/compile_cuda.tsv, compile_c.tsv). Of 20 more by gcc, of layers drawn at random
 * (tests/gpu/drawn.py, seed 77), 14 are: what connects channels (bilinear, fully connected) takes a quarter
 * of what is said, and by nvcc up to nine times as much.
 */
#ifndef CGTPGEN_EFFORT_H
#define CGTPGEN_EFFORT_H

#include "emit/backend.h"

/* Seconds that the backend's compiler takes for the source of a kernel. */
double compile_seconds(const struct backend *, const char *text);
double kernel_compile_seconds(struct arena *, const struct schedules *, const struct kernel_schedule *);

/* The backend that schedules were made for. */
const struct backend *backend_of(const struct schedules *);

/* "3.2 s", "45 s", "4 minutes" */
const char *duration_text(struct arena *, double seconds);

#endif
