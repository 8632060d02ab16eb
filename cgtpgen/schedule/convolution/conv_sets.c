/* conv_sets.c - the pipelined convolution: which paths are computed together, by how many channels per lane
 * and warps per multiprocessor; and how much code there is of them.
 */
#include "schedule/convolution/conv_plan.h"

#include <string.h>

enum {
    FORM_REGISTERS = 24, /* forms of each operand A beyond the first; of all where several paths use them */
    FORM_REGISTERS_DOUBLE = 8, /* the same in float64, where they are made again rather than held */
    Y_REGISTERS_DOUBLE = 96,   /* of rows of y; where these take more, only what the paths need is held */
    OWN_REGISTERS = 44,        /* addresses, counters, temporaries; fitted to what ptxas reports */
    SIDE_BY_SIDE = 40,         /* instructions that it takes to have several edges at once */
    INSTRUCTION = 16,          /* bytes */
    INSTRUCTIONS_MOST = 1 << 30,
    SHARED_INSTRUCTIONS = 10 << 10 /* of all paths, from which on those alike share loops */
};

/* Which segments of x, y and z a set has been seen to have: those marked `now`. */
struct seen {
    int now, *x, *y, *z;
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

/* Shared memory of a warp at least: rows of the receiver that are kept there, of z components, two stages, of
 * so many bytes that are brought in, rows on their way out, sums of outputs of slot y. */
static int memory_of(const struct convolution *g, struct path_set *s, int bytes_in, int z)
{
    enum { STAGE_MORE = 144 }; /* a sender's number, an item's, whole lines */
    const struct demand *d = g->demand;
    int size = kernel_size(d->kernel), y = (int)d->plan->problem->dim[SLOT_Y];
    int kept = g->keeps_z ? LANES * s->channels * z * size * demand_inputs_of(d, SLOT_G) : 0;
    int sums = 2 * REDUCE_ITEMS * (y * size + 8) * demand_outputs_of(d, SLOT_Y);
    int rows = s->x_bytes > 2 * s->longest ? s->x_bytes : 2 * s->longest;
    s->stage_bytes = bytes_in + STAGE_MORE;
    return kept + 2 * s->stage_bytes + rows + sums + TILE_ROOM;
}

/* The same that there is, at one of the device's occupancies. */
static int warp_memory(const struct device *d, int point)
{
    return (d->shared_bytes / (d->occupancy[point].warps / CONV_WARPS) - BLOCK_ROOM) / CONV_WARPS;
}

/* Lanes that an edge needs, of so many channels each, where a warp has several side by side; LANES: it has
 * one. Sums that carry errors along count edges one by one. */
static int lanes_of(const struct convolution *g, int mul, int channels)
{
    enum { LEAST = 4 };
    const int most = (mul + channels - 1) / channels;
    int lanes = LEAST;
    if (g->carries || mul % LANES == 0)
        return LANES;
    while (lanes < most && lanes < LANES)
        lanes *= 2;
    return lanes;
}

/* How lanes share the set's channels, of which one may have so many. Of multiples of 32 channels each has as
 * many; otherwise what leaves the fewest lanes idle, where what an edge takes besides its channels is half a
 * channel's. */
static void choose_lanes(const struct convolution *g, struct path_set *s, int channels)
{
    double best = 0;
    if (s->mul % LANES == 0)
        while (s->mul % (LANES * channels))
            channels /= 2;
    for (int v = s->mul % LANES ? 1 : channels; v <= channels; v++) {
        const int lanes = lanes_of(g, s->mul, v), blocks = (s->mul + lanes * v - 1) / (lanes * v);
        const double time = blocks * lanes * (v + 0.5);
        if (best > 0 && time > best)
            continue;
        best = time;
        s->channels = v;
        s->lanes = lanes;
        s->channel_blocks = blocks;
    }
}

/* Bytes that a copy into a stage moves. */
static int copy_bytes(const struct convolution *g, enum slot slot)
{
    enum { CHUNK = 16 };
    const int size = kernel_size(g->demand->kernel), bytes = g->aligned[slot] * size;
    return bytes < CHUNK ? bytes : CHUNK;
}

/* What copies bring into a stage: bytes, instructions; and what an edge moves. */
struct moved {
    int in, bytes;
    double copies;
};

/* Of a set with so many components of x. */
static struct moved moved_by(const struct convolution *g, const struct path_set *s, int x)
{
    enum { CHUNK = 16 };
    const struct demand *d = g->demand;
    const int lanes = LANES * s->channels, y = (int)d->plan->problem->dim[SLOT_Y] * conv_abreast(s);
    const int w_in = s->paths * demand_bytes_of(d, SLOT_W, false),
              x_in = x * demand_bytes_of(d, SLOT_X, false);
    const int w_out = s->paths * demand_bytes_of(d, SLOT_W, true),
              x_out = x * demand_bytes_of(d, SLOT_X, true);
    const int y_in = y * demand_bytes_of(d, SLOT_Y, false), y_out = y * demand_bytes_of(d, SLOT_Y, true);
    const double channels = (double)s->mul / s->channel_blocks; /* of an edge */
    const double by_copies = (double)w_in / copy_bytes(g, SLOT_W) + (double)x_in / copy_bytes(g, SLOT_X);
    return (struct moved){.in = lanes * (w_in + x_in) + y_in,
                          .bytes = (int)(channels * (w_in + x_in + w_out + x_out)) +
                                   (y_in + y_out) / conv_abreast(s),
                          .copies = (lanes * by_copies + (double)y_in / CHUNK) / LANES};
}

/* Registers of a thread, and the other figures, for a set with its paths and channels set. */
static void measure(const struct convolution *g, struct seen *seen, struct path_set *s)
{
    const struct demand *pass = g->demand;
    const struct problem *p = pass->plan->problem;
    int size = kernel_size(pass->kernel), words = size / 4, v = s->channels, x = 0, y_used = 0, z = 0,
        longest = 0;
    double arithmetic = 0, form_terms = 0;
    int rows = 0, most_rows = 0; /* of a code of several paths, which holds what flows back to them */
    bool together = false;
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
        y_used += seen->y[q->y] == seen->now ? 0 : 2 * q->l2 + 1;
        seen->y[q->y] = seen->now;
        const bool alone = conv_together(g, s->path[i]) == 1;
        if (g->first[s->path[i]] == s->path[i])
            arithmetic += code_instructions(g->code[s->path[i]]->channel) * v;
        bool again = g->joined && i > 0 && g->matrix[s->path[i - 1]] == m; /* the same forms */
        together |= !alone;
        if (g->first[s->path[i]] == s->path[i])
            rows = 0;
        rows += 2 * q->l3 + 1;
        most_rows = rows > most_rows && !alone ? rows : most_rows;
        form_terms += again || !alone ? 0 : m->form_terms - m->forms;
    }
    for (int i = 0; i < s->zs; i++) {
        int components = 2 * p->path[s->z[i]].l3 + 1;
        z += components;
        longest = longest > components ? longest : components;
    }
    int y = (int)p->dim[SLOT_Y];
    int xs_in = demand_inputs_of(pass, SLOT_X), xs_out = demand_outputs_of(pass, SLOT_X);
    int ys_in = demand_inputs_of(pass, SLOT_Y), ys_out = demand_outputs_of(pass, SLOT_Y);
    int zs_out = demand_outputs_of(pass, SLOT_G), zs_in = demand_inputs_of(pass, SLOT_G);
    int zs = (g->wide ? 3 : g->carries ? 2 : 1) * zs_out + (g->keeps_z ? 0 : zs_in);
    int z_held = z * zs + (g->keeps_z ? longest * zs_in : 0);
    const bool of_two = together && ys_in > 1; /* where there is one, larger sets leave fewer warps: slower */
    bool y_some = of_two || (words > 1 && words * y * (ys_in + ys_out) > Y_REGISTERS_DOUBLE);
    int y_held = y_some ? y_used : y;
    s->g_length = v * z * zs_out;
    s->longest = g->device->lanes * v * longest * size;
    s->x_bytes = g->device->lanes * v * x * xs_out * size;
    s->held =
        words * (v * (z_held + x * (xs_in + xs_out)) + y_held * (ys_in + ys_out)) + OWN_REGISTERS +
        (ys_in > 1 && !g->keeps_z ? (words > 1 ? FORM_REGISTERS_DOUBLE : FORM_REGISTERS) * (ys_in - 1) : 0) +
        (g->joined ? FORM_REGISTERS * words : 0) +
        (of_two && (xs_out || ys_out) ? v * words * most_rows : 0) +
        (g->carries && zs_out ? CARRY_REGISTERS * words * (v - 1) : 0);
    int ws_in = demand_inputs_of(pass, SLOT_W), ws_out = demand_outputs_of(pass, SLOT_W);
    const int abreast = conv_abreast(s);
    const struct moved moved = moved_by(g, s, x);
    s->bytes = moved.bytes;
    /* fitted to the loops that ptxas makes (rms 5 %): the loop itself, products, forms, weights, the sums
     * over lanes, copies of 512 bytes */
    s->work = (int)(87 + 1.07 * arithmetic + 1.87 * form_terms * ys_in + 1.4 * s->paths * (ws_in + ws_out) +
                    (y * size == 64 ? 48.0 : 69.0) * ys_out + 6.8 * moved.copies +
                    (abreast > 1 ? SIDE_BY_SIDE : 0) + (g->keeps_z ? 0.3 * v * z * zs_in : 0) +
                    (g->wide      ? WIDEN_WORK * v * z * zs_out / CARRY_EDGES
                     : g->carries ? 3 * v * z * zs_out / CARRY_EDGES
                                  : 0));
    /* fitted, with CGTP_RECEIVER_WORK, to when the warps of each path set end, of the benchmark's layers and
     * graphs on an H200 (rms 7 % in float32, 10 % in float64): what every edge waits, and what it moves */
    s->share = (int)((s->work + 50 * words * words) / (double)abreast + 0.0125 * words * s->bytes);
    /* from what short tiles add to the times of forward kernels */
    s->hand_over = (int)(0.8 * size * g->device->lanes * s->g_length);
    s->memory = memory_of(g, s, moved.in, z);
}

