/* staged_pass.c - staged items: the work of passes, by columns and by rows (see staged_plan.h). */
#include "schedule/staged/staged_emit.h"

#include "schedule/path.h"

/* A path while its part of a pass is written. */
struct staged_path {
    struct staged_writer *c;
    const struct path *path;
    const struct variant *v;
    int d, m; /* components and channels of z */
};

bool staged_by_rows(const struct demand *d)
{
    return demand_outputs_of(d, SLOT_X) + demand_outputs_of(d, SLOT_Y) + demand_outputs_of(d, SLOT_W) > 0;
}

bool staged_by_columns(const struct demand *d)
{
    return demand_outputs_of(d, SLOT_G) > 0;
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
                                .rows = w->spec->index[SLOT_Y] == INDEX_SHARED ? "l" : "at"};
}

static struct staged_path path_of(struct staged_writer *c, int number)
{
    const struct path *p = &c->w->problem->path[number];
    return (struct staged_path){c, p, staged_variant(c->g, number), 2 * p->l3 + 1, p->mul_z};
}

void staged_functions(struct staged_writer *c)
{
    for (int i = 0; i < c->w->problem->paths; i++) {
        const struct staged_path q = path_of(c, i);
        for (int tensor = 1; q.v && tensor >= 0; tensor--) {
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
    return arena_printf(c->w->arena, "%s.%s", q->index == INDEX_SHARED ? "l" : "at", q->symbol);
}

const char *staged_output(const struct staged_writer *c, int o)
{
    const struct operand *q = demand_operand(c->w->demand, o);
    int place = c->g->in_place[o];
    return place >= 0
               ? staged_input(c, place)
               : arena_printf(c->w->arena, "own.%s.%s", q->index == INDEX_SHARED ? "sums" : "out", q->symbol);
}

/* "own.out.t0p3" */
static const char *tensor_row(const struct staged_path *q, int t)
{
    return arena_printf(q->c->w->arena, "own.out.%s", staged_tensor(q->c->w->arena, q->path, t));
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

static void emit_tensors(struct staged_writer *c, const struct staged_pass *pass)
{
    open_lanes(c, pass);
    name_channel(c, pass, "u");
    load_x(c, pass->segment);
    for (int i = c->g->by_x.first[pass->segment]; i >= 0; i = c->g->by_x.next[i]) {
        const struct staged_path q = path_of(c, i);
        if (!q.v->zs)
            continue;
        path_comment(&q);
        line(c->o, "{");
        make_tensors(&q);
        for (int t = 0; t < q.v->ts; t++)
            if (staged_keeps(q.v, t))
                line(c->o, "cgtp_store<%d>(%s + u * %d, t%ds%d);", q.d, tensor_row(&q, t), q.d, t, q.path->z);
        line(c->o, "}");
    }
    line(c->o, "}");
}

/* ---- columns ---- */

static void emit_column(struct staged_writer *c, const struct staged_pass *pass)
{
    const struct source *w = c->w;
    const struct demand *d = w->demand;
    struct arena *a = w->arena;
    const int v = pass->channels, components = 2 * w->problem->z.segment[pass->segment].ir.l + 1;
    open_lanes(c, pass);
    name_channel(c, pass, "c");
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == SLOT_G)
            line(c->o, "real %ss%d[%d] = {0};", demand_output(d, o)->symbol, pass->segment, v * components);
    for (int i = c->g->by_z.first[pass->segment]; i >= 0; i = c->g->by_z.next[i]) {
        const struct staged_path q = path_of(c, i);
        path_comment(&q);
        for (int k = 0; k < q.v->zs; k++) {
            const struct contract_z *z = &q.v->z[k];
            const char *weights = plus_offset(a, staged_input(c, z->w), q.path->weight_offset);
            line(c->o, "cgtp_add_columns<%d, %d, %d, %d>(%ss%d, %s, %s + c);", v, q.d, q.path->mul_x, q.m,
                 w->form->output[z->output].symbol, pass->segment, tensor_row(&q, z->t), weights);
        }
    }
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == SLOT_G)
            store_channels(c, v, components, staged_output(c, o), &demand_operand(d, o)->block[pass->segment],
                           "c", arena_printf(a, "%ss%d", demand_output(d, o)->symbol, pass->segment));
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

/* One turn of the loop: the products of some neighbouring weights, or gradients of theirs. */
static void emit_turn(const struct staged_path *q, int v)
{
    struct staged_writer *c = q->c;
    const struct source *w = c->w;
    const struct demand *d = w->demand;
    struct arena *a = w->arena;
    const int z = q->path->z;
    const char *weight = arena_printf(a, "u * %d + c", q->m);
    for (int i = 0; i < w->form->inputs; i++) {
        const struct operand *in = source_input(w, i);
        const char *name = arena_printf(a, "%sf", in->symbol);
        if (!loop_reads(q->v, i))
            continue;
        line(c->o, "real %s[%d];", name, in->slot == SLOT_W ? v : v * q->d);
        if (in->slot == SLOT_W)
            line(c->o, "cgtp_load<%d>(%s, %s + %s);", v, name,
                 plus_offset(a, staged_input(c, i), q->path->weight_offset), weight);
        else
            load_channels(c, v, q->d, name, staged_input(c, i), &in->block[z], "c");
    }
    for (int i = 0; i < q->v->ps; i++)
        line(c->o, "cgtp_add_products<%d, %d>(p%ds%d, %sf, %sf);", v, q->d, i, z,
             w->form->input[q->v->p[i].w].symbol, w->form->input[q->v->p[i].g].symbol);
    for (int i = 0; i < q->v->ws; i++) {
        const struct contract_w *g = &q->v->w[i];
        const char *name = arena_printf(a, "%sf", w->form->output[g->output].symbol);
        int o = 0;
        while (d->output[o] != g->output)
            o++;
        const char *to =
            arena_printf(a, "%s + %s", plus_offset(a, staged_output(c, o), q->path->weight_offset), weight);
        if (demand_operand(d, o)->index == INDEX_SHARED) {
            line(c->o, "real %s[%d];", name, v);
            line(c->o, "cgtp_load<%d>(%s, %s);", v, name, to);
        } else {
            line(c->o, "real %s[%d] = {0};", name, v);
        }
        for (int k = 0; k < g->parts; k++)
            line(c->o, "cgtp_add_dots<%d, %d>(%s, t%ds%d, %sf);", v, q->d, name, g->part[k].t, z,
                 w->form->input[g->part[k].g].symbol);
        line(c->o, "cgtp_store<%d>(%s, %s);", v, to, name);
    }
}

/* What the lane's row of weights of the path is for. */
static void emit_row_path(const struct staged_path *q)
{
    struct staged_writer *c = q->c;
    const int v = staged_together(c->w->demand, q->path), turns = q->m / v;
    path_comment(q);
    line(c->o, "{");
    if (q->v->ws)
        make_tensors(q);
    declare(q, "p", q->v->ps, true);
    if (turns == 1) {
        line(c->o, "{");
        line(c->o, "constexpr int c = 0;");
    } else if (turns % 2) {
        line(c->o, "CGTP_UNROLL_BY(2)");
        line(c->o, "for (int c = 0; c < %d; c += %d) {", q->m, v);
    } else { /* rows begin in few of the banks of shared memory: lanes begin at different places in theirs */
        line(c->o, "int turn = lane %% %d;", turns);
        line(c->o, "CGTP_UNROLL_BY(2)");
        line(c->o, "for (int i = 0; i < %d; i++) {", turns);
        line(c->o, "const int c = turn * %d;", v);
    }
    emit_turn(q, v);
    if (turns % 2 == 0)
        line(c->o, "turn = turn == %d ? 0 : turn + 1;", turns - 1);
    line(c->o, "}");
    const struct device_path f = function_of(q, false);
    if (f.code)
        device_path_call(&f);
    line(c->o, "}");
}

static void emit_row(struct staged_writer *c, const struct staged_pass *pass)
{
    const struct demand *d = c->w->demand;
    struct arena *a = c->w->arena;
    open_lanes(c, pass);
    name_channel(c, pass, "u");
    load_x(c, pass->segment);
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == SLOT_X)
            line(c->o, "real %ss%d[%d] = {0};", demand_output(d, o)->symbol, pass->segment,
                 demand_operand(d, o)->block[pass->segment].components);
    for (int i = c->g->by_x.first[pass->segment]; i >= 0; i = c->g->by_x.next[i]) {
        const struct staged_path q = path_of(c, i);
        if (q.v->ps + q.v->ws)
            emit_row_path(&q);
    }
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == SLOT_X)
            store_channels(c, 1, demand_operand(d, o)->block[pass->segment].components, staged_output(c, o),
                           &demand_operand(d, o)->block[pass->segment], "u",
                           arena_printf(a, "%ss%d", demand_output(d, o)->symbol, pass->segment));
    line(c->o, "}");
}

