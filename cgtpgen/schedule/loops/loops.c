/* loops.c - the row of the host's loops in the table of evaluations. */
#include "schedule/loops/loops.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/path.h"
#include "schedule/report.h"

#include <string.h>

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

static void check(struct checker *c, const struct schedule *s)
{
    const struct loops *l = s->own;
    check_that(c, demand_owner(s->demand) != INDEX_COUNT, "outputs have several owners");
    check_that(
        c, l->sums_length <= l->sum_at && l->sum_at <= l->t_at && l->t_at <= l->p_at && l->p_at <= l->scratch,
        "areas of the scratch overlap");
    for (int i = 0; i < l->sums; i++)
        check_that(c, l->sum[i].at + l->sum[i].length * l->sum[i].depth <= l->sums_length,
                   "sum %d over channels goes beyond what is cleared", i);
    for (int i = 0; i < s->demand->kernel->form->inputs; i++)
        check_that(c,
                   l->staging[i] != STAGE_ROW ||
                       l->brought_at[i] +
                               s->demand->plan->problem->dim[s->demand->kernel->form->input[i].slot] <=
                           l->temporary_at,
                   "the copy of %s goes beyond the scratch", s->demand->kernel->form->input[i].name);
}

static void areas(struct areas *all, const struct schedule *s)
{
    const struct loops *l = s->own;
    const struct demand *d = s->demand;
    const struct problem *problem = d->plan->problem;
    bool shared = false;
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct form_argument *in = &d->kernel->form->input[i];
        if (l->staging[i] == STAGE_ALL)
            areas_share(all, "real", arena_printf(all->arena, "%sturned", in->symbol),
                        problem->spec->index[in->slot], problem->dim[in->slot]);
    }
    for (int o = 0; o < d->outputs; o++) {
        const struct form_output *f = demand_output(d, o);
        bool parts = s->route[o].kind == ROUTE_PARTS;
        const char *error = arena_printf(all->arena, "%serror", f->symbol);
        shared |= parts;
        if (parts)
            areas_add_counted(all, source_held(d->plan, demand_operand(d, o)),
                              arena_printf(all->arena, "%sparts", f->symbol), "CGTP_SHARED_PARTS",
                              problem->dim[f->slot]);
        if (s->route[o].compensated && parts)
            areas_add_counted(all, "real", error, "CGTP_SHARED_PARTS", problem->dim[f->slot]);
        else if (s->route[o].compensated)
            areas_add(all, "real", error, problem->spec->index[f->slot], problem->dim[f->slot]);
    }
    areas_add_counted(all, "real", arena_printf(all->arena, "scratch_%s", s->name),
                      shared ? "parts < CGTP_SHARED_PARTS ? CGTP_SHARED_PARTS : parts" : "parts", l->scratch);
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    (void)by_sender;
    *receiver_row |= s->demand->plan->problem->spec->sorted && demand_owner(s->demand) == INDEX_RECEIVER;
}

/* ---- source ---- */

/* The segments of the operands whose rows are transposed. */
static void emit_segments(struct source *w)
{
    for (int s = 0; s < SLOT_COUNT; s++) {
        const struct operand *used = NULL;
        for (int i = 0; i < w->form->inputs; i++)
            if ((int)w->form->input[i].slot == s && own(w)->staging[i] != STAGE_NONE)
                used = source_input(w, i);
        for (int o = 0; o < w->demand->outputs; o++)
            if ((int)demand_output(w->demand, o)->slot == s && loops_transposes(w, w->demand->output[o]))
                used = demand_operand(w->demand, o);
        const char *name = loops_segments((enum slot)s);
        if (!used || !source_once(w, name))
            continue;
        text_printf(w->out,
                    "/* Segments of a row of %s: offset, channels, components. */\n"
                    "static const struct cgtp_segment %s[] = {\n   ",
                    slot_name[s], name);
        for (int i = 0; i < used->blocks; i++)
            text_printf(w->out, "%s{%lld, %lld, %d},", i && i % 5 == 0 ? "\n    " : " ",
                        (long long)used->block[i].offset, (long long)used->block[i].channels,
                        used->block[i].components);
        text_printf(w->out, "\n};\n\n");
    }
}

static void device(struct source *w, const struct schedule *s)
{
    struct text body = {.arena = w->arena}, *out = w->out;
    source_set(w, s);
    product_functions_begin(w->arena, &w->functions);
    emit_segments(w);
    w->out = &body;
    loops_item(w);
    loops_pass(w);
    w->out = out;
    for (int i = w->functions->first; i < w->functions->n; i++)
        loops_product(w, &w->functions->function[i]);
    text_put(out, text_string(&body), body.n);
}

