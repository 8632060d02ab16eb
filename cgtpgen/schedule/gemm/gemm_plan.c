/* gemm_plan.c - see gemm_plan.h. */
#include "schedule/gemm/gemm_plan.h"

enum {
    WARPS_MOST = 12,     /* of a block, with 168 registers each */
    WARPS_LIMIT = 16,    /* of a team, at most */
    SUM_WARPS_MOST = 16, /* of a block of sums */
    SUM_FIT = 2,         /* such blocks on a multiprocessor */
    SUM_TILES_MOST = 8,  /* blocks of columns of a part, in float32 */
    REGISTERS_MOST = 88, /* that sums take */
    STAGES = 2,
    BLOCK_RESERVED = 1024 /* bytes of shared memory that a block takes beside its own */
};

static int round_up(int64_t n, int by)
{
    return (int)((n + by - 1) / by);
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

bool gemm_adds(const struct demand *d, int output, int path)
{
    bool adds = false;
    for (int i = 0; d->variant_of[path] >= 0 && i < gemm_variant(d, path)->zs; i++)
        adds |= gemm_variant(d, path)->z[i].output == d->output[output];
    return adds;
}

/* ---- what it takes ---- */

const char *gemm_refuses(const struct target *target, const struct demand *d)
{
    (void)target;
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *q = &d->kernel->operand[i];
        if (q->index == INDEX_SENDER || q->index == INDEX_RECEIVER)
            return "rows of nodes";
        if (q->slot == SLOT_W && q->index != INDEX_SHARED)
            return "weights not of all items";
        if (q->slot != SLOT_W && q->index == INDEX_SHARED)
            return "shared rows that are no weights";
        if (q->index == INDEX_SHARED && q->output && q->dim == 0)
            return "sums without elements";
    }
    return NULL;
}

const char *gemm_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    (void)target;
    const struct path_plan *e = &d->plan->path[p->number];
    if (!e->contracted || !p->weighted)
        return "no weights that connect channels";
    if (e->elementwise || e->pairs)
        return "channels of x and y are tied";
    return e->b != SLOT_X ? "more channels of y than of x" : NULL;
}

/* ---- rows ---- */

/* Paths of the demand by segment of the slot: those of segment s from path[first[s]] on, to path[first[s +
 * 1]]. */
static void paths_by_segment(struct arena *a, const struct demand *d, enum slot slot, int **first, int **path)
{
    const struct problem *p = d->plan->problem;
    const int n = slot_irreps(p, slot)->n;
    *first = NEW_ARRAY(a, int, n + 2);
    *path = NEW_ARRAY(a, int, p->paths + 1);
    for (int i = 0; i < p->paths; i++)
        (*first)[(slot == SLOT_X ? p->path[i].x : p->path[i].z) + 2] += d->variant_of[i] >= 0;
    for (int s = 0; s < n; s++)
        (*first)[s + 2] += (*first)[s + 1];
    for (int i = 0; i < p->paths; i++)
        if (d->variant_of[i] >= 0)
            (*path)[(*first)[(slot == SLOT_X ? p->path[i].x : p->path[i].z) + 1]++] = i;
}

/* ---- work ---- */

/* Instructions of a warp, of a lane's operations; what the parts of a product take besides their sums. */
static double tensor_work(const struct demand *d, int path)
{
    const struct code *code = demand_code(d, path).tensor;
    const int parts = gemm_has_parts(d) ? 4 : 1;
    const struct path_plan *e = &d->plan->path[path];
    if (!code)
        return 0;
    return 4 * (code->channel.fma + code->channel.mul + code->channel.add + e->matrix->rows + 2 +
                parts * gemm_variant(d, path)->ts * e->matrix->columns);
}

/* Of a product, for 8 that are summed over: a right operand's elements, and what tensor cores take. */
static double product_work(const struct demand *d, int components, int tiles, bool shares_right)
{
    const double busy = 2.5; /* instructions in the time of a product */
    const int parts = gemm_has_parts(d) ? 4 : 1, products = gemm_has_parts(d) ? 3 : 4;
    return tiles * (2 * (1 + parts) * (shares_right ? 1 : components) + busy * products * components);
}

