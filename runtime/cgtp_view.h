/* SPDX-License-Identifier: MIT */
/* cgtp_view.h - a graph of either width of node index, as the runtime itself reads it. C11 and C++. */
#ifndef CGTP_VIEW_H
#define CGTP_VIEW_H

#include "cgtp.h"

#ifndef CGTP_FAULT
#define CGTP_FAULT static inline
#endif

/* A cgtp_graph or, with wide, a cgtp_graph64. */
struct cgtp_graph_view {
    int64_t items, senders, receivers;
    const void *sender, *receiver, *by_sender, *order;
    const int64_t *receiver_row, *sender_row;
    int wide;
};

/* A number of a list of either width. */
CGTP_FAULT int64_t cgtp_get_index(const void *index, int64_t i, int wide)
{
    return wide ? ((const int64_t *)index)[i] : ((const int32_t *)index)[i];
}
CGTP_FAULT void cgtp_put_index(void *index, int64_t i, int64_t value, int wide)
{
    if (wide)
        ((int64_t *)index)[i] = value;
    else
        ((int32_t *)index)[i] = (int32_t)value;
}

CGTP_FAULT int cgtp_is_below(int64_t i, int64_t n)
{
    return i >= 0 && i < n;
}

#define CGTP_VIEW(name, graph, wide)                                                                         \
    static inline struct cgtp_graph_view name(const graph *g)                                                \
    {                                                                                                        \
        const struct cgtp_graph_view view = {g->items, g->senders, g->receivers, g->sender, g->receiver, g->by_sender, \
                                             g->order, g->receiver_row, g->sender_row, wide};                \
        return view;                                                                                         \
    }
CGTP_VIEW(cgtp_view32, cgtp_graph, 0)
CGTP_VIEW(cgtp_view64, cgtp_graph64, 1)

/* Sizes and pointers. */
static inline cgtp_status cgtp_view_check(const struct cgtp_graph_view *g, int sorted)
{
    const int64_t rows = PTRDIFF_MAX / 8 - 1; /* row pointers of more rows cannot be addressed */
    const int64_t edges = sorted && !g->wide ? INT32_MAX : rows; /* by_sender holds edge numbers */
    if (g->items < 0 || g->senders < 0 || g->receivers < 0 || g->items > edges || g->senders > rows ||
        g->receivers > rows)
        return CGTP_BAD_SIZE;
    return g->items && (!g->sender || !g->receiver) ? CGTP_NULL_POINTER : CGTP_OK;
}

/* The edge list itself: ranges and, where it is to be sorted, order. */
static inline cgtp_status cgtp_view_check_edges(const struct cgtp_graph_view *g, int sorted)
{
    cgtp_status status = cgtp_view_check(g, 1);
    int64_t before = 0;
    for (int64_t e = 0; e < g->items && !status; e++) {
        int64_t sender = cgtp_get_index(g->sender, e, g->wide), receiver = cgtp_get_index(g->receiver, e, g->wide);
        if (!cgtp_is_below(sender, g->senders) || !cgtp_is_below(receiver, g->receivers) ||
            (sorted && receiver < before))
            status = CGTP_BAD_GRAPH;
        before = receiver;
    }
    return status;
}

#endif
