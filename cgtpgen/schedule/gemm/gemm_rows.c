/* gemm_rows.c - items by GEMM: what a kernel of rows does with a segment of outputs. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

/* " + chunk * 64": what so many elements are for each chunk; nothing where there is one. */
static const char *of_chunk(const struct gemm_writer *c, const struct gemm_span *s, int each)
{
    return s->chunks > 1 ? arena_printf(c->w->arena, " + chunk * %d", s->tiles * GEMM_BLOCK * each) : "";
}

/* Channels of the span from the chunk's first on. */
static const char *rest_of(const struct gemm_writer *c, const struct gemm_span *s)
{
    return s->chunks > 1 ? arena_printf(c->w->arena, "%d - chunk * %d", s->channels, s->tiles * GEMM_BLOCK)
                         : arena_printf(c->w->arena, "%d", s->channels);
}

/* Is a loop over channels of G, of which those below a channel of y alone take part, one over the span's? */
static bool is_cut(const struct gemm_path *q)
{
    return q->e->below && !q->c->r->back;
}

/* `sum` += left operand `left` times weights, of rows from `from` on. */
static void emit_product(const struct gemm_path *q, const struct gemm_span *s, const char *sum,
                         const char *left, int input, const char *from)
{
    struct gemm_writer *c = q->c;
    const int words = gemm_words(c->r);
    const char *weights = gemm_weights_of(q, input);
    if (is_cut(q))
        line(c->o, "cgtp_add_weighted<%d>(%s, %s, %s + %s * below * %d%s, below%s);", words, sum, left,
             weights, from, GEMM_BLOCK * words, of_chunk(c, s, GEMM_BLOCK * words),
             s->chunks > 1 ? arena_printf(c->w->arena, " - chunk * %d", s->tiles) : "");
    else
        line(c->o, "cgtp_add_weighted<%d>(%s, %s, %s + %s * %d%s);", words, sum, left, weights, from,
             c->r->blocks[q->path->number] * GEMM_BLOCK * words, of_chunk(c, s, GEMM_BLOCK * words));
}

/* ---- elements ---- */

/* Are the elements of two neighbouring channels, by two, at even places of a row? */
static const char *even(const struct operand_block *b)
{
    const bool together = b->channel == b->components && b->component == 1;
    const bool is = b->offset % 2 == 0 && (together || (b->channel == 1 && b->component % 2 == 0));
    return is ? "true" : "false";
}

/* Declares and reads two neighbouring channels, of which `all` or as many as `count` says are there. */
static void take_pair(const struct gemm_path *q, const char *name, const struct operand *x, const char *item,
                      const char *channel, bool all, const char *count)
{
    struct gemm_writer *c = q->c;
    const struct operand_block *b = operand_block_of(x, q->path);
    line(c->o, "real %spair[2][%d];", name, b->components);
    line(c->o, "cgtp_take_pair<%s, %d, %d>(%spair, %s + %s%s);", even(b), (int)b->component, (int)b->channel,
         name, gemm_row(q, x, item),
         b->channel == 1 ? channel : arena_printf(c->w->arena, "(%s) * %d", channel, (int)b->channel),
         all ? "" : arena_printf(c->w->arena, ", %s - (%s)", count, channel));
}

/* The inputs that the recipe reads of channels. */
static void take_channels(const struct gemm_path *q, const struct recipe *r, const char *item,
                          const char *channel, bool all)
{
    const char *count = arena_printf(q->c->w->arena, "%d", path_channels_b(q->e));
    for (int i = 0; i < r->inputs; i++)
        if (gemm_has_channels(q, r->input[i].role) && recipe_reads(r, i))
            take_pair(q, r->input[i].name, source_input(q->c->w, r->input[i].source), item, channel, all,
                      count);
}

/* Sets the left operands `name`0, .. from numbers `name`0u.. of the element. */
static void set_left(const struct gemm_path *q, const char *name, const char *from)
{
    line(q->c->o, "CGTP_UNROLL for (int k = 0; k < %d; k++)", q->d);
    line(q->c->o, "%s[k].set(item + 2 * j, %s[k]);", name, from);
}

/* Loops over a lane's elements of a left operand: of both items, j is one of two channels. */
static void begin_item(struct gemm_writer *c)
{
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int item = 0; item < 2; item++) {");
}

