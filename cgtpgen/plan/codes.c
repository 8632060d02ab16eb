/* codes.c - see codes.h. */
#include "plan/codes.h"

struct lowered {
    const struct matrix *matrix;
    bool tied, blind;
    const struct code *code;
};

struct recipe_codes {
    const struct recipe *recipe;
    int n, capacity;
    struct lowered *lowered;
};

const struct recipe *codes_recipe(struct codes *all, const struct recipe *r)
{
    for (int i = 0; i < all->recipes; i++)
        if (recipe_equal(all->recipe[i].recipe, r))
            return all->recipe[i].recipe;
    all->recipe = arena_grow(all->arena, all->recipe, all->recipes, &all->capacity, sizeof *all->recipe);
    all->recipe[all->recipes++] = (struct recipe_codes){.recipe = r};
    return r;
}

const struct code *codes_lower(struct codes *all, const struct recipe *r, const struct matrix *m, bool tied,
                               bool blind)
{
    struct recipe_codes *of = all->recipe;
    while (of->recipe != r)
        of++;
    for (int i = 0; i < of->n; i++) {
        const struct lowered *known = &of->lowered[i];
        if (known->matrix == m && known->tied == tied && known->blind == blind)
            return known->code;
    }
    of->lowered = arena_grow(all->arena, of->lowered, of->n, &of->capacity, sizeof *of->lowered);
    const struct code *code = code_lower(all->arena, r, m, tied, blind);
    of->lowered[of->n++] = (struct lowered){m, tied, blind, code};
    return code;
}
