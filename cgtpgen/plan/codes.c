/* codes.c - see codes.h. */
#include "plan/codes.h"

#include <string.h>

struct lowered {
    const struct recipe *recipe;
    const struct matrix *matrix;
    bool tied, blind;
    const struct code *code;
};

const struct recipe *codes_recipe(struct codes *all, const struct recipe *r)
{
    for (int i = 0; i < all->recipes; i++)
        if (recipe_equal(all->recipe[i], r))
            return all->recipe[i];
    all->recipe =
        arena_grow(all->arena, all->recipe, all->recipes, &all->recipe_capacity, sizeof *all->recipe);
    return all->recipe[all->recipes++] = r;
}

const struct code *codes_lower(struct codes *all, const struct recipe *r, const struct matrix *m, bool tied,
                               bool blind)
{
    uint32_t key = hash_bytes(hash_bytes(0, &r, sizeof r), &m, sizeof m);
    for (int i = hash_first(&all->hash, key); i >= 0; i = hash_next(&all->hash, i)) {
        const struct lowered *known = &all->lowered[i];
        if (known->recipe == r && known->matrix == m && known->tied == tied && known->blind == blind)
            return known->code;
    }
    all->hash.arena = all->arena;
    hash_add(&all->hash, key);
    all->lowered = arena_grow(all->arena, all->lowered, all->n, &all->capacity, sizeof *all->lowered);
    const struct code *code = code_lower(all->arena, r, m, tied, blind);
    all->lowered[all->n++] = (struct lowered){r, m, tied, blind, code};
    return code;
}

const struct code *codes_lower_outer(struct codes *all, const struct recipe *r, int n,
                                     const struct matrix *const *matrix)
{
    const size_t bytes = (size_t)n * sizeof(const struct matrix *);
    uint32_t key = hash_bytes(hash_bytes(0, &r, sizeof r), matrix, bytes);
    for (int i = hash_first(&all->hash, key); i >= 0; i = hash_next(&all->hash, i)) {
        const struct lowered *known = &all->lowered[i];
        if (known->recipe == r && known->code->matrices == n &&
            memcmp(known->code->matrix, matrix, bytes) == 0)
            return known->code;
    }
    all->hash.arena = all->arena;
    hash_add(&all->hash, key);
    all->lowered = arena_grow(all->arena, all->lowered, all->n, &all->capacity, sizeof *all->lowered);
    const struct code *code = code_lower_outer(all->arena, r, n, matrix);
    all->lowered[all->n++] = (struct lowered){.recipe = r, .code = code};
    return code;
}
