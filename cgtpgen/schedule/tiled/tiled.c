/* tiled.c - tiled items: a warp takes a tile of items, and each of its lanes one of them, for products whose
 * weights are few.
 *
 * Nothing crosses lanes but rows, which come and go through shared memory as whole lines, and sums over all
 * items. Weights that all items share are in shared memory, where one access gives a number to all lanes. The
 * longer of x and z is a stream: it comes, and leaves, segment by segment (a part), while the rest of an
 * item's rows stays for the tile. Paths that read or add to the part are worked on in groups: of paths of one
 * product of channels each, which share the turns over channels of z, or of one path, whose turns are over
 * some of its channels.
 */
#include "schedule/evaluations.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"
#include "schedule/path_calls.h"
#include "schedule/program.h"
#include "schedule/source.h"

enum {
    LANES = 32,
    WARPS_MOST = 16,
    WARPS_ENOUGH = 8,    /* that hide what each waits for */
    WARPS_LEAST = 2,     /* or too little is under way */
    SCHEDULERS = 4,      /* of a multiprocessor, among which warps and registers are divided */
    REGISTERS = 32,      /* of a thread, besides what a group holds */
    TOGETHER_MOST = 8,   /* channels of B at a time */
    COMPONENTS_MOST = 32 /* their components */
};

enum { RING, ROWS, LEAVING, OUT, GROUPS };
static const struct group groups[GROUPS] = {
    [RING] = {.name = "ring",
              .note = "What a tile reads for a part of the stream.",
              .type = "stage",
              .alias = "at"},
    [ROWS] = {.name = "rows", .note = "What a tile reads besides.", .type = "rows", .alias = "rows"},
    [LEAVING] = {.name = "leaving", .note = "What becomes of a part of the stream."},
    [OUT] = {.name = "out", .note = "What becomes of the tile's other rows."}};

struct part {
    int segment; /* of the stream */
    int channels;
    int pieces, first; /* they come by so many at a time; the number of the first among those of a tile */
    bool divides;      /* it may come in two pieces */
    int paths, *path;
    int groups;
    struct path_calls *group; /* of their first paths; made: it alone works on each channel, once */
};

/* What the planner decides. */
struct tiled {
    struct arena *arena;
    const struct demand *demand;
    const struct device *device;
    enum slot stream;
    int wide;          /* elements by which rows of the stream are copied, and read: of 16 bytes, or 1 */
    int parts, pieces; /* the latter of all parts */
    struct part *part;
    int registers; /* of a thread, */
    int room;      /* and numbers of a group that they have room for */
    int stages;    /* of the stream */
    struct pipeline *pipeline;
    int tile;   /* its loop over tiles */
    int *place; /* [operands]: of inputs, then of the demand's outputs; -1: none */
};

/* ---- what it takes ---- */

static const char *refuses_path(const struct target *target, const struct demand *d, const struct path *p)
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
            too_long |= q->block[k].channels * q->block[k].components > most / LANES;
        if (q->slot != g->stream)
            too_long |= q->dim > (q->index == INDEX_ITEM ? most / LANES : most);
    }
    return too_long;
}

/* ---- parts, and their groups ---- */

/* The stream's segments, each with its paths in the order of the list; do all begin and end at multiples of
 * 16 bytes? */
static void find_parts(struct tiled *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    const struct irreps *r = slot_irreps(p, g->stream);
    int aligned[SLOT_COUNT];
    demand_aligned(d, aligned);
    g->wide = 16 / kernel_size(d->kernel);
    g->wide = aligned[g->stream] % g->wide ? 1 : g->wide;
    g->part = NEW_ARRAY(g->arena, struct part, r->n + 1);
    for (int s = 0; s < r->n; s++) {
        struct part *part = &g->part[g->parts];
        *part = (struct part){
            .segment = s, .channels = r->segment[s].mul, .path = NEW_ARRAY(g->arena, int, p->paths + 1)};
        for (int i = 0; i < p->paths; i++)
            if (d->variant_of[i] >= 0 && (g->stream == SLOT_X ? p->path[i].x : p->path[i].z) == s)
                part->path[part->paths++] = i;
        if (!part->channels || (!part->paths && !demand_outputs_of(d, g->stream)))
            continue;
        part->group = NEW_ARRAY(g->arena, struct path_calls, part->paths + 1);
        g->wide = part->channels % g->wide ? 1 : g->wide;
        g->parts++;
    }
}

