/* SPDX-License-Identifier: MIT */
/* cgtp_selftest_graph.h - memory of a self-test program, the host's and that which kernels work on; items and how they refer
 * to rows, on the host and as kernels take them. For the programs that call kernels by a self-test's tables:
 * cgtp_selftest.c, cgtp_tune.c. What cannot be had ends the program.
 */
#ifndef CGTP_SELFTEST_GRAPH_H
#define CGTP_SELFTEST_GRAPH_H

#include "cgtp_selftest.h"
#include "cgtp_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CGTP_SELFTEST_CUDA
#include <cuda_runtime_api.h>
#endif

/* ---- memory ---- */

static _Noreturn void give_up(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(2);
}

static void *host_new(int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size); /* one more: nothing is a valid pointer too */
    if (!p)
        give_up("out of memory");
    return p;
}

#ifdef CGTP_SELFTEST_CUDA
static void *device_new(size_t bytes)
{
    void *p;
    if (cudaMalloc(&p, bytes + 16) != cudaSuccess)
        give_up("out of memory on the device, or no device");
    return p;
}

static void device_free(void *p)
{
    cudaFree(p);
}

static void device_write(void *to, const void *from_host, size_t bytes)
{
    if (bytes && cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
        give_up(cudaGetErrorString(cudaGetLastError()));
}

/* Waits for what was launched, so its errors come out here. */
static void device_read(void *to_host, const void *from, size_t bytes)
{
    if (bytes && cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
        give_up(cudaGetErrorString(cudaGetLastError()));
}
#else
static void *device_new(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!p)
        give_up("out of memory");
    return p;
}

static void device_free(void *p)
{
    free(p);
}

static void device_write(void *to, const void *from_host, size_t bytes)
{
    if (bytes)
        memcpy(to, from_host, bytes);
}

static void device_read(void *to_host, const void *from, size_t bytes)
{
    device_write(to_host, from, bytes);
}
#endif

static void *device_copy(const void *from_host, size_t bytes)
{
    void *p = device_new(bytes);
    device_write(p, from_host, bytes);
    return p;
}

/* bytes of NaN in any type */
static void *device_nan(size_t bytes)
{
    void *image = host_new((int64_t)bytes, 1), *p;
    memset(image, 0xff, bytes);
    p = device_copy(image, bytes);
    free(image);
    return p;
}

/* ---- random numbers; items ---- */

/* Random numbers, of 31 bits; from 0 to n - 1; in (-1, 1), not zero, of few bits: exact in float and double. */
static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static int64_t below(uint64_t *seed, int64_t n)
{
    return (int64_t)(next(seed) % (uint64_t)n);
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

static void kernel_graph_new(struct kernel_graph *k, const cgtp_selftest *t, const struct graph *g)
{
    const size_t index = (size_t)t->index_size, row = sizeof(int64_t);
    const int wide = t->index_size == 8;
    const int64_t length[5] = {g->items, g->items, g->receivers + 1, g->items, g->senders + 1};
    const size_t size[5] = {index, index, row, index, row};
    void *host[5], **device = k->array;
    memset(k, 0, sizeof *k);
    k->graph = wide ? (const void *)&k->wide : (const void *)&k->narrow;
    k->narrow.items = k->wide.items = g->items;
    if (!t->graph)
        return;
    for (int a = 0; a < 5; a++)
        host[a] = host_new(length[a], size[a]);
    for (int64_t e = 0; e < g->items; e++) {
        cgtp_put_index(host[0], e, g->sender[e], wide);
        cgtp_put_index(host[1], e, g->receiver[e], wide);
    }
    k->narrow = (cgtp_graph){g->items, g->senders, g->receivers, host[0], host[1], NULL, NULL, NULL, NULL};
    k->wide = (cgtp_graph64){g->items, g->senders, g->receivers, host[0], host[1], NULL, NULL, NULL, NULL};
    if (t->sorted && (wide ? cgtp_graph64_index(&k->wide, host[2], host[3], host[4])
                           : cgtp_graph_index(&k->narrow, host[2], host[3], host[4])) != CGTP_OK)
        give_up("cgtp_graph_index refuses the graph");
    for (int a = 0; a < 5; a++) {
        if (a < 2 || t->sorted)
            device[a] = device_copy(host[a], (size_t)length[a] * size[a]);
        free(host[a]);
    }
    k->narrow = (cgtp_graph){g->items,  g->senders, g->receivers, device[0], device[1],
                             device[2], device[3],  device[4],    NULL};
    k->wide = (cgtp_graph64){g->items,  g->senders, g->receivers, device[0], device[1],
                             device[2], device[3],  device[4],    NULL};
}

static void kernel_graph_free(struct kernel_graph *k)
{
    for (int i = 0; i < 5; i++)
        if (k->array[i])
            device_free(k->array[i]);
}

#endif
