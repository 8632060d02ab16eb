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
                        slot_name[e->a], path_channels_b(e), shape.s, e->matrix->entries, e->matrix->forms,
                        e->matrix->form_terms);
        }
    }
}

void plan_print(struct text *out, const struct plan *plan)
{
    text_printf(out, "%s: plan\n", plan->problem->spec->name);
    print_paths(out, plan);
    text_printf(out, "matrices: %d different\n", plan->matrices.n);
}
