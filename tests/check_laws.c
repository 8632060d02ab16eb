/* check_laws.c - what holds for any tensor product: symmetry, Euler's identities, derivatives.
 *
 * The values under test stand on both sides; of the reference only the sums of absolute terms are used, for
 * the bounds.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ITEMS = 6, SENDERS = 3, RECEIVERS = 4;

static int64_t count(const struct check *c, const struct ref_graph *g, cgtp_slot slot)
{
    return driver_rows(c->product, g, slot) * c->product->dim[slot];
}

/* Of every output of a kernel: sums of absolute terms, and as much more as lets check_constant of them hold what
 * rounding to the array's type adds. */
static void magnitudes(struct check *c, const cgtp_kernel *k, const struct ref_graph *g,
                       struct check_values *v, long double **magnitude)
{
    struct ref_kernel r;
    check_reference_kernel(c, k, &r);
    for (int o = 0; o < k->outputs; o++) {
        const cgtp_slot slot = k->output[o].slot;
        check_reference(c, &r, k->output[o].name, g, v, -1, NULL, &magnitude[o]);
        for (int64_t i = 0; i < count(c, g, slot); i++)
            magnitude[o][i] += check_stored(c, slot, (double)magnitude[o][i]) / (check_constant * c->roundoff);
    }
}

static void free_magnitudes(const cgtp_kernel *k, long double **magnitude)
{
    for (int o = 0; o < k->outputs; o++)
        free(magnitude[o]);
}

/* ---- rotations and inversion ---- */

typedef long double rotations[REF_L_MAX + 1][(2 * REF_L_MAX + 1) * (2 * REF_L_MAX + 1)];

/* out = D in for rows of irreps; absolute: with the absolute values of D. */
static void rotate(const struct ref_irreps *irreps, rotations d, bool absolute, int64_t rows,
                   const long double *in, long double *out)
{
    for (int64_t row = 0; row < rows; row++)
        for (int s = 0; s < irreps->n; s++) {
            const int n = 2 * irreps->segment[s].l + 1;
            for (int64_t u = 0; u < irreps->segment[s].mul; u++) {
                int64_t at = row * irreps->dim + irreps->segment[s].offset + u * n;
                for (int i = 0; i < n; i++) {
                    out[at + i] = 0;
                    for (int j = 0; j < n; j++) {
                        long double e = d[irreps->segment[s].l][i * n + j];
                        out[at + i] += (absolute ? fabsl(e) : e) * in[at + j];
                    }
                }
            }
        }
}

static long double *rotated(const struct check *c, cgtp_slot slot, rotations d, bool absolute, int64_t n,
                            const long double *in)
{
    long double *out = malloc((size_t)n * sizeof *out + 1);
    if (!out)
        abort();
    if (slot == CGTP_W)
        memcpy(out, in, (size_t)n * sizeof *out);
    else if (n)
        rotate(&c->problem->irreps[slot], d, absolute, n / c->product->dim[slot], in, out);
    return out;
}

static long double *widened(const double *in, int64_t n)
{
    long double *out = malloc((size_t)n * sizeof *out + 1);
    if (!out)
        abort();
    for (int64_t i = 0; i < n; i++)
        out[i] = in[i];
    return out;
}

/* Turns every input of the kernel; rounds to the product's type. */
static void rotate_inputs(struct check *c, const cgtp_kernel *k, const struct ref_graph *g, rotations d,
                          struct check_values *from, struct check_values *to)
{
    for (int i = 0; i < k->inputs; i++) {
        const cgtp_slot slot = k->input[i].slot;
        const int64_t n = count(c, g, slot);
        long double *before = widened(check_value_of(c, from, g, k->input[i].name, slot), n);
        long double *after = rotated(c, slot, d, false, n, before);
        double *out = check_value_of(c, to, g, k->input[i].name, slot);
        for (int64_t j = 0; j < n; j++)
            out[j] = check_rounded(c, slot, (double)after[j]);
        free(before);
        free(after);
    }
}

