/* conv_together.c - the pipelined convolution: paths that read the same segments of x and y, of which the
 * outer product is made first where that takes fewer instructions.
 */
#include "schedule/convolution/conv_plan.h"

#include <string.h>

enum {
    OF_EDGE = 200 /* instructions of a loop that are no path's */
};

/* Of how many of the instructions there are to be left, where sums of a receiver are all that is computed by
 * lanes of one channel: less is not worth that each sum is a chain of its own (on an H200: of table 5's
 * forward at lmax 3 0.90 are left, which take 1.08 times as long; of lmax 4's 0.78, in 0.78 of the time). */
#define WORTH 0.85

/* The same in float64, whose instructions take longer than those chains: anything is worth it (of table 5's
 * forward at lmax 3 and of benzene's 0.90 are left, in 0.93 to 1.00 of the time; of lmax 4's 0.78, in 0.81);
 * with gradients (of the same backward 0.92, in 0.92 to 1.02; of lmax 4's 0.80, in 0.96 and 1.04); with both,
 * as what is held meanwhile takes two registers (of double backward 0.95, in 0.99 to 1.17; of lmax 4's 0.84,
 * in 1.20). */
#define WORTH_DOUBLE 0.94
#define WORTH_DOUBLE_BOTH 0.75

/* And in backward whose gradients of x go through a buffer of edges: memory has more to do, and less is
 * gained (of benzene's and SevenNet-l3i5's backward 0.96 are left, in 1.06 and 1.01 of the time on carbon,
 * 0.97 and 1.00 on covid; of table 5's at lmax 3 0.92 and lmax 4 0.80, in 0.96 and 0.87). Not in 16 bits
 * (0.94). */
#define WORTH_EDGES 0.94

/* The same of reads of registers, where these decide (in float32 benzene's forward takes 0.96 of the time,
 * and SevenNet-l3i5's, with 1.02 times the instructions; table 5's at lmax 3, of one channel a lane, 1.09;
 * double backward of these 0.98, of nequip-lips, which saves 3 %, 1.01). */
#define WORTH_READS 0.95

/* Instructions of a path's code for the channels of a lane. */
static int instructions_of(const struct code *c, int channels)
{
    return code_instructions(c->channel) * channels + code_instructions(c->item);
}

/* Cycles in which the instructions of a path's code for the channels of a lane read their registers, each
 * bank one in a cycle: multiply-adds read three, of two banks, and products two, but for those with constants
 * (counted in what ptxas makes of loops of MACE, NequIP and SevenNet; with gradients fewer follow one that
 * shares a factor). */
static double reads_of(const struct code *c, int channels, bool flows)
{
    const double of_three = flows ? 1.8 : 1.43, of_two = flows ? 1.4 : 1;
    double reads = 0;
    for (int i = 0; i < c->nodes; i++) {
        const struct code_node *n = &c->node[i];
        if (!n->uses || n->op == CODE_LOAD || n->op == CODE_CONSTANT)
            continue;
        const bool constant = n->op == CODE_ADD || c->node[code_number(n->a)].op == CODE_CONSTANT ||
                              c->node[code_number(n->b)].op == CODE_CONSTANT;
        reads += (constant ? 1 : n->op == CODE_FMA ? of_three : of_two) * (n->item ? 1 : channels);
    }
    return reads;
}

/* Do recipes of the variants differ at most in what a scale is applied to? */
static bool same_terms(const struct variant *v, const struct variant *w)
{
    return v->a == w->a && v->g == w->g && v->elementwise == w->elementwise &&
           v->contracted == w->contracted && v->weighted == w->weighted && v->strided == w->strided &&
           v->weight_strided == w->weight_strided;
}

