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

const char *batch_fields(const struct batch_writer *c, const char *from, const char *name, enum slot slot)
{
    struct text list = {.arena = c->w->arena};
    int n = slot == SLOT_X ? c->part->xs : c->s->zs;
    for (int i = 0; i < n; i++)
        text_printf(&list, ", %s.%s", from,
                    batch_field(c->w->arena, name, slot,
                                slot == SLOT_X ? c->part->x[i] : c->w->problem->path[c->s->z[i]].z));
    return text_string(&list);
}

/* ---- tables ---- */

static void table_x(struct batch_writer *c, int part)
{
    const struct batch_part *q = &c->g->part[part];
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < q->xs; i++) {
        const struct segment *s = &c->w->problem->x.segment[q->x[i]];
        text_printf(&list, "%s{%d, %lld}", i ? ", " : "", 2 * s->ir.l + 1, (long long)s->offset);
    }
    line(c->o, "struct part_%d {", part);
    line(c->o, "static constexpr int channels = 1, blocks = %d;", q->blocks);
    line(c->o, "static constexpr cgtp_segment segment[] = {%s}; /* of x */", text_string(&list));
    line(c->o, "};");
}

static void table_set(struct batch_writer *c)
{
    const struct problem *p = c->w->problem;
    struct text z = {.arena = c->w->arena}, w = {.arena = c->w->arena};
    int *path, n = batch_by_weights(c->w->arena, p, c->s, &path);
    for (int i = 0; i < c->s->zs; i++) {
        const struct path *q = &p->path[c->s->z[i]];
        text_printf(&z, "%s{%d, %lld}", i ? ", " : "", 2 * q->l3 + 1, (long long)p->z.segment[q->z].offset);
    }
    for (int i = 0; i < n; i++)
        text_printf(&w, "%s%lld", i ? ", " : "", (long long)p->path[path[i]].weight_offset);
    line(c->o, "struct set_%d {", c->number);
    line(c->o, "static constexpr int channels = 1, blocks = %d;", c->part->blocks);
    line(c->o, "static constexpr cgtp_segment segment[] = {%s}; /* of z */", text_string(&z));
    if (n)
        line(c->o, "static constexpr int64_t offset[] = {%s}; /* of weights */", text_string(&w));
    line(c->o, "};");
}

void batch_tables(struct batch_writer *c)
{
    line(c->o,
         "/* Where the channel blocks of segments are in rows, by number of channels and by path set. */");
    for (int i = 0; i < c->g->parts; i++)
        table_x(c, i);
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

static const char *row_of(const struct batch_writer *c, const struct form_argument *in)
{
    return arena_printf(c->w->arena, "l.%s + ahead.item * %lld", in->symbol,
                        (long long)c->w->problem->dim[in->slot]);
}

static void load_rows(struct batch_writer *c)
{
    struct source *w = c->w;
    int *input = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n;
    line(c->o, "ahead.advance();");
    line(c->o, "%s &rows = ahead.lanes_own(lane);", c->g->rows.name);
    n = batch_operands(c, SLOT_Y, false, input);
    for (int i = 0; i < n; i++) {
        const struct form_argument *in = &w->form->input[input[i]];
        line(c->o, "cgtp_copy_row(rows.%s, %s, lane, stream);", in->symbol, row_of(c, in));
    }
    n = batch_operands(c, SLOT_X, false, input);
    for (int i = 0; i < n; i++)
        for (int part = 0; part < c->g->parts; part++) {
            const struct form_argument *in = &w->form->input[input[i]];
            struct batch_writer of = *c;
            of.part = &c->g->part[part];
            begin_part(c, of.part);
            line(c->o, "cgtp_copy_segments<part_%d>(%s, ahead.block, lane, stream%s);", part, row_of(c, in),
                 batch_fields(&of, "rows", in->symbol, SLOT_X));
        }
}

static void load_set(struct batch_writer *c)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    int *input = NEW_ARRAY(a, int, w->form->inputs + 1), *path;
    line(c->o, "auto load_%d = [&](int, %s &to, int lane) {", c->number, c->g->stage.name);
    if (c->number == 0)
        load_rows(c);
    int weights = batch_by_weights(a, w->problem, c->s, &path), n = batch_operands(c, SLOT_W, false, input);
    for (int i = 0; i < n && weights; i++) {
        const struct form_argument *in = &w->form->input[input[i]];
        begin_part(c, c->part);
        line(c->o, "cgtp_copy_weights<set_%d>(to.set%d.%s, %s, ahead.block, lane, stream);", c->number,
             c->number, batch_field(a, in->symbol, SLOT_W, path[0]), row_of(c, in));
    }
    n = batch_operands(c, SLOT_G, false, input);
    for (int i = 0; i < n; i++) {
        const struct form_argument *in = &w->form->input[input[i]];
        begin_part(c, c->part);
        line(c->o, "cgtp_copy_segments<set_%d>(%s, ahead.block, lane, stream%s);", c->number, row_of(c, in),
             batch_fields(c, arena_printf(a, "to.set%d", c->number), in->symbol, SLOT_G));
    }
    line(c->o, "};");
}

void batch_loads(struct batch_writer *c)
{
    line(c->o, "/* Start the copies of a turn into a stage (see cgtp_ring). */");
    for (int i = 0; i < c->g->sets; i++) {
        c->number = i;
        c->s = &c->g->set[i];
        c->part = &c->g->part[c->s->part];
        load_set(c);
    }
    if (c->g->sets == 1)
        return;
    line(c->o, "auto load = [&](int turn, %s &to, int lane) {", c->g->stage.name);
    line(c->o, "const int set = turn %% %d;", c->g->sets);
    for (int i = 0; i < c->g->sets && i < c->g->stages - 1; i++) {
        line(c->o, "if (set == %d)", i);
        line(c->o, "load_%d(turn, to, lane);", i);
    }
    line(c->o, "};");
}
