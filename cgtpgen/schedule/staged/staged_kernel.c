/* staged_kernel.c - staged items: the kernel, and its launch. */
#include "schedule/index_words.h"
#include "schedule/item_device.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"
#include "schedule/staged/staged_emit.h"

#include <string.h>

static int threads_of(const struct staged *g)
{
    return g->warps * STAGED_LANES;
}

/* Part of the name of what copies the part. */
static const char *part_number(const struct staged_writer *c, int part)
{
    return staged_in_parts(c->g) ? arena_printf(c->w->arena, "%d", part) : "";
}

/* "<128, true, 2, 300>": the threads, and a part's place in a row that begins at its base. */
static const char *part_arguments(const struct staged_writer *c, const struct staged_part *part,
                                  const struct operand *q)
{
    const bool wide = q->dim * kernel_size(c->w->demand->kernel) % 16 == 0;
    return arena_printf(c->w->arena, "<%d, %s, %d, %d>", threads_of(c->g), wide ? "true" : "false",
                        part->from, part->to);
}

/* Does a part bring the input: a part of it, or all of it with an item's first part? */
static bool is_brought(const struct staged_writer *c, const struct staged_part *part, int input, bool *whole)
{
    const bool weights = source_input(c->w, input)->slot == SLOT_W;
    *whole = !(weights && staged_in_parts(c->g));
    return item_rows_copies(c->w, input) && (!*whole || part == c->g->part);
}

static bool is_node(enum index_kind index)
{
    return index == INDEX_SENDER || index == INDEX_RECEIVER;
}

/* Does an item's first part bring rows of nodes of this index? Which node it is has been read long before. */
static bool brings_nodes(const struct staged_writer *c, enum index_kind index)
{
    bool brings = false, whole;
    for (int i = 0; i < c->w->form->inputs && is_node(index); i++)
        brings |= is_brought(c, c->g->part, i, &whole) && whole && source_input(c->w, i)->index == index;
    return brings;
}

/* Are items in the order of nodes, whose rows stay? */
static bool has_owner(const struct staged_writer *c)
{
    return c->g->owner != INDEX_ITEM;
}

/* The type of positions in the list of edges, and of the numbers of its edges and nodes. */
static const char *position_type(const struct staged_writer *c)
{
    return c->w->spec->index64 ? "int64_t" : "uint32_t";
}

/* Are results summed there? */
static bool sums_nodes(const struct staged_writer *c)
{
    bool sums = false;
    for (int o = 0; o < c->w->demand->outputs; o++)
        sums |= c->g->owned[o];
    return sums;
}

/* Are there rows of these nodes that items read? They are in an item's stage already if it was of the node.
 */
static bool keeps_nodes(const struct staged_writer *c)
{
    return has_owner(c) && brings_nodes(c, c->g->owner);
}

/* "load0": starts the copies of a part of an item, with its rows where it is the first. */
static void emit_load(struct staged_writer *c, const struct staged_part *part)
{
    const bool parts = staged_in_parts(c->g), first = part == c->g->part;
    struct text more = {.arena = c->w->arena};
    if (parts && first)
        text_printf(&more, ", %s &rows", c->g->rows.name);
    for (int index = 0; index < INDEX_COUNT && first; index++)
        if (brings_nodes(c, index))
            text_printf(&more, ", int64_t %s", index_name[index]);
    if (keeps_nodes(c))
        text_printf(&more, ", bool stays");
    line(c->o, "auto load%s = [&](int64_t e, %s &to%s) {", part_number(c, (int)(part - c->g->part)),
         c->g->stage.name, text_string(&more));
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        const char *row = item_rows_row(c->w, q);
        bool whole;
        if (!is_brought(c, part, i, &whole))
            continue;
        if (whole && is_node(q->index))
            row = arena_printf(c->w->arena, "l.%s + %s * %s", q->array, index_name[q->index],
                               source_stride(c->w, q));
        if (keeps_nodes(c) && q->index == c->g->owner)
            line(c->o, "if (!stays)");
        if (whole)
            line(c->o, "cgtp_copy_row_by<%d>(%s.%s, %s, thread, %s);", threads_of(c->g),
                 parts ? "rows" : "to", q->symbol, row, item_rows_policy(c->w, q));
        else
            line(c->o, "cgtp_copy_part_by%s(to.%s, %s, thread, %s);", part_arguments(c, part, q), q->symbol,
                 plus_offset(c->w->arena, row, part->base), item_rows_policy(c->w, q));
    }
    line(c->o, "};");
}

