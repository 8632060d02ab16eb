/* staged_code.c - staged items: the code of each path, and what a weight is multiplied with beside it (see
 * staged_plan.h). */
#include "schedule/path.h"
#include "schedule/path_table.h"
#include "schedule/staged/staged_plan.h"

/* Is there one factor, which is not one, for all columns of the scaled matrix? */
static bool has_factor(const struct matrix *m)
{
    bool one = true, same = true;
    for (int k = 0; k < m->columns; k++) {
        one &= surd_is_one(m->column[k]);
        same &= m->column[k].sign && surd_equal(m->column[k], m->column[0]);
    }
    return same && !one;
}

static int instructions(const struct code *c)
{
    return code_instructions(c->channel) + code_instructions(c->item);
}

/* Weights of a path that its code reads, and gradients of them: what the factor is multiplied with. */
static int weights_of(const struct demand *d, const struct recipe *r)
{
    int n = demand_outputs_of(d, SLOT_W);
    for (int i = 0; i < r->inputs; i++)
        n += r->input[i].role == ROLE_W && recipe_reads(r, i);
    return n;
}

/* The code of a path that a lane does for its channel of x, by a matrix without its common factor where that
 * takes fewer instructions. */
static void choose_code(struct staged *g, int path)
{
    const struct demand *d = g->demand;
    const struct path *p = &d->plan->problem->path[path];
    const struct path_plan *e = &d->plan->path[path];
    if (staged_connects(p) || !p->weighted || e->a != SLOT_Y || e->contracted)
        return;
    const struct recipe *r = d->variant[d->variant_of[path]].product;
    const struct matrix *m = codes_scaled(d->codes, p, SLOT_Y);
    if (!r || !has_factor(m))
        return;
    const struct code *code = codes_lower(d->codes, r, m, false, false);
    const int weights = weights_of(d, r);
    if (instructions(code) + weights >= instructions(g->code[path].product))
        return;
    const double channels = (double)p->mul_x * p->mul_y, items = p->mul_y;
    const struct code *before = g->code[path].product;
    operations_add(&g->operations, before->channel, -channels);
    operations_add(&g->operations, before->item, -items);
    operations_add(&g->operations, code->channel, channels);
    operations_add(&g->operations, code->item, items);
    g->operations.mul += weights * channels;
    g->code[path].product = code;
    g->matrix[path] = m;
    g->factor[path] = m->column[0];
}

void staged_codes(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    const int paths = d->plan->problem->paths;
    g->matrix = NEW_ARRAY(a, const struct matrix *, paths + 1);
    g->code = NEW_ARRAY(a, struct path_code, paths + 1);
    g->factor = NEW_ARRAY(a, struct surd, paths + 1);
    g->operations = demand_operations(d);
    for (int i = 0; i < paths; i++) {
        g->matrix[i] = d->plan->path[i].matrix;
        if (!g->passes[i])
            continue;
        g->code[i] = demand_code(d, i);
        choose_code(g, i);
    }
}

double staged_other_work(const struct staged *g, int path)
{
    const double per_call = 40, per_access = 2;
    const struct demand *d = g->demand;
    const struct path_plan *e = &d->plan->path[path];
    const struct variant *v = &d->variant[d->variant_of[path]];
    if (g->tables && g->tables[path])
        return path_table_work(d, path);
    const struct path_code code = demand_code(d, path);
    const double a = path_channels_a(e), b = path_channels_b(e);
    const double turns = (double)((path_channels_b(e) + STAGED_LANES - 1) / STAGED_LANES);
    double channel = 0, item = per_call, contractions = v->ps + v->zs;
    for (int i = 0; i < 2; i++) {
        const struct code *c = i ? code.tensor : code.product;
        const struct recipe *r = i ? v->tensor : v->product;
        channel += c ? code_instructions(c->channel) : 0;
        item += c ? code_instructions(c->item) : 0;
        for (int k = 0; r && k < r->inputs + r->outputs; k++)
            channel += per_access * path_components(e->matrix, k < r->inputs ? r->input[k].role
                                                                             : r->output[k - r->inputs].role);
    }
    for (int i = 0; i < v->ws; i++)
        contractions += v->w[i].parts;
    contractions *= per_access * e->matrix->columns * e->path->mul_z * b / STAGED_LANES;
    return a * (turns * channel + item + contractions);
}
