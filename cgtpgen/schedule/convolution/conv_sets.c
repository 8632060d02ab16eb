/* conv_sets.c - the pipelined convolution: which paths a warp computes, by how many channels per lane
 * and warps per multiprocessor.
 */
#include "schedule/convolution/conv_plan.h"

enum { INSTRUCTIONS_MOST = 1 << 30 };

/* Shared memory of a warp that there is, at one of the device's occupancies. */
static int warp_memory(const struct device *d, int point)
{
    return (d->shared_bytes / (d->occupancy[point].warps / CONV_WARPS) - BLOCK_ROOM) / CONV_WARPS;
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
static double time_of(const struct convolution *g, int point, int torn)
{
    const double slices = 1.15, one_ahead = 1.2,
                 torn_lines = g->g_outputs ? 1.6
                              : torn       ? 2.2 - 1.2 / torn
                                           : 1;
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

/* The search for path sets. */
struct search {
    struct arena *scratch;
    struct convolution *g;
    const struct conv_choice *choice;
    struct conv_ways *ways;
};

/* Path sets as they may be chosen: at one of the device's occupancies, with V channels per lane, loops of so
 * many instructions at most. */
struct candidate {
    int point, channels, most_work;
    bool keeps_z;
    bool apart, mixes; /* see struct convolution */
    double time;       /* of an edge */
};

static void divide_as(const struct search *s, struct candidate q)
{
    struct convolution *g = s->g;
    const int limit[LIMITS] = {point_registers(g, q.point),
                               s->choice->paths ? s->choice->paths : g->demand->plan->problem->paths,
                               q.most_work, warp_memory(g->device, q.point)};
    g->keeps_z = q.keeps_z;
    g->apart = q.apart;
    g->mixes = q.mixes;
    conv_divide(s->scratch, s->ways, g, q.channels, limit);
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
        if (g->demand->variant_of[i] < 0)
            continue;
        some |= p->path[i].mul_x % (channels * g->device->lanes) == 0;
        if (best || p->path[i].mul_x % LANES == 0)
            continue;
        struct path_set one = {.mul = p->path[i].mul_x};
        conv_choose_lanes_alike(g, &one, channels);
        best = one.channels == channels;
    }
    return c->channels
               ? channels == c->channels
               : best || (some && (channels <= 2 || (conv_has_shorts(g) && !(g->g_outputs && g->b_outputs))));
}

/* Registers of sets that have as many as there are. Where loops are long more warps
 * gain nothing, so that fewer registers for each are of use only where sets are the same. */
static int most_of_all(const struct search *s, struct candidate q)
{
    q.point = s->g->device->occupancies - 1;
    divide_as(s, q);
    return most_held(s->g);
}

/* The fastest with such loops, of sets so divided. Two channels a lane halve the work for forms and sums over
 * lanes; more warps hide latency; fewer sets read x less often. */
static struct candidate fastest_of(const struct search *s, int most_work, bool apart, bool mixes)
{
    struct convolution *g = s->g;
    const struct conv_choice *c = s->choice;
    int points = g->device->occupancies;
    static const int channels[CHANNELS_MOST] = {1, 2, 4, 3, 5, 6};
    struct candidate best = {points - 1, c->channels ? c->channels : 1, most_work, false, apart, mixes, 0};
    for (int choice = 0; choice < 2 * CHANNELS_MOST * points; choice++) {
        const bool keeps = choice >= CHANNELS_MOST * points;
        const int o = choice / CHANNELS_MOST % points, v = channels[choice % CHANNELS_MOST];
        struct candidate q = {o, v, most_work, keeps, apart, mixes, 0};
        if (!may_have(g, c, v, mixes) || (c->warps && g->device->occupancy[o].warps != c->warps) ||
            !may_keep(g, c, q))
            continue;
        if (g->shared && !c->warps && o < points - 1 && most_of_all(s, q) > point_registers(g, o))
            continue;
        divide_as(s, q);
        q.time = time_of(g, o, conv_torn(g));
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
static struct candidate fastest(const struct search *s, int most_work)
{
    const struct convolution *g = s->g;
    struct candidate best = fastest_of(s, most_work, false, false);
    for (int choice = 1; choice < 4; choice++) {
        const bool apart = choice & 1, mixes = choice & 2;
        if ((apart && !g->shared) || (mixes && (g->joined || !has_several_widths(g))))
            continue;
        const struct candidate q = fastest_of(s, most_work, apart, mixes);
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
static struct candidate fastest_limit(const struct search *s)
{
    const struct convolution *g = s->g;
    const struct conv_choice *c = s->choice;
    const double both = g->g_outputs && g->b_outputs ? BOTH_SUMS : 1;
    struct candidate best = {0};
    for (int quarters = LIMIT_LEAST; quarters <= LIMIT_MOST; quarters++) {
        const int bytes = c->code ? c->code << 10 : g->device->loop_bytes / 4 * quarters;
        struct candidate q = fastest(s, bytes / INSTRUCTION);
        divide_as(s, q);
        q.time *= conv_waits(g) * both;
        if (best.time == 0 || q.time < best.time)
            best = q;
        if (c->code)
            break;
    }
    return best;
}

/* The fastest of all. */
static struct candidate fastest_of_all(const struct search *s)
{
    const struct convolution *g = s->g;
    const struct conv_choice *c = s->choice;
    const int most = c->code ? (c->code << 10) / INSTRUCTION : INSTRUCTIONS_MOST; /* of a set's own loop */
    return g->shared || g->joined ? fastest_limit(s) : fastest(s, most);
}

/* Chooses V, path sets and occupancy; with registers to spare where that takes no longer. */
int conv_choose_sets(struct arena *a, struct convolution *g, const struct conv_choice *c)
{
    const struct search s = {arena_scratch(a), g, c, conv_find_ways(g)};
    g->spare = 0;
    struct candidate best = fastest_of_all(&s);
    g->spare = g->device->registers_spare;
    if (g->spare) {
        const struct candidate spared = fastest_of_all(&s);
        if (spared.time <= best.time)
            best = spared;
        else
            g->spare = 0;
    }
    divide_as(&s, best);
    g->cost =
        best.time * time_of(g, best.point, 0) / time_of(g, best.point, conv_torn(g)); /* as others count */
    g->set = conv_copy_sets(a, g);
    return best.point;
}