/* Of a chunk. */
static double span_work(const struct demand *d, const struct gemm_span *q)
{
    double work = 0;
    for (int i = 0; i < q->paths; i++) {
        const struct path *p = &d->plan->problem->path[q->path[i]];
        const struct variant *v = gemm_variant(d, q->path[i]);
        const int columns = d->plan->path[q->path[i]].matrix->columns;
        if (q->back) {
            const struct code *code = demand_code(d, q->path[i]).product;
            if (!code)
                continue;
            const double each = code->channel.fma + code->channel.mul + code->channel.add + 4;
            work += p->mul_y *
                    (4 * q->tiles * each + v->ps * round_up(p->mul_z, GEMM_BLOCK) *
                                               (16.0 * columns + product_work(d, columns, q->tiles, true)));
        } else {
            work += p->mul_y * round_up(p->mul_x, GEMM_BLOCK) *
                    (tensor_work(d, q->path[i]) + v->zs * product_work(d, columns, q->tiles, true));
        }
    }
    return work;
}

/* ---- spans ---- */

/* Registers that a block of columns of the span takes. */
static int words_of(const struct demand *d, const struct gemm_span *q, int components)
{
    int words = q->back ? 0 : 4 * components;
    for (int i = 0; q->back && i < q->paths; i++) {
        const struct variant *v = gemm_variant(d, q->path[i]);
        const int n = v->ps * 4 * d->plan->path[q->path[i]].matrix->columns;
        words = n > words ? n : words;
    }
    return 2 * words + /* sums of few terms beside sums, or numbers of twice the size */
           kernel_size(d->kernel) / 4 * (q->back ? 4 * components * demand_outputs_of(d, SLOT_X) : 0);
}

static void add_span(struct gemm *g, int limit, struct gemm_span q, const struct segment *s)
{
    const int blocks = round_up(s->mul, GEMM_BLOCK), words = words_of(g->rows, &q, 2 * s->ir.l + 1);
    int most = words ? REGISTERS_MOST / words : limit;
    most = most < 1 ? 1 : most > limit ? limit : most;
    q.channels = s->mul;
    q.chunks = round_up(blocks, most);
    q.tiles = round_up(blocks, q.chunks);
    q.chunks = round_up(blocks, q.tiles);
    q.first = g->spans ? g->span[g->spans - 1].first + g->span[g->spans - 1].chunks : 0;
    q.work = span_work(g->rows, &q);
    g->span[g->spans++] = q;
}

/* The spans: of z for each of its outputs, and of x where anything goes back; limit: blocks of a chunk, at
 * most. */
static void find_spans(struct arena *a, struct gemm *g, int limit)
{
    const struct demand *d = g->rows;
    const struct irreps *x = slot_irreps(d->plan->problem, SLOT_X),
                        *z = slot_irreps(d->plan->problem, SLOT_G);
    int *first, *path;
    paths_by_segment(a, d, SLOT_G, &first, &path);
    g->span = NEW_ARRAY(a, struct gemm_span, z->n * demand_outputs_of(d, SLOT_G) + x->n + 1);
    for (int o = 0; o < d->outputs; o++)
        for (int s = 0; s < z->n && demand_output(d, o)->slot == SLOT_G; s++)
            if (z->segment[s].mul)
                add_span(
                    g, limit,
                    (struct gemm_span){
                        .output = o, .segment = s, .paths = first[s + 1] - first[s], .path = path + first[s]},
                    &z->segment[s]);
    paths_by_segment(a, d, SLOT_X, &first, &path);
    const bool written = demand_outputs_of(d, SLOT_X) > 0;
    for (int s = 0; s < x->n && (written || demand_outputs_of(d, SLOT_Y)); s++)
        if (x->segment[s].mul && (written || first[s + 1] > first[s]))
            add_span(
                g, limit,
                (struct gemm_span){
                    .back = true, .segment = s, .paths = first[s + 1] - first[s], .path = path + first[s]},
                &x->segment[s]);
}

/* Where the weights of each path are, in shared memory or where they came from. */
static void place_weights(struct arena *a, struct gemm *g)
{
    const struct demand *d = g->rows;
    int64_t at = 0;
    g->place = NEW_ARRAY(a, int64_t, d->plan->problem->paths + 1);
    for (int p = 0; p < d->plan->problem->paths; p++) {
        const struct path *path = &d->plan->problem->path[p];
        g->place[p] = g->resident ? at * (g->split ? 2 : 1) : path->weight_offset;
        if (d->variant_of[p] >= 0)
            at += (int64_t)path->mul_x * path->mul_y * gemm_pitch(path->mul_z);
    }
}

static bool fits(struct arena *a, struct gemm *g)
{
    gemm_layout_rows(a, g);
    return g->block.bytes <= g->device->shared_bytes;
}

/* What a tile takes: all of it, and the warp of a team that has most of it. */
struct load {
    double all, most;
};

