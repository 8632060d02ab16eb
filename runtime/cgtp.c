/* SPDX-License-Identifier: MIT */
/* cgtp.c - the host side of the runtime: status texts; sorting, indexing, checking and splitting of graphs;
 * rows that go between ranks.
 *
 * Nothing here allocates, prints or keeps state. The two widths of node index share one body, which reads
 * both through struct cgtp_graph_view (cgtp_fault.h, which also says what makes a graph bad).
 */
#include "cgtp_call.h"
#include "cgtp_fault.h"
#include "cgtp_types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *cgtp_status_text(cgtp_status status)
{
    switch (status) {
    case CGTP_OK:
        return "success";
    case CGTP_NULL_POINTER:
        return "an array with elements, or the graph, is a null pointer";
    case CGTP_MISALIGNED:
        return "an array does not start at a multiple of 16 bytes, or its stride does not fit its rows";
    case CGTP_BAD_SIZE:
        return "a number of items or rows is negative or too large, or a stride is less than a row";
    case CGTP_BAD_GRAPH:
        return "the graph has an index out of range, unsorted edges, or wrong row pointers or permutation";
    case CGTP_WORKSPACE:
        return "the workspace is missing or smaller than the kernel's workspace function says";
    case CGTP_LAUNCH_FAILED:
        return "the device refused the launch";
    case CGTP_NOT_INDEXED:
        return "the graph has no receiver_row, by_sender or sender_row: call cgtp_graph_index first";
    case CGTP_NO_DEVICE:
        return "there is no GPU, or no driver for it that is as new as the CUDA version used";
    case CGTP_NO_CODE:
        return "there is no code for this GPU: compile for its architecture (nvcc -arch=sm_90 and the like)";
    case CGTP_STATUS_COUNT:
        break;
    }
    return "unknown status";
}

static struct cgtp_graph_view view32(const cgtp_graph *g)
{
    const struct cgtp_graph_view view = {g->items,     g->senders,      g->receivers,  g->sender, g->receiver,
                                         g->by_sender, g->order,        g->receiver_row, g->sender_row, 0};
    return view;
}

static struct cgtp_graph_view view64(const cgtp_graph64 *g)
{
    const struct cgtp_graph_view view = {g->items,     g->senders,      g->receivers,  g->sender, g->receiver,
                                         g->by_sender, g->order,        g->receiver_row, g->sender_row, 1};
    return view;
}

/* Sizes and pointers. */
static cgtp_status check_arrays(const struct cgtp_graph_view *g, int sorted)
{
    const int64_t rows = PTRDIFF_MAX / 8 - 1; /* row pointers of more rows cannot be addressed */
    const int64_t edges = sorted && !g->wide ? INT32_MAX : rows; /* by_sender holds edge numbers */
    if (g->items < 0 || g->senders < 0 || g->receivers < 0 || g->items > edges || g->senders > rows ||
        g->receivers > rows)
        return CGTP_BAD_SIZE;
    return g->items && (!g->sender || !g->receiver) ? CGTP_NULL_POINTER : CGTP_OK;
}

/* The edge list itself: ranges and, where it is to be sorted, order. */
static cgtp_status check_edges(const struct cgtp_graph_view *g, int sorted)
{
    cgtp_status status = check_arrays(g, 1);
    int64_t before = 0;
    for (int64_t e = 0; e < g->items && !status; e++) {
        int64_t sender = cgtp_view_get(g, g->sender, e), receiver = cgtp_view_get(g, g->receiver, e);
        if (!cgtp_is_below(sender, g->senders) || !cgtp_is_below(receiver, g->receivers) ||
            (sorted && receiver < before))
            status = CGTP_BAD_GRAPH;
        before = receiver;
    }
    return status;
}

static const cgtp_fault no_fault = {NULL, NULL, 0, 0};

const void *cgtp_fault_place(const struct cgtp_graph_view *g, uint64_t fault, cgtp_fault *out, int *bytes)
{
    static const char *const words[CGTP_FAULT_KINDS] = {
        "is the number of no sender",
        "is the number of no receiver",
        "is the number of no row",
        "is below the one before, but edges must ascend by receiver",
        "is not the number of edges to the receivers before",
        "is the number of no edge",
        "does not come after the one before, by sender and number",
        "is not the number of edges from the senders before",
    };
    static const char *const name[CGTP_FAULT_KINDS] = {
        "sender", "receiver", "order", "receiver", "receiver_row", "by_sender", "by_sender", "sender_row",
    };
    const void *const array[CGTP_FAULT_KINDS] = {
        g->sender,       g->receiver,  g->order,     g->receiver,
        g->receiver_row, g->by_sender, g->by_sender, g->sender_row,
    };
    const int kind = (int)(fault >> CGTP_FAULT_SHIFT);
    const int row = kind == CGTP_FAULT_RECEIVER_ROW || kind == CGTP_FAULT_SENDER_ROW;
    *out = no_fault;
    *bytes = g->wide || row ? 8 : 4;
    if (fault == CGTP_FAULT_NONE)
        return NULL;
    out->array = name[kind];
    out->words = words[kind];
    out->at = (int64_t)(fault & (((uint64_t)1 << CGTP_FAULT_SHIFT) - 1));
    return (const char *)array[kind] + out->at * *bytes;
}

