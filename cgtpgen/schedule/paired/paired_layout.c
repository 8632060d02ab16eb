/* paired_layout.c - paired items: where rows, results and sums are in shared memory. */
#include "schedule/paired/paired_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a thread copies at a time */
};

int paired_threads(const struct paired *g)
{
    return g->warps / g->groups * PAIRED_LANES;
}

int paired_rounds(const struct paired *g)
{
    return (g->sets + g->groups - 1) / g->groups;
}

bool paired_reads_once(const struct paired *g)
{
    bool once = paired_rounds(g) == 1;
    for (int i = 0; i < g->demand->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(g->demand->kernel, i);
        once &= q->slot != SLOT_W || q->index == INDEX_SHARED || !demand_reads(g->demand, i);
    }
    return once;
}

int64_t paired_weights_before(const struct paired *g, int set)
{
    int64_t sum = 0;
    for (int i = 0; i < set; i++)
        sum += (int64_t)g->set[i].paths * g->set[i].lanes;
    return sum;
}

int64_t paired_sums_before(const struct paired *g, int set)
{
    int64_t sum = 0;
    for (int i = 0; i < set; i++)
        sum += (int64_t)g->set[i].paths * paired_threads(g);
    return sum;
}

bool paired_looks_ahead(const struct paired *g)
{
    return g->owner != INDEX_ITEM && g->items == 1 && !g->direct;
}

bool paired_owns(const struct paired *g, int output)
{
    return g->owner != INDEX_ITEM && demand_operand(g->demand, output)->index == g->owner;
}

bool paired_keeps(const struct paired *g, int input)
{
    const struct operand *q = kernel_input(g->demand->kernel, input);
    return g->keeps_weights && q->slot == SLOT_W && q->index == INDEX_SHARED &&
           demand_reads(g->demand, input);
}

static void add_rows(struct arena *a, const struct paired *g, struct layout *l, const struct operand *o)
{
    layout_add(a, l, o->symbol, "real", kernel_size(g->demand->kernel), CHUNK, o->dim, NULL);
    layout_repeat(l, g->items);
}

static void lay_out_rows(struct arena *a, struct paired *g)
{
    const struct demand *d = g->demand;
    const int size = kernel_size(d->kernel);
    g->rows = (struct layout){.note = "The rows of items.", .align = LINE};
    g->out = (struct layout){.note = "What they become.", .align = LINE};
    g->nodes = (struct layout){.note = "Sums for nodes.", .align = LINE};
    g->sums = (struct layout){.note = "Gradients of weights, by set, path and thread.", .align = CHUNK};
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->index != INDEX_SHARED)
            add_rows(a, g, &g->rows, kernel_input(d->kernel, i));
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->index == INDEX_SHARED)
            layout_add(a, &g->sums, q->symbol, "real", size, CHUNK, paired_sums_before(g, g->sets), NULL);
        else
            add_rows(a, g, paired_owns(g, o) ? &g->nodes : &g->out, q);
    }
    if (!g->rows.bytes)
        layout_add(a, &g->rows, "nothing", "unsigned char", 1, CHUNK, CHUNK, NULL);
    layout_pad(a, &g->rows, LINE);
    layout_pad(a, &g->out, LINE);
    layout_pad(a, &g->nodes, LINE);
    layout_pad(a, &g->sums, CHUNK);
}

void paired_layout(struct arena *a, struct paired *g)
{
    const struct demand *d = g->demand;
    if (g->direct) {
        g->block = NEW(a, struct layout); /* none */
        return;
    }
    lay_out_rows(a, g);
    g->team = (struct layout){.note = "The shared memory of a team.", .align = LINE};
    g->room = (struct layout){.note = "Rows, then results.", .alternatives = true, .align = LINE};
    struct layout *room = g->in_place ? &g->room : &g->team;
    layout_nest(a, room, "rows", &g->rows, 0, NULL);
    if (g->out.bytes)
        layout_nest(a, room, "out", &g->out, 0, NULL);
    if (g->in_place)
        layout_nest(a, &g->team, "room", &g->room, 0, NULL);
    if (g->nodes.bytes)
        layout_nest(a, &g->team, "nodes", &g->nodes, 0, NULL);
    if (g->sums.bytes)
        layout_nest(a, &g->team, "sums", &g->sums, 0, NULL);
    layout_pad(a, &g->team, LINE);
    g->block = NEW(a, struct layout);
    *g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, g->block, "team", &g->team, g->teams, NULL);
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (paired_keeps(g, i))
            layout_add(a, g->block, kernel_input(d->kernel, i)->symbol, "real", kernel_size(d->kernel), CHUNK,
                       paired_weights_before(g, g->sets), NULL);
    layout_pad(a, g->block, LINE);
}

void paired_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct paired *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    if (g->direct)
        return;
    g->team.name = arena_printf(a, "%s_team", g->name);
    g->block->name = arena_printf(a, "%s_block", g->name);
}
