/* tiled_turn.c - see tiled_turn.h. */
#include "schedule/tiled/tiled_turn.h"

#include "schedule/path.h"

#include <string.h>

struct worked tiled_path(const struct worked *c, int number)
{
    struct worked q = *c;
    q.e = &c->g->demand->plan->path[c->group->path[number]];
    q.v = tiled_variant(c->g, q.e->path->number);
    q.d = q.e->matrix->columns;
    return q;
}

const char *tiled_of_path(const struct worked *q, const char *name)
{
    return arena_printf(q->g->arena, "%sp%d", name, q->e->path->number);
}

const char *tiled_of_turn(const struct worked *q, const char *name)
{
    return arena_printf(q->g->arena, "%sf", name);
}

/* ---- what is called with ---- */

void tiled_declare(const struct worked *q, const char *name, int elements, bool zeros)
{
    build_local(q->g->pipeline,
                (struct local){.name = name, .elements = elements, .begins = zeros ? LOCAL_ZERO : LOCAL_ANY});
}

/* Registers, declared last under that name. */
struct argument tiled_in(const struct worked *q, const char *name)
{
    const struct pipeline *p = q->g->pipeline;
    int i = p->locals - 1;
    while (strcmp(p->local[i].name, name) != 0)
        i--;
    return build_in(i, 0);
}

/* The same of channel j of those that are worked on together. */
struct argument tiled_in_channel(const struct worked *q, const char *name, int components)
{
    struct argument a = tiled_in(q, name);
    if (q->group->together > 1)
        build_term(&a.at, "j", components);
    return a;
}

struct argument tiled_row(const struct worked *q, int operand, struct address at)
{
    const bool streams = tiled_streams(q->g, tiled_operand(q->g, operand));
    return build_at(q->g->place[operand], streams ? q->part->first + q->piece : 0, at);
}

void tiled_call(const struct worked *q, const char *function, int n0, int n1, int n2, int arguments,
                const struct argument *argument)
{
    build_call(q->g->pipeline, function, (int[]){n0, n1, n2}, arguments, argument);
}

void tiled_loop(const struct worked *q, struct loop l)
{
    l.counted = true;
    l.outer = q->g->tile;
    build_begin(q->g->pipeline, build_loop(q->g->pipeline, l));
}

/* Channels that are worked on together, one after the other. */
void tiled_each(const struct worked *q)
{
    tiled_loop(q, (struct loop){.name = "j", .end = q->group->together, .by = 1, .unroll = true});
}

void tiled_end(const struct worked *q)
{
    build_end(q->g->pipeline);
}

/* ---- operands ---- */

enum role tiled_role(const struct worked *q, const struct operand *o)
{
    return o->slot == SLOT_W ? ROLE_W : o->slot == SLOT_G ? ROLE_G : o->slot == q->e->a ? ROLE_A : ROLE_B;
}

/* Turns over channels of B. */
int tiled_turns_b(const struct worked *q)
{
    return path_channels_b(q->e) / q->group->together;
}

/* Do the rows of weights of its channels follow each other, where a turn has whole rows? */
static bool is_block(const struct worked *q)
{
    return q->e->contracted && q->e->path->mul_z == q->group->turn &&
           path_weight_rows(q->e) == q->e->path->mul_z && path_channels_a(q->e) == 1;
}

/* Its block of the path, as it stands in shared memory. */
static struct operand_block block_of(const struct worked *q, const struct operand *o)
{
    struct operand_block b = *operand_block_of(o, q->e->path);
    if (!tiled_streams(q->g, o))
        return b;
    const bool apart = block_is_apart(&b);
    b.channels = q->part->channels / q->part->pieces;
    b.offset = -q->piece * b.channels * b.channel;
    b.component = apart ? b.channels : b.component;
    return b;
}

