/* SPDX-License-Identifier: MIT */
/* cgtp.c - the host side of the runtime: status texts, indexing and checking of graphs.
 *
 * Nothing here allocates, prints or keeps state. The two widths of node index share one body, which reads
 * both through struct view.
 */
#include "cgtp.h"

const char *cgtp_status_text(cgtp_status status)
{
    switch (status) {
    case CGTP_OK:
        return "success";
    case CGTP_NULL_POINTER:
        return "an array with elements, or the graph, is a null pointer";
    case CGTP_MISALIGNED:
        return "an array does not start at a multiple of 16 bytes";
    case CGTP_BAD_SIZE:
        return "a number of items or rows is negative or too large";
    case CGTP_BAD_GRAPH:
        return "the graph has an index out of range, unsorted edges, or wrong row pointers or permutation";
    case CGTP_WORKSPACE:
        return "the workspace is missing or smaller than the kernel's workspace function says";
    case CGTP_LAUNCH_FAILED:
        return "the device refused the launch";
    case CGTP_NOT_INDEXED:
        return "the graph has no receiver_row, by_sender or sender_row: call cgtp_graph_index first";
    case CGTP_STATUS_COUNT:
        break;
    }
    return "unknown status";
}

/* A cgtp_graph or, with wide, a cgtp_graph64. */
struct view {
    int64_t items, senders, receivers;
    const void *sender, *receiver, *by_sender;
    const int64_t *receiver_row, *sender_row;
    int wide;
};

static struct view view32(const cgtp_graph *g)
{
    const struct view view = {g->items,     g->senders,      g->receivers,  g->sender, g->receiver,
                         g->by_sender, g->receiver_row, g->sender_row, 0};
    return view;
}

static struct view view64(const cgtp_graph64 *g)
{
    const struct view view = {g->items,     g->senders,      g->receivers,  g->sender, g->receiver,
                         g->by_sender, g->receiver_row, g->sender_row, 1};
    return view;
}

static inline int64_t at(const struct view *g, const void *index, int64_t i)
{
    return g->wide ? ((const int64_t *)index)[i] : ((const int32_t *)index)[i];
}

/* The edge list itself: sizes, pointers, ranges, and order where sorted. */
static cgtp_status check_edges(const struct view *g, int sorted)
{
    const int64_t rows = PTRDIFF_MAX / 8 - 1; /* row pointers of more rows cannot be addressed */
    const int64_t edges = sorted && !g->wide ? INT32_MAX : rows; /* by_sender holds edge numbers */
    if (g->items < 0 || g->senders < 0 || g->receivers < 0 || g->items > edges || g->senders > rows ||
        g->receivers > rows)
        return CGTP_BAD_SIZE;
    if (g->items && (!g->sender || !g->receiver))
        return CGTP_NULL_POINTER;
    int64_t before = 0;
    for (int64_t e = 0; e < g->items; e++) {
        int64_t sender = at(g, g->sender, e), receiver = at(g, g->receiver, e);
        if (sender < 0 || sender >= g->senders || receiver < 0 || receiver >= g->receivers)
            return CGTP_BAD_GRAPH;
        if (sorted && receiver < before)
            return CGTP_BAD_GRAPH;
        before = receiver;
    }
    return CGTP_OK;
}

/* Row pointers must be 0, ascending, items, with every edge in its receiver's row. The permutation is right
 * if the rows of sender_row hold `items` entries together and in each the edges ascend and come from that
 * sender: then they are distinct within a row, and between rows by their sender. */
static cgtp_status check_graph(const struct view *g, int sorted)
{
    cgtp_status status = check_edges(g, sorted);
    if (status || !sorted)
        return status;
    if (!g->receiver_row || !g->sender_row || (g->items && !g->by_sender))
        return CGTP_NULL_POINTER;
    if (g->receiver_row[0] != 0 || g->receiver_row[g->receivers] != g->items || g->sender_row[0] != 0 ||
        g->sender_row[g->senders] != g->items)
        return CGTP_BAD_GRAPH;
    for (int64_t r = 0; r < g->receivers; r++) {
        int64_t begin = g->receiver_row[r], end = g->receiver_row[r + 1];
        if (begin > end || end > g->items)
            return CGTP_BAD_GRAPH;
        for (int64_t e = begin; e < end; e++)
            if (at(g, g->receiver, e) != r)
                return CGTP_BAD_GRAPH;
    }
    for (int64_t s = 0; s < g->senders; s++) {
        int64_t begin = g->sender_row[s], end = g->sender_row[s + 1], before = -1;
        if (begin > end || end > g->items)
            return CGTP_BAD_GRAPH;
        for (int64_t i = begin; i < end; i++) {
            int64_t e = at(g, g->by_sender, i);
            if (e <= before || e >= g->items || at(g, g->sender, e) != s)
                return CGTP_BAD_GRAPH;
            before = e;
        }
    }
    return CGTP_OK;
}

/* Counting sorts. By receiver the edges are in order already; by sender, sender_row itself counts: after the
 * sums entry s holds where the edges from s begin, filling advances it to where they end, which is where
 * those from s + 1 begin, so at the end the entries move up by one. Edges are met in order, so they ascend
 * within a sender. */
static cgtp_status index_graph(const struct view *g, int64_t *receiver_row, void *by_sender,
                               int64_t *sender_row)
{
    cgtp_status status = check_edges(g, 1);
    if (status)
        return status;
    if (!receiver_row || !sender_row || (g->items && !by_sender))
        return CGTP_NULL_POINTER;
    int64_t e = 0;
    for (int64_t r = 0; r <= g->receivers; r++) {
        while (e < g->items && at(g, g->receiver, e) < r)
            e++;
        receiver_row[r] = e;
    }
    for (int64_t s = 0; s <= g->senders; s++)
        sender_row[s] = 0;
    for (e = 0; e < g->items; e++)
        sender_row[at(g, g->sender, e) + 1]++;
    for (int64_t s = 0; s < g->senders; s++)
        sender_row[s + 1] += sender_row[s];
    for (e = 0; e < g->items; e++) {
        int64_t i = sender_row[at(g, g->sender, e)]++;
        if (g->wide)
            ((int64_t *)by_sender)[i] = e;
        else
            ((int32_t *)by_sender)[i] = (int32_t)e;
    }
    for (int64_t s = g->senders; s > 0; s--)
        sender_row[s] = sender_row[s - 1];
    sender_row[0] = 0;
    return CGTP_OK;
}

cgtp_status cgtp_graph_index(cgtp_graph *graph, int64_t *receiver_row, int32_t *by_sender,
                             int64_t *sender_row)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct view view = view32(graph);
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
    struct view view = view64(graph);
    cgtp_status status = index_graph(&view, receiver_row, by_sender, sender_row);
    if (status == CGTP_OK) {
        graph->receiver_row = receiver_row;
        graph->by_sender = by_sender;
        graph->sender_row = sender_row;
    }
    return status;
}

cgtp_status cgtp_graph_check(const cgtp_graph *graph, int sorted)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct view view = view32(graph);
    return check_graph(&view, sorted);
}

cgtp_status cgtp_graph64_check(const cgtp_graph64 *graph, int sorted)
{
    if (!graph)
        return CGTP_NULL_POINTER;
    struct view view = view64(graph);
    return check_graph(&view, sorted);
}
