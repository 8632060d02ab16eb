/* conv_paths.c - the pipelined convolution: arguments of calls, and the calls of paths' codes. */
#include "plan/code.h"
#include "schedule/convolution/conv_program.h"

#include <string.h>

/* ---- arguments ---- */

struct argument conv_at(int place, int field)
{
    struct argument q = build_at(place, -1, (struct address){0});
    q.field = field;
    return q;
}

/* The lane's number among those of its edge, and of blocks before. */
static const char *first_lane(const struct conv_program *c)
{
    const char *lane = c->s->lanes < LANES ? arena_printf(c->a, "lane %% %d", c->s->lanes) : "lane";
    return c->s->channel_blocks > 1 ? arena_printf(c->a, "channel_block * %d + %s", c->s->lanes, lane) : lane;
}

/* Elements of a lane's array of slot z before a path's segment. */
static int z_before(const struct conv_program *c, const struct path *path)
{
    const struct layout *lane = &c->s->lane;
    const char *name = arena_printf(c->a, "s%d", path->z);
    int i = 0;
    while (strcmp(lane->field[i].name, name) != 0)
        i++;
    return lane->field[i].at / lane->field[i].element;
}

/* ---- paths ---- */

/* Where the lane's weights of a path for a channel of y, or their gradients, are in the path's slices of the
 * input `number`: of rows that are shifted as a local of the edge says. */
static struct argument in_slices(struct conv_program *c, const struct path *path, int number, int place,
                                 int channel)
{
    const struct operand *o = conv_operand(c, number);
    const char *field = operand_part(c->a, o, path->number);
    struct argument q = conv_at(place, build_field_named(c->p, place, field));
    if (c->shift[number] >= 0) {
        const int spread = conv_spread(c, path->mul_x, 1);
        const char *at = c->p->local[c->weight[number][spread]].name;
        build_term(&q.at, arena_printf(c->a, "%s[%d]", at, conv_in_chunk(o, path->weight_offset)), 1);
        return q;
    }
    build_term(&q.at, "lane", conv_channels(c->s, path->mul_x) * conv_calls(path));
    return build_from(q, channel);
}

/* The same of an input, as the path's code is given it: where others sum over lanes that may have none, zeros
 * for those. */
static struct argument weights_in(struct conv_program *c, const struct path *path, int number, int channel)
{
    const struct operand *o = conv_operand(c, number);
    const int v = conv_channels(c->s, path->mul_x), of = conv_calls(path);
    struct argument q = in_slices(c, path, number, c->place[number], channel);
    if (of > 1 && v > 1)
        return build_through(c->p, "cgtp_incoming_apart", (int[]){v, of, 0}, NULL, 1, &q);
    if (c->shift[number] >= 0 && conv_clears(c, path->mul_x)) {
        const struct argument all[] = {q, build_variable("channel_block", 1), build_variable("lane", 1)};
        q = build_through(c->p, "cgtp_shifted_weights", (int[]){0}, NULL, 3, all);
        q.call->spread = conv_spread(c, path->mul_x, 1);
        q.call->table = "w";
        return q;
    }
    q.element = v == 1;
    return operand_size(o) != 2 ? q
                                : build_through(c->p, v == 1 ? "cgtp_widen" : "cgtp_incoming",
                                                (int[]){v == 1 ? 0 : v, 0, 0}, NULL, 1, &q);
}

/* The input in whose place gradients of weights wait. */
static int waits_in(const struct conv_program *c, const struct place *gradients)
{
    int i = 0;
    while (c->place[i] != gradients->alias)
        i++;
    return i;
}

