/* check.c - see check.h. */
#include "schedule/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void check_that(struct checker *c, bool holds, const char *format, ...)
{
    char message[256];
    va_list list;
    if (holds)
        return;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    c->errors++;
    text_printf(c->out, "kernel %s%s%s: %s\n", c->kernel, c->schedule ? ", " : "",
                c->schedule ? c->schedule : "", message);
}

static bool computes(const struct schedule *s, int output)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->demand->output[o] == output)
            return true;
    return false;
}

static bool has_effect(const struct kernel_form *f, const struct form_output *o, const struct path_plan *p)
{
    bool any = false;
    for (int t = 0; t < o->terms; t++)
        any |= form_term_applies(f, &o->term[t], p->path);
    return any && p->matrix;
}

/* Every path with an effect on an output is in exactly one of the schedules that compute it. */
static void check_paths(struct checker *c, const struct kernel_schedule *k, const struct plan *plan)
{
    for (int o = 0; o < k->kernel->form->outputs; o++) {
        const struct form_output *output = &k->kernel->form->output[o];
        for (int p = 0; p < plan->problem->paths; p++) {
            int times = 0;
            for (int s = 0; s < k->schedules; s++)
                times += computes(&k->schedule[s], o) && k->schedule[s].demand->variant_of[p] >= 0;
            bool effect = has_effect(k->kernel->form, output, &plan->path[p]);
            check_that(c, !effect || times == 1, "path %d of output %s is computed %d times", p, output->name,
                       times);
        }
    }
}

/* The first schedule of an output writes it; later ones add, and know what that one has written. */
static void check_written(struct checker *c, const struct kernel_schedule *k)
{
    for (int o = 0; o < k->kernel->form->outputs; o++) {
        const char *name = k->kernel->form->output[o].name;
        const struct schedule *first = NULL;
        for (int s = 0; s < k->schedules; s++) {
            const struct schedule *q = &k->schedule[s];
            if (!computes(q, o))
                continue;
            check_that(c, first || !q->before, "%s adds to %s, which nothing has written", q->name, name);
            check_that(c, !first || q->before, "%s writes %s, which %s has written", q->name, name,
                       first ? first->name : "");
            bool known = !first || !q->before;
            for (int i = 0; i < (q->before ? q->before->outputs : 0); i++)
                known |= q->before->output[i] == o;
            check_that(c, known, "%s adds to %s, of which it does not know what is written", q->name, name);
            first = first ? first : q;
        }
        check_that(c, first, "output %s is computed by nothing", name);
    }
}

static void check_blocks(struct checker *c, const struct kernel_schedule *k, const struct plan *plan)
{
    for (int s = 0; s < k->schedules; s++) {
        const struct schedule *q = &k->schedule[s];
        for (int o = 0; o < q->demand->outputs && !q->before && !q->evaluation->writes_all_weights; o++)
            for (int p = 0; p < plan->problem->paths; p++) {
                if (!leaves_weights(demand_output(q->demand, o), q->demand, &plan->problem->path[p]))
                    continue;
                int later = 0;
                for (int r = s + 1; r < k->schedules; r++)
                    later += computes(&k->schedule[r], q->demand->output[o]);
                check_that(c, later == 1, "the weights of path %d in %s are written %d times", p,
                           demand_output(q->demand, o)->name, later);
            }
    }
}

static void check_areas(struct checker *c, struct arena *a, const struct kernel_schedule *k,
                        const struct plan *plan)
{
    struct areas all = {.arena = a};
    int64_t least = 1; /* partial rows of an output without elements have none either */
    for (int o = 0; o < k->kernel->form->outputs; o++)
        if (!plan->problem->dim[k->kernel->form->output[o].slot])
            least = 0;
    for (int s = 0; s < k->schedules; s++)
        k->schedule[s].evaluation->areas(&all, &k->schedule[s]);
    for (int i = 0; i < all.n; i++) {
        check_that(c, all.area[i].each >= least, "area %s has no elements", all.area[i].name);
        for (int j = 0; j < i; j++)
            check_that(c, strcmp(all.area[i].name, all.area[j].name) != 0,
                       "two areas of the workspace are named %s", all.area[i].name);
    }
}

int schedules_check(struct arena *a, const struct schedules *all, struct text *out)
{
    struct checker c = {.out = out};
    for (int k = 0; k < all->plan->kernels; k++) {
        const struct kernel_schedule *q = &all->kernel[k];
        c.kernel = q->kernel->form->name;
        c.schedule = NULL;
        check_paths(&c, q, all->plan);
        check_written(&c, q);
        check_blocks(&c, q, all->plan);
        check_areas(&c, a, q, all->plan);
        for (int s = 0; s < q->schedules; s++) {
            c.schedule = q->schedule[s].name;
            q->schedule[s].evaluation->check(&c, &q->schedule[s]);
        }
    }
    return c.errors;
}