static void begin_pair(struct gemm_writer *c)
{
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int j = 0; j < 2; j++) {");
}

/* Makes T for channels of B from u on. */
static void emit_t(const struct gemm_path *q)
{
    struct gemm_writer *c = q->c;
    for (int t = 0; t < q->v->ts; t++)
        line(c->o, "cgtp_left t%d[%d];", t, q->d);
    begin_item(c);
    take_channels(q, q->v->tensor, "cgtp_gemm_row(item)", "u + cgtp_gemm_pair()",
                  path_channels_b(q->e) % GEMM_BLOCK == 0);
    begin_pair(c);
    for (int t = 0; t < q->v->ts; t++)
        line(c->o, "real t%du[%d];", t, q->d);
    gemm_call(q, true);
    for (int t = 0; t < q->v->ts; t++)
        set_left(q, arena_printf(c->w->arena, "t%d", t), arena_printf(c->w->arena, "t%du", t));
    line(c->o, "}");
    line(c->o, "}");
}

/* ---- loops ---- */

/* A loop over n rows of weights, by blocks. */
struct rows {
    const char *variable;
    int n;                  /* at most, where `end` is not NULL */
    const char *end;        /* how many, where that is known when it runs */
    int count;              /* of its sums */
    const char *const *sum; /* their names */
    int some;               /* rows whose products tensor cores add up; 0: all there are */
};

/* With so many products of each row. first: nothing is in the sums yet. */
static struct rows rows_of(const struct gemm_path *q, const char *variable, int n, int count,
                           const char *const *sum, int products, bool first)
{
    const int some = (products < GEMM_EXACT ? GEMM_EXACT / products : 1) * GEMM_BLOCK;
    const char *end = q->e->below && q->c->r->back ? "below * 8" : NULL;
    return (struct rows){variable, n,   end,
                         count,    sum, gemm_has_parts(q->c->d) && !(first && n <= some) ? some : 0};
}

/* Of numbers in parts some rows make sums of their own, arrays part0 .., which end_rows adds to others. */
static void begin_rows(const struct gemm_path *q, const struct gemm_span *s, const struct rows *r)
{
    struct gemm_writer *c = q->c;
    const bool apart = r->some && r->some < r->n;
    const char *end = r->end ? r->end : arena_printf(c->w->arena, "%d", r->n);
    if (apart) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int first = 0; first < %s; first += %d) {",
             r->end ? r->end : arena_printf(c->w->arena, "cgtp_opaque(%d)", r->n), r->some);
        end = r->end ? arena_printf(c->w->arena, "(first + %d < %s ? first + %d : %s)", r->some, r->end,
                                    r->some, r->end)
              : r->n % r->some ? arena_printf(c->w->arena, "(first + %d < %d ? first + %d : %d)", r->some,
                                              r->n, r->some, r->n)
                               : arena_printf(c->w->arena, "first + %d", r->some);
    } else if (r->some) {
        line(c->o, "{");
    }
    for (int i = 0; i < r->count && r->some; i++)
        line(c->o, "real part%d[%d][%d][4] = {};", i, q->d, s->tiles);
    if (!c->r->unrolled)
        line(c->o, "CGTP_LOOP");
    else if (r->some || r->n <= GEMM_EXACT * GEMM_BLOCK)
        line(c->o, "CGTP_UNROLL");
    else
        line(c->o, "CGTP_UNROLL_BY(%d)", GEMM_EXACT);
    line(c->o, "for (int %s = %s; %s < %s; %s += %d) {", r->variable, apart ? "first" : "0", r->variable, end,
         r->variable, GEMM_BLOCK);
}

static void end_rows(const struct gemm_path *q, const struct rows *r)
{
    struct gemm_writer *c = q->c;
    line(c->o, "}");
    for (int i = 0; i < r->count && r->some; i++)
        line(c->o, "cgtp_add_parts(%s, part%d);", r->sum[i], i);
    if (r->some)
        line(c->o, "}");
}

/* What products are added to first, instead of sum number i. */
static const char *target_of(const struct gemm_path *q, const struct rows *r, int i)
{
    return r->some ? arena_printf(q->c->w->arena, "part%d", i) : r->sum[i];
}

/* ---- P ---- */

