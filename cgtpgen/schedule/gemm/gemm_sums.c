/* gemm_sums.c - items by GEMM: the kernel of sums over all items. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

/* What a part's number says of it. */
static void emit_part(const struct gemm_path *q, const struct gemm_sum *s)
{
    struct out *o = q->c->o;
    const int y = path_channels_a(q->e);
    line(o, "const int number = part - %d, chunk = number %% %d, u = number / %d * %d;", s->first, s->chunks,
         s->chunks * y, GEMM_ITEMS);
    if (y > 1)
        line(o, "const int a = number / %d %% %d;", s->chunks, y);
}

/* Adds the tile's items to the sums of each output. */
static void emit_items(const struct gemm_path *q, const struct gemm_sum *s)
{
    struct gemm_writer *c = q->c;
    const bool whole = s->chunks * s->tiles * GEMM_BLOCK == q->path->mul_z;
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int item = 0; item < %d; item += %d) {", GEMM_ITEMS, GEMM_BLOCK);
    gemm_take_items(q, q->v->tensor, "item + cgtp_gemm_column(2 * i)");
    gemm_left(q, "item + cgtp_gemm_column(i)", "u + cgtp_gemm_row(i)", q->path->mul_x % GEMM_ITEMS == 0);
    for (int i = 0; i < q->v->ws; i++)
        for (int k = 0; k < q->v->w[i].parts; k++) {
            const struct operand *g = source_input(c->w, q->v->w[i].part[k].g);
            const struct operand_block *b = operand_block_of(g, q->path);
            const char *row =
                plus_offset(c->w->arena, arena_printf(c->w->arena, "rows.%s[item]", g->symbol), b->offset);
            line(c->o, "cgtp_add_outer<%d, %d, %d, %s>(sum%d, t%d, %s + chunk * %d, %d - chunk * %d);",
                 gemm_pitch(g->dim), (int)b->channel, (int)b->component, whole ? "true" : "false", i,
                 q->v->w[i].part[k].t, row, s->tiles * GEMM_BLOCK * (int)b->channel, q->path->mul_z,
                 s->tiles * GEMM_BLOCK);
        }
    line(c->o, "}");
}

/* A warp's work for a part of the path's weights. */
static void emit_sum(struct gemm_writer *c, const struct gemm_sum *s)
{
    const struct gemm_path q = gemm_path_of(c, s->path, "i / 2");
    const int step = path_channels_a(q.e) * q.path->mul_z;
    gemm_comment(&q);
    line(c->o, "if (part >= %d && part < %d) {", s->first, s->first + s->parts);
    emit_part(&q, s);
    for (int i = 0; i < q.v->ws; i++)
        line(c->o, "real sum%d[%d][4] = {};", i, s->tiles);
    line(c->o, "each_tile([&](const %s &rows) {", c->g->sum_tile.name);
    emit_items(&q, s);
    line(c->o, "});");
    for (int i = 0; i < q.v->ws; i++) {
        const struct operand *w = kernel_output(c->d->kernel, q.v->w[i].output);
        line(c->o,
             "cgtp_put_weights<%d>(l.%sparts + own * (int64_t)%lld + %lld + u * %d%s + chunk * %d, sum%d, %d "
             "- u, %d - chunk * %d);",
             step, w->symbol, source_dim(w), (long long)q.path->weight_offset, step,
             path_channels_a(q.e) > 1 ? arena_printf(c->w->arena, " + a * %d", q.path->mul_z) : "",
             s->tiles * GEMM_BLOCK, i, q.path->mul_x, q.path->mul_z, s->tiles * GEMM_BLOCK);
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

/* Goes through the tiles of the block, with all of its warps. */
static void emit_each_tile(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    struct out *o = c->o;
    line(o, "auto each_tile = [&](auto add) {");
    line(o, "int turn = 0;");
    line(o, "CGTP_LOOP");
    line(o, "for (int64_t tile = own, next; tile < tiles; tile = next) {");
    line(o, "next = tile + step;");
    if (g->sum_stages > 1) {
        line(o, "if (next < tiles) {");
        gemm_copies(c, "next", "block.ring[1 - turn]", "cgtp_thread()", g->warps * 32);
        line(o, "}");
        line(o, "cgtp_copies_commit();");
    }
    line(o, "cgtp_copies_wait<%d>();", g->sum_stages - 1);
    line(o, "cgtp_sync_group<%d>();", g->warps);
    line(o, "add(block.ring[turn]);");
    line(o, "cgtp_sync_group<%d>();", g->warps);
    if (g->sum_stages > 1) {
        line(o, "turn = 1 - turn;");
    } else {
        line(o, "if (next < tiles) {");
        gemm_copies(c, "next", "block.ring[0]", "cgtp_thread()", g->warps * 32);
        line(o, "}");
        line(o, "cgtp_copies_commit();");
    }
    line(o, "}");
    line(o, "};");
}

void gemm_sums_kernel(struct gemm_writer *c)
{
    const struct gemm *g = c->g;
    struct out *o = c->o;
    line(o,
         "/* %s_sums: blocks of %d threads with %d bytes of dynamic shared memory, %d on a multiprocessor; "
         "%s %s all "
         "weights, a part for each warp, and sum over tiles at equal distances. */",
         g->name, g->warps * 32, g->sum_block.bytes, g->fit,
         g->sets > 1 ? plural(c->w->arena, g->sets, "block") : "each", g->sets > 1 ? "together have" : "has");
    line(o, "CGTP_KERNEL(%d, %d) %s_sums(const launch l)", g->warps * 32, g->fit, g->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s &block = *(%s *)shared;", g->sum_block.name, g->sum_block.name);
    line(o, "const int part = cgtp_block() %% %d * %d + cgtp_uniform(cgtp_warp());", g->sets, g->warps);
    line(o, "const int64_t own = cgtp_block() / %d, step = cgtp_blocks() / %d;", g->sets, g->sets);
    line(o, "const int64_t tiles = (l.items + %d) / %d;", GEMM_ITEMS - 1, GEMM_ITEMS);
    line(o, "const cgtp_policy once = cgtp_policy_stream();");
    line(o, "auto count_of = [&](int64_t i) {");
    line(o, "return l.items - i * %d < %d ? (int)(l.items - i * %d) : %d;", GEMM_ITEMS, GEMM_ITEMS,
         GEMM_ITEMS, GEMM_ITEMS);
    line(o, "};");
    emit_each_tile(c);
    line(o, "cgtp_launch_wait();");
    gemm_copies(c, "own", "block.ring[0]", "cgtp_thread()", g->warps * 32);
    line(o, "cgtp_copies_commit();");
    emit_zeros(c);
    for (int i = 0; i < g->sum_count; i++)
        emit_sum(c, &g->sum[i]);
    if (g->parts < g->sets * g->warps) {
        line(o, "if (part >= %d)", g->parts);
        line(o, "each_tile([&](const %s &) {});", g->sum_tile.name);
    }
    line(o, "}");
    blank(o);
}
