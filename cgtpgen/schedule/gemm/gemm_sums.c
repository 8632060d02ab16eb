/* gemm_sums.c - items by GEMM: the kernel of sums over all items. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

/* What a part's number says of it. */
static void emit_part(const struct gemm_path *q, const struct gemm_sum *s)
{
    struct out *o = q->c->o;
    const int y = path_channels_a(q->e);
    struct arena *a = q->c->w->arena;
    line(o, "const int number = %s, chunk = %s, u = %s * %d;",
         s->first ? arena_printf(a, "part - %d", s->first) : "part", modulo(a, "number", s->chunks),
         divided(a, "number", s->chunks * y), s->rows * GEMM_ITEMS);
    if (y > 1)
        line(o, "const int a = %s;", modulo(a, divided(a, "number", s->chunks), y));
}

/* Declares and reads the inputs that the recipe reads of channels, for `item` and `channel`; all: there is
 * one for every lane. */
static void take_channel(const struct gemm_path *q, const struct recipe *r, const char *item,
                         const char *channel, bool all)
{
    for (int i = 0; i < r->inputs; i++) {
        if (!gemm_has_channels(q, r->input[i].role) || !recipe_reads(r, i))
            continue;
        const struct operand *x = source_input(q->c->w, r->input[i].source);
        const struct operand_block *b = operand_block_of(x, q->path);
        line(q->c->o, "real %su[%d];", r->input[i].name, b->components);
        line(q->c->o, "cgtp_take<%d>(%su, %s + %s%s);", (int)b->component, r->input[i].name,
             gemm_row(q, x, item),
             b->channel == 1 ? channel : arena_printf(q->c->w->arena, "(%s) * %d", channel, (int)b->channel),
             all ? "" : arena_printf(q->c->w->arena, ", %s < %d", channel, path_channels_b(q->e)));
    }
}

/* Makes T of elements i of left operands, t0 and so on, of each 16 channels. */
static void emit_left(const struct gemm_path *q, const struct gemm_sum *s)
{
    struct gemm_writer *c = q->c;
    const bool all = path_channels_b(q->e) % (s->rows * GEMM_ITEMS) == 0;
    for (int t = 0; t < q->v->ts; t++)
        line(c->o, "cgtp_left t%d[%d][%d];", t, s->rows, q->d);
    if (s->rows > 1) {
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int r = 0; r < %d; r++)", s->rows);
    }
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int i = 0; i < 4; i++) {");
    take_channel(q, q->v->tensor, "item + cgtp_gemm_column(i)",
                 s->rows > 1 ? arena_printf(c->w->arena, "u + r * %d + cgtp_gemm_row(i)", GEMM_ITEMS)
                             : "u + cgtp_gemm_row(i)",
                 all);
    for (int t = 0; t < q->v->ts; t++)
        line(c->o, "real t%du[%d];", t, q->d);
    gemm_call(q, true);
    for (int t = 0; t < q->v->ts; t++) {
        line(c->o, "CGTP_UNROLL for (int k = 0; k < %d; k++)", q->d);
        line(c->o, "t%d[%s][k].set(i, t%du[k]);", t, s->rows > 1 ? "r" : "0", t);
    }
    line(c->o, "}");
}

/* Adds what is of eight items to number i of the sums. */
static void emit_outer(const struct gemm_path *q, const struct gemm_sum *s, int i, const char *sum,
                       bool parts)
{
    struct gemm_writer *c = q->c;
    const bool whole = !q->e->below && s->chunks * s->tiles * GEMM_BLOCK == path_channels_g(q->e);
    for (int k = 0; k < q->v->w[i].parts; k++) {
        const struct operand *g = source_input(c->w, q->v->w[i].part[k].g);
        const struct operand_block *b = operand_block_of(g, q->path);
        const char *row = gemm_row(q, g, "item");
        line(c->o, "cgtp_add_outer<%d, %d, %d, %s, %s%s>(%s, t%d, %s + chunk * %d, %s - chunk * %d);",
             gemm_sum_pitch(c->d, gemm_sum_length(c->g, q->v->w[i].part[k].g)), (int)b->channel,
             (int)b->component, whole ? "true" : "false", parts ? "true" : "false",
             q->e->below ? ", true" : "", sum, q->v->w[i].part[k].t, row,
             s->tiles * GEMM_BLOCK * (int)b->channel,
             q->e->below ? "a" : arena_printf(c->w->arena, "%d", path_channels_g(q->e)),
             s->tiles * GEMM_BLOCK);
    }
}

