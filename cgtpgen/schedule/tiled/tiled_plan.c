/* tiled_plan.c - tiled items: what they take, and how a part's paths, registers and shared memory are
 * divided. */
#include "schedule/path.h"
#include "schedule/program.h"
#include "schedule/tiled/tiled.h"

enum {
    WARPS_ENOUGH = 8,    /* that hide what each waits for */
    WARPS_LEAST = 2,     /* or too little is under way */
    SCHEDULERS = 4,      /* of a multiprocessor, among which warps and registers are divided */
    REGISTERS = 32,      /* of a thread, besides what a group holds */
    TOGETHER_MOST = 8,   /* channels of B at a time */
    COMPONENTS_MOST = 32 /* their components */
};

/* ---- what it takes ---- */

const char *tiled_refuses(const struct target *target, const struct demand *d)
{
    (void)target;
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *q = &d->kernel->operand[i];
        if (q->index == INDEX_SENDER || q->index == INDEX_RECEIVER)
            return "rows of nodes";
        if (q->index == INDEX_SHARED && q->slot != SLOT_W)
            return "shared rows that are no weights";
    }
    return NULL;
}

const char *tiled_refuses_path(const struct target *target, const struct demand *d, const struct path *p)
{
    if (d->plan->path[p->number].g != SLOT_G)
        return "weights connect channels of x or y with others";
    return path_is_pipelined(target->device, d->plan->problem->spec, p) ? "left to pipelined evaluations"
                                                                        : NULL;
}

/* Is a row too long for a tile of them, or for a block's memory, however that is divided? */
static bool is_too_long(const struct tiled *g)
{
    const struct demand *d = g->demand;
    const int64_t most = g->device->shared_bytes / kernel_size(d->kernel);
    bool too_long = false;
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *q = &d->kernel->operand[i];
        for (int k = 0; k < q->blocks && q->slot == g->stream; k++)
            too_long |= q->block[k].channels * q->block[k].components > most / TILED_LANES;
        if (q->slot != g->stream)
            too_long |= q->dim > (q->index == INDEX_ITEM ? most / TILED_LANES : most);
    }
    return too_long;
}

/* ---- groups ---- */

/* Channels of z at a time: components of about as many registers. */
static int turn_of(const struct path *p)
{
    const int d = 2 * p->l3 + 1, most = d == 1 ? 8 : d <= 5 ? 4 : 2;
    return p->mul_z < most ? p->mul_z : most;
}

/* Registers of a path's vectors, and of what the turns of its group need once. */
static int path_words(const struct tiled *g, int path, int together, int turn)
{
    const struct path_plan *e = &g->demand->plan->path[path];
    const struct variant *v = tiled_variant(g, path);
    const int words = kernel_size(g->demand->kernel) / 4;
    if (!tiled_turns(v))
        return words * together * (e->matrix->rows + e->matrix->columns + 1);
    const int rows = together > 1 && turn == e->path->mul_z ? demand_inputs_of(g->demand, SLOT_W) : 0;
    return words * together * (e->matrix->columns * (v->ts + v->ps) + turn * (v->ws + rows));
}

static int turn_words(const struct tiled *g, int path, int turn)
{
    const struct variant *v = tiled_variant(g, path);
    const int words = kernel_size(g->demand->kernel) / 4;
    const int vectors = v->zs + (v->ps > v->ws ? v->ps : v->ws); /* at most */
    return tiled_turns(v) ? words * turn * (g->demand->plan->path[path].matrix->columns * vectors + 1) : 0;
}

/* Has the path one product of channels? */
static bool is_single(const struct path_plan *e)
{
    return e->contracted && path_channels_a(e) * path_channels_b(e) == 1;
}

/* Channels of B at a time: as many as divide all. */
static int together_of(const struct tiled *g, const struct path_plan *e, int turn)
{
    const int path = e->path->number, channels = e->pairs ? 1 : path_channels_b(e);
    const int room = g->registers - REGISTERS - turn_words(g, path, turn);
    int best = 1;
    for (int n = 2; n <= TOGETHER_MOST && n <= channels; n++)
        if (channels % n == 0 && n * e->matrix->rows <= COMPONENTS_MOST &&
            path_words(g, path, n, turn) <= room)
            best = n;
    return best;
}

