/* gemm_plan.c - see gemm_plan.h. */
#include "schedule/gemm/gemm_plan.h"
#include "schedule/item_rows.h"

enum {
    WARPS_LIMIT = 16, /* of a team, at most */
    DIVIDED_MOST = 4, /* the same that divide channels of y, which are not as many for each */
    REGISTERS = 80,   /* that a thread takes besides its sums */
    STAGES = 2,
    INSTRUCTION = 16 /* bytes */
};

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
        (*first)[gemm_segment(&p->path[i], slot) + 2] += d->variant_of[i] >= 0;
    for (int s = 0; s < n; s++)
        (*first)[s + 2] += (*first)[s + 1];
    for (int i = 0; i < p->paths; i++)
        if (d->variant_of[i] >= 0)
            (*path)[(*first)[gemm_segment(&p->path[i], slot) + 1]++] = i;
}

/* ---- work ---- */

/* Of what comes of P, for so many blocks of channels of x. */
static double of_p_work(const struct demand *d, int path, int tiles)
{
    const struct code *code = demand_code(d, path).product;
    return code ? 4.0 * tiles * (code->channel.fma + code->channel.mul + code->channel.add + 4) : 0;
}

/* Of sums of slot A over the four lanes of an item, for one channel of y of several. */
static double of_items_work(const struct demand *d, int path)
{
    const struct path_plan *e = &d->plan->path[path];
    const int per_element = 6; /* two exchanges and additions, a load and a store */
    return path_channels_a(e) == 1 ? 0 : 2.0 * per_element * e->matrix->depth * demand_outputs_of(d, SLOT_Y);
}

/* Of a chunk. */
static double span_work(const struct gemm_rows *r, const struct gemm_span *q)
{
    const struct demand *d = r->demand;
    const double right = gemm_has_parts(d) && !r->split ? 8 : 1;
    double work = 0;
    for (int i = 0; i < q->paths; i++) {
        const struct path_plan *e = &d->plan->path[q->path[i]];
        const struct variant *v = gemm_variant(d, q->path[i]);
        const int columns = e->matrix->columns, channels_a = path_channels_a(e);
        const double some =
            e->below ? 0.5 + 0.5 * GEMM_BLOCK / channels_a : 1; /* of blocks of channels of G */
        if (r->back || gemm_from_z(d, q->path[i])) {
            const struct code *code = demand_code(d, q->path[i]).product;
            if (!code)
                continue;
            const double each = code->channel.fma + code->channel.mul + code->channel.add + 4;
            work += channels_a * (of_items_work(d, q->path[i]) + 4 * q->tiles * each +
                                  v->ps * some * gemm_round_up(path_channels_g(e), GEMM_BLOCK) *
                                      (16.0 * columns + gemm_product_work(d, columns, 1, q->tiles, right)));
        } else {
            work += channels_a * gemm_round_up(path_channels_b(e), GEMM_BLOCK) *
                    (gemm_tensor_work(d, q->path[i]) +
                     v->zs * some * gemm_product_work(d, columns, 1, q->tiles, right));
        }
    }
    return work;
}

/* ---- spans ---- */

/* Registers that a block of columns of the span takes: its sums, and beside them those of few terms. */
static int words_of(const struct gemm_rows *r, const struct gemm_span *q, int components)
{
    const struct demand *d = r->demand;
    const int size = kernel_size(d->kernel) / 4;
    const int outputs = r->back ? demand_outputs_of(d, gemm_slot(d->plan, ROLE_B)) : 1;
    int words = 0;
    for (int i = 0; i < q->paths; i++) {
        const bool of_p = r->back || gemm_from_z(d, q->path[i]);
        const bool parts =
            gemm_has_parts(d) && (!of_p || gemm_depth(r, q->path[i]) > GEMM_EXACT * GEMM_BLOCK);
        const int n = of_p ? gemm_variant(d, q->path[i])->ps * d->plan->path[q->path[i]].matrix->columns *
                                 (parts ? 2 : size)
                           : parts * components;
        words = n > words ? n : words;
    }
    return 4 * (words + components * outputs * size);
}

