/* lanes_plan.c - see lanes_plan.h. */
#include "schedule/lanes/lanes_plan.h"
#include "pipeline/cost.h"

enum {
    RESERVED = 1024, /* bytes that the device takes of each block's shared memory */
    FIT_MOST = 3,    /* blocks of a multiprocessor */
    WARPS_MOST = 8,  /* of a block, that have channels */
    ITEMS_MOST = 8,  /* of a tile: measured, with three stages */
    STAGES_BEST = 3,
    SCHEDULERS = 4, /* of a multiprocessor */
    SPLITS_MOST = 4,
    OTHER_REGISTERS = 16, /* places, and what a turn of the loop over items has */
    COPY_REGISTERS = 14,  /* of warps that copy and have channels */
    SPLIT_REGISTERS = 8   /* of results that are in no input's place */
};

/* ---- groups of segments ---- */

static const char not_alike[] = "cells that are not alike by parity";

/* The partner of segment `of` in the second group; false: it has another one already. */
static bool pair_with(int *partner, int of, int with)
{
    const bool first = partner[of] < 0;
    partner[of] = first ? with : partner[of];
    return partner[of] == with;
}

/* Segments by group from the partners of those of the first one; returns how many a group has. */
static int group_segments(struct arena *a, int groups, int segments, const int *partner, int **list)
{
    int n = 0;
    *list = NEW_ARRAY(a, int, segments + 1);
    for (int i = 0; i < segments; i++)
        n += partner[i] >= 0;
    if (n * groups != segments)
        return 0;
    for (int i = 0, k = 0; i < segments; i++)
        if (partner[i] >= 0) {
            (*list)[k] = i;
            (*list)[(groups - 1) * n + k++] = partner[i];
        }
    return n;
}

static bool find_groups(struct arena *a, struct lanes *g)
{
    const struct nodal *n = g->nodal;
    const struct problem *p = n->demand->plan->problem;
    const int alike = n->job[0].cells;
    int *px = NEW_ARRAY(a, int, p->x.n), *pz = NEW_ARRAY(a, int, p->z.n);
    for (int i = 0; i < p->x.n; i++)
        px[i] = -1;
    for (int i = 0; i < p->z.n; i++)
        pz[i] = -1;
    g->columns = alike > 1 && n->cell[n->job[0].cell[1]].x == n->cell[n->job[0].cell[0]].x ? 2 : 1;
    g->rows = alike / g->columns;
    if (g->rows * g->columns != alike || g->rows > LANES_GROUPS_MOST)
        return false;
    for (int j = 0; j < n->jobs; j++) {
        const struct nodal_job *job = &n->job[j];
        if (job->cells != alike)
            return false;
        const struct nodal_cell *first = &n->cell[job->cell[0]], *last = &n->cell[job->cell[alike - 1]];
        for (int k = 0; k < alike; k++) {
            const struct nodal_cell *cell = &n->cell[job->cell[k]];
            if (cell->x != (k / g->columns ? last : first)->x ||
                cell->z != (k % g->columns ? last : first)->z)
                return false;
        }
        if (!pair_with(px, first->x, last->x) || !pair_with(pz, first->z, last->z))
            return false;
    }
    g->nx = group_segments(a, g->rows, p->x.n, px, &g->x);
    g->nz = group_segments(a, g->columns, p->z.n, pz, &g->z);
    return g->nx && g->nz;
}

/* ---- y ---- */

static bool same_y(const struct lanes_y *y, const int *segment, int n)
{
    bool same = true;
    for (int k = 0; k < n; k++)
        same &= y->segment[k] == segment[k];
    return same;
}

/* Which lanes have the same segment; false: they are not those whose numbers differ by some bits. */
static bool find_bits(struct lanes_y *y, int alike)
{
    int pairs = 0;
    for (int k = 0; k < alike; k++) {
        bool lowest = true;
        for (int other = 0; other < alike; other++) {
            const bool same = y->segment[other] == y->segment[k];
            lowest &= !same || other >= k;
            pairs += same;
            y->bits |= same && k == 0 ? 1 << other : 0;
        }
        y->first |= lowest ? 1u << k : 0;
    }
    int has = 0;
    for (int m = 0; m < alike; m++)
        for (int k = 0; k < alike && (y->bits >> m & 1); k++)
            has += y->segment[k ^ m] == y->segment[k];
    return has == pairs;
}