/* May the path be computed together with another? Both into segments of z of their own, of different l. */
static bool may_join(const struct convolution *g, int path, int with)
{
    const struct demand *d = g->demand;
    const struct path *p = &d->plan->problem->path[path], *q = &d->plan->problem->path[with];
    return d->variant_of[path] >= 0 && d->variant_of[with] >= 0 && !g->shares_z[path] && !g->shares_z[with] &&
           same_terms(&d->variant[d->variant_of[path]], &d->variant[d->variant_of[with]]) && p->x == q->x &&
           p->y == q->y && p->l3 != q->l3;
}

bool conv_has_shorts(const struct convolution *g)
{
    bool shorts = false;
    for (int i = 0; i < g->demand->kernel->form->inputs; i++)
        shorts |= operand_size(kernel_input(g->demand->kernel, i)) == 2;
    return shorts;
}

/* Does something flow back to x or y? */
static bool flows_back(const struct convolution *g)
{
    return g->a_outputs || g->b_outputs;
}

/* Do gradients of x leave by a buffer of edges, and nothing else is summed? */
static bool leaves_edges(const struct convolution *g)
{
    return g->edge_buffer && !g->g_outputs && !conv_has_shorts(g);
}

/* What decides: registers' reads where loops wait for these. A kernel that only sums at receivers does so
 * with lanes of two channels, which have two chains of each sum, or rows of 16 bits; one with gradients does
 * unless memory has more to do for them. Otherwise instructions. */
static bool reads_decide(const struct convolution *g, int channels)
{
    return kernel_size(g->demand->kernel) == 4 &&
           (flows_back(g) ? !conv_has_shorts(g) && !leaves_edges(g) : channels > 1 || conv_has_shorts(g));
}

static double cost_of(const struct convolution *g, const struct code *c, int channels)
{
    return reads_decide(g, channels) ? reads_of(c, channels, flows_back(g)) : instructions_of(c, channels);
}

/* Joins n paths, if that takes fewer instructions or all are to be; halves of them, if together they are too
 * long for a loop: where x and y have one l, rows of even and of odd l have no sums in common. */
static void join(struct arena *a, struct convolution *g, int n, const int *path, const struct conv_choice *c,
                 int channels, bool all)
{
    const struct path *at = g->demand->plan->problem->path;
    if (n < 2)
        return;
    const struct code *code = demand_code_outer(g->demand, path, n);
    double apart = 0;
    int most = (c->code ? c->code << 10 : g->device->loop_bytes) / INSTRUCTION - OF_EDGE;
    for (int i = 0; i < n; i++)
        apart += cost_of(g, g->code[path[i]], channels);
    if (instructions_of(code, channels) > most) {
        int *half[2] = {NEW_ARRAY(a, int, n), NEW_ARRAY(a, int, n)}, in[2] = {0, 0};
        for (int i = 0; i < n; i++) {
            int which = at[path[i]].l1 == at[path[i]].l2 ? at[path[i]].l3 % 2 : i >= (n + 1) / 2;
            half[which][in[which]++] = path[i];
        }
        if (in[0] && in[1]) {
            join(a, g, in[0], half[0], c, channels, all);
            join(a, g, in[1], half[1], c, channels, all);
            return;
        }
    }
    if (cost_of(g, code, channels) >= apart && !all)
        return;
    for (int i = 0; i < n; i++) {
        g->first[path[i]] = path[0];
        g->code[path[i]] = code;
        g->matrix[path[i]] = code->matrix[i];
    }
}

/* What all paths' codes cost. */
static double all_costs(const struct convolution *g, int channels)
{
    const struct problem *p = g->demand->plan->problem;
    double all = 0;
    for (int i = 0; i < p->paths; i++)
        if (g->demand->variant_of[i] >= 0 && g->first[i] == i)
            all += cost_of(g, g->code[i], channels);
    return all;
}