/* The left operand of P: g. */
static void emit_g(const struct gemm_path *q, const struct operand *g)
{
    struct gemm_writer *c = q->c;
    line(c->o, "cgtp_left g[%d];", q->d);
    begin_item(c);
    const int channels = path_channels_g(q->e);
    take_pair(q, "g", g, "cgtp_gemm_row(item)", "c + cgtp_gemm_pair()", channels % GEMM_BLOCK == 0,
              arena_printf(c->w->arena, "%d", channels));
    begin_pair(c);
    set_left(q, "g", "gpair[j]");
    line(c->o, "}");
    line(c->o, "}");
}

/* P of the span's channels; those from one g together. */
static void emit_p(const struct gemm_path *q, const struct gemm_span *s)
{
    struct gemm_writer *c = q->c;
    const struct contract_p *p = q->v->p;
    const char **sum = NEW_ARRAY(c->w->arena, const char *, q->v->ps + 1);
    int *w = NEW_ARRAY(c->w->arena, int, q->v->ps + 1);
    for (int j = 0; j < q->v->ps; j++)
        line(c->o, "real p%d[%d][%d][4] = {};", j, q->d, s->tiles);
    for (int j = 0; j < q->v->ps; j++) {
        int n = 0, before = 0;
        for (int i = 0; i < j; i++)
            before += p[i].g == p[j].g;
        for (int i = j; i < q->v->ps && !before; i++)
            if (p[i].g == p[j].g) {
                w[n] = p[i].w;
                sum[n++] = arena_printf(c->w->arena, "p%d", i);
            }
        if (before)
            continue;
        const struct rows r = rows_of(q, "c", path_channels_g(q->e), n, sum, 1, true);
        begin_rows(q, s, &r);
        emit_g(q, source_input(c->w, p[j].g));
        for (int i = 0; i < n; i++)
            emit_product(q, s, target_of(q, &r, i), "g", w[i], "c");
        end_rows(q, &r);
    }
}

/* An element of each P: of such a block of columns, the lane's number there. */
static void take_p(const struct gemm_path *q, const char *block, const char *number)
{
    struct out *o = q->c->o;
    for (int j = 0; j < q->v->ps; j++) {
        line(o, "real p%du[%d];", j, q->d);
        line(o, "CGTP_UNROLL for (int k = 0; k < %d; k++)", q->d);
        line(o, "p%du[k] = p%d[k][%s][%s];", j, j, block, number);
    }
}

/* ---- G ---- */

static void emit_forth(struct gemm_writer *c, const struct gemm_span *s, int path)
{
    static const char *const sum = "sum";
    const struct gemm_path q = gemm_path_of(c, path, "item", "pair[j]", "");
    int products = 0;
    for (int i = 0; i < q.v->zs; i++)
        products += q.v->z[i].output == c->d->output[s->output];
    gemm_comment(&q);
    struct text from = {.arena = c->w->arena};
    text_printf(&from, q.e->below ? "1" : "0");
    if (q.e->below && s->chunks > 1)
        text_printf(&from, " + chunk * %d", s->tiles * GEMM_BLOCK);
    if (gemm_divides(c->r))
        text_printf(&from, " + member");
    gemm_begin_channels(&q, text_string(&from));
    gemm_take_items(&q, q.v->tensor, "cgtp_gemm_row(i)");
    const struct rows r = rows_of(&q, "u", path_channels_b(q.e), 1, &sum, products, false);
    begin_rows(&q, s, &r);
    emit_t(&q);
    for (int i = 0; i < q.v->zs; i++)
        if (q.v->z[i].output == c->d->output[s->output])
            emit_product(&q, s, target_of(&q, &r, 0), arena_printf(c->w->arena, "t%d", q.v->z[i].t),
                         q.v->z[i].w, "u");
    end_rows(&q, &r);
    line(c->o, "}");
}

/* What P, rows of x times weights, adds to z, element by element. */
static void emit_from_z(struct gemm_writer *c, const struct gemm_span *s, int path)
{
    const struct gemm_path q = gemm_path_of(c, path, "i % 4 / 2", "", "u");
    const char *z = demand_operand(c->d, s->output)->symbol;
    gemm_comment(&q);
    gemm_begin_channels(&q, NULL);
    emit_p(&q, s);
    gemm_take_items(&q, q.v->product, "cgtp_gemm_row(i)");
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int i = 0; i < %d; i++) {", 4 * s->tiles);
    take_p(&q, "i / 4", "i % 4");
    line(c->o, "real %su[%d] = {};", z, q.e->matrix->rows);
    gemm_call(&q, false);
    line(c->o, "CGTP_UNROLL for (int k = 0; k < %d; k++)", q.e->matrix->rows);
    line(c->o, "sum[k][i / 4][i %% 4] += %su[k];", z);
    line(c->o, "}");
    line(c->o, "}");
}

