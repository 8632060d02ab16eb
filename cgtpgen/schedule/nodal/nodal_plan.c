/* nodal_plan.c - see nodal_plan.h. */
#include "schedule/nodal/nodal_plan.h"
#include "pipeline/cost.h"

#include <stdlib.h>
#include <string.h>

enum {
    RESERVED = 1024, /* bytes that the device takes of each block's shared memory */
    FIT_MOST = 3,    /* blocks of a multiprocessor */
    STAGES_BEST = 3, /* measured: smaller tiles rather than fewer */
    CELLS_MOST = 256,
    OTHER_REGISTERS = 64 /* places, the loop over tiles, an operand in its parts */
};

int nodal_before(const struct irreps *irreps, int segment)
{
    int sum = 0;
    for (int i = 0; i < segment; i++)
        sum += 2 * irreps->segment[i].ir.l + 1;
    return sum;
}

bool nodal_takes(const struct nodal *g, const struct path *p, int w)
{
    return p->weighted || w < 0 || !g->demand->kernel->form->input[w].tangent;
}

bool nodal_has(const struct nodal *g, enum slot slot)
{
    return demand_outputs_of(g->demand, slot) > 0;
}

/* ---- what it takes ---- */

static int side_of(const struct problem *p, enum slot slot)
{
    const struct irreps *irreps = slot_irreps(p, slot);
    return nodal_before(irreps, irreps->n);
}

static bool has_channels(const struct irreps *irreps, int mul)
{
    bool all = true;
    for (int i = 0; i < irreps->n; i++)
        all &= irreps->segment[i].mul == mul;
    return all;
}

const char *nodal_refuses(const struct target *target, const struct demand *d)
{
    (void)target;
    const struct problem *p = d->plan->problem;
    const enum index_kind *index = p->spec->index;
    if (index[SLOT_Y] != INDEX_SENDER && index[SLOT_Y] != INDEX_RECEIVER)
        return "y is no row of a node";
    if (index[SLOT_X] != INDEX_ITEM || index[SLOT_G] != INDEX_ITEM)
        return "rows of x or z that are not the item's own";
    if (p->weight_numel && index[SLOT_W] != INDEX_SHARED)
        return "weights not of all items";
    if (!p->x.n || !p->y.n || !p->z.n || p->x.segment[0].mul % NODAL_CHANNELS || !p->x.segment[0].mul)
        return "channels that are no multiple of 8";
    const int mul = p->x.segment[0].mul;
    if (!has_channels(&p->x, mul) || !has_channels(&p->y, mul) || !has_channels(&p->z, mul))
        return "segments of several numbers of channels";
    if (side_of(p, SLOT_X) > NODAL_SIDE_MOST || side_of(p, SLOT_G) > NODAL_SIDE_MOST)
        return "more than 32 components of x or z";
    return p->x.n * p->z.n > CELLS_MOST ? "too many segments" : NULL;
}

const char *nodal_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    (void)target;
    if (p->mode != MODE_UUU)
        return "channels are not tied (uuu)";
    return d->plan->path[p->number].a != SLOT_Y ? "y is a vector" : NULL;
}

/* ---- matrices and products ---- */

static int compare_pairs(const void *left, const void *right)
{
    const struct nodal_pair *a = left, *b = right;
    return a->y != b->y ? (a->y < b->y ? -1 : 1) : (a->w > b->w) - (a->w < b->w);
}

/* The matrix of these terms, new or known. */
static int matrix_of_terms(struct nodal *g, struct nodal_matrix m)
{
    qsort(m.term, (size_t)m.terms, sizeof *m.term, compare_pairs);
    for (int i = 0; i < g->matrices; i++) {
        bool equal = g->matrix[i].terms == m.terms;
        for (int t = 0; equal && t < m.terms; t++)
            equal = !compare_pairs(&g->matrix[i].term[t], &m.term[t]);
        if (equal)
            return i;
    }
    g->matrix[g->matrices] = m;
    return g->matrices++;
}

