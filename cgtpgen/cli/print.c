/* print.c - see print.h. One function a report; tables are aligned for a terminal, JSON is for programs. */
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

static const char *segment_text(struct arena *a, const struct irreps *irreps, int i)
{
    struct text t = {.arena = a};
    text_printf(&t, "%d: %dx", i, irreps->segment[i].mul);
    irrep_print(&t, irreps->segment[i].ir);
    return text_string(&t);
}

static const char *irreps_text(struct arena *a, const struct irreps *irreps)
{
    struct text t = {.arena = a};
    irreps_print(&t, irreps);
    return text_string(&t);
}

static const char *surd_text(struct arena *a, struct surd s)
{
    struct text t = {.arena = a};
    surd_print(&t, s);
    return text_string(&t);
}

static const char *rat_text(struct arena *a, struct rat r)
{
    struct text t = {.arena = a};
    rat_print(&t, r);
    return text_string(&t);
}

/* The indices of a path's weight block, as DESIGN and e3nn name them. */
static const char *const weight_axes[MODE_COUNT] = {"u v w", "u v", "u v", "u w", "u", "u v", "u<v", "u<v w"};

static const char *shape_text(struct arena *a, const struct path *p)
{
    int shape[3], rank = path_weight_shape(p, shape);
    struct text t = {.arena = a};
    for (int i = 0; i < rank; i++)
        text_printf(&t, "%s%d", i ? " x " : "", shape[i]);
    return text_string(&t);
}

static void put_irreps(struct text *out, const struct problem *p)
{
    struct arena *a = out->arena;
    text_printf(out, "  x  %-10lld %s\n", (long long)p->dim[SLOT_X], irreps_text(a, &p->x));
    text_printf(out, "  y  %-10lld %s\n", (long long)p->dim[SLOT_Y], irreps_text(a, &p->y));
    text_printf(out, "  z  %-10lld %s\n", (long long)p->dim[SLOT_G], irreps_text(a, &p->z));
}

/* e3nn's instructions in full: what each path connects and with which factor. */
static void print_paths(struct text *out, const struct problem *problem)
{
    struct arena *a = out->arena;
    text_printf(out, "%s: paths\n", problem->spec->name);
    put_irreps(out, problem);
    text_printf(out, "%6s  %-12s %-12s %-12s %-6s %-12s %-22s %s\n", "path", "x", "y", "z", "mode",
                "path weight", "coefficient", "exactly");
    for (int i = 0; i < problem->paths; i++) {
        const struct path *p = &problem->path[i];
        text_printf(out, "%6d  %-12s %-12s %-12s %-6s %-12s %-22.17g %s%s\n", p->number,
                    segment_text(a, &problem->x, p->x), segment_text(a, &problem->y, p->y),
                    segment_text(a, &problem->z, p->z), mode_name[p->mode], rat_text(a, p->path_weight),
                    surd_double(p->coefficient), surd_text(a, p->coefficient),
                    p->weighted ? "" : "  unweighted");
    }
    text_printf(out, "%6d  paths\n", problem->paths);
}

/* Clebsch-Gordan tensors in use, by (l1, l2, l3). */
static void print_nnz(struct text *out, const struct problem *problem)
{
    int paths[L_MAX + 1][L_MAX + 1][L_MAX + 1] = {0};
    const struct cg *cg[L_MAX + 1][L_MAX + 1][L_MAX + 1] = {0};
    long long nonzeros = 0, dense = 0;
    int l_max = 0;
    for (int i = 0; i < problem->paths; i++) {
        const struct path *p = &problem->path[i];
        paths[p->l1][p->l2][p->l3]++;
        cg[p->l1][p->l2][p->l3] = p->cg;
        l_max = p->l1 > l_max ? p->l1 : l_max;
        l_max = p->l2 > l_max ? p->l2 : l_max;
        l_max = p->l3 > l_max ? p->l3 : l_max;
    }
    text_printf(out, "%s: nonzero Clebsch-Gordan entries\n", problem->spec->name);
    text_printf(out, "%10s %8s %8s %8s %10s\n", "l1 l2 l3", "nonzero", "dense", "paths", "together");
    for (int l1 = 0; l1 <= l_max; l1++)
        for (int l2 = 0; l2 <= l_max; l2++)
            for (int l3 = 0; l3 <= l_max; l3++) {
                int count = paths[l1][l2][l3], size = (2 * l1 + 1) * (2 * l2 + 1) * (2 * l3 + 1);
                if (!count)
                    continue;
                int n = cg[l1][l2][l3]->n;
                text_printf(out, "%4d %2d %2d %8d %8d %8d %10lld\n", l1, l2, l3, n, size, count,
                            (long long)n * count);
                nonzeros += (long long)n * count;
                dense += (long long)size * count;
            }
    text_printf(out, "%lld nonzero of %lld in %d paths\n", nonzeros, dense, problem->paths);
}

