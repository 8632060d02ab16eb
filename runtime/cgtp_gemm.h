/* SPDX-License-Identifier: MIT */
/* cgtp_gemm.h - products with matrices of weights that all items share, on tensor cores: a warp takes 16 items, or 16
 * channels of x, at a time. Included after cgtp_cuda.h.
 *
 * The left operand is made in registers, by the lanes that hold it; the right one is read where it stands. Rows of
 * items are in shared memory, `pitch` elements apart: four more than a multiple of eight, so that lanes of eight items
 * and four channels meet in no bank.
 */
#ifndef CGTP_GEMM_H
#define CGTP_GEMM_H

#include "cgtp_item.h"

namespace
{

/* Items of a tile: the rows of a left operand. */
enum { CGTP_GEMM_ITEMS = 16 };

/* ---- operands ---- */

/* Which part of the operands is the lane's: of 16 by 8 elements on the left number i of row cgtp_gemm_row(i), column
 * cgtp_gemm_column(i); of 8 by 8 on the right number i of row cgtp_gemm_column(2 * i), column cgtp_gemm_row(0); of the
 * product, 16 by 8, number i of row cgtp_gemm_sum_row(i), column cgtp_gemm_sum_column(i). */
CGTP_DEVICE int cgtp_gemm_row(int i)
{
    return cgtp_lane() / 4 + i % 2 * 8;
}
CGTP_DEVICE int cgtp_gemm_column(int i)
{
    return cgtp_lane() % 4 + i / 2 * 4;
}
CGTP_DEVICE int cgtp_gemm_sum_row(int i)
{
    return cgtp_lane() / 4 + i / 2 * 8;
}
CGTP_DEVICE int cgtp_gemm_sum_column(int i)
{
    return cgtp_lane() % 4 * 2 + i % 2;
}

/* Elements of an operand. A float is the sum of two TF32 numbers but for 2^-23 of it; infinity or NaN is the first. */
template <int n, typename T> struct cgtp_operand;
template <int n> struct cgtp_operand<n, float> {
    float high[n], low[n];
    CGTP_MEMBER void set(int i, float value)
    {
        high[i] = cgtp_tf32(value);
        low[i] = cgtp_tf32_ahead(value - high[i]);
    }
    /* In half of the instructions; the sum is right but for 2^-22, and infinity becomes NaN. */
    CGTP_MEMBER void set_quickly(int i, float value)
    {
        high[i] = cgtp_tf32_near(value);
        low[i] = value - high[i];
    }
    CGTP_MEMBER void set_parts(int i, const float *parts)
    {
        const float2 both = *(const float2 *)parts;
        high[i] = both.x;
        low[i] = both.y;
    }
    CGTP_MEMBER void put_parts(int i, float *parts) const
    {
        *(float2 *)parts = make_float2(high[i], low[i]);
    }
};
template <int n> struct cgtp_operand<n, double> {
    double value[n];
    CGTP_MEMBER void set(int i, double v)
    {
        value[i] = v;
    }
    CGTP_MEMBER void set_quickly(int i, double v)
    {
        value[i] = v;
    }
    CGTP_MEMBER void set_parts(int i, const double *parts)
    {
        value[i] = parts[0] + parts[1];
    }
    CGTP_MEMBER void put_parts(int i, double *parts) const
    {
        parts[0] = value[i];
        parts[1] = 0;
    }
};
typedef cgtp_operand<4, real> cgtp_left;
typedef cgtp_operand<2, real> cgtp_right;

/* sum += a b. Of floats, three of the four products of parts; the fourth is 2^-22 of the whole at most. What does not fit
 * a float tensor cores cut off from sums of floats: these are to be of 32 terms at most, and added up by cgtp_add_parts. */
CGTP_DEVICE void cgtp_add_product(float (&sum)[4], const cgtp_operand<4, float> &a, const cgtp_operand<2, float> &b)
{
    cgtp_mma(sum, a.low, b.high);
    cgtp_mma(sum, a.high, b.low);
    cgtp_mma(sum, a.high, b.high);
}
CGTP_DEVICE void cgtp_add_product(double (&sum)[4], const cgtp_operand<4, double> &a, const cgtp_operand<2, double> &b)
{
    cgtp_mma(sum, a.value, b.value);
}

/* Adds sums of few terms to those of many. */
template <int tiles> CGTP_DEVICE void cgtp_add_parts(real (&sum)[tiles][4], const real (&part)[tiles][4])
{
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++)
        sum[t][i] += part[t][i];
}
template <int d, int tiles>
CGTP_DEVICE void cgtp_add_parts(real (&sum)[d][tiles][4], const real (&part)[d][tiles][4])
{
    CGTP_UNROLL
    for (int k = 0; k < d; k++)
        cgtp_add_parts(sum[k], part[k]);
}

/* ---- products ---- */

