/* batch_load.c - the pipelined batch: where everything is in rows, and how it comes into shared memory. */
#include "schedule/batch/batch_emit.h"

int batch_operands(const struct batch_writer *c, enum slot slot, bool outputs, int *number)
{
    const struct demand *d = c->g->demand;
    int n = 0;
    for (int o = 0; o < d->outputs && outputs; o++)
        if (demand_output(d, o)->slot == slot)
            number[n++] = d->output[o];
    for (int i = 0; i < d->kernel->form->inputs && !outputs; i++)
        if (d->kernel->form->input[i].slot == slot && demand_reads(d, i))
            number[n++] = i;
    return n;
}

const char *batch_fields(const struct batch_writer *c, const char *from, const char *name, enum slot slot,
                         int n, const int *segment)
{
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < n; i++)
        text_printf(&list, ", %s.%s", from, batch_field(c->w->arena, name, slot, segment[i]));
    return text_string(&list);
}

const char *batch_fields_z(const struct batch_writer *c, const char *from, const char *name)
{
    int *segment = NEW_ARRAY(c->w->arena, int, c->s->zs + 1);
    for (int i = 0; i < c->s->zs; i++)
        segment[i] = c->w->problem->path[c->s->z[i]].z;
    return batch_fields(c, from, name, SLOT_G, c->s->zs, segment);
}

/* ---- where elements are ---- */

/* Where an irreps segment is in rows of the slot (x, z). */
static const struct operand_block *block_of(const struct batch_writer *c, enum slot slot, int segment)
{
    const struct operand *o = c->g->demand->kernel->operand;
    while (o->slot != slot) /* all of a slot have its layout */
        o++;
    return &o->block[segment];
}

/* "_components<2>" where those of a channel are apart */
static const char *lane_suffix(const struct batch_writer *c, enum slot slot, int segment)
{
    return block_is_apart(block_of(c, slot, segment))
               ? arena_printf(c->w->arena, "_components<%d>", c->g->channels)
               : "";
}

void batch_load_lane(const struct batch_writer *c, enum slot slot, int segment, const char *registers,
                     const char *slice)
{
    line(c->o, "cgtp_load_lane%s(%s, %s, lane);", lane_suffix(c, slot, segment), registers, slice);
}

void batch_store_lane(const struct batch_writer *c, enum slot slot, int segment, const char *slice,
                      const char *registers)
{
    line(c->o, "cgtp_store_lane%s(%s, %s, lane);", lane_suffix(c, slot, segment), slice, registers);
}

/* ---- tables ---- */

static void add_segment(const struct batch_writer *c, struct text *list, enum slot slot, int segment)
{
    const struct operand_block *b = block_of(c, slot, segment);
    source_segment(list, b, b->offset);
}

static void table_x(struct batch_writer *c, const char *name, int part, int n, const int *x)
{
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < n; i++)
        add_segment(c, &list, SLOT_X, x[i]);
    line(c->o, "struct %s : part_%d {", name, part);
    line(c->o, "static constexpr cgtp_segment segment[] = {%s};", text_string(&list));
    line(c->o, "};");
}

static void table_set(struct batch_writer *c)
{
    const struct problem *p = c->w->problem;
    struct text z = {.arena = c->w->arena}, w = {.arena = c->w->arena};
    struct arena *a = c->w->arena;
    int *number = NEW_ARRAY(a, int, c->w->form->inputs + c->w->form->outputs + 1);
    int *path, n = batch_by_weights(a, p, c->s, &path);
    for (int i = 0; i < c->s->zs; i++)
        add_segment(c, &z, SLOT_G, p->path[c->s->z[i]].z);
    for (int i = 0; i < n; i++)
        text_printf(&w, "%s%lld", i ? ", " : "", (long long)p->path[path[i]].weight_offset);
    line(c->o, "struct set_%d_z : part_%d {", c->number, c->s->part);
    line(c->o, "static constexpr cgtp_segment segment[] = {%s};", text_string(&z));
    line(c->o, "};");
    if (n && batch_operands(c, SLOT_W, false, number)) {
        line(c->o, "struct set_%d_w : part_%d {", c->number, c->s->part);
        line(c->o, "static constexpr int64_t offset[] = {%s};", text_string(&w));
        line(c->o, "};");
    }
    if (c->g->x_by_set && batch_operands(c, SLOT_X, false, number))
        table_x(c, arena_printf(a, "set_%d_x", c->number), c->s->part, c->s->xs, c->s->x);
    if (c->s->ends && batch_operands(c, SLOT_X, true, number))
        table_x(c, arena_printf(a, "set_%d_end", c->number), c->s->part, c->s->ends, c->s->end);
}

void batch_tables(struct batch_writer *c)
{
    int *number = NEW_ARRAY(c->w->arena, int, c->w->form->inputs + 1);
    line(c->o, "/* Where irreps segments and weights are in rows. */");
    bool x_by_part = !c->g->x_by_set && batch_operands(c, SLOT_X, false, number);
    for (int i = 0; i < c->g->parts; i++) {
        const struct batch_part *part = &c->g->part[i];
        line(c->o, "struct part_%d { /* %d channels */", i, part->mul);
        line(c->o,
             "[[maybe_unused]] static constexpr int mul = %d, channels = %d, lanes = 32, blocks = %d, "
             "aligned = 8;",
             part->mul, c->g->channels, part->blocks);
        line(c->o, "};");
        if (x_by_part)
            table_x(c, arena_printf(c->w->arena, "part_%d_x", i), i, part->xs, part->x);
    }
    for (int i = 0; i < c->g->sets; i++) {
        c->number = i;
        c->s = &c->g->set[i];
        c->part = &c->g->part[c->s->part];
        table_set(c);
    }
    blank(c->o);
}

