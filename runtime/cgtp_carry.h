/* SPDX-License-Identifier: MIT */
/* cgtp_carry.h - the pipelined convolution: sums that carry rounding errors along. Included after cgtp_cuda.h. */
#ifndef CGTP_CARRY_H
#define CGTP_CARRY_H

#include "cgtp_convolution.h"

namespace
{

/* Adds `rest` to the sum, and leaves in it what rounding took away: Kahan's summation, where `rest` has collected
 * what else is to be added. The error of the sum is about that of two roundings, of however many terms. To a sum of a
 * wider type it is added, and nothing of it is left. */
template <int begin = 0, int last = INT32_MAX, int n, typename Sum>
CGTP_DEVICE void cgtp_carry(Sum (&sum)[n], real (&rest)[n])
{
    constexpr int end = last < n ? last : n;
    CGTP_UNROLL
    for (int i = begin; i < end; i++)
        if constexpr (sizeof(Sum) > sizeof(real)) {
            sum[i] += (Sum)rest[i];
            rest[i] = 0;
        } else {
            const real total = sum[i] + rest[i], added = total - sum[i];
            rest[i] -= added;
            sum[i] = total;
        }
}

/* The sum, in the place of the rest. */
template <int n, typename Sum> CGTP_DEVICE void cgtp_finish(const Sum (&sum)[n], real (&rest)[n])
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        rest[i] = (real)(sum[i] + (Sum)rest[i]);
}

/* A lane's sums with their errors, as cgtp_plain. Those of a wider type are two numbers of a partial row, what rounding
 * leaves and what it takes away. */
template <int n, typename Sum> struct cgtp_carried {
    static constexpr bool wide = sizeof(Sum) > sizeof(real);
    static constexpr int elements = n, part = 32, ahead = 1; /* there are no registers to load more ahead */
    static constexpr int words = wide ? 2 : 1;
    Sum (&sum)[n];
    real (&rest)[n];

    CGTP_MEMBER cgtp_carried(Sum (&sum_)[n], real (&rest_)[n]) : sum(sum_), rest(rest_)
    {
    }
    CGTP_MEMBER void spill(real *row) const
    {
        if constexpr (wide)
            cgtp_carry(sum, rest);
        cgtp_finish(sum, rest);
        cgtp_plain<n>(rest).spill(row);
        CGTP_UNROLL
        for (int i = 0; i < n && wide; i++)
            row[(n + i) * CGTP_LANES] = (real)(sum[i] - (Sum)rest[i]);
    }
    template <int begin, int end, int, bool near>
    CGTP_MEMBER void add(const real *row, int64_t step, int rows) const
    {
        if constexpr (wide) {
            CGTP_UNROLL
            for (int i = begin; i < end; i++)
                sum[i] += (Sum)cgtp_read_partial<near>(row + i * CGTP_LANES) +
                          (Sum)cgtp_read_partial<near>(row + (n + i) * CGTP_LANES);
        } else {
            cgtp_plain<n>(rest).template add<begin, end, 1, near>(row, step, rows);
            cgtp_carry<begin, end>(sum, rest);
        }
    }
};

/* Of a sum over rows, as cgtp_plain_elements. */
template <typename Sum, int n> struct cgtp_carried_chunk {
    Sum (&sum)[n];
    real (&rest)[n];

    CGTP_MEMBER void add(const real (&r)[n]) const
    {
        cgtp_plain_elements<n>{rest}.add(r);
        cgtp_carry(sum, rest);
    }
};
template <typename Sum, int n> cgtp_carried_chunk(Sum (&)[n], real (&)[n]) -> cgtp_carried_chunk<Sum, n>;

} // namespace

#endif
