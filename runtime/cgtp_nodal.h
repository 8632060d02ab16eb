/* SPDX-License-Identifier: MIT */
/* cgtp_nodal.h - matrices of nodes: what a node's row and the weights make of an item's row is a matrix for each
 * channel, which tensor cores multiply with rows of items. Included after cgtp_cuda.h.
 *
 * A block has 8 channels, a warp one of them. What a block has of a row is an array of its own, in which components and
 * channels lie as in the row: `place` says where a component of channel 0 is, and how far the next channel's; `chunk`
 * where its pieces of 16 bytes are in the row, for the first channels and from these to the next ones. Behind the array
 * there is a zero, for components that there are not.
 */
#ifndef CGTP_NODAL_H
#define CGTP_NODAL_H

#include "cgtp_gemm.h"
#include "cgtp_rows.h"

namespace
{

enum { CGTP_NODAL_CHANNELS = 8, CGTP_NODAL_THREADS = CGTP_NODAL_CHANNELS * CGTP_LANES };

/* A number and what is added to it for the next channel, the next channels. */
struct cgtp_steps {
    int first, step;
};

/* ---- places ---- */

/* Where the channel's components are that the lane has of an operand, one of 8 or (by = 4) of 4; from d on the zero
 * behind the array. */
template <int d, int by, int n>
CGTP_DEVICE void cgtp_nodal_places(int (&at)[n], const cgtp_steps *place, int channel)
{
    const int first = by == 8 ? cgtp_gemm_row(0) : cgtp_gemm_column(0);
    CGTP_UNROLL
    for (int i = 0; i < n; i++) {
        const int component = first + i * by;
        at[i] = component < d ? place[component].first + channel * place[component].step : d * CGTP_NODAL_CHANNELS;
    }
}

/* Where the lane's pieces are in a row. */
template <int chunks, int n> CGTP_DEVICE void cgtp_nodal_chunks(int (&from)[n], const cgtp_steps *chunk, int part)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++) {
        const int at = cgtp_lane() + i * CGTP_LANES;
        from[i] = at < chunks ? chunk[at].first + part * chunk[at].step : 0;
    }
}

/* Starts the copy of a row's part. All lanes of the warp call. */
template <int chunks, int n>
CGTP_DEVICE void cgtp_nodal_copy(real *to, const real *row, const int (&from)[n], cgtp_policy policy)
{
    real *const first = (real *)cgtp_pinned_shared((unsigned char *)(to + cgtp_lane() * CGTP_WIDE));
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (cgtp_lane() + i * CGTP_LANES < chunks)
            cgtp_copy<16>(first + i * CGTP_LANES * CGTP_WIDE, row + from[i], policy);
}

/* Zeros where there is no row. */
template <int chunks> CGTP_DEVICE void cgtp_nodal_clear(real *to)
{
    const real zero[CGTP_WIDE] = {0};
    CGTP_UNROLL
    for (int i = 0; i < chunks; i += CGTP_LANES)
        if (cgtp_lane() + i < chunks)
            cgtp_store<CGTP_WIDE>(to + (cgtp_lane() + i) * CGTP_WIDE, zero);
}

/* Stores a row's part, if there is a row. */
template <int chunks, int n>
CGTP_DEVICE void cgtp_nodal_put(real *row, const int (&to)[n], const real *part, bool there)
{
    real piece[n][CGTP_WIDE];
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (cgtp_lane() + i * CGTP_LANES < chunks)
            cgtp_load<CGTP_WIDE>(piece[i], part + (cgtp_lane() + i * CGTP_LANES) * CGTP_WIDE);
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (there && cgtp_lane() + i * CGTP_LANES < chunks)
            cgtp_store_stream<CGTP_WIDE>(row + to[i], piece[i]);
}

/* Where the thread's elements of a block's part of a node's row are in the row. */
template <int elements, int n>
CGTP_DEVICE void cgtp_nodal_elements(int (&from)[n], const cgtp_steps *chunk, int part, int thread)
{
    CGTP_UNROLL
    for (int k = 0; k < n; k++) {
        const int i = thread + k * CGTP_NODAL_THREADS;
        const cgtp_steps of = chunk[i < elements ? i / CGTP_WIDE : 0];
        from[k] = of.first + part * of.step + i % CGTP_WIDE;
    }
}

/* Reads them, which others need not wait for; and puts them into shared memory. */
template <int elements, int n>
CGTP_DEVICE void cgtp_nodal_fetch(real (&to)[n], const real *row, const int (&from)[n], int thread, bool there)
{
    CGTP_UNROLL
    for (int k = 0; k < n; k++)
        if (there && thread + k * CGTP_NODAL_THREADS < elements)
            to[k] = row[from[k]];
}
template <int elements, int n> CGTP_DEVICE void cgtp_nodal_keep(real *to, const real (&from)[n], int thread)
{
    CGTP_UNROLL
    for (int k = 0; k < n; k++)
        if (thread + k * CGTP_NODAL_THREADS < elements)
            to[thread + k * CGTP_NODAL_THREADS] = from[k];
}

