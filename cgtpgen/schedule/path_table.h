/* path_table.h - paths by tables: a path's tensor as numbers that are read while the kernel runs, a function
 * for each recipe, which takes any of them, and a loop over the paths (runtime/cgtp_table.h). There is the
 * same code for many paths of high degree, which written out would be megabytes.
 */
#ifndef CGTPGEN_PATH_TABLE_H
#define CGTPGEN_PATH_TABLE_H

#include "schedule/schedule.h"
#include "schedule/source.h"

/* [paths]: those of the demand that can be computed so, as each channel of B has one of weights and G, and
 * all have the same A. NULL: none. */
bool *paths_by_table(struct arena *, const struct demand *);

/* Are they to be computed so whatever that costs: as a knob says, or as written out they are too much code?
 */
bool paths_want_tables(const struct target *, const struct demand *);

/* Elements that a warp needs to work on the path; instructions of the warp, about. */
int64_t path_table_scratch(const struct demand *, int path);
double path_table_work(const struct demand *, int path);

/* Writes tables, functions, and then, to `item`, the loops over the paths of which takes[path] says so, which
 * begin with variable `warp` of so many; rows have the names of operands. */
void path_tables(struct source *, struct text *item, const bool *takes, int warps);

#endif
