/* SPDX-License-Identifier: MIT */
/* cgtp_item.h - the work of one item by a warp, whose lanes share the channels: rows of outputs, products with blocks of
 * weights. Included after cgtp_cuda.h.
 */
#ifndef CGTP_ITEM_H
#define CGTP_ITEM_H

#include "cgtp_vector.h"

namespace
{

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

/* Products with a block of weights W: n rows (channel b), m columns (channel c), ld elements a row, d
 * components. Rows z and g of the caller's arrays have element (c, k) at c * channel + k * component; where
 * these are left out, at c * d + k. */

/* z[c,k] += sum_b t[b,k] W[b,c]; lanes share c and k */
template <typename Row>
CGTP_DEVICE void cgtp_weights_z(int d, int n, int m, int64_t ld, const real *w, const real *t, Row z,
                                     int channel, int component)
{
    for (int at = cgtp_lane(); at < m * d; at += CGTP_LANES) {
        const int c = at / d, k = at % d;
        real sum = 0;
        for (int b = 0; b < n; b++)
            sum += t[b * d + k] * w[b * ld + c];
        z[c * channel + k * component] += sum;
    }
    cgtp_sync_warp();
}
template <typename Row>
CGTP_DEVICE void cgtp_weights_z(int d, int n, int m, int64_t ld, const real *w, const real *t, Row z)
{
    cgtp_weights_z(d, n, m, ld, w, t, z, d, 1);
}

/* p[b,k] = sum_c W[b,c] g[c,k]; lanes share b and k. Rows of an even length begin in few of the banks of shared memory:
 * lanes begin at different places in theirs. */
CGTP_DEVICE void cgtp_weights_p(int d, int n, int m, int64_t ld, const real *w, const real *g, real *p,
                                     int channel, int component)
{
    for (int at = cgtp_lane(); at < n * d; at += CGTP_LANES) {
        const int b = at / d, k = at % d;
        real sum = 0;
        int c = ld % 2 ? 0 : b % m;
        for (int i = 0; i < m; i++) {
            sum += w[b * ld + c] * g[c * channel + k * component];
            c = c + 1 == m ? 0 : c + 1;
        }
        p[at] = sum;
    }
    cgtp_sync_warp();
}
CGTP_DEVICE void cgtp_weights_p(int d, int n, int m, int64_t ld, const real *w, const real *g, real *p)
{
    cgtp_weights_p(d, n, m, ld, w, g, p, d, 1);
}

/* gW[b,c] += sum_k t[b,k] g[c,k], or = where it is the first summand; lanes share c */
template <bool first, typename Row>
CGTP_DEVICE void cgtp_weights_w(int d, int n, int m, int64_t ld, const real *t, const real *g, Row gw,
                                     int channel, int component)
{
    for (int b = 0; b < n; b++)
        for (int c = cgtp_lane(); c < m; c += CGTP_LANES) {
            real sum = 0;
            for (int k = 0; k < d; k++)
                sum += t[b * d + k] * g[c * channel + k * component];
            if constexpr (first)
                gw[b * ld + c] = sum;
            else
                gw[b * ld + c] += sum;
        }
    cgtp_sync_warp();
}
template <bool first, typename Row>
CGTP_DEVICE void cgtp_weights_w(int d, int n, int m, int64_t ld, const real *t, const real *g, Row gw)
{
    cgtp_weights_w<first>(d, n, m, ld, t, g, gw, d, 1);
}

/* Contraction without weights: z[k] += sum_b t[b,k], and back: p[b,k] = g[k] */
template <typename Row> CGTP_DEVICE void cgtp_ones_z(int d, int n, const real *t, Row z)
{
    for (int k = cgtp_lane(); k < d; k += CGTP_LANES) {
        real sum = 0;
        for (int b = 0; b < n; b++)
            sum += t[b * d + k];
        z[k] += sum;
    }
    cgtp_sync_warp();
}

CGTP_DEVICE void cgtp_ones_p(int d, int n, const real *g, real *p)
{
    for (int at = cgtp_lane(); at < n * d; at += CGTP_LANES)
        p[at] = g[at % d];
    cgtp_sync_warp();
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

/* Adds up partial rows of `dim` elements: warps take rows in turn, and their sums are added in the order of the
 * warps. */
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

#endif
