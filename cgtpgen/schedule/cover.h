/* cover.h - which schedules compute a kernel: the paths of its outputs are covered at least cost. */
#ifndef CGTPGEN_COVER_H
#define CGTPGEN_COVER_H

#include "schedule/schedule.h"

/* Plans every kernel for the target. */
struct schedules *schedules_build(struct arena *, const struct plan *, const struct target *);

/* The same plan but of one kernel, which is planned again with these knobs, to be looked at; its registers
 * are not counted. */
struct schedules *schedules_with(struct arena *, const struct schedules *, int kernel, int knobs,
                                 const struct spec_knob *);

/* Counts the kernel's registers, if they are not counted; does one of its schedules spill? */
bool schedules_spill(struct arena *, struct schedules *, int kernel);

/* That, and what is left to do before the kernel's code is written: nothing is reported of it, and it takes
 * most of the time. */
void schedules_finish(struct arena *, struct schedules *, int kernel);

#endif
