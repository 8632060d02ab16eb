/* gemm_roles.c - items by GEMM: which paths it takes, in which roles, and what follows from these (see
 * gemm_plan.h).
 */
#include "schedule/gemm/gemm_plan.h"
#include "schedule/item_rows.h"

enum { SCHEDULERS = 4 }; /* of a multiprocessor */

static int blocks_of(int channels)
{
    return (channels + GEMM_BLOCK - 1) / GEMM_BLOCK;
}

enum slot gemm_slot(const struct plan *plan, enum role role)
{
    return role == ROLE_A ? SLOT_Y : (role == ROLE_G) == plan->sums_x ? SLOT_X : SLOT_G;
}

int gemm_segment(const struct path *p, enum slot slot)
{
    return slot == SLOT_X ? p->x : p->z;
}

const struct variant *gemm_variant(const struct demand *d, int path)
{
    return &d->variant[d->variant_of[path]];
}

bool gemm_has_parts(const struct demand *d)
{
    return kernel_size(d->kernel) == 4;
}

bool gemm_is_wide(const struct operand *q)
{
    return q->dim * operand_size(q) % 16 == 0;
}

bool gemm_from_z(const struct demand *d, int path)
{
    return !d->plan->sums_x && d->plan->path[path].b == SLOT_G;
}

bool gemm_adds(const struct demand *d, int output, int path)
{
    if (d->variant_of[path] < 0)
        return false;
    const struct variant *v = gemm_variant(d, path);
    bool adds = gemm_from_z(d, path) && v->product; /* to its only output */
    for (int i = 0; i < v->zs; i++)
        adds |= v->z[i].output == d->output[output];
    return adds;
}

/* ---- what it takes ---- */

const char *gemm_refuses(const struct target *target, const struct demand *d)
{
    const struct problem *p = d->plan->problem;
    const char *why = item_rows_refuses(target, d);
    if (!why && p->weight_numel && p->spec->index[SLOT_W] != INDEX_SHARED)
        return "weights not of all items";
    return why;
}

static bool connects(const struct path_plan *e)
{
    return e->contracted && e->path->weighted && e->g == SLOT_G;
}

const struct plan *gemm_roles(const struct plan *plan)
{
    bool all = plan->summed != NULL;
    for (int p = 0; all && p < plan->problem->paths; p++)
        all = !connects(&plan->path[p]) || plan->path[p].pairs;
    return all ? plan->summed : plan;
}

const char *gemm_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    (void)target;
    const struct path_plan *e = &d->plan->path[p->number];
    if (!e->contracted || e->g != SLOT_G || !p->weighted)
        return "no weights that connect channels";
    if (e->pairs)
        return gemm_roles(d->plan)->sums_x ? NULL : "pairs of channels beside products of all";
    return e->b != SLOT_X ? "more channels of y than of x" : NULL;
}

/* ---- what follows ---- */

int gemm_teams_alike(const struct gemm_rows *r)
{
    return !r->turned || r->members % 2 ? 0 : r->members < SCHEDULERS ? SCHEDULERS / r->members : 1;
}

int gemm_words(const struct gemm_rows *r)
{
    return r->split ? 2 : 1;
}

int gemm_depth(const struct gemm_rows *r, int path)
{
    const struct path_plan *e = &r->demand->plan->path[path];
    return r->back || gemm_from_z(r->demand, path) ? path_channels_g(e) : path_channels_b(e);
}

bool gemm_is_turned(const struct gemm_rows *r)
{
    return r->back != r->demand->plan->sums_x;
}

int64_t gemm_below(int n)
{
    int64_t sum = 0;
    for (int a = 0; a < n; a++)
        sum += blocks_of(a);
    return sum;
}

int64_t gemm_blocks(const struct gemm_rows *r, int path)
{
    const struct path_plan *e = &r->demand->plan->path[path];
    const int a = path_channels_a(e);
    if (e->below)
        return gemm_below(a) * (r->back ? r->blocks[path] : blocks_of(path_channels_b(e)));
    return (int64_t)a * blocks_of(gemm_depth(r, path)) * r->blocks[path];
}

bool gemm_divides(const struct gemm_rows *r)
{
    const struct demand *d = r->demand;
    bool may =
        r->members > 1 && (r->back ? !demand_outputs_of(d, gemm_slot(d->plan, ROLE_B)) : d->plan->sums_x);
    for (int i = 0; i < d->plan->problem->paths; i++)
        may &=
            d->variant_of[i] < 0 || (!d->plan->path[i].elementwise && path_channels_a(&d->plan->path[i]) > 1);
    return may;
}

bool gemm_apart(const struct gemm_rows *r)
{
    return !r->back || !gemm_divides(r);
}

bool gemm_sums_rows(const struct gemm_rows *r, int output)
{
    const enum slot slot = demand_output(r->demand, output)->slot;
    return demand_operand(r->demand, output)->dim && (slot == SLOT_Y || (!r->back && gemm_divides(r)));
}

int gemm_chunks(const struct gemm_rows *r)
{
    int n = 0;
    for (int i = 0; i < r->spans; i++)
        n += r->span[i].chunks;
    return n;
}
