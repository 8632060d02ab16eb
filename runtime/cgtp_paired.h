/* SPDX-License-Identifier: MIT */
/* cgtp_paired.h - paired items: a thread's channel in rows of items. Included after cgtp_cuda.h. */
#ifndef CGTP_PAIRED_H
#define CGTP_PAIRED_H

#include "cgtp_item.h"
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

} // namespace

#endif
