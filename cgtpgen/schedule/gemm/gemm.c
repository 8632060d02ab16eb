/* gemm.c - items by GEMM, its row in the table of a GPU: see gemm_plan.h. */
#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/gemm/gemm_emit.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"
#include "schedule/report.h"

/* Numbers in the workspace for each block that puts them there: a few for a thread, and not too many blocks.
 */
enum { LANE_WEIGHTS = 16 * GEMM_WEIGHTS_THREADS };

/* Which of the kernels that run beside each other a kernel is, as arguments. */
static const char *beside_of(struct source *w, const struct gemm *g, int kind)
{
    int number = 0;
    for (int k = 0; k < kind; k++)
        number += g->rows[k].demand != NULL;
    return arena_printf(w->arena, "code::%s_kernels, %d", g->name, number);
}

/* What the launch divides the multiprocessors by. */
static void emit_kernels(struct arena *a, struct out *o, const struct gemm *g)
{
    const char *all = "";
    for (int k = 0; k < GEMM_KINDS; k++)
        if (g->rows[k].demand)
            all = arena_printf(a, "%s%s{%d, %d, 1}", all, *all ? ", " : "", g->rows[k].teams * GEMM_ITEMS,
                               g->rows[k].time);
    if (g->sums)
        all = arena_printf(a, "%s%s{%d, %d, %d}", all, *all ? ", " : "", g->fit * g->sum_items, g->time,
                           gemm_round_up(g->sets, g->fit));
    line(o, "/* Its kernels, of few items side by side: the items that a multiprocessor has at a time; what "
            "these take,");
    line(o, " * as instructions that one could have issued meanwhile; how many multiprocessors it uses at a "
            "time. */");
    line(o, "constexpr cgtp_gemm_kernel %s_kernels[] = {%s};", g->name, all);
    blank(o);
}

static void areas(struct areas *all, const struct schedule *s)
{
    const struct gemm *g = s->own;
    item_rows_areas(all, s, arena_printf(all->arena, "cgtp_gemm_parts(%d, %d)", g->fit, g->sets), NULL);
    for (int k = 0; k < GEMM_KINDS; k++) {
        const struct gemm_rows *r = &g->rows[k];
        for (int i = 0; r->demand && !r->resident && i < s->demand->kernel->form->inputs; i++)
            if (demand_reads(r->demand, i) && kernel_input(r->demand->kernel, i)->slot == SLOT_W)
                areas_add_counted(all, "real",
                                  arena_printf(all->arena, r->back ? "%sback" : "%sforth",
                                               kernel_input(r->demand->kernel, i)->symbol),
                                  "1", r->weights);
    }
}

/* The kernels that put weights into the workspace, before those that read them: the first of rows waits for
 * all of them, so that others may run beside it. */
static void emit_weights(const struct gemm_writer *rows)
{
    bool beside = false;
    for (int k = 0; k < GEMM_KINDS; k++) {
        struct gemm_writer c = rows[k];
        if (!c.d || c.r->resident)
            continue;
        c.beside = beside;
        gemm_weights_kernel(&c);
        beside = true;
    }
}

static void device(struct source *w, const struct schedule *s)
{
    const struct gemm *g = s->own;
    struct out o = {.text = w->out};
    struct gemm_writer sums = {w, &o, g, NULL, g->sums, false, 0}, rows[GEMM_KINDS];
    gemm_layout_name(w->arena, s);
    source_set(w, s);
    product_functions_begin(w->arena, &w->functions);
    for (int k = 0; k < GEMM_KINDS; k++) {
        rows[k] = (struct gemm_writer){w, &o, g, &g->rows[k], g->rows[k].demand, sums.beside, 0};
        sums.beside |= rows[k].d != NULL;
        if (!rows[k].d)
            continue;
        layout_print(&o, &g->rows[k].tile);
        layout_print(&o, &g->rows[k].team);
        layout_print(&o, &g->rows[k].block);
    }
    if (g->sums) {
        layout_print(&o, &g->sum_tile);
        layout_print(&o, &g->sum_block);
    }
    device_path_note(&o);
    for (int k = 0; k < GEMM_KINDS; k++)
        if (rows[k].d)
            gemm_functions(&rows[k]);
    if (g->sums)
        gemm_functions(&sums);
    emit_kernels(w->arena, &o, g);
    emit_weights(rows);
    for (int k = 0; k < GEMM_KINDS; k++)
        if (rows[k].d)
            gemm_rows_kernel(&rows[k]);
    if (g->sums)
        gemm_sums_kernel(&sums);
    item_rows_kernels(w, &o);
}

