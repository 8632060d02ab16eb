/* call.h - functions of the runtime that calls of a pipeline may name: their contracts. */
#ifndef CGTPGEN_CALL_H
#define CGTPGEN_CALL_H

#include "pipeline/pipeline.h"

/* What becomes of an argument of one. */
enum touch function_touch(const char *function, int argument);

/* "x_row + 4 + u * 3": an address, from what it begins at. */
const char *address_text(struct arena *, const char *base, const struct address *);

#endif