static void check_rotation(struct check *c, const cgtp_kernel *k, const struct ref_graph *g, rotations d)
{
    struct check_values plain = {.n = 0}, turned = {.n = 0};
    double *before[REF_OUTPUTS], *after[REF_OUTPUTS];
    long double *bound_before[REF_OUTPUTS], *bound_after[REF_OUTPUTS];
    bool ran = check_run(c, k, g, &plain, before);
    double operands = 0; /* three of a term were rounded after they were turned */
    for (int slot = 0; slot < CGTP_SLOTS; slot++)
        operands = fmax(operands, 3 * cgtp_rounding(c->product->type[slot], 1) / c->roundoff);
    rotate_inputs(c, k, g, d, &plain, &turned);
    ran &= check_run(c, k, g, &turned, after);
    magnitudes(c, k, g, &plain, bound_before);
    magnitudes(c, k, g, &turned, bound_after);
    for (int o = 0; o < k->outputs && ran; o++) {
        const cgtp_slot slot = k->output[o].slot;
        const int64_t n = count(c, g, slot);
        long double *wide = widened(before[o], n), *expected = rotated(c, slot, d, false, n, wide);
        long double *spread = rotated(c, slot, d, true, n, bound_before[o]);
        for (int64_t i = 0; i < n; i++)
            check_number(c, k->name, k->output[o].name, i, after[o][i], expected[i],
                         bound_after[o][i] + spread[i], check_constant + operands, 0);
        free(wide);
        free(expected);
        free(spread);
    }
    free_magnitudes(k, bound_before);
    free_magnitudes(k, bound_after);
    check_free_outputs(k, before);
    check_free_outputs(k, after);
    check_values_free(&plain);
    check_values_free(&turned);
}

static void invert(const struct check *c, cgtp_slot slot, int64_t n, double *a)
{
    const struct ref_irreps *irreps = &c->problem->irreps[slot];
    if (slot == CGTP_W)
        return;
    for (int64_t row = 0; row < (n ? n / irreps->dim : 0); row++)
        for (int s = 0; s < irreps->n; s++)
            for (int64_t i = 0; i < (int64_t)irreps->segment[s].mul * (2 * irreps->segment[s].l + 1); i++)
                a[row * irreps->dim + irreps->segment[s].offset + i] *= irreps->segment[s].parity;
}

/* Signs pass through floating-point arithmetic unchanged: the outputs are the same to the bit. Products with
 * `atomic` in their names add in any order, so theirs differ by the rounding of two runs. */
static void check_inversion(struct check *c, const cgtp_kernel *k, const struct ref_graph *g)
{
    struct check_values v = {.n = 0};
    double *before[REF_OUTPUTS], *after[REF_OUTPUTS];
    long double *bound[REF_OUTPUTS] = {NULL};
    const bool any_order = strstr(c->product->name, "atomic") != NULL;
    bool ran = check_run(c, k, g, &v, before);
    for (int i = 0; i < k->inputs; i++)
        invert(c, k->input[i].slot, count(c, g, k->input[i].slot),
               check_value_of(c, &v, g, k->input[i].name, k->input[i].slot));
    ran &= check_run(c, k, g, &v, after);
    if (any_order)
        magnitudes(c, k, g, &v, bound);
    for (int o = 0; o < k->outputs && ran; o++) {
        const int64_t n = count(c, g, k->output[o].slot);
        invert(c, k->output[o].slot, n, before[o]);
        for (int64_t i = 0; i < n; i++)
            check_number(c, k->name, k->output[o].name, i, after[o][i], before[o][i],
                         any_order ? 2 * bound[o][i] : 0, any_order ? check_constant : 0, 0);
    }
    free_magnitudes(k, bound);
    check_free_outputs(k, before);
    check_free_outputs(k, after);
    check_values_free(&v);
}

static int largest_l(const struct ref_problem *p)
{
    int largest = 0;
    for (int slot = 0; slot < REF_SLOTS; slot++)
        for (int s = 0; s < p->irreps[slot].n; s++)
            if (p->irreps[slot].segment[s].l > largest)
                largest = p->irreps[slot].segment[s].l;
    return largest;
}

void check_symmetry(struct check *c)
{
    rotations *d = malloc(sizeof *d);
    struct ref_graph g = check_graph(c, ITEMS, SENDERS, RECEIVERS);
    if (!d)
        abort();
    for (int turn = 0; turn < 2; turn++) {
        long double vector[3];
        for (int i = 0; i < 3; i++)
            vector[i] = 2.5L * check_random(&c->seed);
        for (int l = 0; l <= largest_l(c->problem); l++)
            ref_rotation(l, vector, (*d)[l]);
        for (int k = 0; k < c->product->kernels; k++)
            check_rotation(c, &c->product->kernel[k], &g, *d);
    }
    for (int k = 0; k < c->product->kernels; k++)
        check_inversion(c, &c->product->kernel[k], &g);
    check_graph_free(&g);
    free(d);
}

/* ---- pairings of arrays ---- */

static int find_output(const cgtp_kernel *k, const char *name)
{
    for (int o = 0; o < k->outputs; o++)
        if (strcmp(k->output[o].name, name) == 0)
            return o;
    return -1;
}

static long double pair(const double *a, const double *b, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (long double)a[i] * b[i];
    return sum;
}

