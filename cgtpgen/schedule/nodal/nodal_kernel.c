/* nodal_kernel.c - matrices of nodes: the kernel, and its launch. */
#include "schedule/nodal/nodal_emit.h"

#include "schedule/index_words.h"
#include "schedule/item_rows.h"
#include "schedule/parts.h"
#include "schedule/path.h"

static int parts_of(const struct nodal *g)
{
    return g->mul / NODAL_CHANNELS;
}

static int wide_of(const struct nodal *g)
{
    return 16 / kernel_size(g->demand->kernel);
}

/* Pieces of 16 bytes of what a block has of a row. */
static int chunks_of(const struct nodal *g, enum slot slot)
{
    return nodal_side(g, slot) * NODAL_CHANNELS / wide_of(g);
}

static int turns_of(const struct nodal *g, enum slot slot)
{
    return (chunks_of(g, slot) + NODAL_LANES - 1) / NODAL_LANES;
}

/* Elements of what a block has of a node's row; of these a thread has so many. */
static int y_elements(const struct nodal *g)
{
    return g->dy * NODAL_CHANNELS;
}

static int y_turns_of(const struct nodal *g)
{
    return (y_elements(g) + NODAL_THREADS - 1) / NODAL_THREADS;
}

const char *nodal_teams(struct arena *a, const struct nodal *g)
{
    return arena_printf(a, "cgtp_nodal_teams(%d, %d)", parts_of(g), g->fit);
}

/* Are components of x and of z in the same places? */
static bool are_alike(const struct operand *x, const struct operand *z)
{
    bool alike = x && z && x->blocks == z->blocks;
    for (int i = 0; alike && i < x->blocks; i++) {
        const struct operand_block *a = &x->block[i], *b = &z->block[i];
        alike = a->offset == b->offset && a->components == b->components &&
                block_is_apart(a) == block_is_apart(b) && a->component == b->component;
    }
    return alike;
}

/* Whose places rows of the slot have. */
static enum slot places_of(const struct nodal_writer *c, enum slot slot)
{
    return slot == SLOT_G && c->alike ? SLOT_X : slot;
}

static const char *letter_of(const struct nodal_writer *c, enum slot slot)
{
    static const char *const letters[SLOT_COUNT] = {[SLOT_X] = "x", [SLOT_Y] = "y", [SLOT_G] = "z"};
    return letters[places_of(c, slot)];
}

/* ---- tables ---- */

/* Where components of a channel, and pieces of a part's channels, are in rows of the slot. */
static void emit_tables(struct nodal_writer *c, enum slot slot)
{
    const struct operand *q = demand_of_slot(c->w->demand, slot);
    struct text places = {.arena = c->w->arena}, chunks = {.arena = c->w->arena};
    const int wide = wide_of(c->g);
    for (int s = 0; q && s < q->blocks; s++) {
        const struct operand_block *b = &q->block[s];
        const bool apart = block_is_apart(b);
        const int run = apart ? NODAL_CHANNELS : NODAL_CHANNELS * b->components; /* that is in one piece */
        for (int i = 0; i < b->components; i++)
            text_printf(&places, "%s{%d, %d}", places.n ? ", " : "",
                        nodal_place(q, s) + i * (apart ? NODAL_CHANNELS : 1), apart ? 1 : b->components);
        for (int i = 0; i < NODAL_CHANNELS * b->components; i += wide)
            text_printf(&chunks, "%s{%lld, %d}", chunks.n ? ", " : "",
                        (long long)(b->offset + i / run * (apart ? b->component : 0) + i % run), run);
    }
    if (!q)
        return;
    if (slot != SLOT_Y)
        line(c->o, "CGTP_TABLE cgtp_steps %s_%s_place[] = {%s};", c->g->name, letter_of(c, slot),
             text_string(&places));
    line(c->o, "CGTP_TABLE cgtp_steps %s_%s_chunk[] = {%s};", c->g->name, letter_of(c, slot),
         text_string(&chunks));
}

