/* SPDX-License-Identifier: MIT */
/* cgtp_graph_check.h - the kernel that looks for faults of a graph (cgtp_fault.h) on the device. Included by
 * cgtp_graph.cu after cgtp_cuda.h.
 */
#ifndef CGTP_GRAPH_CHECK_H
#define CGTP_GRAPH_CHECK_H

#include "cgtp_cuda.h"
#define CGTP_FAULT CGTP_BOTH
#include "cgtp_fault.h"

enum { CGTP_CHECK_THREADS = 256 };

/* *first becomes the first fault, if that is CGTP_FAULT_NONE before. */
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

#endif
