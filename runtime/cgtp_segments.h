/* SPDX-License-Identifier: MIT */
/* cgtp_segments.h - where a path set's channels are in rows, and which lane has which of them. Included after
 * cgtp_cuda.h.
 *
 * A generated kernel describes a path set S by a struct: S::mul channels in S::blocks channel blocks, each of S::lanes
 * lanes with S::channels neighbouring channels; the last block may have fewer. A block has a warp of its own where it has
 * CGTP_LANES lanes. Where it has fewer, the warp works on CGTP_LANES / S::lanes items side by side, each with S::lanes
 * neighbouring lanes. Structs derived from it add where the set's irreps segments are in a row (S::segment) or where its
 * weights are (S::offset), and S::aligned, elements, a power of two: rows, and the set's parts of them, begin and end at
 * multiples of so many.
 */
#ifndef CGTP_SEGMENTS_H
#define CGTP_SEGMENTS_H

#include "cgtp_vector.h"

namespace
{

/* ---- channels and lanes ---- */

/* Channels of a block, and of the last one, which may be short of all; have all blocks as many? */
template <typename S> CGTP_BOTH constexpr int cgtp_width(void)
{
    return S::lanes * S::channels;
}
template <typename S> CGTP_BOTH constexpr int cgtp_last(void)
{
    const int last = S::mul - (S::blocks - 1) * cgtp_width<S>();
    return last < 0 ? 0 : last;
}
template <typename S> CGTP_BOTH constexpr bool cgtp_is_whole(void)
{
    return cgtp_last<S>() == cgtp_width<S>();
}

/* Channels of a block. */
template <typename S> CGTP_DEVICE int cgtp_channels_of(int channel_block)
{
    if constexpr (cgtp_is_whole<S>() || S::blocks == 1)
        return cgtp_last<S>();
    const int left = S::mul - channel_block * cgtp_width<S>();
    return left < 0 ? 0 : left < cgtp_width<S>() ? left : cgtp_width<S>();
}

/* Of which of the items side by side the lane is; as which of its lanes. */
template <typename S> CGTP_DEVICE int cgtp_item_of(int lane)
{
    return S::lanes == CGTP_LANES ? 0 : lane / S::lanes;
}
template <typename S> CGTP_DEVICE int cgtp_member(int lane)
{
    return S::lanes == CGTP_LANES ? lane : lane % S::lanes;
}

/* How many channels the lane has, of S::channels. (As a difference of what is not negative: ptxas 13.0 compares a number wrongly
 * with a bound that it has been clamped to, from 0 on, in one instruction, VIMNMX.RELU.) */
template <typename S> CGTP_DEVICE int cgtp_own_channels(int channel_block, int lane)
{
    const int all = cgtp_channels_of<S>(channel_block), before = cgtp_member<S>(lane) * S::channels;
    const int left = (all > before ? all : before) - before;
    return left < S::channels ? left : S::channels;
}

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

/* Elements of a channel block in all segments first .. last - 1. */
template <typename S> CGTP_BOTH constexpr int cgtp_block_elements(int first, int last)
{
    return cgtp_width<S>() * (cgtp_components_before<S>(last) - cgtp_components_before<S>(first));
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

/* A channel block's part of a row, in chunks of at most 16 bytes, which `threads` lanes have in turn: those of an item, or
 * all of the warp. Pointers to the lane's first chunk: one for all segments of the same number of components; one for all
 * where components are apart or there is one channel block. */
template <typename T, typename S, int threads = S::lanes> struct cgtp_row {
    static constexpr int wide = S::aligned < cgtp_wide<T>() ? S::aligned : cgtp_wide<T>(); /* elements of a chunk */
    static constexpr bool whole = cgtp_is_whole<S>();
    static constexpr bool by_component = (S::blocks > 1 || !whole) && cgtp_by_component<S>();
    static constexpr bool one = S::blocks == 1 || by_component;
    static constexpr int run = cgtp_width<S>() / wide;          /* chunks of a component */
    static constexpr bool runs = threads % run == 0;            /* have the lanes whole components at a time? */
    T *by_l[one ? 1 : cgtp_longest<S>() / 2 + 1];                    /* components: 2 l + 1 */
    int own, channels;                                          /* of the lanes that share a row; of the block */

    CGTP_MEMBER cgtp_row(T *row, int channel_block, int lane)
        : own(threads == CGTP_LANES ? lane : lane % threads), channels(cgtp_channels_of<S>(channel_block))
    {
        static_assert(!by_component || (cgtp_width<S>() % wide == 0 && S::mul % wide == 0), "whole chunks");
        if constexpr (by_component) {
            const int first = channel_block * cgtp_width<S>();
            by_l[0] = cgtp_opaque_global(
                runs ? row + first + own / run * S::segment[0].step + own % run * wide : row + first);
        } else if constexpr (S::blocks == 1) {
            by_l[0] = cgtp_opaque_global(row + own * wide);
        } else {
            cgtp_each<cgtp_longest<S>() / 2 + 1>([&](auto l) {
                constexpr int d = 2 * decltype(l)::value + 1;
                if constexpr (cgtp_has<S>(d))
                    by_l[d / 2] = cgtp_opaque_global(row + channel_block * (cgtp_width<S>() * d) + own * wide);
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

    /* Chunks of segment i, of a block of all channels; of the block itself, if that is known. */
    template <int i> CGTP_BOTH constexpr int chunks(void)
    {
        return (whole || S::blocks > 1 || by_component ? cgtp_width<S>() : S::mul) * S::segment[i].components / wide;
    }

    /* Is the lane's chunk among chunks k .. k + threads - 1 of segment i there? */
    template <int i> CGTP_MEMBER bool has(int k) const
    {
        constexpr int d = S::segment[i].components, all = chunks<i>();
        const bool inside = all - k >= threads || own < all - k;
        if constexpr (whole || (S::blocks == 1 && !by_component))
            return inside;
        else if constexpr (by_component)
            return inside && (k + own) % run * wide < channels;
        else
            return (k + threads) * wide <= cgtp_last<S>() * d || (k + own) * wide < channels * d;
    }

    /* Where it is. */
    template <int i> CGTP_MEMBER T *chunk(int k) const
    {
        constexpr cgtp_segment s = S::segment[i];
        T *const first = by_l[one ? 0 : s.components / 2] + s.offset;
        if constexpr (by_component && runs)
            return first + k / run * s.step;
        else if constexpr (by_component)
            return first + (k + own) / run * s.step + (k + own) % run * wide;
        else
            return first + k * (int64_t)wide;
    }

    /* Where it is in a slice, from the slice's beginning on: an item's chunks follow each other, those of the next item those. */
    template <int i> CGTP_MEMBER int in_slice(int lane) const
    {
        return own * wide +
               (threads == CGTP_LANES ? 0 : lane / threads * (cgtp_width<S>() * S::segment[i].components));
    }
};

} // namespace

#endif
