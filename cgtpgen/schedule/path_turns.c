/* path_turns.c - see path_calls.h: turns over channels of z, and what comes of P. */
#include "schedule/path.h"
#include "schedule/path_calls.h"

/* ---- turns over channels of z, in which T, weights and rows of z meet ---- */

/* Does the path's part of a turn read the input; add to the output? Weights: multiply by them, make them. */
static bool turn_has(const struct path_calls *q, int operand)
{
    const int inputs = q->demand->kernel->form->inputs;
    const int output = operand >= inputs ? q->demand->output[operand - inputs] : -1;
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
static int paths_with(const struct path_calls *c, int operand, int last)
{
    int n = 0;
    for (int i = 0; i < last; i++) {
        const struct path_calls q = calls_path(c, i);
        n += turn_has(&q, operand);
    }
    return n;
}

static int operand_of_output(const struct path_calls *q, int output)
{
    int o = 0;
    while (q->demand->output[o] != output)
        o++;
    return q->demand->kernel->form->inputs + o;
}

static const char *symbol_of(const struct path_calls *q, int operand)
{
    return demand_array(q->demand, operand)->symbol;
}

/* A channel's weights of a turn, of an input (-1: all one). */
static struct argument weight_of(const struct path_calls *q, int input, int v)
{
    if (input < 0)
        return calls_in(q, "one");
    const char *name = calls_of_turn(q, symbol_of(q, input));
    return calls_is_block(q) ? calls_in_channel(q, name, v) : calls_in(q, name);
}

static struct argument vector_of(const struct path_calls *q, char letter, int number)
{
    return calls_in_channel(q, calls_of_path(q, arena_printf(q->pipeline->arena, "%c%d", letter, number)),
                            q->d);
}

static struct address further(struct address at, const struct address *more)
{
    at.offset += more->offset;
    for (int i = 0; i < more->terms; i++)
        build_term(&at, more->term[i].variable, more->term[i].by);
    return at;
}

/* Products of the group's path `number` with its weights, and for gradients of them. */
static void products(const struct path_calls *q, int v, const struct address *from, int number)
{
    const int together = q->together, channels = calls_is_block(q) ? together : 1;
    const struct variant *k = q->v;
    if (channels > 1 || together == 1)
        build_block(q->pipeline, -1);
    else
        calls_each(q);
    for (int i = 0; i < demand_arrays(q->demand); i++) {
        const struct operand *o = demand_array(q->demand, i);
        if (!o || o->output || o->slot != SLOT_W || !turn_has(q, i))
            continue;
        const struct operand_block b = calls_block_of(q, i);
        calls_declare(q, calls_of_turn(q, o->symbol), channels * v, false);
        calls_call(
            q, "cgtp_get", channels * v, calls_alignment(q, i, &b, channels * q->turn), 0, 2,
            (struct argument[]){calls_in(q, calls_of_turn(q, o->symbol)),
                                calls_row(q, i, further(calls_weights_at(q, i, channels == 1), from))});
    }
    if (channels > 1)
        calls_each(q);
    for (int i = 0; i < k->zs; i++)
        calls_call(q, "cgtp_add_channels", v, q->d, 0, 3,
                   (struct argument[]){
                       calls_in(q, calls_of_turn(q, symbol_of(q, operand_of_output(q, k->z[i].output)))),
                       weight_of(q, k->z[i].w, v), vector_of(q, 't', k->z[i].t)});
    for (int i = 0; i < k->ps; i++)
        calls_call(q, "cgtp_add_products", v, q->d, 0, 3,
                   (struct argument[]){vector_of(q, 'p', i), weight_of(q, k->p[i].w, v),
                                       calls_in(q, calls_of_turn(q, symbol_of(q, k->p[i].g)))});
    for (int i = 0; i < k->ws; i++)
        for (int j = 0; j < k->w[i].parts; j++) {
            const int output = operand_of_output(q, k->w[i].output);
            struct argument to = calls_in_channel(q, calls_of_turn(q, symbol_of(q, output)), v);
            to.at.offset = paths_with(q, output, number) * together * v;
            calls_call(q, "cgtp_add_dots", v, q->d, 0, 3,
                       (struct argument[]){to, vector_of(q, 't', k->w[i].part[j].t),
                                           calls_in(q, calls_of_turn(q, symbol_of(q, k->w[i].part[j].g)))});
        }
    build_end(q->pipeline);
    if (channels > 1)
        build_end(q->pipeline);
}

static const char *places_of(const struct path_calls *q, int operand)
{
    return arena_printf(q->pipeline->arena, "%sat", symbol_of(q, operand));
}

/* Where sums over lanes of a group's gradients go: a place for each path and channel of B. */
static void gradient_places(const struct path_calls *c, int operand)
{
    struct address *list = NEW_ARRAY(c->pipeline->arena, struct address, c->paths * c->together + 1);
    int n = 0;
    for (int i = 0; i < c->paths; i++) {
        const struct path_calls q = calls_path(c, i);
        if (q.e->contracted && !turn_has(&q, operand))
            continue;
        for (int j = 0; j < (calls_is_block(&q) ? 1 : c->together); j++) {
            list[n] = calls_weights_at(&q, operand, false);
            list[n++].offset += j * path_weight_rows(q.e);
        }
    }
    build_local(c->pipeline, (struct local){places_of(c, operand), n, LOCAL_TABLE, list, NULL});
}

/* Gradients of weights on their way from registers, v of each of so many paths' channels of B. */
static void gradients(const struct path_calls *c, int operand, const char *name, int paths, int v,
                      const struct address *from)
{
    const struct path_calls q = calls_path(c, 0);
    const int each = calls_is_block(&q) ? v * c->together : v, all = paths * c->together * v;
    calls_call(c, !c->pipeline->place[c->place[operand]].summed ? "cgtp_add_lane_row" : "cgtp_add_lane_sums",
               each, all / each, 0, 3,
               (struct argument[]){calls_row(c, operand, *from), calls_in(c, places_of(c, operand)),
                                   calls_in(c, name)});
}

void calls_hold_z(const struct path_calls *c, int v, const char *variable, bool load)
{
    const struct path_calls first = calls_path(c, 0);
    for (int i = 0; i < demand_arrays(c->demand); i++) {
        const struct operand *o = demand_array(c->demand, i);
        if (!o || o->slot != SLOT_G || !paths_with(c, i, c->paths))
            continue;
        if (load)
            calls_begin(&first, i, v, calls_of_turn(c, o->symbol), variable);
        else if (o->output)
            calls_move(&first, i, v, calls_of_turn(c, o->symbol), variable, false);
    }
}

/* A turn of all paths, from a channel on; z: are rows of z brought and stored, too? */
static void turn(const struct path_calls *c, int v, const char *variable, const struct address *from, bool z)
{
    bool one = false;
    for (int i = 0; i < c->paths; i++)
        one |= !c->demand->plan->path[c->path[i]].path->weighted;
    if (one)
        build_local(c->pipeline, (struct local){.name = "one", .elements = 1, .begins = LOCAL_ONE});
    if (z)
        calls_hold_z(c, v, variable, true);
    for (int stage = 0; stage < 3; stage++) { /* sums of gradients begin, all is computed, they go */
        for (int i = 0; i < c->paths && stage == 1; i++) {
            const struct path_calls q = calls_path(c, i);
            products(&q, v, from, i);
        }
        for (int i = 0; i < demand_arrays(c->demand) && stage != 1; i++) {
            const struct operand *o = demand_array(c->demand, i);
            const int n = o && o->output && o->slot == SLOT_W ? paths_with(c, i, c->paths) : 0;
            if (n && stage == 0)
                calls_declare(c, calls_of_turn(c, o->symbol), n * c->together * v, true);
            else if (n)
                gradients(c, i, calls_of_turn(c, o->symbol), n, v, from);
        }
    }
    if (z)
        calls_hold_z(c, v, variable, false);
}

void calls_turns(const struct path_calls *c, int first, int n)
{
    const int by = c->turn, rest = n % by;
    struct address from = {.offset = first};
    for (int i = 0; i < demand_arrays(c->demand); i++) {
        const struct operand *o = demand_array(c->demand, i);
        if (o && o->output && o->slot == SLOT_W && paths_with(c, i, c->paths))
            gradient_places(c, i);
    }
    if (n == by) {
        build_block(c->pipeline, -1);
        turn(c, by, NULL, &from, calls_turns_b(c) == 1);
        build_end(c->pipeline);
        return;
    }
    from = (struct address){.terms = 1, .term = {{"c", 1}}};
    calls_loop(c, (struct loop){.name = "c", .first = first, .end = first + n - rest, .by = by});
    turn(c, by, "c", &from, true);
    build_end(c->pipeline);
    if (rest) {
        calls_loop(c, (struct loop){.name = "c", .first = first + n - rest, .end = first + n, .by = rest});
        turn(c, rest, "c", &from, true);
        build_end(c->pipeline);
    }
}

void calls_product(const struct path_calls *c, int number)
{
    const struct path_calls own = calls_path(c, number), *q = &own;
    if (!q->v->product)
        return;
    build_block(q->pipeline, -1);
    if (calls_turns_b(q) == 1)
        calls_hold(q, CALLS_PRODUCT, true, true);
    calls_hold(q, CALLS_PRODUCT, false, true);
    calls_code(q, false);
    calls_hold(q, CALLS_PRODUCT, false, false);
    if (calls_turns_b(q) == 1)
        calls_hold(q, CALLS_PRODUCT, true, false);
    for (int i = 0; i < demand_arrays(q->demand); i++) {
        const struct operand *o = demand_array(q->demand, i);
        if (!o || !o->output || o->slot != SLOT_W || !calls_holds(q, CALLS_PRODUCT, i, false))
            continue;
        gradient_places(q, i);
        gradients(q, i, calls_of_path(q, o->symbol), 1, 1, &(struct address){0});
    }
    build_end(q->pipeline);
}
