/* tiled_group.c - tiled items: the work of a group of paths. */
#include "schedule/path.h"
#include "schedule/source.h"
#include "schedule/tiled/tiled_turn.h"

/* ---- operands of the products of channels ---- */

/* Does the recipe read the input, or make the output? */
static bool recipe_has(const struct worked *q, const struct recipe *r, int operand)
{
    const int inputs = q->g->demand->kernel->form->inputs;
    bool has = false;
    for (int i = 0; i < r->inputs && operand < inputs; i++)
        has |= r->input[i].source == operand && recipe_reads(r, i);
    for (int o = 0; o < r->outputs && operand >= inputs; o++)
        has |= r->output[o].source == q->g->demand->output[operand - inputs];
    return has;
}

enum { OF_TENSOR = 1, OF_PRODUCT = 2, OF_BOTH = 3 };

/* Does the operand stand in registers while one of the recipes is computed; of_a: with channels of A alone?
 */
static bool is_held(const struct worked *q, int recipes, int operand, bool of_a)
{
    const struct operand *o = tiled_operand(q->g, operand);
    const bool tensor =
        (recipes & OF_TENSOR) && q->v->tensor && o && !o->output && recipe_has(q, q->v->tensor, operand);
    const bool product =
        (recipes & OF_PRODUCT) && q->v->product && o && recipe_has(q, q->v->product, operand);
    const enum role role = o ? tiled_role(q, o) : ROLE_G;
    return (tensor || product) && !(role == ROLE_G && q->e->contracted) &&
           (role == ROLE_A && !q->e->elementwise) == of_a;
}

static void hold_weights(const struct worked *q, int operand, int channels, const char *name)
{
    const struct operand *o = tiled_operand(q->g, operand);
    tiled_declare(q, name, channels, o->output);
    if (o->output)
        return;
    if (channels > 1)
        tiled_each(q);
    tiled_call(q, "cgtp_get", 1, 1, 0, 2,
               (struct argument[]){tiled_in_channel(q, name, 1),
                                   tiled_row(q, operand, tiled_weights_at(q, operand, true))});
    if (channels > 1)
        tiled_end(q);
}

/* Brings them into registers, or stores those that are outputs. */
static void hold(const struct worked *q, int recipes, bool of_a, bool load)
{
    for (int i = 0; i < tiled_operands(q->g); i++) {
        const struct operand *o = tiled_operand(q->g, i);
        if (!is_held(q, recipes, i, of_a) || (!o->output && !load))
            continue;
        const int channels = of_a ? 1 : q->group->together;
        const char *name = tiled_of_path(q, o->symbol),
                   *variable = !of_a && tiled_turns_b(q) > 1 ? "u" : NULL;
        if (o->slot == SLOT_W && load)
            hold_weights(q, i, channels, name);
        else if (o->slot != SLOT_W && load)
            tiled_begin(q, i, channels, name, variable);
        else if (o->slot != SLOT_W)
            tiled_move(q, i, channels, name, variable, false);
    }
}

/* The path's code, for each channel that is worked on together. */
static void call_code(const struct worked *q, bool tensor)
{
    const struct path_code all = demand_code(q->g->demand, q->e->path->number);
    const struct code *code = tensor ? all.tensor : all.product;
    const struct recipe *r = code->recipe;
    struct argument *list = NEW_ARRAY(q->g->arena, struct argument, r->inputs + r->outputs + 1);
    int n = 0;
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        const bool input = i < r->inputs;
        const enum role role = input ? r->input[i].role : r->output[i - r->inputs].role;
        if (input && !recipe_reads(r, i))
            continue;
        const char *name = tiled_of_path(q, input ? r->input[i].name : r->output[i - r->inputs].name);
        list[n] = role == ROLE_A && !q->e->elementwise
                      ? tiled_in(q, name)
                      : tiled_in_channel(q, name, path_components(q->e->matrix, role));
        list[n].element = input && role == ROLE_W;
        list[n++].touch = input ? TOUCH_READ : TOUCH_ADD;
    }
    if (q->group->together > 1)
        tiled_each(q);
    build_code(q->g->pipeline, q->e->path->number, code, n, list);
    if (q->group->together > 1)
        tiled_end(q);
}

/* T of a path's channels. */
static void tensors(const struct worked *q)
{
    for (int t = 0; t < q->v->ts; t++)
        tiled_declare(q, tiled_of_path(q, arena_printf(q->g->arena, "t%d", t)), q->group->together * q->d,
                      false);
    for (int p = 0; p < q->v->ps; p++)
        tiled_declare(q, tiled_of_path(q, arena_printf(q->g->arena, "p%d", p)), q->group->together * q->d,
                      true);
    if (!q->v->tensor)
        return;
    build_block(q->g->pipeline, -1);
    if (tiled_turns_b(q) == 1)
        hold(q, OF_TENSOR, true, true);
    hold(q, OF_TENSOR, false, true);
    call_code(q, true);
    tiled_end(q);
}