static void emit_loads(struct staged_writer *c)
{
    item_rows_policies(c->w, c->o, INDEX_SHARED);
    for (int i = 0; i < c->g->parts; i++)
        emit_load(c, &c->g->part[i]);
}

/* "true", for functions of a graph that are asked about senders. */
static const char *by_sender(const struct staged_writer *c)
{
    return c->g->owner == INDEX_SENDER ? "true" : "false";
}

/* "e + 2 * step"; "(slot + 1) % 2": where the rows of so many items after this one are. */
static const char *items_after(const struct staged_writer *c, int items)
{
    if (has_owner(c))
        return items == 0 ? "e" : "ahead";
    return items == 0 ? "e" : items == 1 ? "e + step" : arena_printf(c->w->arena, "e + %d * step", items);
}

static const char *slot_after(const struct staged_writer *c, int items)
{
    return items % c->g->items == 0
               ? "slot"
               : arena_printf(c->w->arena, "(slot + %d) %% %d", items % c->g->items, c->g->items);
}

/* When copies of a part of the item so many items after e are started. */
enum start { START_FIRST, START_SAME, START_AHEAD }; /* before the loop; in the item; items before */

/* Is there an item so many after this one? */
static const char *is_there(const struct staged_writer *c, int items)
{
    return has_owner(c) ? "there"
                        : arena_printf(c->w->arena, "%s < %s", items_after(c, items), source_items(c->w));
}

/* Starts them, into the stage `to`. */
static void emit_start(struct staged_writer *c, int part, int items, const char *to, enum start start)
{
    struct arena *a = c->w->arena;
    struct text more = {.arena = a};
    if (staged_in_parts(c->g) && part == 0)
        text_printf(&more, ", own.rows[%s]", slot_after(c, items));
    for (int index = 0; index < INDEX_COUNT && part == 0; index++)
        if (brings_nodes(c, index))
            text_printf(&more, ", %s",
                        start == START_AHEAD
                            ? arena_printf(a, "%s_ahead", index_name[index])
                            : arena_printf(a, "l.graph.%s[%s]", index_name[index], items_after(c, items)));
    if (keeps_nodes(c))
        text_printf(&more, start == START_AHEAD ? ", %s_ahead == node" : ", false", index_name[c->g->owner]);
    if (start != START_SAME)
        line(c->o, "if (%s)", is_there(c, items));
    line(c->o, "load%s(%s, %s%s);", part_number(c, part), items_after(c, items), to, text_string(&more));
    line(c->o, "cgtp_copies_commit();");
}

/* The same for items in the order of nodes. */
static void emit_start_in_order(struct staged_writer *c, int stage)
{
    line(c->o, "{");
    line(c->o, "const bool there = next_place.position < items;");
    line(c->o, "const %s ahead = there ? cgtp_nth_item<%s>(l.graph, next_place.position) : 0;",
         position_type(c), by_sender(c));
    emit_start(c, 0, 1, arena_printf(c->w->arena, "own.ring[%d]", stage), START_FIRST);
    line(c->o, "next_place = next_place.after(chunk, step);");
    line(c->o, "}");
}

/* Reads which nodes' rows are brought while this item is worked on, and to which its results are added. */
static void emit_nodes(struct staged_writer *c)
{
    const int items = (c->g->stages + c->g->parts - 1) / c->g->parts;
    for (int index = 0; index < INDEX_COUNT; index++) {
        bool added = false;
        for (int o = 0; o < c->w->demand->outputs && is_node(index); o++)
            added |= c->w->schedule->route[o].kind == ROUTE_ATOMIC &&
                     demand_operand(c->w->demand, o)->index == (enum index_kind)index;
        if (brings_nodes(c, index))
            line(c->o, "const int64_t %s_ahead = %s ? l.graph.%s[%s] : 0;", index_name[index],
                 is_there(c, items), index_name[index], items_after(c, items));
        if (added)
            line(c->o, "const int64_t %s = l.graph.%s[e];", index_name[index], index_name[index]);
    }
}

