/* path.h - where a path's operands stand, and the functions that paths alike share; for all backends. */
#ifndef CGTPGEN_PATH_H
#define CGTPGEN_PATH_H

#include "plan/demand.h"

/* The segment of slot x, y or z that the path uses. */
const struct segment *path_segment(const struct plan *, const struct path_plan *, enum slot);

/* Address, in the row `name`, of the path's operand in a role, for channel `a` of A (a C variable where there
 * are several). d: elements from one channel of B or G to the next in the layout of that row. */
const char *path_address(struct arena *, const struct plan *, const struct path_plan *, enum role,
                         const char *name, int d);

/* name + offset, or name alone. */
const char *plus_offset(struct arena *, const char *name, int64_t offset);

/* Writes `function(a, b, c);`, breaking lines between arguments. */
void emit_call(struct text *, int indent, const char *function, int n, const char *const *argument);

/* A function emitted once and called for every path with the same recipe and matrix. */
struct product_function {
    const char *base, *name; /* uvu_0_1_1; where several functions share it, the others uvu_0_1_1_2, .. */
    const struct recipe *recipe;
    const struct matrix *matrix;
    bool elementwise, strided, weight_strided;
};

/* The functions of one file; zero-initialise and set the arena. Those from `first` on are the current
 * schedule's. */
struct product_functions {
    struct arena *arena;
    int first, n, capacity;
    struct product_function *function;
};

/* The function for a path by a recipe, new or known. Valid until the next call. */
const struct product_function *product_function_for(struct product_functions *, const struct recipe *,
                                                    const struct path_plan *);

/* Begins the functions of a schedule, of a file (NULL: its first). */
void product_functions_begin(struct arena *, struct product_functions **);

#endif
