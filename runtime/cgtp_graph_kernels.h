/* SPDX-License-Identifier: MIT */
/* cgtp_graph_kernels.h - the kernels of cgtp_graph.cu but those that sort: one looks for faults of a graph, others gather and
 * add rows on their way between devices. Included after cgtp_cuda.h.
 */
#ifndef CGTP_GRAPH_KERNELS_H
#define CGTP_GRAPH_KERNELS_H

#include "cgtp_convert.h"
#include "cgtp_ranks.h"
#define CGTP_FAULT CGTP_BOTH
#include "cgtp_fault.h"

namespace
{

/* ---- faults ---- */

enum { CGTP_CHECK_THREADS = 256 };

/* Looks for faults of a graph (cgtp_fault.h): *first becomes the first fault, if that is CGTP_FAULT_NONE before. */
CGTP_KERNEL(CGTP_CHECK_THREADS, 1)
cgtp_check_kernel(const cgtp_graph_view g, int sorted, unsigned long long *first)
{
    const int64_t places = cgtp_fault_places(&g, sorted), step = gridDim.x * (int64_t)CGTP_CHECK_THREADS;
    uint64_t least = CGTP_FAULT_NONE;
    for (int64_t i = blockIdx.x * (int64_t)CGTP_CHECK_THREADS + threadIdx.x; i < places; i += step) {
        const uint64_t found = cgtp_fault_of_place(&g, sorted, i);
        least = found < least ? found : least;
    }
    if (least != CGTP_FAULT_NONE)
        atomicMin(first, (unsigned long long)least);
}

/* ---- rows between devices ---- */

enum { CGTP_EXCHANGE_THREADS = 256, CGTP_EXCHANGE_BLOCKS = 1 << 16, CGTP_CHUNK_BYTES = 16 };

/* What a thread moves: n neighbouring elements. */
template <typename scalar, int n> struct alignas(sizeof(scalar) * n) cgtp_chunk {
    scalar element[n];
};

/* buffer[place] = array[row], or with `adds` array[row] += buffer[place], where the first entry of a row does
 * the additions of all of them, in the type of sums; in rows of so many chunks. */
template <bool adds, typename Sum, typename scalar, int n>
CGTP_KERNEL(CGTP_EXCHANGE_THREADS, 4)
cgtp_exchange_kernel(const cgtp_rows rows, int64_t chunks, cgtp_chunk<scalar, n> *array,
                     cgtp_chunk<scalar, n> *buffer)
{
    const int64_t all = rows.count * chunks, step = cgtp_blocks() * (int64_t)CGTP_EXCHANGE_THREADS;
    for (int64_t at = cgtp_block() * (int64_t)CGTP_EXCHANGE_THREADS + cgtp_thread(); at < all; at += step) {
        const int64_t first = at / chunks, chunk = at % chunks;
        const int32_t row = rows.row[first];
        cgtp_chunk<scalar, n> *const here = array + row * chunks + chunk;
        if constexpr (!adds) {
            buffer[(rows.place ? rows.place[first] : first) * chunks + chunk] = *here;
        } else if (first == 0 || rows.row[first - 1] != row) {
            Sum sum[n];
            cgtp_chunk<scalar, n> made = *here;
            for (int k = 0; k < n; k++)
                sum[k] = cgtp_converted<Sum>(made.element[k]);
            for (int64_t i = first; i < rows.count && rows.row[i] == row; i++) {
                const cgtp_chunk<scalar, n> more = buffer[(rows.place ? rows.place[i] : i) * chunks + chunk];
                for (int k = 0; k < n; k++)
                    sum[k] += cgtp_converted<Sum>(more.element[k]);
            }
            for (int k = 0; k < n; k++)
                made.element[k] = cgtp_converted<scalar>(sum[k]);
            *here = made;
        }
    }
}

template <bool adds, typename Sum, typename scalar, int n>
static inline cgtp_status cgtp_exchange_chunks(const cgtp_rows &rows, void *array, void *buffer,
                                               cgtp_stream stream)
{
    const int64_t chunks = rows.elements / n;
    const int64_t blocks = (rows.count * chunks + CGTP_EXCHANGE_THREADS - 1) / CGTP_EXCHANGE_THREADS;
    return cgtp_launch(cgtp_exchange_kernel<adds, Sum, scalar, n>,
                       blocks < CGTP_EXCHANGE_BLOCKS ? blocks : CGTP_EXCHANGE_BLOCKS, CGTP_EXCHANGE_THREADS,
                       0, stream, rows, chunks, (cgtp_chunk<scalar, n> *)array,
                       (cgtp_chunk<scalar, n> *)buffer);
}

template <bool adds, typename Sum, typename scalar>
static inline cgtp_status cgtp_exchange(const cgtp_rows &rows, void *array, void *buffer, cgtp_stream stream)
{
    constexpr int n = CGTP_CHUNK_BYTES / (int)sizeof(scalar);
    return rows.elements % n ? cgtp_exchange_chunks<adds, Sum, scalar, 1>(rows, array, buffer, stream)
                             : cgtp_exchange_chunks<adds, Sum, scalar, n>(rows, array, buffer, stream);
}

/* Of rows of any type, as the caller gave them. */
template <bool adds>
static inline cgtp_status cgtp_exchange_rows(const cgtp_rows *rows, void *array, void *buffer,
                                             cgtp_stream stream)
{
    const cgtp_status status = cgtp_check_rows(rows, array, buffer);
    if (status != CGTP_OK || rows->count == 0 || rows->elements == 0)
        return status;
    return rows->type == CGTP_FLOAT64    ? cgtp_exchange<adds, double, double>(*rows, array, buffer, stream)
           : rows->type == CGTP_FLOAT32  ? cgtp_exchange<adds, float, float>(*rows, array, buffer, stream)
           : rows->type == CGTP_BFLOAT16 ? cgtp_exchange<adds, float, cgtp_bfloat16>(*rows, array, buffer, stream)
                                         : cgtp_exchange<adds, float, cgtp_float16>(*rows, array, buffer, stream);
}

} // namespace

#endif
