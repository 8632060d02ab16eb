/* sample.h - a sample of the rows that a launch wrote against the dense reference.
 *
 * For graphs and batches too large to be computed the plain way as a whole: a row depends on few others, and
 * what they hold is known by place (random.h).
 */
#ifndef TEST_GPU_SAMPLE_H
#define TEST_GPU_SAMPLE_H

#include "launch.h"
#include "model.h"

struct sample_result {
    double ratio;       /* the largest |error| / (bound u sum|terms|) of all outputs; right: at most 1 */
    double units;       /* the largest |error| / (u sum|terms|) */
    const char *output; /* that the first is of */
    int64_t rows;       /* compared */
};

/* Compares some rows of every output: of nodes some with edges, the first, the last and one without edges if
 * there is one; of items some; and always those on both sides of element 2^31. False, with a line on stderr,
 * for a kernel that the reference does not know. Outputs with one row for all items are compared only where
 * there are few items. */
bool sample_check(const struct model *, const struct launch *, struct sample_result *);

#endif