/* The layout of a row of w. */
static void print_weights(struct text *out, const struct problem *problem)
{
    struct arena *a = out->arena;
    text_printf(out, "%s: weights\n", problem->spec->name);
    text_printf(out, "%6s %-6s %12s %12s  %-16s %s\n", "path", "mode", "offset", "elements", "shape", "axes");
    for (int i = 0; i < problem->paths; i++) {
        const struct path *p = &problem->path[i];
        if (p->weighted)
            text_printf(out, "%6d %-6s %12lld %12lld  %-16s %s\n", p->number, mode_name[p->mode],
                        (long long)p->weight_offset, (long long)p->weight_numel, shape_text(a, p),
                        weight_axes[p->mode]);
        else
            text_printf(out, "%6d %-6s %12s %12d\n", p->number, mode_name[p->mode], "-", 0);
    }
    text_printf(out, "%lld weights\n", (long long)problem->weight_numel);
}

/* Bytes and floating-point operations of every kernel. */
static void print_cost(struct text *out, const struct plan *plan)
{
    static const char *const row[INDEX_COUNT] = {"", "a sender", "a receiver", "shared"};
    text_printf(out, "%s: cost\n", plan->problem->spec->name);
    text_printf(out, "%-24s %14s %14s %14s %12s", "kernel", "flops an item", "bytes, least", "planned",
                "flops a byte");
    for (int i = INDEX_SENDER; i < INDEX_COUNT; i++)
        text_printf(out, " %14s", row[i]);
    text_printf(out, "\n");
    for (int i = 0; i < plan->kernels; i++) {
        const struct kernel_plan *k = &plan->kernel[i];
        text_printf(out, "%-24s %14.0f %14.0f %14.0f %12.2f", k->form->name, k->flops, k->bytes_least,
                    k->bytes_planned, k->bytes_least > 0 ? k->flops / k->bytes_least : 0.0);
        for (int index = INDEX_SENDER; index < INDEX_COUNT; index++)
            text_printf(out, " %14.0f", k->bytes_row[index]);
        text_printf(out, "\n");
    }
}

/* A JSON string; the spec reader lets only valid UTF-8 through. */
static void json_string(struct text *out, const char *s)
{
    text_put(out, "\"", 1);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            text_printf(out, "\\u%04x", *s);
        else
            text_put(out, s, 1);
    }
    text_put(out, "\"", 1);
}

static void json_path(struct text *out, const struct path *p)
{
    struct arena *a = out->arena;
    int shape[3], rank = p->weighted ? path_weight_shape(p, shape) : 0;
    text_printf(out, "    {\"x\": %d, \"y\": %d, \"z\": %d, \"mode\": \"%s\", \"weighted\": %s, ", p->x, p->y,
                p->z, mode_name[p->mode], p->weighted ? "true" : "false");
    text_printf(out, "\"path_weight\": \"%s\", ", rat_text(a, p->path_weight));
    text_printf(out, "\"coefficient\": %.17g, \"coefficient_exact\": \"%s\", ", surd_double(p->coefficient),
                surd_text(a, p->coefficient));
    text_printf(out, "\"l\": [%d, %d, %d], \"nonzeros\": %d, ", p->l1, p->l2, p->l3, p->cg->n);
    text_printf(out, "\"weight_offset\": %lld, \"weight_shape\": [", (long long)p->weight_offset);
    for (int i = 0; i < rank; i++)
        text_printf(out, "%s%d", i ? ", " : "", shape[i]);
    text_printf(out, "]}");
}

/* Most registers of a thread with this many threads on a multiprocessor: what launch bounds allow. */
static int registers_most(int threads)
{
    int most = (1 << 16) / threads / 8 * 8;
    return most < 255 ? most : 255;
}

