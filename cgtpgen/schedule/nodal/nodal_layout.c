/* nodal_layout.c - matrices of nodes: where rows, matrices and sums are in shared memory. */
#include "schedule/nodal/nodal_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16, /* what a lane copies at a time */
    BANKS = 32
};

int nodal_tiles(int components)
{
    return (components + 15) / 16;
}

int nodal_blocks(int components)
{
    return (components + 7) / 8;
}

/* The least number from `least` on that is so much more than a multiple of `of`. */
static int round_to(int least, int more, int of)
{
    return (least - more + of - 1) / of * of + more;
}

/* Are matrices read by eight columns of four rows, or only by eight rows of four columns? */
static bool reads_columns(const struct nodal *g)
{
    bool columns = false;
    for (int i = 0; i < g->operands; i++)
        columns |= !g->operand[i].back;
    return columns;
}

int nodal_pitch(const struct nodal *g)
{
    return reads_columns(g) ? round_to(g->dz, 8, 16) : round_to(g->dz, 4, 8);
}

struct nodal_spread nodal_spread(const struct nodal *g)
{
    const bool columns = reads_columns(g);
    struct nodal_spread s = {round_to(g->dx * nodal_pitch(g), 2, BANKS), columns ? 4 : 2, columns ? 8 : 4, 0};
    s.elements = NODAL_CHANNELS * s.channel + NODAL_CHANNELS / s.group * s.gap;
    return s;
}

int nodal_side(const struct nodal *g, enum slot slot)
{
    return slot == SLOT_X ? g->dx : slot == SLOT_Y ? g->dy : g->dz;
}

int nodal_row_elements(const struct nodal *g, enum slot slot)
{
    return nodal_side(g, slot) * NODAL_CHANNELS + NODAL_PAD;
}

/* Elements of the operand by so many rows. */
static void add(struct arena *a, const struct nodal *g, struct layout *l, const char *name, int64_t elements,
                int rows)
{
    layout_add(a, l, name, "real", kernel_size(g->demand->kernel), CHUNK, elements, NULL);
    layout_repeat(l, rows);
}

/* What belongs to a node, or to all of them. */
static void lay_out_nodes(struct arena *a, struct nodal *g)
{
    const struct demand *d = g->demand;
    const int paths = d->plan->problem->paths, size = kernel_size(d->kernel);
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (q->slot == SLOT_Y && demand_reads(d, i))
            add(a, g, &g->block, q->symbol, nodal_row_elements(g, SLOT_Y), 2);
        if (q->slot == SLOT_W && demand_reads(d, i))
            layout_add(a, &g->block, q->symbol, "real", size, CHUNK, NODAL_CHANNELS * paths, NULL);
    }
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->slot == SLOT_Y) {
            add(a, g, &g->block, arena_printf(a, "%ssums", q->symbol), nodal_row_elements(g, SLOT_Y),
                g->copies);
            layout_repeat(&g->block, NODAL_CHANNELS);
        }
        if (q->slot == SLOT_W) {
            layout_add(a, &g->block, arena_printf(a, "%ssums", q->symbol), "real", size, CHUNK,
                       NODAL_CHANNELS * paths, NULL);
            layout_repeat(&g->block, g->flow_abreast);
        }
    }
}

/* Matrices are in memory only before a node's rows and after them. */
static void lay_out_matrices(struct arena *a, struct nodal *g)
{
    const int most = g->matrices > g->outers ? g->matrices : g->outers;
    g->now = (struct layout){.align = LINE, .alternatives = true};
    if (g->out.bytes)
        layout_nest(a, &g->now, "out", &g->out, 2, NULL);
    if (most) {
        add(a, g, &g->now, "matrix", nodal_spread(g).elements, most);
    }
    if (g->now.bytes)
        layout_nest(a, &g->block, "now", &g->now, 0, NULL);
}

void nodal_layout(struct arena *a, struct nodal *g)
{
    const struct demand *d = g->demand;
    g->stage = (struct layout){.note = "The rows of a tile.", .align = LINE};
    g->out = (struct layout){.note = "What they become.", .align = LINE};
    g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (q->index == INDEX_ITEM && demand_reads(d, i))
            add(a, g, &g->stage, q->symbol, nodal_row_elements(g, q->slot), g->items);
    }
    layout_add(a, &g->stage, "item", "int64_t", 8, CHUNK, g->items, NULL);
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->index == INDEX_ITEM)
            add(a, g, &g->out, q->symbol, nodal_row_elements(g, q->slot), g->items);
    }
    layout_pad(a, &g->stage, LINE);
    layout_pad(a, &g->out, LINE);
    layout_nest(a, &g->block, "stage", &g->stage, g->stages, NULL);
    lay_out_matrices(a, g);
    lay_out_nodes(a, g);
    layout_pad(a, &g->block, LINE);
}

void nodal_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct nodal *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->block.name = arena_printf(a, "%s_block", g->name);
}
