/* SPDX-License-Identifier: MIT */
/* cgtp_gemm.h - products with matrices of weights that all items share, on tensor cores: a warp takes 16 items, or 16
 * channels of x, at a time. Included after cgtp_cuda.h.
 *
 * The left operand is made in registers, by the lanes that hold it; the right one is read as lanes hold it. Rows of
 * items are in shared memory, `pitch` elements apart, so that lanes that read several rows meet in no bank.
 */
#ifndef CGTP_GEMM_H
#define CGTP_GEMM_H

#include "cgtp_item.h"
#include "cgtp_mma.h"

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

/* What is summed over may come in any order, the same on both sides. Where it is channels, the lane has two that are
 * neighbours, this one and the next: numbers 0, 1 and 2, 3 on the left, as in the product; 0 and 1 on the right. */
CGTP_DEVICE int cgtp_gemm_pair(void)
{
    return cgtp_lane() % 4 * 2;
}

/* Elements of an operand. A float is the sum of two TF32 numbers but for 2^-23 of it, of which tensor cores themselves
 * take what there is room for of the second. */
template <int n, typename T> struct cgtp_operand {
    static constexpr int parts = sizeof(T) == 4 ? 2 : 1;
    T part[parts][n]; /* high, low; of doubles all */

    CGTP_MEMBER void set(int i, T value)
    {
        part[0][i] = value;
        if constexpr (parts == 2) {
            part[0][i] = cgtp_tf32(value);
            part[1][i] = value - part[0][i];
        }
    }
    /* As numbers of a piece, of one or two words an element: both elements, or the high parts of both and the low ones. */
    template <int words> CGTP_MEMBER void set_piece(const T *piece)
    {
        CGTP_UNROLL
        for (int i = 0; i < n; i++) {
            if constexpr (words == parts)
                part[0][i] = piece[i], part[words - 1][i] = piece[(words - 1) * n + i];
            else
                set(i, piece[i]);
        }
    }
    template <int words> CGTP_MEMBER void put_piece(T *piece) const
    {
        CGTP_UNROLL
        for (int i = 0; i < n; i++) {
            if constexpr (words == parts)
                piece[i] = part[0][i], piece[(words - 1) * n + i] = part[words - 1][i];
            else
                piece[i] = part[0][i] + part[1][i];
        }
    }
};
using cgtp_left = cgtp_operand<4, real>;
using cgtp_right = cgtp_operand<2, real>;

/* Products of parts that are added up: of floats, three of the four; the fourth is 2^-22 of the whole at most. */
enum { CGTP_PRODUCTS = sizeof(real) == 4 ? 3 : 1 };

/* sum += a b: of the product of parts number `part`. What does not fit a float tensor cores cut off from sums of floats: these
 * are to be of 32 terms at most, and added up by cgtp_add_parts. */
CGTP_DEVICE void cgtp_add_product(real (&sum)[4], const cgtp_left &a, const cgtp_right &b, int part)
{
    constexpr int low = cgtp_left::parts - 1;
    cgtp_mma(sum, a.part[part == 0 ? low : 0], b.part[part == 1 ? low : 0]);
}
CGTP_DEVICE void cgtp_add_product(real (&sum)[4], const cgtp_left &a, const cgtp_right &b)
{
    CGTP_UNROLL
    for (int part = 0; part < CGTP_PRODUCTS; part++)
        cgtp_add_product(sum, a, b, part);
}

/* Of sums the first as those of so many tiles. */
template <int tiles> CGTP_DEVICE real (&cgtp_gemm_sums(real (*sums)[4]))[tiles][4]
{
    return *(real (*)[tiles][4])sums;
}

