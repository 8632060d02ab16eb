/* unity.h - all sources of a product in C as one. */
#ifndef CGTPGEN_UNITY_H
#define CGTPGEN_UNITY_H

#include "emit/emitter.h"

/* In C a source that includes all others; in CUDA one that has all of them in it, of one precision with all
 * others of its translation unit. */
void emit_unity(struct text *, const struct emission *);

#endif
