/* path.c - see path.h. */
#include "schedule/path.h"

#include "pipeline/build.h"
#include "pipeline/call.h"

#include <string.h>

const char *const step_name[ROLE_COUNT] = {"stepa", "stepb", "", "stepg"};

void align_to(int *aligned, int64_t to)
{
    while (to % *aligned)
        *aligned /= 2;
}

void demand_aligned(const struct demand *d, int aligned[SLOT_COUNT])
{
    enum { MOST = 8 };
    const struct kernel_plan *k = d->kernel;
    for (int s = 0; s < SLOT_COUNT; s++)
        aligned[s] = MOST;
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++) {
        const struct operand *o = &k->operand[i];
        for (int p = 0; p < d->plan->problem->paths && o->slot != SLOT_Y && o->index != INDEX_SHARED; p++) {
            const struct path *path = &d->plan->problem->path[p];
            const struct operand_block *b = operand_block_of(o, path);
            if (d->variant_of[p] < 0 || (o->slot == SLOT_W && !path->weighted))
                continue;
            align_to(&aligned[o->slot], o->dim);
            align_to(&aligned[o->slot], b->offset);
            align_to(&aligned[o->slot], block_is_apart(b) ? b->channels : b->channels * b->components);
        }
    }
}

const char *demand_is_too_short(const struct demand *d, const int aligned[SLOT_COUNT])
{
    enum { LEAST = 4 }; /* bytes */
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *o = kernel_input(d->kernel, i);
        if (o->slot != SLOT_Y && demand_reads(d, i) && aligned[o->slot] * operand_size(o) < LEAST)
            return "rows of 16 bits that begin at odd numbers";
    }
    return NULL;
}

bool path_is_pipelined(const struct device *device, const struct spec *spec, const struct path *p)
{
    return p->mode == MODE_UVU && p->mul_y == 1 && p->mul_x % device->lanes == 0 &&
           spec->index[SLOT_Y] == INDEX_ITEM && spec->index[SLOT_W] == INDEX_ITEM;
}

const char *scaled(struct arena *a, const char *value, int64_t by)
{
    return by == 1 ? value : arena_printf(a, "%s * %lld", value, (long long)by);
}

const char *divided(struct arena *a, const char *value, int64_t by)
{
    return by == 1 ? value : arena_printf(a, "%s / %lld", value, (long long)by);
}

const char *modulo(struct arena *a, const char *value, int64_t by)
{
    return by == 1 ? "0" : arena_printf(a, "%s %% %lld", value, (long long)by);
}

const char *plus_offset(struct arena *a, const char *name, int64_t offset)
{
    return offset ? arena_printf(a, "%s + %lld", name, (long long)offset) : name;
}

int path_components(const struct matrix *m, enum role role)
{
    return role == ROLE_A ? m->depth : role == ROLE_B ? m->rows : role == ROLE_G ? m->columns : 1;
}

struct address path_at(struct arena *arena, const struct path_plan *e, enum role role,
                       const struct operand_block *b)
{
    const struct path *p = e->path;
    struct address at = {.offset = b->offset};
    const bool product = role == ROLE_G && !e->contracted;
    const int64_t by = role == ROLE_W                       ? path_weight_step(p, e->a)
                       : product && e->strided && !e->pairs ? path_channels_b(e) * b->channel
                                                            : b->channel;
    if (e->pairs && (product || role == ROLE_W)) /* number of the pair (a, a + 1) */
        build_term(&at, arena_printf(arena, "a * (%d - a) / 2", 2 * p->mul_x - 1), by);
    else if (e->pairs && role == ROLE_B)
        build_term(&at, "a + 1", by);
    else if (path_channels_a(e) > 1 &&
             ((role == ROLE_A && !e->elementwise) || (product && e->strided) || role == ROLE_W))
        build_term(&at, "a", by);
    return at;
}

