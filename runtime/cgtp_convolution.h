/* SPDX-License-Identifier: MIT */
/* cgtp_convolution.h - the pipelined convolution: how rows come into the stages of a ring and how sums leave
 * a warp. Included after cgtp_cuda.h.
 *
 * A generated kernel describes a path set S by a struct: S::channels, neighbouring channels per lane;
 * S::blocks, channel blocks, each of 32 S::channels channels and computed by a warp of its own. Structs
 * derived from it add where the set's irreps segments are in a row (S::segment) or where its weights are
 * (S::offset).
 */
#ifndef CGTP_CONVOLUTION_H
#define CGTP_CONVOLUTION_H

#include "cgtp_schedule.h"
#include "cgtp_vector.h"

namespace
{

/* ---- tables ---- */

/* An irreps segment: channels of `components` elements each, the first at element `offset` of a row. step:
 * elements from one component of a channel to the next; more than 1 where it is the channels of a component
 * that follow each other (layout ir_mul). All segments of a row have the same layout and as many channels. */
struct cgtp_segment {
    int components;
    int64_t offset;
    int64_t step = 1;
};

template <typename S> CGTP_BOTH constexpr int cgtp_segments(void)
{
    return (int)(sizeof S::segment / sizeof *S::segment);
}

template <typename S> CGTP_BOTH constexpr bool cgtp_by_component(void)
{
    return S::segment[0].step != 1;
}

/* Components of all segments before segment i; of the longest; is there one of so many? */
template <typename S> CGTP_BOTH constexpr int cgtp_components_before(int i)
{
    int sum = 0;
    for (int j = 0; j < i; j++)
        sum += S::segment[j].components;
    return sum;
}
template <typename S> CGTP_BOTH constexpr int cgtp_longest(void)
{
    int longest = 0;
    for (int i = 0; i < cgtp_segments<S>(); i++)
        longest = longest < S::segment[i].components ? S::segment[i].components : longest;
    return longest;
}
template <typename S> CGTP_BOTH constexpr bool cgtp_has(int components)
{
    for (int i = 0; i < cgtp_segments<S>(); i++)
        if (S::segment[i].components == components)
            return true;
    return false;
}

/* Elements of a channel block in segment i; of all segments first .. last - 1. */
template <typename S> CGTP_BOTH constexpr int cgtp_block_elements(int first, int last)
{
    return CGTP_LANES * S::channels * (cgtp_components_before<S>(last) - cgtp_components_before<S>(first));
}

/* Row `number` of rows that begin `stride` elements after each other: a number of 32 bits is not negative, which makes one
 * multiplication of it. */
template <typename T> CGTP_DEVICE T *cgtp_nth_row(T *rows, int64_t number, int64_t stride)
{
    return rows + number * stride;
}
template <typename T> CGTP_DEVICE T *cgtp_nth_row(T *rows, int number, int64_t stride)
{
    return rows + (int64_t)((unsigned long long)(unsigned)number * (unsigned long long)stride);
}

/* A channel block's part of a row, in chunks of 16 bytes, a lane's first and every 32nd after that. Pointers
 * to the first: one for all segments of the same number of components; one for all where components are apart
 * or there is one channel block. */
template <typename T, typename S> struct cgtp_row {
    static constexpr int wide = cgtp_wide<T>();
    static constexpr bool by_component = S::blocks > 1 && cgtp_by_component<S>();
    static constexpr bool one = S::blocks == 1 || by_component;
    static constexpr int run = CGTP_LANES * S::channels / wide; /* chunks of a component */
    T *by_l[one ? 1 : cgtp_longest<S>() / 2 + 1];                    /* components: 2 l + 1 */

    CGTP_MEMBER cgtp_row(T *row, int channel_block, int lane)
    {
        if constexpr (S::blocks == 1) {
            by_l[0] = cgtp_opaque_global(row + lane * wide);
        } else if constexpr (by_component) {
            static_assert(CGTP_LANES % run == 0, "whole components in a warp's chunks");
            by_l[0] = cgtp_opaque_global(row + channel_block * (CGTP_LANES * S::channels) +
                                         lane / run * S::segment[0].step + lane % run * wide);
        } else {
            cgtp_each<cgtp_longest<S>() / 2 + 1>([&](auto l) {
                constexpr int d = 2 * decltype(l)::value + 1;
                if constexpr (cgtp_has<S>(d))
                    by_l[d / 2] = cgtp_opaque_global(row + channel_block * (CGTP_LANES * S::channels * d) +
                                                     lane * wide);
            });
        }
    }

    /* The same of row `number` after it. */
    template <typename Number> CGTP_MEMBER cgtp_row nth(Number number, int64_t stride) const
    {
        cgtp_row row(*this);
        cgtp_each<one ? 1 : cgtp_longest<S>() / 2 + 1>([&](auto l) {
            constexpr int i = decltype(l)::value;
            if constexpr (one || cgtp_has<S>(2 * i + 1))
                row.by_l[i] = cgtp_opaque_global(cgtp_nth_row(by_l[i], number, stride));
        });
        return row;
    }

    /* The lane's chunk among chunks k .. k + 31 of segment i. */
    template <int i> CGTP_MEMBER T *chunk(int k) const
    {
        constexpr cgtp_segment s = S::segment[i];
        return by_l[one ? 0 : s.components / 2] + s.offset +
               (by_component ? k / run * s.step : k * (int64_t)wide);
    }

    /* The lane's element among elements k .. k + 31 of the channel block's part of segment i; k: a multiple of 32. */
    template <int i> CGTP_MEMBER T *element(int k, int lane) const
    {
        constexpr int chunks = CGTP_LANES / wide; /* of 32 elements */
        static_assert(!by_component || run % chunks == 0, "32 elements of a component");
        T *const first = chunk<i>(k / wide) + lane;
        if constexpr (by_component)
            return first - (lane / run * S::segment[0].step + lane % run * wide) + k / wide % run * wide;
        else
            return first - lane * wide;
    }
};

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

