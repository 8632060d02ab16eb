/* conv_plan.c - see conv_plan.h. */
#include "schedule/convolution/conv_program.h"
#include "pipeline/build.h"
#include "schedule/path.h"
#include "schedule/path_table.h"

#include <limits.h>
#include <string.h>

enum {
    ADDED_PARTS = 4,     /* from so many parts on atomics are faster than a buffer and a second kernel */
    BUFFER_BYTES = 4096, /* most of a buffer through which rows of z leave */
    FLIGHT_BYTES =
        64 << 10, /* of copies under way on a multiprocessor, from which on that buffer gets the memory */
    PATHS_MOST = 1024, /* each is code of its own: compilers take a minute for these */
    FEW_INSTRUCTIONS =
        12 << 10, /* of all loops of a kernel that has a second one for few edges per receiver */
    TEAM_INSTRUCTIONS = 6 << 10, /* of several path sets, where they have a third one for small graphs */
    TILE_SHARE = 500 /* a path set's time per edge from which on one receiver is enough for a tile */
};

/* ---- what can the convolution compute? ---- */

/* How an output may leave. */
static int routes_offered(enum slot s, int parts, bool grouped, enum route_kind offered[2])
{
    if (s == SLOT_X) {
        offered[0] = ROUTE_ATOMIC;
        offered[1] = ROUTE_EDGE_BUFFER;
        return 2;
    }
    if (s == SLOT_Y && parts > 1) {
        offered[parts < ADDED_PARTS] = ROUTE_ATOMIC;
        offered[parts >= ADDED_PARTS] = ROUTE_PARTS;
        return 2;
    }
    offered[0] = s == SLOT_G ? ROUTE_FIXED_UP : s == SLOT_Y && grouped ? ROUTE_GROUP_SUM : ROUTE_ITEM;
    offered[1] = ROUTE_OWNED_ROW;
    return s == SLOT_G ? 2 : 1;
}

const char *conv_refuses(const struct target *target, const struct demand *d)
{
    const struct problem *p = d->plan->problem;
    const struct spec *s = p->spec;
    if (s->index[SLOT_X] != INDEX_SENDER || s->index[SLOT_Y] != INDEX_ITEM ||
        s->index[SLOT_G] != INDEX_RECEIVER)
        return "not a convolution (x sender, y item, z receiver)";
    if (p->paths > PATHS_MOST)
        return "more than 1024 paths";
    if (paths_want_tables(target, d))
        return "paths by tables";
    if (p->weight_numel && s->index[SLOT_W] != INDEX_ITEM)
        return "weights not of the edge";
    for (int o = 0; o < d->outputs; o++)
        if (precision_table[demand_operand(d, o)->held].bytes > kernel_size(d->kernel))
            return "sums of a wider type than arithmetic into rows of another";
    return NULL;
}

const char *conv_refuses_path(const struct target *target, const struct demand *d, const struct path *q)
{
    (void)target;
    if (q->mode != MODE_UVU)
        return "not uvu";
    if (d->plan->path[q->number].a != SLOT_Y)
        return "many channels of y, whose products of x and z come first";
    const bool by_component = d->plan->problem->spec->layout[SLOT_Y] == LAYOUT_IR_MUL;
    return by_component && q->mul_y > 1 && q->l2 > 0 ? "channels of y by component" : NULL;
}

/* The same with the sets: chunks of edges side by side do not overlap, and those of the buffer of edges. */
static void align_sets(struct convolution *g)
{
    const struct problem *p = g->demand->plan->problem;
    for (int i = 0; i < g->sets; i++)
        for (int s = 0; s < SLOT_COUNT && g->set[i].lanes < LANES; s++)
            for (int k = 0; k < g->set[i].parts; k++)
                align_to(&g->aligned[s], conv_width(&g->set[i], g->set[i].part[k]));
    g->aligned_edges = g->aligned[SLOT_X];
    align_to(&g->aligned_edges, g->edge_row);
    for (int i = 0; i < g->sets; i++) {
        int64_t at = g->set[i].edge_at;
        for (int x = 0; x < g->set[i].xs; x++) {
            align_to(&g->aligned_edges, at);
            at += p->x.segment[g->set[i].x[x]].mul * (2 * p->x.segment[g->set[i].x[x]].ir.l + 1);
        }
    }
}

