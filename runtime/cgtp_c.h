/* SPDX-License-Identifier: MIT */
/* cgtp_c.h - what the generated C kernels share: argument checks, layouts, sums, division of work.
 *
 * Included by generated .c files after they define the type `real` (float or double). Everything is static,
 * so that a compiler can inline it and products of both precisions can live in one program.
 *
 * Layouts. Kernels compute on rows in component order, element (u, i) of a segment at i * mul + u, in which
 * channels are contiguous and loops over them vectorise. Rows in layout ir_mul are in that order; those in
 * mul_ir, with (u, i) at u * (2l+1) + i, are transposed.
 */
#ifndef CGTP_C_H
#define CGTP_C_H

#include "cgtp_call.h"

#include <string.h>
#ifdef __cplusplus
#define restrict __restrict /* what compilers of C++ call it */
#define CGTP_ZEROED {}
#else
#define CGTP_ZEROED {0} /* the initialiser of a struct all of zeros, of which no compiler warns */
#endif
#ifdef _OPENMP
#include <omp.h>
#define CGTP_PARALLEL _Pragma("omp parallel for schedule(static, 1)")
#else
#define CGTP_PARALLEL
#endif

/* Parts into which the items are cut when an output sums over all of them: fixed, so that the sum does not
 * depend on the number of threads. */
#define CGTP_SHARED_PARTS 16

/* Threads that a launch may use. */
static inline int64_t cgtp_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* The first of the elements that part `part` of `parts` gets out of n. */
static inline int64_t cgtp_part(int64_t n, int64_t part, int64_t parts)
{
    return n / parts * part + (n % parts < part ? n % parts : part);
}

/* The first row of part `part` when rows are divided so that each part has about as many edges: row pointers first[0 .. rows]. */
static inline int64_t cgtp_part_by_edges(const int64_t *first, int64_t rows, int64_t part, int64_t parts)
{
    if (part == 0 || part == parts)
        return part ? rows : 0;
    int64_t edge = cgtp_part(first[rows], part, parts), low = 0, high = rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (first[middle] < edge)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An output that sums over no items. */
static inline void cgtp_zero_rows(int64_t rows, size_t bytes, size_t stride, void *a)
{
    for (int64_t r = 0; r < rows && bytes; r++)
        memset((char *)a + (size_t)r * stride, 0, bytes);
}

/* Sums in double of numbers of another type. */
static inline void cgtp_zero_sums(int64_t n, double *restrict sum)
{
    memset(sum, 0, (size_t)n * sizeof *sum);
}
static inline void cgtp_add_sums(int64_t n, const double *restrict term, double *restrict sum)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += term[i];
}

/* Channels of which products by tables make sums at a time. */
enum { CGTP_TABLE_CHANNELS = 64 };

/* A segment of a row of x, y or z: mul channels of d components from `offset` on. */
struct cgtp_segment {
    int64_t offset, mul;
    int d;
};

#endif

/* From here on everything depends on `real`. In a unity build (cgtp_unity.h) it is read once for each file. */
#ifndef CGTP_C_REAL_H
#define CGTP_C_REAL_H

static inline void cgtp_zero(int64_t n, real *restrict a)
{
    memset(a, 0, (size_t)n * sizeof *a);
}

/* A matrix by tables: the terms value[t] a[j] of which its entries are sums, for t from start[j] to start[j + 1], each of
 * the entry in cell[t] = row * columns + column. */
struct cgtp_terms {
    int rows, columns, depth;
    const int *start;
    const unsigned short *cell;
    const real *value;
};
static inline void cgtp_table_matrix(real *restrict out, const struct cgtp_terms *m, int64_t step, const real *restrict a)
{
    cgtp_zero((int64_t)m->rows * m->columns, out);
    for (int j = 0; j < m->depth; j++)
        for (int t = m->start[j]; t < m->start[j + 1]; t++)
            out[m->cell[t]] += m->value[t] * a[j * step];
}

/* A function of d components that is compiled for the usual numbers of them, so that its loops over channels vectorise with
 * the components unrolled inside. */
