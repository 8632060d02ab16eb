/* conv_launch.c - the pipelined convolution on the host: what is cleared, how blocks are divided
 * among path sets, the launches.
 */
#include "schedule/clear.h"
#include "schedule/convolution/conv_emit.h"
#include "schedule/gather.h"

const char *conv_partial_rows(struct arena *a, const struct convolution *g)
{
    int least = 0; /* blocks that it takes to give each path set's channel blocks a warp */
    for (int s = 0; s < g->sets; s++)
        least += (g->set[s].channel_blocks + g->warps - 1) / g->warps;
    return arena_printf(a, "cgtp_partial_rows(%d, %d, %d, %d)", g->sets, g->blocks, g->warps, least);
}

const char *conv_counters(struct arena *a, const struct convolution *g)
{
    return arena_printf(a, "cgtp_counters(%d, %d, cgtp_multiprocessors())", g->sets, conv_queues(g));
}

/* What is to be cleared; *rows: rows of outputs among it. */
static struct clear find_clear(struct source *w, bool *rows)
{
    const struct convolution *g = own(w);
    struct clear c = clear_begin(w->arena);
    *rows = false;
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *q = demand_operand(w->demand, i);
        const bool adds = q->slot == SLOT_G   ? !conv_covers_z(w)
                          : q->slot == SLOT_X ? !g->edge_buffer
                                              : q->slot == SLOT_Y && g->parts > 1 && !g->part_buffer;
        if (adds)
            clear_rows(&c, w, q);
        *rows |= adds;
    }
    clear_area(&c, arena_printf(w->arena, "counters_%s", g->name), conv_counters(w->arena, g), 1, "unsigned");
    if (g->hands_over)
        clear_area(&c, arena_printf(w->arena, "flag_%s", g->name), conv_partial_rows(w->arena, g), 1,
                   "unsigned");
    return c;
}

static void emit_step(struct out *o, const char *condition, const char *call)
{
    line(o, "if (%s(status = %s))", condition, call);
    line(o, "return status;");
}

/* Warps that a path set has on average. */
static const char *warps_of_set(struct arena *a, const struct convolution *g)
{
    const char *warps = arena_printf(a, "cgtp_partition_blocks(partition) * %d", g->warps);
    return g->sets > 1 ? arena_printf(a, "%s / %d", warps, g->sets) : warps;
}

/* cleared: what is cleared before unless there are teams, which have no counters and no flags; NULL: nothing
 * is. */
static void emit_main_launch(struct source *w, struct out *o, const struct clear *cleared)
{
    const struct convolution *g = own(w);
    struct text cost = {.arena = w->arena};
    for (int s = 0; s < g->sets; s++)
        text_printf(&cost, "%s{%d, %d, %d, %s}", s ? ", " : "", g->set[s].share, g->set[s].hand_over,
                    g->set[s].channel_blocks, g->set[s].like < s ? "true" : "false");
    line(o, "{");
    line(
        o,
        "/* by path set, in instructions: an edge; a partial row; and channel blocks; has it the loop of the "
        "set before? */");
    line(o, "static const cgtp_set_cost cost[] = {%s};", text_string(&cost));
    line(o,
         "%sauto partition = cgtp_make_partition<%d>(cgtp_multiprocessors(), %d, %d, graph->items, "
         "graph->receivers, cost);",
         g->teams ? "" : "const ", g->sets, g->blocks, g->warps);
    if (g->teams)
        line(o, "cgtp_make_teams(partition, %d, graph->items, graph->receivers, cost[0]);", g->warps);
    if (cleared)
        emit_step(o, "!partition.team && ", clear_call(cleared));
    if (g->few)
        line(o, "const bool few = cgtp_few_edges(graph->items, graph->receivers, %s, %s);",
             g->hands_over ? "true" : "false", warps_of_set(w->arena, g));
    const char *few = g->few ? arena_printf(w->arena, "few ? code::%s<%d> : ", g->name, g->few_nodes) : "";
    const char *teams =
        g->teams ? arena_printf(w->arena, "partition.team ? code::%s<CGTP_TEAMS> : ", g->name) : "";
    const char *blocks = "cgtp_partition_blocks(partition)";
    if (g->teams)
        blocks = arena_printf(w->arena,
                              "partition.team ? cgtp_team_blocks(partition, %d, graph->receivers, cost[0]) "
                              ": %s",
                              g->warps, blocks);
    emit_step(o, "",
              arena_printf(w->arena,
                           "cgtp_launch_early(%s%scode::%s<%d>, %s, %d, "
                           "sizeof(code::%s), stream, l, partition)",
                           teams, few, g->name, g->whole ? g->few_nodes : 0, blocks, g->warps * LANES,
                           g->block->name));
    line(o, "}");
}

void conv_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct convolution *g = own(w);
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    bool rows;
    const struct clear cleared = find_clear(w, &rows);
    const bool unless = own(w)->teams && !rows;
    if (!unless)
        clear_launch(&cleared, w);
    emit_main_launch(w, o, unless ? &cleared : NULL);
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct form_output *f = &w->form->output[w->demand->output[i]];
        const struct operand *q = demand_operand(w->demand, i);
        long long dim = (long long)q->dim;
        const char *kernel = w->form->name;
        if (f->slot == SLOT_X && g->edge_buffer)
            gather_launch(w, f, g->aligned_edges, "");
        if (f->slot == SLOT_Y && g->part_buffer)
            emit_step(o, "",
                      arena_printf(w->arena,
                                   "cgtp_launch_early(code::%s_sum_%s, (graph->items * %lld + 255) / 256, "
                                   "256, 0, stream, l)",
                                   kernel, f->symbol, dim));
    }
}
