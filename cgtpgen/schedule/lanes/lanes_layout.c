/* lanes_layout.c - matrices in lanes: where rows, weights and sums are in shared memory. */
#include "schedule/lanes/lanes_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16, /* what a lane copies at a time */
    BANKS = 32
};

int lanes_channels(const struct lanes *g)
{
    return g->warps / g->splits * g->lanes;
}

int lanes_first(const struct lanes *g, int split, int components)
{
    return components * split / g->splits;
}

int lanes_threads(const struct lanes *g)
{
    return (g->warps + g->copiers) * NODAL_LANES;
}

int lanes_parts(const struct lanes *g)
{
    return g->nodal->mul / lanes_channels(g);
}

int lanes_channel_step(const struct operand_block *b)
{
    return block_is_apart(b) ? 1 : b->components;
}

int lanes_component_step(const struct lanes *g, const struct operand_block *b)
{
    return block_is_apart(b) ? lanes_channels(g) : 1;
}

const int *lanes_places(const struct lanes *g, enum slot slot)
{
    return slot == SLOT_X || g->alike ? g->x_place : g->z_place;
}

/* Segments one behind the other; one of the second group so far on that its channels and those of its partner
 * in the first are in different banks. */
static int *places_of(struct arena *a, const struct lanes *g, const struct irreps *irreps, int groups, int n,
                      const int *segment)
{
    int *place = NEW_ARRAY(a, int, irreps->n + 1), end = 0;
    for (int s = 0; s < irreps->n; s++) {
        for (int k = 0; k < n && groups > 1; k++)
            if (segment[n + k] == s)
                end += (place[segment[k]] + g->lanes - end % BANKS + 2 * BANKS) % BANKS;
        place[s] = end;
        end += lanes_channels(g) * (2 * irreps->segment[s].ir.l + 1);
    }
    place[irreps->n] = end;
    return place;
}

/* Are components of x and of z in the same places, in rows and in shared memory? */
static bool are_alike(const struct lanes *g)
{
    const struct demand *d = g->nodal->demand;
    const struct operand *x = demand_of_slot(d, SLOT_X), *z = demand_of_slot(d, SLOT_G);
    bool alike = x && z && x->blocks == z->blocks;
    for (int i = 0; alike && i < x->blocks; i++) {
        const struct operand_block *a = &x->block[i], *b = &z->block[i];
        alike = a->offset == b->offset && a->components == b->components &&
                block_is_apart(a) == block_is_apart(b) && a->component == b->component &&
                g->x_place[i] == g->z_place[i];
    }
    return alike;
}

static void add_rows(struct arena *a, struct lanes *g, const struct operand *q)
{
    const struct problem *p = g->nodal->demand->plan->problem;
    const int *place = lanes_places(g, q->slot);
    layout_add(a, &g->stage, q->symbol, "real", kernel_size(g->nodal->demand->kernel), CHUNK,
               place[slot_irreps(p, q->slot)->n], NULL);
    layout_repeat(&g->stage, g->items);
}

/* The rows of a tile: inputs, and outputs that cannot take the place of one, as where other warps read it,
 * too. */
static void lay_out_rows(struct arena *a, struct lanes *g)
{
    const struct demand *d = g->nodal->demand;
    const int inputs = d->kernel->form->inputs;
    bool *taken = NEW_ARRAY(a, bool, inputs + 1);
    g->in_place_of = NEW_ARRAY(a, int, d->outputs + 1);
    for (int i = 0; i < inputs; i++)
        if (kernel_input(d->kernel, i)->index == INDEX_ITEM && demand_reads(d, i))
            add_rows(a, g, kernel_input(d->kernel, i));
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        g->in_place_of[o] = -1;
        for (int i = 0; i < inputs && g->splits == 1 && q->index == INDEX_ITEM && g->in_place_of[o] < 0;
             i++) {
            const struct operand *in = kernel_input(d->kernel, i);
            if (in->index == INDEX_ITEM && demand_reads(d, i) && !taken[i] &&
                (g->alike || in->slot == q->slot)) {
                g->in_place_of[o] = i;
                taken[i] = true;
            }
        }
        if (q->index == INDEX_ITEM && g->in_place_of[o] < 0)
            add_rows(a, g, q);
    }
    layout_add(a, &g->stage, "item", "int64_t", 8, CHUNK, g->items, NULL);
    layout_pad(a, &g->stage, LINE);
}

void lanes_layout(struct arena *a, struct lanes *g)
{
    const struct demand *d = g->nodal->demand;
    const struct problem *p = d->plan->problem;
    const int size = kernel_size(d->kernel);
    g->stage = (struct layout){.note = "The rows of a tile.", .align = LINE};
    g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    g->x_place = places_of(a, g, &p->x, g->rows, g->nx, g->x);
    g->z_place = places_of(a, g, &p->z, g->columns, g->nz, g->z);
    g->alike = are_alike(g);
    lay_out_rows(a, g);
    layout_nest(a, &g->block, "stage", &g->stage, g->stages, NULL);
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (q->slot == SLOT_Y && demand_reads(d, i)) {
            layout_add(a, &g->block, q->symbol, "real", size, CHUNK, g->warps * NODAL_LANES, NULL);
            layout_repeat(&g->block, g->dy);
            layout_repeat(&g->block, 2);
        }
        if (q->slot == SLOT_W && demand_reads(d, i))
            layout_add(a, &g->block, q->symbol, "real", size, CHUNK, lanes_channels(g) * p->paths, NULL);
    }
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        const char *sums = arena_printf(a, "%ssums", q->symbol);
        if (q->slot == SLOT_W) {
            layout_add(a, &g->block, sums, "real", size, CHUNK, lanes_channels(g) * p->paths, NULL);
            layout_repeat(&g->block, g->splits);
        }
        if (q->slot == SLOT_Y && g->splits > 1) {
            layout_add(a, &g->block, sums, "real", size, CHUNK, g->warps * NODAL_LANES, NULL);
            layout_repeat(&g->block, g->dy);
            layout_repeat(&g->block, 2);
        }
    }
    layout_pad(a, &g->block, LINE);
}

void lanes_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct lanes *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->block.name = arena_printf(a, "%s_block", g->name);
}
