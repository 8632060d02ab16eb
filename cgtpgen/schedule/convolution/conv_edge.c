/* conv_edge.c - the pipelined convolution, one edge: how its rows come into a stage, the work of its
 * paths, and where its outputs go.
 */
#include "schedule/convolution/conv_emit.h"

#include <string.h>

/* ", x0, at.x0, x1, at.x1": a lane's arrays of x, each with the slice of that name; slice_first: the other
 * way. */
static const char *x_pairs(const struct conv *c, const char *from, const char *name, bool slice_first)
{
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < c->s->xs; i++) {
        const char *field = conv_field(c->w->arena, name, SLOT_X, c->s->x[i]);
        const char *slice = arena_printf(c->w->arena, "%s.%s", from, field);
        text_printf(&list, ", %s, %s", slice_first ? slice : field, slice_first ? field : slice);
    }
    return text_string(&list);
}

/* An element for each of the edges side by side. */
static const char *of_item(const struct conv *c, const char *name)
{
    return conv_narrow(c) ? arena_printf(c->w->arena, "%s[side]", name) : name;
}

/* The functions that start an edge's copies. */
static const char *loads(const struct conv *c)
{
    return conv_needs_senders(c->w) ? "load_sender, load_item" : "load";
}

/* ---- outputs of slot y ---- */

/* How the sums of an item reach an output of slot y: several adders add atomically. */
static const char *how(const struct source *w)
{
    return own(w)->parts > 1 && !own(w)->part_buffer ? "CGTP_ADD" : "CGTP_STORE";
}

/* Where the sums of item `item` (an expression) for an output of slot y go. */
static const char *sums_row(struct conv *c, int number, const char *item)
{
    struct source *w = c->w;
    const struct operand *q = kernel_output(w->demand->kernel, number);
    const struct convolution *g = own(w);
    if (!g->part_buffer)
        return arena_printf(w->arena, "l.%s + %s * %s", q->array, item, source_stride(w, q));
    const char *part = g->grouped || c->s->channel_blocks == 1 ? "" : " + channel_block";
    const char *at = c->s->part_at ? arena_printf(w->arena, " + %d", c->s->part_at) : "";
    return arena_printf(w->arena, "l.%sparts + (%s * %d%s%s) * %lld", q->symbol, item, g->parts, at, part,
                        (long long)source_dim(q));
}

/* The components of y that sums of the set have, from *begin on. */
static int summed_ys(const struct conv *c, int *begin)
{
    return conv_summed_ys(own(c->w), c->s, begin);
}

/* name + begin, without a zero. */
static const char *from(const struct conv *c, const char *name, int begin)
{
    return begin ? arena_printf(c->w->arena, "%s + %d", name, begin) : name;
}

void conv_reduce(struct conv *c)
{
    struct source *w = c->w;
    int *output = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = conv_operands(w, SLOT_Y, true, output);
    line(c->o, "/* Sums what the group's warps have of `items` edges from number `begin` of the tile on. */");
    line(c->o, "auto reduce = [&](int begin, int items) {");
    line(c->o, "cgtp_sync_group<%d>();", c->s->channel_blocks);
    for (int i = 0; i < n; i++) {
        const char *name = conv_name(w, true, output[i]);
        const char *item = own(w)->orders ? arena_printf(w->arena, "sums.item[(unsigned)(begin + i) %% %d]",
                                                         2 * REDUCE_ITEMS)
                                          : "(first + begin + i)";
        int begin, ys = summed_ys(c, &begin);
        line(c->o, "auto %srow = [&](int i) { return %s; };", name,
             from(c, sums_row(c, output[i], item), begin));
        line(c->o, "cgtp_reduce_across_warps<%d, %d, %s, %lld>(%srow, %s, items);", ys, c->s->channel_blocks,
             how(w), (long long)w->problem->dim[SLOT_Y], name,
             from(c, arena_printf(w->arena, "sums.%s[(unsigned)begin %% %d][0]", name, 2 * REDUCE_ITEMS),
                  begin));
    }
    line(c->o, "};");
}

