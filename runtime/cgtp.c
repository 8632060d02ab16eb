/* SPDX-License-Identifier: MIT */
/* cgtp.c - the host side of the runtime: status texts; sorting and indexing of graphs.
 *
 * Nothing here allocates, prints or keeps state. The two widths of node index share one body, which reads
 * both through struct cgtp_graph_view.
 */
#include "cgtp_view.h"

const char *cgtp_status_text(cgtp_status status)
{
    static const char *const text[CGTP_STATUS_COUNT] = { /* in the order of cgtp_status */
        "success",
        "an array with elements, or the graph, is a null pointer",
        "an array does not start at a multiple of 16 bytes, or its stride does not fit its rows",
        "a number of items or rows is negative or too large, or a stride is less than a row",
        "the graph has an index out of range, unsorted edges, or wrong row pointers or permutation",
        "the workspace is missing or smaller than the kernel's function of the least workspace says",
        "the device refused the launch",
        "the graph has no receiver_row, by_sender or sender_row: call cgtp_graph_index first",
        "there is no GPU, or no driver for it that is as new as the CUDA version used",
        "there is no code for this GPU: compile for its architecture (nvcc -arch=sm_90 and the like)",
    };
    return (unsigned)status < CGTP_STATUS_COUNT ? text[status] : "unknown status";
}

/* Counting sort of edge numbers by a node of theirs, then number; row[n] is how many have a node before n. The row pointers
 * count themselves: after the sums entry n holds where the edges of n begin, filling advances it to where they end, which is
 * where those of n + 1 begin, so at the end the entries move up by one. */
static void sort_edges(const struct cgtp_graph_view *g, const void *node, int64_t nodes, void *order,
                       int64_t *row)
{
    for (int64_t n = 0; n <= nodes; n++)
        row[n] = 0;
    for (int64_t e = 0; e < g->items; e++)
        row[cgtp_get_index(node, e, g->wide) + 1]++;
    for (int64_t n = 0; n < nodes; n++)
        row[n + 1] += row[n];
    for (int64_t e = 0; e < g->items; e++)
        cgtp_put_index(order, row[cgtp_get_index(node, e, g->wide)]++, e, g->wide);
    for (int64_t n = nodes; n > 0; n--)
        row[n] = row[n - 1];
    row[0] = 0;
}

static cgtp_status sort_graph(const struct cgtp_graph_view *g, void *sender, void *receiver, void *order,
                              int64_t *receiver_row)
{
    cgtp_status status = cgtp_view_check_edges(g, 0);
    if (status || (!g->items && !receiver_row))
        return status;
    if (!receiver_row || (g->items && (!sender || !receiver || !order)))
        return CGTP_NULL_POINTER;
    const void *const own[] = {g->sender, g->receiver}, *const made[] = {sender, receiver, order};
    for (int i = 0; i < 6 && g->items; i++) /* they are read while these are written */
        if (own[i % 2] == made[i / 2])
            return CGTP_BAD_GRAPH;
    sort_edges(g, g->receiver, g->receivers, order, receiver_row);
    for (int64_t i = 0; i < g->items; i++) {
        const int64_t e = cgtp_get_index(order, i, g->wide);
        cgtp_put_index(sender, i, cgtp_get_index(g->sender, e, g->wide), g->wide);
        cgtp_put_index(receiver, i, cgtp_get_index(g->receiver, e, g->wide), g->wide);
    }
    return CGTP_OK;
}

static cgtp_status index_graph(const struct cgtp_graph_view *g, int64_t *receiver_row, void *by_sender,
                               int64_t *sender_row)
{
    cgtp_status status = cgtp_view_check_edges(g, 1);
    if (status)
        return status;
    if (!receiver_row || !sender_row || (g->items && !by_sender))
        return CGTP_NULL_POINTER;
    int64_t e = 0;
    for (int64_t r = 0; r <= g->receivers; r++) {
        while (e < g->items && cgtp_get_index(g->receiver, e, g->wide) < r)
            e++;
        receiver_row[r] = e;
    }
    sort_edges(g, g->sender, g->senders, by_sender, sender_row);
    return CGTP_OK;
}

/* What callers call, for one width. */
#define CGTP_SORTS(graph_type, number, view_of, sort, index)                                                          \
    cgtp_status sort(graph_type *graph, number *sender, number *receiver, number *order, int64_t *receiver_row)       \
    {                                                                                                                 \
        if (!graph)                                                                                                   \
            return CGTP_NULL_POINTER;                                                                                 \
        struct cgtp_graph_view view = view_of(graph);                                                                 \
        cgtp_status status = sort_graph(&view, sender, receiver, order, receiver_row);                                \
        const graph_type sorted = {view.items, view.senders, view.receivers, sender, receiver, NULL, NULL, NULL, NULL};\
        if (status == CGTP_OK)                                                                                        \
            *graph = sorted;                                                                                          \
        return status;                                                                                                \
    }                                                                                                                 \
    cgtp_status index(graph_type *graph, int64_t *receiver_row, number *by_sender, int64_t *sender_row)               \
    {                                                                                                                 \
        if (!graph)                                                                                                   \
            return CGTP_NULL_POINTER;                                                                                 \
        struct cgtp_graph_view view = view_of(graph);                                                                 \
        cgtp_status status = index_graph(&view, receiver_row, by_sender, sender_row);                                 \
        if (status == CGTP_OK) {                                                                                      \
            graph->receiver_row = receiver_row;                                                                       \
            graph->by_sender = by_sender;                                                                             \
            graph->sender_row = sender_row;                                                                           \
        }                                                                                                             \
        return status;                                                                                                \
    }
CGTP_SORTS(cgtp_graph, int32_t, cgtp_view32, cgtp_graph_sort, cgtp_graph_index)
CGTP_SORTS(cgtp_graph64, int64_t, cgtp_view64, cgtp_graph64_sort, cgtp_graph64_index)
