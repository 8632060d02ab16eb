/* gemm.c - items by GEMM, its row in the table of a GPU: see gemm_plan.h. */
#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/gemm/gemm_emit.h"
#include "schedule/parts.h"
#include "schedule/path.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    const struct gemm *g = s->own;
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_area(all, demand_operand(s->demand, o),
                       arena_printf(all->arena, "cgtp_gemm_parts(%d, %d)", g->fit, g->sets));
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    (void)s;
    (void)receiver_row;
    (void)by_sender;
}

static void device(struct source *w, const struct schedule *s)
{
    const struct gemm *g = s->own;
    struct out o = {.text = w->out};
    struct gemm_writer rows = {w, &o, g, g->rows}, sums = {w, &o, g, g->sums};
    gemm_layout_name(w->arena, s);
    source_set(w, s);
    if (g->rows) {
        layout_print(&o, &g->tile);
        layout_print(&o, &g->team);
        layout_print(&o, &g->block);
    }
    if (g->sums) {
        layout_print(&o, &g->sum_tile);
        layout_print(&o, &g->sum_block);
    }
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    if (g->rows)
        gemm_functions(&rows);
    if (g->sums)
        gemm_functions(&sums);
    if (g->rows)
        gemm_rows_kernel(&rows);
    if (g->sums)
        gemm_sums_kernel(&sums);
    for (int i = 0; i < s->demand->outputs; i++)
        if (s->route[i].kind == ROUTE_PARTS)
            parts_sum(w, &o, demand_operand(s->demand, i));
}

static void launch(struct source *w, const struct schedule *s)
{
    source_set(w, s);
    const struct gemm *g = s->own;
    const char *items = source_rows(w->plan, INDEX_ITEM);
    if (g->rows)
        source_step(
            w, arena_printf(
                   w->arena,
                   "cgtp_launch_early(code::%s, cgtp_gemm_grid(%s, 1, %d), %d, sizeof(code::%s), stream, l)",
                   g->name, items, g->teams, g->teams * g->members * 32, g->block.name));
    if (!g->sums)
        return;
    const char *parts = arena_printf(w->arena, "cgtp_gemm_parts(%s, %d, %d)", items, g->fit, g->sets);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s_sums, %s * %d, %d, sizeof(code::%s), stream, l)",
                                g->name, parts, g->sets, g->warps * 32, g->sum_block.name));
    for (int o = 0; o < w->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_launch(w, demand_operand(w->demand, o), parts);
}

/* The block, as it is laid out. */
static void check_block(struct checker *c, const struct gemm *g, const struct layout *block, const char *of)
{
    const char *wrong = layout_check(c->out->arena, block);
    check_that(c, !wrong, "shared memory%s: %s", of, wrong);
    check_that(c, block->bytes <= g->device->shared_bytes, "a block%s of %d bytes of %d that there are", of,
               block->bytes, g->device->shared_bytes);
}

static void check_rows(struct checker *c, const struct gemm *g)
{
    const struct demand *d = g->rows;
    const struct problem *p = d->plan->problem;
    const int outputs = demand_outputs_of(d, SLOT_G),
              back = demand_outputs_of(d, SLOT_X) + demand_outputs_of(d, SLOT_Y);
    int first = 0, *forth_times = NEW_ARRAY(c->out->arena, int, p->paths + 1),
        *back_times = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < g->spans; i++) {
        const struct gemm_span *q = &g->span[i];
        check_that(c, q->first == first, "chunks of span %d begin at %d, not %d", i, q->first, first);
        check_that(c, q->chunks * q->tiles * GEMM_BLOCK >= q->channels,
                   "span %d: %d chunks of %d blocks for %d channels", i, q->chunks, q->tiles, q->channels);
        for (int k = 0; k < q->paths; k++) {
            const struct path *path = &p->path[q->path[k]];
            (q->back ? back_times : forth_times)[path->number]++;
            check_that(c, (q->back ? path->x : path->z) == q->segment, "path %d is in a span of segment %d",
                       path->number, q->segment);
        }
        first += q->chunks;
    }
    for (int i = 0; i < p->paths; i++) {
        const bool takes = d->variant_of[i] >= 0;
        check_that(c, forth_times[i] == (takes ? outputs : 0), "path %d is in %d spans of z", i,
                   forth_times[i]);
        check_that(c, back_times[i] == (takes && back), "path %d is in %d spans of x", i, back_times[i]);
    }
    check_block(c, g, &g->block, "");
}

static void check_sums(struct checker *c, const struct gemm *g)
{
    const struct problem *p = g->sums->plan->problem;
    int first = 0, *times = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < g->sum_count; i++) {
        const struct gemm_sum *q = &g->sum[i];
        const struct path *path = &p->path[q->path];
        times[q->path]++;
        check_that(c, q->first == first, "parts of path %d begin at %d, not %d", q->path, q->first, first);
        check_that(c, q->chunks * q->tiles * GEMM_BLOCK >= path->mul_z,
                   "path %d: %d chunks of %d blocks for %d channels", q->path, q->chunks, q->tiles,
                   path->mul_z);
        check_that(c, q->parts / (q->chunks * path->mul_y) * GEMM_ITEMS >= path->mul_x,
                   "path %d: %d parts for %d channels", q->path, q->parts, path->mul_x);
        first += q->parts;
    }
    for (int i = 0; i < p->paths; i++)
        check_that(c, times[i] == (g->sums->variant_of[i] >= 0), "path %d has %d sums", i, times[i]);
    check_that(c, g->parts <= first && g->sets * g->warps >= g->parts, "%d sets of %d warps for %d parts",
               g->sets, g->warps, g->parts);
    check_block(c, g, &g->sum_block, " of sums");
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct gemm *g = s->own;
    if (g->rows)
        check_rows(c, g);
    if (g->sums)
        check_sums(c, g);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct gemm *g = s->own;
    if (g->rows) {
        report_ring(r, "stages", g->stages, "team", "tile");
        report_number(r, "teams_per_block", g->teams);
        report_number(r, "warps_per_team", g->members);
        report_part(r, "shared_bytes_per_block", g->block.bytes, g->device->shared_bytes);
        report_flag(r, "weights_in_shared_memory", g->resident);
        report_number(r, "spans", g->spans);
        report_layout(r, "shared_memory", &g->block);
    }
    if (g->sums) {
        report_number(r, "parts_of_weights", g->parts);
        report_number(r, "sum_warps_per_block", g->warps);
        report_number(r, "sum_blocks_per_multiprocessor", g->fit);
        report_number(r, "sum_sets", g->sets);
        report_part(r, "sum_shared_bytes_per_block", g->sum_block.bytes, g->device->shared_bytes);
    }
}

const struct evaluation gemm_evaluation = {
    .name = "gemm",
    .words = "items by GEMM",
    .header = "cgtp_gemm.h",
    .stored = 1u << SLOT_X | 1u << SLOT_Y | 1u << SLOT_W | 1u << SLOT_G,
    .refuses = gemm_refuses,
    .refuses_path = gemm_refuses_path,
    .plan = gemm_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = launch,
    .report = report,
};
