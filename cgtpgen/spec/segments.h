/* segments.h - what a spec says of segments of x, y and z: their `variance`, and those that are `unused`. */
#ifndef CGTPGEN_SEGMENTS_H
#define CGTPGEN_SEGMENTS_H

#include "spec/field.h"
#include "spec/spec.h"

void segments_read_variance(struct reader *, const struct node *, struct spec *);

/* Whether there are such segments, and no path uses them, is seen where the product is known: form/lint.c. */
void segments_read_unused(struct reader *, const struct node *, struct spec *);

#endif
