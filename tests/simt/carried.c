/* carried.c - compensated sums and sums in float64 keep what plain ones lose, in the pipelined convolution and the general
 * evaluation: to a large number small ones are
 * added to which it leaves no bit, at a receiver (z) and at a sender (gx). Links check_products: a plain product, and the
 * same with others' sums, of 32 scalar channels and a path of coefficient 1. Prints TAP.
 */
#include "cgtp.h"
#include "memory.h"
#include "simt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const cgtp_product *const check_products[];

enum { EDGES = 3000, NODES = 2, CHANNELS = 32, LARGE = 1 << 24 };
static const float small = 0.375f;

static void *device(const void *host, size_t bytes)
{
    void *p = memory_new(bytes);
    memory_write(p, host, bytes);
    return p;
}

/* n numbers: `first`, then `others`, each so many times. */
static float *numbers(int64_t n, int64_t times, float first, float others)
{
    float *host = malloc((size_t)n * sizeof *host);
    for (int64_t i = 0; i < n; i++)
        host[i] = i < times ? first : others;
    float *p = device(host, (size_t)n * sizeof *host);
    free(host);
    return p;
}

/* The error of the sum in the first row of an output, in units of 2^-24 of it. All edges but the first are between
 * node 1 and the node 0 that sums: its receiver, or with backward its sender. */
static double error_of(const cgtp_product *p, const char *name, int output, int backward)
{
    static int32_t ends[2][EDGES], by_sender[EDGES];
    int64_t receiver_row[NODES + 1], sender_row[NODES + 1];
    const cgtp_kernel *k = p->kernel;
    while (strcmp(k->name, name) != 0)
        k++;
    for (int e = 0; e < EDGES; e++)
        ends[0][e] = 0, ends[1][e] = e > 0;
    cgtp_graph g = {.items = EDGES, .senders = NODES, .receivers = NODES};
    g.sender = ends[!backward], g.receiver = ends[backward];
    if (cgtp_graph_index(&g, receiver_row, by_sender, sender_row))
        abort();
    g.sender = device(g.sender, sizeof ends[0]), g.receiver = device(g.receiver, sizeof ends[0]);
    g.by_sender = device(by_sender, sizeof by_sender);
    g.receiver_row = device(receiver_row, sizeof receiver_row), g.sender_row = device(sender_row, sizeof sender_row);
    float *const x = numbers(NODES * CHANNELS, CHANNELS, backward ? 1 : LARGE, backward ? 1 : small);
    /* forward: the first edge comes from node 0, whose x is large */
    float *const y = numbers(EDGES, EDGES, 1, 1), *const w = numbers(EDGES * CHANNELS, EDGES * CHANNELS, 1, 1);
    float *const gz = numbers(NODES * CHANNELS, CHANNELS, LARGE, small);
    const void *in[] = {x, y, w, gz};
    float *out[3], found[CHANNELS];
    for (int o = 0; o < k->outputs; o++)
        out[o] = memory_new(EDGES * CHANNELS * sizeof(float));
    const size_t bytes = k->workspace(&g);
    void *workspace = memory_new(bytes);
    const cgtp_status status = k->run(&g, in, (void *const *)out, NULL, workspace, bytes, NULL);
    memory_read(found, out[output], sizeof found);
    const double right = LARGE + (EDGES - 1) * (double)small;
    double most = status ? INFINITY : 0;
    for (int u = 0; u < CHANNELS; u++)
        most = fmax(most, fabs(found[u] - right) / right * LARGE);
    for (int o = 0; o < k->outputs; o++)
        memory_free(out[o]);
    const void *const made[] = {g.sender, g.receiver, g.by_sender, g.receiver_row, g.sender_row, x, y, w, gz, workspace};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        memory_free((void *)made[i]);
    return most;
}

int main(void)
{
    static const struct {
        const char *kernel, *words;
        int output;
    } sum[] = {{"forward", "z, at a receiver", 0}, {"backward", "gx, at a sender", 0}};
    int n = 0;
    for (int i = 0; i < 2; i++) {
        const double plain = error_of(check_products[0], sum[i].kernel, sum[i].output, i);
        for (const cgtp_product *const *p = check_products + 1; *p; p++) {
            const double error = error_of(*p, sum[i].kernel, sum[i].output, i);
            printf("%s %d - %s, %s: an error of %.1f u, plain %.1f u\n", error <= 2 && plain > 6 ? "ok" : "not ok", ++n,
                   (*p)->name, sum[i].words, error, plain);
        }
    }
    printf("%s %d - no findings\n1..%d\n", simt_findings() ? "not ok" : "ok", n + 1, n + 1);
    return 0;
}
