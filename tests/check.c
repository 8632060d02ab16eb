/* check.c - see check.h. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const double check_constant = 16;

enum { FAILURES_SHOWN = 5 };

static void *allocate(int64_t n, size_t size)
{
    void *p = malloc((size_t)n * size + 1);
    if (!p)
        abort();
    return p;
}

double check_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 45) / 262144.0 - 1; /* 19 bits */
}

double check_rounded(const struct check *c, cgtp_slot slot, double x)
{
    double room[1];
    cgtp_put_number(room, c->product->type[slot], 0, x);
    return cgtp_get_number(room, c->product->type[slot], 0);
}

/* Where values are moved by multiples of others, they are multiples of 1/16: then that is exact in every
 * type. */
double check_random_of(struct check *c, cgtp_slot slot)
{
    const bool narrow = cgtp_type_size(c->product->type[slot]) == 2;
    const double x = check_random(&c->seed);
    return narrow && strcmp(c->kind, "quotients") == 0 ? floor(x * 16) / 16 : check_rounded(c, slot, x);
}

double check_stored(const struct check *c, cgtp_slot slot, double size)
{
    const cgtp_type type = c->product->type[slot];
    return type == c->product->compute ? 0 : cgtp_rounding(type, size);
}

static int64_t below(uint64_t *seed, int64_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*seed >> 33) % (uint64_t)n);
}

double *check_value_of(struct check *c, struct check_values *v, const struct ref_graph *g, const char *name,
                       cgtp_slot slot)
{
    int64_t n = driver_rows(c->product, g, slot) * c->product->dim[slot];
    for (int i = 0; i < v->n; i++)
        if (strcmp(v->entry[i].name, name) == 0) {
            if (v->entry[i].count != n)
                check_failure(c, "%s has %lld elements, expected %lld", name, (long long)n,
                              (long long)v->entry[i].count);
            return v->entry[i].value;
        }
    if (v->n == (int)(sizeof v->entry / sizeof *v->entry) || strlen(name) >= REF_NAME)
        abort();
    struct check_value *e = &v->entry[v->n++];
    strcpy(e->name, name);
    e->count = n;
    e->value = allocate(n, sizeof *e->value);
    for (int64_t i = 0; i < n; i++)
        e->value[i] = check_random_of(c, slot);
    return e->value;
}

void check_values_free(struct check_values *v)
{
    for (int i = 0; i < v->n; i++)
        free(v->entry[i].value);
    v->n = 0;
}

static int ascending(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return p < q ? -1 : p > q;
}

struct ref_graph check_graph(struct check *c, int64_t items, int64_t senders, int64_t receivers)
{
    struct ref_graph g = {items, 0, 0, NULL, NULL};
    if (!c->product->graph)
        return g;
    int64_t *sender = allocate(items, sizeof *sender), *receiver = allocate(items, sizeof *receiver);
    for (int64_t e = 0; e < items; e++) {
        sender[e] = below(&c->seed, senders);
        receiver[e] = below(&c->seed, receivers);
    }
    if (c->product->sorted)
        qsort(receiver, (size_t)items, sizeof *receiver, ascending);
    return (struct ref_graph){items, senders, receivers, sender, receiver};
}

static int64_t pad(const int64_t *node, int64_t items, int64_t nodes, const int64_t lone[3])
{
    for (int64_t e = 0; e < items; e++)
        ((int64_t *)node)[e] += lone[0] + (node[e] >= nodes / 2 ? lone[1] : 0);
    return nodes + lone[0] + lone[1] + lone[2];
}

void check_graph_pad(struct ref_graph *g, int64_t before, int64_t middle, int64_t after)
{
    const int64_t lone[3] = {before, middle, after};
    g->senders = pad(g->sender, g->items, g->senders, lone);
    g->receivers = pad(g->receiver, g->items, g->receivers, lone);
}

void check_graph_free(struct ref_graph *g)
{
    free((void *)g->sender);
    free((void *)g->receiver);
}

