/* conv_launch.c - the pipelined convolution on the host: what is cleared, how blocks are divided
 * among path sets, the launches.
 */
#include "pipeline/cost.h"
#include "schedule/clear.h"
#include "schedule/convolution/conv_emit.h"
#include "schedule/gather.h"
#include "schedule/program.h"

const char *conv_partial_rows(struct arena *a, const struct conv_kernel *g)
{
    int least = 0; /* blocks that it takes to give each path set's channel blocks a warp */
    for (const struct pipeline *p = g->first; p; p = p->next)
        least += p->sets * ((p->spread[0].blocks + g->warps - 1) / g->warps);
    return arena_printf(a, "cgtp_partial_rows(%d, %d, %d, %d)", g->sets, g->blocks, g->warps, least);
}

const char *conv_counters(struct arena *a, const struct conv_kernel *g)
{
    return arena_printf(a, "cgtp_counters(%d, %d, cgtp_multiprocessors())", g->sets, conv_queues(g));
}

/* What is to be cleared; *rows: rows of outputs among it. */
static struct clear find_clear(struct source *w, const struct conv_kernel *g, bool *rows)
{
    struct clear c = clear_begin(w->arena);
    *rows = false;
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *q = demand_operand(w->demand, i);
        const bool adds = q->slot == SLOT_G   ? !program_covers(w->schedule, q)
                          : q->slot == SLOT_X ? !g->edge_buffer
                                              : q->slot == SLOT_Y && g->parts > 1 && !g->part_buffer;
        if (adds)
            clear_rows(&c, w, q);
        *rows |= adds;
    }
    clear_area(&c, arena_printf(w->arena, "counters_%s", g->name), conv_counters(w->arena, g), 1, "unsigned");
    if (g->first->walk.shares)
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
static const char *warps_of_set(struct arena *a, const struct conv_kernel *g)
{
    const char *warps = arena_printf(a, "cgtp_partition_blocks(partition) * %d", g->warps);
    return g->sets > 1 ? arena_printf(a, "%s / %d", warps, g->sets) : warps;
}

/* May a launch do without counters? Teams have none, and no flags; and where nothing is handed over, so that
 * blocks come in any order, those of one path set need none as long as each warp has one range of edges. */
static bool may_idle(const struct conv_kernel *g)
{
    const struct walk *walk = &g->first->walk;
    return walk->teams || (g->sets == 1 && !walk->shares && !g->whole);
}

/* Do two path sets, of a kernel of one schedule, share sectors of rows of edges? Where neither hands anything
 * over, and each has one warp for all its channels, they meet there. Of more sets each meets too few others.
 */
static bool sets_meet(const struct source *w, const struct conv_kernel *g)
{
    enum { SECTOR = 32 };
    bool share = false;
    if (g->sets != 2 || w->kernel->schedules > 1)
        return false;
    for (const struct pipeline *p = g->first; p; p = p->next)
        for (int i = 0; i < p->spreads; i++) {
            if (p->walk.shares || p->spread[i].blocks > 1)
                return false;
            share |= p->spread[i].mul * p->size % SECTOR != 0;
        }
    return share;
}

/* Bytes of a sender's rows that a launch reads, or none where path sets meet, which they do in ranges of
 * edges. */
static const char *sender_bytes(const struct source *w, const struct conv_kernel *g)
{
    const struct demand *d = w->demand;
    long long bytes = 0;
    for (int i = 0; i < d->kernel->form->inputs && !sets_meet(w, g); i++) {
        const struct operand *o = kernel_input(d->kernel, i);
        bytes += demand_reads(d, i) && o->index == INDEX_SENDER ? (long long)o->dim * operand_size(o) : 0;
    }
    return bytes ? arena_printf(w->arena, "graph->senders * %lld", bytes) : "0";
}