/* ---- all passes ---- */

/* Each warp's passes. */
static void emit_passes(struct staged_writer *c, int n, const struct staged_pass *pass,
                        void (*emit)(struct staged_writer *, const struct staged_pass *))
{
    for (int warp = 0; warp < c->g->warps; warp++) {
        bool any = false;
        for (int i = 0; i < n; i++) {
            if (pass[i].warp != warp)
                continue;
            if (!any && c->g->warps > 1)
                line(c->o, "if (warp == %d) {", warp);
            any = true;
            emit(c, &pass[i]);
        }
        if (any && c->g->warps > 1)
            line(c->o, "}");
    }
}

void staged_work(struct staged_writer *c)
{
    const struct staged *g = c->g;
    if (g->rows == 0)
        return;
    if (staged_by_columns(c->w->demand)) {
        line(c->o, "/* T, by channels of x */");
        emit_passes(c, g->rows, g->row, emit_tensors);
        line(c->o, "cgtp_sync_group<%d>();", g->warps);
        line(c->o, "/* by columns of weights, channels of z */");
        emit_passes(c, g->columns, g->column, emit_column);
    }
    if (staged_by_rows(c->w->demand)) {
        if (staged_by_columns(c->w->demand))
            line(c->o, "cgtp_sync_group<%d>(); /* nobody reads weights by columns any more */", g->warps);
        line(c->o, "/* by rows of weights, channels of x */");
        emit_passes(c, g->rows, g->row, emit_row);
    }
}
