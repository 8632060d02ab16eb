/* codes.h - recipes and the codes that they are lowered to, each made once.
 *
 * The ways of computing a kernel that are weighed against each other want mostly the same codes; so do the
 * plans that a tuner's knobs make, each of which is forgotten: what was made for one stays with the product.
 */
#ifndef CGTPGEN_CODES_H
#define CGTPGEN_CODES_H

#include "plan/code.h"

/* Zero-initialise and set the arenas. */
struct codes {
    struct arena *arena;
    struct codes *kept;     /* where recipes and codes stay when these go; NULL: nowhere */
    struct matrices scaled; /* see codes_scaled */
    int recipes, recipe_capacity;
    const struct recipe **recipe;
    struct hash hash; /* of lowered, by recipe and matrix */
    int n, capacity;
    struct lowered *lowered;
};

/* Codes to be kept, in an arena of their own: as long as the arena that is given. */
struct codes *codes_keep(struct arena *);

/* The matrix_scaled of a path, which stays where codes do. */
const struct matrix *codes_scaled(struct codes *, const struct path *, enum slot a);

/* The recipe, or an equal one that was there before. */
const struct recipe *codes_recipe(struct codes *, const struct recipe *);

/* See code_lower; the recipe is one of codes_recipe. */
const struct code *codes_lower(struct codes *, const struct recipe *, const struct matrix *, bool tied,
                               bool blind);

/* See code_lower_outer; the same. */
const struct code *codes_lower_outer(struct codes *, const struct recipe *, int n,
                                     const struct matrix *const *);

#endif