/* Numbers in registers of a path's vectors; first: and of what the turns of its group need once. */
static int held(const struct path_calls *q, bool first)
{
    const struct variant *v = q->v;
    if (!v->contracted)
        return q->together * (q->e->matrix->rows + q->d + 1);
    const bool whole = q->together > 1 && q->turn == q->e->path->mul_z;
    const int rows = whole ? demand_inputs_of(q->demand, SLOT_W) : 0;
    const int vectors = v->zs + (v->ps > v->ws ? v->ps : v->ws); /* at most */
    return q->together * (q->d * (v->ts + v->ps) + q->turn * (v->ws + rows)) +
           (first ? q->turn * (q->d * vectors + 1) : 0);
}

/* A path as a group: with channels of z at a time of about as many components, and as many channels of B at a
 * time as divide all. */
static struct path_calls group_of(const struct tiled *g, const struct part *part, const int *path)
{
    const struct path_calls only = {g->pipeline, g->demand, g->place, part->first, .paths = 1, .path = path};
    struct path_calls q = calls_path(&only, 0), best;
    const int most = q.d == 1 ? 8 : q.d <= 5 ? 4 : 2, channels = q.e->pairs ? 1 : path_channels_b(q.e);
    q.turn = q.e->path->mul_z < most ? (int)q.e->path->mul_z : most;
    for (q.together = 1; q.together <= TOGETHER_MOST; q.together++)
        if (q.together == 1 ||
            (channels % q.together == 0 && q.together * q.e->matrix->rows <= COMPONENTS_MOST &&
             held(&q, true) <= g->room))
            best = q;
    return best;
}

/* Puts the part's paths, in their order, into groups: one of a single product of channels joins such a group
 * before it that leads to the same segment of z, if registers hold it, too. */
static void group_paths(const struct tiled *g, struct part *part)
{
    struct path_calls *last = NULL;
    int holds = 0;
    bool was_single = false;
    part->groups = 0;
    for (int i = 0; i < part->paths; i++) {
        const struct path_calls q = group_of(g, part, &part->path[i]);
        const bool single = q.e->contracted && path_channels_a(q.e) * path_channels_b(q.e) == 1;
        if (single && was_single && last->e->path->z == q.e->path->z && holds + held(&q, false) <= g->room) {
            holds += held(&q, false);
            last->paths++;
            continue;
        }
        last = &part->group[part->groups++];
        *last = q;
        holds = held(&q, true);
        was_single = single;
    }
}

/* Is each channel of the part worked on once? */
static bool is_once(const struct tiled *g, const struct part *part)
{
    const struct path_calls *q = part->group;
    if (part->groups != 1 || path_channels_a(q->e) > 1 || q->e->pairs)
        return false;
    if (g->stream == SLOT_G)
        return q->e->contracted && calls_turns_b(q) == 1;
    return q->paths == 1 && (q->e->b == SLOT_X || q->e->elementwise || path_channels_b(q->e) == 1);
}

/* Can it come in two pieces: is it read, each channel worked on once, and are there as many turns in each? */
static bool divides(const struct tiled *g, const struct part *part)
{
    const int turn = g->stream == SLOT_G ? part->group->turn : part->group->together;
    return part->group->made && demand_inputs_of(g->demand, g->stream) && part->channels % (2 * turn) == 0 &&
           part->channels % (2 * g->wide) == 0;
}

/* ---- places ---- */

/* A piece of a row of the stream: a field, or one for each component where they are apart. */
static void add_piece(const struct tiled *g, int place, const struct part *part, int piece)
{
    const struct operand_block *b = &g->pipeline->place[place].operand->block[part->segment];
    const int channels = part->channels / part->pieces;
    const bool apart = part->pieces > 1 && block_is_apart(b);
    for (int c = 0; c < (apart ? b->components : 1); c++)
        build_field(g->pipeline, place,
                    (struct field){.version = part->first + piece,
                                   .runs = g->pipeline->items,
                                   .length = channels * (apart ? 1 : b->components),
                                   .base = b->offset + piece * channels * b->channel + c * b->component,
                                   .at = c * channels,
                                   .wide = g->wide,
                                   .lane = g->wide});
}

