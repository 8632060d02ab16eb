/* tiled_kernel.c - tiled items: the kernel, and its launch. */
#include "schedule/parts.h"
#include "schedule/path.h"
#include "schedule/tiled/tiled_emit.h"

static int inputs_of(const struct tiled_writer *c)
{
    return c->w->form->inputs;
}

static bool is_wide(const struct tiled_writer *c, const struct operand *q)
{
    return tiled_streams(c->g, q) && c->g->wide;
}

/* A piece of a part. */
struct piece {
    const struct tiled_part *part;
    int number;
};

/* Number i of those of a tile, and of the tiles after. */
static struct piece piece_at(const struct tiled *g, int i)
{
    struct piece p = {g->part, i % g->pieces};
    for (; p.number >= p.part->pieces; p.part++)
        p.number -= p.part->pieces;
    return p;
}

/* Neighbouring elements of rows: in memory, and in the rows that a tile has. */
struct run {
    int64_t from;
    int to, n;
};

/* Number i of those that a piece has of an operand's rows; n = 0: there are no more. Other slots: whole rows.
 */
static struct run run_of(const struct tiled_writer *c, const struct operand *q, struct piece p, int i)
{
    if (!tiled_streams(c->g, q))
        return (struct run){0, 0, i == 0 ? (int)q->dim : 0};
    const struct operand_block *b = &q->block[p.part->segment];
    const int channels = p.part->channels / p.part->pieces;
    const int64_t from = b->offset + p.number * channels * b->channel;
    if (p.part->pieces == 1 || !block_is_apart(b))
        return (struct run){from, 0, i == 0 ? channels * b->components : 0};
    return (struct run){from + i * b->component, i * channels, i < b->components ? channels : 0};
}

/* Where the run's elements of the tile's first row are. */
static const char *run_in_memory(const struct tiled_writer *c, const struct operand *q, const char *tile,
                                 struct run run)
{
    struct arena *a = c->w->arena;
    return plus_offset(a,
                       arena_printf(a, "l.%s + %s * (int64_t)%s", q->array, tile,
                                    source_rows_apart(a, q, TILED_LANES, "l.")),
                       run.from);
}

/* "<72, true>", of a run */
static const char *run_kind(const struct tiled_writer *c, const struct operand *q, struct run run)
{
    const char *to = run.to ? arena_printf(c->w->arena, ", %d", run.to) : "";
    return arena_printf(c->w->arena, "<%d, %s%s>", run.n, is_wide(c, q) ? "true" : "false", to);
}

/* ---- copies ---- */

/* Starts the copies of what a tile reads of a piece: of the stream's inputs (or of all else). */
static void emit_copies(struct tiled_writer *c, struct piece piece, bool stream, const char *to,
                        const char *tile)
{
    for (int i = 0; i < inputs_of(c); i++) {
        const struct operand *q = source_input(c->w, i);
        if (!demand_reads(c->w->demand, i) || !tiled_is_row(q) || tiled_streams(c->g, q) != stream)
            continue;
        struct run run;
        for (int k = 0; (run = run_of(c, q, piece, k)).n; k++)
            line(c->o, "cgtp_copy_tile%s(%s.%s, %s, %s, count_of(%s), lane, %s);", run_kind(c, q, run), to,
                 q->symbol, run_in_memory(c, q, tile, run), source_stride(c->w, q), tile,
                 stream ? "keep" : "once");
    }
}

/* Starts the copies for piece `ahead` from the tile's first one on, and closes their group. The next tile's
 * rows take the place of the tile's where pieces are not fetched ahead: not before the tile ends. */