const char *path_address(struct arena *arena, const struct path_plan *e, enum role role, const char *name,
                         const struct operand_block *b)
{
    const struct address at = path_at(arena, e, role, b);
    return address_text(arena, name, &at);
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

/* An array of the kernel that stands in the role; NULL: none. */
static const struct operand *operand_in(const struct kernel_plan *k, const struct path_plan *e,
                                        const struct recipe *r, enum role role)
{
    if (role == ROLE_G && e->contracted) /* T and P */
        return NULL;
    for (int i = 0; i < r->inputs; i++)
        if (r->input[i].role == role && recipe_reads(r, i))
            return kernel_input(k, r->input[i].source);
    for (int o = 0; o < r->outputs; o++)
        if (r->output[o].role == role)
            return kernel_output(k, r->output[o].source);
    return NULL;
}

int64_t path_step(const struct kernel_plan *k, const struct path_plan *e, const struct recipe *r,
                  enum role role)
{
    const struct operand *o = operand_in(k, e, r, role);
    const struct operand_block *b = o ? operand_block_of(o, e->path) : NULL;
    return b && block_is_apart(b) ? b->component : 1;
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
                                                    const struct path_plan *e, const struct matrix *m,
                                                    int channels, const bool apart[ROLE_COUNT])
{
    bool weight_strided = e->weight_strided && e->path->weighted;
    uint32_t key = hash_bytes(hash_bytes(0, &r, sizeof r), &m, sizeof m);
    int i = hash_first(&all->by_matrix, key);
    for (; i >= all->first; i = hash_next(&all->by_matrix, i)) {
        const struct product_function *f = &all->function[i];
        if (f->recipe == r && f->matrix == m && f->channels == channels && f->strided == e->strided &&
            f->elementwise == e->elementwise && f->weight_strided == weight_strided &&
            memcmp(f->apart, apart, sizeof f->apart) == 0)
            return f;
    }
    char *base = arena_printf(all->arena, "%s_%d_%d_%d", mode_table[e->path->mode].c_name, e->path->l1,
                              e->path->l2, e->path->l3);
    uint32_t name_key = hash_bytes(0, base, strlen(base));
    i = hash_first(&all->by_base, name_key);
    while (i >= 0 && strcmp(all->function[i].base, base) != 0)
        i = hash_next(&all->by_base, i);
    int same = i < 0 ? 1 : all->function[i].same + 1;
    all->by_matrix.arena = all->by_base.arena = all->arena;
    hash_add(&all->by_matrix, key);
    hash_add(&all->by_base, name_key);
    all->function = arena_grow(all->arena, all->function, all->n, &all->capacity, sizeof *all->function);
    struct product_function *f = &all->function[all->n++];
    *f = (struct product_function){.base = base,
                                   .name = same > 1 ? arena_printf(all->arena, "%s_%d", base, same) : base,
                                   .same = same,
                                   .recipe = r,
                                   .matrix = m,
                                   .channels = channels,
                                   .elementwise = e->elementwise,
                                   .strided = e->strided,
                                   .weight_strided = weight_strided};
    memcpy(f->apart, apart, sizeof f->apart);
    return f;
}

const char *product_table_name(struct product_functions *all, const void *thing, int number, const char *base,
                               bool *is_new)
{
    uint32_t key = hash_bytes(hash_bytes(0, &thing, sizeof thing), &number, sizeof number);
    for (int i = hash_first(&all->by_thing, key); i >= 0; i = hash_next(&all->by_thing, i))
        if (all->thing[i].thing == thing && all->thing[i].number == number) {
            *is_new = false;
            return all->thing[i].name;
        }
    uint32_t base_key = hash_bytes(0, base, strlen(base));
    int i = hash_first(&all->by_thing_base, base_key);
    while (i >= 0 && strcmp(all->thing[i].base, base) != 0)
        i = hash_next(&all->by_thing_base, i);
    int same = i < 0 ? 1 : all->thing[i].same + 1;
    all->by_thing.arena = all->by_thing_base.arena = all->arena;
    hash_add(&all->by_thing, key);
    hash_add(&all->by_thing_base, base_key);
    all->thing = arena_grow(all->arena, all->thing, all->things, &all->thing_capacity, sizeof *all->thing);
    const char *name = same > 1 ? arena_printf(all->arena, "%s_%d", base, same) : base;
    all->thing[all->things++] = (struct named_thing){thing, number, same, base, name};
    *is_new = true;
    return name;
}