/* Output number o on its way from shared memory: its row, or the part of it. */
static void emit_put(struct staged_writer *c, int o, const struct staged_part *part)
{
    struct source *w = c->w;
    const struct operand *q = demand_operand(w->demand, o);
    const bool buffer = w->schedule->route[o].kind == ROUTE_EDGE_BUFFER;
    const bool joined =
        staged_divides(c->g) && staged_by_warps(c->g, o) && (c->g->owned[o] || q->slot != SLOT_Y);
    if (joined && c->g->owned[o])
        line(c->o, "if (last)");
    if (joined)
        line(c->o, "cgtp_join_rows_by<%d>(%s, thread);", threads_of(c->g), staged_rows_of(c, o));
    if (c->g->owned[o]) {
        line(c->o, "if (last)");
        line(c->o,
             "cgtp_put_row_by<%d>(partial < 0 ? l.%s + (int64_t)node * %s : l.%spartial + partial * %lld, "
             "%s, "
             "thread);",
             threads_of(c->g), q->symbol, source_stride(w, q), q->symbol, source_dim(q),
             q->slot == SLOT_Y ? arena_printf(w->arena, "%s[0]", staged_output(c, o)) : staged_output(c, o));
        return;
    }
    const char *how = w->schedule->route[o].kind == ROUTE_ATOMIC ? "add" : "put";
    const char *to =
        buffer ? arena_printf(w->arena, "l.%sedges + (int64_t)e * %lld", q->symbol, source_dim(q))
        : is_node(q->index)
            ? arena_printf(w->arena, "l.%s + %s * %s", q->symbol, index_name[q->index], source_stride(w, q))
            : item_rows_row(w, q);
    if (part)
        line(c->o, "cgtp_%s_part_by%s(%s, %s, thread);", how, part_arguments(c, part, q),
             plus_offset(w->arena, to, part->base), staged_output(c, o));
    else
        line(c->o, "cgtp_%s_by<%d>(%s, %s, thread);",
             q->slot == SLOT_Y ? "put_sums" : arena_printf(w->arena, "%s_row", how), threads_of(c->g), to,
             staged_output(c, o));
}

/* Zeros in the place of output number o, by the threads that it leaves by. */
static void emit_clear(struct staged_writer *c, int o)
{
    const int threads = threads_of(c->g);
    if (demand_operand(c->w->demand, o)->slot == SLOT_Y) {
        line(c->o, "cgtp_clear_sums_by<%d>(%s, thread);", threads, staged_rows_of(c, o));
    } else if (staged_by_warps(c->g, o)) {
        line(c->o, "for (int k = 0; k < %d; k++)", c->g->warps);
        line(c->o, "cgtp_clear_row_by<%d>(%s[k], thread);", threads, staged_rows_of(c, o));
    } else {
        line(c->o, "cgtp_clear_row_by<%d>(%s, thread);", threads, staged_output(c, o));
    }
}

/* The paths that have no passes, by the team's warps or the first one. */
static void emit_others(struct staged_writer *c)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    const bool divide = staged_divides(c->g);
    struct text list = {.arena = a};
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i))
            text_printf(&list, "%s, ", staged_input(c, i));
    for (int o = 0; o < w->demand->outputs; o++) {
        const bool by_warps = staged_by_warps(c->g, o);
        text_printf(&list, "%s%s%s", o ? ", " : "", by_warps ? staged_rows_of(c, o) : staged_output(c, o),
                    !by_warps ? ""
                    : divide  ? "[warp]"
                              : "[0]");
    }
    if (c->g->scratch)
        text_printf(&list, ", own.out.scratch%s", divide ? "[warp]" : "");
    if (c->g->whole.pieces)
        line(c->o, "cgtp_sync_group<%d>();", c->g->warps);
    if (c->g->warps > 1 && !divide)
        line(c->o, "if (warp == 0)");
    line(c->o, "item_%s(%s%s);", w->schedule->name, text_string(&list), divide ? ", warp" : "");
}

/* The thread's sums of an output of y. */
static void emit_sums(struct staged_writer *c, int o)
{
    if (demand_output(c->w->demand, o)->slot == SLOT_Y)
        line(c->o, "real %s[cgtp_sums_length(%lld)] = {0};", demand_output(c->w->demand, o)->symbol,
             (long long)(c->g->sums_to - c->g->sums_from));
}

