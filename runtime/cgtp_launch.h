/* SPDX-License-Identifier: MIT */
/* cgtp_launch.h - what launchers of generated kernels do on the host: checks of arguments, areas of the
 * workspace, arrays cleared. Included after cgtp_cuda.h.
 */
#ifndef CGTP_LAUNCH_H
#define CGTP_LAUNCH_H

#include "cgtp_call.h"

namespace
{

/* ---- checks, as in cgtp_c.h ---- */

/* Arrays of a graph that a kernel reads. */
enum { CGTP_NEEDS_SENDER = 1, CGTP_NEEDS_RECEIVER = 2, CGTP_NEEDS_RECEIVER_ROW = 4, CGTP_NEEDS_BY_SENDER = 8 };

/* Has the graph what is needed? */
template <typename Graph> static inline cgtp_status cgtp_check_lists(const Graph *graph, int needed)
{
    if (!graph->items)
        return CGTP_OK;
    if ((needed & CGTP_NEEDS_SENDER && !graph->sender) || (needed & CGTP_NEEDS_RECEIVER && !graph->receiver))
        return CGTP_NULL_POINTER;
    return (needed & CGTP_NEEDS_RECEIVER_ROW && !graph->receiver_row) ||
                   (needed & CGTP_NEEDS_BY_SENDER && (!graph->sender_row || !graph->by_sender))
               ? CGTP_NOT_INDEXED
               : CGTP_OK;
}

/* refused: the kernel's own, of numbers of rows. */
template <typename Graph>
static inline cgtp_status cgtp_check_graph(const Graph *graph, int (*refused)(const Graph *), int needed)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    return refused(graph) ? CGTP_BAD_SIZE : cgtp_check_lists(graph, needed);
}

/* An array of the caller: rows of `elements` numbers. */
struct cgtp_array {
    const void *array;
    int64_t rows, elements;
    size_t size = sizeof(real); /* of a number */
    int64_t stride = 0;         /* numbers from a row to the next; 0: elements */
};

template <int n> static inline cgtp_status cgtp_check_arrays(const cgtp_array (&arrays)[n])
{
    cgtp_status status = CGTP_OK;
    for (int i = 0; i < n && !status; i++)
        status = cgtp_check_array(arrays[i].array, arrays[i].rows, arrays[i].elements,
                                  cgtp_stride(arrays[i].stride, arrays[i].elements), arrays[i].size);
    return status;
}

/* ---- a launch ---- */

/* The caller's graph: arrays of the device. */
template <typename Index> struct cgtp_graph_arrays {
    int64_t items, senders, receivers;
    const Index *sender, *receiver;
    const int64_t *receiver_row;
    const Index *by_sender;
    const int64_t *sender_row;
    const Index *order; /* NULL: edge e has row e of arrays of items */

    cgtp_graph_arrays() = default;
    template <typename Graph>
    cgtp_graph_arrays(const Graph &g)
        : items(g.items), senders(g.senders), receivers(g.receivers), sender(g.sender), receiver(g.receiver),
          receiver_row(g.receiver_row), by_sender(g.by_sender), sender_row(g.sender_row), order(g.order)
    {
    }
    CGTP_MEMBER int64_t item(int64_t e) const
    {
        return order ? (int64_t)order[e] : e;
    }
};

