/* nodes.c - matrices of nodes, their row in the table of a GPU: see nodal_plan.h. */
#include "schedule/nodal/nodal_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/index_words.h"
#include "schedule/parts.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_area(all, demand_operand(s->demand, o), nodal_teams(all->arena, s->own));
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    const struct nodal *g = s->own;
    *receiver_row |= g->owner == INDEX_RECEIVER;
    *by_sender |= g->owner == INDEX_SENDER;
}

static void device(struct source *w, const struct schedule *s)
{
    nodal_layout_name(w->arena, s);
    source_set(w, s);
    nodal_kernel(w);
}

/* Is each cell in one job, with what it is alike, and each path in one cell? */
static void check_cells(struct checker *c, const struct nodal *g)
{
    const struct problem *p = g->demand->plan->problem;
    int *jobs = NEW_ARRAY(c->out->arena, int, g->cells + 1),
        *paths = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < g->jobs; i++)
        for (int k = 0; k < g->job[i].cells; k++) {
            const struct nodal_cell *cell = &g->cell[g->job[i].cell[k]], *first = &g->cell[g->job[i].cell[0]];
            jobs[g->job[i].cell[k]]++;
            check_that(c, cell->paths == first->paths, "job %d: cells of %d and %d paths", i, first->paths,
                       cell->paths);
        }
    for (int i = 0; i < g->cells; i++) {
        check_that(c, jobs[i] == 1, "cell %d is in %d jobs", i, jobs[i]);
        for (int k = 0; k < g->cell[i].paths; k++)
            paths[g->cell[i].path[k]]++;
    }
    for (int i = 0; i < p->paths; i++)
        check_that(c, paths[i] == (g->demand->variant_of[i] >= 0), "path %d is in %d cells", i, paths[i]);
}

/* Is each job made, and has each path what flows back by it? */
static void check_tasks(struct checker *c, const struct nodal *g)
{
    int paths = 0, flows = 0;
    for (int i = 0; i < g->jobs; i++)
        paths += g->outers ? g->cell[g->job[i].cell[0]].paths : 0;
    for (int i = 0; i < g->flows; i++)
        flows += g->flow[i].paths;
    const int makings = g->matrices ? g->jobs : 0;
    check_that(c, g->makings == makings && flows == paths, "%d tasks and %d paths, not %d and %d", g->makings,
               flows, makings, paths);
    check_that(c, g->making_abreast == 1 || g->making_abreast == g->matrices,
               "%d warps abreast make %d matrices", g->making_abreast, g->matrices);
    check_that(c, g->flow_abreast == 1 || g->flow_abreast == g->outers, "%d warps abreast take %d sums",
               g->flow_abreast, g->outers);
    for (int i = 0; i < g->makings + g->flows; i++) {
        const struct nodal_task *t = i < g->makings ? &g->making[i] : &g->flow[i - g->makings];
        const int abreast = i < g->makings ? g->making_abreast : g->flow_abreast;
        check_that(c, t->warp >= 0 && t->warp < NODAL_CHANNELS / abreast, "task %d is of warp %d", i,
                   t->warp);
    }
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct nodal *g = s->own;
    check_cells(c, g);
    check_tasks(c, g);
    for (int i = 0; i < g->operands; i++)
        check_that(c, g->operand[i].matrix < g->matrices, "operand %d is of matrix %d of %d", i,
                   g->operand[i].matrix, g->matrices);
    check_that(c, g->stages >= 2, "a ring of %d tiles", g->stages);
    const char *wrong = layout_check(c->out->arena, &g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block.bytes <= g->device->shared_bytes, "a block of %d bytes of %d that there are",
               g->block.bytes, g->device->shared_bytes);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct nodal *g = s->own;
    report_ring(r, "stages", g->stages, "block", "tile");
    report_number(r, "items_per_tile", g->items);
    report_number(r, "blocks_per_multiprocessor", g->fit);
    report_word(r, "in_the_order_of", index_words[g->owner].plural);
    report_number(r, "matrices", g->matrices);
    report_number(r, "products", g->products);
    report_number(r, "sums_of_products", g->outers);
    report_number(r, "warps_abreast",
                  g->flow_abreast > g->making_abreast ? g->flow_abreast : g->making_abreast);
    report_flag(r, "parts_in_registers", g->keeps_parts);
    report_part(r, "shared_bytes_per_block", g->block.bytes, g->device->shared_bytes);
    report_number(r, "registers_least", g->registers);
    report_number(r, "registers_most", device_registers(g->device, g->fit * NODAL_CHANNELS));
    report_number(r, "instructions_per_item", g->work);
    report_layout(r, "shared_memory", &g->block);
}

const struct evaluation nodal_evaluation = {
    .name = "nodal",
    .words = "matrices of nodes",
    .header = "cgtp_nodal.h",
    .refuses = nodal_refuses,
    .refuses_path = nodal_refuses_path,
    .plan = nodal_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = nodal_launch,
    .report = report,
};
