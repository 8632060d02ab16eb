/* codes.c - see codes.h. */
#include "plan/codes.h"

#include <string.h>

/* A code, and what it was made of. */
struct lowered {
    const struct recipe *recipe;
    bool tied, blind;
    int n; /* matrices of several paths; 0: of one */
    const struct matrix *const *matrix;
    const struct code *code;
};

struct codes *codes_keep(struct arena *a)
{
    struct codes *kept = NEW(a, struct codes);
    kept->arena = arena_part(a);
    return kept;
}

/* ---- kept: nothing in it may be of the arena of a plan, which goes ---- */

static const struct recipe *kept_recipe(struct codes *kept, const struct recipe *r)
{
    for (int i = 0; i < kept->recipes; i++)
        if (recipe_equal(kept->recipe[i], r))
            return kept->recipe[i];
    kept->recipe =
        arena_grow(kept->arena, kept->recipe, kept->recipes, &kept->recipe_capacity, sizeof *kept->recipe);
    return kept->recipe[kept->recipes++] = recipe_copy(kept->arena, r);
}

static bool same_matrices(const struct lowered *known, const struct lowered *q)
{
    const int n = q->n ? q->n : 1;
    bool same =
        known->recipe == q->recipe && known->n == q->n && known->tied == q->tied && known->blind == q->blind;
    for (int i = 0; same && i < n; i++)
        same = matrix_same(known->matrix[i], q->matrix[i]);
    return same;
}

static const struct code *lower(struct arena *a, const struct lowered *q)
{
    return q->n ? code_lower_outer(a, q->recipe, q->n, q->matrix)
                : code_lower(a, q->recipe, q->matrix[0], q->tied, q->blind);
}

static const struct code *kept_code(struct codes *kept, const struct lowered *q)
{
    const int n = q->n ? q->n : 1;
    uint32_t key = hash_bytes(0, &q->recipe, sizeof q->recipe);
    for (int i = 0; i < n; i++)
        key = matrix_hash(key, q->matrix[i]);
    for (int i = hash_first(&kept->hash, key); i >= 0; i = hash_next(&kept->hash, i))
        if (same_matrices(&kept->lowered[i], q))
            return kept->lowered[i].code;
    struct arena *a = kept->arena;
    struct code *code = arena_copy(a, lower(a, q), sizeof *code);
    code->constant = arena_copy(a, code->constant, (size_t)code->constants * sizeof *code->constant);
    for (int i = 0; i < code->constants; i++)
        code->constant[i] = surd_copy(a, code->constant[i]);
    const struct matrix **matrix = NEW_ARRAY(a, const struct matrix *, n);
    for (int i = 0; i < n; i++)
        matrix[i] = matrix_kind(a, q->matrix[i]);
    kept->hash.arena = a;
    hash_add(&kept->hash, key);
    kept->lowered = arena_grow(a, kept->lowered, kept->n, &kept->capacity, sizeof *kept->lowered);
    kept->lowered[kept->n] = *q;
    kept->lowered[kept->n].matrix = matrix;
    code->matrix = q->n ? matrix : NULL;
    kept->lowered[kept->n++].code = code;
    return code;
}

/* ---- those of a plan, by where recipes and matrices are ---- */

const struct matrix *codes_scaled(struct codes *all, const struct path *p, enum slot a)
{
    struct codes *keeps = all->kept ? all->kept : all;
    keeps->scaled.arena = keeps->arena;
    return matrix_scaled(&keeps->scaled, p, a);
}

const struct recipe *codes_recipe(struct codes *all, const struct recipe *r)
{
    for (int i = 0; i < all->recipes; i++)
        if (recipe_equal(all->recipe[i], r))
            return all->recipe[i];
    all->recipe =
        arena_grow(all->arena, all->recipe, all->recipes, &all->recipe_capacity, sizeof *all->recipe);
    return all->recipe[all->recipes++] = all->kept ? kept_recipe(all->kept, r) : r;
}

static const struct code *find(struct codes *all, struct lowered q)
{
    const size_t bytes = (size_t)(q.n ? q.n : 1) * sizeof *q.matrix;
    uint32_t key = hash_bytes(hash_bytes(0, &q.recipe, sizeof q.recipe), q.matrix, bytes);
    for (int i = hash_first(&all->hash, key); i >= 0; i = hash_next(&all->hash, i)) {
        const struct lowered *known = &all->lowered[i];
        if (known->recipe == q.recipe && known->n == q.n && known->tied == q.tied &&
            known->blind == q.blind && memcmp(known->matrix, q.matrix, bytes) == 0)
            return known->code;
    }
    all->hash.arena = all->arena;
    hash_add(&all->hash, key);
    all->lowered = arena_grow(all->arena, all->lowered, all->n, &all->capacity, sizeof *all->lowered);
    q.code = all->kept ? kept_code(all->kept, &q) : lower(all->arena, &q);
    q.matrix = arena_copy(all->arena, q.matrix, bytes);
    all->lowered[all->n++] = q;
    return q.code;
}

const struct code *codes_lower(struct codes *all, const struct recipe *r, const struct matrix *m, bool tied,
                               bool blind)
{
    return find(all, (struct lowered){.recipe = r, .tied = tied, .blind = blind, .matrix = &m});
}

const struct code *codes_lower_outer(struct codes *all, const struct recipe *r, int n,
                                     const struct matrix *const *matrix)
{
    return find(all, (struct lowered){.recipe = r, .n = n, .matrix = matrix});
}
