/* SPDX-License-Identifier: MIT */
/* cgtp_selftest_graph.h - items and how they refer to rows, on the host and as kernels take them. For the
 * programs that call kernels by a self-test's tables: cgtp_selftest.c, cgtp_tune.c.
 */
#ifndef CGTP_SELFTEST_GRAPH_H
#define CGTP_SELFTEST_GRAPH_H

#include "cgtp_selftest.h"
#include "cgtp_selftest_memory.h"

/* Random numbers, of 31 bits; in (-1, 1), not zero, of few bits: exact in float and double. */
static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static double random_value(uint64_t *seed)
{
    return ((double)(2 * (next(seed) % (1 << 18)) + 1) - (1 << 18)) / (1 << 18);
}

struct graph {
    int64_t items, senders, receivers;
    int64_t *sender, *receiver; /* NULL in a batch */
};

static void graph_free(struct graph *g)
{
    free(g->sender);
    free(g->receiver);
}

static int64_t rows_of(const cgtp_selftest *t, const struct graph *g, cgtp_slot slot)
{
    return t->index[slot] == CGTP_ITEM       ? g->items
           : t->index[slot] == CGTP_SENDER   ? g->senders
           : t->index[slot] == CGTP_RECEIVER ? g->receivers
                                             : 1;
}

static int64_t row_of(const cgtp_selftest *t, const struct graph *g, cgtp_slot slot, int64_t item)
{
    return t->index[slot] == CGTP_ITEM       ? item
           : t->index[slot] == CGTP_SENDER   ? g->sender[item]
           : t->index[slot] == CGTP_RECEIVER ? g->receiver[item]
                                             : 0;
}

static int64_t elements_of(const cgtp_selftest *t, const struct graph *g, cgtp_slot slot)
{
    return rows_of(t, g, slot) * t->dim[slot];
}

/* The graph as kernels take it: its arrays in the device's memory. */
struct kernel_graph {
    cgtp_graph narrow;
    cgtp_graph64 wide;
    const void *graph; /* one of the two */
    void *array[5];
};

static void narrow_graph(struct kernel_graph *k, const struct graph *g, int sorted)
{
    int32_t *sender = host_new(g->items, sizeof *sender), *receiver = host_new(g->items, sizeof *receiver);
    int32_t *by_sender = host_new(g->items, sizeof *by_sender);
    int64_t *receiver_row = host_new(g->receivers + 1, sizeof *receiver_row);
    int64_t *sender_row = host_new(g->senders + 1, sizeof *sender_row);
    for (int64_t e = 0; e < g->items; e++) {
        sender[e] = (int32_t)g->sender[e];
        receiver[e] = (int32_t)g->receiver[e];
    }
    k->narrow = (cgtp_graph){g->items, g->senders, g->receivers, sender, receiver, NULL, NULL, NULL, NULL};
    if (sorted && cgtp_graph_index(&k->narrow, receiver_row, by_sender, sender_row) != CGTP_OK)
        give_up("cgtp_graph_index refuses the graph");
    k->narrow.sender = k->array[0] = device_copy(sender, (size_t)g->items * sizeof *sender);
    k->narrow.receiver = k->array[1] = device_copy(receiver, (size_t)g->items * sizeof *receiver);
    if (sorted) {
        k->narrow.receiver_row = k->array[2] =
            device_copy(receiver_row, (size_t)(g->receivers + 1) * sizeof *receiver_row);
        k->narrow.by_sender = k->array[3] = device_copy(by_sender, (size_t)g->items * sizeof *by_sender);
        k->narrow.sender_row = k->array[4] =
            device_copy(sender_row, (size_t)(g->senders + 1) * sizeof *sender_row);
    }
    free(sender);
    free(receiver);
    free(by_sender);
    free(receiver_row);
    free(sender_row);
}

static void wide_graph(struct kernel_graph *k, const struct graph *g, int sorted)
{
    size_t bytes = (size_t)g->items * sizeof(int64_t);
    int64_t *by_sender = host_new(g->items, sizeof *by_sender);
    int64_t *receiver_row = host_new(g->receivers + 1, sizeof *receiver_row);
    int64_t *sender_row = host_new(g->senders + 1, sizeof *sender_row);
    k->wide =
        (cgtp_graph64){g->items, g->senders, g->receivers, g->sender, g->receiver, NULL, NULL, NULL, NULL};
    if (sorted && cgtp_graph64_index(&k->wide, receiver_row, by_sender, sender_row) != CGTP_OK)
        give_up("cgtp_graph64_index refuses the graph");
    k->wide.sender = k->array[0] = device_copy(g->sender, bytes);
    k->wide.receiver = k->array[1] = device_copy(g->receiver, bytes);
    if (sorted) {
        k->wide.receiver_row = k->array[2] =
            device_copy(receiver_row, (size_t)(g->receivers + 1) * sizeof *receiver_row);
        k->wide.by_sender = k->array[3] = device_copy(by_sender, bytes);
        k->wide.sender_row = k->array[4] =
            device_copy(sender_row, (size_t)(g->senders + 1) * sizeof *sender_row);
    }
    free(by_sender);
    free(receiver_row);
    free(sender_row);
}

static void kernel_graph_new(struct kernel_graph *k, const cgtp_selftest *t, const struct graph *g)
{
    memset(k, 0, sizeof *k);
    k->graph = t->index_size == 8 ? (const void *)&k->wide : (const void *)&k->narrow;
    k->narrow.items = k->wide.items = g->items;
    if (t->graph && t->index_size == 8)
        wide_graph(k, g, t->sorted);
    else if (t->graph)
        narrow_graph(k, g, t->sorted);
}

static void kernel_graph_free(struct kernel_graph *k)
{
    for (int i = 0; i < 5; i++)
        if (k->array[i])
            device_free(k->array[i]);
}

#endif
