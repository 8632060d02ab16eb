/* general_kernel.c - the general evaluation: the kernel that visits the items of each row, and those that
 * finish sums over all items.
 */
#include "schedule/general/general.h"

#include "schedule/index_words.h"
#include "schedule/path.h"

static bool is_owned(const struct source *w, int o)
{
    return w->schedule->route[o].kind != ROUTE_ITEM;
}

/* Row of item e, as a C expression. */
static const char *row(const struct source *w, enum index_kind index)
{
    return source_item_row(w->arena, "l.graph.", source_item(w), index);
}

const char *general_parts(struct arena *a, const struct schedule *s, int o)
{
    return arena_printf(a, "%sparts%s", demand_output(s->demand, o)->symbol, s->before ? "_general" : "");
}

const char *general_sum(struct arena *a, const struct schedule *s, int o)
{
    return arena_printf(a, "%s%s_sum_%s", s->demand->kernel->form->name, s->before ? "_general" : "",
                        demand_output(s->demand, o)->symbol);
}

static void emit_row(struct source *w, int indent, int o, const char *at)
{
    const struct form_output *f = demand_output(w->demand, o);
    long long dim = source_dim(demand_operand(w->demand, o));
    const bool parts = w->schedule->route[o].kind == ROUTE_PARTS;
    const char *array = parts ? arena_printf(w->arena, "l.%s", general_parts(w->arena, w->schedule, o))
                              : arena_printf(w->arena, "l.%s", f->symbol);
    const char *each =
        parts ? arena_printf(w->arena, "(int64_t)%lld", dim)
              : arena_printf(w->arena, "(int64_t)%s", source_stride(w, demand_operand(w->demand, o)));
    const char *row = arena_printf(w->arena, "%s + %s * %s", array, at, each);
    if (w->schedule->route[o].compensated)
        text_printf(w->out, "%*sconst cgtp_compensated %sout = {%s,\n%*sl.%serror + %s * (int64_t)%lld};\n",
                    indent, "", f->symbol, row, indent + 31, "", f->symbol, at, dim);
    else
        text_printf(w->out, "%*s%s *const %sout = %s;\n", indent, "",
                    source_held(w->plan, demand_operand(w->demand, o)), f->symbol, row);
}

/* Zeros in the row of an output, a partial row too; where a schedule before has written it, in the blocks of
 * weights that are left. */
static void emit_zeros(struct source *w, int indent, int o)
{
    const struct form_output *f = demand_output(w->demand, o);
    int64_t from = 0, to = 0;
    const bool parts = w->schedule->route[o].kind == ROUTE_PARTS;
    if (w->schedule->before && !parts && w->schedule->route[o].compensated)
        text_printf(w->out, "%*scgtp_zero_row(%sout.error, %lld);\n", indent, "", f->symbol,
                    source_dim(demand_operand(w->demand, o)));
    if (!w->schedule->before || parts) {
        text_printf(w->out, "%*scgtp_zero_row(%sout, %lld);\n", indent, "", f->symbol,
                    source_dim(demand_operand(w->demand, o)));
        return;
    }
    for (int p = 0; p <= w->problem->paths && f->slot == SLOT_W; p++) {
        const struct path *q = &w->problem->path[p];
        bool left = p < w->problem->paths && leaves_weights(f, w->schedule->before, q);
        if (left && q->weight_offset == to) {
            to += q->weight_numel;
        } else if (left || p == w->problem->paths) {
            if (to > from)
                text_printf(w->out, "%*scgtp_zero_row(%s, %lld);\n", indent, "",
                            plus_offset(w->arena, arena_printf(w->arena, "%sout", f->symbol), from),
                            (long long)(to - from));
            from = left ? q->weight_offset : to;
            to = left ? from + q->weight_numel : to;
        }
    }
}

/* Does the work of an item ask which it is? */
static bool visit_asks(const struct source *w)
{
    bool any = false;
    for (int o = 0; o < w->demand->outputs; o++)
        any |= !is_owned(w, o);
    for (int i = 0; i < w->form->inputs; i++)
        any |= demand_reads(w->demand, i) && source_input(w, i)->index != INDEX_SHARED;
    return any;
}

/* Does the work of item e, with its own rows. */
static void emit_visit(struct source *w, int indent)
{
    const struct demand *d = w->demand;
    for (int o = 0; o < d->outputs; o++)
        if (!is_owned(w, o)) {
            emit_row(w, indent, o, source_item(w));
            emit_zeros(w, indent, o);
        }
    const char **argument = NEW_ARRAY(w->arena, const char *, w->form->inputs + d->outputs + 1);
    int n = 0;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        enum index_kind index = source_input(w, i)->index;
        if (!demand_reads(d, i))
            continue;
        argument[n++] = index == INDEX_SHARED
                            ? arena_printf(w->arena, "l.%s", in->symbol)
                            : arena_printf(w->arena, "l.%s + %s * (int64_t)%s", in->symbol, row(w, index),
                                           source_stride(w, source_input(w, i)));
    }
    for (int o = 0; o < d->outputs; o++)
        argument[n++] = arena_printf(w->arena, "%sout", demand_output(d, o)->symbol);
    if (((const struct general *)w->schedule->own)->scratch)
        argument[n++] = "scratch";
    emit_call(w->out, indent, arena_printf(w->arena, "item_%s", w->schedule->name), n, argument);
}

