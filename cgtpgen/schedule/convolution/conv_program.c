/* conv_program.c - the pipelined convolution: the work of a path set as a pipeline, whose loops are over
 * tiles of edges, the receivers of a tile and the edges of a receiver.
 */
#include "plan/code.h"
#include "schedule/convolution/conv_program.h"

/* ---- steps of an edge ---- */

static int x_elements(const struct conv_program *c, int x)
{
    const struct segment *s = &c->g->demand->plan->problem->x.segment[x];
    return conv_channels(c->s, s->mul) * (2 * s->ir.l + 1);
}

static void declare_x(struct conv_program *c, int number, bool zeros)
{
    for (int i = 0; i < c->s->xs; i++)
        conv_declare(c, &c->x[number][c->s->x[i]], operand_part(c->a, conv_operand(c, number), c->s->x[i]),
                     x_elements(c, c->s->x[i]), zeros);
}

/* A row of x that is shifted, to the lane's arrays. */
static void load_shifted_x(struct conv_program *c, int number, int place)
{
    const struct operand *o = conv_operand(c, number);
    for (int i = 0; i < c->s->xs; i++) {
        const struct operand_block *b = &o->block[c->s->x[i]];
        const struct argument all[] = {
            build_in(c->x[number][c->s->x[i]], 0), conv_at(place, i),
            conv_at(c->shift[number], 0),          build_number(conv_in_chunk(o, b->offset)),
            build_variable("channel_block", 1),    build_variable("lane", 1)};
        build_call(c->p, conv_clears(c, b->channels) ? "cgtp_load_shifted_some" : "cgtp_load_shifted",
                   (int[]){b->components, 0}, 6, all);
        build_last(c->p)->spread = conv_spread(c, (int)b->channels, 1);
        build_last(c->p)->table = "x";
    }
}

/* Where the lane's weights are in rows that are shifted: numbers that are declared, and found. */
static void declare_weights_at(struct conv_program *c, int number)
{
    int *path, n = conv_weighted(c->a, c->g->demand->plan->problem, c->s, &path);
    for (int i = 0; i < n; i++) {
        const int mul = (int)c->g->demand->plan->problem->path[path[i]].mul_x, k = conv_spread(c, mul, 1);
        const char *of = c->s->parts > 1 ? arena_printf(c->a, "%d", mul) : "";
        const char *name = arena_printf(c->a, "%sat%s", conv_operand(c, number)->symbol, of);
        if (c->weight[number][k] < 0)
            c->weight[number][k] = build_local(
                c->p,
                (struct local){.name = name, .type = "int", .elements = conv_chunk(conv_operand(c, number))});
    }
}

static void find_weights_at(struct conv_program *c, int number)
{
    for (int k = 0; k < c->s->parts; k++) {
        if (c->weight[number][k] < 0)
            continue;
        build_call(c->p, "cgtp_shifted_lane", (int[]){0}, 3,
                   (struct argument[]){build_in(c->weight[number][k], 0), conv_at(c->shift[number], 0),
                                       build_variable("lane", 1)});
        build_last(c->p)->spread = k;
        build_last(c->p)->table = "w";
    }
}

/* Between the lane's arrays of segments of x and their slices, the first of which is field `first` of a
 * place: in one call, unless the components of some slices are apart. */
static void move_x(struct conv_program *c, int number, int place, int first, bool load)
{
    const struct operand *o = conv_operand(c, number);
    struct argument *all = NEW_ARRAY(c->a, struct argument, 2 * c->s->xs + 1);
    bool apart = false;
    int n = 0;
    all[n++] = build_variable("lane", 1);
    if (load && c->shift[number] >= 0) {
        load_shifted_x(c, number, place);
        return;
    }
    for (int i = 0; i < c->s->xs; i++) {
        const struct argument array = build_in(c->x[number][c->s->x[i]], 0),
                              slice = conv_at(place, first + i);
        all[n++] = load ? array : slice;
        all[n++] = load ? slice : array;
        apart |= block_is_apart(&o->block[c->s->x[i]]);
    }
    if (!apart)
        build_call(c->p, load ? "cgtp_load_lanes" : "cgtp_store_lanes", (int[]){0}, n, all);
    for (int i = 0; i < c->s->xs && apart; i++) {
        const struct operand_block *b = &o->block[c->s->x[i]];
        const struct argument one[] = {all[2 * i + 1], all[2 * i + 2], all[0]};
        const bool part = block_is_apart(b);
        build_call(
            c->p,
            !part  ? load ? "cgtp_load_lane" : "cgtp_store_lane"
            : load ? "cgtp_load_lane_components"
                   : "cgtp_store_lane_components",
            (int[]){part ? conv_channels(c->s, b->channels) : 0, c->s->lanes < LANES ? c->s->lanes : 0, 0}, 3,
            one);
    }
}

