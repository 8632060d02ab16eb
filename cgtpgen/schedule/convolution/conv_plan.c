/* conv_plan.c - see conv_plan.h. */
#include "schedule/convolution/conv_plan.h"
#include "schedule/path.h"

#include <string.h>

enum {
    FORM_REGISTERS = 24, /* forms of each operand A beyond the first */
    ADDED_PARTS = 4,     /* from so many parts on atomics are faster than a buffer and a second kernel */
    TILE_BYTES = 256,    /* struct cgtp_tile of the runtime and the padding of a warp's memory to 128 bytes */
    BUFFER_BYTES = 4096, /* most of a buffer through which rows of z leave */
    PATHS_MOST = 512,    /* their sets are found by trying, and each is a loop of its own */
    OWN_REGISTERS = 44   /* addresses, counters, temporaries; fitted to what ptxas reports */
};

/* Planner knobs; 0: chosen by the planner. */
struct choice {
    int channels; /* V */
    int stages;
    int warps; /* a multiprocessor; decides the registers of a thread */
    int paths; /* most in a set */
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
    return 1;
}

const char *conv_refuses(const struct target *target, const struct demand *d)
{
    const struct problem *p = d->plan->problem;
    const struct spec *s = p->spec;
    (void)target;
    if (s->index[SLOT_X] != INDEX_SENDER || s->index[SLOT_Y] != INDEX_ITEM ||
        s->index[SLOT_G] != INDEX_RECEIVER)
        return "not a convolution (x sender, y item, z receiver)";
    if (!spec_is_ordered(s))
        return "edges in any order, atomic sums";
    if (p->paths > PATHS_MOST)
        return "more than 512 paths";
    if (p->weight_numel && s->index[SLOT_W] != INDEX_ITEM)
        return "weights not of the edge";
    return rows_are_aligned(d->kernel, 16) ? NULL : "rows that are no multiple of 16 bytes";
}

const char *conv_refuses_path(const struct target *target, const struct demand *d, const struct path *q)
{
    if (q->mode != MODE_UVU || q->mul_y != 1)
        return "not uvu with one channel of y";
    if (q->mul_x % target->device->lanes)
        return "channels that are no multiple of 32";
    return path_is_aligned(d->kernel, q, 16) ? NULL : "operands that begin at no multiple of 16 bytes";
}

/* ---- path sets ---- */

/* Which segments of x and z a set has been seen to have: those marked `now`. */
struct seen {
    int now, *x, *z;
};

static void find_zs(struct path_set *s, const struct problem *p, struct seen *seen)
{
    s->zs = 0;
    seen->now++;
    for (int i = 0; i < s->paths; i++) {
        int z = p->path[s->path[i]].z;
        if (seen->z[z] != seen->now)
            s->z[s->zs++] = s->path[i];
        seen->z[z] = seen->now;
    }
}