static void emit_ahead(struct tiled_writer *c, int ahead)
{
    const struct tiled *g = c->g;
    const bool next = ahead >= g->pieces, ring = g->stages > 1;
    const bool rows = ahead % g->pieces == 0 && (ring || !next);
    const char *tile = next ? "next" : "tile", *own = next ? "own.rows[1 - turn]" : "own.rows[turn]";
    if (g->stage.bytes || rows) {
        line(c->o, "if (%s < tiles) {", tile);
        if (g->stage.bytes)
            emit_copies(c, piece_at(g, ahead), true, ring ? "own.ring[slot]" : "own.ring[0]", tile);
        if (rows)
            emit_copies(c, piece_at(g, ahead), false, ring ? own : "own.rows[0]", tile);
        line(c->o, "}");
    }
    if (ring || !next) /* or the next tile's rows close it */
        line(c->o, "cgtp_copies_commit();");
    if (ring && g->stage.bytes)
        line(c->o, "slot = slot == %d ? 0 : slot + 1;", g->stages - 1);
}

/* Where the tile's rows of output number o are made. */
static const char *place_of(const struct tiled_writer *c, int o)
{
    struct arena *a = c->w->arena;
    const struct operand *q = demand_operand(c->w->demand, o);
    const int input = c->g->in_place[o];
    return input >= 0 ? arena_printf(a, "at.%s", source_input(c->w, input)->symbol)
                      : arena_printf(a, "own.%s.%s", tiled_streams(c->g, q) ? "leaving" : "out", q->symbol);
}

static bool any_in_place(const struct tiled *g)
{
    bool any = false;
    for (int o = 0; o < g->demand->outputs; o++)
        any |= g->in_place[o] >= 0;
    return any;
}

/* Rows of outputs on their way from shared memory: of the stream (or all others). */
static void emit_put(struct tiled_writer *c, struct piece piece, bool stream)
{
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (!tiled_is_row(q) || tiled_streams(c->g, q) != stream)
            continue;
        struct run run;
        for (int k = 0; (run = run_of(c, q, piece, k)).n; k++)
            line(c->o, "cgtp_put_tile%s(%s, %s, %s, count, lane);", run_kind(c, q, run),
                 run_in_memory(c, q, "tile", run), source_stride(c->w, q), place_of(c, o));
    }
}

/* Zeros in the lane's rows of outputs, to which groups add. */
static void emit_zeros(struct tiled_writer *c, bool stream)
{
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (q->dim && tiled_is_row(q) && tiled_streams(c->g, q) == stream)
            line(c->o, "cgtp_clear_lane<%d, %d>(%srow);", stream ? c->part->elements : (int)q->dim,
                 is_wide(c, q) ? 16 / kernel_size(c->w->kernel->kernel) : 1, q->symbol);
    }
}

/* ---- a tile ---- */

/* Names what an operand's elements of the lane's item begin at: those of the stream, of a part (or all
 * others). Of a part without paths, inputs are not read. */
static void name_rows(struct tiled_writer *c, bool stream)
{
    for (int i = 0; i < inputs_of(c) && (!stream || c->part->groups); i++) {
        const struct operand *q = source_input(c->w, i);
        if (!demand_reads(c->w->demand, i) || tiled_streams(c->g, q) != stream)
            continue;
        line(c->o, "const real *const %srow = %s.%s%s;", q->symbol,
             !tiled_is_row(q) ? "block.weights"
             : stream         ? "at"
                              : "rows",
             q->symbol, tiled_is_row(q) ? "[lane]" : "");
    }
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (tiled_streams(c->g, q) != stream)
            continue;
        if (tiled_is_row(q))
            line(c->o, "real *const %srow = %s[lane];", q->symbol, place_of(c, o));
        else
            line(c->o, "real *const %srow = own.sums.%s;", q->symbol, q->symbol);
    }
}

/* Waits for what a piece needs. */
static void emit_wait(struct tiled_writer *c)
{
    line(c->o, "cgtp_copies_wait<%d>();", c->g->stages - 1);
    line(c->o, "cgtp_sync_warp();");
}

