/* SPDX-License-Identifier: MIT */
/* cgtp_graph.cu - see cgtp_device.h. Sorting is CUB's radix sort (part of the CUDA toolkit), which is stable;
 * row pointers are found by bisection in the sorted indices. The two widths of node index share templates.
 */
#include "cgtp_device.h"

typedef float real; /* cgtp_cuda.h asks for it; nothing here depends on it */
#include "cgtp_graph_check.h"

#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

#include <type_traits>

namespace
{

enum { THREADS = 256, MOST_BLOCKS = 1 << 20, ALIGNMENT = 256 };

/* Places 0 .. n-1, one a thread and more where there are more than threads. */
#define FOR_EACH(i, n)                                                                                       \
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < (n); i += gridDim.x * (int64_t)THREADS)

template <typename... Parameters, typename... Arguments>
cgtp_status launch(void (*kernel)(Parameters...), int64_t n, cgtp_stream stream, Arguments... arguments)
{
    if (n <= 0)
        return CGTP_OK;
    int64_t blocks = (n + THREADS - 1) / THREADS;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS));
    config.blockDim = dim3(THREADS);
    config.stream = (cudaStream_t)stream;
    return cgtp_status_of(cudaLaunchKernelEx(&config, kernel, (Parameters)arguments...));
}

template <typename index> __global__ void __launch_bounds__(THREADS) count_up(index *out, int64_t n)
{
    FOR_EACH(i, n)
    out[i] = (index)i;
}

/* order is a permutation of 0 .. n-1. */
template <typename index>
__global__ void __launch_bounds__(THREADS)
    gather(const index *from, const index *order, index *out, int64_t n)
{
    FOR_EACH(i, n)
    out[i] = from[order[i]];
}

/* row[r]: how many of the sorted ends are below r, for r = 0 .. rows. */
template <typename index>
__global__ void __launch_bounds__(THREADS) find_rows(const index *end, int64_t n, int64_t rows, int64_t *row)
{
    FOR_EACH(r, rows + 1)
    {
        int64_t low = 0, high = n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if ((int64_t)end[middle] < r)
                low = middle + 1;
            else
                high = middle;
        }
        row[r] = low;
    }
}

/* ---- host ---- */

/* As in cgtp.c: row pointers of more rows cannot be addressed; by_sender holds edge numbers. */
template <typename index> bool size_is_right(int64_t items, int64_t senders, int64_t receivers)
{
    const int64_t rows = PTRDIFF_MAX / 8 - 1, edges = sizeof(index) == 4 ? (int64_t)INT32_MAX : rows;
    return items >= 0 && items <= edges && senders >= 0 && senders <= rows && receivers >= 0 &&
           receivers <= rows;
}

size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Sorts pairs (end, edge number) by end; with temporary NULL only sets temporary_bytes. */
template <typename index>
cudaError_t sort_pairs(void *temporary, size_t &temporary_bytes, const index *end, index *sorted,
                       const index *number, index *order, int64_t n, int64_t rows, cgtp_stream stream)
{
    using key = typename std::make_unsigned<index>::type;
    using count = typename std::conditional<sizeof(index) == 4, int32_t, int64_t>::type;
    int bits = 1;
    while (bits < 8 * (int)sizeof(index) - 1 && rows > (int64_t)1 << bits)
        bits++;
    return cub::DeviceRadixSort::SortPairs(temporary, temporary_bytes, (const key *)end, (key *)sorted,
                                           number, order, (count)n, 0, bits, (cudaStream_t)stream);
}

/* Workspace: edge numbers, sorted ends, then what CUB wants. */
template <typename index> size_t workspace_for(int64_t items, int64_t senders, int64_t receivers)
{
    size_t most = 0;
    if (items == 0 || !size_is_right<index>(items, senders, receivers))
        return 0;
    for (int64_t rows : {senders, receivers}) {
        size_t bytes = 0;
        if (sort_pairs<index>(nullptr, bytes, nullptr, nullptr, nullptr, nullptr, items, rows, nullptr) !=
            cudaSuccess)
            return 0;
        most = bytes > most ? bytes : most;
    }
    return 2 * aligned((size_t)items * sizeof(index)) + aligned(most);
}

template <typename index> cgtp_status check_workspace(const void *workspace, size_t bytes, size_t needed)
{
    int devices;
    if (needed == 0) /* there are edges, so the device cannot be asked */
        return cudaGetDeviceCount(&devices) == cudaSuccess ? CGTP_NO_CODE : CGTP_NO_DEVICE;
    if (!workspace || bytes < needed)
        return CGTP_WORKSPACE;
    return (uintptr_t)workspace % ALIGNMENT ? CGTP_MISALIGNED : CGTP_OK;
}

