/* crew.h - the specs of a call, compiled by several threads. */
#ifndef CGTPGEN_CREW_H
#define CGTPGEN_CREW_H

#include "cli/compile.h"

/* Compiles all specs of the call, and tells what there is to say, in their order. arena: [JOBS_MOST], one for
 * each thread, those after the first empty; what is made stays there. The first status that is not EXIT_OK.
 */
enum exit_status crew_compile(struct arena *arena, const struct options *, struct mutation *,
                              struct product *);

#endif
