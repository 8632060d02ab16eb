/* conv_kernel.c - the pipelined convolution: for each path set a function that visits the receivers of a
 * tile and keeps their rows; the kernel that gives blocks to path sets; the small kernels that finish
 * outputs.
 */
#include "schedule/convolution/conv_emit.h"
#include "schedule/path.h"
#include "schedule/program.h"
#include "schedule/report.h"

#include <string.h>

/* Is the set's function told which set it computes? */
static bool takes_which(const struct conv *c)
{
    return c->alike > 1 &&
           (demand_outputs_of(c->w->demand, SLOT_G) || demand_inputs_of(c->w->demand, SLOT_G));
}

/* Numbers that the set's warps have ahead, by name: of edges' senders, of their rows. */
static int numbers_ahead(const struct conv *c, const char *name[2])
{
    int n = 0;
    if (edges_need_senders(c->p))
        name[n++] = "senders";
    if (c->p->walk.orders)
        name[n++] = "order";
    return n;
}

/* before name after, for each of them */
static const char *of_numbers_ahead(const struct conv *c, const char *before, const char *after)
{
    struct text list = {.arena = c->w->arena};
    const char *name[2];
    for (int i = 0, n = numbers_ahead(c, name); i < n; i++)
        text_printf(&list, "%s%s%s", before, name[i], after);
    return text_string(&list);
}

static const char *index_type(const struct source *w)
{
    return w->spec->index64 ? "int64_t" : "int32_t";
}

/* The type of what hands out the set's tiles. */
static const char *scheduler_of(const struct conv *c)
{
    return arena_printf(c->w->arena, "cgtp_tile_scheduler<nodes, %d, %s%s>", c->g.reduces ? c->blocks : 0,
                        c->p->walk.shares ? "true" : "false", c->p->walk.many ? ", true" : "");
}

/* The type of the numbers of edges that it asks for ahead. */
static const char *ahead_of(const struct conv *c)
{
    return arena_printf(c->w->arena, "cgtp_ahead<%s%s>", index_type(c->w), c->p->walk.many ? ", true" : "");
}

static void emit_set_head(struct conv *c)
{
    const bool shares = c->p->walk.shares;
    const char *ahead = arena_printf(c->w->arena, "%s &", ahead_of(c));
    if (c->number)
        line(c->o, "/* Path set %d: the same. */", c->number);
    else
        line(c->o, "/* Path set 0: the edges of tile `number`, for one channel block.%s */",
             shares ? " partial_row: the set's first." : "");
    line(c->o, "template <int nodes>");
    line(c->o,
         "CGTP_DEVICE void %s_%d(const launch &l, const %s &tiles, int "
         "number, "
         "int channel_block, %swarp_%d &own, %s%s%scgtp_policy stream, cgtp_policy keep)",
         c->g.name, c->number, scheduler_of(c), takes_which(c) ? "int which, " : "", c->label,
         c->g.reduces ? arena_printf(c->w->arena, "%s &sums, ", c->p->group[SUMS].layout.name) : "",
         shares ? "int64_t partial_row, " : "", of_numbers_ahead(c, ahead, ", "));
    line(c->o, "{");
}

/* What calls of paths' codes are said to be above them. */
static void note_calls(struct conv *c)
{
    int last = -1;
    for (int i = 0; i < c->p->steps; i++) {
        struct call *call = c->p->step[i].call;
        if (!call || call->path < 0)
            continue;
        call->note = call->path == last ? NULL : conv_words(c, call);
        last = call->path;
    }
}

/* From a warp of a team to the next, which has the same channel block. */
static const char *team_step(const struct conv *c)
{
    struct arena *a = c->w->arena;
    const char *type = c->g.sets > 1 ? arena_printf(a, "%s_warp", c->g.name) : "own";
    return arena_printf(a, "%s(int)(sizeof(%s) / sizeof(real))",
                        c->g.reduces && c->blocks > 1 ? arena_printf(a, "%d * ", c->blocks) : "", type);
}