    /* Starts the copies of the first edges. */
    template <typename Load> CGTP_MEMBER void fill(int count, Load &load)
    {
        CGTP_LOOP
        for (int i = 0; i < stages - 1; i++) {
            if (i < count) {
                const int lane = cgtp_reload_lane();
                load(i, lanes_own(lane), lane);
            }
            cgtp_copies_commit();
            next = after(next);
        }
    }

    /* Before that, the part of them that `load` starts: what is known sooner. */
    template <typename Load> CGTP_MEMBER void begin(int count, Load &load)
    {
        CGTP_LOOP
        for (int i = 0; i < stages - 1; i++) {
            if (i < count) {
                const int lane = cgtp_reload_lane();
                load(i, lanes_own(lane), lane);
            }
            next = after(next);
        }
        next = first;
    }

    /* The stage of the next edge, once its copies have landed. */
    CGTP_MEMBER const Stage &wait(void) const
    {
        cgtp_copies_wait<stages - 2>();
        cgtp_sync_warp();
        return *(const Stage *)cgtp_pointer(after(next));
    }

    /* Until then: the stage that the edge before had. */
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
        cgtp_copies_commit();
        next = after(next);
    }

    /* Both, one after the other. */
    template <typename... Load> CGTP_MEMBER const Stage &turn(int number, int count, int lane, Load &...load)
    {
        const Stage &at = wait();
        load_ahead(number, count, lane, load...);
        return at;
    }
};

/* ---- copies into a stage: slices are those of the lane's own stage, addresses of rows those of the lane
 * ---- */

/* n elements, in chunks of 16 bytes. */
template <int n, typename T>
CGTP_DEVICE void cgtp_copy_slice(T (&slice)[n], const T *from, int lane, cgtp_policy policy)
{
    constexpr int wide = cgtp_wide<T>(), chunks = n / wide;
    static_assert(n % wide == 0, "whole chunks");
    CGTP_UNROLL
    for (int k = 0; k < chunks; k += CGTP_LANES)
        if (chunks - k >= CGTP_LANES || lane < chunks - k)
            cgtp_copy16(slice + k * wide, from + k * wide, policy);
}

/* A row of n elements, whatever its alignment: in chunks of 16 bytes, if it has whole ones, or element by
 * element. `from` is in the row, moved on to where the lane's begin. */
template <int n> CGTP_DEVICE int cgtp_row_begin(int lane)
{
    return n % CGTP_WIDE == 0 ? lane * CGTP_WIDE : lane;
}
/* Rows of n elements, `stride` after each other, from row `first` on: where the lane's part of the first begins; kept in
 * a register, not computed anew. */
template <int n, bool kept> struct cgtp_lanes_rows {
    const real *at;

    CGTP_MEMBER cgtp_lanes_rows(const real *rows, int64_t first, int64_t stride, int lane)
        : at(rows + first * stride + cgtp_row_begin<n>(lane))
    {
        if constexpr (kept)
            at = cgtp_opaque_global(at);
    }
    template <typename Number> CGTP_MEMBER const real *nth(Number number, int64_t stride) const
    {
        return cgtp_nth_row(at, number, stride);
    }
};
template <int n>
CGTP_DEVICE void cgtp_copy_lanes_row(real (&slice)[n], const real *from, int lane, cgtp_policy policy)
{
    if constexpr (n % CGTP_WIDE == 0) {
        cgtp_copy_slice(slice, from, lane, policy);
    } else {
        CGTP_UNROLL
        for (int k = 0; k < n; k += CGTP_LANES)
            if (n - k >= CGTP_LANES || lane < n - k)
                cgtp_copy_element(slice + k - lane * (CGTP_WIDE - 1), from + k);
    }
}
template <int n>
CGTP_DEVICE void cgtp_copy_row(real (&slice)[n], const real *row, int lane, cgtp_policy policy)
{
    cgtp_copy_lanes_row(slice, row + cgtp_row_begin<n>(lane), lane, policy);
}

