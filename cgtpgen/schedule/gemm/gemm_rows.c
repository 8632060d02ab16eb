/* gemm_rows.c - items by GEMM: the kernel of rows. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

/* ---- weights ---- */

static int pitch_of(const struct gemm_path *q)
{
    return q->c->g->resident ? gemm_pitch(q->path->mul_z) : q->path->mul_z;
}

/* Numbers that a weight is. */
static int words_of(const struct gemm *g)
{
    return g->split ? 2 : 1;
}

/* Where the weights begin, of the input, of channel a of y. */
static const char *weights_of(const struct gemm_path *q, int input)
{
    struct arena *a = q->c->w->arena;
    const struct gemm *g = q->c->g;
    const char *w =
        arena_printf(a, g->resident ? "block.weights.%s" : "l.%s", source_input(q->c->w, input)->symbol);
    w = plus_offset(a, w, g->place[q->path->number]);
    return path_channels_a(q->e) > 1 ? arena_printf(a, "%s + a * %d", w, pitch_of(q) * words_of(g)) : w;
}

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

static const char *truth(bool is)
{
    return is ? "true" : "false";
}

/* `sum` += left operand `left` times weights, of rows from `from` on of n. */
static void emit_product(const struct gemm_path *q, const struct gemm_span *s, const char *sum,
                         const char *left, int input, const char *from, int n)
{
    struct gemm_writer *c = q->c;
    const int step = path_channels_a(q->e) * pitch_of(q), row = s->back ? 1 : step,
              column = s->back ? step : 1;
    const int words = words_of(c->g);
    const char *at = row * words > 1 ? arena_printf(c->w->arena, "%s * %d", from, row * words) : from;
    line(c->o, "cgtp_add_weighted<%d, %d, %s, %s, %s>(%s, %s, %s + %s%s, %d - %s, %s);", row, column,
         truth(n % GEMM_BLOCK == 0), truth(s->channels == s->chunks * s->tiles * GEMM_BLOCK),
         truth(c->g->split), sum, left, weights_of(q, input), at, of_chunk(c, s, column * words), n, from,
         rest_of(c, s));
}

/* A loop over n rows of weights, by blocks. Of numbers in parts a few blocks, with so many products each,
 * make sums of their own: `count` arrays part0 .., which end_rows adds to others. */
static void begin_rows(const struct gemm_path *q, const struct gemm_span *s, const char *variable, int n,
                       int count, int products)
{
    struct gemm_writer *c = q->c;
    const char *first = "0", *end = arena_printf(c->w->arena, "%d", n);
    if (gemm_has_parts(c->d)) {
        const int some = (products < GEMM_EXACT ? GEMM_EXACT / products : 1) * GEMM_BLOCK;
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int first = 0; first < %d; first += %d) {", n, some);
        for (int i = 0; i < count; i++)
            line(c->o, "real part%d[%d][%d][4] = {};", i, q->d, s->tiles);
        first = "first";
        end = n % some ? arena_printf(c->w->arena, "(first + %d < %d ? first + %d : %d)", some, n, some, n)
                       : arena_printf(c->w->arena, "first + %d", some);
    }
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int %s = %s; %s < %s; %s += %d) {", variable, first, variable, end, variable,
         GEMM_BLOCK);
}

/* sum: [count], their names. */
static void end_rows(const struct gemm_path *q, int count, const char *const *sum)
{
    struct gemm_writer *c = q->c;
    line(c->o, "}");
    if (!gemm_has_parts(c->d))
        return;
    for (int i = 0; i < count; i++)
        line(c->o, "cgtp_add_parts(%s, part%d);", sum[i], i);
    line(c->o, "}");
}

/* Number i of what a product is added to first. */
static const char *target_of(const struct gemm_path *q, int i, const char *sum)
{
    return gemm_has_parts(q->c->d) ? arena_printf(q->c->w->arena, "part%d", i) : sum;
}

/* ---- z ---- */

