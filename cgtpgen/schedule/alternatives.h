/* alternatives.h - other plans of a kernel than the planner's own, worth a measurement: what knobs make of
 * it. */
#ifndef CGTPGEN_ALTERNATIVES_H
#define CGTPGEN_ALTERNATIVES_H

#include "schedule/schedule.h"

enum {
    ALTERNATIVES_MOST = 24, /* of a kernel */
    ALTERNATIVE_KNOBS = 2
};

/* A plan by knobs. */
struct alternative {
    int knobs;
    struct spec_knob knob[ALTERNATIVE_KNOBS];
    double cost;   /* of the kernel, by the planner's figures */
    uint32_t plan; /* a hash of it as text */
};

/* Those of a kernel: first those of one knob, then those of two, cheaper ones first. */
struct alternatives {
    int n;
    struct alternative alternative[ALTERNATIVES_MOST];
    int beyond; /* that there were no room for */
    int alike, spilled,
        dear; /* that were dropped: as another plan; they need more registers than there are; their cost */
};

/* Tries knobs on the kernel, one of which may be the spec's already. */
struct alternatives *alternatives_find(struct arena *, const struct schedules *, int kernel);

#endif
