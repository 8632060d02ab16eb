/* timing.h - how long a launch takes on the device. */
#ifndef TEST_GPU_TIMING_H
#define TEST_GPU_TIMING_H

#include "launch.h"

/* Timed runs of one kernel take about so long at most, in seconds; and at least so many runs go before them. */
#define TIMED_MOST 0.5
enum { WARM_UP = 3 };

struct timing {
    double ms, least; /* the median of the runs, and the fastest */
};

/* A monotonic clock of the host. */
double timing_seconds(void);

/* Times at most so many runs (at least 3) of the launch by events, L2 flushed before each by reading, after others that
 * bring the clocks up. Few are timed where they take long. False, with a comment on standard output: it failed. */
bool timing_runs(struct launch *, int most, struct timing *);

#endif