/* ---- before the first node ---- */

/* Are rows of these places read as right operands of products? */
static bool is_multiplied(const struct nodal_writer *c, enum slot slot)
{
    bool is = false;
    for (int i = 0; i < c->g->products; i++)
        is |= places_of(c, source_input(c->w, c->g->product[i].from)->slot) == slot;
    return is;
}

static void emit_places(struct nodal_writer *c)
{
    static const enum slot slots[] = {SLOT_X, SLOT_Y, SLOT_G};
    for (int i = 0; i < 3; i++) {
        const enum slot slot = slots[i];
        const char *name = letter_of(c, slot);
        const int d = nodal_side(c->g, slot);
        if (!demand_of_slot(c->w->demand, slot) || places_of(c, slot) != slot)
            continue;
        if (slot == SLOT_Y && demand_inputs_of(c->w->demand, slot)) {
            line(c->o, "int y_elements[%d];", y_turns_of(c->g));
            line(c->o, "cgtp_nodal_elements<%d>(y_elements, %s_y_chunk, part, thread);", y_elements(c->g),
                 c->g->name);
        }
        if (slot == SLOT_Y)
            continue;
        line(c->o, "int %s_chunks[%d];", name, turns_of(c->g, slot));
        line(c->o, "cgtp_nodal_chunks<%d>(%s_chunks, %s_%s_chunk, part);", chunks_of(c->g, slot), name,
             c->g->name, name);
        line(c->o, "int %s_by_eight[%d];", name, nodal_tiles(d) * 2);
        line(c->o, "cgtp_nodal_places<%d, 8>(%s_by_eight, %s_%s_place, warp);", d, name, c->g->name, name);
        if (!is_multiplied(c, slot))
            continue;
        line(c->o, "int %s_by_four[%d];", name, nodal_blocks(d) * 2);
        line(c->o, "cgtp_nodal_places<%d, 4>(%s_by_four, %s_%s_place, warp);", d, name, c->g->name, name);
    }
}

void nodal_weight_places(struct source *w, struct out *o, const char *name)
{
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->problem->paths; i++)
        text_printf(&list, "%s%lld", i ? ", " : "",
                    w->problem->path[i].weighted ? (long long)w->problem->path[i].weight_offset : -1LL);
    line(o, "CGTP_TABLE int %s_weights[] = {%s};", name, text_string(&list));
}

/* A loop over weights of all paths: `i` counts them, `at` is where one is in the row; negative: nowhere. */
static void begin_weights(struct nodal_writer *c)
{
    line(c->o, "for (int i = thread; i < %d; i += %d) {", c->w->problem->paths * NODAL_CHANNELS,
         NODAL_THREADS);
    line(c->o, "const int place = %s_weights[i / %d], at = place < 0 ? -1 : place + part * %d + i %% %d;",
         c->g->name, NODAL_CHANNELS, NODAL_CHANNELS, NODAL_CHANNELS);
}

static bool reads_weights(const struct nodal_writer *c)
{
    return c->w->problem->weight_numel && demand_inputs_of(c->w->demand, SLOT_W);
}

void nodal_bring_weights(const struct source *w, struct out *o)
{
    for (int i = 0; i < w->form->inputs; i++)
        if (source_input(w, i)->slot == SLOT_W && demand_reads(w->demand, i))
            line(o, "block.%s[i] = at < 0 ? (real)0 : l.%s[at];", source_input(w, i)->symbol,
                 source_input(w, i)->symbol);
    line(o, "}");
}

static bool copies(const struct nodal_writer *c, int input, enum index_kind index)
{
    return demand_reads(c->w->demand, input) && source_input(c->w, input)->index == index &&
           source_input(c->w, input)->slot != SLOT_W;
}

