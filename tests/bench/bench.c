/* bench.c - times MACE's convolution on one thread: the generated kernels, or the plain loop over dense
 * tensors.
 *
 * Prints the median of five runs after one to warm up, in milliseconds, a line a kernel. With a folder,
 * writes inputs and outputs there as raw arrays, for e3nn.py to compute and compare the same. Usage: bench
 * EDGES generated|dense [FOLDER]
 */
#define _XOPEN_SOURCE 700

#include "carbon.h"
#include "mace_large.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CELLS = 5, RUNS = 5, CHANNELS = 128 };

enum array { X, Y, W, GZ, Z, GX, GY, GW, ARRAYS };

static const char *const name[ARRAYS] = {"x", "y", "w", "gz", "z", "gx", "gy", "gw"};
static const cgtp_slot slot[ARRAYS] = {CGTP_X, CGTP_Y, CGTP_W, CGTP_Z, CGTP_Z, CGTP_X, CGTP_Y, CGTP_W};
static const cgtp_product *const product = &mace_large_product;

static void fail(const char *message)
{
    fprintf(stderr, "bench: %s\n", message);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!p)
        fail("out of memory");
    return memset(p, 0, bytes);
}

static int64_t elements(const cgtp_graph *g, enum array a)
{
    cgtp_index index = product->index[slot[a]];
    return product->dim[slot[a]] * (index == CGTP_SENDER     ? g->senders
                                    : index == CGTP_RECEIVER ? g->receivers
                                                             : g->items);
}

/* ---- the plain way: every path, channel and element of the dense coupling tensor ---- */

struct dense {
    int l1, l2, l3;
    int64_t x, y, z; /* where the path's segments begin in a row */
    int64_t w;
    float *c; /* a_p C[i,j,k] */
};

static struct dense *make_dense(void)
{
    struct ref_problem *p =
        ref_problem_new(product->irreps[CGTP_X], product->irreps[CGTP_Y], product->irreps[CGTP_Z]);
    struct dense *dense = allocate((size_t)product->paths * sizeof *dense);
    for (int i = 0; i < product->paths; i++)
        ref_add_path(p, product->path[i].x, product->path[i].y, product->path[i].z, product->path[i].mode,
                     product->path[i].weighted, 1.0);
    ref_problem_finish(p);
    for (int i = 0; i < product->paths; i++) {
        const struct ref_path *path = &p->path[i];
        const struct ref_segment *x = &p->irreps[REF_X].segment[path->x],
                                 *y = &p->irreps[REF_Y].segment[path->y];
        const struct ref_segment *z = &p->irreps[REF_G].segment[path->z];
        int n2 = 2 * y->l + 1, n3 = 2 * z->l + 1;
        dense[i] = (struct dense){x->l,
                                  y->l,
                                  z->l,
                                  x->offset,
                                  y->offset,
                                  z->offset,
                                  path->weight_offset,
                                  allocate((size_t)((2 * x->l + 1) * n2 * n3) * sizeof(float))};
        for (int e = 0; e < path->cg->n; e++) {
            const struct ref_entry *c = &path->cg->entry[e];
            dense[i].c[(c->i * n2 + c->j) * n3 + c->k] = (float)(path->coefficient * c->value);
        }
    }
    ref_problem_free(p);
    return dense;
}

static void dense_forward(const struct dense *dense, const cgtp_graph *g, float *const array[ARRAYS])
{
    memset(array[Z], 0, (size_t)elements(g, Z) * sizeof(float));
    for (int64_t e = 0; e < g->items; e++) {
        const float *x = array[X] + g->sender[e] * product->dim[CGTP_X];
        const float *y = array[Y] + e * product->dim[CGTP_Y], *w = array[W] + e * product->dim[CGTP_W];
        float *z = array[Z] + g->receiver[e] * product->dim[CGTP_Z];
        for (const struct dense *p = dense; p < dense + product->paths; p++) {
            int n1 = 2 * p->l1 + 1, n2 = 2 * p->l2 + 1, n3 = 2 * p->l3 + 1;
            for (int u = 0; u < CHANNELS; u++)
                for (int i = 0; i < n1; i++)
                    for (int j = 0; j < n2; j++)
                        for (int k = 0; k < n3; k++)
                            z[p->z + u * n3 + k] += p->c[(i * n2 + j) * n3 + k] * w[p->w + u] *
                                                    x[p->x + u * n1 + i] * y[p->y + j];
        }
    }
}

