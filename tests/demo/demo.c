/* demo.c - MACE's convolution on a diamond lattice with generated kernels: forward, backward, and how right
 * they are.
 *
 * Node features are sent along the edges, multiplied with the spherical harmonics of the edge vectors and
 * with weights that a network would compute for each edge, and summed at the receivers; backward gives the
 * gradients by all three. A sample of every output is compared with the dense reference (tests/reference.h),
 * which shares nothing with the generator. Usage: demo [EDGES]
 *
 * The arrays are in the memory of tests/memory.h and what else there is of a device is behind
 * tests/gpu/device.h, so that the same program runs CUDA kernels on a GPU and C on the host.
 */
#include "carbon.h"
#include "device.h"
#include "mace_large.h"
#include "memory.h"
#include "reference.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { CELLS = 5, HOST_RUNS = 3, GPU_RUNS = 21, MOST_RUNS = 21, SAMPLED_NODES = 2, SAMPLED_EDGES = 16 };

/* Roundings on the way from inputs to an output, besides one for every edge summed: constants, forms,
 * products and the sum over components (12 or fewer together); for gy also sums over 128 channels (12) and 17
 * paths. */
enum { ROUNDINGS = 44 };

enum array { X, Y, W, GZ, Z, GX, GY, GW, ARRAYS };

static const struct {
    const char *name;
    cgtp_slot slot;
} info[ARRAYS] = {
    {"x", CGTP_X}, {"y", CGTP_Y},  {"w", CGTP_W},  {"gz", CGTP_Z},
    {"z", CGTP_Z}, {"gx", CGTP_X}, {"gy", CGTP_Y}, {"gw", CGTP_W},
};

static const cgtp_product *const product = &mace_large_product;

static int64_t dim(enum array a)
{
    return product->dim[info[a].slot];
}

static int64_t rows(const cgtp_graph *g, enum array a)
{
    cgtp_index index = product->index[info[a].slot];
    return index == CGTP_SENDER ? g->senders : index == CGTP_RECEIVER ? g->receivers : g->items;
}

/* The row of an array that an edge uses. */
static int64_t row_of(const cgtp_graph *g, enum array a, int64_t edge)
{
    cgtp_index index = product->index[info[a].slot];
    return index == CGTP_SENDER ? g->sender[edge] : index == CGTP_RECEIVER ? g->receiver[edge] : edge;
}

static void fail(const char *message)
{
    fprintf(stderr, "demo: %s\n", message);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes + 1);
    if (!p)
        fail("out of memory: fewer edges need less, as by make demo EDGES=20000");
    return p;
}

static void *copy_of(const void *host, size_t bytes)
{
    void *p = memory_new(bytes);
    memory_write(p, host, bytes);
    return p;
}

/* The same graph in the memory of the kernels. */
static cgtp_graph graph_new(const cgtp_graph *host)
{
    cgtp_graph g = *host;
    size_t edges = (size_t)g.items;
    g.sender = copy_of(host->sender, edges * sizeof *g.sender);
    g.receiver = copy_of(host->receiver, edges * sizeof *g.receiver);
    g.by_sender = copy_of(host->by_sender, edges * sizeof *g.by_sender);
    g.receiver_row = copy_of(host->receiver_row, ((size_t)g.receivers + 1) * sizeof *g.receiver_row);
    g.sender_row = copy_of(host->sender_row, ((size_t)g.senders + 1) * sizeof *g.sender_row);
    return g;
}

static void graph_free(cgtp_graph *g)
{
    memory_free((void *)g->sender);
    memory_free((void *)g->receiver);
    memory_free((void *)g->by_sender);
    memory_free((void *)g->receiver_row);
    memory_free((void *)g->sender_row);
}

static size_t array_bytes(const cgtp_graph *g, enum array a)
{
    return (size_t)(rows(g, a) * dim(a)) * sizeof(float);
}

/* Random numbers for x, w and gz, harmonics for y, NaNs for what is to be computed. */
static void fill(const struct carbon *c, float *array[ARRAYS])
{
    const cgtp_graph *g = &c->graph;
    float *y = allocate(array_bytes(g, Y));
    for (int64_t e = 0; e < g->items; e++)
        carbon_harmonics(c, e, y + e * dim(Y));
    memory_write(array[Y], y, array_bytes(g, Y));
    free(y);
    for (int a = 0; a < ARRAYS; a++)
        if (a >= Z)
            device_set(array[a], 0xff, array_bytes(g, a), NULL);
        else if (a != Y)
            device_fill(array[a], CGTP_FLOAT32, (uint64_t)a, rows(g, a) * dim(a), NULL);
}