/* Copies of a tile's rows, whose items are known, and the next one's items. */
static void emit_load_tile(struct nodal_writer *c)
{
    const int rows = c->g->items / NODAL_CHANNELS;
    const char *mapped = source_item(c->w);
    line(c->o, "decltype(ahead.item(0)) item[%d];", rows);
    line(c->o, "auto find_items = [&](void) {");
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d; k++) {", rows);
    line(c->o, "const auto e = ahead.item(warp + k * %d);", NODAL_CHANNELS);
    if (mapped[0] == 'e')
        line(c->o, "item[k] = e;");
    else
        line(c->o, "item[k] = e < 0 ? e : (decltype(ahead.item(0)))%s;", mapped);
    line(c->o, "}");
    line(c->o, "};");
    line(c->o, "find_items();");
    line(c->o, "auto load = [&](int stage) {");
    line(c->o, "if (ahead.node < nodes) {");
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d; k++) {", rows);
    line(c->o, "const int row = warp + k * %d;", NODAL_CHANNELS);
    line(c->o, "if (item[k] >= 0) {");
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (copies(c, i, INDEX_ITEM))
            line(c->o,
                 "cgtp_nodal_copy<%d>(block.stage[stage].%s[row], l.%s + (int64_t)item[k] * %s, %s_chunks, "
                 "%s);",
                 chunks_of(c->g, q->slot), q->symbol, q->symbol, source_stride(c->w, q),
                 letter_of(c, q->slot), item_rows_policy(c->w, q));
    }
    line(c->o, "} else {");
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (copies(c, i, INDEX_ITEM))
            line(c->o, "cgtp_nodal_clear<%d>(block.stage[stage].%s[row]);", chunks_of(c->g, q->slot),
                 q->symbol);
    }
    line(c->o, "}");
    line(c->o, "if (cgtp_lane() == 0)");
    line(c->o, "block.stage[stage].item[row] = item[k];");
    line(c->o, "}");
    line(c->o, "ahead.advance();");
    line(c->o, "find_items();");
    line(c->o, "}");
    line(c->o, "cgtp_copies_commit();");
    line(c->o, "};");
}

/* A node's rows of y: reads the thread's elements, or puts them into shared memory. */
static void emit_fetch(struct nodal_writer *c, const char *node)
{
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (copies(c, i, c->g->owner))
            line(c->o, "cgtp_nodal_fetch<%d>(%snext, l.%s + (%s) * %s, y_elements, thread, %s < nodes);",
                 y_elements(c->g), q->symbol, q->symbol, node, source_stride(c->w, q), node);
    }
}

static void emit_keep(struct nodal_writer *c, const char *turn)
{
    for (int i = 0; i < c->w->form->inputs; i++)
        if (copies(c, i, c->g->owner))
            line(c->o, "cgtp_nodal_keep<%d>(block.%s[%s], %snext, thread);", y_elements(c->g),
                 source_input(c->w, i)->symbol, turn, source_input(c->w, i)->symbol);
}

static void emit_begin(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    struct out *o = c->o;
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s &block = *(%s *)shared;", g->block.name, g->block.name);
    line(o, "const int thread = cgtp_thread(), warp = cgtp_uniform(cgtp_warp());");
    line(o, "const int part = %s;", modulo(c->w->arena, "cgtp_block()", parts_of(g)));
    line(o, "const int64_t nodes = l.graph.%s, step = %s;", index_words[g->owner].plural,
         divided(c->w->arena, "cgtp_blocks()", parts_of(g)));
    item_rows_policies(c->w, o, g->owner);
    emit_places(c);
    line(o, "cgtp_zero_by<%d>(block, thread);", NODAL_THREADS);
    line(o, "cgtp_sync_block();");
    line(o, "cgtp_launch_wait();");
    if (reads_weights(c)) {
        begin_weights(c);
        nodal_bring_weights(c->w, c->o);
    }
    line(o, "int64_t node = %s;", divided(c->w->arena, "cgtp_block()", parts_of(g)));
    line(o, "cgtp_nodal_tiles<%s, %d, decltype(l.graph)> ahead(l.graph, node, step, nodes);",
         g->owner == INDEX_SENDER ? "true" : "false", g->items);
    line(o, "cgtp_positions next = ahead.positions(node);");
    emit_load_tile(c);
    for (int i = 0; i < c->w->form->inputs; i++)
        if (copies(c, i, g->owner))
            line(o, "real %snext[%d] = {};", source_input(c->w, i)->symbol, y_turns_of(g));
    emit_fetch(c, "node");
    emit_keep(c, "0");
    line(o, "CGTP_LOOP");
    line(o, "for (int i = 0; i < %d; i++)", g->stages - 1);
    line(o, "load(i);");
}

