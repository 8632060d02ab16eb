/* staged_kernel.c - staged items: the kernel, and its launch. */
#include "schedule/item_device.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"
#include "schedule/staged/staged_emit.h"

static int threads_of(const struct staged *g)
{
    return g->warps * STAGED_LANES;
}

static void emit_load(struct staged_writer *c)
{
    item_rows_policies(c->w, c->o);
    line(c->o, "auto load = [&](int64_t e, %s &to) {", c->g->stage.name);
    for (int i = 0; i < c->w->form->inputs; i++)
        if (item_rows_copies(c->w, i))
            item_rows_copy(c->w, c->o, i, arena_printf(c->w->arena, "to.%s", source_input(c->w, i)->symbol),
                           threads_of(c->g));
    line(c->o, "};");
}

/* Results on their way from shared memory, or zeros in their place, by the same threads. */
static void emit_rows(struct staged_writer *c, bool zeros)
{
    struct source *w = c->w;
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        const char *call = q->slot == SLOT_Y ? "put_sums" : item_rows_leave(w, o);
        if (q->index == INDEX_SHARED)
            continue;
        if (zeros && q->slot == SLOT_Y)
            line(c->o, "cgtp_clear_sums_by<%d>(%s, thread);", threads_of(c->g), staged_output(c, o));
        else if (zeros)
            line(c->o, "cgtp_clear_row_by<%d>(%s, thread);", threads_of(c->g), staged_output(c, o));
        else
            line(c->o, "cgtp_%s_by<%d>(%s, %s, thread);", call, threads_of(c->g), item_rows_to(w, o),
                 staged_output(c, o));
    }
}

/* The paths that have no passes, by the team's first warp. */
static void emit_others(struct staged_writer *c)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    struct text list = {.arena = a};
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i))
            text_printf(&list, "%s, ", staged_input(c, i));
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        const bool by_warp = q->slot == SLOT_Y && q->index != INDEX_SHARED;
        text_printf(&list, "%s%s, ", staged_output(c, o), by_warp ? "[0]" : "");
    }
    if (c->g->rows)
        line(c->o, "cgtp_sync_group<%d>();", c->g->warps);
    if (c->g->warps > 1)
        line(c->o, "if (warp == 0)");
    line(c->o, "item_%s(%s%s);", w->schedule->name, text_string(&list),
         c->g->scratch ? "own.out.scratch" : "NULL");
}

static void emit_item(struct staged_writer *c)
{
    const struct staged *g = c->g;
    const struct demand *d = c->w->demand;
    if (g->stages > 1) {
        line(c->o, "%s &at = own.ring[next];", g->stage.name);
        line(c->o, "next = next == %d ? 0 : next + 1;", g->stages - 1);
    } else {
        line(c->o, "%s &at = own.ring[0];", g->stage.name);
    }
    if (g->any_others)
        emit_rows(c, true);
    for (int o = 0; o < d->outputs && g->rows; o++)
        if (demand_output(d, o)->slot == SLOT_Y)
            line(c->o, "real %s[cgtp_sums_length(%lld)] = {0};", demand_output(d, o)->symbol,
                 source_dim(demand_operand(d, o)));
    line(c->o, "cgtp_copies_wait<%d>();", g->stages - 1);
    line(c->o, "cgtp_sync_group<%d>();", g->warps);
    staged_work(c);
    for (int o = 0; o < d->outputs && g->rows; o++)
        if (demand_output(d, o)->slot == SLOT_Y)
            line(c->o, "cgtp_reduce_lanes<%lld, CGTP_STORE>(own.out.%s[warp], %s);",
                 source_dim(demand_operand(d, o)), demand_output(d, o)->symbol, demand_output(d, o)->symbol);
    if (g->any_others)
        emit_others(c);
    line(c->o, "cgtp_sync_group<%d>();", g->warps);
    emit_rows(c, false);
    if (demand_outputs_of(d, SLOT_W))
        line(c->o,
             "/* gradients that left from the stage were read by the thread that copies to their place */");
    line(c->o, "if (ahead < %s)", c->w->graph ? "l.graph.items" : "l.items");
    line(c->o, "load(ahead, at);");
    line(c->o, "ahead += step;");
    line(c->o, "cgtp_copies_commit();");
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

static void emit_kernel(struct staged_writer *c)
{
    const struct staged *g = c->g;
    struct out *o = c->o;
    const char *items = c->w->graph ? "l.graph.items" : "l.items";
    line(o,
         "/* %s: a block of %d threads per multiprocessor, with %d bytes of dynamic shared memory: %d teams "
         "of %d "
         "warps, each with items of its own at equal distances. */",
         g->name, g->teams * threads_of(g), g->block->bytes, g->teams, g->warps);
    line(o, "CGTP_KERNEL(%d, 1) %s(const launch l)", g->teams * threads_of(g), g->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "const int team = cgtp_warp() / %d, warp = cgtp_warp() %% %d, lane = cgtp_lane();", g->warps,
         g->warps);
    line(o, "const int thread = warp * CGTP_LANES + lane;");
    line(o, "%s &own = ((%s *)shared)->team[team];", g->team.name, g->block->name);
    emit_load(c);
    line(o, "const int64_t step = (int64_t)cgtp_blocks() * %d;", g->teams);
    line(o, "int64_t ahead = (int64_t)cgtp_block() * %d + team;", g->teams);
    line(o, "cgtp_launch_wait();");
    if (g->stages > 1) {
        line(o, "int next = 0;");
        line(o, "CGTP_LOOP");
        line(o, "for (int i = 0; i < %d; i++, ahead += step) {", g->stages);
        line(o, "if (ahead < %s)", items);
        line(o, "load(ahead, own.ring[i]);");
        line(o, "cgtp_copies_commit();");
        line(o, "}");
    } else {
        line(o, "if (ahead < %s)", items);
        line(o, "load(ahead, own.ring[0]);");
        line(o, "ahead += step;");
        line(o, "cgtp_copies_commit();");
    }
    if (g->out.bytes && !g->any_others)
        line(o, "cgtp_zero_by<%d>(own.out, thread); /* segments without paths stay so */", threads_of(g));
    if (g->sums.bytes)
        line(o, "cgtp_zero_by<%d>(own.sums, thread);", threads_of(g));
    line(o, "CGTP_LOOP");
    line(o, "for (int64_t e = ahead - %d * step; e < %s; e += step) {", g->stages, items);
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
    layout_print(&o, &g->stage);
    layout_print(&o, &g->team);
    layout_print(&o, g->block);
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    staged_functions(&c);
    if (g->any_others)
        item_device(w, &(struct item_code){g->others, true});
    emit_kernel(&c);
    item_rows_kernels(w, &o);
}

void staged_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct staged *g = schedule->own;
    item_rows_clear(w);
    const char *grid =
        arena_printf(w->arena, "cgtp_teams_grid(%s, %d)", source_rows(w->plan, INDEX_ITEM), g->teams);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s, %s, %d, "
                                "sizeof(code::%s), stream, l)",
                                g->name, grid, g->teams * threads_of(g), g->block->name));
    item_rows_finish(w, grid, NULL);
}