/* Elements that an address is a multiple of, where it moves on by so many channels. */
static int alignment(const struct worked *q, const struct operand *o, const struct operand_block *b,
                     int channels)
{
    const enum role role = tiled_role(q, o);
    int most = 16 / kernel_size(q->g->demand->kernel);
    if (o->slot == SLOT_W ? tiled_is_row(o) : !tiled_streams(q->g, o) || !q->g->wide)
        return 1;
    if (role == ROLE_W) {
        while (most > 1 &&
               (b->offset % most || channels % most || (!is_block(q) && q->e->path->mul_z % most)))
            most /= 2;
        return q->e->contracted ? most : 1;
    }
    const bool odd_steps = q->e->pairs || (q->e->strided && role == ROLE_G);
    const int step = role == ROLE_A && !q->e->elementwise ? 1 : channels;
    while (most > 1 && ((b->channels > step && (odd_steps || step * b->channel % most)) ||
                        (block_is_apart(b) && b->component % most)))
        most /= 2;
    return most;
}

/* Loads or stores channels of an operand, from channel `variable` on where that is any. */
void tiled_move(const struct worked *q, int operand, int channels, const char *name, const char *variable,
                bool load)
{
    const struct operand *o = tiled_operand(q->g, operand);
    struct operand_block b = block_of(q, o);
    if (!variable && tiled_streams(q->g, o))
        b.offset = 0;
    struct address at = path_at(q->g->arena, q->e, tiled_role(q, o), &b);
    if (variable)
        build_term(&at, variable, b.channel);
    const struct argument r = tiled_in(q, name), m = tiled_row(q, operand, at),
                          step = build_number((int)b.component);
    const int align = alignment(q, o, &b, channels), d = b.components;
    if (!block_is_apart(&b))
        tiled_call(q, load ? "cgtp_get" : "cgtp_set", channels * d, align, 0, 2,
                   (struct argument[]){load ? r : m, load ? m : r});
    else if (load)
        tiled_call(q, "cgtp_get_components", channels, d, align, 3, (struct argument[]){r, m, step});
    else
        tiled_call(q, "cgtp_set_components", channels, d, align, 3, (struct argument[]){m, step, r});
}

/* Declares registers with what is there: zeros, where nobody has added to it. */
void tiled_begin(const struct worked *q, int operand, int channels, const char *name, const char *variable)
{
    const struct operand *o = tiled_operand(q->g, operand);
    const bool zeros = o->output && tiled_streams(q->g, o) && q->group->once;
    tiled_declare(q, name, channels * block_of(q, o).components, zeros);
    if (!zeros)
        tiled_move(q, operand, channels, name, variable, true);
}

/* Where the path's weights begin in their row; of channel j (each). */
struct address tiled_weights_at(const struct worked *q, int operand, bool each)
{
    struct address at =
        path_at(q->g->arena, q->e, ROLE_W, operand_block_of(tiled_operand(q->g, operand), q->e->path));
    if (tiled_turns_b(q) > 1)
        build_term(&at, "u", path_weight_rows(q->e));
    if (each && q->group->together > 1)
        build_term(&at, "j", path_weight_rows(q->e));
    return at;
}

static struct address further(struct address at, const struct address *more)
{
    at.offset += more->offset;
    for (int i = 0; i < more->terms; i++)
        build_term(&at, more->term[i].variable, more->term[i].by);
    return at;
}

/* ---- turns over channels of z, in which T, weights and rows of z meet ---- */

/* Does the path's part of a turn read the input; add to the output? Weights: multiply by them, make them. */
static bool turn_has(const struct worked *q, int operand)
{
    const int inputs = q->g->demand->kernel->form->inputs;
    const int output = operand >= inputs ? q->g->demand->output[operand - inputs] : -1;
    bool has = false;
    for (int i = 0; i < q->v->zs; i++)
        has |= q->v->z[i].w == operand || q->v->z[i].output == output;
    for (int i = 0; i < q->v->ps; i++)
        has |= q->v->p[i].w == operand || q->v->p[i].g == operand;
    for (int i = 0; i < q->v->ws; i++) {
        has |= q->v->w[i].output == output;
        for (int k = 0; k < q->v->w[i].parts; k++)
            has |= q->v->w[i].part[k].g == operand;
    }
    return has;
}

/* Paths of the group, up to number `last`, whose turns have it. */
static int paths_with(const struct worked *c, int operand, int last)
{
    int n = 0;
    for (int i = 0; i < last; i++) {
        const struct worked q = tiled_path(c, i);
        n += turn_has(&q, operand);
    }
    return n;
}