#define CGTP_BY_COMPONENTS(function, d, ...)                                                                 \
    switch (d) {                                                                                             \
    case 1:                                                                                                  \
        function(1, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 3:                                                                                                  \
        function(3, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 5:                                                                                                  \
        function(5, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 7:                                                                                                  \
        function(7, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    default:                                                                                                 \
        function(d, __VA_ARGS__);                                                                            \
    }

/* One segment of a row from mul_ir order to components. */
static inline void cgtp_to_components(int d, int64_t mul, const real *restrict row, real *restrict out)
{
    for (int i = 0; i < d; i++)
        for (int64_t u = 0; u < mul; u++)
            out[i * mul + u] = row[u * d + i];
}

/* And back, in place; scratch holds mul * d elements. */
static inline void cgtp_from_components(int d, int64_t mul, real *restrict row, real *restrict scratch)
{
    memcpy(scratch, row, (size_t)(mul * d) * sizeof *row);
    for (int i = 0; i < d; i++)
        for (int64_t u = 0; u < mul; u++)
            row[u * d + i] = scratch[i * mul + u];
}

/* A whole row to components; one channel or one component is in that order already. */
static inline void cgtp_row_to_components(int n, const struct cgtp_segment *s, const real *restrict row,
                                          real *restrict out)
{
    for (; n > 0; n--, s++)
        if (s->mul == 1 || s->d == 1)
            memcpy(out + s->offset, row + s->offset, (size_t)(s->mul * s->d) * sizeof *row);
        else
            CGTP_BY_COMPONENTS(cgtp_to_components, s->d, s->mul, row + s->offset, out + s->offset)
}

/* And back, in place; scratch holds the longest segment. */
static inline void cgtp_row_from_components(int n, const struct cgtp_segment *s, real *restrict row,
                                            real *restrict scratch)
{
    for (; n > 0; n--, s++)
        if (s->mul != 1 && s->d != 1)
            CGTP_BY_COMPONENTS(cgtp_from_components, s->d, s->mul, row + s->offset, scratch)
}

/* Sum of n numbers in a fixed order: 16 interleaved partial sums, then pairwise. */
static inline real cgtp_sum(int64_t n, const real *restrict a)
{
    enum { LANES = 16 };
    real lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += a[i + l];
    for (int l = 0; i + l < n; l++)
        lane[l] += a[i + l];
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

/* Compilers that are told to reassociate sums find that rounding errors are zero. Clang can be told not to, here;
 * GCC cannot, and files with compensated sums refuse to be compiled so. */
#if !defined __clang__ && (defined __ASSOCIATIVE_MATH__ || (defined __FAST_MATH__ && __GNUC__ < 12))
#define CGTP_REASSOCIATES
#endif

/* sum += term, with the rounding errors gathered in `error` (Neumaier's variant of Kahan's summation); the total is sum + error. */
static inline void cgtp_add_compensated(int64_t n, const real *restrict term, real *restrict sum,
                                        real *restrict error)
{
#ifdef __clang__
#pragma clang fp reassociate(off)
#endif
    for (int64_t i = 0; i < n; i++) {
        real s = sum[i], t = term[i], total = s + t;
        real larger = (s < 0 ? -s : s) >= (t < 0 ? -t : t) ? s : t, smaller = larger == s ? t : s;
        error[i] += (larger - total) + smaller;
        sum[i] = total;
    }
}

static inline void cgtp_add(int64_t n, const real *restrict term, real *restrict sum)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += term[i];
}

static inline void cgtp_add_wide(int64_t n, const real *restrict term, double *restrict sum)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += (double)term[i];
}

/* sum_c a[c] b[c] in a fixed order: 8 interleaved partial sums where there are as many terms. */
static inline real cgtp_dot(int64_t n, const real *restrict a, const real *restrict b)
{
    enum { LANES = 8 };
    real sum = 0, lane[LANES] = {0};
    const int64_t whole = n / LANES * LANES;
    for (int64_t c = 0; c < whole; c += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += a[c + l] * b[c + l];
    for (int64_t c = whole; c < n; c++)
        sum += a[c] * b[c];
    if (whole)
        sum += ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    return sum;
}

/* Products with a block of weights W, n rows of m columns at stride ld, for d components: vectors of rows are [d,n],
 * vectors of columns [d,m]. */
static inline void cgtp_weights_columns_d(int d, int64_t n, int64_t m, int64_t ld, const real *restrict w,
                                          const real *restrict in, real *restrict out)
{
    for (int64_t r = 0; r + 4 <= n; r += 4) { /* four rows a sweep: sums are read and written less often */
        const real *restrict w0 = w + r * ld, *restrict w1 = w0 + ld, *restrict w2 = w1 + ld,
                             *restrict w3 = w2 + ld;
        for (int k = 0; k < d; k++) {
            const real *restrict from = in + k * n + r;
            const real in0 = from[0], in1 = from[1], in2 = from[2], in3 = from[3];
            real *restrict to = out + k * m;
            for (int64_t c = 0; c < m; c++)
                to[c] += in0 * w0[c] + in1 * w1[c] + in2 * w2[c] + in3 * w3[c];
        }
    }
    for (int rest = 0; rest < n % 4; rest++) {
        const int64_t r = n / 4 * 4 + rest;
        for (int k = 0; k < d; k++)
            for (int64_t c = 0; c < m; c++)
                out[k * m + c] += in[k * n + r] * w[r * ld + c];
    }
}

#if defined __GNUC__ && defined __AVX__
/* out[0..3] += the dots of four rows of W and a vector, the sums of cgtp_dot: GCC makes code of that loop that is six times
 * as slow as this, for it turns lanes into scalars; and of this without the pragmas, fourteen, for lanes lie in memory. */
#define CGTP_FOUR_DOTS
typedef real cgtp_eight __attribute__((vector_size(8 * sizeof(real))));
static inline void cgtp_four_dots(int64_t m, int64_t ld, const real *restrict w, const real *restrict in, real *restrict out)
{
    cgtp_eight lane[4] = {{0}, {0}, {0}, {0}};
    const int64_t whole = m / 8 * 8;
    for (int64_t c = 0; c < whole; c += 8) {
        cgtp_eight b, a[4];
        __builtin_memcpy(&b, in + c, sizeof b);
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            __builtin_memcpy(&a[r], w + r * ld + c, sizeof b);
            lane[r] += a[r] * b;
        }
    }
    _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
        real l[8], sum = 0;
        __builtin_memcpy(l, &lane[r], sizeof l);
        for (int64_t c = whole; c < m; c++)
            sum += w[r * ld + c] * in[c];
        out[r] += sum + (((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7])));
    }
}
#endif

static inline void cgtp_weights_rows_d(int d, int64_t n, int64_t m, int64_t ld, const real *restrict w,
                                       const real *restrict in, real *restrict out)
{
    int64_t done = 0;
#ifdef CGTP_FOUR_DOTS
    done = n / 4 * 4;
    for (int64_t r = 0; r < done; r += 4)
        for (int k = 0; k < d; k++)
            cgtp_four_dots(m, ld, w + r * ld, in + k * m, out + k * n + r);
#endif
    for (int64_t rest = 0; rest < n - done; rest++)
        for (int k = 0; k < d; k++)
            out[k * n + done + rest] += cgtp_dot(m, w + (done + rest) * ld, in + k * m);
}

static inline void cgtp_weights_outer_d(int d, int64_t n, int64_t m, int64_t ld, const real *restrict in,
                                        const real *restrict at, real *restrict gw)
{
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < m; c++) {
            real sum = gw[r * ld + c];
            for (int k = 0; k < d; k++)
                sum += in[k * n + r] * at[k * m + c];
            gw[r * ld + c] = sum;
        }
}

