/* SPDX-License-Identifier: MIT */
/* cgtp_guard_kernels.h - the kernels of cgtp_guard.h. Included by cgtp_guard.cu after cgtp_cuda.h.
 */
#ifndef CGTP_GUARD_KERNELS_H
#define CGTP_GUARD_KERNELS_H

#define CGTP_FAULT CGTP_BOTH
#include "cgtp_guard.h"

enum {
    CGTP_GUARD_THREADS = 256,
    CGTP_GUARD_EACH = 4,     /* edges of a thread, where blocks suffice */
    CGTP_GUARD_OUTPUTS = 16, /* of a kernel, at most */
    CGTP_GUARD_BLOCKS = 132  /* that wait for a fault, which there is none of as a rule */
};

CGTP_KERNEL(CGTP_GUARD_THREADS, 4)
cgtp_guard_copy_kernel(const cgtp_edge_list list, int ascending, void *sender, void *receiver, int size,
                       unsigned long long *fault)
{
    const int64_t step = gridDim.x * (int64_t)CGTP_GUARD_THREADS;
    uint64_t least = CGTP_FAULT_NONE;
    for (int64_t e = blockIdx.x * (int64_t)CGTP_GUARD_THREADS + threadIdx.x; e < list.items; e += step) {
        const int64_t s = cgtp_get_index(list.sender, e * list.sender_stride, list.size == 8);
        const int64_t r = cgtp_get_index(list.receiver, e * list.receiver_stride, list.size == 8);
        const bool no_sender = !cgtp_is_below(s, list.senders), no_receiver = !cgtp_is_below(r, list.receivers);
        const bool falls = ascending && e && r < cgtp_get_index(list.receiver, (e - 1) * list.receiver_stride, list.size == 8);
        cgtp_put_index(sender, e, no_sender ? 0 : s, size == 8);
        cgtp_put_index(receiver, e, no_receiver ? 0 : r, size == 8);
        if (no_sender || no_receiver || falls) {
            const uint64_t kind = no_sender ? CGTP_FAULT_SENDER : no_receiver ? CGTP_FAULT_RECEIVER : CGTP_FAULT_ORDER;
            const uint64_t found = kind << CGTP_FAULT_SHIFT | (uint64_t)e;
            least = found < least ? found : least;
        }
    }
    if (least != CGTP_FAULT_NONE)
        atomicMin(fault, (unsigned long long)least);
}

CGTP_KERNEL(CGTP_GUARD_THREADS, 4)
cgtp_guard_compare_kernel(const cgtp_edge_list list, const void *sender, const void *receiver, unsigned long long *fault)
{
    const int64_t step = gridDim.x * (int64_t)CGTP_GUARD_THREADS;
    bool same = true;
    CGTP_UNROLL_BY(CGTP_GUARD_EACH)
    for (int64_t e = blockIdx.x * (int64_t)CGTP_GUARD_THREADS + threadIdx.x; e < list.items; e += step) {
        same &= cgtp_get_index(list.sender, e * list.sender_stride, list.size == 8) == cgtp_get_index(sender, e, list.size == 8);
        same &= cgtp_get_index(list.receiver, e * list.receiver_stride, list.size == 8) ==
                cgtp_get_index(receiver, e, list.size == 8);
    }
    if (!same)
        atomicMin(fault, (unsigned long long)CGTP_FAULT_STALE << CGTP_FAULT_SHIFT);
}

struct cgtp_guard_list {
    cgtp_guarded output[CGTP_GUARD_OUTPUTS];
};

/* A NaN of every type has all bits set. */
CGTP_KERNEL(CGTP_GUARD_THREADS, 4)
cgtp_guard_outputs_kernel(const unsigned long long *fault, const cgtp_guard_list list, int n, volatile uint64_t *seen)
{
    const int64_t first = blockIdx.x * (int64_t)CGTP_GUARD_THREADS + threadIdx.x;
    const int64_t step = gridDim.x * (int64_t)CGTP_GUARD_THREADS;
    const unsigned long long found = *fault;
    if (found == CGTP_FAULT_NONE)
        return;
    for (int o = 0; o < n; o++)
        for (int64_t i = first; i < (int64_t)(list.output[o].bytes / 2); i += step)
            ((unsigned short *)list.output[o].at)[i] = 0xffff;
    if (first == 0 && seen)
        *seen = found;
}

#endif
