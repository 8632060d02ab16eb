/* tiled_turn.c - see tiled_turn.h. */
#include "schedule/tiled/tiled_turn.h"

#include "schedule/path.h"

#include <string.h>

/* Does the path's part of a turn read the input; add to the output? Weights: multiply by them, make them. */
static bool turn_has(const struct tiled_path *q, int operand)
{
    const int inputs = q->c->w->form->inputs;
    const int output = operand >= inputs ? q->c->w->demand->output[operand - inputs] : -1;
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

static const char *symbol_of(const struct tiled_writer *c, int output)
{
    return c->w->form->output[output].symbol;
}

/* Paths of the group, up to its path number `end`, whose turns read the input or add to the output. */
static int paths_with(struct tiled_writer *c, const struct tiled_group *group, int operand, int end)
{
    int n = 0;
    for (int i = 0; i < end; i++) {
        const struct tiled_path q = tiled_path_of(c, group, group->path[i]);
        n += turn_has(&q, operand);
    }
    return n;
}

/* A channel's weights of a turn, of an input (-1: all one). */
static const char *weight_of(const struct tiled_path *q, int input, int v)
{
    if (input < 0)
        return "one";
    const char *name = arena_printf(q->c->w->arena, "%sf", source_input(q->c->w, input)->symbol);
    return tiled_is_block(q) ? tiled_of_channel(q, name, v) : name;
}

/* Products of the group's path `number` with its weights, and for gradients of them. */
static void emit_products(const struct tiled_path *q, int v, const char *at, int number)
{
    struct tiled_writer *c = q->c;
    struct arena *a = c->w->arena;
    const int together = q->group->together, channels = tiled_is_block(q) ? together : 1;
    const char *each =
        together > 1 ? arena_printf(a, "CGTP_UNROLL for (int j = 0; j < %d; j++) {", together) : "{";
    line(c->o, "%s", channels > 1 ? "{" : each);
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *o = tiled_operand_at(c, i);
        if (!o || o->slot != SLOT_W || !turn_has(q, i))
            continue;
        const struct operand_block b = tiled_block_of(q, o);
        const char *row = arena_printf(a, "%srow", o->symbol);
        line(c->o, "real %sf[%d];", o->symbol, channels * v);
        line(c->o, "cgtp_get<%d, %d>(%sf, %s%s);", channels * v,
             tiled_alignment(q, o, &b, ROLE_W, channels * q->group->turn), o->symbol,
             channels > 1 ? tiled_weights_at(q, row, o) : tiled_weights_of_channel(q, o), at);
    }
    if (channels > 1)
        line(c->o, "%s", each);
    for (int i = 0; i < q->v->zs; i++) {
        const struct contract_z *z = &q->v->z[i];
        line(c->o, "cgtp_add_channels<%d, %d>(%sf, %s, %s);", v, q->d, symbol_of(c, z->output),
             weight_of(q, z->w, v),
             tiled_of_channel(q, tiled_registers(q, arena_printf(a, "t%d", z->t)), q->d));
    }
    for (int i = 0; i < q->v->ps; i++)
        line(c->o, "cgtp_add_products<%d, %d>(%s, %s, %sf);", v, q->d,
             tiled_of_channel(q, tiled_registers(q, arena_printf(a, "p%d", i)), q->d),
             weight_of(q, q->v->p[i].w, v), source_input(c->w, q->v->p[i].g)->symbol);
    for (int i = 0; i < q->v->ws; i++)
        for (int k = 0; k < q->v->w[i].parts; k++) {
            const struct contract_w_part *part = &q->v->w[i].part[k];
            const int before =
                paths_with(c, q->group, tiled_operand_of(c, q->v->w[i].output), number) * together;
            const char *to =
                plus_offset(a, arena_printf(a, "%sf", symbol_of(c, q->v->w[i].output)), before * v);
            line(c->o, "cgtp_add_dots<%d, %d>(%s, %s, %sf);", v, q->d, tiled_of_channel(q, to, v),
                 tiled_of_channel(q, tiled_registers(q, arena_printf(a, "t%d", part->t)), q->d),
                 source_input(c->w, part->g)->symbol);
        }
    line(c->o, "}");
    if (channels > 1)
        line(c->o, "}");
}

