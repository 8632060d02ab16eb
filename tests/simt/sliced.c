/* sliced.c - products with `reduction: invariant` give rows of receivers and items the bits of the whole
 * graph when they compute a slice of it (cgtp_graph_slice). Links check_products: pairs, the invariant
 * product first, then the same with other sums, of which one at least must differ. Prints TAP.
 */
#include "cgtp_ranks.h"
#include "cgtp_types.h"
#include "memory.h"
#include "simt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const cgtp_product *const check_products[];

enum { ARRAYS = 16, EDGES = 600, SENDERS = 12, RECEIVERS = 24 };

static uint32_t random_state = 1;
static int32_t random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int32_t)((random_state >> 8) % (uint32_t)n);
}

/* A graph with the arrays that it points into, in host memory. */
struct lists {
    cgtp_graph graph;
    int32_t sender[EDGES], receiver[EDGES], by_sender[EDGES];
    int64_t receiver_row[RECEIVERS + 1], sender_row[SENDERS + 1];
};

/* As many edges as asked for, sorted; the last receiver has none. */
static void draw(struct lists *l, int edges)
{
    static int32_t sender[EDGES], receiver[EDGES], order[EDGES];
    for (int e = 0; e < edges; e++) {
        sender[e] = random_below(SENDERS);
        receiver[e] = random_below(3) ? random_below(RECEIVERS - 1) : 5;
    }
    l->graph = (cgtp_graph){
        .items = edges, .senders = SENDERS, .receivers = RECEIVERS, .sender = sender, .receiver = receiver};
    if (cgtp_graph_sort(&l->graph, l->sender, l->receiver, order, l->receiver_row) ||
        cgtp_graph_index(&l->graph, l->receiver_row, l->by_sender, l->sender_row))
        abort();
}

/* The same graph on the device. */
static cgtp_graph to_device(const cgtp_graph *g, void *memory[5])
{
    const void *const host[] = {g->sender, g->receiver, g->by_sender, g->receiver_row, g->sender_row};
    const size_t edges = (size_t)g->items * sizeof *g->sender, rows = sizeof *g->receiver_row;
    const size_t bytes[] = {edges, edges, edges, (size_t)(g->receivers + 1) * rows,
                            (size_t)(g->senders + 1) * rows};
    for (int i = 0; i < 5; i++) {
        memory[i] = memory_new(bytes[i] + 1);
        memory_write(memory[i], host[i], bytes[i]);
    }
    return (cgtp_graph){.items = g->items,
                        .senders = g->senders,
                        .receivers = g->receivers,
                        .sender = memory[0],
                        .receiver = memory[1],
                        .by_sender = memory[2],
                        .receiver_row = memory[3],
                        .sender_row = memory[4]};
}

static size_t row_bytes(const cgtp_product *p, cgtp_slot slot)
{
    return (size_t)p->dim[slot] * cgtp_type_size(p->type[slot]);
}

static int64_t rows_of(const cgtp_product *p, const cgtp_graph *g, cgtp_slot slot)
{
    const int64_t rows[] = {[CGTP_ITEM] = g->items,
                            [CGTP_SENDER] = g->senders,
                            [CGTP_RECEIVER] = g->receivers,
                            [CGTP_SHARED] = 1};
    return rows[p->index[slot]];
}

/* Where rows of the slice begin in the whole graph's array. */
static int64_t first_row(const cgtp_product *p, const cgtp_graph *whole, int64_t receiver, cgtp_slot slot)
{
    return p->index[slot] == CGTP_ITEM       ? whole->receiver_row[receiver]
           : p->index[slot] == CGTP_RECEIVER ? receiver
                                             : 0;
}

/* Runs the kernel on the part of `whole` (host memory) from a receiver on. Inputs are the same in each call;
 * outputs of receivers and items go to their places in out[]. */
