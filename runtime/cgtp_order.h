/* SPDX-License-Identifier: MIT */
/* cgtp_order.h - puts edges in the order of a node of theirs, in the workspace. Included after cgtp_cuda.h by kernels that
 * take edges in any order, and by cgtp_graph.cu.
 *
 * One kernel counts the edges of each node, one adds up the counts, one moves each edge's number to a place of its node, in
 * whatever order threads come, and one brings a node's numbers in order, so that there is one result only: a number's place
 * is how many of the node's are smaller; of crowds, which a block takes whole, how many were marked before it.
 */
#ifndef CGTP_ORDER_H
#define CGTP_ORDER_H

#include "cgtp_launch.h"

namespace
{

enum {
    CGTP_SORT_THREADS = 256, /* of a block, each with an edge */
    CGTP_SCAN_THREADS = 1024,
    CGTP_SORT_CROWD = 1024,  /* a node with more edges is one */
    CGTP_SORT_MARKS = 1 << 14, /* edge numbers that a block marks at a time */
    CGTP_SORT_OWN = CGTP_SORT_MARKS / CGTP_SORT_THREADS
};

/* The number of an edge, to where a group of warps finds it, from the lane that leads. */
CGTP_DEVICE void cgtp_lead_number(int64_t &to, int64_t number, bool leads)
{
    if (leads)
        to = number;
}

/* n edges by their nodes, which are `key`: where those of each begin, and their numbers, from the caller's list. */
template <typename Index> struct cgtp_sort_lists {
    int64_t n, nodes;
    const Index *key;
    int64_t *row;                      /* [nodes + 1] */
    Index *sorted_key, *sorted_number; /* NULL: nobody asks for them */
    const Index *along;                /* NULL, or a list by number: */
    Index *moved;                      /* its elements in the new order */
    unsigned *count;                   /* [nodes]: the edges of a node, and then as many more as were moved */
    Index *loose;                      /* [n]: numbers by node, in any order */

    /* Numbers of no node count as the last one's. */
    CGTP_MEMBER int64_t node_of(int64_t number) const
    {
        return key[number] < 0 || key[number] >= nodes ? nodes - 1 : key[number];
    }
    CGTP_MEMBER void put(int64_t at, Index number) const
    {
        if (sorted_key)
            sorted_key[at] = key[number];
        sorted_number[at] = number;
        if (along)
            moved[at] = along[number];
    }
};

CGTP_DEVICE int64_t cgtp_sort_place(void)
{
    return cgtp_block() * (int64_t)CGTP_SORT_THREADS + cgtp_thread();
}

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

/* The sums over the threads of a block up to this one, and over all; sum: a number for each warp. All threads take part. */
struct cgtp_sort_sums {
    int64_t until, all;
};
template <int warps> CGTP_DEVICE cgtp_sort_sums cgtp_sum_block(int64_t value, int64_t *sum)
{
    cgtp_sort_sums found = {cgtp_sum_until(value), 0};
    if (cgtp_lane() == CGTP_LANES - 1)
        sum[cgtp_warp()] = found.until;
    cgtp_sync_group<warps>();
    for (int warp = 0; warp < warps; warp++) {
        found.until += warp < cgtp_warp() ? sum[warp] : 0;
        found.all += sum[warp];
    }
    cgtp_sync_group<warps>();
    return found;
}

template <typename Index> CGTP_KERNEL(CGTP_SORT_THREADS, 4) cgtp_sort_count_kernel(const cgtp_sort_lists<Index> p)
{
    cgtp_launch_wait();
    if (cgtp_sort_place() < p.n)
        cgtp_ticket(p.count + p.node_of(cgtp_sort_place()));
}

/* A block per `each` nodes: it adds up the counts of all before. */
template <typename Index>
CGTP_KERNEL(CGTP_SCAN_THREADS, 1) cgtp_sort_scan_kernel(const cgtp_sort_lists<Index> p, int64_t each)
{
    constexpr int warps = CGTP_SCAN_THREADS / CGTP_LANES;
    CGTP_SHARED(shared);
    int64_t *const sum = (int64_t *)shared;
    const int64_t begin = cgtp_block() * each, end = begin + each < p.nodes ? begin + each : p.nodes;
    int64_t before = 0;
    cgtp_launch_wait();
    CGTP_UNROLL_BY(8)
    for (int64_t i = cgtp_thread(); i < begin; i += CGTP_SCAN_THREADS)
        before += p.count[i];
    before = begin ? cgtp_sum_block<warps>(before, sum).all : 0;
    for (int64_t from = begin; from < end; from += CGTP_SCAN_THREADS) {
        const int64_t i = from + cgtp_thread(), own = i < end ? p.count[i] : 0;
        const cgtp_sort_sums found = cgtp_sum_block<warps>(own, sum);
        if (i < end)
            p.row[i] = before + found.until - own;
        before += found.all;
    }
    if (cgtp_thread() == 0 && end == p.nodes)
        p.row[p.nodes] = p.n;
}

template <typename Index> CGTP_KERNEL(CGTP_SORT_THREADS, 4) cgtp_sort_move_kernel(const cgtp_sort_lists<Index> p)
{
    const int64_t number = cgtp_sort_place();
    cgtp_launch_wait();
    if (number >= p.n)
        return;
    const int64_t node = p.node_of(number), first = p.row[node], counted = p.row[node + 1] - first;
    p.loose[first + cgtp_ticket(p.count + node) - counted] = (Index)number;
}

/* The shared memory of a block that puts numbers in order. */
struct cgtp_sort_block {
    int64_t sum[CGTP_SORT_THREADS / CGTP_LANES], node; /* node: one that it takes whole; negative: none */
    unsigned char mark[CGTP_SORT_MARKS];
};

/* The numbers of a node, of which so many at a time are marked, and then found in order. */
template <typename Index> CGTP_DEVICE void cgtp_sort_crowd(const cgtp_sort_lists<Index> &p, cgtp_sort_block &block)
{
    constexpr int warps = CGTP_SORT_THREADS / CGTP_LANES;
    const int64_t node = block.node, first = p.row[node], end = p.row[node + 1];
    unsigned char *const own = block.mark + cgtp_thread() * CGTP_SORT_OWN;
    int64_t to = first;
    for (int64_t from = 0; to < end; from += CGTP_SORT_MARKS) {
        int mine = 0;
        for (int i = 0; i < CGTP_SORT_OWN; i++)
            own[i] = 0;
        cgtp_sync_group<warps>();
        for (int64_t i = first + cgtp_thread(); i < end; i += CGTP_SORT_THREADS)
            if (p.loose[i] >= from && p.loose[i] < from + CGTP_SORT_MARKS)
                block.mark[p.loose[i] - from] = 1;
        cgtp_sync_group<warps>();
        for (int i = 0; i < CGTP_SORT_OWN; i++)
            mine += own[i];
        const cgtp_sort_sums found = cgtp_sum_block<warps>(mine, block.sum);
        int64_t at = to + found.until - mine;
        for (int i = 0; i < CGTP_SORT_OWN; i++)
            if (own[i])
                p.put(at++, (Index)(from + cgtp_thread() * CGTP_SORT_OWN + i));
        to += found.all;
    }
}

template <typename Index> CGTP_KERNEL(CGTP_SORT_THREADS, 4) cgtp_sort_settle_kernel(const cgtp_sort_lists<Index> p)
{
    CGTP_SHARED(shared);
    cgtp_sort_block &block = *(cgtp_sort_block *)shared;
    const int64_t at = cgtp_sort_place();
    cgtp_launch_wait();
    if (cgtp_thread() == 0)
        block.node = -1;
    cgtp_sync_group<CGTP_SORT_THREADS / CGTP_LANES>();
    if (at < p.n) {
        const Index number = p.loose[at];
        const int64_t node = p.node_of(number), first = p.row[node], end = p.row[node + 1];
        int before = 0;
        if (end - first > CGTP_SORT_CROWD && at == first)
            block.node = node; /* the only one in the block */
        CGTP_UNROLL_BY(8)
        for (int64_t i = first; i < end && end - first <= CGTP_SORT_CROWD; i++)
            before += p.loose[i] < number;
        if (end - first <= CGTP_SORT_CROWD)
            p.put(first + before, number);
    }
    cgtp_sync_group<CGTP_SORT_THREADS / CGTP_LANES>();
    if (block.node >= 0)
        cgtp_sort_crowd(p, block);
}

/* ---- on the host ---- */

/* Areas of the workspace that a sort needs, and is done with when it ends: of n edges, of so many nodes at most. */
template <typename Index> struct cgtp_sort_areas {
    unsigned *count = NULL;
    Index *loose = NULL;

    cgtp_sort_areas() = default;
    cgtp_sort_areas(cgtp_workspace &space, int64_t n, int64_t nodes)
    {
        count = space.area<unsigned>(nodes);
        loose = space.area<Index>(n);
    }
};

template <typename Index> static inline int64_t cgtp_sort_blocks(const cgtp_sort_lists<Index> &p)
{
    return (p.n + CGTP_SORT_THREADS - 1) / CGTP_SORT_THREADS;
}

/* Where the edges of each node begin in a list by node. */
template <typename Index>
static inline cgtp_status cgtp_find_rows(cgtp_sort_lists<Index> p, const cgtp_sort_areas<Index> &areas, cgtp_stream stream)
{
    const int64_t most = (p.nodes + CGTP_SCAN_THREADS - 1) / CGTP_SCAN_THREADS, fit = cgtp_multiprocessors();
    const int64_t blocks = most < 1 ? 1 : most < fit ? most : fit;
    cgtp_status status;
    p.count = areas.count;
    if ((status = cgtp_clear(cgtp_areas<1>{{{p.count, (size_t)p.nodes * sizeof(unsigned)}}}, stream)))
        return status;
    if (p.n && (status = cgtp_launch_early(cgtp_sort_count_kernel<Index>, cgtp_sort_blocks(p), CGTP_SORT_THREADS, 0, stream, p)))
        return status;
    return cgtp_launch_early(cgtp_sort_scan_kernel<Index>, blocks, CGTP_SCAN_THREADS,
                             CGTP_SCAN_THREADS / CGTP_LANES * sizeof(int64_t), stream, p, (p.nodes + blocks - 1) / blocks);
}

/* And their numbers, and what goes along. */
template <typename Index>
static inline cgtp_status cgtp_sort(cgtp_sort_lists<Index> p, const cgtp_sort_areas<Index> &areas, cgtp_stream stream)
{
    cgtp_status status = cgtp_find_rows(p, areas, stream);
    p.count = areas.count, p.loose = areas.loose;
    if (status || !p.n)
        return status;
    if ((status = cgtp_launch_early(cgtp_sort_move_kernel<Index>, cgtp_sort_blocks(p), CGTP_SORT_THREADS, 0, stream, p)))
        return status;
    return cgtp_launch_early(cgtp_sort_settle_kernel<Index>, cgtp_sort_blocks(p), CGTP_SORT_THREADS, sizeof(cgtp_sort_block),
                             stream, p);
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
    Index *by_sender = NULL; /* NULL: nobody asks for the edges of a sender */
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
            sender_row = space.area<int64_t>(g.senders + 1);
        }
        areas = cgtp_sort_areas<Index>(space, n, receivers && (!senders || g.receivers > g.senders) ? g.receivers : g.senders);
        if (sizeof(Index) == 4 && n > INT32_MAX) /* an edge's number does not fit */
            space.end = CGTP_NO_WORKSPACE;
    }
};

/* Orders the edges of a graph, which becomes that of the workspace. */
template <typename Index>
static inline cgtp_status cgtp_order_edges(cgtp_graph_arrays<Index> &g, const cgtp_ordering<Index> &o,
                                           cgtp_stream stream)
{
    cgtp_sort_lists<Index> sort = {};
    sort.n = g.items;
    if (o.order) {
        sort.nodes = g.receivers, sort.key = g.receiver, sort.row = o.receiver_row;
        sort.sorted_key = o.receiver, sort.sorted_number = o.order;
        sort.along = g.sender, sort.moved = o.sender;
        const cgtp_status status = cgtp_sort(sort, o.areas, stream);
        if (status)
            return status;
        g.sender = o.sender, g.receiver = o.receiver, g.order = o.order, g.receiver_row = o.receiver_row;
    }
    if (!o.by_sender)
        return CGTP_OK;
    sort.nodes = g.senders, sort.key = g.sender, sort.row = o.sender_row;
    sort.sorted_key = NULL, sort.sorted_number = o.by_sender;
    sort.along = NULL;
    g.by_sender = o.by_sender, g.sender_row = o.sender_row;
    return cgtp_sort(sort, o.areas, stream);
}

} // namespace

#endif
