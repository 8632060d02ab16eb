/* places.c - see places.h. */
#include "places.h"

#include "random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

static int64_t *list_of(int64_t n)
{
    int64_t *list = malloc((size_t)n * sizeof *list + 1);
    if (!list)
        fail("a graph", "out of memory");
    return list;
}

static int64_t *read_ends(const char *folder, const char *graph, const char *end, int64_t most, int64_t *edges)
{
    char path[512];
    snprintf(path, sizeof path, "%s/graphs/%s_%s.i32", folder, graph, end);
    FILE *file = fopen(path, "rb");
    unsigned char b[4];
    int64_t n = 0, capacity = 1 << 18, *ends = list_of(capacity);
    if (!file)
        fail(path, strerror(errno));
    while (n < most && fread(b, 4, 1, file) == 1) {
        if (n == capacity && !(ends = realloc(ends, (size_t)(capacity *= 2) * sizeof *ends)))
            fail(path, "out of memory");
        ends[n++] =
            (int64_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    }
    fclose(file);
    *edges = n;
    return ends;
}

struct ref_graph places_read(const char *folder, const char *name, int64_t nodes, int64_t most)
{
    struct ref_graph g = {.senders = nodes, .receivers = nodes};
    int64_t receivers;
    g.sender = read_ends(folder, name, "sender", most, &g.items);
    g.receiver = read_ends(folder, name, "receiver", most, &receivers);
    if (g.items != receivers || !g.items)
        fail(name, "senders and receivers are not as many, or none");
    return g;
}

struct ref_graph places_shuffled(const struct ref_graph *g)
{
    int64_t *sender = list_of(g->items), *receiver = list_of(g->items);
    for (int64_t e = 0; e < g->items; e++) {
        const int64_t with = (int64_t)(random_bits(11, (uint64_t)e) % (uint64_t)(e + 1));
        sender[e] = sender[with], receiver[e] = receiver[with];
        sender[with] = g->sender[e], receiver[with] = g->receiver[e];
    }
    return (struct ref_graph){g->items, g->senders, g->receivers, sender, receiver};
}

struct ref_graph places_thin(const struct ref_graph *g, int64_t most)
{
    if (!g->sender) /* rows of a batch */
        return *g;
    int64_t *sender = list_of(g->items), *receiver = list_of(g->items), n = 0;
    for (int64_t e = 0; e < g->items; e++)
        if (n < most || receiver[n - most] != g->receiver[e]) /* edges are sorted by receiver */
            sender[n] = g->sender[e], receiver[n++] = g->receiver[e];
    return (struct ref_graph){n, g->senders, g->receivers, sender, receiver};
}

struct ref_graph places_drawn(const struct table_place *place, int64_t most)
{
    const int64_t items = place->items < most ? place->items : most, nodes = place->nodes;
    struct ref_graph g = {.items = items, .senders = nodes, .receivers = nodes};
    if (!nodes)
        return g;
    int64_t *sender = list_of(items), *receiver = list_of(items), *degree = list_of(nodes), e = 0;
    memset(degree, 0, (size_t)nodes * sizeof *degree);
    for (int64_t i = 0; i < items; i++)
        degree[random_bits(12, (uint64_t)i) % (uint64_t)nodes]++;
    for (int64_t node = 0; node < nodes; node++)
        for (int64_t i = 0; i < degree[node]; i++, e++) {
            const int64_t off = (int64_t)(random_bits(13, (uint64_t)e) % (uint64_t)(2 * place->window + 1));
            const int64_t at = (node + off - place->window) % nodes;
            sender[e] = at < 0 ? at + nodes : at;
            receiver[e] = node;
        }
    free(degree);
    g.sender = sender, g.receiver = receiver;
    return g;
}

void places_free(struct ref_graph *g)
{
    free((void *)g->sender);
    free((void *)g->receiver);
    *g = (struct ref_graph){0};
}
