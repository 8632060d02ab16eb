/* batch_plan.c - see batch_plan.h; with its row in the table of a GPU. */
#include "schedule/batch/batch_plan.h"
#include "schedule/evaluations.h"
#include "schedule/path.h"
#include "schedule/path_table.h"
#include "schedule/program.h"

enum {
    BLOCK_WARPS = 4,      /* of a block */
    RESERVED = 1024,      /* bytes that the device takes of each block's shared memory */
    UNDER_WAY = 48 << 10, /* bytes to a multiprocessor that keep an H200's memory busy */
    FEW_WARPS = 8 /* of a multiprocessor, for gradients of rows of 16 bits: larger sets, fewer turns */
};

/* May items be side by side? Only rows that lanes copy and sum up by item. */
static bool may_share_warps(const struct demand *d)
{
    bool may = d->plan->problem->spec->index[SLOT_W] != INDEX_SHARED;
    for (int i = 0; i < demand_arrays(d) && may; i++)
        may = !demand_array(d, i) || operand_size(demand_array(d, i)) == kernel_size(d->kernel);
    return may;
}

static const char *refuses(const struct target *target, const struct demand *d)
{
    const struct problem *p = d->plan->problem;
    const struct spec *s = p->spec;
    if (s->index[SLOT_X] != INDEX_ITEM || s->index[SLOT_Y] != INDEX_ITEM || s->index[SLOT_G] != INDEX_ITEM)
        return "not a batch (x, y and z of the item)";
    if (p->weight_numel && s->index[SLOT_W] != INDEX_ITEM && s->index[SLOT_W] != INDEX_SHARED)
        return "weights of nodes";
    if (paths_want_tables(target, d))
        return "paths by tables";
    int most = 0;
    for (int i = 0; i < p->paths; i++)
        most = d->variant_of[i] >= 0 && most < p->path[i].mul_x ? p->path[i].mul_x : most;
    if (may_share_warps(d))
        return most < target->device->lanes / 4 ? "channels for less than a quarter of a warp" : NULL;
    return most < target->device->lanes / 2 ? "channels for less than half of a warp" : NULL;
}

static const char *refuses_path(const struct target *target, const struct demand *d, const struct path *q)
{
    (void)target;
    (void)d;
    return q->mode != MODE_UVU || q->mul_y != 1 ? "not uvu with one channel of y" : NULL;
}

/* ---- paths ---- */

static bool has(int n, const int *list, int value)
{
    for (int i = 0; i < n; i++)
        if (list[i] == value)
            return true;
    return false;
}

/* Lanes that an item has for so many channels. */
static int lanes_of(int mul, int channels)
{
    enum { LEAST = 4 };
    int lanes = LEAST;
    while (lanes * channels < mul && lanes < BATCH_LANES)
        lanes *= 2;
    return lanes;
}

static void find_parts(struct arena *a, struct batch *g, bool sides)
{
    const struct problem *p = g->demand->plan->problem;
    g->part = NEW_ARRAY(a, struct batch_part, p->paths + 1);
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        int at = 0;
        if (g->demand->variant_of[i] < 0)
            continue;
        while (at < g->parts && g->part[at].mul != q->mul_x)
            at++;
        struct batch_part *part = &g->part[at];
        if (at == g->parts) {
            *part = (struct batch_part){.mul = q->mul_x,
                                        .blocks = batch_blocks(q->mul_x, g->channels),
                                        .lanes = sides ? lanes_of(q->mul_x, g->channels) : BATCH_LANES,
                                        .x = NEW_ARRAY(a, int, p->x.n + 1)};
            g->parts++;
            g->sides = g->sides > BATCH_LANES / part->lanes ? g->sides : BATCH_LANES / part->lanes;
        }
        if (!has(part->xs, part->x, q->x))
            part->x[part->xs++] = q->x;
    }
}

/* Paths that read a segment of x stand together, but for those into the same segment of z, which follow the
 * first of them: `first`[path], of its segment of z. */