static void enter_piece(struct tiled_writer *c)
{
    const struct tiled *g = c->g;
    line(c->o, "{");
    if (g->stage.bytes && (c->part->groups || any_in_place(g)))
        line(c->o, "%s%s &at = own.ring[%s];", any_in_place(g) ? "" : "const ", g->stage.name,
             g->stages > 1 ? "slot" : "0");
    name_rows(c, true);
    if (c->number > 0 && g->stage.bytes)
        emit_wait(c);
    else if (c->number > 0)
        line(c->o, "cgtp_sync_warp();");
}

static void leave_piece(struct tiled_writer *c)
{
    line(c->o, "cgtp_sync_warp();");
    emit_put(c, (struct piece){c->part, c->piece}, true);
    if (any_in_place(c->g))
        line(c->o, "cgtp_sync_warp();");
    emit_ahead(c, c->number + c->g->stages);
    line(c->o, "}");
    c->number++;
}

static void emit_part(struct tiled_writer *c, const struct tiled_part *part)
{
    const struct tiled *g = c->g;
    const struct segment *s = &slot_irreps(c->w->problem, g->stream)->segment[part->segment];
    const bool once = part->groups == 1 && part->group[0].once;
    struct text words = {.arena = c->w->arena};
    irrep_print(&words, s->ir);
    line(c->o, "/* %s: %dx%s */", g->stream == SLOT_X ? "x" : "z", s->mul, text_string(&words));
    c->part = part;
    c->piece = 0;
    if (!once) {
        enter_piece(c);
        emit_zeros(c, true);
    }
    for (int i = 0; i < part->groups; i++)
        tiled_group(c, &part->group[i]);
    c->piece = 0;
    if (!once)
        leave_piece(c);
}

/* The block's copy of weights that all items share. */
static void emit_weights(struct tiled_writer *c)
{
    for (int i = 0; i < inputs_of(c); i++) {
        const struct operand *q = source_input(c->w, i);
        if (!demand_reads(c->w->demand, i) || tiled_is_row(q))
            continue;
        line(c->o, "for (int i = cgtp_thread(); i < %lld; i += %d)", source_dim(q),
             c->g->warps * TILED_LANES);
        line(c->o, "block.weights.%s[i] = l.%s[i];", q->symbol, q->symbol);
    }
}

/* What the block's warps have summed, in their order, to the block's row. */
static void emit_parts(struct tiled_writer *c)
{
    const struct tiled *g = c->g;
    line(c->o, "cgtp_sync_group<%d>();", g->warps);
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (tiled_is_row(q))
            continue;
        line(c->o, "for (int i = cgtp_thread(); i < %lld; i += %d) {", source_dim(q), g->warps * TILED_LANES);
        line(c->o, "real sum = 0;");
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int k = 0; k < %d; k++)", g->warps);
        line(c->o, "sum += block.warp[k].sums.%s[i];", q->symbol);
        line(c->o, "l.%sparts[cgtp_block() * (int64_t)%lld + i] = sum;", q->symbol, source_dim(q));
        line(c->o, "}");
    }
}