static void emit_y_outputs(struct conv *c)
{
    struct source *w = c->w;
    int *output = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = conv_operands(w, SLOT_Y, true, output);
    for (int i = 0; i < n; i++) {
        const char *name = conv_name(w, true, output[i]);
        int begin, ys = summed_ys(c, &begin);
        const char *block = c->s->channel_blocks > 1 ? "channel_block" : "0";
        const char *row =
            own(w)->reduces
                ? arena_printf(w->arena, "sums.%s[(unsigned)done %% %d][%s]", name, 2 * REDUCE_ITEMS, block)
                : sums_row(c, output[i], own(w)->orders && !conv_narrow(c) ? "at.item" : "edge");
        if (conv_narrow(c)) {
            line(c->o, "cgtp_reduce_items<%d, %s, %d>(%s, %s, there);", ys, how(w), c->s->lanes,
                 from(c, row, begin), from(c, name, begin));
            continue;
        }
        line(c->o, "cgtp_reduce_lanes<%d, %s>(%s, %s%s);", ys, own(w)->reduces ? "CGTP_STORE" : how(w),
             from(c, row, begin), from(c, name, begin),
             conv_sums_bytes(own(w), c->s) ? ", own.staging.sums" : "");
    }
    if (n && own(w)->reduces && own(w)->orders) {
        line(c->o, "if (%slane == 0)", c->s->channel_blocks > 1 ? "channel_block == 0 && " : "");
        line(c->o, "sums.item[(unsigned)done %% %d] = at.item;", 2 * REDUCE_ITEMS);
    }
    if (n && own(w)->reduces) {
        line(c->o, "if ((unsigned)done %% %d == %d)", REDUCE_ITEMS, REDUCE_ITEMS - 1);
        line(c->o, "reduce(done - %d, %d);", REDUCE_ITEMS - 1, REDUCE_ITEMS);
    }
}

/* ---- one edge ---- */

/* Loads what a lane has of the slices of x in from, or stores it there. In one call, unless the components of
 * some slices are apart. */
static void lanes(struct conv *c, const struct operand *o, const char *from, bool store)
{
    const char *name = o->symbol, *call = store ? "store" : "load";
    bool apart = false;
    for (int i = 0; i < c->s->xs; i++)
        apart = apart || block_is_apart(&o->block[c->s->x[i]]);
    if (!apart) {
        line(c->o, "cgtp_%s_lanes(lane%s);", call, x_pairs(c, from, name, store));
        return;
    }
    for (int i = 0; i < c->s->xs; i++) {
        const char *field = conv_field(c->w->arena, name, SLOT_X, c->s->x[i]);
        const char *slice = arena_printf(c->w->arena, "%s.%s", from, field);
        const char *how =
            block_is_apart(&o->block[c->s->x[i]])
                ? arena_printf(c->w->arena, "_components<%d%s>",
                               conv_channels(c->s, o->block[c->s->x[i]].channels), conv_of_lanes(c))
                : "";
        line(c->o, "cgtp_%s_lane%s(%s, %s, lane);", call, how, store ? slice : field, store ? field : slice);
    }
}

/* From the staging buffer to the rows of the edge `number` of the tile or, whose stage is `from`, of its
 * sender. */
static void emit_x_rows(struct conv *c, const char *number, const char *from)
{
    struct source *w = c->w;
    int *output = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = conv_operands(w, SLOT_X, true, output);
    for (int i = 0; i < n * c->s->parts; i++) {
        const int mul = c->s->part[i % c->s->parts];
        const struct operand *o = kernel_output(w->demand->kernel, output[i / c->s->parts]);
        const char *fields = conv_x_fields(c, "own.staging.edge", o->symbol, mul);
        if (!conv_x_has(c, mul))
            continue;
        if (own(w)->edge_buffer)
            line(c->o,
                 "cgtp_write_segments<%s_%s, CGTP_STORE>(l.%sedges + (first + %s) * (int64_t)%d, "
                 "channel_block, lane%s);",
                 conv_table(c, mul), conv_x_out(c), o->symbol, number, own(w)->edge_row, fields);
        else
            line(c->o, "cgtp_write_segments<%s_x, CGTP_ADD>(l.%s + %s * %s, channel_block, lane%s);",
                 conv_table(c, mul), o->symbol, of_item(c, arena_printf(w->arena, "%s.sender", from)),
                 source_stride(w, o), fields);
    }
}

