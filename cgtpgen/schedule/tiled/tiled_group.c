/* tiled_group.c - tiled items: the work of a group of paths (see tiled_plan.h). */
#include "schedule/path.h"
#include "schedule/tiled/tiled_turn.h"

/* ---- operands of the products ---- */

static const struct recipe *recipe_of(const struct tiled_path *q, bool tensor)
{
    return tensor ? q->v->tensor : q->v->product;
}

/* Does the recipe read the input, or make the output? */
static bool recipe_has(const struct tiled_path *q, const struct recipe *r, int operand)
{
    const int inputs = q->c->w->form->inputs;
    bool has = false;
    for (int i = 0; i < r->inputs && operand < inputs; i++)
        has |= r->input[i].source == operand && recipe_reads(r, i);
    for (int o = 0; o < r->outputs && operand >= inputs; o++)
        has |= r->output[o].source == q->c->w->demand->output[operand - inputs];
    return has;
}

enum side { SIDE_A, SIDE_CHANNEL }; /* what has channels of A alone; all else */

/* Does the operand stand in registers while a recipe is computed, on this side? */
static bool is_held_by(const struct tiled_path *q, bool tensor, int operand, enum side side)
{
    const struct operand *o = tiled_operand_at(q->c, operand);
    const bool input = operand < q->c->w->form->inputs;
    const struct recipe *r = recipe_of(q, tensor);
    if (!o || !r || (tensor && !input) || !recipe_has(q, r, operand))
        return false;
    const enum role role = tiled_role_of(q, o);
    if (role == ROLE_G && q->e->contracted)
        return false;
    return (role == ROLE_A && tiled_has_own_a(q)) == (side == SIDE_A);
}

enum { OF_TENSOR = 1, OF_PRODUCT = 2, OF_BOTH = 3 };

static bool is_held(const struct tiled_path *q, int recipes, int operand, enum side side)
{
    return ((recipes & OF_TENSOR) && is_held_by(q, true, operand, side)) ||
           ((recipes & OF_PRODUCT) && is_held_by(q, false, operand, side));
}

/* Brings them into registers, or stores those that are outputs. */
static void hold(const struct tiled_path *q, int recipes, enum side side, bool load)
{
    struct tiled_writer *c = q->c;
    for (int i = 0; i < tiled_operands(c); i++) {
        const struct operand *o = tiled_operand_at(c, i);
        const bool input = i < c->w->form->inputs;
        if (!is_held(q, recipes, i, side) || (input && !load))
            continue;
        const int channels = side == SIDE_A ? 1 : q->group->together;
        const char *name = tiled_registers(q, o->symbol);
        const char *variable = side == SIDE_CHANNEL && tiled_turns_b(q) > 1 ? "u" : NULL;
        if (o->slot != SLOT_W) {
            if (load)
                tiled_begin(q, o, channels, name, variable);
            else
                tiled_move(q, o, channels, name, variable, false);
        } else if (input) {
            line(c->o, "real %s[%d];", name, channels);
            if (channels > 1)
                line(c->o, "CGTP_UNROLL for (int j = 0; j < %d; j++)", channels);
            line(c->o, "%s[%s] = %s[0];", name, channels > 1 ? "j" : "0",
                 arena_printf(c->w->arena, "(%s)", tiled_weights_of_channel(q, o)));
        } else if (load) {
            line(c->o, "real %s[%d] = {0};", name, channels);
        }
    }
}

static const char *argument(const struct device_path *f, int operand)
{
    const struct tiled_path *q = f->context;
    struct arena *a = q->c->w->arena;
    const struct recipe *r = f->code->recipe;
    const bool input = operand < r->inputs;
    const int number = input ? operand : operand - r->inputs;
    const enum role role = input ? r->input[number].role : r->output[number].role;
    const char *name = tiled_registers(q, input ? r->input[number].name : r->output[number].name);
    if (role == ROLE_W && input)
        return arena_printf(a, "%s[%s]", name, q->group->together > 1 ? "j" : "0");
    return role == ROLE_A && tiled_has_own_a(q) ? name
                                                : tiled_of_channel(q, name, path_components(f->matrix, role));
}

static struct device_path function_of(const struct tiled_path *q, bool tensor)
{
    const struct path_code code = demand_code(q->c->w->demand, q->path->number);
    return (struct device_path){.w = q->c->w,
                                .o = q->c->o,
                                .path = q->path,
                                .code = tensor ? code.tensor : code.product,
                                .matrix = q->e->matrix,
                                .channels = 1,
                                .argument = argument,
                                .context = (void *)q};
}

/* Calls it for each channel that is worked on together. */
static void call(const struct tiled_path *q, bool tensor)
{
    const struct device_path f = function_of(q, tensor);
    if (q->group->together > 1)
        line(q->c->o, "CGTP_UNROLL for (int j = 0; j < %d; j++)", q->group->together);
    device_path_call(&f);
}

void tiled_functions(struct tiled_writer *c)
{
    for (int i = 0; i < c->g->parts; i++)
        for (int k = 0; k < c->g->part[i].groups; k++)
            for (int p = 0; p < c->g->part[i].group[k].paths; p++) {
                const struct tiled_group *group = &c->g->part[i].group[k];
                const struct tiled_path q = tiled_path_of(c, group, group->path[p]);
                for (int tensor = 1; tensor >= 0; tensor--) {
                    const struct device_path f = function_of(&q, tensor);
                    if (f.code)
                        device_path_function(&f);
                }
            }
}

