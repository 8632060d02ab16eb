/* schedule_print.c - see print.h. */
#include "schedule/print.h"
#include "schedule/report.h"

#include <string.h>

int schedule_paths(const struct schedule *s, int *list)
{
    const struct demand *d = s->demand;
    int n = 0;
    for (int p = 0; p < d->plan->problem->paths; p++)
        if (d->variant_of[p] >= 0)
            list[n++] = p;
    return n;
}

const char *paths_text(struct arena *a, int n, const int *list, int all)
{
    return n == all ? "all paths"
           : n == 0 ? "no path"
                    : arena_printf(a, n == 1 ? "path %s" : "paths %s", report_ranges(a, n, list));
}

/* What is kept of what plain sums lose. */
static const char *keeps_words(const struct route *route)
{
    return route->compensated ? ", compensated" : route->wide ? ", in float64" : "";
}

static void print_schedule(struct text *out, const struct schedule *s)
{
    struct arena *a = out->arena;
    int paths = s->demand->plan->problem->paths, *list = NEW_ARRAY(a, int, paths + 1);
    int n = schedule_paths(s, list);
    text_printf(out, "  %s: %s, %s; %.0f flops per item%s\n", s->name, s->evaluation->words,
                paths_text(a, n, list, paths), operations_flops(s->operations),
                s->before ? "; adds to what is there" : "");
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct form_output *f = demand_output(s->demand, o);
        text_printf(out, "    %s =", f->name);
        for (int t = 0; t < f->terms; t++) {
            text_printf(out, t ? " + " : " ");
            form_term_print(out, s->demand->kernel->form, &f->term[t]);
        }
        text_printf(out, "; %s%s\n", route_facts[s->route[o].kind].words, keeps_words(&s->route[o]));
    }
    struct report r = {.arena = a};
    s->evaluation->report(&r, s);
    report_text(out, 4, &r);
}

const char *verdict_reason(struct arena *a, const struct verdict *v)
{
    if (!v->dearer)
        return v->why;
    struct schedule s = *v->dearer;
    const char *refused = s.evaluation->plan(a, &s);
    return refused ? refused : arena_printf(a, "would cost %.0f, not %.0f", s.cost, v->cost);
}

/* What an evaluation said of outputs: reasons, each with its paths. */
static void print_verdict(struct text *out, const struct kernel_form *f, const struct verdict *v, int paths)
{
    struct arena *a = out->arena;
    bool *done = NEW_ARRAY(a, bool, paths + 1);
    int *list = NEW_ARRAY(a, int, paths + 1);
    text_printf(out, "  %s, asked for", v->evaluation->name);
    for (int o = 0; o < v->outputs; o++)
        text_printf(out, "%s%s", o ? ", " : " ", f->output[v->output[o]].name);
    const char *reason = verdict_reason(a, v);
    text_printf(out, ": %s\n", reason ? reason : "takes it");
    for (int p = 0; v->path && p < paths; p++) {
        int n = 0;
        if (!v->path[p] || done[p])
            continue;
        for (int q = p; q < paths; q++)
            if (v->path[q] && strcmp(v->path[q], v->path[p]) == 0) {
                list[n++] = q;
                done[q] = true;
            }
        text_printf(out, "    %s: %s\n", paths_text(a, n, list, paths), v->path[p]);
    }
}

void kernel_schedule_print(struct text *out, const struct kernel_schedule *k)
{
    text_printf(out, "kernel %s: %d schedule%s, %.0f flops and at least %.0f bytes per item\n",
                k->kernel->form->name, k->schedules, k->schedules == 1 ? "" : "s",
                operations_flops(k->operations), k->kernel->bytes_least);
    for (int s = 0; s < k->schedules; s++)
        print_schedule(out, &k->schedule[s]);
}

void schedules_print(struct text *out, const struct schedules *all)
{
    text_printf(out, "schedules for %s\n", all->target.device->name);
    for (int k = 0; k < all->plan->kernels; k++) {
        const struct kernel_schedule *s = &all->kernel[k];
        kernel_schedule_print(out, s);
        for (int v = 0; v < s->verdicts; v++)
            if (s->verdict[v].why || s->verdict[v].dearer || s->verdict[v].path)
                print_verdict(out, s->kernel->form, &s->verdict[v], all->plan->problem->paths);
    }
}

void schedules_dump(struct text *out, const struct schedules *all)
{
    for (int k = 0; k < all->plan->kernels; k++)
        for (int s = 0; s < all->kernel[k].schedules; s++) {
            text_printf(out, "kernel %s, %s: code\n", all->kernel[k].kernel->form->name,
                        all->kernel[k].schedule[s].name);
            demand_dump(out, all->kernel[k].schedule[s].demand);
        }
}

/* ---- JSON ---- */

static void json_schedule(struct text *out, const struct schedule *s)
{
    struct arena *a = out->arena;
    int *list = NEW_ARRAY(a, int, s->demand->plan->problem->paths + 1);
    struct report r = {.arena = a}, figures = {.arena = a};
    report_word(&r, "name", s->name);
    report_word(&r, "evaluation", s->evaluation->name);
    int n = schedule_paths(s, list);
    report_list(&r, "paths", n, list);
    report_flag(&r, "adds", s->before != NULL);
    report_number(&r, "cost", s->cost);
    report_number(&r, "flops_per_item", operations_flops(s->operations));
    const char **name = NEW_ARRAY(a, const char *, s->demand->outputs + 1);
    const char **route = NEW_ARRAY(a, const char *, s->demand->outputs + 1);
    for (int o = 0; o < s->demand->outputs; o++) {
        name[o] = demand_output(s->demand, o)->name;
        route[o] = arena_printf(a, "%s%s", route_facts[s->route[o].kind].words, keeps_words(&s->route[o]));
    }
    report_words(&r, "outputs", s->demand->outputs, name);
    report_words(&r, "routes", s->demand->outputs, route);
    s->evaluation->report(&figures, s);
    text_printf(out, "{");
    report_json(out, 10, &r);
    if (figures.n)
        text_printf(out, ",\n       ");
    report_json(out, 8, &figures);
    text_printf(out, "}");
}

static void json_verdict(struct text *out, const struct kernel_form *f, const struct verdict *v, int paths)
{
    text_printf(out, "{\"evaluation\": \"%s\", \"outputs\": [", v->evaluation->name);
    for (int o = 0; o < v->outputs; o++)
        text_printf(out, "%s\"%s\"", o ? ", " : "", f->output[v->output[o]].name);
    text_printf(out, "], \"reason\": ");
    const char *reason = verdict_reason(out->arena, v);
    text_json(out, reason ? reason : "");
    text_printf(out, ", \"path_reasons\": {");
    for (int p = 0, n = 0; v->path && p < paths; p++)
        if (v->path[p]) {
            text_printf(out, "%s\"%d\": ", n++ ? ", " : "", p);
            text_json(out, v->path[p]);
        }
    text_printf(out, "}}");
}

void kernel_schedule_json(struct text *out, const struct plan *plan, const struct kernel_schedule *k)
{
    text_printf(out, "\"schedules\": [");
    for (int s = 0; s < k->schedules; s++) {
        text_printf(out, s ? ",\n      " : "\n      ");
        json_schedule(out, &k->schedule[s]);
    }
    text_printf(out, "],\n     \"verdicts\": [");
    for (int v = 0; v < k->verdicts; v++) {
        text_printf(out, v ? ",\n      " : "\n      ");
        json_verdict(out, k->kernel->form, &k->verdict[v], plan->problem->paths);
    }
    text_printf(out, "]");
}