/* ---- a tile ---- */

/* The results of the tile before leave. */
static void emit_put(struct nodal_writer *c)
{
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d; k++) {", c->g->items / NODAL_CHANNELS);
    line(c->o, "const int row = warp + k * %d;", NODAL_CHANNELS);
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (q->index == INDEX_ITEM)
            line(c->o,
                 "cgtp_nodal_put<%d>(l.%s + before[k] * %s, %s_chunks, block.now.out[(turn + 1) %% "
                 "2].%s[row], "
                 "before[k] >= 0);",
                 chunks_of(c->g, q->slot), q->symbol, source_stride(c->w, q), letter_of(c, q->slot),
                 q->symbol);
    }
    line(c->o, "}");
}

/* An output of a tile of so many items. */
static void emit_products(struct nodal_writer *c, int output, int items)
{
    const struct nodal *g = c->g;
    const struct operand *q = demand_operand(c->w->demand, output);
    const int d = nodal_side(g, q->slot);
    line(c->o, "{");
    line(c->o, "real sum[%d][%d][4] = {};", items / NODAL_ITEMS, nodal_tiles(d));
    bool first = true;
    for (int i = 0; i < g->products; i++) {
        const struct operand *from = source_input(c->w, g->product[i].from);
        if (g->product[i].output != output)
            continue;
        line(c->o, "cgtp_nodal_multiply<%s, %s>(sum, operand%d, rows.%s, %s_by_four);",
             g->keeps_parts ? "true" : "false", first ? "true" : "false", g->product[i].operand, from->symbol,
             letter_of(c, from->slot));
        first = false;
    }
    line(c->o, "cgtp_nodal_leave<%d>(block.now.out[turn %% 2].%s, sum, %s_by_eight);", d, q->symbol,
         letter_of(c, q->slot));
    line(c->o, "}");
}

/* All outputs of a tile, of which half may be empty. */
static void emit_all_products(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    if (g->items > NODAL_ITEMS)
        line(c->o, "const bool more = at + %d < of.end;", NODAL_ITEMS);
    for (int items = g->items; items >= NODAL_ITEMS && g->products; items -= NODAL_ITEMS) {
        line(c->o, items == g->items ? (items > NODAL_ITEMS ? "if (more) {" : "{") : "} else {");
        for (int o = 0; o < c->w->demand->outputs; o++)
            if (demand_operand(c->w->demand, o)->index == INDEX_ITEM)
                emit_products(c, o, items);
    }
    if (g->products)
        line(c->o, "}");
}

