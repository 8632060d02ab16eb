/* gemm_layout.c - items by GEMM: what is where in shared memory. */
#include "schedule/gemm/gemm_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a thread copies at a time */
};

int gemm_pitch(int64_t elements)
{
    const int64_t pitch = (elements + 3) / 8 * 8 + 4;
    return pitch < LAYOUT_MOST ? (int)pitch : LAYOUT_MOST;
}

/* A row of each item of a tile. */
static void add_rows(struct arena *a, struct layout *l, const struct operand *q, int size)
{
    layout_add(a, l, q->symbol, "real", size, CHUNK, gemm_pitch(q->dim), NULL);
    layout_repeat(l, GEMM_ITEMS);
}

static void add_inputs(struct arena *a, struct layout *l, const struct demand *d)
{
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->index == INDEX_ITEM)
            add_rows(a, l, kernel_input(d->kernel, i), kernel_size(d->kernel));
    layout_pad(a, l, CHUNK);
}

/* All rows of the weights of an input. */
static int64_t weights_of(const struct demand *d)
{
    int64_t elements = 0;
    for (int p = 0; p < d->plan->problem->paths; p++) {
        const struct path *path = &d->plan->problem->path[p];
        if (d->variant_of[p] >= 0 && elements < LAYOUT_MOST)
            elements += (int64_t)path->mul_x * path->mul_y * gemm_pitch(path->mul_z);
    }
    return elements;
}

void gemm_layout_rows(struct arena *a, struct gemm *g)
{
    const struct demand *d = g->rows;
    const int size = kernel_size(d->kernel);
    g->tile = (struct layout){.note = "What a team reads for a tile.", .align = CHUNK};
    g->out = (struct layout){.note = "What becomes of it.", .align = CHUNK};
    g->weights = (struct layout){.note = "Weights that all items share.", .align = CHUNK};
    add_inputs(a, &g->tile, d);
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        add_rows(a, &g->out, q, size);
        if (q->slot == SLOT_Y)
            layout_repeat(&g->out, g->members);
    }
    layout_pad(a, &g->out, CHUNK);
    for (int i = 0; i < d->kernel->form->inputs && g->resident; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->slot == SLOT_W)
            layout_add(a, &g->weights, kernel_input(d->kernel, i)->symbol, "real", size, CHUNK,
                       weights_of(d) * (g->split ? 2 : 1), NULL);
    layout_pad(a, &g->weights, CHUNK);
    g->team = (struct layout){.note = "The shared memory of a team.", .align = LINE};
    layout_nest(a, &g->team, "ring", &g->tile, g->stages, NULL);
    layout_nest(a, &g->team, "out", &g->out, 0, NULL);
    layout_pad(a, &g->team, LINE);
    g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, &g->block, "team", &g->team, g->teams, NULL);
    if (g->weights.bytes)
        layout_nest(a, &g->block, "weights", &g->weights, 0, NULL);
    layout_pad(a, &g->block, LINE);
}

void gemm_layout_sums(struct arena *a, struct gemm *g)
{
    g->sum_tile = (struct layout){.note = "What a block reads for a tile.", .align = CHUNK};
    add_inputs(a, &g->sum_tile, g->sums);
    g->sum_block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, &g->sum_block, "ring", &g->sum_tile, g->sum_stages, NULL);
    layout_pad(a, &g->sum_block, LINE);
}

void gemm_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct gemm *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->tile.name = arena_printf(a, "%s_tile", g->name);
    g->team.name = arena_printf(a, "%s_team", g->name);
    g->block.name = arena_printf(a, "%s_block", g->name);
    g->sum_tile.name = arena_printf(a, "%s_sum_tile", g->name);
    g->sum_block.name = arena_printf(a, "%s_sum_block", g->name);
}
