/* check_sizes.c - every kernel at sizes where loops begin, end or do not start at all, against the reference.
 */
#include "check.h"

void check_sizes(struct check *c)
{
    static const struct {
        int64_t items, senders, receivers;
        int64_t before, middle, after; /* nodes without edges */
    } size[] = {
        {0, 0, 0, 0, 0, 0},
        {0, 3, 2, 0, 0, 0},
        {1, 1, 1, 0, 0, 0},
        {1, 3, 4, 0, 0, 0},
        {31, 40, 7, 0, 0, 0},
        {32, 1, 50, 0, 0, 0},
        {33, 6, 1, 0, 0, 0},
        {33, 9, 9, 0, 0, 0},
        {60, 3, 2, 40, 70, 40},
    };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (!c->product->graph && (i == 1 || i == 3 || i >= 7))
            continue; /* a batch has no nodes */
        struct ref_graph g = check_graph(c, size[i].items, size[i].senders, size[i].receivers);
        if (c->product->graph)
            check_graph_pad(&g, size[i].before, size[i].middle, size[i].after);
        struct check_values v = {.n = 0};
        for (int k = 0; k < c->product->kernels; k++)
            check_kernel(c, &c->product->kernel[k], &g, &v);
        check_values_free(&v);
        check_graph_free(&g);
    }
}