/* sorted may be NULL: then it is the workspace's. Returns where the sorted ends are in *sorted. */
template <typename index>
cgtp_status order_by(const index *end, int64_t items, int64_t rows, index **sorted, index *order,
                     void *workspace, size_t needed, cgtp_stream stream)
{
    const size_t list = aligned((size_t)items * sizeof(index));
    index *number = (index *)workspace;
    char *temporary = (char *)workspace + 2 * list;
    size_t temporary_bytes = needed - 2 * list;
    if (!*sorted)
        *sorted = (index *)((char *)workspace + list);
    cgtp_status status = launch(count_up<index>, items, stream, number, items);
    if (status != CGTP_OK)
        return status;
    return cgtp_status_of(
        sort_pairs(temporary, temporary_bytes, end, *sorted, number, order, items, rows, stream));
}

template <typename index>
cgtp_status sort(int64_t items, int64_t receivers, const index *sender, const index *receiver,
                 index *sorted_sender, index *sorted_receiver, index *order, void *workspace,
                 size_t workspace_bytes, cgtp_stream stream)
{
    if (!size_is_right<index>(items, 0, receivers))
        return CGTP_BAD_SIZE;
    if (items == 0)
        return CGTP_OK;
    if (!sender || !receiver || !sorted_sender || !sorted_receiver || !order)
        return CGTP_NULL_POINTER;
    size_t needed = workspace_for<index>(items, receivers, receivers);
    cgtp_status status = check_workspace<index>(workspace, workspace_bytes, needed);
    if (status == CGTP_OK)
        status = order_by(receiver, items, receivers, &sorted_receiver, order, workspace, needed, stream);
    if (status == CGTP_OK)
        status = launch(gather<index>, items, stream, sender, (const index *)order, sorted_sender, items);
    return status;
}

template <typename index, typename graph>
cgtp_status fill_index(graph *g, int64_t *receiver_row, index *by_sender, int64_t *sender_row,
                       void *workspace, size_t workspace_bytes, cgtp_stream stream)
{
    if (!g)
        return CGTP_NULL_POINTER;
    if (!size_is_right<index>(g->items, g->senders, g->receivers))
        return CGTP_BAD_SIZE;
    if (!receiver_row || !sender_row || (g->items && (!g->sender || !g->receiver || !by_sender)))
        return CGTP_NULL_POINTER;
    index *sorted = nullptr;
    cgtp_status status = CGTP_OK;
    if (g->items) {
        size_t needed = workspace_for<index>(g->items, g->senders, g->receivers);
        status = check_workspace<index>(workspace, workspace_bytes, needed);
        if (status == CGTP_OK)
            status = order_by(g->sender, g->items, g->senders, &sorted, by_sender, workspace, needed, stream);
    }
    if (status == CGTP_OK)
        status = launch(find_rows<index>, g->senders + 1, stream, (const index *)sorted, g->items, g->senders,
                        sender_row);
    if (status == CGTP_OK)
        status = launch(find_rows<index>, g->receivers + 1, stream, g->receiver, g->items, g->receivers,
                        receiver_row);
    if (status != CGTP_OK)
        return status;
    g->receiver_row = receiver_row;
    g->by_sender = by_sender;
    g->sender_row = sender_row;
    return CGTP_OK;
}

template <typename graph> cgtp_graph_view view_of(const graph &g)
{
    return {g.items,        g.senders,    g.receivers,          g.sender, g.receiver, g.by_sender,
            g.order, g.receiver_row, g.sender_row, sizeof *g.sender == 8};
}

template <typename index, typename graph>
cgtp_status start_check(const graph *g, int sorted, uint64_t *result, cgtp_stream stream)
{
    if (!g || !result)
        return CGTP_NULL_POINTER;
    /* without order edge numbers are not stored, so there may be more of them */
    if (!(sorted ? size_is_right<index>(g->items, g->senders, g->receivers)
                 : size_is_right<int64_t>(g->items, g->senders, g->receivers)))
        return CGTP_BAD_SIZE;
    if (g->items && (!g->sender || !g->receiver))
        return CGTP_NULL_POINTER;
    if (sorted && (!g->receiver_row || !g->sender_row || (g->items && !g->by_sender)))
        return CGTP_NOT_INDEXED;
    const cudaError_t error = cudaMemsetAsync(result, 0xff, sizeof *result, (cudaStream_t)stream);
    if (error != cudaSuccess)
        return cgtp_status_of(error);
    static_assert((int)CGTP_CHECK_THREADS == (int)THREADS, "launch() is for blocks of THREADS");
    const cgtp_graph_view view = view_of(*g);
    return launch(cgtp_check_kernel, cgtp_fault_places(&view, sorted), stream, view, sorted,
                  (unsigned long long *)result);
}

