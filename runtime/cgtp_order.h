/* SPDX-License-Identifier: MIT */
/* cgtp_order.h - puts edges in the order of a node of theirs: a radix sort of edge numbers in the workspace.
 * Included after cgtp_cuda.h by kernels that take edges in any order, and by cgtp_graph.cu.
 *
 * The sort is stable, so that there is one result only. Each pass sorts by one digit: a block counts the keys
 * of a tile by digit, a warp adds up the counts of a digit over all tiles, and a block, which then knows where
 * its keys of each digit begin, counts once more and moves them.
 */
#ifndef CGTP_ORDER_H
#define CGTP_ORDER_H

#include "cgtp_launch.h"

namespace
{

enum {
    CGTP_SORT_WARPS = 8, /* of a block */
    CGTP_SORT_THREADS = CGTP_SORT_WARPS * CGTP_LANES,
    CGTP_SORT_TURNS = 8, /* keys of a lane, one of each 32 neighbours */
    CGTP_SORT_TILE = CGTP_SORT_THREADS * CGTP_SORT_TURNS,
    CGTP_SORT_BITS = 10, /* of a digit, at most */
    CGTP_SORT_SCANS = 4  /* warps of a block that adds up counts */
};

/* The number of an edge, to where a group of warps finds it, from the lane that leads. */
CGTP_DEVICE void cgtp_lead_number(int64_t &to, int64_t number, bool leads)
{
    if (leads)
        to = number;
}

/* A pass: n keys and the numbers that belong to them, from one list to another. */
template <typename Index> struct cgtp_sort_pass {
    int64_t n, tiles;
    int shift, digits; /* of the digit; powers of two */
    const Index *key, *number; /* number NULL: the places of the keys */
    Index *sorted_key, *sorted_number;
    const Index *along; /* NULL, or a list by number: */
    Index *moved;       /* its elements in the new order */
    Index *count;       /* [digits][tiles]: keys of a tile, then of those before; [digits]: of all tiles */

    CGTP_BOTH int64_t place(int64_t tile, int warp, int turn, int lane)
    {
        return tile * CGTP_SORT_TILE + (warp * CGTP_SORT_TURNS + turn) * CGTP_LANES + lane;
    }
};

/* The shared memory of a block. */
template <typename Index> struct cgtp_sort_block {
    int count[CGTP_SORT_WARPS][1 << CGTP_SORT_BITS]; /* keys of a warp's part of the tile, by digit */
    Index first[1 << CGTP_SORT_BITS];                /* where those of the tile begin */
    Index sum[CGTP_SORT_WARPS];
};

/* A lane's keys: their digits, and how many of the same digit are before each in the warp's part of the tile;
 * negative: there is no key. */
struct cgtp_sort_keys {
    int digit[CGTP_SORT_TURNS], before[CGTP_SORT_TURNS];
};

/* The sum over the lanes up to this one. All lanes take part. */
template <typename Index> CGTP_DEVICE Index cgtp_sum_until(Index value)
{
    CGTP_UNROLL
    for (int step = 1; step < CGTP_LANES; step *= 2) {
        const Index before = (Index)cgtp_shuffle(value, (cgtp_lane() - step) & (CGTP_LANES - 1));
        value += cgtp_lane() >= step ? before : 0;
    }
    return value;
}

/* Counts the keys of each warp's part of the block's tile. */
template <typename Index>
CGTP_DEVICE void cgtp_count_keys(const cgtp_sort_pass<Index> &p, cgtp_sort_block<Index> &block, cgtp_sort_keys &keys)
{
    const int warp = cgtp_warp(), lane = cgtp_lane();
    int *const count = block.count[warp];
    for (int d = lane; d < p.digits; d += CGTP_LANES)
        count[d] = 0;
    CGTP_UNROLL
    for (int turn = 0; turn < CGTP_SORT_TURNS; turn++) {
        const int64_t at = p.place(cgtp_block(), warp, turn, lane);
        keys.digit[turn] = at < p.n ? (int)(p.key[at] >> p.shift) & (p.digits - 1) : -1;
    }
    cgtp_sync_warp();
    CGTP_UNROLL
    for (int turn = 0; turn < CGTP_SORT_TURNS; turn++) {
        const int digit = keys.digit[turn];
        unsigned same = cgtp_vote(digit >= 0);
        for (int bit = 1; bit < p.digits; bit *= 2) {
            const unsigned set = cgtp_vote(digit & bit);
            same &= digit & bit ? set : ~set;
        }
        const int before = cgtp_bits(same & ((1u << lane) - 1));
        keys.before[turn] = digit >= 0 ? count[digit] + before : 0;
        cgtp_sync_warp();
        if (digit >= 0 && before == 0)
            count[digit] += cgtp_bits(same);
        cgtp_sync_warp();
    }
}

template <typename Index>
CGTP_KERNEL(CGTP_SORT_THREADS, 2) cgtp_sort_count_kernel(const cgtp_sort_pass<Index> p)
{
    CGTP_SHARED(shared);
    cgtp_sort_block<Index> &block = *(cgtp_sort_block<Index> *)shared;
    cgtp_sort_keys keys;
    cgtp_launch_wait();
    cgtp_count_keys(p, block, keys);
    cgtp_sync_group<CGTP_SORT_WARPS>();
    for (int d = cgtp_thread(); d < p.digits; d += CGTP_SORT_THREADS) {
        int sum = 0;
        CGTP_UNROLL
        for (int warp = 0; warp < CGTP_SORT_WARPS; warp++)
            sum += block.count[warp][d];
        p.count[d * p.tiles + cgtp_block()] = (Index)sum;
    }
}

/* A warp per digit. */
template <typename Index>
CGTP_KERNEL(CGTP_SORT_SCANS * CGTP_LANES, 8) cgtp_sort_scan_kernel(const cgtp_sort_pass<Index> p)
{
    const int digit = cgtp_block() * CGTP_SORT_SCANS + cgtp_warp();
    cgtp_launch_wait();
    if (digit >= p.digits)
        return;
    Index *const count = p.count + digit * p.tiles;
    Index sum = 0;
    for (int64_t from = 0; from < p.tiles; from += CGTP_LANES) {
        const int64_t at = from + cgtp_lane();
        const Index own = at < p.tiles ? count[at] : 0, until = cgtp_sum_until(own);
        if (at < p.tiles)
            count[at] = sum + until - own;
        sum += (Index)cgtp_shuffle(until, CGTP_LANES - 1);
    }
    if (cgtp_lane() == 0)
        p.count[p.digits * p.tiles + digit] = sum;
}

/* Where the tile's keys of each digit begin: after all of lower digits, and those of tiles before. */
template <typename Index>
CGTP_DEVICE void cgtp_find_first(const cgtp_sort_pass<Index> &p, cgtp_sort_block<Index> &block)
{
    const Index *const total = p.count + p.digits * p.tiles;
    const int each = (p.digits + CGTP_SORT_THREADS - 1) / CGTP_SORT_THREADS;
    const int begin = cgtp_thread() * each, end = begin < p.digits ? begin + each : begin;
    Index own = 0;
    for (int d = begin; d < end; d++)
        own += total[d];
    const Index until = cgtp_sum_until(own);
    if (cgtp_lane() == CGTP_LANES - 1)
        block.sum[cgtp_warp()] = until;
    cgtp_sync_group<CGTP_SORT_WARPS>();
    Index at = until - own;
    for (int warp = 0; warp < cgtp_warp(); warp++)
        at += block.sum[warp];
    for (int d = begin; d < end; d++) {
        block.first[d] = at + p.count[d * p.tiles + cgtp_block()];
        at += total[d];
    }
}

template <typename Index>
CGTP_KERNEL(CGTP_SORT_THREADS, 2) cgtp_sort_move_kernel(const cgtp_sort_pass<Index> p)
{
    CGTP_SHARED(shared);
    cgtp_sort_block<Index> &block = *(cgtp_sort_block<Index> *)shared;
    cgtp_sort_keys keys;
    cgtp_launch_wait();
    cgtp_count_keys(p, block, keys);
    cgtp_find_first(p, block);
    cgtp_sync_group<CGTP_SORT_WARPS>();
    for (int d = cgtp_thread(); d < p.digits; d += CGTP_SORT_THREADS) {
        int before = 0;
        CGTP_UNROLL
        for (int warp = 0; warp < CGTP_SORT_WARPS; warp++) {
            const int own = block.count[warp][d];
            block.count[warp][d] = before;
            before += own;
        }
    }
    cgtp_sync_group<CGTP_SORT_WARPS>();
    CGTP_UNROLL
    for (int turn = 0; turn < CGTP_SORT_TURNS; turn++) {
        const int digit = keys.digit[turn];
        if (digit < 0)
            continue;
        const int64_t at = p.place(cgtp_block(), cgtp_warp(), turn, cgtp_lane());
        const Index to = block.first[digit] + block.count[cgtp_warp()][digit] + keys.before[turn];
        const Index number = p.number ? p.number[at] : (Index)at;
        p.sorted_key[to] = p.key[at];
        p.sorted_number[to] = number;
        if (p.along)
            p.moved[to] = p.along[number];
    }
}

/* row[r]: how many of the sorted ends are below r, for r = 0 .. rows. */
enum { CGTP_ROWS_BLOCK = 128 };
template <typename Index>
CGTP_KERNEL(CGTP_ROWS_BLOCK, 8) cgtp_find_rows_kernel(const Index *end, int64_t n, int64_t rows, int64_t *row)
{
    const int64_t r = cgtp_block() * (int64_t)CGTP_ROWS_BLOCK + cgtp_thread();
    cgtp_launch_wait();
    if (r > rows)
        return;
    row[r] = cgtp_lower_bound(end, 0, n, r);
}

/* ---- on the host ---- */

/* How keys below `nodes` are divided into digits. */
struct cgtp_sort_plan {
    int passes, bits;