static int add_place(const struct tiled *g, const struct operand *q, int alias)
{
    const bool input = !q->output, streams = q->slot == g->stream, rings = streams && (input || alias >= 0);
    const int group = rings ? RING : streams ? LEAVING : input ? ROWS : OUT;
    const int ahead = input && g->stages > 1 ? 2 : 1;
    struct pipeline *p = g->pipeline;
    if (q->index != INDEX_ITEM)
        return build_shared(p, q);
    const int place =
        build_place(p, (struct place){.name = q->symbol,
                                      .operand = q,
                                      .scope = SCOPE_TEAM,
                                      .how = input ? HOW_ASYNC : HOW_CODE,
                                      .clock = g->tile,
                                      .rate = streams ? g->pieces : 1,
                                      .stages = rings ? g->stages : ahead,
                                      .alias = alias,
                                      .group = group,
                                      .who = WHO_RUN,
                                      .keep = streams}); /* lines that parts share are read by each */
    for (int i = 0; i < g->parts && streams; i++)
        for (int k = 0; k < g->part[i].pieces; k++)
            add_piece(g, place, &g->part[i], k);
    if (!streams && q->dim)
        build_field(
            p, place,
            (struct field){.version = -1, .runs = p->items, .length = (int)q->dim, .wide = 1, .lane = 1});
    return place;
}

/* The places of so many warps; outputs of the stream take those of its inputs (in_place). Returns for how
 * many of the warps shared memory has room. */
static int add_places(struct tiled *g, int stages, int warps, bool in_place)
{
    const int inputs = g->demand->kernel->form->inputs;
    int next = in_place ? 0 : inputs;
    g->pipeline = build_pipeline(g->arena, (struct worker){LANES, 1, warps, 1}, LANES);
    g->pipeline->size = kernel_size(g->demand->kernel);
    g->tile = build_loop(g->pipeline, (struct loop){.name = "tile"});
    g->stages = stages < g->pieces ? stages : g->pieces;
    for (int i = 0; i < GROUPS; i++)
        build_group(g->pipeline, groups[i]);
    for (int i = 0; i < demand_arrays(g->demand); i++) {
        const struct operand *q = demand_array(g->demand, i);
        int alias = -1;
        for (; q && q->output && q->slot == g->stream && alias < 0 && next < inputs; next++)
            if (g->place[next] >= 0 && demand_array(g->demand, next)->slot == g->stream)
                alias = g->place[next];
        g->place[i] = q ? add_place(g, q, alias) : -1;
    }
    pipeline_layout(g->pipeline);
    const int teams = pipeline_teams(g->pipeline, g->device->shared_bytes);
    return teams < warps ? teams : warps;
}

/* ---- warps ---- */

/* As many warps, of so many, as shared memory holds, with pieces fetched ahead where room is left for that,
 * and the groups that their registers leave room for; halves: of parts that divide, in two pieces each.
 * Outputs take the places of inputs where each channel is worked on once. Returns the number of groups and
 * turns over channels of B; 0: rows do not fit, or groups do not divide so. */
static int arrange(struct tiled *g, int stages, int warps, bool halves)
{
    g->pieces = 0;
    for (int i = 0; i < g->parts; i++) {
        g->part[i].first = g->pieces;
        g->part[i].pieces = halves && g->part[i].divides ? 2 : 1;
        g->pieces += g->part[i].pieces;
    }
    const int ring = stages ? stages : 1, more = stages ? stages : 2;
    for (int in_place = 1;; in_place--) {
        bool once = true;
        int turns = 1, fit = add_places(g, ring, warps, in_place);
        if (fit < (stages ? 1 : WARPS_LEAST))
            return 0;
        if (add_places(g, more, fit, in_place) < fit)
            add_places(g, ring, fit, in_place);
        g->registers = device_registers(g->device, (fit + SCHEDULERS - 1) / SCHEDULERS * SCHEDULERS);
        g->room = (g->registers - REGISTERS) / (kernel_size(g->demand->kernel) / 4);
        for (int i = 0; i < g->parts; i++) {
            struct part *part = &g->part[i];
            group_paths(g, part);
            part->group->made = is_once(g, part);
            once &= part->group->made || !part->groups;
            if (part->pieces > 1 && !divides(g, part))
                return 0;
            for (int k = 0; k < part->groups; k++)
                turns += calls_turns_b(&part->group[k]);
        }
        if (once || !in_place)
            return turns;
    }
}

