/* graph.c - from edges in any order to a sum over them: check, sort, bring rows of edges into that order, index,
 * call.
 */
#include "cgtp_check.h"
#include "layer.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

enum { EDGES = 6, ATOMS = 3 };

static void expect(cgtp_status status, const char *what)
{
    if (status != CGTP_OK) {
        printf("%s: %s\n", what, cgtp_status_text(status));
        exit(1);
    }
}

int main(void)
{
    /* Edges as they come, with a row of y each; a row of x for each atom. */
    const int32_t from[EDGES] = {2, 0, 1, 2, 0, 1}, to[EDGES] = {1, 2, 0, 0, 1, 2};
    const float of_edge[EDGES] = {1, 2, 3, 4, 5, 6};
    alignas(16) const float x[ATOMS * layer_DIM_X] = {1, 10, 100};

    /* What comes from elsewhere is checked once: kernels trust it. */
    cgtp_graph graph = {.items = EDGES, .senders = ATOMS, .receivers = ATOMS, .sender = from, .receiver = to};
    cgtp_fault fault;
    char text[120];
    cgtp_status status = cgtp_graph_find_fault(&graph, 0, &fault);
    cgtp_fault_text(&fault, text, sizeof text);
    expect(status, text);

    int32_t sender[EDGES], receiver[EDGES], order[EDGES], by_sender[EDGES];
    int64_t receiver_row[ATOMS + 1], sender_row[ATOMS + 1];
    expect(cgtp_graph_sort(&graph, sender, receiver, order, receiver_row), "sort");
    expect(cgtp_graph_index(&graph, receiver_row, by_sender, sender_row), "index");

    /* Edge i is now what edge order[i] was, and its rows follow it. */
    alignas(16) float y[EDGES * layer_DIM_Y], w[EDGES * layer_DIM_W], z[ATOMS * layer_DIM_Z];
    for (int i = 0; i < EDGES; i++) {
        y[i] = of_edge[order[i]];
        w[i] = 1;
    }

    const layer_forward_arrays arrays = {.x_ = x, .y_ = y, .w_ = w, .z_ = z};
    size_t bytes = layer_forward_workspace(&graph);
    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
    expect(layer_forward_with(&graph, &arrays, workspace, bytes, NULL), "forward");
    for (int r = 0; r < ATOMS; r++)
        printf("z[%d] = %g\n", r, z[r]);
    free(workspace);
    return 0;
}
