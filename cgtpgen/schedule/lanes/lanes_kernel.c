/* lanes_kernel.c - matrices in lanes: the kernel, and its launch. */
#include "schedule/lanes/lanes_emit.h"

#include "schedule/index_words.h"
#include "schedule/item_rows.h"
#include "schedule/nodal/nodal_emit.h"
#include "schedule/parts.h"
#include "schedule/path.h"

const char *lanes_teams(struct arena *a, const struct lanes *g)
{
    return arena_printf(a, "cgtp_nodal_teams(%d, %d)", lanes_parts(g), g->fit);
}

static bool has_weights(const struct lanes_writer *c)
{
    return c->w->problem->weight_numel &&
           (demand_inputs_of(c->w->demand, SLOT_W) || nodal_has(c->g->nodal, SLOT_W));
}

static void emit_tables(struct lanes_writer *c)
{
    lanes_tables(c);
    if (has_weights(c))
        nodal_weight_places(c->w, c->o, c->g->name);
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
    nodal_bring_weights(c->w, c->o);
}

/* Sums of weights over the block's nodes: a part of a partial row. */
static void emit_parts(struct lanes_writer *c)
{
    if (!nodal_has(c->g->nodal, SLOT_W))
        return;
    begin_weights(c);
    nodal_leave_weights(c->w, c->o, c->g->splits, lanes_parts(c->g));
}

/* Warps that copy, and nothing else. */
static void emit_copiers(struct lanes_writer *c)
{
    lanes_begin_copies(c);
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
    lanes_end_copies(c);
}

/* Warps with channels, of which each copies rows if no others do. */
static void emit_channels(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    if (!g->copiers)
        lanes_begin_copies(c);
    lanes_begin_channels(c);
    for (c->split = 0; c->split < g->splits; c->split++) {
        if (g->splits > 1)
            line(c->o, "%sif (split == %d) {", c->split ? "} else " : "", c->split);
        lanes_begin_split(c);
        line(c->o, "CGTP_LOOP");
        if (demand_inputs_of(c->w->demand, SLOT_Y) || lanes_meets(c))
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
        lanes_end_copies(c);
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
    nodal_launch_teams(w, &(struct nodal_launch){g->name, g->block.name, g->nodal->owner, lanes_parts(g),
                                                 g->fit, lanes_threads(g)});
}