/* Does an output of the slot leave in this way, where it is summed from so many parts? */
static bool leaves_by(const struct spec *s, enum slot slot, int parts, enum route_kind kind)
{
    enum route_kind offered[2];
    struct route route;
    int n = routes_offered(slot, parts, false, offered);
    return route_choose(s, s->index[slot], n, offered, &route) && route.kind == kind;
}

/* Is there a kernel of its own for small graphs? */
static void choose_teams(struct convolution *g)
{
    g->teams = g->may_team && g->hands_over;
    for (int i = 0; i < g->sets; i++)
        g->teams &=
            (!g->reduces || g->warps % g->set[i].channel_blocks == 0) && conv_team_fits(g, &g->set[i]);
}

/* What is written of a set, as one of those that its pipeline computes. */
static void add_set(const struct path_set *s, struct pipeline *p)
{
    build_set(p, s->paths, s->path);
    struct path_list *q = &p->set[p->sets - 1];
    q->zs = s->zs;
    q->z = s->z;
    q->xs = s->xs;
    q->x = s->x;
    q->edge_at = s->edge_at;
    q->part_at = s->part_at;
    q->sums = s->g_length;
}

/* Shared memory of a block, whichever sets it computes. */
static void lay_out_sets(struct arena *a, struct convolution *g)
{
    struct conv_memory *m = NEW(a, struct conv_memory);
    struct pipeline *last = NULL;
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        if (s->like == i) {
            conv_places(a, g, s);
            if (last)
                last->next = s->pipeline;
            last = s->pipeline;
        }
        add_set(s, last);
    }
    conv_memory(a, g->set[0].pipeline, m);
    for (struct pipeline *p = g->set[0].pipeline; p; p = p->next)
        p->of_block = m->block;
    g->block_bytes = m->block.bytes;
}

/* Stages of a set's ring in so many bytes, which another set's takes: the smaller they are, the sooner each
 * of its edges is done. */
static int stages_in(int bytes, const struct path_set *s)
{
    enum { STAGES_MOST = 8 };
    const int stages = bytes / conv_stage_bytes(s);
    return stages < STAGES_MOST ? stages : STAGES_MOST;
}

/* Shared memory of a block, and where everything is; without warp groups, each warp has a part of its own of
 * an A output. */
