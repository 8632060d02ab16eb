/* SPDX-License-Identifier: MIT */
/* cgtp_weights.h - weights that all items share on their way to where lanes read them as right operands (cgtp_gemm.h).
 * Included after cgtp_cuda.h.
 */
#ifndef CGTP_WEIGHTS_H
#define CGTP_WEIGHTS_H

#include "cgtp_gemm.h"

namespace
{

/* Four weights of a row from `column` on, zeros where there are none; wide: all four or none, at a multiple of 16 bytes. */
template <bool wide, int rows, int columns>
CGTP_DEVICE void cgtp_take_weights(real (&to)[4], const real *matrix, int64_t step, int row, int column)
{
    const real *const from = matrix + row * step + column;
    CGTP_UNROLL
    for (int i = 0; i < 4; i++)
        to[i] = 0;
    if constexpr (wide) {
        if (row < rows && column < columns)
            cgtp_load<4>(to, from);
    } else {
        CGTP_UNROLL
        for (int i = 0; i < 4; i++)
            if (row < rows && column + i < columns)
                to[i] = from[i];
    }
}

/* The weights of a path, a matrix for each channel of y whose rows are channels of x and columns those of z, or that turned
 * round (back), on their way to where lanes read them as right operands: 8 by 8 at a time, `blocks` of them side by side, zeros
 * where there are none; of each so many words. A piece is four columns of a row, or of the two rows that a lane has. */
template <int words, bool back, bool wide, int channels, int rows, int columns, int blocks> struct cgtp_weights {
    enum { DEEP = ((back ? columns : rows) + 7) / 8, SIDE = back ? blocks * 8 : blocks * 2, PARTS = back ? 2 : 4 };
    enum { PIECES = channels * DEEP * SIDE * PARTS };
    real first[4], second[4];

    CGTP_MEMBER void take(const real *from, int i)
    {
        const int part = i % PARTS, across = i / PARTS % SIDE, block = i / (PARTS * SIDE), down = block % DEEP * 8;
        const real *const matrix = from + block / DEEP * columns;
        if constexpr (back) {
            cgtp_take_weights<wide, rows, columns>(first, matrix, channels * columns, across, down + part * 4);
        } else {
            cgtp_take_weights<wide, rows, columns>(first, matrix, channels * columns, down + part * 2, across * 4);
            cgtp_take_weights<wide, rows, columns>(second, matrix, channels * columns, down + part * 2 + 1, across * 4);
        }
    }
    CGTP_MEMBER void put(real *to, int i) const
    {
        const int part = i % PARTS, across = i / PARTS % SIDE, block = i / (PARTS * SIDE);
        const bool other = (back ? across / 2 : across) % 2; /* lanes that would meet in a bank put another number first */
        CGTP_UNROLL
        for (int k = 0; k < (back ? 2 : 4); k++) {
            const int n = k ^ (int)other;
            cgtp_right right;
            if constexpr (back) {
                right.set(0, other ? first[2 * (1 - k)] : first[2 * k]);
                right.set(1, other ? first[2 * (1 - k) + 1] : first[2 * k + 1]);
            } else {
                right.set(0, other ? first[k ^ 1] : first[k]);
                right.set(1, other ? second[k ^ 1] : second[k]);
            }
            real piece[2 * words];
            right.put_piece<words>(piece);
            const int lane = back ? across * 4 + part * 2 + n : across * 16 + n * 4 + part;
            cgtp_store<2 * words>(to + ((int64_t)block * blocks * CGTP_LANES + lane) * 2 * words, piece);
        }
    }
};

/* The same of weights of the pairs of channels u < a: for each a from 1 on blocks of 8 channels u on one side, all of z on the
 * other. */
template <int words, bool back, bool wide, int n, int, int columns, int blocks> struct cgtp_weights_below {
    enum { EIGHTS = (n - 1) / 8, ALL = (EIGHTS + 1) * (4 * EIGHTS + (n - 1) % 8) };
    enum { PARTS = back ? 2 : 4, SIDE = back ? 8 : blocks * 2, DEEP = back ? (columns + 7) / 8 : 1 };
    enum { PIECES = ALL * DEEP * SIDE * PARTS };
    cgtp_weights<words, back, wide, 1, 1, columns, blocks> piece;

    CGTP_MEMBER void take(const real *from, int i)
    {
        const int part = i % PARTS, across = i / PARTS % SIDE, down = i / (PARTS * SIDE) % DEEP * 8;
        int u, a = channels_of(i / (PARTS * SIDE * DEEP), u);
        take_row(piece.first, from, u + (back ? across : part * 2), a, back ? down + part * 4 : across * 4);
        if (!back)
            take_row(piece.second, from, u + part * 2 + 1, a, across * 4);
    }
    CGTP_MEMBER void put(real *to, int i) const
    {
        const int block = i / (PARTS * SIDE * DEEP), down = i / (PARTS * SIDE) % DEEP;
        int u, a = channels_of(block, u);
        const int before = cgtp_gemm_before(a);
        const int64_t at = back ? before * DEEP + down * cgtp_gemm_blocks(a) + block - before : (int64_t)block * blocks;
        piece.put(to + at * CGTP_LANES * 2 * words, i % (PARTS * SIDE));
    }

private:
    /* Of which channel the block is, and its first channel below that. */
    static CGTP_MEMBER int channels_of(int block, int &u)
    {
        int eights = 0;
        while (block >= 4 * (eights + 1) * (eights + 2))
            eights++;
        block -= 4 * eights * (eights + 1);
        u = block % (eights + 1) * 8;
        return eights * 8 + 1 + block / (eights + 1);
    }
    static CGTP_MEMBER void take_row(real (&to)[4], const real *from, int u, int a, int column)
    {
        cgtp_take_weights<wide, 1, columns>(to, from + (u < a ? cgtp_gemm_number<n>(u, a) * columns : 0), 0, u < a ? 0 : 1,
                                            column);
    }
};

/* All of them; or, of few, first into registers, so that those of several paths are under way together. */
template <typename Weights> CGTP_DEVICE void cgtp_arrange_weights(real *to, const real *from, int thread, int threads)
{
    CGTP_UNROLL_BY(2)
    for (int i = thread; i < Weights::PIECES; i += threads) {
        Weights piece;
        piece.take(from, i);
        piece.put(to, i);
    }
}
template <int threads, int n, typename Weights>
CGTP_DEVICE void cgtp_bring_weights(Weights (&piece)[n], const real *from, int thread)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (thread + i * threads < Weights::PIECES)
            piece[i].take(from, thread + i * threads);
}
template <int threads, int n, typename Weights>
CGTP_DEVICE void cgtp_leave_weights(real *to, const Weights (&piece)[n], int thread)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        if (thread + i * threads < Weights::PIECES)
            piece[i].put(to, thread + i * threads);
}

/* Fills with zeros. */
CGTP_DEVICE void cgtp_clear_weights(real *to, int n, int thread, int threads)
{
    for (int i = thread; i < n; i += threads)
        to[i] = 0;
}

} // namespace

#endif
