/* SPDX-License-Identifier: MIT */
/* cgtp_rows.h - rows of items in shared memory: how teams of warps bring them there, and how results leave. Included
 * after cgtp_cuda.h.
 */
#ifndef CGTP_ROWS_H
#define CGTP_ROWS_H

#include "cgtp_convolution.h"
#include "cgtp_item.h"

namespace
{

/* ---- rows ---- */

/* What a thread has of elements `from` to `to` of a row of which it is one of so many: what it copies, stores and clears.
 * wide: rows begin at multiples of 16 bytes, and chunks of these are its; `chunk` is called with the distance of each
 * from the thread's first one. `element`: with the place of each element that is in no whole chunk. Whatever the range
 * is, an element is the same thread's. */
template <int threads, bool wide, int from, int to, typename Chunk, typename Element>
CGTP_DEVICE void cgtp_own_part(int thread, Chunk chunk, Element element)
{
    if constexpr (wide) {
        constexpr int chunks = (to + CGTP_WIDE - 1) / CGTP_WIDE;
        static_assert(from < CGTP_WIDE, "the range begins in the first chunk");
        CGTP_UNROLL
        for (int k = 0; k < chunks; k += threads)
            if (chunks - k >= threads || thread < chunks - k) {
                const bool begins = from > 0 && k == 0 && thread == 0,
                           ends = to % CGTP_WIDE > 0 && chunks - k <= threads && thread == chunks - k - 1;
                if (begins || ends)
                    for (int i = begins ? from : (chunks - 1) * CGTP_WIDE; i < (ends ? to : CGTP_WIDE); i++)
                        element(i);
                else
                    chunk(k * CGTP_WIDE);
            }
    } else {
        for (int i = thread; i < to; i += threads)
            if (i >= from)
                element(i);
    }
}
template <int threads, int n, typename Chunk, typename Element>
CGTP_DEVICE void cgtp_own_part(int thread, Chunk chunk, Element element)
{
    cgtp_own_part<threads, n % CGTP_WIDE == 0, 0, n>(thread, chunk, element);
}

/* What a thread has of elements one by one: each(k) is its element number thread + k. */
template <int threads, int from, int to, typename Each> CGTP_DEVICE void cgtp_own_elements(int thread, Each each)
{
    constexpr int unrolled = 8; /* of its elements */
    if constexpr (to <= unrolled * threads) {
        CGTP_UNROLL
        for (int k = 0; k < to; k += threads)
            if ((to - k >= threads || thread < to - k) && (k >= from || thread >= from - k))
                each(k);
    } else {
        for (int i = thread; i < to; i += threads)
            if (i >= from)
                each(i - thread);
    }
}

/* The address of what a thread has of a row first; hidden from the compiler where it has `times` as much, several but
 * few, so that it adds distances to this one address. */
template <int times, typename T> CGTP_DEVICE T *cgtp_own_first(T *first)
{
    constexpr int few = 8;
    return times > 1 && times <= few ? cgtp_opaque_global(first) : first;
}

/* Starts the copy of a part of a row. All lanes of the warp call. */
template <int threads, bool wide, int from, int to, typename T>
CGTP_DEVICE void cgtp_copy_part_by(real *part, const T *row, int thread, cgtp_policy policy)
{
    if constexpr (wide) {
        real *const own = part + thread * CGTP_WIDE; /* one address for all of a thread's chunks */
        real *const first = (real *)cgtp_pinned_shared((unsigned char *)own);
        constexpr int all = threads * CGTP_WIDE;
        const T *const source = cgtp_own_first<(to + all - 1) / all>(row + thread * CGTP_WIDE);
        cgtp_own_part<threads, wide, from, to>(
            thread, [&](int i) { cgtp_bring16(first + i, source + i, policy); },
            [&](int i) { cgtp_bring(part + i, row + i); });
    } else {
        const T *const source = cgtp_own_first<(to + threads - 1) / threads>(row + thread);
        cgtp_own_elements<threads, from, to>(thread, [&](int k) { cgtp_bring(part + thread + k, source + k); });
    }
}

/* Stores a part of a row. */
template <int threads, bool wide, int from, int to, typename T>
CGTP_DEVICE void cgtp_put_part_by(T *row, const real *part, int thread)
{
    if constexpr (wide) {
        constexpr int all = threads * CGTP_WIDE;
        T *const target = cgtp_own_first<(to + all - 1) / all>(row + thread * CGTP_WIDE);
        cgtp_own_part<threads, wide, from, to>(
            thread, [&](int i) { cgtp_leave16(target + i, part + thread * CGTP_WIDE + i); },
            [&](int i) { cgtp_leave(row + i, part[i]); });
    } else {
        cgtp_own_elements<threads, from, to>(
            thread, [&](int k) { cgtp_leave(row + thread + k, part[thread + k]); });
    }
}

/* Adds it to the row, atomically. */
template <int threads, bool wide, int from, int to>
CGTP_DEVICE void cgtp_add_part_by(real *row, const real *part, int thread)
{
    cgtp_own_part<threads, wide, from, to>(
        thread, [&](int i) { cgtp_add16(row + thread * CGTP_WIDE + i, part + thread * CGTP_WIDE + i); },
        [&](int i) { cgtp_add(row + i, part[i]); });
}

/* The same with whole rows. */
template <int threads, int n, typename T>
CGTP_DEVICE void cgtp_copy_row_by(real (&to)[n], const T *row, int thread, cgtp_policy policy)
{
    cgtp_copy_part_by<threads, n % CGTP_WIDE == 0, 0, n>(to, row, thread, policy);
}
template <int threads, int n, typename T> CGTP_DEVICE void cgtp_put_row_by(T *row, const real (&from)[n], int thread)
{
    cgtp_put_part_by<threads, n % CGTP_WIDE == 0, 0, n>(row, from, thread);
}
template <int threads, int n> CGTP_DEVICE void cgtp_add_row_by(real *row, const real (&from)[n], int thread)
{
    cgtp_add_part_by<threads, n % CGTP_WIDE == 0, 0, n>(row, from, thread);
}

/* Zeros in a row. */
template <int threads, int n> CGTP_DEVICE void cgtp_clear_row_by(real (&row)[n], int thread)
{
    const real zero[CGTP_WIDE] = {0};
    cgtp_own_part<threads, n>(
        thread, [&](int i) { cgtp_store<CGTP_WIDE>(row + thread * CGTP_WIDE + i, zero); },
        [&](int i) { row[i] = 0; });
}

/* The same in the components of a lane's channel. */
template <int d> CGTP_DEVICE void cgtp_clear_channel(real (&r)[d])
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        r[i] = 0;
}