static long double pair_magnitude(const double *a, const long double *b, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += fabs(a[i]) * b[i];
    return sum;
}

/* ---- Euler ---- */

/* sum x gx = sum y gy = sum gz z, and sum w gw is its part that has weights. */
void check_euler(struct check *c)
{
    const cgtp_kernel *forward = check_find_kernel(c->product, "forward"),
                      *backward = check_find_kernel(c->product, "backward");
    if (!forward || !backward)
        return;
    struct ref_graph g = check_graph(c, ITEMS, SENDERS, RECEIVERS);
    struct check_values v = {.n = 0}, unweighted = {.n = 0};
    double *z[1], *without[1], *gradient[REF_OUTPUTS];
    long double *magnitude[1];
    const int64_t n = count(c, &g, CGTP_Z);
    const double *gz = check_value_of(c, &v, &g, "gz", CGTP_Z);
    bool ran = check_run(c, forward, &g, &v, z) && check_run(c, backward, &g, &v, gradient);
    magnitudes(c, forward, &g, &v, magnitude);
    for (int i = 0; i < forward->inputs; i++) { /* the same inputs but w = 0 */
        const cgtp_slot slot = forward->input[i].slot;
        const double *from = check_value_of(c, &v, &g, forward->input[i].name, slot);
        double *to = check_value_of(c, &unweighted, &g, forward->input[i].name, slot);
        for (int64_t j = 0; j < count(c, &g, slot); j++)
            to[j] = slot == CGTP_W ? 0 : from[j];
    }
    ran &= check_run(c, forward, &g, &unweighted, without);
    if (ran) {
        const long double whole = pair(gz, z[0], n), part = whole - pair(gz, without[0], n);
        const long double bound = pair_magnitude(gz, magnitude[0], n);
        for (int o = 0; o < backward->outputs; o++) {
            const cgtp_slot slot = backward->output[o].slot;
            const char *of = backward->output[o].name + 1; /* gx is of x */
            const double *operand = check_value_of(c, &v, &g, of, slot);
            double stored = 0;
            for (int64_t i = 0; i < count(c, &g, slot); i++)
                stored += fabs(operand[i]) * check_stored(c, slot, fabs(gradient[o][i]));
            check_number(
                c, "backward", backward->output[o].name, 0,
                (double)(pair(operand, gradient[o], count(c, &g, slot)) - (slot == CGTP_W ? part : whole)), 0,
                bound, 2 * check_constant, stored);
        }
    }
    free(magnitude[0]);
    check_free_outputs(forward, z);
    check_free_outputs(forward, without);
    check_free_outputs(backward, gradient);
    check_values_free(&v);
    check_values_free(&unweighted);
    check_graph_free(&g);
}

/* ---- difference quotients ---- */

/* The cotangent of each output. */
static const char *const cotangent[][2] = {
    {"z", "gz"},    {"gx", "ax"},   {"gy", "by"},   {"gw", "cw"},
    {"d_x", "a2x"}, {"d_y", "b2y"}, {"d_w", "c2w"}, {"d_gz", "e2gz"},
};

static const char *cotangent_of(const char *output)
{
    for (size_t i = 0; i < sizeof cotangent / sizeof *cotangent; i++)
        if (strcmp(cotangent[i][0], output) == 0)
            return cotangent[i][1];
    abort();
}

/* The sum of the kernel's outputs paired with their cotangents, and of the magnitudes. */
static long double paired(struct check *c, const cgtp_kernel *k, const struct ref_graph *g,
                          struct check_values *v, long double *bound)
{
    double *output[REF_OUTPUTS];
    long double *magnitude[REF_OUTPUTS], sum = 0;
    check_run(c, k, g, v, output);
    magnitudes(c, k, g, v, magnitude);
    for (int o = 0; o < k->outputs; o++) {
        const cgtp_slot slot = k->output[o].slot;
        const double *with = check_value_of(c, v, g, cotangent_of(k->output[o].name), slot);
        sum += pair(with, output[o], count(c, g, slot));
        *bound += pair_magnitude(with, magnitude[o], count(c, g, slot));
    }
    free_magnitudes(k, magnitude);
    check_free_outputs(k, output);
    return sum;
}

static void shift(double *a, const double *by, double factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        a[i] += factor * by[i];
}

/* Paired with cotangents, a kernel is linear (or affine) in each input alone: f(a + e) - f(a - e) = 2 <f',
 * e>. */
