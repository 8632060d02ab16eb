/* conv_edge.c - the pipelined convolution, one edge: how its rows come into a stage, the work of its
 * paths, and where its outputs go.
 */
#include "schedule/convolution/conv_emit.h"

#include <string.h>

/* ", to.x0, to.x1": the fields of the segments of x. */
static const char *x_fields(const struct conv *c, const char *from, const char *name)
{
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < c->s->xs; i++)
        text_printf(&list, ", %s.%s", from, conv_field(c->w->arena, name, SLOT_X, c->s->x[i]));
    return text_string(&list);
}

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

/* ---- loading a stage ---- */

/* The first field of an input of weights in a stage; NULL: none. */
static const char *first_field(const struct conv *c, int input)
{
    int *path, n = conv_weighted(c->w->arena, c->w->problem, c->s, &path);
    return n ? conv_field(c->w->arena, conv_name(c->w, false, input), SLOT_W, path[0]) : NULL;
}

/* Where the lane's parts of the rows of x begin. */
static void emit_sender_rows_in(struct conv *c)
{
    struct source *w = c->w;
    struct text x = {.arena = w->arena};
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n = conv_operands(w, SLOT_X, false, number);
    for (int i = 0; i < n; i++) {
        const struct operand *in = source_input(w, number[i]);
        text_printf(&x, "%s%sbase(l.%s, channel_block, lane)", i ? ", " : "", in->symbol, in->array);
    }
    if (n)
        line(c->o, "const cgtp_row<const %s, set_%d_x> %s;", source_held(w->plan, conv_array(w, SLOT_X)),
             c->label, text_string(&x));
}

/* The same of rows of items, from the tile's first edge on; in any order of edges, from item 0 on. */
static void emit_item_rows_in(struct conv *c)
{
    struct source *w = c->w;
    const char *first = own(w)->orders ? "0" : "first", *kept = c->s->keeps_rows ? "true" : "false";
    struct text y = {.arena = w->arena};
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n = conv_operands(w, SLOT_Y, false, number);
    for (int i = 0; i < n; i++) {
        const struct operand *in = source_input(w, number[i]);
        text_printf(&y, "%s%sbase(l.%s, %s, %s, lane)", i ? ", " : "", in->symbol, in->array, first,
                    source_stride(w, in));
    }
    if (n)
        line(c->o, "const cgtp_lanes_rows<%lld, %s> %s;", (long long)w->problem->dim[SLOT_Y], kept,
             text_string(&y));
    n = conv_operands(w, SLOT_W, false, number);
    for (int i = 0; i < n && first_field(c, number[i]); i++) {
        const struct operand *in = source_input(w, number[i]);
        line(c->o,
             "const %s *const %sbase = cgtp_lanes_weights<set_%d_w, %s>(l.%s, %s, %s, channel_block, lane);",
             source_held(w->plan, in), in->symbol, c->label, kept, in->array, first, source_stride(w, in));
    }
}

/* Has the set weights, whose gradients it makes? */
static bool has_weights(const struct conv *c)
{
    int *path;
    return conv_weighted(c->w->arena, c->w->problem, c->s, &path) > 0;
}

/* The same of gradients of weights, to which they go. */
static void emit_rows_out(struct conv *c)
{
    struct source *w = c->w;
    if (!has_weights(c))
        return;
    const char *lane = c->s->channels > 1 ? arena_printf(w->arena, "lane * %d", c->s->channels) : "lane";
    if (c->s->channel_blocks > 1)
        lane = arena_printf(w->arena, "channel_block * %d + %s", LANES * c->s->channels, lane);
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *f = demand_operand(w->demand, i);
        const char *first =
            own(w)->orders ? "" : arena_printf(w->arena, " + first * %s", source_stride(w, f));
        if (f->slot == SLOT_W)
            line(c->o, "%s *const %sbase = cgtp_opaque_global(l.%s%s + %s);", source_held(w->plan, f),
                 f->symbol, f->array, first, lane);
    }
}

void conv_rows(struct conv *c)
{
    if (!c->s->keeps_rows)
        return;
    emit_sender_rows_in(c);
    emit_item_rows_in(c);
    emit_rows_out(c);
}

static void emit_copies(struct conv *c, int input)
{
    const struct operand *in = source_input(c->w, input);
    const char *stride = source_stride(c->w, in), *row = own(c->w)->orders ? "item" : "edge";
    if (in->slot == SLOT_X)
        line(c->o, "cgtp_copy_segments<set_%d_x>(%sbase.nth(sender, %s), lane, keep%s);", c->label,
             in->symbol, stride, x_fields(c, "to", in->symbol));
    if (in->slot == SLOT_Y)
        line(c->o, "cgtp_copy_lanes_row(to.%s, %sbase.nth(%s, %s), lane, stream);", in->symbol, in->symbol,
             row, stride);
    const char *first = in->slot == SLOT_W ? first_field(c, input) : NULL;
    if (first)
        line(c->o, "cgtp_copy_lanes_weights<set_%d_w>(to.%s, cgtp_nth_row(%sbase, %s, %s), lane, stream);",
             c->label, first, in->symbol, row, stride);
}

/* Begins a function that starts copies of an edge. */
static void emit_load_head(struct conv *c, const char *name)
{
    line(c->o, "auto %s = [&](int edge, stage_%d &to, int lane) {", name, c->label);
}

/* The part of the copies that needs the edge's sender. */
static void emit_load_sender(struct conv *c)
{
    struct source *w = c->w;
    line(c->o, "const auto sender = senders.of(graph.sender, first, count, edge, lane);");
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i) && source_input(w, i)->slot == SLOT_X)
            emit_copies(c, i);
    if (own(w)->b_outputs && !own(w)->edge_buffer) {
        line(c->o, "if (lane == 0)");
        line(c->o, "to.sender = sender;");
    }
}