void check_failure(struct check *c, const char *format, ...)
{
    va_list arguments;
    if (c->failures++ >= FAILURES_SHOWN)
        return;
    printf("# %s %s: ", c->product->name, c->kind);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

void check_number(struct check *c, const char *kernel, const char *name, int64_t i, double got,
                  long double expected, long double magnitude, double factor, double stored)
{
    long double error = fabsl(got - expected), unit = c->roundoff * magnitude;
    c->compared++;
    if (!(error <= factor * unit + stored))
        check_failure(
            c, "%s: %s[%lld] is %.17g, expected %.17Lg; off by %.3Lg u sum|terms|, allowed %.3g and %.3g",
            kernel, name, (long long)i, got, expected, error / unit, factor, stored);
    error = error > stored ? error - stored : 0;
    if (unit > 0) {
        c->worst = fmax(c->worst, (double)(error / unit));
        c->share = fmax(c->share, (double)(error / unit / factor));
    }
}

const cgtp_kernel *check_find_kernel(const cgtp_product *p, const char *name)
{
    for (int i = 0; i < p->kernels; i++)
        if (strcmp(p->kernel[i].name, name) == 0)
            return &p->kernel[i];
    return NULL;
}

void check_reference_kernel(struct check *c, const cgtp_kernel *k, struct ref_kernel *out)
{
    for (int i = 0; i < c->problem->kernels; i++)
        if (strcmp(c->problem->kernel[i].name, k->name) == 0) {
            *out = c->problem->kernel[i];
            return;
        }
    if (!ref_kernel_text(k->name)) {
        fprintf(stderr, "%s: the reference does not know kernel %s\n", c->product->name, k->name);
        abort();
    }
    ref_kernel_parse(out, k->name, ref_kernel_text(k->name), NULL);
}

bool check_run(struct check *c, const cgtp_kernel *k, const struct ref_graph *g, struct check_values *v,
               double **output)
{
    const double *input[REF_ARGUMENTS];
    struct driver_graph graph;
    struct driver_damage damage;
    if (k->inputs > REF_ARGUMENTS || k->outputs > REF_OUTPUTS)
        abort();
    for (int i = 0; i < k->inputs; i++)
        input[i] = check_value_of(c, v, g, k->input[i].name, k->input[i].slot);
    for (int o = 0; o < k->outputs; o++) {
        cgtp_slot slot = k->output[o].slot;
        output[o] = allocate(driver_rows(c->product, g, slot) * c->product->dim[slot], sizeof **output);
    }
    driver_graph_make(&graph, c->product, g);
    cgtp_status status = driver_run(c->product, k, g, &graph, input, output, &damage);
    driver_graph_free(&graph);
    if (status != CGTP_OK)
        check_failure(c, "%s, %lld items: %s", k->name, (long long)g->items, cgtp_status_text(status));
    if (damage.what)
        check_failure(c, "%s, %lld items: wrote to the %s %s", k->name, (long long)g->items, damage.what,
                      damage.name);
    return status == CGTP_OK;
}

void check_free_outputs(const cgtp_kernel *k, double **output)
{
    for (int o = 0; o < k->outputs; o++)
        free(output[o]);
}

/* The inputs of output o by the reference's argument numbers. */
static void reference_inputs(struct check *c, const struct ref_kernel *r, const struct ref_output *o,
                             const struct ref_graph *g, struct check_values *v, const double **input)
{
    for (int a = 0; a < REF_ARGUMENTS; a++)
        input[a] = NULL;
    for (int t = 0; t < o->terms; t++)
        for (int s = 0; s < REF_SLOTS; s++) {
            int a = o->term[t].argument[s];
            if (a >= 0 && (s != REF_W || c->problem->dim[REF_W] > 0))
                input[a] = check_value_of(c, v, g, r->argument[a].name, (cgtp_slot)s);
        }
}

static int reference_output(const struct check *c, const struct ref_kernel *r, const char *name)
{
    int o = ref_find_output(r, name);
    if (o < 0) {
        fprintf(stderr, "%s: the reference's %s has no output %s\n", c->product->name, r->name, name);
        abort();
    }
    return o;
}

void check_reference(struct check *c, const struct ref_kernel *r, const char *name, const struct ref_graph *g,
                     struct check_values *v, int only, long double **value, long double **magnitude)
{
    const double *input[REF_ARGUMENTS];
    int o = reference_output(c, r, name);
    int64_t n = ref_rows(c->problem, g, r->output[o].slot) * c->problem->dim[r->output[o].slot];
    reference_inputs(c, r, &r->output[o], g, v, input);
    c->problem->rounded = c->product->compute == CGTP_FLOAT32;
    if (value)
        *value = allocate(n, sizeof **value);
    *magnitude = allocate(n, sizeof **magnitude);
    ref_evaluate(c->problem, g, r, o, input, only, value ? *value : NULL, *magnitude);
}

long double *check_terms(struct check *c, const cgtp_kernel *k, int o, const struct ref_graph *g,
                         struct check_values *v)
{
    const double *input[REF_ARGUMENTS];
    struct ref_kernel r;
    check_reference_kernel(c, k, &r);
    const int at = reference_output(c, &r, k->output[o].name);
    reference_inputs(c, &r, &r.output[at], g, v, input);
    long double *terms = allocate(
        driver_rows(c->product, g, k->output[o].slot) * c->product->dim[k->output[o].slot], sizeof *terms);
    ref_count_terms(c->problem, g, &r, at, input, -1, terms);
    return terms;
}

bool check_needs_terms(const struct check *c, double got, long double value, long double magnitude)
{
    return !(fabsl(got - value) <= check_constant * c->roundoff * magnitude); /* not even as stored */
}

void check_element(struct check *c, const cgtp_kernel *k, int o, int64_t i, double got, long double value,
                   long double magnitude, const long double *terms)
{
    const double factor = check_constant + (terms ? (double)terms[i] / 8 : 0);
    const double size = (double)(fabsl(value) + factor * c->roundoff * magnitude);
    check_number(c, k->name, k->output[o].name, i, got, value, magnitude, factor,
                 check_stored(c, k->output[o].slot, size));
}

void check_output(struct check *c, const cgtp_kernel *k, int o, const struct ref_graph *g,
                  struct check_values *v, const double *got, const long double *value,
                  const long double *magnitude)
{
    const int64_t n = driver_rows(c->product, g, k->output[o].slot) * c->product->dim[k->output[o].slot];
    long double *terms = NULL;
    for (int64_t i = 0; i < n && !terms; i++)
        if (check_needs_terms(c, got[i], value[i], magnitude[i]))
            terms = check_terms(c, k, o, g, v);
    for (int64_t i = 0; i < n; i++)
        check_element(c, k, o, i, got[i], value[i], magnitude[i], terms);
    free(terms);
}

void check_kernel(struct check *c, const cgtp_kernel *k, const struct ref_graph *g, struct check_values *v)
{
    struct ref_kernel r;
    double *output[REF_OUTPUTS];
    check_reference_kernel(c, k, &r);
    bool ran = check_run(c, k, g, v, output);
    for (int o = 0; o < k->outputs && ran; o++) {
        long double *value, *magnitude;
        check_reference(c, &r, k->output[o].name, g, v, -1, &value, &magnitude);
        check_output(c, k, o, g, v, output[o], value, magnitude);
        free(value);
        free(magnitude);
    }
    check_free_outputs(k, output);
}
