/* paired_plan.c - see paired_plan.h. */
#include "schedule/paired/paired_plan.h"
#include "pipeline/cost.h"

#include "schedule/item_rows.h"

#include <math.h>
#include <string.h>

enum {
    RESERVED = 1024,  /* bytes that the device takes of each block's shared memory */
    TEAMS_MOST = 15,  /* of a block, as there are barriers for so many */
    WARPS_MOST = 32,  /* of a block */
    GROUPS_MOST = 4,  /* of a team */
    LOOP_VALUES = 12, /* registers of the loop over items; words of passing values */
    PASSING_VALUES = 24,
    ITEM_WORK = 60,       /* instructions of a warp for copies and barriers of an item */
    CODE_INSTRUCTION = 16 /* bytes */
};

/* ---- what it takes ---- */

const char *paired_refuses(const struct target *target, const struct demand *d)
{
    const struct problem *p = d->plan->problem;
    const enum index_kind *index = p->spec->index;
    double bytes = 0;
    bool others = false;
    for (int i = 0; i < p->paths; i++)
        others |= d->variant_of[i] >= 0 && p->path[i].mode != MODE_UUU;
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->index == INDEX_SHARED && q->slot != SLOT_W)
            return "sums of x, y or z over all items";
        if (q->index == INDEX_SHARED && others)
            return "sums over all items of paths that are not tied";
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        if (index[slot] != INDEX_SHARED)
            bytes += (double)p->dim[slot] * kernel_size(d->kernel);
    return bytes > target->device->shared_bytes ? "rows larger than shared memory" : NULL;
}

const char *paired_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    (void)target;
    (void)d;
    return p->mode != MODE_UUU ? "channels are not tied (uuu)" : NULL;
}

/* ---- work ---- */

/* Instructions of a thread for a set. */
static int set_work(const struct demand *d, const struct paired_set *s)
{
    const int words = kernel_size(d->kernel) / 4;
    int work = 2 * s->values / words;
    for (int i = 0; i < s->paths; i++) {
        if (s->together[i])
            work += code_instructions(paired_code(d, s, i)->channel);
        if (d->plan->problem->path[s->path[i]].weighted)
            work += demand_inputs_of(d, SLOT_W) + 2 * demand_outputs_of(d, SLOT_W);
    }
    return work;
}

static void find_bytes(struct paired *g)
{
    const struct demand *d = g->demand;
    for (int i = 0; i < d->kernel->form->inputs + d->outputs; i++) {
        bool output = i >= d->kernel->form->inputs;
        const struct operand *q =
            output ? demand_operand(d, i - d->kernel->form->inputs) : kernel_input(d->kernel, i);
        if ((output || demand_reads(d, i)) && q->index != INDEX_SHARED)
            g->bytes += operand_size(q) * (double)q->dim;
    }
}

/* Instructions of all warps for an item. */
static void find_work(struct paired *g)
{
    g->work = ITEM_WORK * g->warps;
    for (int k = 0; k < g->kinds; k++) {
        g->kind[k].work = set_work(g->demand, &g->set[g->kind[k].first]);
        g->work += (double)g->kind[k].work * g->kind[k].sets * paired_threads(g) / PAIRED_LANES;
    }
    g->work /= g->items;
}

/* Bytes per item that leave registers for caches, and come back. Measured: of forms and what flows back to
 * them two are alive at once, of all those of a path's matrix. */
static double spilled_bytes(const struct paired *g)
{
    enum { ADDRESSES = 16 }; /* of threads alone, beside LOOP_VALUES */
    const int words = kernel_size(g->demand->kernel) / 4,
              most = device_registers(g->device, g->teams * g->blocks * g->warps);
    double bytes = 0;
    for (int i = 0; i < g->sets; i++) {
        const struct paired_set *s = &g->set[i];
        const int over = s->values + 2 * words * s->forms - LOOP_VALUES + (g->direct ? ADDRESSES : 0) - most;
        bytes += over > 0 ? 2.0 * 4 * over * s->lanes : 0;
    }
    return bytes;
}

/* As evaluations of graphs count: instructions of a warp per item, bytes at so many an instruction. That more
 * warps issue hardly more was measured: instructions with three operands in registers wait for these, not for
 * each other. */
