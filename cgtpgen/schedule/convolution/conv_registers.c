/* conv_registers.c - the pipelined convolution: registers of a thread, counted from the code of a path set.
 */
#include "schedule/convolution/conv_plan.h"
#include "schedule/registers.h"

enum {
    /* Beside values: 10 of the tile (lane, channel block, number, memory of the warp, queue and place in the
     * block of 2, row of partial sums of 2), 9 of the edges (first of 2, count, done, end, node, senders of
     * 3), 3 of the ring, 4 of policies for L2. */
    STATE_LEAST = 26,
    STATE_OF_ORDER = 3, /* rows of items, which are not those of edges: as senders */
    STATE_OF_SETS =
        16, /* where a block goes from set to set and its warps sum: set, whether it helps, its order, warp,
             * the group's barrier, queue, broadcast and sums, for this set and the next */
    ADDRESS = 2, /* where the rows of a tile's edges begin, in an array */
    GAPS = 12,   /* that ptxas leaves: such addresses are held only where there is room for these, too */
    STATE = STATE_LEAST + 18, /* and addresses, computed ahead: 6 of outputs of the edge, 12 of copies */
    STATE_OF_ROWS = STATE_LEAST + 2 /* and the address of a receiver's row */
};

/* Words that are alive at once while the paths of an edge are computed. */
static int alive(struct arena *a, const struct convolution *g, const struct path_set *s)
{
    static const struct register_rows all[] = {{SLOT_X, false, -1}, {SLOT_Y, false, -1}, {SLOT_G, false, -1},
                                               {SLOT_X, true, -1},  {SLOT_Y, true, -1},  {SLOT_G, true, -1}};
    enum { X_IN, Y_IN, Z_IN, X_OUT, Y_OUT, Z_OUT };
    const struct path *path = g->demand->plan->problem->path;
    struct registers *r = registers_begin_shared(a, g->demand, s->lanes * s->channel_blocks);
    for (int i = 0; i < s->zs; i++)
        for (int output = g->keeps_z; output < 2; output++)
            registers_touch(r, (struct register_rows){SLOT_G, output, path[s->z[i]].z});
    for (int i = 0; i < s->paths; i++) {
        if (g->keeps_z)
            registers_renew(r, (struct register_rows){SLOT_G, false, path[s->path[i]].z});
        if (g->first[s->path[i]] == s->path[i])
            registers_path(r, &s->path[i], g->code[s->path[i]]);
    }
    r->live.step++;
    registers_since(r, all[X_IN], 0);
    registers_since(r, all[Y_IN], 0);
    for (int i = g->keeps_z ? X_OUT : Z_IN; i <= Z_OUT; i++)
        registers_until(r, all[i]);
    return live_most(&r->live);
}

/* Addresses at which the rows of a tile's edges begin: of segments of x that have several channel blocks one
 * for each length. */
static int arrays(const struct convolution *g, const struct path_set *s)
{
    const struct demand *d = g->demand;
    int lengths = 1;
    for (int i = 1; i < s->xs && s->channel_blocks > 1; i++) {
        bool again = false;
        for (int j = 0; j < i; j++)
            again |= d->plan->problem->x.segment[s->x[i]].ir.l == d->plan->problem->x.segment[s->x[j]].ir.l;
        lengths += !again;
    }
    return demand_inputs_of(d, SLOT_X) * lengths + demand_inputs_of(d, SLOT_Y) + demand_inputs_of(d, SLOT_W) +
           demand_outputs_of(d, SLOT_W);
}

void conv_registers(struct arena *a, const struct convolution *g, struct path_set *s, int most)
{
    struct arena *scratch = arena_scratch(a);
    int words = kernel_size(g->demand->kernel) / 4;
    s->alive = alive(scratch, g, s) + (g->wide ? 2 * s->g_length : g->carries ? s->g_length * words : 0);
    arena_empty(scratch);
    int more = (g->sets > 1 && g->reduces ? STATE_OF_SETS : 0) + (g->orders ? STATE_OF_ORDER : 0) +
               (g->carries && s->g_length ? CARRY_REGISTERS * words * (s->channels - 1) : 0);
    int rows_kept = ADDRESS * arrays(g, s);
    s->keeps_rows = s->alive + STATE_LEAST + more + rows_kept + GAPS <= most;
    more += s->keeps_rows ? rows_kept : 0;
    s->registers_least = s->alive + STATE_LEAST + more;
    /* ptxas takes more where there is more: for loads ahead of their use, and gaps between aligned groups */
    int edge = s->alive + s->alive / 6 + STATE + more;
    /* and it loads all of a partial row before it adds any of it; part of it, where beside sums there are
     * rests */
    int rows = (2 * s->g_length + (g->carries ? LANES : 0)) * words + STATE_OF_ROWS;
    int all = edge > rows ? edge : rows;
    s->registers = all < most ? all : most;
}