static int operand_of_output(const struct worked *q, int output)
{
    int o = 0;
    while (q->g->demand->output[o] != output)
        o++;
    return q->g->demand->kernel->form->inputs + o;
}

static const char *symbol_of(const struct worked *q, int operand)
{
    return tiled_operand(q->g, operand)->symbol;
}

/* A channel's weights of a turn, of an input (-1: all one). */
static struct argument weight_of(const struct worked *q, int input, int v)
{
    if (input < 0)
        return tiled_in(q, "one");
    const char *name = tiled_of_turn(q, symbol_of(q, input));
    return is_block(q) ? tiled_in_channel(q, name, v) : tiled_in(q, name);
}

static struct argument vector_of(const struct worked *q, char letter, int number)
{
    return tiled_in_channel(q, tiled_of_path(q, arena_printf(q->g->arena, "%c%d", letter, number)), q->d);
}

/* Products of the group's path `number` with its weights, and for gradients of them. */
static void products(const struct worked *q, int v, const struct address *from, int number)
{
    const int together = q->group->together, channels = is_block(q) ? together : 1;
    const struct variant *k = q->v;
    if (channels > 1 || together == 1)
        build_block(q->g->pipeline, -1);
    else
        tiled_each(q);
    for (int i = 0; i < tiled_operands(q->g); i++) {
        const struct operand *o = tiled_operand(q->g, i);
        if (!o || o->output || o->slot != SLOT_W || !turn_has(q, i))
            continue;
        const struct operand_block b = block_of(q, o);
        tiled_declare(q, tiled_of_turn(q, o->symbol), channels * v, false);
        tiled_call(
            q, "cgtp_get", channels * v, alignment(q, o, &b, channels * q->group->turn), 0, 2,
            (struct argument[]){tiled_in(q, tiled_of_turn(q, o->symbol)),
                                tiled_row(q, i, further(tiled_weights_at(q, i, channels == 1), from))});
    }
    if (channels > 1)
        tiled_each(q);
    for (int i = 0; i < k->zs; i++)
        tiled_call(q, "cgtp_add_channels", v, q->d, 0, 3,
                   (struct argument[]){
                       tiled_in(q, tiled_of_turn(q, symbol_of(q, operand_of_output(q, k->z[i].output)))),
                       weight_of(q, k->z[i].w, v), vector_of(q, 't', k->z[i].t)});
    for (int i = 0; i < k->ps; i++)
        tiled_call(q, "cgtp_add_products", v, q->d, 0, 3,
                   (struct argument[]){vector_of(q, 'p', i), weight_of(q, k->p[i].w, v),
                                       tiled_in(q, tiled_of_turn(q, symbol_of(q, k->p[i].g)))});
    for (int i = 0; i < k->ws; i++)
        for (int j = 0; j < k->w[i].parts; j++) {
            const int output = operand_of_output(q, k->w[i].output);
            struct argument to = tiled_in_channel(q, tiled_of_turn(q, symbol_of(q, output)), v);
            to.at.offset = paths_with(q, output, number) * together * v;
            tiled_call(q, "cgtp_add_dots", v, q->d, 0, 3,
                       (struct argument[]){to, vector_of(q, 't', k->w[i].part[j].t),
                                           tiled_in(q, tiled_of_turn(q, symbol_of(q, k->w[i].part[j].g)))});
        }
    tiled_end(q);
    if (channels > 1)
        tiled_end(q);
}

static const char *places_of(const struct worked *q, int operand)
{
    return arena_printf(q->g->arena, "%sat", symbol_of(q, operand));
}

/* Where sums over lanes of a group's gradients go: a place for each path and channel of B. */
void tiled_gradient_places(const struct worked *c, int operand)
{
    struct address *list = NEW_ARRAY(c->g->arena, struct address, c->group->paths * c->group->together + 1);
    int n = 0;
    for (int i = 0; i < c->group->paths; i++) {
        const struct worked q = tiled_path(c, i);
        if (q.e->contracted && !turn_has(&q, operand))
            continue;
        for (int j = 0; j < (is_block(&q) ? 1 : c->group->together); j++) {
            list[n] = tiled_weights_at(&q, operand, false);
            list[n++].offset += j * path_weight_rows(q.e);
        }
    }
    build_local(c->g->pipeline, (struct local){places_of(c, operand), n, LOCAL_TABLE, list});
}

