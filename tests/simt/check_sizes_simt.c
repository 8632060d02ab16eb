/* check_sizes_simt.c - check_sizes of tests/check.h for the shim: also graphs on which every warp of a small
 * device, at most 16, has more edges than its ring has stages and, once, than a warp has lanes, nodes shared
 * by several warps, many nodes of few edges, long runs of nodes without, and more rows of senders than L2 is
 * taken to keep; batches of more items than a ring has stages, and where items share weights of more than the
 * 15 warps with 32 items each that a multiprocessor has at most.
 */
#include "check.h"

#include "simt.h"

void check_sizes(struct check *c)
{
    enum { LONG = 1000, WEIGHTS = 200 };
    static const struct {
        int64_t items, senders, receivers;
        int multiprocessors;
        int64_t before, middle, after; /* nodes without edges */
    } size[] = {
        {0, 0, 0, 2, 0, 0, 0},
        {0, 3, 2, 2, 0, 0, 0},
        {1, 1, 1, 2, 0, 0, 0},
        {1, 3, 4, 2, 0, 0, 0},
        {31, 40, 7, 2, 0, 0, 0},
        {32, 1, 50, 2, 0, 0, 0},
        {33, 6, 1, 2, 0, 0, 0},
        {33, 9, 9, 3, 0, 0, 0},
        {560, 11, 3, 1, 1, 30, 1},
        {220, 30, 50, 1, 0, 0, 0},
        {90, 5, 200, 1, 0, 0, 0},
        {220, 0, 0, 1, 0, 0, 0},
        {490, 0, 0, 1, 0, 0, 0},
        {60, 3, 2, 2, 40, 70, 40},
        {2400, 2100, 70, 1, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        const bool nodes = size[i].senders || size[i].receivers,
                   tiles = c->product->index[CGTP_W] == CGTP_SHARED;
        const bool other = size[i].items >= 220 && (nodes || size[i].items != (tiles ? 490 : 220));
        if (c->product->graph ? !nodes && size[i].items : size[i].senders == 3 || other)
            continue; /* a batch has no nodes */
        if (size[i].items > LONG && c->product->dim[CGTP_W] > WEIGHTS)
            continue; /* they take long */
        simt_multiprocessors(size[i].multiprocessors);
        struct ref_graph g = check_graph(c, size[i].items, size[i].senders, size[i].receivers);
        if (c->product->graph)
            check_graph_pad(&g, size[i].before, size[i].middle, size[i].after);
        struct check_values v = {.n = 0};
        for (int k = 0; k < c->product->kernels; k++)
            check_kernel(c, &c->product->kernel[k], &g, &v);
        check_values_free(&v);
        check_graph_free(&g);
    }
    simt_multiprocessors(2);
}
