/* turns.c - kernels with a buffer of edges give the same bits with any workspace, from the least on: the launch takes turns,
 * of as many edges as there is room for, and a receiver has more than these. Links check_products. Prints TAP.
 */
#include "cgtp_types.h"
#include "memory.h"
#ifndef ON_DEVICE
#include "simt.h"
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const cgtp_product *const check_products[];

/* On a GPU, with a graph as large: nvcc -DON_DEVICE -DEDGES=200000 -DSENDERS=1000 -DRECEIVERS=1000, tests/gpu/device_cuda.cu
 * instead of tests/simt/memory_simt.c. */
#ifndef EDGES
#define EDGES 220
#define SENDERS 12
#define RECEIVERS 40
#endif
enum { ARRAYS = 20, LISTS = 5 };

static uint32_t random_state = 1;
static int32_t random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int32_t)((random_state >> 8) % (uint32_t)n);
}

static void *device(const void *host, size_t bytes)
{
    void *p = memory_new(bytes);
    memory_write(p, host, bytes);
    return p;
}

/* A graph as a product takes it, whose lists are the device's. */
struct graph {
    cgtp_graph narrow;
    cgtp_graph64 wide;
    const void *either;
    void *list[LISTS];
};

/* Receiver 3 has half of all edges, or so; some have none. In any order a product sorts them itself. */
static struct graph draw(const cgtp_product *p, int items, int receivers)
{
    static int32_t sender[EDGES], receiver[EDGES], sorted[2][EDGES], order[EDGES], by_sender[EDGES];
    static int64_t rows[2][RECEIVERS + 1], wide[3][EDGES];
    for (int e = 0; e < items; e++) {
        sender[e] = random_below(SENDERS - 1);
        receiver[e] = random_below(2) ? 3 : random_below(receivers - 3);
    }
    cgtp_graph g = {.items = items, .senders = SENDERS, .receivers = receivers, .sender = sender, .receiver = receiver};
    if (cgtp_graph_sort(&g, sorted[0], sorted[1], order, rows[0]) || cgtp_graph_index(&g, rows[0], by_sender, rows[1]))
        abort();
    const int32_t *const from[] = {p->sorted ? sorted[0] : sender, p->sorted ? sorted[1] : receiver, by_sender};
    const bool is_wide = p->index_size == 8;
    struct graph made;
    for (int i = 0; i < 3; i++) {
        for (int e = 0; e < items; e++)
            wide[i][e] = from[i][e];
        made.list[i] = is_wide ? device(wide[i], sizeof wide[i]) : device(from[i], sizeof sender);
    }
    for (int i = 0; i < 2; i++)
        made.list[3 + i] = device(rows[i], sizeof rows[i]);
    made.narrow = (cgtp_graph){.items = items, .senders = SENDERS, .receivers = receivers};
    made.narrow.sender = made.list[0], made.narrow.receiver = made.list[1], made.narrow.by_sender = made.list[2];
    made.narrow.receiver_row = made.list[3], made.narrow.sender_row = made.list[4];
    made.wide = (cgtp_graph64){.items = items, .senders = SENDERS, .receivers = receivers};
    made.wide.sender = made.list[0], made.wide.receiver = made.list[1], made.wide.by_sender = made.list[2];
    made.wide.receiver_row = made.list[3], made.wide.sender_row = made.list[4];
    return made;
}

static size_t bytes_of(const cgtp_product *p, const cgtp_graph *g, cgtp_slot slot)
{
    const int64_t rows = p->index[slot] == CGTP_SENDER     ? g->senders
                         : p->index[slot] == CGTP_RECEIVER ? g->receivers
                         : p->index[slot] == CGTP_SHARED   ? 1
                                                           : g->items;
    return (size_t)(rows * p->dim[slot]) * cgtp_type_size(p->type[slot]);
}