static double cost_of(const struct paired *g)
{
    const double in_place = 1.15, code_misses = 1.3, alone = 1.1, caches_faster = 3;
    const int warps = g->teams * g->blocks * g->warps;
    const double issue = warps / (warps + 1.0);
    double code = 0;
    for (int k = 0; k < g->kinds; k++)
        code += (double)g->kind[k].work * CODE_INSTRUCTION;
    double bytes =
               (g->bytes + spilled_bytes(g) / caches_faster) / COST_BYTES_AN_INSTRUCTION * (1 + 1.0 / warps),
           work = g->work / issue;
    work *= (g->teams * g->blocks == 1 ? alone : 1) * (g->in_place ? in_place : 1) *
            (code > g->device->code_bytes ? code_misses : 1);
    return cost_overlap(work, bytes);
}

/* What a team of several items of nodes waits beside: for their numbers, for their nodes and for these nodes'
 * runs, one after the other, before it asks for rows. Measured: 5 us a turn, here in instructions per item.
 */
static double indices_cost(const struct paired *g)
{
    const double turn = 36000;
    return g->owner != INDEX_ITEM && g->items > 1 && !g->direct ? turn / (g->teams * g->blocks * g->items)
                                                                : 0;
}

/* ---- teams ---- */

/* The warps of a group, as few as fill lanes well, and the items of a team. */
static void choose_items(struct paired *g, int *group_warps)
{
    int most = 1;
    double best = 0;
    for (int i = 0; i < g->sets; i++)
        most = g->set[i].lanes > most ? g->set[i].lanes : most;
    for (int warps = (most + PAIRED_LANES - 1) / PAIRED_LANES; warps <= PAIRED_CHANNELS_MOST / PAIRED_LANES;
         warps++) {
        int items = warps * PAIRED_LANES / most;
        double full = (double)items * most / (warps * PAIRED_LANES);
        if (full < 1.1 * best)
            continue;
        best = full;
        g->items = items;
        *group_warps = warps;
    }
}

/* Is every element of every row of results made by a path? */
static bool covers(struct arena *a, const struct paired *g)
{
    const struct demand *d = g->demand;
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        bool *there = NEW_ARRAY(a, bool, q->blocks + 1);
        int64_t made = 0;
        for (int p = 0; p < d->plan->problem->paths; p++) {
            const struct operand_block *b = operand_block_of(q, &d->plan->problem->path[p]);
            if (d->variant_of[p] < 0 || there[b - q->block])
                continue;
            there[b - q->block] = true;
            made += b->channels * b->components;
        }
        if (q->index != INDEX_SHARED && made < q->dim)
            return false;
    }
    return true;
}

static bool fits(struct arena *a, struct paired *g)
{
    struct arena *scratch = arena_scratch(a);
    paired_layout(scratch, g);
    bool does = g->block->bytes <= (g->device->shared_bytes + RESERVED) / g->blocks - RESERVED;
    arena_empty(scratch);
    return does;
}

/* As many teams as there are to be warps on a multiprocessor and shared memory holds; false: none. */
static bool choose_teams(struct arena *a, struct paired *g, int warps)
{
    int teams = warps / g->warps;
    if (teams == 0)
        return false;
    g->blocks = (teams + TEAMS_MOST - 1) / TEAMS_MOST;
    while (teams / g->blocks * g->warps > WARPS_MOST)
        g->blocks++;
    g->teams = teams / g->blocks;
    while (g->teams > 0 && !fits(a, g))
        g->teams--;
    return g->teams > 0;
}

/* ---- threads alone ---- */

bool paired_may_be_direct(const struct schedule *s, const struct paired *g)
{
    const struct problem *p = s->demand->plan->problem;
    bool may = g->owner != INDEX_ITEM && g->sets == 1 && p->spec->index[SLOT_W] != INDEX_SHARED;
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct operand *q = demand_operand(s->demand, o);
        may &= s->route[o].kind != ROUTE_ATOMIC && (q->slot != SLOT_W || q->index == INDEX_ITEM);
    }
    return may;
}

/* Lines of 128 bytes that loads and stores of an item meet, all channels together, but those of its node:
 * neighbouring lanes' components are as far apart as a channel's are many, so that each of these meets all of
 * the lines. */
static double lines_of(const struct paired *g)
{
    const struct demand *d = g->demand;
    const double line = 128;
    double lines = 0;
    for (int i = 0; i < d->kernel->form->inputs + d->outputs; i++) {
        const bool output = i >= d->kernel->form->inputs;
        const struct operand *q =
            output ? demand_operand(d, i - d->kernel->form->inputs) : kernel_input(d->kernel, i);
        if ((!output && !demand_reads(d, i)) || q->index == g->owner)
            continue;
        for (int part = 0; part < (q->slot == SLOT_W ? 0 : g->set->parts[q->slot]); part++) {
            const struct operand_block *b = &q->block[g->set->part[q->slot][part]];
            lines += (double)b->components * (double)b->channel * operand_size(q) * g->set->lanes / line;
        }
    }
    return lines;
}

