/* plan_print.c - the plan as text: --print=plan, -d, and what --print=json says of a pass. */
#include "plan/plan.h"

static const char *evaluation(const struct path_plan *e)
{
    if (!e->matrix)
        return "nothing";
    if (e->contracted)
        return e->elementwise ? "elementwise, contracted" : e->pairs ? "pairs, contracted" : "contracted";
    return e->elementwise ? "elementwise" : e->pairs ? "pairs" : "diagonal";
}

static void print_paths(struct text *out, const struct plan *plan)
{
    text_printf(out, "%-6s %-12s %-24s %-2s %9s %9s %7s %6s %6s\n", "path", "l1,l2,l3", "evaluation", "M",
                "channels", "shape", "entries", "forms", "terms");
    for (int g = 0; g < plan->groups; g++) {
        text_printf(out, "x segment %d\n", plan->group[g].x);
        for (int i = 0; i < plan->group[g].paths; i++) {
            const struct path_plan *e = &plan->path[plan->group[g].path[i]];
            const struct path *p = e->path;
            struct text l = {.arena = out->arena}, shape = {.arena = out->arena};
            text_printf(&l, "%d,%d,%d", p->l1, p->l2, p->l3);
            if (!e->matrix) {
                text_printf(out, "%-6d %-12s nothing\n", p->number, l.s);
                continue;
            }
            text_printf(&shape, "%dx%d", e->matrix->rows, e->matrix->columns);
            text_printf(out, "%-6d %-12s %-24s %-2s %9d %9s %7d %6d %6d\n", p->number, l.s, evaluation(e),
                        slot_name[e->a], e->b == SLOT_X ? p->mul_x : p->mul_y, shape.s, e->matrix->entries,
                        e->matrix->forms, e->matrix->form_terms);
        }
    }
}

static void print_reads(struct text *out, const struct kernel_form *f, const struct pass *pass)
{
    static const char *const how[] = {"in place", "row by row in component order",
                                      "all rows in component order first"};
    for (int i = 0; i < f->inputs; i++)
        if (pass->raw[i] || pass->vector[i])
            text_printf(out, "    reads %-6s %s%s\n", f->input[i].name, how[pass->staging[i]],
                        pass->staging[i] != STAGE_NONE && pass->raw[i] ? ", and in place" : "");
}

static void print_recipe(struct text *out, const char *what, const struct recipe *r)
{
    if (r)
        text_printf(out,
                    "      %s: M applied %d times (forward %d, transposed %d, scaled first or reversed %d), "
                    "%d scalings\n",
                    what, r->applications, r->rs, r->ls, r->applications - r->rs - r->ls, r->us);
}

static void print_kernel(struct text *out, const struct kernel_plan *k)
{
    text_printf(out, "kernel %s: %d pass%s, %.0f flops and at least %.0f bytes an item\n", k->form->name,
                k->passes, k->passes == 1 ? "" : "es", k->flops, k->bytes_least);
    for (int p = 0; p < k->passes; p++) {
        const struct pass *pass = &k->pass[p];
        text_printf(out, "  pass over %s, %.0f flops an item\n", index_name[pass->owner], pass->flops);
        for (int o = 0; o < pass->outputs; o++) {
            const struct form_output *q = &k->form->output[pass->output[o]];
            text_printf(out, "    %s =", q->name);
            for (int t = 0; t < q->terms; t++) {
                text_printf(out, t ? " + " : " ");
                form_term_print(out, k->form, &q->term[t]);
            }
            text_printf(out, "\n");
        }
        print_reads(out, k->form, pass);
        for (int v = 0; v < pass->variants; v++) {
            const struct variant *q = &pass->variant[v];
            text_printf(out, "    M from %s, %s%s%s\n", slot_name[q->a],
                        q->elementwise ? "tied channels, " : "",
                        q->contracted ? "contracted"
                        : q->weighted ? "weights by channel"
                                      : "no weights",
                        q->wide ? ", M wide" : ", M tall");
            print_recipe(out, "T", q->tensor);
            print_recipe(out, q->contracted ? "from P" : "recipe", q->product);
            if (q->contracted)
                text_printf(out, "      contractions: %d z, %d P, %d w\n", q->zs, q->ps, q->ws);
        }
    }
}

void pass_json(struct text *out, const struct kernel_form *form, const struct pass *pass)
{
    text_printf(out, "{\"owner\": \"%s\", \"outputs\": [", index_name[pass->owner]);
    for (int o = 0; o < pass->outputs; o++)
        text_printf(out, "%s\"%s\"", o ? ", " : "", form->output[pass->output[o]].name);
    text_printf(out, "], \"flops_per_item\": %.17g", pass->flops);
}

void plan_print(struct text *out, const struct plan *plan)
{
    text_printf(out, "%s: plan\n", plan->problem->spec->name);
    print_paths(out, plan);
    text_printf(out, "matrices: %d different\n", plan->matrices.n);
    for (int k = 0; k < plan->kernels; k++)
        print_kernel(out, &plan->kernel[k]);
}
