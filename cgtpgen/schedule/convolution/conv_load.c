/* conv_load.c - the pipelined convolution: where the rows of a tile's edges begin, and how an edge's come
 * into a stage. */
#include "schedule/convolution/conv_emit.h"

static bool is_of(const struct conv *c, int x, int mul)
{
    return c->w->problem->x.segment[x].mul == mul;
}

bool conv_x_has(const struct conv *c, int mul)
{
    bool has = false;
    for (int i = 0; i < c->s->xs; i++)
        has |= is_of(c, c->s->x[i], mul);
    return has;
}

const char *conv_x_fields(const struct conv *c, const char *from, const char *name, int mul)
{
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < c->s->xs; i++)
        if (is_of(c, c->s->x[i], mul))
            text_printf(&list, ", %s.%s", from, conv_field(c->w->arena, name, SLOT_X, c->s->x[i]));
    return text_string(&list);
}

const char *conv_first_weights(const struct conv *c, int input, int mul)
{
    int *path, n = conv_weighted(c->w->arena, c->w->problem, c->s, &path);
    for (int i = 0; i < n; i++)
        if (c->w->problem->path[path[i]].mul_x == mul)
            return conv_field(c->w->arena, conv_name(c->w, false, input), SLOT_W, path[i]);
    return NULL;
}

const char *conv_of_lanes(const struct conv *c)
{
    return conv_narrow(c) ? arena_printf(c->w->arena, ", %d", c->s->lanes) : "";
}

/* Where the lane's parts of the rows of x begin. */
static void emit_sender_rows_in(struct conv *c)
{
    struct source *w = c->w;
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n = conv_operands(w, SLOT_X, false, number);
    for (int k = 0; k < c->s->parts && n; k++) {
        const int mul = c->s->part[k];
        struct text x = {.arena = w->arena};
        for (int i = 0; i < n; i++) {
            const struct operand *in = source_input(w, number[i]);
            text_printf(&x, "%s%sbase%s(l.%s, channel_block, lane)", i ? ", " : "", in->symbol,
                        conv_suffix(c, mul), in->array);
        }
        if (conv_x_has(c, mul))
            line(c->o, "const cgtp_row<const %s, %s_x> %s;", source_held(w->plan, conv_array(w, SLOT_X)),
                 conv_table(c, mul), text_string(&x));
    }
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
        line(c->o, "const cgtp_lanes_rows<%lld, %s%s> %s;", (long long)w->problem->dim[SLOT_Y], kept,
             conv_of_lanes(c), text_string(&y));
    n = conv_operands(w, SLOT_W, false, number);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < c->s->parts; k++) {
            const struct operand *in = source_input(w, number[i]);
            if (conv_first_weights(c, number[i], c->s->part[k]))
                line(c->o,
                     "const %s *const %sbase%s = cgtp_lanes_weights<%s_w, %s>(l.%s, %s, %s, channel_block, "
                     "lane);",
                     source_held(w->plan, in), in->symbol, conv_suffix(c, c->s->part[k]),
                     conv_table(c, c->s->part[k]), kept, in->array, first, source_stride(w, in));
        }
}

bool conv_has_weights(const struct conv *c)
{
    int *path;
    return conv_weighted(c->w->arena, c->w->problem, c->s, &path) > 0;
}

void conv_rows_out(struct conv *c)
{
    struct source *w = c->w;
    if (!conv_has_weights(c))
        return;
    const char *member = conv_narrow(c) ? arena_printf(w->arena, "lane %% %d", c->s->lanes) : "lane";
    const char *lane =
        c->s->channels > 1 ? arena_printf(w->arena, "%s * %d", member, c->s->channels) : member;
    if (c->s->channel_blocks > 1)
        lane = arena_printf(w->arena, "channel_block * %d + %s", LANES * c->s->channels, lane);
    lane = c->s->parts > 1 || conv_waits_in(c)
               ? ""
               : arena_printf(w->arena, " + %s", lane); /* otherwise as each path needs it */
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *f = demand_operand(w->demand, i);
        const char *first =
            own(w)->orders ? "" : arena_printf(w->arena, " + first * %s", source_stride(w, f));
        if (f->slot == SLOT_W)
            line(c->o, "%s *const %sbase = cgtp_opaque_global(l.%s%s%s);", source_held(w->plan, f), f->symbol,
                 f->array, first, lane);
    }
}