static void check_cotangents(struct check *c, const char *name, const char *derivative, const char *prefix)
{
    const cgtp_kernel *k = check_find_kernel(c->product, name),
                      *d = check_find_kernel(c->product, derivative);
    if (!k || !d)
        return;
    struct ref_graph g = check_graph(c, ITEMS, SENDERS, RECEIVERS);
    struct check_values v = {.n = 0}, step = {.n = 0};
    double *gradient[REF_OUTPUTS];
    long double *magnitude[REF_OUTPUTS];
    check_run(c, d, &g, &v, gradient);
    magnitudes(c, d, &g, &v, magnitude);
    for (int i = 0; i < k->inputs; i++) {
        char output[REF_NAME + 8];
        const cgtp_slot slot = k->input[i].slot;
        const int64_t n = count(c, &g, slot);
        snprintf(output, sizeof output, "%s%s", prefix, k->input[i].name);
        const int o = find_output(d, output);
        if (o < 0) /* a subset of the kernel that does without it */
            continue;
        double *a = check_value_of(c, &v, &g, k->input[i].name, slot);
        const double *e = check_value_of(c, &step, &g, k->input[i].name, slot);
        long double bound = 2 * pair_magnitude(e, magnitude[o], n);
        shift(a, e, 1, n);
        long double difference = paired(c, k, &g, &v, &bound);
        shift(a, e, -2, n);
        difference -= paired(c, k, &g, &v, &bound);
        shift(a, e, 1, n);
        check_number(c, derivative, output, 0, (double)(difference - 2 * pair(gradient[o], e, n)), 0, bound,
                     check_constant, 0);
    }
    free_magnitudes(d, magnitude);
    check_free_outputs(d, gradient);
    check_values_free(&v);
    check_values_free(&step);
    check_graph_free(&g);
}

/* Along a tangent of all inputs at once, outputs are cubic: their derivative follows from four values. */
static void check_tangents(struct check *c, const char *name, const char *derivative)
{
    enum { SAMPLES = 4 };
    static const double at[SAMPLES] = {-2, -1, 1, 2};
    static const long double weight[SAMPLES] = {1.0L / 12, -2.0L / 3, 2.0L / 3, -1.0L / 12};
    const cgtp_kernel *k = check_find_kernel(c->product, name),
                      *d = check_find_kernel(c->product, derivative);
    if (!k || !d)
        return;
    struct ref_graph g = check_graph(c, ITEMS, SENDERS, RECEIVERS);
    struct check_values v = {.n = 0};
    double *got[REF_OUTPUTS];
    long double *bound[REF_OUTPUTS], *sum[REF_OUTPUTS];
    check_run(c, d, &g, &v, got);
    magnitudes(c, d, &g, &v, bound);
    for (int o = 0; o < k->outputs; o++) {
        sum[o] = calloc((size_t)count(c, &g, k->output[o].slot) + 1, sizeof **sum);
        if (!sum[o])
            abort();
    }
    for (int s = 0; s < SAMPLES; s++) {
        double *output[REF_OUTPUTS];
        long double *magnitude[REF_OUTPUTS];
        for (int sign = 1; sign >= -1; sign -= 2) { /* there, and back again below */
            for (int i = 0; i < k->inputs; i++) {
                char tangent[REF_NAME + 1];
                const cgtp_slot slot = k->input[i].slot;
                snprintf(tangent, sizeof tangent, "d%s", k->input[i].name);
                shift(check_value_of(c, &v, &g, k->input[i].name, slot),
                      check_value_of(c, &v, &g, tangent, slot), sign * at[s], count(c, &g, slot));
            }
            if (sign < 0)
                break;
            check_run(c, k, &g, &v, output);
            magnitudes(c, k, &g, &v, magnitude);
        }
        for (int o = 0; o < k->outputs; o++)
            for (int64_t i = 0; i < count(c, &g, k->output[o].slot); i++) {
                sum[o][i] += weight[s] * output[o][i];
                bound[o][i] += fabsl(weight[s]) * magnitude[o][i];
            }
        free_magnitudes(k, magnitude);
        check_free_outputs(k, output);
    }
    for (int o = 0; o < k->outputs; o++) {
        for (int64_t i = 0; i < count(c, &g, k->output[o].slot); i++)
            check_number(c, derivative, d->output[o].name, i, got[o][i], sum[o][i], bound[o][i],
                         check_constant, 0);
        free(sum[o]);
    }
    free_magnitudes(d, bound);
    check_free_outputs(d, got);
    check_values_free(&v);
    check_graph_free(&g);
}

void check_quotients(struct check *c)
{
    check_cotangents(c, "forward", "backward", "g");
    check_cotangents(c, "backward", "double_backward", "d_");
    check_cotangents(c, "double_backward", "triple_backward", "t_");
    check_tangents(c, "forward", "jvp");
    check_tangents(c, "backward", "backward_jvp");
    check_tangents(c, "double_backward", "double_backward_jvp");
}