static bool stands_before(const struct problem *p, const int *first, int i, int j)
{
    const struct path *q = &p->path[first[i]], *r = &p->path[first[j]];
    if (q->mul_x != r->mul_x)
        return q->mul_x > r->mul_x;
    if (q->x != r->x)
        return q->x < r->x;
    return q->number != r->number ? q->number < r->number : i < j;
}

static void sort_paths(struct arena *a, struct batch *g)
{
    const struct problem *p = g->demand->plan->problem;
    int *first = NEW_ARRAY(a, int, p->paths), *of_z = NEW_ARRAY(a, int, p->z.n);
    g->order = NEW_ARRAY(a, int, p->paths);
    for (int i = 0; i < p->paths; i++) {
        if (g->demand->variant_of[i] < 0)
            continue;
        int *first_of_z = &of_z[p->path[i].z], at = g->paths++;
        *first_of_z = *first_of_z ? *first_of_z : i + 1;
        first[i] = *first_of_z - 1;
        for (; at > 0 && stands_before(p, first, i, g->order[at - 1]); at--)
            g->order[at] = g->order[at - 1];
        g->order[at] = i;
    }
    g->last = NEW_ARRAY(a, int, p->x.n);
    for (int i = 0; i < g->paths; i++)
        g->last[p->path[g->order[i]].x] = i;
}

/* Path number `i` in the order. */
static void add_path(struct batch *g, struct batch_set *s, int i)
{
    const struct path *path = g->demand->plan->problem->path, *q = &path[g->order[i]];
    const bool new_z = !has(s->zs, s->z, q->z);
    int at = q->weighted ? s->ws++ : 0;
    for (; at > 0 && path[s->w[at - 1]].weight_offset > q->weight_offset; at--)
        s->w[at] = s->w[at - 1];
    s->w[at] = q->weighted ? q->number : s->w[at];
    s->path[s->paths++] = q->number;
    if (new_z)
        s->z[s->zs++] = q->z;
    if (!has(s->xs, s->x, q->x))
        s->x[s->xs++] = q->x;
    if (g->last[q->x] == i)
        s->end[s->ends++] = q->x;
    s->bytes += batch_path_bytes(g, q, new_z);
    s->work += batch_path_work(g, q);
}

/* Of each path in order, and of the end: do the paths from it on read no segment of x that those before do,
 * nor share one of z? */
static bool *find_alone(struct arena *a, const struct batch *g)
{
    const struct problem *p = g->demand->plan->problem;
    int *last_z = NEW_ARRAY(a, int, p->z.n), last = -1;
    bool *alone = NEW_ARRAY(a, bool, g->paths + 1);
    for (int i = 0; i < g->paths; i++)
        last_z[p->path[g->order[i]].z] = i;
    alone[g->paths] = true;
    for (int i = 0; i < g->paths; i++) {
        const struct path *q = &p->path[g->order[i]];
        alone[i] = last < i; /* the last that shares a segment with one before */
        last = last > g->last[q->x] ? last : g->last[q->x];
        last = last > last_z[q->z] ? last : last_z[q->z];
    }
    return alone;
}

static const struct batch_part *part_of(const struct batch *g, int i)
{
    return &g->part[batch_part(g, g->demand->plan->problem->path[g->order[i]].mul_x)];
}

/* Where phases begin: where items have other lanes, and so that each has about as many instructions. */
static void divide_phases(struct arena *a, struct batch *g)
{
    const struct problem *p = g->demand->plan->problem;
    const bool *alone = find_alone(a, g);
    int64_t before = 0, all = 0;
    int shares = 0;
    g->begins = NEW_ARRAY(a, bool, g->paths + 1);
    for (int i = 0; i < g->paths; i++)
        all += batch_path_work(g, &p->path[g->order[i]]);
    for (int i = 0, end; i < g->paths; i = end) { /* paths that must be in one phase */
        int64_t own = 0;
        for (end = i; end == i || !alone[end]; end++)
            own += batch_path_work(g, &p->path[g->order[end]]);
        const bool share = i == 0 || (2 * before + own) * g->most_phases >= 2 * shares * all;
        g->begins[i] = share || part_of(g, i)->lanes != part_of(g, i - 1)->lanes;
        g->several |= i > 0 && g->begins[i];
        shares += share;
        before += own;
    }
}