/* Results that are added to where they are made begin as zeros. */
static void emit_zeros(struct staged_writer *c)
{
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        const bool by_parts = staged_in_parts(c->g) && (q->slot == SLOT_X || q->slot == SLOT_G);
        if (staged_holds(c->g, o))
            continue;
        if (c->g->owned[o])
            line(c->o, "if (begins)");
        const bool by_paths = c->g->any_others || (q->slot == SLOT_G && c->g->adds);
        if (c->g->owned[o] || (q->index != INDEX_SHARED && c->g->in_place[o] < 0 && (by_paths || by_parts)))
            emit_clear(c, o);
    }
}

/* Results leave, of the item with its last part; then its stage is for the next part that has none. */
static void emit_end(struct staged_writer *c, int number)
{
    const struct staged *g = c->g;
    const struct demand *d = c->w->demand;
    const bool last = number == g->parts - 1;
    bool in_place = false;
    line(c->o, "cgtp_sync_group<%d>();", g->warps);
    if (sums_nodes(c))
        line(c->o,
             "const int64_t partial = last ? cgtp_partial_of(cgtp_positions_of<%s>(l.graph, node), "
             "here.number, chunk) : -1;",
             by_sender(c));
    for (int o = 0; o < d->outputs; o++) {
        const bool part = staged_output_in_parts(c, o);
        if (demand_operand(d, o)->index == INDEX_SHARED)
            continue;
        in_place |= g->in_place[o] >= 0;
        if (part || last)
            emit_put(c, o, part ? &g->part[number] : NULL);
    }
    if (in_place)
        line(c->o,
             "/* gradients that left from the stage were read by the thread that copies to their place */");
    emit_start(c, (number + g->stages) % g->parts, (number + g->stages) / g->parts,
               staged_in_parts(g) ? "part" : "at", number + g->stages < g->parts ? START_SAME : START_AHEAD);
}

static void emit_part(struct staged_writer *c, int number)
{
    const struct staged *g = c->g;
    const struct demand *d = c->w->demand;
    const bool last = number == g->parts - 1;
    if (staged_in_parts(g))
        line(c->o, "{");
    line(c->o, "%s &%s = own.ring[%s];", g->stage.name, staged_in_parts(g) ? "part" : "at",
         g->stages > 1 ? "next" : "0");
    if (g->stages > 1)
        line(c->o, "next = next == %d ? 0 : next + 1;", g->stages - 1);
    if (number == 0)
        emit_zeros(c);
    for (int o = 0; o < d->outputs && g->whole.pieces && !staged_in_parts(g); o++)
        emit_sums(c, o);
    line(c->o, "cgtp_copies_wait<%d>();", g->stages - 1);
    line(c->o, "cgtp_sync_group<%d>();", g->warps);
    staged_work(c, &g->part[number]);
    for (int o = 0; o < d->outputs && g->whole.pieces && last; o++)
        if (demand_output(d, o)->slot == SLOT_Y)
            line(c->o, "cgtp_reduce_lanes<%lld, CGTP_STORE>(%s, %s);", (long long)(g->sums_to - g->sums_from),
                 plus_offset(c->w->arena,
                             arena_printf(c->w->arena, "own.out.%s[warp]", demand_output(d, o)->symbol),
                             g->sums_from),
                 demand_output(d, o)->symbol);
    if (g->any_others)
        emit_others(c);
    emit_end(c, number);
    if (staged_in_parts(g))
        line(c->o, "}");
}

/* Which item is worked on, which is next and which one's rows are to be brought: what leads to another is
 * read an item before that is needed. */
static void emit_places(struct staged_writer *c)
{
    const char *of = by_sender(c), *position = position_type(c);
    struct out *o = c->o;
    bool others = false;
    for (int i = 0; i < c->w->demand->outputs; i++)
        others |= !c->g->owned[i] && demand_operand(c->w->demand, i)->index != INDEX_SHARED;
    if (others)
        line(o, "const %s e = item_after;", position);
    line(o, "const %s node = node_after;", position);
    if (sums_nodes(c))
        line(o, "const bool begins = last;");
    line(o, "const cgtp_place<%s> after = here.after(chunk, step);", position);
    if (sums_nodes(c))
        line(o, "last = true;");
    line(o, "if (after.position < items) {");
    line(o, "item_after = cgtp_nth_item<%s>(l.graph, after.position);", of);
    line(o, "node_after = cgtp_node_of<%s>(l.graph, item_after);", of);
    if (sums_nodes(c))
        line(o, "last = after.place == 0 || node_after != node;");
    line(o, "}");
    line(o, "const bool there = next_place.position < items;");
    line(o, "const %s ahead = there ? cgtp_nth_item<%s>(l.graph, next_place.position) : 0;", position, of);
}