static int operand_of(struct nodal *g, int matrix, bool back)
{
    for (int i = 0; i < g->operands; i++)
        if (g->operand[i].matrix == matrix && g->operand[i].back == back)
            return i;
    g->operand[g->operands] = (struct nodal_operand){matrix, back};
    return g->operands++;
}

static int outer_of(struct nodal *g, int x, int z)
{
    for (int i = 0; i < g->outers; i++)
        if (g->outer[i].x == x && g->outer[i].g == z)
            return i;
    g->outer[g->outers] = (struct nodal_outer){x, z};
    return g->outers++;
}

/* An output of items: terms that read the same rows are one product. */
static void add_products(struct arena *a, struct nodal *g, int output, const struct form_output *f,
                         enum slot from)
{
    for (int t = 0; t < f->terms; t++) {
        const int rows = f->term[t].argument[from];
        bool first = true;
        for (int before = 0; before < t; before++)
            first &= f->term[before].argument[from] != rows;
        if (!first)
            continue;
        struct nodal_matrix m = {0, NEW_ARRAY(a, struct nodal_pair, f->terms)};
        for (int k = t; k < f->terms; k++)
            if (f->term[k].argument[from] == rows)
                m.term[m.terms++] =
                    (struct nodal_pair){f->term[k].argument[SLOT_Y], f->term[k].argument[SLOT_W]};
        g->product[g->products++] =
            (struct nodal_product){output, rows, operand_of(g, matrix_of_terms(g, m), from == SLOT_G)};
    }
}

static void find_products(struct arena *a, struct nodal *g)
{
    const struct demand *d = g->demand;
    int terms = 0;
    for (int o = 0; o < d->outputs; o++)
        terms += demand_output(d, o)->terms;
    g->matrix = NEW_ARRAY(a, struct nodal_matrix, terms + 1);
    g->operand = NEW_ARRAY(a, struct nodal_operand, terms + 1);
    g->product = NEW_ARRAY(a, struct nodal_product, terms + 1);
    g->outer = NEW_ARRAY(a, struct nodal_outer, terms + 1);
    g->share = NEW_ARRAY(a, struct nodal_share, terms + 1);
    for (int o = 0; o < d->outputs; o++) {
        const struct form_output *f = demand_output(d, o);
        if (f->slot == SLOT_G || f->slot == SLOT_X)
            add_products(a, g, o, f, f->slot == SLOT_G ? SLOT_X : SLOT_G);
        for (int t = 0; t < f->terms && (f->slot == SLOT_Y || f->slot == SLOT_W); t++) {
            const int *in = f->term[t].argument;
            g->share[g->shares++] = (struct nodal_share){o, outer_of(g, in[SLOT_X], in[SLOT_G]),
                                                         in[f->slot == SLOT_Y ? SLOT_W : SLOT_Y]};
        }
    }
}

/* ---- cells ---- */

static void find_cells(struct arena *a, struct nodal *g)
{
    const struct problem *p = g->demand->plan->problem;
    int *paths = NEW_ARRAY(a, int, p->x.n * p->z.n);
    for (int i = 0; i < p->paths; i++)
        paths[p->path[i].x * p->z.n + p->path[i].z] += g->demand->variant_of[i] >= 0;
    g->cell = NEW_ARRAY(a, struct nodal_cell, p->x.n * p->z.n);
    for (int x = 0; x < p->x.n; x++)
        for (int z = 0; z < p->z.n; z++) {
            g->cell[g->cells] = (struct nodal_cell){x, z, 0, NEW_ARRAY(a, int, paths[g->cells] + 1)};
            g->cells++;
        }
    for (int i = 0; i < p->paths; i++) {
        struct nodal_cell *c = &g->cell[p->path[i].x * p->z.n + p->path[i].z];
        if (g->demand->variant_of[i] >= 0)
            c->path[c->paths++] = i;
    }
}

static bool are_alike(const struct nodal *g, const struct nodal_cell *a, const struct nodal_cell *b)
{
    const struct plan *plan = g->demand->plan;
    const struct problem *p = plan->problem;
    bool alike = p->x.segment[a->x].ir.l == p->x.segment[b->x].ir.l &&
                 p->z.segment[a->z].ir.l == p->z.segment[b->z].ir.l && a->paths == b->paths;
    for (int i = 0; alike && i < a->paths; i++)
        alike = plan->path[a->path[i]].matrix == plan->path[b->path[i]].matrix &&
                p->path[a->path[i]].weighted == p->path[b->path[i]].weighted;
    return alike;
}

