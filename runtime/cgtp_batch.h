/* SPDX-License-Identifier: MIT */
/* cgtp_batch.h - the pipelined batch: which items a warp has, and the rows of their channel blocks. Included
 * after cgtp_cuda.h.
 */
#ifndef CGTP_BATCH_H
#define CGTP_BATCH_H

#include "cgtp_convolution.h"

namespace
{

/* ---- copies into a stage ---- */

/* A row of n elements, as cgtp_copy_lanes_row. */
template <int n>
CGTP_DEVICE void cgtp_copy_row(real (&slice)[n], const real *row, int lane, cgtp_policy policy)
{
    cgtp_copy_lanes_row<n>(slice, row + cgtp_row_begin<n>(lane), lane, policy);
}

/* Weights, as cgtp_copy_lanes_weights. */
template <typename S, typename T>
CGTP_DEVICE void cgtp_copy_weights(T *slices, const T *row, int channel_block, int lane, cgtp_policy policy)
{
    cgtp_copy_lanes_weights<S>(slices, row + cgtp_weight_lanes<S, T>::begin(channel_block, lane), channel_block, lane, policy);
}

/* A row of n numbers of 16 bits, whatever its alignment: in chunks of 16 bytes, if it has whole ones, or by words of 4
 * bytes, of which the first may begin with the last number of the row before, and the last end with none. */
template <int n, int room, typename T>
CGTP_DEVICE void cgtp_copy_words(T (&slice)[room], const T *row, int lane, cgtp_policy policy)
{
    constexpr int words = (n + 1) / 2, wide = cgtp_wide<T>(), chunks = n / wide;
    static_assert(room == 2 * words, "whole words");
    if constexpr (n % wide == 0) {
        CGTP_UNROLL
        for (int k = 0; k < chunks; k += CGTP_LANES)
            if (chunks - k >= CGTP_LANES || lane < chunks - k)
                cgtp_copy<16>(slice + k * wide, row + lane * wide + k * wide, policy);
    } else {
        const unsigned *const from = (const unsigned *)((uintptr_t)row / 4 * 4);
        CGTP_UNROLL
        for (int k = 0; k < words; k += CGTP_LANES)
            if (words - k >= CGTP_LANES || lane < words - k) {
                const bool half = n % 2 && k + lane == words - 1 && (const T *)from == row;
                cgtp_copy_word((T *)((unsigned *)slice + k - 3 * lane), (const T *)(from + k + lane), half ? 1 : 2);
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

/* The channel blocks of a warp's items, one after the other, and where their rows are: in a ring of buffers.
 * It stands before the first until it is advanced. Warps take items in turn, so that rows in use at one time
 * are near each other. Addresses go round as in cgtp_ring.
 *
 * A turn has a channel block of `side` items side by side, a warp `group` items (powers of two) that follow each other: which
 * they are does not depend on `side`. */
template <typename Rows, int buffers, int blocks, int side = 1, int group = side> struct cgtp_channel_blocks {
    int64_t item, step; /* the first of those side by side; from the last ones of a group to the next ones of the warp */
    int block;
    cgtp_address first, at;

    CGTP_MEMBER cgtp_channel_blocks(Rows (&rows)[buffers], int warps)
        : item(((int64_t)(cgtp_block() - cgtp_blocks()) * warps + cgtp_warp()) * group + (group - side)),
          step((int64_t)cgtp_blocks() * warps * group - (group - side)), block(blocks - 1), first(cgtp_address_of(rows)),
          at(first + (buffers - 1) * (int)sizeof(Rows))
    {
    }

    /* How many there are, before the first. */
    CGTP_MEMBER int left(int64_t items) const
    {
        if constexpr (group == 1)
            return items > item + step ? (int)((items - item - 1) / step) * blocks : 0;
        const int64_t all = items - (item + step), apart = step + (group - side); /* from the warp's first one on */
        const int64_t last = all % apart < group ? all % apart : group;
        return all > 0 ? (int)(all / apart * (group / side) + (last + side - 1) / side) * blocks : 0;
    }

    /* The number of one of those side by side; of the last item, where there are no more. */
    CGTP_MEMBER int64_t nth(int number, int64_t items) const
    {
        return item + number < items ? item + number : items - 1;
    }

    CGTP_MEMBER void advance(void)
    {
        at = at - first == (buffers - 1) * (int)sizeof(Rows) ? first : at + (int)sizeof(Rows);
        block = block == blocks - 1 ? 0 : block + 1;
        if (block == 0)
            item += group > side && (item & (group - 1)) + side < group ? side : step;
    }

    CGTP_MEMBER const Rows &rows(void) const
    {
        return *(const Rows *)cgtp_pointer(at);
    }

    /* Moved on by the lane's 16 bytes: each field begins where the lane copies to. */
    CGTP_MEMBER Rows &lanes_own(int lane) const
    {
        return *(Rows *)cgtp_opaque_shared(cgtp_pointer(at) + lane * 16);
    }
};

/* ---- on the host ---- */

/* Blocks of a launch: what the device holds, or a warp per item. */
static inline int64_t cgtp_items_grid(int64_t items, int warps, int per_multiprocessor)
{
    const int64_t fit = cgtp_multiprocessors() * (int64_t)per_multiprocessor, most = (items + warps - 1) / warps;
    return most < fit ? most : fit;
}

} // namespace

#endif
