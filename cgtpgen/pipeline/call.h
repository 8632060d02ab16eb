/* call.h - functions of the runtime that calls of a pipeline may name: their contracts. */
#ifndef CGTPGEN_CALL_H
#define CGTPGEN_CALL_H

#include "pipeline/pipeline.h"

struct function {
    const char *name;
    enum touch touch[4]; /* of its arguments; of a number nothing */
    bool pairs;          /* of any number, the first of which is a number: two by two */
};
enum touch function_touch(const struct function *, int argument);

/* One that there is. */
const struct function *function_named(const char *);

/* "x_row + 4 + u * 3": an address, from what it begins at. */
const char *address_text(struct arena *, const char *base, const struct address *);

#endif
