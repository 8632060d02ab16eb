/* lanes_copy.c - matrices in lanes: how rows of items come and leave. */
#include "schedule/lanes/lanes_emit.h"

#include "schedule/item_rows.h"
#include "schedule/path.h"

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

bool lanes_is_copied(const struct lanes_writer *c, int input)
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
        if (lanes_is_copied(c, i) && source_input(c->w, i)->slot == slot)
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

void lanes_tables(struct lanes_writer *c)
{
    if (has_table(c, SLOT_X))
        emit_table(c, copied_of_slot(c, SLOT_X));
    if (has_table(c, SLOT_G))
        emit_table(c, copied_of_slot(c, SLOT_G));
}

/* ---- copies ---- */

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
        if (lanes_is_copied(c, i))
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

void lanes_begin_copies(struct lanes_writer *c)
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

void lanes_end_copies(struct lanes_writer *c)
{
    line(c->o, "cgtp_sync_block();");
    if (has_item_outputs(c))
        line(c->o, "put();");
}