static cgtp_status check_graph(const struct cgtp_graph_view *g, int sorted, cgtp_fault *fault)
{
    uint64_t first = CGTP_FAULT_NONE;
    *fault = no_fault;
    cgtp_status status = check_arrays(g, sorted);
    if (status)
        return status;
    if (sorted && (!g->receiver_row || !g->sender_row)) /* which nothing reads where there are no edges */
        return g->items ? CGTP_NOT_INDEXED : CGTP_OK;
    if (sorted && g->items && !g->by_sender)
        return CGTP_NOT_INDEXED;
    for (int64_t i = 0, places = cgtp_fault_places(g, sorted); i < places; i++) {
        const uint64_t found = cgtp_fault_of_place(g, sorted, i);
        first = found < first ? found : first;
    }
    int bytes;
    const void *place = cgtp_fault_place(g, first, fault, &bytes);
    if (place)
        fault->value = bytes == 8 ? *(const int64_t *)place : *(const int32_t *)place;
    return place ? CGTP_BAD_GRAPH : CGTP_OK;
}

static void put(const struct cgtp_graph_view *g, void *index, int64_t i, int64_t value)
{
    if (g->wide)
        ((int64_t *)index)[i] = value;
    else
        ((int32_t *)index)[i] = (int32_t)value;
}

/* Counting sort of edge numbers by a node of theirs, then number; row[n] is how many have a node before n.
 * The row pointers count themselves: after the sums entry n holds where the edges of n begin, filling
 * advances it to where they end, which is where those of n + 1 begin, so at the end the entries move up by
 * one. */
static void sort_edges(const struct cgtp_graph_view *g, const void *node, int64_t nodes, void *order,
                       int64_t *row)
{
    for (int64_t n = 0; n <= nodes; n++)
        row[n] = 0;
    for (int64_t e = 0; e < g->items; e++)
        row[cgtp_view_get(g, node, e) + 1]++;
    for (int64_t n = 0; n < nodes; n++)
        row[n + 1] += row[n];
    for (int64_t e = 0; e < g->items; e++)
        put(g, order, row[cgtp_view_get(g, node, e)]++, e);
    for (int64_t n = nodes; n > 0; n--)
        row[n] = row[n - 1];
    row[0] = 0;
}

static cgtp_status sort_graph(const struct cgtp_graph_view *g, void *sender, void *receiver, void *order,
                              int64_t *receiver_row)
{
    cgtp_status status = check_edges(g, 0);
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
        const int64_t e = cgtp_view_get(g, order, i);
        put(g, sender, i, cgtp_view_get(g, g->sender, e));
        put(g, receiver, i, cgtp_view_get(g, g->receiver, e));
    }
    return CGTP_OK;
}

static cgtp_status index_graph(const struct cgtp_graph_view *g, int64_t *receiver_row, void *by_sender,
                               int64_t *sender_row)
{
    cgtp_status status = check_edges(g, 1);
    if (status)
        return status;
    if (!receiver_row || !sender_row || (g->items && !by_sender))
        return CGTP_NULL_POINTER;
    int64_t e = 0;
    for (int64_t r = 0; r <= g->receivers; r++) {
        while (e < g->items && cgtp_view_get(g, g->receiver, e) < r)
            e++;
        receiver_row[r] = e;
    }
    sort_edges(g, g->sender, g->senders, by_sender, sender_row);
    return CGTP_OK;
}

cgtp_status cgtp_graph_sort(cgtp_graph *graph, int32_t *sender, int32_t *receiver, int32_t *order,
                            int64_t *receiver_row)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view32(graph);
    cgtp_status status = sort_graph(&view, sender, receiver, order, receiver_row);
    if (status == CGTP_OK) {
        const cgtp_graph sorted = {
            graph->items, graph->senders, graph->receivers, sender, receiver, NULL, NULL, NULL, NULL};
        *graph = sorted;
    }
    return status;
}

cgtp_status cgtp_graph64_sort(cgtp_graph64 *graph, int64_t *sender, int64_t *receiver, int64_t *order,
                              int64_t *receiver_row)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view64(graph);
    cgtp_status status = sort_graph(&view, sender, receiver, order, receiver_row);
    if (status == CGTP_OK) {
        const cgtp_graph64 sorted = {
            graph->items, graph->senders, graph->receivers, sender, receiver, NULL, NULL, NULL, NULL};
        *graph = sorted;
    }
    return status;
}

