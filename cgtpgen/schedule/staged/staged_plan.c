/* staged_plan.c - see staged_plan.h. */
#include "schedule/staged/staged_plan.h"
#include "schedule/item_device.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"

#include <stdlib.h>

enum {
    RESERVED = 1024,  /* bytes that the device takes of each block's shared memory */
    TEAMS_MOST = 15,  /* of a block, as there are barriers for so many */
    WARPS = 12,       /* of a multiprocessor, that hide what each waits for */
    TEAMS_ALONE = 16, /* the same of teams of one warp without passes */
    ROWS_LEAST = 8,   /* lanes that work by rows, or the path is done otherwise */
    TEAM_WARPS = 8,   /* of a team, at most */
    STAGES_MOST = 4,  /* of a ring */
    LOAD_WORK = 2,    /* instructions of a turn of a loop beside its multiply-adds, and of a path */
    PATH_WORK = 30
};

/* ---- what it takes ---- */

const char *staged_refuses(const struct target *target, const struct demand *d)
{
    (void)target;
    return item_rows_refuses(d);
}

/* What the pipelined evaluations are for stays theirs, or the last one's: with one path that they cannot
 * compute, a product of many would otherwise seem cheaper here, which was not measured. */
const char *staged_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    const enum index_kind *index = d->plan->problem->spec->index;
    bool pipelined = p->mode == MODE_UVU && p->mul_y == 1 && p->mul_x % target->device->lanes == 0 &&
                     index[SLOT_Y] == INDEX_ITEM && index[SLOT_W] == INDEX_ITEM;
    return pipelined ? "left to pipelined evaluations" : NULL;
}

static struct staged_chain new_chain(struct arena *a, int segments, int paths)
{
    struct staged_chain c = {NEW_ARRAY(a, int, segments + 1), NEW_ARRAY(a, int, paths + 1)};
    for (int i = 0; i < segments; i++)
        c.first[i] = -1;
    return c;
}

static void put_before(struct staged_chain *c, int segment, int path)
{
    c->next[path] = c->first[segment];
    c->first[segment] = path;
}

/* Which paths are computed by passes: each of their results is an item's own, but gradients of weights. */
static void divide_paths(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    const struct plan *plan = d->plan;
    const int paths = plan->problem->paths;
    bool shared = false;
    g->passes = NEW_ARRAY(a, bool, paths + 1);
    g->others = NEW_ARRAY(a, bool, paths + 1);
    for (int o = 0; o < d->outputs; o++)
        shared |= demand_operand(d, o)->slot != SLOT_W && demand_operand(d, o)->index == INDEX_SHARED;
    for (int i = 0; i < paths; i++) {
        const struct path *p = &plan->problem->path[i];
        g->passes[i] = d->variant_of[i] >= 0 && !shared && p->mode == MODE_UVW && p->mul_y == 1 &&
                       p->mul_x >= ROWS_LEAST && plan->path[i].a == SLOT_Y;
        g->others[i] = d->variant_of[i] >= 0 && !g->passes[i];
        g->any_others |= g->others[i];
    }
    g->scratch = item_scratch(d, g->others);
    g->by_x = new_chain(a, plan->problem->x.n, paths);
    g->by_z = new_chain(a, plan->problem->z.n, paths);
    for (int i = paths - 1; i >= 0; i--)
        if (g->passes[i]) {
            put_before(&g->by_x, plan->problem->path[i].x, i);
            put_before(&g->by_z, plan->problem->path[i].z, i);
        }
}

/* ---- passes ---- */

int staged_together(const struct demand *d, const struct path *p)
{
    int most = 16 / kernel_size(d->kernel);
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *o = &d->kernel->operand[i];
        const struct operand_block *b = operand_block_of(o, p);
        bool stands = o->slot == SLOT_W || o->slot == SLOT_G;
        while (stands && (most > b->alignment || (block_is_apart(b) && b->component % most)))
            most /= 2;
    }
    while (p->mul_z % most)
        most /= 2;
    return most;
}