/* Registers of a thread, and the other figures, for a set with its paths and channels set. */
static void measure(const struct convolution *g, struct seen *seen, struct path_set *s)
{
    const struct demand *pass = g->demand;
    const struct problem *p = pass->plan->problem;
    int size = kernel_size(pass->kernel), words = size / 4, v = s->channels, x = 0, z = 0, longest = 0;
    double arithmetic = 0, form_terms = 0;
    find_zs(s, p, seen);
    s->xs = 0;
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &p->path[s->path[i]];
        const struct matrix *m = g->matrix[s->path[i]];
        if (seen->x[q->x] != seen->now) {
            s->x[s->xs++] = q->x;
            x += 2 * q->l1 + 1;
        }
        seen->x[q->x] = seen->now;
        arithmetic += code_instructions(g->code[s->path[i]]->channel) * v;
        form_terms += m->form_terms - m->forms;
    }
    for (int i = 0; i < s->zs; i++) {
        int components = 2 * p->path[s->z[i]].l3 + 1;
        z += components;
        longest = longest > components ? longest : components;
    }
    int y = (int)p->dim[SLOT_Y];
    int xs_in = demand_inputs_of(pass, SLOT_X), xs_out = demand_outputs_of(pass, SLOT_X);
    int ys_in = demand_inputs_of(pass, SLOT_Y), ys_out = demand_outputs_of(pass, SLOT_Y);
    int zs_out = demand_outputs_of(pass, SLOT_G),
        zs = demand_inputs_of(pass, SLOT_G) + (g->carries ? 2 : 1) * zs_out;
    s->channel_blocks = s->mul / (g->device->lanes * v);
    s->g_length = v * z * zs_out;
    s->longest = g->device->lanes * v * longest * size;
    s->x_bytes = g->device->lanes * v * x * xs_out * size;
    s->held = words * (v * (z * zs + x * (xs_in + xs_out)) + y * (ys_in + ys_out)) + OWN_REGISTERS +
              (ys_in > 1 ? FORM_REGISTERS * words * (ys_in - 1) : 0) +
              (g->carries && zs_out ? CARRY_REGISTERS * words * (v - 1) : 0);
    int ws_in = demand_inputs_of(pass, SLOT_W), ws_out = demand_outputs_of(pass, SLOT_W);
    int bytes_in = size * (g->device->lanes * v * (s->paths * ws_in + x * xs_in) + y * ys_in);
    s->bytes = bytes_in + size * (g->device->lanes * v * (s->paths * ws_out + x * xs_out) + y * ys_out);
    /* fitted to the loops that ptxas makes (rms 5 %): the loop itself, products, forms, weights, the sums
     * over lanes, copies of 512 bytes */
    s->work =
        (int)(87 + 1.07 * arithmetic + 1.87 * form_terms * ys_in + 1.4 * s->paths * (ws_in + ws_out) +
              69.0 * ys_out + 6.8 * bytes_in / 512 + (g->carries ? 3 * v * z * zs_out / CARRY_EDGES : 0));
    /* fitted, with CGTP_RECEIVER_WORK, to when the warps of each path set end, of the benchmark's layers and
     * graphs on an H200 (rms 7 % in float32, 10 % in float64): what every edge waits, and what it moves */
    s->share = (int)(s->work + 50 * words * words + 0.0125 * words * s->bytes);
    /* from what short tiles add to the times of forward kernels */
    s->hand_over = (int)(0.8 * size * g->device->lanes * s->g_length);
}

static int by_operands(const void *a, const void *b, const struct problem *p)
{
    const struct path *q = &p->path[*(const int *)a], *r = &p->path[*(const int *)b];
    return q->y != r->y   ? (q->y > r->y) - (q->y < r->y)
           : q->x != r->x ? (q->x > r->x) - (q->x < r->x)
                          : q->number - r->number;
}

/* Insertion sort: sets are short and there is no qsort with a context in C11. */
static void sort_paths(struct path_set *s, const struct problem *p)
{
    for (int i = 1; i < s->paths; i++)
        for (int j = i; j > 0 && by_operands(&s->path[j - 1], &s->path[j], p) > 0; j--) {
            int t = s->path[j];
            s->path[j] = s->path[j - 1];
            s->path[j - 1] = t;
        }
}

/* The paths of a pass into each segment of z. */
struct into_z {
    int paths, *path; /* ascending */
};

static struct into_z *find_into_z(struct arena *a, const struct problem *p, const struct demand *pass)
{
    struct into_z *into = NEW_ARRAY(a, struct into_z, p->z.n);
    int *path = NEW_ARRAY(a, int, p->paths), used = 0;
    for (int i = 0; i < p->paths; i++)
        into[p->path[i].z].paths += pass->variant_of[i] >= 0;
    for (int z = 0; z < p->z.n; z++) {
        into[z].path = &path[used];
        used += into[z].paths;
        into[z].paths = 0;
    }
    for (int i = 0; i < p->paths; i++)
        if (pass->variant_of[i] >= 0)
            into[p->path[i].z].path[into[p->path[i].z].paths++] = i;
    return into;
}

/* Adds a path and all others into its segment of z, which are computed together. */
static void add_paths(struct path_set *s, const struct problem *p, const struct into_z *into, int number)
{
    s->mul = p->path[number].mul_x;
    for (int i = 0; i < s->paths && into->paths > 1; i++)
        if (p->path[s->path[i]].z == p->path[number].z)
            return;
    memcpy(s->path + s->paths, into->path, (size_t)into->paths * sizeof *s->path);
    s->paths += into->paths;
}

/* Takes out those last added, unless nothing would be left. */
static bool drop_paths(struct path_set *s, const struct problem *p)
{
    int z = p->path[s->path[s->paths - 1]].z;
    if (p->path[s->path[0]].z == z)
        return false;
    while (p->path[s->path[s->paths - 1]].z == z)
        s->paths--;
    return true;
}

/* What a set is divided off with: limits, and memory for one that is tried. */
struct division {
    struct convolution *g;
    const struct problem *problem;
    const struct into_z *into;
    int channels, limit, most_paths;
    bool *taken; /* [paths] */
    struct seen seen;
    struct path_set other;
};