static void emit_item(struct staged_writer *c)
{
    const struct staged *g = c->g;
    if (has_owner(c))
        emit_places(c);
    emit_nodes(c);
    if (staged_in_parts(g)) {
        line(c->o, "const %s &at = own.rows[slot];", g->rows.name);
        for (int o = 0; o < c->w->demand->outputs; o++)
            emit_sums(c, o);
    }
    for (int i = 0; i < g->parts; i++)
        emit_part(c, i);
    if (staged_in_parts(g))
        line(c->o, "slot = %s;", slot_after(c, 1));
    if (has_owner(c)) {
        line(c->o, "next_place = next_place.after(chunk, step);");
        line(c->o, "here = after;");
    }
}

/* What the block's teams have summed, in the order of the teams, to the block's row. */
static void emit_parts(struct staged_writer *c)
{
    const struct staged *g = c->g;
    line(c->o, "cgtp_sync_block();");
    for (int o = 0; o < c->w->demand->outputs; o++) {
        const struct operand *q = demand_operand(c->w->demand, o);
        if (q->index != INDEX_SHARED)
            continue;
        line(c->o, "for (int i = cgtp_thread(); i < %lld; i += %d) {", source_dim(q),
             g->teams * threads_of(g));
        line(c->o, "real sum = 0;");
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int k = 0; k < %d; k++)", g->teams);
        line(c->o, "sum += ((%s *)shared)->team[k].sums.%s[i];", g->block->name, q->symbol);
        line(c->o, "l.%sparts[cgtp_block() * (int64_t)%lld + i] = sum;", q->symbol, source_dim(q));
        line(c->o, "}");
    }
}

/* Starts copies of the weights that all items share. */
static void emit_common(struct staged_writer *c)
{
    const struct staged *g = c->g;
    for (int i = 0; i < c->w->form->inputs && g->common.bytes; i++) {
        const struct operand *q = source_input(c->w, i);
        if (demand_reads(c->w->demand, i) && staged_is_common(q))
            line(c->o, "cgtp_copy_row_by<%d>(common.%s, l.%s, cgtp_thread(), cgtp_policy_keep());",
                 g->teams * threads_of(g), q->symbol, q->symbol);
    }
    if (g->common.bytes)
        line(c->o, "cgtp_copies_commit();");
}

/* Sums of z at nodes that stay in registers. */
static void declare_held(struct staged_writer *c)
{
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs; o++)
        for (int i = 0; i < c->g->whole.pieces && staged_holds(c->g, o); i++) {
            const struct path *p = &c->w->problem->path[c->g->whole.piece[i].path];
            line(c->o, "real %ss%d[%d] = {0};", demand_output(d, o)->symbol, p->z, 2 * p->l3 + 1);
        }
}

