/* conv_sets.c - the pipelined convolution: which paths are computed together, by how many channels per lane
 * and warps per multiprocessor.
 */
#include "schedule/convolution/conv_plan.h"

#include <string.h>

enum { INSTRUCTIONS_MOST = 1 << 30 };

/* Shared memory of a warp that there is, at one of the device's occupancies. */
static int warp_memory(const struct device *d, int point)
{
    return (d->shared_bytes / (d->occupancy[point].warps / CONV_WARPS) - BLOCK_ROOM) / CONV_WARPS;
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
    int *left;   /* [paths] */
    struct conv_seen seen;
    struct path_set other;
};

/* Where a receiver's rows are in shared memory, rings of two stages are to fit beside them, of three where
 * lanes have several channels. */
static bool fits(const struct division *d, const struct path_set *s)
{
    const int memory = s->memory + (d->channels > 1 ? s->stage_bytes : 0);
    return s->held <= d->limit && s->paths <= d->most_paths && cost_instructions(&s->work) <= d->most_work &&
           (!d->g->keeps_z || memory <= d->most_memory);
}

static bool fits_measured(struct division *d, struct path_set *s)
{
    conv_choose_lanes(d->g, s, d->channels);
    conv_measure(d->g, &d->seen, s);
    return fits(d, s);
}

/* Of paths that do not fit together, which are in the order in which they were added, as many of the first as
 * fit, or those that always stay. */
static void keep_most(struct division *d, struct path_set *s)
{
    int places = 0, least = 0; /* of d->left: how many paths may stay, the most first */
    while (drop_paths(d->g, s, d->problem))
        d->left[places++] = s->paths;
    for (int most = places - 1; least < most;) {
        const int middle = (least + most) / 2;
        s->paths = d->left[middle];
        if (fits_measured(d, s))
            most = middle;
        else
            least = middle + 1;
    }
    s->paths = places ? d->left[least] : s->paths;
    fits_measured(d, s);
}

/* Adds the paths that read a segment of x and are not taken, if then the set still fits; or, to a set that is
 * empty, as many as fit. */
static void add_segment(struct division *d, struct path_set *s, const struct path_group *of_x)
{
    const struct problem *p = d->problem;
    struct path_set larger = d->other;
    larger.paths = s->paths;
    memcpy(larger.path, s->path, (size_t)s->paths * sizeof *s->path);
    for (int i = 0; i < of_x->paths; i++) {
        int number = of_x->path[i];
        bool together =
            s->paths == 0 ||
            ((d->g->mixes || p->path[number].mul_x == s->mul) &&
             (d->g->joined || d->g->apart || conv_moves_alike(d->g, p->path[s->path[0]].x, of_x->x)));
        for (; number >= 0 && !d->taken[number] && together; number = d->g->joined ? d->g->like[number] : -1)
            add_paths(&larger, p, &d->into[unit_of(d->g, number)], number);
    }
    if (larger.paths == s->paths)
        return;
    if (!fits_measured(d, &larger)) {
        if (s->paths)
            return;
        keep_most(d, &larger);
    }
    d->other = *s;
    *s = larger;
    for (int i = 0; i < s->paths; i++)
        d->taken[s->path[i]] = true;
}

static struct path_set empty_set(struct arena *a, const struct problem *p)
{
    return (struct path_set){.path = NEW_ARRAY(a, int, p->paths),
                             .x = NEW_ARRAY(a, int, p->x.n),
                             .z = NEW_ARRAY(a, int, p->z.n),
                             .part = NEW_ARRAY(a, int, p->x.n)};
}

/* Copies the set's lists, which then take no more room than they need. */
static void settle(struct arena *a, struct path_set *s)
{
    s->path = arena_copy(a, s->path, (size_t)s->paths * sizeof *s->path);
    s->x = arena_copy(a, s->x, (size_t)s->xs * sizeof *s->x);
    s->z = arena_copy(a, s->z, (size_t)s->zs * sizeof *s->z);
    s->part = arena_copy(a, s->part, (size_t)s->parts * sizeof *s->part);
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
        .left = NEW_ARRAY(a, int, p->paths + 1),
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
        conv_find_zs(&g->set[g->sets], p, &d.seen);
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
    return device_registers(g->device, g->device->occupancy[point].warps) - g->spare;
}

/* More than a thread has? Several path sets with both sums of receivers and gradients of x take more than is
 * counted where a lane's channels differ: with more warps than the fewest, 100 to 200 words were spilled of
 * 168. */
static bool spills(const struct convolution *g, int point)
{
    enum { UNEVEN = 24 };
    const bool more = g->sets > 1 && g->g_outputs && g->b_outputs && g->device->occupancy[point].issue > 1 &&
                      conv_is_uneven(g);
    return most_held(g) + (more ? UNEVEN : 0) > point_registers(g, point);
}