/* Do gradients of x leave while the next edge is worked on? Not where sums of a receiver go through the
 * staging buffer as well. */
static bool puts_x_later(const struct conv *c)
{
    return own(c->w)->b_outputs && !own(c->w)->g_outputs && !conv_narrow(c);
}

void conv_put_x(struct conv *c)
{
    if (!puts_x_later(c))
        return;
    if (c->number == 0)
        line(c->o, "/* Brings gradients of x from the staging buffer to their rows. */");
    if (own(c->w)->edge_buffer)
        line(c->o, "auto put_x = [&](int number) {");
    else
        line(c->o, "auto put_x = [&](const stage_%d &from) {", c->label);
    emit_x_rows(c, "number", "from");
    line(c->o, "};");
}

/* Those of the edge before. */
static void emit_put_x(struct conv *c)
{
    line(c->o, "put_x(%s);", own(c->w)->edge_buffer ? "done - 1" : "ring.before()");
}

/* Where weights' gradients of the edge go: computed before anything is loaded, when registers are free. */
static void emit_w_outputs(struct conv *c)
{
    struct source *w = c->w;
    if (!c->s->keeps_rows)
        conv_rows_out(c);
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *f = demand_operand(w->demand, i);
        if (f->slot == SLOT_W && conv_has_weights(c))
            line(c->o, "%s *const %sout = cgtp_nth_row(%sbase, %s, %s);", source_held(w->plan, f), f->symbol,
                 f->symbol,
                 own(w)->orders   ? of_item(c, "at.item")
                 : conv_narrow(c) ? "number"
                                  : "done",
                 source_stride(w, f));
    }
}

/* Gradients of weights that wait in the stage: to their row. */
static void emit_w_rows(struct conv *c)
{
    const struct operand *in = conv_waits_in(c);
    int *number = NEW_ARRAY(c->w->arena, int, c->w->form->outputs + 1), input = 0;
    if (!in)
        return;
    while (source_input(c->w, input) != in)
        input++;
    conv_operands(c->w, SLOT_W, true, number);
    for (int k = 0; k < c->s->parts; k++) {
        const char *first = conv_first_weights(c, input, c->s->part[k]);
        if (first)
            line(c->o, "cgtp_write_lanes_weights<%s_w>(%sout, at.%s, channel_block, lane);",
                 conv_table(c, c->s->part[k]), kernel_output(c->w->demand->kernel, number[0])->symbol, first);
    }
}

/* Gradients of x: to the staging buffer, which the edge before has left. */
static void emit_x_outputs(struct conv *c)
{
    struct source *w = c->w;
    int *output = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = conv_operands(w, SLOT_X, true, output);
    for (int i = 0; i < n; i++)
        lanes(c, kernel_output(w->demand->kernel, output[i]), "own.staging.edge", true);
    if (conv_narrow(c) && (n || conv_waits_in(c))) {
        line(c->o, "}");
        line(c->o, "cgtp_sync_warp();");
        line(c->o, "if (there) {");
        emit_x_rows(c, "number", "at");
        if (conv_waits_in(c) && own(w)->orders)
            emit_w_outputs(c);
        emit_w_rows(c);
        line(c->o, "}");
        if (n && !own(w)->a_outputs) /* otherwise lanes meet in sums over them */
            line(c->o, "cgtp_sync_warp(); /* the buffer is free */");
        return;
    }
    if ((n && !puts_x_later(c)) || conv_waits_in(c))
        line(c->o, "cgtp_sync_warp();");
    if (n && !puts_x_later(c))
        emit_x_rows(c, "done", "at");
    emit_w_rows(c);
}

/* Adds arrays of a lane's channels of the segments of x. */
static void add_x_arrays(const struct conv *c, struct text *list, const char *name, const char *zero)
{
    for (int x = 0; x < c->s->xs; x++)
        text_printf(list, "%s %s[%d]%s", list->n ? "," : "",
                    conv_field(c->w->arena, name, SLOT_X, c->s->x[x]),
                    conv_channels(c->s, c->w->problem->x.segment[c->s->x[x]].mul) *
                        conv_components_x(c->w, c->s->x[x]),
                    zero);
}

