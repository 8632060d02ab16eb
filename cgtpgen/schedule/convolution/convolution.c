/* convolution.c - the pipelined convolution's row in the table of a GPU: see conv_plan.h. */
#include "schedule/convolution/conv_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/report.h"

/* Places for partial sums of a launch, as a C expression (see cgtp_slots). */
static const char *partial_slots(struct arena *a, const struct convolution *g)
{
    int least = 0; /* blocks that it takes to give each segment's channels a warp */
    for (int s = 0; s < g->segments; s++)
        least += (g->segment[s].groups + g->warps - 1) / g->warps;
    return arena_printf(a, "cgtp_slots(%d, %d, %d)", g->blocks, g->warps, least);
}

static const char *counters(struct arena *a, const struct convolution *g)
{
    return arena_printf(a, "cgtp_counters(%d, %d, cgtp_multiprocessors())", g->segments, conv_takers(g));
}

static void areas(struct areas *all, const struct schedule *s)
{
    const struct convolution *g = s->own;
    struct arena *a = all->arena;
    areas_add_counted(all, "unsigned", arena_printf(a, "counters_%s", s->name), counters(a, g), 1);
    if (g->g_outputs) {
        int longest = 0;
        for (int i = 0; i < g->segments; i++)
            longest = longest > g->segment[i].g_length ? longest : g->segment[i].g_length;
        const char *slots = partial_slots(a, g);
        areas_add_counted(all, "unsigned", arena_printf(a, "flag_%s", s->name), slots, 1);
        areas_add_counted(all, "real", arena_printf(a, "partial_%s", s->name), slots, 32LL * longest);
    }
    for (int o = 0; o < s->demand->outputs; o++) {
        const char *name = demand_output(s->demand, o)->name;
        if (s->route[o].kind == ROUTE_EDGE_BUFFER)
            areas_add(all, "real", arena_printf(a, "%s_edges", name), INDEX_ITEM, g->edge_row);
        if (s->route[o].kind == ROUTE_PARTS)
            areas_add(all, "real", arena_printf(a, "%s_parts", name), INDEX_ITEM,
                      g->parts * s->demand->plan->problem->dim[SLOT_Y]);
    }
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    *receiver_row = true;
    for (int o = 0; o < s->demand->outputs; o++)
        *by_sender |= s->route[o].kind == ROUTE_EDGE_BUFFER;
}

/* Does the kernel write every element of a row of slot g, where it has edges? */
static bool covers_rows(const struct schedule *s)
{
    const struct convolution *g = s->own;
    const struct problem *problem = s->demand->plan->problem;
    int64_t written = 0;
    for (int i = 0; i < g->segments; i++)
        for (int z = 0; z < g->segment[i].zs; z++) {
            const struct path *p = &problem->path[g->segment[i].z[z]];
            written += (int64_t)p->mul_z * (2 * p->l3 + 1);
        }
    return written == problem->dim[SLOT_G];
}

static void launch_clear(struct source *w)
{
    const struct schedule *s = w->schedule;
    const struct convolution *g = s->own;
    struct cleared clear = {.arena = w->arena};
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct form_output *f = demand_output(w->demand, o);
        const char *rows = source_rows(w->plan, source_index(w, f->slot));
        int64_t dim = source_dim(w, f->slot);
        if (s->route[o].kind == ROUTE_FIXED_UP && covers_rows(s))
            cleared_add(&clear, f->name, arena_printf(w->arena, "graph->items ? 0 : %s", rows), dim, "real");
        else if (s->route[o].kind == ROUTE_FIXED_UP || route_facts[s->route[o].kind].cleared)
            cleared_add(&clear, f->name, rows, dim, "real");
    }
    cleared_add(&clear, arena_printf(w->arena, "l.counters_%s", s->name), counters(w->arena, g), 1,
                "unsigned");
    if (g->g_outputs)
        cleared_add(&clear, arena_printf(w->arena, "l.flag_%s", s->name), partial_slots(w->arena, g), 1,
                    "unsigned");
    source_clear(w, &clear);
}

