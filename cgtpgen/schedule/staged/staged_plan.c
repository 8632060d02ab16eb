/* staged_plan.c - see staged_plan.h. */
#include "schedule/staged/staged_plan.h"
#include "pipeline/cost.h"
#include "schedule/item_device.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"
#include "schedule/path_table.h"

enum {
    TEAMS_MOST = 15,  /* of a block, as there are barriers for so many */
    WARPS = 12,       /* of a multiprocessor, that hide what each waits for */
    WARPS_ALONE = 24, /* the same where all paths' channels are divided, no weights connect them, and
                         registers suffice */
    WARPS_ROWS = 16,  /* the same of edges where weights connect no channels */
    ROWS_SPILLED = 4, /* registers of a thread that these may lack */
    TEAMS_ALONE = 24, /* of one warp */
    SCHEDULERS = 4,   /* of a multiprocessor, which divide its registers */
    ROWS_LEAST = 8,   /* lanes that work by rows, or the path is done otherwise */
    YS_MOST = 8,      /* channels of y, each of which a lane has a row of weights for */
    Y_MOST = 64,      /* elements of y, whose gradients a lane sums in registers */
    TEAM_WARPS = 12,  /* of a team, at most */
    STAGES_MOST = 4,  /* of a ring */
    TEAMS_WHOLE = 8,  /* whose items come as a whole where these have room */
    PARTS_LEAST = 3,  /* of an item otherwise, each of which has its code */
    PARTS = 4,        /* at most where these have room */
    PARTS_MOST = 64,
    HELD_WORDS = 16,       /* of a lane's sums of z at nodes */
    INSTRUCTION = 16,      /* bytes */
    CODE_APART = 56 << 10, /* bytes of passes, up to which each has its own code */
    CODE_LONG = 256 << 10, /* the same of parts: warps then wait for each other, too */
    CODE_CACHED = 96 << 10 /* that caches hold, as half as much comes beside it */
};

/* ---- what it takes ---- */

/* Is a path computed by passes: are its results an item's own, but gradients of weights? */
static bool by_passes(const struct demand *d, const struct path *p)
{
    for (int o = 0; o < d->outputs; o++)
        if (demand_operand(d, o)->slot != SLOT_W && demand_operand(d, o)->index == INDEX_SHARED)
            return false;
    const bool channelwise = p->mode == MODE_UVU || p->mode == MODE_UVUV;
    return (channelwise || (p->mode == MODE_UVW && d->plan->path[p->number].a == SLOT_Y)) &&
           p->mul_y <= YS_MOST && p->mul_x >= ROWS_LEAST && d->plan->problem->dim[SLOT_Y] <= Y_MOST;
}

/* Do the pipelined evaluations take all paths, whose rows lanes copy by 16 bytes? */
static bool all_pipelined(const struct target *target, const struct demand *d)
{
    const struct spec *spec = d->plan->problem->spec;
    const enum index_kind x = spec->index[SLOT_X], z = spec->index[SLOT_G];
    bool all = (x == INDEX_ITEM && z == INDEX_ITEM) || (x == INDEX_SENDER && z == INDEX_RECEIVER);
    int aligned[SLOT_COUNT];
    demand_aligned(d, aligned);
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++)
        all &= aligned[d->kernel->operand[i].slot] * operand_size(&d->kernel->operand[i]) % 16 == 0;
    for (int i = 0; i < d->plan->problem->paths && all; i++)
        all = d->variant_of[i] < 0 || path_is_pipelined(target->device, spec, &d->plan->problem->path[i]);
    return all;
}

const char *staged_refuses(const struct target *target, const struct demand *d)
{
    return all_pipelined(target, d) && !paths_want_tables(target, d) ? "left to pipelined evaluations" : NULL;
}

/* Paths that are done one after the other need all of an item's rows. */
const char *staged_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    if (d->plan->problem->spec->index[SLOT_W] != INDEX_SHARED && !by_passes(d, p) &&
        demand_row_bytes(d, false) > target->device->shared_bytes)
        return "rows larger than shared memory, and not uvw of 8 channels of x or more and 8 of y or fewer";
    return NULL;
}

