/* SPDX-License-Identifier: MIT */
/* cgtp_selftest.c - the generic part of a self-test program; see cgtp_selftest.h.
 *
 * Every kernel is run at several sizes with all paths together, then each path alone: a weighted one with the
 * weights of all others zero, one without weights also with the segments of all others zero. Outputs and
 * workspace start as NaN.
 *
 * Error bound. Each element is compared by |error| <= c u S, with u the unit roundoff of the product's type
 * and S the sum of the absolute values of its n terms. A term is rounded at most about twelve times before it
 * is summed: its two coefficients here and there (4), a linear form of operands (3), up to three operands and
 * a factor taken out (4), itself (1). Sums in any order add errors of either sign, which grow like sqrt(n):
 * c = 12 + 4 sqrt(n), where four standard deviations leave room for all elements of a test. Both are twice as
 * large where long double is no wider than the type. Where arrays are of another type than arithmetic, what an output
 * is rounded to may be as far off as its type says.
 */
#include "cgtp_selftest.h"
#include "cgtp_selftest_dense.h"
#include "cgtp_selftest_graph.h"
#include "cgtp_types.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3, SIZES = 4, WIDE = 1 << 18 };

/* ---- inputs and graphs ---- */

/* As an array of the type holds it. */
static double rounded(cgtp_type type, double x)
{
    double room[1];
    cgtp_put_number(room, type, 0, x);
    return cgtp_get_number(room, type, 0);
}

/* A node that has edges: of three and more, every fifth has none, the first among them. */
static int64_t random_node(uint64_t *seed, int64_t n)
{
    int64_t node;
    do
        node = below(seed, n);
    while (n >= 3 && node % 5 == 0);
    return node;
}

