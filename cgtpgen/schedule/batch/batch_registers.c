/* batch_registers.c - the pipelined batch: registers of a thread, counted from the code of its path sets. */
#include "schedule/batch/batch_plan.h"
#include "schedule/registers.h"

enum {
    /* Beside values: 7 of the channel block that is worked on and 7 of the one that is loaded (item, distance
     * to the next, block, rows), 6 of turns and ring, 6 of lane, policy and addresses. */
    STATE = 26,
    STATE_OF_SEVERAL = 18, /* addresses of several segments, and loads of the paths that follow */
    AGAIN = 8              /* of these, those that can be computed again for each use */
};

/* A path set: its slices of x are loaded as it begins, those of a segment of z before the first path into it.
 */
static void execute(struct registers *r, const struct batch *g, const struct batch_set *s)
{
    const struct path *path = g->demand->plan->problem->path;
    int begin = r->live.step, begin_z = begin;
    for (int i = 0; i < s->xs; i++)
        registers_renew(r, (struct register_rows){SLOT_X, false, s->x[i]});
    for (int i = 0; i < s->paths; i++)
        registers_renew(r, (struct register_rows){SLOT_Y, false, path[s->path[i]].y});
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &path[s->path[i]];
        const struct register_rows z_in = {SLOT_G, false, q->z}, z_out = {SLOT_G, true, q->z};
        if (i == 0 || path[s->path[i - 1]].z != q->z)
            begin_z = r->live.step;
        registers_path(r, &s->path[i], demand_code(g->demand, s->path[i]).product);
        if (i + 1 == s->paths || path[s->path[i + 1]].z != q->z) {
            r->live.step++;
            registers_since(r, z_in, begin_z);
            registers_until(r, z_out);
        }
    }
    r->live.step++;
    for (int i = 0; i < s->xs; i++)
        registers_since(r, (struct register_rows){SLOT_X, false, s->x[i]}, begin);
    for (int i = 0; i < s->ends; i++)
        registers_until(r, (struct register_rows){SLOT_X, true, s->end[i]});
}

/* A phase: sums of slot y stay over the channel blocks of an item. */
static void execute_phase(struct registers *r, const struct batch *g, const struct batch_phase *p)
{
    static const struct register_rows y_out = {SLOT_Y, true, -1};
    int begin = r->live.step;
    registers_renew(r, y_out);
    for (int i = 0; i < p->sets; i++)
        execute(r, g, &g->set[p->first + i]);
    r->live.step++;
    if (g->channel_blocks > 1)
        registers_since(r, y_out, begin);
    registers_until(r, y_out);
}

void batch_registers(struct arena *a, struct batch *g, int most)
{
    struct arena *scratch = arena_scratch(a);
    struct registers *r = registers_begin(scratch, g->demand, g->channels);
    for (int i = 0; i < g->phases; i++)
        execute_phase(r, g, &g->phase[i]);
    g->alive = live_most(&r->live);
    arena_empty(scratch);
    bool several = g->sets > 1 || g->set[0].paths > 1;
    int all = g->alive + STATE + (several ? STATE_OF_SEVERAL : 0);
    g->registers_least = all - (several ? 2 * AGAIN : AGAIN);
    g->registers = all < most ? all : most;
}