    cgtp_sort_plan(int64_t nodes) : passes(1), bits(1)
    {
        int all = 1;
        while (all < 62 && nodes > (int64_t)1 << all)
            all++;
        passes = (all + CGTP_SORT_BITS - 1) / CGTP_SORT_BITS;
        bits = (all + passes - 1) / passes;
    }
    int64_t counts(int64_t n) const
    {
        return ((n + CGTP_SORT_TILE - 1) / CGTP_SORT_TILE + 1) << bits;
    }
};

/* Areas of the workspace that sorts of n keys need, and are done with when they end: of keys below `nodes`, and of others. */
template <typename Index> struct cgtp_sort_areas {
    Index *key = NULL, *number = NULL; /* of every other pass */
    Index *count = NULL;

    cgtp_sort_areas() = default;
    cgtp_sort_areas(cgtp_workspace &space, int64_t n, int64_t nodes, int64_t others)
    {
        const cgtp_sort_plan plan(nodes), other(others);
        const bool twice = plan.passes > 1 || other.passes > 1;
        key = space.area<Index>(twice ? n : 0);
        number = space.area<Index>(twice ? n : 0);
        count = space.area<Index>(plan.counts(n) > other.counts(n) ? plan.counts(n) : other.counts(n));
    }
};

/* Sorts n keys below `nodes`, their places, and what goes along. */
template <typename Index>
static inline cgtp_status cgtp_sort(cgtp_sort_pass<Index> sort, int64_t nodes, const cgtp_sort_areas<Index> &areas,
                                    cgtp_stream stream)
{
    const cgtp_sort_plan plan(nodes);
    cgtp_sort_pass<Index> p = sort;
    p.tiles = (p.n + CGTP_SORT_TILE - 1) / CGTP_SORT_TILE;
    p.digits = 1 << plan.bits;
    p.count = areas.count;
    for (int i = 0; i < plan.passes; i++) {
        const bool last = i + 1 == plan.passes, back = (plan.passes - i) % 2;
        cgtp_status status;
        p.shift = i * plan.bits;
        p.sorted_key = back ? sort.sorted_key : areas.key;
        p.sorted_number = back ? sort.sorted_number : areas.number;
        p.along = last ? sort.along : NULL;
        if ((status = cgtp_launch_early(cgtp_sort_count_kernel<Index>, p.tiles, CGTP_SORT_THREADS,
                                        sizeof(cgtp_sort_block<Index>), stream, p)))
            return status;
        if ((status = cgtp_launch_early(cgtp_sort_scan_kernel<Index>,
                                        (p.digits + CGTP_SORT_SCANS - 1) / CGTP_SORT_SCANS,
                                        (int)CGTP_SORT_SCANS * CGTP_LANES, 0, stream, p)))
            return status;
        if ((status = cgtp_launch_early(cgtp_sort_move_kernel<Index>, p.tiles, CGTP_SORT_THREADS,
                                        sizeof(cgtp_sort_block<Index>), stream, p)))
            return status;
        p.key = p.sorted_key;
        p.number = p.sorted_number;
    }
    return CGTP_OK;
}

template <typename Index>
static inline cgtp_status cgtp_find_rows(const Index *end, int64_t n, int64_t rows, int64_t *row, cgtp_stream stream)
{
    return cgtp_launch_early(cgtp_find_rows_kernel<Index>, rows / CGTP_ROWS_BLOCK + 1, CGTP_ROWS_BLOCK, 0, stream,
                             end, n, rows, row);
}

/* Of a graph that the caller has ordered: are there the arrays that are needed then? */
template <typename Graph> static inline cgtp_status cgtp_check_ordered(const Graph *graph, int needed)
{
    return graph->order ? cgtp_check_lists(graph, needed) : CGTP_OK;
}

/* What a launch makes in its workspace of a graph whose edges come in any order: the same graph with edges by
 * receiver, and which edge of the caller's each is; the edges of each sender. */
template <typename Index> struct cgtp_ordering {
    Index *sender = NULL, *receiver = NULL, *order = NULL; /* NULL: edges stay as they are */
    int64_t *receiver_row = NULL;
    Index *by_sender = NULL, *sorted_sender = NULL; /* NULL: nobody asks for the edges of a sender */
    int64_t *sender_row = NULL;
    cgtp_sort_areas<Index> areas;

    cgtp_ordering() = default;
    /* Lays it out. */
    template <typename Graph>
    cgtp_ordering(cgtp_workspace &space, const Graph &g, bool receivers, bool senders)
    {
        const int64_t n = g.items;
        if (g.order) /* the caller has ordered it */
            return;
        if (receivers) {
            sender = space.area<Index>(n);
            receiver = space.area<Index>(n);
            order = space.area<Index>(n);
            receiver_row = space.area<int64_t>(g.receivers + 1);
        }
        if (senders) {
            by_sender = space.area<Index>(n);
            sorted_sender = space.area<Index>(n);
            sender_row = space.area<int64_t>(g.senders + 1);
        }
        areas = cgtp_sort_areas<Index>(space, n, receivers ? g.receivers : 1, senders ? g.senders : 1);
        if (sizeof(Index) == 4 && n > INT32_MAX) /* an edge's number does not fit */
            space.end = CGTP_NO_WORKSPACE;
    }
};

/* Orders the edges of a graph, which becomes that of the workspace. */
template <typename Index>
static inline cgtp_status cgtp_order_edges(cgtp_graph_arrays<Index> &g, const cgtp_ordering<Index> &o,
                                           cgtp_stream stream)
{
    cgtp_sort_pass<Index> sort = {};
    cgtp_status status = CGTP_OK;
    sort.n = g.items;
    if (o.order) {
        sort.key = g.receiver, sort.sorted_key = o.receiver, sort.sorted_number = o.order;
        sort.along = g.sender, sort.moved = o.sender;
        if ((status = cgtp_sort(sort, g.receivers, o.areas, stream)))
            return status;
        status = cgtp_find_rows<Index>(o.receiver, g.items, g.receivers, o.receiver_row, stream);
        g.sender = o.sender, g.receiver = o.receiver, g.order = o.order, g.receiver_row = o.receiver_row;
    }
    if (o.by_sender && !status) {
        sort.key = g.sender, sort.sorted_key = o.sorted_sender, sort.sorted_number = o.by_sender;
        sort.along = NULL;
        if ((status = cgtp_sort(sort, g.senders, o.areas, stream)))
            return status;
        status = cgtp_find_rows<Index>(o.sorted_sender, g.items, g.senders, o.sender_row, stream);
        g.by_sender = o.by_sender, g.sender_row = o.sender_row;
    }
    return status;
}

} // namespace

#endif
