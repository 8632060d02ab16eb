/* SPDX-License-Identifier: MIT */
/* cgtp_partition.h - how the blocks of a launch of the convolution are divided among the path sets of a
 * kernel, and help other sets when their own has no tiles left. Included after cgtp_cuda.h.
 */
#ifndef CGTP_PARTITION_H
#define CGTP_PARTITION_H

namespace
{

/* Each block of a launch has a slot; path set s owns slots first[s] .. first[s + 1] - 1. A multiprocessor has
 * neighbouring slots, so that most hold the code of one path set. */
template <int sets> struct cgtp_partition {
    int multiprocessors, per_multiprocessor;
    int team; /* warps per channel block that share a receiver (see cgtp_tile_scheduler); 0: there are no teams */
    int first[sets + 1];
    int warps[sets];                          /* per channel block */
    int queue[sets];                          /* the counter of its first channel block's queue */
    int tiles[sets];                          /* long ranges of edges, at most one per warp; */
    int rounds[sets];                         /* before them, so many times as many short ones */
    int64_t length[sets], short_length[sets]; /* edges of a long tile, and of one of the first short ones */
    float work[sets];                         /* of an edge, with its part of what receivers take */
    int64_t partial_row[sets]; /* the first of a set's partial rows: one per tile and channel block */
};

/* Counters of a launch, all zero at its start: of the blocks of each path set; of the tiles fetched, for
 * `queues` in all, one per channel block; of the slots taken per multiprocessor. */
CGTP_BOTH int64_t cgtp_counters(int sets, int queues, int multiprocessors)
{
    return sets + queues + (sets > 1 ? multiprocessors : 0);
}

/* The number of the block among those that share the counter, in the order of starting; of teams, which wait for no other
 * block, simply its number. All threads call. */
template <int nodes> CGTP_DEVICE int cgtp_block_order(unsigned *counter)
{
    if constexpr (nodes < 0)
        return cgtp_block();
    return (int)cgtp_of_first_thread(cgtp_thread() == 0 ? cgtp_ticket(counter) : 0) & 0x7fffffff;
}

/* The path set of the block, and its number among the blocks of that set in the order of starting. A block
 * takes a slot of the multiprocessor that it runs on, wherever there is one left: which that is the hardware
 * decides, and differs from launch to launch. All threads call. */
template <int sets>
CGTP_DEVICE int cgtp_block_slot(const cgtp_partition<sets> &p, unsigned *counters, int queues, int &order)
{
    int set = 0;
    order = 0;
    if (cgtp_thread() == 0) {
        int column = cgtp_multiprocessor() % p.multiprocessors;
        unsigned taken = cgtp_ticket(counters + sets + queues + column);
        while (taken >= (unsigned)p.per_multiprocessor) {
            column = column + 1 < p.multiprocessors ? column + 1 : 0;
            taken = cgtp_ticket(counters + sets + queues + column);
        }
        const int slot = column * p.per_multiprocessor + (int)taken;
        CGTP_UNROLL
        for (int s = 1; s < sets; s++)
            set += slot >= p.first[s];
        order = (int)cgtp_ticket(counters + set);
    }
    const long long both = cgtp_of_first_thread((long long)set << 32 | (unsigned)order);
    order = (int)(both & 0x7fffffff);
    return (int)(both >> 32);
}

/* The path set that a block helps whose own has no tiles left: the one with most work in tiles that nobody
 * has taken; -1: none has any. nodes: receivers of a tile, of so many in all; 0: tiles are ranges of edges.
 * All threads call. */
template <int nodes, int sets>
CGTP_DEVICE int cgtp_set_to_help(const cgtp_partition<sets> &p, unsigned *counters, int64_t receivers)
{
    int best = -1;
    if (cgtp_thread() == 0) {
        float most = 0;
        CGTP_UNROLL
        for (int s = 0; s < sets; s++) {
            const int whole = nodes ? (int)((receivers + nodes - 1) / (nodes ? nodes : 1)) - p.warps[s] : 0;
            const int tiles = nodes ? whole : p.rounds[s] * p.tiles[s]; /* besides those of its warps */
            const int left = tiles - (int)cgtp_tickets(counters + p.queue[s]);
            const bool started = (int)cgtp_tickets(counters + s) >= p.first[s + 1] - p.first[s];
            const float work = left * p.work[s] * (nodes ? 1 : (float)p.short_length[s]);
            if (started && work > most) {
                most = work;
                best = s;
            }
        }
    }
    return (int)cgtp_of_first_thread(best);
}

/* ---- on the host ---- */

/* What a path set costs, in instructions: an edge, in one channel block; handing over a partial row, besides
 * what a receiver takes, 0: none are. */
struct cgtp_set_cost {
    int edge, hand_over;
    int channel_blocks;
    bool follows; /* its loop is that of the set before */
};

/* What a receiver takes in every path set, besides its edges, in instructions. */
enum { CGTP_RECEIVER_WORK = 1600 };

/* Short tiles: rounds of them, of one edge in so many; each costs as much as the receiver that it shares with its
 * neighbour, and its edges should take so many times that, divided by the path sets: the more sets there are, the more
 * they differ, and the more it pays that they help each other. Tests have smaller graphs. */
#ifndef CGTP_SHORT_PART
#define CGTP_SHORT_PART 4
#define CGTP_SHORT_WORTH 12
#endif

/* Rounds at most; of several path sets that hand over nothing, so that a tile more costs little, where their shortest ones
 * are worth it by far: seven eighths of the edges then go to whoever has nothing to do, however wrong the work is that
 * they were divided by. */
enum { CGTP_SHORT_ROUNDS = 3, CGTP_MANY_ROUNDS = 7, CGTP_MANY_WORTH = 4 };

/* Chooses the rounds of short tiles of path set s, where a warp has so many edges. None where a block has not
 * a warp for each channel block: the last to start, or one that helps, would leave some of them undone. */
template <int sets>
static inline void cgtp_make_tiles(cgtp_partition<sets> &d, int s, int warps, int64_t items,
                                   const cgtp_set_cost &cost)
{
    const int64_t tiles = d.warps[s] < items ? d.warps[s] : items, edges = tiles ? items / tiles : 0;
    const int64_t least = CGTP_SHORT_WORTH * (CGTP_RECEIVER_WORK + cost.hand_over) / (sets * cost.edge) + 1;
    const int64_t shortest = least > edges / 32 ? least : edges / 32;
    const bool none = cost.channel_blocks > warps || (sets == 1 && cost.hand_over);
    const bool many = sets > 1 && !cost.hand_over && shortest >= CGTP_MANY_WORTH * least;
    const int64_t most = many ? edges - edges / 8 : edges / CGTP_SHORT_PART;
    int rounds = none ? 0 : many ? CGTP_MANY_ROUNDS : CGTP_SHORT_ROUNDS;
    while (rounds && rounds * (rounds + 1) / 2 * shortest > most)
        rounds--;
    d.tiles[s] = (int)tiles;
    d.rounds[s] = rounds;
    d.short_length[s] = shortest;
    if (tiles)
        d.length[s] = (items - rounds * (rounds + 1) / 2 * shortest * tiles + tiles - 1) / tiles;
}

/* Partial rows of a launch that cgtp_make_partition divides: one per tile and channel block, of the blocks
 * that fill the device or, on a small one, of `least` blocks in as many waves as they need. One path set has no short tiles. */
static inline int64_t cgtp_partial_rows(int sets, int per_multiprocessor, int warps, int least)
{
    const int multiprocessors = cgtp_multiprocessors();
    const int waves = (least + multiprocessors - 1) / multiprocessors;
    return (sets > 1 ? 1 + CGTP_SHORT_ROUNDS : 1) * (int64_t)multiprocessors *
           (waves > per_multiprocessor ? waves : per_multiprocessor) * warps;
}

/* Neighbouring multiprocessors that share a cache for instructions. */
enum { CGTP_NEIGHBOURS = 2 };

/* Shares `units` among n path sets in proportion to their work, at least least[s] each; returns the most work
 * per unit. Gives more than there are where the least together are more. */
static inline double cgtp_share(int units, int n, const double *work, const int *least, int *count)
{
    double total = 0, most = 0;
    int given = 0;
    for (int s = 0; s < n; s++)
        total += work[s];
    for (int s = 0; s < n; s++) {
        count[s] = (int)(units * (work[s] / total));
        count[s] = count[s] < least[s] ? least[s] : count[s];
        given += count[s];
    }
    for (; given < units; given++) { /* to the set with most work per unit */
        int best = 0;
        for (int s = 1; s < n; s++)
            if (work[s] / count[s] > work[best] / count[best])
                best = s;
        count[best]++;
    }
    for (; given > units; given--) { /* from the one with least, while it can give */
        int best = -1;
        for (int s = 0; s < n; s++)
            if (count[s] > least[s] && (best < 0 || work[s] / count[s] < work[best] / count[best]))
                best = s;
        if (best < 0)
            break;
        count[best]--;
    }
    for (int s = 0; s < n; s++)
        most = work[s] / count[s] > most ? work[s] / count[s] : most;
    return most;
}

/* The same of slots: whole units go to loops, and what a loop has is shared among its path sets. */
template <int sets>
static inline double cgtp_share_loops(int slots, int unit, const cgtp_set_cost *cost, const double *work,
                                      const int *least, int *blocks)
{
    double of_loop[sets] = {}, most = 0;
    int least_of_loop[sets] = {}, first[sets + 1] = {}, units[sets] = {}, loops = 0;
    for (int s = 0; s < sets; s++) {
        if (s == 0 || !cost[s].follows)
            first[loops++] = s;
        of_loop[loops - 1] += work[s];
        least_of_loop[loops - 1] += least[s];
    }
    first[loops] = sets;
    for (int i = 0; i < loops; i++)
        least_of_loop[i] = (least_of_loop[i] + unit - 1) / unit;
    cgtp_share(slots / unit, loops, of_loop, least_of_loop, units);
    for (int i = 0; i < loops; i++) {
        const int s = first[i];
        const double of_one = cgtp_share(units[i] * unit, first[i + 1] - s, work + s, least + s, blocks + s);
        most = of_one > most ? of_one : most;
    }
    return most;
}

/* Divides the blocks that fill the device among path sets in proportion to what their edges cost, and their
 * parts of receivers; each gets at least what its channel blocks need, and no more long tiles than there are
 * edges. Whole pairs of multiprocessors, or single ones, where there are enough, to the sets of one loop: the
 * code of two loops slows both down. */
template <int sets>
static inline cgtp_partition<sets> cgtp_make_partition(int multiprocessors, int per_multiprocessor, int warps,
                                                       int64_t items, int64_t receivers,
                                                       const cgtp_set_cost *cost)
{
    cgtp_partition<sets> d = {};
    const int unit[3] = {CGTP_NEIGHBOURS * per_multiprocessor, per_multiprocessor, 1};
    const int slots = multiprocessors * per_multiprocessor;
    double all[sets], best = 0;
    int blocks[sets] = {}, least[sets];
    for (int s = 0; s < sets; s++) {
        all[s] = (cost[s].edge + (double)CGTP_RECEIVER_WORK * (double)receivers / (double)items) *
                 cost[s].channel_blocks;
        least[s] = (cost[s].channel_blocks + warps - 1) / warps;
    }
    d.multiprocessors = multiprocessors;
    for (int u = 0; u < 3; u++) {
        int count[sets] = {}, given = 0;
        if (slots % unit[u] != 0)
            continue;
        double most = cgtp_share_loops<sets>(slots, unit[u], cost, all, least, count);
        for (int s = 0; s < sets; s++)
            given += count[s];
        if (given > slots) {
            if (unit[u] > 1)
                continue;
            /* too small for one block per set: more waves, all of whose blocks get a slot */
            given = (given + multiprocessors - 1) / multiprocessors * multiprocessors;
            most = cgtp_share_loops<sets>(given, 1, cost, all, least, count);
        }
        int torn = 0, before = 0; /* boundaries of loops within a pair */
        for (int s = 0; s + 1 < sets; s++) {
            before += count[s];
            torn += !cost[s + 1].follows && before % unit[0] != 0;
        }
        /* what pairs with the code of two loops cost: 23 % where there are four, of six sets, 2 % with two */
        most *= u == 2 ? 1.2 : 1 + 0.004 * torn * torn;
        if (best > 0 && most >= best)
            continue;
        best = most;
        d.per_multiprocessor = given / multiprocessors;
        for (int s = 0; s < sets; s++)
            blocks[s] = count[s];
    }
    for (int s = 0; s < sets; s++) {
        d.first[s + 1] = d.first[s] + blocks[s];
        d.warps[s] = blocks[s] * warps / cost[s].channel_blocks;
        cgtp_make_tiles<sets>(d, s, warps, items, cost[s]);
        d.work[s] = (float)all[s];
        const int before = s ? s - 1 : 0;
        const int64_t rows = s ? (int64_t)d.tiles[before] * (1 + d.rounds[before]) : 0;
        d.queue[s] = s ? d.queue[before] + cost[before].channel_blocks : sets;
        d.partial_row[s] = s ? d.partial_row[before] + rows * cost[before].channel_blocks : 0;
    }
    return d;
}

/* With teams a warp has more edges than if all had equally many, and more where receivers differ, by a quarter, say. What is
 * gained, in instructions of a warp: the launch that clears flags, the wait for it, the way of sums through memory. Tests
 * have smaller graphs. */
#ifndef CGTP_TEAM_GAIN
#define CGTP_TEAM_GAIN 14000
#endif

/* Gives each receiver a team, of as many warps of one block as there are, where that pays: in small graphs. */
static inline void cgtp_make_teams(cgtp_partition<1> &d, int warps, int64_t items, int64_t receivers,
                                   const cgtp_set_cost &cost)
{
    int team = warps / cost.channel_blocks;
    while (team > 0 && receivers * team > d.warps[0])
        team /= 2;
    if (!team || !receivers)
        return;
    const int64_t most = (items / receivers + team - 1) / team, mean = items / d.warps[0];
    if ((most + most / 4 - mean) * cost.edge <= CGTP_TEAM_GAIN)
        d.team = team;
}

/* Blocks that have teams, of so many warps. */
static inline int64_t cgtp_team_blocks(const cgtp_partition<1> &d, int warps, int64_t receivers,
                                       const cgtp_set_cost &cost)
{
    const int64_t teams = warps / cost.channel_blocks / d.team; /* of a block */
    return (receivers + teams - 1) / teams;
}

/* Blocks of a launch so divided: every slot is taken. */template <int sets> static inline int64_t cgtp_partition_blocks(const cgtp_partition<sets> &d)
{
    return (int64_t)d.multiprocessors * d.per_multiprocessor;
}

} // namespace

#endif