#define EACH_SET 0.02  /* that much more time with each set that has a loop of its own */
#define KEEP_GAIN 0.97 /* of the time, from which on a receiver's rows are kept in shared memory */

/* Time of an edge in instructions of a warp at 8 warps a multiprocessor; fitted to measurements of the layers
 * of MACE and of NequIP on an H200, whose order it gives. Instructions and memory overlap in part. */
static double time_of(const struct convolution *g, int point, bool torn)
{
    const double slices = 1.15, one_ahead = 1.2, torn_lines = g->g_outputs ? 1.6 : 2.2 - 1.2 / g->sets;
    double instructions = 0, bytes = 0;
    const bool only_sums = conv_only_sums(g);
    bool two_stages = false;
    int distinct = 0; /* sets whose loops are their own */
    for (int i = 0; i < g->sets; i++) {
        const struct path_set *s = &g->set[i];
        distinct += s->like == i;
        /* short slices of rows use sectors and pages of memory less well */
        bool short_slices = (s->channel_blocks > 1 && s->channels == 1) || s->mul < LANES;
        /* where loops are long, more warps gain next to nothing */
        const double issue = g->shared ? 1 : g->device->occupancy[point].issue;
        instructions += conv_scattered(g, s) *
                        conv_of_edge(s, (int)cost_instructions(&s->work), s->receiver) * s->channel_blocks /
                        issue;
        bytes += (double)(int)s->work.bytes * s->channel_blocks *
                 (torn           ? torn_lines
                  : short_slices ? slices
                                 : 1);
        two_stages |= only_sums && s->memory + s->stage_bytes > warp_memory(g->device, point);
    }
    /* where rings have two stages, only one edge's rows are under way while another's are worked on: measured
     * of kernels that have only sums of receivers, whose edges take little */
    bytes *= (two_stages ? one_ahead : 1) / COST_BYTES_AN_INSTRUCTION;
    const double time = cost_overlap(instructions, bytes) * (1 + EACH_SET * (distinct - 1));
    return spills(g, point) ? 2 * time : time;
}

/* Path sets as they may be chosen: at one of the device's occupancies, with V channels per lane, loops of so
 * many instructions at most. */
struct candidate {
    int point, channels, most_work;
    bool keeps_z;
    bool apart, mixes; /* see struct convolution */
    double time;       /* of an edge */
};