/* Adds the tile's items to the sums of each output. Of numbers in parts tensor cores add up what a few items
 * have; of many components a part of these. */
static void emit_items(const struct gemm_path *q, const struct gemm_sum *s)
{
    struct gemm_writer *c = q->c;
    int products = 1;
    for (int i = 0; i < q->v->ws; i++)
        products = q->v->w[i].parts > products ? q->v->w[i].parts : products;
    const bool parts = gemm_has_parts(c->d), few = parts && products * q->d <= GEMM_EXACT;
    const int items = few ? GEMM_EXACT / (products * q->d) * GEMM_BLOCK : c->g->sum_items;
    const bool apart = few && items < c->g->sum_items;
    if (apart) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int first = 0; first < %d; first += %d) {", c->g->sum_items, items);
    }
    for (int i = 0; few && i < q->v->ws; i++)
        line(c->o, "real part%d[%d][4] = {};", i, s->rows * s->tiles);
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int item = %s; item < %s%d; item += %d) {", apart ? "first" : "0",
         apart ? "first + " : "", items < c->g->sum_items ? items : c->g->sum_items, GEMM_BLOCK);
    gemm_take_items(q, q->v->tensor, "item + cgtp_gemm_column(2 * i)");
    emit_left(q, s);
    for (int i = 0; i < q->v->ws; i++)
        emit_outer(q, s, i, arena_printf(c->w->arena, few ? "part%d" : "sum%d", i), parts && !few);
    line(c->o, "}");
    for (int i = 0; few && i < q->v->ws; i++)
        line(c->o, "cgtp_add_parts(sum%d, part%d);", i, i);
    if (apart)
        line(c->o, "}");
}

/* "if (part >= 4 && part < 8) {": is the warp's part one of the path's? */
static void begin_part(const struct gemm_path *q, const struct gemm_sum *s)
{
    line(q->c->o, "if (part >= %d && part < %d) {", s->first, s->first + s->parts);
    emit_part(q, s);
}

/* A warp's work of a tile for a part of the path's weights. */
static void emit_sum(struct gemm_writer *c, const struct gemm_sum *s)
{
    const struct gemm_path q = gemm_path_of(c, s->path, "i / 2", "u", "");
    gemm_comment(&q);
    begin_part(&q, s);
    for (int i = 0; i < q.v->ws; i++)
        line(c->o, "real(&sum%d)[%d][4] = cgtp_gemm_sums<%d>(sums + %d);", i, s->rows * s->tiles,
             s->rows * s->tiles, i * s->rows * s->tiles);
    emit_items(&q, s);
    line(c->o, "}");
}

