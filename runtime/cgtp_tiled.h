/* SPDX-License-Identifier: MIT */
/* cgtp_tiled.h - tiled items: a warp's tile of items, of which each lane has one. Included after cgtp_cuda.h.
 *
 * Rows of a tile are in shared memory, one behind the other, `pitch` elements apart: so many that lanes that read
 * the same element of their rows, or 16 bytes of them, meet in no bank.
 */
#ifndef CGTP_TILED_H
#define CGTP_TILED_H

#include "cgtp_item.h"

namespace
{

/* ---- rows of a tile ---- */

/* Starts the copy of n elements of each row, by 16 bytes or by elements: to[i] from `from` + i * dim. Rows from
 * `count` on, of items that there are not, become zero. All lanes of the warp call. */
template <int n, bool wide, int pitch>
CGTP_DEVICE void cgtp_copy_tile(real (&to)[CGTP_LANES][pitch], const real *from, int64_t dim, int count, int lane,
                                cgtp_policy policy)
{
    constexpr int each = wide ? CGTP_WIDE : 1, pieces = n / each;
    real *const first = (real *)cgtp_pinned_shared((unsigned char *)to);
    CGTP_UNROLL_BY(4)
    for (int i = lane; i < CGTP_LANES * pieces; i += CGTP_LANES) {
        const int row = i / pieces, at = i % pieces * each;
        real *const piece = first + row * pitch + at;
        if (row >= count) {
            CGTP_UNROLL
            for (int j = 0; j < each; j++)
                piece[j] = 0;
        } else if constexpr (wide) {
            cgtp_copy16(piece, from + row * dim + at, policy);
        } else {
            cgtp_copy_element(piece, from + row * dim + at);
        }
    }
}

/* Stores n elements of each of the first `count` rows. */
template <int n, bool wide, int pitch>
CGTP_DEVICE void cgtp_put_tile(real *to, int64_t dim, const real (&from)[CGTP_LANES][pitch], int count, int lane)
{
    constexpr int each = wide ? CGTP_WIDE : 1, pieces = n / each;
    CGTP_UNROLL_BY(4)
    for (int i = lane; i < CGTP_LANES * pieces; i += CGTP_LANES) {
        const int row = i / pieces, at = i % pieces * each;
        if (row >= count)
            continue;
        if constexpr (wide)
            cgtp_put16(to + row * dim + at, from[row] + at);
        else
            to[row * dim + at] = from[row][at];
    }
}

/* ---- a lane's part of its row ---- */

/* n elements at a multiple of `align` elements. */
template <int n, int align> CGTP_DEVICE void cgtp_get(real *r, const real *p)
{
    constexpr int whole = n / align * align;
    CGTP_UNROLL
    for (int i = 0; i < whole; i += align)
        cgtp_load<align>(r + i, p + i);
    CGTP_UNROLL
    for (int i = whole; i < n; i++)
        r[i] = p[i];
}
template <int n, int align> CGTP_DEVICE void cgtp_set(real *p, const real *r)
{
    constexpr int whole = n / align * align;
    CGTP_UNROLL
    for (int i = 0; i < whole; i += align)
        cgtp_store<align>(p + i, r + i);
    CGTP_UNROLL
    for (int i = whole; i < n; i++)
        p[i] = r[i];
}

/* The same of v channels of d components, which are `step` elements apart. */
template <int v, int d, int align> CGTP_DEVICE void cgtp_get_components(real *r, const real *p, int step)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++) {
        real component[v];
        cgtp_get<v, align>(component, p + i * step);
        CGTP_UNROLL
        for (int u = 0; u < v; u++)
            r[u * d + i] = component[u];
    }
}
template <int v, int d, int align> CGTP_DEVICE void cgtp_set_components(real *p, int step, const real *r)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++) {
        real component[v];
        CGTP_UNROLL
        for (int u = 0; u < v; u++)
            component[u] = r[u * d + i];
        cgtp_set<v, align>(p + i * step, component);
    }
}

template <int n, int align> CGTP_DEVICE void cgtp_clear_lane(real *p)
{
    const real zero[n] = {0};
    cgtp_set<n, align>(p, zero);
}

/* ---- sums over the lanes ---- */

/* Adds up `units` times v values over the lanes, and adds the sums of unit i to to[at[i]] and those after. No other
 * warp adds there. */
template <int v, int units> CGTP_DEVICE void cgtp_add_lane_sums(real *to, const int *at, const real *value)
{
    constexpr int most = CGTP_LANES / v, here = units < most ? units : most, n = here * v;
    constexpr int width = cgtp_sums_length(n);
    real sum[width];
    CGTP_UNROLL
    for (int i = 0; i < width; i++)
        sum[i] = i < n ? value[i] : 0;
    cgtp_sums<width>(sum);
    const int index = cgtp_sums_index<width>();
    int place = at[0];
    CGTP_UNROLL
    for (int i = 1; i < here; i++)
        place = index / v == i ? at[i] : place;
    if (cgtp_lane() < width && index < n)
        to[place + index % v] += sum[0];
    if constexpr (units > here)
        cgtp_add_lane_sums<v, units - here>(to, at + here, value + n);
}

/* ---- on the host ---- */

/* Blocks of a launch: one per multiprocessor, or a warp per tile. */
static inline int64_t cgtp_tiled_grid(int64_t items)
{
    const int64_t fit = cgtp_multiprocessors(), tiles = (items + CGTP_LANES - 1) / CGTP_LANES;
    return tiles < fit ? tiles : fit;
}

} // namespace

#endif
