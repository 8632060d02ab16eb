/* names.h - which names may be a product's, and another name than the spec's for it (--name). */
#ifndef CGTPGEN_NAMES_H
#define CGTPGEN_NAMES_H

#include "spec/spec.h"

enum { NAME_MAX_LENGTH = 64 };

/* Why s cannot be a name in a spec, a C identifier that does not begin with an underscore; NULL: it can. */
const char *name_problem(struct arena *, const char *s);

/* Why s, a name, cannot be that of a product; NULL: it can. */
const char *name_product_problem(const char *s);

/* Is the symbol a type of C? Identifiers that begin with int or uint and end with _t are <stdint.h>'s. */
bool name_is_type(const char *symbol);

/* Gives the product another name: the pattern, with the spec's name for each %. False where that cannot be
 * its name; diag says why. */
bool name_product(struct arena *, struct spec *, const char *pattern, struct diag *);

#endif
