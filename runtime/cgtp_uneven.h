/* SPDX-License-Identifier: MIT */
/* cgtp_uneven.h - the pipelined convolution of channels that are no whole warps, or more of a lane than it can store at once:
 * lanes with fewer channels than others, gradients of weights that leave together, items side by side in a warp;
 * rows whose components are apart; and what one lane knows of an item. Included after cgtp_cuda.h.
 */
#ifndef CGTP_UNEVEN_H
#define CGTP_UNEVEN_H

#include "cgtp_convolution.h"

namespace
{

/* As cgtp_load_lane and cgtp_store_lane, of a slice in which components are apart: v neighbouring channels, element r[u * d + i] of
 * component i of channel u; `lanes` lanes an item. */
template <int v, int lanes = CGTP_LANES, int n, int m, typename T>
CGTP_DEVICE void cgtp_load_lane_components(real (&r)[n], const T (&slice)[m], int lane)
{
    static_assert(m == n * CGTP_LANES, "a slice of these channels");
    cgtp_load_components<v, n / v>(r, slice + lane / lanes * (lanes * n) + lane % lanes * v, lanes * v);
}
template <int v, int lanes = CGTP_LANES, int n, int m, typename T>
CGTP_DEVICE void cgtp_store_lane_components(T (&slice)[m], const real (&r)[n], int lane)
{
    static_assert(m == n * CGTP_LANES, "a slice of these channels");
    cgtp_store_components<v, n / v>(slice + lane / lanes * (lanes * n) + lane % lanes * v, lanes * v, r);
}

/* Zeros in all stages: lanes without channels read them. */
template <typename Stage, int stages> CGTP_DEVICE void cgtp_clear_stages(Stage (&ring)[stages], int lane)
{
    static_assert(sizeof ring % 16 == 0, "whole chunks");
    CGTP_LOOP
    for (int i = lane; i < (int)sizeof ring / 16; i += CGTP_LANES)
        ((float4 *)ring)[i] = make_float4(0, 0, 0, 0);
}

/* As cgtp_outgoing, of a lane that has `channels` of them, in a row that is aligned to so many elements. */
template <int v, int aligned, typename T = real> struct cgtp_outgoing_some : cgtp_outgoing_room<v, T> {
    using cgtp_outgoing_room<v, T>::cgtp_outgoing_room;

    CGTP_MEMBER ~cgtp_outgoing_some()
    {
        constexpr int piece = cgtp_piece(v, aligned);
        CGTP_UNROLL
        for (int i = 0; i < v; i += piece)
            if (i + piece <= this->channels) {
                cgtp_store_stream<piece>(this->to + i, this->value + i);
            } else {
                CGTP_UNROLL
                for (int j = i; j < i + piece - 1; j++)
                    if (j < this->channels)
                        cgtp_store_stream<1>(this->to + j, this->value + j);
            }
    }
};

/* Weights of a lane's v channels, of which each has `of` that follow each other: one of each, widened. */
template <int v, int of> struct cgtp_incoming_apart : cgtp_values<v> {
    template <typename T> CGTP_MEMBER explicit cgtp_incoming_apart(const T *from)
    {
        CGTP_UNROLL
        for (int i = 0; i < v; i++)
            cgtp_load<1>(this->value + i, from + i * of);
    }
};

/* The same of their gradients: to the row, of a lane that has `channels` of them. */
template <int v, int of, typename T = real> struct cgtp_outgoing_apart : cgtp_outgoing_room<v, T> {
    using cgtp_outgoing_room<v, T>::cgtp_outgoing_room;

    CGTP_MEMBER ~cgtp_outgoing_apart()
    {
        CGTP_UNROLL
        for (int i = 0; i < v; i++)
            if (i < this->channels)
                cgtp_store_stream<1>(this->to + i * of, this->value + i);
    }
};

/* Or in the place of the weights, in a stage, from where they go on (cgtp_write_lanes_weights): zeros for channels that the lane
 * has not, as there were. */
template <int v, int of, typename T = real> struct cgtp_outgoing_slice_apart : cgtp_outgoing_room<v, T> {
    using cgtp_outgoing_room<v, T>::cgtp_outgoing_room;

    CGTP_MEMBER ~cgtp_outgoing_slice_apart()
    {
        constexpr int piece = of > 1 ? 1 : v;
        CGTP_UNROLL
        for (int i = 0; i < v; i++)
            this->value[i] = i < this->channels ? this->value[i] : 0;
        CGTP_UNROLL
        for (int i = 0; i < v; i += piece)
            cgtp_store<piece>(this->to + i * of, this->value + i);
    }
};
template <int v, typename T = real> using cgtp_outgoing_slice = cgtp_outgoing_slice_apart<v, 1, T>;

/* As cgtp_copy_lanes_weights, back: gradients of weights that lanes have left in slices, to the row. Lanes meet before. */
template <typename S, typename T>
CGTP_DEVICE void cgtp_write_lanes_weights(T *row, const T *slices, int channel_block, int lane)
{
    using W = cgtp_weight_lanes<S, T>;
    T *const to = row + W::begin(channel_block, lane);
    slices += W::in_slices(lane);
    W::each(channel_block, lane, [&](int64_t at, int in_slices) {
        cgtp_put<W::wide * (int)sizeof(T)>(to + at, slices + in_slices);
    });
}

/* A number of each of the items side by side, by its first lane, into a field of a stage that is moved on by the lane's
 * 16 bytes. */
template <int lanes, typename Number>
CGTP_DEVICE void cgtp_note(Number (&field)[CGTP_LANES / lanes], int64_t number, int lane)
{
    if (lane % lanes == 0)
        *(Number *)((unsigned char *)&field - lane * 16 + lane / lanes * (int)sizeof(Number)) = (Number)number;
}

/* Sums over the items that a warp works on side by side, each with `lanes` neighbouring lanes: in all of them, in a fixed
 * order. All lanes call. */
template <int lanes, int n> CGTP_DEVICE void cgtp_join_items(real (&sum)[n])
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++) {
        CGTP_UNROLL
        for (int mask = lanes; mask < CGTP_LANES; mask *= 2)
            sum[i] += cgtp_shuffle_xor(sum[i], mask);
    }
}

/* As cgtp_reduce_lanes, of each item over its own lanes, to its own row `to`; not of those that are not `there`. */
template <int n, cgtp_how how, int lanes, int done = 0, typename T>
CGTP_DEVICE void cgtp_reduce_items(T *to, real *value, bool there)
{
    constexpr int left = n - done, here = left < lanes ? left : lanes, width = cgtp_sums_length(here);
    real some[width];
    CGTP_UNROLL
    for (int i = 0; i < width; i++)
        some[i] = i < here ? value[done + i] : 0;
    cgtp_sums<width, lanes>(some);
    const int index = cgtp_sums_index<width>();
    if (there && cgtp_lane() % lanes < width && index < here)
        cgtp_deliver<how>(to + done + index, some[0]);
    if constexpr (left > lanes)
        cgtp_reduce_items<n, how, lanes, done + lanes>(to, value, there);
}

} // namespace

#endif