/* Gradients of weights on their way from registers, v of each of so many paths' channels of B. */
void tiled_gradients(const struct worked *c, int operand, const char *name, int paths, int v,
                     const struct address *from)
{
    const struct worked q = tiled_path(c, 0);
    const int each = is_block(&q) ? v * c->group->together : v, all = paths * c->group->together * v;
    tiled_call(c, tiled_is_row(tiled_operand(c->g, operand)) ? "cgtp_add_lane_row" : "cgtp_add_lane_sums",
               each, all / each, 0, 3,
               (struct argument[]){tiled_row(c, operand, *from), tiled_in(c, places_of(c, operand)),
                                   tiled_in(c, name)});
}

/* Brings what a turn needs of rows of z into registers, or stores what is added to. */
void tiled_hold_z(const struct worked *c, int v, const char *variable, bool load)
{
    const struct worked first = tiled_path(c, 0);
    for (int i = 0; i < tiled_operands(c->g); i++) {
        const struct operand *o = tiled_operand(c->g, i);
        if (!o || o->slot != SLOT_G || !paths_with(c, i, c->group->paths))
            continue;
        if (load)
            tiled_begin(&first, i, v, tiled_of_turn(c, o->symbol), variable);
        else if (o->output)
            tiled_move(&first, i, v, tiled_of_turn(c, o->symbol), variable, false);
    }
}

/* A turn of all paths, from a channel on; z: are rows of z brought and stored, too? */
static void turn(const struct worked *c, int v, const char *variable, const struct address *from, bool z)
{
    bool one = false;
    for (int i = 0; i < c->group->paths; i++)
        one |= !c->g->demand->plan->path[c->group->path[i]].path->weighted;
    if (one)
        build_local(c->g->pipeline, (struct local){.name = "one", .elements = 1, .begins = LOCAL_ONE});
    if (z)
        tiled_hold_z(c, v, variable, true);
    for (int stage = 0; stage < 3; stage++) { /* sums of gradients begin, all is computed, they go */
        for (int i = 0; i < c->group->paths && stage == 1; i++) {
            const struct worked q = tiled_path(c, i);
            products(&q, v, from, i);
        }
        for (int i = 0; i < tiled_operands(c->g) && stage != 1; i++) {
            const struct operand *o = tiled_operand(c->g, i);
            const int n = o && o->output && o->slot == SLOT_W ? paths_with(c, i, c->group->paths) : 0;
            if (n && stage == 0)
                tiled_declare(c, tiled_of_turn(c, o->symbol), n * c->group->together * v, true);
            else if (n)
                tiled_gradients(c, i, tiled_of_turn(c, o->symbol), n, v, from);
        }
    }
    if (z)
        tiled_hold_z(c, v, variable, false);
}

/* Turns over n channels of z from `first` on. */
void tiled_emit_turns(const struct worked *c, bool z, int first, int n)
{
    const int by = c->group->turn, rest = n % by;
    struct address from = {.offset = first};
    for (int i = 0; i < tiled_operands(c->g); i++) {
        const struct operand *o = tiled_operand(c->g, i);
        if (o && o->output && o->slot == SLOT_W && paths_with(c, i, c->group->paths))
            tiled_gradient_places(c, i);
    }
    if (n == by) {
        build_block(c->g->pipeline, -1);
        turn(c, by, NULL, &from, z);
        tiled_end(c);
        return;
    }
    from = (struct address){.terms = 1, .term = {{"c", 1}}};
    tiled_loop(c, (struct loop){.name = "c", .first = first, .end = first + n - rest, .by = by});
    turn(c, by, "c", &from, true);
    tiled_end(c);
    if (rest) {
        tiled_loop(c, (struct loop){.name = "c", .first = first + n - rest, .end = first + n, .by = rest});
        turn(c, rest, "c", &from, true);
        tiled_end(c);
    }
}
