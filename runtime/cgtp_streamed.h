/* SPDX-License-Identifier: MIT */
/* cgtp_streamed.h - streamed weights: an item's rows in shared memory, and what teams of warps do with them. Included
 * after cgtp_cuda.h.
 */
#ifndef CGTP_STREAMED_H
#define CGTP_STREAMED_H

#include "cgtp_convolution.h"

namespace
{

/* ---- rows ---- */

/* Starts the copy of a row of n elements by so many threads: in chunks of 16 bytes, if it has whole ones, or element
 * by element. */
template <int threads, int n>
CGTP_DEVICE void cgtp_copy_row_by(real (&to)[n], const real *row, int thread, cgtp_policy policy)
{
    if constexpr (n % CGTP_WIDE == 0) {
        CGTP_UNROLL_BY(8)
        for (int i = thread * CGTP_WIDE; i < n; i += threads * CGTP_WIDE)
            cgtp_copy16(to + i, row + i, policy);
    } else {
        for (int i = thread; i < n; i += threads)
            cgtp_copy_element(to + i, row + i);
    }
}

/* Stores a row of whole chunks, by so many threads. */
template <int threads, int n> CGTP_DEVICE void cgtp_put_row_by(real *row, const real (&from)[n], int thread)
{
    static_assert(n % CGTP_WIDE == 0, "whole chunks");
    CGTP_UNROLL_BY(8)
    for (int i = thread * CGTP_WIDE; i < n; i += threads * CGTP_WIDE)
        cgtp_put16(row + i, from + i);
}

/* Adds it to the row, atomically. */
template <int threads, int n> CGTP_DEVICE void cgtp_add_row_by(real *row, const real (&from)[n], int thread)
{
    static_assert(n % CGTP_WIDE == 0, "whole chunks");
    for (int i = thread * CGTP_WIDE; i < n; i += threads * CGTP_WIDE)
        cgtp_add16(row + i, from + i);
}

/* Stores the sum of each warp's row, in the order of the warps. */
template <int threads, int n, int warps>
CGTP_DEVICE void cgtp_put_sums_by(real *row, const real (&from)[warps][n], int thread)
{
    for (int i = thread; i < n; i += threads) {
        real sum = from[0][i];
        CGTP_UNROLL
        for (int warp = 1; warp < warps; warp++)
            sum += from[warp][i];
        row[i] = sum;
    }
}

/* Zeros in whatever it is, by so many threads. */
template <int threads, typename T> CGTP_DEVICE void cgtp_zero_by(T &what, int thread)
{
    static_assert(sizeof(T) % sizeof(real) == 0, "whole numbers");
    real *const at = (real *)&what;
    for (int i = thread; i < (int)(sizeof(T) / sizeof(real)); i += threads)
        at[i] = 0;
}

/* ---- products with weights ---- */

/* z[c,k] += sum_u t[u,k] w[u,c] for the lane's v columns c: n rows of ld weights. t begins at a multiple of 16
 * bytes. */
template <int v, int d, int n, int ld> CGTP_DEVICE void cgtp_add_columns(real *z, const real *t, const real *w)
{
    constexpr int some = CGTP_WIDE, whole = n / some * some;
    auto add = [&](const real *row, const real *weights) {
        real f[v];
        cgtp_load<v>(f, weights);
        CGTP_UNROLL
        for (int j = 0; j < v; j++)
            CGTP_UNROLL
        for (int k = 0; k < d; k++)
            z[j * d + k] += f[j] * row[k];
    };
    CGTP_UNROLL_BY(2)
    for (int u = 0; u < whole; u += some) {
        real rows[some * d];
        cgtp_load<some * d>(rows, t + u * d);
        CGTP_UNROLL
        for (int i = 0; i < some; i++)
            add(rows + i * d, w + (u + i) * ld);
    }
    CGTP_UNROLL
    for (int u = whole; u < n; u++)
        add(t + u * d, w + u * ld);
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

/* ---- on the host ---- */

/* Blocks of a launch: one per multiprocessor, or a team per item. */
static inline int64_t cgtp_streamed_grid(int64_t items, int teams)
{
    const int64_t fit = cgtp_multiprocessors(), most = (items + teams - 1) / teams;
    return most < fit ? most : fit;
}

} // namespace

#endif
