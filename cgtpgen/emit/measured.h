/* measured.h - what a log of tests/gpu/bench says about a product: tab-separated rows under a line of names.
 */
#ifndef CGTPGEN_MEASURED_H
#define CGTPGEN_MEASURED_H

#include "schedule/schedule.h"

/* A kernel in one place: a graph, or a batch. */
struct measurement {
    int kernel;        /* of the plan */
    const char *place; /* as the log has it */
    double ms, items, senders, receivers;
};

struct measured {
    const char *file; /* the log */
    int rows;
    const struct measurement *row;
};

/* The log's rows of the product: of its irreps, precision and reduction, of kernels that it has, computed by
 * the evaluations that were chosen here. NULL where it is no such log, or has none of them; the log's diag
 * says why. */
const struct measured *measured_read(struct arena *, const struct schedules *, struct diag *log);

#endif