static bool find_y(struct arena *a, struct lanes *g)
{
    const struct nodal *n = g->nodal;
    const struct problem *p = n->demand->plan->problem;
    const int alike = g->rows * g->columns;
    int *uses = NEW_ARRAY(a, int, p->y.n);
    g->y = NEW_ARRAY(a, struct lanes_y, p->y.n + 1);
    for (int j = 0; j < n->jobs; j++)
        for (int i = 0; i < n->cell[n->job[j].cell[0]].paths; i++) {
            struct lanes_y y = {.before = g->dy};
            int known = 0;
            for (int k = 0; k < alike; k++)
                y.segment[k] = p->path[n->cell[n->job[j].cell[k]].path[i]].y;
            while (known < g->ys && !same_y(&g->y[known], y.segment, alike))
                known++;
            if (known < g->ys)
                continue;
            if (g->ys == p->y.n || !find_bits(&y, alike))
                return false;
            for (int k = 0; k < alike; k++)
                uses[y.segment[k]] += y.first >> k & 1;
            y.components = 2 * p->y.segment[y.segment[0]].ir.l + 1;
            g->dy += y.components;
            g->y[g->ys++] = y;
        }
    bool once = true;
    for (int i = 0; i < p->y.n; i++)
        once &= uses[i] == 1;
    return once;
}

/* ---- directions ---- */

bool lanes_turns(const struct lanes *g)
{
    const struct nodal *n = g->nodal;
    bool both = false;
    for (int i = 0; i < n->operands; i++)
        for (int k = 0; k < i; k++)
            both |= n->operand[i].matrix == n->operand[k].matrix;
    return !both;
}

bool lanes_joins(const struct lanes *g, enum slot output)
{
    return output == SLOT_G ? g->rows > 1 : g->columns > 1;
}

/* ---- what it costs ---- */

/* The part of a lane's components that a warp has, at most. */
static int part_of(const struct lanes *g, int components)
{
    return (components + g->splits - 1) / g->splits;
}

/* Numbers that a lane loads of an item's rows. */
static int loaded(const struct lanes *g)
{
    const struct demand *d = g->nodal->demand;
    int n = 0;
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->index == INDEX_ITEM)
            n += kernel_input(d->kernel, i)->slot == SLOT_X ? g->dx
                 : g->nodal->outers                         ? part_of(g, g->dz)
                                                            : g->dz;
    return n;
}

/* Elements that a lane has of all matrices and sums. */
static int kept(const struct lanes *g)
{
    const struct nodal *n = g->nodal;
    int elements = n->outers * g->dx * part_of(g, g->dz);
    for (int i = 0; i < n->operands; i++)
        elements += n->operand[i].back ? part_of(g, g->dx) * g->dz : g->dx * part_of(g, g->dz);
    return lanes_turns(g) ? elements : (n->matrices + n->outers) * g->dx * g->dz;
}

/* Registers of a thread with channels. */
static int registers_needed(const struct lanes *g)
{
    const int words = kernel_size(g->nodal->demand->kernel) / 4, most = g->dx > g->dz ? g->dx : g->dz;
    const int numbers = kept(g) + loaded(g) + (g->nodal->products ? part_of(g, most) : 0);
    return numbers * words + OTHER_REGISTERS + (g->copiers ? 0 : COPY_REGISTERS) +
           (g->splits > 1 ? SPLIT_REGISTERS : 0);
}

/* Instructions of all warps per item, where a node has so many. */
static void find_work(struct lanes *g)
{
    const struct nodal *n = g->nodal;
    const struct demand *d = n->demand;
    const double turn = 12, tile = 250, copies = 2.5, items = 16, making = 4, flowing = 6;
    double work =
        turn + tile / g->items + loaded(g) + (n->products + n->outers) * g->dx * g->dz / (double)g->splits;
    for (int o = 0; o < d->outputs; o++)
        if (demand_operand(d, o)->index == INDEX_ITEM)
            work += 2.5 * part_of(g, demand_operand(d, o)->slot == SLOT_X ? g->dx : g->dz);
    work += (n->matrices * making + n->outers * flowing) * g->dx * g->dz / g->splits / items;
    g->work = work * g->splits * n->mul / g->lanes + copies * n->bytes / 16 / NODAL_LANES;
}

/* As paired items count: instructions of a warp per item, bytes at so many an instruction. Measured: warps
 * that copy and have channels take a fifth longer. */