/* The beginning of a pass: what it owns and computes. */
static void json_pass(struct text *out, const struct kernel_form *form, const struct pass *pass)
{
    text_printf(out, "{\"owner\": \"%s\", \"outputs\": [", index_name[pass->owner]);
    for (int o = 0; o < pass->outputs; o++)
        text_printf(out, "%s\"%s\"", o ? ", " : "", form->output[pass->output[o]].name);
    text_printf(out, "], \"flops_per_item\": %.17g", pass->flops);
}

/* A pass on a GPU: owner, outputs and paths as in the plan's; of a general one, why, and why by path where
 * that is decided by path. */
static void json_gpu_pass(struct text *out, const struct kernel_form *form, int paths,
                          const struct gpu_pass *g)
{
    bool general = g->evaluation == GPU_GENERAL;
    json_pass(out, form, g->pass);
    text_printf(out, ", \"name\": \"%s\", \"paths\": [", g->name);
    for (int i = 0, n = 0; i < paths; i++)
        if (g->pass->variant_of[i] >= 0)
            text_printf(out, "%s%d", n++ ? ", " : "", i);
    text_printf(out, "],\n       \"evaluation\": \"%s\"", general ? "general" : "convolution");
    if (general) {
        text_printf(out, ", \"adds\": %s, \"reason\": ", g->before ? "true" : "false");
        json_string(out, g->reason ? g->reason : "");
        text_printf(out, ", \"path_reasons\": {");
        for (int i = 0, n = 0; i < paths && g->path_reason; i++)
            if (g->path_reason[i]) {
                text_printf(out, "%s\"%d\": ", n++ ? ", " : "", i);
                json_string(out, g->path_reason[i]);
            }
        text_printf(out, "}}");
        return;
    }
    text_printf(
        out,
        ", \"stages\": %d, \"warps_per_block\": %d, \"blocks_per_multiprocessor\": %d,\n       "
        "\"shared_bytes_per_block\": %d, \"registers_most\": %d, \"edge_buffer\": %s, \"segments\": [",
        g->stages, g->warps, g->blocks, g->block->bytes, registers_most(g->blocks * g->warps * 32),
        g->edge_buffer ? "true" : "false");
    for (int s = 0; s < g->segments; s++) {
        const struct gpu_segment *q = &g->segment[s];
        text_printf(out, "%s\n        {\"paths\": [", s ? "," : "");
        for (int p = 0; p < q->paths; p++)
            text_printf(out, "%s%d", p ? ", " : "", q->path[p]);
        text_printf(out,
                    "], \"channels\": %d, \"channels_per_lane\": %d, \"groups\": %d, \"registers\": %d, "
                    "\"stage_bytes\": %d, \"instructions_per_edge\": %d}",
                    q->mul, q->channels, q->groups, q->registers, q->stage.bytes, q->work);
    }
    text_printf(out, "]}");
}

/* gpu: NULL, or of the same kernel */
static void json_kernel(struct text *out, int paths, const struct kernel_plan *k,
                        const struct gpu_kernel *gpu)
{
    const struct kernel_form *form = k->form;
    text_printf(out, "    {\"name\": \"%s\",\n     \"inputs\": [", form->name);
    for (int i = 0; i < form->inputs; i++)
        text_printf(out, "%s{\"name\": \"%s\", \"slot\": \"%s\", \"tangent\": %s}", i ? ", " : "",
                    form->input[i].name, slot_name[form->input[i].slot],
                    form->input[i].tangent ? "true" : "false");
    text_printf(out, "],\n     \"outputs\": [");
    for (int i = 0; i < form->outputs; i++) {
        const struct form_output *o = &form->output[i];
        text_printf(out, "%s{\"name\": \"%s\", \"slot\": \"%s\", \"terms\": [", i ? ", " : "", o->name,
                    slot_name[o->slot]);
        for (int t = 0; t < o->terms; t++) {
            text_printf(out, "%s\"", t ? ", " : "");
            form_term_print(out, form, &o->term[t]);
            text_printf(out, "\"");
        }
        text_printf(out, "]}");
    }
    text_printf(out, "],\n     \"passes\": [");
    for (int i = 0; i < k->passes; i++) {
        text_printf(out, "%s", i ? ", " : "");
        json_pass(out, form, &k->pass[i]);
        text_printf(out, "}");
    }
    for (int i = 0; gpu && i < gpu->passes; i++) {
        text_printf(out, i ? ",\n      " : "],\n     \"gpu\": [");
        json_gpu_pass(out, form, paths, &gpu->pass[i]);
    }
    text_printf(out, "],\n     \"flops_per_item\": %.17g, \"bytes_per_item\": %.17g, ", k->flops,
                k->bytes_least);
    text_printf(out, "\"bytes_per_item_planned\": %.17g, ", k->bytes_planned);
    text_printf(out, "\"bytes_per_row\": {\"sender\": %.17g, \"receiver\": %.17g, \"shared\": %.17g}}",
                k->bytes_row[INDEX_SENDER], k->bytes_row[INDEX_RECEIVER], k->bytes_row[INDEX_SHARED]);
}

