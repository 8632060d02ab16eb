/* tune.h - the `tune` key: knobs of the planner, checked against the table of devices, for all kernels or for
 * one. */
#ifndef CGTPGEN_TUNE_H
#define CGTPGEN_TUNE_H

#include "spec/field.h"
#include "spec/spec.h"

/* Fills spec->knob with those that exist and are in range; reports the others. After the kernels are read. */
void tune_read(struct reader *, const struct node *, struct spec *);

#endif
