/* lanes_kernel.c - matrices in lanes: the kernel, its warps that copy, and its launch. */
#include "schedule/lanes/lanes_emit.h"

#include "schedule/index_words.h"
#include "schedule/item_rows.h"
#include "schedule/nodal/nodal_emit.h"
#include "schedule/parts.h"
#include "schedule/path.h"

int lanes_parts(const struct lanes *g)
{
    return g->nodal->mul / lanes_channels(g);
}

const char *lanes_teams(struct arena *a, const struct lanes *g)
{
    return arena_printf(a, "cgtp_nodal_teams(%d, %d)", lanes_parts(g), g->fit);
}

/* Pieces of 16 bytes of what a block has of a row; of a lane. */
static int chunks_of(const struct lanes_writer *c, enum slot slot)
{
    const struct nodal *n = c->g->nodal;
    return (slot == SLOT_X ? n->dx : n->dz) * lanes_channels(c->g) * kernel_size(c->w->demand->kernel) / 16;
}

static char letter_of(const struct lanes_writer *c, enum slot slot)
{
    return slot == SLOT_X || c->g->alike ? 'x' : 'z';
}

static bool is_copied(const struct lanes_writer *c, int input)
{
    return demand_reads(c->w->demand, input) && source_input(c->w, input)->index == INDEX_ITEM;
}

/* Warps that copy rows; rows of a tile that each has at most, and the condition that it has row k of these.
 */
static int copying(const struct lanes *g)
{
    return g->copiers ? g->copiers : g->warps;
}

static int rows_of(const struct lanes *g)
{
    return (g->items + copying(g) - 1) / copying(g);
}

/* Has each of these warps as many? */
static bool has_all_rows(const struct lanes *g)
{
    return rows_of(g) * copying(g) == g->items;
}

/* "first + k >= 4 ? -1 : ", where a tile may not have row first + k. */
static const char *if_row(const struct lanes_writer *c, const char *none)
{
    return has_all_rows(c->g) ? "" : arena_printf(c->w->arena, "first + k >= %d ? %s : ", c->g->items, none);
}

static bool has_item_outputs(const struct lanes_writer *c)
{
    bool has = false;
    for (int o = 0; o < c->w->demand->outputs; o++)
        has |= demand_operand(c->w->demand, o)->index == INDEX_ITEM;
    return has;
}

/* An operand of the slot whose rows are copied, there or back; NULL: there is none. */
static const struct operand *copied_of_slot(const struct lanes_writer *c, enum slot slot)
{
    for (int i = 0; i < c->w->form->inputs; i++)
        if (is_copied(c, i) && source_input(c->w, i)->slot == slot)
            return source_input(c->w, i);
    for (int o = 0; o < c->w->demand->outputs; o++)
        if (demand_operand(c->w->demand, o)->slot == slot)
            return demand_operand(c->w->demand, o);
    return NULL;
}

/* ---- tables ---- */

/* Where pieces of a part's channels are in rows of the operand, and in shared memory. */
static void emit_table(struct lanes_writer *c, const struct operand *q)
{
    struct text list = {.arena = c->w->arena};
    const int wide = 16 / kernel_size(c->w->demand->kernel), channels = lanes_channels(c->g);
    for (int s = 0; s < q->blocks; s++) {
        const struct operand_block *b = &q->block[s];
        const bool apart = block_is_apart(b);
        const int run = apart ? channels : channels * b->components; /* that is in one piece */
        for (int i = 0; i < channels * b->components; i += wide)
            text_printf(&list, "%s{%lld, %d, %d}", list.n ? ", " : "",
                        (long long)(b->offset + i / run * (apart ? b->component : 0) + i % run), run,
                        lanes_places(c->g, q->slot)[s] + i);
    }
    line(c->o, "CGTP_TABLE cgtp_lanes_chunk %s_%c_chunk[] = {%s};", c->g->name, letter_of(c, q->slot),
         text_string(&list));
}

/* Slots whose pieces have a table of their own. */
static bool has_table(const struct lanes_writer *c, enum slot slot)
{
    return copied_of_slot(c, slot) && (slot == SLOT_X || !c->g->alike || !copied_of_slot(c, SLOT_X));
}