/* ---- a group ---- */

/* T of a path's channels. */
static void emit_tensors(const struct tiled_path *q)
{
    for (int t = 0; t < q->v->ts; t++)
        line(q->c->o, "real t%dp%d[%d];", t, q->path->number, q->group->together * q->d);
    for (int p = 0; p < q->v->ps; p++)
        line(q->c->o, "real p%dp%d[%d] = {0};", p, q->path->number, q->group->together * q->d);
    if (!q->v->tensor)
        return;
    line(q->c->o, "{");
    if (tiled_turns_b(q) == 1)
        hold(q, OF_TENSOR, SIDE_A, true);
    hold(q, OF_TENSOR, SIDE_CHANNEL, true);
    call(q, true);
    line(q->c->o, "}");
}

/* What comes of P, or of the operands themselves. */
static void emit_product(const struct tiled_path *q)
{
    struct tiled_writer *c = q->c;
    if (!q->v->product)
        return;
    line(c->o, "{");
    if (tiled_turns_b(q) == 1)
        hold(q, OF_PRODUCT, SIDE_A, true);
    hold(q, OF_PRODUCT, SIDE_CHANNEL, true);
    call(q, false);
    hold(q, OF_PRODUCT, SIDE_CHANNEL, false);
    if (tiled_turns_b(q) == 1)
        hold(q, OF_PRODUCT, SIDE_A, false);
    for (int i = c->w->form->inputs; i < tiled_operands(c); i++)
        if (is_held(q, OF_PRODUCT, i, SIDE_CHANNEL) && tiled_operand_at(c, i)->slot == SLOT_W) {
            tiled_places(c, q->group, i);
            line(c->o, "real *const %sf = %s;", tiled_operand_at(c, i)->symbol,
                 tiled_registers(q, tiled_operand_at(c, i)->symbol));
            tiled_gradients(c, q->group, i, 1, 1, "");
        }
    line(c->o, "}");
}

/* All that a group does for its channels of B from u on. */
static void emit_channels(struct tiled_writer *c, const struct tiled_group *group)
{
    const struct tiled_path first = tiled_path_of(c, group, group->path[0]);
    const bool along_z = c->g->stream == SLOT_G && group->once;
    const int pieces = along_z ? c->part->pieces : 1, m = first.path->mul_z / pieces;
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = tiled_path_of(c, group, group->path[p]);
        emit_tensors(&q);
    }
    for (c->piece = along_z ? 0 : c->piece; along_z && c->piece < pieces; c->piece++) {
        c->enter(c);
        tiled_emit_turns(c, group, true, c->piece * m, m);
        c->leave(c);
    }
    c->piece = along_z ? 0 : c->piece;
    if (!along_z && tiled_turns(first.v))
        tiled_emit_turns(c, group, tiled_turns_b(&first) == 1, 0, m);
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = tiled_path_of(c, group, group->path[p]);
        emit_product(&q);
    }
}

/* Turns over its channels of B; along x, over those of each piece. */
static void emit_turns_b(struct tiled_writer *c, const struct tiled_group *group)
{
    const struct tiled_path first = tiled_path_of(c, group, group->path[0]);
    const int less = first.e->pairs ? 1 : 0; /* of a < b */
    const bool along_x = c->g->stream == SLOT_X && group->once;
    const int pieces = along_x ? c->part->pieces : 1, n = (path_channels_b(first.e) - less) / pieces;
    for (c->piece = 0; c->piece < pieces; c->piece++) {
        if (along_x)
            c->enter(c);
        if (tiled_turns_b(&first) > 1) {
            line(c->o, "CGTP_LOOP");
            line(c->o, "for (int u = %d; u < %d%s; u += %d) {", c->piece * n, (c->piece + 1) * n,
                 less ? " - a" : "", group->together);
        } else {
            line(c->o, "{");
        }
        emit_channels(c, group);
        line(c->o, "}");
        if (along_x)
            c->leave(c);
    }
}

void tiled_group(struct tiled_writer *c, const struct tiled_group *group)
{
    const struct tiled_path first = tiled_path_of(c, group, group->path[0]);
    const int channels_a = path_channels_a(first.e);
    const bool goes_on = tiled_turns_b(&first) > 1,
               holds_z = tiled_turns(first.v) && tiled_has_one_turn(group, first.path);
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = tiled_path_of(c, group, group->path[p]);
        const struct device_path f = function_of(&q, q.v->tensor != NULL);
        device_path_comment(&f);
    }
    if (channels_a > 1) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int a = 0; a < %d; a++) {", channels_a - (first.e->pairs ? 1 : 0));
    }
    if (goes_on) {
        line(c->o, "{");
        hold(&first, OF_BOTH, SIDE_A, true);
        if (holds_z)
            tiled_hold_z(c, group, group->turn, NULL, true);
    }
    emit_turns_b(c, group);
    if (goes_on) {
        hold(&first, OF_BOTH, SIDE_A, false);
        if (holds_z)
            tiled_hold_z(c, group, group->turn, NULL, false);
        line(c->o, "}");
    }
    if (channels_a > 1)
        line(c->o, "}");
}
