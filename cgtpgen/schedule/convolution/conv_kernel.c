/* emit_cuda_conv.c - the pipelined convolution: one device function a segment, which visits receivers and
 * keeps their rows, the kernel that divides blocks among segments, and the small kernels that finish outputs.
 * See plan_cuda.h for who owns what.
 */
#include "schedule/convolution/conv_emit.h"

#include <string.h>

/* ---- receivers ---- */

/* Calls body for each array of slot g of the segment, outputs or inputs; the path is the first into it. */
static void each_g(struct conv *c, bool outputs,
                   void (*body)(struct conv *, const char *name, const struct path *, int length))
{
    struct source *w = c->w;
    int n = outputs ? w->demand->outputs : w->form->inputs;
    for (int i = 0; i < n; i++) {
        const char *name = outputs ? w->form->output[w->demand->output[i]].name : w->form->input[i].name;
        enum slot slot = outputs ? w->form->output[w->demand->output[i]].slot : w->form->input[i].slot;
        if (slot != SLOT_G || (!outputs && !demand_reads(w->demand, i)))
            continue;
        for (int z = 0; z < c->s->zs; z++) {
            const struct path *path = &w->problem->path[c->s->z[z]];
            body(c, name, path, c->s->channels * (2 * path->l3 + 1));
        }
    }
}

static void declare_g(struct conv *c, const char *name, const struct path *p, int n)
{
    text_printf(c->w->out, "    real %s%d[%d] = {0};\n", name, p->z, n);
}

static void zero_g(struct conv *c, const char *name, const struct path *p, int n)
{
    text_printf(c->w->out, "        CGTP_UNROLL for (int i = 0; i < %d; i++) %s%d[i] = 0;\n", n, name, p->z);
}

/* The columns' factors, applied to an array of slot g. */
static void scale_g(struct conv *c, const char *name, const struct path *p, const char *indent)
{
    struct source *w = c->w;
    const struct matrix *m = own(w)->matrix[p->number];
    for (int k = 0; k < m->columns && m->column; k++) {
        if (m->column[k].sign == 0)
            continue;
        struct text value = {.arena = w->arena}, exact = {.arena = w->arena};
        bool is_float = w->spec->precision == PRECISION_FLOAT32;
        double factor = is_float ? (double)surd_float(m->column[k]) : surd_double(m->column[k]);
        hex_print(&value, factor, is_float);
        surd_print(&exact, m->column[k]);
        if (factor == 1)
            continue;
        for (int v = 0; v < c->s->channels; v++)
            text_printf(w->out, "%s%s%d[%d] *= %s; /* %s */\n", indent, name, p->z, v * m->columns + k,
                        value.s, exact.s);
    }
}

static void load_g(struct conv *c, const char *name, const struct path *p, int n)
{
    struct source *w = c->w;
    const char *at = arena_printf(w->arena, "%s_row + (group * %d + lane) * %d", name, LANES, n);
    text_printf(w->out, "        cgtp_load<%d>(%s%d, %s);\n", n, name, p->z,
                plus_offset(w->arena, at, w->problem->z.segment[p->z].offset));
    scale_g(c, name, p, "        ");
}

static void keep_g(struct conv *c, const char *name, const struct path *p, int n)
{
    text_printf(c->w->out,
                "        CGTP_UNROLL for (int i = 0; i < %d; i++) to[(%d + i) * CGTP_LANES] = %s%d[i];\n", n,
                c->partial_at, name, p->z);
    c->partial_at += n;
}

static void gather_g(struct conv *c, const char *name, const struct path *p, int n)
{
    text_printf(
        c->w->out,
        "                CGTP_UNROLL for (int i = 0; i < %d; i++) %s%d[i] += cgtp_read_other(from + (%d + i) "
        "* CGTP_LANES);\n",
        n, name, p->z, c->partial_at);
    c->partial_at += n;
}

/* Bytes of the segment's array of slot g number `number` in a buffer of the flush. */
static int flushed_bytes(const struct conv *c, int number)
{
    const struct path *p = &c->w->problem->path[c->s->z[number]];
    return LANES * c->s->channels * (2 * p->l3 + 1) * source_size(c->w->plan);
}