static void emit_set(struct conv *c)
{
    const struct print_words words = {.name = c->g.name,
                                      .label = c->label,
                                      .index = index_type(c->w),
                                      .real = c->w->spec->compute,
                                      .first = c->number == 0,
                                      .alike = c->alike,
                                      .step = c->p->walk.teams ? team_step(c) : NULL};
    note_calls(c);
    emit_set_head(c);
    pipeline_print_edges(c->o, c->p, &words);
    line(c->o, "}");
    blank(c->o);
}

/* ---- kernels ---- */

/* The launch as a loop sees it that computes several sets: arrays begin where the set has its parts of them.
 */
static void emit_moved_launch(struct conv *c)
{
    line(c->o, "launch at = l;%s",
         c->number ? "" : " /* with arrays that begin where the set has its parts */");
    for (int i = 1; i < c->alike; i++) {
        const struct conv other = conv_after(c, i);
        const char *moves = conv_move(c, &other);
        if (!*moves)
            continue;
        line(c->o, "if (which == %d)", i);
        line(c->o, "%s;", moves);
    }
}

/* The body of the kernel for a block that computes path set s. */
static void emit_block_of_set(struct conv *c)
{
    struct source *w = c->w;
    struct out *o = c->o;
    const struct conv_kernel *g = &c->g;
    const bool shares = c->p->walk.shares;
    const int blocks = c->blocks;
    const bool placed = blocks > 1 && c->p->walk.teams && !g->reduces;
    const bool several = g->sets > 1, many = c->p->walk.many; /* of many it is asked again which warp it is */
    const char *of_block = many && g->warps % blocks == 0 ? "cgtp_warp()" : "warp";
    const char *channel_block =
        placed ? arena_printf(w->arena, "unit %% %d", blocks) : modulo(w->arena, of_block, blocks);
    const char *own_group = divided(w->arena, "cgtp_warp()", blocks);
    const char *begin = placed ? arena_printf(w->arena, "unit / %d * team + warp %% team", blocks)
                               : divided(w->arena, many ? "begin" : "warp", blocks);
    if (several && (blocks > 1 || !many))
        begin = arena_printf(w->arena, "%s ? -1 : %s", many ? "begin < 0" : "helps", begin);
    const char *member = several ? arena_printf(w->arena, ".set%d", c->number) : "";
    const char *set = c->alike > 1 ? "set" : arena_printf(w->arena, "%d", c->number);
    if (c->alike > 1) {
        line(o, "const int which = set - %d;", c->number);
        emit_moved_launch(c);
    }
    if (several) /* what follows from it is then not kept through the loops of others */
        line(o, "warp_%d &own = *(warp_%d *)cgtp_pinned_shared((unsigned char *)&block.warp[%s]);", c->label,
             c->label, many ? "cgtp_uniform(cgtp_warp())" : "cgtp_warp()");
    else
        line(o, "warp_%d &own = block.warp[cgtp_warp()]%s;", c->label, member);
    if (placed) /* warps of a team have one channel block, others those of one edge */
        line(o, "const int team = nodes < 0 ? partition.team[%s] : 1, unit = warp / team;", set);
    if (blocks > 1 && several) {
        line(o, "const int channel_block = cgtp_uniform(%s);", channel_block);
        channel_block = "channel_block";
    }
    const char *slot = g->reduces ? arena_printf(w->arena, "block.broadcast + %s", own_group) : "NULL";
    line(o, "const %s tiles(partition, %s, &own.tile, l.counters_%s, %s);", scheduler_of(c), set, g->name,
         g->reduces ? "0" : channel_block);
    const char *name[2];
    for (int i = 0, n = numbers_ahead(c, name); i < n; i++)
        line(o, "%s %s;", ahead_of(c), name[i]);
    line(o, "for (int t = tiles.start(l.graph, %s, %s); t >= 0; t = tiles.next(l.graph, %s))", begin, slot,
         slot);
    line(o, "%s_%d(%s, tiles, t, %s, %sown, %s%s%sstream, keep);", g->name, c->number,
         c->alike > 1 ? "at" : "l", channel_block, takes_which(c) ? "which, " : "",
         g->reduces ? arena_printf(w->arena, "block.reduce%s[%s], ", g->one_reduce ? "" : member, own_group)
                    : "",
         shares ? arena_printf(w->arena, "partition.partial_row[%s], ", set) : "",
         of_numbers_ahead(c, "", ", "));
}

