/* loops_plan.c - the host's loops: what is copied into component order, and where everything is in the
 * scratch of a part.
 */
#include "schedule/loops/loops.h"

#include "schedule/path.h"
#include "schedule/path_table.h"

/* ---- what the writers ask ---- */

int64_t loops_padded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

struct channel_sum *loops_find_sum(const struct loops *l, int o, int segment)
{
    for (int i = 0; i < l->sums; i++)
        if (l->sum[i].output == o && l->sum[i].segment == segment)
            return &l->sum[i];
    return NULL;
}

int loops_number(const struct source *w)
{
    return (int)(w->schedule - w->kernel->schedule);
}

const char *loops_segments(enum slot slot)
{
    static const char *const name[SLOT_COUNT] = {"xsegments", "ysegments", "wsegments", "zsegments"};
    return name[slot];
}

const char *loops_vector_name(struct source *w, int i)
{
    const char *name = w->form->input[i].symbol;
    return own(w)->staging[i] == STAGE_NONE ? name : arena_printf(w->arena, "%sturned", name);
}

bool loops_transposes(const struct source *w, int output)
{
    return own(w)->transposed[w->form->inputs + output];
}

bool loops_is_wide(const struct demand *d, int o)
{
    return demand_operand(d, o)->held != d->kernel->compute;
}

/* Does a way of computing a path write the kernel's output? */
static bool writes(const struct variant *v, int output)
{
    bool any = false;
    for (int i = 0; v->product && i < v->product->outputs; i++)
        any |= v->product->output[i].source == output;
    for (int i = 0; i < v->zs; i++)
        any |= v->z[i].output == output;
    for (int i = 0; i < v->ws; i++)
        any |= v->w[i].output == output;
    return any;
}

bool loops_touches(const struct source *w, int o)
{
    const struct demand *d = w->demand;
    bool item_weights = demand_output(d, o)->slot == SLOT_W && w->schedule->route[o].kind == ROUTE_ITEM;
    for (int p = 0; p < d->plan->problem->paths; p++) {
        const struct variant *v = d->variant_of[p] < 0 ? NULL : &d->variant[d->variant_of[p]];
        if (v && writes(v, d->output[o]))
            return true;
        if (item_weights && d->plan->problem->path[p].weight_numel && (!v || v->contracted)) /* zeros */
            return true;
    }
    return false;
}

/* ---- staging ---- */

static void find_transposed(struct arena *a, const struct demand *d, struct loops *l)
{
    const struct kernel_plan *k = d->kernel;
    int operands = k->form->inputs + k->form->outputs;
    l->transposed = NEW_ARRAY(a, bool, operands + 1);
    for (int i = 0; i < operands; i++)
        for (int p = 0; p < d->plan->problem->paths; p++) {
            const struct operand *o = &k->operand[i];
            const struct path_plan *e = &d->plan->path[p];
            bool vector = o->slot == e->b || o->slot == e->g || (o->slot == e->a && e->elementwise);
            if (e->matrix && vector && !block_is_by_component(operand_block_of(o, e->path)))
                l->transposed[i] = true;
        }
}

static void find_staging(struct arena *a, const struct demand *d, struct loops *l)
{
    const struct spec *spec = d->plan->problem->spec;
    const struct kernel_form *k = d->kernel->form;
    l->staging = NEW_ARRAY(a, enum staging, k->inputs + 1);
    for (int i = 0; i < k->inputs; i++) {
        enum index_kind index = kernel_input(d->kernel, i)->index;
        if (!d->vector[i] || !l->transposed[i])
            l->staging[i] = STAGE_NONE;
        else if (index == INDEX_SENDER || (index == INDEX_RECEIVER && !spec->sorted))
            l->staging[i] = STAGE_ALL;
        else
            l->staging[i] = STAGE_ROW;
    }
}

/* ---- scratch ---- */

static const struct recipe_output *a_output(const struct recipe *r, int o)
{
    for (int i = 0; r && i < r->outputs; i++)
        if (r->output[i].role == ROLE_A && r->output[i].source == o)
            return &r->output[i];
    return NULL;
}

