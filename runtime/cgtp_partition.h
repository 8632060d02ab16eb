/* SPDX-License-Identifier: MIT */
/* cgtp_partition.h - the blocks of a launch of the convolution and their tiles; where there are several path sets,
 * cgtp_sets.h says how blocks are divided among them. Included after cgtp_cuda.h.
 */
#ifndef CGTP_PARTITION_H
#define CGTP_PARTITION_H

#include <math.h>

namespace
{

/* The edges of a launch. Where the buffer of edges has not room for all of them, there are turns, one after the other:
 * each computes edges that follow each other in the list, up to `kept`, and adds their rows to the senders' sums, which
 * so come in the same order whatever the turns are. Sums of receivers come from whichever tiles they are divided into: all
 * edges are computed for these in the first turn, and later ones leave them alone. */
struct cgtp_turn {
    int64_t from, end; /* edges that are computed */
    int64_t kept;      /* from `from` up to here they have rows in the buffer */
    bool first, last;
};

/* The turn that begins at edge `from`, of `length` edges that have rows. sums: are there sums of receivers? */
static inline cgtp_turn cgtp_turn_from(int64_t from, int64_t length, int64_t items, bool sums)
{
    const int64_t kept = items - from < length ? items : from + length;
    return {from, sums && from == 0 ? items : kept, kept, from == 0, kept == items};
}

/* Each block of a launch has a slot; path set s owns slots first[s] .. first[s + 1] - 1. A multiprocessor has
 * neighbouring slots, so that most hold the code of one path set. */
template <int sets> struct cgtp_partition {
    int multiprocessors, per_multiprocessor;
    bool teams;      /* do warps of one block share a receiver (see cgtp_tile_scheduler)? */
    int team[sets];  /* so many per channel block */
    int first[sets + 1];
    int warps[sets];                          /* per channel block */
    int queue[sets];                          /* the counter of its first channel block's queue */
    int tiles[sets];                          /* long ranges of edges, at most one per warp, or short ones in order; */
    int rounds[sets], tickets[sets];          /* before them, so many times as many short ones; tiles besides the warps' first */
    int64_t length[sets], short_length[sets]; /* edges of a long tile, and of one of the first short ones */
    float work[sets];                         /* of an edge, with its part of what receivers take */
    int64_t partial_row[sets]; /* the first of a set's partial rows: one per tile and channel block */
    cgtp_turn turn;            /* the edges that are so divided */
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
    d.rounds[s] = rounds, d.tickets[s] = rounds * (int)tiles;
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

/* Divides slots among path sets (cgtp_sets.h): their blocks, each at least least[s]; returns how many a multiprocessor has. */
template <int sets>
static inline int cgtp_share_blocks(int multiprocessors, int per_multiprocessor, const cgtp_set_cost *cost,
                                    const double *work, const int *least, int *blocks);

/* Divides the blocks that fill the device among path sets; each gets at least what its channel blocks need, in more waves
 * where the device is too small, and no more long tiles than there are edges. */
template <int sets>
static inline cgtp_partition<sets> cgtp_make_partition(int multiprocessors, int per_multiprocessor, int warps,
                                                       int64_t items, int64_t receivers,
                                                       const cgtp_set_cost *cost, cgtp_turn turn = {})
{
    cgtp_partition<sets> d = {};
    double all[sets];
    int blocks[sets] = {}, least[sets];
    for (int s = 0; s < sets; s++) {
        all[s] = (cost[s].edge + (double)CGTP_RECEIVER_WORK * (double)receivers / (double)items) *
                 cost[s].channel_blocks;
        least[s] = (cost[s].channel_blocks + warps - 1) / warps;
    }
    d.multiprocessors = multiprocessors;
    d.turn = turn.end ? turn : cgtp_turn_from(0, items, items, true);
    if constexpr (sets == 1) {
        const int needed = (least[0] + multiprocessors - 1) / multiprocessors;
        d.per_multiprocessor = per_multiprocessor > needed ? per_multiprocessor : needed;
        blocks[0] = multiprocessors * d.per_multiprocessor;
    } else {
        d.per_multiprocessor =
            cgtp_share_blocks<sets>(multiprocessors, per_multiprocessor, cost, all, least, blocks);
    }
    for (int s = 0; s < sets; s++) {
        d.first[s + 1] = d.first[s] + blocks[s];
        d.warps[s] = blocks[s] * warps / cost[s].channel_blocks;
        cgtp_make_tiles<sets>(d, s, warps, d.turn.end - d.turn.from, cost[s]);
        d.work[s] = (float)all[s];
        const int before = s ? s - 1 : 0;
        const int64_t rows = s ? (int64_t)d.tiles[before] * (1 + d.rounds[before]) : 0;
        d.queue[s] = s ? d.queue[before] + cost[before].channel_blocks : sets;
        d.partial_row[s] = s ? d.partial_row[before] + rows * cost[before].channel_blocks : 0;
    }
    return d;
}

#ifndef CGTP_TEAM_GAIN /* by teams, in instructions of a warp: a launch that clears, the wait for it, sums through memory; in tests less */
#define CGTP_TEAM_GAIN 14000
#endif

/* Gives each receiver teams, one for each path set and channel block, of as many warps of one block as there are, where that
 * pays. Smaller first are those whose warps would be done first. Some receivers have 2 sqrt(n) edges more than the mean of n; the
 * more blocks a multiprocessor has, the longer an instruction takes. group: are a receiver's channel blocks in one block? */
template <int sets>
static inline void cgtp_make_teams(cgtp_partition<sets> &d, int warps, bool group, int64_t items, int64_t receivers,
                                   const cgtp_set_cost *cost)
{
    const int64_t slots = (int64_t)d.multiprocessors * d.per_multiprocessor, mean = receivers ? items / receivers : 0;
    const int64_t most = mean + (int64_t)ceil(2 * sqrt((double)mean));
    for (int s = 0; s < sets; s++)
        d.team[s] = group ? warps / cost[s].channel_blocks : warps;
    for (int least = 0; least >= 0;) {
        int64_t first[sets + 1] = {}, longest = 0, shortest = INT64_MAX, all = 0;
        least = -1;
        for (int s = 0; s < sets; s++) {
            const int64_t teams = warps / d.team[s], time = (most + d.team[s] - 1) / d.team[s] * cost[s].edge;
            first[s + 1] = first[s] + (receivers * cost[s].channel_blocks + teams - 1) / teams;
            longest = longest > time ? longest : time;
            all += (int64_t)cost[s].edge * cost[s].channel_blocks;
            if (d.team[s] > 1 && time < shortest)
                least = s, shortest = time;
        }
        if (first[sets] <= slots) {
            const int64_t ranges = items * all / (slots * warps), more = first[sets] - d.multiprocessors;
            const int64_t later = more > 0 ? longest * more / d.multiprocessors : 0;
            d.teams = receivers && longest - ranges <= CGTP_TEAM_GAIN &&
                      longest + later - ranges * d.per_multiprocessor <= CGTP_TEAM_GAIN;
            for (int s = 0; s < sets && d.teams; s++)
                d.first[s + 1] = (int)first[s + 1];
            return;
        }
        d.team[least < 0 ? 0 : least] /= 2;
    }
}

/* Blocks of a launch so divided: every slot is taken. */
template <int sets> static inline int64_t cgtp_partition_blocks(const cgtp_partition<sets> &d)
{
    return d.teams ? d.first[sets] : (int64_t)d.multiprocessors * d.per_multiprocessor;
}

} // namespace

#endif