/* Those that are computed together follow each other. */
static int by_operands(const struct convolution *g, int a, int b)
{
    const struct path *path = g->demand->plan->problem->path, *q = &path[a], *r = &path[b];
    return q->y != r->y                 ? (q->y > r->y) - (q->y < r->y)
           : q->x != r->x               ? (q->x > r->x) - (q->x < r->x)
           : g->first[a] != g->first[b] ? g->first[a] - g->first[b]
                                        : a - b;
}

/* Insertion sort: sets are short and there is no qsort with a context in C11. */
static void sort_paths(struct path_set *s, const struct convolution *g)
{
    for (int i = 1; i < s->paths; i++)
        for (int j = i; j > 0 && by_operands(g, s->path[j - 1], s->path[j]) > 0; j--) {
            int t = s->path[j];
            s->path[j] = s->path[j - 1];
            s->path[j - 1] = t;
        }
}

/* The paths of a pass that are in one set: those into one segment of z, those that are computed together. */
struct into_z {
    int paths, *path; /* ascending */
};

static int unit_of(const struct convolution *g, int path)
{
    return g->demand->plan->problem->path[g->first[path]].z;
}

static struct into_z *find_into_z(struct arena *a, const struct problem *p, const struct convolution *g)
{
    const struct demand *pass = g->demand;
    struct into_z *into = NEW_ARRAY(a, struct into_z, p->z.n);
    int *path = NEW_ARRAY(a, int, p->paths), used = 0;
    for (int i = 0; i < p->paths; i++)
        into[unit_of(g, i)].paths += pass->variant_of[i] >= 0;
    for (int z = 0; z < p->z.n; z++) {
        into[z].path = &path[used];
        used += into[z].paths;
        into[z].paths = 0;
    }
    for (int i = 0; i < p->paths; i++)
        if (pass->variant_of[i] >= 0)
            into[unit_of(g, i)].path[into[unit_of(g, i)].paths++] = i;
    return into;
}

