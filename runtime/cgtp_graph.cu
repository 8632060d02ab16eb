/* SPDX-License-Identifier: MIT */
/* cgtp_graph.cu - see cgtp_device.h. Sorting is that of cgtp_order.h, other kernels are in cgtp_graph_kernels.h.
 * The two widths of node index share templates.
 */
#include "cgtp_device.h"

typedef float real; /* cgtp_cuda.h asks for it; nothing here depends on it */
#include "cgtp_graph_kernels.h"
#include "cgtp_order.h"

#include <cuda_runtime.h>

namespace
{

enum { ALIGNMENT = 256 };
const int64_t MOST_BLOCKS = 1 << 20;

/* Sizes and lists of edges that are to be sorted. */
template <typename index>
cgtp_status check_edges(int64_t items, int64_t senders, int64_t receivers, const index *sender, const index *receiver)
{
    const cgtp_graph_view view = {items, senders, receivers, sender, receiver, NULL, NULL, NULL, NULL, sizeof(index) == 8};
    return cgtp_view_check(&view, 1);
}

/* The workspace of a sort by nodes of either side, of which there are as many as are on the larger: rows that nobody asked
 * for, and what the sort itself takes. */
template <typename index> struct sorting {
    int64_t *row;
    cgtp_sort_areas<index> areas;
    size_t bytes;

    sorting(void *base, int64_t items, int64_t nodes)
    {
        cgtp_workspace space(base);
        row = space.area<int64_t>(nodes + 1);
        areas = cgtp_sort_areas<index>(space, items, nodes);
        bytes = space.bytes();
    }
};

template <typename index> size_t workspace_for(int64_t items, int64_t senders, int64_t receivers)
{
    if (items == 0 || check_edges<index>(items, senders, receivers, NULL, NULL) == CGTP_BAD_SIZE)
        return 0;
    return sorting<index>(NULL, items, senders > receivers ? senders : receivers).bytes;
}

cgtp_status check_workspace(const void *workspace, size_t bytes, size_t needed)
{
    if (!workspace || bytes < needed)
        return CGTP_WORKSPACE;
    return (uintptr_t)workspace % ALIGNMENT ? CGTP_MISALIGNED : CGTP_OK;
}

template <typename index>
cgtp_status sort(int64_t items, int64_t receivers, const index *sender, const index *receiver,
                 index *sorted_sender, index *sorted_receiver, index *order, void *workspace,
                 size_t workspace_bytes, cgtp_stream stream)
{
    cgtp_status status = check_edges(items, 0, receivers, sender, receiver);
    if (status || items == 0)
        return status;
    if (!sorted_sender || !sorted_receiver || !order)
        return CGTP_NULL_POINTER;
    const sorting<index> areas(workspace, items, receivers);
    if ((status = check_workspace(workspace, workspace_bytes, areas.bytes)))
        return status;
    cgtp_sort_lists<index> sort = {};
    sort.n = items, sort.nodes = receivers;
    sort.key = receiver, sort.row = areas.row, sort.sorted_key = sorted_receiver, sort.sorted_number = order;
    sort.along = sender, sort.moved = sorted_sender;
    return cgtp_sort(sort, areas.areas, stream);
}

template <typename index, typename graph>
cgtp_status fill_index(graph *g, int64_t *receiver_row, index *by_sender, int64_t *sender_row,
                       void *workspace, size_t workspace_bytes, cgtp_stream stream)
{
    if (!g)
        return CGTP_NULL_POINTER;
    cgtp_status status = check_edges(g->items, g->senders, g->receivers, g->sender, g->receiver);
    if (status)
        return status;
    if (!receiver_row || !sender_row || (g->items && !by_sender))
        return CGTP_NULL_POINTER;
    if (g->items) {
        const sorting<index> areas(workspace, g->items, g->senders > g->receivers ? g->senders : g->receivers);
        cgtp_sort_lists<index> sort = {};
        sort.n = g->items, sort.nodes = g->senders;
        sort.key = g->sender, sort.row = sender_row, sort.sorted_number = by_sender;
        status = check_workspace(workspace, workspace_bytes, areas.bytes);
        if (status == CGTP_OK)
            status = cgtp_sort(sort, areas.areas, stream);
        sort.nodes = g->receivers, sort.key = g->receiver, sort.row = receiver_row;
        if (status == CGTP_OK)
            status = cgtp_find_rows(sort, areas.areas, stream);
    } else
        status = cgtp_clear(cgtp_areas<2>{{{receiver_row, ((size_t)g->receivers + 1) * sizeof *receiver_row},
                                           {sender_row, ((size_t)g->senders + 1) * sizeof *sender_row}}}, stream);
    if (status != CGTP_OK)
        return status;
    g->receiver_row = receiver_row;
    g->by_sender = by_sender;
    g->sender_row = sender_row;
    return CGTP_OK;
}

template <typename graph>
cgtp_status start_check(const graph *g, cgtp_graph_view (*view_of)(const graph *), int sorted, uint64_t *result, cgtp_stream stream)
{
    if (!g || !result)
        return CGTP_NULL_POINTER;
    const cgtp_graph_view view = view_of(g);
    const cgtp_status status = cgtp_view_check(&view, sorted);
    if (status)
        return status;
    const bool rows = g->receiver_row && g->sender_row; /* which nothing reads where there are no edges */
    if (sorted && g->items && (!rows || !g->by_sender))
        return CGTP_NOT_INDEXED;
    const cudaError_t error = cudaMemsetAsync(result, 0xff, sizeof *result, (cudaStream_t)stream);
    if (error != cudaSuccess)
        return cgtp_status_of(error);
    const int64_t blocks = (cgtp_fault_places(&view, sorted) + CGTP_CHECK_THREADS - 1) / CGTP_CHECK_THREADS;
    return cgtp_launch(cgtp_check_kernel, blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS, CGTP_CHECK_THREADS, 0, stream,
                       view, sorted, (unsigned long long *)result);
}

/* Waits, and copies from the device. */
cgtp_status read_back(void *to, const void *from, size_t bytes, cgtp_stream stream)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream);
    return cgtp_status_of(error == cudaSuccess ? cudaStreamSynchronize((cudaStream_t)stream) : error);
}

