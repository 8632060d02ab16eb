/* conv_places.c - the pipelined convolution: where everything of a path set is: what edges bring, what
 * leaves, what the receiver has.
 */
#include "schedule/convolution/conv_program.h"
#include "schedule/source.h"

#include <string.h>

enum { TILE_BYTES = 176 }; /* struct cgtp_tile of the runtime */

/* ---- places ---- */

int conv_number(const struct conv_program *c, bool output, int number)
{
    return output ? c->k->form->inputs + number : number;
}

int conv_numbers(const struct conv_program *c, enum slot slot, bool output, int *number)
{
    const struct demand *d = c->g->demand;
    int n = 0;
    for (int o = 0; output && o < d->outputs; o++)
        if (demand_operand(d, o)->slot == slot)
            number[n++] = conv_number(c, true, d->output[o]);
    for (int i = 0; !output && i < c->k->form->inputs; i++)
        if (demand_reads(d, i) && kernel_input(c->k, i)->slot == slot)
            number[n++] = i;
    return n;
}

int conv_spread(const struct conv_program *c, int mul, int of)
{
    int i = 0;
    while (c->p->spread[i].mul != mul * of || c->p->spread[i].of != of)
        i++;
    return i;
}

static const char *type_of(const struct conv_program *c, const struct operand *o)
{
    return source_held(c->g->demand->plan, o);
}

/* The channel block's part of an operand's block. of: numbers that a channel has of each. */
static struct field slice_of(const struct conv_program *c, const struct operand *o, int number, int of)
{
    const struct operand_block *b = &o->block[number];
    struct field f = build_slice(c->p, o, number, conv_spread(c, (int)b->channels / of, of));
    if (block_is_apart(b) || !conv_shifts(c->g, c->s, o))
        return f;
    const int channels = c->p->spread[f.spread].channels,
              lanes = ((int)b->channels + channels - 1) / channels; /* of an item, that have any */
    const int part = (lanes < c->s->lanes ? lanes : c->s->lanes) * channels * b->components;
    f.length = conv_abreast(c->s) * conv_shifted_room(o, part);
    return f;
}

static void add_x_fields(struct conv_program *c, int place, const struct operand *o, const char *note)
{
    for (int i = 0; i < c->s->xs; i++) {
        struct field f = slice_of(c, o, c->s->x[i], 1);
        f.note = note;
        build_behind(c->p, place, f);
    }
}

static void add_w_fields(struct conv_program *c, int place, const struct operand *o)
{
    const struct problem *p = c->g->demand->plan->problem;
    int *path, n = conv_weighted(c->a, p, c->s, &path);
    for (int i = 0; i < n; i++)
        build_behind(c->p, place, slice_of(c, o, path[i], conv_calls(&p->path[path[i]])));
}

static int add_place(struct conv_program *c, struct place q)
{
    const int place = build_place(c->p, q);
    c->p->place[place].scope = q.scope ? q.scope : SCOPE_WARP;
    c->p->place[place].alias = -1;
    c->p->place[place].clock = q.clock ? q.clock : c->edge;
    c->p->place[place].within = c->tile;
    return place;
}

/* A field that is all of a place: so many runs of a length, one behind the other. */
static void add_runs(struct conv_program *c, int place, int runs, int length, int apart)
{
    build_field(c->p, place,
                (struct field){.spread = -1,
                               .version = -1,
                               .runs = runs,
                               .length = length,
                               .apart = apart,
                               .wide = 1,
                               .lane = 1});
}

/* What an edge brings. */
static void add_input(struct conv_program *c, int number)
{
    static const char *const tables[SLOT_COUNT] = {[SLOT_X] = "x", [SLOT_W] = "w"};
    static const char *const by[SLOT_COUNT] = {[SLOT_X] = ", by irreps segment", [SLOT_W] = ", by path"};
    const struct operand *o = conv_operand(c, number);
    const int place = add_place(
        c, (struct place){.name = o->symbol,
                          .operand = o,
                          .how = HOW_ASYNC,
                          .stages = c->s->stages,
                          .table = tables[o->slot],
                          .group = RING,
                          .piece = conv_piece(c->g, c->s, o),
                          .keep = o->slot == SLOT_X,
                          .shifted = conv_shifts(c->g, c->s, o),
                          .who = o->slot == SLOT_Y ? WHO_ANY : WHO_LANE,
                          .type = type_of(c, o),
                          .note = arena_printf(c->a, "%s%s", o->name, by[o->slot] ? by[o->slot] : ""),
                          .size = operand_size(o)});
    c->place[number] = place;
    if (o->slot == SLOT_Y)
        c->p->place[place].note = NULL;
    if (o->slot == SLOT_X)
        add_x_fields(c, place, o, NULL);
    else if (o->slot == SLOT_W)
        add_w_fields(c, place, o);
    else
        add_runs(c, place, 1, conv_y_room(c->g, o, c->s), 0);
    if (!c->p->place[place].shifted)
        return;
    c->shift[number] = add_place(c, (struct place){.name = arena_printf(c->a, "%sshift", o->symbol),
                                                   .how = HOW_LOAD,
                                                   .stages = c->s->stages,
                                                   .group = RING,
                                                   .type = "int",
                                                   .shift_of = o,
                                                   .size = 4});
    add_runs(c, c->shift[number], 1, conv_abreast(c->s), 0);
}

