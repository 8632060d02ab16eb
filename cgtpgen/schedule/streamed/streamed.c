/* streamed.c - streamed weights' row in the table of a GPU: see streamed_plan.h. */
#include "schedule/streamed/streamed_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_EDGE_BUFFER)
            areas_add(all, "real", arena_printf(all->arena, "%sedges", demand_output(s->demand, o)->symbol),
                      INDEX_ITEM, demand_operand(s->demand, o)->dim);
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    for (int o = 0; o < s->demand->outputs; o++) {
        bool buffer = s->route[o].kind == ROUTE_EDGE_BUFFER;
        *receiver_row |= buffer && demand_operand(s->demand, o)->index == INDEX_RECEIVER;
        *by_sender |= buffer && demand_operand(s->demand, o)->index == INDEX_SENDER;
    }
}

static void device(struct source *w, const struct schedule *s)
{
    streamed_layout_name(w->arena, s);
    source_set(w, s);
    streamed_kernel(w);
}

/* Is each channel of the segment in one pass, and no lane without a whole access? */
static void check_passes(struct checker *c, const char *kind, int n, const struct streamed_pass *pass,
                         int segment, int channels, int warps)
{
    int next = 0;
    for (int i = 0; i < n; i++) {
        if (pass[i].segment != segment)
            continue;
        check_that(c, pass[i].first == next, "%s of segment %d: channel %d comes after %d", kind, segment,
                   pass[i].first, next);
        check_that(c, pass[i].lanes <= STREAMED_LANES && pass[i].warp < warps,
                   "%s of segment %d: lane %d of warp %d", kind, segment, pass[i].lanes, pass[i].warp);
        next = pass[i].first + pass[i].lanes * pass[i].channels;
    }
    check_that(c, next == channels, "%s of segment %d: %d channels of %d", kind, segment, next, channels);
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct streamed *g = s->own;
    const struct demand *d = s->demand;
    const struct problem *p = d->plan->problem;
    for (int i = 0; i < p->paths; i++) {
        const struct variant *v = streamed_variant(d, i);
        if (!v)
            continue;
        check_passes(c, "rows", g->rows, g->row, p->path[i].x, p->path[i].mul_x, g->warps);
        if (v->zs)
            check_passes(c, "columns", g->columns, g->column, p->path[i].z, p->path[i].mul_z, g->warps);
    }
    for (int o = 0; o < d->outputs; o++)
        for (int other = 0; other < o; other++)
            check_that(c, g->in_place[o] < 0 || g->in_place[o] != g->in_place[other],
                       "%s and %s take the place of the same weights", demand_output(d, other)->name,
                       demand_output(d, o)->name);
    check_that(c, g->stages >= 1, "a ring of %d stages", g->stages);
    const char *wrong = layout_check(c->out->arena, g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block->bytes <= g->device->shared_bytes, "a block of %d bytes of %d that there are",
               g->block->bytes, g->device->shared_bytes);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct streamed *g = s->own;
    report_number(r, "stages", g->stages);
    report_number(r, "teams_per_block", g->teams);
    report_number(r, "warps_per_team", g->warps);
    report_number(r, "shared_bytes_per_block", g->block->bytes);
    report_number(r, "registers_most", device_registers(g->device, g->teams * g->warps));
    report_number(r, "passes_by_columns", g->columns);
    report_number(r, "passes_by_rows", g->rows);
    report_number(r, "instructions_per_item", g->work);
}

const struct evaluation streamed_evaluation = {
    .name = "streamed",
    .words = "streamed weights",
    .header = "cgtp_streamed.h",
    .refuses = streamed_refuses,
    .refuses_path = streamed_refuses_path,
    .plan = streamed_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = streamed_launch,
    .report = report,
};
