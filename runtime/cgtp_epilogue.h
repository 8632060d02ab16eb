/* SPDX-License-Identifier: MIT */
/* cgtp_epilogue.h - the pipelined convolution: what a warp does with its sums of a receiver or an item.
 * Included by cgtp_convolution.h.
 */
#ifndef CGTP_EPILOGUE_H
#define CGTP_EPILOGUE_H

#include "cgtp_launch.h"

namespace
{

/* ---- a lane's channels of all segments of a path set, one after the other: r[channels * components] ---- */

/* Of segment `number` of a row, from channel `first` on, where there are `own` of them, at any alignment; zeros for others. */
template <typename S, int number, typename T>
CGTP_DEVICE void cgtp_load_some(real *r, const T *row, int first, int own)
{
    constexpr cgtp_segment s = S::segment[number];
    constexpr int v = S::channels, d = s.components, n = cgtp_by_component<S>() ? v : v * d;
    constexpr int piece = cgtp_piece(n, S::aligned < cgtp_wide<T>() ? S::aligned : cgtp_wide<T>());
    CGTP_UNROLL
    for (int k = 0; k < v * d; k += piece) {
        const T *const from = row + s.offset + (cgtp_by_component<S>() ? k / v * s.step + first + k % v : first * d + k);
        const int have = cgtp_by_component<S>() ? own - k % v : own * d - k; /* elements from there on */
        real some[piece] = {0};
        if (cgtp_is_whole<S>() || have >= piece) {
            cgtp_load<piece>(some, from);
        } else {
            CGTP_UNROLL
            for (int j = 0; j < piece - 1; j++)
                if (j < have)
                    cgtp_load<1>(some + j, from + j);
        }
        CGTP_UNROLL
        for (int j = 0; j < piece; j++)
            r[cgtp_by_component<S>() ? (k % v + j) * d + k / v : k + j] = some[j];
    }
}

/* From a row, whose address the compiler is not to take apart: segments first .. end - 1. */
template <typename S, int first_segment = 0, int end_segment = cgtp_segments<S>(), typename T>
CGTP_DEVICE void cgtp_load_segments(real *r, const T *row, int channel_block, int lane)
{
    row = cgtp_opaque_global(row);
    cgtp_each<end_segment - first_segment>([&](auto i) {
        constexpr int number = first_segment + decltype(i)::value;
        constexpr cgtp_segment s [[maybe_unused]] = S::segment[number];
        constexpr int begin =
            (cgtp_components_before<S>(number) - cgtp_components_before<S>(first_segment)) * S::channels;
        const int first = (channel_block * S::lanes + cgtp_member<S>(lane)) * S::channels;
        if constexpr (!cgtp_is_whole<S>() || S::aligned < cgtp_wide<T>())
            cgtp_load_some<S, number>(r + begin, row, first, cgtp_own_channels<S>(channel_block, lane));
        else if constexpr (cgtp_by_component<S>())
            cgtp_load_components<S::channels, s.components>(r + begin, row + first + s.offset, s.step);
        else
            cgtp_load<S::channels * s.components>(r + begin, row + first * s.components + s.offset);
    });
}

/* Multiplies each component by its factor, S::factor. */
template <typename S, int first_segment = 0, int end_segment = cgtp_segments<S>()>
CGTP_DEVICE void cgtp_scale_segments(real *r)
{
    cgtp_each<end_segment - first_segment>([&](auto i) {
        constexpr int number = first_segment + decltype(i)::value, d = S::segment[number].components;
        constexpr int before = cgtp_components_before<S>(number);
        constexpr int begin = (before - cgtp_components_before<S>(first_segment)) * S::channels;
        cgtp_each<d>([&](auto k) {
            constexpr real factor = S::factor[before + decltype(k)::value];
            CGTP_UNROLL
            for (int v = 0; v < S::channels; v++)
                if constexpr (factor != 1)
                    r[begin + v * d + decltype(k)::value] *= factor;
        });
    });
}

/* ---- a receiver's row that shared memory keeps ---- */

/* n elements of each lane: chunks of 16 bytes, of which those of the lanes follow each other, then what is left. */
template <int n> CGTP_DEVICE void cgtp_keep(real *kept, const real *r, int lane)
{
    constexpr int whole = n / CGTP_WIDE * CGTP_WIDE, rest = n - whole;
    CGTP_UNROLL
    for (int i = 0; i < whole; i += CGTP_WIDE)
        cgtp_store<CGTP_WIDE>(kept + i * CGTP_LANES + lane * CGTP_WIDE, r + i);
    if constexpr (rest > 0)
        cgtp_store<rest>(kept + whole * CGTP_LANES + lane * rest, r + whole);
}

/* The same back in registers, for as long as a path needs them. */
template <int n> struct cgtp_kept : cgtp_values<n> {
    CGTP_MEMBER cgtp_kept(const real *kept, int lane)
    {
        constexpr int whole = n / CGTP_WIDE * CGTP_WIDE, rest = n - whole;
        CGTP_UNROLL
        for (int i = 0; i < whole; i += CGTP_WIDE)
            cgtp_load<CGTP_WIDE>(this->value + i, kept + i * CGTP_LANES + lane * CGTP_WIDE);
        if constexpr (rest > 0)
            cgtp_load<rest>(this->value + whole, kept + whole * CGTP_LANES + lane * rest);
    }
};

/* The end of the segments from `first` on that are loaded together: so many elements of a lane, or one segment. */
template <typename S> CGTP_BOTH constexpr int cgtp_together(int first)
{
    const int most = 48;
    int end = first + 1;
    while (end < cgtp_segments<S>() &&
           S::channels * (cgtp_components_before<S>(end + 1) - cgtp_components_before<S>(first)) <= most)
        end++;
    return end;
}

template <typename F> constexpr bool cgtp_are_factors = true;
template <> constexpr bool cgtp_are_factors<void> = false;

/* Brings the lane's elements of a row to where they are kept, multiplied by the factors F::factor. */
template <typename S, typename F = void, int first = 0, typename T>
CGTP_DEVICE void cgtp_keep_segments(real *kept, const T *row, int channel_block, int lane)
{
    constexpr int end = cgtp_together<S>(first), before = cgtp_components_before<S>(first);
    real r[S::channels * (cgtp_components_before<S>(end) - before)];
    cgtp_load_segments<S, first, end>(r, row, channel_block, lane);
    if constexpr (cgtp_are_factors<F>)
        cgtp_scale_segments<F, first, end>(r);
    cgtp_each<end - first>([&](auto i) {
        constexpr int number = first + decltype(i)::value, at = cgtp_components_before<S>(number);
        cgtp_keep<S::channels * S::segment[number].components>(kept + at * S::channels * CGTP_LANES,
                                                               r + (at - before) * S::channels, lane);
    });
    if constexpr (end < cgtp_segments<S>())
        cgtp_keep_segments<S, F, end>(kept, row, channel_block, lane);
}

/* The end of the segments from `first` on that fit into a buffer of `length` elements. */
template <typename S> CGTP_BOTH constexpr int cgtp_batch_end(int first, int length)
{
    int end = first;
    while (end < cgtp_segments<S>() && cgtp_block_elements<S>(first, end + 1) <= length)
        end++;
    return end;
}

template <typename S, int first, int buffer, typename T, int buffers, int length>
CGTP_DEVICE void cgtp_store_batches(T (&staging)[buffers][length], const real *r,
                                    const cgtp_row<T, S, CGTP_LANES> &row, int lane)
{
    using Row = cgtp_row<T, S, CGTP_LANES>;
    constexpr int end = cgtp_batch_end<S>(first, length);
    static_assert(end > first, "a buffer holds a segment");
    static_assert(buffers > 1 || end == cgtp_segments<S>(), "a second buffer");
    cgtp_each<end - first>([&](auto number) {
        constexpr int i = first + decltype(number)::value;
        constexpr int n = S::channels * S::segment[i].components;
        T *const slice = staging[buffer] + cgtp_block_elements<S>(first, i);
        const real *const from = r + cgtp_components_before<S>(i) * S::channels;
        if (S::lanes < CGTP_LANES && lane >= S::lanes)
            return; /* those of other items have the same */
        if constexpr (cgtp_by_component<S>())
            cgtp_store_components<S::channels, n / S::channels>(slice + lane * S::channels, cgtp_width<S>(), from);
        else
            cgtp_store<n>(slice + lane * n, from);
    });
    cgtp_sync_warp();
    cgtp_each<end - first>([&](auto number) {
        constexpr int i = first + decltype(number)::value;
        constexpr int wide = Row::wide;
        const T *const from = staging[buffer] + cgtp_block_elements<S>(first, i);
        CGTP_UNROLL
        for (int k = 0; k < Row::template chunks<i>(); k += CGTP_LANES)
            if (row.template has<i>(k))
                cgtp_put<wide * (int)sizeof(T)>(row.template chunk<i>(k), from + (k + lane) * wide);
    });
    if constexpr (end < cgtp_segments<S>())
        cgtp_store_batches<S, end, 1 - buffer>(staging, r, row, lane);
}

/* To a row: through staging buffers, as whole lines, in the row's type; as many segments at a time as a buffer holds,
 * through two buffers in turn. Lanes meet at the end: nothing else keeps another output's row off the last buffer. */
template <typename S, typename T, int buffers, int length>
CGTP_DEVICE void cgtp_store_segments(real (&staging)[buffers][length], const real *r, T *row, int channel_block,
                                     int lane)
{
    auto &rounded = *(T(*)[buffers][length * (int)sizeof(real) / (int)sizeof(T)])&staging;
    cgtp_store_batches<S, 0, 0>(rounded, r, cgtp_row<T, S, CGTP_LANES>(row, channel_block, lane), lane);
    cgtp_sync_warp();
}

/* ---- partial rows: sums of a receiver whose edges are in several tiles ---- */

/* An element of one that others wrote. near: in shared memory, by warps that all of the block have met since. */
template <bool near> CGTP_DEVICE real cgtp_read_partial(const real *p)
{
    if constexpr (near)
        return *p;
    else
        return cgtp_read_other(p);
}

/* A lane's sums, as they are spilled into a partial row and those of others are added: a part of them at a time, of
 * `ahead` rows, `step` apart, of which there are at most `rows`. `row` is the lane's. */
template <int n> struct cgtp_plain {
    static constexpr int elements = n, part = n, words = 1;
    /* rows that are loaded before any of them is added */
    static constexpr int ahead = n * (int)sizeof(real) <= 96 ? 2 : 1;
    real (&sum)[n];

    CGTP_MEMBER explicit cgtp_plain(real (&sum_)[n]) : sum(sum_)
    {
    }
    CGTP_MEMBER void spill(real *row) const
    {
        CGTP_UNROLL
        for (int i = 0; i < n; i++)
            row[i * CGTP_LANES] = sum[i];
    }
    template <int begin, int end, int ahead_, bool near>
    CGTP_MEMBER void add(const real *row, int64_t step, int rows) const
    {
        real other[ahead_][end - begin];
        CGTP_UNROLL
        for (int r = 0; r < ahead_; r++)
            if (r == 0 || r < rows) {
                CGTP_UNROLL
                for (int i = begin; i < end; i++)
                    other[r][i - begin] = cgtp_read_partial<near>(row + r * step + i * CGTP_LANES);
            }
        CGTP_UNROLL
        for (int r = 0; r < ahead_; r++)
            if (r == 0 || r < rows) {
                CGTP_UNROLL
                for (int i = begin; i < end; i++)
                    sum[i] += other[r][i - begin];
            }
    }
};
/* A warp's partial rows, one per tile: `length` numbers from number `first` of the path set's on, and flags. Of teams:
 * where its ring was; `step` elements on the next warp of the team has its own. */
struct cgtp_partials {
    unsigned *flag;
    real *sums;
    int length;
    int64_t first;
    real *own;
    int step;
};

/* Adds what the `tiles` tiles after have of a receiver, in order: `row` is the lane's part of the first one's sums, and
 * `step` from one to the next. */
template <bool near, typename Sums>
CGTP_DEVICE void cgtp_add_partials(const real *row, int64_t step, int tiles, const Sums &sums)
{
    constexpr int part = Sums::part, n = Sums::elements;
    cgtp_each<(n + part - 1) / part>([&](auto number) {
        constexpr int begin = decltype(number)::value * part, end = begin + part < n ? begin + part : n;
        CGTP_LOOP
        for (int t = 0; t < tiles; t += Sums::ahead)
            sums.template add<begin, end, Sums::ahead, near>(row + t * step, step, tiles - t);
    });
}

/* To and from partial rows, all of a warp's sums. */
template <typename... Sums> CGTP_DEVICE void cgtp_spill(real *to, const Sums &...sums)
{
    ((sums.spill(to), to += Sums::elements * Sums::words * CGTP_LANES), ...);
}
template <bool near, typename... Sums>
CGTP_DEVICE void cgtp_add_all_partials(const real *row, int64_t step, int tiles, const Sums &...sums)
{
    ((cgtp_add_partials<near>(row, step, tiles, sums), row += Sums::elements * Sums::words * CGTP_LANES), ...);
}

/* Tiles that a warp adds up the sums of at a time. */
enum { CGTP_TILES_ADDED = 3 };

/* Adds up what tiles after `number` have of a receiver: a tree, so that a receiver of many tiles is not a chain of as many
 * additions. Of a receiver's tiles, counted from its first, each fourth waits for the three after it and adds their sums to
 * its own; each sixteenth then those of the next three fourth ones; and so on. */
template <int blocks, typename Tiles, typename Graph, typename Node, typename... Sums>
CGTP_DEVICE void cgtp_add_tiles(const Tiles &tiles, const Graph &graph, int number, bool continued, Node node,
                                const cgtp_partials &partial, int lane, const Sums &...sums)
{
    const int place = continued ? tiles.before(graph, node, number) : 0;
    int after = 0; /* all lanes count: where lanes part, ptxas keeps fewer numbers that they share */
    CGTP_LOOP
    while (tiles.reaches(graph, node, number + 1 + after))
        after++;
    CGTP_LOOP
    for (int apart = 1; apart <= after && (unsigned)place % (4 * apart) == 0; apart *= 4) {
        const int64_t first = partial.first + (number + apart) * blocks, step = apart * blocks;
        const int n = after / apart < CGTP_TILES_ADDED ? after / apart : CGTP_TILES_ADDED;
        cgtp_wait(cgtp_lane() < n ? partial.flag + first + cgtp_lane() * step : NULL);
        cgtp_add_all_partials<false>(partial.sums + first * partial.length + lane, step * partial.length, n, sums...);
    }
}

/* The end of a receiver. Where it has edges in the tiles after, adds their sums; where it begins in an earlier tile, spills
 * its sums for an earlier one's warp: true. In a team others follow its first warp. blocks: channel blocks, each
 * with rows of its own. */
template <int blocks, typename Tiles, typename Graph, typename Node, typename... Sums>
CGTP_DEVICE bool cgtp_hand_over(const Tiles &tiles, const Graph &graph, const cgtp_tile &tile, Node node, int count,
                                const cgtp_partials &partial, int lane, const Sums &...sums)
{
    if constexpr (Tiles::teams) { /* each warp has one receiver, so that the block meets once */
        cgtp_sync_warp();         /* all lanes have done the last edge, which is in the ring */
        if (tile.continued)
            cgtp_spill(partial.own + lane, sums...);
        cgtp_sync_block();
        const int all = cgtp_row_end(tile, node), step = partial.step;
        if (!tile.continued) /* others of the team that have edges */
            cgtp_add_all_partials<true>(partial.own + step + lane, step, (all - 1) / count, sums...);
        return tile.continued;
    }
    const bool continued = tile.continued && node == tile.node;
    if (cgtp_row_end(tile, node) > count)
        cgtp_add_tiles<blocks>(tiles, graph, tile.number, continued, node, partial, lane, sums...);
    if (continued) {
        const int64_t row = partial.first + tile.number * blocks;
        cgtp_spill(partial.sums + row * partial.length + lane, sums...);
        cgtp_signal(partial.flag + row);
    }
    return continued;
}

/* ---- sums over the warps of a group, over the edges of a node ---- */

/* Vectors of `dim` numbers, of rows of `length`, one from each warp of a group and item: sums over the group, in the
 * order of its warps. Item i's go to row(i). All lanes of the group share the work; thread: the lane's number in it. */
template <int dim, int warps, cgtp_how how, int length, typename Row>
CGTP_DEVICE void cgtp_reduce_across_warps(Row row, const real *from, int items,
                                          int thread = cgtp_warp() % warps * CGTP_LANES + cgtp_lane())
{
    if constexpr (how == CGTP_ADD && warps == 1 && sizeof(real) == 4 && dim % CGTP_WIDE == 0 &&
                  length % CGTP_WIDE == 0) {
        for (int at = thread * CGTP_WIDE; at < items * dim; at += CGTP_LANES * CGTP_WIDE)
            cgtp_add16(row(at / dim) + at % dim, from + at / dim * length + at % dim);
    } else
        for (int at = thread; at < items * dim; at += warps * CGTP_LANES) {
            const int i = at / dim, j = at % dim;
            real sum = from[i * warps * length + j];
            CGTP_UNROLL
            for (int member = 1; member < warps; member++)
                sum += from[(i * warps + member) * length + j];
            cgtp_deliver<how>(row(i) + j, sum);
        }
}

/* n elements of a sum over rows, 16 bytes or one. */
template <int n> struct cgtp_plain_elements {
    real (&sum)[n];
    CGTP_MEMBER void add(const real (&r)[n]) const
    {
        CGTP_UNROLL
        for (int j = 0; j < n; j++)
            sum[j] += r[j];
    }
};

/* Adds parts of rows, each `begin` elements on in its row, in order: row(i) of those from i on that are before `end`. So
 * many are `together` on their way to the thread; the last few, too, whose number varies. */
template <int together, int... begin, typename Chunk, typename Row>
CGTP_DEVICE void cgtp_add_rows(const Chunk &sum, int64_t i, int64_t end, Row row)
{
    constexpr int at[] = {begin...}, parts = (int)(sizeof at / sizeof *at), many = together > parts ? together / parts : 1,
                  n = (int)(sizeof sum.sum / sizeof *sum.sum), last = many < 4 ? many : many < 8 ? 2 : many < 32 ? 4 : 8;
    const auto add = [&](int64_t e, int rows) {
        real r[last * parts][n];
        CGTP_UNROLL
        for (int j = 0; j < last * parts; j++)
            if (j / parts < rows)
                cgtp_read_stream<n>(r[j], row(e + j / parts) + at[j % parts]);
        CGTP_UNROLL
        for (int j = 0; j < last * parts; j++)
            if (j / parts < rows)
                sum.add(r[j]);
    };
    for (; i + many <= end; i += many)
        cgtp_each<(many + last - 1) / last>([&](auto k) { add(i + k.value * last, many - k.value * last); });
    _Pragma("unroll 1") for (; i < end; i += last)
        add(i, (int)(end - i));
}

/* Adds so much of the row of each of a sender's edges of the turn, in their order: row e begins at rows + e * length. Of a
 * row several parts may be added, `begin` elements on. So many are `together` on their way to the thread. */
template <int together, int... begin, typename Chunk, typename Graph>
CGTP_DEVICE void cgtp_gather_rows(const Chunk &sum, const real *rows, int64_t length, const Graph &graph,
                                  int64_t sender, const cgtp_turn &turn)
{
    const int64_t first = graph.sender_row[sender], last = graph.sender_row[sender + 1];
    const int64_t i = turn.first ? first : cgtp_lower_bound(graph.by_sender, first, last, turn.from);
    const int64_t end = turn.last ? last : cgtp_lower_bound(graph.by_sender, i, last, turn.kept);
    cgtp_add_rows<together, begin...>(sum, i, end, [&](int64_t e) { return rows + graph.by_sender[e] * length; });
}

/* A sum from one turn to the next. */
template <int n, typename To, typename From> CGTP_DEVICE void cgtp_move_sum(To *to, const From *from)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

/* Are all blocks of such a kernel resident where each has a quarter of a multiprocessor's threads? */
static inline bool cgtp_few_blocks(int64_t blocks)
{
    return blocks <= 2 * (int64_t)cgtp_multiprocessors();
}

} // namespace

#endif