static void emit_forth(struct gemm_writer *c, const struct gemm_span *s, int path)
{
    static const char *const sum = "sum";
    const struct gemm_path q = gemm_path_of(c, path, "i % 2");
    int products = 0;
    for (int i = 0; i < q.v->zs; i++)
        products += q.v->z[i].output == c->d->output[s->output];
    gemm_comment(&q);
    gemm_begin_channels(&q);
    gemm_take_items(&q, q.v->tensor, "cgtp_gemm_row(i)");
    begin_rows(&q, s, "u", q.path->mul_x, 1, products);
    gemm_left(&q, "cgtp_gemm_row(i)", "u + cgtp_gemm_column(i)", q.path->mul_x % GEMM_BLOCK == 0);
    for (int i = 0; i < q.v->zs; i++)
        if (q.v->z[i].output == c->d->output[s->output])
            emit_product(&q, s, target_of(&q, 0, sum), arena_printf(c->w->arena, "t%d", q.v->z[i].t),
                         q.v->z[i].w, "u", q.path->mul_x);
    end_rows(&q, 1, &sum);
    line(c->o, "}");
}

/* Where an output's channels of the span are in the rows of the tile. */
static const char *place_of(const struct gemm_writer *c, const struct gemm_span *s, const struct operand *q)
{
    const struct operand_block *b = &q->block[s->segment];
    return arena_printf(
        c->w->arena, "%s%s",
        plus_offset(c->w->arena, arena_printf(c->w->arena, "own.out.%s[0]", q->symbol), b->offset),
        of_chunk(c, s, (int)b->channel));
}

static void emit_span_forth(struct gemm_writer *c, const struct gemm_span *s)
{
    const struct operand *q = demand_operand(c->d, s->output);
    const struct operand_block *b = &q->block[s->segment];
    line(c->o, "real sum[%d][%d][4] = {};", b->components, s->tiles);
    for (int i = 0; i < s->paths; i++)
        if (gemm_adds(c->d, s->output, s->path[i]))
            emit_forth(c, s, s->path[i]);
    line(c->o, "cgtp_put_product<%d, %d, %d>(%s, sum, %s);", gemm_pitch(q->dim), (int)b->channel,
         (int)b->component, place_of(c, s, q), rest_of(c, s));
}

/* ---- x and y ---- */

/* The left operand of P: g. */
static void emit_g(const struct gemm_path *q, const struct operand *g)
{
    struct gemm_writer *c = q->c;
    const struct operand_block *b = operand_block_of(g, q->path);
    const bool all = q->path->mul_z % GEMM_BLOCK == 0;
    const char *row = arena_printf(c->w->arena, "rows.%s[cgtp_gemm_row(i)]", g->symbol);
    line(c->o, "cgtp_left g[%d];", q->d);
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int i = 0; i < 4; i++) {");
    line(c->o, "real gu[%d];", q->d);
    line(c->o, "cgtp_take<%d>(gu, %s + (c + cgtp_gemm_column(i)) * %d%s);", (int)b->component,
         plus_offset(c->w->arena, row, b->offset), (int)b->channel,
         all ? "" : arena_printf(c->w->arena, ", c + cgtp_gemm_column(i) < %d", q->path->mul_z));
    line(c->o, "CGTP_UNROLL for (int k = 0; k < %d; k++)", q->d);
    line(c->o, "g[k].set(i, gu[k]);");
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
        begin_rows(q, s, "c", q->path->mul_z, n, 1);
        emit_g(q, source_input(c->w, p[j].g));
        for (int i = 0; i < n; i++)
            emit_product(q, s, target_of(q, i, sum[i]), "g", w[i], "c", q->path->mul_z);
        end_rows(q, n, sum);
    }
}

/* What comes of P, for each of the lane's items and channels. */
static void emit_of_p(const struct gemm_path *q, const struct gemm_span *s)
{
    struct gemm_writer *c = q->c;
    const bool all = s->channels == s->chunks * s->tiles * GEMM_BLOCK;
    const char *channel = s->chunks > 1
                              ? arena_printf(c->w->arena, "chunk * %d + i / 4 * 8 + cgtp_gemm_sum_column(i)",
                                             s->tiles * GEMM_BLOCK)
                              : "i / 4 * 8 + cgtp_gemm_sum_column(i)";
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int i = 0; i < %d; i++) {", 4 * s->tiles);
    gemm_take_channel(q, q->v->product, "cgtp_gemm_sum_row(i % 4)", channel, all);
    for (int j = 0; j < q->v->ps; j++) {
        line(c->o, "real p%du[%d];", j, q->d);
        line(c->o, "CGTP_UNROLL for (int k = 0; k < %d; k++)", q->d);
        line(c->o, "p%du[k] = p%d[k][i / 4][i %% 4];", j, j);
    }
    gemm_call(q, false);
    line(c->o, "}");
}