/* Rows in memory that calls use where they stand. */
int conv_row(struct conv_program *c, const struct operand *o, int clock)
{
    return add_place(c, (struct place){.name = o->symbol,
                                       .operand = o,
                                       .how = HOW_STANDS,
                                       .clock = clock,
                                       .who = WHO_LANE,
                                       .size = operand_size(o)});
}

void conv_declare(struct conv_program *c, int *local, const char *name, int elements, bool zeros)
{
    *local = build_local(
        c->p, (struct local){.name = name, .elements = elements, .begins = zeros ? LOCAL_ZERO : LOCAL_ANY});
}

/* ---- the set ---- */

int conv_lane_elements(const struct conv_program *c)
{
    return c->s->lane.bytes / kernel_size(c->k);
}

/* What leaves by way of shared memory: gradients of x by edge, rows of z in batches; sums over lanes. */
static void add_staging(struct conv_program *c)
{
    const struct convolution *g = c->g;
    const int size = kernel_size(c->k), sums = conv_sums_bytes(g, c->s) / size;
    int *number = conv_some(c), n = conv_numbers(c, SLOT_X, true, number);
    if (n)
        c->edges = add_place(c, (struct place){.name = "edge",
                                               .how = HOW_CODE,
                                               .group = STAGING,
                                               .who = WHO_LANE,
                                               .rows = g->edge_buffer ? "edges" : NULL,
                                               .row_elements = g->edge_row,
                                               .table = conv_x_out(g, c->s)});
    for (int i = 0; i < n; i++)
        add_x_fields(c, c->edges, conv_operand(c, number[i]),
                     arena_printf(c->a, "%s, by irreps segment", conv_operand(c, number[i])->name));
    if (g->g_outputs) {
        const struct place rows = {.name = "rows", .how = HOW_CODE, .clock = c->node, .group = STAGING};
        c->rows = add_place(c, rows);
        add_runs(c, c->rows, g->buffers, g->buffer_bytes / size, g->buffer_bytes / size);
    }
    if (sums) {
        const struct place rows = {.name = "sums",
                                   .note = "outputs of slot y, a row for each lane",
                                   .how = HOW_CODE,
                                   .group = STAGING};
        c->lanes_sums = add_place(c, rows);
        add_runs(c, c->lanes_sums, 1, sums, 0);
    }
}

/* Where sums over lanes go, of one of the parts that a row has: to it, or to where a group's warps add
 * theirs. */
static void add_sums(struct conv_program *c, int number)
{
    const struct convolution *g = c->g;
    const struct operand *o = conv_operand(c, number);
    const int place = c->place[number] = conv_row(c, o, c->edge);
    struct place *q = &c->p->place[place];
    q->rows = g->part_buffer ? "parts" : NULL;
    q->row_elements = (int)o->dim;
    q->part = c->s->part_at;
    q->parts = g->parts;
    q->part_of_warp = !g->grouped && c->s->channel_blocks > 1;
    if (!g->reduces)
        return;
    q->adds = strcmp(conv_how(g), "CGTP_ADD") == 0;
    q->scope = SCOPE_TEAM;
    q->how = HOW_CODE;
    q->who = WHO_ANY;
    q->group = SUMS;
    q->summed = true;
    q->size = kernel_size(c->k);
    q->stages = 2 * REDUCE_ITEMS;
    int begin, ys = conv_summed_ys(g, c->s, &begin);
    add_runs(c, place, c->s->channel_blocks, ys, (int)o->dim);
    q->field[0].at = begin;
}