/* Adds a path and all others into its segment of z, which are computed together; or those like it that are
 * joined. */
static void add_paths(struct path_set *s, const struct problem *p, const struct into_z *into, int number)
{
    s->mul = p->path[number].mul_x;
    for (int i = 0; i < s->paths && into->paths > 1; i++)
        if (p->path[s->path[i]].z == p->path[number].z)
            return;
    memcpy(s->path + s->paths, into->path, (size_t)into->paths * sizeof *s->path);
    s->paths += into->paths;
}

/* Takes out those last added, unless nothing would be left; of joined ones all. */
static bool drop_paths(const struct convolution *g, struct path_set *s, const struct problem *p)
{
    int left = s->paths;
    bool follows = true;
    while (left > 0 && follows) {
        int z = unit_of(g, s->path[left - 1]);
        follows = g->joined && g->alike[p->path[s->path[left - 1]].x].follows;
        while (left > 0 && unit_of(g, s->path[left - 1]) == z)
            left--;
    }
    if (left > 0)
        s->paths = left;
    return left > 0;
}

/* What a set is divided off with: limits, and memory for one that is tried. */
struct division {
    struct convolution *g;
    const struct problem *problem;
    const struct into_z *into;
    int channels, limit, most_paths, most_work, most_memory;
    bool *taken; /* [paths] */
    struct seen seen;
    struct path_set other;
};

