/* staged_rows.c - staged items: passes by rows, the work of a lane that has a channel of x (see
 * staged_plan.h). */
#include "schedule/path.h"
#include "schedule/staged/staged_path.h"

enum {
    TOGETHER = 2,  /* turns of a loop through a row of weights whose loads wait together, at most */
    REGISTERS = 64 /* that these take */
};

/* How a lane goes through a row of weights: v at a time. */
struct row_loop {
    int v, turns, together;
    bool rotated; /* from different places on, around */
};

/* Does the loop over a row of weights of the path read the input? */
static bool loop_reads(const struct variant *v, int input)
{
    bool reads = false;
    for (int i = 0; i < v->ps; i++)
        reads |= v->p[i].w == input || v->p[i].g == input;
    for (int i = 0; i < v->ws; i++)
        for (int k = 0; k < v->w[i].parts; k++)
            reads |= v->w[i].part[k].g == input;
    return reads;
}

/* "w_f + 2": from turn k of several on, each of so many elements. */
static const char *of_turn(const struct staged_path *q, const char *symbol, int k, int elements)
{
    return plus_offset(q->c->w->arena, arena_printf(q->c->w->arena, "%sf", symbol), (int64_t)k * elements);
}

/* Where turn k begins in a row of weights: at channel c of z, or where lanes begin at different places, ck.
 */
static const char *channel_of(const struct staged_path *q, const struct row_loop *loop, int k)
{
    return loop->rotated ? arena_printf(q->c->w->arena, "c%d", k)
           : k           ? arena_printf(q->c->w->arena, "(c + %d)", k * loop->v)
                         : "c";
}

static const char *weights_of(const struct staged_path *q, const char *row, const char *channel)
{
    struct arena *a = q->c->w->arena;
    return arena_printf(a, "%s + %s * %d + %s", staged_weights_in(q, row),
                        staged_row_number(q, q->piece->from), q->m, channel);
}

/* Whether a gradient of weights is added to what items before have made: those of a node, or of all. */
static bool weights_go_on(const struct staged_writer *c, int o)
{
    return c->g->owned[o] || demand_operand(c->w->demand, o)->index == INDEX_SHARED;
}

/* The products of the weights of some turns of the loop, or gradients of theirs. All are loaded before any is
 * stored: the compiler does not know that they are others. */
static void emit_turns(const struct staged_path *q, const struct row_loop *loop, int turns)
{
    struct staged_writer *c = q->c;
    const struct source *w = c->w;
    const struct demand *d = w->demand;
    const int v = loop->v, z = q->path->z;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct operand *in = source_input(w, i);
        const int each = in->slot == SLOT_W ? v : v * q->d;
        if (!loop_reads(q->v, i))
            continue;
        line(c->o, "real %sf[%d];", in->symbol, turns * each);
        for (int k = 0; k < turns; k++) {
            const char *to = of_turn(q, in->symbol, k, each), *channel = channel_of(q, loop, k);
            if (in->slot == SLOT_W)
                line(c->o, "cgtp_load<%d>(%s, %s);", v, to, weights_of(q, staged_input(c, i), channel));
            else
                staged_load(c, v, q->d, to, staged_input(c, i), &in->block[z], channel);
        }
    }
    for (int i = 0; i < q->v->ps; i++)
        line(c->o, "cgtp_add_products<%d, %d>(p%ds%d, %sf, %sf);", turns * v, q->d, i, z,
             w->form->input[q->v->p[i].w].symbol, w->form->input[q->v->p[i].g].symbol);
    for (int i = 0; i < q->v->ws; i++) {
        const struct contract_w *g = &q->v->w[i];
        const char *name = w->form->output[g->output].symbol;
        int o = 0;
        while (d->output[o] != g->output)
            o++;
        const bool sums = weights_go_on(c, o);
        line(c->o, "real %sf[%d]%s;", name, turns * v, sums ? "" : " = {0}");
        for (int k = 0; k < turns && sums; k++)
            line(c->o, "cgtp_load<%d>(%s, %s);", v, of_turn(q, name, k, v),
                 weights_of(q, staged_output(c, o), channel_of(q, loop, k)));
        for (int k = 0; k < g->parts; k++)
            line(c->o, "cgtp_add_dots<%d, %d>(%sf, t%ds%d, %sf);", turns * v, q->d, name, g->part[k].t, z,
                 w->form->input[g->part[k].g].symbol);
        for (int k = 0; k < turns; k++)
            line(c->o, "cgtp_store<%d>(%s, %s);", v,
                 weights_of(q, staged_output(c, o), channel_of(q, loop, k)), of_turn(q, name, k, v));
    }
}

