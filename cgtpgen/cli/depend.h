/* depend.h - dependency rules for make, as compilers write them (-MD). */
#ifndef CGTPGEN_DEPEND_H
#define CGTPGEN_DEPEND_H

#include "util/text.h"

#include <stdbool.h>

/* `targets: sources`; with phony also an empty rule for each source, so that make goes on when it is deleted.
 * Names are escaped as make wants them; verbatim: the targets are not. */
void depend_rule(struct text *, const char *const *target, int targets, bool verbatim,
                 const char *const *source, int sources, bool phony);

/* Are there such rules in the text and nothing else, as what people write has: commands, variables, comments?
 */
bool depend_rules(const char *text);

#endif