static void emit_kernel(struct staged_writer *c)
{
    const struct staged *g = c->g;
    struct out *o = c->o;
    line(o,
         "/* %s: a block of %d threads per multiprocessor, with %d bytes of dynamic shared memory: %d teams "
         "of %d "
         "warps, each with items of its own at equal distances. " SOURCE_WAITS " */",
         g->name, g->teams * threads_of(g), g->block->bytes, g->teams, g->warps);
    line(o, "CGTP_KERNEL(%d, 1) %s(const launch l%s)", g->teams * threads_of(g), g->name,
         has_owner(c) ? ", const int chunk" : "");
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "const int team = cgtp_uniform(%s), warp = %s, lane = cgtp_lane();",
         divided(c->w->arena, "cgtp_warp()", g->warps), modulo(c->w->arena, "cgtp_warp()", g->warps));
    line(o, "const int thread = warp * CGTP_LANES + lane;");
    line(o, "%s &own = ((%s *)shared)->team[team];", g->team.name, g->block->name);
    if (g->common.bytes)
        line(o, "%s &common = ((%s *)shared)->common;", g->common.name, g->block->name);
    emit_loads(c);
    const char *position = has_owner(c) ? position_type(c) : "int64_t";
    line(o, "const %s step = %s;", position,
         scaled(c->w->arena, arena_printf(c->w->arena, "(%s)cgtp_blocks()", position), g->teams));
    if (has_owner(c)) {
        line(o, "const %s items = (%s)l.graph.items;", position, position);
        line(o, "cgtp_place<%s> here(%s + team, chunk), next_place = here;", position,
             scaled(c->w->arena, arena_printf(c->w->arena, "(%s)cgtp_block()", position), g->teams));
        line(o, "%s item_after = 0, node_after = 0;", position);
        if (sums_nodes(c))
            line(o, "int last = true; /* of its node's in the chunk is the item */");
    } else
        line(o, "int64_t e = %s + team;", scaled(c->w->arena, "(int64_t)cgtp_block()", g->teams));
    if (g->stages > 1)
        line(o, "int next = 0;");
    if (staged_in_parts(g))
        line(o, "int slot = 0;");
    line(o, "cgtp_launch_wait();");
    if (has_owner(c)) {
        line(o, "if (here.position < items) {");
        line(o, "item_after = cgtp_nth_item<%s>(l.graph, here.position);", by_sender(c));
        line(o, "node_after = cgtp_node_of<%s>(l.graph, item_after);", by_sender(c));
        line(o, "}");
    }
    emit_common(c);
    for (int i = 0; i < g->stages; i++)
        if (has_owner(c))
            emit_start_in_order(c, i);
        else
            emit_start(c, i % g->parts, i / g->parts, arena_printf(c->w->arena, "own.ring[%d]", i),
                       START_FIRST);
    if (g->out.bytes && !g->any_others)
        line(o, "cgtp_zero_by<%d>(own.out, thread); /* segments without paths stay so */", threads_of(g));
    if (staged_in_parts(g) || has_owner(c) ||
        g->adds) /* others of the team make zeros there for each item, or some */
        line(o, "cgtp_sync_group<%d>();", g->warps);
    if (g->sums.bytes)
        line(o, "cgtp_zero_by<%d>(own.sums, thread);", threads_of(g));
    if (g->common.bytes) {
        line(o, "cgtp_copies_wait<%d>();", g->stages);
        line(o, "cgtp_sync_block();");
    }
    declare_held(c);
    line(o, "CGTP_LOOP");
    if (has_owner(c))
        line(o, "while (here.position < items) {");
    else
        line(o, "for (; e < %s; e += step) {", source_items(c->w));
    emit_item(c);
    line(o, "}");
    if (g->sums.bytes)
        emit_parts(c);
    line(o, "}");
    blank(o);
}

void staged_kernel(struct source *w)
{
    const struct staged *g = w->schedule->own;
    struct out o = {.text = w->out};
    struct staged_writer c = {.w = w, .o = &o, .g = g};
    if (staged_in_parts(g))
        layout_print(&o, &g->rows);
    layout_print(&o, &g->stage);
    layout_print(&o, &g->team);
    if (g->common.bytes)
        layout_print(&o, &g->common);
    layout_print(&o, g->block);
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    staged_functions(&c);
    if (g->any_others)
        item_device(w, &(struct item_code){g->others, true, g->tables, staged_divides(g) ? g->warps : 1});
    emit_kernel(&c);
    item_rows_kernels(w, &o);
}

void staged_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct staged *g = schedule->own;
    item_rows_clear(w);
    const char *chunk = g->owner != INDEX_ITEM ? staged_chunk(w->arena, g) : NULL;
    const char *rows = source_rows(w->plan, INDEX_ITEM);
    const char *turns = chunk ? arena_printf(w->arena, "cgtp_chunks(%s, %s)", rows, chunk) : rows;
    const char *grid = arena_printf(w->arena, "cgtp_teams_grid(%s, %d)", turns, g->teams);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s, %s, %d, "
                                "sizeof(code::%s), stream, l%s)",
                                g->name, grid, g->teams * threads_of(g), g->block->name,
                                chunk ? arena_printf(w->arena, ", %s", chunk) : ""));
    item_rows_finish(w, grid, chunk);
}