static int ascending(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

static struct graph graph_new(const cgtp_selftest *t, uint64_t *seed, int64_t items, int64_t senders,
                              int64_t receivers)
{
    struct graph g = {items, senders, receivers, NULL, NULL};
    if (!t->graph)
        return g;
    g.sender = host_new(items, sizeof *g.sender);
    g.receiver = host_new(items, sizeof *g.receiver);
    for (int64_t e = 0; e < items; e++) {
        g.sender[e] = random_node(seed, senders);
        g.receiver[e] = random_node(seed, receivers);
    }
    if (t->sorted)
        qsort(g.receiver, (size_t)items, sizeof *g.receiver, ascending);
    return g;
}

/* ---- the dense loop ---- */

/* Row number `row` of the output. input[i]: the kernel's inputs as they were rounded to its type. */
static void dense(const cgtp_selftest *t, const struct graph *g, const cgtp_selftest_kernel *k,
                  const cgtp_selftest_output *o, double *const *input, int64_t row, struct sum *result)
{
    for (int64_t e = 0; e < t->dim[o->slot]; e++)
        result[e] = (struct sum){0, 0, 0};
    const double **of_item = host_new(k->inputs, sizeof *of_item);
    for (int64_t item = 0; item < g->items; item++) {
        if (row_of(t, g, o->slot, item) != row)
            continue;
        for (int i = 0; i < k->inputs; i++)
            of_item[i] = input[i] + row_of(t, g, k->input[i].slot, item) * t->dim[k->input[i].slot];
        add_item(t, k, o, of_item, result);
    }
    free(of_item);
}

/* ---- one run of a kernel ---- */

struct tap {
    int number, failed; /* tests so far, and those that failed */
    int shown;          /* complaints of the current test */
    double worst, allowed; /* of the current test's element nearest to its bound: its error and bound in units of u S */
};

static void complain(struct tap *tap, const char *format, ...)
{
    va_list arguments;
    if (tap->shown++ >= SHOWN)
        return;
    va_start(arguments, format);
    printf("# ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

/* Ends a test: it passed if there was no complaint. */
static void verdict(struct tap *tap, const char *format, ...)
{
    va_list arguments;
    if (tap->shown > SHOWN)
        printf("# and %d more\n", tap->shown - SHOWN);
    va_start(arguments, format);
    printf("%sok %d - ", tap->shown ? "not " : "", ++tap->number);
    vprintf(format, arguments);
    va_end(arguments);
    if (tap->allowed > 0)
        printf(": error at most %.2f, c = %.1f there", tap->worst, tap->allowed);
    printf("\n");
    tap->failed += tap->shown > 0;
    tap->shown = 0;
    tap->worst = tap->allowed = 0;
}

/* Row number `row` of an output. */
static void compare(struct tap *tap, const cgtp_selftest *t, const cgtp_selftest_kernel *k,
                    const cgtp_selftest_output *o, int64_t row, const struct sum *wanted, const void *found)
{
    const double u = t->compute == CGTP_FLOAT64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
    const double twice = t->compute == CGTP_FLOAT64 && LDBL_MANT_DIG <= DBL_MANT_DIG ? 2 : 1;
    const int64_t n = t->dim[o->slot];
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = row * n + i;
        const double got = cgtp_get_number(found, t->type[o->slot], at);
        const double c = twice * (12 + 4 * sqrt(wanted[i].terms));
        const long double error = fabsl(got - wanted[i].value), unit = u * wanted[i].magnitude;
        const long double stored =
            t->type[o->slot] == t->compute ? 0 : cgtp_rounding(t->type[o->slot], fabs((double)wanted[i].value) + (double)(c * unit));
        if (!(error <= c * unit + stored)) /* NaN too */
            complain(tap, "%s: %s[%lld][%lld] is %.17g, expected %.17Lg; off by %.3Lg u S, allowed %.3g",
                     k->name, o->name, (long long)row, (long long)i, got, wanted[i].value, error / unit, c);
        else if (unit > 0 && error / unit * tap->allowed >= tap->worst * c) {
            tap->worst = (double)(error / unit);
            tap->allowed = c;
        }
    }
}

/* Runs kernel number n on the inputs and compares all its outputs. */
static void run_kernel(struct tap *tap, const cgtp_selftest *t, int number, const struct graph *g,
                       double *const *input)
{
    const cgtp_selftest_kernel *k = &t->kernel[number];
    const cgtp_kernel *tested = &t->product->kernel[number];
    struct kernel_graph graph;
    void **in = host_new(k->inputs, sizeof *in), **out = host_new(k->outputs, sizeof *out);
    kernel_graph_new(&graph, t, g);
    for (int i = 0; i < k->inputs; i++) {
        int64_t n = elements_of(t, g, k->input[i].slot);
        const cgtp_type type = t->type[k->input[i].slot];
        void *stored = host_new(n, cgtp_type_size(type));
        for (int64_t e = 0; e < n; e++)
            cgtp_put_number(stored, type, e, input[i][e]);
        in[i] = device_copy(stored, (size_t)n * cgtp_type_size(type));
        free(stored);
    }
    for (int o = 0; o < k->outputs; o++)
        out[o] = device_nan((size_t)elements_of(t, g, k->output[o].slot) * cgtp_type_size(t->type[k->output[o].slot]));
    size_t bytes = tested->workspace(graph.graph);
    void *workspace = device_nan(bytes);
    cgtp_status status = tested->run(graph.graph, (const void *const *)in, out, NULL, workspace, bytes, NULL);
    if (status != CGTP_OK)
        complain(tap, "%s: %s", k->name, cgtp_status_text(status));
    for (int o = 0; o < k->outputs; o++) {
        int64_t n = elements_of(t, g, k->output[o].slot);
        const size_t size = cgtp_type_size(t->type[k->output[o].slot]);
        void *found = host_new(n, size);
        device_read(found, out[o], (size_t)n * size);
        struct sum *wanted = host_new(t->dim[k->output[o].slot], sizeof *wanted); /* of a row */
        for (int64_t row = 0; row < rows_of(t, g, k->output[o].slot) && status == CGTP_OK; row++) {
            dense(t, g, k, &k->output[o], input, row, wanted);
            compare(tap, t, k, &k->output[o], row, wanted, found);
        }
        free(wanted);
        free(found);
        device_free(out[o]);
    }
    for (int i = 0; i < k->inputs; i++)
        device_free(in[i]);
    device_free(workspace);
    kernel_graph_free(&graph);
    free(in);
    free(out);
}

/* ---- the tests ---- */

/* Is element e of a row of the slot the path's own? */
static bool owns(const cgtp_selftest_path *p, cgtp_slot slot, int64_t e)
{
    const cgtp_selftest_segment *s = slot == CGTP_X ? &p->x : slot == CGTP_Y ? &p->y : &p->z;
    const int l = slot == CGTP_X ? p->cg->l1 : slot == CGTP_Y ? p->cg->l2 : p->cg->l3;
    if (slot == CGTP_W)
        return e >= p->weight_offset && e < p->weight_offset + p->weight_numel;
    return e >= s->offset && e < s->offset + (int64_t)s->mul * (2 * l + 1);
}

/* All paths together, or one alone. */
static void run_random(struct tap *tap, const cgtp_selftest *t, int number, const struct graph *g,
                       const cgtp_selftest_path *alone, uint64_t *seed)
{
    const cgtp_selftest_kernel *k = &t->kernel[number];
    double **input = host_new(k->inputs, sizeof *input);
    for (int i = 0; i < k->inputs; i++) {
        const cgtp_slot slot = k->input[i].slot;
        const int64_t n = elements_of(t, g, slot);
        input[i] = host_new(n, sizeof *input[i]);
        for (int64_t e = 0; e < n; e++) {
            bool hidden =
                alone && (slot == CGTP_W || !alone->weighted) && !owns(alone, slot, e % t->dim[slot]);
            input[i][e] = hidden ? 0 : rounded(t->type[k->input[i].slot], random_value(seed));
        }
    }
    run_kernel(tap, t, number, g, input);
    for (int i = 0; i < k->inputs; i++)
        free(input[i]);
    free(input);
}

/* sum over i, j of C[i,j,k] C[i,j,m] is 1 / (2 l3 + 1) where k = m, else zero; likewise for the other two pairs. */
static void test_tensors(struct tap *tap, const cgtp_selftest *t)
{
    for (int n = 0; n < t->cgs; n++) {
        const cgtp_selftest_cg *c = &t->cg[n];
        for (int free_index = 0; free_index < 3; free_index++) {
            const int d = 2 * (free_index == 0 ? c->l1 : free_index == 1 ? c->l2 : c->l3) + 1;
            double gram[COMPONENTS][COMPONENTS] = {{0}};
            for (int a = 0; a < c->entries; a++)
                for (int b = 0; b < c->entries; b++) {
                    const cgtp_selftest_entry *p = &c->entry[a], *q = &c->entry[b];
                    const int of_p[3] = {p->i, p->j, p->k}, of_q[3] = {q->i, q->j, q->k};
                    const int other = (free_index + 1) % 3, third = (free_index + 2) % 3;
                    if (of_p[other] == of_q[other] && of_p[third] == of_q[third])
                        gram[of_p[free_index]][of_q[free_index]] += p->value * q->value;
                }
            for (int k = 0; k < d; k++)
                for (int m = 0; m < d; m++) /* at most 23 * 23 products of magnitude one, each rounded thrice */
                    if (!(fabs(gram[k][m] - (k == m ? 1.0 / d : 0)) <= 100 * DBL_EPSILON))
                        complain(tap, "C of (%d, %d, %d): components %d and %d of index %d give %.17g", c->l1,
                                 c->l2, c->l3, k, m, free_index + 1, gram[k][m]);
        }
    }
    verdict(tap, "%d Clebsch-Gordan tensors are orthogonal", t->cgs);
}

static bool same_arguments(int n, const cgtp_argument *a, int m, const cgtp_argument *b)
{
    bool same = n == m;
    for (int i = 0; same && i < n; i++)
        same = strcmp(a[i].name, b[i].name) == 0 && a[i].slot == b[i].slot && a[i].tangent == b[i].tangent;
    return same;
}

/* Are the kernels that are linked those of the tables? */
static void test_descriptor(struct tap *tap, const cgtp_selftest *t)
{
    const cgtp_product *p = t->product;
    if (p->abi != CGTP_ABI)
        complain(tap, "the product is of runtime ABI %d, this is %d", p->abi, CGTP_ABI);
    if (strcmp(p->digest, t->digest) != 0)
        complain(tap, "the product is of the spec %s, this test of %s", p->digest, t->digest);
    if (p->graph != t->graph || p->sorted != t->sorted || p->compute != t->compute ||
        p->index_size != t->index_size || memcmp(p->dim, t->dim, sizeof p->dim) != 0 ||
        memcmp(p->index, t->index, sizeof p->index) != 0 ||
        memcmp(p->layout, t->layout, sizeof p->layout) != 0 || memcmp(p->type, t->type, sizeof p->type) != 0)
        complain(tap, "dimensions, indices, layouts or types are others");
    bool same = p->paths == t->paths && p->kernels == t->kernels;
    for (int i = 0; same && i < t->paths; i++)
        same = p->path[i].weighted == t->path[i].weighted &&
               p->path[i].weight_offset == t->path[i].weight_offset &&
               p->path[i].weight_numel == t->path[i].weight_numel &&
               p->path[i].coefficient == t->path[i].coefficient;
    if (!same)
        complain(tap, "the paths are others");
    for (int i = 0; same && i < t->kernels; i++) {
        const cgtp_kernel *k = &p->kernel[i];
        const cgtp_selftest_kernel *q = &t->kernel[i];
        same = strcmp(k->name, q->name) == 0 && same_arguments(k->inputs, k->input, q->inputs, q->input) &&
               k->outputs == q->outputs;
        for (int o = 0; same && o < q->outputs; o++)
            same =
                strcmp(k->output[o].name, q->output[o].name) == 0 && k->output[o].slot == q->output[o].slot;
        if (!same)
            complain(tap, "kernel %s is another", q->name);
    }
    bool another = tap->shown > 0;
    verdict(tap, "the descriptor is that of the product tested");
    if (another)
        give_up("the kernels are those of another product");
}

/* Items, senders and receivers: of the runs with all paths together, and of one path alone. Where an item has
 * many elements few items are as many terms. */
static const struct {
    int64_t together[SIZES][3], alone[3];
} size_table[2][2] = {
    {{{{0, 0, 0}, {1, 0, 0}, {33, 0, 0}}, {3, 0, 0}}, {{{0, 0, 0}, {1, 0, 0}, {3, 0, 0}}, {1, 0, 0}}},
    {{{{0, 0, 0}, {0, 3, 2}, {1, 1, 1}, {33, 6, 11}}, {3, 2, 2}},
     {{{0, 0, 0}, {0, 3, 2}, {1, 1, 1}, {3, 2, 2}}, {1, 1, 1}}},
}; /* [a graph][wide] */

int cgtp_selftest_run(const cgtp_selftest *t)
{
    const bool wide = t->dim[CGTP_X] + t->dim[CGTP_Y] + t->dim[CGTP_W] + t->dim[CGTP_Z] > WIDE;
    const int64_t(*size)[3] = size_table[t->graph][wide].together, *alone = size_table[t->graph][wide].alone;
    const int sizes = t->graph ? SIZES : SIZES - 1;
    struct tap tap = {0, 0, 0, 0, 0};
    uint64_t seed = 20161127;
    printf("1..%d\n", 2 + t->kernels * (sizes + t->paths));
    printf("# %s: errors in units of u S (unit roundoff, sum of |terms|), allowed c = 12 + 4 sqrt(terms)\n",
           t->product->name);
    test_tensors(&tap, t);
    test_descriptor(&tap, t);
    for (int k = 0; k < t->kernels; k++) {
        for (int i = 0; i < sizes; i++) {
            const int64_t *n = size[i];
            struct graph g = graph_new(t, &seed, n[0], n[1], n[2]);
            run_random(&tap, t, k, &g, NULL, &seed);
            if (t->graph)
                verdict(&tap, "%s, %lld edges, %lld senders, %lld receivers", t->kernel[k].name,
                        (long long)n[0], (long long)n[1], (long long)n[2]);
            else
                verdict(&tap, "%s, %lld items", t->kernel[k].name, (long long)n[0]);
            graph_free(&g);
        }
        struct graph g = graph_new(t, &seed, alone[0], alone[1], alone[2]);
        for (int p = 0; p < t->paths; p++) {
            run_random(&tap, t, k, &g, &t->path[p], &seed);
            verdict(&tap, "%s, path %d alone", t->kernel[k].name, p);
        }
        graph_free(&g);
    }
    if (tap.failed)
        printf("# %d of %d tests failed\n", tap.failed, tap.number);
    return tap.failed ? 1 : 0;
}