/* sum[j][i] += a[i] b[j]. Products that add to one sum are apart, so that few wait for the one before. */
template <int n, int m>
CGTP_DEVICE void cgtp_add_products(real (*sum)[n][4], const cgtp_left (&a)[n], const cgtp_right (&b)[m])
{
    CGTP_UNROLL
    for (int part = 0; part < CGTP_PRODUCTS; part++)
        CGTP_UNROLL
    for (int i = 0; i < n * m; i++)
        cgtp_add_product(sum[i / n][i % n], a[i % n], b[i / n], part);
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

/* Of channels u below a: how many blocks of 8 they are, how many those below each channel from 1 to a - 1 are together, and
 * the number of the pair (u, a) of n channels. */
CGTP_DEVICE int cgtp_gemm_blocks(int a)
{
    return (a + 7) / 8;
}
CGTP_DEVICE int cgtp_gemm_before(int a)
{
    const int eights = (a - 1) / 8;
    return (eights + 1) * (4 * eights + (a - 1) % 8);
}
template <int n> CGTP_DEVICE int64_t cgtp_gemm_number(int u, int a)
{
    return (int64_t)u * (2 * n - u - 1) / 2 + a - u - 1;
}

/* ---- products ---- */

/* sum[k] += left[k] w for 8 rows of w and 8 columns times `tiles`, as cgtp_arrange_weights puts them; of tiles the first
 * `some`, which a warp's lanes have alike. */
template <int words, int d, int tiles>
CGTP_DEVICE void cgtp_add_weighted(real (&sum)[d][tiles][4], const cgtp_left (&left)[d], const real *w, int some = tiles)
{
    cgtp_right right[tiles];
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++) {
        if (t >= some)
            break;
        real piece[2 * words];
        cgtp_load<2 * words>(piece, w + (t * CGTP_LANES + cgtp_lane()) * 2 * words);
        right[t].template set_piece<words>(piece);
    }
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++) {
        if (t >= some)
            break;
        CGTP_UNROLL
        for (int k = 0; k < d; k++)
            cgtp_add_product(sum[k][t], left[k], right[t]);
    }
}

/* sum += left[r][k] g[k], over 8 items and all components k, for each 16 rows r: element (i, j) of g[k] is g[i * pitch + j *
 * channel + k * component]. Channels from number `channels` on count as zero (all: there are none). parts: tensor cores add
 * up four components at most at a time. cut: blocks of channels may be none, of which nothing is added. */
