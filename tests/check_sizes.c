/* check_sizes.c - every kernel at sizes where loops begin, end or do not start at all, against the reference.
 */
#include "check.h"

void check_sizes(struct check *c)
{
    static const struct {
        int64_t items, senders, receivers;
    } size[] = {
        {0, 0, 0}, {0, 3, 2}, {1, 1, 1}, {1, 3, 4}, {31, 40, 7}, {32, 1, 50}, {33, 6, 1}, {33, 9, 9},
    };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (!c->product->graph && (i == 1 || i == 3 || i == 7))
            continue; /* a batch has no nodes */
        struct ref_graph g = check_graph(c, size[i].items, size[i].senders, size[i].receivers);
        struct check_values v = {.n = 0};
        for (int k = 0; k < c->product->kernels; k++)
            check_kernel(c, &c->product->kernel[k], &g, &v);
        check_values_free(&v);
        check_graph_free(&g);
    }
}
