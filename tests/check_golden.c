/* check_golden.c - e3nn's own numbers, and what the descriptor says of a product.
 *
 * In double precision a golden output must be within 1e-14 of the sum of absolute terms, which leaves room
 * for e3nn's rounding; the reference at the same inputs is compared as tightly as anywhere. In single
 * precision inputs are rounded, so only the reference at the rounded inputs can be compared. Arguments
 * without golden values are random.
 */
#include "check.h"
#include "golden_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of double throughout: then e3nn's numbers can be compared. */
static bool is_double(const cgtp_product *p)
{
    bool all = true;
    for (int slot = 0; slot < CGTP_SLOTS; slot++)
        all &= p->type[slot] == CGTP_FLOAT64;
    return all && p->compute == CGTP_FLOAT64;
}

static void take_golden(struct check *c, const struct golden_case *golden, struct check_values *v,
                        const char *name, cgtp_slot slot)
{
    const double *from = golden_array(golden, name);
    if (!from)
        return;
    double *to = check_value_of(c, v, &golden->graph, name, slot);
    int64_t n = driver_rows(c->product, &golden->graph, slot) * c->product->dim[slot];
    for (int64_t i = 0; i < n; i++)
        to[i] = check_rounded(c, slot, from[i]);
}

static void compare_golden(struct check *c, const struct golden_case *golden, const cgtp_kernel *k,
                           struct check_values *v)
{
    double *output[REF_OUTPUTS];
    struct ref_kernel r;
    bool ran = check_run(c, k, &golden->graph, v, output);
    check_reference_kernel(c, k, &r);
    for (int o = 0; o < k->outputs && ran; o++) {
        const double *expected = golden_array(golden, k->output[o].name);
        const cgtp_slot slot = k->output[o].slot;
        const int64_t n = driver_rows(c->product, &golden->graph, slot) * c->product->dim[slot];
        long double *value, *magnitude;
        check_reference(c, &r, k->output[o].name, &golden->graph, v, -1, &value, &magnitude);
        check_output(c, k, o, &golden->graph, v, output[o], value, magnitude);
        for (int64_t i = 0; i < n; i++)
            if (expected && is_double(c->product) &&
                !(fabsl(output[o][i] - expected[i]) <= 1e-14L * magnitude[i]))
                check_failure(c, "%s: %s[%lld] is %.17g, e3nn has %.17g", k->name, k->output[o].name,
                              (long long)i, output[o][i], expected[i]);
        free(value);
        free(magnitude);
    }
    check_free_outputs(k, output);
}

/* What the names of products end in whose specs (tests/products.sh) ask for other layouts than e3nn's. */
static const struct {
    const char *suffix;
    cgtp_layout layout[CGTP_SLOTS];
} layouts[] = {
    {"_irmul", {CGTP_IR_MUL, CGTP_IR_MUL, CGTP_MUL_IR, CGTP_IR_MUL}},
    {"_irmulx", {CGTP_IR_MUL, CGTP_MUL_IR, CGTP_MUL_IR, CGTP_MUL_IR}},
    {"_irmulyz", {CGTP_MUL_IR, CGTP_IR_MUL, CGTP_MUL_IR, CGTP_IR_MUL}},
};

enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* And other types than golden_double.t's and golden_single.t's. */
static const struct {
    const char *suffix;
    cgtp_type type[CGTP_SLOTS], compute, sum;
} types[] = {
    {"_bf16", {CGTP_BFLOAT16, CGTP_BFLOAT16, CGTP_BFLOAT16, CGTP_BFLOAT16}, CGTP_FLOAT32, CGTP_FLOAT32},
    {"_f16", {CGTP_FLOAT16, CGTP_FLOAT16, CGTP_FLOAT16, CGTP_FLOAT16}, CGTP_FLOAT32, CGTP_FLOAT32},
    {"_f32", {CGTP_FLOAT32, CGTP_FLOAT32, CGTP_FLOAT32, CGTP_FLOAT32}, CGTP_FLOAT32, CGTP_FLOAT32},
    {"_device", {CGTP_FLOAT16, CGTP_FLOAT32, CGTP_BFLOAT16, CGTP_FLOAT64}, CGTP_FLOAT32, CGTP_FLOAT32},
    {"_each", {CGTP_BFLOAT16, CGTP_FLOAT32, CGTP_FLOAT64, CGTP_FLOAT16}, CGTP_FLOAT32, CGTP_FLOAT64},
    {"_sum64", {CGTP_FLOAT32, CGTP_FLOAT32, CGTP_FLOAT32, CGTP_FLOAT32}, CGTP_FLOAT32, CGTP_FLOAT64},
    {"_narrow", {CGTP_FLOAT16, CGTP_BFLOAT16, CGTP_FLOAT32, CGTP_FLOAT32}, CGTP_FLOAT64, CGTP_FLOAT64},
};

enum { TYPES = sizeof types / sizeof *types };

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static void check_layout(struct check *c)
{
    cgtp_layout expected[CGTP_SLOTS] = {CGTP_MUL_IR};
    for (int i = 0; i < LAYOUTS; i++)
        if (ends_in(c->product->name, layouts[i].suffix))
            memcpy(expected, layouts[i].layout, sizeof expected);
    if (memcmp(c->product->layout, expected, sizeof expected) != 0)
        check_failure(c, "layouts of x, y, z are %d, %d, %d", c->product->layout[CGTP_X],
                      c->product->layout[CGTP_Y], c->product->layout[CGTP_Z]);
}