/* A lane's rows of x and y of the edge: their arrays, and they in them. */
static void emit_edge_arrays(struct conv *c)
{
    struct source *w = c->w;
    struct text list = {.arena = w->arena};
    long long dim_y = (long long)w->problem->dim[SLOT_Y];
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        if (demand_reads(w->demand, i) && in->slot == SLOT_Y)
            text_printf(&list, "%s %s[%lld]", list.n ? "," : "", in->symbol, dim_y);
        if (demand_reads(w->demand, i) && in->slot == SLOT_X)
            add_x_arrays(c, &list, in->symbol, "");
    }
    if (list.n)
        line(c->o, "real%s;", list.s);
}

static void emit_edge_inputs(struct conv *c)
{
    struct source *w = c->w;
    long long dim_y = (long long)w->problem->dim[SLOT_Y];
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        if (demand_reads(w->demand, i) && in->slot == SLOT_Y)
            line(c->o, "cgtp_load_row<%lld>(%s, %s%s);", dim_y, in->symbol, conv_in_stage(c, i, 0),
                 conv_narrow(c) ? arena_printf(w->arena, " + side * %d",
                                               conv_y_room(source_input(w, i), c->s) / conv_abreast(c->s))
                                : "");
        if (demand_reads(w->demand, i) && in->slot == SLOT_X)
            lanes(c, source_input(w, i), "at", false);
    }
}

static void emit_edge_sums(struct conv *c)
{
    struct source *w = c->w;
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct form_output *f = &w->form->output[w->demand->output[i]];
        int begin, ys = summed_ys(c, &begin);
        if (f->slot == SLOT_Y)
            text_printf(&list, "%s %s[%s(%d)] = {0}", list.n ? "," : "", f->symbol,
                        begin ? arena_printf(w->arena, "%d + cgtp_sums_length", begin) : "cgtp_sums_length",
                        ys);
        if (f->slot == SLOT_X)
            add_x_arrays(c, &list, f->symbol, " = {0}");
    }
    if (list.n)
        line(c->o, "real%s;", list.s);
}

/* What edges have left to be added to the receiver's sums. */
static void emit_carry(struct conv *c)
{
    struct source *w = c->w;
    int *output = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = conv_operands(w, SLOT_G, true, output);
    if (n == 0 || !own(w)->carries)
        return;
    line(c->o, "if ((unsigned)done %% %d == %d) {", CARRY_EDGES, CARRY_EDGES - 1);
    for (int i = 0; i < n; i++) {
        const char *name = conv_name(w, true, output[i]);
        line(c->o, "cgtp_carry(%ssum, %s);", name, name);
    }
    line(c->o, "}");
}

/* Do copies for a later edge start in the middle of an edge's work, not at its beginning? Where memory is
 * what a kernel waits for, as in forward with rows of float32 or float64, they start as early as they can. */
static bool loads_later(const struct conv *c)
{
    bool short_rows = false;
    for (int i = 0; i < c->w->form->inputs; i++)
        short_rows |= operand_size(source_input(c->w, i)) == 2;
    return own(c->w)->b_outputs || short_rows;
}

/* The first path after the middle of an edge's work. */
static int after_middle(const struct conv *c)
{
    int work = 0, until = 0, i = 0;
    for (int k = 0; k < c->s->paths; k += conv_together(own(c->w), c->s->path[k]))
        work += code_instructions(own(c->w)->code[c->s->path[k]]->channel);
    while ((until += code_instructions(own(c->w)->code[c->s->path[i]]->channel)) * 2 < work)
        i += conv_together(own(c->w), c->s->path[i]);
    return i + conv_together(own(c->w), c->s->path[i]);
}

/* In the middle of an edge's work: gradients of x of the edge before leave, and copies for a later one start.
 * At the edge's beginning a warp waits for those that it needs, and the more it has to wait for at once, the
 * less another's work is enough to wait by. */
static void emit_middle(struct conv *c)
{
    if (puts_x_later(c)) {
        line(c->o, "if (done) {");
        emit_put_x(c);
        line(c->o, "cgtp_sync_warp(); /* its stage and the buffer are free */");
        line(c->o, "}");
    }
    line(c->o, "ring.load_ahead(done, count, lane, %s);", loads(c));
}

