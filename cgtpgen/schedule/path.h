/* path.h - where a path's operands stand, and the functions that paths alike share; for all backends. */
#ifndef CGTPGEN_PATH_H
#define CGTPGEN_PATH_H

#include "pipeline/pipeline.h"
#include "plan/demand.h"
#include "util/hash.h"

/* Where the path's operand in a role begins in its row, for channel `a` of A (a loop's variable where there
 * are several). block: the operand's, or the same in the order of that row. */
struct address path_at(struct arena *, const struct path_plan *, enum role, const struct operand_block *);

/* The same as text, in the row `name`. */
const char *path_address(struct arena *, const struct path_plan *, enum role, const char *name,
                         const struct operand_block *);

/* Elements between the components of the kernel's arrays that stand in the role, where those are apart;
 * otherwise 1. */
int64_t path_step(const struct kernel_plan *, const struct path_plan *, const struct recipe *, enum role);

/* Elements that a channel of an operand in the role has. */
int path_components(const struct matrix *, enum role);

/* Elements, by slot, of which what a demand's paths have of rows of x, z and w begins and ends at multiples,
 * and rows do: a power of two, of at most 16 bytes of the shortest type. Lowers one such number to a power of
 * two that divides another number, too. */
void demand_aligned(const struct demand *, int aligned[SLOT_COUNT]);
void align_to(int *aligned, int64_t to);

/* Why asynchronous copies cannot move what inputs are so aligned to; NULL: they can. */
const char *demand_is_too_short(const struct demand *, const int aligned[SLOT_COUNT]);

/* Is the path one that the pipelined evaluations are for: channels of x by the warp, weights and y of items?
 */
bool path_is_pipelined(const struct device *, const struct spec *, const struct path *);

/* name + offset, or name alone. */
const char *plus_offset(struct arena *, const char *name, int64_t offset);

/* "u * 3", "warp / 3", "warp % 3": what does nothing where the number is one is not written. */
const char *scaled(struct arena *, const char *value, int64_t by);
const char *divided(struct arena *, const char *value, int64_t by);
const char *modulo(struct arena *, const char *value, int64_t by);

/* Writes `function(a, b, c);`, breaking lines between arguments. */
void emit_call(struct text *, int indent, const char *function, int n, const char *const *argument);

/* A function emitted once and called for every path with the same recipe and matrix. */
struct product_function {
    const char *base, *name; /* uvu_0_1_1; where several functions share it, the others uvu_0_1_1_2, .. */
    int same;                /* functions with that base, up to this one */
    const struct recipe *recipe;
    const struct matrix *matrix;
    int channels; /* a call is for so many; 0: the parameter n says for how many */
    bool elementwise, strided, weight_strided;
    bool apart[ROLE_COUNT]; /* components of arrays in the role are `step` elements apart, a parameter */
};

/* What is in a file under a name of its own, once: by its address and a number. */
struct named_thing {
    const void *thing;
    int number, same;
    const char *base, *name;
};

/* The functions of one file; zero-initialise and set the arena. Those from `first` on are the current
 * schedule's. */
struct product_functions {
    struct arena *arena;
    struct hash by_matrix, by_base; /* recipe and matrix; base */
    int first, n, capacity;
    struct product_function *function;
    struct hash by_thing, by_thing_base;
    int things, thing_capacity;
    struct named_thing *thing; /* of paths by table: recipes' functions, matrices */
};

/* The name in the file of something that paths by table need, which begins with `base`; *is_new: it has not
 * been asked for. */
const char *product_table_name(struct product_functions *, const void *thing, int number, const char *base,
                               bool *is_new);

/* The function for a path by a recipe and a matrix, new or known. Valid until the next call. */
const struct product_function *product_function_for(struct product_functions *, const struct recipe *,
                                                    const struct path_plan *, const struct matrix *,
                                                    int channels, const bool apart[ROLE_COUNT]);

/* The name of the parameter that says how far the role's components are apart. */
extern const char *const step_name[ROLE_COUNT];

/* Begins the functions of a schedule, of a file (NULL: its first). */
void product_functions_begin(struct arena *, struct product_functions **);

#endif
