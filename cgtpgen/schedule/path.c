/* path.c - see path.h. */
#include "schedule/path.h"

#include <string.h>

const struct segment *path_segment(const struct plan *plan, const struct path_plan *e, enum slot s)
{
    const struct problem *q = plan->problem;
    const struct path *p = e->path;
    return s == SLOT_X ? &q->x.segment[p->x] : s == SLOT_Y ? &q->y.segment[p->y] : &q->z.segment[p->z];
}

const char *plus_offset(struct arena *a, const char *name, int64_t offset)
{
    return offset ? arena_printf(a, "%s + %lld", name, (long long)offset) : name;
}

/* " + a * per", or nothing where A has one channel. */
static const char *times_a(struct arena *arena, const struct path_plan *e, int64_t per)
{
    if (path_channels_a(e) == 1)
        return "";
    return per == 1 ? " + a" : arena_printf(arena, " + a * %lld", (long long)per);
}

/* " + (number of the pair (a, a + 1)) * per". */
static const char *pair_offset(struct arena *arena, const struct path_plan *e, int64_t per)
{
    const char *pair = arena_printf(arena, "a * (%d - a) / 2", 2 * e->path->mul_x - 1);
    return per == 1 ? arena_printf(arena, " + %s", pair)
                    : arena_printf(arena, " + %s * %lld", pair, (long long)per);
}

const char *path_address(struct arena *arena, const struct plan *plan, const struct path_plan *e,
                         enum role role, const char *name, int d)
{
    const struct path *p = e->path;
    int64_t offset = 0;
    const char *more = "";
    if (role == ROLE_A) {
        offset = path_segment(plan, e, e->a)->offset;
        more = e->elementwise ? "" : times_a(arena, e, e->matrix->depth);
    } else if (role == ROLE_B) {
        offset = path_segment(plan, e, e->b)->offset;
        if (e->pairs)
            more = d == 1 ? " + a + 1" : arena_printf(arena, " + (a + 1) * %d", d);
    } else if (role == ROLE_G) {
        offset = path_segment(plan, e, SLOT_G)->offset;
        if (!e->contracted)
            more = e->pairs     ? pair_offset(arena, e, d)
                   : e->strided ? times_a(arena, e, (int64_t)path_channels_b(e) * d)
                                : "";
    } else {
        int64_t step = path_weight_step(p, e->a);
        offset = p->weight_offset;
        more = e->pairs ? pair_offset(arena, e, step) : times_a(arena, e, step);
    }
    return arena_printf(arena, "%s%s", plus_offset(arena, name, offset), more);
}

void emit_call(struct text *out, int indent, const char *function, int n, const char *const *argument)
{
    size_t column = (size_t)indent + strlen(function) + 1, open = column;
    text_printf(out, "%*s%s(", indent, "", function);
    for (int i = 0; i < n; i++) {
        size_t length = strlen(argument[i]) + 2;
        if (i && column + length > 108) {
            text_printf(out, ",\n%*s", (int)open, "");
            column = open;
        } else if (i) {
            text_printf(out, ", ");
        }
        text_printf(out, "%s", argument[i]);
        column += length;
    }
    text_printf(out, ");\n");
}

void product_functions_begin(struct arena *a, struct product_functions **all)
{
    if (!*all) {
        *all = NEW(a, struct product_functions);
        (*all)->arena = a;
    }
    (*all)->first = (*all)->n;
}

const struct product_function *product_function_for(struct product_functions *all, const struct recipe *r,
                                                    const struct path_plan *e)
{
    bool weight_strided = e->weight_strided && e->path->weighted;
    for (int i = all->first; i < all->n; i++) {
        const struct product_function *f = &all->function[i];
        if (f->recipe == r && f->matrix == e->matrix && f->strided == e->strided &&
            f->elementwise == e->elementwise && f->weight_strided == weight_strided)
            return f;
    }
    char *base = arena_printf(all->arena, "%s_%d_%d_%d", mode_table[e->path->mode].c_name, e->path->l1,
                              e->path->l2, e->path->l3);
    int same = 1;
    for (int i = 0; i < all->n; i++)
        same += strcmp(all->function[i].base, base) == 0;
    all->function = arena_grow(all->arena, all->function, all->n, &all->capacity, sizeof *all->function);
    all->function[all->n] =
        (struct product_function){base,
                                  same > 1 ? arena_printf(all->arena, "%s_%d", base, same) : base,
                                  r,
                                  e->matrix,
                                  e->elementwise,
                                  e->strided,
                                  weight_strided};
    return &all->function[all->n++];
}