/* The rows of slot z's outputs of receivers without edges, unless all rows are cleared before. */
static const char *lone_rows(const struct conv *first)
{
    const struct source *w = first->w;
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *f = demand_operand(w->demand, i);
        const char *type = source_held(w->plan, f);
        if (f->slot == SLOT_G && program_covers(w->schedule, f))
            text_printf(&list, "%scgtp_lone_rows{l.%s, %lld * (int64_t)sizeof(%s), %s * (int64_t)sizeof(%s)}",
                        list.n ? ", " : "", f->array, source_dim(f), type, source_stride(w, f), type);
    }
    return list.n ? text_string(&list) : NULL;
}

/* A block computes its own path set; then, while tiles of others are left, these. */
static void emit_sets(struct conv *first)
{
    struct out *o = first->o;
    const struct conv_kernel *g = &first->g;
    const bool many = first->p->walk.many;
    line(o, "%s; /* %sanother path set than its own */", many ? "int begin = warp" : "bool helps = false",
         many ? "negative: it helps " : "");
    line(o, "CGTP_LOOP");
    line(o, "do {");
    for (int s = 0, next; s < g->sets; s = next) {
        struct conv c = conv_after(first, s);
        next = s + c.alike;
        if (c.alike > 1)
            line(o, "%sif (set >= %d && set < %d) {", s ? "} else " : "", s, next);
        else
            line(o, "%sif (set == %d) {", s ? "} else " : "", s);
        emit_block_of_set(&c);
    }
    line(o, "}");
    line(o, "%s;", many ? "begin = -1" : "helps = true");
    line(o, "set = cgtp_set_to_help<nodes>(partition, l.counters_%s, l.graph.receivers);", g->name);
    line(o, "} while (set >= 0);");
}

/* Are there path sets that read parts of lines of which others read the rest, at other times? */
static bool shares_lines(const struct conv_kernel *g)
{
    bool parts = false;
    for (const struct pipeline *p = g->first; p && g->sets > 1; p = p->next)
        for (int i = 0; i < p->spreads; i++)
            parts |= p->spread[i].mul % p->worker.lanes != 0;
    return parts;
}

static void emit_kernel(struct conv *first)
{
    struct out *o = first->o;
    const struct conv_kernel *g = &first->g;
    const int threads = g->warps * first->p->worker.lanes;
    const bool shares = first->p->walk.shares;
    const struct layout *block = &first->p->of_block;
    int least = 0, predicted = 0;
    for (const struct pipeline *p = g->first; p; p = p->next) {
        least = least > p->registers.least ? least : p->registers.least;
        predicted = predicted > p->registers.taken ? predicted : p->registers.taken;
    }
    line(o,
         "/* %s: blocks of %d threads, %d per multiprocessor, each with %d bytes of dynamic shared memory; "
         "as many as the "
         "device holds at a time, on small ones in several waves. Predicted are %d registers per thread, of "
         "which it needs %d. No "
         "wait lasts "
         "for ever: a warp waits for its own copies, for the warps of its group, which take the same tiles, "
         "and for "
         "%s. nodes: receivers per tile (see cgtp_tile_scheduler). */",
         g->name, threads, g->blocks, block->bytes, predicted, least,
         shares
             ? "signals of tiles after its own, which were taken before by warps that run or have ended; the "
               "last tile waits for none"
             : "no other warp");
    line(o, "template <int nodes>");
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l, const cgtp_partition<%d> partition)", threads, g->blocks,
         g->name, g->sets);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s_block &block = *(%s_block *)shared;", g->name, g->name);
    line(o, "cgtp_launch_wait();");
    const char *lone = lone_rows(first);
    if (lone)
        line(o, "const cgtp_lone_receivers lone(l.graph, %d);", g->warps);
    const char *policies = arena_printf(
        first->w->arena, "const cgtp_policy stream = cgtp_policy_%s(), keep = cgtp_policy_keep();",
        shares_lines(g) ? "parts" : "stream");
    if (g->sets == 1) {
        line(o, "const int warp = %s * %d + cgtp_warp();",
             shares ? arena_printf(first->w->arena, "cgtp_block_order<nodes>(l.counters_%s)", g->name)
                    : "(int)cgtp_block()",
             g->warps);
        if (lone)
            line(o, "lone.clear(%s);", lone);
        line(o, "%s", policies);
        emit_block_of_set(first);
    } else {
        line(o, "int order;");
        line(o, "int set = cgtp_block_slot<nodes>(partition, l.counters_%s, %d, order);", g->name,
             conv_queues(g));
        line(o, "const int warp = order * %d + cgtp_warp();", g->warps);
        if (lone)
            line(o, "lone.clear(%s);", lone);
        line(o, "%s", policies);
        emit_sets(first);
    }
    line(o, "}");
    blank(o);
}