/* out[k,c] += sum_r in[k,r] W[r,c] */
static inline void cgtp_weights_columns(int d, int64_t n, int64_t m, int64_t ld, const real *restrict w,
                                        const real *restrict in, real *restrict out)
{
    CGTP_BY_COMPONENTS(cgtp_weights_columns_d, d, n, m, ld, w, in, out)
}

/* out[k,r] += sum_c W[r,c] in[k,c] */
static inline void cgtp_weights_rows(int d, int64_t n, int64_t m, int64_t ld, const real *restrict w,
                                     const real *restrict in, real *restrict out)
{
    CGTP_BY_COMPONENTS(cgtp_weights_rows_d, d, n, m, ld, w, in, out)
}

/* gW[r,c] += sum_k in[k,r] at[k,c] */
static inline void cgtp_weights_outer(int d, int64_t n, int64_t m, int64_t ld, const real *restrict in,
                                      const real *restrict at, real *restrict gw)
{
    CGTP_BY_COMPONENTS(cgtp_weights_outer_d, d, n, m, ld, in, at, gw)
}

/* Without weights, for n channels that are summed and m of the sum: out[k,c] += sum_b t[k,b], and back: p[k,b] = sum_c in[k,c] */
static inline void cgtp_ones_z(int d, int64_t n, int64_t m, const real *restrict t, real *restrict out)
{
    for (int k = 0; k < d; k++) {
        const real sum = cgtp_sum(n, t + k * n);
        for (int64_t c = 0; c < m; c++)
            out[k * m + c] += sum;
    }
}

static inline void cgtp_ones_p(int d, int64_t n, int64_t m, const real *restrict in, real *restrict p)
{
    for (int k = 0; k < d; k++) {
        const real sum = cgtp_sum(m, in + k * m);
        for (int64_t b = 0; b < n; b++)
            p[k * n + b] = sum;
    }
}

#endif