static void launch_weights(struct source *w, const struct gemm_rows *r)
{
    source_step(w, arena_printf(w->arena, "cgtp_launch_early(code::%s_weights, %lld, %d, 0, stream, l)",
                                r->name, (long long)(r->weights + LANE_WEIGHTS - 1) / LANE_WEIGHTS,
                                GEMM_WEIGHTS_THREADS));
}

static void launch_rows(struct source *w, const struct gemm *g, int kind, const char *items)
{
    const struct gemm_rows *r = &g->rows[kind];
    source_step(
        w, arena_printf(
               w->arena,
               "cgtp_launch_early(code::%s, cgtp_gemm_grid(%s, %s, %d), %d, sizeof(code::%s), stream, l)",
               r->name, items, beside_of(w, g, kind), r->teams, r->teams * r->members * 32, r->block.name));
}

static void launch(struct source *w, const struct schedule *s)
{
    source_set(w, s);
    const struct gemm *g = s->own;
    const char *items = source_rows(w->plan, INDEX_ITEM);
    for (int k = 0; k < GEMM_KINDS; k++)
        if (g->rows[k].demand && !g->rows[k].resident)
            launch_weights(w, &g->rows[k]);
    for (int k = 0; k < GEMM_KINDS; k++)
        if (g->rows[k].demand)
            launch_rows(w, g, k, items);
    if (!g->sums)
        return;
    const char *parts = arena_printf(w->arena, "cgtp_gemm_parts(%s, %d, %s, %d, %d)", items, g->sum_items,
                                     beside_of(w, g, GEMM_KINDS), g->fit, g->sets);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s_sums, %s, %d, sizeof(code::%s), stream, l)",
                                g->name, scaled(w->arena, parts, g->sets), g->warps * 32, g->sum_block.name));
    item_rows_finish(w, parts, NULL);
}

/* The block, as it is laid out. */
static void check_block(struct checker *c, const struct gemm *g, const struct layout *block, const char *of)
{
    const char *wrong = layout_check(c->out->arena, block);
    check_that(c, !wrong, "shared memory%s: %s", of, wrong);
    check_that(c, block->bytes <= g->device->shared_bytes, "a block%s of %d bytes of %d that there are", of,
               block->bytes, g->device->shared_bytes);
}

static void check_rows(struct checker *c, const struct gemm *g, const struct gemm_rows *r)
{
    const struct demand *d = r->demand;
    const struct problem *p = d->plan->problem;
    const enum slot slot = gemm_slot(d->plan, r->back ? ROLE_B : ROLE_G);
    const char *const of = slot_name[slot];
    const int outputs = r->back ? 1 : d->outputs;
    int first = 0, *times = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < r->spans; i++) {
        const struct gemm_span *q = &r->span[i];
        check_that(c, q->first == first, "chunks of span %d of %s begin at %d, not %d", i, of, q->first,
                   first);
        check_that(c, q->chunks * q->tiles * GEMM_BLOCK >= q->channels,
                   "span %d of %s: %d chunks of %d blocks for %d channels", i, of, q->chunks, q->tiles,
                   q->channels);
        for (int k = 0; k < q->paths; k++) {
            const struct path *path = &p->path[q->path[k]];
            times[path->number]++;
            check_that(c, gemm_segment(path, slot) == q->segment, "path %d is in a span of segment %d of %s",
                       path->number, q->segment, of);
            check_that(c, r->blocks[path->number] >= q->chunks * q->tiles,
                       "path %d: %d blocks of weights for %d chunks of %d", path->number,
                       r->blocks[path->number], q->chunks, q->tiles);
        }
        first += q->chunks;
    }
    for (int i = 0; i < p->paths; i++)
        check_that(c, times[i] == (d->variant_of[i] >= 0 ? outputs : 0), "path %d is in %d spans of %s", i,
                   times[i], of);
    check_that(c, r->time > 0, "a tile of %s takes no time", of);
    check_block(c, g, &r->block, arena_printf(c->out->arena, " of %s", of));
}