/* Does the path join the group, by what it holds and where it leads? */
static bool joins(const struct tiled *g, const struct tiled_group *group, const struct path_plan *e)
{
    const struct path_plan *first = &g->demand->plan->path[group->path[0]];
    return is_single(first) && is_single(e) && first->path->z == e->path->z &&
           tiled_turns(tiled_variant(g, e->path->number)) && tiled_turns(tiled_variant(g, group->path[0])) &&
           group->words + path_words(g, e->path->number, 1, group->turn) <= g->registers - REGISTERS;
}

/* Puts the part's paths, in their order, into groups. */
static void group_paths(const struct tiled *g, struct tiled_part *part)
{
    const int *path = part->path;
    part->groups = 0;
    part->group = NEW_ARRAY(g->arena, struct tiled_group, part->paths + 1);
    for (int i = 0; i < part->paths; i++) {
        const struct path_plan *e = &g->demand->plan->path[path[i]];
        struct tiled_group *last = part->groups ? &part->group[part->groups - 1] : NULL;
        if (last && joins(g, last, e)) {
            last->words += path_words(g, path[i], 1, last->turn);
            last->paths++;
            continue;
        }
        struct tiled_group *q = &part->group[part->groups++];
        q->path = &path[i];
        q->paths = 1;
        q->turn = turn_of(e->path);
        q->together = is_single(e) ? 1 : together_of(g, e, q->turn);
        q->words = turn_words(g, path[i], q->turn) + path_words(g, path[i], q->together, q->turn);
    }
}

/* The stream's segments, each with its paths in the order of the list. */
static void find_parts(struct tiled *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    const struct irreps *r = slot_irreps(p, g->stream);
    g->part = NEW_ARRAY(g->arena, struct tiled_part, r->n + 1);
    for (int s = 0; s < r->n; s++) {
        const int mul = r->segment[s].mul;
        int n = 0, *path = NEW_ARRAY(g->arena, int, p->paths + 1);
        for (int i = 0; i < p->paths; i++)
            if (d->variant_of[i] >= 0 && (g->stream == SLOT_X ? p->path[i].x : p->path[i].z) == s)
                path[n++] = i;
        if (mul && (n || demand_outputs_of(d, g->stream)))
            g->part[g->parts++] = (struct tiled_part){.segment = s,
                                                      .elements = mul * (2 * r->segment[s].ir.l + 1),
                                                      .channels = mul,
                                                      .pieces = 1,
                                                      .paths = n,
                                                      .path = path};
    }
}

/* Is each channel of the part worked on once? */
static bool is_once(const struct tiled *g, const struct tiled_part *part)
{
    if (part->groups != 1)
        return part->groups == 0;
    const struct tiled_group *group = &part->group[0];
    const struct path_plan *e = &g->demand->plan->path[group->path[0]];
    const bool repeats = path_channels_a(e) > 1 || e->pairs;
    if (g->stream == SLOT_G)
        return e->contracted && !repeats && path_channels_b(e) == group->together;
    return group->paths == 1 && !repeats && (e->b == SLOT_X || e->elementwise || path_channels_b(e) == 1);
}

/* Do all parts begin and end at multiples of 16 bytes? */
static bool is_wide(const struct tiled *g)
{
    const struct demand *d = g->demand;
    const int per = 16 / kernel_size(d->kernel);
    bool wide = true;
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *q = &d->kernel->operand[i];
        for (int k = 0; k < g->parts && q->slot == g->stream; k++)
            wide &= q->block[g->part[k].segment].alignment == per && g->part[k].elements % per == 0;
    }
    return wide;
}

/* ---- warps ---- */

static int round_up(int n, int step)
{
    return (n + step - 1) / step * step;
}

/* Can the part come in so many pieces: is each channel worked on once, and are there as many turns in each
 * piece? */
static bool divides(const struct tiled *g, const struct tiled_part *part, int pieces)
{
    const struct tiled_group *q = &part->group[0];
    const int channels = part->channels / pieces, per = g->wide ? 16 / kernel_size(g->demand->kernel) : 1;
    if (part->groups != 1 || !q->once || part->channels % pieces)
        return false;
    const struct path_plan *e = &g->demand->plan->path[q->path[0]];
    const bool along = g->stream == SLOT_G || e->b == SLOT_X || e->elementwise;
    return along && channels % (g->stream == SLOT_G ? q->turn : q->together) == 0 && channels % per == 0;
}