static void add_pass(struct staged_pass *list, int *n, int segment, int channels, int each, int work)
{
    for (int at = 0; at < channels; at += STAGED_LANES * each) {
        int rest = (channels - at) / each;
        list[(*n)++] = (struct staged_pass){.segment = segment,
                                            .first = at,
                                            .lanes = rest < STAGED_LANES ? rest : STAGED_LANES,
                                            .channels = each,
                                            .work = work};
    }
}

/* Passes by columns of the segments of z that paths lead to. */
static void find_columns(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    int most = 0;
    for (int z = 0; z < p->z.n; z++)
        most += p->z.segment[z].mul / STAGED_LANES + 1;
    g->column = NEW_ARRAY(a, struct staged_pass, most + 1);
    for (int z = 0; z < p->z.n && demand_outputs_of(d, SLOT_G); z++) {
        int each = STAGED_LANES, work = 0, mul = p->z.segment[z].mul;
        for (int i = g->by_z.first[z]; i >= 0; i = g->by_z.next[i]) {
            int can = staged_together(d, &p->path[i]);
            each = each < can ? each : can;
            work += staged_variant(g, i)->zs * p->path[i].mul_x * (2 * p->path[i].l3 + LOAD_WORK);
        }
        while (each > 1 && mul <= STAGED_LANES * each / 2) /* no wider than the lanes need */
            each /= 2;
        if (work)
            add_pass(g->column, &g->columns, z, mul, each, work);
    }
}

/* Instructions of a path for the row of weights of a lane. */
static int row_work(const struct staged *g, const struct path *p)
{
    const struct demand *d = g->demand;
    const struct variant *v = staged_variant(g, p->number);
    const struct path_code code = demand_code(d, p->number);
    int products = v->ps, work = PATH_WORK;
    for (int w = 0; w < v->ws; w++)
        products += v->w[w].parts;
    if (products)
        work += p->mul_z * (products * (2 * p->l3 + 1) + LOAD_WORK);
    for (int i = 0; i < 2; i++) {
        const struct code *c = i ? code.tensor : code.product;
        work += c ? code_instructions(c->channel) + code_instructions(c->item) : 0;
    }
    return work;
}

/* Passes by rows of the segments of x that paths read. */
static void find_rows(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    int most = 0;
    for (int x = 0; x < p->x.n; x++)
        most += p->x.segment[x].mul / STAGED_LANES + 1;
    g->row = NEW_ARRAY(a, struct staged_pass, most + 1);
    for (int x = 0; x < p->x.n; x++) {
        int work = 0;
        for (int i = g->by_x.first[x]; i >= 0; i = g->by_x.next[i])
            work += row_work(g, &p->path[i]);
        if (work)
            add_pass(g->row, &g->rows, x, p->x.segment[x].mul, 1, work);
    }
}

/* The longest first; those of equal length in their order. */
static int compare_work(const void *left, const void *right)
{
    const struct staged_pass *const *a = left, *const *b = right;
    return (*a)->work != (*b)->work ? ((*a)->work < (*b)->work ? 1 : -1) : (*a > *b) - (*a < *b);
}

/* Deals passes out to the warps of a team, each, the longest first, to the one with least to do. */
static void deal(struct arena *a, int n, struct staged_pass *pass, int warps)
{
    struct staged_pass **order = NEW_ARRAY(a, struct staged_pass *, n + 1);
    int *busy = NEW_ARRAY(a, int, warps);
    for (int i = 0; i < n; i++)
        order[i] = &pass[i];
    qsort(order, (size_t)n, sizeof(struct staged_pass *), compare_work);
    for (int i = 0; i < n; i++) {
        int warp = 0;
        for (int k = 1; k < warps; k++)
            warp = busy[k] < busy[warp] ? k : warp;
        order[i]->warp = warp;
        busy[warp] += order[i]->work;
    }
}

/* ---- teams ---- */

