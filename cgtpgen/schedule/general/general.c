/* general.c - the general evaluation's row in the table of a GPU: see general.h. */
#include "schedule/general/general.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/item_device.h"
#include "schedule/path.h"
#include "schedule/path_table.h"
#include "schedule/report.h"

static const char *refuses(const struct target *target, const struct demand *d)
{
    (void)target;
    return demand_owner(d) == INDEX_COUNT ? "outputs that sum over rows of several indices" : NULL;
}

static const char *refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    (void)target;
    (void)d;
    (void)p;
    return NULL;
}

/* Elements of an operand's row that the demand's paths read or add to. */
static double elements_of(const struct demand *d, const struct operand *q)
{
    const struct problem *p = d->plan->problem;
    bool *found = NEW_ARRAY(d->codes->arena, bool, q->blocks + 1);
    double elements = 0;
    for (int i = 0; i < p->paths; i++) {
        const int64_t block = operand_block_of(q, &p->path[i]) - q->block;
        if (d->variant_of[i] < 0 || found[block])
            continue;
        const int64_t next = block + 1 < q->blocks ? q->block[block + 1].offset : q->dim;
        elements += (double)(q->slot == SLOT_W ? p->path[i].weight_numel : next - q->block[block].offset);
        found[block] = true;
    }
    return elements;
}

/* Instructions of a warp per item, with what it costs to read everything where it stands and to call a
 * function per path: on graphs it takes 13 to 100 times as long as the bytes need on an H200. In the unit of
 * the other evaluations, and only good enough to rank them. */
static double cost_of(const struct demand *d, double flops)
{
    const double inefficiency = 16, bytes_per_instruction = 1, per_path = 200, lanes = 32;
    double bytes = 0;
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i))
            bytes += operand_size(kernel_input(d->kernel, i)) * elements_of(d, kernel_input(d->kernel, i));
    for (int o = 0; o < d->outputs; o++)
        bytes += operand_size(demand_operand(d, o)) * elements_of(d, demand_operand(d, o));
    int paths = 0;
    for (int p = 0; p < d->plan->problem->paths; p++)
        paths += d->variant_of[p] >= 0;
    return inefficiency * flops / 2 / lanes + bytes / bytes_per_instruction + per_path * paths;
}

static double least(const struct demand *d)
{
    return cost_of(d, 0);
}

static const char *plan(struct arena *a, struct schedule *s)
{
    const struct demand *d = s->demand;
    const struct spec *spec = d->plan->problem->spec;
    struct general *own = NEW(a, struct general);
    if (paths_want_tables(s->target, d))
        own->tables = paths_by_table(a, d);
    own->scratch = item_scratch(d, NULL, own->tables);
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++)
        s->route[o] = route_owned(spec, demand_operand(d, o)->index);
    s->own = own;
    s->operations = demand_operations(d);
    s->cost = cost_of(d, operations_flops(s->operations));
    return NULL;
}

static void check(struct checker *c, const struct schedule *s)
{
    enum index_kind owner = demand_owner(s->demand);
    check_that(c, owner != INDEX_COUNT, "outputs have several owners");
    for (int o = 0; o < s->demand->outputs; o++) {
        enum index_kind index = s->demand->plan->problem->spec->index[demand_output(s->demand, o)->slot];
        check_that(c, index == INDEX_ITEM || index == owner, "nobody owns the rows of %s",
                   demand_output(s->demand, o)->name);
    }
}

static void areas(struct areas *all, const struct schedule *s)
{
    const struct general *own = s->own;
    const struct plan *plan = s->demand->plan;
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct form_output *f = demand_output(s->demand, o);
        int64_t dim = plan->problem->dim[f->slot];
        enum index_kind rows = plan->problem->spec->index[f->slot];
        bool parts = s->route[o].kind == ROUTE_PARTS;
        if (parts)
            areas_add_counted(all, source_held(plan, demand_operand(s->demand, o)),
                              general_parts(all->arena, s, o), "CGTP_GENERAL_WARPS", dim);
        const char *error = arena_printf(all->arena, "%serror", f->symbol);
        if (s->route[o].compensated && parts)
            areas_add_counted(all, "real", error, "CGTP_GENERAL_WARPS", dim);
        else if (s->route[o].compensated)
            areas_add(all, "real", error, rows, dim);
    }
    if (own->scratch)
        areas_add_counted(all, "real", arena_printf(all->arena, "scratch_%s", s->name), "CGTP_GENERAL_WARPS",
                          own->scratch);
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    enum index_kind owner = demand_owner(s->demand);
    *receiver_row |= owner == INDEX_RECEIVER;
    *by_sender |= owner == INDEX_SENDER;
}

static void device(struct source *w, const struct schedule *s)
{
    const struct general *own = s->own;
    source_set(w, s);
    product_functions_begin(w->arena, &w->functions);
    item_device(w, &(struct item_code){NULL, false, own->tables, 1});
    general_kernels(w);
}

static void launch(struct source *w, const struct schedule *s)
{
    source_set(w, s);
    source_step(w,
                arena_printf(w->arena,
                             "cgtp_launch(code::%s_%s, CGTP_GENERAL_WARPS * CGTP_LANES / CGTP_GENERAL_BLOCK, "
                             "CGTP_GENERAL_BLOCK, 0, stream, l)",
                             w->form->name, s->name));
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            source_step(w, arena_printf(w->arena, "cgtp_launch(code::%s, %lld, 128, 0, stream, l)",
                                        general_sum(w->arena, s, o),
                                        (source_dim(demand_operand(s->demand, o)) + 127) / 128));
}

static void report(struct report *r, const struct schedule *s)
{
    const struct general *own = s->own;
    report_flag(r, "by_table", own->tables != NULL);
    report_number(r, "scratch_per_warp", (double)own->scratch);
}

const struct evaluation general_evaluation = {
    .name = "general",
    .words = "general evaluation",
    .header = "cgtp_general.h",
    .writes_all_weights = true,
    .refuses = refuses,
    .refuses_path = refuses_path,
    .least = least,
    .plan = plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = launch,
    .report = report,
};
