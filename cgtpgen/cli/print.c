/* print.c - see print.h. One function a report; tables are aligned for a terminal, JSON is for programs. */
#include "cli/print.h"

#include "emit/effort.h"
#include "emit/memory.h"
#include "schedule/print.h"
#include "schedule/report.h"

#include <stdio.h>
#include <string.h>

static const char *numbered_segment(struct arena *a, const struct irreps *irreps, int i)
{
    const struct segment *s = &irreps->segment[i];
    return arena_printf(a, "%d: %s", i, segment_text(a, s->mul, s->ir));
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

/* The indices of a path's weight block, as e3nn names them: "u v w". */
static const char *axes_text(struct arena *a, const struct path *p)
{
    const enum axis *axis = mode_table[p->mode].weights;
    struct text t = {.arena = a};
    for (int i = 0; i < AXES_MOST && axis[i]; i++)
        text_printf(&t, "%s%s", i ? " " : "", axis_name[axis[i]]);
    return text_string(&t);
}

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
                    numbered_segment(a, &problem->x, p->x), numbered_segment(a, &problem->y, p->y),
                    numbered_segment(a, &problem->z, p->z), mode_table[p->mode].name,
                    rat_text(a, p->path_weight), surd_double(p->coefficient), surd_text(a, p->coefficient),
                    p->weighted ? "" : "  unweighted");
    }
    text_printf(out, "%6d  paths\n", problem->paths);
}

/* Clebsch-Gordan tensors in use, by (l1, l2, l3). */
static void print_nnz(struct text *out, const struct problem *problem)
{
    struct coupling *coupling;
    long long nonzeros = 0, dense = 0;
    const int n = problem_couplings(out->arena, problem, &coupling);
    text_printf(out, "%s: nonzero Clebsch-Gordan entries\n", problem->spec->name);
    text_printf(out, "%10s %8s %8s %8s %10s\n", "l1 l2 l3", "nonzero", "dense", "paths", "together");
    for (int i = 0; i < n; i++) {
        const struct cg *c = coupling[i].cg;
        const int paths = coupling[i].paths;
        text_printf(out, "%4d %2d %2d %8d %8d %8d %10lld\n", c->l1, c->l2, c->l3, c->n, cg_dense(c), paths,
                    (long long)c->n * paths);
        nonzeros += (long long)c->n * paths;
        dense += (long long)cg_dense(c) * paths;
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
            text_printf(out, "%6d %-6s %12lld %12lld  %-16s %s\n", p->number, mode_table[p->mode].name,
                        (long long)p->weight_offset, (long long)p->weight_numel, shape_text(a, p),
                        axes_text(a, p));
        else
            text_printf(out, "%6d %-6s %12s %12d\n", p->number, mode_table[p->mode].name, "-", 0);
    }
    text_printf(out, "%lld weights\n", (long long)problem->weight_numel);
}

/* Bytes and floating-point operations of every kernel. */
static void print_cost(struct text *out, const struct schedules *all)
{
    const struct plan *plan = all->plan;
    static const char *const row[INDEX_COUNT] = {"", "per sender", "per receiver", "shared"};
    text_printf(out, "%s: cost\n", plan->problem->spec->name);
    text_printf(out, "%-24s %14s %14s %14s %14s", "kernel", "flops per item", "bytes, least", "planned",
                "flops per byte");
    for (int i = INDEX_SENDER; i < INDEX_COUNT; i++)
        text_printf(out, " %14s", row[i]);
    text_printf(out, "\n");
    for (int i = 0; i < plan->kernels; i++) {
        const struct kernel_plan *k = &plan->kernel[i];
        text_printf(out, "%-24s %14.0f %14.0f %14.0f %14.2f", k->form->name,
                    operations_flops(all->kernel[i].operations), k->bytes_least,
                    memory_moved(out->arena, all, &all->kernel[i]),
                    k->bytes_least > 0 ? operations_flops(all->kernel[i].operations) / k->bytes_least : 0.0);
        for (int index = INDEX_SENDER; index < INDEX_COUNT; index++)
            text_printf(out, " %14.0f", k->bytes_row[index]);
        text_printf(out, "\n");
    }
    memory_print(out, all, memory_build(out->arena, all));
    text_printf(out, "to compile, by %s:", backend_of(all)->rates.compiler);
    for (int i = 0; i < plan->kernels; i++)
        text_printf(out, "%s %s %s", i ? "," : "", plan->kernel[i].form->name,
                    duration_text(out->arena, kernel_effort(out->arena, all, &all->kernel[i]).seconds));
    text_printf(out, "\n");
}