/* cleared: what is cleared before unless the launch does without; NULL: nothing is. */
static void emit_main_launch(struct source *w, struct out *o, const struct conv_kernel *g,
                             const struct clear *cleared)
{
    const struct walk *walk = &g->first->walk;
    const int threads = g->warps * g->first->worker.lanes;
    struct text cost = {.arena = w->arena};
    for (const struct pipeline *p = g->first; p; p = p->next)
        for (int s = 0; s < p->sets; s++)
            text_printf(&cost, "%s{%d, %d, %d, %s}", cost.n ? ", " : "",
                        (int)cost_share(&p->work, p->size / 4),
                        (int)cost_hand_over(p->worker.lanes * p->set[s].sums * p->size), p->spread[0].blocks,
                        s ? "true" : "false");
    line(o, "{");
    line(
        o,
        "/* by path set, in instructions: an edge; a partial row; and channel blocks; has it the loop of the "
        "set before? */");
    line(o, "static const cgtp_set_cost cost[] = {%s};", text_string(&cost));
    line(o,
         "%sauto partition = cgtp_make_partition<%d>(cgtp_multiprocessors(), %d, %d, graph->items, "
         "graph->receivers, cost%s);",
         walk->teams || sets_meet(w, g) ? "" : "const ", g->sets, g->blocks, g->warps,
         g->edge_buffer ? ", turn" : "");
    if (sets_meet(w, g))
        line(o, "cgtp_meet_in_order(partition, %d);", g->warps);
    if (walk->teams && g->edge_buffer)
        line(o, "if (turn.first)");
    if (walk->teams)
        line(o, "cgtp_make_teams(partition, %d, %s, graph->items, graph->receivers, cost);", g->warps,
             g->reduces ? "true" : "false");
    if (walk->few)
        line(o, "const bool few = %scgtp_few_edges(graph->items, graph->receivers, %s, %s, %s);",
             g->edge_buffer ? "turn.end - turn.from == graph->items && " : "",
             walk->shares ? "true" : "false", warps_of_set(w->arena, g), sender_bytes(w, g));
    if (cleared)
        emit_step(o,
                  walk->teams ? "!partition.teams && "
                  : walk->few ? "(few || partition.rounds[0]) && "
                              : "partition.rounds[0] && ",
                  clear_call(cleared));
    const char *few = walk->few ? arena_printf(w->arena, "few ? code::%s<%d> : ", g->name, walk->nodes) : "";
    if (g->whole && g->edge_buffer) /* where no sums leave, tiles are ranges of edges */
        few = arena_printf(w->arena, "turn.first ? code::%s<%d> : ", g->name, walk->nodes);
    const char *teams =
        walk->teams ? arena_printf(w->arena, "partition.teams ? code::%s<CGTP_TEAMS> : ", g->name) : "";
    emit_step(o, "",
              arena_printf(w->arena,
                           "cgtp_launch_early(%s%scode::%s<%d>, cgtp_partition_blocks(partition), %d, "
                           "sizeof(code::%s_block), stream, l, partition)",
                           teams, few, g->name, g->whole && !g->edge_buffer ? walk->nodes : 0, threads,
                           g->name));
    line(o, "}");
}

/* The loop over turns, which ends with a brace; counters are cleared before each, all else before the first.
 */
static void emit_turns_begin(struct source *w, struct out *o, const struct conv_kernel *g, bool clears)
{
    struct clear counters = clear_begin(w->arena);
    clear_area(&counters, arena_printf(w->arena, "counters_%s", g->name), conv_counters(w->arena, g), 1,
               "unsigned");
    for (int i = 0; i < w->demand->outputs; i++)
        if (demand_operand(w->demand, i)->slot == SLOT_X)
            line(o, "real *const %sbase = l.%sedges;", demand_output(w->demand, i)->symbol,
                 demand_output(w->demand, i)->symbol);
    line(o, "for (int64_t from = 0; from < graph->items; from += edges) {");
    line(o, "const cgtp_turn turn = cgtp_turn_from(from, edges, graph->items, %s);",
         demand_outputs_of(w->demand, SLOT_G) ? "true" : "false");
    for (int i = 0; i < w->demand->outputs; i++)
        if (demand_operand(w->demand, i)->slot == SLOT_X)
            line(o, "l.%sedges = %sbase - from * %d;", demand_output(w->demand, i)->symbol,
                 demand_output(w->demand, i)->symbol, g->edge_row);
    if (clears)
        emit_step(o, "!turn.first && ", clear_call(&counters));
}

/* The kernels that finish outputs. */
static void emit_finish(struct source *w, struct out *o, const struct conv_kernel *g, enum slot slot)
{
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct form_output *f = demand_output(w->demand, i);
        long long dim = (long long)demand_operand(w->demand, i)->dim;
        if (f->slot != slot)
            continue;
        if (slot == SLOT_X && g->edge_buffer)
            gather_launch(w, o, f, g->first->aligned_edges, "", true);
        if (slot == SLOT_Y && g->part_buffer)
            emit_step(o, "",
                      arena_printf(w->arena,
                                   "cgtp_launch_early(code::%s_sum_%s, (graph->items * %lld + 255) / 256, "
                                   "256, 0, stream, l)",
                                   w->form->name, f->symbol, dim));
    }
}

void conv_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct conv_kernel g = conv_kernel_of(w->arena, schedule);
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    bool rows;
    const struct clear cleared = find_clear(w, &g, &rows);
    const bool unless = may_idle(&g) && !rows;
    if (!unless)
        clear_launch(&cleared, w);
    if (g.edge_buffer) {
        line(o, "{");
        emit_turns_begin(w, o, &g, !unless);
    }
    emit_main_launch(w, o, &g, unless ? &cleared : NULL);
    emit_finish(w, o, &g, SLOT_X);
    if (g.edge_buffer) {
        line(o, "}");
        line(o, "}");
    }
    emit_finish(w, o, &g, SLOT_Y);
}