static bool fits(const struct division *d, const struct path_set *s)
{
    return s->held <= d->limit && s->paths <= d->most_paths;
}

/* Adds the paths that read a segment of x and are not taken, if then the set still fits; or, to a set that is
 * empty, as many as fit. */
static void add_segment(struct division *d, struct path_set *s, const struct path_group *of_x)
{
    const struct problem *p = d->problem;
    struct path_set larger = d->other;
    larger.paths = s->paths;
    larger.mul = s->mul;
    memcpy(larger.path, s->path, (size_t)s->paths * sizeof *s->path);
    for (int i = 0; i < of_x->paths; i++) {
        int number = of_x->path[i];
        if (!d->taken[number] && (s->paths == 0 || p->path[number].mul_x == s->mul))
            add_paths(&larger, p, &d->into[p->path[number].z], number);
    }
    if (larger.paths == s->paths)
        return;
    larger.channels = larger.mul % (d->g->device->lanes * d->channels) ? 1 : d->channels;
    measure(d->g, &d->seen, &larger);
    if (!fits(d, &larger) && s->paths)
        return;
    while (!fits(d, &larger) && drop_paths(&larger, p))
        measure(d->g, &d->seen, &larger);
    d->other = *s;
    *s = larger;
    for (int i = 0; i < s->paths; i++)
        d->taken[s->path[i]] = true;
}

static struct path_set empty_set(struct arena *a, const struct problem *p)
{
    return (struct path_set){
        .path = NEW_ARRAY(a, int, p->paths), .x = NEW_ARRAY(a, int, p->x.n), .z = NEW_ARRAY(a, int, p->z.n)};
}

/* Copies the set's lists, which then take no more room than they need. */
static void settle(struct arena *a, struct path_set *s)
{
    s->path = arena_copy(a, s->path, (size_t)s->paths * sizeof *s->path);
    s->x = arena_copy(a, s->x, (size_t)s->xs * sizeof *s->x);
    s->z = arena_copy(a, s->z, (size_t)s->zs * sizeof *s->z);
}

/* Divides the paths into sets of at most `limit` registers. */
static void divide(struct arena *a, const struct plan *plan, struct convolution *g, int channels, int limit,
                   int most_paths)
{
    const struct problem *p = plan->problem;
    struct division d = {.g = g,
                         .problem = p,
                         .into = find_into_z(a, p, g->demand),
                         .channels = channels,
                         .limit = limit,
                         .most_paths = most_paths,
                         .taken = NEW_ARRAY(a, bool, p->paths),
                         .seen = {0, NEW_ARRAY(a, int, p->x.n), NEW_ARRAY(a, int, p->z.n)},
                         .other = empty_set(a, p)};
    struct path_set s = empty_set(a, p);
    int capacity = 0;
    for (int i = 0; i < p->paths; i++)
        d.taken[i] = g->demand->variant_of[i] < 0;
    g->set = NULL;
    for (g->sets = 0;; g->sets++) {
        s.paths = 0;
        /* whole segments of x first, so that the gradient of an x row is summed in one place; then single
         * paths */
        for (int x = 0; x < plan->groups; x++)
            add_segment(&d, &s, &plan->group[x]);
        if (s.paths == 0)
            return;
        g->set = arena_grow(a, g->set, g->sets, &capacity, sizeof *g->set);
        g->set[g->sets] = s;
        sort_paths(&g->set[g->sets], p);
        find_zs(&g->set[g->sets], p, &d.seen);
        settle(a, &g->set[g->sets]);
    }
}

static int most_held(const struct convolution *g)
{
    int most = 0;
    for (int i = 0; i < g->sets; i++)
        most = most > g->set[i].held ? most : g->set[i].held;
    return most;
}

/* Registers of a thread at one of the device's occupancies. */
static int point_registers(const struct convolution *g, int point)
{
    return device_registers(g->device, g->device->occupancy[point].warps);
}

/* Time of an edge in instructions of a warp at 8 warps a multiprocessor; fitted to measurements of the layers
 * of MACE and of NequIP on an H200, whose order it gives. Instructions and memory overlap in part. */
static double time_of(const struct convolution *g, int point)
{
    const double bytes_an_instruction = 6, slices = 1.15, each_set = 0.02;
    double instructions = 0, bytes = 0;
    for (int i = 0; i < g->sets; i++) {
        const struct path_set *s = &g->set[i];
        /* short slices of rows use sectors and pages of memory less well */
        bool short_slices = s->channel_blocks > 1 && s->channels == 1;
        instructions += (double)s->work * s->channel_blocks / g->device->occupancy[point].issue;
        bytes += (double)s->bytes * s->channel_blocks * (short_slices ? slices : 1);
    }
    bytes /= bytes_an_instruction;
    double longer = instructions > bytes ? instructions : bytes, shorter = instructions + bytes - longer;
    double time = (longer + 0.4 * shorter) * (1 + each_set * (g->sets - 1));
    return most_held(g) > point_registers(g, point) ? 2 * time : time; /* it spills */
}