/* Waits, and copies from the device. */
cgtp_status read_back(void *to, const void *from, size_t bytes, cgtp_stream stream)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream);
    return cgtp_status_of(error == cudaSuccess ? cudaStreamSynchronize((cudaStream_t)stream) : error);
}

template <typename graph>
cgtp_status read_fault(const graph *g, const uint64_t *result, cgtp_fault *fault, cgtp_stream stream)
{
    uint64_t first;
    int bytes;
    if (!g || !result || !fault)
        return CGTP_NULL_POINTER;
    cgtp_status status = read_back(&first, result, sizeof first, stream);
    if (status != CGTP_OK)
        return status;
    const cgtp_graph_view view = view_of(*g);
    const void *const place = cgtp_fault_place(&view, first, fault, &bytes);
    int32_t narrow = 0;
    if (place)
        status = bytes == 8 ? read_back(&fault->value, place, 8, stream)
                            : read_back(&narrow, place, 4, stream);
    if (status != CGTP_OK)
        return status;
    if (place && bytes == 4)
        fault->value = narrow;
    return place ? CGTP_BAD_GRAPH : CGTP_OK;
}

} // namespace

extern "C" {

size_t cgtp_device_graph_workspace(int64_t items, int64_t senders, int64_t receivers)
{
    return workspace_for<int32_t>(items, senders, receivers);
}

size_t cgtp_device_graph64_workspace(int64_t items, int64_t senders, int64_t receivers)
{
    return workspace_for<int64_t>(items, senders, receivers);
}

cgtp_status cgtp_device_graph_sort(int64_t items, int64_t receivers, const int32_t *sender,
                                   const int32_t *receiver, int32_t *sorted_sender, int32_t *sorted_receiver,
                                   int32_t *order, void *workspace, size_t workspace_bytes,
                                   cgtp_stream stream)
{
    return sort(items, receivers, sender, receiver, sorted_sender, sorted_receiver, order, workspace,
                workspace_bytes, stream);
}

cgtp_status cgtp_device_graph64_sort(int64_t items, int64_t receivers, const int64_t *sender,
                                     const int64_t *receiver, int64_t *sorted_sender,
                                     int64_t *sorted_receiver, int64_t *order, void *workspace,
                                     size_t workspace_bytes, cgtp_stream stream)
{
    return sort(items, receivers, sender, receiver, sorted_sender, sorted_receiver, order, workspace,
                workspace_bytes, stream);
}

cgtp_status cgtp_device_graph_index(cgtp_graph *graph, int64_t *receiver_row, int32_t *by_sender,
                                    int64_t *sender_row, void *workspace, size_t workspace_bytes,
                                    cgtp_stream stream)
{
    return fill_index(graph, receiver_row, by_sender, sender_row, workspace, workspace_bytes, stream);
}

cgtp_status cgtp_device_graph64_index(cgtp_graph64 *graph, int64_t *receiver_row, int64_t *by_sender,
                                      int64_t *sender_row, void *workspace, size_t workspace_bytes,
                                      cgtp_stream stream)
{
    return fill_index(graph, receiver_row, by_sender, sender_row, workspace, workspace_bytes, stream);
}

cgtp_status cgtp_device_graph_check(const cgtp_graph *graph, int sorted, uint64_t *result, cgtp_stream stream)
{
    return start_check<int32_t>(graph, sorted, result, stream);
}

cgtp_status cgtp_device_graph64_check(const cgtp_graph64 *graph, int sorted, uint64_t *result,
                                      cgtp_stream stream)
{
    return start_check<int64_t>(graph, sorted, result, stream);
}

cgtp_status cgtp_device_status_read(const uint64_t *result, cgtp_stream stream)
{
    uint64_t first;
    if (!result)
        return CGTP_NULL_POINTER;
    const cgtp_status status = read_back(&first, result, sizeof first, stream);
    if (status != CGTP_OK)
        return status;
    return first == CGTP_FAULT_NONE ? CGTP_OK : CGTP_BAD_GRAPH;
}

cgtp_status cgtp_device_fault_read(const cgtp_graph *graph, const uint64_t *result, cgtp_fault *fault,
                                   cgtp_stream stream)
{
    return read_fault(graph, result, fault, stream);
}

cgtp_status cgtp_device_fault64_read(const cgtp_graph64 *graph, const uint64_t *result, cgtp_fault *fault,
                                     cgtp_stream stream)
{
    return read_fault(graph, result, fault, stream);
}

} // extern "C"
