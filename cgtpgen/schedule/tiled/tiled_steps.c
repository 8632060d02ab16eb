/* tiled_steps.c - tiled items: the steps around what groups do. */
#include "schedule/tiled/tiled.h"

/* Zeros in the lane's rows of outputs, to which groups add. */
static void clear(struct tiled *g, bool stream, int index, int elements)
{
    for (int i = 0; i < tiled_operands(g); i++) {
        const struct operand *q = tiled_operand(g, i);
        if (!q || !q->output || !q->dim || !tiled_is_row(q) || tiled_streams(g, q) != stream)
            continue;
        const int wide = stream && g->wide ? 16 / kernel_size(g->demand->kernel) : 1;
        const struct argument to = build_at(g->place[i], index, (struct address){0});
        build_call(g->pipeline, "cgtp_clear_lane", (int[]){stream ? elements : (int)q->dim, wide, 0}, 1, &to);
    }
}

static void work_on(struct tiled *g, const struct tiled_part *part)
{
    const bool once = part->groups == 1 && part->group[0].once;
    const struct segment *s = &slot_irreps(g->demand->plan->problem, g->stream)->segment[part->segment];
    struct text words = {.arena = g->arena};
    text_printf(&words, "%s: %dx", g->stream == SLOT_X ? "x" : "z", s->mul);
    irrep_print(&words, s->ir);
    build_note(g->pipeline, text_string(&words));
    if (!once) {
        tiled_enter(g, part, 0);
        clear(g, true, part->first, part->elements);
    }
    for (int i = 0; i < part->groups; i++)
        tiled_group(g, part, &part->group[i]);
    if (!once)
        tiled_leave(g, part, 0);
}

void tiled_steps(struct tiled *g)
{
    struct pipeline *p = g->pipeline;
    int sums = -1;
    build_skewed(p, STEP_FILL, g->tile);
    for (int i = 0; i < tiled_operands(g); i++) {
        const struct operand *q = tiled_operand(g, i);
        if (q && q->dim && !tiled_is_row(q) && !q->output)
            build_copy(p, g->place[i], 0, 0);
        if (q && !tiled_is_row(q) && q->output)
            sums = g->place[i];
    }
    if (sums >= 0)
        build_zero(p, sums);
    build_begin(p, g->tile);
    clear(g, false, 0, 0);
    for (int i = 0; i < g->parts; i++)
        work_on(g, &g->part[i]);
    tiled_store(g, false, 0);
    if (g->stages == 1)
        tiled_copy(g, false, 0, 1);
    build_end(p);
    for (int i = 0; i < p->places; i++)
        if (p->place[i].summed && p->place[i].fields)
            build_store(p, i, 0, 0);
}
