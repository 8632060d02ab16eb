/* gemm_tile.c - items by GEMM: the kernel of rows, which goes through tiles of items. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

/* Are there sums in shared memory? */
static bool has_sums(const struct gemm_writer *c)
{
    bool any = false;
    for (int i = 0; i < c->d->outputs; i++)
        any |= gemm_sums_rows(c->r, i);
    return any;
}

/* Zeros in sums in shared memory. */
static void emit_zeros(struct gemm_writer *c)
{
    bool any = false;
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        if (!gemm_sums_rows(c->r, o))
            continue;
        any = true;
        line(c->o, "cgtp_clear_weights(own.out.%s[%s][0], %d, %s);", q->symbol, gemm_own_number(c),
             gemm_pitch(q->dim) * GEMM_ITEMS,
             gemm_apart(c->r) ? "lane, CGTP_LANES"
                              : arena_printf(c->w->arena, "thread, %d", c->r->members * 32));
    }
    if (any && gemm_apart(c->r))
        line(c->o, "cgtp_sync_warp();");
    else if (any)
        line(c->o, "cgtp_sync_group<%d>();", c->r->members);
}

/* Their rows on their way from there. */
static void emit_sums(struct gemm_writer *c)
{
    const int threads = c->r->members * 32;
    for (int o = 0; o < c->d->outputs; o++) {
        const struct operand *q = demand_operand(c->d, o);
        if (!gemm_sums_rows(c->r, o))
            continue;
        if (c->r->members > 1 && gemm_apart(c->r)) {
            line(c->o, "cgtp_add_members(own.out.%s, thread);", q->symbol);
            line(c->o, "cgtp_sync_group<%d>();", c->r->members);
        }
        line(c->o,
             "cgtp_put_items<%lld, %s>(l.%s + tile * (int64_t)%s, %s, own.out.%s[0], count_of(tile), thread, "
             "%d);",
             source_dim(q), gemm_is_wide(q) ? "true" : "false", q->array,
             source_rows_apart(c->w->arena, q, GEMM_ITEMS, "l."), source_stride(c->w, q), q->symbol, threads);
    }
}

/* Copies of the piece after the one that is worked on, or of the next tile's first. */
static void emit_next(struct gemm_writer *c, const char *to)
{
    const char *warp = c->r->members > 1 ? "member" : "0";
    const bool within = c->cut + 1 < c->r->cuts;
    if (within)
        gemm_copies(c, "tile", to, warp, c->r->members, c->cut + 1);
    else {
        line(c->o, "if (next < tiles) {");
        gemm_copies(c, "next", to, warp, c->r->members, 0);
        line(c->o, "}");
    }
    line(c->o, "cgtp_copies_commit();");
}

/* What is done with the piece of a tile's rows that comes next. */
static void emit_cut(struct gemm_writer *c)
{
    const struct gemm_rows *r = c->r;
    const bool last = c->cut + 1 == r->cuts;
    line(c->o, "cgtp_copies_wait<0>();");
    line(c->o, "cgtp_sync_group<%d>();", r->members);
    if (r->stages > 1) {
        line(c->o, "const %s &rows = own.ring[turn];", r->tile.name);
        line(c->o, "turn = 1 - turn;");
        emit_next(c, "own.ring[turn]");
    }
    if (c->cut == 0)
        emit_zeros(c);
    for (int i = 0; i < r->spans; i++)
        if (r->span[i].cut == c->cut)
            gemm_span(c, &r->span[i]);
    if (r->stages == 1 || (last && has_sums(c)))
        line(c->o, "cgtp_sync_group<%d>();", r->members);
    if (r->stages == 1)
        emit_next(c, "own.ring[0]");
}

static void emit_tile(struct gemm_writer *c)
{
    const struct gemm_rows *r = c->r;
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (; tile < tiles; tile = next) {");
    line(c->o, "next = tile + step;");
    for (c->cut = 0; c->cut < r->cuts; c->cut++) {
        if (r->cuts > 1)
            line(c->o, "{");
        emit_cut(c);
        if (r->cuts > 1)
            line(c->o, "}");
    }
    c->cut = 0;
    emit_sums(c);
    line(c->o, "}");
}

/* ---- the kernel ---- */

static void emit_head(struct gemm_writer *c)
{
    const char *items = source_items(c->w);
    const struct gemm_rows *r = c->r;
    struct out *o = c->o;
    const int threads = r->teams * r->members * 32;
    line(o,
         "/* %s: a block of %d threads per multiprocessor, with %d bytes of dynamic shared memory: %s of %s, "
         "each with "
         "tiles of its own at equal distances. " SOURCE_WAITS " */",
         r->name, threads, r->block.bytes, plural(c->w->arena, r->teams, "team"),
         plural(c->w->arena, r->members, "warp"));
    line(o, "CGTP_KERNEL(%d, 1) %s(const launch l)", threads, r->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "const int warp = cgtp_uniform(cgtp_warp());");
    const int every = gemm_teams_alike(r);
    if (r->members > 1 && every)
        line(o, "const int team = warp / %d, member = (warp + team%s) %% %d;", r->members,
             every > 1 ? arena_printf(c->w->arena, " / %d", every) : "", r->members);
    else if (r->members > 1)
        line(o, "const int team = warp / %d, member = warp %% %d;", r->members, r->members);
    else
        line(o, "const int team = warp;");
    if (has_sums(c))
        line(o, "const int lane = cgtp_lane(), thread = %s;",
             r->members > 1 ? "member * CGTP_LANES + lane" : "lane");
    line(o, "%s &block = *(%s *)shared;", r->block.name, r->block.name);
    line(o, "%s &own = block.team[team];", r->team.name);
    line(o, "const cgtp_policy once = cgtp_policy_stream();");
    line(o, "const int64_t tiles = (%s + %d) / %d, step = %s;", items, GEMM_ITEMS - 1, GEMM_ITEMS,
         scaled(c->w->arena, "(int64_t)cgtp_blocks()", r->teams));
    line(o, "int64_t tile = (int64_t)team * cgtp_blocks() + cgtp_block(), next;");
    line(o, "auto count_of = [&](int64_t i) {");
    line(o, "return %s - i * %d < %d ? (int)(%s - i * %d) : %d;", items, GEMM_ITEMS, GEMM_ITEMS, items,
         GEMM_ITEMS, GEMM_ITEMS);
    line(o, "};");
    if (r->stages > 1)
        line(o, "int turn = 0;");
    else
        line(o, "const %s &rows = own.ring[0];", r->tile.name);
    gemm_begin_launch(c);
}

/* Copies of the first tile. Weights are asked for before, as rows of all teams take a while to come. */
static void emit_first(struct gemm_writer *c)
{
    line(c->o, "if (tile < tiles) {");
    gemm_copies(c, "tile", "own.ring[0]", c->r->members > 1 ? "member" : "0", c->r->members, 0);
    line(c->o, "}");
    line(c->o, "cgtp_copies_commit();");
}

void gemm_rows_kernel(struct gemm_writer *c)
{
    const struct gemm_rows *r = c->r;
    emit_head(c);
    if (r->resident) {
        gemm_arrange_weights(c, r->teams * r->members * 32, emit_first);
        line(c->o, "cgtp_sync_block();");
    } else {
        emit_first(c);
    }
    emit_tile(c);
    gemm_end_launch(c);
}
