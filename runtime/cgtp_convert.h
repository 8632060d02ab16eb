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

/* Two numbers per thread and turn. */
enum { CGTP_CONVERT_BLOCK = 256, CGTP_CONVERT_TURNS = 4 };
template <typename From, typename To>
CGTP_KERNEL(CGTP_CONVERT_BLOCK, 4)
cgtp_convert_kernel(const int64_t n, const From *from, To *to)
{
    const int64_t first = cgtp_block() * (int64_t)CGTP_CONVERT_BLOCK + cgtp_thread(), pairs = n / 2;
    cgtp_launch_next();
    for (int64_t i = first; i < pairs; i += (int64_t)cgtp_blocks() * CGTP_CONVERT_BLOCK) {
        const cgtp_pair<From> pair = cgtp_read_pair(from + 2 * i);
        cgtp_write_pair(to + 2 * i, cgtp_pair<To>{cgtp_converted<To>(pair.low), cgtp_converted<To>(pair.high)});
    }
    if (first == 0 && n % 2)
        to[n - 1] = cgtp_converted<To>(from[n - 1]);
}

template <typename From, typename To>
static inline cgtp_status cgtp_convert(int64_t n, const From *from, To *to, cgtp_stream stream)
{
    const int64_t each = 2 * CGTP_CONVERT_BLOCK * CGTP_CONVERT_TURNS, blocks = n / each + 1;
    const int64_t fit = cgtp_multiprocessors() * (int64_t)8;
    return n == 0 ? CGTP_OK
                  : cgtp_launch(cgtp_convert_kernel<From, To>, blocks < fit ? blocks : fit, CGTP_CONVERT_BLOCK, 0,
                                stream, n, from, to);
}

} // namespace

#endif