static bool has_weights(const struct lanes_writer *c)
{
    return c->w->problem->weight_numel &&
           (demand_inputs_of(c->w->demand, SLOT_W) || nodal_has(c->g->nodal, SLOT_W));
}

static void emit_tables(struct lanes_writer *c)
{
    struct text weights = {.arena = c->w->arena};
    if (has_table(c, SLOT_X))
        emit_table(c, copied_of_slot(c, SLOT_X));
    if (has_table(c, SLOT_G))
        emit_table(c, copied_of_slot(c, SLOT_G));
    for (int i = 0; i < c->w->problem->paths; i++)
        text_printf(&weights, "%s%lld", i ? ", " : "",
                    c->w->problem->path[i].weighted ? (long long)c->w->problem->path[i].weight_offset : -1LL);
    if (has_weights(c))
        line(c->o, "CGTP_TABLE int %s_weights[] = {%s};", c->g->name, text_string(&weights));
}

/* ---- weights ---- */

/* A loop over weights of all paths: `i` counts them, `at` is where one is in the row; negative: nowhere. */
static void begin_weights(struct lanes_writer *c)
{
    const int channels = lanes_channels(c->g);
    line(c->o, "for (int i = thread; i < %d; i += %d) {", c->w->problem->paths * channels,
         lanes_threads(c->g));
    line(c->o, "const int place = %s_weights[i / %d], at = place < 0 ? -1 : place + %si %% %d;", c->g->name,
         channels, lanes_parts(c->g) > 1 ? arena_printf(c->w->arena, "part * %d + ", channels) : "",
         channels);
}

static void emit_weights(struct lanes_writer *c)
{
    if (!c->w->problem->weight_numel || !demand_inputs_of(c->w->demand, SLOT_W))
        return;
    begin_weights(c);
    for (int i = 0; i < c->w->form->inputs; i++)
        if (source_input(c->w, i)->slot == SLOT_W && demand_reads(c->w->demand, i))
            line(c->o, "block.%s[i] = at < 0 ? (real)0 : l.%s[at];", source_input(c->w, i)->symbol,
                 source_input(c->w, i)->symbol);
    line(c->o, "}");
}

/* Sums of weights over the block's nodes: a part of a partial row. */
static void emit_parts(struct lanes_writer *c)
{
    if (!nodal_has(c->g->nodal, SLOT_W))
        return;
    begin_weights(c);
    line(c->o, "if (at < 0)");
    line(c->o, "continue;");
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        struct text sum = {.arena = c->w->arena};
        for (int k = 0; k < c->g->splits; k++)
            text_printf(&sum, "%sblock.%ssums[%d][i]", k ? " + " : "", q->symbol, k);
        if (q->slot == SLOT_W)
            line(c->o, "l.%sparts[%s * (int64_t)%lld + at] = %s;", q->symbol,
                 divided(c->w->arena, "cgtp_block()", lanes_parts(c->g)), source_dim(q), text_string(&sum));
    }
    line(c->o, "}");
}

/* ---- warps that copy ---- */

/* Copies of the warp's rows of a tile, whose items are known, and the next ones' items. */
static void emit_load(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    const int rows = rows_of(g);
    const char *mapped = source_item(c->w);
    line(c->o, "decltype(ahead.item(0)) item[%d];", rows);
    line(c->o, "auto find_items = [&](void) {");
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d; k++) {", rows);
    line(c->o, "const auto e = %sahead.item(first + k);", if_row(c, "-1"));
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
    line(c->o, "if (item[k] >= 0) {");
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (is_copied(c, i))
            line(c->o,
                 "cgtp_lanes_copy<%d>(block.stage[stage].%s[first + k], l.%s + (int64_t)item[k] * %s, "
                 "%c_chunks, %s);",
                 chunks_of(c, q->slot), q->symbol, q->symbol, source_stride(c->w, q), letter_of(c, q->slot),
                 item_rows_policy(c->w, q));
    }
    line(c->o, "}");
    line(c->o, "if (cgtp_lane() == 0%s)",
         has_all_rows(g) ? "" : arena_printf(c->w->arena, " && first + k < %d", g->items));
    line(c->o, "block.stage[stage].item[first + k] = item[k];");
    line(c->o, "}");
    line(c->o, "ahead.advance();");
    line(c->o, "find_items();");
    line(c->o, "}");
    line(c->o, "cgtp_copies_commit();");
    line(c->o, "};");
}

