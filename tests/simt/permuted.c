/* permuted.c - products with edges in any order give the bits of the same products with sorted edges and their rows in
 * that order: whether the launch sorts or the caller has. Links check_products: pairs, the sorted product first. Prints
 * TAP.
 */
#include "cgtp_types.h"
#include "memory.h"
#include "simt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const cgtp_product *const check_products[];

enum { ARRAYS = 16, EDGES = 200, SENDERS = 12, RECEIVERS = 40 };

static uint32_t random_state = 1;
static int32_t random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int32_t)((random_state >> 8) % (uint32_t)n);
}

/* A graph in host memory: as drawn, sorted, and indexed. */
struct lists {
    int32_t sender[EDGES], receiver[EDGES], sorted_sender[EDGES], sorted_receiver[EDGES], order[EDGES], by_sender[EDGES];
    int64_t receiver_row[RECEIVERS + 1], sender_row[SENDERS + 1];
};

/* Receivers from 30 on have no edges; 3 has most. */
static cgtp_graph draw(struct lists *l, int items)
{
    for (int e = 0; e < items; e++) {
        l->sender[e] = random_below(SENDERS - 1);
        l->receiver[e] = random_below(2) ? 3 : random_below(30);
    }
    cgtp_graph g = {
        .items = items, .senders = SENDERS, .receivers = RECEIVERS, .sender = l->sender, .receiver = l->receiver};
    if (cgtp_graph_sort(&g, l->sorted_sender, l->sorted_receiver, l->order, l->receiver_row) ||
        cgtp_graph_index(&g, l->receiver_row, l->by_sender, l->sender_row))
        abort();
    return g;
}

static void *device(const void *host, size_t bytes)
{
    void *p = memory_new(bytes);
    memory_write(p, host, bytes);
    return p;
}

static int64_t rows_of(const cgtp_product *p, const cgtp_graph *g, cgtp_slot slot)
{
    return p->index[slot] == CGTP_SENDER ? g->senders : p->index[slot] == CGTP_RECEIVER ? g->receivers : g->items;
}

/* Rows of an item array in another order: row e of `to` is row order[e] of `from`, or with back the other way. */
static void permute(char *to, const char *from, const int32_t *order, int64_t rows, size_t row, bool back)
{
    for (int64_t e = 0; e < rows; e++)
        memcpy(to + (size_t)(back ? order[e] : e) * row, from + (size_t)(back ? e : order[e]) * row, row);
}

/* All outputs of a kernel, one after the other, with rows of items in the order of the drawn list. The inputs are the
 * same in each call. order: of the rows that the kernel takes; NULL: the drawn one. */