static double cost_of(const struct lanes *g)
{
    const double few_warps = 2, both = 1.22, few_stages = 1.02;
    const int warps = g->fit * (g->warps + g->copiers);
    const double bytes = g->nodal->bytes / COST_BYTES_AN_INSTRUCTION * (1 + 1.0 / warps);
    return cost_overlap(g->work * (warps + few_warps) / warps, bytes) * (g->copiers ? 1 : both) *
           (g->stages < STAGES_BEST ? few_stages : 1);
}

/* ---- how many ---- */

/* Do tiles fit, of as many items as copiers can divide, with so many stages? */
static bool choose_items(struct arena *a, struct lanes *g, int stages)
{
    g->stages = stages;
    for (g->items = ITEMS_MOST; g->items > 0; g->items--) {
        if (g->copiers && g->items % g->copiers)
            continue;
        lanes_layout(a, g);
        if (g->block.bytes <= (g->nodal->device->shared_bytes + RESERVED) / g->fit - RESERVED)
            return true;
    }
    return false;
}

/* Registers of a thread: each scheduler of a multiprocessor has its share of the warps, and of the registers.
 */
static int registers_of(const struct lanes *g)
{
    const int warps = g->fit * (g->warps + g->copiers);
    return device_registers(g->nodal->device, (warps + SCHEDULERS - 1) / SCHEDULERS * SCHEDULERS);
}

/* The most channels that divide all of them evenly. */
static bool choose_channels(struct lanes *g)
{
    g->lanes = NODAL_LANES / (g->rows * g->columns);
    for (g->warps = WARPS_MOST; g->warps > 0; g->warps -= g->splits)
        if (g->nodal->mul % lanes_channels(g) == 0)
            return true;
    return false;
}

/* The blocks of a multiprocessor, warps that only copy, and stages that cost least. */
static bool choose(struct arena *a, struct lanes *g, const struct schedule *s)
{
    static const int copiers[] = {4, 2, 1, 0};
    const int warps = knob_value(s, KNOB_WARPS), stages = knob_value(s, KNOB_STAGES);
    struct lanes best = *g, next = *g;
    double least = 0;
    for (next.fit = 1; next.fit <= FIT_MOST; next.fit++)
        for (int i = 0; i < 4; i++)
            for (int n = stages ? stages : 2; n <= (stages ? stages : STAGES_BEST); n++) {
                next.copiers = copiers[i];
                next.registers = registers_needed(&next);
                if ((warps && warps != next.fit * (next.warps + next.copiers)) ||
                    next.registers > registers_of(&next) || !choose_items(a, &next, n))
                    continue;
                find_work(&next);
                if (least == 0 || cost_of(&next) < least) {
                    best = next;
                    least = cost_of(&next);
                }
            }
    *g = best;
    if (least > 0)
        lanes_layout(a, g); /* of this struct */
    return least > 0;
}

/* In as few parts as registers allow; matrices that are read in one direction, and either these or sums. */
static const char *choose_splits(struct arena *a, struct lanes *g, const struct schedule *s)
{
    const bool may = lanes_turns(g) && (!g->nodal->products || !g->nodal->outers);
    const int least = g->dx < g->dz ? g->dx : g->dz; /* each part has some of them */
    const int most = !may ? 1 : least < SPLITS_MOST ? least : SPLITS_MOST;
    bool fills = false;
    for (g->splits = 1; g->splits <= most; g->splits *= 2)
        if (choose_channels(g)) {
            fills = true;
            if (choose(a, g, s))
                return NULL;
        }
    return fills ? "rows larger than shared memory, or matrices than registers"
                 : "channels that do not fill warps";
}

const char *lanes_plan(struct arena *a, struct schedule *s)
{
    struct lanes *g = NEW(a, struct lanes);
    const char *why = nodal_routes(a, s);
    if (why)
        return why;
    *g = (struct lanes){.nodal = nodal_begin(a, s)};
    if (!find_groups(a, g) || !find_y(a, g))
        return not_alike;
    g->dx = g->nodal->dx / g->rows;
    g->dz = g->nodal->dz / g->columns;
    why = choose_splits(a, g, s);
    if (why)
        return why;
    s->own = g;
    s->cost = cost_of(g);
    s->operations.fma = (double)(g->nodal->products + g->nodal->outers) * g->dx * g->dz * g->rows *
                        g->columns * g->nodal->mul;
    return NULL;
}