/* Gradients of weights take the place of weights that are read, each of another input. */
static void find_places(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    int next = 0;
    g->in_place = NEW_ARRAY(a, int, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++) {
        g->in_place[o] = -1;
        if (demand_operand(d, o)->slot != SLOT_W || demand_operand(d, o)->index != INDEX_ITEM ||
            g->any_others)
            continue;
        while (next < d->kernel->form->inputs &&
               (d->kernel->form->input[next].slot != SLOT_W || !demand_reads(d, next)))
            next++;
        if (next < d->kernel->form->inputs)
            g->in_place[o] = next++;
    }
}

static bool fits(struct arena *scratch, struct staged *g, int stages, int teams)
{
    staged_layout(scratch, g, stages, teams);
    bool does = g->block->bytes <= g->device->shared_bytes;
    arena_empty(scratch);
    return does;
}

/* As many teams as shared memory holds, each of so many warps that there are enough; then longer rings. */
static bool choose(struct arena *a, struct staged *g, int stages, int warps)
{
    struct arena *scratch = arena_scratch(a);
    const bool passes = g->columns + g->rows > 0;
    int teams = passes ? TEAMS_MOST : TEAMS_ALONE, least = stages ? stages : 1;
    g->warps = 1;
    while (teams > 0 && !fits(scratch, g, least, teams))
        teams--;
    if (teams == 0)
        return false;
    while (passes && g->warps < TEAM_WARPS && (g->warps + 1) * teams <= (warps ? warps : WARPS))
        g->warps++;
    while (teams > 1 && !fits(scratch, g, least, teams)) /* each warp has sums of y */
        teams--;
    int most = least;
    while (!stages && most < STAGES_MOST && fits(scratch, g, most + 1, teams))
        most++;
    staged_layout(a, g, most, teams);
    return g->block->bytes <= g->device->shared_bytes;
}

/* Instructions of a path that a warp does by itself. */
static double other_work(const struct demand *d, int path)
{
    const double per_call = 40, per_access = 2;
    const struct path_plan *e = &d->plan->path[path];
    const struct variant *v = &d->variant[d->variant_of[path]];
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

/* As evaluations of graphs count: instructions of a warp per item, bytes at so many an instruction. */
static double cost_of(struct staged *g)
{
    const double bytes_per_instruction = 6, per_item = 300;
    const struct demand *d = g->demand;
    g->work = per_item;
    for (int i = 0; i < g->columns; i++)
        g->work += g->column[i].work;
    for (int i = 0; i < g->rows; i++)
        g->work += g->row[i].work;
    const double waiting = (double)WARPS / (g->teams * g->warps); /* too few warps issue too little */
    for (int i = 0; i < d->plan->problem->paths; i++)
        if (g->others[i])
            g->work += other_work(d, i) * (waiting > 1 ? waiting : 1);
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i))
            g->bytes += kernel_size(d->kernel) * (double)kernel_input(d->kernel, i)->dim;
    for (int o = 0; o < d->outputs; o++)
        g->bytes += kernel_size(d->kernel) * (double)demand_operand(d, o)->dim;
    double bytes = g->bytes / bytes_per_instruction, longer = g->work > bytes ? g->work : bytes;
    return longer + 0.4 * (g->work + bytes - longer);
}

const char *staged_plan(struct arena *a, struct schedule *s)
{
    const struct spec *spec = s->demand->plan->problem->spec;
    struct staged *g = NEW(a, struct staged);
    g->demand = s->demand;
    g->device = s->target->device;
    const char *why = item_rows_routes(a, s, true);
    if (why)
        return why;
    divide_paths(a, g);
    find_places(a, g);
    find_columns(a, g);
    find_rows(a, g);
    if (!choose(a, g, knob_value(spec, s->target, KNOB_STAGES), knob_value(spec, s->target, KNOB_WARPS)))
        return "rows larger than shared memory";
    deal(a, g->columns, g->column, g->warps);
    deal(a, g->rows, g->row, g->warps);
    s->own = g;
    s->operations = demand_operations(s->demand);
    s->cost = cost_of(g);
    return NULL;
}