static void find_jobs(struct arena *a, struct nodal *g)
{
    bool *done = NEW_ARRAY(a, bool, g->cells);
    g->job = NEW_ARRAY(a, struct nodal_job, g->cells);
    for (int i = 0; i < g->cells; i++) {
        if (done[i])
            continue;
        struct nodal_job *job = &g->job[g->jobs++];
        for (int k = i; k < g->cells && job->cells < NODAL_CELLS; k++)
            if (!done[k] && are_alike(g, &g->cell[i], &g->cell[k])) {
                job->cell[job->cells++] = k;
                done[k] = true;
            }
    }
}

/* Operations of a lane for a path of a cell, besides loads and stores of the cell. */
static int path_work(const struct nodal *g, const struct nodal_job *job, int path)
{
    const struct matrix *m = g->demand->plan->path[g->cell[job->cell[0]].path[path]].matrix;
    return m->entries + m->form_terms + 4 * m->depth;
}

static int cell_elements(const struct nodal *g, const struct nodal_job *job)
{
    const struct problem *p = g->demand->plan->problem;
    const struct nodal_cell *cell = &g->cell[job->cell[0]];
    return (2 * p->x.segment[cell->x].ir.l + 1) * (2 * p->z.segment[cell->z].ir.l + 1);
}

static int paths_of(const struct nodal *g, int job)
{
    return g->cell[g->job[job].cell[0]].paths;
}

/* What flows back from a job's cells: they are loaded once for its paths, but a warp is to have no more than
 * `most` to do at a time. */
static void add_flows(struct arena *a, struct nodal *g, int j, int most)
{
    struct nodal_task *t = NULL;
    for (int i = 0; i < paths_of(g, j); i++) {
        const int work = path_work(g, &g->job[j], i);
        if (!t || t->work + work > most) {
            t = &g->flow[g->flows++];
            *t = (struct nodal_task){.job = j,
                                     .first = i,
                                     .work = cell_elements(g, &g->job[j]),
                                     .waits = NEW_ARRAY(a, bool, paths_of(g, j))};
        }
        t->paths++;
        t->work += work;
    }
}

int nodal_same_before(const struct nodal *g, const struct nodal_job *job, int i, int k)
{
    const struct path *path = g->demand->plan->problem->path;
    int same = 0;
    for (int before = 0; before < k; before++)
        same += path[g->cell[job->cell[before]].path[i]].y == path[g->cell[job->cell[k]].path[i]].y;
    return same;
}

static void find_copies(struct nodal *g)
{
    for (int j = 0; j < g->jobs; j++)
        for (int i = 0; i < paths_of(g, j); i++)
            for (int k = 0; k < g->job[j].cells; k++) {
                const int copies = nodal_same_before(g, &g->job[j], i, k) + 1;
                g->copies = copies > g->copies ? copies : g->copies;
            }
}

/* Warps of which each has a matrix of its own; one has all of them if they do not divide a block's warps. */
static int abreast_of(int matrices)
{
    return matrices && NODAL_CHANNELS % matrices == 0 ? matrices : 1;
}

static void find_tasks(struct arena *a, struct nodal *g)
{
    int paths = 0, all = 0;
    for (int j = 0; j < g->jobs; j++)
        paths += paths_of(g, j);
    g->making = NEW_ARRAY(a, struct nodal_task, g->jobs + 1);
    g->flow = NEW_ARRAY(a, struct nodal_task, paths + 1);
    for (int j = 0; j < g->jobs; j++) {
        int work = cell_elements(g, &g->job[j]);
        for (int i = 0; i < paths_of(g, j); i++)
            work += path_work(g, &g->job[j], i);
        if (g->matrices)
            g->making[g->makings++] = (struct nodal_task){.job = j, .work = work};
        all += work;
    }
    for (int j = 0; j < g->jobs && g->outers; j++)
        add_flows(a, g, j, all / (NODAL_CHANNELS / g->flow_abreast));
}