cgtp_status cgtp_graph_index(cgtp_graph *graph, int64_t *receiver_row, int32_t *by_sender,
                             int64_t *sender_row)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view32(graph);
    cgtp_status status = index_graph(&view, receiver_row, by_sender, sender_row);
    if (status == CGTP_OK) {
        graph->receiver_row = receiver_row;
        graph->by_sender = by_sender;
        graph->sender_row = sender_row;
    }
    return status;
}

cgtp_status cgtp_graph64_index(cgtp_graph64 *graph, int64_t *receiver_row, int64_t *by_sender,
                               int64_t *sender_row)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view64(graph);
    cgtp_status status = index_graph(&view, receiver_row, by_sender, sender_row);
    if (status == CGTP_OK) {
        graph->receiver_row = receiver_row;
        graph->by_sender = by_sender;
        graph->sender_row = sender_row;
    }
    return status;
}

/* Marks the receivers of edges from ghosts, and counts the others; then numbers both. */
static cgtp_status split_graph(const struct cgtp_graph_view *g, void *number, int64_t *interior)
{
    cgtp_status status = check_edges(g, 0);
    if (status)
        return status;
    if (g->senders < g->receivers)
        return CGTP_BAD_SIZE;
    if (!interior || (g->receivers && !number))
        return CGTP_NULL_POINTER;
    int64_t boundary = 0;
    for (int64_t r = 0; r < g->receivers; r++)
        put(g, number, r, 0);
    for (int64_t e = 0; e < g->items; e++)
        if (cgtp_view_get(g, g->sender, e) >= g->receivers)
            put(g, number, cgtp_view_get(g, g->receiver, e), 1);
    for (int64_t r = 0; r < g->receivers; r++)
        boundary += cgtp_view_get(g, number, r);
    int64_t next[2] = {0, g->receivers - boundary};
    for (int64_t r = 0; r < g->receivers; r++)
        put(g, number, r, next[cgtp_view_get(g, number, r)]++);
    *interior = g->receivers - boundary;
    return CGTP_OK;
}

cgtp_status cgtp_graph_split(const cgtp_graph *graph, int32_t *number, int64_t *interior)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view32(graph);
    return split_graph(&view, number, interior);
}

cgtp_status cgtp_graph64_split(const cgtp_graph64 *graph, int64_t *number, int64_t *interior)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view64(graph);
    return split_graph(&view, number, interior);
}

/* Where the edges of the receivers begin and end. */
static cgtp_status slice_edges(const struct cgtp_graph_view *g, int64_t first, int64_t last, int64_t senders,
                               int64_t edges[2])
{
    cgtp_status status = check_arrays(g, 1);
    if (status)
        return status;
    if (first < 0 || last < first || last > g->receivers || senders < 0 || senders > g->senders)
        return CGTP_BAD_SIZE;
    if (!g->receiver_row)
        return CGTP_NOT_INDEXED;
    edges[0] = g->receiver_row[first];
    edges[1] = g->receiver_row[last];
    return edges[0] < 0 || edges[1] < edges[0] || edges[1] > g->items ? CGTP_BAD_GRAPH : CGTP_OK;
}

static void shift_receivers(const struct cgtp_graph_view *g, const int64_t edges[2], int64_t first,
                            void *receiver)
{
    for (int64_t e = edges[0]; e < edges[1]; e++)
        put(g, receiver, e - edges[0], cgtp_view_get(g, g->receiver, e) - first);
}

cgtp_status cgtp_graph_slice(const cgtp_graph *graph, int64_t first, int64_t last, int64_t senders,
                             cgtp_graph *part, int32_t *receiver, int64_t *receiver_row, int32_t *by_sender,
                             int64_t *sender_row)
{
    if (!graph || !part)
        return CGTP_NULL_POINTER;
    int64_t edges[2];
    struct cgtp_graph_view view = view32(graph);
    cgtp_status status = slice_edges(&view, first, last, senders, edges);
    if (status)
        return status;
    if (edges[1] > edges[0] && !receiver)
        return CGTP_NULL_POINTER;
    shift_receivers(&view, edges, first, receiver);
    cgtp_graph made = {.items = edges[1] - edges[0],
                       .senders = senders,
                       .receivers = last - first,
                       .sender = graph->sender ? graph->sender + edges[0] : NULL,
                       .receiver = receiver};
    status = cgtp_graph_index(&made, receiver_row, by_sender, sender_row);
    if (status)
        return status;
    made.order = graph->order ? graph->order + edges[0] : NULL;
    *part = made;
    return CGTP_OK;
}

