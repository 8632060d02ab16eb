/* model.c - see model.h. */
#include "model.h"

#include "driver.h"

#include <math.h>
#include <string.h>

/* Roundings of one term: its constant (1), the form it is part of (3), products with x, w and g (3), scaling
 * at load and store (2), and one each for inputs that were doubles. */
enum { TERM_ROUNDINGS = 12 };

bool model_make(struct model *m, const cgtp_product *p, const char *folder)
{
    *m = (struct model){p, driver_problem(p, folder)};
    for (int i = 0; i < p->paths; i++) {
        double theirs = p->path[i].coefficient, ours = (double)m->problem->path[i].coefficient;
        if (!(fabs(theirs - ours) <= 0x1p-50 * fabs(ours))) {
            fprintf(stderr, "%s: path %d has coefficient %.17g, %s it is %.17g\n", p->name, i, theirs,
                    folder ? "in its problem" : "with e3nn's defaults", ours);
            model_free(m);
            return false;
        }
    }
    return true;
}

void model_free(struct model *m)
{
    ref_problem_free(m->problem);
}

bool model_kernel(const struct ref_problem *p, const cgtp_kernel *k, struct ref_kernel *out)
{
    for (int i = 0; i < p->kernels; i++)
        if (strcmp(p->kernel[i].name, k->name) == 0) {
            *out = p->kernel[i];
            return true;
        }
    static const char *const known[] = {"forward", "backward",     "double_backward",    "triple_backward",
                                        "jvp",     "backward_jvp", "double_backward_jvp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int found = 0;
        ref_kernel_parse(out, known[i], ref_kernel_text(known[i]), "");
        for (int o = 0; o < k->outputs; o++)
            found += ref_find_output(out, k->output[o].name) >= 0;
        if (found == k->outputs)
            return true;
    }
    return false;
}

void model_inputs(const cgtp_kernel *k, const struct ref_kernel *ref, const double *const *input,
                  const double *arguments[REF_ARGUMENTS])
{
    for (int a = 0; a < ref->arguments; a++) {
        arguments[a] = NULL;
        for (int i = 0; i < k->inputs; i++)
            if (strcmp(k->input[i].name, ref->argument[a].name) == 0)
                arguments[a] = input[i];
    }
}

/* Triples (u, v, w) of a path. */
static double channels(const struct ref_problem *p, const struct ref_path *q)
{
    double u = p->irreps[REF_X].segment[q->x].mul, v = p->irreps[REF_Y].segment[q->y].mul,
           w = p->irreps[REF_G].segment[q->z].mul;
    if (strcmp(q->mode, "uvw") == 0)
        return u * v * w;
    if (strcmp(q->mode, "uuw") == 0)
        return u * w;
    if (strcmp(q->mode, "uuu") == 0)
        return u;
    if (strcmp(q->mode, "uvu<v") == 0)
        return u * (u - 1) / 2;
    if (strcmp(q->mode, "u<vw") == 0)
        return u * (u - 1) / 2 * w;
    return u * v; /* uvu, uvv, uvuv */
}

/* Terms of Q that have element `element` of the path's own tensor fixed in a slot: all where the slot is w.
 */
static double entries(const struct ref_w3j *cg, int slot)
{
    int count[3][2 * REF_L_MAX + 1] = {{0}}, most = 0;
    if (slot == REF_W)
        return cg->n;
    for (int e = 0; e < cg->n; e++) {
        int at = slot == REF_X ? cg->entry[e].i : slot == REF_Y ? cg->entry[e].j : cg->entry[e].k;
        int n = ++count[slot == REF_G ? 2 : slot][at];
        most = n > most ? n : most;
    }
    return most;
}

static int segment_of(const struct ref_path *q, int slot)
{
    return slot == REF_X ? q->x : slot == REF_Y ? q->y : q->z;
}

double model_terms(const struct ref_problem *p, const struct ref_kernel *k, int output)
{
    const struct ref_output *o = &k->output[output];
    double most = 0;
    int segments = o->slot == REF_W ? p->paths : p->irreps[o->slot].n;
    for (int s = 0; s < segments; s++) {
        double sum = 0;
        for (int i = 0; i < p->paths; i++) {
            const struct ref_path *q = &p->path[i];
            if (o->slot == REF_W) {
                if (i == s && q->weight_numel)
                    sum += entries(q->cg, REF_W) * channels(p, q) / (double)q->weight_numel;
            } else if (segment_of(q, o->slot) == s && p->irreps[o->slot].segment[s].mul) {
                sum += entries(q->cg, o->slot) * ceil(channels(p, q) / p->irreps[o->slot].segment[s].mul);
            }
        }
        most = fmax(most, sum);
    }
    return most * o->terms;
}

double model_bound(const struct ref_problem *p, const struct ref_kernel *k, int output, double items)
{
    double n = model_terms(p, k, output) * items;
    return TERM_ROUNDINGS + fmin(n, 6 * sqrt(n));
}

double model_unit(const cgtp_product *p)
{
    return p->compute == CGTP_FLOAT64 ? 0x1p-53 : 0x1p-24;
}