static void json_path(struct text *out, const struct path *p)
{
    struct arena *a = out->arena;
    int shape[3], rank = p->weighted ? path_weight_shape(p, shape) : 0;
    text_printf(out, "    {\"x\": %d, \"y\": %d, \"z\": %d, \"mode\": \"%s\", \"weighted\": %s, ", p->x, p->y,
                p->z, mode_table[p->mode].name, p->weighted ? "true" : "false");
    text_printf(out, "\"path_weight\": \"%s\", ", rat_text(a, p->path_weight));
    text_printf(out, "\"coefficient\": %.17g, \"coefficient_exact\": \"%s\", ", surd_double(p->coefficient),
                surd_text(a, p->coefficient));
    text_printf(out, "\"l\": [%d, %d, %d], \"nonzeros\": %d, ", p->l1, p->l2, p->l3, p->cg->n);
    text_printf(out, "\"weight_offset\": %lld, \"weight_shape\": [", (long long)p->weight_offset);
    for (int i = 0; i < rank; i++)
        text_printf(out, "%s%d", i ? ", " : "", shape[i]);
    text_printf(out, "]}");
}

static void json_effort(struct text *out, struct effort e)
{
    text_printf(out, "\"compile_seconds\": %.3g, \"compile_counts\": {", e.seconds);
    for (int i = 0; i < EFFORT_COUNT; i++)
        text_printf(out, "%s\"%s\": %.6g", i ? ", " : "", effort_name[i], e.count[i]);
    text_puts(out, "},\n     ");
}

static void json_kernel(struct text *out, const struct schedules *all, const struct kernel_schedule *s,
                        const struct memory *m)
{
    const struct plan *plan = all->plan;
    const struct kernel_plan *k = s->kernel;
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
    text_printf(out, "],\n     ");
    kernel_schedule_json(out, plan, s);
    text_printf(out, ",\n     \"flops_per_item\": %.17g, \"bytes_per_item\": %.17g, ",
                operations_flops(s->operations), k->bytes_least);
    text_printf(out, "\"operations_per_item\": {\"fma\": %.17g, \"mul\": %.17g, \"add\": %.17g}, ",
                s->operations.fma, s->operations.mul, s->operations.add);
    text_printf(out, "\"bytes_per_item_planned\": %.17g,\n     ", memory_moved(out->arena, all, s));
    memory_json(out, all, m);
    text_puts(out, ",\n     ");
    json_effort(out, kernel_effort(out->arena, all, s));
    text_printf(out, "\"bytes_per_row\": {\"sender\": %.17g, \"receiver\": %.17g, \"shared\": %.17g}}",
                k->bytes_row[INDEX_SENDER], k->bytes_row[INDEX_RECEIVER], k->bytes_row[INDEX_SHARED]);
}

/* The architecture, and a machine of it: what it can do a second at most. */
static void json_device(struct text *out, const struct device *d, enum precision compute)
{
    text_printf(out, "  \"arch\": \"%s\",\n  \"machine\": ", d->name);
    if (d->machine.name)
        text_printf(out, "{\"name\": \"%s\", \"fma_per_second\": %.4g, \"bytes_per_second\": %.4g},\n",
                    d->machine.name, device_fma_rate(d, compute), d->machine.bytes);
    else
        text_printf(out, "null,\n");
}