/* The layout; what it is is said of the first path set's. */
static void emit_layout_of_set(struct out *o, struct layout l, int set)
{
    if (set)
        l.note = NULL;
    layout_print(o, &l);
}

/* Names the structs of a schedule's shared memory, and writes them. */
static void emit_layouts(struct conv *first)
{
    struct arena *a = first->w->arena;
    struct conv_memory m;
    int label = first->label;
    for (struct pipeline *p = first->g.first; p; label += p->sets, p = p->next) {
        p->group[RING].layout.name = arena_printf(a, "stage_%d", label);
        p->of_warp.name = arena_printf(a, "warp_%d", label);
        p->group[SUMS].layout.name = arena_printf(a, "reduce_%d", first->g.one_reduce ? first->label : label);
        emit_layout_of_set(first->o, p->group[RING].layout, label - first->label);
        emit_layout_of_set(first->o, p->of_warp, label - first->label);
        if (first->g.reduces && (label == first->label || !first->g.one_reduce))
            emit_layout_of_set(first->o, p->group[SUMS].layout, label - first->label);
    }
    conv_memory(a, first->g.first, &m);
    m.warp.name = arena_printf(a, "%s_warp", first->g.name);
    m.reduce.name = arena_printf(a, "%s_reduce", first->g.name);
    m.block.name = arena_printf(a, "%s_block", first->g.name);
    if (first->g.sets > 1)
        layout_print(first->o, &m.warp);
    if (first->g.sets > 1 && first->g.reduces && !first->g.one_reduce)
        layout_print(first->o, &m.reduce);
    layout_print(first->o, &m.block);
}

void conv_kernels(struct source *w, int label)
{
    struct out o = {.text = w->out};
    struct conv c = conv_first(w, &o, label);
    product_functions_begin(w->arena, &w->functions);
    emit_layouts(&c);
    if (c.p->walk.shares) {
        line(
            &o,
            "/* Elements of a partial row: a warp's sums of a receiver whose edges are in several tiles. */");
        line(&o, "enum { PARTIAL_%s = %d };", c.g.name, conv_partial_bytes(w->schedule, c.p) / c.p->size);
        blank(&o);
    }
    device_path_note(&o);
    for (int s = 0; s < c.g.sets;) {
        struct conv set = conv_after(&c, s);
        s += set.alike;
        program_functions(w, &o, set.p);
        conv_tables(&set);
        emit_set(&set);
    }
    emit_kernel(&c);
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct form_output *f = &w->form->output[w->demand->output[i]];
        if (f->slot == SLOT_X && c.g.edge_buffer)
            conv_gather(&c, f);
        if (f->slot == SLOT_Y && c.g.part_buffer)
            conv_parts_sum(&c, f);
    }
}