static int longest_first(const void *left, const void *right)
{
    const struct nodal_task *a = left, *b = right;
    return a->work != b->work ? b->work - a->work : a->job != b->job ? a->job - b->job : a->first - b->first;
}

/* The longest first, each to the warps that have least to do; returns what one has to do at most for a
 * matrix. */
static int deal_out(int n, struct nodal_task *task, int abreast)
{
    int load[NODAL_CHANNELS] = {0}, most = 0;
    qsort(task, (size_t)n, sizeof *task, longest_first);
    for (int i = 0; i < n; i++) {
        int warp = 0;
        for (int k = 1; k < NODAL_CHANNELS / abreast; k++)
            warp = load[k] < load[warp] ? k : warp;
        task[i].warp = warp;
        load[warp] += task[i].work;
        most = most > load[warp] ? most : load[warp];
    }
    return most;
}

/* From the last flow to the first: which cells of a job add to a segment of y after it, a bit each. */
static void find_waits(struct arena *a, struct nodal *g)
{
    const struct problem *p = g->demand->plan->problem;
    unsigned *later = NEW_ARRAY(a, unsigned, NODAL_CHANNELS * p->y.n);
    for (int i = g->flows - 1; i >= 0; i--) {
        struct nodal_task *t = &g->flow[i];
        const struct nodal_job *job = &g->job[t->job];
        for (int n = t->paths - 1; n >= 0; n--) {
            unsigned *of[NODAL_CELLS];
            for (int k = 0; k < job->cells; k++) {
                of[k] = &later[t->warp * p->y.n + p->path[g->cell[job->cell[k]].path[t->first + n]].y];
                t->waits[n] |= (*of[k] & ~(1u << k)) != 0;
            }
            for (int k = 0; k < job->cells; k++)
                *of[k] |= 1u << k;
        }
    }
}

/* ---- what it costs ---- */

static void find_bytes(struct nodal *g)
{
    const struct demand *d = g->demand;
    for (int i = 0; i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->index == INDEX_ITEM)
            g->bytes += operand_size(kernel_input(d->kernel, i)) * (double)kernel_input(d->kernel, i)->dim;
    for (int o = 0; o < d->outputs; o++)
        if (demand_operand(d, o)->index == INDEX_ITEM)
            g->bytes += operand_size(demand_operand(d, o)) * (double)demand_operand(d, o)->dim;
}

/* Rows and columns of an operand, in tiles and blocks. */
static int operand_parts(const struct nodal *g, const struct nodal_operand *q)
{
    return nodal_tiles(q->back ? g->dx : g->dz) * nodal_blocks(q->back ? g->dz : g->dx);
}

/* Registers of a thread, and those of a matrix's elements' parts, which are to be spared. */
static void find_registers(struct nodal *g)
{
    const int words = kernel_size(g->demand->kernel) / 4;
    int operands = 0, outers = g->outers * nodal_tiles(g->dx) * nodal_blocks(g->dz) * 4 * words;
    for (int i = 0; i < g->operands; i++)
        operands += operand_parts(g, &g->operand[i]) * 4 * words;
    g->registers = OTHER_REGISTERS * words + operands + outers;
    g->more_registers = words == 1 ? operands : 0;
}

/* Instructions of all warps per item, where a node has so many; measured, with what they wait for. */
static void find_work(struct nodal *g, int node_work)
{
    const double items = 16, product = g->keeps_parts ? 16 : 28, outer = 37, tile = 150;
    double work = tile + g->outers * nodal_tiles(g->dx) * nodal_blocks(g->dz) * outer;
    for (int i = 0; i < g->products; i++)
        work += operand_parts(g, &g->operand[g->product[i].operand]) * product;
    g->work = (work / NODAL_ITEMS + node_work / items) * g->mul;
}