static void add_span(struct gemm_rows *r, int limit, struct gemm_span q, const struct segment *s)
{
    const int blocks = gemm_round_up(s->mul, GEMM_BLOCK), words = words_of(r, &q, 2 * s->ir.l + 1);
    int most = words ? r->registers / words : limit;
    most = most < 1 ? 1 : most > limit ? limit : most;
    q.channels = s->mul;
    q.cut = r->cut_of[q.segment];
    q.chunks = gemm_round_up(blocks, most);
    q.tiles = gemm_round_up(blocks, q.chunks);
    q.chunks = gemm_round_up(blocks, q.tiles);
    q.first = r->spans ? r->span[r->spans - 1].first + r->span[r->spans - 1].chunks : 0;
    q.work = span_work(r, &q);
    for (int i = 0; i < q.paths; i++)
        r->blocks[q.path[i]] = q.chunks * q.tiles;
    r->span[r->spans++] = q;
}

/* The spans: of G for each of its outputs, or of B; limit: blocks of a chunk, at most. */
static void find_spans(struct arena *a, struct gemm_rows *r, int limit)
{
    const struct demand *d = r->demand;
    const enum slot slot = gemm_slot(d->plan, r->back ? ROLE_B : ROLE_G);
    const struct irreps *irreps = slot_irreps(d->plan->problem, slot);
    const int outputs = demand_outputs_of(d, slot);
    int *first, *path;
    paths_by_segment(a, d, slot, &first, &path);
    r->spans = 0;
    r->blocks = NEW_ARRAY(a, int, d->plan->problem->paths + 1);
    r->span = NEW_ARRAY(a, struct gemm_span, irreps->n * (outputs + 1) + 1);
    for (int o = 0; o < (r->back ? 1 : outputs); o++)
        for (int s = 0; s < irreps->n; s++)
            if (irreps->segment[s].mul && (outputs || first[s + 1] > first[s]))
                add_span(
                    r, limit,
                    (struct gemm_span){
                        .output = o, .segment = s, .paths = first[s + 1] - first[s], .path = path + first[s]},
                    &irreps->segment[s]);
}

/* Where the weights of each path are among all that are put for lanes. */
static void place_weights(struct arena *a, struct gemm_rows *r)
{
    const struct problem *p = r->demand->plan->problem;
    r->place = NEW_ARRAY(a, int64_t, p->paths + 1);
    r->weights = 0;
    for (int i = 0; i < p->paths; i++) {
        r->place[i] = r->weights;
        if (r->demand->variant_of[i] >= 0)
            r->weights += gemm_blocks(r, i) * GEMM_BLOCK * GEMM_BLOCK * gemm_words(r);
    }
}

static bool fits(struct arena *a, const struct gemm *g, struct gemm_rows *r)
{
    gemm_layout_rows(a, r);
    return r->block.bytes <= g->device->shared_bytes;
}

/* What a tile takes: all of it, and the warp of a team that has most of it. */
struct load {
    double all, most;
};

static struct load load_of(const struct gemm_rows *r)
{
    double each[WARPS_LIMIT] = {0};
    struct load load = {0, 0};
    for (int i = 0; i < r->spans; i++)
        for (int k = 0; k < r->span[i].chunks; k++) {
            double *mine = &each[gemm_divides(r) ? 0 : (r->span[i].first + k) % r->members];
            *mine += r->span[i].work / (gemm_divides(r) ? r->members : 1);
            load.all += r->span[i].work;
            load.most = *mine > load.most ? *mine : load.most;
        }
    return load;
}

/* The time of a team's tile if it were alone, as instructions that one could have issued: a warp by itself
 * issues one in eight turns, waits for a tile's rows where the copies of the next are not under way before,
 * and for the team's other warps. */
static double alone_of(const struct gemm_rows *r, struct load load)
{
    return 8 * load.most + r->cuts * ((r->stages > 1 ? 400 : 2000) + (r->members > 1 ? 600 : 0));
}

/* Of a tile of each team, where there are as many warps as a multiprocessor's schedulers can use. */
static double together_of(const struct gemm_rows *r, struct load load)
{
    return r->teams * load.all / 2.5;
}

/* Of some tiles on a multiprocessor. */
static double time_of(const struct gemm_rows *r, struct load load)
{
    const double tiles = 20,
                 last = 0.6; /* of tens of thousands of items; turns lost as some teams have one less */
    const double apart = (tiles / r->teams + last) * alone_of(r, load);
    const double together = tiles / r->teams * together_of(r, load);
    return apart > together ? apart : together;
}

/* Instructions of loops over what is summed over, each as long as tensor cores add up, and of what comes of
 * P. */