/* A row of n numbers of 16 bits, whatever its alignment: in chunks of 16 bytes, if it has whole ones, or by words of 4
 * bytes, of which the first may begin with the last number of the row before, and the last end with none. */
template <int n, int room, typename T>
CGTP_DEVICE void cgtp_copy_words(T (&slice)[room], const T *row, int lane, cgtp_policy policy)
{
    constexpr int words = (n + 1) / 2;
    static_assert(room == 2 * words, "whole words");
    if constexpr (n % cgtp_wide<T>() == 0) {
        cgtp_copy_slice(slice, row + lane * cgtp_wide<T>(), lane, policy);
    } else {
        const unsigned *const from = (const unsigned *)((uintptr_t)row / 4 * 4);
        CGTP_UNROLL
        for (int k = 0; k < words; k += CGTP_LANES)
            if (words - k >= CGTP_LANES || lane < words - k) {
                const bool half = n % 2 && k + lane == words - 1 && (const T *)from == row;
                cgtp_copy_word((unsigned *)slice + k - 3 * lane, from + k + lane, half ? 2 : 4);
            }
    }
}

/* Row `number` of an array, as it is in its slice, widened. All lanes call, and meet before they read. */
template <int n, int room, typename T>
CGTP_DEVICE void cgtp_widen_row(real (&to)[n], const T (&slice)[room], int64_t number, int lane)
{
    const T *const from = slice + (n % 2 ? (int)(number % 2) : 0); /* rows of odd length follow each other */
    CGTP_UNROLL
    for (int k = 0; k < n; k += CGTP_LANES)
        if (n - k >= CGTP_LANES || lane < n - k)
            to[k + lane] = cgtp_widen(from[k + lane]);
}