cgtp_status cgtp_graph64_slice(const cgtp_graph64 *graph, int64_t first, int64_t last, int64_t senders,
                               cgtp_graph64 *part, int64_t *receiver, int64_t *receiver_row,
                               int64_t *by_sender, int64_t *sender_row)
{
    if (!graph || !part)
        return CGTP_NULL_POINTER;
    int64_t edges[2];
    struct cgtp_graph_view view = view64(graph);
    cgtp_status status = slice_edges(&view, first, last, senders, edges);
    if (status)
        return status;
    if (edges[1] > edges[0] && !receiver)
        return CGTP_NULL_POINTER;
    shift_receivers(&view, edges, first, receiver);
    cgtp_graph64 made = {.items = edges[1] - edges[0],
                         .senders = senders,
                         .receivers = last - first,
                         .sender = graph->sender ? graph->sender + edges[0] : NULL,
                         .receiver = receiver};
    status = cgtp_graph64_index(&made, receiver_row, by_sender, sender_row);
    if (status)
        return status;
    made.order = graph->order ? graph->order + edges[0] : NULL;
    *part = made;
    return CGTP_OK;
}

cgtp_status cgtp_rows_gather(const cgtp_rows *rows, const void *array, void *buffer)
{
    const cgtp_status status = cgtp_check_rows(rows, array, buffer);
    const size_t bytes = status ? 0 : (size_t)rows->elements * cgtp_type_size(rows->type);
    for (int64_t i = 0; bytes && i < rows->count; i++)
        memcpy((char *)buffer + (size_t)(rows->place ? rows->place[i] : i) * bytes,
               (const char *)array + (size_t)rows->row[i] * bytes, bytes);
    return status;
}

/* Adds `n` rows of a buffer, whose numbers stand in place[] or follow `first`, to a row of 16 bits. */
static void add_narrow(const cgtp_rows *rows, int64_t first, int64_t n, const void *buffer, void *array)
{
    for (int64_t k = 0; k < rows->elements; k++) {
        const int64_t to = rows->row[first] * rows->elements + k;
        float sum = (float)cgtp_get_number(array, rows->type, to);
        for (int64_t i = first; i < first + n; i++)
            sum += (float)cgtp_get_number(buffer, rows->type, (rows->place ? rows->place[i] : i) * rows->elements + k);
        cgtp_put_number(array, rows->type, to, sum);
    }
}

cgtp_status cgtp_rows_add(const cgtp_rows *rows, const void *buffer, void *array)
{
    const cgtp_status status = cgtp_check_rows(rows, array, buffer);
    for (int64_t i = 0, next; !status && rows->elements && i < rows->count; i = next) {
        const int64_t n = rows->elements, to = rows->row[i] * n,
                      from = (rows->place ? rows->place[i] : i) * n;
        next = i + 1;
        while (next < rows->count && rows->row[next] == rows->row[i] && cgtp_type_size(rows->type) == 2)
            next++;
        if (cgtp_type_size(rows->type) == 2)
            add_narrow(rows, i, next - i, buffer, array);
        for (int64_t k = 0; k < n && rows->type == CGTP_FLOAT64; k++)
            ((double *)array)[to + k] += ((const double *)buffer)[from + k];
        for (int64_t k = 0; k < n && rows->type == CGTP_FLOAT32; k++)
            ((float *)array)[to + k] += ((const float *)buffer)[from + k];
    }
    return status;
}

cgtp_status cgtp_graph_find_fault(const cgtp_graph *graph, int sorted, cgtp_fault *fault)
{
    *fault = no_fault;
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view32(graph);
    return check_graph(&view, sorted, fault);
}

cgtp_status cgtp_graph64_find_fault(const cgtp_graph64 *graph, int sorted, cgtp_fault *fault)
{
    *fault = no_fault;
    if (!graph)
        return CGTP_NULL_POINTER;
    struct cgtp_graph_view view = view64(graph);
    return check_graph(&view, sorted, fault);
}

cgtp_status cgtp_graph_check(const cgtp_graph *graph, int sorted)
{
    cgtp_fault fault;
    return cgtp_graph_find_fault(graph, sorted, &fault);
}

cgtp_status cgtp_graph64_check(const cgtp_graph64 *graph, int sorted)
{
    cgtp_fault fault;
    return cgtp_graph64_find_fault(graph, sorted, &fault);
}

int cgtp_fault_text(const cgtp_fault *fault, char *text, size_t size)
{
    if (!fault->array)
        return snprintf(text, size, "%s", "");
    return snprintf(text, size, "%s[%" PRId64 "] is %" PRId64 ": it %s", fault->array, fault->at,
                    fault->value, fault->words);
}