/* Where a receiver's rows are in shared memory, rings of two stages are to fit beside them, of three where
 * lanes have several channels. */
static bool fits(const struct division *d, const struct path_set *s)
{
    const int memory = s->memory + (d->channels > 1 ? s->stage_bytes : 0);
    return s->held <= d->limit && s->paths <= d->most_paths && s->work <= d->most_work &&
           (!d->g->keeps_z || memory <= d->most_memory);
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
        bool together =
            s->paths == 0 ||
            (p->path[number].mul_x == s->mul &&
             (d->g->joined || d->g->apart || conv_moves_alike(d->g, p->path[s->path[0]].x, of_x->x)));
        for (; number >= 0 && !d->taken[number] && together; number = d->g->joined ? d->g->like[number] : -1)
            add_paths(&larger, p, &d->into[unit_of(d->g, number)], number);
    }
    if (larger.paths == s->paths)
        return;
    choose_lanes(d->g, &larger, d->channels);
    measure(d->g, &d->seen, &larger);
    if (!fits(d, &larger) && s->paths)
        return;
    while (!fits(d, &larger) && drop_paths(d->g, &larger, p))
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
                   int most_paths, int most_work, int most_memory)
{
    const struct problem *p = plan->problem;
    struct division d = {
        .g = g,
        .problem = p,
        .into = find_into_z(a, p, g),
        .channels = channels,
        .limit = limit,
        .most_paths = most_paths,
        .most_work = most_work,
        .most_memory = most_memory,
        .taken = NEW_ARRAY(a, bool, p->paths),
        .seen = {0, NEW_ARRAY(a, int, p->x.n), NEW_ARRAY(a, int, p->y.n), NEW_ARRAY(a, int, p->z.n)},
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
            if (g->apart || !g->alike[plan->group[x].x].follows)
                add_segment(&d, &s, &plan->group[x]);
        if (s.paths == 0)
            break;
        g->set = arena_grow(a, g->set, g->sets, &capacity, sizeof *g->set);
        g->set[g->sets] = s;
        if (!g->joined)
            sort_paths(&g->set[g->sets], g);
        find_zs(&g->set[g->sets], p, &d.seen);
        settle(a, &g->set[g->sets]);
    }
    if (g->apart)
        conv_link_alike(a, g);
    else
        conv_add_alike(a, g);
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

#define EACH_SET 0.02  /* that much more time with each set that has a loop of its own */
#define KEEP_GAIN 0.97 /* of the time, from which on a receiver's rows are kept in shared memory */

/* Time of an edge in instructions of a warp at 8 warps a multiprocessor; fitted to measurements of the layers
 * of MACE and of NequIP on an H200, whose order it gives. Instructions and memory overlap in part. */
static double time_of(const struct convolution *g, int point)
{
    const double bytes_an_instruction = 6, slices = 1.15, one_ahead = 1.2;
    double instructions = 0, bytes = 0;
    const bool only_sums = !g->b_outputs && !g->a_outputs && !g->w_outputs;
    bool two_stages = false;
    int distinct = 0; /* sets whose loops are their own */
    for (int i = 0; i < g->sets; i++) {
        const struct path_set *s = &g->set[i];
        distinct += s->like == i;
        /* short slices of rows use sectors and pages of memory less well */
        bool short_slices = (s->channel_blocks > 1 && s->channels == 1) || s->mul < LANES;
        /* where loops are long, more warps gain next to nothing */
        const double issue = g->shared ? 1 : g->device->occupancy[point].issue;
        instructions += (double)s->work * s->channel_blocks / issue / conv_abreast(s);
        bytes += (double)s->bytes * s->channel_blocks * (short_slices ? slices : 1);
        two_stages |= only_sums && s->memory + s->stage_bytes > warp_memory(g->device, point);
    }
    /* where rings have two stages, only one edge's rows are under way while another's are worked on: measured
     * of kernels that have only sums of receivers, whose edges take little */
    bytes *= (two_stages ? one_ahead : 1) / bytes_an_instruction;
    double longer = instructions > bytes ? instructions : bytes, shorter = instructions + bytes - longer;
    double time = (longer + 0.4 * shorter) * (1 + EACH_SET * (distinct - 1));
    return most_held(g) > point_registers(g, point) ? 2 * time : time; /* it spills */
}

/* How many times as long instructions take of loops that are longer than the cache next to the schedulers:
 * of half as long again 1.13, of twice as long 2. (On an H200; table 5's backward at lmax 5 with loops of up
 * to 24, 28, 32 and 36 KB takes 1.351, 1.333, 1.300 and 1.288 ms, where its instructions are 1, 0.98, 0.95
 * and 0.94 times as many; at lmax 4, of up to 24, 32 and 36 KB, 0.594, 0.580 and 0.586.) */
static double waits(const struct convolution *g)
{
    const double slope = 0.25, far = 0.5, slope_far = 1.5, most = 2.2;
    double work = 0, time = 0;
    for (int i = 0; i < g->sets; i++) {
        const double loop = g->set[i].work, over = loop * INSTRUCTION / g->device->loop_bytes - 1;
        const double factor = 1 + (over > 0 ? slope * over : 0) + (over > far ? slope_far * (over - far) : 0);
        work += loop;
        time += loop * (factor < most ? factor : most);
    }
    return work > 0 ? time / work : 1;
}

/* Path sets as they may be chosen: at one of the device's occupancies, with V channels per lane, loops of so
 * many instructions at most. */
struct candidate {
    int point, channels, most_work;
    bool keeps_z;
    bool apart;  /* see struct convolution */
    double time; /* of an edge */
};

static void divide_as(struct arena *a, const struct plan *plan, struct convolution *g,
                      const struct conv_choice *c, struct candidate q)
{
    const int paths = c->paths ? c->paths : plan->problem->paths;
    g->keeps_z = q.keeps_z;
    g->apart = q.apart;
    conv_take_codes(g, q.channels);
    divide(a, plan, g, q.channels, point_registers(g, q.point), paths, q.most_work,
           warp_memory(g->device, q.point));
}

/* May the receiver's inputs of slot z be in shared memory? Where the planner decides, only beside sums that
 * take as many registers; not for more warps, where nothing was gained, nor for longer loops, as rings of two
 * stages are left (table 5's double backward takes 3 % longer so at lmax 4); for two channels per lane only
 * where rows have 16 bits (in float32 MACE's double backward takes 1.14 times as long, with 16 bits 0.95). */
static bool may_keep(const struct convolution *g, const struct conv_choice *c, struct candidate q)
{
    int in = demand_inputs_of(g->demand, SLOT_G), out = demand_outputs_of(g->demand, SLOT_G);
    if (c->keep && in)
        return q.keeps_z == (c->keep == 2);
    return !q.keeps_z || (in && out && q.channels <= (conv_has_shorts(g) ? 2 : 1) &&
                          q.point == g->device->occupancies - 1 &&
                          (!g->shared || q.most_work <= g->device->loop_bytes / INSTRUCTION));
}

/* May lanes have so many channels? Where the planner decides, some paths' channels are a multiple, or no
 * multiple of 32 and so divided best (it would be the same again). Four only where rows have 16 bits, so that
 * instructions and what they read of registers are what a kernel waits for, which is less for forms of y that
 * four channels share; and where either sums of receivers or gradients of x take registers, not both. */
static bool may_have(const struct convolution *g, const struct conv_choice *c, int channels)
{
    const struct problem *p = g->demand->plan->problem;
    bool some = channels == 1, best = false;
    for (int i = 0; i < p->paths && channels > 1; i++) {
        struct path_set one = {.mul = p->path[i].mul_x};
        if (g->demand->variant_of[i] < 0)
            continue;
        some |= p->path[i].mul_x % (channels * g->device->lanes) == 0;
        if (p->path[i].mul_x % LANES)
            choose_lanes(g, &one, channels);
        best |= one.channels == channels;
    }
    return c->channels
               ? channels == c->channels
               : best || (some && (channels <= 2 || (conv_has_shorts(g) && !(g->g_outputs && g->b_outputs))));
}

/* The fastest with such loops, of sets so divided. Two channels a lane halve the work for forms and sums over
 * lanes; more warps hide latency; fewer sets read x less often. */
static struct candidate fastest_of(struct arena *scratch, const struct plan *plan, struct convolution *g,
                                   const struct conv_choice *c, int most_work, bool apart)
{
    int points = g->device->occupancies;
    static const int channels[CHANNELS_MOST] = {1, 2, 4, 3, 5, 6};
    struct candidate best = {points - 1, c->channels ? c->channels : 1, most_work, false, apart, 0};
    for (int choice = 0; choice < 2 * CHANNELS_MOST * points; choice++) {
        const bool keeps = choice >= CHANNELS_MOST * points;
        const int o = choice / CHANNELS_MOST % points, v = channels[choice % CHANNELS_MOST];
        struct candidate q = {o, v, most_work, keeps, apart, 0};
        if (!may_have(g, c, v) || (c->warps && g->device->occupancy[o].warps != c->warps) ||
            !may_keep(g, c, q))
            continue;
        divide_as(scratch, plan, g, c, q);
        q.time = time_of(g, o);
        arena_empty(scratch);
        if (best.time == 0 || q.time < (keeps && !best.keeps_z ? KEEP_GAIN : 1) * best.time)
            best = q;
    }
    return best;
}

/* Where sets share loops, they are made alike; or of any segments of x, which are fewer, and those that are
 * alike found then. */
static struct candidate fastest(struct arena *scratch, const struct plan *plan, struct convolution *g,
                                const struct conv_choice *c, int most_work)
{
    const struct candidate alike = fastest_of(scratch, plan, g, c, most_work, false);
    if (!g->shared)
        return alike;
    const struct candidate any = fastest_of(scratch, plan, g, c, most_work, true);
    return any.time < alike.time ? any : alike;
}

/* Of path sets that share loops: limits of their loops that are tried, in quarters of what the cache next to
 * the schedulers holds; and how many times as long a kernel takes that makes sums of receivers and gradients
 * of x, which then leave with nothing to wait by (table 5's double backward at lmax 4: 1.57 ms, in two passes
 * of more instructions 1.39). */
enum { LIMIT_LEAST = 4, LIMIT_MOST = 6 };
#define BOTH_SUMS 1.25

/* The fastest by what its loops wait for. */
static struct candidate fastest_limit(struct arena *scratch, const struct plan *plan, struct convolution *g,
                                      const struct conv_choice *c)
{
    const double both = g->g_outputs && g->b_outputs ? BOTH_SUMS : 1;
    struct candidate best = {0};
    for (int quarters = LIMIT_LEAST; quarters <= LIMIT_MOST; quarters++) {
        const int bytes = c->code ? c->code << 10 : g->device->loop_bytes / 4 * quarters;
        struct candidate q = fastest(scratch, plan, g, c, bytes / INSTRUCTION);
        divide_as(scratch, plan, g, c, q);
        q.time *= waits(g) * both;
        arena_empty(scratch);
        if (best.time == 0 || q.time < best.time)
            best = q;
        if (c->code)
            break;
    }
    return best;
}

/* Chooses V, path sets and occupancy. */
int conv_choose_sets(struct arena *a, const struct plan *plan, struct convolution *g,
                     const struct conv_choice *c)
{
    struct arena *scratch = arena_scratch(a);
    const struct candidate best =
        g->shared || g->joined
            ? fastest_limit(scratch, plan, g, c)
            : fastest(scratch, plan, g, c, c->code ? (c->code << 10) / INSTRUCTION : INSTRUCTIONS_MOST);
    g->cost = best.time;
    divide_as(scratch, plan, g, c, best);
    g->set = arena_copy(a, g->set, (size_t)g->sets * sizeof *g->set);
    for (int i = 0; i < g->sets; i++)
        settle(a, &g->set[i]);
    arena_empty(scratch);
    return best.point;
}

/* Chooses what paths share that are alike. Tables are only where they are asked for: they compile no faster.
 */
void conv_choose_code(struct arena *a, struct convolution *g, const struct conv_choice *c)
{
    const struct demand *d = g->demand;
    int instructions = 0;
    for (int i = 0; i < d->plan->problem->paths; i++)
        if (d->variant_of[i] >= 0 && g->first[i] == i)
            instructions += code_instructions(g->code[i]->channel) + code_instructions(g->code[i]->item);
    int share = c->share ? c->share : instructions > SHARED_INSTRUCTIONS ? SHARE_LOOPS : SHARE_NOTHING;
    g->shared = share == SHARE_LOOPS;
    g->joined = share == SHARE_FORMS;
    g->by_table = c->table == 2;
    conv_find_alike(a, g);
}
