/* tune.h - a program that times other plans of a product's kernels: NAME.tune.c, NAME.tune.mk, and a source
 * for each plan. runtime/cgtp_tune.h is the rest of it.
 */
#ifndef CGTPGEN_EMIT_TUNE_H
#define CGTPGEN_EMIT_TUNE_H

#include "emit/emitter.h"

void emit_tune_program(struct text *, const struct emission *);
void emit_tune_makefile(struct text *, const struct emission *);

/* The kernel's source by the plan that the emission has for it. */
void emit_tune_alternative(struct text *, const struct emission *, const struct kernel_schedule *);

/* The name of the file of an alternative. */
const char *emit_tune_file(struct arena *, const struct backend *, const struct plan *,
                           const struct kernel_form *, int number);

#endif
