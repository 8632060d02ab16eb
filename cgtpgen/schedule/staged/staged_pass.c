/* staged_pass.c - staged items: the work of passes, by columns and by rows (see staged_plan.h). */
#include "schedule/staged/staged_emit.h"

#include "schedule/path.h"

enum {
    TOGETHER = 2,  /* turns of a loop through a row of weights whose loads wait together, at most */
    REGISTERS = 64 /* that these take */
};

/* How a lane goes through a row of weights: v at a time. */
struct row_loop {
    int v, turns, together;
    bool rotated; /* from different places on, around */
};

/* A path while its part of a pass is written. */
struct staged_path {
    struct staged_writer *c;
    const struct staged_part *part;
    const struct staged_piece *piece;
    const struct path *path;
    const struct variant *v;
    int d, m; /* components and channels of z */
    int rows; /* of weights, of each channel of x */
};

bool staged_by_rows(const struct demand *d)
{
    return demand_outputs_of(d, SLOT_X) + demand_outputs_of(d, SLOT_Y) + demand_outputs_of(d, SLOT_W) > 0;
}

bool staged_by_columns(const struct demand *d)
{
    return demand_outputs_of(d, SLOT_G) > 0;
}

/* What a path's function takes of y where that has several channels: an array of one of them. */
static const char *channel_of_y(const struct device_path *f, int operand)
{
    const struct recipe *r = f->code->recipe;
    const bool input = operand < r->inputs;
    const enum role role = input ? r->input[operand].role : r->output[operand - r->inputs].role;
    const char *name = input ? r->input[operand].name : r->output[operand - r->inputs].name;
    return role == ROLE_A ? arena_printf(f->w->arena, "%sv", name) : NULL;
}

/* The path's function: of T, or of what comes from P. */
static struct device_path function_of(const struct staged_path *q, bool tensor)
{
    const struct source *w = q->c->w;
    const struct path_code code = demand_code(w->demand, q->path->number);
    return (struct device_path){.w = q->c->w,
                                .o = q->c->o,
                                .path = q->path,
                                .code = tensor ? code.tensor : code.product,
                                .matrix = w->plan->path[q->path->number].matrix,
                                .channels = 1,
                                .rows = w->spec->index[SLOT_Y] == INDEX_SHARED ? "l" : "at",
                                .argument = q->rows > 1 ? channel_of_y : NULL};
}

static struct staged_path path_of(struct staged_writer *c, const struct staged_part *part, int piece)
{
    const struct staged_piece *at = &part->piece[piece];
    const struct path *p = &c->w->problem->path[at->path];
    return (struct staged_path){c,        part,          at, p, staged_variant(c->g, at->path), 2 * p->l3 + 1,
                                p->mul_z, staged_rows(p)};
}

void staged_functions(struct staged_writer *c)
{
    for (int i = 0; i < c->g->whole.pieces; i++) {
        const struct staged_path q = path_of(c, &c->g->whole, i);
        for (int tensor = 1; tensor >= 0; tensor--) {
            const struct device_path f = function_of(&q, tensor);
            if (f.code)
                device_path_function(&f);
        }
    }
}

/* ---- addresses ---- */

/* Where channel `channel` (a C expression) of the block is in a row. */
static const char *channel_at(const struct staged_writer *c, const char *row, const struct operand_block *b,
                              const char *channel)
{
    const char *step = b->channel > 1 ? arena_printf(c->w->arena, " * %lld", (long long)b->channel) : "";
    return arena_printf(c->w->arena, "%s + %s%s", plus_offset(c->w->arena, row, b->offset), channel, step);
}

/* "_components<V, D>", or "<V * D>" where a channel's components are neighbours; the step between them is
 * then the last argument. */
static void copy_channels(const struct staged_writer *c, const char *call, int v, int d, const char *first,
                          const char *second, const struct operand_block *b, bool load)
{
    if (!block_is_apart(b))
        line(c->o, "%s<%d>(%s, %s);", call, v * d, first, second);
    else if (load)
        line(c->o, "%s_components<%d, %d>(%s, %s, %lld);", call, v, d, first, second,
             (long long)b->component);
    else
        line(c->o, "%s_components<%d, %d>(%s, %lld, %s);", call, v, d, first, (long long)b->component,
             second);
}