/* A lane's arrays of rows of x and y of the edge; and they in them. */
static void declare_rows(struct conv_program *c)
{
    for (int i = 0; i < c->k->form->inputs; i++) {
        const struct operand *o = conv_operand(c, i);
        if (c->place[i] >= 0 && o->slot == SLOT_Y)
            conv_declare(c, &c->local[i], o->symbol, (int)o->dim, false);
        if (c->place[i] >= 0 && o->slot == SLOT_X)
            declare_x(c, i, false);
        if (c->shift[i] >= 0 && o->slot == SLOT_W)
            declare_weights_at(c, i);
    }
}

static void load_rows(struct conv_program *c)
{
    const int inputs = c->k->form->inputs;
    for (int i = 0; i < inputs; i++) {
        const struct operand *o = conv_operand(c, i);
        if (c->shift[i] >= 0 && o->slot == SLOT_W)
            find_weights_at(c, i);
        if (c->shift[i] >= 0 && o->slot == SLOT_Y)
            build_call(c->p, "cgtp_load_shifted_row", (int[]){(int)o->dim, 0}, 4,
                       (struct argument[]){build_in(c->local[i], 0), conv_at(c->place[i], 0),
                                           conv_at(c->shift[i], 0), build_variable("lane", 1)});
        else if (c->place[i] >= 0 && o->slot == SLOT_Y) {
            struct argument row = conv_at(c->place[i], 0);
            if (c->s->lanes < LANES)
                build_term(&row.at, "side", conv_y_room(c->g, o, c->s) / conv_abreast(c->s));
            build_call(c->p, "cgtp_load_row", (int[]){(int)o->dim, 0}, 2,
                       (struct argument[]){build_in(c->local[i], 0), row});
        }
        if (c->place[i] >= 0 && o->slot == SLOT_X)
            move_x(c, i, c->place[i], 0, true);
    }
}

static void declare_sums(struct conv_program *c)
{
    for (int i = 0; i < c->g->demand->outputs; i++) {
        const int number = conv_number(c, true, c->g->demand->output[i]);
        int begin, ys = conv_summed_ys(c->g, c->s, &begin);
        if (conv_operand(c, number)->slot == SLOT_Y)
            conv_declare(c, &c->local[number], conv_operand(c, number)->symbol,
                         begin + build_sums_length(ys, LANES), true);
        if (conv_operand(c, number)->slot == SLOT_X)
            declare_x(c, number, true);
    }
}

/* ---- outputs ---- */

/* The lanes' sums for an output of slot y, to its row, or to where a group's warps add up theirs. */
static void sum_lanes(struct conv_program *c, int number)
{
    int begin, ys = conv_summed_ys(c->g, c->s, &begin);
    const struct argument row = build_from(conv_at(c->place[number], 0), begin),
                          sums = build_in(c->local[number], begin);
    const char *way = c->g->reduces ? "CGTP_STORE" : conv_how(c->g);
    if (c->s->lanes < LANES) {
        const struct argument all[] = {row, sums, build_variable("there", 1)};
        build_call(c->p, "cgtp_reduce_items", (int[]){ys, 0}, 3, all);
        build_last(c->p)->type = arena_printf(c->a, "%s, %d", way, c->s->lanes);
        return;
    }
    if (c->lanes_sums >= 0) {
        const struct argument room = conv_at(c->lanes_sums, 0);
        build_call(c->p, "cgtp_spread_sums", (int[]){ys, 0}, 2, (struct argument[]){room, sums});
        build_call(c->p, "cgtp_join_sums", (int[]){ys, 0}, 2, (struct argument[]){row, room});
    } else {
        build_call(c->p, "cgtp_reduce_lanes", (int[]){ys, 0}, 2, (struct argument[]){row, sums});
    }
    build_last(c->p)->type = way;
    if (c->item >= 0 && !c->g->reduces) /* whose row it is */
        build_reads(c->p, c->item);
}