static void emit_back(struct gemm_writer *c, const struct gemm_span *s, int path)
{
    const struct gemm_path q = gemm_path_of(c, path, "i % 4 / 2");
    if (!q.v->product)
        return;
    gemm_comment(&q);
    gemm_begin_channels(&q);
    emit_p(&q, s);
    gemm_take_items(&q, q.v->product, "cgtp_gemm_row(i)");
    for (int o = 0; o < q.v->product->outputs; o++)
        if (q.v->product->output[o].role == ROLE_A)
            line(c->o, "real %ssum[2][%d] = {};", q.v->product->output[o].name, q.e->matrix->depth);
    emit_of_p(&q, s);
    for (int o = 0; o < q.v->product->outputs; o++) {
        if (q.v->product->output[o].role != ROLE_A)
            continue;
        const struct operand *y = kernel_output(c->d->kernel, q.v->product->output[o].source);
        const struct operand_block *b = operand_block_of(y, q.path);
        const char *row =
            arena_printf(c->w->arena, "own.out.%s[%s][0]", y->symbol, c->g->members > 1 ? "member" : "0");
        line(c->o, "cgtp_add_of_items<%d, %d>(%s, %ssum);", gemm_pitch(y->dim), (int)b->component,
             path_address(c->w->arena, q.e, ROLE_A, row, b), y->symbol);
    }
    line(c->o, "}");
}

static void emit_span_back(struct gemm_writer *c, const struct gemm_span *s)
{
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        if (q->slot == SLOT_X)
            line(c->o, "real %ssum[%d][%d] = {};", q->symbol, 4 * s->tiles, q->block[s->segment].components);
    }
    for (int i = 0; i < s->paths; i++)
        emit_back(c, s, s->path[i]);
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        const struct operand_block *b = q->slot == SLOT_X ? &q->block[s->segment] : NULL;
        if (b)
            line(c->o, "cgtp_put_channels<%d, %d, %d>(%s, %ssum, %s);", gemm_pitch(q->dim), (int)b->channel,
                 (int)b->component, place_of(c, s, q), q->symbol, rest_of(c, s));
    }
}

/* ---- a tile ---- */

static void emit_span(struct gemm_writer *c, const struct gemm_span *s)
{
    const struct segment *segment =
        &slot_irreps(c->w->problem, s->back ? SLOT_X : SLOT_G)->segment[s->segment];
    struct text words = {.arena = c->w->arena};
    irrep_print(&words, segment->ir);
    line(c->o, "/* %s: %dx%s */", s->back ? "x" : "z", segment->mul, text_string(&words));
    const int members = c->g->members;
    if (members > 1)
        line(c->o, "for (int chunk = (member + %d) %% %d; chunk < %d; chunk += %d) {",
             (members - s->first % members) % members, members, s->chunks, members);
    else if (s->chunks > 1)
        line(c->o, "for (int chunk = 0; chunk < %d; chunk++) {", s->chunks);
    else
        line(c->o, "{");
    if (s->back)
        emit_span_back(c, s);
    else
        emit_span_forth(c, s);
    line(c->o, "}");
}

/* Zeros in the warp's sums of slot y. */
static void emit_zeros(struct gemm_writer *c)
{
    bool any = false;
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        if (q->slot != SLOT_Y)
            continue;
        any = true;
        line(c->o, "cgtp_clear_weights(own.out.%s[%s][0], %d, lane, CGTP_LANES);", q->symbol,
             c->g->members > 1 ? "member" : "0", gemm_pitch(q->dim) * GEMM_ITEMS);
    }
    if (any)
        line(c->o, "cgtp_sync_warp();");
}

/* Rows of outputs on their way from shared memory. */
static void emit_put(struct gemm_writer *c)
{
    const int threads = c->g->members * 32;
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        if (q->dim == 0)
            continue;
        const char *of = q->slot == SLOT_Y ? "[0]" : "";
        if (q->slot == SLOT_Y && c->g->members > 1) {
            line(c->o, "cgtp_add_members(own.out.%s, thread);", q->symbol);
            line(c->o, "cgtp_sync_group<%d>();", c->g->members);
        }
        line(c->o,
             "cgtp_put_items<%lld, %s>(l.%s + tile * (int64_t)%s, %s, own.out.%s%s, count_of(tile), thread, "
             "%d);",
             source_dim(q), truth(gemm_is_wide(q)), q->array,
             source_rows_apart(c->w->arena, q, GEMM_ITEMS, "l."), source_stride(c->w, q), q->symbol, of,
             threads);
    }
}

