/* batch_places.c - the pipelined batch: where everything is. Each path set has a place in the ring, and one
 * for what leaves, instead of the others' of the group. */
#include "schedule/batch/batch_plan.h"
#include "schedule/source.h"

#include <string.h>

enum {
    CHUNK = 16 /* bytes that a lane copies at a time */
};

enum { RING, ROWS, WIDE, OUT, GROUPS };
static const struct group groups[GROUPS] = {
    [RING] = {.name = "ring",
              .note = "What comes in for a path set: slices of the channel block.",
              .type = "stage",
              .alias = "at",
              .lines = true,
              .instead = true},
    [ROWS] = {.name = "rows",
              .note = "What is there for all path sets of a channel block.",
              .type = "rows",
              .alias = "rows",
              .lines = true},
    [WIDE] = {.name = "wide", .note = "rows of y, widened"},
    [OUT] = {.name = "out", .note = "rows on their way to memory", .instead = true}};

int batch_numbers(const struct batch_set *s, const struct operand *o, const int **number)
{
    const bool ends = o->slot == SLOT_X && o->output;
    *number = ends ? s->end : o->slot == SLOT_X ? s->x : o->slot == SLOT_W ? s->w : s->z;
    return ends ? s->ends : o->slot == SLOT_X ? s->xs : o->slot == SLOT_W ? s->ws : s->zs;
}

static int add_place(const struct batch *g, const struct batch_phase *phase, struct place q)
{
    q.scope = SCOPE_TEAM;
    q.clock = phase->block;
    q.alias = -1;
    return build_place(g->pipeline, q);
}

/* Adds a field behind those that a place has: of an operand, or in its absence of nothing, as there are no
 * structs without fields. */
static void add_field(const struct batch *g, int place, const struct operand *o, bool held, struct field f)
{
    const struct place *q = &g->pipeline->place[place];
    f.name = f.name ? f.name : o ? o->symbol : "nothing";
    f.operand = o;
    f.version = -1;
    f.runs = f.runs ? f.runs : 1;
    f.wide = 1;
    f.type = !o ? "unsigned char" : held ? source_held(g->demand->plan, o) : "real";
    f.size = !o ? 1 : held ? operand_size(o) : q->size;
    f.apart = f.length;
    build_behind(g->pipeline, place, f);
}

/* The channel block's parts of blocks of an operand. */
static void add_slices(const struct batch *g, int place, const struct operand *o, int n, const int *number)
{
    struct arena *a = g->pipeline->arena;
    const char *note = arena_printf(a, "%s, by %s", o->symbol, o->slot == SLOT_W ? "path" : "irreps segment");
    for (int i = 0; i < n; i++) {
        struct field f = build_slice(g->pipeline, o, number[i], batch_part(g, o->block[number[i]].channels));
        f.note = note;
        add_field(g, place, o, true, f);
    }
}

/* What comes in for a set; what leaves, if anything does. */
static void add_set(struct batch *g, const struct batch_phase *phase, int set, bool out)
{
    const struct demand *d = g->demand;
    struct batch_set *s = &g->set[set];
    const bool leaves = demand_outputs_of(d, SLOT_G) || (s->ends && demand_outputs_of(d, SLOT_X));
    const struct place place = {.name = arena_printf(g->pipeline->arena, "set%d", set),
                                .how = out ? HOW_CODE : HOW_ASYNC,
                                .rate = out ? 1 : phase->sets,
                                .group = out ? OUT : RING,
                                .who = WHO_LANE};
    int *const at = out ? &s->out : &s->in;
    *at = out && !leaves ? -1 : add_place(g, phase, place);
    for (int i = 0; i < demand_arrays(d) && *at >= 0; i++) {
        const struct operand *o = demand_array(d, i);
        const int *number, n = o ? batch_numbers(s, o, &number) : 0;
        if (o && o->output == out &&
            (o->slot == SLOT_G || (o->slot == SLOT_W && !out && o->index == INDEX_ITEM) ||
             (o->slot == SLOT_X && (out || g->x_by_set))))
            add_slices(g, *at, o, n, number);
    }
    if (!out && !g->pipeline->place[*at].fields)
        add_field(g, *at, NULL, false, (struct field){.spread = -1, .length = CHUNK, .lane = 1});
}

