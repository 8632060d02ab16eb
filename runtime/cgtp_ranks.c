/* SPDX-License-Identifier: MIT */
/* cgtp_ranks.c - see cgtp_ranks.h: graphs are split and sliced, rows go between ranks. */
#include "cgtp_ranks.h"
#include "cgtp_types.h"
#include "cgtp_view.h"

#include <string.h>

/* Marks the receivers of edges from ghosts, and counts the others; then numbers both. */
static cgtp_status split_graph(const struct cgtp_graph_view *g, void *number, int64_t *interior)
{
    cgtp_status status = cgtp_view_check_edges(g, 0);
    if (status)
        return status;
    if (g->senders < g->receivers)
        return CGTP_BAD_SIZE;
    if (!interior || (g->receivers && !number))
        return CGTP_NULL_POINTER;
    int64_t boundary = 0;
    for (int64_t r = 0; r < g->receivers; r++)
        cgtp_put_index(number, r, 0, g->wide);
    for (int64_t e = 0; e < g->items; e++)
        if (cgtp_get_index(g->sender, e, g->wide) >= g->receivers)
            cgtp_put_index(number, cgtp_get_index(g->receiver, e, g->wide), 1, g->wide);
    for (int64_t r = 0; r < g->receivers; r++)
        boundary += cgtp_get_index(number, r, g->wide);
    int64_t next[2] = {0, g->receivers - boundary};
    for (int64_t r = 0; r < g->receivers; r++)
        cgtp_put_index(number, r, next[cgtp_get_index(number, r, g->wide)]++, g->wide);
    *interior = g->receivers - boundary;
    return CGTP_OK;
}

/* Where the edges of the receivers begin and end; their receivers, counted from the first. */
static cgtp_status slice_edges(const struct cgtp_graph_view *g, int64_t first, int64_t last, int64_t senders, void *receiver,
                               int64_t edges[2])
{
    cgtp_status status = cgtp_view_check(g, 1);
    if (status)
        return status;
    if (first < 0 || last < first || last > g->receivers || senders < 0 || senders > g->senders)
        return CGTP_BAD_SIZE;
    if (!g->receiver_row)
        return CGTP_NOT_INDEXED;
    edges[0] = g->receiver_row[first];
    edges[1] = g->receiver_row[last];
    if (edges[0] < 0 || edges[1] < edges[0] || edges[1] > g->items)
        return CGTP_BAD_GRAPH;
    if (edges[1] > edges[0] && !receiver)
        return CGTP_NULL_POINTER;
    for (int64_t e = edges[0]; e < edges[1]; e++)
        cgtp_put_index(receiver, e - edges[0], cgtp_get_index(g->receiver, e, g->wide) - first, g->wide);
    return CGTP_OK;
}

/* What callers call, for one width. */
#define CGTP_PARTS(graph_type, number, view_of, split, slice, index)                                                  \
    cgtp_status split(const graph_type *graph, number *numbers, int64_t *interior)                                    \
    {                                                                                                                 \
        if (!graph)                                                                                                   \
            return CGTP_NULL_POINTER;                                                                                 \
        struct cgtp_graph_view view = view_of(graph);                                                                 \
        return split_graph(&view, numbers, interior);                                                                 \
    }                                                                                                                 \
    cgtp_status slice(const graph_type *graph, int64_t first, int64_t last, int64_t senders, graph_type *part,        \
                      number *receiver, int64_t *receiver_row, number *by_sender, int64_t *sender_row)                \
    {                                                                                                                 \
        if (!graph || !part)                                                                                          \
            return CGTP_NULL_POINTER;                                                                                 \
        int64_t edges[2];                                                                                             \
        struct cgtp_graph_view view = view_of(graph);                                                                 \
        cgtp_status status = slice_edges(&view, first, last, senders, receiver, edges);                               \
        if (status)                                                                                                   \
            return status;                                                                                            \
        const number *sender = graph->sender ? graph->sender + edges[0] : NULL;                                       \
        graph_type made = {edges[1] - edges[0], senders, last - first, sender, receiver, NULL, NULL, NULL, NULL};     \
        if ((status = index(&made, receiver_row, by_sender, sender_row)))                                             \
            return status;                                                                                            \
        made.order = graph->order ? graph->order + edges[0] : NULL;                                                   \
        *part = made;                                                                                                 \
        return CGTP_OK;                                                                                               \
    }
CGTP_PARTS(cgtp_graph, int32_t, cgtp_view32, cgtp_graph_split, cgtp_graph_slice, cgtp_graph_index)
CGTP_PARTS(cgtp_graph64, int64_t, cgtp_view64, cgtp_graph64_split, cgtp_graph64_slice, cgtp_graph64_index)

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
        cgtp_put_number(array, rows->type, to, (double)sum);
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
