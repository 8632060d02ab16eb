/* SPDX-License-Identifier: MIT */
/* cgtp_item.h - the work of one item by a warp, whose lanes share the channels: rows on their way, rows of outputs, products
 * with blocks of weights. Included after cgtp_cuda.h.
 */
#ifndef CGTP_ITEM_H
#define CGTP_ITEM_H

#include "cgtp_vector.h"

namespace
{

/* ---- numbers on their way between rows in memory and shared memory ---- */

/* 16 bytes of reals, and one: copies that are started. Numbers of 16 bits: cgtp_narrow.h. */
CGTP_DEVICE void cgtp_bring16(real *shared, const real *global, cgtp_policy policy)
{
    cgtp_copy<16>(shared, global, policy);
}
CGTP_DEVICE void cgtp_bring(real *shared, const real *global)
{
    cgtp_copy_element(shared, global);
}
/* The same back. */
CGTP_DEVICE void cgtp_leave16(real *global, const real *shared)
{
    cgtp_put<16>(global, shared);
}

/* Where a kernel adds up an output with compensation: sums and their rounding errors (Neumaier's summation).
 * It stands for a pointer: (p + n)[i] += value. */
struct cgtp_compensated {
    real *sum, *error;
    struct element {
        real *sum, *error;
        CGTP_MEMBER void operator+=(real term) const
        {
            const real s = *sum, total = s + term;
            const bool larger = (s < 0 ? -s : s) >= (term < 0 ? -term : term);
            *error += larger ? (s - total) + term : (term - total) + s;
            *sum = total;
        }
        CGTP_MEMBER void operator=(real value) const
        {
            *sum = value;
            *error = 0;
        }
    };
    CGTP_MEMBER cgtp_compensated operator+(int64_t n) const
    {
        return {sum + n, error + n};
    }
    CGTP_MEMBER element operator[](int64_t i) const
    {
        return {sum + i, error + i};
    }
};

/* Zeros in a row of n elements. */
template <typename Row> CGTP_DEVICE void cgtp_zero_row(Row row, int64_t n)
{
    for (int64_t i = cgtp_lane(); i < n; i += CGTP_LANES)
        row[i] = 0;
    cgtp_sync_warp();
}

/* The row is complete: adds the errors to the sums. */
CGTP_DEVICE void cgtp_finish_row(real *, int64_t)
{
}
CGTP_DEVICE void cgtp_finish_row(cgtp_compensated row, int64_t n)
{
    cgtp_sync_warp();
    for (int64_t i = cgtp_lane(); i < n; i += CGTP_LANES)
        row.sum[i] += row.error[i];
}

/* ---- products with a block of weights W, of `rows` rows that begin ld elements apart and of `columns` columns ----
 *
 * Vectors of d components belong to rows and columns: component k of vector i is at i * channel + k * component. Lanes
 * have a column, or a row, each; where there are fewer of these than lanes, several lanes share one. `wide`: the
 * vectors of the sum are dense, and begin at a multiple of 16 bytes. */

/* How many lanes have one each of `left` rows or columns: a power of two. */
CGTP_DEVICE int cgtp_lanes_for(int left)
{
    int width = CGTP_LANES;
    while (width / 2 >= left)
        width /= 2;
    return width;
}

/* The sums of the lanes that share a row or column; `width` lanes have one each. */
template <int d> CGTP_DEVICE void cgtp_sum_shared(real *sum, int width)
{
    for (int mask = width; mask < CGTP_LANES; mask *= 2)
        CGTP_UNROLL
    for (int k = 0; k < d; k++)
        sum[k] += cgtp_shuffle_xor(sum[k], mask);
}

/* out[k] += sum[k], or =. */
template <int d, bool adds, typename Row>
CGTP_DEVICE void cgtp_put_vector(Row out, int component, const real *sum)
{
    CGTP_UNROLL
    for (int k = 0; k < d; k++) {
        if constexpr (adds)
            out[k * component] += sum[k];
        else
            out[k * component] = sum[k];
    }
}

/* out[c,k] += sum_r in[r,k] W[r,c], or = */
template <int d, bool wide, bool adds, typename Row>
CGTP_DEVICE void cgtp_weights_columns(int rows, int columns, int64_t ld, const real *w, const real *in, int channel,
                                      int component, Row out, int out_channel, int out_component)
{
    for (int from = 0; from < columns; from += CGTP_LANES) {
        const int width = cgtp_lanes_for(columns - from), step = CGTP_LANES / width;
        const int c = from + cgtp_lane() % width;
        real sum[d] = {0};
        int r = cgtp_lane() / width;
        if (wide && step == 1 && c < columns)
            CGTP_UNROLL_BY(2)
        for (; r + CGTP_WIDE <= rows; r += CGTP_WIDE) {
            real v[CGTP_WIDE * d], f[CGTP_WIDE];
            cgtp_load<CGTP_WIDE * d>(v, in + r * d);
            CGTP_UNROLL
            for (int i = 0; i < CGTP_WIDE; i++)
                f[i] = w[(r + i) * ld + c];
            CGTP_UNROLL
            for (int i = 0; i < CGTP_WIDE * d; i++)
                sum[i % d] += v[i] * f[i / d];
        }
        if (c < columns)
            CGTP_UNROLL_BY(4)
        for (; r < rows; r += step) {
            const real f = w[r * ld + c];
            CGTP_UNROLL
            for (int k = 0; k < d; k++)
                sum[k] += in[r * channel + k * component] * f;
        }
        cgtp_sum_shared<d>(sum, width);
        if (c < columns && cgtp_lane() < width)
            cgtp_put_vector<d, adds>(out + c * out_channel, out_component, sum);
    }
    cgtp_sync_warp();
}

/* out[r,k] += sum_c W[r,c] in[c,k], or =. Rows of an even length begin in few of the banks of shared memory: lanes
 * begin at different places in theirs. */
template <int d, bool wide, bool adds, typename Row>
CGTP_DEVICE void cgtp_weights_rows(int rows, int columns, int64_t ld, const real *w, const real *in, int channel,
                                   int component, Row out, int out_channel, int out_component)
{
    for (int from = 0; from < rows; from += CGTP_LANES) {
        const int width = cgtp_lanes_for(rows - from), step = CGTP_LANES / width;
        const int r = from + cgtp_lane() % width, slice = cgtp_lane() / width;
        const real *const row = w + r * ld;
        real sum[d] = {0};
        int c = slice;
        if (wide && step == 1 && ld % 2 && r < rows)
            CGTP_UNROLL_BY(2)
        for (; c + CGTP_WIDE <= columns; c += CGTP_WIDE) {
            real v[CGTP_WIDE * d];
            cgtp_load<CGTP_WIDE * d>(v, in + c * d);
            CGTP_UNROLL
            for (int i = 0; i < CGTP_WIDE * d; i++)
                sum[i % d] += v[i] * row[c + i / d];
        }
        const int turns = r < rows && c < columns ? (columns - c + step - 1) / step : 0;
        int turn = turns && ld % 2 == 0 ? r % turns : 0;
        CGTP_UNROLL_BY(4)
        for (int i = 0; i < turns; i++) {
            const int at = c + (ld % 2 ? i : turn) * step;
            const real f = row[at];
            CGTP_UNROLL
            for (int k = 0; k < d; k++)
                sum[k] += f * in[at * channel + k * component];
            turn = turn + 1 == turns ? 0 : turn + 1;
        }
        cgtp_sum_shared<d>(sum, width);
        if (r < rows && cgtp_lane() < width)
            cgtp_put_vector<d, adds>(out + r * out_channel, out_component, sum);
    }
    cgtp_sync_warp();
}

/* gW[r,c] += sum_k in[r,k] at[c,k], or =; wide: of in */
template <int d, bool wide, bool adds, typename Row>
CGTP_DEVICE void cgtp_weights_outer(int rows, int columns, int64_t ld, const real *in, int channel, int component,
                                    const real *at, int at_channel, int at_component, Row gw)
{
    for (int from = 0; from < columns; from += CGTP_LANES) {
        const int width = cgtp_lanes_for(columns - from), step = CGTP_LANES / width;
        const int c = from + cgtp_lane() % width;
        if (c >= columns)
            continue;
        real v[d];
        CGTP_UNROLL
        for (int k = 0; k < d; k++)
            v[k] = at[c * at_channel + k * at_component];
        int r = cgtp_lane() / width;
        if (wide && step == 1)
            CGTP_UNROLL_BY(2)
        for (; r + CGTP_WIDE <= rows; r += CGTP_WIDE) {
            real some[CGTP_WIDE * d], sum[CGTP_WIDE] = {0};
            cgtp_load<CGTP_WIDE * d>(some, in + r * d);
            CGTP_UNROLL
            for (int i = 0; i < CGTP_WIDE * d; i++)
                sum[i / d] += some[i] * v[i % d];
            CGTP_UNROLL
            for (int i = 0; i < CGTP_WIDE; i++)
                cgtp_put_vector<1, adds>(gw + (r + i) * ld + c, 1, sum + i);
        }
        for (; r < rows; r += step) {
            real sum = 0;
            CGTP_UNROLL
            for (int k = 0; k < d; k++)
                sum += in[r * channel + k * component] * v[k];
            cgtp_put_vector<1, adds>(gw + r * ld + c, 1, &sum);
        }
    }
    cgtp_sync_warp();
}

/* Sum over the lanes, in every lane, in a fixed order. */
CGTP_DEVICE real cgtp_sum_lanes(real value)
{
    CGTP_UNROLL
    for (int mask = CGTP_LANES / 2; mask; mask /= 2)
        value += cgtp_shuffle_xor(value, mask);
    return value;
}

/* Without weights, for n channels that are summed, and m of the sum: out[c,k] += sum_b t[b,k], and back: p[b,k] = sum_c in[c,k] */
template <int d, typename Row>
CGTP_DEVICE void cgtp_ones_z(int n, int m, const real *t, Row out, int channel, int component)
{
    for (int k = 0; k < d; k++) {
        real sum = 0;
        for (int b = cgtp_lane(); b < n; b += CGTP_LANES)
            sum += t[b * d + k];
        sum = cgtp_sum_lanes(sum);
        for (int c = cgtp_lane(); c < m; c += CGTP_LANES)
            out[c * channel + k * component] += sum;
    }
    cgtp_sync_warp();
}
template <int d> CGTP_DEVICE void cgtp_ones_p(int n, int m, const real *in, int channel, int component, real *p)
{
    for (int k = 0; k < d; k++) {
        real sum = 0;
        for (int c = cgtp_lane(); c < m; c += CGTP_LANES)
            sum += in[c * channel + k * component];
        sum = cgtp_sum_lanes(sum);
        for (int b = cgtp_lane(); b < n; b += CGTP_LANES)
            p[b * d + k] = sum;
    }
    cgtp_sync_warp();
}

/* ---- sums over lanes, added to a row ---- */

/* to[i * component] += the sum of value[i] over the lanes, for i < n. */
template <int n, typename Row> CGTP_DEVICE void cgtp_add_sums(Row to, int component, const real (&value)[n])
{
    constexpr int width = cgtp_sums_length(n);
    real sum[width];
    CGTP_UNROLL
    for (int i = 0; i < width; i++)
        sum[i] = i < n ? value[i < n ? i : 0] : 0;
    cgtp_sums<width>(sum);
    const int index = cgtp_sums_index<width>();
    if (cgtp_lane() < width && index < n)
        to[index * component] += sum[0];
}

/* ---- channels of a thread: v of z, with d components ---- */

/* z[c,k] += w[c] t[k] */
template <int v, int d> CGTP_DEVICE void cgtp_add_channels(real *z, const real *w, const real *t)
{
    CGTP_UNROLL
    for (int c = 0; c < v; c++)
        CGTP_UNROLL
    for (int k = 0; k < d; k++)
        z[c * d + k] += w[c] * t[k];
}

/* p[k] += sum_c w[c] g[c,k] */
template <int v, int d> CGTP_DEVICE void cgtp_add_products(real *p, const real *w, const real *g)
{
    CGTP_UNROLL
    for (int c = 0; c < v; c++)
        CGTP_UNROLL
    for (int k = 0; k < d; k++)
        p[k] += w[c] * g[c * d + k];
}

/* gw[c] += sum_k t[k] g[c,k] */
template <int v, int d> CGTP_DEVICE void cgtp_add_dots(real *gw, const real *t, const real *g)
{
    CGTP_UNROLL
    for (int c = 0; c < v; c++)
        CGTP_UNROLL
    for (int k = 0; k < d; k++)
        gw[c] += t[k] * g[c * d + k];
}

/* ---- sums over all items ---- */

/* Threads that add up the partial rows of 32 elements, and the bytes of shared memory that they need. */
enum { CGTP_SUM_WARPS = 16, CGTP_SUM_BYTES = CGTP_SUM_WARPS * CGTP_LANES * (int)sizeof(real) };

/* Adds up partial rows of `dim` elements: warps take rows in turn, and their sums are added in the order of the warps. */
CGTP_DEVICE void cgtp_sum_rows(real *to, const real *parts, int64_t rows, int dim, unsigned char *shared)
{
    real *const sums = (real *)shared;
    const int at = cgtp_block() * CGTP_LANES + cgtp_lane();
    real sum = 0;
    if (at < dim)
        CGTP_UNROLL_BY(8)
    for (int64_t i = cgtp_warp(); i < rows; i += CGTP_SUM_WARPS)
        sum += parts[i * dim + at];
    sums[cgtp_thread()] = sum;
    cgtp_sync_group<CGTP_SUM_WARPS>();
    if (cgtp_warp() == 0 && at < dim) {
        CGTP_UNROLL
        for (int warp = 1; warp < CGTP_SUM_WARPS; warp++)
            sum += sums[warp * CGTP_LANES + cgtp_lane()];
        to[at] = sum;
    }
}

} // namespace

#include "cgtp_table.h"

#endif