static int ascending(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Runs a kernel once to warm up, then `runs` times; prints the median. */
static void measure(const cgtp_kernel *k, const cgtp_graph *g, float *array[ARRAYS], int runs)
{
    size_t bytes = k->workspace(g);
    void *workspace = memory_new(bytes), *begin = device_event_new(), *end = device_event_new();
    double ms[MOST_RUNS];
    for (int run = -1; run < runs; run++) {
        device_event_record(begin, NULL);
        cgtp_status status =
            k == &product->kernel[0]
                ? mace_large_forward(g, array[X], array[Y], array[W], array[Z], workspace, bytes, NULL)
                : mace_large_backward(g, array[X], array[Y], array[W], array[GZ], array[GX], array[GY],
                                      array[GW], workspace, bytes, NULL);
        device_event_record(end, NULL);
        if (status)
            fail(cgtp_status_text(status));
        if (!device_wait(NULL))
            fail("a kernel failed");
        double t = device_event_ms(begin, end);
        if (run >= 0)
            ms[run] = t;
    }
    qsort(ms, (size_t)runs, sizeof *ms, ascending);
    double t = 1e-3 * ms[runs / 2], edges = (double)g->items;
    printf("%-9s %8.3f ms %11.0f edges/s %8.1f GFLOP/s %7.1f GB/s\n", k->name, 1e3 * t, edges / t,
           1e-9 * edges * k->flops_per_item / t, 1e-9 * edges * k->bytes_per_item / t);
    memory_free(workspace);
    device_event_free(begin);
    device_event_free(end);
}

/* The paths as the descriptor lists them; their coefficients are the reference's own. */
static struct ref_problem *reference_problem(void)
{
    struct ref_problem *p =
        ref_problem_new(product->irreps[CGTP_X], product->irreps[CGTP_Y], product->irreps[CGTP_Z]);
    for (int i = 0; i < product->paths; i++)
        ref_add_path(p, product->path[i].x, product->path[i].y, product->path[i].z, product->path[i].mode,
                     product->path[i].weighted, 1.0);
    ref_problem_finish(p);
    p->index[REF_X] = REF_SENDER;
    p->index[REF_G] = REF_RECEIVER;
    return p;
}

/* The largest error of one output over some edges, in units of 2^-24 sum|terms|. The edges make a graph of
 * their own in which they share the row that `out` sums into, if it sums, and have one each of everything
 * else. */
static double error_of(const struct ref_problem *p, const struct ref_kernel *k, enum array out,
                       const cgtp_graph *g, float *const array[ARRAYS], const int64_t *edge, int64_t edges)
{
    cgtp_index index = product->index[info[out].slot];
    int64_t sums = index == CGTP_SENDER || index == CGTP_RECEIVER, out_rows = sums ? 1 : edges;
    int64_t *own = allocate((size_t)edges * sizeof *own), *zero = allocate((size_t)edges * sizeof *zero);
    for (int64_t i = 0; i < edges; i++)
        own[i] = i, zero[i] = 0;
    struct ref_graph sample = {edges, edges, edges, own, own};
    if (index == CGTP_SENDER)
        sample.senders = 1, sample.sender = zero;
    if (index == CGTP_RECEIVER)
        sample.receivers = 1, sample.receiver = zero;

    double *input[REF_ARGUMENTS] = {0};
    for (int i = 0; i < k->arguments; i++) {
        enum array a = X;
        while (strcmp(info[a].name, k->argument[i].name))
            a++;
        input[i] = allocate((size_t)(edges * dim(a)) * sizeof(double));
        float *row = allocate((size_t)dim(a) * sizeof *row);
        for (int64_t e = 0; e < edges; e++) { /* where edges share a row, only the first is read */
            memory_read(row, array[a] + row_of(g, a, edge[e]) * dim(a), (size_t)dim(a) * sizeof *row);
            for (int64_t j = 0; j < dim(a); j++)
                input[i][e * dim(a) + j] = row[j];
        }
        free(row);
    }
    size_t n = (size_t)(out_rows * dim(out));
    long double *value = allocate(n * sizeof *value), *magnitude = allocate(n * sizeof *magnitude);
    ref_evaluate(p, &sample, k, ref_find_output(k, info[out].name), (const double *const *)input, -1, value,
                 magnitude);
    double largest = 0;
    float *found = allocate((size_t)dim(out) * sizeof *found);
    for (int64_t i = 0; i < out_rows; i++) {
        memory_read(found, array[out] + row_of(g, out, edge[i]) * dim(out), (size_t)dim(out) * sizeof *found);
        for (int64_t j = 0; j < dim(out); j++) {
            double error = (double)fabsl(found[j] - value[i * dim(out) + j]);
            double unit = 0x1p-24 * (double)magnitude[i * dim(out) + j];
            if (!(error <= largest * unit)) /* also when error is not a number */
                largest = unit > 0 && error == error ? error / unit : INFINITY;
        }
    }
    for (int i = 0; i < k->arguments; i++)
        free(input[i]);
    free(found);
    free(value);
    free(magnitude);
    free(own);
    free(zero);
    return largest;
}

/* Compares a sample of an output; returns whether it is within the bound. */
static int verify(const struct ref_problem *p, enum array out, const cgtp_graph *g,
                  float *const array[ARRAYS])
{
    const char *kernel = out == Z ? "forward" : "backward";
    cgtp_index index = product->index[info[out].slot];
    struct ref_kernel k;
    ref_kernel_parse(&k, kernel, ref_kernel_text(kernel), "");
    int64_t *edge = allocate((size_t)g->items * sizeof *edge), most = 0, compared = 0;
    double largest = 0;
    int nodes = index == CGTP_ITEM ? 1 : SAMPLED_NODES;
    for (int s = 0; s < nodes; s++) { /* nodes that have edges, spread over the list */
        int64_t at = g->items * (2 * s + 1) / (2 * nodes), edges = 0;
        if (index == CGTP_ITEM)
            for (; edges < SAMPLED_EDGES && edges < g->items; edges++)
                edge[edges] = g->items * edges / SAMPLED_EDGES;
        else
            for (int64_t e = 0; e < g->items; e++)
                if (row_of(g, out, e) == row_of(g, out, at))
                    edge[edges++] = e;
        double error = error_of(p, &k, out, g, array, edge, edges);
        largest = error > largest ? error : largest;
        most = edges > most ? edges : most;
        compared += index == CGTP_ITEM ? edges : 1;
    }
    double bound = ROUNDINGS + (index == CGTP_ITEM ? 0 : (double)most);
    printf("%-3s %3lld rows compared: largest error %5.2f x 2^-24 sum|terms|, bound %.0f: %s\n",
           info[out].name, (long long)compared, largest, bound, largest <= bound ? "right" : "WRONG");
    free(edge);
    return largest <= bound;
}

int main(int argc, char **argv)
{
    struct carbon carbon;
    float *array[ARRAYS];
    int64_t most = INT64_MAX;
    if (argc > 1) {
        char *end;
        errno = 0;
        most = strtoll(argv[1], &end, 10);
        if (argc > 2 || errno || *end || end == argv[1] || most < 1)
            fail("usage: demo [EDGES]");
    }
    struct device_info device;
    if (!device_open(&device))
        return 1;
    if (!carbon_build(&carbon, CELLS, most))
        fail("out of memory");
    const cgtp_graph *host = &carbon.graph;
    double bytes = 0;
    for (int a = 0; a < ARRAYS; a++)
        bytes += (double)array_bytes(host, a);
    printf("%s: x %s, y %s, %d paths, %lld weights an edge\n", product->name, product->irreps[CGTP_X],
           product->irreps[CGTP_Y], product->paths, (long long)product->dim[CGTP_W]);
    printf("diamond, %lld atoms, %lld edges, %.1f GB of arrays\n", (long long)host->receivers,
           (long long)host->items, 1e-9 * bytes);
    int gpu = device.runtime > 0;
    if (gpu)
        printf("%s, compute capability %d.%d\n", device.name, device.major, device.minor);
#ifdef _OPENMP
    else
        printf("%d threads (OMP_NUM_THREADS)\n", omp_get_max_threads());
#else
    else
        printf("1 thread (no OpenMP)\n");
#endif
    fflush(stdout); /* before memory, or a kernel, fails */
    cgtp_graph g = graph_new(host);
    for (int a = 0; a < ARRAYS; a++)
        array[a] = memory_new(array_bytes(host, a));
    fill(&carbon, array);

    for (int i = 0; i < 2; i++)
        measure(&product->kernel[i], &g, array, gpu ? GPU_RUNS : HOST_RUNS);
    struct ref_problem *reference = reference_problem();
    int right = 1;
    for (int a = Z; a < ARRAYS; a++)
        right &= verify(reference, a, host, array);
    ref_problem_free(reference);
    for (int a = 0; a < ARRAYS; a++)
        memory_free(array[a]);
    graph_free(&g);
    carbon_free(&carbon);
    return !right;
}