void tiled_places(struct tiled_writer *c, const struct tiled_group *group, int operand)
{
    struct arena *a = c->w->arena;
    struct text list = {.arena = a};
    int n = 0;
    for (int i = 0; i < group->paths; i++) {
        const struct tiled_path q = tiled_path_of(c, group, group->path[i]);
        const struct operand *o = tiled_operand_at(c, operand);
        if (q.e->contracted && !turn_has(&q, operand))
            continue;
        for (int j = 0; j < (tiled_is_block(&q) ? 1 : group->together); j++) {
            const char *at = plus_offset(a, tiled_weights_at(&q, "0", o), j * path_weight_rows(q.e));
            text_printf(&list, "%s%s", n++ ? ", " : "", strncmp(at, "0 + ", 4) == 0 ? at + 4 : at);
        }
    }
    line(c->o, "const int %sat[%d] = {%s};", tiled_operand_at(c, operand)->symbol, n, text_string(&list));
}

void tiled_gradients(struct tiled_writer *c, const struct tiled_group *group, int operand, int paths, int v,
                     const char *channel)
{
    const struct tiled_path first = tiled_path_of(c, group, group->path[0]);
    const char *name = tiled_operand_at(c, operand)->symbol;
    const int each = tiled_is_block(&first) ? v * group->together : v, all = paths * group->together * v;
    if (!tiled_is_row(tiled_operand_at(c, operand))) {
        line(c->o, "cgtp_add_lane_sums<%d, %d>(%srow%s, %sat, %sf);", each, all / each, name, channel, name,
             name);
        return;
    }
    line(c->o, "CGTP_UNROLL for (int i = 0; i < %d; i++)", all);
    line(c->o, "(%srow%s)[%sat[i / %d] + i %% %d] += %sf[i];", name, channel, name, each, each, name);
}

void tiled_hold_z(struct tiled_writer *c, const struct tiled_group *group, int v, const char *variable,
                  bool load)
{
    const struct tiled_path first = tiled_path_of(c, group, group->path[0]);
    for (int i = 0; i < tiled_operands(c); i++) {
        const struct operand *o = tiled_operand_at(c, i);
        if (!o || o->slot != SLOT_G || !paths_with(c, group, i, group->paths))
            continue;
        const char *name = arena_printf(c->w->arena, "%sf", o->symbol);
        if (load)
            tiled_begin(&first, o, v, name, variable);
        else if (o->output)
            tiled_move(&first, o, v, name, variable, false);
    }
}

/* A turn of all paths, from channel c on. z: are rows of z brought and stored, too? */
static void emit_turn(struct tiled_writer *c, const struct tiled_group *group, int v, const char *variable,
                      const char *at, bool z)
{
    bool one = false;
    for (int p = 0; p < group->paths; p++)
        one |= !c->w->problem->path[group->path[p]].weighted;
    if (one)
        line(c->o, "const real one[1] = {1};");
    if (z)
        tiled_hold_z(c, group, v, variable, true);
    for (int i = c->w->form->inputs; i < tiled_operands(c); i++) {
        const struct operand *o = tiled_operand_at(c, i);
        const int n = paths_with(c, group, i, group->paths);
        if (n && o->slot == SLOT_W)
            line(c->o, "real %sf[%d] = {0};", o->symbol, n * group->together * v);
    }
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = tiled_path_of(c, group, group->path[p]);
        emit_products(&q, v, at, p);
    }
    for (int i = c->w->form->inputs; i < tiled_operands(c); i++) {
        const int n = paths_with(c, group, i, group->paths);
        if (n && tiled_operand_at(c, i)->slot == SLOT_W)
            tiled_gradients(c, group, i, n, v, at);
    }
    if (z)
        tiled_hold_z(c, group, v, variable, false);
}

void tiled_emit_turns(struct tiled_writer *c, const struct tiled_group *group, bool z, int first, int n)
{
    struct arena *a = c->w->arena;
    const int rest = n % group->turn;
    for (int i = c->w->form->inputs; i < tiled_operands(c); i++)
        if (tiled_operand_at(c, i)->slot == SLOT_W && paths_with(c, group, i, group->paths))
            tiled_places(c, group, i);
    if (n == group->turn) {
        line(c->o, "{");
        emit_turn(c, group, group->turn, NULL, first ? arena_printf(a, " + %d", first) : "", z);
        line(c->o, "}");
        return;
    }
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int c = %d; c < %d; c += %d) {", first, first + n - rest, group->turn);
    emit_turn(c, group, group->turn, "c", " + c", true);
    line(c->o, "}");
    if (rest) {
        line(c->o, "{");
        line(c->o, "constexpr int c = %d;", first + n - rest);
        emit_turn(c, group, rest, "c", " + c", true);
        line(c->o, "}");
    }
}