static void load_channels(const struct staged_writer *c, int v, int d, const char *registers, const char *row,
                          const struct operand_block *b, const char *channel)
{
    copy_channels(c, "cgtp_load", v, d, registers, channel_at(c, row, b, channel), b, true);
}

static void store_channels(const struct staged_writer *c, int v, int d, const char *row,
                           const struct operand_block *b, const char *channel, const char *registers)
{
    copy_channels(c, "cgtp_store", v, d, channel_at(c, row, b, channel), registers, b, false);
}

const char *staged_input(const struct staged_writer *c, int input)
{
    const struct operand *q = source_input(c->w, input);
    const bool part = staged_in_parts(c->g) && q->slot == SLOT_W;
    return arena_printf(c->w->arena, "%s.%s",
                        q->index == INDEX_SHARED ? "l"
                        : part                   ? "part"
                                                 : "at",
                        q->symbol);
}

const char *staged_output(const struct staged_writer *c, int o)
{
    const struct operand *q = demand_operand(c->w->demand, o);
    int place = c->g->in_place[o];
    return place >= 0
               ? staged_input(c, place)
               : arena_printf(c->w->arena, "own.%s.%s", q->index == INDEX_SHARED ? "sums" : "out", q->symbol);
}

bool staged_output_in_parts(const struct staged_writer *c, int o)
{
    return staged_in_parts(c->g) && demand_operand(c->w->demand, o)->slot == SLOT_W;
}

/* "own.out.t0p3 + 48": the path's vector, from a channel on. */
static const char *tensor_from(const struct staged_path *q, int t, int channel)
{
    struct arena *a = q->c->w->arena;
    return plus_offset(a, arena_printf(a, "own.out.%s", staged_tensor(a, q->path, t)),
                       (int64_t)channel * q->rows * q->d);
}

/* The piece's weights in a row or part of one. */
static const char *weights_in(const struct staged_path *q, const char *row)
{
    return plus_offset(q->c->w->arena, row,
                       q->path->weight_offset + (int64_t)q->piece->from * q->rows * q->m - q->part->base);
}

/* ---- what a path is, and a lane's part of rows ---- */

static void path_comment(const struct staged_path *q)
{
    const struct device_path f = function_of(q, q->v->tensor != NULL);
    device_path_comment(&f);
}

/* The lane's channel of all inputs of slot x. */
static void load_x(struct staged_writer *c, int segment)
{
    const struct demand *d = c->w->demand;
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (q->slot != SLOT_X || !demand_reads(d, i))
            continue;
        const char *name = arena_printf(c->w->arena, "%ss%d", q->symbol, segment);
        int components = q->block[segment].components;
        line(c->o, "real %s[%d];", name, components);
        load_channels(c, 1, components, name, staged_input(c, i), &q->block[segment], "u");
    }
}

/* "u", from the piece's first channel on; "(u * 3 + v)": the row of weights or T of the lane's channel of x,
 * and of that of y where this has several. */
static const char *row_number(const struct staged_path *q, int from)
{
    struct arena *a = q->c->w->arena;
    const char *u = from ? arena_printf(a, "(u - %d)", from) : "u";
    return q->rows > 1 ? arena_printf(a, "(%s * %d + v)", u, q->rows) : u;
}

/* Begins the loop over channels of y, where there are several: one of each input, and zeros to sum gradients
 * of it. */
static void open_channels_of_y(const struct staged_path *q)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    if (q->rows == 1)
        return;
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int v = 0; v < %d; v++) {", q->rows);
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *y = source_input(c->w, i);
        if (y->slot != SLOT_Y || !demand_reads(d, i))
            continue;
        const char *name = arena_printf(c->w->arena, "%sv", y->symbol);
        line(c->o, "real %s[%d];", name, y->block[q->path->y].components);
        load_channels(c, 1, y->block[q->path->y].components, name, staged_input(c, i), &y->block[q->path->y],
                      "v");
    }
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == SLOT_Y)
            line(c->o, "real %sv[%d] = {0};", demand_output(d, o)->symbol, 2 * q->path->l2 + 1);
}

