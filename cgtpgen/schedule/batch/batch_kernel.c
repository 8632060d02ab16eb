/* batch_kernel.c - the pipelined batch: the kernel, and its launch. */
#include "schedule/batch/batch_emit.h"
#include "schedule/clear.h"
#include "schedule/path.h"

static void emit_channel_block(struct batch_writer *c)
{
    struct source *w = c->w;
    const int first = c->phase->first, sets = c->phase->sets;
    int *number = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = batch_operands(c, SLOT_X, true, number);
    line(c->o, "now.advance();");
    for (int i = 0; i < n; i++)
        for (int s = 0; s < sets; s++)
            for (int k = 0; k < c->g->set[first + s].ends; k++) {
                int x = c->g->set[first + s].end[k];
                line(c->o, "real %ss%d[%d] = {0};", w->form->output[number[i]].symbol, x,
                     c->g->channels * (2 * w->problem->x.segment[x].ir.l + 1));
            }
    for (int s = 0; s < sets; s++) {
        c->number = first + s;
        c->s = &c->g->set[c->number];
        c->part = &c->g->part[c->s->part];
        batch_turn(c);
    }
    line(c->o, "done += %d;", sets);
}

/* The loop over items: sums of slot y over their channel blocks; later phases add theirs. */
static void emit_items(struct batch_writer *c)
{
    struct source *w = c->w;
    int *number = NEW_ARRAY(w->arena, int, w->form->outputs + 1), n = batch_operands(c, SLOT_Y, true, number);
    long long dim = (long long)w->problem->dim[SLOT_Y];
    bool inner = n && c->g->channel_blocks > 1;
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int done = 0; done < turns;) {");
    for (int i = 0; i < n; i++)
        line(c->o, "real %s[cgtp_sums_length(%lld)] = {0};", w->form->output[number[i]].symbol, dim);
    if (inner) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "do {");
    }
    emit_channel_block(c);
    if (inner)
        line(c->o, "} while (now.block < %d);", c->g->channel_blocks - 1);
    for (int i = 0; i < n; i++) {
        const char *name = w->form->output[number[i]].symbol;
        line(c->o, "cgtp_reduce_lanes<%lld, %s>(l.%s + now.item * %s, %s);", dim,
             c->phase->first ? "CGTP_ADD" : "CGTP_STORE", name,
             source_stride(w, kernel_output(w->demand->kernel, number[i])), name);
    }
    line(c->o, "}");
}

/* A loop over all items, for the path sets of the phase. */
static void emit_phase(struct batch_writer *c, int number)
{
    const struct batch *g = c->g;
    struct out *o = c->o;
    if (number)
        line(o, "cgtp_sync_warp(); /* nobody reads the stages any more */");
    if (g->phases > 1)
        line(o, "{ /* phase %d */", number);
    line(o, "/* the channel block that is worked on; that is loaded */");
    line(o, "cgtp_channel_blocks<%s, %d, %d> now(own.rows, %d), ahead = now;", g->rows.name, g->buffers,
         g->channel_blocks, g->warps);
    line(o, "const int turns = %s;",
         scaled(c->w->arena, arena_printf(c->w->arena, "now.left(%s)", source_items(c->w)), c->phase->sets));
    line(o, "cgtp_ring<%s, %d> ring(own.ring);", g->stage.name, g->stages);
    batch_loads(c);
    if (c->phase->sets > 1)
        line(o, "ring.fill(turns, load);");
    else
        line(o, "ring.fill(turns, load_%d);", c->phase->first);
    emit_items(c);
    if (g->phases > 1)
        line(o, "}");
}

static void emit_kernel(struct batch_writer *c)
{
    const struct batch *g = c->g;
    struct out *o = c->o;
    line(
        o,
        "/* %s: blocks of %d threads, %d per multiprocessor, each with %d bytes of dynamic shared memory; as "
        "many as the device holds at a time. Each warp takes items at equal distances, and waits for nothing "
        "but "
        "its own copies. Predicted are %d registers per thread, of which it needs %d. */",
        g->name, g->warps * BATCH_LANES, g->blocks, g->block->bytes, g->registers, g->registers_least);
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l)", g->warps * BATCH_LANES, g->blocks, g->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s &block = *(%s *)shared;", g->block->name, g->block->name);
    line(o, "%s &own = block.warp[cgtp_warp()];", g->warp.name);
    line(o, "cgtp_launch_wait();");
    line(o, "const cgtp_policy stream = cgtp_policy_stream();");
    line(o, "const int lane = cgtp_pinned_lane();");
    for (int i = 0; i < g->phases; i++) {
        c->phase = &g->phase[i];
        emit_phase(c, i);
    }
    line(o, "}");
    blank(o);
}

void batch_kernel(struct source *w)
{
    const struct batch *g = w->schedule->own;
    struct out o = {.text = w->out};
    struct batch_writer c = {.w = w, .o = &o, .g = g};
    layout_print(&o, &g->stage);
    layout_print(&o, &g->rows);
    layout_print(&o, &g->warp);
    layout_print(&o, g->block);
    batch_tables(&c);
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    for (int s = 0; s < g->sets; s++)
        for (int i = 0; i < g->set[s].paths; i++) {
            const struct device_path path = batch_path(&c, g->set[s].path[i]);
            device_path_function(&path);
        }
    emit_kernel(&c);
}

/* ---- the launch ---- */

/* Do the paths write every element of a row? */
static bool covers(const struct source *w, const struct batch *g, enum slot slot)
{
    int64_t written = 0;
    for (int i = 0; i < g->parts && slot == SLOT_X; i++)
        for (int k = 0; k < g->part[i].xs; k++)
            written += (int64_t)g->part[i].mul * (2 * w->problem->x.segment[g->part[i].x[k]].ir.l + 1);
    for (int s = 0; s < g->sets && slot == SLOT_G; s++)
        for (int i = 0; i < g->set[s].zs; i++)
            written += (int64_t)g->part[g->set[s].part].mul * (2 * w->problem->path[g->set[s].z[i]].l3 + 1);
    return (slot != SLOT_X && slot != SLOT_G) || written == w->problem->dim[slot];
}

void batch_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct batch *g = schedule->own;
    struct clear c = clear_begin(w->arena);
    for (int o = 0; o < w->demand->outputs; o++)
        if (!covers(w, g, demand_output(w->demand, o)->slot))
            clear_rows(&c, w, demand_operand(w->demand, o));
    clear_launch(&c, w);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s, cgtp_batch_grid(%s, %d, %d), %d, "
                                "sizeof(code::%s), stream, l)",
                                g->name, source_rows(w->plan, INDEX_ITEM), g->warps, g->blocks,
                                g->warps * BATCH_LANES, g->block->name));
}