static void print_json(struct text *out, const struct plan *plan, const struct gpu_plan *gpu)
{
    const struct problem *problem = plan->problem;
    const struct spec *spec = problem->spec;
    struct arena *a = out->arena;
    text_printf(out, "{\n  \"name\": \"%s\",\n  \"description\": ", spec->name);
    json_string(out, spec->description);
    text_printf(out, ",\n  \"irreps\": {\"x\": \"%s\", \"y\": \"%s\", \"z\": \"%s\"},\n",
                irreps_text(a, &problem->x), irreps_text(a, &problem->y), irreps_text(a, &problem->z));
    text_printf(out, "  \"dim\": {");
    for (int s = 0; s < SLOT_COUNT; s++)
        text_printf(out, "%s\"%s\": %lld", s ? ", " : "", slot_name[s], (long long)problem->dim[s]);
    text_printf(out, "},\n  \"index\": {");
    for (int s = 0; s < SLOT_COUNT; s++)
        text_printf(out, "%s\"%s\": \"%s\"", s ? ", " : "", slot_name[s], index_name[spec->index[s]]);
    text_printf(out, "},\n  \"precision\": \"%s\",\n",
                spec->precision == PRECISION_FLOAT32 ? "float32" : "float64");
    if (gpu)
        text_printf(out, "  \"arch\": \"%s\",\n", gpu->arch);
    text_printf(out, "  \"paths\": [\n");
    for (int i = 0; i < problem->paths; i++) {
        json_path(out, &problem->path[i]);
        text_printf(out, "%s\n", i + 1 < problem->paths ? "," : "");
    }
    text_printf(out, "  ],\n  \"kernels\": [\n");
    for (int i = 0; i < plan->kernels; i++) {
        json_kernel(out, problem->paths, &plan->kernel[i], gpu ? &gpu->kernel[i] : NULL);
        text_printf(out, "%s\n", i + 1 < plan->kernels ? "," : "");
    }
    text_printf(out, "  ]\n}\n");
}

void print_problem(struct text *out, const struct problem *problem)
{
    print_paths(out, problem);
    print_nnz(out, problem);
    print_weights(out, problem);
}

void print_form(struct text *out, const struct form *form)
{
    for (int i = 0; i < form->kernels; i++) {
        const struct kernel_form *k = &form->kernel[i];
        text_printf(out, "%s(", k->name);
        for (int n = 0; n < k->inputs; n++)
            text_printf(out, "%s%s: %s%s", n ? ", " : "", k->input[n].name, k->input[n].tangent ? "d " : "",
                        slot_name[k->input[n].slot]);
        text_printf(out, ")\n");
        for (int o = 0; o < k->outputs; o++) {
            text_printf(out, "    %s =", k->output[o].name);
            for (int t = 0; t < k->output[o].terms; t++) {
                text_printf(out, t ? " + " : " ");
                form_term_print(out, k, &k->output[o].term[t]);
            }
            text_printf(out, "%s\n", k->output[o].terms ? "" : " 0");
        }
    }
}

void print_report(struct text *out, enum print_kind kind, const struct plan *plan, const struct gpu_plan *gpu)
{
    switch (kind) {
    case PRINT_PATHS:
        print_paths(out, plan->problem);
        break;
    case PRINT_NNZ:
        print_nnz(out, plan->problem);
        break;
    case PRINT_WEIGHTS:
        print_weights(out, plan->problem);
        break;
    case PRINT_PLAN:
        plan_print(out, plan);
        if (gpu)
            plan_cuda_print(out, gpu);
        break;
    case PRINT_COST:
        print_cost(out, plan);
        break;
    case PRINT_JSON:
        print_json(out, plan, gpu);
        break;
    case PRINT_COUNT:
        break;
    }
}