static void launch(struct source *w, const struct schedule *s)
{
    const struct convolution *g = s->own;
    struct text *out = w->out;
    source_set(w, s);
    launch_clear(w);
    text_printf(out, "    if (graph->items) {\n        static const int work[] = {");
    for (int i = 0; i < g->segments; i++)
        text_printf(out, "%s%d", i ? ", " : "", g->segment[i].work);
    text_printf(out, "}, groups[] = {");
    for (int i = 0; i < g->segments; i++)
        text_printf(out, "%s%d", i ? ", " : "", g->segment[i].groups);
    text_printf(
        out,
        "};\n        const auto division = cgtp_divide<%d>(cgtp_multiprocessors(), %d, %d, graph->items, "
        "work, groups, %s);\n"
        "        const int nodes = cgtp_piece_nodes(graph->items, graph->receivers);\n"
        "        if ((status = cgtp_launch_early(nodes ? %s_%s<CGTP_FEW_NODES> : %s_%s<0>,\n"
        "                                        cgtp_division_blocks(division), %d, %d, stream, l, "
        "division)))\n"
        "            return status;\n    }\n",
        g->segments, g->blocks, g->warps, g->g_outputs ? "true" : "false", w->form->name, s->name,
        w->form->name, s->name, g->warps * LANES, g->block_bytes);
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct form_output *f = demand_output(w->demand, o);
        if (s->route[o].kind == ROUTE_EDGE_BUFFER)
            source_step(
                w, arena_printf(w->arena,
                                "cgtp_launch_early(%s_gather, graph->senders * %lld, 128, 0, stream, l)",
                                f->name, (source_dim(w, SLOT_X) * source_size(w->plan) / 16 + 127) / 128));
        if (s->route[o].kind == ROUTE_PARTS)
            source_step(w,
                        arena_printf(
                            w->arena,
                            "cgtp_launch_early(%s_sum, (graph->items * %lld + 255) / 256, 256, 0, stream, l)",
                            f->name, source_dim(w, SLOT_Y)));
    }
}

static void device(struct source *w, const struct schedule *s)
{
    source_set(w, s);
    conv_kernels(w);
}

static void check_segment(struct checker *c, const struct schedule *s, int number)
{
    const struct convolution *g = s->own;
    const struct gpu_segment *q = &g->segment[number];
    for (int i = 0; i < q->pieces; i++) {
        check_that(c, q->piece[i].at % 16 == 0,
                   "segment %d: slice %d of a stage begins at %d, no multiple of 16", number, i,
                   q->piece[i].at);
        check_that(c, q->piece[i].at + q->piece[i].bytes <= q->stage_bytes,
                   "segment %d: slice %d of a stage goes beyond its end", number, i);
        for (int j = 0; j < i; j++)
            check_that(c,
                       q->piece[i].at >= q->piece[j].at + q->piece[j].bytes ||
                           q->piece[j].at >= q->piece[i].at + q->piece[i].bytes,
                       "segment %d: slices %d and %d of a stage overlap", number, j, i);
    }
    check_that(c, !g->b_outputs || q->sender_at + 8 <= q->stage_bytes, "segment %d: no room for the sender",
               number);
    check_that(c, !g->g_outputs || q->longest <= g->flush_bytes,
               "segment %d: a row of %d bytes does not fit its buffer of %d", number, q->longest,
               g->flush_bytes);
    check_that(c, g->stages * q->stage_bytes <= g->piece_at, "segment %d: %d stages go beyond the ring",
               number, g->stages);
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct convolution *g = s->own;
    for (int p = 0; p < s->demand->plan->problem->paths; p++) {
        int times = 0;
        for (int i = 0; i < g->segments; i++)
            for (int k = 0; k < g->segment[i].paths; k++)
                times += g->segment[i].path[k] == p;
        check_that(c, times == (s->demand->variant_of[p] >= 0), "path %d is in %d segments", p, times);
    }
    check_that(c, g->stages >= 2, "a ring of %d stages", g->stages);
    check_that(c, g->warps * g->warp_bytes <= g->block_bytes, "%d warps do not fit a block", g->warps);
    for (int i = 0; i < g->segments; i++)
        check_segment(c, s, i);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct convolution *g = s->own;
    report_number(r, "stages", g->stages);
    report_number(r, "warps_per_block", g->warps);
    report_number(r, "blocks_per_multiprocessor", g->blocks);
    report_number(r, "shared_bytes_per_block", g->block_bytes);
    report_number(r, "registers_most", device_registers(g->device, g->blocks * g->warps));
    report_flag(r, "edge_buffer", g->edge_buffer);
    for (int i = 0; i < g->segments; i++) {
        const struct gpu_segment *q = &g->segment[i];
        struct report *record = report_record(r, "segments", "segment");
        report_list(record, "paths", q->paths, q->path);
        report_number(record, "channels", q->mul);
        report_number(record, "channels_per_lane", q->channels);
        report_number(record, "groups", q->groups);
        report_number(record, "registers", q->registers);
        report_number(record, "stage_bytes", q->stage_bytes);
        report_number(record, "instructions_per_edge", q->work);
    }
}

const struct evaluation convolution_evaluation = {
    .name = "convolution",
    .words = "pipelined convolution",
    .refuses = conv_refuses,
    .refuses_path = conv_refuses_path,
    .plan = conv_plan,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = launch,
    .report = report,
};
