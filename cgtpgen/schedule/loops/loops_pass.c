/* loops_pass.c - the loop over the rows that a schedule owns: which items, where their rows are, when rows
 * begin and end.
 */
#include "schedule/loops/loops.h"

#include "schedule/index_words.h"
#include "schedule/path.h"

#include <string.h>

/* May the caller have sorted edges whose rows are not? */
static bool has_order(const struct source *w)
{
    return w->graph && !w->spec->sorted;
}

/* The row of item e in arrays of items; in others, as C expressions. */
static const char *own_row(const struct source *w)
{
    return has_order(w) ? "item" : "e";
}
static const char *row(const struct source *w, enum index_kind index)
{
    return source_item_row(w->arena, "graph->", own_row(w), index);
}

/* Has an operand of the schedule this index? */
static bool uses(const struct source *w, enum index_kind index)
{
    bool any = false;
    for (int i = 0; i < w->form->inputs; i++)
        any |= demand_reads(w->demand, i) && source_input(w, i)->index == index;
    for (int o = 0; o < w->demand->outputs; o++)
        any |= demand_operand(w->demand, o)->index == index;
    return any;
}

static bool is_owned(const struct source *w, int o)
{
    return w->schedule->route[o].kind != ROUTE_ITEM;
}

/* Is there something to do when the row of output o is complete? */
static bool needs_finish(const struct source *w, int o)
{
    return (loops_transposes(w, w->demand->output[o]) && !loops_is_wide(w->demand, o)) ||
           w->schedule->route[o].compensated;
}

/* Does the work of an item make a row of its own, which is then added to the output's? */
static bool has_term(const struct source *w, int o)
{
    return w->schedule->route[o].compensated || loops_is_wide(w->demand, o);
}

static bool any_needs_finish(const struct source *w)
{
    bool any = false;
    for (int o = 0; o < w->demand->outputs; o++)
        any |= is_owned(w, o) && needs_finish(w, o);
    return any;
}

/* ---- rows of outputs ---- */

static void emit_row_pointer(struct source *w, int indent, int o, const char *at)
{
    const struct form_output *out = demand_output(w->demand, o);
    const struct operand *q = demand_operand(w->demand, o);
    const bool parts = w->schedule->route[o].kind == ROUTE_PARTS;
    text_printf(w->out, "%*s%s *const %sout = l->%s%s + %s * %s;\n", indent, "", source_held(w->plan, q),
                out->symbol, out->symbol, parts ? "parts" : "", at,
                parts ? arena_printf(w->arena, "%lld", source_dim(q))
                      : source_rows_apart(w->arena, q, 1, "l->"));
}

static void emit_begin(struct source *w, int indent, int o, const char *at)
{
    const struct form_output *out = demand_output(w->demand, o);
    long long dim = source_dim(demand_operand(w->demand, o));
    text_printf(w->out, "%*s%s(%lld, %sout);\n", indent, "",
                loops_is_wide(w->demand, o) ? "cgtp_zero_sums" : "cgtp_zero", dim, out->symbol);
    if (w->schedule->route[o].compensated)
        text_printf(w->out, "%*scgtp_zero(%lld, l->%serror + %s * %lld);\n", indent, "", dim, out->symbol, at,
                    dim);
}

/* A row of output o from component order to the array's, in place. */
static void emit_turn(struct source *w, int indent, int o, const char *row)
{
    const enum slot slot = demand_output(w->demand, o)->slot;
    text_printf(w->out, "%*scgtp_row_from_components(%d, %s, %s, %s);\n", indent, "",
                slot_irreps(w->problem, slot)->n, loops_segments(slot), row,
                plus_offset(w->arena, "scratch", own(w)->temporary_at));
}

static void emit_finish(struct source *w, int indent, int o, const char *at)
{
    const struct form_output *out = demand_output(w->demand, o);
    long long dim = source_dim(demand_operand(w->demand, o));
    if (w->schedule->route[o].compensated)
        text_printf(w->out, "%*scgtp_add(%lld, l->%serror + %s * %lld, %sout);\n", indent, "", dim,
                    out->symbol, at, dim, out->symbol);
    if (loops_transposes(w, w->demand->output[o]) && !loops_is_wide(w->demand, o))
        emit_turn(w, indent, o, arena_printf(w->arena, "%sout", out->symbol));
}