/* Divides the paths into sets of at most `limit` bytes per channel block, where that can be. */
static void divide(struct arena *a, struct batch *g, int limit)
{
    const struct problem *p = g->demand->plan->problem;
    const int *order = g->order, n = g->paths, most_paths = knob_value(g->schedule, KNOB_PATHS);
    int capacity = 0, phase_capacity = 0;
    int *list[5]; /* of all sets, one behind the other */
    for (int i = 0; i < 5; i++)
        list[i] = NEW_ARRAY(a, int, n);
    g->set = NULL;
    g->phase = NULL;
    g->sets = g->phases = 0;
    for (int i = 0, end; i < n; i = end) { /* those into one segment of z */
        const struct path *q = &p->path[order[i]];
        int bytes = 0, part = batch_part(g, q->mul_x);
        for (end = i; end < n && p->path[order[end]].z == q->z; end++)
            bytes += batch_path_bytes(g, &p->path[order[end]], end == i);
        struct batch_set *s = g->sets ? &g->set[g->sets - 1] : NULL;
        if (g->begins[i]) {
            g->phase = arena_grow(a, g->phase, g->phases, &phase_capacity, sizeof *g->phase);
            g->phase[g->phases++] = (struct batch_phase){.first = g->sets, .lanes = g->part[part].lanes};
        }
        if (g->begins[i] || s->part != part || s->bytes + bytes > limit ||
            (most_paths && s->paths + end - i > most_paths)) {
            g->set = arena_grow(a, g->set, g->sets, &capacity, sizeof *g->set);
            s = &g->set[g->sets++];
            g->phase[g->phases - 1].sets++;
            *s = (struct batch_set){.part = part,
                                    .path = list[0] + i,
                                    .x = list[1] + i,
                                    .z = list[2] + i,
                                    .w = list[3] + i,
                                    .end = list[4] + i};
        }
        for (int k = i; k < end; k++)
            add_path(g, s, k);
    }
}

/* Are most of what is moved, rows of x, w and z, in 16 bits? */
static bool is_narrow(const struct demand *d)
{
    const struct kernel_plan *k = d->kernel;
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++)
        if (k->operand[i].slot != SLOT_Y && operand_size(&k->operand[i]) > 2)
            return false;
    return true;
}

/* ---- registers, shared memory ---- */

/* Sets of at most so many bytes, and what lies where for each. */
static void lay_out_sets(struct arena *a, struct batch *g, int limit)
{
    divide(a, g, limit);
    batch_places(a, g);
}

/* A block's memory, with rings of so many stages; does it fit? */
static bool lay_out_block(struct batch *g, int stages)
{
    batch_stages(g, stages);
    return (g->pipeline->of_block.bytes + RESERVED) * g->blocks <= g->device->shared_bytes + RESERVED;
}

/* Are enough bytes under way to a multiprocessor while all stages but one are? As large a part of what the
 * memory needs as inputs have in what is moved. */
static bool enough_under_way(const struct batch *g)
{
    const struct place *place = g->pipeline->place;
    double in = g->x_by_set ? 0 : place_bytes(&place[g->phase[0].rows]), out = 0;
    for (int s = 0; s < g->sets; s++) {
        in += place_bytes(&place[g->set[s].in]);
        out += g->set[s].out < 0 ? 0 : place_bytes(&place[g->set[s].out]);
    }
    return in / g->sets * (g->stages - 1) * g->warps * g->blocks >= UNDER_WAY * in / (in + out);
}

/* What an attempt asks of sets and stages. */
struct demanded {
    bool x_by_set, enough; /* enough bytes are under way, in rings of more than two stages */
    int least;             /* bytes of a channel of a lane in a set */
};

