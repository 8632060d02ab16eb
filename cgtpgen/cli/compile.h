/* compile.h - the passes on one spec: from its file to the files that are made of it. */
#ifndef CGTPGEN_COMPILE_H
#define CGTPGEN_COMPILE_H

#include "cli/options.h"
#include "cli/product.h"

struct mutation;

/* What a thread keeps from one spec to the next: in parts of the arena. */
struct kept *compile_begin(struct arena *);

/* Compiles the spec. What there is to say of it gets into product->told. No more is left of it in the arena
 * than what was made, where nothing else is asked of it later. mutation: NULL, or what is to be wrong. */
enum exit_status compile_spec(struct arena *, struct kept *, const struct options *, struct mutation *,
                              struct product *);

#endif