const char *gemm_own_number(const struct gemm_writer *c)
{
    return c->r->members > 1 && gemm_apart(c->r) ? "member" : "0";
}

/* A divided team's warp leaves its part of a span's sums. */
static void emit_leave(struct gemm_writer *c, const struct gemm_span *s, const struct operand *q)
{
    const struct operand_block *b = &q->block[s->segment];
    line(c->o, "cgtp_put_product<false, %d, %d>(own.out.%s[%s][0] + %lld%s, %d, %d, sum, %s);",
         (int)b->channel, (int)b->component, q->symbol, gemm_own_number(c), (long long)b->offset,
         of_chunk(c, s, (int)b->channel), gemm_pitch(q->dim), GEMM_ITEMS, rest_of(c, s));
}

/* Stores a span's channels of an output. */
static void emit_put(struct gemm_writer *c, const struct gemm_span *s, const struct operand *q,
                     const char *function, const char *sum)
{
    const struct operand_block *b = &q->block[s->segment];
    const bool pairs = q->dim % 2 == 0 && s->channels % 2 == 0;
    line(c->o, "%s<%s, %d, %d>(l.%s + tile * (int64_t)%s + %lld%s, %s, count_of(tile), %s, %s);", function,
         pairs ? even(b) : "false", (int)b->channel, (int)b->component, q->array,
         source_rows_apart(c->w->arena, q, GEMM_ITEMS, "l."), (long long)b->offset,
         of_chunk(c, s, (int)b->channel), source_stride(c->w, q), sum, rest_of(c, s));
}

static void emit_span_forth(struct gemm_writer *c, const struct gemm_span *s)
{
    const struct operand *q = demand_operand(c->d, s->output);
    line(c->o, "real sum[%d][%d][4] = {};", q->block[s->segment].components, s->tiles);
    for (int i = 0; i < s->paths; i++)
        if (gemm_adds(c->d, s->output, s->path[i]))
            (gemm_from_z(c->d, s->path[i]) ? emit_from_z : emit_forth)(c, s, s->path[i]);
    if (gemm_divides(c->r))
        emit_leave(c, s, q);
    else
        emit_put(c, s, q, "cgtp_put_product", "sum");
}

/* ---- A and B ---- */

/* The warp's row of an item for sums of slot A. */
static const char *own_row(const struct gemm_path *q, const struct recipe_output *o, const char *item)
{
    struct gemm_writer *c = q->c;
    const struct operand *y = kernel_output(c->d->kernel, o->source);
    const char *row = arena_printf(c->w->arena, "own.out.%s[%s][%s]", y->symbol, gemm_own_number(c), item);
    return path_address(c->w->arena, q->e, ROLE_A, row, operand_block_of(y, q->path));
}

/* Adds what a lane has of slot A for one of its channels, where that is there, to the item's row. */
static void add_channel(const struct gemm_path *q, const struct recipe_output *o, const char *channel,
                        bool all)
{
    struct gemm_writer *c = q->c;
    const struct operand_block *b = operand_block_of(kernel_output(c->d->kernel, o->source), q->path);
    if (!all)
        line(c->o, "if (%s + j < %d)", channel, path_channels_b(q->e));
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d; k++)", q->e->matrix->depth);
    line(c->o, "(%s)[%s + %s] += %su[k];", own_row(q, o, "cgtp_gemm_row(i)"),
         scaled(q->c->w->arena, arena_printf(q->c->w->arena, "(%s + j)", channel), b->channel),
         scaled(q->c->w->arena, "k", b->component), o->name);
}

