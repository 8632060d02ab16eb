/* SPDX-License-Identifier: MIT */
/* cgtp_fault.h - what can be wrong with a graph, found at each place by itself: for the host's check (cgtp_check.c)
 * and the device's (cgtp_graph.cu). C11 and C++.
 */
#ifndef CGTP_FAULT_H
#define CGTP_FAULT_H

#include "cgtp_check.h"
#include "cgtp_view.h"

/* In the order in which they are told: what causes others comes first. */
enum cgtp_fault_kind {
    CGTP_FAULT_SENDER,
    CGTP_FAULT_RECEIVER,
    CGTP_FAULT_ROW,
    CGTP_FAULT_ORDER,
    CGTP_FAULT_RECEIVER_ROW,
    CGTP_FAULT_EDGE,
    CGTP_FAULT_BY_SENDER,
    CGTP_FAULT_SENDER_ROW,
    CGTP_FAULT_KINDS
};

/* A fault as one number, smaller the earlier it is told; that of none. */
enum { CGTP_FAULT_SHIFT = 60 };
#define CGTP_FAULT_NONE UINT64_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* Tells all of a fault but the value, and returns where that is, in the memory in which the graph is; NULL:
 * there is none. bytes: of the value. In cgtp_check.c. */
CGTP_API const void *cgtp_fault_place(const struct cgtp_graph_view *, uint64_t fault, cgtp_fault *out, int *bytes);

#ifdef __cplusplus
}
#endif

/* The receiver of edge i, or the sender of the edge that stands at place i of the permutation; -1 where that is none. */
CGTP_FAULT int64_t cgtp_node_of_place(const struct cgtp_graph_view *g, int of_senders, int64_t i)
{
    if (!of_senders)
        return cgtp_get_index(g->receiver, i, g->wide);
    const int64_t edge = cgtp_get_index(g->by_sender, i, g->wide);
    return cgtp_is_below(edge, g->items) ? cgtp_get_index(g->sender, edge, g->wide) : -1;
}

/* Row pointer number n of senders, or of receivers, says how many edges end before node n: is that wrong? */
CGTP_FAULT int cgtp_row_is_wrong(const struct cgtp_graph_view *g, int of_senders, int64_t n)
{
    const int64_t edges = of_senders ? g->sender_row[n] : g->receiver_row[n];
    return edges < 0 || edges > g->items || (edges > 0 && cgtp_node_of_place(g, of_senders, edges - 1) >= n) ||
           (edges < g->items && cgtp_node_of_place(g, of_senders, edges) < n);
}

/* Edges stand in the permutation by sender, then number, so that each is there once. */
CGTP_FAULT int cgtp_by_sender_is_wrong(const struct cgtp_graph_view *g, int64_t i)
{
    const int64_t before = i ? cgtp_node_of_place(g, 1, i - 1) : -1, here = cgtp_node_of_place(g, 1, i);
    return before > here || (i && before == here &&
                             cgtp_get_index(g->by_sender, i - 1, g->wide) >= cgtp_get_index(g->by_sender, i, g->wide));
}

/* Places to look at. */
CGTP_FAULT int64_t cgtp_fault_places(const struct cgtp_graph_view *g, int sorted)
{
    int64_t most = g->items;
    if (sorted && most <= g->senders)
        most = g->senders + 1;
    if (sorted && most <= g->receivers)
        most = g->receivers + 1;
    return most;
}

/* The first fault at place i of all arrays. */
CGTP_FAULT uint64_t cgtp_fault_of_place(const struct cgtp_graph_view *g, int sorted, int64_t i)
{
    int kind = CGTP_FAULT_KINDS;
    if (sorted && i <= g->senders && cgtp_row_is_wrong(g, 1, i))
        kind = CGTP_FAULT_SENDER_ROW;
    if (sorted && i < g->items && cgtp_by_sender_is_wrong(g, i))
        kind = CGTP_FAULT_BY_SENDER;
    if (sorted && i < g->items && !cgtp_is_below(cgtp_get_index(g->by_sender, i, g->wide), g->items))
        kind = CGTP_FAULT_EDGE;
    if (sorted && i <= g->receivers && cgtp_row_is_wrong(g, 0, i))
        kind = CGTP_FAULT_RECEIVER_ROW;
    if (sorted && i > 0 && i < g->items &&
        cgtp_get_index(g->receiver, i, g->wide) < cgtp_get_index(g->receiver, i - 1, g->wide))
        kind = CGTP_FAULT_ORDER;
    if (g->order && i < g->items && !cgtp_is_below(cgtp_get_index(g->order, i, g->wide), g->items))
        kind = CGTP_FAULT_ROW;
    if (i < g->items && !cgtp_is_below(cgtp_get_index(g->receiver, i, g->wide), g->receivers))
        kind = CGTP_FAULT_RECEIVER;
    if (i < g->items && !cgtp_is_below(cgtp_get_index(g->sender, i, g->wide), g->senders))
        kind = CGTP_FAULT_SENDER;
    return kind == CGTP_FAULT_KINDS ? CGTP_FAULT_NONE : (uint64_t)kind << CGTP_FAULT_SHIFT | (uint64_t)i;
}

#endif
