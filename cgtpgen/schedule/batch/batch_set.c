/* batch_set.c - the pipelined batch: the work of a path set. */
#include "schedule/batch/batch_emit.h"
#include "schedule/path.h"

/* Is the set's path number i the first, or the last, into its segment of z? */
static bool at_end_of_z(const struct batch_writer *c, int i, int step)
{
    int j = i + step;
    return j < 0 || j >= c->s->paths ||
           c->w->problem->path[c->s->path[j]].z != c->w->problem->path[c->s->path[i]].z;
}

/* What is there before the first path into a segment of z: the lane's part of inputs, and its sums. */
static void begin_z(struct batch_writer *c, const struct path *p)
{
    struct source *w = c->w;
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + w->form->outputs + 1);
    int n = batch_operands(c, SLOT_G, true, number), elements = c->g->channels * (2 * p->l3 + 1);
    for (int k = 0; k < n; k++)
        line(c->o, "real %ss%d[%d] = {0};", w->form->output[number[k]].symbol, p->z, elements);
    n = batch_operands(c, SLOT_G, false, number);
    for (int k = 0; k < n; k++) {
        const char *name = w->form->input[number[k]].symbol;
        line(c->o, "real %ss%d[%d];", name, p->z, elements);
        batch_load_lane(c, SLOT_G, p->z, arena_printf(w->arena, "%ss%d", name, p->z),
                        arena_printf(w->arena, "at.%ss%d", name, p->z));
    }
}

static void end_z(struct batch_writer *c, const struct path *p)
{
    struct source *w = c->w;
    int *number = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = batch_operands(c, SLOT_G, true, number);
    for (int k = 0; k < n; k++) {
        const char *name = w->form->output[number[k]].symbol;
        batch_store_lane(c, SLOT_G, p->z,
                         arena_printf(w->arena, "own.out.set%d.%ss%d", c->number, name, p->z),
                         arena_printf(w->arena, "%ss%d", name, p->z));
    }
}

struct device_path batch_path(const struct batch_writer *c, int number)
{
    return (struct device_path){.w = c->w,
                                .o = c->o,
                                .path = &c->w->problem->path[number],
                                .code = demand_code(c->g->demand, number).product,
                                .matrix = c->w->plan->path[number].matrix,
                                .channels = c->g->channels,
                                .rows = c->g->wide.bytes ? "own.wide" : "rows"};
}

/* A lane's channels of the segments of x. */
static void emit_x(struct batch_writer *c)
{
    struct source *w = c->w;
    const char *from = c->g->x_by_set ? "at" : "rows";
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n = batch_operands(c, SLOT_X, false, number);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < c->s->xs; k++) {
            const char *name = w->form->input[number[i]].symbol;
            int x = c->s->x[k];
            line(c->o, "real %ss%d[%d];", name, x, c->g->channels * (2 * w->problem->x.segment[x].ir.l + 1));
            batch_load_lane(c, SLOT_X, x, arena_printf(w->arena, "%ss%d", name, x),
                            arena_printf(w->arena, "%s.%ss%d", from, name, x));
        }
}

/* Rows of y in 16 bits, once they are there: for all channel blocks of the item. */
static void widen_y(struct batch_writer *c)
{
    struct source *w = c->w;
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + 1), n = batch_operands(c, SLOT_Y, false, number);
    if (c->g->channel_blocks > 1)
        line(c->o, "if (now.block == 0) {");
    for (int i = 0; i < n; i++) {
        const struct operand *in = source_input(w, number[i]);
        line(c->o, "cgtp_widen_row(own.wide.%s, rows.%s, now.item, lane);", in->symbol, in->symbol);
    }
    line(c->o, "cgtp_sync_warp();");
    if (c->g->channel_blocks > 1)
        line(c->o, "}");
}

/* Results of the set, and sums of slot x that are complete: through shared memory to their rows. */
static void leave(struct batch_writer *c)
{
    struct source *w = c->w;
    int *z = NEW_ARRAY(w->arena, int, w->form->outputs + 1), zs = batch_operands(c, SLOT_G, true, z);
    int *x = NEW_ARRAY(w->arena, int, w->form->outputs + 1), xs = batch_operands(c, SLOT_X, true, x);
    const char *out = arena_printf(w->arena, "own.out.set%d", c->number);
    xs = c->s->ends ? xs : 0;
    for (int i = 0; i < xs; i++)
        for (int k = 0; k < c->s->ends; k++) {
            const char *name = w->form->output[x[i]].symbol;
            int segment = c->s->end[k];
            batch_store_lane(c, SLOT_X, segment, arena_printf(w->arena, "%s.%ss%d", out, name, segment),
                             arena_printf(w->arena, "%ss%d", name, segment));
        }
    if (zs || xs)
        line(c->o, "cgtp_sync_warp();");
    for (int i = 0; i < zs; i++) {
        const struct operand *o = kernel_output(w->demand->kernel, z[i]);
        line(c->o, "cgtp_write_segments<set_%d_z, CGTP_STORE>(l.%s + now.item * %s, now.block, lane%s);",
             c->number, o->array, source_stride(w, o), batch_fields_z(c, out, o->symbol));
    }
    for (int i = 0; i < xs; i++) {
        const struct operand *o = kernel_output(w->demand->kernel, x[i]);
        line(c->o, "cgtp_write_segments<set_%d_end, CGTP_STORE>(l.%s + now.item * %s, now.block, lane%s);",
             c->number, o->array, source_stride(w, o),
             batch_fields(c, out, o->symbol, SLOT_X, c->s->ends, c->s->end));
    }
}

void batch_turn(struct batch_writer *c)
{
    struct source *w = c->w;
    int *number = NEW_ARRAY(w->arena, int, w->form->inputs + w->form->outputs + 1), *path;
    bool some = c->part->blocks < c->g->channel_blocks;
    line(c->o, "{ /* path set %d */", c->number);
    int turn = c->number - c->phase->first; /* of the phase's */
    const char *stage = arena_printf(w->arena, "cgtp_turn(ring, done%s, turns, lane, load_%d)",
                                     turn ? arena_printf(w->arena, " + %d", turn) : "",
                                     c->phase->first + (turn + c->g->stages - 1) % c->phase->sets);
    if (batch_stages(c))
        line(c->o, "const auto &at = %s.set%d;", stage, c->number);
    else
        line(c->o, "%s;", stage);
    if (some)
        line(c->o, "if (now.block < %d) {", c->part->blocks);
    line(c->o, "const %s &rows = now.rows();", c->g->rows.name);
    if (turn == 0 && c->g->wide.bytes)
        widen_y(c);
    emit_x(c);
    int n = batch_operands(c, SLOT_W, true, number);
    for (int i = 0; i < n && batch_by_weights(w->arena, w->problem, c->s, &path); i++) {
        const struct operand *o = kernel_output(w->demand->kernel, number[i]);
        line(c->o, "%s *const %sout = l.%s + now.item * %s + now.block * %d + %s;", source_held(w->plan, o),
             o->symbol, o->array, source_stride(w, o), BATCH_LANES * c->g->channels,
             scaled(w->arena, "lane", c->g->channels));
    }
    for (int i = 0; i < c->s->paths; i++) {
        const struct path *p = &w->problem->path[c->s->path[i]];
        if (at_end_of_z(c, i, -1))
            begin_z(c, p);
        const struct device_path call = batch_path(c, p->number);
        device_path_comment(&call);
        device_path_call(&call);
        if (at_end_of_z(c, i, 1))
            end_z(c, p);
    }
    leave(c);
    if (some)
        line(c->o, "}");
    line(c->o, "}");
}