static void emit_tile(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    line(c->o, "cgtp_copies_wait<%d>();", g->stages - 2);
    line(c->o, "cgtp_sync_block();");
    line(c->o, "const auto &rows = block.stage[turn %% %d];", g->stages);
    line(c->o, "load((turn + %d) %% %d);", g->stages - 1, g->stages);
    if (g->out.bytes) {
        line(c->o, "if (at > of.first) {");
        emit_put(c);
        line(c->o, "}");
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int k = 0; k < %d; k++)", g->items / NODAL_CHANNELS);
        line(c->o, "before[k] = rows.item[warp + k * %d];", NODAL_CHANNELS);
    }
    emit_all_products(c);
    for (int i = 0; i < g->outers; i++)
        for (int first = 0; first < g->items; first += NODAL_ITEMS)
            line(c->o, "%scgtp_nodal_outer(outer%d, rows.%s + %d, x_by_eight, rows.%s + %d, %s_by_eight);",
                 first ? "if (more) " : "", i, source_input(c->w, g->outer[i].x)->symbol, first,
                 source_input(c->w, g->outer[i].g)->symbol, first, letter_of(c, SLOT_G));
}

/* ---- a node ---- */

static void emit_operands(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    for (int i = 0; i < g->operands; i++) {
        const struct nodal_operand *q = &g->operand[i];
        line(c->o, "real operand%d[%d][%d][4];", i, nodal_tiles(q->back ? g->dx : g->dz),
             nodal_blocks(q->back ? g->dz : g->dx));
        line(c->o, "cgtp_nodal_take<%s, %d, %d, %d>(operand%d, %s);", q->back ? "true" : "false", g->dx,
             g->dz, nodal_pitch(g), i,
             nodal_matrix_of(c, arena_printf(c->w->arena, "%d", q->matrix), "warp"));
    }
    for (int i = 0; i < g->outers; i++)
        line(c->o, "real outer%d[%d][%d][4] = {};", i, nodal_blocks(g->dz), nodal_tiles(g->dx));
}

/* The tiles of a node. */
static void emit_tiles(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    emit_operands(c);
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int64_t at = of.first; at < of.end; at += %d, turn++) {", g->items);
    emit_tile(c);
    line(c->o, "}");
    if (g->out.bytes) {
        line(c->o, "cgtp_sync_block();");
        line(c->o, "if (of.first < of.end) {");
        emit_put(c);
        line(c->o, "}");
    }
    if (g->outers)
        line(c->o, "%s;", g->out.bytes ? "cgtp_sync_block()" : "cgtp_sync_warp()");
    for (int i = 0; i < g->outers; i++)
        line(c->o, "cgtp_nodal_leave_outer<%d, %d, %d>(%s, outer%d);", g->dx, g->dz, nodal_pitch(g),
             nodal_matrix_of(c, arena_printf(c->w->arena, "%d", i), "warp"), i);
}

/* Sums over a node's items, where lanes find their cells of them, and the rows of y that they become. */
static void emit_flow(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    if (!g->outers)
        return;
    for (int o = 0; o < c->w->demand->outputs; o++)
        if (demand_operand(c->w->demand, o)->slot == SLOT_Y)
            line(c->o, "cgtp_zero_by<%d>(block.%ssums[warp], cgtp_lane());", NODAL_LANES,
                 demand_operand(c->w->demand, o)->symbol);
    line(c->o, "cgtp_sync_block();");
    nodal_flow_back(c);
    if (!nodal_has(g, SLOT_Y))
        return;
    line(c->o, "cgtp_sync_block();");
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (q->slot == SLOT_Y)
            line(c->o, "cgtp_nodal_put_sums<%d>(l.%s + node * %s, %s_y_chunk, part, block.%ssums, thread);",
                 chunks_of(g, SLOT_Y), q->symbol, source_stride(c->w, q), g->name, q->symbol);
    }
}

static void emit_node(struct nodal_writer *c)
{
    line(c->o, "const cgtp_positions of = next;");
    line(c->o, "next = ahead.positions(node + step);");
    line(c->o, "cgtp_sync_block();");
    emit_fetch(c, "node + step");
    nodal_make_matrices(c);
    line(c->o, "cgtp_sync_block();");
    emit_tiles(c);
    emit_keep(c, "turn_of_y ^ 1");
    emit_flow(c);
}

