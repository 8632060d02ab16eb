/* unity.h - all sources of a product in C as one. */
#ifndef CGTPGEN_UNITY_H
#define CGTPGEN_UNITY_H

#include "emit/emitter.h"

/* NAME.unity.c: a source that includes all others, for the C backend. */
void emit_unity(struct text *, const struct emission *);

#endif
