/* emit_c_pass.c - the loop of a pass: which items, where their rows are, when rows begin and end. */
#include "emit/emit_c_kernel.h"

/* Row of item e, as a C expression. */
static const char *row(struct kernel_writer *w, enum index_kind index)
{
    return emit_item_row(w->arena, "graph->", index);
}

static void emit_finish(struct kernel_writer *w, int indent, int o, const char *at)
{
    const struct form_output *out = pass_output(w, o);
    if (is_compensated(w, out->slot))
        text_printf(w->out, "%*scgtp_add(%lld, l->%s_error + %s * %lld, %s_row);\n", indent, "",
                    (long long)row_dim(w, out->slot), out->name, at, (long long)row_dim(w, out->slot),
                    out->name);
    if (is_transposed(w, out->slot))
        text_printf(w->out, "%*scgtp_row_from_components(%d, segments_%s, %s_row, %s);\n", indent, "",
                    irreps_of(w->plan, out->slot)->n, slot_name[out->slot], out->name,
                    plus_offset(w->arena, "scratch", w->temporary_at));
}

static void emit_begin(struct kernel_writer *w, int indent, int o, const char *at)
{
    const struct form_output *out = pass_output(w, o);
    text_printf(w->out, "%*scgtp_zero(%lld, %s_row);\n", indent, "", (long long)row_dim(w, out->slot),
                out->name);
    if (is_compensated(w, out->slot))
        text_printf(w->out, "%*scgtp_zero(%lld, l->%s_error + %s * %lld);\n", indent, "",
                    (long long)row_dim(w, out->slot), out->name, at, (long long)row_dim(w, out->slot));
}

static void emit_row_pointer(struct kernel_writer *w, int indent, int o, const char *at)
{
    const struct form_output *out = pass_output(w, o);
    enum index_kind index = index_of(w, out->slot);
    text_printf(w->out, "%*sreal *const %s_row = l->%s + %s * %lld;\n", indent, "", out->name,
                index == INDEX_SHARED ? arena_printf(w->arena, "%s_parts", out->name) : out->name, at,
                (long long)row_dim(w, out->slot));
}

static void emit_stage(struct kernel_writer *w, int indent, int i)
{
    const struct form_argument *in = &w->form->input[i];
    enum index_kind index = index_of(w, in->slot);
    const char *copy = plus_offset(w->arena, "scratch", w->staged_at[i]);
    bool each = index == INDEX_ITEM;
    if (!each)
        text_printf(w->out, "%*sif (%s_at != %s) {\n%*s%s_at = %s;\n", indent, "", in->name, row(w, index),
                    indent + 4, "", in->name, row(w, index));
    text_printf(w->out, "%*scgtp_row_to_components(%d, segments_%s, l->%s + %s * (int64_t)%lld, %s);\n",
                each ? indent : indent + 4, "", irreps_of(w->plan, in->slot)->n, slot_name[in->slot],
                in->name, each ? "e" : arena_printf(w->arena, "%s_at", in->name),
                (long long)row_dim(w, in->slot), copy);
    if (!each)
        text_printf(w->out, "%*s}\n", indent, "");
}

/* Everything about item e: copies, the item's work, its own rows. `owned` is the variable with the number of
 * the owned row, whose pointers are declared here if `declare`. */
static void emit_visit(struct kernel_writer *w, int indent, const char *owned, bool declare)
{
    enum index_kind owner = w->pass->owner;
    for (int i = 0; i < w->form->inputs; i++)
        if (w->pass->staging[i] == STAGE_ROW)
            emit_stage(w, indent, i);
    for (int o = 0; o < w->pass->outputs; o++) {
        enum slot s = pass_output(w, o)->slot;
        if (index_of(w, s) == INDEX_ITEM) {
            emit_row_pointer(w, indent, o, "e");
            if (s != SLOT_W)
                emit_begin(w, indent, o, "e");
        } else if (declare) {
            emit_row_pointer(w, indent, o, owned);
        }
        if (is_compensated(w, s))
            text_printf(w->out, "%*scgtp_zero(%lld, %s);\n", indent, "", (long long)row_dim(w, s),
                        plus_offset(w->arena, "scratch", w->term_at[o]));
    }
    const char **argument = NEW_ARRAY(w->arena, const char *, 2 * w->form->inputs + w->pass->outputs + 1);
    int n = 0;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        enum index_kind index = index_of(w, in->slot);
        const char *at = index == INDEX_SHARED ? ""
                                               : arena_printf(w->arena, " + %s * (int64_t)%lld",
                                                              row(w, index), (long long)row_dim(w, in->slot));
        if (w->pass->raw[i] || (w->pass->vector[i] && w->pass->staging[i] == STAGE_NONE))
            argument[n++] = arena_printf(w->arena, "l->%s%s", in->name, at);
        if (w->pass->staging[i] == STAGE_ROW)
            argument[n++] = plus_offset(w->arena, "scratch", w->staged_at[i]);
        else if (w->pass->staging[i] == STAGE_ALL)
            argument[n++] = arena_printf(w->arena, "l->%s_t%s", in->name, at);
    }
    for (int o = 0; o < w->pass->outputs; o++)
        argument[n++] = is_compensated(w, pass_output(w, o)->slot)
                            ? plus_offset(w->arena, "scratch", w->term_at[o])
                            : arena_printf(w->arena, "%s_row", pass_output(w, o)->name);
    argument[n++] = "scratch";
    emit_call(w->out, indent, arena_printf(w->arena, "item_%s", index_words[owner].plural), n, argument);
    for (int o = 0; o < w->pass->outputs; o++) {
        const struct form_output *out = pass_output(w, o);
        if (index_of(w, out->slot) == INDEX_ITEM)
            emit_finish(w, indent, o, "e");
        else if (is_compensated(w, out->slot))
            text_printf(w->out, "%*scgtp_add_compensated(%lld, %s, %s_row, l->%s_error + %s * %lld);\n",
                        indent, "", (long long)row_dim(w, out->slot),
                        plus_offset(w->arena, "scratch", w->term_at[o]), out->name, out->name, owned,
                        (long long)row_dim(w, out->slot));
    }
}