/* Is output number o of the demand made of elements that each belong to one channel of A, which are divided
 * among warps, by all paths that are not computed by passes? Then these are the only ones that lead to their
 * segments of z. */
static bool is_apart(struct arena *a, const struct staged *g, int o)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    const enum slot slot = demand_operand(d, o)->slot;
    bool *met = NEW_ARRAY(a, bool, p->z.n + 1); /* segments of z */
    for (int i = 0; i < p->paths; i++) {
        const struct path_plan *e = &d->plan->path[i];
        if (!g->others[i])
            continue;
        if (g->tables && g->tables[i] /* a warp's as a whole */
                ? slot != SLOT_G
                : path_channels_a(e) == 1 ||
                      (slot != e->a && (slot != SLOT_G || e->contracted || !e->strided)))
            return false;
        if (slot == SLOT_G && met[p->path[i].z])
            return false;
        met[p->path[i].z] = true;
    }
    return true;
}

/* May a team's warps divide the paths without passes: are sums over all items those of one warp, and is there
 * more than one could do? */
static void find_divisible(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    int others = 0;
    g->apart = NEW_ARRAY(a, bool, d->outputs + 1);
    for (int i = 0; i < d->plan->problem->paths; i++)
        others += g->others[i] ? path_channels_a(&d->plan->path[i]) : 0;
    g->divisible = others > 1;
    for (int o = 0; o < d->outputs; o++) {
        g->divisible &= demand_operand(d, o)->slot == SLOT_W || demand_operand(d, o)->index != INDEX_SHARED;
        g->apart[o] = is_apart(a, g, o);
    }
}

/* Registers of a lane, about: what a path's code has of operands, forms of each channel of y where it has
 * them all, and all gradients of y that passes sum. */
static int registers_of(const struct staged *g)
{
    const int others = 44;
    const struct demand *d = g->demand;
    const struct kernel_form *k = d->kernel->form;
    int most = 0,
        sums = g->whole.pieces ? demand_outputs_of(d, SLOT_Y) * (int)(g->sums_to - g->sums_from) : 0;
    for (int i = 0; i < d->plan->problem->paths; i++) {
        const struct path *p = &d->plan->problem->path[i];
        const struct variant *v = d->variant_of[i] < 0 ? NULL : &d->variant[d->variant_of[i]];
        if (g->tables && g->tables[i]) /* whose sums are few */
            continue;
        int words = v ? (v->ts + v->ps) * d->plan->path[i].matrix->columns : 0;
        for (int in = 0; v && in < k->inputs; in++)
            if (demand_reads(d, in))
                words += k->input[in].slot == SLOT_W ? 1
                         : k->input[in].slot == SLOT_Y && g->passes[i] && !staged_connects(p)
                             ? g->matrix[i]->forms
                             : 2 * path_degree(p, k->input[in].slot) + 1;
        for (int o = 0; v && o < d->outputs; o++)
            if (demand_output(d, o)->slot != SLOT_W)
                words += 2 * path_degree(p, demand_output(d, o)->slot) + 1;
        most = most > words ? most : words;
    }
    return others + (most + sums) * kernel_size(d->kernel) / 4;
}

/* How many warps of a multiprocessor are enough. */
static int warps_enough(const struct staged *g)
{
    bool all = g->divisible && g->whole.pieces == 0;
    for (int i = 0; i < g->demand->plan->problem->paths; i++) {
        const struct path_plan *e = &g->demand->plan->path[i];
        all &= !g->others[i] || (g->tables && g->tables[i]) || (path_channels_a(e) > 1 && !e->contracted);
    }
    return all && device_registers(g->device, WARPS_ALONE) >= registers_of(g) ? WARPS_ALONE : WARPS;
}