/* The most warps with which groups are as large as with few. Pieces cost, so that they must bring more warps
 * to every scheduler. */
static bool choose_warps(struct tiled *g, int stages, int asked)
{
    int best = asked ? asked : WARPS_ENOUGH, in_halves = false;
    const int turns = arrange(g, stages, best, false);
    int teams = g->pipeline->worker.teams;
    for (int i = 0; i < g->parts && turns; i++)
        g->part[i].divides = divides(g, &g->part[i]);
    for (int halves = 0; halves < 2 && turns && !asked; halves++)
        for (int warps = WARPS_MOST; warps >= WARPS_ENOUGH; warps -= SCHEDULERS) {
            const int step = halves ? SCHEDULERS : 1;
            if (arrange(g, stages, warps, halves) == turns &&
                g->pipeline->worker.teams / step > teams / step) {
                teams = g->pipeline->worker.teams;
                best = warps;
                in_halves = halves;
            }
        }
    return turns && arrange(g, stages, best, in_halves);
}

/* ---- steps ---- */

/* Copies of a tile's rows, of a piece of the stream (or of all else), so many turns ahead; or what leaves. */
static void move(const struct tiled *g, enum how how, bool stream, int index, int skew)
{
    for (int i = 0; i < g->pipeline->places; i++) {
        const struct place *q = &g->pipeline->place[i];
        if (q->clock == g->tile && q->fields && q->how == how && (q->operand->slot == g->stream) == stream)
            (how == HOW_ASYNC ? build_copy : build_store)(g->pipeline, i, index, skew);
    }
}

/* A piece leaves, a later one comes in its place; with the next tile's first one all its other rows come. */
static void end_piece(const struct tiled *g, int version)
{
    const int ahead = version + g->stages, next = ahead / g->pieces;
    move(g, HOW_CODE, true, version, 0);
    move(g, HOW_ASYNC, true, ahead % g->pieces, next);
    if (g->stages > 1 && ahead % g->pieces == 0)
        move(g, HOW_ASYNC, false, 0, next);
    build_end(g->pipeline);
}

/* Zeros in the lane's rows of outputs, to which groups add: of a part of the stream (NULL: of all others). */
static void clear(const struct tiled *g, const struct part *part)
{
    for (int i = 0; i < demand_arrays(g->demand); i++) {
        const struct operand *q = demand_array(g->demand, i);
        if (!q || !q->output || !q->dim || q->index != INDEX_ITEM || (q->slot == g->stream) != (part != NULL))
            continue;
        const struct argument to = build_at(g->place[i], part ? part->first : 0, (struct address){0});
        const int64_t n = part ? part->channels * q->block[part->segment].components : q->dim;
        build_call(g->pipeline, "cgtp_clear_lane",
                   (int[]){(int)n, g->pipeline->place[g->place[i]].field->lane, 0}, 1, &to);
    }
}

static void begin_piece(const struct part *part, struct path_calls *c, int piece)
{
    c->version = part->first + piece;
    build_block(c->pipeline, c->version);
}

/* A group's turns over channels of B, in these over those of z: along x or z, over those of each piece. */
static void turns(const struct tiled *g, const struct part *part, struct path_calls *c)
{
    const bool along_x = c->made && g->stream == SLOT_X, along_z = c->made && !along_x;
    const int pieces_x = along_x ? part->pieces : 1, pieces_z = along_z ? part->pieces : 1;
    const int nb = (path_channels_b(c->e) - c->e->pairs) / pieces_x; /* pairs: of a < b */
    const int nz = (int)c->e->path->mul_z / pieces_z;
    for (int i = 0; i < pieces_x; i++) {
        if (along_x)
            begin_piece(part, c, i);
        if (calls_turns_b(c) > 1)
            calls_loop(c, (struct loop){.name = "u",
                                        .first = i * nb,
                                        .end = (i + 1) * nb,
                                        .by = c->together,
                                        .less = c->e->pairs ? "a" : NULL});
        else
            build_block(c->pipeline, -1);
        for (int k = 0; k < c->paths; k++)
            calls_tensors(c, k);
        for (int k = 0; k < pieces_z && c->e->contracted; k++) {
            if (along_z)
                begin_piece(part, c, k);
            calls_turns(c, k * nz, nz);
            if (along_z)
                end_piece(g, c->version);
        }
        for (int k = 0; k < c->paths; k++)
            calls_product(c, k);
        build_end(c->pipeline);
        if (along_x)
            end_piece(g, c->version);
    }
}

