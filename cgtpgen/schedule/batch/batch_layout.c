/* batch_layout.c - where everything of a pipelined batch is: rows, stages, results, shared memory. */
#include "schedule/batch/batch_plan.h"

#include "schedule/source.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a lane copies at a time */
};

const char *batch_field(struct arena *a, const char *name, enum slot slot, int number)
{
    return slot == SLOT_Y ? name : arena_printf(a, slot == SLOT_W ? "%sp%d" : "%ss%d", name, number);
}

int batch_by_weights(struct arena *a, const struct problem *p, const struct batch_set *s, int **sorted)
{
    int *path = *sorted = NEW_ARRAY(a, int, s->paths + 1), n = 0;
    for (int i = 0; i < s->paths; i++) {
        int j = n;
        if (!p->path[s->path[i]].weighted)
            continue;
        for (; j > 0 && p->path[path[j - 1]].weight_offset > p->path[s->path[i]].weight_offset; j--)
            path[j] = path[j - 1];
        path[j] = s->path[i];
        n++;
    }
    return n;
}

/* A slice of the channel block of an operand, as its rows are. */
static void add_slice(struct arena *a, const struct batch *g, struct layout *l, const struct operand *o,
                      int number, int components)
{
    layout_add(a, l, batch_field(a, o->symbol, o->slot, number), source_held(g->demand->plan, o),
               operand_size(o), CHUNK, BATCH_LANES * g->channels * components,
               arena_printf(a, "%s, by %s", o->symbol, o->slot == SLOT_W ? "path" : "irreps segment"));
}

static void add_segments_x(struct arena *a, const struct batch *g, struct layout *l, const struct operand *o,
                           int n, const int *x)
{
    for (int i = 0; i < n; i++)
        add_slice(a, g, l, o, x[i], 2 * g->demand->plan->problem->x.segment[x[i]].ir.l + 1);
}

static void add_segments_z(struct arena *a, const struct batch *g, const struct batch_set *s,
                           struct layout *l, const struct operand *o)
{
    for (int i = 0; i < s->zs; i++) {
        const struct path *q = &g->demand->plan->problem->path[s->z[i]];
        add_slice(a, g, l, o, q->z, 2 * q->l3 + 1);
    }
}

static void lay_out_set(struct arena *a, const struct batch *g, struct batch_set *s)
{
    const struct problem *p = g->demand->plan->problem;
    const struct kernel_form *k = g->demand->kernel->form;
    s->stage = (struct layout){.align = CHUNK};
    s->out = (struct layout){.align = CHUNK};
    for (int i = 0; i < k->inputs; i++) {
        const struct operand *in = kernel_input(g->demand->kernel, i);
        int *path, n = batch_by_weights(a, p, s, &path);
        if (!demand_reads(g->demand, i))
            continue;
        for (int j = 0; j < n && in->slot == SLOT_W; j++)
            add_slice(a, g, &s->stage, in, path[j], 1);
        if (in->slot == SLOT_G)
            add_segments_z(a, g, s, &s->stage, in);
        if (in->slot == SLOT_X && g->x_by_set)
            add_segments_x(a, g, &s->stage, in, s->xs, s->x);
    }
    for (int o = 0; o < g->demand->outputs; o++) {
        const struct operand *f = demand_operand(g->demand, o);
        if (f->slot == SLOT_G)
            add_segments_z(a, g, s, &s->out, f);
        if (f->slot == SLOT_X)
            add_segments_x(a, g, &s->out, f, s->ends, s->end);
    }

    s->bytes = s->stage.bytes + s->out.bytes;
    if (!s->stage.bytes)
        layout_add(a, &s->stage, "nothing", "unsigned char", 1, CHUNK, CHUNK, NULL);
}

void batch_layout_slices(struct arena *a, struct batch *g)
{
    const struct kernel_form *k = g->demand->kernel->form;
    g->rows = (struct layout){.note = "What is there for all path sets of a channel block.", .align = CHUNK};
    g->wide = (struct layout){.align = CHUNK};

    for (int i = 0; i < k->inputs; i++) {
        const struct operand *in = kernel_input(g->demand->kernel, i);
        if (!demand_reads(g->demand, i))
            continue;
        for (int part = 0; part < g->parts && in->slot == SLOT_X && !g->x_by_set; part++)
            add_segments_x(a, g, &g->rows, in, g->part[part].xs, g->part[part].x);
        const bool narrow = in->slot == SLOT_Y && operand_size(in) == 2;
        if (in->slot == SLOT_Y)
            layout_add(a, &g->rows, in->symbol, source_held(g->demand->plan, in), operand_size(in), CHUNK,
                       narrow ? (in->dim + 1) / 2 * 2 : in->dim, NULL);
        if (narrow)
            layout_add(a, &g->wide, in->symbol, "real", kernel_size(g->demand->kernel), CHUNK, in->dim, NULL);
    }

    if (!g->rows.bytes)
        layout_add(a, &g->rows, "nothing", "unsigned char", 1, CHUNK, CHUNK, NULL);
    layout_pad(a, &g->rows, LINE);
    layout_pad(a, &g->wide, CHUNK);
    for (int s = 0; s < g->sets; s++)
        lay_out_set(a, g, &g->set[s]);
}

void batch_layout_block(struct arena *a, struct batch *g)
{
    g->stage = (struct layout){.note = "What comes in for a path set: slices of the channel block.",
                               .align = LINE,
                               .alternatives = true};
    g->out = (struct layout){.align = CHUNK, .alternatives = true};
    g->warp = (struct layout){.note = "The shared memory of a warp.", .align = LINE};
    g->block = NEW(a, struct layout);
    *g->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    for (int s = 0; s < g->sets; s++) {
        const char *name = arena_printf(a, "set%d", s);
        layout_nest(a, &g->stage, name, &g->set[s].stage, 0, NULL);
        if (g->set[s].out.bytes)
            layout_nest(a, &g->out, name, &g->set[s].out, 0, NULL);
    }
    g->stage.bytes = (g->stage.bytes + LINE - 1) / LINE * LINE;
    layout_nest(a, &g->warp, "ring", &g->stage, g->stages, NULL);
    layout_nest(a, &g->warp, "rows", &g->rows, g->buffers, NULL);
    if (g->wide.bytes)
        layout_nest(a, &g->warp, "wide", &g->wide, 0, "rows of y, widened");
    if (g->out.bytes)
        layout_nest(a, &g->warp, "out", &g->out, 0, "rows on their way to memory");

    layout_pad(a, &g->warp, LINE);
    layout_nest(a, g->block, "warp", &g->warp, g->warps, NULL);
}

void batch_layout_name(struct arena *a, const struct schedule *schedule)
{
    struct batch *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->rows.name = arena_printf(a, "%s_rows", g->name);
    g->stage.name = arena_printf(a, "%s_stage", g->name);
    g->warp.name = arena_printf(a, "%s_warp", g->name);
    g->block->name = arena_printf(a, "%s_block", g->name);
}