/* The warp's rows of the tile before leave, if there is one. */
static void emit_put(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    line(c->o, "auto put = [&](void) {");
    line(c->o, "auto &rows = block.stage[(turn + %d) %% %d];", g->stages - 1, g->stages);
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d && turn > 0; k++) {", rows_of(g));
    line(c->o, "const int64_t to = %srows.item[first + k];", if_row(c, "(int64_t)-1"));
    line(c->o, "if (to >= 0) {");
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        const int in = g->in_place_of[o];
        if (q->index == INDEX_ITEM)
            line(c->o, "cgtp_lanes_put_row<%d>(l.%s + to * %s, rows.%s[first + k], %c_chunks);",
                 chunks_of(c, q->slot), q->symbol, source_stride(c->w, q),
                 in < 0 ? q->symbol : source_input(c->w, in)->symbol, letter_of(c, q->slot));
    }
    line(c->o, "}");
    line(c->o, "}");
    line(c->o, "};");
}

static void emit_chunks(struct lanes_writer *c)
{
    static const enum slot slots[] = {SLOT_X, SLOT_G};
    for (int k = 0; k < 2; k++) {
        const int chunks = chunks_of(c, slots[k]);
        const char name = letter_of(c, slots[k]);
        if (!has_table(c, slots[k]))
            continue;
        line(c->o, "cgtp_lanes_chunk %c_chunks[%d];", name, (chunks + NODAL_LANES - 1) / NODAL_LANES);
        line(c->o, "cgtp_lanes_chunks<%d>(%c_chunks, %s_%c_chunk, %s);", chunks, name, c->g->name, name,
             lanes_parts(c->g) > 1 ? "part" : "0");
    }
}

/* What warps that copy have: their rows of tiles, and how these come and leave. */
static void emit_begin_copies(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    const char *warp = g->copiers ? arena_printf(c->w->arena, "(warp - %d)", g->warps) : "warp";
    line(c->o, "const int first = %s;", scaled(c->w->arena, warp, rows_of(g)));
    emit_chunks(c);
    line(c->o, "cgtp_nodal_tiles<%s, %d, decltype(l.graph)> ahead(l.graph, node, step, nodes);",
         g->nodal->owner == INDEX_SENDER ? "true" : "false", g->items);
    emit_load(c);
    if (has_item_outputs(c))
        emit_put(c);
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int i = 0; i < %d; i++)", g->stages - 1);
    line(c->o, "load(i);");
}

void lanes_turn(struct lanes_writer *c)
{
    line(c->o, "cgtp_copies_wait<%d>();", c->g->stages - 2);
    line(c->o, "cgtp_sync_block();");
    if (has_item_outputs(c)) {
        line(c->o, "put();");
        line(c->o, "cgtp_sync_warp();");
    }
    line(c->o, "load((turn + %d) %% %d);", c->g->stages - 1, c->g->stages);
}

static void emit_end_copies(struct lanes_writer *c)
{
    line(c->o, "cgtp_sync_block();");
    if (has_item_outputs(c))
        line(c->o, "put();");
}

