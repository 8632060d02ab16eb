/* SPDX-License-Identifier: MIT */
/* cgtp_shifted.h - the pipelined convolution: rows that begin at any element, in chunks of 16 bytes all the same. Included
 * after cgtp_cuda.h.
 *
 * A copy of fewer bytes goes through L1, of which shared memory leaves little: each line that an edge's copies touch waits
 * for room there. So chunks come as they are in memory, with what else is in them: what of a row an item needs begins in its
 * slice where it does in a chunk of memory. The stage says how far that is for the row itself, its shift.
 */
#ifndef CGTP_SHIFTED_H
#define CGTP_SHIFTED_H

#include "cgtp_convolution.h"

namespace
{

/* ---- where elements are ---- */

/* Where in its chunk the element is that is `offset` after the beginning of a row. */
template <typename T> CGTP_DEVICE int cgtp_in_chunk(int shift, int offset)
{
    return (int)((unsigned)(shift + offset) % (unsigned)cgtp_wide<T>());
}

/* Room of n elements, wherever they begin. */
template <typename T> CGTP_BOTH constexpr int cgtp_shifted_room(int n)
{
    return (n + 2 * (cgtp_wide<T>() - 1)) / cgtp_wide<T>() * cgtp_wide<T>();
}

/* Lanes of an item that have channels; channels of theirs in a block; whose of them a lane reads: those that have none
 * read what the last one that has some does. */
template <typename S> CGTP_BOTH constexpr int cgtp_used_lanes(void)
{
    const int used = (S::mul + S::channels - 1) / S::channels;
    return used < S::lanes ? used : S::lanes;
}
template <typename S> CGTP_BOTH constexpr int cgtp_used_width(void)
{
    return cgtp_used_lanes<S>() * S::channels;
}
template <typename S> CGTP_DEVICE int cgtp_used_member(int lane)
{
    constexpr int last = cgtp_used_lanes<S>() - 1;
    const int own = cgtp_member<S>(lane);
    return last + 1 == S::lanes || own < last ? own : last;
}

/* Row `number` of `rows`, for one of so many threads that share it. */
template <typename T, int threads = CGTP_LANES> struct cgtp_shifted_row {
    static constexpr int wide = cgtp_wide<T>();
    const T *row;
    int own, shift;
    bool first, last; /* of the array: nothing is read before it, after it */

    template <typename Number>
    CGTP_MEMBER cgtp_shifted_row(const T *rows, Number number, int64_t stride, int64_t all, int lane)
        : row(cgtp_opaque_global(cgtp_nth_row(rows, number, stride))), own(threads == CGTP_LANES ? lane : lane % threads),
          shift((int)((uintptr_t)row / sizeof(T) % wide)), first(number == 0), last(number + 1 == all)
    {
    }

    /* Starts the copies of n elements, of which `have` are there, from element offset + moved of the row's dim on; moved: a
     * multiple of a chunk, at most `most`. slice: the item's, moved on by the thread's chunk. */
    template <int dim, int64_t offset, int n, int most>
    CGTP_MEMBER void copy(T *slice, int moved, int have, cgtp_policy policy) const
    {
        constexpr int begin = (int)offset, chunks = (n + 2 * (wide - 1)) / wide;
        const int before = cgtp_in_chunk<T>(shift, begin % wide), at = own * wide - before;
        const T *const from = cgtp_opaque_global(row + moved + at);
        CGTP_UNROLL
        for (int k = 0; k < chunks; k += threads) {
            constexpr bool all = begin + most + chunks * wide <= dim; /* in the row */
            const bool needed = ((k + threads) * wide <= n && have >= n) || at + k * wide < have;
            const int in_row = begin + moved + at + k * wide;
            if (needed && (begin >= wide - 1 || k > 0 || in_row >= 0 || !first) &&
                (all || in_row + wide <= dim || !last))
                cgtp_copy<16>(slice + k * wide, from + begin + k * wide, policy);
        }
        T *const to = slice + (before - begin - moved - own * wide); /* of the row's first element */
        if constexpr (begin < wide - 1)
            if (first && before > begin + moved)
                copy_some(to, begin + moved, begin + wide - before < begin + n ? begin + wide - before : begin + n);
        if constexpr (begin + most + chunks * wide > dim)
            if (last) {
                const int tail = (int)((unsigned)(dim + shift) / wide * wide) - shift, here = begin + moved;
                copy_some(to, here < tail ? tail : here, here + n < dim ? here + n : dim);
            }
    }

    /* Of the row's first chunk or its last one, where that is not whole in the array, the elements from i on before `end`. */
    CGTP_MEMBER void copy_some(T *to, int i, int end) const
    {
        CGTP_LOOP
        for (i += own; i < end; i += threads)
            cgtp_copy_element(to + i, row + i);
    }
};

/* ---- copies into a stage: slices are those of the lane's own stage ---- */

/* The slice of the lane's item, moved on by its first chunk, in a field of slices of so many elements. */
template <int threads, int room, typename T> CGTP_DEVICE T *cgtp_shifted_slice(T *field, int lane)
{
    if constexpr (threads == CGTP_LANES)
        return field; /* which the lane's own stage has done */
    return field + (lane / threads * room + (lane % threads - lane) * cgtp_wide<T>());
}

/* A whole row, of n elements. */
template <int n, int threads, typename T, int length>
CGTP_DEVICE void cgtp_copy_shifted_row(T (&field)[length], const cgtp_shifted_row<T, threads> &row, int lane,
                                       cgtp_policy policy)
{
    constexpr int room = cgtp_shifted_room<T>(n);
    static_assert(length == CGTP_LANES / threads * room, "an item's row each");
    row.template copy<n, 0, n, 0>(cgtp_shifted_slice<threads, room>(field, lane), 0, n, policy);
}

/* The channel block's part of each segment of a row of `dim` elements. */
template <typename S, int dim, int i = 0, typename T, int n, int... more>
CGTP_DEVICE void cgtp_copy_shifted_segments(const cgtp_shifted_row<T, S::lanes> &row, int channel_block, int lane,
                                            cgtp_policy policy, T (&field)[n], T (&...others)[more])
{
    constexpr int d = S::segment[i].components, part = cgtp_width<S>() * d;
    constexpr int room = cgtp_shifted_room<T>(cgtp_used_width<S>() * d);
    constexpr int most = (S::blocks - 1) * part, length = S::blocks == 1 ? S::mul * d : part;
    static_assert(n == CGTP_LANES / S::lanes * room && most % cgtp_wide<T>() == 0, "a slice for each item");
    static_assert(S::aligned < cgtp_wide<T>(), "rows that begin anywhere");
    const int moved = S::blocks == 1 ? 0 : channel_block * part;
    row.template copy<dim, S::segment[i].offset, length, most>(
        cgtp_shifted_slice<S::lanes, room>(field, lane), moved,
        cgtp_is_whole<S>() || S::blocks == 1 ? length : cgtp_channels_of<S>(channel_block) * d, policy);
    if constexpr (sizeof...(more) > 0)
        cgtp_copy_shifted_segments<S, dim, i + 1>(row, channel_block, lane, policy, others...);
}

/* The channel block's weights of all paths, to neighbouring slices. */
template <typename S, int dim, typename T>
CGTP_DEVICE void cgtp_copy_shifted_weights(const cgtp_shifted_row<T, S::lanes> &row, int channel_block, int lane,
                                           cgtp_policy policy, T *fields)
{
    constexpr int paths = (int)(sizeof S::offset / sizeof *S::offset), part = cgtp_width<S>();
    constexpr int room = cgtp_shifted_room<T>(cgtp_used_width<S>()), length = S::blocks == 1 ? S::mul : part;
    static_assert(S::aligned < cgtp_wide<T>(), "rows that begin anywhere");
    const int moved = S::blocks == 1 ? 0 : channel_block * part;
    T *const slice = cgtp_shifted_slice<S::lanes, room>(fields, lane);
    cgtp_each<paths>([&](auto path) {
        constexpr int i = decltype(path)::value;
        row.template copy<dim, S::offset[i], length, (S::blocks - 1) * part>(
            slice + i * (CGTP_LANES / S::lanes * room), moved,
            cgtp_is_whole<S>() || S::blocks == 1 ? length : cgtp_channels_of<S>(channel_block), policy);
    });
}

/* ---- from slices: `shift` is a field of the stage, of each item's row ---- */

CGTP_DEVICE int cgtp_shift_of(int shift, int)
{
    return shift;
}
template <int items> CGTP_DEVICE int cgtp_shift_of(const int (&shift)[items], int lane)
{
    return shift[lane / (CGTP_LANES / items)];
}

/* Where the lane's weights are in a path's slices, whose first one is so far in a chunk of an unshifted row. */
template <typename S, int n, typename Shift> CGTP_DEVICE void cgtp_shifted_lane(int (&at)[n], const Shift &shift, int lane)
{
    constexpr int room = cgtp_shifted_room<real>(cgtp_used_width<S>());
    static_assert(n == CGTP_WIDE, "one for each element of a chunk");
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        at[i] = cgtp_item_of<S>(lane) * room + cgtp_used_member<S>(lane) * S::channels +
                cgtp_in_chunk<real>(cgtp_shift_of(shift, lane), i);
}

/* The item's row of y. */
template <int n, int items>
CGTP_DEVICE void cgtp_load_shifted_row(real *r, const real *field, const int (&shift)[items], int lane)
{
    constexpr int threads = CGTP_LANES / items;
    const real *const row = field + lane / threads * cgtp_shifted_room<real>(n) + cgtp_shift_of(shift, lane);
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = row[i];
}

/* The lane's channels of a segment of d components, which begins so far in a chunk of an unshifted row. */
template <int d, typename S, int n, typename Shift, typename T>
CGTP_DEVICE void cgtp_load_shifted(real (&r)[n], const T *field, const Shift &shift, int begin, int, int lane)
{
    constexpr int room = cgtp_shifted_room<T>(cgtp_used_width<S>() * d);
    const T *const from = field + (cgtp_item_of<S>(lane) * room + cgtp_used_member<S>(lane) * n +
                                   cgtp_in_chunk<T>(cgtp_shift_of(shift, lane), begin));
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = from[i];
}

/* The same where others sum over lanes: zeros for channels that are not there, whose elements are anybody's. */
template <int d, typename S, int n, typename Shift, typename T>
CGTP_DEVICE void cgtp_load_shifted_some(real (&r)[n], const T *field, const Shift &shift, int begin, int channel_block,
                                        int lane)
{
    const int have = cgtp_own_channels<S>(channel_block, lane);
    cgtp_load_shifted<d, S>(r, field, shift, begin, channel_block, lane);
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = i / d < have ? r[i] : 0;
}

/* The lane's weights of a path, zeros for channels that are not there. */
template <typename S> struct cgtp_shifted_weights : cgtp_values<S::channels> {
    CGTP_MEMBER cgtp_shifted_weights(const real *from, int channel_block, int lane)
    {
        const int have = cgtp_own_channels<S>(channel_block, lane);
        CGTP_UNROLL
        for (int i = 0; i < S::channels; i++)
            this->value[i] = i < have ? from[i] : 0;
    }
    CGTP_MEMBER operator real() const /* where there is one */
    {
        return this->value[0];
    }
};

/* ---- gradients of weights, in the weights' slices ---- */

/* As cgtp_outgoing_slice: of the lane's channels those that there are. */
template <int v> struct cgtp_outgoing_shifted : cgtp_outgoing_room<v, real> {
    using cgtp_outgoing_room<v, real>::cgtp_outgoing_room;

    CGTP_MEMBER ~cgtp_outgoing_shifted()
    {
        CGTP_UNROLL
        for (int i = 0; i < v; i++)
            if (i < this->channels)
                this->to[i] = this->value[i];
    }
};

/* As cgtp_write_lanes_weights. */
template <typename S, typename Shift>
CGTP_DEVICE void cgtp_write_shifted_weights(real *row, const real *fields, const Shift &shift, int channel_block, int lane)
{
    constexpr int paths = (int)(sizeof S::offset / sizeof *S::offset), part = cgtp_width<S>(), threads = S::lanes;
    constexpr int room = cgtp_shifted_room<real>(cgtp_used_width<S>()), length = S::blocks == 1 ? S::mul : part;
    const int own = cgtp_member<S>(lane), have = cgtp_channels_of<S>(channel_block);
    real *const to = row + channel_block * part + own;
    const real *const from = fields + (cgtp_item_of<S>(lane) * room + own);
    const int before = cgtp_shift_of(shift, lane);
    cgtp_each<paths>([&](auto path) {
        constexpr int i = decltype(path)::value, slices = i * (CGTP_LANES / threads * room);
        constexpr int64_t offset = S::offset[i];
        CGTP_UNROLL
        for (int k = 0; k < length; k += threads)
            if (own + k < (S::blocks == 1 ? length : have))
                cgtp_put<(int)sizeof(real)>(to + offset + k, from + slices + k + cgtp_in_chunk<real>(before, (int)(offset % CGTP_WIDE)));
    });
}

} // namespace

#endif