/* Zeros in each warp's row, by the threads that read them in what puts and joins rows: nothing need be waited for. */
template <int threads, int n, int warps> CGTP_DEVICE void cgtp_clear_sums_by(real (&row)[warps][n], int thread)
{
    CGTP_UNROLL
    for (int warp = 0; warp < warps; warp++)
        cgtp_clear_row_by<threads>(row[warp], thread);
}

/* v neighbouring numbers of a sum: in shared memory, in a row. */
template <int v> CGTP_DEVICE void cgtp_store_sum(real *to, const real *sum)
{
    cgtp_store<v>(to, sum);
}
template <int v, typename T> CGTP_DEVICE void cgtp_store_sum(T *to, const real *sum)
{
    cgtp_store_stream<v>(to, sum);
}

/* Stores the sum of each warp's row, added in the order of the warps: where the first one's is, or anywhere. */
template <int threads, int n, int warps, typename T>
CGTP_DEVICE void cgtp_put_sums_by(T *to, const real (&row)[warps][n], int thread)
{
    auto put = [&](auto elements, int i) {
        constexpr int v = decltype(elements)::value;
        real sum[v];
        cgtp_load<v>(sum, row[0] + i);
        CGTP_UNROLL
        for (int warp = 1; warp < warps; warp++) {
            real more[v];
            cgtp_load<v>(more, row[warp] + i);
            CGTP_UNROLL
            for (int j = 0; j < v; j++)
                sum[j] += more[j];
        }
        cgtp_store_sum<v>(to + i, sum);
    };
    cgtp_own_part<threads, n>(
        thread, [&](int i) { put(cgtp_number<CGTP_WIDE>(), thread * CGTP_WIDE + i); },
        [&](int i) { put(cgtp_number<1>(), i); });
}
template <int threads, int n, int warps> CGTP_DEVICE void cgtp_join_rows_by(real (&row)[warps][n], int thread)
{
    cgtp_put_sums_by<threads>(row[0], row, thread);
}

/* Zeros in whatever it is, by so many threads. */
template <int threads, typename T> CGTP_DEVICE void cgtp_zero_by(T &what, int thread)
{
    static_assert(sizeof(T) % sizeof(real) == 0, "whole numbers");
    real *const at = (real *)&what;
    for (int i = thread; i < (int)(sizeof(T) / sizeof(real)); i += threads)
        at[i] = 0;
}

/* ---- items in the order of their nodes ---- */

/* Items are taken in the order of their senders (by_sender) or receivers, in chunks of equal length. What a chunk has of
 * a node's items is a run: it is summed by one team. */
struct cgtp_run {
    int64_t node;
    bool first, last; /* the item is the first, the last one of the run */
    int64_t partial;  /* the run's partial row; negative: the node has no other run */
};

template <bool senders, typename Graph, typename Position> CGTP_DEVICE Position cgtp_nth_item(const Graph &graph, Position position)
{
    return senders ? (Position)graph.by_sender[position] : position;
}