/* The most stages for which the memory that there is suffices, and enough is under way; 0: none. */
static int choose_stages(struct batch *g, const struct demanded *q)
{
    static const int stages[] = {6, 4, 3, 2};
    for (size_t s = !is_narrow(g->demand); s < sizeof stages / sizeof *stages; s++) {
        const int asked = knob_value(g->schedule, KNOB_STAGES), n = asked ? asked : stages[s];
        if (lay_out_block(g, n) && (!q->enough || ((asked || n > 2) && enough_under_way(g))))
            return n;
    }
    return 0;
}

/* The least limit for which there are no more sets than for this one: they are then about as large as each
 * other. */
static int balanced(struct arena *a, struct batch *g, int limit)
{
    divide(a, g, limit);
    const int sets = g->sets;
    for (int least = 0; least < limit;) {
        const int middle = (least + limit) / 2;
        divide(a, g, middle);
        if (g->sets > sets)
            least = middle + 1;
        else
            limit = middle;
    }
    return limit;
}

/* The largest sets of paths, and so the fewest turns, for which there are stages. */
static bool choose_sets(struct arena *a, struct batch *g, const struct demanded *q)
{
    static const int limit[] = {8192, 6144, 4096, 3072, 2048, 1536, 1024, 0};
    struct arena *scratch = arena_scratch(a);
    g->x_by_set = q->x_by_set;
    for (size_t i = 0; i < sizeof limit / sizeof *limit && limit[i] >= q->least * g->channels; i++) {
        lay_out_sets(scratch, g, limit[i]);
        const int stages = choose_stages(g, q);
        const int even = stages ? balanced(scratch, g, limit[i]) : 0;
        arena_empty(scratch);
        if (!stages)
            continue;
        lay_out_sets(a, g, even);
        if (choose_stages(g, q))
            return true;
        lay_out_sets(a, g, limit[i]);
        return lay_out_block(g, stages);
    }
    return false;
}

/* Many warps share a multiprocessor, if more issue more, and sets and rings then are large enough; x comes by
 * channel block, if it can, or else by path set. */
static bool choose(struct arena *a, struct batch *g)
{
    static const struct demanded step[] = {
        {false, true, 2048}, {true, true, 2048}, {true, true, 1024}, {true, true, 0}, {true, false, 0}};
    const struct device *device = g->device;
    const bool few = is_narrow(g->demand) && demand_inputs_of(g->demand, SLOT_G);
    const int knob = knob_value(g->schedule, KNOB_WARPS), asked = knob ? knob : few ? FEW_WARPS : 0;
    const bool by_set = g->most_phases > 1 || g->several;
    g->warps = BLOCK_WARPS;
    for (size_t i = by_set; i < sizeof step / sizeof *step; i++)
        for (int o = 0; o < device->occupancies; o++) {
            int warps = device->occupancy[o].warps;
            bool last = o == device->occupancies - 1;
            bool idle = !last && device->occupancy[o + 1].issue >= device->occupancy[o].issue;
            if (asked ? warps != asked : idle || (!last && device_registers(device, warps) < g->held))
                continue;
            g->blocks = warps / g->warps;
            if (choose_sets(a, g, &step[i]))
                return true;
        }
    for (g->blocks = 1; g->warps > 0; g->warps--)
        if (choose_sets(a, g, &step[sizeof step / sizeof *step - 1]))
            return true;
    return false;
}

/* Do the channels of each path divide into so many per lane, and then leave no more lanes idle than one each?
 */
static bool divides(const struct demand *d, int channels)
{
    const struct path *path = d->plan->problem->path;
    for (int i = 0; i < d->plan->problem->paths; i++)
        if (d->variant_of[i] >= 0 &&
            (path[i].mul_x % channels ||
             batch_blocks(path[i].mul_x, channels) * channels > batch_blocks(path[i].mul_x, 1)))
            return false;
    return true;
}

