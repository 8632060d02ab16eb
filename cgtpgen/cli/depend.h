/* depend.h - dependency rules for make, as compilers write them (-MD). */
#ifndef CGTPGEN_DEPEND_H
#define CGTPGEN_DEPEND_H

#include "util/text.h"

#include <stdbool.h>

/* `targets: source`; with phony also an empty rule for the source, so that make goes on when it is deleted.
 * source NULL (standard input): no prerequisite. Names are escaped as make wants them; verbatim: the targets
 * are not. */
void depend_rule(struct text *, const char *const *target, int targets, bool verbatim, const char *source,
                 bool phony);

#endif
