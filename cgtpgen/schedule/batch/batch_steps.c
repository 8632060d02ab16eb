/* batch_steps.c - the pipelined batch: what is done. Of each phase a loop over items, in which channel blocks
 * follow each other, and in these path sets. */
#include "plan/code.h"
#include "schedule/batch/batch_plan.h"
#include "schedule/source.h"

/* A path set while it is written. */
struct writer {
    const struct batch *g;
    struct pipeline *p;
    const struct kernel_plan *k;
    const struct problem *problem;
    const struct batch_phase *phase;
    const struct batch_set *s;
    const struct operand **of[SLOT_COUNT][2]; /* inputs, outputs that the demand has; NULL ends them */
};

/* ---- arguments ---- */

/* A field of a place, so many elements further. */
static struct argument at(const struct writer *c, int place, const char *field, int64_t offset)
{
    const struct place *q = &c->p->place[place];
    const int index = q->rate > 1 ? (int)(c->s - c->g->set) - c->phase->first : 0;
    struct argument a = build_at(place, index, (struct address){.offset = offset});
    a.field = field ? build_field_named(c->p, place, field) : 0;
    return a;
}

static int standing(const struct writer *c, const struct operand *o)
{
    int i = 0;
    while (c->p->place[i].operand != o)
        i++;
    return i;
}

/* Weights that all items share, or the sums of their gradients: those of the lane. */
static struct argument shared_weights(const struct writer *c, const struct path *path,
                                      const struct operand *o)
{
    const int v = c->g->channels;
    struct argument q = at(c, standing(c, o), NULL, path->weight_offset);
    if (c->g->part[c->s->part].blocks > 1)
        build_term(&q.at, "now.block", BATCH_LANES * v);
    build_term(&q.at, "lane", v);
    q.apart = 1;
    q.element = v == 1 && !o->output;
    return q;
}

/* A path's weights, or where their gradients go. */
static struct argument weights(const struct writer *c, const struct path *path, const struct operand *o)
{
    const int v = c->g->channels;
    const char *type = operand_size(o) == 2 ? source_held(c->g->demand->plan, o) : NULL;
    struct argument q = o->output ? at(c, standing(c, o), NULL, path->weight_offset)
                                  : at(c, c->s->in, operand_part(c->p->arena, o, path->number), 0);
    q.apart = 1;
    const int aligned = c->g->aligned[SLOT_W];
    if (o->output && aligned < v)
        return build_through(c->p, "cgtp_outgoing_some", (int[]){v, aligned, 0}, type, 2,
                             (struct argument[]){q, build_number(v)});
    if (o->output)
        return build_through(c->p, "cgtp_outgoing", (int[]){v, 0}, type, 1, &q);
    build_term(&q.at, "lane", v);
    q.element = v == 1;
    if (!type)
        return q;
    return v == 1 ? build_through(c->p, "cgtp_widen", (int[]){0}, NULL, 1, &q)
                  : build_through(c->p, "cgtp_incoming", (int[]){v, 0}, NULL, 1, &q);
}

/* So many elements further in the item's row of slot y. */
static struct argument row_of_y(const struct writer *c, const struct operand *o, int64_t offset)
{
    struct argument q = at(c, c->phase->wide < 0 ? c->phase->rows : c->phase->wide, o->symbol, offset);
    if (c->phase->lanes < BATCH_LANES)
        build_term(&q.at, "side", batch_y_room(c->g, o));
    return q;
}

static struct argument operand_of(const struct writer *c, const struct path *path, enum role role,
                                  const struct operand *o)
{
    const int64_t offset = c->problem->y.segment[path->y].offset;
    if (role == ROLE_W)
        return o->index == INDEX_SHARED ? shared_weights(c, path, o) : weights(c, path, o);
    if (role == ROLE_A && !o->output)
        return row_of_y(c, o, offset);
    const int segment = role == ROLE_B ? path->x : path->z;
    struct argument q = build_named(c->p, operand_part(c->p->arena, o, segment));
    q.at.offset = role == ROLE_A ? offset : 0;
    q.apart = role == ROLE_A ? 0 : o->block[segment].components;
    return q;
}