/* What comes of P, or of the operands themselves. */
static void product(const struct worked *q)
{
    if (!q->v->product)
        return;
    build_block(q->g->pipeline, -1);
    if (tiled_turns_b(q) == 1)
        hold(q, OF_PRODUCT, true, true);
    hold(q, OF_PRODUCT, false, true);
    call_code(q, false);
    hold(q, OF_PRODUCT, false, false);
    if (tiled_turns_b(q) == 1)
        hold(q, OF_PRODUCT, true, false);
    for (int i = 0; i < tiled_operands(q->g); i++) {
        const struct operand *o = tiled_operand(q->g, i);
        if (!o || !o->output || o->slot != SLOT_W || !is_held(q, OF_PRODUCT, i, false))
            continue;
        tiled_gradient_places(q, i);
        tiled_gradients(q, i, tiled_of_path(q, o->symbol), 1, 1, &(struct address){0});
    }
    tiled_end(q);
}

/* ---- a group ---- */

/* All that a group does for its channels of B from u on. */
static void channels(struct worked *c)
{
    const struct worked first = tiled_path(c, 0);
    const bool along_z = c->g->stream == SLOT_G && c->group->once;
    const int pieces = along_z ? c->part->pieces : 1, m = first.e->path->mul_z / pieces;
    for (int i = 0; i < c->group->paths; i++) {
        const struct worked q = tiled_path(c, i);
        tensors(&q);
    }
    for (int i = 0; along_z && i < pieces; i++) {
        c->piece = i;
        tiled_enter(c->g, c->part, i);
        tiled_emit_turns(c, true, i * m, m);
        tiled_leave(c->g, c->part, i);
    }
    if (!along_z && tiled_turns(first.v))
        tiled_emit_turns(c, tiled_turns_b(&first) == 1, 0, m);
    for (int i = 0; i < c->group->paths; i++) {
        const struct worked q = tiled_path(c, i);
        product(&q);
    }
}

/* Turns over its channels of B; along x, over those of each piece. */
static void turns_b(struct worked *c)
{
    const struct worked first = tiled_path(c, 0);
    const int less = first.e->pairs; /* of a < b */
    const bool along_x = c->g->stream == SLOT_X && c->group->once;
    const int pieces = along_x ? c->part->pieces : 1, n = (path_channels_b(first.e) - less) / pieces;
    for (int i = 0; i < pieces; i++) {
        c->piece = i;
        if (along_x)
            tiled_enter(c->g, c->part, i);
        if (tiled_turns_b(&first) > 1)
            tiled_loop(c, (struct loop){.name = "u",
                                        .first = i * n,
                                        .end = (i + 1) * n,
                                        .by = c->group->together,
                                        .less = less ? "a" : NULL});
        else
            build_block(c->g->pipeline, -1);
        channels(c);
        tiled_end(c);
        if (along_x)
            tiled_leave(c->g, c->part, i);
    }
}

void tiled_group(struct tiled *g, const struct tiled_part *part, const struct tiled_group *group)
{
    struct worked c = {.g = g, .part = part, .group = group};
    const struct worked first = tiled_path(&c, 0);
    const int channels_a = path_channels_a(first.e);
    const bool goes_on = tiled_turns_b(&first) > 1,
               holds_z = tiled_turns(first.v) && first.e->path->mul_z == group->turn;
    for (int i = 0; i < group->paths; i++) {
        struct text words = {.arena = g->arena};
        source_path_line(&words, g->demand->plan, &g->demand->plan->problem->path[group->path[i]]);
        text_puts(&words, "; a C = form");
        build_note(g->pipeline, text_string(&words));
    }
    if (channels_a > 1)
        tiled_loop(&c, (struct loop){.name = "a", .end = channels_a - first.e->pairs, .by = 1});
    if (goes_on) {
        build_block(g->pipeline, -1);
        hold(&first, OF_BOTH, true, true);
        if (holds_z)
            tiled_hold_z(&c, group->turn, NULL, true);
    }
    turns_b(&c);
    if (goes_on) {
        hold(&first, OF_BOTH, true, false);
        if (holds_z)
            tiled_hold_z(&c, group->turn, NULL, false);
        tiled_end(&c);
    }
    if (channels_a > 1)
        tiled_end(&c);
}