/* The input of weights in whose slices of a stage their gradients wait until all lanes have left theirs, as
 * otherwise each lane would write several numbers apart; -1: they leave at once. */
static int waits_in(const struct conv_program *c, const struct operand *out)
{
    bool apart = false;
    for (int k = 0; k < c->s->parts; k++) {
        const int channels = conv_channels(c->s, c->s->part[k]);
        int vector = c->g->aligned[SLOT_W]; /* that a lane may store at once */
        while (channels % vector)
            vector /= 2;
        apart |= channels > vector;
    }
    for (int k = 0; k < c->p->spreads; k++)
        apart |= c->p->spread[k].of > 1;
    int *number = conv_some(c), n = conv_numbers(c, SLOT_W, true, number);
    if (!apart || n != 1)
        return -1;
    n = conv_numbers(c, SLOT_W, false, number);
    for (int i = 0; i < n; i++)
        if (conv_operand(c, number[i])->held == out->held)
            return c->place[number[i]];
    return -1;
}

static void add_gradients(struct conv_program *c, int number)
{
    const struct operand *o = conv_operand(c, number);
    const int in = waits_in(c, o), place = c->place[number] = conv_row(c, o, c->edge);
    struct place *q = &c->p->place[place];
    q->table = "w";
    if (in < 0)
        return;
    q->how = HOW_CODE;
    q->alias = in;
    q->stages = c->p->place[in].stages;
    q->group = RING;
    q->fields = c->p->place[in].fields;
    q->field = c->p->place[in].field;
}

static void add_outputs(struct conv_program *c)
{
    int *number = conv_some(c), n = conv_numbers(c, SLOT_Y, true, number);
    add_staging(c);
    for (int i = 0; i < n; i++)
        add_sums(c, number[i]);
    n = conv_numbers(c, SLOT_G, true, number);
    for (int i = 0; i < n; i++)
        c->place[number[i]] = conv_row(c, conv_operand(c, number[i]), c->node);
    n = conv_numbers(c, SLOT_W, true, number);
    for (int i = 0; i < n; i++)
        add_gradients(c, number[i]);
}

/* Numbers that are brought with an edge's rows: of its sender, to which gradients go; of its item, where
 * edges come in an order of their own. */
static int add_number(struct conv_program *c, const char *name)
{
    const int n = c->s->lanes == LANES ? 1 : conv_abreast(c->s);
    const int place = add_place(c, (struct place){.name = name,
                                                  .how = HOW_LOAD,
                                                  .stages = c->s->stages,
                                                  .group = RING,
                                                  .type = "int64_t",
                                                  .size = 8});
    add_runs(c, place, 1, n, 0);
    return place;
}

static void add_places(struct conv_program *c)
{
    const struct convolution *g = c->g;
    for (int i = 0; i < c->k->form->inputs; i++)
        if (demand_reads(g->demand, i) && conv_operand(c, i)->slot != SLOT_G)
            add_input(c, i);
    if (g->b_outputs && !g->edge_buffer)
        c->sender = add_number(c, "sender");
    if (g->orders && (g->a_outputs || g->w_outputs))
        c->item = add_number(c, "item");
    if (g->orders && g->reduces) {
        c->items = add_place(c, (struct place){.name = "item",
                                               .scope = SCOPE_TEAM,
                                               .how = HOW_CODE,
                                               .stages = 2 * REDUCE_ITEMS,
                                               .group = SUMS,
                                               .type = "int64_t",
                                               .size = 8});
        add_runs(c, c->items, 1, 1, 0);
    }
    add_outputs(c);
    for (int i = 0; g->keeps_z && i < c->k->form->inputs; i++)
        if (demand_reads(g->demand, i) && conv_operand(c, i)->slot == SLOT_G) {
            const struct operand *o = conv_operand(c, i);
            c->place[i] = add_place(c, (struct place){.name = o->symbol,
                                                      .how = HOW_CODE,
                                                      .clock = c->node,
                                                      .group = KEPT,
                                                      .who = WHO_KEPT,
                                                      .note = "the receiver's row"});
            add_runs(c, c->place[i], 1, LANES * conv_lane_elements(c), 0);
        }
}

static int *none(const struct conv_program *c, int n)
{
    int *all = NEW_ARRAY(c->a, int, n + 1);
    for (int i = 0; i < n; i++)
        all[i] = -1;
    return all;
}