static void divide_as(struct arena *a, const struct plan *plan, struct convolution *g,
                      const struct conv_choice *c, struct candidate q)
{
    const int paths = c->paths ? c->paths : plan->problem->paths;
    g->keeps_z = q.keeps_z;
    g->apart = q.apart;
    g->mixes = q.mixes;
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
static bool may_have(const struct convolution *g, const struct conv_choice *c, int channels, bool mixes)
{
    const struct problem *p = g->demand->plan->problem;
    bool some = channels == 1, best = mixes;
    for (int i = 0; i < p->paths && channels > 1; i++) {
        struct path_set one = {.mul = p->path[i].mul_x};
        if (g->demand->variant_of[i] < 0)
            continue;
        some |= p->path[i].mul_x % (channels * g->device->lanes) == 0;
        if (p->path[i].mul_x % LANES)
            conv_choose_lanes_alike(g, &one, channels);
        best |= one.channels == channels;
    }
    return c->channels
               ? channels == c->channels
               : best || (some && (channels <= 2 || (conv_has_shorts(g) && !(g->g_outputs && g->b_outputs))));
}

/* Registers of sets that have as many as there are, which is asked for once. Where loops are long more warps
 * gain nothing, so that fewer registers for each are of use only where sets are the same. */
static int most_of_all(struct arena *scratch, const struct plan *plan, struct convolution *g,
                       const struct conv_choice *c, struct candidate q, int *held)
{
    q.point = g->device->occupancies - 1;
    if (*held == 0) {
        divide_as(scratch, plan, g, c, q);
        *held = most_held(g);
        arena_empty(scratch);
    }
    return *held;
}

/* The fastest with such loops, of sets so divided. Two channels a lane halve the work for forms and sums over
 * lanes; more warps hide latency; fewer sets read x less often. */
static struct candidate fastest_of(struct arena *scratch, const struct plan *plan, struct convolution *g,
                                   const struct conv_choice *c, int most_work, bool apart, bool mixes)
{
    int points = g->device->occupancies;
    static const int channels[CHANNELS_MOST] = {1, 2, 4, 3, 5, 6};
    struct candidate best = {points - 1, c->channels ? c->channels : 1, most_work, false, apart, mixes, 0};
    int held[CHANNELS_MOST] = {0};
    for (int choice = 0; choice < 2 * CHANNELS_MOST * points; choice++) {
        const bool keeps = choice >= CHANNELS_MOST * points;
        const int o = choice / CHANNELS_MOST % points, v = channels[choice % CHANNELS_MOST];
        struct candidate q = {o, v, most_work, keeps, apart, mixes, 0};
        if (!may_have(g, c, v, mixes) || (c->warps && g->device->occupancy[o].warps != c->warps) ||
            !may_keep(g, c, q))
            continue;
        if (g->shared && !c->warps && o < points - 1 &&
            most_of_all(scratch, plan, g, c, q, &held[choice % CHANNELS_MOST]) > point_registers(g, o))
            continue;
        divide_as(scratch, plan, g, c, q);
        q.time = time_of(g, o, conv_tears(g));
        arena_empty(scratch);
        if (best.time == 0 || q.time < (keeps && !best.keeps_z ? KEEP_GAIN : 1) * best.time)
            best = q;
    }
    return best;
}

/* Have its paths several numbers of channels? */
static bool has_several_widths(const struct convolution *g)
{
    const struct problem *p = g->demand->plan->problem;
    int mul = 0;
    bool several = false;
    for (int i = 0; i < p->paths; i++)
        if (g->demand->variant_of[i] >= 0) {
            several |= mul && mul != p->path[i].mul_x;
            mul = p->path[i].mul_x;
        }
    return several;
}

/* Of how much of the time a set is to take that has paths of several numbers of channels, as registers are
 * more: on an H200 what was to take 0.85 to 0.99 took 0.76 to 0.97 where receivers' sums are all there is,
 * 0.80 to 0.95 with gradients in float32; with both sums, or in other types, 1.07 to 1.47 where it was to
 * take 0.96 to 0.99. */
static double mixing_gain(const struct convolution *g)
{
    const bool sums = conv_only_sums(g);
    const bool single = kernel_size(g->demand->kernel) == 4 && !conv_has_shorts(g);
    return sums ? 0.99 : single && !g->g_outputs ? 0.96 : 0.9;
}

/* Where sets share loops, they are made alike; or of any segments of x, which are fewer, and those that are
 * alike found then. Either of one number of channels each, or of several. */
static struct candidate fastest(struct arena *scratch, const struct plan *plan, struct convolution *g,
                                const struct conv_choice *c, int most_work)
{
    struct candidate best = fastest_of(scratch, plan, g, c, most_work, false, false);
    for (int choice = 1; choice < 4; choice++) {
        const bool apart = choice & 1, mixes = choice & 2;
        if ((apart && !g->shared) || (mixes && (g->joined || !has_several_widths(g))))
            continue;
        const struct candidate q = fastest_of(scratch, plan, g, c, most_work, apart, mixes);
        best = q.time > 0 && q.time < (mixes && !best.mixes ? mixing_gain(g) : 1) * best.time ? q : best;
    }
    return best;
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
        q.time *= conv_waits(g) * both;
        arena_empty(scratch);
        if (best.time == 0 || q.time < best.time)
            best = q;
        if (c->code)
            break;
    }
    return best;
}

/* The fastest of all. */
static struct candidate fastest_of_all(struct arena *scratch, const struct plan *plan, struct convolution *g,
                                       const struct conv_choice *c)
{
    const int most = c->code ? (c->code << 10) / INSTRUCTION : INSTRUCTIONS_MOST; /* of a set's own loop */
    return g->shared || g->joined ? fastest_limit(scratch, plan, g, c) : fastest(scratch, plan, g, c, most);
}

/* Chooses V, path sets and occupancy; with registers to spare where that takes no longer. */
int conv_choose_sets(struct arena *a, const struct plan *plan, struct convolution *g,
                     const struct conv_choice *c)
{
    struct arena *scratch = arena_scratch(a);
    g->spare = 0;
    struct candidate best = fastest_of_all(scratch, plan, g, c);
    g->spare = g->device->registers_spare;
    if (g->spare) {
        const struct candidate q = fastest_of_all(scratch, plan, g, c);
        if (q.time <= best.time)
            best = q;
        else
            g->spare = 0;
    }
    divide_as(scratch, plan, g, c, best);
    g->cost = best.time * time_of(g, best.point, false) /
              time_of(g, best.point, conv_tears(g)); /* as others count */
    g->set = arena_copy(a, g->set, (size_t)g->sets * sizeof *g->set);
    for (int i = 0; i < g->sets; i++)
        settle(a, &g->set[i]);
    arena_empty(scratch);
    return best.point;
}