/* Begins what only lanes with channels of the piece do. */
static void open_channels(const struct staged_path *q, const struct staged_pass *pass)
{
    const int from = q->piece->from, to = q->piece->to, last = pass->first + pass->lanes * pass->channels;
    if (from > pass->first && to < last)
        line(q->c->o, "if (u >= %d && u < %d) {", from, to);
    else if (from > pass->first)
        line(q->c->o, "if (u >= %d) {", from);
    else if (to < last)
        line(q->c->o, "if (u < %d) {", to);
    else
        line(q->c->o, "{");
}

/* How a lane goes through its row of weights of the path. Rows of an even number of accesses begin in few of
 * the banks of shared memory: lanes begin at different places in theirs. */
static struct row_loop loop_of(const struct staged_path *q)
{
    const struct demand *d = q->c->w->demand;
    const int v = staged_together(d, q->path), turns = q->m / v;
    int each = q->v->ws * v;
    for (int i = 0; i < q->c->w->form->inputs; i++)
        if (loop_reads(q->v, i))
            each += source_input(q->c->w, i)->slot == SLOT_W ? v : v * q->d;
    int together = REGISTERS * 4 / (each * kernel_size(d->kernel));
    together = together < 1 ? 1 : together < TOGETHER ? together : TOGETHER;
    return (struct row_loop){v, turns, together < turns ? together : turns,
                             turns > 1 && turns * q->rows % 2 == 0};
}

/* So many of the loop's turns after each other. */
static void emit_some(const struct staged_path *q, const struct row_loop *loop, int turns)
{
    for (int k = 0; k < turns && loop->rotated; k++) {
        line(q->c->o, "const int c%d = %s;", k, scaled(q->c->w->arena, "turn", loop->v));
        line(q->c->o, "turn = turn == %d ? 0 : turn + 1;", loop->turns - 1);
    }
    emit_turns(q, loop, turns);
}

static void emit_loop(const struct staged_path *q)
{
    struct staged_writer *c = q->c;
    const struct row_loop loop = loop_of(q);
    const int step = loop.together * loop.v, rest = loop.turns % loop.together, whole = q->m - rest * loop.v;
    if (loop.rotated)
        line(c->o, "int turn = lane %% %d;", loop.turns);
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int c = 0; c < %d; c += %d) {", whole, step);
    emit_some(q, &loop, loop.together);
    line(c->o, "}");
    if (rest == 0)
        return;
    line(c->o, "{");
    if (!loop.rotated)
        line(c->o, "constexpr int c = %d;", whole);
    emit_some(q, &loop, rest);
    line(c->o, "}");
}

/* T of the lane's channel: what z by columns was made of, or made now. */
static void name_tensors(const struct staged_path *q)
{
    bool kept = true;
    for (int t = 0; t < q->v->ts; t++)
        kept &= staged_keeps(q->v, t);
    if (!kept) {
        staged_make_tensors(q);
        return;
    }
    staged_declare(q, "t", q->v->ts, false);
    for (int t = 0; t < q->v->ts; t++)
        line(q->c->o, "cgtp_load<%d>(t%ds%d, %s);", q->d, t, q->path->z, staged_tensor_at(q, t));
}

/* What the lane's rows of weights of the path are for. */
static void emit_connected(const struct staged_path *q, const struct staged_pass *pass)
{
    staged_path_comment(q);
    open_channels(q, pass);
    staged_open_ys(q, true);
    if (q->v->ws)
        name_tensors(q);
    staged_declare(q, "p", q->v->ps, true);
    emit_loop(q);
    const struct device_path f = staged_path_function(q, false);
    if (f.code)
        device_path_call(&f);
    staged_close_ys(q, true);
    line(q->c->o, "}");
}

/* ---- paths without such weights ---- */

/* A node's sums that the lane holds begin. */
static void clear_held(const struct staged_path *q, const char *symbol)
{
    line(q->c->o, "if (begins)");
    line(q->c->o, "cgtp_clear_channel(%ss%d);", symbol, q->path->z);
}

/* The lane's channels of z: of inputs, and what outputs are made from: zeros, or what other paths, or items
 * of the node before, have made. */