/* As many warps, of `most`, as shared memory holds; pieces are fetched ahead where room is left for that. */
static bool choose(struct tiled *g, int stages, int most, bool in_place)
{
    int ring = stages ? stages : 1, warps;
    ring = ring < g->pieces ? ring : g->pieces;
    tiled_places(g, ring, most, in_place);
    warps = pipeline_teams(g->pipeline, g->device->shared_bytes);
    warps = warps < most ? warps : most;
    if (warps < (stages ? 1 : WARPS_LEAST))
        return false;
    if (!stages && g->pieces > 1) {
        tiled_places(g, 2, warps, in_place);
        if (g->pipeline->of_block.bytes <= g->device->shared_bytes)
            return true;
    }
    tiled_places(g, ring, warps, in_place);
    return true;
}

/* What is tried: warps at most, and pieces of a part. */
struct attempt {
    int warps, pieces;
};

/* Warps, and the groups that their registers leave room for. Outputs take the places of inputs where each
 * channel is worked on once. Parts are divided as the groups of the attempt before allow. Returns the number
 * of groups and turns over channels of B; 0: rows do not fit, or groups are not those. */
static int arrange(struct tiled *g, int stages, struct attempt try)
{
    g->pieces = 0;
    for (int i = 0; i < g->parts; i++) {
        struct tiled_part *part = &g->part[i];
        part->pieces = try.pieces > 1 && divides(g, part, try.pieces) ? try.pieces : 1;
        part->first = g->pieces;
        g->pieces += part->pieces;
    }
    for (int places = 1;; places--) {
        bool once = true;
        int turns = 1;
        if (!choose(g, stages, try.warps, places))
            return 0;
        g->registers = device_registers(g->device, round_up(g->pipeline->worker.teams, SCHEDULERS));
        for (int i = 0; i < g->parts; i++) {
            struct tiled_part *part = &g->part[i];
            group_paths(g, part);
            const bool here = is_once(g, part);
            part->group[0].once = here;
            once &= here;
            if (part->pieces > 1 && !divides(g, part, part->pieces))
                return 0;
            for (int k = 0; k < part->groups; k++)
                turns +=
                    path_channels_b(&g->demand->plan->path[part->group[k].path[0]]) / part->group[k].together;
        }
        if (once || !places)
            return turns;
    }
}

/* The same, with parts divided as whole ones' groups allow. */
static int arrange_divided(struct tiled *g, int stages, struct attempt whole, struct attempt try)
{
    arrange(g, stages, whole);
    return arrange(g, stages, try);
}

/* The most warps with which groups are as large as with few. Pieces cost, so that they must bring more warps
 * to every scheduler. */
static bool choose_warps(struct tiled *g, int stages, int warps)
{
    static const struct attempt attempts[] = {{16, 1}, {12, 1}, {16, 2}, {12, 2}, {WARPS_ENOUGH, 2}};
    const struct attempt whole = {warps ? warps : WARPS_ENOUGH, 1};
    struct attempt best = whole;
    const int turns = arrange(g, stages, whole), pieces = demand_inputs_of(g->demand, g->stream) ? 2 : 1;
    int most = g->pipeline->worker.teams;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts && turns && !warps; i++) {
        const int step = attempts[i].pieces > 1 ? SCHEDULERS : 1;
        if (attempts[i].pieces <= pieces && arrange_divided(g, stages, whole, attempts[i]) == turns &&
            g->pipeline->worker.teams / step > most / step) {
            best = attempts[i];
            most = g->pipeline->worker.teams;
        }
    }
    if (turns)
        arrange_divided(g, stages, whole, best);
    return turns > 0;
}

/* ---- everything ---- */

const char *tiled_plan(struct arena *a, struct schedule *s)
{
    const struct demand *d = s->demand;
    struct tiled *g = NEW(a, struct tiled);
    g->arena = a;
    g->demand = d;
    g->device = s->target->device;
    g->stream = d->plan->problem->dim[SLOT_X] > d->plan->problem->dim[SLOT_G] ? SLOT_X : SLOT_G;
    if (is_too_long(g))
        return "rows of a tile larger than shared memory";
    find_parts(g);
    g->wide = is_wide(g);
    g->place = NEW_ARRAY(a, int, demand_arrays(d) + 1);
    if (!choose_warps(g, knob_value(s, KNOB_STAGES), knob_value(s, KNOB_WARPS)))
        return "rows of a tile larger than shared memory";
    tiled_steps(g);
    return program_finish(s, g->pipeline, g->registers);
}
