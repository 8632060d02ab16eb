/* tiled_layout.c - tiled items: where the rows of a tile are in shared memory. */
#include "schedule/tiled/tiled_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a thread copies at a time */
};

/* A row of each lane: an odd number of pieces that a lane reads at a time. */
static void add_rows(struct arena *a, const struct tiled *g, struct layout *l, const struct operand *q, int n,
                     bool wide)
{
    const int size = kernel_size(g->demand->kernel), per = wide ? CHUNK / size : 1;
    const int pitch = ((n + per - 1) / per | 1) * per;
    layout_add(a, l, q->symbol, "real", size, CHUNK, pitch, NULL);
    layout_repeat(l, TILED_LANES);
}

static void lay_out_rows(struct arena *a, struct tiled *g)
{
    const struct demand *d = g->demand;
    const int size = kernel_size(d->kernel), inputs = d->kernel->form->inputs;
    int longest = 1;
    for (int i = 0; i < g->parts; i++)
        if (g->part[i].elements / g->part[i].pieces > longest)
            longest = g->part[i].elements / g->part[i].pieces;
    g->stage = (struct layout){.note = "What a tile reads for a part of the stream.", .align = CHUNK};
    g->rows = (struct layout){.note = "What a tile reads besides.", .align = CHUNK};
    g->leaving = (struct layout){.note = "What becomes of a part of the stream.", .align = CHUNK};
    g->out = (struct layout){.note = "What becomes of the tile's other rows.", .align = CHUNK};
    g->weights = (struct layout){.note = "Weights that all items share.", .align = CHUNK};
    g->sums = (struct layout){.note = "Sums over the warp's items.", .align = CHUNK};
    for (int i = 0; i < inputs + d->outputs; i++) {
        const bool input = i < inputs;
        const struct operand *q = input ? kernel_input(d->kernel, i) : demand_operand(d, i - inputs);
        if (input && !demand_reads(d, i))
            continue;
        if (!tiled_is_row(q))
            layout_add(a, input ? &g->weights : &g->sums, q->symbol, "real", size, CHUNK, (int)q->dim, NULL);
        else if (!input && g->in_place[i - inputs] >= 0)
            continue;
        else if (tiled_streams(g, q))
            add_rows(a, g, input ? &g->stage : &g->leaving, q, longest, g->wide);
        else
            add_rows(a, g, input ? &g->rows : &g->out, q, (int)q->dim, false);
    }
    struct layout *all[] = {&g->stage, &g->rows, &g->leaving, &g->out, &g->weights, &g->sums};
    for (int i = 0; i < 6; i++)
        layout_pad(a, all[i], CHUNK);
}

void tiled_layout(struct arena *a, struct tiled *g, int stages, int warps)
{
    g->stages = stages;
    g->warps = warps;
    lay_out_rows(a, g);
    g->warp = (struct layout){.note = "The shared memory of a warp.", .align = LINE};
    if (g->stage.bytes)
        layout_nest(a, &g->warp, "ring", &g->stage, stages, NULL);
    layout_nest(a, &g->warp, "rows", &g->rows, stages > 1 ? 2 : 1, NULL);
    if (g->leaving.bytes)
        layout_nest(a, &g->warp, "leaving", &g->leaving, 0, NULL);
    if (g->out.bytes)
        layout_nest(a, &g->warp, "out", &g->out, 0, NULL);
    if (g->sums.bytes)
        layout_nest(a, &g->warp, "sums", &g->sums, 0, NULL);
    layout_pad(a, &g->warp, LINE);
    g->block = NEW(a, struct layout);
    *g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, g->block, "warp", &g->warp, warps, NULL);
    if (g->weights.bytes)
        layout_nest(a, g->block, "weights", &g->weights, 0, NULL);
    layout_pad(a, g->block, LINE);
}

void tiled_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct tiled *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->stage.name = arena_printf(a, "%s_stage", g->name);
    g->rows.name = arena_printf(a, "%s_rows", g->name);
    g->warp.name = arena_printf(a, "%s_warp", g->name);
    g->block->name = arena_printf(a, "%s_block", g->name);
}