void conv_rows(struct conv *c)
{
    if (!c->s->keeps_rows)
        return;
    emit_sender_rows_in(c);
    emit_item_rows_in(c);
    conv_rows_out(c);
}

static void emit_copies_of(struct conv *c, int input, int mul)
{
    const struct operand *in = source_input(c->w, input);
    const char *stride = source_stride(c->w, in), *row = own(c->w)->orders ? "item" : "edge";
    const char *table = conv_table(c, mul), *suffix = conv_suffix(c, mul);
    if (in->slot == SLOT_X && conv_x_has(c, mul))
        line(c->o, "cgtp_copy_segments<%s_x>(%sbase%s.nth(sender, %s), lane, keep%s);", table, in->symbol,
             suffix, stride, conv_x_fields(c, "to", in->symbol, mul));
    const char *first = in->slot == SLOT_W ? conv_first_weights(c, input, mul) : NULL;
    if (first)
        line(c->o,
             "cgtp_copy_lanes_weights<%s_w>(to.%s, cgtp_nth_row(%sbase%s, %s, %s), channel_block, lane, "
             "stream);",
             table, first, in->symbol, suffix, row, stride);
}

static void emit_copies(struct conv *c, int input)
{
    const struct operand *in = source_input(c->w, input);
    if (in->slot == SLOT_Y)
        line(c->o, "cgtp_copy_lanes_row<%lld%s>(to.%s, %sbase.nth(%s, %s), lane, stream);",
             (long long)in->dim, conv_of_lanes(c), in->symbol, in->symbol,
             own(c->w)->orders ? "item" : "edge", source_stride(c->w, in));
    for (int k = 0; k < c->s->parts; k++)
        emit_copies_of(c, input, c->s->part[k]);
}

/* A number that all lanes know of an edge, of each of those side by side: to the stage. */
static void emit_note(struct conv *c, const char *name)
{
    if (conv_narrow(c)) {
        line(c->o, "cgtp_note<%d>(to.%s, %s, lane);", c->s->lanes, name, name);
        return;
    }
    line(c->o, "if (lane == 0)");
    line(c->o, "to.%s = %s;", name, name);
}

/* Begins a function that starts copies of an edge. */
static void emit_load_head(struct conv *c, const char *name)
{
    if (!conv_narrow(c)) {
        line(c->o, "auto %s = [&](int edge, stage_%d &to, int lane) {", name, c->label);
        return;
    }
    line(c->o, "auto %s = [&](int turn, stage_%d &to, int lane) {", name, c->label);
    line(c->o, "const int side = lane / %d, edge = turn * %d + side;", c->s->lanes, conv_abreast(c->s));
}

/* The number of the edge in a list, 32 ahead. */
static const char *numbered(const struct conv *c, const char *list, const char *array)
{
    if (conv_narrow(c))
        return arena_printf(c->w->arena, "%s.of(graph.%s, first, count, turn * %d, lane, side)", list, array,
                            conv_abreast(c->s));
    return arena_printf(c->w->arena, "%s.of(graph.%s, first, count, edge, lane)", list, array);
}

/* Of edges side by side the last ones of a tile may be missing. */
static void emit_if_there(struct conv *c)
{
    if (conv_narrow(c))
        line(c->o, "if (edge < count) {");
}
static void emit_end_if_there(struct conv *c)
{
    if (conv_narrow(c))
        line(c->o, "}");
}

/* The part of the copies that needs the edge's sender. */
static void emit_load_sender(struct conv *c)
{
    struct source *w = c->w;
    line(c->o, "const auto sender = %s;", numbered(c, "senders", "sender"));
    emit_if_there(c);
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i) && source_input(w, i)->slot == SLOT_X)
            emit_copies(c, i);
    if (own(w)->b_outputs && !own(w)->edge_buffer)
        emit_note(c, "sender");
    emit_end_if_there(c);
}

/* The part that needs the edge alone. */
static void emit_load_item(struct conv *c)
{
    struct source *w = c->w;
    if (own(w)->orders)
        line(c->o, "const int64_t item = %s;", numbered(c, "order", "order"));
    emit_if_there(c);
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i) && source_input(w, i)->slot != SLOT_X)
            emit_copies(c, i);
    if (own(w)->orders && (own(w)->a_outputs || own(w)->w_outputs))
        emit_note(c, "item");
    emit_end_if_there(c);
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