/* All outputs of a kernel with a workspace of so many bytes, one after the other, at `all`; its status. */
static cgtp_status outputs(const cgtp_product *p, const cgtp_kernel *k, const struct graph *g, size_t workspace_bytes,
                           char *all)
{
    void *in[ARRAYS], *out[ARRAYS];
    random_state = 7;
    for (int i = 0; i < k->inputs; i++) {
        const size_t bytes = bytes_of(p, &g->narrow, k->input[i].slot);
        const cgtp_type type = p->type[k->input[i].slot];
        char *drawn = malloc(bytes + 1);
        for (size_t e = 0; e < bytes / cgtp_type_size(type); e++)
            cgtp_put_number(drawn, type, (int64_t)e, (random_below(20001) - 10000) / 10000.0);
        in[i] = device(drawn, bytes);
        free(drawn);
    }
    for (int o = 0; o < k->outputs; o++)
        out[o] = memory_new(bytes_of(p, &g->narrow, k->output[o].slot));
    void *workspace = memory_new(workspace_bytes);
    const cgtp_status status =
        k->run(g->either, (const void *const *)in, out, NULL, workspace, workspace_bytes, NULL);
    for (int o = 0; o < k->outputs; o++) {
        const size_t bytes = bytes_of(p, &g->narrow, k->output[o].slot);
        memory_read(all, out[o], bytes);
        all += bytes;
        memory_free(out[o]);
    }
    for (int i = 0; i < k->inputs; i++)
        memory_free(in[i]);
    memory_free(workspace);
    return status;
}

/* What is wrong with a kernel on a graph; NULL: nothing. *turns: is the least less than all? */
static const char *wrong(const cgtp_product *p, const cgtp_kernel *k, const struct graph *g, bool *turns)
{
    const size_t most = k->workspace(g->either), least = k->workspace_least(g->either);
    const size_t tried[] = {most, (most + least) / 2, most / 2, most / 4, most / 24, least};
    size_t bytes = 1;
    for (int o = 0; o < k->outputs; o++)
        bytes += bytes_of(p, &g->narrow, k->output[o].slot);
    char *whole = calloc(bytes, 1), *some = calloc(bytes, 1);
    const char *what = least > most ? "the least is more than is asked for" : NULL;
    for (int i = 0; i < 6 && !what; i++) {
        if (tried[i] < least)
            continue;
        memset(some, 1, bytes);
        if (outputs(p, k, g, tried[i], i ? some : whole))
            what = "a workspace is refused";
        else if (i && memcmp(some, whole, bytes - 1) != 0)
            what = "other bits";
    }
    if (!what && least && outputs(p, k, g, least - 1, some) != CGTP_WORKSPACE)
        what = "less than the least is taken";
    *turns |= least < most;
    free(whole);
    free(some);
    return what;
}

int main(void)
{
    static const int size[][2] = {{EDGES, RECEIVERS}, {EDGES, 7}, {33, RECEIVERS}, {1, RECEIVERS}};
    int n = 0;
#ifndef ON_DEVICE
    simt_multiprocessors(3);
#endif
    for (const cgtp_product *const *p = check_products; *p; p++)
        for (int k = 0; k < (*p)->kernels; k++) {
            const char *what = NULL;
            bool turns = false;
            for (int i = 0; i < 4 && !what; i++) {
                struct graph g = draw(*p, size[i][0], size[i][1]);
                g.either = (*p)->index_size == 8 ? (const void *)&g.wide : (const void *)&g.narrow;
                what = wrong(*p, &(*p)->kernel[k], &g, &turns);
                for (int l = 0; l < LISTS; l++)
                    memory_free(g.list[l]);
            }
            if (!what && !turns)
                what = "there are no turns";
#ifndef ON_DEVICE
            if (!what && simt_findings())
                what = "findings";
#endif
            printf("%sok %d - %s %s: the same bits in any number of turns%s%s\n", what ? "not " : "", ++n, (*p)->name,
                   (*p)->kernel[k].name, what ? " # " : "", what ? what : "");
        }
    printf("1..%d\n", n);
#ifndef ON_DEVICE
    return simt_findings() ? 97 : 0;
#endif
}
