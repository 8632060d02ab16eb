/* batch.c - the pipelined batch's row in the table of a GPU: see batch_plan.h. */
#include "schedule/batch/batch_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    (void)all;
    (void)s;
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    (void)s;
    (void)receiver_row;
    (void)by_sender;
}

static void device(struct source *w, const struct schedule *s)
{
    batch_layout_name(w->arena, s);
    source_set(w, s);
    batch_kernel(w);
}

/* All paths into a segment of z are in one set, one after the other. */
static void check_z(struct checker *c, const struct schedule *s, const struct batch_set *q, int number,
                    const int *paths_into)
{
    const struct path *path = s->demand->plan->problem->path;
    int into = 0;
    for (int i = 0; i < q->zs; i++)
        into += paths_into[path[q->z[i]].z];
    check_that(c, into == q->paths, "path set %d: %d paths, and %d into their segments of z", number,
               q->paths, into);
    int changes = 0;
    for (int k = 0; k < q->paths; k++)
        changes += k == 0 || path[q->path[k]].z != path[q->path[k - 1]].z;
    check_that(c, changes == q->zs, "path set %d: paths into a segment of z do not follow each other",
               number);
}

/* The phases follow each other, and none reads a segment of x of one before. phase_of: of each segment, the
 * first that reads it, plus 1. */
static void check_phase(struct checker *c, const struct schedule *s, int number, int *phase_of)
{
    const struct batch *g = s->own;
    const struct batch_phase *q = &g->phase[number];
    const int next = number + 1 < g->phases ? q[1].first : g->sets;
    check_that(c, q->first + q->sets == next, "phase %d: path sets %d to %d, and the next begins with %d",
               number, q->first, q->first + q->sets - 1, next);
    check_that(c, (g->buffers - 1) * q->sets >= g->stages - 1,
               "%d buffers of rows for %d path sets, %d turns ahead", g->buffers, q->sets, g->stages - 1);
    for (int k = q->first; k < next; k++)
        for (int x = 0; x < g->set[k].xs; x++) {
            int *first = &phase_of[g->set[k].x[x]];
            *first = *first ? *first : number + 1;
            check_that(c, *first == number + 1, "phase %d: segment %d of x is in another one, too",
                       *first - 1, g->set[k].x[x]);
        }
    for (int k = q->first; k < next; k++)
        check_that(c, q->sets == g->sets || g->x_by_set, "phase %d: x does not come with its path sets",
                   number);
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct batch *g = s->own;
    const struct problem *p = s->demand->plan->problem;
    struct arena *a = c->out->arena;
    int *times = NEW_ARRAY(a, int, p->paths), *paths_into = NEW_ARRAY(a, int, p->z.n);
    int *phase_of = NEW_ARRAY(a, int, p->x.n);
    for (int k = 0; k < g->sets; k++)
        for (int j = 0; j < g->set[k].paths; j++)
            times[g->set[k].path[j]]++;
    for (int i = 0; i < p->paths; i++) {
        bool takes_part = s->demand->variant_of[i] >= 0;
        check_that(c, times[i] == takes_part, "path %d is in %d path sets", i, times[i]);
        paths_into[p->path[i].z] += takes_part;
    }
    for (int k = 0; k < g->sets; k++) {
        check_z(c, s, &g->set[k], k, paths_into);
        for (int j = 0; j < g->set[k].paths; j++)
            check_that(c, p->path[g->set[k].path[j]].mul_x == g->part[g->set[k].part].mul,
                       "path set %d: path %d has another number of channels", k, g->set[k].path[j]);
    }
    check_that(c, g->stages >= 2, "a ring of %d stages", g->stages);
    for (int i = 0; i < g->phases; i++)
        check_phase(c, s, i, phase_of);
    const char *wrong = layout_check(a, g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block->bytes <= g->device->shared_bytes, "a block of %d bytes of %d that there are",
               g->block->bytes, g->device->shared_bytes);
    for (int o = 0; o < s->demand->outputs; o++)
        check_that(c, s->route[o].kind == ROUTE_ITEM, "%s is not a row of the item",
                   demand_output(s->demand, o)->name);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct batch *g = s->own;
    const int most = device_registers(g->device, g->blocks * g->warps);
    report_ring(r, "stages", g->stages, "warp", "turn");
    report_number(r, "warps_per_block", g->warps);
    report_number(r, "blocks_per_multiprocessor", g->blocks);
    report_part(r, "shared_bytes_per_block", g->block->bytes, g->device->shared_bytes);
    report_number(r, "registers_most", most);
    report_part(r, "values_alive", g->alive, most);
    report_part(r, "registers_least", g->registers_least, most);
    report_part(r, "registers", g->registers, most);
    report_number(r, "channels_per_lane", g->channels);
    report_channels(r, "channel_blocks", g->channel_blocks, BATCH_LANES * g->channels, "turn");
    report_flag(r, "x_by_set", g->x_by_set);
    report_number(r, "phases", g->phases);
    report_number(r, "instructions_per_item", g->work);
    for (int i = 0; i < g->sets; i++) {
        const struct batch_set *q = &g->set[i];
        struct report *record = report_record(r, "path_sets", "path set");
        report_list(record, "paths", q->paths, q->path);
        report_number(record, "channels", g->part[q->part].mul);
        report_number(record, "stage_bytes", q->stage.bytes);
        report_share(record, "instructions_per_channel_block", q->work);
    }
    report_layout(r, "shared_memory", g->block);
}

const struct evaluation batch_evaluation = {
    .name = "batch",
    .words = "pipelined batch",
    .header = "cgtp_batch.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_W | 1u << SLOT_G,
    .access.read = 1u << SLOT_Y,
    .refuses = batch_refuses,
    .refuses_path = batch_refuses_path,
    .plan = batch_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = batch_launch,
    .report = report,
};
