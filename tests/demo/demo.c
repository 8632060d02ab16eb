/* demo.c - MACE's convolution on a diamond lattice with generated kernels: forward, backward, and how right
 * they are.
 *
 * Node features are sent along the edges, multiplied with the spherical harmonics of the edge vectors and
 * with weights that a network would compute for each edge, and summed at the receivers; backward gives the
 * gradients by all three. A sample of every output is compared with the dense reference (tests/reference.h),
 * which shares nothing with the generator. Usage: demo [EDGES]
 */
#define _XOPEN_SOURCE 700

#include "carbon.h"
#include "mace_large.h"
#include "reference.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#define PARALLEL_FOR _Pragma("omp parallel for")
#else
#define PARALLEL_FOR
#endif

enum { CELLS = 5, RUNS = 3, SAMPLED_NODES = 2, SAMPLED_EDGES = 16 };

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

/* Uniform in [-1, 1), a function of its place alone (the finaliser of SplitMix64). */
static float random_at(uint64_t array, uint64_t i)
{
    uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u + array;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return (float)(int32_t)(h >> 32) * 0x1p-31f;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *message)
{
    fprintf(stderr, "demo: %s\n", message);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!p)
        fail("out of memory; make demo EDGES=20000 needs less");
    return p;
}

static void fill(const struct carbon *c, float *array[ARRAYS])
{
    static const enum array random[] = {X, W, GZ};
    for (int k = 0; k < 3; k++) {
        float *a = array[random[k]];
        int64_t n = rows(&c->graph, random[k]) * dim(random[k]);
        PARALLEL_FOR
        for (int64_t i = 0; i < n; i++)
            a[i] = random_at((uint64_t)k << 60, (uint64_t)i);
    }
    for (int64_t e = 0; e < c->graph.items; e++)
        carbon_harmonics(c, e, array[Y] + e * dim(Y));
}

/* Runs a kernel once to warm up, then RUNS times; prints the median. */
static void measure(const cgtp_kernel *k, const struct carbon *c, float *array[ARRAYS])
{
    const cgtp_graph *g = &c->graph;
    size_t bytes = k->workspace(g);
    void *workspace = allocate(bytes);
    double seconds[RUNS + 1];
    for (int run = 0; run <= RUNS; run++) {
        double start = now();
        cgtp_status status =
            k == &product->kernel[0]
                ? mace_large_forward(g, array[X], array[Y], array[W], array[Z], workspace, bytes, NULL)
                : mace_large_backward(g, array[X], array[Y], array[W], array[GZ], array[GX], array[GY],
                                      array[GW], workspace, bytes, NULL);
        if (status)
            fail(cgtp_status_text(status));
        seconds[run] = now() - start;
    }
    for (int i = 1; i <= RUNS; i++)
        for (int j = i; j > 1 && seconds[j] < seconds[j - 1]; j--) {
            double t = seconds[j];
            seconds[j] = seconds[j - 1];
            seconds[j - 1] = t;
        }
    double t = seconds[(RUNS + 1) / 2], edges = (double)g->items;
    printf("%-9s %8.3f s %9.0f edges/s %7.1f GFLOP/s %6.1f GB/s\n", k->name, t, edges / t,
           1e-9 * edges * k->flops_per_item / t, 1e-9 * edges * k->bytes_per_item / t);
    free(workspace);
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
        for (int64_t e = 0; e < edges; e++) /* where edges share a row, only the first is read */
            for (int64_t j = 0; j < dim(a); j++)
                input[i][e * dim(a) + j] = array[a][row_of(g, a, edge[e]) * dim(a) + j];
    }
    size_t n = (size_t)(out_rows * dim(out));
    long double *value = allocate(n * sizeof *value), *magnitude = allocate(n * sizeof *magnitude);
    ref_evaluate(p, &sample, k, ref_find_output(k, info[out].name), (const double *const *)input, -1, value,
                 magnitude);
    double largest = 0;
    for (int64_t i = 0; i < out_rows; i++)
        for (int64_t j = 0; j < dim(out); j++) {
            double found = array[out][row_of(g, out, edge[i]) * dim(out) + j];
            double error = (double)fabsl(found - value[i * dim(out) + j]);
            double unit = 0x1p-24 * (double)magnitude[i * dim(out) + j];
            if (!(error <= largest * unit)) /* also when error is not a number */
                largest = unit > 0 && error == error ? error / unit : INFINITY;
        }
    for (int i = 0; i < k->arguments; i++)
        free(input[i]);
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
    if (!carbon_build(&carbon, CELLS, most))
        fail("out of memory");
    const cgtp_graph *g = &carbon.graph;
    printf("%s: x %s, y %s, %d paths, %lld weights an edge\n", product->name, product->irreps[CGTP_X],
           product->irreps[CGTP_Y], product->paths, (long long)product->dim[CGTP_W]);
    printf("diamond, %lld atoms, %lld edges\n", (long long)g->receivers, (long long)g->items);
#ifdef _OPENMP
    printf("%d threads (OMP_NUM_THREADS)\n", omp_get_max_threads());
#else
    printf("1 thread (no OpenMP)\n");
#endif
    for (int a = 0; a < ARRAYS; a++)
        array[a] = allocate((size_t)(rows(g, a) * dim(a)) * sizeof(float));
    fill(&carbon, array);

    for (int i = 0; i < 2; i++)
        measure(&product->kernel[i], &carbon, array);
    struct ref_problem *reference = reference_problem();
    int right = 1;
    for (int a = Z; a < ARRAYS; a++)
        right &= verify(reference, a, g, array);
    ref_problem_free(reference);
    for (int a = 0; a < ARRAYS; a++)
        free(array[a]);
    carbon_free(&carbon);
    return !right;
}
