/* sample.c - see sample.h. */
#include "sample.h"

#include "memory.h"
#include "cgtp_types.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, ITEMS = 16, ROWS = NODES + ITEMS + 8, SHARED_ITEMS = 2000 };

static void *allocate(int64_t n, size_t size)
{
    void *p = malloc((size_t)n * size + 1);
    if (!p)
        abort();
    return p;
}

static int64_t end_of(const struct ref_graph *g, cgtp_index index, int64_t item)
{
    return index == CGTP_SENDER     ? g->sender[item]
           : index == CGTP_RECEIVER ? g->receiver[item]
           : index == CGTP_SHARED   ? 0
                                    : item;
}

static void add(int64_t row[ROWS], int *n, int64_t rows, int64_t r)
{
    for (int i = 0; i < *n; i++)
        if (row[i] == r)
            return;
    if (r >= 0 && r < rows && *n < ROWS)
        row[(*n)++] = r;
}

static int choose(const struct launch *l, cgtp_slot slot, int64_t row[ROWS])
{
    const struct ref_graph *g = l->graph;
    cgtp_index index = l->product->index[slot];
    int64_t rows = driver_rows(l->product, g, slot), dim = l->product->dim[slot];
    int n = 0;
    if (index == CGTP_SHARED && g->items > SHARED_ITEMS)
        return 0;
    add(row, &n, rows, 0);
    add(row, &n, rows, rows - 1);
    for (int64_t i = -1; dim && i <= 1; i++)
        add(row, &n, rows, (INT64_C(1) << 31) / dim + i);
    if (index == CGTP_ITEM) {
        for (int64_t i = 0; i < ITEMS; i++)
            add(row, &n, rows, (int64_t)((double)g->items * (double)i / ITEMS));
    } else if (index != CGTP_SHARED && g->items) {
        for (int64_t i = 0; i < NODES; i++)
            add(row, &n, rows,
                end_of(g, index, (int64_t)((double)g->items * (2.0 * (double)i + 1) / (2 * NODES))));
        unsigned char *met = allocate(rows, 1);
        memset(met, 0, (size_t)rows);
        for (int64_t e = 0; e < g->items; e++)
            met[end_of(g, index, e)] = 1;
        const unsigned char *without = memchr(met, 0, (size_t)rows);
        if (without)
            add(row, &n, rows, without - met);
        free(met);
    }
    return n;
}

/* One row more; rows are compared by several threads. */
static void merge(struct sample_result *result, const char *output, double ratio, double units)
{
#ifdef _OPENMP
#pragma omp critical
#endif
    {
        if (ratio > result->ratio || !result->output) {
            result->ratio = ratio;
            result->output = output;
        }
        result->units = fmax(result->units, units);
        result->rows++;
    }
}

/* A row of the device's memory, in layout mul_ir. */
static void read_row(const cgtp_product *p, cgtp_slot slot, const void *row, double *to)
{
    const int64_t n = p->dim[slot];
    const size_t size = cgtp_type_size(p->type[slot]);
    unsigned char *bytes = allocate(n, size);
    double *stored = allocate(n, sizeof *stored);
    memory_read(bytes, row, (size_t)n * size);
    for (int64_t j = 0; j < n; j++)
        stored[j] = cgtp_get_number(bytes, p->type[slot], j);
    driver_change_layout(p, slot, true, to, stored, n);
    free(stored);
    free(bytes);
}