static void dense_backward(const struct dense *dense, const cgtp_graph *g, float *const array[ARRAYS])
{
    for (int a = GX; a <= GW; a++)
        memset(array[a], 0, (size_t)elements(g, a) * sizeof(float));
    for (int64_t e = 0; e < g->items; e++) {
        const float *x = array[X] + g->sender[e] * product->dim[CGTP_X];
        const float *y = array[Y] + e * product->dim[CGTP_Y], *w = array[W] + e * product->dim[CGTP_W];
        const float *gz = array[GZ] + g->receiver[e] * product->dim[CGTP_Z];
        float *gx = array[GX] + g->sender[e] * product->dim[CGTP_X];
        float *gy = array[GY] + e * product->dim[CGTP_Y], *gw = array[GW] + e * product->dim[CGTP_W];
        for (const struct dense *p = dense; p < dense + product->paths; p++) {
            int n1 = 2 * p->l1 + 1, n2 = 2 * p->l2 + 1, n3 = 2 * p->l3 + 1;
            for (int u = 0; u < CHANNELS; u++)
                for (int i = 0; i < n1; i++)
                    for (int j = 0; j < n2; j++)
                        for (int k = 0; k < n3; k++) {
                            float c = p->c[(i * n2 + j) * n3 + k] * gz[p->z + u * n3 + k];
                            gx[p->x + u * n1 + i] += c * w[p->w + u] * y[p->y + j];
                            gy[p->y + j] += c * w[p->w + u] * x[p->x + u * n1 + i];
                            gw[p->w + u] += c * x[p->x + u * n1 + i] * y[p->y + j];
                        }
        }
    }
}

/* ---- timing ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double s = *(const double *)a, t = *(const double *)b;
    return (s > t) - (s < t);
}

static void measure(int backward, const struct dense *dense, const cgtp_graph *g, float *const array[ARRAYS])
{
    size_t bytes = backward ? mace_large_backward_workspace(g) : mace_large_forward_workspace(g);
    void *workspace = allocate(bytes);
    double ms[RUNS + 1];
    for (int run = 0; run <= RUNS; run++) {
        cgtp_status status = CGTP_OK;
        double start = now();
        if (dense && backward)
            dense_backward(dense, g, array);
        else if (dense)
            dense_forward(dense, g, array);
        else if (backward)
            status = mace_large_backward(g, array[X], array[Y], array[W], array[GZ], array[GX], array[GY],
                                         array[GW], workspace, bytes, NULL);
        else
            status = mace_large_forward(g, array[X], array[Y], array[W], array[Z], workspace, bytes, NULL);
        ms[run] = now() - start;
        if (status)
            fail(cgtp_status_text(status));
    }
    qsort(ms + 1, RUNS, sizeof *ms, ascending);
    printf("%s %.6f\n", backward ? "backward" : "forward", ms[1 + RUNS / 2]);
    free(workspace);
}

static void write_array(const char *folder, const char *file, const void *data, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
        fail("cannot write the arrays");
}

int main(int argc, char **argv)
{
    struct carbon carbon;
    float *array[ARRAYS];
    if (argc < 3 || argc > 4 || atoll(argv[1]) < 1)
        fail("usage: bench EDGES generated|dense [FOLDER]");
    if (!carbon_build(&carbon, CELLS, atoll(argv[1])))
        fail("out of memory");
    const cgtp_graph *g = &carbon.graph;
    uint32_t state = 1;
    for (int a = 0; a < ARRAYS; a++) {
        array[a] = allocate((size_t)elements(g, a) * sizeof(float));
        for (int64_t i = 0; i < elements(g, a); i++) {
            state = state * 1664525u + 1013904223u;
            array[a][i] = (float)(int32_t)state * 0x1p-31f; /* uniform in [-1, 1) */
        }
    }
    for (int64_t e = 0; e < g->items; e++)
        carbon_harmonics(&carbon, e, array[Y] + e * product->dim[CGTP_Y]);
    struct dense *dense = strcmp(argv[2], "dense") ? NULL : make_dense();
    measure(0, dense, g, array);
    measure(1, dense, g, array);
    for (int a = 0; argc == 4 && a < ARRAYS; a++)
        write_array(argv[3], name[a], array[a], (size_t)elements(g, a) * sizeof(float));
    if (argc == 4) {
        write_array(argv[3], "sender", g->sender, (size_t)g->items * sizeof *g->sender);
        write_array(argv[3], "receiver", g->receiver, (size_t)g->items * sizeof *g->receiver);
    }
    for (int a = 0; a < ARRAYS; a++)
        free(array[a]);
    for (int i = 0; dense && i < product->paths; i++)
        free(dense[i].c);
    free(dense);
    carbon_free(&carbon);
    return 0;
}