/* The output's arrays first .. last - 1 leave through one buffer. */
static void flush_together(struct conv *c, const char *name, int first, int last, int buffer)
{
    struct source *w = c->w;
    int per = 16 / source_size(w->plan), at = buffer * own(w)->flush_bytes;
    text_printf(w->out, "        /* through buffer %d */\n", buffer);
    for (int i = first; i < last; i++) {
        const struct path *p = &w->problem->path[c->s->z[i]];
        int n = c->s->channels * (2 * p->l3 + 1);
        scale_g(c, name, p, "        ");
        text_printf(w->out, "        cgtp_store<%d>((real *)(leave + %d) + lane * %d, %s%d);\n", n, at, n,
                    name, p->z);
        at += flushed_bytes(c, i);
    }
    text_printf(w->out, "        cgtp_sync_warp();\n");
    at = buffer * own(w)->flush_bytes;
    for (int i = first; i < last; i++) {
        const struct path *p = &w->problem->path[c->s->z[i]];
        int pieces = flushed_bytes(c, i) / 16;
        for (int k = 0; k * LANES < pieces; k++) {
            text_printf(w->out, "        ");
            if (pieces - k * LANES < LANES)
                text_printf(w->out, "if (lane < %d)\n            ", pieces - k * LANES);
            text_printf(w->out, "cgtp_put16(%s, leave + %d + lane * 16);\n",
                        plus_offset(w->arena, conv_row(c, name, 2 * p->l3 + 1),
                                    w->problem->z.segment[p->z].offset + k * LANES * per),
                        at + k * LANES * 16);
        }
        at += flushed_bytes(c, i);
    }
}

/* As many arrays at a time as a buffer holds. */
static void emit_flush(struct conv *c)
{
    const struct demand *pass = c->w->demand;
    int buffer = 0;
    for (int o = 0; o < pass->outputs; o++) {
        const struct form_output *f = &c->w->form->output[pass->output[o]];
        if (f->slot == SLOT_G)
            conv_rows(c, "        ", "real", f->name,
                      arena_printf(c->w->arena, "l.%s + row * %lld", f->name,
                                   (long long)c->w->problem->dim[SLOT_G]),
                      SLOT_G);
        for (int first = 0, last = 0; f->slot == SLOT_G && first < c->s->zs; first = last) {
            int bytes = 0;
            while (last < c->s->zs && bytes + flushed_bytes(c, last) <= own(c->w)->flush_bytes)
                bytes += flushed_bytes(c, last++);
            flush_together(c, f->name, first, last, buffer);
            buffer = !buffer;
        }
    }
}

