/* SPDX-License-Identifier: MIT */
/* cgtp_convert.h - arrays of one type made of arrays of another, in a kernel of its own: copies of inputs in the type
 * that is computed with, and outputs that are rounded once from sums. Included after cgtp_launch.h.
 */
#ifndef CGTP_CONVERT_H
#define CGTP_CONVERT_H

#include "cgtp_launch.h"

namespace
{

/* A number in another type; to fewer bits rounded to nearest even. */
template <typename To, typename From> CGTP_DEVICE To cgtp_converted(From x)
{
    To to;
    if constexpr (sizeof(From) == 2)
        to = (To)cgtp_widen(x);
    else if constexpr (sizeof(To) > 2)
        to = (To)x;
    else if constexpr (sizeof(From) == 8)
        cgtp_round(&to, cgtp_double_to_odd(x));
    else
        cgtp_round(&to, x);
    return to;
}

/* Two numbers per thread and turn: of rows of an odd number of them, the last one by itself. */
enum { CGTP_CONVERT_BLOCK = 256, CGTP_CONVERT_TURNS = 4 };
template <typename From, typename To>
CGTP_KERNEL(CGTP_CONVERT_BLOCK, 4)
cgtp_convert_kernel(const int64_t rows, const int64_t n, const From *from, const int64_t from_stride, To *to,
                    const int64_t to_stride)
{
    const int64_t first = cgtp_block() * (int64_t)CGTP_CONVERT_BLOCK + cgtp_thread(), turns = (n + 1) / 2;
    const bool pairs = rows == 1 || n % 2 == 0; /* begin at even elements of both */
    cgtp_launch_next();
    cgtp_launch_wait();
    for (int64_t i = first; i < rows * turns; i += (int64_t)cgtp_blocks() * CGTP_CONVERT_BLOCK) {
        const int64_t row = rows == 1 ? 0 : i / turns, at = 2 * (i - row * turns);
        const From *const r = from + row * from_stride + at;
        To *const s = to + row * to_stride + at;
        if (pairs && at + 1 < n) {
            const cgtp_pair<From> pair = cgtp_read_pair(r);
            cgtp_write_pair(s, cgtp_pair<To>{cgtp_converted<To>(pair.low), cgtp_converted<To>(pair.high)});
        } else {
            s[0] = cgtp_converted<To>(r[0]);
            if (at + 1 < n)
                s[1] = cgtp_converted<To>(r[1]);
        }
    }
}

/* Rows of n numbers, that begin so many elements after each other. */
template <typename From, typename To>
static inline cgtp_status cgtp_convert(int64_t rows, int64_t n, const From *from, int64_t from_stride, To *to,
                                       int64_t to_stride, cgtp_stream stream)
{
    if (rows == 0 || n == 0)
        return CGTP_OK;
    if (from_stride == n && to_stride == n) {
        n *= rows;
        rows = 1;
    }
    const int64_t each = 2 * CGTP_CONVERT_BLOCK * CGTP_CONVERT_TURNS, blocks = rows * n / each + 1;
    const int64_t fit = cgtp_multiprocessors() * (int64_t)8;
    return cgtp_launch_early(cgtp_convert_kernel<From, To>, blocks < fit ? blocks : fit, CGTP_CONVERT_BLOCK, 0, stream,
                             rows, n, from, from_stride, to, to_stride);
}

} // namespace

#endif