template <typename graph>
cgtp_status read_fault(const graph *g, cgtp_graph_view (*view_of)(const graph *), const uint64_t *result, cgtp_fault *fault, cgtp_stream stream)
{
    uint64_t first;
    int bytes;
    if (!g || !result || !fault)
        return CGTP_NULL_POINTER;
    cgtp_status status = read_back(&first, result, sizeof first, stream);
    if (status != CGTP_OK)
        return status;
    const cgtp_graph_view view = view_of(g);
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

/* What callers call, for one width. */
#define CGTP_DEVICE_GRAPH(graph, number, view_of, workspace_bytes, sort_edges, index_edges, check_edges, fault_of)     \
    size_t workspace_bytes(int64_t items, int64_t senders, int64_t receivers)                                          \
    {                                                                                                                  \
        return workspace_for<number>(items, senders, receivers);                                                       \
    }                                                                                                                  \
    cgtp_status sort_edges(int64_t items, int64_t receivers, const number *sender, const number *receiver,             \
                           number *sorted_sender, number *sorted_receiver, number *order, void *workspace, size_t bytes, \
                           cgtp_stream stream)                                                                         \
    {                                                                                                                  \
        return sort(items, receivers, sender, receiver, sorted_sender, sorted_receiver, order, workspace, bytes, stream); \
    }                                                                                                                  \
    cgtp_status index_edges(graph *g, int64_t *receiver_row, number *by_sender, int64_t *sender_row, void *workspace,  \
                            size_t bytes, cgtp_stream stream)                                                          \
    {                                                                                                                  \
        return fill_index(g, receiver_row, by_sender, sender_row, workspace, bytes, stream);                           \
    }                                                                                                                  \
    cgtp_status check_edges(const graph *g, int sorted, uint64_t *result, cgtp_stream stream)                          \
    {                                                                                                                  \
        return start_check(g, view_of, sorted, result, stream);                                                        \
    }                                                                                                                  \
    cgtp_status fault_of(const graph *g, const uint64_t *result, cgtp_fault *fault, cgtp_stream stream)                \
    {                                                                                                                  \
        return read_fault(g, view_of, result, fault, stream);                                                          \
    }
CGTP_DEVICE_GRAPH(cgtp_graph, int32_t, cgtp_view32, cgtp_device_graph_workspace, cgtp_device_graph_sort,
                  cgtp_device_graph_index, cgtp_device_graph_check, cgtp_device_fault_read)
CGTP_DEVICE_GRAPH(cgtp_graph64, int64_t, cgtp_view64, cgtp_device_graph64_workspace, cgtp_device_graph64_sort,
                  cgtp_device_graph64_index, cgtp_device_graph64_check, cgtp_device_fault64_read)

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

cgtp_status cgtp_device_rows_gather(const cgtp_rows *rows, const void *array, void *buffer, cgtp_stream stream)
{
    return cgtp_exchange_rows<false>(rows, (void *)array, buffer, stream);
}

cgtp_status cgtp_device_rows_add(const cgtp_rows *rows, const void *buffer, void *array, cgtp_stream stream)
{
    return cgtp_exchange_rows<true>(rows, array, (void *)buffer, stream);
}

} // extern "C"