static void call_path(const struct writer *c, const struct path *path)
{
    const struct code *code = demand_code(c->g->demand, path->number).product;
    const struct recipe *r = code->recipe;
    struct argument *all = NEW_ARRAY(c->p->arena, struct argument, r->inputs + r->outputs + 1);
    int n = 0;
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        const struct recipe_input q = recipe_operand(r, i);
        const bool input = i < r->inputs;
        if (input && !recipe_reads(r, i))
            continue;
        all[n] =
            operand_of(c, path, q.role, input ? kernel_input(c->k, q.source) : kernel_output(c->k, q.source));
        all[n++].touch = input                                     ? TOUCH_READ
                         : q.role == ROLE_W && !batch_shares(c->g) ? TOUCH_WRITE
                                                                   : TOUCH_ADD;
    }
    build_step(c->p, STEP_NOTE)->note =
        arena_printf(c->p->arena, "%s; a C = form", source_path_line(c->p->arena, c->g->demand->plan, path));
    build_code(c->p, path->number, code, n, all);
    build_last(c->p)->spread = c->s->part;
}

/* ---- a path set ---- */

/* A lane's array of a segment: of an output, zeros. */
static void declare(const struct writer *c, const struct operand *o, int segment)
{
    build_local(c->p, (struct local){.name = operand_part(c->p->arena, o, segment),
                                     .elements = c->g->channels * o->block[segment].components,
                                     .begins = o->output ? LOCAL_ZERO : LOCAL_ANY});
}

/* Inputs come from their slices to such an array, outputs go there. */
static void move(const struct writer *c, const struct operand *o, int segment, int place)
{
    const char *name = operand_part(c->p->arena, o, segment);
    const bool apart = block_is_apart(&o->block[segment]);
    const char *function =
        arena_printf(c->p->arena, "cgtp_%s_lane%s", o->output ? "store" : "load", apart ? "_components" : "");
    const struct argument array = build_named(c->p, name), slice = at(c, place, name, 0);
    build_call(
        c->p, function,
        (int[]){apart ? c->g->channels : 0, c->phase->lanes < BATCH_LANES ? c->phase->lanes : 0, 0}, 3,
        (struct argument[]){o->output ? slice : array, o->output ? array : slice, build_variable("lane", 1)});
}

static void bring(const struct writer *c, enum slot slot, int segment, int place)
{
    for (const struct operand **o = c->of[slot][0]; *o; o++) {
        declare(c, *o, segment);
        move(c, *o, segment, place);
    }
}

static void leave(const struct writer *c, enum slot slot, int segment)
{
    for (const struct operand **o = c->of[slot][1]; *o; o++)
        move(c, *o, segment, c->s->out);
}

/* Lanes without channels of the block, or an item, have nothing to do, and leave nothing for sums over lanes.
 */
static void begin_lanes(const struct writer *c, const struct batch_part *part)
{
    const int lanes = part->mul / c->g->channels;
    if (part->lanes < BATCH_LANES)
        build_block(c->p, -1)->note =
            lanes == part->lanes ? "there"
                                 : arena_printf(c->p->arena, "there && lane %% %d < %d", part->lanes, lanes);
    else
        build_block(c->p, -1)->note =
            part->blocks == 1 ? arena_printf(c->p->arena, "lane < %d", lanes)
                              : arena_printf(c->p->arena, "now.block * %d + lane < %d", BATCH_LANES, lanes);
}

/* Segments of z come before the first path into them, and leave after the last. */
static void work(const struct writer *c)
{
    const struct path *path = c->problem->path;
    const struct batch_part *part = &c->g->part[c->s->part];
    const int *number = c->s->path;
    const bool some = part->lanes < BATCH_LANES || !batch_is_whole(c->g, part);
    if (some)
        begin_lanes(c, part);
    for (int k = 0; k < c->s->xs; k++)
        bring(c, SLOT_X, c->s->x[k], c->g->x_by_set ? c->s->in : c->phase->rows);
    for (int i = 0; i < c->s->paths; i++) {
        const int z = path[number[i]].z;
        if (i == 0 || path[number[i - 1]].z != z) {
            for (const struct operand **o = c->of[SLOT_G][1]; *o; o++)
                declare(c, *o, z);
            bring(c, SLOT_G, z, c->s->in);
        }
        call_path(c, &path[number[i]]);
        if (i + 1 == c->s->paths || path[number[i + 1]].z != z)
            leave(c, SLOT_G, z);
    }
    for (int k = 0; k < c->s->ends; k++)
        leave(c, SLOT_X, c->s->end[k]);
    if (some)
        build_end(c->p);
    if (c->s->out >= 0)
        build_store(c->p, c->s->out, 0, 0);
}