/* Adds what an item has made for the owned row of output o. */
static void emit_add(struct source *w, int indent, int o, const char *owned)
{
    const struct form_output *out = demand_output(w->demand, o);
    const char *term = plus_offset(w->arena, "scratch", own(w)->term_at[o]);
    long long dim = source_dim(demand_operand(w->demand, o));
    if (!loops_is_wide(w->demand, o)) {
        text_printf(w->out, "%*scgtp_add_compensated(%lld, %s, %sout, l->%serror + %s * %lld);\n", indent, "",
                    dim, term, out->symbol, out->symbol, owned, dim);
        return;
    }
    if (loops_transposes(w, w->demand->output[o]))
        emit_turn(w, indent, o, term);
    text_printf(w->out, "%*scgtp_add_wide(%lld, %s, %sout);\n", indent, "", dim, term, out->symbol);
}

enum owned_step { DECLARE = 1, BEGIN = 2, FINISH = 4 };

/* Declares, begins or finishes the owned rows number `at`. */
static void emit_owned(struct source *w, int indent, const char *at, unsigned steps)
{
    for (int o = 0; o < w->demand->outputs; o++) {
        if (!is_owned(w, o))
            continue;
        if (steps & DECLARE && (!(steps & FINISH) || needs_finish(w, o)))
            emit_row_pointer(w, indent, o, at);
        if (steps & BEGIN)
            emit_begin(w, indent, o, at);
        if (steps & FINISH)
            emit_finish(w, indent, o, at);
    }
}

/* ---- an item ---- */

/* A copy of the row of input i in component order, unless it is there. */
static void emit_stage(struct source *w, int indent, int i)
{
    const struct form_argument *in = &w->form->input[i];
    enum index_kind index = source_input(w, i)->index;
    bool each = index == INDEX_ITEM;
    if (!each)
        text_printf(w->out, "%*sif (%sat != %s) {\n%*s%sat = %s;\n", indent, "", in->symbol, row(w, index),
                    indent + 4, "", in->symbol, row(w, index));
    text_printf(w->out, "%*scgtp_row_to_components(%d, %s, l->%s + %s * (int64_t)%s, %s);\n",
                each ? indent : indent + 4, "", slot_irreps(w->problem, in->slot)->n,
                loops_segments(in->slot), in->symbol,
                each ? own_row(w) : arena_printf(w->arena, "%sat", in->symbol),
                source_rows_apart(w->arena, source_input(w, i), 1, "l->"),
                plus_offset(w->arena, "scratch", own(w)->brought_at[i]));
    if (!each)
        text_printf(w->out, "%*s}\n", indent, "");
}

/* An item's row of input i, or of what has been made of it, where rows are so far from each other. */
static const char *row_of_item(struct source *w, int i, const char *made, const char *apart)
{
    const struct operand *q = source_input(w, i);
    return q->index == INDEX_SHARED ? arena_printf(w->arena, "l->%s%s", q->symbol, made)
                                    : arena_printf(w->arena, "l->%s%s + %s * (int64_t)%s", q->symbol, made,
                                                   row(w, q->index), apart);
}

/* Calls the function of an item. */
static void emit_work(struct source *w, int indent)
{
    const struct demand *d = w->demand;
    const char **argument = NEW_ARRAY(w->arena, const char *, 2 * w->form->inputs + d->outputs + 1);
    int n = 0;
    for (int i = 0; i < w->form->inputs; i++) {
        if (d->raw[i] || (d->vector[i] && own(w)->staging[i] == STAGE_NONE))
            argument[n++] = row_of_item(w, i, "", source_rows_apart(w->arena, source_input(w, i), 1, "l->"));
        if (own(w)->staging[i] == STAGE_ROW)
            argument[n++] = plus_offset(w->arena, "scratch", own(w)->brought_at[i]);
        else if (own(w)->staging[i] == STAGE_ALL)
            argument[n++] =
                row_of_item(w, i, "turned", arena_printf(w->arena, "%lld", source_dim(source_input(w, i))));
    }
    for (int o = 0; o < d->outputs; o++)
        if (loops_touches(w, o))
            argument[n++] = has_term(w, o) ? plus_offset(w->arena, "scratch", own(w)->term_at[o])
                                           : arena_printf(w->arena, "%sout", demand_output(d, o)->symbol);
    argument[n++] = "scratch";
    emit_call(w->out, indent, arena_printf(w->arena, "item_%d", loops_number(w)), n, argument);
}

/* Everything about item e: copies, the item's work, its own rows. `owned` is the variable with the number of
 * the owned row, whose pointers are declared here if `declare`. */