/* Of each number of channels; of their weights, where a channel has several. */
static void add_spreads(struct conv_program *c)
{
    const struct path_set *s = c->s;
    const struct problem *problem = c->g->demand->plan->problem;
    struct pipeline *p = c->p;
    int *path, n = conv_weighted(c->a, problem, s, &path);
    p->spread = NEW_ARRAY(c->a, struct spread, s->parts + n + 1);
    for (int i = 0; i < s->parts; i++)
        p->spread[p->spreads++] =
            (struct spread){s->parts > 1 ? arena_printf(c->a, "_of_%d", s->part[i]) : "",
                            s->part[i],
                            conv_channels(s, s->part[i]),
                            s->lanes,
                            s->channel_blocks,
                            1};
    for (int i = 0; i < n; i++) {
        const struct path *q = &problem->path[path[i]];
        const int of = conv_calls(q);
        const struct spread *one = &p->spread[conv_spread(c, q->mul_x, 1)],
                            *last = &p->spread[p->spreads - 1];
        if (of > 1 && (last->of != of || last->mul != one->mul * of))
            p->spread[p->spreads++] = (struct spread){arena_printf(c->a, "%s_by_%d", one->name, of),
                                                      one->mul * of,
                                                      one->channels * of,
                                                      s->lanes,
                                                      s->channel_blocks,
                                                      of};
    }
}

static void begin(struct conv_program *c)
{
    const struct path_set *s = c->s;
    const int warps = c->g->reduces ? s->channel_blocks : 1;
    struct pipeline *p = c->p = build_pipeline(
        c->a, (struct worker){LANES, warps, c->g->warps / warps, c->g->blocks}, conv_abreast(s));
    p->size = kernel_size(c->k);
    c->tile = build_loop(p, (struct loop){.name = "tile"});
    c->node = build_loop(p, (struct loop){.name = "node"});
    c->edge = build_loop(p, (struct loop){.name = "done"});
    build_group(p, (struct group){.name = "ring",
                                  .note = "What a warp brings in for an edge: its channels' slices of rows.",
                                  .type = "stage",
                                  .alias = "at",
                                  .lines = true});
    build_group(p, (struct group){.name = "staging", .note = "rows on their way to memory", .instead = true});
    build_group(p, (struct group){0});
    build_group(
        p, (struct group){.name = "reduce",
                          .note = "Sums of a warp group's warps: [item in turn][channel block][component]."});
    add_spreads(c);
    p->walk = (struct walk){.orders = c->g->orders,
                            .shares = c->g->hands_over,
                            .several = c->g->sets > 1 && c->g->reduces,
                            .many = c->g->sets > 2 && kernel_size(c->g->demand->kernel) == 4,
                            .teams = c->g->teams,
                            .few = c->g->few,
                            .nodes = c->g->few_nodes,
                            .room = TILE_BYTES};
}

/* A lane's elements of rows of slot z: a segment after the other. */
static void lay_out_lane(struct conv_program *c, struct layout *lane)
{
    const int size = kernel_size(c->k);
    *lane = (struct layout){.align = 1};
    for (int i = 0; i < c->s->zs; i++) {
        const struct path *p = &c->g->demand->plan->problem->path[c->s->z[i]];
        layout_add(c->a, lane, arena_printf(c->a, "s%d", p->z), "real", size, size,
                   conv_channels(c->s, p->mul_x) * (2 * p->l3 + 1), NULL);
    }
}

void conv_places(struct arena *a, const struct convolution *g, struct path_set *s)
{
    struct conv_program *c = NEW(a, struct conv_program);
    const int n = g->demand->kernel->form->inputs + g->demand->kernel->form->outputs;
    *c = (struct conv_program){.a = a,
                               .g = g,
                               .s = s,
                               .k = g->demand->kernel,
                               .edges = -1,
                               .rows = -1,
                               .lanes_sums = -1,
                               .sender = -1,
                               .item = -1,
                               .items = -1};
    s->program = c;
    c->place = none(c, n);
    c->shift = none(c, n);
    c->local = none(c, n);
    c->carried = none(c, n);
    c->x = NEW_ARRAY(a, int *, n + 1);
    c->weight = NEW_ARRAY(a, int *, n + 1);
    for (int i = 0; i < n; i++) {
        c->x[i] = none(c, g->demand->plan->problem->x.n);
        c->weight[i] = none(c, s->parts);
    }
    lay_out_lane(c, &s->lane);
    begin(c);
    add_places(c);
    pipeline_layout(c->p);
    s->pipeline = c->p;
}
