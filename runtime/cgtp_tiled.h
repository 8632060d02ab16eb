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

/* The pieces of `each` of n elements of a tile's rows, of which as many lanes share a row as it has pieces: the lane's
 * first one, and piece(i, k) for all of its own, i rows and k elements from there. These are known when this is compiled,
 * and so part of instructions, but for a tile of fewer rows. */
template <int n, int each> struct cgtp_pieces {
    static constexpr int pieces = n / each, width = pieces < CGTP_LANES ? pieces : CGTP_LANES, rows = CGTP_LANES / width;
    int row, at;
    CGTP_MEMBER cgtp_pieces(int lane) : row(lane / width), at(lane % width * each)
    {
    }
    template <typename Piece> CGTP_MEMBER void of(int count, Piece piece) const
    {
        if (count == CGTP_LANES) {
            CGTP_UNROLL
            for (int i = 0; i < CGTP_LANES; i += rows)
                CGTP_UNROLL
            for (int k = 0; k < n; k += width * each)
                if (row < (CGTP_LANES - i < rows ? CGTP_LANES - i : rows) &&
                    (k + width * each <= n || at < n - k))
                    piece(i, k);
        } else {
            CGTP_LOOP
            for (int i = 0; row < rows && row + i < count; i += rows)
                CGTP_LOOP
            for (int k = 0; at + k < n; k += width * each)
                piece(i, k);
        }
    }
};

/* Starts the copy of n elements of each row, by 16 bytes or by elements: to[i] + at from `from` + i * dim. Rows from
 * `count` on, of items that there are not, become zero. All lanes of the warp call. */
template <int n, bool wide, int at = 0, int pitch, typename T>
CGTP_DEVICE void cgtp_copy_tile(real (&to)[CGTP_LANES][pitch], const T *from, int64_t dim, int count, int lane,
                                cgtp_policy policy)
{
    const cgtp_pieces<n, wide ? CGTP_WIDE : 1> own(lane);
    const T *const row = cgtp_opaque_global(from + own.row * dim + own.at);
    real *const first = (real *)cgtp_pinned_shared((unsigned char *)(to[0] + at + own.row * pitch + own.at));
    own.of(count, [&](int i, int k) {
        if constexpr (wide)
            cgtp_bring16(first + i * pitch + k, row + i * dim + k, policy);
        else
            cgtp_bring(first + i * pitch + k, row + i * dim + k);
    });
    if (lane >= count)
        CGTP_LOOP
    for (int i = 0; i < n; i++)
        to[lane][at + i] = 0;
}

/* Stores n elements of each of the first `count` rows. */
template <int n, bool wide, int at = 0, int pitch, typename T>
CGTP_DEVICE void cgtp_put_tile(T *to, int64_t dim, const real (&from)[CGTP_LANES][pitch], int count, int lane)
{
    const cgtp_pieces<n, wide ? CGTP_WIDE : 1> own(lane);
    T *const row = cgtp_opaque_global(to + own.row * dim + own.at);
    const real *const first = from[0] + at + own.row * pitch + own.at;
    own.of(count, [&](int i, int k) {
        if constexpr (wide)
            cgtp_leave16(row + i * dim + k, first + i * pitch + k);
        else
            cgtp_leave(row + i * dim + k, first[i * pitch + k]);
    });
}

/* ---- a lane's part of its row ---- */

/* n elements at a multiple of `align` elements. */
template <int n, int align> CGTP_DEVICE void cgtp_get(real *r, const real *p)
{
    cgtp_load<n, align>(r, p);
}
template <int n, int align> CGTP_DEVICE void cgtp_set(real *p, const real *r)
{
    cgtp_store<n, align>(p, r);
}

/* The same of v channels of d components, which are `step` elements apart. */
template <int v, int d, int align> CGTP_DEVICE void cgtp_get_components(real *r, const real *p, int step)
{
    cgtp_load_components<v, d, align>(r, p, step);
}
template <int v, int d, int align> CGTP_DEVICE void cgtp_set_components(real *p, int step, const real *r)
{
    cgtp_store_components<v, d, align>(p, step, r);
}

template <int n, int align> CGTP_DEVICE void cgtp_clear_lane(real *p)
{
    const real zero[n] = {0};
    cgtp_set<n, align>(p, zero);
}

/* ---- sums over the lanes ---- */

/* Adds up `units` times v values over the lanes, those from number `first` on, and adds the sums of unit i to to[at[i]]
 * and those after. No other warp adds there. */
template <int v, int units, int first = 0>
CGTP_DEVICE void cgtp_add_lane_sums(real *to, const int *at, const real *value)
{
    constexpr int rest = v * units - first, n = rest < CGTP_LANES ? rest : CGTP_LANES, width = cgtp_sums_length(n);
    real sum[width];
    CGTP_UNROLL
    for (int i = 0; i < width; i++)
        sum[i] = i < n ? value[first + i] : 0;
    cgtp_sums<width>(sum);
    const int index = first + cgtp_sums_index<width>();
    int place = at[first / v] - first / v * v;
    CGTP_UNROLL
    for (int i = first / v + 1; i * v < first + n; i++)
        place = index >= i * v ? at[i] - i * v : place;
    if (cgtp_lane() < width && index < first + n)
        to[place + index] += sum[0];
    if constexpr (rest > CGTP_LANES)
        cgtp_add_lane_sums<v, units, first + CGTP_LANES>(to, at, value);
}

/* The same of a lane's own: adds the v values of unit i to row[at[i]] and those after. */
template <int v, int units> CGTP_DEVICE void cgtp_add_lane_row(real *row, const int *at, const real *value)
{
    CGTP_UNROLL
    for (int i = 0; i < v * units; i++)
        row[at[i / v] + i % v] += value[i];
}

/* ---- on the host ---- */

/* Blocks of a launch: one per multiprocessor, or a warp per tile. */
static inline int64_t cgtp_tile_grid(int64_t items)
{
    const int64_t fit = cgtp_multiprocessors(), tiles = (items + CGTP_LANES - 1) / CGTP_LANES;
    return tiles < fit ? tiles : fit;
}

} // namespace

#endif