static void load_z(const struct staged_path *q, const char *channel)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    const int z = q->path->z;
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *g = source_input(c->w, i);
        if (g->slot != SLOT_G || !demand_reads(d, i))
            continue;
        const char *name = arena_printf(c->w->arena, "%ss%d", g->symbol, z);
        line(c->o, "real %s[%d];", name, q->channels * q->d);
        staged_load(c, q->channels, q->d, name, staged_row_of(c, staged_input(c, i), g, q->path),
                    &g->block[z], channel);
    }
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *g = demand_operand(d, o);
        const bool goes_on = c->g->owned[o] || c->g->added[q->path->number];
        const char *name = arena_printf(c->w->arena, "%ss%d", g->symbol, z);
        if (g->slot != SLOT_G)
            continue;
        if (staged_holds(c->g, o)) {
            clear_held(q, g->symbol);
            continue;
        }
        line(c->o, "real %s[%d]%s;", name, q->channels * q->d, goes_on ? "" : " = {0}");
        if (goes_on)
            staged_load(c, q->channels, q->d, name, staged_row_of(c, staged_output(c, o), g, q->path),
                        &g->block[z], channel);
    }
}

static void store_z(const struct staged_path *q, const char *channel)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *g = demand_operand(d, o);
        if (g->slot != SLOT_G)
            continue;
        if (staged_holds(c->g, o))
            line(c->o, "if (last)");
        staged_store(c, q->channels, q->d, staged_row_of(c, staged_output(c, o), g, q->path),
                     &g->block[q->path->z], channel,
                     arena_printf(c->w->arena, "%ss%d", g->symbol, q->path->z));
    }
}

/* Gradients of the weight of the lane's channel of x and one of y: zeros to make them from, and where they
 * go. */
static void declare_weights(const struct staged_path *q)
{
    const struct demand *d = q->c->w->demand;
    for (int o = 0; o < d->outputs && q->path->weighted; o++)
        if (demand_output(d, o)->slot == SLOT_W)
            line(q->c->o, "real %sv[1] = {0};", demand_output(d, o)->symbol);
}

static void store_weights(const struct staged_path *q)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs && q->path->weighted; o++)
        if (demand_output(d, o)->slot == SLOT_W)
            line(c->o, "%s %s %s%sv[0];", staged_weight(q, staged_output(c, o)),
                 weights_go_on(c, o) ? "+=" : "=", staged_factor(q), demand_output(d, o)->symbol);
}

/* All that the path does for the lane's channel of x. */
static void emit_channel(const struct staged_path *q, const struct staged_pass *pass)
{
    struct staged_writer *c = q->c;
    const bool each = q->path->mode == MODE_UVUV; /* channel of y has a channel of z */
    const struct device_path f = staged_path_function(q, false);
    const char *channel = each ? staged_row_number(q, 0) : "u";
    staged_path_comment(q);
    open_channels(q, pass);
    if (!each)
        load_z(q, channel);
    staged_open_ys(q, true);
    if (each)
        load_z(q, channel);
    if (q->channels > 1) {
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int k = 0; k < %d; k++) {", q->channels);
    }
    declare_weights(q);
    device_path_call(&f);
    store_weights(q);
    if (q->channels > 1)
        line(c->o, "}");
    if (each)
        store_z(q, channel);
    staged_close_ys(q, true);
    if (!each)
        store_z(q, channel);
    line(c->o, "}");
}

void staged_row(struct staged_writer *c, const struct staged_part *part, const struct staged_pass *pass)
{
    const int components = 2 * c->w->problem->x.segment[pass->segment].ir.l + 1;
    staged_open_channels(c, pass, "u");
    staged_load_x(c, pass);
    staged_begin_outputs(c, pass, SLOT_X, components, "u");
    for (int i = pass->piece; i >= 0; i = part->piece[i].next[BY_ROWS]) {
        struct staged_path q = staged_path_of(c, part, i);
        q.channels = pass->channels;
        const bool any =
            q.piece->from < pass->first + pass->lanes * pass->channels && q.piece->to > pass->first;
        if (!staged_connects(q.path))
            emit_channel(&q, pass);
        else if (any && q.v->ps + q.v->ws)
            emit_connected(&q, pass);
    }
    staged_end_outputs(c, pass, SLOT_X, components, "u");
    staged_close_channels(c, pass);
}