/* As paired items count: instructions of a warp per item, bytes at so many an instruction. */
static double cost_of(const struct nodal *g)
{
    const double few_warps = 8;
    const int warps = g->fit * NODAL_CHANNELS;
    const double bytes = g->bytes / COST_BYTES_AN_INSTRUCTION * (1 + 1.0 / warps);
    return cost_overlap(g->work * (warps + few_warps) / warps, bytes);
}

/* Does it fit, with as many stages as are asked for, or as there can be? */
static bool choose_stages(struct arena *a, struct nodal *g, int asked)
{
    if (g->registers + (g->keeps_parts ? g->more_registers : 0) >
        device_registers(g->device, g->fit * NODAL_CHANNELS))
        return false;
    for (g->items = 2 * NODAL_ITEMS; g->items >= NODAL_ITEMS; g->items -= NODAL_ITEMS) {
        const int least = g->items > NODAL_ITEMS && !asked ? STAGES_BEST : 2;
        for (g->stages = asked ? asked : STAGES_BEST; g->stages >= least; g->stages--) {
            nodal_layout(a, g);
            if ((!asked || asked == g->stages) &&
                g->block.bytes <= (g->device->shared_bytes + RESERVED) / g->fit - RESERVED)
                return true;
        }
    }
    return false;
}

/* As many blocks as fit, with parts of matrices' elements in registers if possible: it was measured that more
 * warps, which make these again and again, take longer. */
static bool choose_blocks(struct arena *a, struct nodal *g, const struct schedule *s)
{
    const int warps = knob_value(s, KNOB_WARPS), stages = knob_value(s, KNOB_STAGES);
    find_registers(g);
    for (int keeps = 1; keeps >= 0; keeps--)
        for (g->fit = FIT_MOST; g->fit > 0; g->fit--) {
            g->keeps_parts = keeps;
            if ((!warps || warps == g->fit * NODAL_CHANNELS) && choose_stages(a, g, stages))
                return true;
        }
    return false;
}

const char *nodal_routes(struct arena *a, struct schedule *s)
{
    static const enum route_kind own[] = {ROUTE_ITEM}, node[] = {ROUTE_OWNED_ROW}, parts[] = {ROUTE_PARTS};
    const struct demand *d = s->demand;
    const struct spec *spec = d->plan->problem->spec;
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->index == INDEX_SHARED && q->dim == 0)
            return "sums without elements";
        if (!route_choose(spec, q->index, 1,
                          q->index == INDEX_ITEM     ? own
                          : q->index == INDEX_SHARED ? parts
                                                     : node,
                          &s->route[o]) ||
            route_keeps(&s->route[o]))
            return "no way to sum as the spec asks";
    }
    return NULL;
}

struct nodal *nodal_begin(struct arena *a, const struct schedule *s)
{
    const struct problem *p = s->demand->plan->problem;
    struct nodal *g = NEW(a, struct nodal);
    *g = (struct nodal){.demand = s->demand,
                        .device = s->target->device,
                        .owner = p->spec->index[SLOT_Y],
                        .mul = p->x.segment[0].mul,
                        .dx = side_of(p, SLOT_X),
                        .dy = side_of(p, SLOT_Y),
                        .dz = side_of(p, SLOT_G)};
    find_products(a, g);
    find_cells(a, g);
    find_jobs(a, g);
    find_bytes(g);
    return g;
}

const char *nodal_plan(struct arena *a, struct schedule *s)
{
    const char *why = nodal_routes(a, s);
    if (why)
        return why;
    struct nodal *g = nodal_begin(a, s);
    g->making_abreast = abreast_of(g->matrices);
    g->flow_abreast = abreast_of(g->outers);
    find_tasks(a, g);
    find_copies(g);
    if (!choose_blocks(a, g, s))
        return "rows and matrices larger than shared memory, or than registers";
    find_work(g, deal_out(g->makings, g->making, g->making_abreast) * g->matrices / g->making_abreast +
                     deal_out(g->flows, g->flow, g->flow_abreast) * g->outers / g->flow_abreast);
    find_waits(a, g);
    s->own = g;
    s->cost = cost_of(g);
    s->operations.fma = (double)(g->products + g->outers) * g->dx * g->dz * g->mul;
    return NULL;
}
