/* knobs.h - the planner knobs of a spec's `tune`. */
#ifndef CGTPGEN_KNOBS_H
#define CGTPGEN_KNOBS_H

#include "spec/spec.h"

/* Reports knobs that do not exist or are out of range, of any architecture. */
void knobs_check(const struct spec *, struct diag *);

#endif
