/* check_paths.c - one path at a time: every weight but its own is zero, so that nothing hides an error in it.
 *
 * What is left of an output of x, y or z is that path (and paths without weights); of an output of w, its
 * block.
 */
#include "check.h"

#include <stdlib.h>

/* Zeroes what the path does not own in every value of slot w. */
static void keep_weights(struct check *c, struct check_values *v, const cgtp_kernel *k,
                         const struct ref_graph *g, const struct ref_path *path)
{
    const int64_t dim = c->problem->dim[REF_W], rows = driver_rows(c->product, g, CGTP_W);
    for (int i = 0; i < k->inputs; i++) {
        if (k->input[i].slot != CGTP_W)
            continue;
        double *w = check_value_of(c, v, g, k->input[i].name, CGTP_W);
        for (int64_t j = 0; j < rows * dim; j++) {
            int64_t at = j % dim - path->weight_offset;
            bool own = path->weighted && at >= 0 && at < path->weight_numel;
            w[j] = !own ? 0 : w[j] == 0 ? check_random_of(c, CGTP_W) : w[j];
        }
    }
}

/* The reference's output of path p and all paths without weights. */
static void expected_output(struct check *c, const struct ref_kernel *r, const cgtp_argument *output,
                            const struct ref_graph *g, struct check_values *v, int p, long double **value,
                            long double **magnitude)
{
    int64_t n = driver_rows(c->product, g, output->slot) * c->product->dim[output->slot];
    check_reference(c, r, output->name, g, v, p, value, magnitude);
    for (int q = 0; q < c->problem->paths; q++) {
        long double *more, *more_magnitude;
        if (q == p || c->problem->path[q].weighted || output->slot == CGTP_W)
            continue;
        check_reference(c, r, output->name, g, v, q, &more, &more_magnitude);
        for (int64_t i = 0; i < n; i++) {
            (*value)[i] += more[i];
            (*magnitude)[i] += more_magnitude[i];
        }
        free(more);
        free(more_magnitude);
    }
}

static void check_path(struct check *c, const cgtp_kernel *k, const struct ref_graph *g,
                       struct check_values *v, int p)
{
    const struct ref_path *path = &c->problem->path[p];
    struct ref_kernel r;
    double *output[REF_OUTPUTS];
    check_reference_kernel(c, k, &r);
    keep_weights(c, v, k, g, path);
    bool ran = check_run(c, k, g, v, output);
    for (int o = 0; o < k->outputs && ran; o++) {
        const cgtp_slot slot = k->output[o].slot;
        const int64_t dim = c->product->dim[slot], n = driver_rows(c->product, g, slot) * dim;
        long double *value, *magnitude;
        expected_output(c, &r, &k->output[o], g, v, p, &value, &magnitude);
        long double *terms = NULL;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = i % dim - path->weight_offset;
            if (slot == CGTP_W && !(path->weighted && at >= 0 && at < path->weight_numel))
                continue;
            if (!terms && check_needs_terms(c, output[o][i], value[i], magnitude[i]))
                terms = check_terms(c, k, o, g, v);
            check_element(c, k, o, i, output[o][i], value[i], magnitude[i], terms);
        }
        free(terms);
        free(value);
        free(magnitude);
    }
    check_free_outputs(k, output);
}

void check_paths(struct check *c)
{
    struct ref_graph g = check_graph(c, 5, 3, 4);
    for (int p = 0; p < c->problem->paths; p++) {
        struct check_values v = {.n = 0};
        for (int k = 0; k < c->product->kernels; k++)
            check_path(c, &c->product->kernel[k], &g, &v, p);
        check_values_free(&v);
    }
    check_graph_free(&g);
}