/* Stores what it has in the end. */
static void emit_put(struct gemm_writer *c, const struct gemm_sum *s)
{
    const struct gemm_path q = gemm_path_of(c, s->path, "i / 2", "u", "");
    const long long row = path_weight_step(q.path, q.e->b), column = path_weight_step(q.path, q.e->g);
    begin_part(&q, s);
    for (int i = 0; i < q.v->ws; i++) {
        const struct operand *w = kernel_output(c->d->kernel, q.v->w[i].output);
        if (q.e->below) {
            line(c->o,
                 "cgtp_put_weights_below<%d, %d, %d>(l.%sparts + own * (int64_t)%lld + %lld, "
                 "cgtp_gemm_sums<%d>(sums + %d), u, chunk * %d, a);",
                 q.path->mul_x, q.path->mul_z, s->rows, w->symbol, source_dim(w),
                 (long long)q.path->weight_offset, s->rows * s->tiles, i * s->rows * s->tiles,
                 s->tiles * GEMM_BLOCK);
            continue;
        }
        line(c->o,
             "cgtp_put_weights<%lld, %lld, %d>(l.%sparts + own * (int64_t)%lld + %lld + %s%s + "
             "%s, cgtp_gemm_sums<%d>(sums + %d), %d - u, %d - chunk * %d);",
             row, column, s->rows, w->symbol, source_dim(w), (long long)q.path->weight_offset,
             scaled(c->w->arena, "u", row),
             path_channels_a(q.e) > 1 ? arena_printf(c->w->arena, " + a * %d", q.path->mul_z) : "",
             scaled(c->w->arena, "chunk", s->tiles * GEMM_BLOCK * column), s->rows * s->tiles,
             i * s->rows * s->tiles, path_channels_b(q.e), path_channels_g(q.e), s->tiles * GEMM_BLOCK);
    }
    line(c->o, "}");
}

/* Has the output a sum of the path? */
static bool sums(const struct gemm_writer *c, int output, int path)
{
    bool any = false;
    for (int i = 0; c->d->variant_of[path] >= 0 && i < gemm_variant(c->d, path)->ws; i++)
        any |= gemm_variant(c->d, path)->w[i].output == c->d->output[output];
    return any;
}

/* Zeros for weights of which nothing is summed, by the first block of each set. */
static void emit_zeros(struct gemm_writer *c)
{
    for (int o = 0; o < c->d->outputs; o++)
        for (int p = 0; p < c->w->problem->paths; p++) {
            const struct path *path = &c->w->problem->path[p];
            const struct operand *w = demand_operand(c->d, o);
            if (!path->weight_numel || sums(c, o, p))
                continue;
            if (c->g->sets > 1)
                line(c->o, "if (cgtp_block() %% %d == 0)", c->g->sets);
            line(c->o, "cgtp_clear_weights(l.%sparts + own * (int64_t)%lld + %lld, %lld, cgtp_thread(), %d);",
                 w->symbol, source_dim(w), (long long)path->weight_offset, (long long)path->weight_numel,
                 c->g->warps * 32);
        }
}

/* Copies of the next tile. */
static void emit_next(struct gemm_writer *c, const char *to)
{
    line(c->o, "if (next < tiles) {");
    gemm_copies(c, "next", to, "warp", c->g->warps, 0);
    line(c->o, "}");
    line(c->o, "cgtp_copies_commit();");
}

/* Goes through the block's tiles with all of its warps, from the one before its first on: so there is one
 * place from where copies start. */
static void emit_tiles(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    struct out *o = c->o;
    int most = 1;
    for (int i = 0; i < g->sum_count; i++) {
        const int n = g->sum[i].rows * g->sum[i].tiles * gemm_variant(c->d, g->sum[i].path)->ws;
        most = n > most ? n : most;
    }
    line(o, "real sums[%d][4] = {}; /* of the warp's part */", most);
    if (g->sum_stages > 1)
        line(o, "int turn = 0;");
    line(o, "CGTP_LOOP");
    line(o, "for (int64_t tile = own - step, next; tile < tiles; tile = next) {");
    line(o, "next = tile + step;");
    if (g->sum_stages == 1)
        line(o, "if (tile >= 0) {");
    line(o, "cgtp_copies_wait<0>();");
    line(o, "cgtp_sync_group<%d>();", g->warps);
    line(o, "const %s &rows = block.ring[%s];", g->sum_tile.name, g->sum_stages > 1 ? "turn" : "0");
    if (g->sum_stages > 1) {
        line(o, "turn = 1 - turn;");
        emit_next(c, "block.ring[turn]");
        line(o, "if (tile < 0)");
        line(o, "continue;");
    }
    for (int i = 0; i < g->sum_count; i++)
        emit_sum(c, &g->sum[i]);
    if (g->sum_stages == 1) {
        line(o, "cgtp_sync_group<%d>();", g->warps);
        line(o, "}");
        emit_next(c, "block.ring[0]");
    }
    line(o, "}");
}

