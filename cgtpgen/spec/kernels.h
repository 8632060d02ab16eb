/* kernels.h - the `kernels` key of a spec. */
#ifndef CGTPGEN_KERNELS_H
#define CGTPGEN_KERNELS_H

#include "spec/field.h"
#include "spec/spec.h"

/* Fills spec->kernel; node NULL: the key was left out, and forward, backward and double_backward are meant.
 */
void kernels_read(struct reader *, const struct node *, struct spec *);

#endif
