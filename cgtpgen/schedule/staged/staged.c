/* staged.c - staged items' row in the table of a GPU: see staged_plan.h. */
#include "schedule/staged/staged_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/item_rows.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    item_rows_areas(all, s, "cgtp_multiprocessors()", NULL);
}

static void device(struct source *w, const struct schedule *s)
{
    staged_layout_name(w->arena, s);
    source_set(w, s);
    staged_kernel(w);
}

/* Is each channel of the segments that have paths in one pass, in order, of a lane that there is? */
static void check_passes(struct checker *c, const char *kind, int n, const struct staged_pass *pass,
                         const struct staged_chain *paths, const struct irreps *irreps, int warps)
{
    int *next = NEW_ARRAY(c->out->arena, int, irreps->n + 1);
    for (int i = 0; i < n; i++) {
        const int segment = pass[i].segment;
        check_that(c, pass[i].first == next[segment], "%s of segment %d: channel %d comes after %d", kind,
                   segment, pass[i].first, next[segment]);
        check_that(c, pass[i].lanes <= STAGED_LANES && pass[i].warp < warps,
                   "%s of segment %d: lane %d of warp %d", kind, segment, pass[i].lanes, pass[i].warp);
        next[segment] = pass[i].first + pass[i].lanes * pass[i].channels;
    }
    for (int s = 0; s < irreps->n; s++)
        check_that(c, paths->first[s] < 0 || next[s] == irreps->segment[s].mul,
                   "%s of segment %d: %d channels of %d", kind, s, next[s], irreps->segment[s].mul);
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct staged *g = s->own;
    const struct demand *d = s->demand;
    const struct problem *p = d->plan->problem;
    check_passes(c, "rows", g->rows, g->row, &g->by_x, &p->x, g->warps);
    if (demand_outputs_of(d, SLOT_G))
        check_passes(c, "columns", g->columns, g->column, &g->by_z, &p->z, g->warps);
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
    const struct staged *g = s->own;
    report_ring(r, "stages", g->stages, "team", "item");
    report_number(r, "teams_per_block", g->teams);
    report_number(r, "warps_per_team", g->warps);
    report_part(r, "shared_bytes_per_block", g->block->bytes, g->device->shared_bytes);
    report_number(r, "registers_most", device_registers(g->device, g->teams * g->warps));
    report_number(r, "passes_by_columns", g->columns);
    report_number(r, "passes_by_rows", g->rows);
    report_number(r, "instructions_per_item", g->work);
    report_layout(r, "shared_memory", g->block);
}

const struct evaluation staged_evaluation = {
    .name = "staged",
    .words = "staged items",
    .header = "cgtp_staged.h",
    .refuses = staged_refuses,
    .refuses_path = staged_refuses_path,
    .plan = staged_plan,
    .check = check,
    .areas = areas,
    .reads_graph = item_rows_reads_graph,
    .device = device,
    .launch = staged_launch,
    .report = report,
};