/* The way of threads that wait for no others: takes it over if it is the best so far. */
static void try_direct(const struct schedule *s, struct paired *best, double *cost,
                       const struct paired *divided, bool whole, int warps)
{
    enum { TEAMS = 4, INDEX_WORK = 40 }; /* instructions for an item's numbers */
    const double instructions_per_line = 4;
    struct paired g = *divided;
    if (!whole || !paired_may_be_direct(s, &g) || warps % TEAMS)
        return;
    g.direct = true;
    g.groups = g.warps = g.items = 1;
    g.teams = TEAMS;
    g.blocks = warps / TEAMS;
    g.kind->work = set_work(g.demand, g.set);
    g.work = (g.kind->work + INDEX_WORK) * (double)g.set->lanes / PAIRED_LANES;
    const double by_lines = instructions_per_line * lines_of(&g);
    g.work = g.work > by_lines ? g.work : by_lines;
    const double mine = cost_of(&g);
    if (mine < *cost) {
        *cost = mine;
        *best = g;
    }
}

/* Ways in which what is divided into sets can be worked on: takes over the best so far. */
static void try_ways(struct arena *a, struct paired *best, double *cost, const struct paired *divided,
                     int warps, bool whole)
{
    int group_warps = 1;
    struct paired g = *divided;
    choose_items(&g, &group_warps);
    for (g.groups = 1; g.groups <= GROUPS_MOST && g.groups <= g.sets; g.groups++)
        for (int way = 0; way < 4; way++) {
            g.warps = g.groups * group_warps;
            g.keeps_weights = way % 2 == 0;
            g.in_place = way / 2 == 1;
            if ((g.in_place && (!whole || !paired_reads_once(&g))) || !choose_teams(a, &g, warps))
                continue;
            find_work(&g);
            double mine = indices_cost(&g) + cost_of(&g) * (paired_rounds(&g) * g.groups) / g.sets *
                                                 (g.keeps_weights ? 1 : 1.02);
            if (mine < *cost) {
                *cost = mine;
                *best = g;
            }
        }
}

static int registers_of(const struct paired *g)
{
    int most = 0;
    for (int i = 0; i < g->sets; i++)
        most = paired_words(g->demand, &g->set[i]) > most ? paired_words(g->demand, &g->set[i]) : most;
    return most + LOOP_VALUES + PASSING_VALUES * kernel_size(g->demand->kernel) / 4;
}

const char *paired_plan(struct arena *a, struct schedule *s)
{
    static const int warps[] = {32, 28, 24, 20, 16, 12, 10, 8};
    const int asked = knob_value(s, KNOB_WARPS);
    struct paired *best = NEW(a, struct paired), g = {.demand = s->demand, .device = s->target->device};
    const char *why = item_rows_routes(a, s, false);
    if (why)
        return why;
    find_bytes(&g);
    g.owner = item_rows_owner(s, NULL, false);
    const bool whole = covers(a, &g);
    const int others = LOOP_VALUES + PASSING_VALUES * kernel_size(s->demand->kernel) / 4;
    s->cost = HUGE_VAL;
    for (int rule = 0; rule < PAIRED_RULES; rule++)
        for (int i = 0; i < (int)(sizeof warps / sizeof *warps); i++)
            if ((!asked || warps[i] == asked) &&
                paired_divide(a, &g, rule, device_registers(g.device, warps[i]) - others)) {
                try_ways(a, best, &s->cost, &g, warps[i], whole);
                try_direct(s, best, &s->cost, &g, whole, warps[i]);
            }
    if (!best->teams)
        return "rows and weights larger than shared memory";
    s->cost -= indices_cost(best); /* which others have as well, uncounted */
    paired_layout(a, best);
    s->own = best;
    for (int i = 0; i < best->sets; i++)
        for (int k = 0; k < best->set[i].paths; k++)
            if (best->set[i].together[k])
                operations_add(&s->operations, paired_code(s->demand, &best->set[i], k)->channel,
                               best->set[i].lanes);
    s->spills = registers_of(best) > device_registers(best->device, best->teams * best->blocks * best->warps);
    return NULL;
}