/* Chooses V, path sets and occupancy. Two channels a lane halve the work for forms and sums over lanes; more
 * warps hide latency; fewer sets read x less often. */
static int choose(struct arena *a, const struct plan *plan, struct convolution *g, const struct choice *c)
{
    int points = g->device->occupancies, best = points - 1, best_v = 1;
    struct arena *scratch = arena_scratch(a);
    double least = 0;
    bool pairs = false;
    for (int i = 0; i < plan->problem->paths; i++)
        pairs |= g->demand->variant_of[i] >= 0 && plan->problem->path[i].mul_x % (2 * g->device->lanes) == 0;
    int most_paths = c->paths ? c->paths : plan->problem->paths;
    for (int o = 0; o < points; o++)
        for (int v = 1; v <= 2; v++) {
            if (c->channels && c->channels != v)
                continue;
            if (v == 2 && !c->channels && !pairs) /* the same again */
                continue;
            if (c->warps && g->device->occupancy[o].warps != c->warps)
                continue;
            divide(scratch, plan, g, v, point_registers(g, o), most_paths);
            double work = time_of(g, o);
            arena_empty(scratch);
            if (least == 0 || work < least) {
                least = work;
                best = o;
                best_v = v;
            }
        }
    g->cost = least;
    divide(scratch, plan, g, c->channels ? c->channels : best_v, point_registers(g, best), most_paths);
    g->set = arena_copy(a, g->set, (size_t)g->sets * sizeof *g->set);
    for (int i = 0; i < g->sets; i++)
        settle(a, &g->set[i]);
    arena_empty(scratch);
    return best;
}

/* Does an output of the slot leave in this way, where it is summed from so many parts? */
static bool leaves_by(const struct spec *s, enum slot slot, int parts, enum route_kind kind)
{
    enum route_kind offered[2];
    struct route route;
    int n = routes_offered(slot, parts, false, offered);
    return route_choose(s, s->index[slot], n, offered, &route) && route.kind == kind;
}

/* Shared memory of a block, and where everything is; without warp groups, each warp has a part of its own of
 * an A output. */
static void lay_out_block(struct arena *a, const struct plan *plan, const struct kernel_form *k,
                          struct convolution *g, const struct choice *c, int shared)
{
    const struct problem *p = plan->problem;
    int stage = 0, longest = 0, all = 0, x_out = 0;
    bool several = false;
    g->parts = g->edge_row = g->a_length = 0;
    for (int i = 0; i < g->sets; i++) {
        g->grouped &= g->warps % g->set[i].channel_blocks == 0;
        several |= g->set[i].channel_blocks > 1;
    }
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        conv_layout_stage(a, g, s);
        stage = stage > s->stage.bytes ? stage : s->stage.bytes;
        longest = longest > s->longest ? longest : s->longest;
        x_out = x_out > s->x_bytes ? x_out : s->x_bytes;
        all = all > s->g_length ? all : s->g_length;
        s->part_at = g->parts;
        g->parts += g->grouped ? 1 : s->channel_blocks;
        s->edge_at = g->edge_row;
        for (int x = 0; x < s->xs; x++)
            g->edge_row += s->mul * (2 * p->x.segment[s->x[x]].ir.l + 1);
    }
    g->part_buffer = g->a_outputs && g->parts > 1 && leaves_by(p->spec, SLOT_Y, g->parts, ROUTE_PARTS);
    for (int o = 0; o < g->demand->outputs; o++)
        if (k->output[g->demand->output[o]].slot == SLOT_Y)
            g->a_length += (int)p->dim[SLOT_Y];
    g->reduces = g->grouped && (several || (g->parts > 1 && !g->part_buffer));
    int sums = g->a_length * kernel_size(g->demand->kernel) + (g->orders ? 8 : 0);
    int reduce = g->reduces ? 2 * REDUCE_ITEMS * sums : 0;
    int leave = g->g_outputs && 2 * longest > x_out ? 2 * longest : x_out;
    int room = shared / g->blocks - 1024 - g->warps * (leave + TILE_BYTES + reduce);
    g->stages = c->stages ? c->stages : 4;
    while (g->stages > 2 && g->stages * stage * g->warps > room)
        g->stages--;
    while (g->blocks > 1 && g->stages * stage * g->warps > room) {
        g->blocks--;
        room = shared / g->blocks - 1024 - g->warps * (leave + TILE_BYTES + reduce);
    }
    /* what is left goes to the flush, up to some KiB: rows leave several paths at a time */
    all *= g->device->lanes * kernel_size(g->demand->kernel);
    if (g->g_outputs) {
        int spare = leave / 2 + (room / g->warps - g->stages * stage) / 2;
        spare = spare < BUFFER_BYTES ? spare : BUFFER_BYTES;
        g->buffer_bytes = all < spare ? all : spare > longest ? spare / 128 * 128 : longest;
        bool once = g->buffer_bytes >= all && demand_outputs_of(g->demand, SLOT_G) == 1;
        g->buffers = once ? 1 : 2;
    }
    conv_layout_block(a, g);
}