static double code_of(const struct gemm_rows *r)
{
    const struct demand *d = r->demand;
    double code = 0;
    for (int i = 0; i < r->spans; i++)
        for (int k = 0; k < r->span[i].paths; k++) {
            const int path = r->span[i].path[k], columns = d->plan->path[path].matrix->columns;
            const struct variant *v = gemm_variant(d, path);
            const bool of_p = r->back || gemm_from_z(d, path);
            const double left = of_p ? 16 * columns : gemm_tensor_work(d, path);
            const int blocks = gemm_round_up(gemm_depth(r, path), GEMM_BLOCK);
            code += of_p ? of_p_work(d, path, r->span[i].tiles) : 0;
            code += (blocks < GEMM_EXACT ? blocks : GEMM_EXACT) *
                    (left + (of_p ? v->ps : v->zs) * r->span[i].tiles * (1 + 3 * columns));
        }
    return code;
}

/* Where weights are: the more of them is done before, the better, where that leaves room for enough warps. */
static const struct place {
    bool resident, split;
    int warps;
} places[] = {{true, true, 8}, {true, false, 1}, {false, true, 1}};

/* What has been found, and how long it takes. */
struct found {
    struct gemm_rows rows; /* of no teams: nothing */
    double least;
};

/* Teams of how many of so many warps, with chunks of how many blocks: what takes the least time. */
static void choose_teams(struct arena *a, const struct gemm *g, struct gemm_rows *r, int warps,
                         struct place place, struct found *best)
{
    static const int team[] = {1, 2, 3, 4, 6, 8, 12, 16}, limit[] = {8, 4, 2, 1};
    r->resident = place.resident;
    r->split = place.split && gemm_has_parts(r->demand);
    r->registers = device_registers(g->device, warps) - REGISTERS;
    for (int l = 0; l < 4; l++) {
        find_spans(a, r, limit[l]);
        place_weights(a, r);
        for (int i = 0; i < (int)(sizeof team / sizeof *team) * STAGES; i++) {
            r->members = team[i / STAGES];
            r->stages = STAGES - i % STAGES;
            for (r->teams = warps / r->members; r->teams > 0 && !fits(a, g, r);)
                r->teams--;
            const double time = r->teams ? time_of(r, load_of(r)) : 0;
            if (gemm_divides(r) ? r->members > DIVIDED_MOST : r->members > gemm_chunks(r))
                continue;
            if (r->teams * r->members >= place.warps && (!best->rows.teams || time < best->least))
                *best = (struct found){*r, time};
        }
    }
}

/* Returns whether anything has room, of rows in so many pieces; warps: of a block, at most; 0: as many as
 * take the least time. */
static bool choose_place(struct arena *a, const struct gemm *g, struct gemm_rows *r, int warps)
{
    static const int most[] = {12, 8}; /* 8: with more registers each */
    bool found = false;
    for (int i = gemm_has_parts(r->demand) ? 0 : 1; i < (int)(sizeof places / sizeof *places) && !found;
         i++) {
        struct found best = {.least = 0};
        for (int k = 0; k < (warps ? 1 : (int)(sizeof most / sizeof *most)); k++)
            choose_teams(a, g, r, warps ? warps : most[k], places[i], &best);
        if (best.rows.teams) {
            *r = best.rows;
            found = fits(a, g, r);
        }
    }
    r->unrolled = found && gemm_has_parts(r->demand) && code_of(r) * INSTRUCTION <= g->unrolled_bytes;
    r->turned = found && code_of(r) * INSTRUCTION <= 2 * g->device->loop_bytes;
    return found;
}

/* ---- cost ---- */

/* Of what takes less time than the other, work or bytes: how much of it is not hidden. */
#define BESIDE 0.3

static double cost_of(struct gemm *g)
{
    const double bytes_per_instruction = 6, per_item = 20, sums_of_parts = 60;
    const double waits = 1.5; /* of work, beside other evaluations with such figures, measured */
    double work = 0;
    g->bytes = gemm_sum_bytes(g);
    for (int k = 0; k < GEMM_KINDS; k++) {
        for (int i = 0; i < g->rows[k].spans; i++)
            work += g->rows[k].span[i].chunks * g->rows[k].span[i].work;
        g->bytes += demand_row_bytes(g->rows[k].demand, false);
    }
    for (int i = 0; i < g->sum_count; i++)
        work += gemm_sum_work(g->sums, &g->sum[i]);
    g->work = per_item + work / GEMM_ITEMS + (g->sums ? sums_of_parts : 0);
    const double bytes = g->bytes / bytes_per_instruction, waited = waits * g->work;
    return waited > bytes ? waited + BESIDE * bytes : bytes + BESIDE * waited;
}

/* ---- everything ---- */