static void check_types(struct check *c)
{
    const cgtp_product *p = c->product;
    for (int i = 0; i < TYPES; i++)
        if (ends_in(p->name, types[i].suffix) &&
            (memcmp(p->type, types[i].type, sizeof p->type) != 0 || p->compute != types[i].compute ||
             p->sum != types[i].sum))
            check_failure(c, "types of x, y, w, z are %d, %d, %d, %d, computed in %d, summed in %d",
                          p->type[CGTP_X], p->type[CGTP_Y], p->type[CGTP_W], p->type[CGTP_Z], p->compute, p->sum);
}

/* Products whose names say so have arrays with strides (tests/strided.t). */
static void check_strides(struct check *c)
{
    const cgtp_product *p = c->product;
    const bool strided = strstr(p->name, "_strided"), some = strstr(p->name, "_stridedsome");
    for (int s = 0; s < CGTP_SLOTS && strided; s++)
        if (p->strided[s] != (p->index[s] != CGTP_SHARED && (!some || s == CGTP_X || s == CGTP_Z)))
            check_failure(c, "slot %d is strided: %d", s, p->strided[s]);
}

/* The case of product g_x_f32 or g_x_sugar is g_x. */
static void case_name(char *out, size_t size, const char *product)
{
    static const char *const suffix[] = {"_any", "_sugar", "_strided", "_stridedsome"};
    snprintf(out, size, "%s", product);
    for (int i = 0; i < LAYOUTS; i++)
        if (ends_in(out, layouts[i].suffix))
            out[strlen(out) - strlen(layouts[i].suffix)] = 0;
    for (int i = 0; i < TYPES; i++)
        if (ends_in(out, types[i].suffix))
            out[strlen(out) - strlen(types[i].suffix)] = 0;
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
        if (ends_in(out, suffix[i]))
            out[strlen(out) - strlen(suffix[i])] = 0;
}

void check_golden(struct check *c, const char *folder)
{
    char name[128];
    struct golden_case golden;
    struct check_values v = {.n = 0};
    case_name(name, sizeof name, c->product->name);
    golden_case_read(&golden, folder, name);
    struct ref_problem *own = c->problem;
    c->problem = golden.problem; /* not what the descriptor says: what was asked of e3nn */
    check_descriptor(c);
    for (int i = 0; i < c->product->kernels && !c->failures; i++) {
        const cgtp_kernel *k = &c->product->kernel[i];
        for (int j = 0; j < k->inputs; j++)
            take_golden(c, &golden, &v, k->input[j].name, k->input[j].slot);
        compare_golden(c, &golden, k, &v);
    }
    c->problem = own;
    check_values_free(&v);
    golden_case_free(&golden);
}

/* ---- descriptors ---- */

static void same_irreps(struct check *c, const char *text, const struct ref_irreps *expected,
                        const char *slot)
{
    struct ref_problem *p = ref_problem_new(text, "", "");
    const struct ref_irreps *found = &p->irreps[REF_X];
    bool same = found->n == expected->n;
    for (int i = 0; same && i < found->n; i++)
        same = found->segment[i].mul == expected->segment[i].mul &&
               found->segment[i].l == expected->segment[i].l &&
               found->segment[i].parity == expected->segment[i].parity;
    if (!same)
        check_failure(c, "irreps of %s are %s", slot, text);
    ref_problem_free(p);
}

void check_descriptor(struct check *c)
{
    const cgtp_product *p = c->product;
    const struct ref_problem *r = c->problem;
    check_layout(c);
    check_types(c);
    check_strides(c);
    same_irreps(c, p->irreps[CGTP_X], &r->irreps[REF_X], "x");
    same_irreps(c, p->irreps[CGTP_Y], &r->irreps[REF_Y], "y");
    same_irreps(c, p->irreps[CGTP_Z], &r->irreps[REF_G], "z");
    for (int s = 0; s < CGTP_SLOTS; s++) {
        if (p->dim[s] != r->dim[s])
            check_failure(c, "a row of slot %d has %lld elements", s, (long long)p->dim[s]);
        if ((int)p->index[s] != r->index[s])
            check_failure(c, "slot %d has index %d, expected %d", s, (int)p->index[s], r->index[s]);
    }
    if (p->abi != CGTP_ABI || p->paths != r->paths) {
        check_failure(c, "ABI %d, %d paths, expected %d", p->abi, p->paths, r->paths);
        return;
    }
    for (int i = 0; i < p->paths; i++) {
        const cgtp_path *a = &p->path[i];
        const struct ref_path *b = &r->path[i];
        if (a->x != b->x || a->y != b->y || a->z != b->z || strcmp(a->mode, b->mode) != 0 ||
            !a->weighted != !b->weighted || a->weight_numel != b->weight_numel ||
            (b->weighted && a->weight_offset != b->weight_offset))
            check_failure(c, "path %d is [%d, %d, %d, %s], weights %lld + %lld", i, a->x, a->y, a->z, a->mode,
                          (long long)a->weight_offset, (long long)a->weight_numel);
        double u = ldexp(1, -53) * (1 + 1e-3); /* rounded once; the reference's own error is some 1e-19 */
        if (!(fabsl(a->coefficient - b->coefficient) <= u * b->coefficient))
            check_failure(c, "path %d has coefficient %.17g, expected %.20Lg", i, a->coefficient,
                          b->coefficient);
    }
}
