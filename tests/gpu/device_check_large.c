/* device_check_large.c - arrays of more than 2^31 elements, first of items, then of nodes. Skipped, with the
 * size said, where the device has not enough memory. A sample of rows is compared, among them those around
 * element 2^31.
 */
#include "device_check.h"

#include "device.h"
#include "random.h"

#include <stdlib.h>

static const int64_t limit = INT64_C(1) << 31;

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Ends at random; some at the rows that hold elements near 2^31 of arrays with these row lengths. */
static struct ref_graph large_graph(int64_t items, int64_t senders, int64_t receivers, int64_t dim_x,
                                    int64_t dim_z)
{
    int64_t *sender = malloc((size_t)items * sizeof *sender),
            *receiver = malloc((size_t)items * sizeof *receiver);
    if (!sender || !receiver)
        abort();
    for (int64_t e = 0; e < items; e++) {
        uint64_t h = random_bits(11, (uint64_t)e);
        sender[e] = (int64_t)((h >> 33) % (uint64_t)senders);
        receiver[e] = (int64_t)((h & 0x7fffffff) % (uint64_t)receivers);
        int64_t near_x = limit / dim_x + e % 3 - 1, near_z = limit / dim_z + e % 3 - 1;
        if (e % 1000 < 3 && near_x < senders)
            sender[e] = near_x;
        if (e % 1000 < 3 && near_z < receivers)
            receiver[e] = near_z;
    }
    qsort(receiver, (size_t)items, sizeof *receiver, by_number);
    return (struct ref_graph){items, senders, receivers, sender, receiver};
}

static void check_graph_of(const struct table_entry *t, const struct model *m, const struct ref_graph *g,
                           const char *what)
{
    const cgtp_product *p = t->product;
    struct driver_graph d;
    driver_graph_make(&d, p, g);
    for (int k = 0; k < p->kernels; k++) {
        size_t bytes = launch_bytes(p, &p->kernel[k], g, &d);
        double gib = (double)bytes / 0x1p30;
        if (bytes > device_free_memory() - device_free_memory() / 32) {
            tap_skip("not enough memory", "%s %s: %s past 2^31 elements, %.1f GiB", p->name,
                     p->kernel[k].name, what, gib);
            continue;
        }
        struct launch l;
        launch_new(&l, p, &p->kernel[k], g, &d);
        cgtp_status status = launch_run(&l, NULL);
        if (status)
            note("%s", cgtp_status_text(status));
        bool good = !status && device_wait(NULL) && outputs_right(m, &l, what);
        tap(good, "%s %s: %s past 2^31 elements, %.1f GiB", p->name, p->kernel[k].name, what, gib);
        launch_free(&l);
    }
    driver_graph_free(&d);
}

void check_large(const struct table_entry *t)
{
    const cgtp_product *p = t->product;
    struct model m;
    if (!model_make(&m, p, NULL)) {
        tap(false, "%s: descriptor", p->name);
        return;
    }
    const int64_t items = limit / p->dim[CGTP_W] + 1000;
    if (p->graph) {
        struct ref_graph g = large_graph(items, 5000, 6000, p->dim[CGTP_X], p->dim[CGTP_Z]);
        check_graph_of(t, &m, &g, "items");
        free((void *)g.sender);
        free((void *)g.receiver);
        g = large_graph(200000, limit / p->dim[CGTP_X] + 100, limit / p->dim[CGTP_Z] + 100, p->dim[CGTP_X],
                        p->dim[CGTP_Z]);
        check_graph_of(t, &m, &g, "nodes");
        free((void *)g.sender);
        free((void *)g.receiver);
    } else {
        struct ref_graph g = {.items = items};
        check_graph_of(t, &m, &g, "items");
    }
    model_free(&m);
}