static void emit_owned(struct kernel_writer *w, int indent, const char *at, bool begin)
{
    for (int o = 0; o < w->pass->outputs; o++)
        if (index_of(w, pass_output(w, o)->slot) == w->pass->owner) {
            if (begin)
                emit_begin(w, indent, o, at);
            else
                emit_finish(w, indent, o, at);
        }
}

static void emit_owned_pointers(struct kernel_writer *w, int indent, const char *at)
{
    for (int o = 0; o < w->pass->outputs; o++)
        if (index_of(w, pass_output(w, o)->slot) == w->pass->owner)
            emit_row_pointer(w, indent, o, at);
}

void emit_c_pass(struct kernel_writer *w)
{
    struct text *out = w->out;
    enum index_kind owner = w->pass->owner;
    const char *word = index_words[owner].plural;
    bool needs_finish = false;
    for (int o = 0; o < w->pass->outputs; o++)
        needs_finish |=
            index_of(w, pass_output(w, o)->slot) == owner &&
            (is_transposed(w, pass_output(w, o)->slot) || is_compensated(w, pass_output(w, o)->slot));
    emit_c_item(w);
    if (owner == INDEX_SHARED)
        text_printf(out, "/* Items begin .. end-1, summed up in row `part` of the partial sums. */\n"
                         "static void pass_shared(const struct launch *l, int64_t begin, int64_t end, "
                         "int64_t part, real *scratch)\n{\n");
    else
        text_printf(
            out,
            "/* Rows begin .. end-1 of %s. */\n"
            "static void pass_%s(const struct launch *l, int64_t begin, int64_t end, real *scratch)\n{\n",
            word, word);
    bool uses_graph = owner == INDEX_SENDER || owner == INDEX_RECEIVER;
    for (int i = 0; i < w->form->inputs; i++)
        uses_graph |= (w->pass->raw[i] || w->pass->vector[i]) &&
                      (index_of(w, w->form->input[i].slot) == INDEX_SENDER ||
                       index_of(w, w->form->input[i].slot) == INDEX_RECEIVER);
    if (uses_graph)
        text_printf(out, "    const %s *const graph = l->graph;\n",
                    w->spec->index64 ? "cgtp_graph64" : "cgtp_graph");
    for (int i = 0; i < w->form->inputs; i++)
        if (w->pass->staging[i] == STAGE_ROW && index_of(w, w->form->input[i].slot) != INDEX_ITEM)
            text_printf(out, "    int64_t %s_at = -1; /* the row that the copy is of */\n",
                        w->form->input[i].name);
    if (owner == INDEX_ITEM) {
        text_printf(out, "    for (int64_t e = begin; e < end; e++) {\n");
        emit_visit(w, 8, NULL, false);
        text_printf(out, "    }\n");
    } else if (owner == INDEX_SHARED) {
        emit_owned_pointers(w, 4, "part");
        emit_owned(w, 4, "part", true);
        text_printf(out, "    for (int64_t e = begin; e < end; e++) {\n");
        emit_visit(w, 8, "part", false);
        text_printf(out, "    }\n");
    } else if (owner == INDEX_RECEIVER && w->spec->sorted) {
        text_printf(out, "    for (int64_t node = begin; node < end; node++) {\n");
        emit_owned_pointers(w, 8, "node");
        emit_owned(w, 8, "node", true);
        if (needs_finish)
            text_printf(out, "        if (graph->receiver_row[node] == graph->receiver_row[node + 1])\n      "
                             "      continue;\n");
        text_printf(out, "        for (int64_t e = graph->receiver_row[node]; e < graph->receiver_row[node + "
                         "1]; e++) {\n");
        emit_visit(w, 12, "node", false);
        text_printf(out, "        }\n");
        emit_owned(w, 8, "node", false);
        text_printf(out, "    }\n");
    } else {
        text_printf(out, "    for (int64_t node = begin; node < end; node++) {\n");
        emit_owned_pointers(w, 8, "node");
        emit_owned(w, 8, "node", true);
        text_printf(out,
                    "    }\n    for (int64_t e = 0; e < graph->items; e++) {\n"
                    "        const int64_t node = %s;\n"
                    "        if (node < begin || node >= end)\n            continue;\n",
                    row(w, owner));
        emit_visit(w, 8, "node", true);
        text_printf(out, "    }\n");
        if (needs_finish) {
            text_printf(out, "    for (int64_t node = begin; node < end; node++) {\n");
            for (int o = 0; o < w->pass->outputs;
                 o++) /* pointers of those that emit_finish does something to */
                if (index_of(w, pass_output(w, o)->slot) == owner &&
                    (is_transposed(w, pass_output(w, o)->slot) || is_compensated(w, pass_output(w, o)->slot)))
                    emit_row_pointer(w, 8, o, "node");
            emit_owned(w, 8, "node", false);
            text_printf(out, "    }\n");
        }
    }
    text_printf(out, "}\n\n");
}