static struct load load_of(const struct gemm *g, int members)
{
    double each[WARPS_LIMIT] = {0};
    struct load load = {0, 0};
    for (int i = 0; i < g->spans; i++)
        for (int k = 0; k < g->span[i].chunks; k++) {
            double *mine = &each[(g->span[i].first + k) % members];
            *mine += g->span[i].work;
            load.all += g->span[i].work;
            load.most = *mine > load.most ? *mine : load.most;
        }
    return load;
}

/* The time of a tile on a multiprocessor, as instructions that one could have issued: a warp by itself issues
 * one in four turns, and waits for a tile's rows where the copies of the next are not under way before. */
static double time_of(const struct gemm *g, struct load load)
{
    const double alone = 4 * load.most + (g->stages > 1 ? 200 : 1200), together = load.all / 3;
    return alone / g->teams > together ? alone / g->teams : together;
}

/* Where weights are: the more of them is done before, the better, where that leaves room for enough warps. */
static const struct place {
    bool resident, split;
    int warps;
} places[] = {{true, true, 8}, {true, false, 1}, {false, false, 1}};

/* Teams of how many warps, with chunks of how many blocks: what takes the least time. Returns whether
 * anything has room.
 */
static bool choose_teams(struct arena *a, struct gemm *g, int most, struct place place)
{
    static const int team[] = {1, 2, 3, 4, 6, 8, 12, 16}, limit[] = {8, 4, 2, 1};
    struct gemm best = {0};
    double least = 0;
    g->resident = place.resident;
    g->split = place.split;
    for (int l = 0; l < 4; l++) {
        g->spans = 0;
        find_spans(a, g, limit[l]);
        for (int i = 0; i < (int)(sizeof team / sizeof *team) * STAGES; i++) {
            g->members = team[i / STAGES];
            g->stages = STAGES - i % STAGES;
            for (g->teams = most / g->members; g->teams > 0 && !fits(a, g);)
                g->teams--;
            const double time = g->teams ? time_of(g, load_of(g, g->members)) : 0;
            if (g->teams * g->members >= place.warps && (!best.teams || time < least)) {
                best = *g;
                least = time;
            }
        }
    }
    *g = best.teams ? best : *g;
    return best.teams > 0 && fits(a, g);
}

static bool choose_place(struct arena *a, struct gemm *g, int warps)
{
    for (int i = gemm_has_parts(g->rows) ? 0 : 1; i < (int)(sizeof places / sizeof *places); i++)
        if (choose_teams(a, g, warps ? warps : WARPS_MOST, places[i]))
            return true;
    return false;
}

/* ---- sums ---- */

static void find_sums(struct arena *a, struct gemm *g)
{
    const struct demand *d = g->sums;
    g->sum = NEW_ARRAY(a, struct gemm_sum, d->plan->problem->paths + 1);
    for (int i = 0; i < d->plan->problem->paths; i++) {
        const struct path *p = &d->plan->problem->path[i];
        if (d->variant_of[i] < 0)
            continue;
        struct gemm_sum *q = &g->sum[g->sum_count++];
        const int blocks = round_up(p->mul_z, GEMM_BLOCK);
        const int most = SUM_TILES_MOST * 4 / kernel_size(d->kernel) / gemm_variant(d, i)->ws;
        *q = (struct gemm_sum){.path = i, .chunks = round_up(blocks, most > 1 ? most : 1), .first = g->parts};
        q->tiles = round_up(blocks, q->chunks);
        q->chunks = round_up(blocks, q->tiles);
        q->parts = round_up(p->mul_x, GEMM_ITEMS) * p->mul_y * q->chunks;
        g->parts += q->parts;
    }
}

/* Registers of a thread, with any part. */
static int sum_words(const struct gemm *g)
{
    int words = 0;
    for (int i = 0; i < g->sum_count; i++) {
        const struct variant *v = gemm_variant(g->sums, g->sum[i].path);
        const int left = 8 * v->ts * g->sums->plan->path[g->sum[i].path].matrix->columns;
        const int sums = 8 * g->sum[i].tiles * v->ws; /* and of few terms; or of twice the size */
        words = left + sums > words ? left + sums : words;
    }
    return words;
}

/* Blocks that have as many warps as there are parts, or together have them; as many on a multiprocessor as
 * registers and shared memory allow. */
static bool choose_blocks(struct arena *a, struct gemm *g)
{
    const int others = 6 * kernel_size(g->sums->kernel);
    const int warps = g->parts < 1 ? 1 : g->parts, words = sum_words(g) + others;
    g->sets = round_up(warps, SUM_WARPS_MOST);
    g->warps = round_up(warps, g->sets);
    for (g->sum_stages = STAGES; g->sum_stages >= 1; g->sum_stages--)
        for (g->fit = SUM_FIT; g->fit >= 1; g->fit--) {
            gemm_layout_sums(a, g);
            if (g->fit * (g->sum_block.bytes + BLOCK_RESERVED) <= g->device->shared_bytes + BLOCK_RESERVED &&
                (g->fit == 1 || device_registers(g->device, round_up(g->warps * g->fit, 4) * 4) >= words))
                return true;
        }
    return false;
}