static void run(const cgtp_product *p, const cgtp_kernel *k, const cgtp_graph *whole, int64_t receiver,
                const cgtp_graph *part, char *const *out)
{
    const uint32_t before = random_state;
    void *in[ARRAYS], *result[ARRAYS], *lists[5];
    const cgtp_graph g = to_device(part, lists);
    random_state = 7;
    for (int i = 0; i < k->inputs; i++) {
        const cgtp_slot s = k->input[i].slot;
        const int64_t elements = rows_of(p, whole, s) * p->dim[s];
        const size_t bytes = (size_t)rows_of(p, part, s) * row_bytes(p, s);
        char *all = malloc((size_t)elements * cgtp_type_size(p->type[s]) + 1);
        for (int64_t e = 0; e < elements; e++)
            cgtp_put_number(all, p->type[s], e, (random_below(20001) - 10000) / 10000.0);
        in[i] = memory_new(bytes + 1);
        memory_write(in[i], all + (size_t)first_row(p, whole, receiver, s) * row_bytes(p, s), bytes);
        free(all);
    }
    for (int o = 0; o < k->outputs; o++)
        result[o] =
            memory_new((size_t)rows_of(p, part, k->output[o].slot) * row_bytes(p, k->output[o].slot) + 1);
    const size_t bytes = k->workspace(&g);
    void *workspace = memory_new(bytes + 1);
    const cgtp_status status = k->run(&g, (const void *const *)in, result, NULL, workspace, bytes, NULL);
    if (status)
        printf("# %s %s: %s\n", p->name, k->name, cgtp_status_text(status));
    for (int o = 0; o < k->outputs; o++) {
        const cgtp_slot s = k->output[o].slot;
        if (p->index[s] == CGTP_RECEIVER || p->index[s] == CGTP_ITEM)
            memory_read(out[o] + (size_t)first_row(p, whole, receiver, s) * row_bytes(p, s), result[o],
                        (size_t)rows_of(p, part, s) * row_bytes(p, s));
        memory_free(result[o]);
    }
    for (int i = 0; i < k->inputs; i++)
        memory_free(in[i]);
    for (int i = 0; i < 5; i++)
        memory_free(lists[i]);
    memory_free(workspace);
    random_state = before;
}

/* Has each kernel the same bits in slices and as a whole? */
static bool same(const cgtp_product *p, int edges, bool tells)
{
    static const int cuts[] = {0, 1, 8, 21, RECEIVERS};
    static struct lists all, part;
    bool right = true;
    draw(&all, edges);
    for (int n = 0; n < p->kernels; n++) {
        const cgtp_kernel *k = &p->kernel[n];
        char *out[2][ARRAYS];
        for (int i = 0; i < 2 * k->outputs; i++) {
            const cgtp_slot s = k->output[i / 2].slot;
            out[i % 2][i / 2] = calloc((size_t)rows_of(p, &all.graph, s) * row_bytes(p, s) + 1, 1);
        }
        run(p, k, &all.graph, 0, &all.graph, out[0]);
        for (size_t c = 0; c + 1 < sizeof cuts / sizeof *cuts; c++) {
            if (cgtp_graph_slice(&all.graph, cuts[c], cuts[c + 1], SENDERS, &part.graph, part.receiver,
                                 part.receiver_row, part.by_sender, part.sender_row))
                abort();
            run(p, k, &all.graph, cuts[c], &part.graph, out[1]);
        }
        for (int o = 0; o < k->outputs; o++) {
            const cgtp_slot s = k->output[o].slot;
            if (memcmp(out[0][o], out[1][o], (size_t)rows_of(p, &all.graph, s) * row_bytes(p, s))) {
                right = false;
                if (tells)
                    printf("# %s %s, %d edges: other bits of %s\n", p->name, k->name, edges,
                           k->output[o].name);
            }
        }
        for (int i = 0; i < 2 * k->outputs; i++)
            free(out[i % 2][i / 2]);
    }
    return right;
}

int main(void)
{
    static const int edges[] = {1, 33, 150, EDGES}; /* in the mean few for each receiver, and many */
    int pairs = 0, others = 0;
    for (; check_products[2 * pairs]; pairs++) {
        const cgtp_product *invariant = check_products[2 * pairs], *other = check_products[2 * pairs + 1];
        bool right = true;
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            right = same(invariant, edges[i], true) && right;
        others += !same(other, EDGES, false);
        printf("%s %d - %s: slices have the bits of the whole graph\n", right ? "ok" : "not ok", pairs + 1,
               invariant->name);
    }
    printf("%s %d - %d of %d products with deterministic sums have other bits\n", others ? "ok" : "not ok",
           pairs + 1, others, pairs);
    printf("%s %d - no findings\n1..%d\n", simt_findings() ? "not ok" : "ok", pairs + 2, pairs + 2);
    return 0;
}