static void lay_out_block(struct arena *a, const struct plan *plan, const struct kernel_form *k,
                          struct convolution *g, const struct conv_choice *c, int shared)
{
    const struct problem *p = plan->problem;
    int stage = 0, least = INT_MAX, longest = 0, all = 0, x_out = 0;
    bool several = false;
    g->parts = g->edge_row = g->a_length = 0;
    for (int i = 0; i < g->sets; i++) {
        g->grouped &= g->warps % g->set[i].channel_blocks == 0 && g->set[i].lanes == LANES;
        several |= g->set[i].channel_blocks > 1;
    }
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        s->stages = 2; /* as long as nothing else is known */
        if (s->like == i) {
            conv_places(a, g, s);
        } else {
            s->pipeline = g->set[s->like].pipeline;
            s->lane = g->set[s->like].lane;
        }
        stage = stage > conv_stage_bytes(s) ? stage : conv_stage_bytes(s);
        least = least < conv_stage_bytes(s) ? least : conv_stage_bytes(s);
        longest = longest > s->longest ? longest : s->longest;
        x_out = x_out > s->x_bytes ? x_out : s->x_bytes;
        all = all > s->g_length ? all : s->g_length;
        s->part_at = g->parts;
        g->parts += g->grouped ? 1 : s->channel_blocks;
        s->edge_at = g->edge_row;
        for (int x = 0; x < s->xs; x++)
            g->edge_row += p->x.segment[s->x[x]].mul * (2 * p->x.segment[s->x[x]].ir.l + 1);
    }
    g->part_buffer = g->a_outputs && g->parts > 1 && leaves_by(p->spec, SLOT_Y, g->parts, ROUTE_PARTS);
    for (int o = 0; o < g->demand->outputs; o++)
        if (k->output[g->demand->output[o]].slot == SLOT_Y)
            g->a_length += (int)p->dim[SLOT_Y];
    g->reduces = g->grouped && (several || (g->parts > 1 && !g->part_buffer));
    int lanes_sums = 0;
    for (int i = 0; i < g->sets; i++) {
        int bytes = conv_sums_bytes(g, &g->set[i]);
        lanes_sums = lanes_sums > bytes ? lanes_sums : bytes;
    }
    int sums = g->a_length * kernel_size(g->demand->kernel) + (g->orders ? 8 : 0);
    int reduce = g->reduces ? 2 * REDUCE_ITEMS * sums : 0;
    int leave = g->g_outputs && 2 * longest > x_out ? 2 * longest : x_out;
    leave = leave > lanes_sums ? leave : lanes_sums;
    int kept = 0;
    for (int i = 0; i < g->sets; i++)
        kept = kept > conv_kept_bytes(g, &g->set[i]) ? kept : conv_kept_bytes(g, &g->set[i]);
    leave += kept;
    int room = shared / g->blocks - BLOCK_ROOM - g->warps * (leave + TILE_ROOM + reduce);
    g->stages = c->stages ? c->stages : 4;
    while (g->stages > 2 && g->stages * stage * g->warps > room)
        g->stages--;
    if (!c->stages && g->g_outputs && !g->b_outputs)
        while (g->stages > 3 && (g->stages - 2) * least * g->warps * g->blocks >= FLIGHT_BYTES)
            g->stages--;
    while (g->blocks > 1 && g->stages * stage * g->warps > room) {
        g->blocks--;
        room = shared / g->blocks - BLOCK_ROOM - g->warps * (leave + TILE_ROOM + reduce);
    }
    for (int i = 0; i < g->sets; i++)
        g->set[i].stages = c->stages ? g->stages : stages_in(g->stages * stage, &g->set[i]);
    /* what is left goes to the flush, up to some KiB: rows leave several paths at a time */
    all *= g->device->lanes * kernel_size(g->demand->kernel);
    if (g->g_outputs) {
        int spare = (leave - kept) / 2 + (room / g->warps - g->stages * stage) / 2;
        spare = spare < BUFFER_BYTES ? spare : BUFFER_BYTES;
        g->buffer_bytes = all < spare ? all : spare > longest ? spare / 128 * 128 : longest;
        bool once = g->buffer_bytes >= all && demand_outputs_of(g->demand, SLOT_G) == 1;
        g->buffers = once ? 1 : 2;
    }
    choose_teams(g);
    lay_out_sets(a, g);
}

/* The same, with as many rows in whole chunks as leave a multiprocessor the blocks that it has without and,
 * if that is possible, a ring its third stage where edges take little, as sums of receivers alone do: chunks
 * take room for any shift. Sets that share loops have arrays that begin elsewhere than rows do. */
static void lay_out_shifted(struct arena *a, const struct plan *plan, const struct kernel_form *k,
                            struct convolution *g, const struct conv_choice *c, int shared)
{
    enum { W = 1 << SLOT_W, X = 1 << SLOT_X, Y = 1 << SLOT_Y };
    static const unsigned some[] = {W | X | Y, W | Y, X | Y, Y};
    const bool grouped = g->grouped;
    const int blocks = g->blocks;
    int choices = sizeof some / sizeof *some;
    g->shifted = some[0];
    choices = conv_has_shifts(g) ? choices : 0;
    for (int i = 0; i < g->sets; i++)
        choices = g->set[i].like == i ? choices : 0;
    g->shifted = 0;
    lay_out_block(a, plan, k, g, c, shared);
    const int without = g->blocks;
    for (int stages = conv_only_sums(g) ? 3 : 2; choices && stages >= 2; stages--)
        for (int i = 0; i < choices; i++) {
            g->blocks = blocks;
            g->grouped = grouped;
            g->shifted = some[i];
            lay_out_block(a, plan, k, g, c, shared);
            if (g->blocks >= without && g->stages >= stages && g->block_bytes <= shared)
                return;
        }
    if (!choices)
        return;
    g->blocks = blocks;
    g->grouped = grouped;
    g->shifted = 0;
    lay_out_block(a, plan, k, g, c, shared);
}