static void check_sums(struct checker *c, const struct gemm *g)
{
    const struct plan *plan = g->sums->plan;
    const struct problem *p = plan->problem;
    int first = 0, *times = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < g->sum_count; i++) {
        const struct gemm_sum *q = &g->sum[i];
        const struct path_plan *e = &plan->path[q->path];
        times[q->path]++;
        check_that(c, q->first >= first, "parts of path %d begin at %d, before %d", q->path, q->first, first);
        check_that(c, q->chunks * q->tiles * GEMM_BLOCK >= path_channels_g(e),
                   "path %d: %d chunks of %d blocks for %d channels", q->path, q->chunks, q->tiles,
                   path_channels_g(e));
        check_that(c,
                   q->parts / (q->chunks * path_channels_a(e)) * q->rows * GEMM_ITEMS >= path_channels_b(e),
                   "path %d: %d parts for %d channels", q->path, q->parts, path_channels_b(e));
        first = (q->first > first ? q->first : first) + q->parts;
    }
    for (int i = 0; i < p->paths; i++)
        check_that(c, times[i] == (g->sums->variant_of[i] >= 0), "path %d has %d sums", i, times[i]);
    check_that(c, g->parts <= first && g->sets * g->warps >= g->parts, "%d sets of %d warps for %d parts",
               g->sets, g->warps, g->parts);
    check_that(c, g->turn >= 0 && g->turn < g->warps, "parts from number %d of %d on", g->turn, g->warps);
    check_that(c, g->time > 0, "a tile of sums takes no time");
    check_block(c, g, &g->sum_block, " of sums");
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct gemm *g = s->own;
    for (int k = 0; k < GEMM_KINDS; k++)
        if (g->rows[k].demand)
            check_rows(c, g, &g->rows[k]);
    if (g->sums)
        check_sums(c, g);
}

/* Figures of both kernels of rows have names of their own. */
static const struct names {
    const char *ring, *teams, *warps, *bytes, *resident, *spans, *memory;
} names[] = {{"z_stages", "z_teams_per_block", "z_warps_per_team", "z_shared_bytes_per_block",
              "z_weights_in_shared_memory", "z_spans", "z_shared_memory"},
             {"x_stages", "x_teams_per_block", "x_warps_per_team", "x_shared_bytes_per_block",
              "x_weights_in_shared_memory", "x_spans", "x_shared_memory"}};

static void report(struct report *r, const struct schedule *s)
{
    const struct gemm *g = s->own;
    for (int k = 0; k < GEMM_KINDS; k++) {
        const struct gemm_rows *q = &g->rows[k];
        if (!q->demand)
            continue;
        const struct names *n = &names[gemm_slot(q->demand->plan, q->back ? ROLE_B : ROLE_G) == SLOT_X];
        report_ring(r, n->ring, q->stages, "team", "tile");
        report_number(r, n->teams, q->teams);
        report_number(r, n->warps, q->members);
        report_part(r, n->bytes, q->block.bytes, g->device->shared_bytes);
        report_flag(r, n->resident, q->resident);
        report_number(r, n->spans, q->spans);
        report_layout(r, n->memory, &q->block);
    }
    if (g->sums) {
        report_number(r, "parts_of_weights", g->parts);
        report_number(r, "sum_warps_per_block", g->warps);
        report_number(r, "sum_blocks_per_multiprocessor", g->fit);
        report_number(r, "sum_sets", g->sets);
        report_number(r, "sum_items_per_tile", g->sum_items);
        report_part(r, "sum_shared_bytes_per_block", g->sum_block.bytes, g->device->shared_bytes);
    }
}

const struct evaluation gemm_evaluation = {
    .name = "gemm",
    .words = "items by GEMM",
    .header = "cgtp_weights.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_Y | 1u << SLOT_W | 1u << SLOT_G,
    .refuses = gemm_refuses,
    .refuses_path = gemm_refuses_path,
    .plan = gemm_plan,
    .check = check,
    .areas = areas,
    .device = device,
    .launch = launch,
    .report = report,
};