static void emit_visit(struct source *w, int indent, const char *owned, bool declare)
{
    if (has_order(w) && uses(w, INDEX_ITEM))
        text_printf(w->out, "%*sconst int64_t item = graph->order ? graph->order[e] : e;\n", indent, "");
    for (int i = 0; i < w->form->inputs; i++)
        if (own(w)->staging[i] == STAGE_ROW)
            emit_stage(w, indent, i);
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct form_output *out = demand_output(w->demand, o);
        if (!is_owned(w, o) && (loops_touches(w, o) || out->slot != SLOT_W || needs_finish(w, o))) {
            emit_row_pointer(w, indent, o, own_row(w));
            if (out->slot != SLOT_W)
                emit_begin(w, indent, o, own_row(w));
        } else if (is_owned(w, o) && declare && loops_touches(w, o)) {
            emit_row_pointer(w, indent, o, owned);
        }
        if (has_term(w, o) && loops_touches(w, o))
            text_printf(w->out, "%*scgtp_zero(%lld, %s);\n", indent, "",
                        source_dim(demand_operand(w->demand, o)),
                        plus_offset(w->arena, "scratch", own(w)->term_at[o]));
    }
    emit_work(w, indent);
    for (int o = 0; o < w->demand->outputs; o++) {
        if (!is_owned(w, o))
            emit_finish(w, indent, o, own_row(w));
        else if (has_term(w, o) && loops_touches(w, o))
            emit_add(w, indent, o, owned);
    }
}

/* ---- the loops ---- */

/* Items, each for itself or for the part's partial rows. */
static void visit_items(struct source *w)
{
    emit_owned(w, 4, "part", DECLARE | BEGIN);
    text_printf(w->out, "    for (int64_t e = begin; e < end; e++) {\n");
    emit_visit(w, 8, "part", false);
    text_printf(w->out, "    }\n");
}

static void visit_sorted(struct source *w)
{
    text_printf(w->out, "    for (int64_t node = begin; node < end; node++) {\n");
    emit_owned(w, 8, "node", DECLARE | BEGIN);
    if (any_needs_finish(w))
        text_printf(w->out, "        if (graph->receiver_row[node] == graph->receiver_row[node + 1])\n"
                            "            continue;\n");
    text_printf(w->out, "        for (int64_t e = graph->receiver_row[node]; "
                        "e < graph->receiver_row[node + 1]; e++) {\n");
    emit_visit(w, 12, "node", false);
    text_printf(w->out, "        }\n");
    emit_owned(w, 8, "node", FINISH);
    text_printf(w->out, "    }\n");
}

/* All edges, of which those of the part's own rows count. */
static void visit_all(struct source *w)
{
    text_printf(w->out, "    for (int64_t node = begin; node < end; node++) {\n");
    emit_owned(w, 8, "node", DECLARE | BEGIN);
    text_printf(w->out,
                "    }\n"
                "    for (int64_t e = 0; e < graph->items; e++) {\n"
                "        const int64_t node = %s;\n"
                "        if (node < begin || node >= end)\n"
                "            continue;\n",
                row(w, demand_owner(w->demand)));
    emit_visit(w, 8, "node", true);
    text_printf(w->out, "    }\n");
    if (!any_needs_finish(w))
        return;
    text_printf(w->out, "    for (int64_t node = begin; node < end; node++) {\n");
    emit_owned(w, 8, "node", DECLARE | FINISH);
    text_printf(w->out, "    }\n");
}

static bool uses_graph(const struct source *w)
{
    return uses(w, INDEX_SENDER) || uses(w, INDEX_RECEIVER) || (has_order(w) && uses(w, INDEX_ITEM));
}

void loops_pass(struct source *w)
{
    enum index_kind owner = demand_owner(w->demand);
    if (owner == INDEX_SHARED)
        text_printf(w->out,
                    "/* Items begin .. end-1, summed up in row `part` of the partial sums. */\n"
                    "static void pass_%d(const struct launch *l, int64_t begin, int64_t end, int64_t part,\n"
                    "                   real *scratch)\n{\n",
                    loops_number(w));
    else
        text_printf(
            w->out,
            "/* Rows begin .. end-1 of %ss. */\n"
            "static void pass_%d(const struct launch *l, int64_t begin, int64_t end, real *scratch)\n{\n",
            index_name[owner], loops_number(w));
    if (uses_graph(w))
        text_printf(w->out, "    const %s *const graph = l->graph;\n",
                    w->spec->index64 ? "cgtp_graph64" : "cgtp_graph");
    for (int i = 0; i < w->form->inputs; i++)
        if (own(w)->staging[i] == STAGE_ROW && source_input(w, i)->index != INDEX_ITEM)
            text_printf(w->out, "    int64_t %sat = -1; /* the row that the copy is of */\n",
                        w->form->input[i].symbol);
    if (owner == INDEX_ITEM || owner == INDEX_SHARED)
        visit_items(w);
    else if (owner == INDEX_RECEIVER && w->spec->sorted)
        visit_sorted(w);
    else
        visit_all(w);
    text_printf(w->out, "}\n\n");
}