/* The paths from number `from` on; those computed together follow each other. */
static void emit_paths(struct conv *c, int from, int to)
{
    for (int i = from; i < to; i += conv_together(own(c->w), c->s->path[i])) {
        const struct device_path path = conv_path(c, i);
        device_path_comment(&path);
        device_path_call(&path);
    }
}

/* Edges side by side: of a turn's those of the receiver, `there`, that of the lane number `number` of the
 * tile. A turn that several receivers share brings in a later one at its `fresh` first. */
static void emit_edges_abreast(struct conv *c)
{
    struct source *w = c->w;
    const int abreast = conv_abreast(c->s), middle = after_middle(c);
    const bool orders = own(w)->orders, later = loads_later(c) && !orders;
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int next; done < end; done = next) {");
    line(c->o, "const int turn = done / %d, number = turn * %d + side;", abreast, abreast);
    line(c->o, "const bool fresh = done == turn * %d;", abreast);
    line(c->o, "if (fresh)");
    if (later)
        line(c->o, "stage = &ring.wait();");
    else
        line(c->o, "stage = &ring.turn(turn, turns, lane, %s);", loads(c));
    line(c->o, "const stage_%d &at = *stage;", c->label);
    line(c->o, "next = turn * %d + %d < end ? turn * %d + %d : end;", abreast, abreast, abreast, abreast);
    line(c->o, "const bool there = number >= done && number < next;");
    if (own(w)->a_outputs)
        line(c->o, "const int64_t edge = %s;", orders ? "there ? at.item[side] : 0" : "first + number");
    emit_edge_sums(c);
    if (!orders)
        emit_w_outputs(c);
    if (later)
        emit_edge_arrays(c);
    line(c->o, "if (there) {");
    if (orders && !conv_waits_in(c))
        emit_w_outputs(c);
    if (!later)
        emit_edge_arrays(c);
    emit_edge_inputs(c);
    emit_paths(c, 0, later ? middle : c->s->paths);
    if (later) {
        line(c->o, "}");
        line(c->o, "if (fresh)");
        line(c->o, "ring.load_ahead(turn, turns, lane, %s);", loads(c));
        line(c->o, "if (there) {");
        emit_paths(c, middle, c->s->paths);
    }
    emit_x_outputs(c);
    if (!own(w)->b_outputs && !conv_waits_in(c))
        line(c->o, "}");
    emit_y_outputs(c);
    line(c->o, "}");
}

void conv_edges(struct conv *c)
{
    struct source *w = c->w;
    const int middle = after_middle(c);
    if (conv_narrow(c)) {
        emit_edges_abreast(c);
        return;
    }
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (; done < end; done++) {");
    const bool later = loads_later(c);
    if (later)
        line(c->o, "const stage_%d &at = ring.wait();", c->label);
    else
        line(c->o, "const stage_%d &at = ring.turn(done, count, lane, %s);", c->label, loads(c));
    if (!own(w)->orders && own(w)->a_outputs && !own(w)->reduces)
        line(c->o, "const int64_t edge = first + done;");
    emit_w_outputs(c);
    emit_edge_arrays(c);
    emit_edge_inputs(c);
    emit_edge_sums(c);
    emit_paths(c, 0, later ? middle : c->s->paths);
    if (later) {
        emit_middle(c);
        emit_paths(c, middle, c->s->paths);
    }
    emit_carry(c);
    emit_y_outputs(c);
    emit_x_outputs(c);
    line(c->o, "}");
}

/* After the last edge: what is left of it, and the items that no full turn of the warp, of the warp group has
 * taken. */
void conv_end_edges(struct conv *c)
{
    if (puts_x_later(c)) {
        line(c->o, "if (done) {");
        line(c->o, "cgtp_sync_warp();");
        emit_put_x(c);
        line(c->o, "}");
    }
    if (!own(c->w)->reduces)
        return;
    line(c->o, "if ((unsigned)done %% %d)", REDUCE_ITEMS);
    line(c->o, "reduce(done - (int)((unsigned)done %% %d), (int)((unsigned)done %% %d));", REDUCE_ITEMS,
         REDUCE_ITEMS);
}