static void join_groups(struct arena *a, struct convolution *g, const struct conv_choice *c, int channels,
                        bool all)
{
    const struct plan *plan = g->demand->plan;
    for (int x = 0; x < plan->groups; x++) {
        const struct path_group *of_x = &plan->group[x];
        for (int i = 0, n; i < of_x->paths; i += n) {
            bool joins = true;
            for (n = 1; joins && i + n < of_x->paths; n += joins)
                for (int k = 0; k < n; k++)
                    joins &= may_join(g, of_x->path[i + k], of_x->path[i + n]);
            join(a, g, n, of_x->path + i, c, channels, all);
        }
    }
}

void conv_take_codes(struct convolution *g, int channels)
{
    const struct conv_codes *codes = &g->codes[channels < 4 ? channels / 2 : CODE_CHOICES - 1];
    g->matrix = codes->matrix;
    g->code = codes->code;
    g->first = codes->first;
}

/* What is to be left of all costs. */
static double worth(const struct convolution *g, int channels)
{
    if (kernel_size(g->demand->kernel) > 4)
        return !flows_back(g) ? 1 : g->g_outputs ? WORTH_DOUBLE_BOTH : WORTH_DOUBLE;
    return leaves_edges(g)             ? WORTH_EDGES
           : reads_decide(g, channels) ? WORTH_READS
           : flows_back(g)             ? 1
                                       : WORTH;
}

/* Are all paths of one x and y joined where some are? Where sums at receivers are all that is computed, by
 * lanes of several channels or from 16 bits, those that cost more by themselves cost less than they save: of
 * SevenNet-l3i5's forward 0.91 to 0.96 of the time is left in bfloat16, 0.92 to 1.00 in float64. In float32
 * it makes no difference (0.96 to 1.02). */
static bool joins_all(const struct convolution *g, int channels)
{
    return !flows_back(g) && (conv_has_shorts(g) || (channels > 1 && kernel_size(g->demand->kernel) > 4));
}

static struct conv_codes copied(struct arena *a, const struct convolution *g, const struct conv_codes *of)
{
    const size_t n = (size_t)g->demand->plan->problem->paths + 1;
    return (struct conv_codes){arena_copy(a, of->matrix, n * sizeof *of->matrix),
                               arena_copy(a, of->code, n * sizeof *of->code),
                               arena_copy(a, of->first, n * sizeof *of->first)};
}

static void find_together(struct arena *a, struct convolution *g, const struct conv_choice *c)
{
    const struct conv_codes now = {g->matrix, g->code, g->first}, alone = copied(a, g, &now);
    for (int choice = 0; choice < CODE_CHOICES; choice++) {
        const int channels = 1 << choice;
        g->codes[choice] = copied(a, g, &alone);
        conv_take_codes(g, channels);
        const double apart = all_costs(g, channels);
        if (c->together != 1)
            join_groups(a, g, c, channels, c->together == 2);
        const bool joined = c->together == 2 || all_costs(g, channels) < worth(g, channels) * apart;
        if (!joined)
            g->codes[choice] = alone;
        else if (c->together != 1 && joins_all(g, channels))
            join_groups(a, g, c, channels, true);
    }
}

static bool same_codes(const struct convolution *g, const struct conv_codes *p, const struct conv_codes *q)
{
    const size_t n = (size_t)g->demand->plan->problem->paths + 1;
    return memcmp(p->code, q->code, n * sizeof *p->code) == 0;
}

void conv_find_together(struct arena *a, struct convolution *g, const struct conv_choice *c)
{
    struct answers *known = g->demand->plan->answers;
    conv_ask(g, c);
    struct conv_codes before = {g->matrix, g->code, g->first}, *codes = answers_find(known);
    if (!codes) {
        find_together(known->arena, g, c);
        codes = arena_copy(known->arena, g->codes, sizeof g->codes);
        answers_add(known, codes);
    }
    for (int choice = 0; choice < CODE_CHOICES; choice++) { /* answers may go before the plan does */
        if (!same_codes(g, &before, &codes[choice]))
            before = copied(a, g, &codes[choice]);
        g->codes[choice] = before;
    }
    conv_take_codes(g, 1);
}