static void emit_tile(struct tiled_writer *c)
{
    const struct tiled *g = c->g;
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (; tile < tiles; tile += step) {");
    line(c->o, "const int64_t next = tile + step;");
    line(c->o, "const int count = count_of(tile);");
    line(c->o, "const %s &rows = own.rows[%s];", g->rows.name, g->stages > 1 ? "turn" : "0");
    name_rows(c, false);
    emit_wait(c);
    emit_zeros(c, false);
    c->number = 0;
    for (int i = 0; i < g->parts; i++)
        emit_part(c, &g->part[i]);
    line(c->o, "cgtp_sync_warp();");
    emit_put(c, piece_at(g, 0), false);
    if (g->stages == 1) {
        line(c->o, "if (next < tiles) {");
        emit_copies(c, piece_at(g, 0), false, "own.rows[0]", "next");
        line(c->o, "}");
        line(c->o, "cgtp_copies_commit();");
    }
    if (g->stages > 1)
        line(c->o, "turn = 1 - turn;");
    line(c->o, "}");
}

static void emit_kernel(struct tiled_writer *c)
{
    const char *items = source_items(c->w);
    const struct tiled *g = c->g;
    struct out *o = c->o;
    line(o,
         "/* %s: a block of %d threads per multiprocessor, with %d bytes of dynamic shared memory: %d warps, "
         "each "
         "with tiles of its own at equal distances. " SOURCE_WAITS " */",
         g->name, g->warps * TILED_LANES, g->block->bytes, g->warps);
    line(o, "CGTP_KERNEL(%d, 1) %s(const launch l)", g->warps * TILED_LANES, g->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "const int lane = cgtp_lane(), warp = cgtp_uniform(cgtp_warp());");
    line(o, "%s &block = *(%s *)shared;", g->block->name, g->block->name);
    line(o, "%s &own = block.warp[warp];", g->warp.name);
    if (g->stage.bytes) /* lines that parts share are read by each of them */
        line(o, "const cgtp_policy keep = cgtp_policy_keep();");
    line(o, "const cgtp_policy once = cgtp_policy_stream();");
    line(o, "const int64_t tiles = (%s + %d) / %d, step = (int64_t)cgtp_blocks() * %d;", items,
         TILED_LANES - 1, TILED_LANES, g->warps);
    line(o, "int64_t tile = (int64_t)warp * cgtp_blocks() + cgtp_block();");
    line(o, "auto count_of = [&](int64_t i) {");
    line(o, "return %s - i * %d < %d ? (int)(%s - i * %d) : %d;", items, TILED_LANES, TILED_LANES, items,
         TILED_LANES, TILED_LANES);
    line(o, "};");
    if (g->stages > 1 && g->stage.bytes)
        line(o, "int slot = 0;");
    if (g->stages > 1)
        line(o, "int turn = 0;");
    line(o, "cgtp_launch_wait();");
    for (int i = 0; i < g->stages; i++)
        emit_ahead(c, i);
    emit_weights(c);
    if (g->sums.bytes) {
        line(o, "for (int i = lane; i < %d; i += CGTP_LANES)",
             g->sums.bytes / kernel_size(c->w->kernel->kernel));
        line(o, "((real *)&own.sums)[i] = 0;");
    }
    line(o, "cgtp_sync_group<%d>();", g->warps);
    emit_tile(c);
    if (g->sums.bytes)
        emit_parts(c);
    line(o, "}");
    blank(o);
}

void tiled_kernel(struct source *w)
{
    const struct tiled *g = w->schedule->own;
    struct out o = {.text = w->out};
    struct tiled_writer c = {.w = w, .o = &o, .g = g, .enter = enter_piece, .leave = leave_piece};
    if (g->stage.bytes)
        layout_print(&o, &g->stage);
    layout_print(&o, &g->rows);
    layout_print(&o, &g->warp);
    layout_print(&o, g->block);
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    tiled_functions(&c);
    emit_kernel(&c);
    for (int i = 0; i < w->demand->outputs; i++)
        if (w->schedule->route[i].kind == ROUTE_PARTS)
            parts_sum(w, &o, demand_operand(w->demand, i));
}

void tiled_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct tiled *g = schedule->own;
    const char *grid = arena_printf(w->arena, "cgtp_tiled_grid(%s)", source_rows(w->plan, INDEX_ITEM));
    source_step(w, arena_printf(w->arena, "cgtp_launch_early(code::%s, %s, %d, sizeof(code::%s), stream, l)",
                                g->name, grid, g->warps * TILED_LANES, g->block->name));
    for (int o = 0; o < w->demand->outputs; o++)
        if (schedule->route[o].kind == ROUTE_PARTS)
            parts_launch(w, demand_operand(w->demand, o), grid);
}