/* What stays in registers for all turns over channels of B. */
static void hold(const struct path_calls *c, bool load)
{
    calls_hold(c, CALLS_BOTH, true, load);
    if (c->e->contracted && c->e->path->mul_z == c->turn)
        calls_hold_z(c, c->turn, NULL, load);
}

static void work_on_group(const struct tiled *g, const struct part *part, struct path_calls c)
{
    struct pipeline *p = g->pipeline;
    const int channels_a = path_channels_a(c.e);
    for (int i = 0; i < c.paths; i++)
        build_step(p, STEP_NOTE)->note =
            arena_printf(p->arena, "%s; a C = form",
                         source_path_line(p->arena, g->demand->plan, calls_path(&c, i).e->path));
    if (channels_a > 1)
        calls_loop(&c, (struct loop){.name = "a", .end = channels_a - c.e->pairs, .by = 1});
    if (calls_turns_b(&c) > 1) {
        build_block(p, -1);
        hold(&c, true);
        turns(g, part, &c);
        hold(&c, false);
        build_end(p);
    } else {
        turns(g, part, &c);
    }
    if (channels_a > 1)
        build_end(p);
}

/* ---- everything ---- */

/* Part by part. */
static void add_steps(const struct tiled *g)
{
    struct pipeline *p = g->pipeline;
    const struct segment *segment = slot_irreps(g->demand->plan->problem, g->stream)->segment;
    build_step(p, STEP_FILL)->loop = g->tile;
    build_launch(p, false);
    build_begin(p, g->tile);
    clear(g, NULL);
    for (int i = 0; i < g->parts; i++) {
        const struct part *part = &g->part[i];
        struct text words = {.arena = g->arena};
        text_printf(&words, "%s: %dx", g->stream == SLOT_X ? "x" : "z", part->channels);
        irrep_print(&words, segment[part->segment].ir);
        build_step(p, STEP_NOTE)->note = text_string(&words);
        if (!part->group->made) {
            build_block(p, part->first);
            clear(g, part);
        }
        for (int k = 0; k < part->groups; k++)
            work_on_group(g, part, part->group[k]);
        if (!part->group->made)
            end_piece(g, part->first);
    }
    move(g, HOW_CODE, false, 0, 0);
    if (g->stages == 1)
        move(g, HOW_ASYNC, false, 0, 1);
    build_end(p);
    build_launch(p, true);
}

static const char *plan(struct arena *a, struct schedule *s)
{
    const struct demand *d = s->demand;
    const int64_t *dim = d->plan->problem->dim;
    struct tiled *g = NEW(a, struct tiled);
    *g = (struct tiled){.arena = a,
                        .demand = d,
                        .device = s->target->device,
                        .stream = dim[SLOT_X] > dim[SLOT_G] ? SLOT_X : SLOT_G,
                        .place = NEW_ARRAY(a, int, demand_arrays(d) + 1)};
    if (is_too_long(g))
        return "rows of a tile larger than shared memory";
    find_parts(g);
    if (!choose_warps(g, knob_value(s, KNOB_STAGES), knob_value(s, KNOB_WARPS)))
        return "rows of a tile larger than shared memory";
    add_steps(g);
    return program_finish(s, g->pipeline, g->registers);
}

const struct evaluation tiled_evaluation = {
    .name = "tiled",
    .words = "tiled items",
    .header = "cgtp_tiled.h",
    .refuses = item_rows_refuses,
    .refuses_path = refuses_path,
    .plan = plan,
    .check = program_check,
    .areas = program_areas,
    .device = program_device,
    .launch = program_launch,
    .report = program_report,
};