/* Copies of all rows, before the first schedule that reads them. */
static void launch_copies(struct source *w)
{
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        if (own(w)->staging[i] != STAGE_ALL ||
            !source_once(w, arena_printf(w->arena, "copy of %s", in->name)))
            continue;
        const char *n = source_rows(w->plan, source_input(w, i)->index);
        long long dim = source_dim(source_input(w, i));
        text_printf(w->out,
                    "    CGTP_PARALLEL\n    for (int64_t part = 0; part < parts; part++)\n"
                    "        for (int64_t r = cgtp_part(%s, part, parts),\n"
                    "                     end = cgtp_part(%s, part + 1, parts);\n"
                    "             r < end; r++)\n"
                    "            cgtp_row_to_components(%d, %s, l.%s + r * %s, l.%sturned + r * %lld);\n",
                    n, n, slot_irreps(w->problem, in->slot)->n, loops_segments(in->slot), in->symbol,
                    source_rows_apart(w->arena, source_input(w, i), 1, "l."), in->symbol, dim);
    }
}

/* Adds up the partial rows of output o, if they have elements. */
static void launch_sum(struct source *w, int o)
{
    const struct form_output *f = demand_output(w->demand, o);
    const char *n = f->symbol;
    long long d = source_dim(demand_operand(w->demand, o));
    if (d == 0)
        return;
    const bool wide = loops_is_wide(w->demand, o);
    text_printf(w->out, "    %s(%lld, l.%s);\n", wide ? "cgtp_zero_sums" : "cgtp_zero", d, n);
    if (w->schedule->route[o].compensated) /* part 0's errors become those of the whole sum */
        text_printf(w->out,
                    "    for (int64_t part = 1; part < CGTP_SHARED_PARTS; part++)\n"
                    "        cgtp_add(%lld, l.%serror + part * %lld, l.%serror);\n"
                    "    for (int64_t part = 0; part < CGTP_SHARED_PARTS; part++)\n"
                    "        cgtp_add_compensated(%lld, l.%sparts + part * %lld, l.%s, l.%serror);\n"
                    "    cgtp_add(%lld, l.%serror, l.%s);\n",
                    d, n, d, n, d, n, d, n, n, d, n, n);
    else
        text_printf(w->out,
                    "    for (int64_t part = 0; part < CGTP_SHARED_PARTS; part++)\n"
                    "        %s(%lld, l.%sparts + part * %lld, l.%s);\n",
                    wide ? "cgtp_add_sums" : "cgtp_add", d, n, d, n);
    if (loops_transposes(w, w->demand->output[o]) && !wide)
        text_printf(w->out, "    cgtp_row_from_components(%d, %s, l.%s, l.scratch_%s);\n",
                    slot_irreps(w->problem, f->slot)->n, loops_segments(f->slot), n, w->schedule->name);
}

static void launch(struct source *w, const struct schedule *s)
{
    source_set(w, s);
    enum index_kind owner = demand_owner(w->demand);
    const char *n = source_rows(w->plan, owner == INDEX_SHARED ? INDEX_ITEM : owner);
    bool by_edges = owner == INDEX_RECEIVER && w->spec->sorted, shared = owner == INDEX_SHARED;
    const char *part = by_edges ? "cgtp_part_by_edges(graph->receiver_row, " : "cgtp_part(";
    const char *parts = shared ? "CGTP_SHARED_PARTS" : "parts";
    launch_copies(w);
    text_printf(w->out,
                "    CGTP_PARALLEL\n    for (int64_t part = 0; part < %s; part++)\n"
                "        pass_%d(&l, %s%s, part, %s),\n               %s%s, part + 1, %s),\n"
                "        %*s %sl.scratch_%s%s);\n",
                parts, loops_number(w), part, n, parts, part, n, parts, 6, "", shared ? "part, " : "",
                s->name,
                own(w)->scratch ? arena_printf(w->arena, " + part * %lld", (long long)own(w)->scratch) : "");
    for (int o = 0; o < w->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            launch_sum(w, o);
}

static void report(struct report *r, const struct schedule *s)
{
    static const char *const how[] = {"in place", "row by row in component order",
                                      "all rows in component order first"};
    const struct loops *l = s->own;
    const struct kernel_form *f = s->demand->kernel->form;
    report_number(r, "scratch_per_part", (double)l->scratch);
    for (int i = 0; i < f->inputs; i++)
        if (demand_reads(s->demand, i)) {
            struct report *q = report_record(r, "reads", "read");
            report_word(q, "input", f->input[i].name);
            report_word(q, "how", how[l->staging[i]]);
            report_flag(q, "and_in_place", l->staging[i] != STAGE_NONE && s->demand->raw[i]);
        }
}

const struct evaluation loops_evaluation = {
    .name = "loops",
    .words = "loops over rows",
    .header = "cgtp_c.h",
    .writes_all_weights = true,
    .refuses = refuses,
    .refuses_path = refuses_path,
    .plan = loops_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = launch,
    .report = report,
};