/* ---- loads ---- */

/* Some channel blocks have no channels of the part: what follows is for the others. */
static void begin_part(struct batch_writer *c, const struct batch_part *part)
{
    if (part->blocks < c->g->channel_blocks)
        line(c->o, "if (ahead.block < %d)", part->blocks);
}

static const char *row_of(const struct batch_writer *c, const struct operand *in)
{
    return arena_printf(c->w->arena, "l.%s + ahead.item * %s", in->array, source_stride(c->w, in));
}

static void load_rows(struct batch_writer *c)
{
    struct source *w = c->w;
    int *input = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n;
    line(c->o, "ahead.advance();");
    line(c->o, "%s &rows = ahead.lanes_own(lane);", c->g->rows.name);
    n = batch_operands(c, SLOT_Y, false, input);
    for (int i = 0; i < n; i++) {
        const struct operand *in = source_input(w, input[i]);
        const char *copy = operand_size(in) == 2
                               ? arena_printf(w->arena, "cgtp_copy_words<%lld>", source_dim(in))
                               : "cgtp_copy_row";
        line(c->o, "%s(rows.%s, %s, lane, stream);", copy, in->symbol, row_of(c, in));
    }
    n = batch_operands(c, SLOT_X, false, input);
    for (int i = 0; i < n && !c->g->x_by_set; i++)
        for (int k = 0; k < c->g->parts; k++) {
            const struct operand *in = source_input(w, input[i]);
            const struct batch_part *part = &c->g->part[k];
            begin_part(c, part);
            line(c->o, "cgtp_copy_segments<part_%d_x>(%s, ahead.block, lane, stream%s);", k, row_of(c, in),
                 batch_fields(c, "rows", in->symbol, SLOT_X, part->xs, part->x));
        }
}

bool batch_stages(const struct batch_writer *c)
{
    struct arena *a = c->w->arena;
    int *input = NEW_ARRAY(a, int, c->w->form->inputs + 1), *path;
    return batch_operands(c, SLOT_G, false, input) ||
           (c->g->x_by_set && batch_operands(c, SLOT_X, false, input)) ||
           (batch_operands(c, SLOT_W, false, input) && batch_by_weights(a, c->w->problem, c->s, &path));
}

static void load_set(struct batch_writer *c)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    int *input = NEW_ARRAY(a, int, w->form->inputs + 1), *path;
    const char *to = arena_printf(a, "to.set%d", c->number);

    line(c->o, "auto load_%d = [&](int, %s &%s, int lane) {", c->number, c->g->stage.name,
         batch_stages(c) ? "to" : "");
    if (c->number == c->phase->first)
        load_rows(c);
    int weights = batch_by_weights(a, w->problem, c->s, &path), n = batch_operands(c, SLOT_W, false, input);
    for (int i = 0; i < n && weights; i++) {
        const struct operand *in = source_input(w, input[i]);
        begin_part(c, c->part);
        line(c->o, "cgtp_copy_weights<set_%d_w>(to.set%d.%s, %s, ahead.block, lane, stream);", c->number,
             c->number, batch_field(a, in->symbol, SLOT_W, path[0]), row_of(c, in));
    }
    n = batch_operands(c, SLOT_G, false, input);
    for (int i = 0; i < n; i++) {
        const struct operand *in = source_input(w, input[i]);
        begin_part(c, c->part);
        line(c->o, "cgtp_copy_segments<set_%d_z>(%s, ahead.block, lane, stream%s);", c->number, row_of(c, in),
             batch_fields_z(c, to, in->symbol));
    }
    n = batch_operands(c, SLOT_X, false, input);
    for (int i = 0; i < n && c->g->x_by_set; i++) {
        const struct operand *in = source_input(w, input[i]);
        begin_part(c, c->part);
        line(c->o, "cgtp_copy_segments<set_%d_x>(%s, ahead.block, lane, stream%s);", c->number, row_of(c, in),
             batch_fields(c, to, in->symbol, SLOT_X, c->s->xs, c->s->x));
    }

    line(c->o, "};");
}

void batch_loads(struct batch_writer *c)
{
    const int first = c->phase->first, sets = c->phase->sets;
    line(c->o, "/* Start the copies of a turn into a stage (see cgtp_ring). */");
    for (int i = 0; i < sets; i++) {
        c->number = first + i;
        c->s = &c->g->set[c->number];
        c->part = &c->g->part[c->s->part];
        load_set(c);
    }
    if (sets == 1)
        return;
    line(c->o, "auto load = [&](int turn, %s &to, int lane) {", c->g->stage.name);
    line(c->o, "const int set = turn %% %d;", sets);
    for (int i = 0; i < sets && i < c->g->stages - 1; i++) {
        line(c->o, "if (set == %d)", i);
        line(c->o, "load_%d(turn, to, lane);", first + i);
    }
    line(c->o, "};");
}
