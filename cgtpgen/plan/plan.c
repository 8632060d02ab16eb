/* plan.c - see plan.h: roles of paths, their matrices, least bytes of kernels. */
#include "plan/plan.h"
#include "plan/codes.h"
#include "util/answers.h"

/* Channels of y from which on a product of x and z is made once for all of them (uvu). */
enum { YS_MANY = 9 };

static struct path_plan plan_path(struct matrices *matrices, const struct path *p)
{
    const struct mode_row *m = &mode_table[p->mode];
    struct path_plan e = {.path = p, .a = m->longest && p->mul_x < p->mul_y ? SLOT_X : m->a, .g = m->g};
    if (p->mode == MODE_UVU && p->mul_y >= YS_MANY) {
        e.a = SLOT_X;
        e.g = SLOT_Y;
    }
    e.b = (enum slot)(SLOT_X + SLOT_Y + SLOT_G - e.a - e.g);
    e.pairs = m->inputs[0] == AXIS_PAIRS;
    e.elementwise = e.b == SLOT_G || (mode_ties_inputs(m) && !e.pairs);
    e.contracted = m->z[0] == AXIS_W || e.g != SLOT_G;
    e.strided = e.pairs || m->z[1] != AXIS_NONE;
    e.weight_strided = !e.contracted && path_weight_step(p, e.b) > 1;
    bool channels = p->mul_x && p->mul_y && p->mul_z && !(e.pairs && p->mul_x < 2);
    if (channels && p->coefficient.sign)
        e.matrix = matrix_of(matrices, p, e.a, e.g);
    return e;
}

/* The path in roles in which the sum of x by weights comes first, for each channel of y: then y and z have
 * channels of their own. */
static struct path_plan plan_summed(struct matrices *matrices, const struct path_plan *known)
{
    struct path_plan e = *known;
    if (!e.pairs || !e.contracted)
        return e;
    e.a = SLOT_Y;
    e.b = SLOT_G;
    e.g = SLOT_X;
    e.pairs = e.strided = false;
    e.below = true;
    e.matrix = e.matrix ? matrix_of(matrices, e.path, e.a, e.g) : NULL;
    return e;
}

int path_channels_a(const struct path_plan *e)
{
    return e->elementwise ? 1 : path_mul(e->path, e->a);
}

int path_channels_b(const struct path_plan *e)
{
    return path_mul(e->path, e->b);
}

int path_channels_g(const struct path_plan *e)
{
    return path_mul(e->path, e->g);
}

bool path_weights_turned(const struct path_plan *e)
{
    return e->contracted && path_weight_step(e->path, e->b) < path_weight_step(e->path, e->g);
}

int64_t path_weight_rows(const struct path_plan *e)
{
    return path_weight_step(e->path, path_weights_turned(e) ? e->g : e->b);
}

const struct operand *kernel_input(const struct kernel_plan *k, int input)
{
    return &k->operand[input];
}

const struct operand *kernel_output(const struct kernel_plan *k, int output)
{
    return &k->operand[k->form->inputs + output];
}

const struct kernel_plan *kernel_stored(struct arena *a, const struct plan *plan, const struct kernel_plan *k,
                                        struct row_access access)
{
    struct kernel_plan *stored = arena_copy(a, k, sizeof *k);
    bool any = false;
    stored->operand = operands_build(a, plan->problem, k->form, access);
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++)
        any |= stored->operand[i].held != k->operand[i].held;
    return any ? stored : NULL;
}

int kernel_size(const struct kernel_plan *k)
{
    return precision_table[k->compute].bytes;
}

static void count_bytes(struct kernel_plan *kernel)
{
    for (int i = 0; i < kernel->form->inputs + kernel->form->outputs; i++) {
        const struct operand *o = &kernel->operand[i];
        double bytes = operand_stored_size(o) * (double)o->dim;
        if (o->index == INDEX_ITEM)
            kernel->bytes_least += bytes;
        else
            kernel->bytes_row[o->index] += bytes;
    }
}

static void group_paths(struct arena *a, struct plan *plan)
{
    const struct problem *problem = plan->problem;
    int *number = NEW_ARRAY(a, int, problem->paths), *next = NEW_ARRAY(a, int, problem->x.n);
    for (int p = 0; p < problem->paths; p++)
        next[problem->path[p].x]++;
    plan->group = NEW_ARRAY(a, struct path_group, problem->x.n);
    for (int x = 0, begin = 0; x < problem->x.n; x++) {
        if (next[x])
            plan->group[plan->groups++] = (struct path_group){x, next[x], &number[begin]};
        begin += next[x];
        next[x] = begin - next[x]; /* where its next path goes */
    }
    for (int p = 0; p < problem->paths; p++)
        number[next[problem->path[p].x]++] = p;
}

/* The plan with paths u<vw in their other roles. */
static const struct plan *with_sums(struct arena *a, const struct plan *plan)
{
    struct plan *summed = arena_copy(a, plan, sizeof *plan);
    summed->sums_x = true;
    summed->matrices = (struct matrices){.arena = a};
    summed->path = NEW_ARRAY(a, struct path_plan, plan->problem->paths + 1);
    for (int p = 0; p < plan->problem->paths; p++)
        summed->path[p] = plan_summed(&summed->matrices, &plan->path[p]);
    return summed;
}

const struct plan *plan_build(struct arena *a, const struct problem *problem, const struct form *form)
{
    struct plan *plan = NEW(a, struct plan);
    plan->problem = problem;
    plan->form = form;
    plan->matrices.arena = a;
    plan->codes = codes_keep(a);
    plan->answers = answers_begin(a);
    plan->path = NEW_ARRAY(a, struct path_plan, problem->paths + 1);
    for (int p = 0; p < problem->paths; p++)
        plan->path[p] = plan_path(&plan->matrices, &problem->path[p]);
    group_paths(a, plan);
    plan->kernels = form->kernels;
    plan->kernel = NEW_ARRAY(a, struct kernel_plan, form->kernels + 1);
    for (int k = 0; k < form->kernels; k++) {
        plan->kernel[k].form = &form->kernel[k];
        plan->kernel[k].compute = problem->spec->compute;
        plan->kernel[k].operand = operands_build(a, problem, &form->kernel[k], (struct row_access){0});
        count_bytes(&plan->kernel[k]);
    }
    plan->digest = plan_digest(a, plan);
    bool any = false;
    for (int p = 0; p < problem->paths; p++)
        any |= plan->path[p].pairs && plan->path[p].contracted;
    plan->summed = any ? with_sums(a, plan) : NULL;
    return plan;
}