/* Which paths are computed by passes. */
static void divide_paths(struct arena *a, struct staged *g)
{
    const struct demand *d = g->demand;
    const struct plan *plan = d->plan;
    const int paths = plan->problem->paths;
    g->passes = NEW_ARRAY(a, bool, paths + 1);
    g->others = NEW_ARRAY(a, bool, paths + 1);
    for (int i = 0; i < paths; i++) {
        g->passes[i] =
            d->variant_of[i] >= 0 && !(g->tables && g->tables[i]) && by_passes(d, &plan->problem->path[i]);
        g->others[i] = d->variant_of[i] >= 0 && !g->passes[i];
        g->any_others |= g->others[i];
    }
    g->scratch = item_scratch(d, g->others, g->tables);
    find_divisible(a, g);
}

/* Which elements of y passes sum gradients of: from the first to the last that one of their paths reads. */
static void find_sums(struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    g->sums_from = p->dim[SLOT_Y];
    for (int i = 0; i < p->paths; i++) {
        const struct segment *y = &p->y.segment[p->path[i].y];
        if (!g->passes[i])
            continue;
        const bool whole = !staged_takes_ys(&p->path[i]);
        const int64_t from = whole ? 0 : y->offset,
                      to = whole ? p->dim[SLOT_Y] : y->offset + (int64_t)y->mul * (2 * y->ir.l + 1);
        g->sums_from = g->sums_from < from ? g->sums_from : from;
        g->sums_to = g->sums_to > to ? g->sums_to : to;
    }
}