/* Two channels per lane where slices of one are shorter than memory likes; or as many as are asked for, where
 * these divide channels and a lane's weights of a path are no more than 16 bytes. */
static int choose_channels(const struct demand *d, int asked)
{
    enum { LANES_BYTES = 16 };
    int channels = asked ? asked : kernel_size(d->kernel) < 8 ? 2 : 1;
    while (!divides(d, channels) || channels * kernel_size(d->kernel) > LANES_BYTES)
        channels /= 2;
    return channels;
}

/* ---- everything ---- */

/* The batch with so many channels per lane, in so many phases, with items side by side or without; NULL: a
 * stage is larger than shared memory. */
static struct batch *with_channels(struct arena *a, const struct schedule *s, int channels, int most_phases,
                                   bool sides)
{
    struct batch *g = NEW(a, struct batch);
    g->schedule = s;
    g->demand = s->demand;
    g->device = s->target->device;
    g->channels = channels;
    g->most_phases = most_phases;
    demand_aligned(g->demand, g->aligned);
    find_parts(a, g, sides);
    sort_paths(a, g);
    divide_phases(a, g);
    g->held = batch_registers_held(a, g);
    return choose(a, g) ? g : NULL;
}

/* Four channels per lane where slices of two are shorter than memory likes, as they are in 16 bits; if the
 * slices of x stay for all path sets then. A loop that is longer than the instructions that are kept becomes
 * several or, where segments of x do not allow that, has one channel per lane instead of two: half the code.
 * Items are side by side but where all paths are asked for in one phase.
 */
static struct batch *cheapest(struct arena *a, const struct schedule *s)
{
    /* measured on an H200: ptxas makes a fifth more of it, and several loops are best with a third of the
     * room */
    const int64_t room = s->target->device->code_bytes, fits = room * 3 / 4, each = room * 2 / 7;
    const int asked = knob_value(s, KNOB_CHANNELS), phases = knob_value(s, KNOB_PHASES);
    const int channels = choose_channels(s->demand, asked);
    const bool sides = phases != 1 && may_share_warps(s->demand);
    const bool four = !asked && !phases && is_narrow(s->demand) && divides(s->demand, 4);
    struct batch *g = four ? with_channels(a, s, 4, 1, sides) : NULL;
    if (g && !g->x_by_set && batch_loop_bytes(g, false) <= fits)
        return g;
    g = with_channels(a, s, channels, phases ? phases : 1, sides);
    if (!g || phases || batch_loop_bytes(g, false) <= fits)
        return g;
    const int most = (int)(batch_loop_bytes(g, true) / each) + 1;
    struct batch *other = with_channels(a, s, channels, most, sides);
    if (other && other->phases > 1)
        return other;
    other = channels > 1 && !asked ? with_channels(a, s, 1, 1, sides) : NULL;
    return other && batch_loop_bytes(other, false) <= fits ? other : g;
}

static const char *plan(struct arena *a, struct schedule *s)
{
    int aligned[SLOT_COUNT];
    demand_aligned(s->demand, aligned);
    if (demand_is_too_short(s->demand, aligned))
        return demand_is_too_short(s->demand, aligned);
    struct batch *g = cheapest(a, s);
    if (!g)
        return "a stage larger than shared memory";
    batch_steps(g);
    const int registers = device_registers(g->device, g->warps * g->blocks);
    const char *why = program_finish(s, g->pipeline, registers);
    s->cost = batch_cost(g);
    s->spills = g->pipeline->registers.spills;
    return why;
}

const struct evaluation batch_evaluation = {
    .name = "batch",
    .words = "pipelined batch",
    .header = "cgtp_batch.h",
    .parts_header = "cgtp_item.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_W | 1u << SLOT_G,
    .access.read = 1u << SLOT_Y,
    .refuses = refuses,
    .refuses_path = refuses_path,
    .plan = plan,
    .check = program_check,
    .areas = program_areas,
    .device = program_device,
    .launch = program_launch,
    .report = program_report,
};