static void emit_segment(struct conv *c)
{
    struct source *w = c->w;
    struct text *out = w->out;
    const struct convolution *g = own(w);
    const char *owner = w->schedule->name, *index = w->spec->index64 ? "int64_t" : "int32_t";
    text_printf(out,
                "/* Segment %d: %d paths, %d channels a lane, warp `group` of %d; one piece of work.%s */\n",
                c->number, c->s->paths, c->s->channels, c->s->groups,
                g->g_outputs ? " slots: where the segment's partial sums begin." : "");
    text_printf(out,
                "template <int nodes>\n"
                "CGTP_DEVICE void %s_segment_%d(const launch &l, const cgtp_work<nodes, %d, %s> &work, "
                "int number, int group, "
                "%sunsigned char *ring,%s\n"
                "                  cgtp_policy stream, cgtp_policy keep)\n{\n",
                owner, c->number, conv_in_team(c) ? c->s->groups : 0, g->g_outputs ? "true" : "false",
                g->g_outputs ? "int64_t slots, " : "", conv_in_team(c) ? " real *exchange," : "");
    text_printf(out,
                "    enum { STAGES = %d, STAGE = %d };\n"
                "    const graph_arrays &graph = l.graph;\n"
                "    const cgtp_piece &piece = *work.piece;\n"
                "    const int lane = cgtp_lane_kept();\n"
                "    cgtp_opening opening = work.open(graph, number);\n"
                "    const int64_t first = opening.first;\n"
                "    const int count = opening.count;\n"
                "    %s senders = 0, next_senders = lane < count ? graph.sender[first + lane] : 0;\n"
                "    work.find(graph, opening);\n"
                "    %s node = (%s)opening.node;\n"
                "    cgtp_address stage = cgtp_address_of(ring); /* the one that is loaded next */\n"
                "    int done = 0;\n",
                g->stages, c->s->stage_bytes, index, index, index);
    if (g->b_outputs || g->g_outputs)
        text_printf(out,
                    "    unsigned char *const leave = ring + STAGES * STAGE; /* rows on their way out */\n");
    conv_load(c);
    if (conv_in_team(c))
        conv_add_up(c);
    each_g(c, true, declare_g);
    each_g(c, false, declare_g);
    if (g->g_outputs) {
        text_printf(out, "    /* Writes the sums as row `row` of the output. */\n    auto flush = "
                         "[&](int64_t row, int lane) {\n");
        if (g->b_outputs)
            text_printf(out, "        cgtp_sync_warp(); /* what the last edge adds has left */\n");
        emit_flush(c);
        text_printf(out,
                    "        cgtp_sync_warp();\n    };\n"
                    "    /* Keeps the sums in the workspace. */\n    auto put_aside = [&](real *to) {\n");
        c->partial_at = 0;
        each_g(c, true, keep_g);
        text_printf(out, "    };\n");
    }
    text_printf(out, "    CGTP_LOOP\n    for (int i = 0; i < STAGES - 1; i++) {\n        if (i < count)\n    "
                     "        load(i, stage, cgtp_lane_anew());\n"
                     "        cgtp_copies_commit();\n"
                     "        stage = cgtp_stage_after<STAGES, STAGE>(stage, ring);\n    }\n"
                     "    work.keep(opening, number);\n");
    text_printf(out, "    CGTP_LOOP\n    for (; node < cgtp_uniform(piece.node_end); node++) {\n"
                     "        if (node %% CGTP_LANES == 0)\n"
                     "            work.go_on(graph, node, first);\n"
                     "        const int full = cgtp_uniform(cgtp_row_end(piece, node)), end = full < count ? "
                     "full : count;\n");
    if (!g->g_outputs)
        text_printf(out, "        if (end == done)\n            continue;\n");
    each_g(c, true, zero_g);
    for (int i = 0; i < w->form->inputs; i++)
        if (w->form->input[i].slot == SLOT_G && demand_reads(w->demand, i))
            text_printf(out, "        const real *const %s_row = cgtp_base(l.%s + (int64_t)node * %lld);\n",
                        w->form->input[i].name, w->form->input[i].name, (long long)w->problem->dim[SLOT_G]);
    each_g(c, false, load_g);
    conv_edges(c);
    if (g->g_outputs) {
        text_printf(out,
                    "        if (piece.continued && node == piece.node) {\n"
                    "            /* the range that began it adds this up */\n"
                    "            const int64_t slot = slots + piece.range * %d + group;\n"
                    "            put_aside(l.partial_%s + slot * PARTIAL_%s + lane);\n"
                    "            cgtp_flag_raise(l.flag_%s + slot);\n"
                    "            continue;\n        }\n"
                    "        if (cgtp_row_end(piece, node) > count) { /* add what the ranges after have, "
                    "in their order */\n"
                    "            CGTP_LOOP\n"
                    "            for (int r = piece.range + 1; work.reaches(graph, node, r); r++) {\n"
                    "                const int64_t slot = slots + r * %d + group;\n"
                    "                cgtp_flag_wait(l.flag_%s + slot);\n"
                    "                const real *const from = l.partial_%s + slot * PARTIAL_%s + lane;\n",
                    c->s->groups, owner, owner, owner, c->s->groups, owner, owner, owner);
        c->partial_at = 0;
        each_g(c, true, gather_g);
        text_printf(out, "            }\n        }\n        flush(node, cgtp_lane_anew());\n    }\n");
        conv_end_edges(c);
        text_printf(out, "}\n\n");
    } else {
        text_printf(out, "    }\n");
        conv_end_edges(c);
        text_printf(out, "}\n\n");
    }
}

