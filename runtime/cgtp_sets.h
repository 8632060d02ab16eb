/* SPDX-License-Identifier: MIT */
/* cgtp_sets.h - how the blocks of a launch of the convolution are divided among the path sets of a kernel that has
 * several, and help other sets when their own has no tiles left; what they make of one output, added up. Included after cgtp_cuda.h.
 */
#ifndef CGTP_SETS_H
#define CGTP_SETS_H

#include "cgtp_partition.h"

namespace
{

/* The path set of the block, and its number among the blocks of that set in the order of starting. A block
 * takes a slot of the multiprocessor that it runs on, wherever there is one left: which that is the hardware
 * decides, and differs from launch to launch. Of teams a block simply has the slot of its number. All threads call. */
template <int nodes, int sets>
CGTP_DEVICE int cgtp_block_slot(const cgtp_partition<sets> &p, unsigned *counters, int queues, int &order)
{
    int set = order = 0;
    if constexpr (nodes < 0) {
        while (set + 1 < sets && cgtp_block() >= p.first[set + 1])
            set++;
        order = (int)cgtp_block() - p.first[set];
        return set;
    }
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

/* The path set that a block helps whose own has no tiles left: the one with most work in tiles that nobody has taken; -1: none
 * has any. nodes: receivers of a tile, of so many in all; 0: tiles are ranges of edges. All threads call. */
template <int nodes, int sets>
CGTP_DEVICE int cgtp_set_to_help(const cgtp_partition<sets> &p, unsigned *counters, int64_t receivers)
{
    int best = -1;
    if (nodes >= 0 && cgtp_thread() == 0) {
        float most = 0;
        CGTP_UNROLL
        for (int s = 0; s < sets; s++) {
            const int whole = nodes ? (int)((receivers + nodes - 1) / (nodes ? nodes : 1)) - p.warps[s] : 0;
            const int tiles = nodes ? whole : p.tickets[s]; /* besides those of its warps */
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

/* The sum of an element of `parts` rows of `dim`, in order. */
template <int parts, int dim> CGTP_DEVICE real cgtp_sum_rows(const real *from)
{
    real sum = from[0];
    CGTP_UNROLL
    for (int i = 1; i < parts; i++)
        sum += from[i * dim];
    return sum;
}

/* The sum of an element's parts, in order: element `at` of rows of `dim`, of which `parts` follow each other. */
template <int parts, int dim> CGTP_DEVICE real cgtp_sum_parts(const real *row, int64_t at)
{
    return cgtp_sum_rows<parts, dim>(row + at / dim * (parts * dim) + at % dim);
}

/* ---- on the host ---- */

#ifndef CGTP_MEET_EDGES /* of a tile where path sets meet, and such tiles of a warp at least; in tests fewer */
#define CGTP_MEET_EDGES 16
#define CGTP_MEET_TILES 2
#endif
/* Has path sets that hand over nothing go through the edges at the same time: short tiles, in order, so that a sector
 * that several of them read, or write a part of, is in L2 from the first to the last. */
template <int sets> static inline void cgtp_meet_in_order(cgtp_partition<sets> &d, int warps)
{
    const int64_t tiles = (d.turn.end - d.turn.from + CGTP_MEET_EDGES - 1) / CGTP_MEET_EDGES;
    const bool many = tiles >= (int64_t)CGTP_MEET_TILES * d.multiprocessors * d.per_multiprocessor * warps;
    for (int s = 0; s < sets && many; s++)
        d.tiles[s] = (int)tiles, d.tickets[s] = tiles > d.warps[s] ? (int)tiles - d.warps[s] : 0, d.rounds[s] = 0,
        d.length[s] = d.short_length[s] = CGTP_MEET_EDGES;
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

/* In proportion to what their edges cost, and their parts of receivers. Whole pairs of multiprocessors, or single ones,
 * where there are enough, to the sets of one loop: the code of two loops slows both down. */
template <int sets>
static inline int cgtp_share_blocks(int multiprocessors, int per_multiprocessor, const cgtp_set_cost *cost,
                                    const double *work, const int *least, int *blocks)
{
    const int unit[3] = {CGTP_NEIGHBOURS * per_multiprocessor, per_multiprocessor, 1};
    const int slots = multiprocessors * per_multiprocessor;
    double best = 0;
    int waves = 0;
    for (int u = 0; u < 3; u++) {
        int count[sets] = {}, given = 0;
        if (slots % unit[u] != 0)
            continue;
        double most = cgtp_share_loops<sets>(slots, unit[u], cost, work, least, count);
        for (int s = 0; s < sets; s++)
            given += count[s];
        if (given > slots) {
            if (unit[u] > 1)
                continue;
            /* too small for one block per set: more waves, all of whose blocks get a slot */
            given = (given + multiprocessors - 1) / multiprocessors * multiprocessors;
            most = cgtp_share_loops<sets>(given, 1, cost, work, least, count);
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
        waves = given / multiprocessors;
        for (int s = 0; s < sets; s++)
            blocks[s] = count[s];
    }
    return waves;
}

} // namespace

#endif
