/* streamed_plan.c - see streamed_plan.h. */
#include "schedule/streamed/streamed_plan.h"
#include "schedule/path.h"

enum {
    RESERVED = 1024, /* bytes that the device takes of each block's shared memory */
    TEAMS_MOST = 15, /* of a block, as there are barriers for so many */
    WARPS = 12,      /* of a multiprocessor, that hide what each waits for */
    TEAM_WARPS = 8,  /* of a team, at most */
    STAGES_MOST = 4, /* of a ring */
    LOAD_WORK = 2,   /* instructions of a turn of a loop beside its multiply-adds, and of a path */
    PATH_WORK = 30
};

/* ---- what it takes ---- */

const char *streamed_refuses(const struct target *target, const struct demand *d)
{
    const struct spec *s = d->plan->problem->spec;
    (void)target;
    if (d->plan->problem->weight_numel == 0 || s->index[SLOT_W] != INDEX_ITEM)
        return "weights not of the item";
    for (int o = 0; o < d->outputs; o++) {
        enum index_kind index = demand_operand(d, o)->index;
        if (index == INDEX_SHARED || (index != INDEX_ITEM && demand_operand(d, o)->slot == SLOT_Y))
            return "sums over items other than those of nodes into x and z";
    }
    return rows_are_aligned(d->kernel, 16) ? NULL : "rows that are no multiple of 16 bytes";
}

const char *streamed_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    const struct path_plan *e = &d->plan->path[p->number];
    (void)target;
    bool can = p->mode == MODE_UVW && p->mul_y == 1 && e->a == SLOT_Y;
    return can ? NULL : "not uvw with one channel of y";
}

/* ---- passes ---- */

int streamed_together(const struct demand *d, const struct path *p)
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

static void add_pass(struct streamed_pass *list, int *n, int segment, int channels, int each, int work)
{
    for (int at = 0; at < channels; at += STREAMED_LANES * each) {
        int rest = (channels - at) / each;
        list[(*n)++] = (struct streamed_pass){.segment = segment,
                                              .first = at,
                                              .lanes = rest < STREAMED_LANES ? rest : STREAMED_LANES,
                                              .channels = each,
                                              .work = work};
    }
}

/* Passes by columns of the segments of z that paths lead to. */
static void find_columns(struct arena *a, struct streamed *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    int most = 0;
    for (int z = 0; z < p->z.n; z++)
        most += p->z.segment[z].mul / STREAMED_LANES + 1;
    g->column = NEW_ARRAY(a, struct streamed_pass, most + 1);
    for (int z = 0; z < p->z.n && demand_outputs_of(d, SLOT_G); z++) {
        int each = STREAMED_LANES, work = 0, mul = p->z.segment[z].mul;
        for (int i = 0; i < p->paths; i++) {
            const struct variant *v = streamed_variant(d, i);
            if (!v || p->path[i].z != z || v->zs == 0)
                continue;
            int can = streamed_together(d, &p->path[i]);
            each = each < can ? each : can;
            work += v->zs * p->path[i].mul_x * (2 * p->path[i].l3 + LOAD_WORK);
        }
        while (each > 1 && mul <= STREAMED_LANES * each / 2) /* no wider than the lanes need */
            each /= 2;
        if (work)
            add_pass(g->column, &g->columns, z, mul, each, work);
    }
}