/* Which kernel makes an output: one of GEMM_KINDS, or GEMM_KINDS for sums over all items. */
static int kernel_of(const struct demand *d, int output)
{
    if (demand_operand(d, output)->index == INDEX_SHARED)
        return GEMM_KINDS;
    return demand_output(d, output)->slot == gemm_slot(gemm_roles(d->plan), ROLE_G) ? GEMM_FORTH : GEMM_BACK;
}

/* The plan with the paths marked worked from z to x. */
static const struct plan *plan_from_z(struct arena *a, const struct plan *plan, const bool *marked)
{
    struct plan *from = arena_copy(a, plan, sizeof *plan);
    from->matrices = (struct matrices){.arena = a};
    from->path = arena_copy(a, plan->path, (size_t)(plan->problem->paths + 1) * sizeof *plan->path);
    for (int p = 0; p < plan->problem->paths; p++)
        if (marked[p]) {
            struct path_plan *e = &from->path[p];
            e->b = SLOT_G;
            e->g = SLOT_X;
            e->matrix = matrix_of(&from->matrices, e->path, e->a, e->g);
        }
    return from;
}

/* Components of rows that meet weights, in all products of a path. */
static int components_of(const struct demand *d, int path)
{
    const struct variant *v = gemm_variant(d, path);
    return (v->zs + v->ps + gemm_sum_products(d, path)) * d->plan->path[path].matrix->columns;
}

/* The demand's outputs that this kernel makes; NULL: there are none. Paths of fewer components of x than of z
 * are worked from z to x where that takes fewer products, but for those whose y has x's channels. */
static const struct demand *outputs_of(struct arena *a, const struct demand *d, int kernel)
{
    const struct plan *plan = gemm_roles(d->plan);
    const int paths = plan->problem->paths;
    bool *takes = NEW_ARRAY(a, bool, paths + 1), *marked = NEW_ARRAY(a, bool, paths + 1), any = false;
    int n = 0, *output = NEW_ARRAY(a, int, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++)
        if (kernel_of(d, o) == kernel)
            output[n++] = d->output[o];
    for (int p = 0; p < paths; p++) {
        const struct path_plan *e = &plan->path[p];
        takes[p] = d->variant_of[p] >= 0;
        marked[p] = takes[p] && !e->elementwise && e->matrix->rows < e->matrix->columns;
        any |= marked[p];
    }
    const struct demand *of = n ? demand_build(d->codes, plan, d->kernel, n, output, takes) : NULL;
    if (!of || !any || plan->sums_x || kernel == GEMM_BACK || (kernel == GEMM_FORTH && n > 1))
        return of;
    const struct demand *from =
        demand_build(d->codes, plan_from_z(a, plan, marked), d->kernel, n, output, takes);
    for (int p = 0; p < paths; p++)
        marked[p] = marked[p] && components_of(from, p) < components_of(of, p);
    return demand_build(d->codes, plan_from_z(a, plan, marked), d->kernel, n, output, takes);
}

static void add_operations(struct schedule *s, const struct demand *d)
{
    const struct operations more = demand_operations(d);
    s->operations.fma += more.fma;
    s->operations.mul += more.mul;
    s->operations.add += more.add;
}

const char *gemm_plan(struct arena *a, struct schedule *s)
{
    struct gemm *g = NEW(a, struct gemm);
    g->device = s->target->device;
    g->unrolled_bytes = knob_value(s, KNOB_CODE) ? 1024 * knob_value(s, KNOB_CODE) : g->device->loop_bytes;
    const char *why = item_rows_owned(a, s);
    if (why)
        return why;
    for (int k = 0; k < GEMM_KINDS; k++) {
        struct gemm_rows *r = &g->rows[k];
        r->demand = outputs_of(a, s->demand, k);
        r->back = k == GEMM_BACK;
        if (!r->demand)
            continue;
        bool found = false, more = true;
        for (int cuts = 1; !found && more; cuts++) {
            more = gemm_cut_rows(a, r, cuts);
            found = more && choose_place(a, g, r, knob_value(s, KNOB_WARPS));
        }
        if (!found)
            return "rows of a tile larger than shared memory";
        const double alone = alone_of(r, load_of(r)), together = together_of(r, load_of(r));
        r->time = 1 + (int)(alone > together ? alone : together);
        add_operations(s, r->demand);
    }
    g->sums = outputs_of(a, s->demand, GEMM_KINDS);
    if (g->sums) {
        if (!gemm_choose_sums(a, g, knob_value(s, KNOB_CHANNELS) != 1))
            return "rows of a tile larger than shared memory";
        add_operations(s, g->sums);
    }
    s->own = g;
    s->cost = cost_of(g);
    return NULL;
}