static void compare(const struct model *m, const struct launch *l, const struct ref_kernel *ref, int o,
                    int64_t row, struct sample_result *result)
{
    const cgtp_product *p = l->product;
    const cgtp_kernel *k = l->kernel;
    const struct ref_graph *g = l->graph;
    const cgtp_index index = p->index[k->output[o].slot];
    const int64_t dim = p->dim[k->output[o].slot];
    const int output = ref_find_output(ref, k->output[o].name);

    /* The items that add to the row are a graph in which they share it and have one row each of everything
     * else. */
    int64_t items = 0, *item = allocate(index == CGTP_ITEM ? 1 : g->items, sizeof *item);
    if (index == CGTP_ITEM)
        item[items++] = row;
    else
        for (int64_t e = 0; e < g->items; e++)
            if (end_of(g, index, e) == row)
                item[items++] = e;
    int64_t *own = allocate(items, sizeof *own), *zero = allocate(items, sizeof *zero);
    for (int64_t i = 0; i < items; i++)
        own[i] = i, zero[i] = 0;
    struct ref_graph sample = {items, items, items, own, own};
    if (index == CGTP_SENDER)
        sample.senders = 1, sample.sender = zero;
    if (index == CGTP_RECEIVER)
        sample.receivers = 1, sample.receiver = zero;

    double *input[LAUNCH_ARRAYS] = {NULL};
    const double *argument[REF_ARGUMENTS];
    for (int i = 0; i < k->inputs; i++) {
        const cgtp_slot slot = k->input[i].slot;
        const uint64_t seed = launch_seed(k->input[i].name);
        int64_t rows = driver_rows(p, &sample, slot), n = p->dim[slot];
        double *stored = allocate(rows * n, sizeof *stored);
        input[i] = allocate(rows * n, sizeof(double));
        for (int64_t r = 0; r < rows; r++) {
            /* A sampled row without items has inputs that are not read. */
            int64_t at = p->index[slot] == index && index != CGTP_ITEM ? row
                         : r < items                                   ? end_of(g, p->index[slot], item[r])
                                                                       : 0;
            for (int64_t j = 0; j < n; j++) {
                double room[1];
                cgtp_put_number(room, p->type[slot], 0, random_at(seed, (uint64_t)(at * n + j)));
                stored[r * n + j] = cgtp_get_number(room, p->type[slot], 0);
            }
        }
        driver_change_layout(p, slot, true, input[i], stored, rows * n);
        free(stored);
    }
    model_inputs(k, ref, (const double *const *)input, argument);
    long double *value = allocate(dim, sizeof *value), *magnitude = allocate(dim, sizeof *magnitude);
    if (items || index == CGTP_SHARED)
        ref_evaluate(m->problem, &sample, ref, output, argument, -1, value, magnitude);
    else
        for (int64_t j = 0; j < dim; j++)
            value[j] = magnitude[j] = 0;

    const cgtp_type type = p->type[k->output[o].slot];
    double *found = allocate(dim, sizeof *found);
    read_row(p, k->output[o].slot, (const char *)l->out[o] + row * dim * (int64_t)cgtp_type_size(type), found);
    double bound = model_bound(m->problem, ref, output, (double)items), largest = 0;
    for (int64_t j = 0; j < dim; j++) {
        double error = (double)fabsl(found[j] - value[j]), unit = model_unit(p) * (double)magnitude[j];
        if (type != p->compute && isfinite(error)) /* what the array's type may add once */
            error = fmax(0, error - cgtp_rounding(type, (double)fabsl(value[j]) + bound * unit));
        double units = error == 0 ? 0 : unit > 0 && isfinite(error) ? error / unit : INFINITY;
        largest = fmax(largest, units);
    }
    merge(result, k->output[o].name, largest / bound, largest);
    for (int i = 0; i < k->inputs; i++)
        free(input[i]);
    free(item);
    free(own);
    free(zero);
    free(value);
    free(magnitude);
    free(found);
}

bool sample_check(const struct model *m, const struct launch *l, struct sample_result *result)
{
    struct ref_kernel ref;
    *result = (struct sample_result){0};
    if (!model_kernel(m->problem, l->kernel, &ref)) {
        fprintf(stderr, "%s: the reference has no kernel with these outputs\n", l->kernel->name);
        return false;
    }
    int64_t row[LAUNCH_ARRAYS * ROWS];
    int output[LAUNCH_ARRAYS * ROWS], n = 0;
    for (int o = 0; o < l->kernel->outputs; o++)
        for (int end = n + choose(l, l->kernel->output[o].slot, row + n); n < end; n++)
            output[n] = o;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic)
#endif
    for (int i = 0; i < n; i++)
        compare(m, l, &ref, output[i], row[i], result);
    return true;
}