/* Instructions of a path for the row of weights of a lane. */
static int row_work(const struct demand *d, const struct path *p)
{
    const struct variant *v = streamed_variant(d, p->number);
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
static void find_rows(struct arena *a, struct streamed *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    int most = 0;
    for (int x = 0; x < p->x.n; x++)
        most += p->x.segment[x].mul / STREAMED_LANES + 1;
    g->row = NEW_ARRAY(a, struct streamed_pass, most + 1);
    for (int x = 0; x < p->x.n; x++) {
        int work = 0;
        for (int i = 0; i < p->paths; i++)
            if (streamed_variant(d, i) && p->path[i].x == x)
                work += row_work(d, &p->path[i]);
        if (work)
            add_pass(g->row, &g->rows, x, p->x.segment[x].mul, 1, work);
    }
}

/* Deals passes out to the warps of a team, each, the longest first, to the one with least to do. */
static void deal(struct arena *a, int n, struct streamed_pass *pass, int warps)
{
    int *busy = NEW_ARRAY(a, int, warps);
    bool *dealt = NEW_ARRAY(a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        int next = -1, warp = 0;
        for (int k = 0; k < n; k++)
            if (!dealt[k] && (next < 0 || pass[k].work > pass[next].work))
                next = k;
        for (int k = 1; k < warps; k++)
            warp = busy[k] < busy[warp] ? k : warp;
        dealt[next] = true;
        pass[next].warp = warp;
        busy[warp] += pass[next].work;
    }
}

/* ---- teams ---- */

/* Gradients of weights take the place of weights that are read, each of another input. */
static void find_places(struct arena *a, struct streamed *g)
{
    const struct demand *d = g->demand;
    int next = 0;
    g->in_place = NEW_ARRAY(a, int, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++) {
        g->in_place[o] = -1;
        if (demand_output(d, o)->slot != SLOT_W)
            continue;
        while (next < d->kernel->form->inputs &&
               (d->kernel->form->input[next].slot != SLOT_W || !demand_reads(d, next)))
            next++;
        if (next < d->kernel->form->inputs)
            g->in_place[o] = next++;
    }
}

static bool fits(struct arena *scratch, struct streamed *g, int stages, int teams)
{
    streamed_layout(scratch, g, stages, teams);
    bool does = g->block->bytes <= g->device->shared_bytes;
    arena_empty(scratch);
    return does;
}

/* As many teams as shared memory holds, each of so many warps that there are enough; then longer rings. */
static bool choose(struct arena *a, struct streamed *g, int stages, int warps)
{
    struct arena *scratch = arena_scratch(a);
    int teams = TEAMS_MOST, least = stages ? stages : 1;
    g->warps = 1;
    while (teams > 0 && !fits(scratch, g, least, teams))
        teams--;
    if (teams == 0)
        return false;
    while (g->warps < TEAM_WARPS && (g->warps + 1) * teams <= (warps ? warps : WARPS))
        g->warps++;
    while (teams > 1 && !fits(scratch, g, least, teams)) /* each warp has sums of y */
        teams--;
    int most = least;
    while (!stages && most < STAGES_MOST && fits(scratch, g, most + 1, teams))
        most++;
    streamed_layout(a, g, most, teams);
    return g->block->bytes <= g->device->shared_bytes;
}

/* As evaluations of graphs count: instructions of a warp per item, bytes at so many an instruction. */
static double cost_of(struct streamed *g)
{
    const double bytes_per_instruction = 6, per_item = 300;
    const struct demand *d = g->demand;
    g->work = per_item;
    for (int i = 0; i < g->columns; i++)
        g->work += g->column[i].work;
    for (int i = 0; i < g->rows; i++)
        g->work += g->row[i].work;
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i))
            g->bytes += kernel_size(d->kernel) * (double)kernel_input(d->kernel, i)->dim;
    for (int o = 0; o < d->outputs; o++)
        g->bytes += kernel_size(d->kernel) * (double)demand_operand(d, o)->dim;
    double bytes = g->bytes / bytes_per_instruction, longer = g->work > bytes ? g->work : bytes;
    return longer + 0.4 * (g->work + bytes - longer);
}

static const char *choose_routes(struct arena *a, struct schedule *s)
{
    static const enum route_kind own_row[] = {ROUTE_ITEM}, node[] = {ROUTE_ATOMIC, ROUTE_EDGE_BUFFER};
    const struct demand *d = s->demand;
    const struct spec *spec = d->plan->problem->spec;
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++) {
        bool item = demand_operand(d, o)->index == INDEX_ITEM;
        /* what gathers rows of edges needs their order */
        if (!route_choose(spec, item || !spec->sorted ? 1 : 2, item ? own_row : node, &s->route[o]))
            return "no way to sum as the spec asks";
    }
    return NULL;
}

const char *streamed_plan(struct arena *a, struct schedule *s)
{
    const struct spec *spec = s->demand->plan->problem->spec;
    struct streamed *g = NEW(a, struct streamed);
    g->demand = s->demand;
    g->device = s->target->device;
    const char *why = choose_routes(a, s);
    if (why)
        return why;
    find_places(a, g);
    if (!choose(a, g, knob_value(spec, s->target, KNOB_STAGES), knob_value(spec, s->target, KNOB_WARPS)))
        return "rows larger than shared memory";
    find_columns(a, g);
    find_rows(a, g);
    deal(a, g->columns, g->column, g->warps);
    deal(a, g->rows, g->row, g->warps);
    s->own = g;
    s->flops = demand_flops(s->demand);
    s->cost = cost_of(g);
    return NULL;
}