/* Is there a kernel of its own for graphs with few edges per receiver, and how many receivers has a tile
 * where tiles are whole receivers? The fewer, the less the warps have in hand that end last, and the nearer
 * each other are the senders in use; the more, the less it takes to go from one tile to the next. */
static void choose_tiles(struct convolution *g, const struct spec *s, int instructions)
{
    enum { NODES_MOST = 2 };              /* the runtime's CGTP_FEW_NODES */
    bool single = g->carries && g->whole; /* such sums count edges from the tile's first on */
    bool short_edges = false;
    for (int i = 0; i < g->sets; i++)
        short_edges |= (int)cost_share(&g->set[i].work, kernel_size(g->demand->kernel) / 4) < TILE_SHARE;
    g->few = s->reduction != REDUCTION_INVARIANT && instructions <= FEW_INSTRUCTIONS;
    g->may_team = g->few && (g->sets == 1 || instructions <= TEAM_INSTRUCTIONS);
    g->few_nodes = single || !short_edges ? 1 : NODES_MOST;
}

/* The components of y that matter to each path set, in whole fours where rows have these. */
static void find_ys(const struct problem *p, struct convolution *g)
{
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        s->y_begin = (int)p->dim[SLOT_Y];
        for (int k = 0; k < s->paths; k++) {
            const struct segment *y = &p->y.segment[p->path[s->path[k]].y];
            int begin = (int)y->offset, end = begin + (int)y->mul * (2 * y->ir.l + 1);
            s->y_begin = s->y_begin < begin ? s->y_begin : begin;
            s->y_end = s->y_end > end ? s->y_end : end;
        }
        if (p->dim[SLOT_Y] % 4 == 0) {
            s->y_begin = s->y_begin / 4 * 4;
            s->y_end = (s->y_end + 3) / 4 * 4;
        }
    }
}

/* Returns why outputs cannot leave as they are held, or NULL. */
static const char *choose_routes(struct schedule *s, const struct convolution *g)
{
    const char *why = NULL;
    for (int o = 0; o < s->demand->outputs; o++) {
        enum route_kind offered[2];
        const struct operand *q = demand_operand(s->demand, o);
        int n = routes_offered(q->slot, g->parts, g->reduces, offered);
        route_choose(s->demand->plan->problem->spec, q->index, n, offered, &s->route[o]);
        if (s->route[o].kind == ROUTE_ATOMIC && operand_size(q) < kernel_size(s->demand->kernel))
            why = "additions to rows of 16 bits";
    }
    return why;
}

/* A lane's weights of a path are 16 bytes at most. */
static int channels_asked(const struct schedule *s)
{
    enum { LANES_BYTES = 16 };
    const int channels = knob_value(s, KNOB_CHANNELS), most = LANES_BYTES / kernel_size(s->demand->kernel);
    return channels < most ? channels : most;
}

/* Each path's code, of its matrix; factors of columns are left out where the path has its segment of z for
 * itself. */
static void find_codes(struct arena *a, struct convolution *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    int *into_z = NEW_ARRAY(a, int, p->z.n + 1); /* paths */
    for (int i = 0; i < p->paths; i++)
        into_z[p->path[i].z] += d->variant_of[i] >= 0;
    for (int i = 0; i < p->paths; i++) {
        if (d->variant_of[i] < 0)
            continue;
        g->shares_z[i] = into_z[p->path[i].z] > 1;
        g->matrix[i] = g->shares_z[i] ? d->plan->path[i].matrix : codes_scaled(d->codes, &p->path[i], SLOT_Y);
        g->code[i] = g->shares_z[i] ? demand_code(d, i).product
                                    : codes_lower(d->codes, d->variant[d->variant_of[i]].product,
                                                  g->matrix[i], false, false);
        g->first[i] = i;
    }
}