/* The slice of segment i of a row, and those of the segments after. */
template <int i, typename Row> CGTP_DEVICE void cgtp_copy_from(const Row &, int, cgtp_policy)
{
}
template <int i, typename Row, typename T, int n, int... more>
CGTP_DEVICE void cgtp_copy_from(const Row &row, int lane, cgtp_policy policy, T (&slice)[n], T (&...others)[more])
{
    constexpr int wide = cgtp_wide<T>(), chunks = n / wide;
    static_assert(n % wide == 0, "whole chunks");
    CGTP_UNROLL
    for (int k = 0; k < chunks; k += CGTP_LANES)
        if (chunks - k >= CGTP_LANES || lane < chunks - k)
            cgtp_copy16(slice + k * wide, row.template chunk<i>(k), policy);
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

/* Elements between the weights of neighbouring paths, as most copies have it, if each takes those of
 * `together` paths. */
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

/* Where the lane's copies of the channel block's weights begin in a row. */
template <typename S, typename T> CGTP_DEVICE int64_t cgtp_weights_begin(int channel_block, int lane)
{
    constexpr int wide = cgtp_wide<T>(), slice = CGTP_LANES * S::channels;
    constexpr int chunks = slice / wide, together = CGTP_LANES / chunks;
    constexpr int64_t distance = together > 1 ? cgtp_usual_distance<S>(together) : 0;
    return channel_block * slice + lane / chunks * distance + lane % chunks * wide;
}

/* Rows of weights, `stride` after each other, from row `first` on: where the lane's part of the channel block's in the first begins (kept: see
 * cgtp_lanes_rows). */
template <typename S, bool kept, typename T>
CGTP_DEVICE const T *cgtp_lanes_weights(const T *rows, int64_t first, int64_t stride, int channel_block, int lane)
{
    const T *const at = rows + first * stride + cgtp_weights_begin<S, T>(channel_block, lane);
    if constexpr (kept)
        return cgtp_opaque_global(at);
    else
        return at;
}

/* The channel block's weights of all paths, to neighbouring slices: those of several paths in a copy. `from` is in the
 * row, moved on to where the lane's begin. */
template <typename S, typename T>
CGTP_DEVICE void cgtp_copy_lanes_weights(T *slices, const T *from, int lane, cgtp_policy policy)
{
    constexpr int n = (int)(sizeof S::offset / sizeof *S::offset), slice = CGTP_LANES * S::channels;
    constexpr int wide = cgtp_wide<T>(), chunks = slice / wide, together = CGTP_LANES / chunks;
    constexpr int64_t distance = together > 1 ? cgtp_usual_distance<S>(together) : 0;
    from = cgtp_opaque_global(from);
    cgtp_each<(n + together - 1) / together>([&](auto copy) {
        constexpr int i = decltype(copy)::value * together, here = n - i < together ? n - i : together;
        if (here * chunks == CGTP_LANES || lane < here * chunks) {
            constexpr int64_t offset = S::offset[i];
            int64_t more = 0; /* where the distance is another one */
            cgtp_each<here - 1>([&](auto other) {
                constexpr int j = decltype(other)::value + 1;
                constexpr int64_t is = S::offset[i + j] - S::offset[i] - j * distance;
                constexpr int64_t was = S::offset[i + j - 1] - S::offset[i] - (j - 1) * distance;
                if constexpr (is != was)
                    more = lane < j * chunks ? more : is;
            });
            cgtp_copy16(slices + i * slice, from + offset + more, policy);
        }
    });
}
template <typename S, typename T>
CGTP_DEVICE void cgtp_copy_weights(T *slices, const T *row, int channel_block, int lane, cgtp_policy policy)
{
    cgtp_copy_lanes_weights<S>(slices, row + cgtp_weights_begin<S, T>(channel_block, lane), lane, policy);
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

/* The same of a slice in which components are apart: v neighbouring channels, element r[u * d + i] of
 * component i of channel u. */
template <int v, int n, int m, typename T>
CGTP_DEVICE void cgtp_load_lane_components(real (&r)[n], const T (&slice)[m], int lane)
{
    static_assert(m == n * CGTP_LANES, "a slice of these channels");
    cgtp_load_components<v, n / v>(r, slice + lane * v, CGTP_LANES * v);
}
template <int v, int n, int m, typename T>
CGTP_DEVICE void cgtp_store_lane_components(T (&slice)[m], const real (&r)[n], int lane)
{
    static_assert(m == n * CGTP_LANES, "a slice of these channels");
    cgtp_store_components<v, n / v>(slice + lane * v, CGTP_LANES * v, r);
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

/* Room for gradients of weights, of the lane's v channels: what the function of a path is given as an array.
 * They go to `to` once it has ended. */
template <int v, typename T = real> struct cgtp_outgoing {
    T *const to;
    real value[v];

    CGTP_MEMBER explicit cgtp_outgoing(T *row) : to(row)
    {
    }
    CGTP_MEMBER ~cgtp_outgoing()
    {
        cgtp_store_stream<v>(to, value);
    }
    CGTP_MEMBER operator real *()
    {
        return value;
    }
};

/* Weights in 16 bits, of the lane's v channels: what the function of a path is given as an array. */
template <int v> struct cgtp_incoming {
    real value[v];

    template <typename T> CGTP_MEMBER explicit cgtp_incoming(const T *from)
    {
        cgtp_load<v>(value, from);
    }
    CGTP_MEMBER operator const real *() const
    {
        return value;
    }
};

template <cgtp_how how, int i, typename Row> CGTP_DEVICE void cgtp_write_to(const Row &, int)
{
}
template <cgtp_how how, int i, typename T, typename S, int n, int... more>
CGTP_DEVICE void cgtp_write_to(const cgtp_row<T, S> &row, int lane, const T (&slice)[n], const T (&...others)[more])
{
    constexpr int wide = cgtp_wide<T>(), chunks = n / wide;
    static_assert(n % CGTP_LANES == 0, "whole warps");
    if constexpr (how == CGTP_ADD && sizeof(real) == 8) { /* neighbouring elements at once: there are no wider atomics */
        CGTP_UNROLL
        for (int k = 0; k < n; k += CGTP_LANES)
            cgtp_add(row.template element<i>(k, lane), slice[k + lane]);
    } else {
        CGTP_UNROLL
        for (int k = 0; k < chunks; k += CGTP_LANES)
            if (chunks - k >= CGTP_LANES || lane < chunks - k) {
                T *const to = row.template chunk<i>(k);
                if constexpr (how == CGTP_ADD)
                    cgtp_add16(to, slice + (k + lane) * wide);
                else
                    cgtp_put16(to, slice + (k + lane) * wide);
            }
    }
    cgtp_write_to<how, i + 1>(row, lane, others...);
}

/* The channel block's part of each segment, from slices to a row. */
template <typename S, cgtp_how how, typename T, int... n>
CGTP_DEVICE void cgtp_write_segments(T *row, int channel_block, int lane, const T (&...slice)[n])
{
    static_assert(sizeof...(n) == cgtp_segments<S>(), "a slice per segment");
    cgtp_write_to<how, 0>(cgtp_row<T, S>(row, channel_block, lane), lane, slice...);
}

} // namespace

#include "cgtp_epilogue.h"
#include "cgtp_table.h"

#endif