static void print_json(struct text *out, const struct schedules *all)
{
    const struct plan *plan = all->plan;
    const struct problem *problem = plan->problem;
    const struct spec *spec = problem->spec;
    struct arena *a = out->arena;
    const struct memory *memory = memory_build(a, all);
    text_printf(out, "{\n  \"name\": \"%s\",\n  \"description\": ", spec->name);
    text_json(out, spec->description);
    text_printf(out, ",\n  \"irreps\": {\"x\": \"%s\", \"y\": \"%s\", \"z\": \"%s\"},\n",
                irreps_text(a, &problem->x), irreps_text(a, &problem->y), irreps_text(a, &problem->z));
    text_printf(out, "  \"dim\": {");
    for (int s = 0; s < SLOT_COUNT; s++)
        text_printf(out, "%s\"%s\": %lld", s ? ", " : "", slot_name[s], (long long)problem->dim[s]);
    text_printf(out, "},\n  \"index\": {");
    for (int s = 0; s < SLOT_COUNT; s++)
        text_printf(out, "%s\"%s\": \"%s\"", s ? ", " : "", slot_name[s], index_name[spec->index[s]]);
    text_printf(out, "},\n  \"layout\": {\"x\": \"%s\", \"y\": \"%s\", \"z\": \"%s\"",
                layout_name[spec->layout[SLOT_X]], layout_name[spec->layout[SLOT_Y]],
                layout_name[spec->layout[SLOT_G]]);
    text_printf(out, "},\n  \"rows\": {");
    for (int s = 0; s < SLOT_COUNT; s++)
        text_printf(out, "%s\"%s\": \"%s\"", s ? ", " : "", slot_name[s],
                    row_stride_name[spec_is_strided(spec, (enum slot)s)]);
    text_printf(out, "},\n  \"precision\": \"%s\",\n", spec_precision(a, spec));
    json_device(out, all->target.device, spec->compute);
    text_printf(out, "  \"paths\": [\n");
    for (int i = 0; i < problem->paths; i++) {
        json_path(out, &problem->path[i]);
        text_printf(out, "%s\n", i + 1 < problem->paths ? "," : "");
    }
    text_printf(out, "  ],\n  \"kernels\": [\n");
    for (int i = 0; i < plan->kernels; i++) {
        json_kernel(out, all, &all->kernel[i], &memory[i]);
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

/* " (cotangent of z)", for an input or output of a kernel that derives from `of`. */
static void print_lineage(struct text *out, const struct kernel_form *of, struct lineage l, bool is_input)
{
    if (l.kin == KIN_COTANGENT)
        text_printf(out, " (cotangent of %s)",
                    is_input ? of->output[l.number].name : of->input[l.number].name);
    else if (l.kin == KIN_TANGENT)
        text_printf(out, " (tangent of %s)", is_input ? of->input[l.number].name : of->output[l.number].name);
}

void print_form(struct text *out, const struct form *form)
{
    for (int i = 0; i < form->kernels; i++) {
        const struct kernel_form *k = &form->kernel[i];
        text_printf(out, "%s%s%s(", k->name, k->of ? ", derivative of " : "", k->of ? k->of->name : "");
        for (int n = 0; n < k->inputs; n++) {
            text_printf(out, "%s%s: %s%s", n ? ", " : "", k->input[n].name, k->input[n].tangent ? "d " : "",
                        slot_name[k->input[n].slot]);
            print_lineage(out, k->of, k->input[n].lineage, true);
        }
        text_printf(out, ")\n");
        for (int o = 0; o < k->outputs; o++) {
            text_printf(out, "    %s", k->output[o].name);
            print_lineage(out, k->of, k->output[o].lineage, false);
            text_printf(out, " =");
            for (int t = 0; t < k->output[o].terms; t++) {
                text_printf(out, t ? " + " : " ");
                form_term_print(out, k, &k->output[o].term[t]);
            }
            text_puts(out, "\n");
        }
    }
}

static void report_paths(struct text *out, const struct schedules *all)
{
    print_paths(out, all->plan->problem);
}

static void report_nnz(struct text *out, const struct schedules *all)
{
    print_nnz(out, all->plan->problem);
}

static void report_weights(struct text *out, const struct schedules *all)
{
    print_weights(out, all->plan->problem);
}

static void report_plan(struct text *out, const struct schedules *all)
{
    plan_print(out, all->plan);
    schedules_print(out, all);
    memory_print(out, all, memory_build(out->arena, all));
}

const struct print_row print_table[] = {
    {"paths", false, report_paths}, {"nnz", false, report_nnz},  {"weights", false, report_weights},
    {"plan", false, report_plan},   {"cost", false, print_cost}, {"json", true, print_json},
};
const int print_count = sizeof print_table / sizeof *print_table;
