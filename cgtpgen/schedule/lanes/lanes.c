/* lanes.c - matrices in lanes, their row in the table of a GPU: see lanes_plan.h. */
#include "schedule/lanes/lanes_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/index_words.h"
#include "schedule/parts.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_area(all, demand_operand(s->demand, o), lanes_teams(all->arena, s->own));
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    const struct nodal *n = ((const struct lanes *)s->own)->nodal;
    *receiver_row |= n->owner == INDEX_RECEIVER;
    *by_sender |= n->owner == INDEX_SENDER;
}

static void device(struct source *w, const struct schedule *s)
{
    lanes_layout_name(w->arena, s);
    source_set(w, s);
    lanes_kernel(w);
}

/* Has each lane of a channel a cell of each kind, and is each path in one? */
static void check_cells(struct checker *c, const struct lanes *g)
{
    const struct nodal *n = g->nodal;
    const struct problem *p = n->demand->plan->problem;
    int *paths = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    check_that(c, g->nx * g->rows == p->x.n && g->nz * g->columns == p->z.n,
               "%d times %d segments of x and %d times %d of z, not %d and %d", g->rows, g->nx, g->columns,
               g->nz, p->x.n, p->z.n);
    check_that(c, n->jobs == g->nx * g->nz, "%d kinds of cells, not %d", n->jobs, g->nx * g->nz);
    for (int j = 0; j < n->jobs; j++) {
        check_that(c, n->job[j].cells == g->rows * g->columns, "%d cells of kind %d for %d lanes",
                   n->job[j].cells, j, g->rows * g->columns);
        for (int k = 0; k < n->job[j].cells; k++)
            for (int i = 0; i < n->cell[n->job[j].cell[k]].paths; i++)
                paths[n->cell[n->job[j].cell[k]].path[i]]++;
    }
    for (int i = 0; i < p->paths; i++)
        check_that(c, paths[i] == (n->demand->variant_of[i] >= 0), "path %d is in %d cells", i, paths[i]);
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct lanes *g = s->own;
    check_cells(c, g);
    check_that(c, g->nodal->mul % lanes_channels(g) == 0, "blocks of %d channels of %d", lanes_channels(g),
               g->nodal->mul);
    check_that(c, !g->copiers || g->items % g->copiers == 0, "tiles of %d items for %d warps that copy",
               g->items, g->copiers);
    check_that(c, g->stages >= 2, "a ring of %d tiles", g->stages);
    check_that(c, g->warps % g->splits == 0, "%d warps for %d parts of a matrix", g->warps, g->splits);
    check_that(c, g->splits <= g->dx && g->splits <= g->dz, "%d parts of %d by %d components", g->splits,
               g->dx, g->dz);
    check_that(c, g->splits == 1 || !g->nodal->products || !g->nodal->outers,
               "%d products and %d sums in parts", g->nodal->products, g->nodal->outers);
    for (int o = 0; o < s->demand->outputs; o++)
        check_that(c, g->splits == 1 || g->in_place_of[o] < 0,
                   "output %d in the place of rows that several warps read", o);
    for (int o = 0; o < s->demand->outputs; o++)
        for (int before = 0; before < o && g->in_place_of[o] >= 0; before++)
            check_that(c, g->in_place_of[before] != g->in_place_of[o], "outputs %d and %d in one place",
                       before, o);
    const char *wrong = layout_check(c->out->arena, &g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block.bytes <= g->nodal->device->shared_bytes,
               "a block of %d bytes of %d that there are", g->block.bytes, g->nodal->device->shared_bytes);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct lanes *g = s->own;
    const struct device *d = g->nodal->device;
    report_ring(r, "stages", g->stages, "block", "tile");
    report_number(r, "items_per_tile", g->items);
    report_number(r, "blocks_per_multiprocessor", g->fit);
    report_word(r, "in_the_order_of", index_words[g->nodal->owner].plural);
    report_number(r, "channels_per_block", lanes_channels(g));
    report_number(r, "lanes_per_channel", g->rows * g->columns);
    report_number(r, "warps_with_channels", g->warps);
    report_number(r, "warps_that_copy", g->copiers);
    report_number(r, "matrices", g->nodal->matrices);
    report_number(r, "products", g->nodal->products);
    report_number(r, "sums_of_products", g->nodal->outers);
    report_part(r, "shared_bytes_per_block", g->block.bytes, d->shared_bytes);
    report_number(r, "registers_least", g->registers);
    report_number(r, "registers_most", device_registers(d, g->fit * (g->warps + g->copiers)));
    report_number(r, "instructions_per_item", g->work);
    report_layout(r, "shared_memory", &g->block);
}

const struct evaluation lanes_evaluation = {
    .name = "lanes",
    .words = "matrices in lanes",
    .header = "cgtp_lanes.h",
    .refuses = nodal_refuses,
    .refuses_path = nodal_refuses_path,
    .plan = lanes_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = lanes_launch,
    .report = report,
};