static void emit_tile(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    const int threads = g->members * 32;
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (; tile < tiles; tile = next) {");
    line(c->o, "next = tile + step;");
    if (g->stages > 1) {
        line(c->o, "if (next < tiles) {");
        gemm_copies(c, "next", "own.ring[1 - turn]", "thread", threads);
        line(c->o, "}");
        line(c->o, "cgtp_copies_commit();");
        line(c->o, "const %s &rows = own.ring[turn];", g->tile.name);
    }
    line(c->o, "cgtp_copies_wait<%d>();", g->stages - 1);
    line(c->o, "cgtp_sync_group<%d>();", g->members);
    emit_zeros(c);
    for (int i = 0; i < g->spans; i++)
        emit_span(c, &g->span[i]);
    line(c->o, "cgtp_sync_group<%d>();", g->members);
    if (g->stages == 1) {
        line(c->o, "if (next < tiles) {");
        gemm_copies(c, "next", "own.ring[0]", "thread", threads);
        line(c->o, "}");
        line(c->o, "cgtp_copies_commit();");
    } else {
        line(c->o, "turn = 1 - turn;");
    }
    emit_put(c);
    line(c->o, "}");
}

/* ---- the kernel ---- */

static void emit_head(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    struct out *o = c->o;
    const int threads = g->teams * g->members * 32;
    line(o,
         "/* %s: a block of %d threads per multiprocessor, with %d bytes of dynamic shared memory: %s of %s, "
         "each with "
         "tiles of its own at equal distances. */",
         g->name, threads, g->block.bytes, plural(c->w->arena, g->teams, "team"),
         plural(c->w->arena, g->members, "warp"));
    line(o, "CGTP_KERNEL(%d, 1) %s(const launch l)", threads, g->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "const int lane = cgtp_lane(), warp = cgtp_uniform(cgtp_warp());");
    if (g->members > 1)
        line(o, "const int team = warp / %d, member = warp %% %d, thread = member * CGTP_LANES + lane;",
             g->members, g->members);
    else
        line(o, "const int team = warp, thread = lane;");
    line(o, "%s &block = *(%s *)shared;", g->block.name, g->block.name);
    line(o, "%s &own = block.team[team];", g->team.name);
    line(o, "const cgtp_policy once = cgtp_policy_stream();");
    line(o, "const int64_t tiles = (l.items + %d) / %d, step = (int64_t)cgtp_blocks() * %d;", GEMM_ITEMS - 1,
         GEMM_ITEMS, g->teams);
    line(o, "int64_t tile = (int64_t)team * cgtp_blocks() + cgtp_block(), next;");
    line(o, "auto count_of = [&](int64_t i) {");
    line(o, "return l.items - i * %d < %d ? (int)(l.items - i * %d) : %d;", GEMM_ITEMS, GEMM_ITEMS,
         GEMM_ITEMS, GEMM_ITEMS);
    line(o, "};");
    if (g->stages > 1)
        line(o, "int turn = 0;");
    else
        line(o, "const %s &rows = own.ring[0];", g->tile.name);
    line(o, "cgtp_launch_wait();");
}

static void emit_weights(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    const int threads = g->teams * g->members * 32;
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *w = source_input(c->w, i);
        for (int p = 0; p < c->w->problem->paths && demand_reads(c->d, i) && w->slot == SLOT_W; p++) {
            const struct path *path = &c->w->problem->path[p];
            if (c->d->variant_of[p] >= 0)
                line(c->o,
                     "cgtp_%s_weights<%d, %d>(block.weights.%s + %lld, l.%s + %lld, %d, cgtp_thread(), %d);",
                     g->split ? "split" : "copy", path->mul_z, gemm_pitch(path->mul_z), w->symbol,
                     (long long)g->place[p], w->symbol, (long long)path->weight_offset,
                     path->mul_x * path->mul_y, threads);
        }
    }
}

void gemm_rows_kernel(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    emit_head(c);
    if (g->resident && !g->split)
        emit_weights(c);
    line(c->o, "if (tile < tiles) {");
    gemm_copies(c, "tile", "own.ring[0]", "thread", g->members * 32);
    line(c->o, "}");
    line(c->o, "cgtp_copies_commit();");
    if (g->split)
        emit_weights(c);
    else if (g->resident)
        line(c->o, "cgtp_copies_wait<0>();");
    if (g->resident)
        line(c->o, "cgtp_sync_block();");
    emit_tile(c);
    line(c->o, "}");
    blank(c->o);
}
