/* SPDX-License-Identifier: MIT */
/* cgtp_guard.cu - see cgtp_guard.h. Part of libraries for CUDA that cgtp_build.py makes.
 */
typedef float real; /* cgtp_cuda.h asks for it; nothing here depends on it */
#include "cgtp_cuda.h"
#include "cgtp_guard_kernels.h"

#include <cuda_runtime.h>

static int64_t blocks_for(int64_t items)
{
    const int64_t each = CGTP_GUARD_THREADS * CGTP_GUARD_EACH, blocks = (items + each - 1) / each;
    return blocks < 1 << 20 ? blocks : 1 << 20;
}

extern "C" {

cgtp_status cgtp_guard_copy(const cgtp_edge_list *list, int ascending, void *sender, void *receiver, int size,
                            uint64_t *fault, cgtp_stream stream)
{
    const cudaError_t error = cudaMemsetAsync(fault, 0xff, sizeof *fault, (cudaStream_t)stream);
    if (error != cudaSuccess)
        return cgtp_status_of(error);
    return cgtp_launch(cgtp_guard_copy_kernel, blocks_for(list->items), CGTP_GUARD_THREADS, 0, stream, *list, ascending,
                       sender, receiver, size, (unsigned long long *)fault);
}

cgtp_status cgtp_guard_compare(const cgtp_edge_list *list, const void *sender, const void *receiver, uint64_t *fault,
                               cgtp_stream stream)
{
    return cgtp_launch(cgtp_guard_compare_kernel, blocks_for(list->items), CGTP_GUARD_THREADS, 0, stream, *list, sender,
                       receiver, (unsigned long long *)fault);
}

cgtp_status cgtp_guard_outputs(const uint64_t *fault, const cgtp_guarded *output, int n, uint64_t *seen, cgtp_stream stream)
{
    cgtp_guard_list list = {};
    int64_t most = 0;
    if (n > CGTP_GUARD_OUTPUTS)
        return CGTP_BAD_SIZE;
    for (int o = 0; o < n; o++) {
        list.output[o] = output[o];
        const int64_t blocks = (int64_t)(output[o].bytes / 2 + CGTP_GUARD_THREADS - 1) / CGTP_GUARD_THREADS;
        most = blocks > most ? blocks : most;
    }
    return cgtp_launch(cgtp_guard_outputs_kernel, most < CGTP_GUARD_BLOCKS ? most : CGTP_GUARD_BLOCKS, CGTP_GUARD_THREADS, 0,
                       stream, (const unsigned long long *)fault, list, n, seen);
}

/* It may be asked for while a stream is being captured, which allocations are not allowed in as a rule. */
uint64_t *cgtp_guard_seen(void)
{
    static uint64_t *const seen = [] {
        void *made = NULL;
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        cudaThreadExchangeStreamCaptureMode(&mode);
        if (cudaHostAlloc(&made, sizeof(uint64_t), cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess)
            made = NULL;
        else
            *(uint64_t *)made = CGTP_FAULT_NONE;
        cudaThreadExchangeStreamCaptureMode(&mode);
        return (uint64_t *)made;
    }();
    return seen;
}

} // extern "C"
