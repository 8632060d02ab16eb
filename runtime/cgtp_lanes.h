/* SPDX-License-Identifier: MIT */
/* cgtp_lanes.h - matrices in lanes: what a node's row and the weights make of an item's row is a matrix for each
 * channel, of which a lane's registers hold a block. Included after cgtp_cuda.h.
 *
 * Rows of a tile are in shared memory with gaps between segments. Of the lanes of a channel those that add to the same
 * components exchange what they have: each keeps half of the sums.
 */
#ifndef CGTP_LANES_H
#define CGTP_LANES_H

#include "cgtp_nodal.h"

namespace
{

/* ---- rows ---- */

/* A piece of 16 bytes: where it is in a row for the first channels, how far from there for the next ones; where in
 * shared memory. Elements. */
struct cgtp_lanes_chunk {
    int row, step, shared;
};

/* The lane's pieces of a row, of this part of the channels. */
template <int chunks, int n>
CGTP_DEVICE void cgtp_lanes_chunks(cgtp_lanes_chunk (&mine)[n], const cgtp_lanes_chunk *chunk, int part)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++) {
        const int at = cgtp_lane() + i * CGTP_LANES;
        mine[i] = chunk[at < chunks ? at : 0];
        mine[i].row += part * mine[i].step;
    }
}

/* Starts the copy of a row's part. All lanes of the warp call. */
template <int chunks, int n>
CGTP_DEVICE void cgtp_lanes_copy(real *to, const real *row, const cgtp_lanes_chunk (&chunk)[n], cgtp_policy policy)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++) {
        unsigned char *const at = cgtp_pinned_shared((unsigned char *)(to + chunk[i].shared));
        if (cgtp_lane() + i * CGTP_LANES < chunks)
            cgtp_copy<16>(at, row + chunk[i].row, policy);
    }
}

/* Stores it. */
template <int chunks, int n>
CGTP_DEVICE void cgtp_lanes_put_row(real *row, const real *from, const cgtp_lanes_chunk (&chunk)[n])
{
    real piece[n][CGTP_WIDE];
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (cgtp_lane() + i * CGTP_LANES < chunks)
            cgtp_load<CGTP_WIDE>(piece[i], from + chunk[i].shared);
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (cgtp_lane() + i * CGTP_LANES < chunks)
            cgtp_store_stream<CGTP_WIDE>(row + chunk[i].row, piece[i]);
}

/* Starts the copy of a thread's d components of a node's row, `step` apart there. */
template <int d, int step, int threads>
CGTP_DEVICE void cgtp_lanes_fetch(real (*to)[threads], const real *row, int thread)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        cgtp_copy_element(to[i] + thread, row + i * step);
}

/* d components that are `step` apart: into registers; from there. */
template <int d, int step> CGTP_DEVICE void cgtp_lanes_load(real *to, const real *from)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        to[i] = from[i * step];
}
template <int d, int step> CGTP_DEVICE void cgtp_lanes_leave(real *to, const real *from)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        to[i * step] = from[i];
}

/* ---- a lane's block of a matrix ---- */

/* A cell, which begins at this row and column: what of it is in the block. */
template <int row, int column, int rows, int columns, int dx, int dz>
CGTP_DEVICE void cgtp_lanes_put(real (&matrix)[dx][dz], const real *cell)
{
    CGTP_UNROLL
    for (int i = 0; i < rows * columns; i++) {
        const int x = row + i / columns, z = column + i % columns;
        if (x >= 0 && x < dx && z >= 0 && z < dz)
            matrix[x][z] = cell[i];
    }
}
template <int row, int column, int rows, int columns, int dx, int dz>
CGTP_DEVICE void cgtp_lanes_take(real *cell, const real (&matrix)[dx][dz])
{
    CGTP_UNROLL
    for (int i = 0; i < rows * columns; i++) {
        const int x = row + i / columns, z = column + i % columns;
        cell[i] = x >= 0 && x < dx && z >= 0 && z < dz ? matrix[x][z] : (real)0;
    }
}