enum owned_step { DECLARE = 1, BEGIN = 2, FINISH = 4 };

/* Declares, begins or finishes the owned rows number `at`. */
static void emit_owned(struct source *w, int indent, const char *at, unsigned steps)
{
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct form_output *f = demand_output(w->demand, o);
        if (!is_owned(w, o))
            continue;
        if (steps & DECLARE)
            emit_row(w, indent, o, at);
        if (steps & BEGIN)
            emit_zeros(w, indent, o);
        if (steps & FINISH && w->schedule->route[o].compensated)
            text_printf(w->out, "%*scgtp_finish_row(%sout, %lld);\n", indent, "", f->symbol,
                        source_dim(demand_operand(w->demand, o)));
    }
}

/* Items, each for itself or for the warp's partial rows. */
static void visit_items(struct source *w)
{
    emit_owned(w, 4, "warp", DECLARE | BEGIN);
    text_printf(w->out, "    for (int64_t e = warp; e < %s; e += CGTP_GENERAL_WARPS) {\n", source_items(w));
    emit_visit(w, 8);
    text_printf(w->out, "    }\n");
}

/* The edges of each node, where they are in order. */
static void visit_sorted(struct source *w, const char *side, bool receiver)
{
    text_printf(w->out, "    for (int64_t node = warp; node < l.graph.%ss; node += CGTP_GENERAL_WARPS) {\n",
                side);
    emit_owned(w, 8, "node", DECLARE | BEGIN);
    text_printf(w->out,
                "        for (int64_t i = l.graph.%s_row[node]; i < l.graph.%s_row[node + 1]; i++) {\n", side,
                side);
    if (visit_asks(w))
        text_printf(w->out, "            const int64_t e = %s;\n", receiver ? "i" : "l.graph.by_sender[i]");
    emit_visit(w, 12);
    text_printf(w->out, "        }\n");
    emit_owned(w, 8, "node", FINISH);
    text_printf(w->out, "    }\n");
}

/* Adds up the partial rows of all warps for output o, and adds that to what another schedule wrote. */
static void emit_sum(struct source *w, int o)
{
    const char *name = demand_output(w->demand, o)->symbol;
    const char *parts = general_parts(w->arena, w->schedule, o), *set = w->schedule->before ? "+=" : "=";
    long long dim = source_dim(demand_operand(w->demand, o));
    text_printf(w->out,
                "/* %s: the partial sums of all warps, added in order; a thread per element. */\n"
                "CGTP_KERNEL(128, 1) %s(const launch l)\n{\n"
                "    const int64_t at = cgtp_block() * (int64_t)128 + cgtp_thread();\n"
                "    if (at >= %lld)\n        return;\n",
                demand_output(w->demand, o)->name, general_sum(w->arena, w->schedule, o), dim);
    if (w->schedule->route[o].compensated)
        text_printf(
            w->out,
            "    real sum = 0, error = 0;\n    const cgtp_compensated total = {&sum, &error};\n"
            "    for (int64_t part = 0; part < CGTP_GENERAL_WARPS; part++) {\n"
            "        total[0] += l.%s[part * %lld + at];\n"
            "        error += l.%serror[part * %lld + at];\n    }\n    l.%s[at] %s sum + error;\n}\n\n",
            parts, dim, name, dim, name, set);
    else
        text_printf(w->out,
                    "    %s sum = 0;\n    for (int64_t part = 0; part < CGTP_GENERAL_WARPS; part++)\n"
                    "        sum += l.%s[part * %lld + at];\n    l.%s[at] %s sum;\n}\n\n",
                    source_held(w->plan, demand_operand(w->demand, o)), parts, dim, name, set);
}

void general_kernels(struct source *w)
{
    const struct general *own = w->schedule->own;
    enum index_kind owner = demand_owner(w->demand);
    bool receiver = owner == INDEX_RECEIVER;
    const char *side = receiver ? "receiver" : "sender";
    text_printf(w->out,
                "CGTP_KERNEL(CGTP_GENERAL_BLOCK, 1) %s_%s(const launch l)\n{\n"
                "    const int warp = cgtp_general_warp();\n",
                w->form->name, w->schedule->name);
    if (own->scratch)
        text_printf(w->out, "    real *const scratch = l.scratch_%s + (int64_t)warp * %lld;\n",
                    w->schedule->name, (long long)own->scratch);
    if (owner == INDEX_ITEM || owner == INDEX_SHARED)
        visit_items(w);
    else
        visit_sorted(w, side, receiver);
    text_printf(w->out, "}\n\n");
    for (int o = 0; o < w->demand->outputs; o++)
        if (w->schedule->route[o].kind == ROUTE_PARTS)
            emit_sum(w, o);
}