static char *outputs(const cgtp_product *p, const cgtp_kernel *k, const cgtp_graph *g, const int32_t *order, size_t *n)
{
    void *in[ARRAYS], *out[ARRAYS];
    char *all = NULL;
    uint32_t before = random_state;
    random_state = 7;
    for (int i = 0; i < k->inputs; i++) {
        const int64_t rows = rows_of(p, g, k->input[i].slot), elements = rows * p->dim[k->input[i].slot];
        const size_t row = (size_t)(p->dim[k->input[i].slot]) * cgtp_type_size(p->type[k->input[i].slot]), bytes = (size_t)rows * row;
        char *drawn = malloc(bytes + 1), *placed = malloc(bytes + 1);
        for (int64_t e = 0; e < elements; e++)
            cgtp_put_number(drawn, p->type[k->input[i].slot], e, (random_below(20001) - 10000) / 10000.0);
        const bool moves = order && p->index[k->input[i].slot] == CGTP_ITEM;
        if (moves)
            permute(placed, drawn, order, rows, row, false);
        in[i] = device(moves ? placed : drawn, bytes);
        free(drawn);
        free(placed);
    }
    random_state = before;
    *n = 0;
    for (int o = 0; o < k->outputs; o++) {
        const size_t bytes = (size_t)(rows_of(p, g, k->output[o].slot) * p->dim[k->output[o].slot]) * cgtp_type_size(p->type[k->output[o].slot]);
        out[o] = memory_new(bytes);
        *n += bytes;
    }
    const size_t bytes = k->workspace(g);
    void *workspace = memory_new(bytes);
    const cgtp_status status = k->run(g, (const void *const *)in, out, NULL, workspace, bytes, NULL);
    if (status)
        printf("# %s %s: %s\n", p->name, k->name, cgtp_status_text(status));
    all = calloc(*n + 1, 1);
    size_t at = 0;
    for (int o = 0; o < k->outputs; o++) {
        const int64_t rows = rows_of(p, g, k->output[o].slot);
        const size_t row = (size_t)(p->dim[k->output[o].slot]) * cgtp_type_size(p->type[k->output[o].slot]), all_rows = (size_t)rows * row;
        char *placed = malloc(all_rows + 1);
        memory_read(placed, out[o], all_rows);
        if (order && p->index[k->output[o].slot] == CGTP_ITEM)
            permute(all + at, placed, order, rows, row, true);
        else
            memcpy(all + at, placed, all_rows);
        at += all_rows;
        free(placed);
        memory_free(out[o]);
    }
    for (int i = 0; i < k->inputs; i++)
        memory_free(in[i]);
    memory_free(workspace);
    return all;
}

/* Are the bits those of the sorted product, of each kernel? */
static bool same(const cgtp_product *sorted, const cgtp_product *any, int items)
{
    static struct lists l;
    const cgtp_graph host = draw(&l, items);
    void *const list[] = {device(l.sender, sizeof l.sender), device(l.receiver, sizeof l.receiver),
                          device(l.sorted_sender, sizeof l.sender), device(l.sorted_receiver, sizeof l.receiver),
                          device(l.by_sender, sizeof l.by_sender), device(l.receiver_row, sizeof l.receiver_row),
                          device(l.sender_row, sizeof l.sender_row), device(l.order, sizeof l.order)};
    cgtp_graph g = host, drawn = host;
    g.sender = list[2], g.receiver = list[3], g.by_sender = list[4], g.receiver_row = list[5], g.sender_row = list[6];
    drawn.sender = list[0], drawn.receiver = list[1];
    drawn.by_sender = NULL, drawn.receiver_row = drawn.sender_row = NULL;
    cgtp_graph ordered = g;
    ordered.order = list[7];
    bool right = true;
    for (int k = 0; k < sorted->kernels; k++) {
        size_t n[3];
        char *const bits[] = {outputs(sorted, &sorted->kernel[k], &g, l.order, &n[0]),
                              outputs(any, &any->kernel[k], &drawn, NULL, &n[1]),
                              outputs(any, &any->kernel[k], &ordered, NULL, &n[2])};
        for (int i = 1; i < 3; i++)
            if (n[i] != n[0] || memcmp(bits[i], bits[0], n[0]) != 0) {
                printf("# %s %s, %d edges%s: other bits\n", any->name, any->kernel[k].name, items,
                       i == 2 ? ", ordered before" : "");
                right = false;
            }
        for (int i = 0; i < 3; i++)
            free(bits[i]);
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        memory_free(list[i]);
    return right;
}

int main(void)
{
    static const int items[] = {1, 31, 32, 33, EDGES};
    int pairs = 0;
    for (; check_products[2 * pairs]; pairs++) {
        const cgtp_product *sorted = check_products[2 * pairs], *any = check_products[2 * pairs + 1];
        bool right = sorted->sorted && !any->sorted;
        for (size_t i = 0; i < sizeof items / sizeof *items; i++)
            right = same(sorted, any, items[i]) && right;
        printf("%s %d - %s: the bits of sorted edges\n", right ? "ok" : "not ok", pairs + 1, any->name);
    }
    printf("%s %d - no findings\n1..%d\n", simt_findings() ? "not ok" : "ok", pairs + 1, pairs + 1);
    return 0;
}
