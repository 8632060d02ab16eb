/* SPDX-License-Identifier: MIT */
/* cgtp_batch.h - the pipelined batch: which items a warp has, and the rows of their channel blocks. Included
 * after cgtp_cuda.h.
 */
#ifndef CGTP_BATCH_H
#define CGTP_BATCH_H

#include "cgtp_convolution.h"

namespace
{

/* The channel blocks of a warp's items, one after the other, and where their rows are: in a ring of buffers.
 * It stands before the first until it is advanced. Warps take items in turn, so that rows in use at one time
 * are near each other. Addresses go round as in cgtp_ring. */
template <typename Rows, int buffers, int blocks> struct cgtp_channel_blocks {
    int64_t item, step; /* from one item of the warp to its next */
    int block;
    cgtp_address first, at;

    CGTP_MEMBER cgtp_channel_blocks(Rows (&rows)[buffers], int warps)
        : item((int64_t)(cgtp_block() - cgtp_blocks()) * warps + cgtp_warp()),
          step((int64_t)cgtp_blocks() * warps), block(blocks - 1), first(cgtp_address_of(rows)),
          at(first + (buffers - 1) * (int)sizeof(Rows))
    {
    }

    /* How many there are, before the first. */
    CGTP_MEMBER int left(int64_t items) const
    {
        return items > item + step ? (int)((items - item - 1) / step) * blocks : 0;
    }

    CGTP_MEMBER void advance(void)
    {
        at = at - first == (buffers - 1) * (int)sizeof(Rows) ? first : at + (int)sizeof(Rows);
        block = block == blocks - 1 ? 0 : block + 1;
        if (block == 0)
            item += step;
    }

    CGTP_MEMBER const Rows &rows(void) const
    {
        return *(const Rows *)cgtp_pointer(at);
    }

    /* Moved on by the lane's 16 bytes: each field begins where the lane copies to. */
    CGTP_MEMBER Rows &lanes_own(int lane) const
    {
        return *(Rows *)cgtp_opaque_shared(cgtp_pointer(at) + lane * 16);
    }
};

/* ---- on the host ---- */

/* Blocks of a launch: what the device holds, or a warp per item. */
static inline int64_t cgtp_batch_grid(int64_t items, int warps, int per_multiprocessor)
{
    const int64_t fit = cgtp_multiprocessors() * (int64_t)per_multiprocessor, most = (items + warps - 1) / warps;
    return most < fit ? most : fit;
}

} // namespace

#endif
