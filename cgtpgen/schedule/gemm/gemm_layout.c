/* gemm_layout.c - items by GEMM: what is where in shared memory. */
#include "schedule/gemm/gemm_plan.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a thread copies at a time */
};

static int pitch_of(int64_t elements, int every, int over)
{
    const int64_t pitch = (elements - over + every - 1) / every * every + over;
    return pitch < LAYOUT_MOST ? (int)pitch : LAYOUT_MOST;
}

int gemm_pitch(int64_t elements)
{
    const int few = 4; /* eight such rows are in different banks, one behind the other */
    return elements <= few ? few : pitch_of(elements, 16, 8);
}

int gemm_sum_pitch(const struct demand *d, int64_t elements)
{
    return kernel_size(d->kernel) == 4 ? gemm_pitch(elements) : pitch_of(elements, 8, 4);
}

/* A row of each item of a tile. */
static void add_rows(struct arena *a, struct layout *l, const struct operand *q, int size, int items,
                     int pitch)
{
    layout_add(a, l, q->symbol, "real", size, CHUNK, pitch, NULL);
    layout_repeat(l, items);
}

/* Rows of an input, if they are in shared memory. */
static void add_input(struct arena *a, struct layout *l, const struct demand *d, int input, int items,
                      int pitch)
{
    const struct operand *q = kernel_input(d->kernel, input);
    if (demand_reads(d, input) && q->index == INDEX_ITEM)
        add_rows(a, l, q, kernel_size(d->kernel), items, pitch);
}

void gemm_layout_rows(struct arena *a, struct gemm_rows *r)
{
    const struct demand *d = r->demand;
    const int size = kernel_size(d->kernel);
    r->tile = (struct layout){.note = "What a team reads for a tile.", .align = CHUNK};
    r->out = (struct layout){.note = "What its warps have of slot y.", .align = CHUNK};
    r->fields = (struct layout){.note = "Weights that all items share.", .align = CHUNK};
    for (int i = 0; i < d->kernel->form->inputs; i++)
        add_input(a, &r->tile, d, i, GEMM_ITEMS, gemm_pitch(gemm_rows_length(r, i)));
    layout_pad(a, &r->tile, CHUNK);
    for (int o = 0; o < d->outputs; o++)
        if (gemm_sums_rows(r, o)) {
            add_rows(a, &r->out, demand_operand(d, o), size, GEMM_ITEMS,
                     gemm_pitch(demand_operand(d, o)->dim));
            layout_repeat(&r->out, gemm_apart(r) ? r->members : 1);
        }
    layout_pad(a, &r->out, CHUNK);
    for (int i = 0; i < d->kernel->form->inputs && r->resident; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->slot == SLOT_W)
            layout_add(a, &r->fields, kernel_input(d->kernel, i)->symbol, "real", size, CHUNK, r->weights,
                       NULL);
    layout_pad(a, &r->fields, CHUNK);
    r->team = (struct layout){.note = "The shared memory of a team.", .align = LINE};
    layout_nest(a, &r->team, "ring", &r->tile, r->stages, NULL);
    if (r->out.bytes)
        layout_nest(a, &r->team, "out", &r->out, 0, NULL);
    layout_pad(a, &r->team, LINE);
    r->block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, &r->block, "team", &r->team, r->teams, NULL);
    if (r->fields.bytes)
        layout_nest(a, &r->block, "weights", &r->fields, 0, NULL);
    layout_pad(a, &r->block, LINE);
}

void gemm_layout_sums(struct arena *a, struct gemm *g)
{
    g->sum_tile = (struct layout){.note = "What a block reads for a tile.", .align = CHUNK};
    for (int i = 0; i < g->sums->kernel->form->inputs; i++)
        add_input(a, &g->sum_tile, g->sums, i, g->sum_items, gemm_sum_pitch(g->sums, gemm_sum_length(g, i)));
    layout_pad(a, &g->sum_tile, CHUNK);
    g->sum_block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(a, &g->sum_block, "ring", &g->sum_tile, g->sum_stages, NULL);
    layout_pad(a, &g->sum_block, LINE);
}

void gemm_layout_name(struct arena *a, const struct schedule *schedule)
{
    static const char *const kind[] = {[GEMM_FORTH] = "forth", [GEMM_BACK] = "back"};
    struct gemm *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    for (int i = 0; i < GEMM_KINDS; i++) {
        struct gemm_rows *r = &g->rows[i];
        r->name = arena_printf(a, "%s_%s", g->name, kind[i]);
        r->tile.name = arena_printf(a, "%s_tile", r->name);
        r->team.name = arena_printf(a, "%s_team", r->name);
        r->block.name = arena_printf(a, "%s_block", r->name);
    }
    g->sum_tile.name = arena_printf(a, "%s_sum_tile", g->name);
    g->sum_block.name = arena_printf(a, "%s_sum_block", g->name);
}