/* The part that needs the edge alone. */
static void emit_load_item(struct conv *c)
{
    struct source *w = c->w;
    if (own(w)->orders)
        line(c->o, "const int64_t item = order.of(graph.order, first, count, edge, lane);");
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i) && source_input(w, i)->slot != SLOT_X)
            emit_copies(c, i);
    if (own(w)->orders && (own(w)->a_outputs || own(w)->w_outputs)) {
        line(c->o, "if (lane == 0)");
        line(c->o, "to.item = item;");
    }
}

void conv_load(struct conv *c)
{
    const bool senders = conv_needs_senders(c->w);
    if (c->number == 0)
        line(c->o, "/* Starts the copies of an edge of the tile into a stage (see cgtp_ring)%s. */",
             senders ? ": of its own rows, of its sender's" : "");
    emit_load_head(c, senders ? "load_item" : "load");
    if (!c->s->keeps_rows)
        emit_item_rows_in(c);
    emit_load_item(c);
    line(c->o, "};");
    if (!senders)
        return;
    emit_load_head(c, "load_sender");
    if (!c->s->keeps_rows)
        emit_sender_rows_in(c);
    emit_load_sender(c);
    line(c->o, "};");
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
        const char *row = own(w)->reduces ? arena_printf(w->arena, "sums.%s[(unsigned)done %% %d][%s]", name,
                                                         2 * REDUCE_ITEMS, block)
                                          : sums_row(c, output[i], own(w)->orders ? "at.item" : "edge");
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
        const char *how = block_is_apart(&o->block[c->s->x[i]])
                              ? arena_printf(c->w->arena, "_components<%d>", c->s->channels)
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
    for (int i = 0; i < n; i++) {
        const char *name = conv_name(w, true, output[i]);
        if (own(w)->edge_buffer)
            line(c->o,
                 "cgtp_write_segments<set_%d_%s, CGTP_STORE>(l.%sedges + (first + %s) * (int64_t)%d, "
                 "channel_block, lane%s);",
                 c->label, conv_x_out(c), name, number, own(w)->edge_row,
                 x_fields(c, "own.staging.edge", name));
        else
            line(c->o,
                 "cgtp_write_segments<set_%d_x, CGTP_ADD>(l.%s + %s.sender * %s, channel_block, lane%s);",
                 c->label, name, from, source_stride(w, kernel_output(w->demand->kernel, output[i])),
                 x_fields(c, "own.staging.edge", name));
    }
}

/* Do gradients of x leave while the next edge is worked on? Not where sums of a receiver go through the
 * staging buffer as well. */
static bool puts_x_later(const struct conv *c)
{
    return own(c->w)->b_outputs && !own(c->w)->g_outputs;
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

/* Gradients of x: to the staging buffer, which the edge before has left. */
static void emit_x_outputs(struct conv *c)
{
    struct source *w = c->w;
    int *output = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = conv_operands(w, SLOT_X, true, output);
    for (int i = 0; i < n; i++)
        lanes(c, kernel_output(w->demand->kernel, output[i]), "own.staging.edge", true);
    if (n && !puts_x_later(c)) {
        line(c->o, "cgtp_sync_warp();");
        emit_x_rows(c, "done", "at");
    }
}

/* Adds arrays of a lane's channels of the segments of x. */
static void add_x_arrays(const struct conv *c, struct text *list, const char *name, const char *zero)
{
    for (int x = 0; x < c->s->xs; x++)
        text_printf(list, "%s %s[%d]%s", list->n ? "," : "",
                    conv_field(c->w->arena, name, SLOT_X, c->s->x[x]),
                    c->s->channels * conv_components_x(c->w, c->s->x[x]), zero);
}

/* Where weights' gradients of the edge go: computed before anything is loaded, when registers are free. */
static void emit_w_outputs(struct conv *c)
{
    struct source *w = c->w;
    if (!c->s->keeps_rows)
        emit_rows_out(c);
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *f = demand_operand(w->demand, i);
        if (f->slot == SLOT_W && has_weights(c))
            line(c->o, "%s *const %sout = cgtp_nth_row(%sbase, %s, %s);", source_held(w->plan, f), f->symbol,
                 f->symbol, own(w)->orders ? "at.item" : "done", source_stride(w, f));
    }
}

static void emit_edge_inputs(struct conv *c)
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
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        if (demand_reads(w->demand, i) && in->slot == SLOT_Y)
            line(c->o, "cgtp_load_row<%lld>(%s, %s);", dim_y, in->symbol, conv_in_stage(c, i, 0));
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

/* The path in the middle of an edge's work. */
static int middle_path(const struct conv *c)
{
    int work = 0, until = 0, i = 0;
    for (int k = 0; k < c->s->paths; k += conv_together(own(c->w), c->s->path[k]))
        work += code_instructions(own(c->w)->code[c->s->path[k]]->channel);
    while ((until += code_instructions(own(c->w)->code[c->s->path[i]]->channel)) * 2 < work)
        i += conv_together(own(c->w), c->s->path[i]);
    return i;
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

void conv_edges(struct conv *c)
{
    struct source *w = c->w;
    const int middle = middle_path(c);
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
    emit_edge_inputs(c);
    emit_edge_sums(c);
    for (int i = 0; i < c->s->paths; i += conv_together(own(w), c->s->path[i])) {
        const struct device_path path = conv_path(c, i);
        device_path_comment(&path);
        device_path_call(&path);
        if (i == middle && later)
            emit_middle(c);
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