/* Ends it: what has been summed is added to the lane's sums. */
static void close_channels_of_y(const struct staged_path *q, bool sums)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    if (q->rows == 1)
        return;
    for (int o = 0; o < d->outputs && sums; o++) {
        const struct operand *y = demand_operand(d, o);
        if (y->slot != SLOT_Y)
            continue;
        const struct operand_block *b = &y->block[q->path->y];
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int j = 0; j < %d; j++)", 2 * q->path->l2 + 1);
        line(c->o, "%s[%lld + v * %lld + j * %lld] += %sv[j];", y->symbol, (long long)b->offset,
             (long long)b->channel, (long long)b->component, y->symbol);
    }
    line(c->o, "}");
}

static void declare(const struct staged_path *q, const char *kind, int n, bool zero)
{
    for (int i = 0; i < n; i++)
        line(q->c->o, "real %s%ds%d[%d]%s;", kind, i, q->path->z, q->d, zero ? " = {0}" : "");
}

/* T of the lane's channel. */
static void make_tensors(const struct staged_path *q)
{
    const struct device_path f = function_of(q, true);
    declare(q, "t", q->v->ts, false);
    device_path_call(&f);
}

/* Begins what only some lanes do. */
static void open_lanes(struct staged_writer *c, const struct staged_pass *p)
{
    if (p->lanes < STAGED_LANES)
        line(c->o, "if (lane < %d) {", p->lanes);
    else
        line(c->o, "{");
}

/* "const int u = lane + 32;" */
static void name_channel(struct staged_writer *c, const struct staged_pass *p, const char *name)
{
    const char *times = p->channels > 1 ? arena_printf(c->w->arena, " * %d", p->channels) : "";
    line(c->o, "const int %s = %s;", name,
         plus_offset(c->w->arena, arena_printf(c->w->arena, "lane%s", times), p->first));
}

/* ---- T ---- */

static void emit_tensors(struct staged_writer *c, const struct staged_part *part,
                         const struct staged_pass *pass)
{
    open_lanes(c, pass);
    name_channel(c, pass, "u");
    load_x(c, pass->segment);
    for (int i = pass->piece; i >= 0; i = part->piece[i].next[BY_ROWS]) {
        const struct staged_path q = path_of(c, part, i);
        if (!q.v->zs)
            continue;
        path_comment(&q);
        line(c->o, "{");
        open_channels_of_y(&q);
        make_tensors(&q);
        for (int t = 0; t < q.v->ts; t++)
            if (staged_keeps(q.v, t))
                line(c->o, "cgtp_store<%d>(%s + %s * %d, t%ds%d);", q.d, tensor_from(&q, t, 0),
                     row_number(&q, 0), q.d, t, q.path->z);
        close_channels_of_y(&q, false);
        line(c->o, "}");
    }
    line(c->o, "}");
}

/* ---- columns ---- */

/* The lane's channels of the outputs of a slot that a pass makes: from zero on, or what parts or items before
 * have made. */
static void begin_outputs(struct staged_writer *c, const struct staged_pass *pass, enum slot slot,
                          int components, const char *channel)
{
    const struct demand *d = c->w->demand;
    const int v = pass->channels;
    for (int o = 0; o < d->outputs; o++) {
        if (demand_output(d, o)->slot != slot)
            continue;
        const char *name = arena_printf(c->w->arena, "%ss%d", demand_output(d, o)->symbol, pass->segment);
        const bool goes_on = staged_in_parts(c->g) || c->g->owned[o];
        line(c->o, "real %s[%d]%s;", name, v * components, goes_on ? "" : " = {0}");
        if (goes_on)
            load_channels(c, v, components, name, staged_output(c, o),
                          &demand_operand(d, o)->block[pass->segment], channel);
    }
}

static void end_outputs(struct staged_writer *c, const struct staged_pass *pass, enum slot slot,
                        int components, const char *channel)
{
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == slot)
            store_channels(c, pass->channels, components, staged_output(c, o),
                           &demand_operand(d, o)->block[pass->segment], channel,
                           arena_printf(c->w->arena, "%ss%d", demand_output(d, o)->symbol, pass->segment));
}