/* Rows of a channel block: those of y in 16 bits are widened once they are there. */
static void add_rows(struct batch *g, struct batch_phase *phase, const char *name)
{
    const struct demand *d = g->demand;
    struct place place = {.name = name, .how = HOW_ASYNC, .group = ROWS, .who = WHO_ANY};
    phase->rows = add_place(g, phase, place);
    phase->wide = -1;
    place.how = HOW_CODE;
    place.group = WIDE;
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *o = demand_array(d, i);
        const bool narrow = o && operand_size(o) == 2;
        for (int k = 0; o && k < g->parts && o->slot == SLOT_X && !g->x_by_set; k++)
            add_slices(g, phase->rows, o, g->part[k].xs, g->part[k].x);
        if (!o || o->slot != SLOT_Y)
            continue;
        const int length = (int)(narrow ? (o->dim + 1) / 2 * 2 : o->dim), side = BATCH_LANES / phase->lanes;
        const int all = side > 1 ? side * batch_y_room(g, o) : length;
        add_field(g, phase->rows, o, true, (struct field){.spread = -1, .length = all, .lane = 1});
        if (narrow && phase->wide < 0)
            phase->wide = add_place(g, phase, place);
        if (narrow)
            add_field(g, phase->wide, o, false,
                      (struct field){.spread = -1, .length = (int)o->dim, .lane = 1});
    }
    if (!g->pipeline->place[phase->rows].fields)
        add_field(g, phase->rows, NULL, false, (struct field){.spread = -1, .length = CHUNK, .lane = 1});
}

/* Rows of outputs that calls write where they stand. */
static void add_standing(struct batch *g)
{
    for (int i = 0; i < g->demand->outputs; i++) {
        const struct operand *o = demand_operand(g->demand, i);
        if (o->slot == SLOT_Y || (o->slot == SLOT_W && o->index == INDEX_ITEM))
            add_place(g, &g->phase[0],
                      (struct place){.name = o->symbol,
                                     .operand = o,
                                     .table = o->slot == SLOT_W ? "w" : NULL,
                                     .how = HOW_STANDS,
                                     .who = WHO_LANE});
    }
}

void batch_places(struct arena *a, struct batch *g)
{
    struct pipeline *p = g->pipeline =
        build_pipeline(a, (struct worker){BATCH_LANES, 1, g->warps, g->blocks}, 1);
    p->walk.warps = true;
    p->size = kernel_size(g->demand->kernel);
    memcpy(p->aligned, g->aligned, sizeof p->aligned);
    for (int i = 0; i < GROUPS; i++)
        build_group(p, groups[i]);
    p->group[ROWS].instead = p->group[WIDE].instead = g->phases > 1;
    p->spreads = g->parts;
    p->spread = NEW_ARRAY(a, struct spread, g->parts + 1);
    for (int i = 0; i < g->parts; i++) {
        const struct batch_part *part = &g->part[i];
        p->spread[i] = (struct spread){g->parts > 1 ? arena_printf(a, "_of_%d", part->mul) : "",
                                       part->mul,
                                       g->channels,
                                       part->lanes,
                                       part->blocks,
                                       1};
    }
    for (int i = 0; i < g->phases; i++) {
        struct batch_phase *phase = &g->phase[i];
        phase->blocks = 0;
        for (int k = phase->first; k < phase->first + phase->sets; k++)
            if (phase->blocks < g->part[g->set[k].part].blocks)
                phase->blocks = g->part[g->set[k].part].blocks;
        phase->sums = phase->blocks > 1 && demand_outputs_of(g->demand, SLOT_Y);
        phase->item = build_loop(p, (struct loop){.name = "item"});
        const int side = BATCH_LANES / phase->lanes;
        phase->block =
            build_loop(p, (struct loop){.name = "block",
                                        .counted = phase->sums,
                                        .end = phase->blocks,
                                        .by = 1,
                                        .side = side,
                                        .group = demand_outputs_of(g->demand, SLOT_Y) ? g->sides : side});
        for (int k = 0; k < 2 * phase->sets; k++)
            add_set(g, phase, phase->first + k % phase->sets, k >= phase->sets);
        add_rows(g, phase, g->phases > 1 ? arena_printf(a, "phase%d", i) : "rows");
    }
    add_standing(g);
    for (int i = 0; i < demand_arrays(g->demand); i++) {
        const struct operand *o = demand_array(g->demand, i);
        if (o && o->index == INDEX_SHARED && o->dim)
            build_shared(p, o);
    }
}

void batch_stages(struct batch *g, int stages)
{
    int sets = g->sets; /* the fewest of a phase */
    g->stages = stages;
    for (int i = 0; i < g->phases; i++)
        sets = sets < g->phase[i].sets ? sets : g->phase[i].sets;
    for (int i = 0; i < g->pipeline->places; i++) {
        struct place *q = &g->pipeline->place[i];
        if (q->how == HOW_ASYNC)
            q->stages = q->group == RING ? stages : 1 + (stages - 1 + sets - 1) / sets;
    }
    pipeline_layout(g->pipeline);
}