void nodal_leave_weights(const struct source *w, struct out *o, int abreast, int parts)
{
    line(o, "if (at < 0)");
    line(o, "continue;");
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *q = demand_operand(w->demand, i);
        struct text sum = {.arena = w->arena};
        for (int k = 0; k < abreast; k++)
            text_printf(&sum, "%sblock.%ssums[%d][i]", k ? " + " : "", q->symbol, k);
        if (q->slot == SLOT_W)
            line(o, "l.%sparts[%s * (int64_t)%lld + at] = %s;", q->symbol,
                 divided(w->arena, "cgtp_block()", parts), source_dim(q), text_string(&sum));
    }
    line(o, "}");
}

static void emit_parts(struct nodal_writer *c)
{
    if (!nodal_has(c->g, SLOT_W))
        return;
    if (!nodal_has(c->g, SLOT_Y))
        line(c->o, "cgtp_sync_block();");
    begin_weights(c);
    nodal_leave_weights(c->w, c->o, c->g->flow_abreast, parts_of(c->g));
}

static void emit_kernel(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    struct out *o = c->o;
    line(
        o,
        "/* %s: blocks of %d threads, %d per multiprocessor, each with %d bytes of dynamic shared memory. %d "
        "block%s %d channels each of a %s; these take nodes at equal distances. " SOURCE_WAITS " */",
        g->name, NODAL_THREADS, g->fit, g->block.bytes, parts_of(g), parts_of(g) == 1 ? " has" : "s have",
        NODAL_CHANNELS, g->owner == INDEX_SENDER ? "sender" : "receiver");
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l)", NODAL_THREADS, g->fit, g->name);
    line(o, "{");
    emit_begin(c);
    line(o, "int turn = 0;");
    if (g->out.bytes)
        line(o, "int64_t before[] = {%s};", g->items / NODAL_CHANNELS > 1 ? "-1, -1" : "-1");
    line(o, "CGTP_LOOP");
    if (demand_inputs_of(c->w->demand, SLOT_Y))
        line(o, "for (int turn_of_y = 0; node < nodes; node += step, turn_of_y ^= 1) {");
    else
        line(o, "for (; node < nodes; node += step) {");
    emit_node(c);
    line(o, "}");
    emit_parts(c);
    line(o, "}");
    blank(o);
}

void nodal_kernel(struct source *w)
{
    static const enum slot slots[] = {SLOT_X, SLOT_Y, SLOT_G};
    const struct nodal *g = w->schedule->own;
    struct out o = {.text = w->out};
    struct nodal_writer c = {.w = w, .o = &o, .g = g};
    c.alike = are_alike(demand_of_slot(w->demand, SLOT_X), demand_of_slot(w->demand, SLOT_G));
    layout_print(&o, &g->block);
    for (int i = 0; i < 3; i++)
        if (places_of(&c, slots[i]) == slots[i])
            emit_tables(&c, slots[i]);
    if (reads_weights(&c) || nodal_has(g, SLOT_W))
        nodal_weight_places(w, &o, g->name);
    blank(&o);
    product_functions_begin(w->arena, &w->functions);
    nodal_functions(&c);
    emit_kernel(&c);
    item_rows_kernels(w, &o);
}

void nodal_launch_teams(struct source *w, const struct nodal_launch *q)
{
    const char *teams = arena_printf(w->arena, "cgtp_nodal_teams(%s, %d, %d)", source_rows(w->plan, q->owner),
                                     q->parts, q->fit);
    source_step(w, arena_printf(w->arena, "cgtp_launch_early(code::%s, %s, %d, sizeof(code::%s), stream, l)",
                                q->name, scaled(w->arena, teams, q->parts), q->threads, q->block));
    item_rows_finish(w, teams, NULL);
}

void nodal_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct nodal *g = schedule->own;
    nodal_launch_teams(
        w, &(struct nodal_launch){g->name, g->block.name, g->owner, parts_of(g), g->fit, NODAL_THREADS});
}