static void emit_column(struct staged_writer *c, const struct staged_part *part,
                        const struct staged_pass *pass)
{
    const struct source *w = c->w;
    const int components = 2 * w->problem->z.segment[pass->segment].ir.l + 1;
    open_lanes(c, pass);
    name_channel(c, pass, "c");
    begin_outputs(c, pass, SLOT_G, components, "c");
    for (int i = pass->piece; i >= 0; i = part->piece[i].next[BY_COLUMNS]) {
        const struct staged_path q = path_of(c, part, i);
        path_comment(&q);
        for (int k = 0; k < q.v->zs; k++) {
            const struct contract_z *z = &q.v->z[k];
            line(c->o, "cgtp_add_columns<%d, %d, %d, %d>(%ss%d, %s, %s + c);", pass->channels, q.d,
                 (q.piece->to - q.piece->from) * q.rows, q.m, w->form->output[z->output].symbol,
                 pass->segment, tensor_from(&q, z->t, q.piece->from), weights_in(&q, staged_input(c, z->w)));
        }
    }
    end_outputs(c, pass, SLOT_G, components, "c");
    line(c->o, "}");
}

/* ---- rows ---- */

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
    return arena_printf(a, "%s + %s * %d + %s", weights_in(q, row), row_number(q, q->piece->from), q->m,
                        channel);
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
                load_channels(c, v, q->d, to, staged_input(c, i), &in->block[z], channel);
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
        const bool sums = demand_operand(d, o)->index == INDEX_SHARED;
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
    const int from = q->piece->from, to = q->piece->to, last = pass->first + pass->lanes;
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
        line(q->c->o, "const int c%d = turn * %d;", k, loop->v);
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

/* What the lane's row of weights of the path is for. */
static void emit_row_path(const struct staged_path *q, const struct staged_pass *pass)
{
    path_comment(q);
    open_channels(q, pass);
    open_channels_of_y(q);
    if (q->v->ws)
        make_tensors(q);
    declare(q, "p", q->v->ps, true);
    emit_loop(q);
    const struct device_path f = function_of(q, false);
    if (f.code)
        device_path_call(&f);
    close_channels_of_y(q, true);
    line(q->c->o, "}");
}

static void emit_row(struct staged_writer *c, const struct staged_part *part, const struct staged_pass *pass)
{
    const int components = 2 * c->w->problem->x.segment[pass->segment].ir.l + 1;
    open_lanes(c, pass);
    name_channel(c, pass, "u");
    load_x(c, pass->segment);
    begin_outputs(c, pass, SLOT_X, components, "u");
    for (int i = pass->piece; i >= 0; i = part->piece[i].next[BY_ROWS]) {
        const struct staged_path q = path_of(c, part, i);
        const bool any = q.piece->from < pass->first + pass->lanes && q.piece->to > pass->first;
        if (any && q.v->ps + q.v->ws)
            emit_row_path(&q, pass);
    }
    end_outputs(c, pass, SLOT_X, components, "u");
    line(c->o, "}");
}

/* ---- all passes ---- */

/* Each warp's passes. */
static void emit_passes(struct staged_writer *c, const struct staged_part *part, enum staged_by by,
                        void (*emit)(struct staged_writer *, const struct staged_part *,
                                     const struct staged_pass *))
{
    for (int warp = 0; warp < c->g->warps; warp++) {
        bool any = false;
        for (int i = 0; i < part->passes[by]; i++) {
            const struct staged_pass *pass = &part->pass[by][i];
            if (pass->warp != warp)
                continue;
            if (!any && c->g->warps > 1)
                line(c->o, "if (warp == %d) {", warp);
            any = true;
            emit(c, part, pass);
        }
        if (any && c->g->warps > 1)
            line(c->o, "}");
    }
}

void staged_work(struct staged_writer *c, const struct staged_part *part)
{
    const struct staged *g = c->g;
    if (g->whole.pieces == 0)
        return;
    if (staged_by_columns(c->w->demand) && part == g->part) {
        line(c->o, "/* T, by channels of x */");
        emit_passes(c, &g->whole, BY_ROWS, emit_tensors);
        line(c->o, "cgtp_sync_group<%d>();", g->warps);
    }
    if (staged_by_columns(c->w->demand)) {
        line(c->o, "/* by columns of weights, channels of z */");
        emit_passes(c, part, BY_COLUMNS, emit_column);
    }
    if (staged_by_rows(c->w->demand)) {
        if (staged_by_columns(c->w->demand))
            line(c->o, "cgtp_sync_group<%d>(); /* nobody reads weights by columns any more */", g->warps);
        line(c->o, "/* by rows of weights, channels of x */");
        emit_passes(c, part, BY_ROWS, emit_row);
    }
}
