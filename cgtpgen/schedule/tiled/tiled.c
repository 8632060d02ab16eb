/* tiled.c - tiled items' row in the table of a GPU: see tiled_plan.h. */
#include "schedule/tiled/tiled_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/parts.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_area(all, demand_operand(s->demand, o), "cgtp_multiprocessors()");
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    (void)s;
    (void)receiver_row;
    (void)by_sender;
}

static void device(struct source *w, const struct schedule *s)
{
    tiled_layout_name(w->arena, s);
    source_set(w, s);
    tiled_kernel(w);
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct tiled *g = s->own;
    const struct demand *d = s->demand;
    const struct plan *plan = d->plan;
    int *times = NEW_ARRAY(c->out->arena, int, plan->problem->paths + 1);
    for (int i = 0; i < g->parts; i++)
        for (int k = 0; k < g->part[i].groups; k++) {
            const struct tiled_group *q = &g->part[i].group[k];
            for (int p = 0; p < q->paths; p++) {
                const struct path *path = &plan->problem->path[q->path[p]];
                times[q->path[p]]++;
                check_that(c, (g->stream == SLOT_X ? path->x : path->z) == g->part[i].segment,
                           "path %d comes with segment %d", q->path[p], g->part[i].segment);
                check_that(c, path->z == plan->problem->path[q->path[0]].z,
                           "path %d leads elsewhere than path %d", q->path[p], q->path[0]);
                check_that(c, path_channels_b(&plan->path[q->path[p]]) % q->together == 0,
                           "path %d: not a multiple of %d channels", q->path[p], q->together);
            }
        }
    for (int p = 0; p < plan->problem->paths; p++)
        check_that(c, times[p] == (d->variant_of[p] >= 0), "path %d is in %d groups", p, times[p]);
    check_that(c, g->stages >= 1 && g->stages <= g->pieces, "a ring of %d stages for %d pieces", g->stages,
               g->pieces);
    const char *wrong = layout_check(c->out->arena, g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block->bytes <= g->device->shared_bytes, "a block of %d bytes of %d that there are",
               g->block->bytes, g->device->shared_bytes);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct tiled *g = s->own;
    int groups = 0;
    for (int i = 0; i < g->parts; i++)
        groups += g->part[i].groups;
    report_ring(r, "stages", g->stages, "warp", "part");
    report_number(r, "warps_per_block", g->warps);
    report_part(r, "shared_bytes_per_block", g->block->bytes, g->device->shared_bytes);
    report_number(r, "registers_most", g->registers);
    report_flag(r, "parts_of_x", g->stream == SLOT_X);
    report_number(r, "parts", g->parts);
    report_number(r, "pieces", g->pieces);
    report_number(r, "groups", groups);
    report_layout(r, "shared_memory", g->block);
}

const struct evaluation tiled_evaluation = {
    .name = "tiled",
    .words = "tiled items",
    .header = "cgtp_tiled.h",
    .refuses = tiled_refuses,
    .refuses_path = tiled_refuses_path,
    .plan = tiled_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = tiled_launch,
    .report = report,
};