/* Warps that copy, and nothing else. */
static void emit_copiers(struct lanes_writer *c)
{
    emit_begin_copies(c);
    line(c->o, "cgtp_positions next = ahead.positions(node);");
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (; node < nodes; node += step) {");
    line(c->o, "const cgtp_positions of = next;");
    line(c->o, "next = ahead.positions(node + step);");
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int64_t at = of.first; at < of.end; at += %d, turn++) {", c->g->items);
    lanes_turn(c);
    line(c->o, "}");
    if (lanes_meets(c))
        line(c->o, "cgtp_sync_block();");
    line(c->o, "}");
    emit_end_copies(c);
}

/* Warps with channels, of which each copies rows if no others do. */
static void emit_channels(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    if (!g->copiers)
        emit_begin_copies(c);
    lanes_begin_channels(c);
    for (c->split = 0; c->split < g->splits; c->split++) {
        if (g->splits > 1)
            line(c->o, "%sif (split == %d) {", c->split ? "} else " : "", c->split);
        lanes_begin_split(c);
        line(c->o, "CGTP_LOOP");
        if (demand_inputs_of(c->w->demand, SLOT_Y))
            line(c->o, "for (int turn_of_y = 0; node < nodes; node += step, turn_of_y ^= 1) {");
        else
            line(c->o, "for (; node < nodes; node += step) {");
        lanes_node(c);
        line(c->o, "}");
    }
    if (g->splits > 1)
        line(c->o, "}");
    if (g->copiers)
        line(c->o, "cgtp_sync_block();");
    else
        emit_end_copies(c);
}

/* ---- the kernel ---- */

static void emit_begin(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    struct out *o = c->o;
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s &block = *(%s *)shared;", g->block.name, g->block.name);
    line(o, "const int thread = cgtp_thread(), warp = cgtp_uniform(cgtp_warp());");
    if (lanes_parts(g) > 1)
        line(o, "const int part = cgtp_block() %% %d;", lanes_parts(g));
    line(o, "const int64_t nodes = l.graph.%s, step = %s;", index_words[g->nodal->owner].plural,
         divided(c->w->arena, "cgtp_blocks()", lanes_parts(g)));
    for (int i = 0; i < c->w->demand->outputs; i++)
        if (demand_operand(c->w->demand, i)->slot == SLOT_W)
            line(o, "cgtp_zero_by<%d>(block.%ssums, thread);", lanes_threads(g),
                 demand_operand(c->w->demand, i)->symbol);
    line(o, "cgtp_launch_wait();");
    emit_weights(c);
    line(o, "cgtp_sync_block();");
    line(o, "int64_t node = %s;", divided(c->w->arena, "cgtp_block()", lanes_parts(g)));
    line(o, "int turn = 0;");
}

static void emit_kernel(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    const int parts = lanes_parts(g);
    struct out *o = c->o;
    line(o,
         "/* %s: blocks of %d threads, %d per multiprocessor, each with %d bytes of dynamic shared memory. "
         "%s of a %s; these take nodes at equal distances.%s " SOURCE_WAITS " */",
         g->name, lanes_threads(g), g->fit, g->block.bytes,
         parts == 1 ? "A block has all channels"
                    : arena_printf(c->w->arena, "%d blocks have %d channels each", parts, lanes_channels(g)),
         g->nodal->owner == INDEX_SENDER ? "sender" : "receiver",
         g->copiers ? arena_printf(c->w->arena, " The last %d warps copy rows.", g->copiers) : "");
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l)", lanes_threads(g), g->fit, g->name);
    line(o, "{");
    emit_begin(c);
    if (g->copiers) {
        line(o, "if (warp >= %d) {", g->warps);
        item_rows_policies(c->w, o, g->nodal->owner);
        emit_copiers(c);
        line(o, "} else {");
        emit_channels(c);
        line(o, "}");
    } else {
        item_rows_policies(c->w, o, g->nodal->owner);
        emit_channels(c);
    }
    emit_parts(c);
    line(o, "}");
    blank(o);
}

void lanes_kernel(struct source *w)
{
    const struct lanes *g = w->schedule->own;
    struct out o = {.text = w->out};
    struct lanes_writer c = {.w = w, .o = &o, .g = g};
    struct nodal_writer n = {.w = w, .o = &o, .g = g->nodal};
    layout_print(&o, &g->block);
    emit_tables(&c);
    blank(&o);
    product_functions_begin(w->arena, &w->functions);
    nodal_functions(&n);
    emit_kernel(&c);
    item_rows_kernels(w, &o);
}

void lanes_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct lanes *g = schedule->own;
    const char *teams = arena_printf(w->arena, "cgtp_nodal_teams(%s, %d, %d)",
                                     source_rows(w->plan, g->nodal->owner), lanes_parts(g), g->fit);
    source_step(w, arena_printf(w->arena, "cgtp_launch_early(code::%s, %s, %d, sizeof(code::%s), stream, l)",
                                g->name, scaled(w->arena, teams, lanes_parts(g)), lanes_threads(g),
                                g->block.name));
    item_rows_finish(w, teams, NULL);
}
