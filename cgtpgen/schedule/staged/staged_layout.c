/* staged_layout.c - staged items: where an item's rows, its results and T are in shared memory. */
#include "schedule/staged/staged_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a thread copies at a time */
};

int staged_rows(const struct path *p)
{
    return p->mul_y;
}

bool staged_connects(const struct path *p)
{
    return p->mode == MODE_UVW;
}

bool staged_takes_ys(const struct path *p)
{
    return !staged_connects(p) || staged_rows(p) > 1;
}

int staged_row_length(const struct path *p)
{
    return !p->weighted ? 0 : staged_connects(p) ? p->mul_y * p->mul_z : p->mul_y;
}

const char *staged_tensor(struct arena *a, const struct path *p, int t)
{
    return arena_printf(a, "t%dp%d", t, p->number);
}

bool staged_keeps(const struct variant *v, int t)
{
    for (int i = 0; i < v->zs; i++)
        if (v->z[i].t == t)
            return true;
    return false;
}

bool staged_divides(const struct staged *g)
{
    return g->divisible && g->warps > 1;
}

bool staged_by_warps(const struct staged *g, int o)
{
    const struct operand *q = demand_operand(g->demand, o);
    return q->index != INDEX_SHARED &&
           (q->slot == SLOT_Y || (q->slot != SLOT_W && staged_divides(g) && !g->apart[o]));
}

bool staged_is_common(const struct operand *q)
{
    return q->slot == SLOT_W && q->index == INDEX_SHARED;
}

bool staged_in_parts(const struct staged *g)
{
    return g->parts > 1;
}

int staged_part_length(const struct staged *g)
{
    int most = 0;
    for (int i = 0; i < g->parts; i++)
        most = most > g->part[i].to ? most : g->part[i].to;
    return most;
}

const struct variant *staged_variant(const struct staged *g, int path)
{
    return g->passes[path] ? &g->demand->variant[g->demand->variant_of[path]] : NULL;
}

/* Room for a row, or for a part of it. */
static void add_row(struct arena *a, const struct staged *g, struct layout *l, const struct operand *o,
                    bool part)
{
    layout_add(a, l, o->symbol, "real", kernel_size(g->demand->kernel), CHUNK,
               part ? staged_part_length(g) : o->dim, NULL);
}

/* The rows that an item reads; in parts, the weights apart. */
static void lay_out_inputs(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    const bool parts = staged_in_parts(g);
    g->rows = (struct layout){.note = "The rows that an item reads, but weights.", .align = LINE};
    g->stage = (struct layout){
        .note = parts ? "A part of an item's weights." : "The rows that an item reads.", .align = LINE};
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (!demand_reads(d, i) || q->index == INDEX_SHARED)
            continue;
        const bool part = parts && q->slot == SLOT_W;
        add_row(a, g, parts && !part ? &g->rows : &g->stage, q, part);
    }
    struct layout *const both[] = {&g->rows, &g->stage};
    for (int i = 0; i < 2; i++) {
        if (!both[i]->bytes)
            layout_add(a, both[i], "nothing", "unsigned char", 1, CHUNK, CHUNK, NULL);
        layout_pad(a, both[i], LINE);
    }
}

/* Weights that all items share. */
static void lay_out_common(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    g->common = (struct layout){.note = "The weights that all items share.", .align = LINE};
    for (int i = 0; i < d->kernel->form->inputs && g->keeps; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (demand_reads(d, i) && staged_is_common(q))
            add_row(a, g, &g->common, q, false);
    }
    layout_pad(a, &g->common, LINE);
}

static void lay_out_results(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    g->sums = (struct layout){.note = "Sums over the team's items.", .align = CHUNK};
    g->out = (struct layout){.note = "What an item's rows become.", .align = CHUNK};
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->slot == SLOT_W && g->in_place[o] >= 0)
            continue;
        add_row(a, g, q->index == INDEX_SHARED ? &g->sums : &g->out, q,
                staged_in_parts(g) && q->slot == SLOT_W);
        if (staged_by_warps(g, o))
            layout_repeat(&g->out, g->warps);
    }
    for (int p = 0; p < d->plan->problem->paths; p++) {
        const struct variant *v = staged_variant(g, p);
        const struct path *q = &d->plan->problem->path[p];
        for (int t = 0; v && t < v->ts; t++)
            if (staged_keeps(v, t))
                layout_add(a, &g->out, staged_tensor(a, q, t), "real", kernel_size(d->kernel), CHUNK,
                           (int64_t)q->mul_x * staged_rows(q) * (2 * q->l3 + 1), "T, by path");
    }
    if (g->scratch) {
        layout_add(a, &g->out, "scratch", "real", kernel_size(d->kernel), CHUNK, g->scratch, NULL);
        if (staged_divides(g))
            layout_repeat(&g->out, g->warps);
    }
    layout_pad(a, &g->out, CHUNK);
    layout_pad(a, &g->sums, CHUNK);
}

void staged_layout(struct arena *a, struct staged *g, int stages, int teams)
{
    g->stages = stages;
    g->teams = teams;
    g->items = (stages + g->parts - 2) / g->parts + 1; /* of the parts that are worked on and under way */
    lay_out_inputs(a, g);
    lay_out_results(a, g);
    lay_out_common(a, g);
    g->team = (struct layout){.note = "The shared memory of a team.", .align = LINE};
    if (staged_in_parts(g))
        layout_nest(a, &g->team, "rows", &g->rows, g->items, NULL);
    layout_nest(a, &g->team, "ring", &g->stage, stages, NULL);
    if (g->out.bytes)
        layout_nest(a, &g->team, "out", &g->out, 0, NULL);
    if (g->sums.bytes)
        layout_nest(a, &g->team, "sums", &g->sums, 0, NULL);
    layout_pad(a, &g->team, LINE);
    g->block = NEW(a, struct layout);
    *g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, g->block, "team", &g->team, teams, NULL);
    if (g->common.bytes)
        layout_nest(a, g->block, "common", &g->common, 0, NULL);
}

void staged_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct staged *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->rows.name = arena_printf(a, "%s_rows", g->name);
    g->stage.name = arena_printf(a, "%s_stage", g->name);
    g->common.name = arena_printf(a, "%s_common", g->name);
    g->team.name = arena_printf(a, "%s_team", g->name);
    g->block->name = arena_printf(a, "%s_block", g->name);
}