/* sum[k] += left[k] w for 8 rows of w and 8 columns times `tiles`: element (i, j) is w[i * row + j * column]. Rows from
 * number `rows` on and columns from number `columns` on, which there are not, count as zero (more: there are all).
 * parts: an element of w is a pair, its two parts. */
template <int row, int column, bool all_rows, bool all_columns, bool parts, int d, int tiles>
CGTP_DEVICE void cgtp_add_weighted(real (&sum)[d][tiles][4], const cgtp_left (&left)[d], const real *w, int rows,
                                   int columns)
{
    cgtp_right right[tiles];
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int i = 0; i < 2; i++) {
        const int at = cgtp_gemm_column(2 * i), to = t * 8 + cgtp_gemm_row(0);
        const bool there = (all_rows || at < rows) && (all_columns || to < columns);
        if constexpr (!parts)
            right[t].set(i, there ? w[at * row + to * column] : (real)0);
        else if (there)
            right[t].set_parts(i, w + 2 * (at * row + to * column));
        else
            right[t].set(i, 0);
    }
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int k = 0; k < d; k++)
        cgtp_add_product(sum[k][t], left[k], right[t]);
}

/* sum += left[k] g[k], over 8 items and all components k: element (i, j) of g[k] is g[i * pitch + j * channel + k *
 * component]. Channels from number `channels` on count as zero (all: there are none). */
template <int pitch, int channel, int component, bool all, int d, int tiles>
CGTP_DEVICE void cgtp_add_outer(real (&sum)[tiles][4], const cgtp_left (&left)[d], const real *g, int channels)
{
    constexpr int some = sizeof(real) == 4 ? 4 : d; /* components whose products tensor cores add up */
    CGTP_UNROLL
    for (int first = 0; first < d; first += some) {
        real part[tiles][4] = {};
        CGTP_UNROLL
        for (int k = first; k < (first + some < d ? first + some : d); k++) {
            CGTP_UNROLL
            for (int t = 0; t < tiles; t++) {
                cgtp_right right;
                CGTP_UNROLL
                for (int i = 0; i < 2; i++) {
                    const int to = t * 8 + cgtp_gemm_row(0);
                    const real *const from = g + cgtp_gemm_column(2 * i) * pitch + to * channel + k * component;
                    right.set(i, all || to < channels ? *from : (real)0);
                }
                cgtp_add_product(sizeof(real) == 4 ? part[t] : sum[t], left[k], right);
            }
        }
        if constexpr (sizeof(real) == 4)
            cgtp_add_parts(sum, part);
    }
}

/* ---- rows in shared memory ---- */

/* The components of a channel, or zeros where it is not there. */
template <int step, int d> CGTP_DEVICE void cgtp_take(real (&to)[d], const real *from, bool there = true)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        to[i] = there ? from[i * step] : (real)0;
}

/* Stores a product: column j, component k of an item to to[j * channel + k * component] of its row; columns from number
 * `columns` on are none. */
template <int pitch, int channel, int component, int d, int tiles>
CGTP_DEVICE void cgtp_put_product(real *to, const real (&sum)[d][tiles][4], int columns)
{
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = t * 8 + cgtp_gemm_sum_column(i);
        if (at < columns)
            CGTP_UNROLL
        for (int k = 0; k < d; k++)
            to[cgtp_gemm_sum_row(i) * pitch + at * channel + k * component] = sum[k][t][i];
    }
}

/* The same of sums by channel: number i of tile t is sum[4 * t + i]. */
template <int pitch, int channel, int component, int d, int n>
CGTP_DEVICE void cgtp_put_channels(real *to, const real (&sum)[n][d], int columns)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++) {
        const int at = i / 4 * 8 + cgtp_gemm_sum_column(i % 4);
        if (at < columns)
            CGTP_UNROLL
        for (int k = 0; k < d; k++)
            to[cgtp_gemm_sum_row(i % 4) * pitch + at * channel + k * component] = sum[i][k];
    }
}

/* Adds up what the four lanes of an item have, for both items of a lane, and adds that to their rows. */
template <int pitch, int step, int d> CGTP_DEVICE void cgtp_add_of_items(real *to, const real (&sum)[2][d])
{
    CGTP_UNROLL
    for (int item = 0; item < 2; item++)
        CGTP_UNROLL
    for (int k = 0; k < d; k++) {
        real value = sum[item][k];
        value += cgtp_shuffle_xor(value, 1);
        value += cgtp_shuffle_xor(value, 2);
        if (cgtp_gemm_column(0) == 0)
            to[cgtp_gemm_row(item) * pitch + k * step] += value;
    }
}

/* Stores sums of weights: row i, column j to to[i * row + j]; rows and columns from these numbers on are none. */
template <int row, int tiles>
CGTP_DEVICE void cgtp_put_weights(real *to, const real (&sum)[tiles][4], int rows, int columns)
{
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = t * 8 + cgtp_gemm_sum_column(i);
        if (cgtp_gemm_sum_row(i) < rows && at < columns)
            to[cgtp_gemm_sum_row(i) * row + at] = sum[t][i];
    }
}