/* Copies for the set that is so many turns of the ring ahead; rows with a phase's first. */
static void copy_ahead(const struct writer *c)
{
    const int ahead = (int)(c->s - c->g->set) - c->phase->first + c->g->stages - 1;
    const int index = ahead % c->phase->sets, skew = ahead / c->phase->sets;
    if (index == 0)
        build_copy(c->p, c->phase->rows, 0, skew);
    build_copy(c->p, c->g->set[c->phase->first + index].in, index, skew);
}

static void widen(const struct writer *c)
{
    for (const struct operand **o = c->of[SLOT_Y][0]; *o; o++)
        build_call(c->p, "cgtp_widen_row", (int[]){0}, 4,
                   (struct argument[]){at(c, c->phase->wide, (*o)->symbol, 0),
                                       at(c, c->phase->rows, (*o)->symbol, 0), build_variable("now.item", 1),
                                       build_variable("lane", 1)});
}

static void turn(struct writer *c, int index)
{
    c->s = &c->g->set[c->phase->first + index];
    build_set(c->p, c->s->paths, c->s->path);
    const int blocks = c->g->part[c->s->part].blocks;
    build_block(c->p, index);
    copy_ahead(c);
    if (index == 0 && c->phase->wide >= 0)
        widen(c);
    if (blocks < c->phase->blocks)
        build_block(c->p, -1)->below = blocks;
    for (const struct operand **o = c->of[SLOT_W][1]; *o && c->s->ws && !batch_shares(c->g); o++)
        build_step(c->p, STEP_ROW)->number = standing(c, *o);
    work(c);
    if (blocks < c->phase->blocks)
        build_end(c->p);
    build_end(c->p);
}

/* ---- a phase ---- */

/* Sums of slot y over an item's channel blocks; later phases add theirs. */
static void do_phase(struct writer *c)
{
    const int dim = (int)c->problem->dim[SLOT_Y];
    build_step(c->p, STEP_FILL)->loop = c->phase->block;
    build_begin(c->p, c->phase->sums ? c->phase->item : c->phase->block);
    for (const struct operand **o = c->of[SLOT_Y][1]; *o; o++)
        build_local(
            c->p, (struct local){(*o)->symbol, build_sums_length(dim, BATCH_LANES), LOCAL_ZERO, NULL, NULL});
    if (c->phase->sums)
        build_begin(c->p, c->phase->block);
    for (const struct operand **o = c->of[SLOT_X][1]; *o; o++)
        for (int s = c->phase->first; s < c->phase->first + c->phase->sets; s++)
            for (int k = 0; k < c->g->set[s].ends; k++)
                declare(c, *o, c->g->set[s].end[k]);
    for (int i = 0; i < c->phase->sets; i++)
        turn(c, i);
    if (c->phase->sums)
        build_end(c->p);
    for (const struct operand **o = c->of[SLOT_Y][1]; *o; o++) {
        const bool sides = c->phase->lanes < BATCH_LANES;
        const char *how = c->phase->first ? "CGTP_ADD" : "CGTP_STORE";
        build_call(c->p, sides ? "cgtp_reduce_items" : "cgtp_reduce_lanes", (int[]){dim, 0}, 2 + sides,
                   (struct argument[]){at(c, standing(c, *o), NULL, 0), build_named(c->p, (*o)->symbol),
                                       build_variable("there", 1)});
        build_last(c->p)->type = sides ? arena_printf(c->p->arena, "%s, %d", how, c->phase->lanes) : how;
    }
    build_end(c->p);
}

void batch_steps(struct batch *g)
{
    struct writer c = {.g = g, .p = g->pipeline, .k = g->demand->kernel, .problem = g->demand->plan->problem};
    const int arrays = demand_arrays(g->demand);
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        for (int output = 0; output < 2; output++) {
            const struct operand **list = c.of[slot][output] =
                NEW_ARRAY(c.p->arena, const struct operand *, arrays + 1);
            for (int i = 0, n = 0; i < arrays; i++) {
                const struct operand *o = demand_array(g->demand, i);
                if (o && (int)o->slot == slot && o->output == output)
                    list[n++] = o;
            }
        }
    build_launch(c.p, false);
    for (int i = 0; i < g->phases; i++) {
        c.phase = &g->phase[i];
        do_phase(&c);
    }
    build_launch(c.p, true);
}