CGTP_DEVICE void cgtp_lanes_exchange(real &a, real &b, bool turn)
{
    const real was = a;
    a = turn ? b : a;
    b = turn ? was : b;
}

/* The first and the last half of columns, or of rows, change places: then the results that the lane is to keep come first. */
template <int dx, int dz> CGTP_DEVICE void cgtp_lanes_turn_columns(real (&matrix)[dx][dz], bool turn)
{
    CGTP_UNROLL
    for (int i = 0; i < dx; i++)
        CGTP_UNROLL
    for (int j = 0; j < dz / 2; j++)
        cgtp_lanes_exchange(matrix[i][j], matrix[i][dz - dz / 2 + j], turn);
}
template <int dx, int dz> CGTP_DEVICE void cgtp_lanes_turn_rows(real (&matrix)[dx][dz], bool turn)
{
    CGTP_UNROLL
    for (int j = 0; j < dz; j++)
        CGTP_UNROLL
    for (int i = 0; i < dx / 2; i++)
        cgtp_lanes_exchange(matrix[i][j], matrix[dx - dx / 2 + i][j], turn);
}

/* z += x M; x += z M^T; M += x^T z */
template <int dx, int dz>
CGTP_DEVICE void cgtp_lanes_multiply(real (&z)[dz], const real (&x)[dx], const real (&matrix)[dx][dz])
{
    CGTP_UNROLL
    for (int i = 0; i < dx; i++)
        CGTP_UNROLL
    for (int j = 0; j < dz; j++)
        z[j] += x[i] * matrix[i][j];
}
template <int dx, int dz>
CGTP_DEVICE void cgtp_lanes_multiply_back(real (&x)[dx], const real (&z)[dz], const real (&matrix)[dx][dz])
{
    CGTP_UNROLL
    for (int j = 0; j < dz; j++)
        CGTP_UNROLL
    for (int i = 0; i < dx; i++)
        x[i] += z[j] * matrix[i][j];
}
template <int dx, int dz>
CGTP_DEVICE void cgtp_lanes_outer(real (&matrix)[dx][dz], const real (&x)[dx], const real (&z)[dz])
{
    CGTP_UNROLL
    for (int i = 0; i < dx; i++)
        CGTP_UNROLL
    for (int j = 0; j < dz; j++)
        matrix[i][j] += x[i] * z[j];
}

/* ---- lanes of a channel ---- */

/* Adds what lane (own ^ mask) has. Each keeps half of the sums, in front: one lane the first, the other (last) the last ones;
 * both the middle one. turned: the last lane's numbers are in this order already. All lanes of the warp call. */
template <bool turned, int mask, int n> CGTP_DEVICE void cgtp_lanes_join(real (&sum)[n], bool last)
{
    CGTP_UNROLL
    for (int i = 0; i < n / 2; i++) {
        if (!turned)
            cgtp_lanes_exchange(sum[i], sum[n - n / 2 + i], last);
        sum[i] += cgtp_shuffle_xor(sum[n - n / 2 + i], mask);
    }
    if (n % 2)
        sum[n / 2] += cgtp_shuffle_xor(sum[n / 2], mask);
}

/* Stores them. */
template <int n, int kept>
CGTP_DEVICE void cgtp_lanes_keep(real *row, const real (&sum)[n], const int (&at)[kept], bool last)
{
    CGTP_UNROLL
    for (int i = 0; i < n / 2; i++)
        row[at[i]] = sum[i];
    if (n % 2 && !last)
        row[at[n / 2]] = sum[n / 2];
}

/* sum += what lane (own ^ mask) has, of n numbers. All lanes of the warp call. */
template <int n> CGTP_DEVICE void cgtp_lanes_add(real *sum, int mask)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        sum[i] += cgtp_shuffle_xor(sum[i], mask);
}

} // namespace

#endif