/* ---- kernels ---- */

/* Counters of ranges taken: a team takes them together, otherwise each group of channels has its own. */
int conv_takers(const struct convolution *g)
{
    int n = 0;
    for (int s = 0; s < g->segments; s++)
        n += g->exchange ? 1 : g->segment[s].groups;
    return n;
}

static void emit_kernel(struct source *w)
{
    struct text *out = w->out;
    const struct convolution *g = own(w);
    const char *owner = w->schedule->name;
    int taker = g->segments;
    text_printf(
        out,
        "/* nodes: receivers a piece of work (see cgtp_work) */\ntemplate <int nodes>\nCGTP_KERNEL(%d, %d) "
        "%s_%s(const launch l, const cgtp_division<%d> division)\n{\n    CGTP_SHARED(shared);\n"
        "    cgtp_launch_wait();\n"
        "    int index;\n    const int segment = cgtp_place(division, l.counters_%s, %d, index);\n"
        "    const int warp = index * %d + cgtp_warp();\n"
        "    unsigned char *const ring = shared + cgtp_warp() * %d;\n"
        "    const cgtp_policy stream = cgtp_policy_stream(), keep = cgtp_policy_keep();\n",
        g->warps * LANES, g->blocks, w->form->name, owner, g->segments, owner, conv_takers(g), g->warps,
        g->warp_bytes);
    for (int s = 0; s < g->segments; s++) {
        int groups = g->segment[s].groups;
        const char *mail = "NULL", *exchange = "";
        const char *taken = arena_printf(w->arena, "l.counters_%s + %d%s", owner, taker,
                                         g->exchange || groups == 1 ? "" : " + group");
        if (g->exchange) {
            mail = arena_printf(w->arena, "(int *)(shared + %d) + cgtp_warp() / %d", g->block_bytes - 16,
                                groups);
            exchange = arena_printf(w->arena, "(real *)(shared + %d) + cgtp_warp() / %d * %d, ",
                                    g->warps * g->warp_bytes, groups, groups * 2 * TEAM_ITEMS * g->a_length);
        }
        text_printf(out,
                    "    %sif (segment == %d && warp / %d < division.warps[%d]) {\n"
                    "        const int group = warp %% %d;\n"
                    "        cgtp_work<nodes, %d, %s> work(division, %d, (cgtp_piece *)(ring + %d));\n"
                    "        for (int number = work.start(l.graph, warp / %d, %s, %s); number >= 0;\n"
                    "             number = work.next(l.graph, %s, %s))\n"
                    "            %s_segment_%d(l, work, number, group, ",
                    s ? "else " : "", s, groups, s, groups, g->exchange ? groups : 0,
                    g->g_outputs ? "true" : "false", s, g->piece_at, groups, taken, mail, taken, mail, owner,
                    s);
        taker += g->exchange ? 1 : groups;
        if (g->g_outputs)
            text_printf(out, "division.slot[%d], ", s);
        text_printf(out, "ring, %sstream, keep);\n    }\n", exchange);
    }
    text_printf(out, "}\n\n");
}

void conv_kernels(struct source *w)
{
    const struct convolution *g = own(w);
    int longest = 0;
    for (int s = 0; s < g->segments; s++)
        longest = longest > g->segment[s].g_length ? longest : g->segment[s].g_length;
    if (g->g_outputs)
        text_printf(
            w->out,
            "enum { PARTIAL_%s = %d }; /* elements that a warp puts aside for a receiver it shares */\n\n",
            w->schedule->name, longest * LANES);
    for (int s = 0; s < g->segments; s++) {
        struct conv c = {.w = w, .s = &g->segment[s], .number = s};
        emit_segment(&c);
    }
    emit_kernel(w);
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct form_output *f = &w->form->output[w->demand->output[o]];
        if (f->slot == SLOT_X && g->edge_buffer)
            conv_gather(w, f);
        if (f->slot == SLOT_Y && g->part_buffer)
            conv_parts_sum(w, f);
    }
}
