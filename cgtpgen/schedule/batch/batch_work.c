/* batch_work.c - the pipelined batch: what paths take, counted. */
#include "pipeline/cost.h"
#include "schedule/batch/batch_plan.h"

enum {
    OWN_REGISTERS = 40, /* addresses, counters; with the next fitted to what ptxas reports */
    FORMS = 16,         /* forms and temporaries, of one operand A; half as many of each further one */
    TURN = 30,          /* instructions of a turn beside its paths */
    INSTRUCTION = 16,   /* bytes */
    CHUNK = 16          /* that a lane copies at a time, at most */
};

int batch_path_bytes(const struct batch *g, const struct path *q, bool new_z)
{
    const struct demand *d = g->demand;
    const int zs = demand_bytes_of(d, SLOT_G, false) + demand_bytes_of(d, SLOT_G, true);
    const int bytes = (q->weighted && !batch_shares(g) ? demand_bytes_of(d, SLOT_W, false) : 0) +
                      (new_z ? zs * (2 * q->l3 + 1) : 0);
    return BATCH_LANES * g->channels * bytes;
}

/* What a path's rows take more where lanes move less than 16 bytes at a time, by what rows are aligned to. */
static double short_copies(const struct batch *g, const struct path *q)
{
    const struct demand *d = g->demand;
    double more = 0;
    for (int i = 0; i < demand_arrays(d); i++) {
        const struct operand *o = demand_array(d, i);
        if (!o || o->slot == SLOT_Y || (o->slot == SLOT_W && !q->weighted) || o->index == INDEX_SHARED)
            continue;
        const double bytes = g->channels * operand_block_of(o, q)->components * operand_size(o);
        const int piece = g->aligned[o->slot] * operand_size(o);
        more += piece < CHUNK ? cost_copies(bytes, piece) - cost_copies(bytes, CHUNK) : 0;
    }
    return more;
}

int batch_path_work(const struct batch *g, const struct path *q)
{
    const struct demand *d = g->demand;
    const struct code *code = demand_code(d, q->number).product;
    return g->channels * code_instructions(code->channel) + code_instructions(code->item) +
           (2 * q->l1 + 1) * (demand_inputs_of(d, SLOT_X) + demand_outputs_of(d, SLOT_X)) +
           (2 * q->l2 + 1) * demand_inputs_of(d, SLOT_Y) +
           (2 * q->l3 + 1) * (demand_inputs_of(d, SLOT_G) + demand_outputs_of(d, SLOT_G)) +
           (int)short_copies(g, q) + 2 * (demand_inputs_of(d, SLOT_W) + demand_outputs_of(d, SLOT_W));
}

/* Of the path that needs most: with what is left of segments of x that paths read both up to it and from it
 * on. */
int batch_registers_held(struct arena *a, const struct batch *g)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    bool *begun = NEW_ARRAY(a, bool, p->x.n);
    int most = 0, components = 0;
    for (int i = 0; i < g->paths; i++) {
        const struct path *q = &p->path[g->order[i]];
        components += begun[q->x] ? 0 : 2 * q->l1 + 1;
        begun[q->x] = true;
        int x = (2 * q->l1 + 1) * demand_inputs_of(d, SLOT_X) + components * demand_outputs_of(d, SLOT_X);
        int z = (2 * q->l3 + 1) * (demand_inputs_of(d, SLOT_G) + demand_outputs_of(d, SLOT_G));
        int y = (2 * q->l2 + 1) * (demand_inputs_of(d, SLOT_Y) + demand_outputs_of(d, SLOT_Y));
        int all = g->channels * (x + z) + y;
        most = most > all ? most : all;
        components -= g->last[q->x] == i ? 2 * q->l1 + 1 : 0;
    }
    int sums = (int)p->dim[SLOT_Y] * demand_outputs_of(d, SLOT_Y);
    int ys = demand_inputs_of(d, SLOT_Y), forms = FORMS + (ys > 1 ? FORMS / 2 * (ys - 1) : 0);
    return kernel_size(d->kernel) / 4 * (sums + most + forms) + OWN_REGISTERS;
}

/* Has a lane no channels where rows of x have several components? Warps then wait for rows that bring less:
 * on an H200 16 + 8 + 4 channels to l = 2 in float64 took 1.28 and 1.34 of staged's time, 72 to l = 3 1.2, 70
 * to l = 4 in float64 1.17, 96 + 48 1.05 to 1.11; 34 scalars a third of tiled's. */
static bool idles(const struct batch *g)
{
    const struct problem *p = g->demand->plan->problem;
    bool all = true, scalars = true;
    for (int i = 0; i < g->paths; i++) {
        const struct path *q = &p->path[g->order[i]];
        all &= batch_is_whole(g, &g->part[batch_part(g, q->mul_x)]);
        scalars &= q->l1 == 0;
    }
    return !all && !scalars;
}

/* Bytes of what an item's rows have in memory: in several phases, which come at different times, each slice
 * of a row takes lines of which others have the rest; most where all that is stored is z. On an H200 five
 * phases of 32 to 2 channels took 2.0 of staged's time forward, 1.1 backward and 0.9 double backward, seven
 * to one channel 1.1, 0.6 and 0.3, two of 32 and 16 in float64 1.1. */
static double bytes_of_rows(const struct batch *g)
{
    enum { TORN = 64, TORN_FORWARD = 128 };
    const struct demand *d = g->demand;
    const int torn = g->phases == 1                                    ? 0
                     : d->outputs == 1 && demand_outputs_of(d, SLOT_G) ? TORN_FORWARD
                                                                       : TORN;
    double bytes = 0;
    for (int i = 0; i < demand_arrays(d); i++) {
        const struct operand *o = demand_array(d, i);
        if (!o || o->index == INDEX_SHARED)
            continue;
        bytes += operand_size(o) * (double)o->dim;
        for (int s = 0; s < g->sets && o->slot != SLOT_Y; s++)
            bytes += torn * batch_numbers(&g->set[s], o, &(const int *){NULL});
    }
    return bytes;
}

double batch_cost(const struct batch *g)
{
    const double idle = idles(g) ? 1.25 : 1;
    const struct demand *d = g->demand;
    const double per_sum = 69;
    double work = per_sum * demand_outputs_of(d, SLOT_Y) * g->phase[0].lanes / BATCH_LANES;
    for (int s = 0; s < g->sets; s++) {
        const struct batch_part *part = &g->part[g->set[s].part];
        const int side = BATCH_LANES / part->lanes;
        work += (double)(g->set[s].work + (side > 1 ? 2 * TURN : TURN)) * part->blocks / side;
    }
    for (int i = 1; i < g->phases; i++)
        work += per_sum * demand_outputs_of(d, SLOT_Y) * g->phase[i].lanes / BATCH_LANES;
    return idle * cost_overlap(work, bytes_of_rows(g) / COST_BYTES_AN_INSTRUCTION);
}

int64_t batch_loop_bytes(const struct batch *g, bool all)
{
    int64_t sum = 0, longest = 0;
    for (int i = 0; i < g->phases; i++) {
        int64_t own = 0;
        for (int s = g->phase[i].first; s < g->phase[i].first + g->phase[i].sets; s++)
            own += g->set[s].work + TURN;
        sum += own;
        longest = longest > own ? longest : own;
    }
    return (all ? sum : longest) * INSTRUCTION;
}