/* Which paths add to z by rows: those to segments that columns make before, or other rows. */
static void find_added(struct arena *a, struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    int *rows = NEW_ARRAY(a, int, p->z.n + 1);
    bool *columns = NEW_ARRAY(a, bool, p->z.n + 1);
    for (int i = 0; i < p->paths; i++) {
        rows[p->path[i].z] += g->passes[i] && !staged_connects(&p->path[i]);
        columns[p->path[i].z] |= g->passes[i] && staged_connects(&p->path[i]);
    }
    g->added = NEW_ARRAY(a, bool, p->paths + 1);
    for (int i = 0; i < p->paths; i++) {
        const int z = p->path[i].z;
        g->added[i] = g->passes[i] && !staged_connects(&p->path[i]) && (columns[z] || rows[z] > 1);
        g->adds |= g->added[i] && !columns[z];
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
        if (demand_operand(d, o)->slot != SLOT_W || demand_operand(d, o)->index != INDEX_ITEM)
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

/* What a spec sets; 0: nothing. */
struct staged_knobs {
    int stages, warps, parts;
};

/* So many teams that together with their warps there are enough, where each warp has rows of results of its
 * own; false: none have room. */
static bool choose_warps(struct arena *scratch, struct staged *g, int stages, int most, int enough)
{
    int teams = 0, warps = 0;
    for (int t = most; t > 0; t--) {
        g->warps = enough / t < TEAM_WARPS ? enough / t : TEAM_WARPS;
        while (g->warps > 0 && !fits(scratch, g, stages, t))
            g->warps--;
        if (t * g->warps > teams * warps) {
            teams = t;
            warps = g->warps;
        }
    }
    g->warps = warps;
    g->teams = teams;
    return teams > 0;
}

/* Are paths computed by rows alone, of edges, whose weights connect no channels? */
static bool by_rows_alone(const struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    bool all = g->whole.pieces > 0 && !g->any_others && spec_is_graph(p->spec);
    for (int i = 0; i < g->whole.pieces; i++)
        all &= !staged_connects(&p->path[g->whole.piece[i].path]);
    return all;
}

/* Of how many teams of one warp, which need no barriers, more than otherwise may be enough: such items'
 * instructions wait for each other. Registers are for as many as there are. */
static int teams_alone(struct arena *scratch, struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    bool may = true;
    for (int i = 0; i < g->whole.pieces; i++)
        may &= !staged_connects(&p->path[g->whole.piece[i].path]);
    for (int teams = TEAMS_ALONE; may && teams > TEAMS_MOST; teams -= SCHEDULERS)
        if (device_registers(g->device, teams) >= registers_of(g) && fits(scratch, g, 2, teams))
            return teams;
    return TEAMS_MOST;
}

/* As many teams as shared memory holds, each of so many warps that there are enough; then longer rings. */
static bool choose_teams(struct arena *a, struct staged *g, const struct staged_knobs *knob)
{
    struct arena *scratch = arena_scratch(a);
    const bool passes = g->whole.pieces > 0;
    const int least = knob->stages         ? knob->stages
                      : staged_in_parts(g) ? 2
                                           : 1,
              enough = knob->warps        ? knob->warps
                       : by_rows_alone(g) ? WARPS_ROWS
                                          : warps_enough(g),
              registers = registers_of(g) - (by_rows_alone(g) ? ROWS_SPILLED : 0);
    int teams = teams_alone(scratch, g);
    g->warps = 1;
    while (teams > 0 && !fits(scratch, g, least, teams))
        teams--;
    if (teams == 0)
        return false;
    if (g->divisible && teams < enough) {
        choose_warps(scratch, g, least, teams, enough);
        teams = g->teams;
    }
    while (passes && !g->divisible && g->warps < TEAM_WARPS && (g->warps + 1) * teams <= enough &&
           (knob->warps || registers <= device_registers(g->device, (g->warps + 1) * teams)))
        g->warps++;
    while (teams > 1 && !fits(scratch, g, least, teams)) /* each warp has sums of y */
        teams--;
    int most = least;
    while (!knob->stages && most < STAGES_MOST && fits(scratch, g, most + 1, teams))
        most++;
    staged_layout(a, g, most, teams);
    return g->block->bytes <= g->device->shared_bytes;
}

/* Into how many parts: as many as were fastest, more of these where only so there are enough warps; still
 * more where only so there are two teams, or at least one. 0: none have room. */
static int choose_parts(struct arena *a, struct staged *g, const struct staged_knobs *knob)
{
    int best = 0;
    bool several = false, enough = false; /* teams; warps */
    for (int parts = PARTS_LEAST; parts <= PARTS_MOST && (parts <= PARTS || !several);
         parts += parts < PARTS ? 1 : (parts + 1) / 2) {
        if (!staged_cut(a, g, parts) || !choose_teams(a, g, knob))
            continue;
        const bool all = g->teams * g->warps >= WARPS;
        if (best == 0 || (g->teams > 1 && !several) || (all && !enough)) {
            best = parts;
            several = g->teams > 1;
            enough = all;
        }
    }
    return best;
}

/* Items as a whole where that leaves room for enough teams, or else in parts. */
static bool choose_cut(struct arena *a, struct staged *g, const struct staged_knobs *knob)
{
    staged_whole(a, g);
    const struct problem *p = g->demand->plan->problem;
    bool can = g->whole.pieces > 0 && !g->any_others && p->spec->index[SLOT_W] != INDEX_SHARED;
    for (int i = 0; i < g->whole.pieces; i++)
        can &= staged_connects(&p->path[g->whole.piece[i].path]);
    const bool whole = choose_teams(a, g, knob);
    if (!can || knob->parts == 1 || (whole && !knob->parts && g->teams >= TEAMS_WHOLE))
        return whole;
    const int parts = knob->parts ? knob->parts : choose_parts(a, g, knob);
    if (parts && staged_cut(a, g, parts) && choose_teams(a, g, knob))
        return true;
    staged_whole(a, g);
    return choose_teams(a, g, knob);
}

/* With the weights that all items share in shared memory, where that leaves room for three quarters of the
 * warps: lanes read them in places that are far apart. */
static bool choose(struct arena *a, struct staged *g, const struct staged_knobs *knob)
{
    const bool can = choose_cut(a, g, knob);
    const int warps = g->teams * g->warps;
    if (g->demand->plan->problem->spec->index[SLOT_W] != INDEX_SHARED || !demand_inputs_of(g->demand, SLOT_W))
        return can;
    g->keeps = true;
    if (choose_cut(a, g, knob) && 4 * g->teams * g->warps >= 3 * warps)
        return true;
    g->keeps = false;
    return choose_cut(a, g, knob);
}

/* Bytes that are moved for an item beside each row once: rows of edges are read again, those of nodes that
 * stay are moved with some items only. */
static double bytes_of_sums(const struct schedule *s)
{
    const double runs = 0.25;
    double elements = 0;
    for (int o = 0; o < s->demand->outputs; o++)
        elements +=
            (double)demand_operand(s->demand, o)->dim * (s->route[o].kind == ROUTE_EDGE_BUFFER ? 1
                                                         : s->route[o].kind == ROUTE_FIXED_UP  ? runs - 1
                                                                                               : 0);
    return elements * kernel_size(s->demand->kernel);
}

/* Has an earlier pass of the part the same code, where that is shared? */
static bool has_code(const struct staged *g, const struct staged_part *part, enum staged_by by, int number)
{
    const struct staged_pass *pass = part->pass[by];
    bool has = number && pass[number - 1].segment == pass[number].segment;
    for (int k = number - 1; k >= 0 && k >= number - STAGED_NEAR && by == BY_ROWS && !has; k--)
        has = staged_alike(g, part, &pass[k], &pass[number], NULL);
    return has;
}

/* Instructions of the loop over items. Passes of one segment, or alike ones, may have the same code. */
static double code_of(const struct staged *g, bool shared)
{
    double code = 0;
    for (int i = 0; i < g->parts; i++)
        for (enum staged_by by = BY_COLUMNS; by < BY_COUNT; by++)
            for (int k = 0; k < g->part[i].passes[by]; k++)
                code += shared && has_code(g, &g->part[i], by, k) ? 0 : g->part[i].pass[by][k].work;
    return code;
}

/* How much longer instructions take where they do not fit a multiprocessor's caches for them: each warp waits
 * for its own, about fifteen clocks for one. Measured: 2.5 with 16 warps, 13 with three. */
static double fetching(const struct staged *g)
{
    const double waits = 39;
    return staged_in_parts(g) || code_of(g, g->shares_code) * INSTRUCTION < CODE_CACHED
               ? 1
               : waits / (g->teams * g->warps);
}

/* Are z by columns and all else by rows, of weights in parts, too long together? */
static bool has_long_code(const struct staged *g)
{
    const int zs = demand_outputs_of(g->demand, SLOT_G);
    return staged_in_parts(g) && zs && zs < g->demand->outputs &&
           code_of(g, g->shares_code) * INSTRUCTION > CODE_LONG;
}

/* As evaluations of graphs count: instructions of a warp per item, bytes at so many an instruction. */
static double cost_of(struct staged *g, const struct schedule *s)
{
    const double per_item = 300;
    const struct demand *d = g->demand;
    g->work = per_item;
    for (int i = 0; i < g->parts; i++)
        for (enum staged_by by = BY_COLUMNS; by < BY_COUNT; by++)
            for (int k = 0; k < g->part[i].passes[by]; k++)
                g->work += g->part[i].pass[by][k].work;
    const int share = knob_value(s, KNOB_SHARE);
    g->shares_code = share ? share > 1 : code_of(g, false) * INSTRUCTION > CODE_APART;
    g->work *= fetching(g);
    const double waiting =
        (double)WARPS / (g->teams * (g->divisible ? g->warps : 1)); /* too few warps issue too little */
    for (int i = 0; i < d->plan->problem->paths; i++)
        if (g->others[i])
            g->work += staged_other_work(g, i) * (waiting > 1 ? waiting : 1);
    g->bytes = demand_row_bytes(d, true) + bytes_of_sums(s);
    return cost_overlap(g->work, g->bytes / COST_BYTES_AN_INSTRUCTION);
}

/* Rows of nodes that passes do not sum over lanes stay from item to item, but where weights come in parts,
 * which are much longer. */
static void choose_owner(struct arena *a, struct staged *g, struct schedule *s)
{
    const struct demand *d = g->demand;
    g->owned = NEW_ARRAY(a, bool, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++)
        g->owned[o] = !staged_in_parts(g) && (demand_operand(d, o)->slot != SLOT_Y || g->whole.pieces == 0);
    g->owner = item_rows_owner(s, g->owned, true);
    for (int o = 0; o < d->outputs; o++)
        g->owned[o] = s->route[o].kind == ROUTE_FIXED_UP;
}

/* Instructions of the warp of a team that has most of an item. */
static int longest(struct arena *a, const struct staged *g)
{
    int most = 0, *work = NEW_ARRAY(a, int, g->warps);
    for (int i = 0; i < g->parts; i++)
        for (enum staged_by by = BY_COLUMNS; by < BY_COUNT; by++)
            for (int k = 0; k < g->part[i].passes[by]; k++) {
                const struct staged_pass *pass = &g->part[i].pass[by][k];
                work[pass->warp] += pass->work;
                most = most > work[pass->warp] ? most : work[pass->warp];
            }
    return most;
}

/* Two channels a lane where a team then takes three quarters of the time, as more code waits for instructions
 * longer; or as many as the knob says. */
static void choose_channels(struct arena *a, struct staged *g, int asked)
{
    g->wide = asked != 1;
    staged_passes(a, g);
    const int wide = longest(a, g);
    if (asked > 1 || !g->wide)
        return;
    g->wide = false;
    staged_passes(a, g);
    if (4 * wide <= 3 * longest(a, g)) {
        g->wide = true;
        staged_passes(a, g);
    }
}

bool staged_holds(const struct staged *g, int output)
{
    return g->holds && g->owned[output] && demand_output(g->demand, output)->slot == SLOT_G;
}

/* Is there one pass, each of whose paths makes a segment of z for itself, and are these few components? */
static bool may_hold(const struct staged *g)
{
    const struct demand *d = g->demand;
    bool may = g->parts == 1 && g->warps == 1 && !g->any_others && g->whole.passes[BY_COLUMNS] == 0 &&
               g->whole.passes[BY_ROWS] == 1;
    int words = 0;
    for (int i = 0; may && i < d->plan->problem->paths; i++) {
        const struct path *p = &d->plan->problem->path[i];
        if (!g->passes[i])
            continue;
        may = !staged_connects(p) && p->mode != MODE_UVUV && !g->added[i] &&
              g->whole.pass[BY_ROWS][0].channels == 1;
        words += (2 * p->l3 + 1) * demand_outputs_of(d, SLOT_G) * kernel_size(d->kernel) / 4;
    }
    return may && words <= HELD_WORDS;
}

const char *staged_chunk(struct arena *a, const struct staged *g)
{
    return arena_printf(a, "cgtp_chunk(graph->items, %d, 3, 32)", g->teams);
}

const char *staged_partial(struct arena *a, const struct staged *g)
{
    return arena_printf(a, "2 * cgtp_chunks(graph->items, %s)", staged_chunk(a, g));
}

/* Decides everything; tables: [paths], see struct staged. */
static const char *plan_with(struct arena *a, struct schedule *s, bool *tables)
{
    struct staged *g = NEW(a, struct staged);
    g->demand = s->demand;
    g->device = s->target->device;
    g->tables = tables;
    const char *why = item_rows_routes(a, s, true);
    if (why)
        return why;
    divide_paths(a, g);
    find_added(a, g);
    find_sums(g);
    staged_codes(a, g);
    find_places(a, g);
    const struct staged_knobs knob = {knob_value(s, KNOB_STAGES), knob_value(s, KNOB_WARPS),
                                      knob_value(s, KNOB_PARTS)};
    if (!choose(a, g, &knob))
        return "rows larger than shared memory";
    choose_channels(a, g, knob_value(s, KNOB_CHANNELS));
    choose_owner(a, g, s);
    g->holds = may_hold(g);
    s->own = g;
    s->operations = g->operations;
    s->cost = cost_of(g, s);
    s->long_code = has_long_code(g);
    return NULL;
}

/* By tables where that is asked for, or where code written out waits for itself and costs more. */
const char *staged_plan(struct arena *a, struct schedule *s)
{
    bool *tables = knob_value(s, KNOB_TABLE) == 1 ? NULL : paths_by_table(a, s->demand);
    struct schedule other = *s;
    if (paths_want_tables(s->target, s->demand))
        return plan_with(a, s, tables);
    const char *why = plan_with(a, s, NULL);
    if (!tables || (!why && fetching(s->own) <= 1) || plan_with(a, &other, tables) ||
        (!why && other.cost >= s->cost))
        return why;
    *s = other;
    return NULL;
}
