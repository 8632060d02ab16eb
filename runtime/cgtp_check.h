/* SPDX-License-Identifier: MIT */
/* cgtp_check.h - is a graph what kernels rely on? C11 and C++. The functions declared here are in cgtp_check.c.
 */
#ifndef CGTP_CHECK_H
#define CGTP_CHECK_H

#include "cgtp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Check everything a kernel relies on (host memory; for a device's see cgtp_device.h). Kernels do not: an
 * index out of range is read or written there, and wrong order or row pointers give wrong sums. sorted: as in
 * the spec. CGTP_NOT_INDEXED where there are edges and that needs arrays that are missing. O(items + nodes). */
CGTP_API cgtp_status cgtp_graph_check(const cgtp_graph *graph, int sorted);
CGTP_API cgtp_status cgtp_graph64_check(const cgtp_graph64 *graph, int sorted);

/* What makes a graph CGTP_BAD_GRAPH: array[at], which is `value`. */
typedef struct cgtp_fault {
    const char *array; /* of the graph; NULL: nothing is wrong */
    const char *words; /* what is wrong with it: "is the number of no sender" */
    int64_t at, value;
} cgtp_fault;

/* The same check, and the first fault: an index out of range before wrong order, and that before what follows. */
CGTP_API cgtp_status cgtp_graph_find_fault(const cgtp_graph *graph, int sorted, cgtp_fault *fault);
CGTP_API cgtp_status cgtp_graph64_find_fault(const cgtp_graph64 *graph, int sorted, cgtp_fault *fault);

/* "sender[7] is 12: it is the number of no sender", as by snprintf; "" where nothing is wrong. */
CGTP_API int cgtp_fault_text(const cgtp_fault *fault, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