/* The node of an item. */
template <bool senders, typename Graph, typename Position>
CGTP_DEVICE Position cgtp_node_of(const Graph &graph, Position item)
{
    return senders ? (Position)graph.sender[item] : (Position)graph.receiver[item];
}

/* Where a team is: at a position, which is number `place` of chunk `number`; and the place after it, where chunks are
 * dealt out to so many teams. */
template <typename Position> struct cgtp_place {
    Position position, number;
    int place = 0;

    CGTP_MEMBER cgtp_place(Position of, int chunk) : position(of * (Position)chunk), number(of)
    {
    }
    CGTP_MEMBER cgtp_place after(int chunk, Position teams) const
    {
        const bool more = place + 1 < chunk;
        cgtp_place next = *this;
        next.position += more ? 1 : (teams - 1) * (Position)chunk + 1;
        next.number += more ? 0 : teams;
        next.place = more ? place + 1 : 0;
        return next;
    }
};

/* The positions of the node's items. */
struct cgtp_positions {
    int64_t first, end;
};
template <bool senders, typename Graph>
CGTP_DEVICE cgtp_positions cgtp_positions_of(const Graph &graph, int64_t node)
{
    if constexpr (senders)
        return {graph.sender_row[node], graph.sender_row[node + 1]};
    else
        return {graph.receiver_row[node], graph.receiver_row[node + 1]};
}

/* The partial row of a node's run in a chunk; negative: the node has no other run. */
CGTP_DEVICE int64_t cgtp_partial_of(const cgtp_positions &of, int64_t number, int chunk)
{
    const int64_t begin = number * chunk;
    const bool before = of.first < begin, after = of.end > begin + chunk;
    return before || after ? number * 2 + !before : -1;
}

/* The run of the node's item at a place. */
template <bool senders, typename Graph>
CGTP_DEVICE cgtp_run cgtp_run_of(const Graph &graph, int64_t node, int64_t number, int place, int chunk)
{
    const cgtp_positions of = cgtp_positions_of<senders>(graph, node);
    const int64_t position = number * chunk + place;
    return {node, place == 0 || position == of.first, place + 1 == chunk || position + 1 == of.end,
            cgtp_partial_of(of, number, chunk)};
}

/* As cgtp_gather_rows, for the edges of a receiver, whose rows follow each other. */
template <int together, typename Chunk, typename Graph>
CGTP_DEVICE void cgtp_gather_received_rows(const Chunk &sum, const real *rows, int64_t length, const Graph &graph,
                                           int64_t receiver)
{
    cgtp_add_rows<together, 0>(sum, graph.receiver_row[receiver], graph.receiver_row[receiver + 1],
                               [&](int64_t e) { return rows + e * length; });
}

/* The sum of n elements of the partial rows of a node, in order; false: it has one run, whose row is there. */
template <bool senders, int n, typename Graph>
CGTP_DEVICE bool cgtp_gather_chunks(real (&sum)[n], const real *rows, int64_t length, const Graph &graph, int64_t node,
                                    int chunk)
{
    const auto [first, end] = cgtp_positions_of<senders>(graph, node);
    const int64_t begin = first / chunk, last = (end - 1) / chunk;
    if (first < end && begin == last)
        return false;
    cgtp_add_rows<4, 0>(cgtp_plain_elements<n>{sum}, begin, first < end ? last + 1 : begin,
                        [=, begins = first](int64_t i) { return rows + (i * 2 + (begins >= i * chunk)) * length; });
    return true;
}

/* ---- on the host ---- */

/* The length of chunks for a launch of so many teams per multiprocessor, each of which is to have `each`, or more where items
 * are many: long ones, down to half of that where a team has fewer items then, as it has one chunk more than others or not. */
static inline int cgtp_chunk(int64_t items, int teams, int each = 6, int most = 8)
{
    const int64_t all = (int64_t)cgtp_multiprocessors() * teams, length = (items + each * all - 1) / (each * all);
    const int longest = length < 2 ? 2 : length < most ? (int)length : most;
    int best = longest;
    int64_t least = INT64_MAX;
    for (int chunk = longest; chunk > longest / 2; chunk--) {
        const int64_t turns = (items + chunk * all - 1) / (chunk * all);
        if (turns * chunk < least) {
            best = chunk;
            least = turns * chunk;
        }
    }
    return items <= all ? 1 : best;
}

/* How many chunks there are. */
static inline int64_t cgtp_chunks(int64_t items, int chunk)
{
    return (items + chunk - 1) / chunk;
}

/* Blocks of a launch: so many per multiprocessor, or a team per item. */
static inline int64_t cgtp_teams_grid(int64_t items, int teams, int per_multiprocessor = 1)
{
    const int64_t fit = cgtp_multiprocessors() * (int64_t)per_multiprocessor, most = (items + teams - 1) / teams;
    return most < fit ? most : fit;
}

} // namespace

#endif