/* ---- cost ---- */

static double sum_work(const struct demand *d, const struct gemm_sum *q)
{
    const struct variant *v = gemm_variant(d, q->path);
    const int columns = d->plan->path[q->path].matrix->columns;
    return q->parts * 2.0 * (tensor_work(d, q->path) + v->ws * product_work(d, columns, q->tiles, false));
}

/* As other evaluations count. What a demand reads and writes of an item. */
static double bytes_of(const struct demand *d)
{
    double elements = 0;
    for (int i = 0; d && i < d->kernel->form->inputs; i++)
        if (demand_reads(d, i) && kernel_input(d->kernel, i)->index == INDEX_ITEM)
            elements += (double)kernel_input(d->kernel, i)->dim;
    for (int o = 0; d && o < d->outputs; o++)
        if (demand_operand(d, o)->index == INDEX_ITEM)
            elements += (double)demand_operand(d, o)->dim;
    return d ? kernel_size(d->kernel) * elements : 0;
}

static double cost_of(struct gemm *g)
{
    const double bytes_per_instruction = 6, per_item = 20, sums_of_parts = 60;
    const double waits = 1.5; /* beside other evaluations with such figures, measured */
    double work = 0;
    for (int i = 0; i < g->spans; i++)
        work += g->span[i].chunks * g->span[i].work;
    for (int i = 0; i < g->sum_count; i++)
        work += sum_work(g->sums, &g->sum[i]);
    g->bytes = bytes_of(g->rows) + bytes_of(g->sums) * (g->sets > 1 ? g->sets : 1);
    g->work = per_item + work / GEMM_ITEMS + (g->sums ? sums_of_parts : 0);
    const double bytes = g->bytes / bytes_per_instruction, longer = g->work > bytes ? g->work : bytes;
    return waits * (longer + 0.4 * (g->work + bytes - longer));
}

/* ---- everything ---- */

static const char *choose_routes(struct arena *a, struct schedule *s)
{
    static const enum route_kind own_row = ROUTE_ITEM, parts = ROUTE_PARTS;
    s->route = NEW_ARRAY(a, struct route, s->demand->outputs + 1);
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct operand *q = demand_operand(s->demand, o);
        const bool row = q->index == INDEX_ITEM;
        if (!route_choose(s->demand->plan->problem->spec, q->index, 1, row ? &own_row : &parts,
                          &s->route[o]) ||
            route_keeps(&s->route[o]))
            return "no way to sum as the spec asks";
    }
    return NULL;
}

/* The demand's outputs that are sums over all items, or that are not; NULL: there are none. */
static const struct demand *outputs_of(struct arena *a, const struct demand *d, bool sums)
{
    const int paths = d->plan->problem->paths;
    bool *takes = NEW_ARRAY(a, bool, paths + 1);
    int n = 0, *output = NEW_ARRAY(a, int, d->outputs + 1);
    for (int p = 0; p < paths; p++)
        takes[p] = d->variant_of[p] >= 0;
    for (int o = 0; o < d->outputs; o++)
        if ((demand_operand(d, o)->index == INDEX_SHARED) == sums)
            output[n++] = d->output[o];
    return n ? demand_build(d->codes, d->plan, d->kernel, n, output, takes) : NULL;
}

const char *gemm_plan(struct arena *a, struct schedule *s)
{
    struct gemm *g = NEW(a, struct gemm);
    g->device = s->target->device;
    const char *why = choose_routes(a, s);
    if (why)
        return why;
    g->rows = outputs_of(a, s->demand, false);
    g->sums = outputs_of(a, s->demand, true);
    if (g->rows) {
        if (!choose_place(a, g, knob_value(s, KNOB_WARPS)))
            return "rows of a tile larger than shared memory";
        place_weights(a, g);
        s->operations = demand_operations(g->rows);
    }
    if (g->sums) {
        find_sums(a, g);
        if (!choose_blocks(a, g))
            return "rows of a tile larger than shared memory";
        const struct operations more = demand_operations(g->sums);
        s->operations.fma += more.fma;
        s->operations.mul += more.mul;
        s->operations.add += more.add;
    }
    s->own = g;
    s->cost = cost_of(g);
    return NULL;
}
