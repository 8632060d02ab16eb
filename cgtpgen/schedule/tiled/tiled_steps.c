/* tiled_steps.c - tiled items: what is done with the items of a tile. */
#include "schedule/path.h"
#include "schedule/path_calls.h"
#include "schedule/source.h"
#include "schedule/tiled/tiled.h"

/* A part while it is written, and the paths of it that are worked on together. */
struct worked {
    struct tiled *g;
    const struct tiled_part *part;
    const struct tiled_group *group;
    struct path_calls calls;
};

static void begin_piece(struct worked *c, int piece)
{
    c->calls.version = c->part->first + piece;
    build_block(c->g->pipeline, c->calls.version);
}

/* It leaves, and a later one comes in its place; with the next tile's first one all its other rows do. */
static void end_piece(struct worked *c)
{
    const struct tiled *g = c->g;
    const int ahead = c->calls.version + g->stages, next = ahead / g->pieces;
    tiled_store(g, true, c->calls.version);
    tiled_copy(g, true, ahead % g->pieces, next);
    if (g->stages > 1 && ahead % g->pieces == 0)
        tiled_copy(g, false, 0, next);
    build_end(g->pipeline);
}

/* Zeros in the lane's rows of outputs, to which groups add: of a part of the stream (NULL: of all others). */
static void clear(const struct tiled *g, const struct tiled_part *part)
{
    for (int i = 0; i < demand_arrays(g->demand); i++) {
        const struct operand *q = demand_array(g->demand, i);
        if (!q || !q->output || !q->dim || q->index != INDEX_ITEM || (q->slot == g->stream) != (part != NULL))
            continue;
        const struct argument to = build_at(g->place[i], part ? part->first : 0, (struct address){0});
        build_call(
            g->pipeline, "cgtp_clear_lane",
            (int[]){part ? part->elements : (int)q->dim, g->pipeline->place[g->place[i]].field->lane, 0}, 1,
            &to);
    }
}

/* All that a group does for its channels of B from u on: along z, for those of each piece. */
static void channels(struct worked *c)
{
    const struct path_calls first = calls_path(&c->calls, 0);
    const bool along_z = c->g->stream == SLOT_G && c->group->once;
    const int pieces = along_z ? c->part->pieces : 1, m = first.e->path->mul_z / pieces;
    for (int i = 0; i < c->group->paths; i++) {
        const struct path_calls q = calls_path(&c->calls, i);
        calls_tensors(&q);
    }
    for (int i = 0; along_z && i < pieces; i++) {
        begin_piece(c, i);
        calls_turns(&c->calls, true, i * m, m);
        end_piece(c);
    }
    if (!along_z && tiled_turns(first.v))
        calls_turns(&c->calls, calls_turns_b(&first) == 1, 0, m);
    for (int i = 0; i < c->group->paths; i++) {
        const struct path_calls q = calls_path(&c->calls, i);
        calls_product(&q);
    }
}

/* Turns over its channels of B; along x, over those of each piece. */
static void turns_b(struct worked *c)
{
    const struct path_calls first = calls_path(&c->calls, 0);
    const int less = first.e->pairs; /* of a < b */
    const bool along_x = c->g->stream == SLOT_X && c->group->once;
    const int pieces = along_x ? c->part->pieces : 1, n = (path_channels_b(first.e) - less) / pieces;
    for (int i = 0; i < pieces; i++) {
        if (along_x)
            begin_piece(c, i);
        if (calls_turns_b(&first) > 1)
            calls_loop(&first, (struct loop){.name = "u",
                                             .first = i * n,
                                             .end = (i + 1) * n,
                                             .by = c->group->together,
                                             .less = less ? "a" : NULL});
        else
            build_block(c->g->pipeline, -1);
        channels(c);
        build_end(c->g->pipeline);
        if (along_x)
            end_piece(c);
    }
}

static void work_on_group(struct worked *c)
{
    struct pipeline *p = c->g->pipeline;
    const struct plan *plan = c->g->demand->plan;
    const struct path_calls first = calls_path(&c->calls, 0);
    const int channels_a = path_channels_a(first.e), turn = c->group->turn;
    const bool goes_on = calls_turns_b(&first) > 1;
    const bool holds_z = tiled_turns(first.v) && first.e->path->mul_z == turn;
    for (int i = 0; i < c->group->paths; i++) {
        struct text words = {.arena = p->arena};
        source_path_line(&words, plan, &plan->problem->path[c->group->path[i]]);
        text_puts(&words, "; a C = form");
        build_step(p, STEP_NOTE)->note = text_string(&words);
    }
    if (channels_a > 1)
        calls_loop(&first, (struct loop){.name = "a", .end = channels_a - first.e->pairs, .by = 1});
    if (goes_on) {
        build_block(p, -1);
        calls_hold(&first, CALLS_BOTH, true, true);
        if (holds_z)
            calls_hold_z(&c->calls, turn, NULL, true);
    }
    turns_b(c);
    if (goes_on) {
        calls_hold(&first, CALLS_BOTH, true, false);
        if (holds_z)
            calls_hold_z(&c->calls, turn, NULL, false);
        build_end(p);
    }
    if (channels_a > 1)
        build_end(p);
}

static void work_on(struct tiled *g, const struct tiled_part *part)
{
    const struct segment *s = &slot_irreps(g->demand->plan->problem, g->stream)->segment[part->segment];
    struct worked c = {.g = g, .part = part};
    struct text words = {.arena = g->arena};
    text_printf(&words, "%s: %dx", g->stream == SLOT_X ? "x" : "z", s->mul);
    irrep_print(&words, s->ir);
    build_step(g->pipeline, STEP_NOTE)->note = text_string(&words);
    const bool once = part->groups == 1 && part->group[0].once;
    if (!once) {
        begin_piece(&c, 0);
        clear(g, part);
    }
    for (int i = 0; i < part->groups; i++) {
        const struct tiled_group *group = c.group = &part->group[i];
        c.calls = (struct path_calls){g->pipeline, g->demand,    g->place,    part->first,
                                      group->once, group->paths, group->path, group->together,
                                      group->turn, NULL,         NULL,        0};
        work_on_group(&c);
    }
    c.calls.version = part->first;
    if (!once)
        end_piece(&c);
}

void tiled_steps(struct tiled *g)
{
    struct pipeline *p = g->pipeline;
    int sums = -1;
    build_step(p, STEP_FILL)->loop = g->tile;
    for (int i = 0; i < p->places; i++) {
        if (p->place[i].how == HOW_LOAD && p->place[i].fields)
            build_copy(p, i, 0, 0);
        sums = p->place[i].summed ? i : sums;
    }
    if (sums >= 0)
        build_zero(p, sums);
    build_begin(p, g->tile);
    clear(g, NULL);
    for (int i = 0; i < g->parts; i++)
        work_on(g, &g->part[i]);
    tiled_store(g, false, 0);
    if (g->stages == 1)
        tiled_copy(g, false, 0, 1);
    build_end(p);
    for (int i = 0; i < p->places; i++)
        if (p->place[i].summed && p->place[i].fields)
            build_store(p, i, 0, 0);
}