/* The sums over channels that a path needs for its A outputs; returns the elements of those of its own. */
static int64_t add_sums(struct arena *a, const struct demand *d, const struct path_plan *e, struct loops *l,
                        int *capacity)
{
    const struct variant *v = &d->variant[d->variant_of[e->path->number]];
    int64_t own = 0;
    for (int o = 0; o < d->outputs && !e->elementwise; o++) {
        if (!a_output(v->product, d->output[o]))
            continue;
        int segment = e->a == SLOT_X ? e->path->x : e->path->y;
        if (path_channels_a(e) > 1) {
            own = e->matrix->depth * path_channels_b(e);
            continue;
        }
        struct channel_sum *s = loops_find_sum(l, d->output[o], segment);
        if (!s) {
            l->sum = arena_grow(a, l->sum, l->sums, capacity, sizeof *l->sum);
            s = &l->sum[l->sums++];
            *s = (struct channel_sum){d->output[o], segment, 0, e->matrix->depth, 0};
        }
        s->length = s->length > path_channels_b(e) ? s->length : path_channels_b(e);
    }
    return own;
}

/* One product function serves all outputs of a slot with one stride. */
static void even_out_sums(const struct kernel_form *form, struct loops *l)
{
    for (int i = 0; i < l->sums; i++)
        for (int j = 0; j < l->sums; j++)
            if (l->sum[i].segment == l->sum[j].segment && l->sum[i].length < l->sum[j].length &&
                form->output[l->sum[i].output].slot == form->output[l->sum[j].output].slot)
                l->sum[i].length = l->sum[j].length;
}

/* Elements of the longest segment that is transposed back in an output's row. */
static int64_t longest_segment(const struct demand *d, const struct loops *l)
{
    int64_t longest = 0;
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        for (int i = 0; l->transposed[d->kernel->form->inputs + d->output[o]] && i < q->blocks; i++) {
            int64_t length = q->block[i].channels * q->block[i].components;
            longest = longest > length ? longest : length;
        }
    }
    return longest;
}

static int64_t take(int64_t *at, int64_t n)
{
    int64_t begin = *at;
    *at += n;
    return begin;
}

static void lay_out_scratch(struct arena *a, const struct schedule *s, struct loops *l)
{
    const struct demand *d = s->demand;
    const struct problem *problem = d->plan->problem;
    const struct kernel_form *form = d->kernel->form;
    int capacity = 0;
    int64_t t = 0, p = 0, own = 0, at = 0;
    for (int i = 0; i < problem->paths; i++) {
        const struct path_plan *e = &d->plan->path[i];
        if (d->variant_of[i] < 0)
            continue;
        const struct variant *v = &d->variant[d->variant_of[i]];
        int64_t vector = v->contracted ? e->matrix->columns * path_channels_b(e) : 0;
        t = t > v->ts * vector ? t : v->ts * vector;
        p = p > v->ps * vector ? p : v->ps * vector;
        int64_t sum = add_sums(a, d, e, l, &capacity);
        own = own > sum ? own : sum;
    }
    even_out_sums(form, l);
    for (int i = 0; i < l->sums; i++)
        l->sum[i].at = take(&at, loops_padded(l->sum[i].length * l->sum[i].depth));
    l->sums_length = at;
    l->sum_at = take(&at, loops_padded(own) * d->outputs);
    l->t_at = take(&at, loops_padded(t));
    l->p_at = take(&at, loops_padded(p));
    l->brought_at = NEW_ARRAY(a, int64_t, form->inputs + 1);
    for (int i = 0; i < form->inputs; i++)
        if (l->staging[i] == STAGE_ROW)
            l->brought_at[i] = take(&at, loops_padded(kernel_input(d->kernel, i)->dim));
    l->term_at = NEW_ARRAY(a, int64_t, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++)
        if (s->route[o].compensated || loops_is_wide(d, o))
            l->term_at[o] = take(&at, loops_padded(demand_operand(d, o)->dim));
    l->temporary_at = take(&at, loops_padded(longest_segment(d, l)));
    l->scratch = at ? at : 16;
}

const char *loops_plan(struct arena *a, struct schedule *s)
{
    const struct demand *d = s->demand;
    const struct spec *spec = d->plan->problem->spec;
    struct loops *l = NEW(a, struct loops);
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++)
        s->route[o] = route_owned(spec, demand_operand(d, o)->index);
    find_transposed(a, d, l);
    find_staging(a, d, l);
    lay_out_scratch(a, s, l);
    l->by_table = paths_want_tables(s->target, d);
    s->own = l;
    s->operations = demand_operations(d);
    s->cost = operations_flops(s->operations);
    return NULL;
}
