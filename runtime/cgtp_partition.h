/* cgtp_partition.h - how the blocks of a launch of the convolution are divided among the path sets of a
 * kernel. Included after cgtp_cuda.h.
 */
#ifndef CGTP_PARTITION_H
#define CGTP_PARTITION_H

namespace
{

/* Each block of a launch has a slot; path set s owns slots first[s] .. first[s + 1] - 1. A multiprocessor has
 * neighbouring slots, so that most hold the code of one path set. */
template <int sets> struct cgtp_partition {
    int multiprocessors, per_multiprocessor;
    int first[sets + 1];
    int warps[sets];                          /* per channel block */
    int tiles[sets];                          /* ranges of edges, */
    int short_tiles[sets];                    /* of which the first are short */
    int64_t length[sets], short_length[sets]; /* edges per tile; at the end of the list, fewer */
    int64_t partial_row[sets]; /* the first of a set's partial rows: one per tile and channel block */
};

/* Counters of a launch, all zero at its start: of the blocks of each path set; of the tiles fetched, for
 * `queues` in all; of the slots taken per multiprocessor. */
CGTP_BOTH int64_t cgtp_counters(int sets, int queues, int multiprocessors)
{
    return sets + queues + (sets > 1 ? multiprocessors : 0);
}

/* The number of the block among those that share the counter, in the order of starting. All threads call. */
CGTP_DEVICE int cgtp_block_order(unsigned *counter)
{
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

/* ---- on the host ---- */

/* Partial rows of a launch that cgtp_make_partition divides: two per warp of the blocks that fill the device
 * or, on a small one, of `least` blocks in as many waves as they need. */
static inline int64_t cgtp_partial_rows(int per_multiprocessor, int warps, int least)
{
    const int multiprocessors = cgtp_multiprocessors();
    const int waves = (least + multiprocessors - 1) / multiprocessors;
    return 2 * (int64_t)multiprocessors * (waves > per_multiprocessor ? waves : per_multiprocessor) * warps;
}

/* Edges per warp from which on there are short tiles besides. Where tiles wait for each other, the receivers
 * that they share have to be added up: that pays only for many edges, and where several path sets make
 * multiprocessors differ. */
#ifndef CGTP_SHORT_FROM /* at least 2; tests have smaller graphs */
#define CGTP_SHORT_FROM 32
#endif
#ifndef CGTP_SHORT_WAITING_FROM
#define CGTP_SHORT_WAITING_FROM 128
#endif
#ifndef CGTP_SHORT_WAITING_SETS
#define CGTP_SHORT_WAITING_SETS 3
#endif

/* Neighbouring multiprocessors that share a cache for instructions. */
enum { CGTP_NEIGHBOURS = 2 };

/* What a receiver takes in every path set, besides its edges, in instructions. */
enum { CGTP_RECEIVER_WORK = 1600 };

/* Shares `units` among path sets in proportion to their work, at least least[s] each; returns the most work
 * per unit. Gives more than there are where the least together are more. */
template <int sets>
static inline double cgtp_share(int units, const double *work, const int *least, int *count)
{
    double total = 0, most = 0;
    int given = 0;
    for (int s = 0; s < sets; s++)
        total += work[s];
    for (int s = 0; s < sets; s++) {
        count[s] = (int)(units * (work[s] / total));
        count[s] = count[s] < least[s] ? least[s] : count[s];
        given += count[s];
    }
    for (; given < units; given++) { /* to the set with most work per unit */
        int best = 0;
        for (int s = 1; s < sets; s++)
            if (work[s] / count[s] > work[best] / count[best])
                best = s;
        count[best]++;
    }
    for (; given > units; given--) { /* from the one with least, while it can give */
        int best = -1;
        for (int s = 0; s < sets; s++)
            if (count[s] > least[s] && (best < 0 || work[s] / count[s] < work[best] / count[best]))
                best = s;
        if (best < 0)
            break;
        count[best]--;
    }
    for (int s = 0; s < sets; s++)
        most = work[s] / count[s] > most ? work[s] / count[s] : most;
    return most;
}

/* Divides the blocks that fill the device among path sets in proportion to their work (time of an edge, in
 * instructions; and of its part of a receiver); each gets at least what its channel blocks need, and no more
 * long tiles than there are edges. Whole pairs of multiprocessors, or single ones, where there are enough: the
 * code of two sets slows both down. waits: see cgtp_tile_scheduler. */
template <int sets>
static inline cgtp_partition<sets> cgtp_make_partition(int multiprocessors, int per_multiprocessor, int warps,
                                                       int64_t items, int64_t receivers, const int *work,
                                                       const int *channel_blocks, bool waits)
{
    cgtp_partition<sets> d = {};
    const int unit[3] = {CGTP_NEIGHBOURS * per_multiprocessor, per_multiprocessor, 1};
    double all[sets], best = 0;
    int blocks[sets] = {};
    for (int s = 0; s < sets; s++)
        all[s] = (work[s] + CGTP_RECEIVER_WORK * (double)receivers / (double)items) * channel_blocks[s];
    d.multiprocessors = multiprocessors;
    for (int u = 0; u < 3; u++) {
        int least[sets], count[sets], given = 0;
        const int units = multiprocessors * per_multiprocessor / unit[u];
        for (int s = 0; s < sets; s++)
            least[s] = ((channel_blocks[s] + warps - 1) / warps + unit[u] - 1) / unit[u];
        if (units * unit[u] != multiprocessors * per_multiprocessor)
            continue;
        double most = cgtp_share<sets>(units, all, least, count);
        for (int s = 0; s < sets; s++)
            given += count[s] * unit[u];
        if (given > multiprocessors * per_multiprocessor) {
            if (unit[u] > 1)
                continue;
            /* too small for one block per set: more waves, all of whose blocks get a slot */
            given = (given + multiprocessors - 1) / multiprocessors * multiprocessors;
            most = cgtp_share<sets>(given, all, least, count);
        }
        int torn = 0, before = 0; /* boundaries of sets within a pair */
        for (int s = 0; s + 1 < sets; s++) {
            before += count[s] * unit[u];
            torn += before % unit[0] != 0;
        }
        /* what pairs with the code of two sets cost: 23 % where there are four, of six sets, 2 % with two */
        most *= (u == 2 ? 1.2 : 1 + 0.004 * torn * torn) / unit[u];
        if (best > 0 && most >= best)
            continue;
        best = most;
        d.per_multiprocessor = given / multiprocessors;
        for (int s = 0; s < sets; s++)
            blocks[s] = count[s] * unit[u];
    }
    for (int s = 0; s < sets; s++) {
        d.first[s + 1] = d.first[s] + blocks[s];
        d.warps[s] = blocks[s] * warps / channel_blocks[s];
        const int64_t tiles = d.warps[s] < items ? d.warps[s] : items;
        const bool several = !waits || sets >= CGTP_SHORT_WAITING_SETS;
        const int64_t from = waits ? CGTP_SHORT_WAITING_FROM : CGTP_SHORT_FROM;
        d.short_tiles[s] = several && items >= tiles * from ? (int)tiles : 0;
        d.tiles[s] = (int)tiles + d.short_tiles[s];
        if (tiles) {
            const int64_t brief = d.short_tiles[s] ? items / 8 : 0;
            d.short_length[s] = (brief + tiles - 1) / tiles;
            d.length[s] = (items - d.short_tiles[s] * d.short_length[s] + tiles - 1) / tiles;
        }
        d.partial_row[s] = s ? d.partial_row[s - 1] + (int64_t)d.tiles[s - 1] * channel_blocks[s - 1] : 0;
    }
    return d;
}

/* Blocks of a launch so divided: every slot is taken. */
template <int sets> static inline int64_t cgtp_partition_blocks(const cgtp_partition<sets> &d)
{
    return (int64_t)d.multiprocessors * d.per_multiprocessor;
}

} // namespace

#endif