/* What a group's warps have of an edge; every so many edges they add it up. */
static void sum_warps(struct conv_program *c, int n, const int *number)
{
    if (c->g->orders) {
        const char *leads = c->s->channel_blocks > 1 ? "channel_block == 0 && lane == 0" : "lane == 0";
        const struct argument all[] = {conv_at(c->items, 0), conv_at(c->item, 0), build_variable(leads, 1)};
        build_call(c->p, "cgtp_lead_number", (int[]){0}, 3, all);
    }
    for (int i = 0; i < n; i++) {
        build_store(c->p, c->place[number[i]], -1, 0);
        build_every(c->p, REDUCE_ITEMS);
        if (c->g->orders)
            build_reads(c->p, c->items);
    }
}

static void store_y(struct conv_program *c)
{
    int *number = conv_some(c), n = conv_numbers(c, SLOT_Y, true, number);
    for (int i = 0; i < n; i++)
        sum_lanes(c, number[i]);
    if (n && c->g->reduces)
        sum_warps(c, n, number);
}

/* Do gradients of x leave while the next edge is worked on? Not where sums of a receiver go through the
 * staging buffer as well. */
static bool puts_x_later(const struct conv_program *c)
{
    return c->g->b_outputs && !c->g->g_outputs && c->s->lanes == LANES;
}

static void keep_x(struct conv_program *c)
{
    int *number = conv_some(c);
    for (int i = 0, n = conv_numbers(c, SLOT_X, true, number); i < n; i++)
        move_x(c, number[i], c->edges, i * c->s->xs, false);
}

/* What edges have left to be added to the receiver's sums. */
static void carry(struct conv_program *c)
{
    int *number = conv_some(c);
    for (int i = 0, n = conv_numbers(c, SLOT_G, true, number); i < n && c->g->carries; i++) {
        build_call(c->p, "cgtp_carry", (int[]){0}, 2,
                   (struct argument[]){build_in(c->carried[number[i]], 0), build_in(c->local[number[i]], 0)});
        build_every(c->p, CARRY_EDGES);
    }
}

/* ---- an edge ---- */

/* Do copies for a later edge start in the middle of an edge's work, not at its beginning? Where memory is
 * what a kernel waits for, as in forward with rows of float32 or float64, they start as early as they can. */
static bool loads_later(const struct conv_program *c)
{
    bool short_rows = false;
    for (int i = 0; i < c->k->form->inputs; i++)
        short_rows |= operand_size(conv_operand(c, i)) == 2;
    return (c->g->b_outputs || short_rows) && (c->s->lanes == LANES || !c->g->orders);
}

/* The first path after the middle of an edge's work. */
static int after_middle(const struct conv_program *c)
{
    const struct code *const *code = c->g->code;
    const int *path = c->s->path;
    int work = 0, until = 0, i = 0;
    for (int k = 0; k < c->s->paths; k += conv_together(c->g, path[k]))
        work += code_instructions(code[path[k]]->channel);
    while ((until += code_instructions(code[path[i]]->channel)) * 2 < work)
        i += conv_together(c->g, path[i]);
    return i + conv_together(c->g, path[i]);
}

/* Copies for a later edge: what belongs to its sender, then what is its own. */
static void copy_ahead(struct conv_program *c)
{
    static const enum how order[] = {HOW_LOAD, HOW_ASYNC}; /* asynchronous ones in one group */
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < c->p->places; i++)
            if (c->p->place[i].how == order[k])
                build_copy(c->p, i, -1, c->s->stages - 1);
}

/* Gradients of x leave, so many turns ahead. */
static void put_x(struct conv_program *c, int skew)
{
    build_store(c->p, c->edges, -1, skew);
    if (c->sender >= 0)
        build_reads(c->p, c->sender);
}

/* Names the rows of the edge that outputs of a slot go to. */
static void name_rows(struct conv_program *c, enum slot slot)
{
    int *number = conv_some(c);
    for (int i = 0, n = conv_numbers(c, slot, true, number); i < n && (i == 0 || slot == SLOT_W); i++) {
        build_step(c->p, STEP_ROW)->number = c->place[number[i]];
        if (c->item >= 0)
            build_reads(c->p, c->item);
    }
}