/* What comes of P, for each of the lane's items and channels: two channels i of one item. */
static void emit_of_p(const struct gemm_path *q, const struct gemm_span *s)
{
    struct gemm_writer *c = q->c;
    const bool all = s->channels == s->chunks * s->tiles * GEMM_BLOCK;
    const char *channel = "i / 2 * 8 + cgtp_gemm_pair()";
    if (s->chunks > 1)
        channel = arena_printf(c->w->arena, "chunk * %d + %s", s->tiles * GEMM_BLOCK, channel);
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int i = 0; i < %d; i++) {", 2 * s->tiles);
    take_channels(q, q->v->product, "cgtp_gemm_row(i)", channel, all);
    begin_pair(c);
    take_p(q, "i / 2", "i % 2 * 2 + j");
    for (int o = 0; o < q->v->product->outputs && q->e->elementwise; o++)
        if (q->v->product->output[o].role == ROLE_A)
            line(c->o, "real %su[%d] = {};", q->v->product->output[o].name, q->e->matrix->depth);
    gemm_call(q, false);
    for (int o = 0; o < q->v->product->outputs && q->e->elementwise; o++)
        if (q->v->product->output[o].role == ROLE_A)
            add_channel(q, &q->v->product->output[o], channel, all);
    line(c->o, "}");
    line(c->o, "}");
}

static void emit_back(struct gemm_writer *c, const struct gemm_span *s, int path)
{
    const struct gemm_path q = gemm_path_of(c, path, "i % 2", "pair[j]", "sum[2 * i + j]");
    if (!q.v->product)
        return;
    gemm_comment(&q);
    gemm_begin_channels(&q, gemm_divides(c->r) ? q.e->below ? "1 + member" : "member"
                            : q.e->below       ? "1"
                                               : NULL);
    emit_p(&q, s);
    gemm_take_items(&q, q.v->product, "cgtp_gemm_row(i)");
    for (int o = 0; o < q.v->product->outputs && !q.e->elementwise; o++)
        if (q.v->product->output[o].role == ROLE_A)
            line(c->o, "real %ssum[2][%d] = {};", q.v->product->output[o].name, q.e->matrix->depth);
    emit_of_p(&q, s);
    for (int o = 0; o < q.v->product->outputs && !q.e->elementwise; o++) {
        if (q.v->product->output[o].role != ROLE_A)
            continue;
        const struct operand *y = kernel_output(c->d->kernel, q.v->product->output[o].source);
        line(c->o, "cgtp_add_of_items<%d, %d>(%s, %ssum);", gemm_pitch(y->dim),
             (int)operand_block_of(y, q.path)->component, own_row(&q, &q.v->product->output[o], "0"),
             y->symbol);
    }
    line(c->o, "}");
}

static void emit_span_back(struct gemm_writer *c, const struct gemm_span *s)
{
    const enum slot slot = gemm_slot(c->d->plan, ROLE_B);
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        if (q->slot == slot)
            line(c->o, "real %ssum[%d][%d] = {};", q->symbol, 4 * s->tiles, q->block[s->segment].components);
    }
    for (int i = 0; i < s->paths; i++)
        emit_back(c, s, s->path[i]);
    for (int o = 0; o < c->d->outputs; o++)
        if (demand_output(c->d, o)->slot == slot)
            emit_put(c, s, demand_operand(c->d, o), "cgtp_put_channels",
                     arena_printf(c->w->arena, "%ssum", demand_operand(c->d, o)->symbol));
}

/* ---- a tile ---- */

void gemm_span(struct gemm_writer *c, const struct gemm_span *s)
{
    const enum slot slot = gemm_slot(c->d->plan, c->r->back ? ROLE_B : ROLE_G);
    const struct segment *segment = &slot_irreps(c->w->problem, slot)->segment[s->segment];
    struct text words = {.arena = c->w->arena};
    irrep_print(&words, segment->ir);
    line(c->o, "/* %s: %dx%s */", slot_name[slot], segment->mul, text_string(&words));
    const int members = gemm_divides(c->r) ? 1 : c->r->members;
    if (members > 1)
        line(c->o, "for (int chunk = (member + %d) %% %d; chunk < %d; chunk += %d) {",
             (members - s->first % members) % members, members, s->chunks, members);
    else if (s->chunks > 1)
        line(c->o, "for (int chunk = 0; chunk < %d; chunk++) {", s->chunks);
    else
        line(c->o, "{");
    if (c->r->back)
        emit_span_back(c, s);
    else
        emit_span_forth(c, s);
    line(c->o, "}");
}
