/* kernels.h - the `kernels` key of a spec. */
#ifndef CGTPGEN_KERNELS_H
#define CGTPGEN_KERNELS_H

#include "spec/field.h"
#include "spec/spec.h"

/* Fills spec->kernel; node NULL: the key was left out, and forward, backward and double_backward are meant.
 */
void kernels_read(struct reader *, const struct node *, struct spec *);

/* What besides the kernel's function itself is named like it: NAME_kernel and a suffix. */
enum { KERNEL_SUFFIXES = 4 };
extern const struct kernel_suffix {
    const char *suffix;
    const char *before, *after; /* what that is, around the kernel's name */
} kernel_suffix[KERNEL_SUFFIXES];

#endif
