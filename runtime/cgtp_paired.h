/* SPDX-License-Identifier: MIT */
/* cgtp_paired.h - paired items: a thread's channel in rows of items. Included after cgtp_cuda.h. */
#ifndef CGTP_PAIRED_H
#define CGTP_PAIRED_H

#include "cgtp_item.h"
#include "cgtp_narrow.h"
#include "cgtp_rows.h"

namespace
{

/* The d components of a channel, `step` elements apart in a row. */
template <int d, int step> CGTP_DEVICE void cgtp_take_channel(real *r, const real *row)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        r[i] = row[i * step];
}

/* Stores them there, or adds them to what is there already. */
template <int d, int step> CGTP_DEVICE void cgtp_leave_channel(real *row, const real *r, bool first)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        row[i * step] = first ? r[i] : row[i * step] + r[i];
}

/* The same of rows in memory, whose numbers may have 16 bits. */
template <int d, int step> CGTP_DEVICE void cgtp_read_channel(real *r, const real *row)
{
    cgtp_take_channel<d, step>(r, row);
}
template <int d, int step, typename T> CGTP_DEVICE void cgtp_read_channel(real *r, const T *row)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        cgtp_read_given<1>(r + i, row + i * step);
}
template <int d, int step, typename T> CGTP_DEVICE void cgtp_write_channel(T *row, const real *r)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++)
        cgtp_leave(row + i * step, r[i]);
}

} // namespace

#endif
