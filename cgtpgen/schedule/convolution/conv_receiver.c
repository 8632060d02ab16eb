/* conv_receiver.c - the pipelined convolution: what is done for a receiver, before its edges and after them.
 */
#include "schedule/convolution/conv_program.h"

/* Elements of a lane in segments of z before those of so many channels; is there one whose matrix leaves out
 * factors? */
static int z_begin(const struct conv_program *c, int mul)
{
    const struct path *path = c->g->demand->plan->problem->path;
    int elements = 0;
    for (int i = 0; i < c->s->zs && path[c->s->z[i]].mul_x != mul; i++)
        elements += conv_channels(c->s, path[c->s->z[i]].mul_x) * (2 * path[c->s->z[i]].l3 + 1);
    return elements;
}

static struct call *of_table(struct conv_program *c, int mul, bool likewise)
{
    struct call *call = build_last(c->p);
    call->spread = conv_spread(c, mul, 1);
    call->table = "z";
    call->likewise = likewise;
    return call;
}

static void scale(struct conv_program *c, int mul, struct argument part)
{
    if (!conv_has_factors(c->g, c->s, mul))
        return;
    build_call(c->p, "cgtp_scale_segments", (int[]){0}, 1, &part);
    of_table(c, mul, false);
}

void conv_begin_receiver(struct conv_program *c)
{
    int *number = conv_some(c), n = conv_numbers(c, SLOT_G, true, number);
    for (int i = 0; i < n; i++) {
        const char *name = conv_operand(c, number[i])->symbol;
        conv_declare(c, &c->local[number[i]], name, conv_lane_elements(c), true);
        if (!c->g->carries)
            continue;
        conv_declare(c, &c->carried[number[i]], arena_printf(c->a, "%ssum", name), conv_lane_elements(c),
                     true);
        c->p->local[c->carried[number[i]]].type =
            c->g->wide ? precision_table[c->g->demand->plan->problem->spec->sum].c : NULL;
    }
    n = conv_numbers(c, SLOT_G, false, number);
    for (int i = 0; i < n; i++) {
        const struct operand *o = conv_operand(c, number[i]);
        const int row = conv_row(c, o, c->node);
        if (!c->g->keeps_z)
            conv_declare(c, &c->local[number[i]], o->symbol, conv_lane_elements(c), false);
        for (int k = 0; k < c->s->parts; k++) {
            const int mul = c->s->part[k], at = z_begin(c, mul);
            struct argument to =
                c->g->keeps_z ? conv_at(c->place[number[i]], 0) : build_in(c->local[number[i]], at);
            if (c->g->keeps_z && at)
                build_term(&to.at, "CGTP_LANES", at);
            build_call(c->p, c->g->keeps_z ? "cgtp_keep_segments" : "cgtp_load_segments", (int[]){0}, 4,
                       (struct argument[]){to, conv_at(row, 0), build_variable("channel_block", 1),
                                           build_variable("lane", 1)});
            if (of_table(c, mul, true) && c->g->keeps_z)
                build_last(c->p)->scaled = conv_has_factors(c->g, c->s, mul);
            else
                scale(c, mul, to);
        }
    }
}

void conv_end_receiver(struct conv_program *c)
{
    int *number = conv_some(c), n = conv_numbers(c, SLOT_G, true, number);
    struct argument *sums = NEW_ARRAY(c->a, struct argument, n + 1);
    for (int i = 0; i < n; i++) {
        const struct argument pair[] = {build_in(c->carried[number[i]], 0), build_in(c->local[number[i]], 0)};
        if (c->s->lanes < LANES)
            build_call(c->p, "cgtp_join_items", (int[]){c->s->lanes, 0}, 1, &pair[1]);
        sums[i] = c->g->carries ? build_through(c->p, "cgtp_carried", (int[]){0}, NULL, 2, pair)
                                : build_through(c->p, "cgtp_plain", (int[]){0}, NULL, 1, &pair[1]);
    }
    if (c->g->hands_over)
        build_hand_over(c->p, n, sums);
    for (int i = 0; i < n; i++) {
        const int row = c->place[number[i]];
        const struct argument pair[] = {build_in(c->carried[number[i]], 0), build_in(c->local[number[i]], 0)};
        if (c->g->carries)
            build_call(c->p, "cgtp_finish", (int[]){0}, 2, pair);
        for (int k = 0; k < c->s->parts; k++) {
            const int mul = c->s->part[k];
            const struct argument part = build_from(pair[1], z_begin(c, mul));
            scale(c, mul, part);
            build_call(c->p, "cgtp_store_segments", (int[]){0}, 5,
                       (struct argument[]){conv_at(c->rows, 0), part, conv_at(row, 0),
                                           build_variable("channel_block", 1),
                                           build_variable("cgtp_reload_lane()", 1)});
            of_table(c, mul, true);
            build_step(c->p, STEP_MEET)->scope = SCOPE_WARP;
        }
    }
}