/* Stores the sum of what each warp has of a row's part, one or several sums, in their order. */
template <int chunks, int copies, int pitch>
CGTP_DEVICE void cgtp_nodal_put_sums(real *row, const cgtp_steps *chunk, int part,
                                    const real (&sums)[CGTP_NODAL_CHANNELS][copies][pitch], int thread)
{
    for (int i = thread; i < chunks; i += CGTP_NODAL_THREADS) {
        real sum[CGTP_WIDE] = {0};
        CGTP_UNROLL
        for (int warp = 0; warp < CGTP_NODAL_CHANNELS * copies; warp++)
            CGTP_UNROLL
        for (int k = 0; k < CGTP_WIDE; k++)
            sum[k] += sums[warp / copies][warp % copies][i * CGTP_WIDE + k];
        cgtp_store<CGTP_WIDE>(row + chunk[i].first + part * chunk[i].step, sum);
    }
}

/* ---- items ---- */

/* The item at a position, as the graph has it. */
template <bool senders, typename Graph> CGTP_DEVICE auto cgtp_nodal_item(const Graph &graph, int64_t position)
{
    if constexpr (senders)
        return graph.by_sender[position];
    else
        return position;
}

/* Tiles of items of the nodes that a block has, one after the other: node, node + step, .. */
template <bool senders, int items, typename Graph> struct cgtp_nodal_tiles {
    const Graph &graph;
    const int none; /* zero, of which ptxas does not know that lanes have it alike: it waits for what all lanes read */
    int64_t node, step, nodes;
    cgtp_positions of, next; /* of what is left of the node's items; of those of the node after it */

    CGTP_MEMBER cgtp_positions positions(int64_t n) const
    {
        return n < nodes ? cgtp_positions_of<senders>(graph, n + none) : cgtp_positions{0, 0};
    }
    CGTP_MEMBER cgtp_nodal_tiles(const Graph &g, int64_t first, int64_t by, int64_t all)
        : graph(g), none(cgtp_shuffle(0, cgtp_lane())), node(first), step(by), nodes(all)
    {
        of = positions(first);
        next = positions(first + by);
        settle();
    }
    /* To the next node that has items left. */
    CGTP_MEMBER void settle(void)
    {
        while (node < nodes && of.first >= of.end) {
            node += step;
            of = next;
            next = positions(node + step);
        }
    }
    /* The item of the tile's row; -1: there is none. */
    CGTP_MEMBER auto item(int row) const
    {
        typedef decltype(cgtp_nodal_item<senders>(graph, 0)) number; /* wider numbers would be waited for */
        return node < nodes && of.first + row < of.end ? cgtp_nodal_item<senders>(graph, of.first + row) : (number)-1;
    }
    CGTP_MEMBER void advance(void)
    {
        of.first += items;
        settle();
    }
};

/* ---- products ---- */

/* The lane's part of a channel's matrix, element (x, z) at x * pitch + z, as a left operand: rows are components of z,
 * columns of x; or (back) the other way round. */
template <bool back, int dx, int dz, int pitch, int tiles, int blocks>
CGTP_DEVICE void cgtp_nodal_take(real (&to)[tiles][blocks][4], const real *matrix)
{
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int k = 0; k < blocks; k++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++) {
        const int row = t * 16 + cgtp_gemm_row(i), column = k * 8 + cgtp_gemm_column(i);
        const int x = back ? row : column, z = back ? column : row;
        to[t][k][i] = x < dx && z < dz ? matrix[x * pitch + z] : (real)0;
    }
}

/* sum[j] += matrix times rows of 8 items from number 8 j on: columns are items. at: places of components 0, 4, .. after
 * the lane's. kept: its elements' parts stay in registers, too. first: sums are zero before. */
template <bool kept, bool first, int eights, int tiles, int blocks, int pitch, int n>
CGTP_DEVICE void cgtp_nodal_multiply(real (&sum)[eights][tiles][4], const real (&matrix)[tiles][blocks][4],
                                     const real (*rows)[pitch], const int (&at)[n])
{
    real part[eights][tiles][4] = {};
    CGTP_UNROLL
    for (int k = 0; k < blocks; k++) {
        cgtp_left left[tiles];
        cgtp_right right[eights];
        CGTP_UNROLL
        for (int i = 0; i < 2 * eights; i++)
            right[i / 2].set(i % 2, rows[i / 2 * 8 + cgtp_gemm_row(0)][at[2 * k + i % 2]]);
        CGTP_UNROLL
        for (int i = 0; i < 4 * tiles; i++)
            left[i / 4].set(i % 4, kept ? matrix[i / 4][k][i % 4] : cgtp_opaque(matrix[i / 4][k][i % 4]));
        cgtp_add_products(first ? sum : part, left, right);
    }
    CGTP_UNROLL
    for (int j = 0; j < eights && !first; j++)
        cgtp_add_parts(sum[j], part[j]);
}