/* The first place from `low` on, before `high`, of a number that is not below `least`, in a list in ascending order. */
template <typename Index> CGTP_DEVICE int64_t cgtp_lower_bound(const Index *list, int64_t low, int64_t high, int64_t least)
{
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((int64_t)list[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills n arrays with zeros in one launch. They begin at multiples of 16 bytes; bytes are even. strided: rows of so many
 * bytes, `stride` bytes after each other; all rows begin as the first one does where they are whole units of 16 bytes. */
enum { CGTP_CLEAR_BLOCK = 256, CGTP_CLEAR_CHUNKS = 4 }; /* threads; 16 bytes per thread, where blocks suffice */
struct cgtp_cleared {
    void *at;
    size_t bytes;
    int64_t rows = 1;
    size_t stride = 0;
};
template <int n, bool strided = false> struct cgtp_areas {
    cgtp_cleared area[n];
};

/* Zeros in units of rows, each by one thread of `step`. */
template <typename Unit>
CGTP_DEVICE void cgtp_clear_rows(const cgtp_cleared &a, int64_t first, int64_t step, Unit zero)
{
    const int64_t units = (int64_t)(a.bytes / sizeof zero);
    for (int64_t i = first; i < a.rows * units; i += step)
        ((Unit *)((char *)a.at + i / units * (int64_t)a.stride))[i % units] = zero;
}

template <int n, bool strided>
CGTP_KERNEL(CGTP_CLEAR_BLOCK, 4) cgtp_clear_kernel(const cgtp_areas<n, strided> areas)
{
    const int64_t first = cgtp_block() * (int64_t)CGTP_CLEAR_BLOCK + cgtp_thread();
    const int64_t step = (int64_t)cgtp_blocks() * CGTP_CLEAR_BLOCK;
    cgtp_launch_next();
    cgtp_launch_wait();
    CGTP_UNROLL
    for (int a = 0; a < n; a++) {
        const cgtp_cleared &q = areas.area[a];
        const int64_t chunks = (int64_t)(q.bytes / 16);
        if (strided && q.rows != 1) {
            if (q.bytes % 16)
                cgtp_clear_rows(q, first, step, (unsigned short)0);
            else
                cgtp_clear_rows(q, first, step, make_float4(0, 0, 0, 0));
            continue;
        }
        for (int64_t i = first; i < chunks; i += step)
            ((float4 *)q.at)[i] = make_float4(0, 0, 0, 0);
        if (first < (int64_t)(q.bytes % 16 / 2)) /* no type is of fewer bytes */
            ((unsigned short *)q.at)[chunks * 8 + first] = 0;
    }
}

template <int n, bool strided>
static inline cgtp_status cgtp_clear(const cgtp_areas<n, strided> &areas, cgtp_stream stream)
{
    size_t most = 0;
    for (int a = 0; a < n; a++) {
        const size_t bytes = areas.area[a].bytes * (size_t)areas.area[a].rows;
        most = bytes > most ? bytes : most;
    }
    const int64_t each = CGTP_CLEAR_BLOCK * CGTP_CLEAR_CHUNKS * 16, fit = cgtp_multiprocessors() * (int64_t)8;
    const int64_t blocks = (int64_t)(most / (size_t)each) + 1;
    return most == 0 ? CGTP_OK
                     : cgtp_launch_early(cgtp_clear_kernel<n, strided>, blocks < fit ? blocks : fit, CGTP_CLEAR_BLOCK,
                                         0, stream, areas);
}

/* Zeros in the arrays from number `first` on: outputs that sum over no items. */
template <int first, bool strided, int n>
static inline cgtp_status cgtp_clear_outputs(const cgtp_array (&arrays)[n], cgtp_stream stream)
{
    cgtp_areas<n - first, strided> areas = {};
    for (int i = first; i < n; i++) {
        const cgtp_array &q = arrays[i];
        const bool dense = cgtp_stride(q.stride, q.elements) == q.elements;
        const size_t row = (size_t)q.elements * q.size;
        areas.area[i - first] = {(void *)q.array, dense ? row * (size_t)q.rows : row, dense ? 1 : q.rows,
                                 (size_t)q.stride * q.size};
    }
    return cgtp_clear(areas, stream);
}

/* Areas of the workspace, one after the other, in whole cache lines. */
struct cgtp_workspace {
    char *base; /* NULL: only the bytes are asked for */
    size_t end; /* CGTP_NO_WORKSPACE: more than there can be */

    cgtp_workspace(void *base_) : base((char *)base_), end(0)
    {
    }
    template <typename T> T *area(int64_t rows, size_t elements = 1)
    {
        T *const here = base && end != CGTP_NO_WORKSPACE ? (T *)(base + end) : NULL;
        end = cgtp_area_end(end, rows, elements * sizeof(T), 128);
        return here;
    }
    size_t bytes(void) const
    {
        return end;
    }
};

/* What NAME_kernel_workspace returns, of a graph and of a number of items. */
template <typename Graph, typename Launch>
static inline size_t cgtp_workspace_bytes(const Graph *graph, int (*refused)(const Graph *),
                                          size_t (*layout)(const Graph *, Launch &, void *))
{
    Launch l;
    if (!graph || refused(graph))
        return CGTP_NO_WORKSPACE;
    return graph->items ? layout(graph, l, NULL) : 0;
}
template <typename Launch>
static inline size_t cgtp_workspace_bytes(int64_t items, int (*refused)(int64_t),
                                          size_t (*layout)(int64_t, Launch &, void *))
{
    Launch l;
    if (refused(items))
        return CGTP_NO_WORKSPACE;
    return items ? layout(items, l, NULL) : 0;
}

/* ---- a workspace that has not room for all edges ---- */

/* Bytes of rows of edges that a kernel has in its workspace at least. Tests have smaller graphs. */
#ifndef CGTP_LEAST_BYTES
#define CGTP_LEAST_BYTES (32 << 20)
#endif

/* Edges of a turn, of `row` bytes each: as many as `bytes` have room for, in turns of about one length, but that many at
 * least, or all, where these take no more. */
template <typename Graph, typename Launch>
static inline int64_t cgtp_edges_of_turn(const Graph *graph, size_t bytes,
                                         size_t (*layout)(const Graph *, Launch &, void *, int64_t), size_t row)
{
    Launch l;
    const int64_t items = graph->items, least = (int64_t)(CGTP_LEAST_BYTES / row) + (row > CGTP_LEAST_BYTES);
    int64_t fit = items < least ? items : least, not_fit = items;
    const size_t all = layout(graph, l, NULL, items);
    if (all <= bytes || all <= layout(graph, l, NULL, fit))
        return items;
    while (not_fit - fit > 1) {
        const int64_t middle = fit + (not_fit - fit) / 2;
        (layout(graph, l, NULL, middle) <= bytes ? fit : not_fit) = middle;
    }
    const int64_t turns = (items + fit - 1) / fit;
    return fit == least ? fit : (items + turns - 1) / turns;
}

/* What NAME_kernel_workspace and NAME_kernel_workspace_least return then, of as many edges as these bytes have room for. */
template <typename Graph, typename Launch>
static inline size_t cgtp_workspace_bytes(const Graph *graph, int (*refused)(const Graph *),
                                          size_t (*layout)(const Graph *, Launch &, void *, int64_t), size_t row, size_t bytes)
{
    Launch l;
    if (!graph || refused(graph))
        return CGTP_NO_WORKSPACE;
    return graph->items ? layout(graph, l, NULL, cgtp_edges_of_turn(graph, bytes, layout, row)) : 0;
}

} // namespace

#endif