/* Are there paths whose parts are longer the higher their channel of y? Blocks have some of all then, not
 * neighbours. */
static bool has_below(const struct gemm_writer *c)
{
    bool any = false;
    for (int i = 0; i < c->g->sum_count; i++)
        any |= c->d->plan->path[c->g->sum[i].path].below;
    return any;
}

/* Where each set's windows begin; in the kernel, the block's. */
static void emit_windows(struct gemm_writer *c, bool inside)
{
    const struct gemm *g = c->g;
    const int inputs = c->w->form->inputs;
    for (int i = 0; i < inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (!demand_reads(c->d, i) || gemm_sum_length(g, i) >= q->dim)
            continue;
        if (inside) {
            line(c->o, "const int %sfirst = %s_%sfirst[cgtp_block() %% %d];", q->symbol, g->name, q->symbol,
                 g->sets);
            continue;
        }
        const char *all = "";
        for (int set = 0; set < g->sets; set++)
            all = arena_printf(c->w->arena, "%s%s%d", all, set ? ", " : "",
                               g->sum_window[set * inputs + i].first);
        line(c->o, "/* %s: where what the blocks of a set read begins in a row. */", q->symbol);
        line(c->o, "CGTP_TABLE int %s_%sfirst[%d] = {%s};", g->name, q->symbol, g->sets, all);
    }
}

void gemm_sums_kernel(struct gemm_writer *c)
{
    const char *items = source_items(c->w);
    const struct gemm *g = c->g;
    struct arena *a = c->w->arena;
    struct out *o = c->o;
    emit_windows(c, false);
    line(o,
         "/* %s_sums: blocks of %d threads with %d bytes of dynamic shared memory, %d on a multiprocessor; "
         "%s %s all "
         "weights, a part for each warp, and sum over tiles at equal distances. " SOURCE_WAITS " */",
         g->name, g->warps * 32, g->sum_block.bytes, g->fit,
         g->sets > 1 ? plural(c->w->arena, g->sets, "block") : "each", g->sets > 1 ? "together have" : "has");
    line(o, "CGTP_KERNEL(%d, %d) %s_sums(const launch l)", g->warps * 32, g->fit, g->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s &block = *(%s *)shared;", g->sum_block.name, g->sum_block.name);
    const char *mine = g->turn ? arena_printf(a, "(warp + %d) %% %d", g->turn, g->warps) : "warp";
    line(o, "const int warp = cgtp_uniform(cgtp_warp()), part = %s;",
         g->sets == 1   ? mine
         : has_below(c) ? arena_printf(a, "cgtp_block() %% %d + %s * %d", g->sets, mine, g->sets)
                        : arena_printf(a, "cgtp_block() %% %d * %d + %s", g->sets, g->warps, mine));
    line(o, "const int64_t own = %s, step = %s;", divided(a, "cgtp_block()", g->sets),
         divided(a, "cgtp_blocks()", g->sets));
    emit_windows(c, true);
    line(o, "const int64_t tiles = (%s + %d) / %d;", items, g->sum_items - 1, g->sum_items);
    line(o, "const cgtp_policy once = cgtp_policy_stream();");
    line(o, "auto count_of = [&](int64_t i) {");
    line(o, "return %s - i * %d < %d ? (int)(%s - i * %d) : %d;", items, g->sum_items, g->sum_items, items,
         g->sum_items, g->sum_items);
    line(o, "};");
    gemm_begin_launch(c);
    emit_zeros(c);
    emit_tiles(c);
    for (int i = 0; i < g->sum_count; i++)
        emit_put(c, &g->sum[i]);
    gemm_end_launch(c);
}