/* sum += x z^T over 8 items, of which lanes have two that are neighbours, as then no rows meet in a bank: rows are
 * components of x, columns of z. at: places of components 0, 8, .. after the lane's. */
template <int tiles, int blocks, int pitch_x, int n, int pitch_z, int m>
CGTP_DEVICE void cgtp_nodal_outer(real (&sum)[blocks][tiles][4], const real (*x)[pitch_x], const int (&at_x)[n],
                                  const real (*z)[pitch_z], const int (&at_z)[m])
{
    cgtp_left left[tiles];
    cgtp_right right[blocks];
    real part[blocks][tiles][4] = {};
    CGTP_UNROLL
    for (int i = 0; i < 4 * tiles; i++)
        left[i / 4].set(i % 4, x[cgtp_gemm_pair() + i % 4 / 2][at_x[2 * (i / 4) + i % 2]]);
    CGTP_UNROLL
    for (int i = 0; i < 2 * blocks; i++)
        right[i / 2].set(i % 2, z[cgtp_gemm_pair() + i % 2][at_z[i / 2]]);
    cgtp_add_products(part, left, right);
    cgtp_add_parts(sum, part);
}

/* Stores results of a tile, d components of the channel. at: as in cgtp_nodal_outer. */
template <int d, int eights, int tiles, int pitch, int n>
CGTP_DEVICE void cgtp_nodal_leave(real (*rows)[pitch], const real (&sum)[eights][tiles][4], const int (&at)[n])
{
    CGTP_UNROLL
    for (int j = 0; j < eights; j++)
        CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++)
        if (t * 16 + cgtp_gemm_sum_row(i) < d)
            rows[j * 8 + cgtp_gemm_sum_column(i)][at[2 * t + i / 2]] = sum[j][t][i];
}

/* Stores sums over items as a matrix. */
template <int dx, int dz, int pitch, int tiles, int blocks>
CGTP_DEVICE void cgtp_nodal_leave_outer(real *matrix, const real (&sum)[blocks][tiles][4])
{
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int k = 0; k < blocks; k++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++) {
        const int x = t * 16 + cgtp_gemm_sum_row(i), z = k * 8 + cgtp_gemm_sum_column(i);
        if (x < dx && z < dz)
            matrix[x * pitch + z] = sum[k][t][i];
    }
}

/* ---- a lane's cell of a matrix: of one segment of x and one of z ---- */

template <int rows, int columns, int pitch> CGTP_DEVICE void cgtp_nodal_put_cell(real *matrix, const real *cell)
{
    CGTP_UNROLL
    for (int i = 0; i < rows * columns; i++)
        matrix[i / columns * pitch + i % columns] = cell[i];
}
template <int rows, int columns, int pitch> CGTP_DEVICE void cgtp_nodal_take_cell(real *cell, const real *matrix)
{
    CGTP_UNROLL
    for (int i = 0; i < rows * columns; i++)
        cell[i] = matrix[i / columns * pitch + i % columns];
}

/* v += w y, for d components that are `step` apart in y; y += v; and y . v */
template <int d, int step> CGTP_DEVICE void cgtp_nodal_scale(real *v, const real *y, real w)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        v[i] += w * y[i * step];
}
template <int d, int step> CGTP_DEVICE void cgtp_nodal_add(real *y, const real *v)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        y[i * step] += v[i];
}
template <int d, int step> CGTP_DEVICE real cgtp_nodal_dot(const real *y, const real *v)
{
    real sum = 0;
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        sum += y[i * step] * v[i];
    return sum;
}

/* ---- on the host ---- */

/* Teams of a launch, one block for each part of the channels: `fit` blocks on a multiprocessor; for so many nodes. */
static inline int64_t cgtp_nodal_teams(int parts, int fit)
{
    const int64_t most = cgtp_multiprocessors() * (int64_t)fit / parts;
    return most > 1 ? most : 1;
}
static inline int64_t cgtp_nodal_teams(int64_t nodes, int parts, int fit)
{
    const int64_t most = cgtp_nodal_teams(parts, fit);
    return nodes < most ? nodes : most;
}

} // namespace

#endif
