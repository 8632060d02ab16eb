/* check.h - is a plan sound? Runs after planning in every build: a mistake of a planner is reported by name,
 * not found later as a race.
 */
#ifndef CGTPGEN_CHECK_H
#define CGTPGEN_CHECK_H

#include "schedule/schedule.h"

struct checker {
    struct text *out;
    const char *kernel; /* that is checked */
    const char *schedule;
    int errors;
};

/* Appends "kernel forward, convolution: message" where the condition does not hold. */
void check_that(struct checker *, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Checks all kernels: every path of every output in exactly one schedule; every output written as a whole by
 * the first schedule that has it, and added to by later ones, which know what was written; areas of the
 * workspace named once; what each evaluation checks of its own. Returns the number of errors, with a line
 * each in `out`. */
int schedules_check(struct arena *, const struct schedules *, struct text *out);

#endif