/* Adds up what each warp of a team has of the items' rows, in the order of the warps, to what the first has. */
template <int members, int pitch>
CGTP_DEVICE void cgtp_add_members(real (&to)[members][CGTP_GEMM_ITEMS][pitch], int thread)
{
    for (int i = thread; i < CGTP_GEMM_ITEMS * pitch; i += members * CGTP_LANES) {
        real sum = to[0][i / pitch][i % pitch];
        CGTP_UNROLL
        for (int m = 1; m < members; m++)
            sum += to[m][i / pitch][i % pitch];
        to[0][i / pitch][i % pitch] = sum;
    }
}

/* ---- copies ---- */

/* Starts the copy of a tile's rows of n elements, by 16 bytes or by elements, of `threads` threads. Rows from `count` on,
 * of items that there are not, become zero. All lanes of a warp call. */
template <int n, bool wide, int pitch, typename T>
CGTP_DEVICE void cgtp_copy_items(real (&to)[CGTP_GEMM_ITEMS][pitch], const T *from, int64_t stride, int count,
                                 int thread, int threads, cgtp_policy policy)
{
    constexpr int each = wide ? CGTP_WIDE : 1, pieces = n / each;
    real *const first = (real *)cgtp_pinned_shared((unsigned char *)to[0]);
    CGTP_UNROLL_BY(4)
    for (int i = thread; i < CGTP_GEMM_ITEMS * pieces; i += threads) {
        const int row = i / pieces, at = i % pieces * each;
        if (row >= count) {
            CGTP_UNROLL
            for (int k = 0; k < each; k++)
                first[row * pitch + at + k] = 0;
        } else if constexpr (wide) {
            cgtp_bring16(first + row * pitch + at, from + row * stride + at, policy);
        } else {
            cgtp_bring(first + row * pitch + at, from + row * stride + at);
        }
    }
}

/* Stores the first `count` rows. */
template <int n, bool wide, int pitch, typename T>
CGTP_DEVICE void cgtp_put_items(T *to, int64_t stride, const real (&from)[CGTP_GEMM_ITEMS][pitch], int count,
                                int thread, int threads)
{
    constexpr int each = wide ? CGTP_WIDE : 1, pieces = n / each;
    CGTP_UNROLL_BY(4)
    for (int i = thread; i < count * pieces; i += threads) {
        const int row = i / pieces, at = i % pieces * each;
        if constexpr (wide)
            cgtp_leave16(to + row * stride + at, from[row] + at);
        else
            cgtp_leave(to + row * stride + at, from[row][at]);
    }
}

/* Starts the copy of rows of weights to rows that are `pitch` elements apart. */
template <int columns, int pitch>
CGTP_DEVICE void cgtp_copy_weights(real *to, const real *from, int rows, int thread, int threads)
{
    CGTP_UNROLL_BY(4)
    for (int i = thread; i < rows * columns; i += threads)
        cgtp_copy_element(to + i / columns * pitch + i % columns, from + i);
}

/* The same, each as its two parts. */
template <int columns, int pitch>
CGTP_DEVICE void cgtp_split_weights(real *to, const real *from, int rows, int thread, int threads)
{
    CGTP_UNROLL_BY(8)
    for (int i = thread; i < rows * columns; i += threads) {
        cgtp_right parts;
        parts.set(0, from[i]);
        parts.put_parts(0, to + 2 * (i / columns * pitch + i % columns));
    }
}

/* Fills with zeros. */
CGTP_DEVICE void cgtp_clear_weights(real *to, int n, int thread, int threads)
{
    for (int i = thread; i < n; i += threads)
        to[i] = 0;
}

/* ---- on the host ---- */

/* Blocks of a launch, `fit` on a multiprocessor, each with so many tiles at a time. */
static inline int64_t cgtp_gemm_grid(int64_t items, int fit, int at_a_time)
{
    const int64_t most = cgtp_multiprocessors() * (int64_t)fit;
    const int64_t tiles = (items + CGTP_GEMM_ITEMS - 1) / CGTP_GEMM_ITEMS, blocks = (tiles + at_a_time - 1) / at_a_time;
    return blocks < most ? blocks : most;
}

/* Partial sums over all items, where `sets` blocks together make one; as many as there can be; of so many items. */
static inline int64_t cgtp_gemm_parts(int fit, int sets)
{
    const int64_t most = cgtp_multiprocessors() * (int64_t)fit / sets;
    return most > 1 ? most : 1;
}
static inline int64_t cgtp_gemm_parts(int64_t items, int fit, int sets)
{
    const int64_t most = cgtp_gemm_parts(fit, sets), tiles = (items + CGTP_GEMM_ITEMS - 1) / CGTP_GEMM_ITEMS;
    return tiles < most ? tiles : most;
}

} // namespace

#endif