static bool abreast(const struct conv_program *c)
{
    return c->s->lanes < LANES;
}

/* Do gradients of weights wait in the stage? */
static bool holds_w(const struct conv_program *c)
{
    int *number = conv_some(c);
    return conv_numbers(c, SLOT_W, true, number) == 1 && c->p->place[c->place[*number]].how == HOW_CODE;
}

static void put_w(struct conv_program *c)
{
    int *number = conv_some(c);
    if (conv_numbers(c, SLOT_W, true, number) && holds_w(c))
        build_store(c->p, c->place[*number], -1, 0);
}

/* Where weights' gradients of the edge go: computed before anything is loaded, when registers are free. */
static void name_w(struct conv_program *c)
{
    int *path;
    if (conv_weighted(c->a, c->g->demand->plan->problem, c->s, &path))
        name_rows(c, SLOT_W);
}

static void call_paths(struct conv_program *c, int first, int end)
{
    for (int i = first; i < end; i += conv_together(c->g, c->s->path[i]))
        for (int k = 0; k < conv_calls(&c->g->demand->plan->problem->path[c->s->path[i]]); k++)
            conv_call_path(c, &c->s->path[i], k);
}

/* In the middle of an edge's work: gradients of x of the edge before leave, and copies for a later one start.
 * At the edge's beginning a warp waits for those that it needs, and the more it has to wait for at once, the
 * less another's work is enough to wait by. */
static void work_on_edge(struct conv_program *c)
{
    const bool later = loads_later(c);
    const int middle = later ? after_middle(c) : c->s->paths;
    if (!later)
        copy_ahead(c);
    if (!c->g->reduces)
        name_rows(c, SLOT_Y);
    name_w(c);
    declare_rows(c);
    load_rows(c);
    declare_sums(c);
    call_paths(c, 0, middle);
    if (later && puts_x_later(c))
        put_x(c, -1);
    if (later)
        copy_ahead(c);
    call_paths(c, middle, c->s->paths);
    carry(c);
    store_y(c);
    keep_x(c);
    if (c->g->b_outputs && !puts_x_later(c))
        put_x(c, 0);
    put_w(c);
}

/* The same of edges side by side: lanes whose edge is another receiver's wait. */
static void work_abreast(struct conv_program *c)
{
    const bool later = loads_later(c), named = !c->g->orders; /* whose numbers come with rows */
    const int middle = later ? after_middle(c) : c->s->paths;
    if (!later)
        copy_ahead(c);
    name_rows(c, SLOT_Y);
    declare_sums(c);
    if (named)
        name_w(c);
    if (later)
        declare_rows(c);
    build_block(c->p, -1)->note = "there";
    if (!named && !holds_w(c))
        name_w(c);
    if (!later)
        declare_rows(c);
    load_rows(c);
    call_paths(c, 0, middle);
    if (later) {
        build_end(c->p);
        copy_ahead(c);
        build_block(c->p, -1)->note = "there";
        call_paths(c, middle, c->s->paths);
    }
    keep_x(c);
    build_end(c->p);
    if (c->g->b_outputs || holds_w(c)) {
        build_block(c->p, -1)->note = "there";
        if (c->g->b_outputs)
            put_x(c, 0);
        if (!named && holds_w(c))
            name_w(c);
        put_w(c);
        build_end(c->p);
    }
    store_y(c);
}

/* ---- the whole ---- */

void conv_program(struct path_set *s)
{
    struct conv_program *c = s->program;
    c->p->walk.turns = c->g->edge_buffer && c->g->g_outputs;
    build_begin(c->p, c->tile);
    build_step(c->p, STEP_MEET)->scope = SCOPE_TEAM; /* as it takes a tile */
    if (!conv_all_whole(s))
        build_zero(c->p, 0); /* which lanes without channels read */
    build_step(c->p, STEP_FILL)->loop = c->edge;
    build_begin(c->p, c->node);
    conv_begin_receiver(c);
    build_begin(c->p, c->edge);
    if (abreast(c))
        work_abreast(c);
    else
        work_on_edge(c);
    build_end(c->p);
    if (c->g->g_outputs)
        conv_end_receiver(c);
    build_end(c->p);
    if (puts_x_later(c) || c->g->reduces)
        build_step(c->p, STEP_DRAIN)->loop = c->edge;
    build_end(c->p);
}
