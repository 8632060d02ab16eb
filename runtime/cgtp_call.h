/* SPDX-License-Identifier: MIT */
/* cgtp_call.h - what launchers of both backends check of a call: arrays, sizes, the workspace. C11 and C++. */
#ifndef CGTP_CALL_H
#define CGTP_CALL_H

#include "cgtp.h"

/* Elements from a row to the next: as many as the caller says, or for 0 as a row has. */
static inline int64_t cgtp_stride(int64_t stride, int64_t dim)
{
    return stride ? stride : dim;
}

/* An array of rows of dim elements of so many bytes, `stride` after each other: present, not overlapping, addressable,
 * and aligned: it begins at a multiple of 16 bytes, and strides are multiples of the largest power of two of bytes, 16 at
 * most, of which a row is. */
static inline cgtp_status cgtp_check_array(const void *array, int64_t rows, int64_t dim, int64_t stride, size_t size)
{
    const uint64_t row = (uint64_t)dim * size | 16;
    if (rows < 0 || stride < dim || (stride > 0 && rows > PTRDIFF_MAX / (int64_t)size / stride))
        return CGTP_BAD_SIZE;
    if (!array)
        return rows && dim ? CGTP_NULL_POINTER : CGTP_OK;
    return (uintptr_t)array % 16 || (uint64_t)stride * size % (row & (~row + 1)) ? CGTP_MISALIGNED : CGTP_OK;
}

/* Where an area of n rows of `each` bytes ends that begins at byte `at` of the workspace, in whole units of
 * `line` bytes. CGTP_NO_WORKSPACE: n is negative, or that is more than can be addressed. */
static inline size_t cgtp_area_end(size_t at, int64_t n, size_t each, size_t line)
{
    const size_t most = (size_t)PTRDIFF_MAX - line;
    if (n < 0 || at > most || (each && (uint64_t)n > (most - at) / each))
        return CGTP_NO_WORKSPACE;
    return at + ((size_t)n * each + line - 1) / line * line;
}

/* Is the caller's workspace as the kernel needs it? */
static inline cgtp_status cgtp_check_workspace(const void *workspace, size_t bytes, size_t needed)
{
    if (needed == CGTP_NO_WORKSPACE)
        return CGTP_BAD_SIZE;
    if ((uintptr_t)workspace % 16)
        return CGTP_MISALIGNED;
    return needed && (!workspace || bytes < needed) ? CGTP_WORKSPACE : CGTP_OK;
}

#endif
