/* SPDX-License-Identifier: MIT */
/* cgtp_staged.h - staged items: an item's rows in shared memory, and what teams of warps do with them. Included
 * after cgtp_cuda.h.
 */
#ifndef CGTP_STAGED_H
#define CGTP_STAGED_H

#include "cgtp_convolution.h"
#include "cgtp_item.h"

namespace
{

/* ---- rows ---- */

/* What a thread has of elements `from` to `to` of a row of which it is one of so many: what it copies, stores and clears.
 * wide: rows begin at multiples of 16 bytes, and chunks of these are its; `chunk` is called with the distance of each
 * from the thread's first one. `element`: with the place of each element that is in no whole chunk. Whatever the range
 * is, an element is the same thread's. */
template <int threads, bool wide, int from, int to, typename Chunk, typename Element>
CGTP_DEVICE void cgtp_own_part(int thread, Chunk chunk, Element element)
{
    if constexpr (wide) {
        constexpr int chunks = (to + CGTP_WIDE - 1) / CGTP_WIDE;
        static_assert(from < CGTP_WIDE, "the range begins in the first chunk");
        CGTP_UNROLL
        for (int k = 0; k < chunks; k += threads)
            if (chunks - k >= threads || thread < chunks - k) {
                const bool begins = from > 0 && k == 0 && thread == 0,
                           ends = to % CGTP_WIDE > 0 && chunks - k <= threads && thread == chunks - k - 1;
                if (begins || ends)
                    for (int i = begins ? from : (chunks - 1) * CGTP_WIDE; i < (ends ? to : CGTP_WIDE); i++)
                        element(i);
                else
                    chunk(k * CGTP_WIDE);
            }
    } else {
        for (int i = thread; i < to; i += threads)
            if (i >= from)
                element(i);
    }
}
template <int threads, int n, typename Chunk, typename Element>
CGTP_DEVICE void cgtp_own_part(int thread, Chunk chunk, Element element)
{
    cgtp_own_part<threads, n % CGTP_WIDE == 0, 0, n>(thread, chunk, element);
}

/* Starts the copy of a part of a row. All lanes of the warp call. */
template <int threads, bool wide, int from, int to>
CGTP_DEVICE void cgtp_copy_part_by(real *part, const real *row, int thread, cgtp_policy policy)
{
    real *const first = (real *)cgtp_pinned_shared((unsigned char *)(part + thread * CGTP_WIDE));
    cgtp_own_part<threads, wide, from, to>(
        thread, [&](int i) { cgtp_copy16(first + i, row + thread * CGTP_WIDE + i, policy); },
        [&](int i) { cgtp_copy_element(part + i, row + i); });
}

/* Stores a part of a row. */
template <int threads, bool wide, int from, int to>
CGTP_DEVICE void cgtp_put_part_by(real *row, const real *part, int thread)
{
    cgtp_own_part<threads, wide, from, to>(
        thread, [&](int i) { cgtp_put16(row + thread * CGTP_WIDE + i, part + thread * CGTP_WIDE + i); },
        [&](int i) { row[i] = part[i]; });
}

/* Adds it to the row, atomically. */
template <int threads, bool wide, int from, int to>
CGTP_DEVICE void cgtp_add_part_by(real *row, const real *part, int thread)
{
    cgtp_own_part<threads, wide, from, to>(
        thread, [&](int i) { cgtp_add16(row + thread * CGTP_WIDE + i, part + thread * CGTP_WIDE + i); },
        [&](int i) { cgtp_add(row + i, part[i]); });
}

/* The same with whole rows. */
template <int threads, int n>
CGTP_DEVICE void cgtp_copy_row_by(real (&to)[n], const real *row, int thread, cgtp_policy policy)
{
    cgtp_copy_part_by<threads, n % CGTP_WIDE == 0, 0, n>(to, row, thread, policy);
}
template <int threads, int n> CGTP_DEVICE void cgtp_put_row_by(real *row, const real (&from)[n], int thread)
{
    cgtp_put_part_by<threads, n % CGTP_WIDE == 0, 0, n>(row, from, thread);
}
template <int threads, int n> CGTP_DEVICE void cgtp_add_row_by(real *row, const real (&from)[n], int thread)
{
    cgtp_add_part_by<threads, n % CGTP_WIDE == 0, 0, n>(row, from, thread);
}

/* Zeros in a row. */
template <int threads, int n> CGTP_DEVICE void cgtp_clear_row_by(real (&row)[n], int thread)
{
    const real zero[CGTP_WIDE] = {0};
    cgtp_own_part<threads, n>(
        thread, [&](int i) { cgtp_store<CGTP_WIDE>(row + thread * CGTP_WIDE + i, zero); },
        [&](int i) { row[i] = 0; });
}

/* Zeros in each warp's row. */
template <int threads, int n, int warps> CGTP_DEVICE void cgtp_clear_sums_by(real (&row)[warps][n], int thread)
{
    for (int i = thread; i < n; i += threads)
        CGTP_UNROLL
    for (int warp = 0; warp < warps; warp++)
        row[warp][i] = 0;
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
        cgtp_add_channels<v, d>(z, f, row);
    };
    CGTP_UNROLL_BY(8 / CGTP_WIDE)
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

/* ---- on the host ---- */

/* Blocks of a launch: one per multiprocessor, or a team per item. */
static inline int64_t cgtp_staged_grid(int64_t items, int teams)
{
    const int64_t fit = cgtp_multiprocessors(), most = (items + teams - 1) / teams;
    return most < fit ? most : fit;
}

} // namespace

#endif
