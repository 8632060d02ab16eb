/* SPDX-License-Identifier: MIT */
/* cgtp_convert.h - arrays of one type made of arrays of another, in a kernel of its own: copies of inputs in the type
 * that is computed with, and outputs that are rounded once from sums. Included after cgtp_launch.h.
 */
#ifndef CGTP_CONVERT_H
#define CGTP_CONVERT_H

#include "cgtp_cuda_narrow.h"
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

template <typename To, typename From> CGTP_DEVICE cgtp_pair<To> cgtp_converted_pair(cgtp_pair<From> x)
{
    return {cgtp_converted<To>(x.low), cgtp_converted<To>(x.high)};
}

/* Numbers per thread and turn: 16 bytes at most, of either type. The last ones of rows that no whole turns are of, and
 * rows that are not made of them, one by one. */
template <typename From, typename To> CGTP_BOTH constexpr int cgtp_convert_wide(void)
{
    return sizeof(From) > 4 || sizeof(To) > 4 ? 2 : 4;
}

enum { CGTP_CONVERT_BLOCK = 256 };
template <typename From, typename To>
CGTP_KERNEL(CGTP_CONVERT_BLOCK, 4)
cgtp_convert_kernel(const int64_t rows, const int64_t n, const From *from, const int64_t from_stride, To *to,
                    const int64_t to_stride)
{
    constexpr int wide = cgtp_convert_wide<From, To>();
    const int64_t first = cgtp_block() * (int64_t)CGTP_CONVERT_BLOCK + cgtp_thread(), turns = (n + wide - 1) / wide;
    const bool whole = rows == 1 || n % wide == 0; /* all rows begin where a turn may */
    cgtp_launch_next();
    cgtp_launch_wait();
    for (int64_t i = first; i < rows * turns; i += (int64_t)cgtp_blocks() * CGTP_CONVERT_BLOCK) {
        const int64_t row = rows == 1 ? 0 : i / turns, at = wide * (i - row * turns);
        const From *const r = from + row * from_stride + at;
        To *const s = to + row * to_stride + at;
        if (!whole || at + wide > n) {
            CGTP_LOOP
            for (int j = 0; j < wide && at + j < n; j++)
                s[j] = cgtp_converted<To>(r[j]);
        } else if constexpr (wide == 4) {
            const auto four = cgtp_read_pair((const cgtp_pair<From> *)r);
            cgtp_write_pair((cgtp_pair<To> *)s, cgtp_pair<cgtp_pair<To>>{cgtp_converted_pair<To>(four.low),
                                                                         cgtp_converted_pair<To>(four.high)});
        } else {
            cgtp_write_pair(s, cgtp_converted_pair<To>(cgtp_read_pair(r)));
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
    const int64_t each = cgtp_convert_wide<From, To>() * CGTP_CONVERT_BLOCK, blocks = rows * n / each + 1;
    const int64_t fit = cgtp_multiprocessors() * (int64_t)8;
    return cgtp_launch_early(cgtp_convert_kernel<From, To>, blocks < fit ? blocks : fit, CGTP_CONVERT_BLOCK, 0, stream,
                             rows, n, from, from_stride, to, to_stride);
}

} // namespace

#endif
