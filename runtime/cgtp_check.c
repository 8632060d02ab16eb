/* SPDX-License-Identifier: MIT */
/* cgtp_check.c - see cgtp_check.h; what makes a graph bad is in cgtp_fault.h. */
#include "cgtp_fault.h"

#include <inttypes.h>
#include <stdio.h>

static const cgtp_fault no_fault = {NULL, NULL, 0, 0};

const void *cgtp_fault_place(const struct cgtp_graph_view *g, uint64_t fault, cgtp_fault *out, int *bytes)
{
    static const char *const told[CGTP_FAULT_KINDS][2] = {
        {"sender", "is the number of no sender"},
        {"receiver", "is the number of no receiver"},
        {"order", "is the number of no row"},
        {"receiver", "is below the one before, but edges must ascend by receiver"},
        {"receiver_row", "is not the number of edges to the receivers before"},
        {"by_sender", "is the number of no edge"},
        {"by_sender", "does not come after the one before, by sender and number"},
        {"sender_row", "is not the number of edges from the senders before"},
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
    out->array = told[kind][0];
    out->words = told[kind][1];
    out->at = (int64_t)(fault & (((uint64_t)1 << CGTP_FAULT_SHIFT) - 1));
    return (const char *)array[kind] + out->at * *bytes;
}

static cgtp_status check_graph(const struct cgtp_graph_view *g, int sorted, cgtp_fault *fault)
{
    uint64_t first = CGTP_FAULT_NONE;
    *fault = no_fault;
    cgtp_status status = cgtp_view_check(g, sorted);
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

/* What callers call, for one width. */
#define CGTP_CHECKS(graph_type, view_of, find, check)                                                                 \
    cgtp_status find(const graph_type *graph, int sorted, cgtp_fault *fault)                                          \
    {                                                                                                                 \
        *fault = no_fault;                                                                                            \
        if (!graph)                                                                                                   \
            return CGTP_NULL_POINTER;                                                                                 \
        struct cgtp_graph_view view = view_of(graph);                                                                 \
        return check_graph(&view, sorted, fault);                                                                     \
    }                                                                                                                 \
    cgtp_status check(const graph_type *graph, int sorted)                                                            \
    {                                                                                                                 \
        cgtp_fault fault;                                                                                             \
        return find(graph, sorted, &fault);                                                                           \
    }
CGTP_CHECKS(cgtp_graph, cgtp_view32, cgtp_graph_find_fault, cgtp_graph_check)
CGTP_CHECKS(cgtp_graph64, cgtp_view64, cgtp_graph64_find_fault, cgtp_graph64_check)

int cgtp_fault_text(const cgtp_fault *fault, char *text, size_t size)
{
    if (!fault->array)
        return snprintf(text, size, "%s", "");
    return snprintf(text, size, "%s[%" PRId64 "] is %" PRId64 ": it %s", fault->array, fault->at,
                    fault->value, fault->words);
}
