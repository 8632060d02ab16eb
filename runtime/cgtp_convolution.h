/* SPDX-License-Identifier: MIT */
/* cgtp_convolution.h - the pipelined convolution: how rows come into the stages of a ring and how sums leave
 * a warp. Included after cgtp_cuda.h. Where a path set's channels are: see cgtp_segments.h.
 */
#ifndef CGTP_CONVOLUTION_H
#define CGTP_CONVOLUTION_H

#include "cgtp_schedule.h"
#include "cgtp_segments.h"

namespace
{

/* ---- the ring of stages ---- */

/* A warp's ring: the copies of an edge's rows start stages - 1 edges before they are needed. load(number, to,
 * lane) starts those of an edge of the tile; `to` is the stage moved on by the lane's 16 bytes, so that each
 * of its fields begins where the lane copies to.
 *
 * The next stage is an address that goes round, not a number: ptxas 13.0 encodes a copy wrongly (an illegal
 * instruction) where it can split its address into a lane's part and one that all lanes share. */
template <typename Stage, int stages> struct cgtp_ring {
    cgtp_address first, next; /* next: the one that is loaded next */

    CGTP_MEMBER cgtp_ring(Stage (&ring)[stages]) : first(cgtp_address_of(ring)), next(first)
    {
    }

    CGTP_MEMBER cgtp_address after(cgtp_address stage) const
    {
        constexpr int bytes = (int)sizeof(Stage);
        return stage - first == (stages - 1) * bytes ? first : stage + bytes;
    }

    CGTP_MEMBER Stage &lanes_own(int lane) const
    {
        return *(Stage *)cgtp_opaque_shared(cgtp_pointer(next) + lane * 16);
    }

    /* Starts the copies of the first edges: by one function after the other, where there are several; begin, before that, the
     * part of them that is known sooner. */
    template <bool whole = true, typename... Load> CGTP_MEMBER void fill(int count, Load &...load)
    {
        CGTP_LOOP
        for (int i = 0; i < stages - 1; i++) {
            if (i < count) {
                const int lane = cgtp_reload_lane(), which = sizeof...(load) > 1 ? i % (int)sizeof...(load) : 0;
                Stage &to = lanes_own(lane);
                int number = 0;
                ((number++ == which ? load(i, to, lane) : void()), ...);
            }
            if constexpr (whole)
                cgtp_copies_commit();
            next = after(next);
        }
    }
    template <typename Load> CGTP_MEMBER void begin(int count, Load &load)
    {
        fill<false>(count, load);
        next = first;
    }

    /* The stage of the next edge. */
    CGTP_MEMBER const Stage &now(void) const
    {
        return *(const Stage *)cgtp_pointer(after(next));
    }

    /* Until copies of a later edge start: the stage that the edge before had. */
    CGTP_MEMBER const Stage &before(void) const
    {
        return *(const Stage *)cgtp_pointer(next);
    }

    /* While edge `number` is worked on: starts the copies of a later edge, by each of the functions, into the stage that the edge before had. */
    template <typename... Load> CGTP_MEMBER void load_ahead(int number, int count, int lane, Load &...load)
    {
        if (number + stages - 1 < count) {
            Stage &to = lanes_own(lane);
            (load(number + stages - 1, to, lane), ...);
        }
        next = after(next);
    }
};

/* ---- copies into a stage: slices are those of the lane's own stage, addresses of rows those of the lane ---- */

/* A row of n elements, whatever its alignment: in chunks of 16 bytes, if it has whole ones, or element by
 * element. `from` is in the row, moved on to where the lane's begin. Where several items have rows of their own side by
 * side, each has `threads` lanes, and room for whole chunks. */
template <int n> CGTP_BOTH constexpr int cgtp_row_piece(void)
{
    return n % CGTP_WIDE == 0 ? (int)CGTP_WIDE : 1;
}
template <int n, int threads = CGTP_LANES> CGTP_DEVICE int cgtp_row_begin(int lane)
{
    return (threads == CGTP_LANES ? lane : lane % threads) * cgtp_row_piece<n>();
}
template <int n> CGTP_BOTH constexpr int cgtp_row_room(void)
{
    return (n + CGTP_WIDE - 1) / CGTP_WIDE * CGTP_WIDE;
}
/* Rows of n elements, `stride` after each other, from row `first` on: where the lane's part of the first begins; kept in
 * a register, not computed anew. */
template <int n, bool kept, int threads = CGTP_LANES> struct cgtp_lanes_rows {
    const real *at;

    CGTP_MEMBER cgtp_lanes_rows(const real *rows, int64_t first, int64_t stride, int lane)
        : at(rows + first * stride + cgtp_row_begin<n, threads>(lane))
    {
        if constexpr (kept)
            at = cgtp_opaque_global(at);
    }
    template <typename Number> CGTP_MEMBER const real *nth(Number number, int64_t stride) const
    {
        return cgtp_nth_row(at, number, stride);
    }
};
template <int n, int threads = CGTP_LANES, int room>
CGTP_DEVICE void cgtp_copy_lanes_row(real (&slice)[room], const real *from, int lane, cgtp_policy policy)
{
    constexpr int piece = cgtp_row_piece<n>(), pieces = n / piece;
    const int own = threads == CGTP_LANES ? lane : lane % threads;
    static_assert(threads == CGTP_LANES ? room == n : room == CGTP_LANES / threads * cgtp_row_room<n>(), "an item's row each");
    real *const to = slice + (own * piece - lane * CGTP_WIDE + (threads == CGTP_LANES ? 0 : lane / threads * cgtp_row_room<n>()));
    CGTP_UNROLL
    for (int k = 0; k < pieces; k += threads)
        if (pieces - k >= threads || own < pieces - k) {
            if constexpr (piece == 1)
                cgtp_copy_element(to + k, from + k);
            else
                cgtp_copy<16>(to + k * piece, from + k * piece, policy);
        }
}
/* The slice of segment i of a row, and those of the segments after. */
template <int i, int threads, typename T, typename S, int n, int... more>
CGTP_DEVICE void cgtp_copy_from(const cgtp_row<const T, S, threads> &row, int lane, cgtp_policy policy, T (&slice)[n],
                                T (&...others)[more])
{
    using Row = cgtp_row<const T, S, threads>;
    static_assert(n == CGTP_LANES * S::channels * S::segment[i].components, "whole warps");
    T *const to = slice + (row.template in_slice<i>(lane) - lane * cgtp_wide<T>());
    CGTP_UNROLL
    for (int k = 0; k < Row::template chunks<i>(); k += threads)
        if (row.template has<i>(k))
            cgtp_copy<Row::wide * (int)sizeof(T)>(to + k * Row::wide, row.template chunk<i>(k), policy);
    if constexpr (sizeof...(more) > 0)
        cgtp_copy_from<i + 1>(row, lane, policy, others...);
}

/* The channel block's part of each segment of a row. */
template <typename S, typename T, int... n>
CGTP_DEVICE void cgtp_copy_segments(const cgtp_row<const T, S> &row, int lane, cgtp_policy policy, T (&...slice)[n])
{
    static_assert(sizeof...(n) == cgtp_segments<S>(), "a slice per segment");
    cgtp_copy_from<0>(row, lane, policy, slice...);
}
template <typename S, typename T, int... n>
CGTP_DEVICE void cgtp_copy_segments(const T *row, int channel_block, int lane, cgtp_policy policy, T (&...slice)[n])
{
    cgtp_copy_segments<S>(cgtp_row<const T, S>(row, channel_block, lane), lane, policy, slice...);
}

/* Elements between the weights of neighbouring paths, as most copies have it, if each takes those of `together` paths. */
template <typename S> CGTP_BOTH constexpr int64_t cgtp_usual_distance(int together)
{
    const int n = (int)(sizeof S::offset / sizeof *S::offset);
    int64_t best = 0;
    int most = 0;
    for (int i = 0; i + 1 < n; i += together) {
        int same = 0;
        for (int j = 0; j + 1 < n; j += together)
            same += S::offset[j + 1] - S::offset[j] == S::offset[i + 1] - S::offset[i];
        if (same > most) {
            most = same;
            best = S::offset[i + 1] - S::offset[i];
        }
    }
    return best;
}

/* How an item's lanes share the channel block's weights: chunks of `wide` elements, of which a path has so many; of how
 * many paths in a copy, whose weights are mostly so far apart. */
template <typename S, typename T> struct cgtp_weight_lanes {
    static constexpr int paths = (int)(sizeof S::offset / sizeof *S::offset);
    static constexpr int wide = S::aligned < cgtp_wide<T>() ? S::aligned : cgtp_wide<T>();
    static constexpr int chunks = (S::blocks == 1 ? S::mul : cgtp_width<S>()) / wide;
    static constexpr bool whole = S::blocks == 1 || cgtp_is_whole<S>();
    static constexpr int together = chunks < S::lanes ? S::lanes / chunks : 1;
    static constexpr int64_t distance = together > 1 ? cgtp_usual_distance<S>(together) : 0;

    /* Of the paths i .. i + here - 1 in a copy: how much further the lane's is than they mostly are. */
    template <int i, int here> static CGTP_MEMBER int64_t more(int own)
    {
        int64_t more = 0;
        cgtp_each<here - 1>([&](auto other) {
            constexpr int j = decltype(other)::value + 1;
            constexpr int64_t is = S::offset[i + j] - S::offset[i] - j * distance;
            constexpr int64_t was = S::offset[i + j - 1] - S::offset[i] - (j - 1) * distance;
            if constexpr (is != was)
                more = own < j * chunks ? more : is;
        });
        return more;
    }

    /* Where the lane's copies begin in a row, and in the slices of the first paths. */
    static CGTP_MEMBER int64_t begin(int channel_block, int lane)
    {
        const int own = cgtp_member<S>(lane);
        return channel_block * cgtp_width<S>() + own / chunks * distance + own % chunks * wide;
    }
    static CGTP_MEMBER int in_slices(int lane)
    {
        const int own = cgtp_member<S>(lane);
        if constexpr (chunks * wide == CGTP_LANES * S::channels) /* one after the other */
            return own * wide;
        return own / chunks * (CGTP_LANES * S::channels) + cgtp_item_of<S>(lane) * cgtp_width<S>() + own % chunks * wide;
    }

    /* Calls chunk(at, in_slices) for the lane's chunks that there are: how much further they are. */
    template <typename Chunk> static CGTP_MEMBER void each(int channel_block, int lane, Chunk chunk)
    {
        constexpr int slice = CGTP_LANES * S::channels, threads = S::lanes;
        const int own = cgtp_member<S>(lane), channels = cgtp_channels_of<S>(channel_block);
        cgtp_each<(paths + together - 1) / together>([&](auto copy) {
            constexpr int i = decltype(copy)::value * together, here = paths - i < together ? paths - i : together;
            constexpr int64_t offset = S::offset[i];
            CGTP_UNROLL
            for (int k = 0; k < (together > 1 ? 1 : chunks); k += threads)
                if ((here * chunks - k >= threads || own < here * chunks - k) &&
                    (whole || (k + own % chunks) * wide < channels))
                    chunk(offset + more<i, here>(own) + k * wide, i * slice + k * wide);
        });
    }
};

/* Rows of weights, `stride` after each other, from row `first` on: where the lane's part of the channel block's in the first begins (kept: see
 * cgtp_lanes_rows). */
template <typename S, bool kept, typename T>
CGTP_DEVICE const T *cgtp_lanes_weights(const T *rows, int64_t first, int64_t stride, int channel_block, int lane)
{
    const T *const at = rows + first * stride + cgtp_weight_lanes<S, T>::begin(channel_block, lane);
    return kept ? cgtp_opaque_global(at) : at;
}

/* The channel block's weights of all paths, to neighbouring slices: those of several paths in a copy. `from` is in the
 * row, moved on to where the lane's begin. */
template <typename S, typename T>
CGTP_DEVICE void cgtp_copy_lanes_weights(T *slices, const T *from, int channel_block, int lane, cgtp_policy policy)
{
    using W = cgtp_weight_lanes<S, T>;
    from = cgtp_opaque_global(from);
    slices += W::in_slices(lane) - lane * cgtp_wide<T>();
    W::each(channel_block, lane, [&](int64_t at, int in_slices) {
        cgtp_copy<W::wide * (int)sizeof(T)>(slices + in_slices, from + at, policy);
    });
}

/* ---- between slices and a lane's registers ---- */

/* The lane's channels of a slice. */
template <int n, int m, typename T> CGTP_DEVICE void cgtp_load_lane(real (&r)[n], const T (&slice)[m], int lane)
{
    static_assert(m == n * CGTP_LANES, "a slice of these channels");
    cgtp_load<n>(r, slice + lane * n);
}
template <int n, int m, typename T> CGTP_DEVICE void cgtp_store_lane(T (&slice)[m], const real (&r)[n], int lane)
{
    static_assert(m == n * CGTP_LANES, "a slice of these channels");
    cgtp_store<n>(slice + lane * n, r);
}

/* Of several: each array, its slice; each slice, its array. */
template <int n, int m, typename T, typename... More>
CGTP_DEVICE void cgtp_load_lanes(int lane, real (&r)[n], const T (&slice)[m], More &...more)
{
    cgtp_load_lane(r, slice, lane);
    if constexpr (sizeof...(more) > 0)
        cgtp_load_lanes(lane, more...);
}
template <int n, int m, typename... More>
CGTP_DEVICE void cgtp_store_lanes(int lane, real (&slice)[m], const real (&r)[n], More &...more)
{
    cgtp_store_lane(slice, r, lane);
    if constexpr (sizeof...(more) > 0)
        cgtp_store_lanes(lane, more...);
}

/* Room for gradients of weights, of the lane's v channels, of which it has `channels`: what the function of a path is given
 * as an array. Where they go once it has ended is what structs derived from this say. */
template <int v, typename T> struct cgtp_outgoing_room {
    T *const to;
    const int channels;
    real value[v];

    CGTP_MEMBER cgtp_outgoing_room(const T *to_, int channels_) : to((T *)to_), channels(channels_)
    {
    }
    CGTP_MEMBER operator real *()
    {
        return value;
    }
};

/* To a row, all of them. */
template <int v, typename T = real> struct cgtp_outgoing : cgtp_outgoing_room<v, T> {
    CGTP_MEMBER explicit cgtp_outgoing(T *row) : cgtp_outgoing_room<v, T>(row, v)
    {
    }
    CGTP_MEMBER ~cgtp_outgoing()
    {
        cgtp_store_stream<v>(this->to, this->value);
    }
};

template <cgtp_how how, int i, int threads, typename T, typename S, int n, int... more>
CGTP_DEVICE void cgtp_write_to(const cgtp_row<T, S, threads> &row, int lane, const T (&slice)[n], const T (&...others)[more])
{
    using Row = cgtp_row<T, S, threads>;
    constexpr int wide = Row::wide;
    static_assert(n == CGTP_LANES * S::channels * S::segment[i].components, "whole warps");
    if constexpr (how == CGTP_ADD && sizeof(T) == 8 && Row::whole && !Row::by_component && threads == CGTP_LANES) {
        CGTP_UNROLL /* neighbouring elements at once: there are no wider atomics */
        for (int k = 0; k < n; k += CGTP_LANES)
            cgtp_add(row.template chunk<i>(k / wide) + (lane - lane * wide), slice[k + lane]);
    } else {
        const T *const from = slice + row.template in_slice<i>(lane);
        CGTP_UNROLL
        for (int k = 0; k < Row::template chunks<i>(); k += threads)
            if (row.template has<i>(k)) {
                T *const to = row.template chunk<i>(k);
                if constexpr (how == CGTP_STORE) {
                    cgtp_put<wide * (int)sizeof(T)>(to, from + k * wide);
                } else if constexpr (wide * sizeof(T) == 16 && sizeof(T) == 4) {
                    cgtp_add16(to, from + k * wide);
                } else {
                    CGTP_UNROLL
                    for (int j = 0; j < wide; j++)
                        cgtp_add(to + j, from[k * wide + j]);
                }
            }
    }
    if constexpr (sizeof...(more) > 0)
        cgtp_write_to<how, i + 1>(row, lane, others...);
}

/* The channel block's part of each segment, from slices to a row: of several items side by side each lane's own item's. */
template <typename S, cgtp_how how, typename T, int... n>
CGTP_DEVICE void cgtp_write_segments(T *row, int channel_block, int lane, const T (&...slice)[n])
{
    static_assert(sizeof...(n) == cgtp_segments<S>(), "a slice per segment");
    cgtp_write_to<how, 0>(cgtp_row<T, S>(row, channel_block, lane), lane, slice...);
}

} // namespace

#include "cgtp_epilogue.h"

#endif