template <int pitch, int channel, int component, bool all, bool parts, bool cut = false, int d, int rows, int n>
CGTP_DEVICE void cgtp_add_outer(real (&sum)[n][4], const cgtp_left (&left)[rows][d], const real *g, int channels)
{
    constexpr int some = parts ? 4 : d, tiles = n / rows;
    CGTP_UNROLL
    for (int first = 0; first < d; first += some) {
        real part[n][4] = {};
        CGTP_UNROLL
        for (int k = first; k < (first + some < d ? first + some : d); k++) {
            CGTP_UNROLL
            for (int t = 0; t < tiles; t++) {
                if (cut && t * 8 >= channels)
                    break;
                cgtp_right right;
                CGTP_UNROLL
                for (int i = 0; i < 2; i++) {
                    const int to = t * 8 + cgtp_gemm_row(0);
                    const real *const from = g + cgtp_gemm_column(2 * i) * pitch + to * channel + k * component;
                    right.set(i, all || to < channels ? *from : (real)0);
                }
                CGTP_UNROLL
                for (int r = 0; r < rows; r++)
                    cgtp_add_product(parts ? part[r * tiles + t] : sum[r * tiles + t], left[r][k], right);
            }
        }
        if constexpr (parts)
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

/* The components of two channels that are neighbours, `channel` elements apart, of which `count` are there; zeros for others. */
template <bool even, int step, int channel, int d>
CGTP_DEVICE void cgtp_take_pair(real (&to)[2][d], const real *from, int count)
{
    CGTP_UNROLL
    for (int i = 0; i < 2 * d; i++)
        to[i / d][i % d] = i / d < count ? from[i / d * channel + i % d * step] : (real)0;
}
/* The same of both; even: their elements are, by two, at even places. */
template <bool even, int step, int channel, int d>
CGTP_DEVICE void cgtp_take_pair(real (&to)[2][d], const real *from)
{
    if constexpr (even && step == 1 && channel == d) {
        real both[2 * d];
        cgtp_load<2 * d>(both, from);
        CGTP_UNROLL
        for (int i = 0; i < 2 * d; i++)
            to[i / d][i % d] = both[i];
    } else if constexpr (even && channel == 1) {
        CGTP_UNROLL
        for (int i = 0; i < d; i++) {
            real both[2];
            cgtp_load<2>(both, from + i * step);
            to[0][i] = both[0];
            to[1][i] = both[1];
        }
    } else {
        cgtp_take_pair<even, step, channel>(to, from, 2);
    }
}

/* Stores two channels of a row, of which `count` are there. */
template <bool even, int step, int channel, int d, typename T>
CGTP_DEVICE void cgtp_put_pair(T *to, const real (&from)[2][d], int count)
{
    constexpr bool dense = step == 1 && channel == d;
    if constexpr (even && (dense || channel == 1)) {
        if (count > 0)
            CGTP_UNROLL
        for (int i = 0; i < d; i++) {
            const int first = dense ? 2 * i : i, second = dense ? first + 1 : d + i;
            const real both[2] = {from[first / d][first % d], from[second / d][second % d]};
            cgtp_store_stream<2>(to + first * step, both);
        }
    } else {
        CGTP_UNROLL
        for (int i = 0; i < 2 * d; i++)
            if (i / d < count)
                cgtp_leave(to + i / d * channel + i % d * step, from[i / d][i % d]);
    }
}

/* Stores a product to rows that are `stride` elements apart, of which the first `count` are there: column j, component k of an item to
 * to[j * channel + k * component] of its row; columns from number `columns` on are none. even: rows and segment begin
 * at even places, and columns are even. value(k, i): component k of the lane's number i, of four in each tile. */
template <bool even, int channel, int component, int d, int tiles, typename T, typename Value>
CGTP_DEVICE void cgtp_put_sums(T *to, int64_t stride, int count, int columns, Value value)
{
    CGTP_UNROLL
    for (int i = 0; i < 2 * tiles; i++) {
        const int at = i / 2 * 8 + cgtp_gemm_pair(), item = cgtp_gemm_row(i);
        real both[2][d];
        CGTP_UNROLL
        for (int k = 0; k < 2 * d; k++)
            both[k / d][k % d] = value(k % d, 2 * i + k / d);
        if (item < count)
            cgtp_put_pair<even, component, channel>(to + item * stride + at * channel, both, columns - at);
    }
}
template <bool even, int channel, int component, int d, int tiles, typename T>
CGTP_DEVICE void cgtp_put_product(T *to, int64_t stride, int count, const real (&sum)[d][tiles][4], int columns)
{
    cgtp_put_sums<even, channel, component, d, tiles>(to, stride, count, columns,
                                                      [&](int k, int i) { return sum[k][i / 4][i % 4]; });
}
template <bool even, int channel, int component, int d, int n, typename T>
CGTP_DEVICE void cgtp_put_channels(T *to, int64_t stride, int count, const real (&sum)[n][d], int columns)
{
    cgtp_put_sums<even, channel, component, d, n / 4>(to, stride, count, columns, [&](int k, int i) { return sum[i][k]; });
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

/* Stores sums of weights, `groups` times 16 rows: row i, column j to to[i * row + j * column]; rows and columns from these
 * numbers on are none. */
template <int row, int column, int groups, int n>
CGTP_DEVICE void cgtp_put_weights(real *to, const real (&sum)[n][4], int rows, int columns)
{
    CGTP_UNROLL
    for (int t = 0; t < n; t++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++) {
        const int from = t / (n / groups) * 16 + cgtp_gemm_sum_row(i), at = t % (n / groups) * 8 + cgtp_gemm_sum_column(i);
        if (from < rows && at < columns)
            to[from * row + at * column] = sum[t][i];
    }
}

/* The same of weights of n channels below others, as they lie (cgtp_weights_below): row i, column j, a channel below `above`,
 * of which nothing is stored from there on. */
template <int n, int columns, int groups, int tiles>
CGTP_DEVICE void cgtp_put_weights_below(real *to, const real (&sum)[tiles][4], int row, int column, int above)
{
    CGTP_UNROLL
    for (int t = 0; t < tiles; t++)
        CGTP_UNROLL
    for (int i = 0; i < 4; i++) {
        const int w = row + t / (tiles / groups) * 16 + cgtp_gemm_sum_row(i);
        const int u = column + t % (tiles / groups) * 8 + cgtp_gemm_sum_column(i);
        if (w < columns && u < above)
            to[cgtp_gemm_number<n>(u, above) * columns + w] = sum[t][i];
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

/* Starts the copy of a tile's rows of n elements, by 16 bytes or by elements, of `warps` warps, each of which takes some
 * rows at a time. Rows from `count` on, of items that there are not, become zero. All lanes of a warp call. */
template <int n, bool wide, int warps, int items, int pitch, typename T>
CGTP_DEVICE void cgtp_copy_items(real (&to)[items][pitch], const T *from, int64_t stride, int count, int warp,
                                 cgtp_policy policy)
{
    constexpr int each = wide ? CGTP_WIDE : 1, pieces = n / each;
    constexpr int rows = pieces < CGTP_LANES ? CGTP_LANES / pieces : 1, step = pieces < CGTP_LANES ? pieces : CGTP_LANES;
    const int lane = cgtp_lane(), mine = warp * rows + lane / step;
    real *const first = (real *)cgtp_pinned_shared((unsigned char *)(to[0] + mine * pitch + lane % step * each));
    const T *const source = from + mine * stride + lane % step * each;
    auto copy = [&](int row, int piece) {
        if constexpr (wide)
            cgtp_bring16(first + row * pitch + piece * each, source + row * stride + piece * each, policy);
        else
            cgtp_bring(first + row * pitch + piece, source + row * stride + piece);
    };
    if (rows > 1 && lane >= rows * step)
        return;
    if (count >= items) {
        CGTP_UNROLL
        for (int row = 0; row < items; row += rows * warps)
            if (items % (rows * warps) == 0 || row + mine < items)
                CGTP_UNROLL_BY(8)
        for (int piece = 0; piece < pieces; piece += CGTP_LANES)
            if (rows > 1 || pieces % CGTP_LANES == 0 || piece + lane < pieces)
                copy(row, piece);
    } else {
        CGTP_LOOP
        for (int row = 0; row + mine < items; row += rows * warps)
            CGTP_LOOP
        for (int piece = 0; piece < pieces && (rows > 1 || piece + lane < pieces); piece += CGTP_LANES)
            if (row + mine < count)
                copy(row, piece);
            else
                CGTP_UNROLL
        for (int k = 0; k < each; k++)
            first[row * pitch + piece * each + k] = 0;
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

/* ---- on the host ---- */

/* A kernel beside others: the items that a multiprocessor has at a time, what these take, and how many have them together. */
struct cgtp_gemm_kernel {
    int items, time, step;
};

/* The multiprocessors of one of some kernels: of few items as many as let all end soonest, side by side, each of them
 * with more tiles for a team; of more items all. */
template <int n> static inline int64_t cgtp_gemm_share(int64_t items, const cgtp_gemm_kernel (&kernel)[n], int which)
{
    const int64_t all = cgtp_multiprocessors(), few = 256 * all;
    if (n == 1 || items > few)
        return all;
    int64_t time = 0, next = 0, sum, mine; /* from the time on that they take without a rest of tiles */
    for (int k = 0; k < n; k++)
        next += items * kernel[k].time / kernel[k].items;
    next /= all;
    do {
        time = next > time + time / 32 ? next : time + time / 32; /* a few turns of this loop */
        sum = mine = 0, next = INT64_MAX;
        for (int k = 0; k < n; k++) {
            const int64_t turn = (kernel[k].time + kernel[k].step - 1) / kernel[k].step, turns = time > turn ? time / turn : 1;
            const int64_t tiles = (items + kernel[k].items - 1) / kernel[k].items, times = turns / tiles;
            const int64_t some = times ? (kernel[k].step + times - 1) / times : (tiles + turns - 1) / turns * kernel[k].step;
            sum += some, mine = k == which ? some : mine;
            next = (turns + 1) * turn < next ? (turns + 1) * turn : next;
        }
    } while (sum > all && sum > n);
    return mine > 1 ? mine : 1;
}

/* Blocks of a launch, one on each of its multiprocessors, each with so many tiles at a time. */
template <int n>
static inline int64_t cgtp_gemm_grid(int64_t items, const cgtp_gemm_kernel (&kernel)[n], int which, int at_a_time)
{
    const int64_t most = cgtp_gemm_share(items, kernel, which);
    const int64_t tiles = (items + CGTP_GEMM_ITEMS - 1) / CGTP_GEMM_ITEMS, blocks = (tiles + at_a_time - 1) / at_a_time;
    return blocks < most ? blocks : most;
}

/* Partial sums over all items, where `sets` blocks together make one, `fit` of them on a multiprocessor; as many as there
 * can be; of so many items, `each` of them a tile. */
static inline int64_t cgtp_gemm_parts(int64_t multiprocessors, int fit, int sets)
{
    const int64_t most = multiprocessors * fit / sets;
    return most > 1 ? most : 1;
}
static inline int64_t cgtp_gemm_parts(int fit, int sets)
{
    return cgtp_gemm_parts(cgtp_multiprocessors(), fit, sets);
}
template <int n>
static inline int64_t cgtp_gemm_parts(int64_t items, int each, const cgtp_gemm_kernel (&kernel)[n], int which, int fit,
                                      int sets)
{
    const int64_t most = cgtp_gemm_parts(cgtp_gemm_share(items, kernel, which), fit, sets), tiles = (items + each - 1) / each;
    return tiles < most ? tiles : most;
}

} // namespace

#endif