/* A path's weights for a channel of y, or where their gradients go. */
static struct argument weights(struct conv_program *c, const struct path *path, int number, int channel)
{
    const struct operand *o = conv_operand(c, number);
    const int v = conv_channels(c->s, path->mul_x), of = conv_calls(path), aligned = c->g->aligned[SLOT_W];
    const bool some = !conv_is_whole(c->s, path->mul_x);
    const char *type = operand_size(o) == 2 ? precision_table[o->held].c : NULL;
    if (!o->output)
        return weights_in(c, path, number, channel);
    const char *mul = c->p->spreads > 1 ? arena_printf(c->a, "%d", path->mul_x) : "";
    const struct argument channels =
        some ? build_variable(arena_printf(c->a, "channels%s", mul), 1) : build_number(v);
    const struct place *place = &c->p->place[c->place[number]];
    if (place->how == HOW_CODE) { /* they wait where the weights were */
        const int in = waits_in(c, place);
        const struct argument all[] = {in_slices(c, path, in, c->place[number], channel), channels};
        return build_through(c->p,
                             of > 1              ? "cgtp_outgoing_slice_apart"
                             : c->shift[in] >= 0 ? "cgtp_outgoing_shifted"
                                                 : "cgtp_outgoing_slice",
                             (int[]){v, of > 1 ? of : 0, 0}, type, 2, all);
    }
    struct argument q = build_from(conv_at(c->place[number], 0), path->weight_offset + channel);
    if (c->p->spreads > 1)
        build_term(&q.at, first_lane(c), v * of);
    if (of > 1)
        return build_through(c->p, "cgtp_outgoing_apart", (int[]){v, of, 0}, type, 2,
                             (struct argument[]){q, channels});
    if (!some && (!aligned || aligned >= v))
        return build_through(c->p, "cgtp_outgoing", (int[]){v, 0, 0}, type, 1, &q);
    const struct argument all[] = {q, channels};
    return build_through(c->p, "cgtp_outgoing_some", (int[]){v, aligned, 0}, type, 2, all);
}

/* The lane's part of a row of slot z, or of what is added to it. */
static struct argument part_of_z(struct conv_program *c, const struct path *path, int number)
{
    const int at = z_before(c, path);
    if (conv_operand(c, number)->output || !c->g->keeps_z)
        return build_in(c->local[number], at);
    struct argument q = build_from(conv_at(c->place[number], 0), 0);
    if (at)
        build_term(&q.at, "CGTP_LANES", at);
    return build_through(c->p, "cgtp_kept",
                         (int[]){conv_channels(c->s, path->mul_x) * (2 * path->l3 + 1), 0, 0}, NULL, 2,
                         (struct argument[]){q, build_variable("lane", 1)});
}

/* What the code of a path, and of those that are computed with it, is given, for a channel of y. */
void conv_call_path(struct conv_program *c, const int *paths, int channel)
{
    const struct problem *problem = c->g->demand->plan->problem;
    const struct code *code = c->g->code[paths[0]];
    const struct recipe *r = code->recipe;
    struct argument *all = NEW_ARRAY(c->a, struct argument, r->inputs + r->outputs + 1);
    int n = 0;
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        const bool input = i < r->inputs;
        if (input && !recipe_reads(r, i))
            continue;
        const struct recipe_input o = recipe_operand(r, i);
        const enum role role = o.role;
        const int number = conv_number(c, !input, o.source);
        const struct path *path = &problem->path[paths[code->matrices ? o.copy : 0]];
        all[n] = role == ROLE_A   ? build_in(c->local[number],
                                             problem->y.segment[path->y].offset + channel * (2 * path->l2 + 1))
                 : role == ROLE_B ? build_in(c->x[number][path->x], 0)
                 : role == ROLE_G ? part_of_z(c, path, number)
                                  : weights(c, path, number, channel);
        all[n].apart = role == ROLE_A   ? 0
                       : role == ROLE_B ? 2 * path->l1 + 1
                       : role == ROLE_G ? 2 * path->l3 + 1
                                        : !input || conv_channels(c->s, path->mul_x) > 1;
        all[n++].touch = input ? TOUCH_READ : role == ROLE_W ? TOUCH_WRITE : TOUCH_ADD;
    }
    build_code(c->p, paths[0], code, n, all);
    build_last(c->p)->spread = conv_spread(c, problem->path[paths[0]].mul_x, 1);
    build_last(c->p)->matrix = c->g->matrix[paths[0]];
    build_last(c->p)->forms = conv_forms(c->g, c->s, paths) * demand_inputs_of(c->g->demand, SLOT_Y);
}