static void choose_routes(struct schedule *s, const struct convolution *g)
{
    for (int o = 0; o < s->demand->outputs; o++) {
        enum route_kind offered[2];
        const struct operand *q = demand_operand(s->demand, o);
        int n = routes_offered(q->slot, g->parts, g->reduces, offered);
        route_choose(s->demand->plan->problem->spec, q->index, n, offered, &s->route[o]);
    }
}

const char *conv_plan(struct arena *a, struct schedule *s)
{
    const struct demand *d = s->demand;
    const struct plan *plan = d->plan;
    const struct problem *p = plan->problem;
    const struct kernel_form *k = d->kernel->form;
    struct convolution *g = NEW(a, struct convolution);
    const struct choice c = {
        knob_value(p->spec, s->target, KNOB_CHANNELS), knob_value(p->spec, s->target, KNOB_STAGES),
        knob_value(p->spec, s->target, KNOB_WARPS), knob_value(p->spec, s->target, KNOB_PATHS)};
    int shared = s->target->device->shared_bytes;
    g->demand = d;
    g->device = s->target->device;
    g->matrix = NEW_ARRAY(a, const struct matrix *, p->paths + 1);
    g->code = NEW_ARRAY(a, const struct code *, p->paths + 1);
    g->shares_z = NEW_ARRAY(a, bool, p->paths + 1);
    const struct into_z *into = find_into_z(a, p, d);
    for (int i = 0; i < p->paths; i++) {
        if (d->variant_of[i] < 0)
            continue;
        g->shares_z[i] = into[p->path[i].z].paths > 1;
        g->matrix[i] =
            g->shares_z[i] ? plan->path[i].matrix : matrix_scaled(&d->codes->scaled, &p->path[i], SLOT_Y);
        g->code[i] = g->shares_z[i] ? demand_code(d, i).product
                                    : codes_lower(d->codes, d->variant[d->variant_of[i]].product,
                                                  g->matrix[i], false, false);
        operations_add(&g->operations, g->code[i]->channel, p->path[i].mul_x);
        operations_add(&g->operations, g->code[i]->item, 1);
    }
    g->orders = spec_orders(p->spec);
    g->carries = p->spec->compensated;
    g->g_outputs = demand_outputs_of(d, SLOT_G) > 0;
    g->a_outputs = demand_outputs_of(d, SLOT_Y) > 0;
    g->b_outputs = demand_outputs_of(d, SLOT_X) > 0;
    g->w_outputs = demand_outputs_of(d, SLOT_W) > 0;
    g->edge_buffer = g->b_outputs && leaves_by(p->spec, SLOT_X, 1, ROUTE_EDGE_BUFFER);
    int point = choose(a, plan, g, &c);
    g->warps = 4;
    g->blocks = g->device->occupancy[point].warps / g->warps;
    g->grouped = g->a_outputs;
    lay_out_block(a, plan, k, g, &c, shared);
    if (g->block->bytes > shared && g->reduces) { /* without sums across warps, then */
        g->blocks = g->device->occupancy[point].warps / g->warps;
        g->grouped = false;
        lay_out_block(a, plan, k, g, &c, shared);
    }
    if (g->block->bytes > shared)
        return "a stage larger than shared memory";
    int registers = device_registers(g->device, g->blocks * g->warps);
    for (int i = 0; i < g->sets; i++) {
        conv_registers(a, g, &g->set[i], registers);
        s->spills |= g->set[i].registers_least > registers;
    }
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    choose_routes(s, g);
    s->own = g;
    s->operations = g->operations;
    s->cost = g->cost;
    return NULL;
}