/* The work of path sets; those that are alike have one loop. */
static void write_programs(struct schedule *s, const struct convolution *g)
{
    s->pipeline = g->set[0].pipeline;
    for (int i = 0; i < g->sets; i++)
        if (g->set[i].like == i) {
            struct pipeline *p = g->set[i].pipeline;
            conv_program(&g->set[i]);
            p->planned = g->set[i].work;
            p->aligned_edges = g->aligned_edges;
            memcpy(p->aligned, g->aligned, sizeof p->aligned);
        }
}

const char *conv_plan(struct arena *a, struct schedule *s)
{
    const struct demand *d = s->demand;
    const struct plan *plan = d->plan;
    const struct problem *p = plan->problem;
    const struct kernel_form *k = d->kernel->form;
    struct convolution *g = NEW(a, struct convolution);
    const struct conv_choice c = {channels_asked(s),
                                  knob_value(s, KNOB_STAGES),
                                  knob_value(s, KNOB_WARPS),
                                  knob_value(s, KNOB_PATHS),
                                  knob_value(s, KNOB_CODE),
                                  knob_value(s, KNOB_SHARE),
                                  knob_value(s, KNOB_TOGETHER),
                                  knob_value(s, KNOB_KEEP)};
    int shared = s->target->device->shared_bytes;
    g->demand = d;
    g->device = s->target->device;
    g->matrix = NEW_ARRAY(a, const struct matrix *, p->paths + 1);
    g->code = NEW_ARRAY(a, const struct code *, p->paths + 1);
    g->first = NEW_ARRAY(a, int, p->paths + 1);
    g->shares_z = NEW_ARRAY(a, bool, p->paths + 1);
    find_codes(a, g);
    g->orders = spec_orders(p->spec);
    g->wide = p->spec->sum != p->spec->compute;
    g->carries = p->spec->compensated || g->wide;
    g->g_outputs = demand_outputs_of(d, SLOT_G) > 0;
    g->a_outputs = demand_outputs_of(d, SLOT_Y) > 0;
    g->b_outputs = demand_outputs_of(d, SLOT_X) > 0;
    g->w_outputs = demand_outputs_of(d, SLOT_W) > 0;
    g->edge_buffer = g->b_outputs && leaves_by(p->spec, SLOT_X, 1, ROUTE_EDGE_BUFFER);
    demand_aligned(d, g->aligned);
    g->shifted = 1u << SLOT_X | 1u << SLOT_W | 1u << SLOT_Y; /* as long as nothing else is known */
    conv_find_together(a, g, &c);
    conv_choose_code(a, g, &c);
    int point = conv_choose_sets(a, g, &c);
    for (int i = 0; i < p->paths; i++) {
        if (d->variant_of[i] < 0 || g->first[i] != i)
            continue;
        const int calls = conv_calls(&p->path[i]);
        operations_add(&g->operations, g->code[i]->channel, (int64_t)p->path[i].mul_x * calls);
        operations_add(&g->operations, g->code[i]->item, calls);
    }
    int instructions = 0;
    for (int i = 0; i < g->sets; i++)
        instructions += g->set[i].like == i ? (int)cost_instructions(&g->set[i].work) : 0;
    find_ys(p, g);
    g->whole = g->g_outputs && leaves_by(p->spec, SLOT_G, 1, ROUTE_OWNED_ROW);
    g->hands_over = g->g_outputs && !g->whole;
    choose_tiles(g, p->spec, instructions);
    g->warps = CONV_WARPS;
    g->blocks = g->device->occupancy[point].warps / g->warps;
    g->grouped = g->a_outputs;
    lay_out_shifted(a, plan, k, g, &c, shared);
    if (g->block_bytes > shared && g->reduces) { /* without sums across warps, then */
        g->blocks = g->device->occupancy[point].warps / g->warps;
        g->grouped = false;
        lay_out_shifted(a, plan, k, g, &c, shared);
    }
    if (g->block_bytes > shared)
        return "a stage larger than shared memory";
    align_sets(g);
    if (demand_is_too_short(d, g->aligned))
        return demand_is_too_short(d, g->aligned);
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    const char *why = choose_routes(s, g);
    s->sets = g->sets;
    s->torn = g->g_outputs && conv_torn(g);
    s->operations = g->operations;
    s->cost = g->cost;
    s->registers = device_registers(g->device, g->blocks * g->warps);
    write_programs(s, g);
    return why;
}
