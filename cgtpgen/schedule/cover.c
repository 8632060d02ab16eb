/* cover.c - see cover.h.
 *
 * The outputs of a kernel are computed together, or apart: those that sum over rows of one index by
 * themselves, outputs of items riding along where they cost least, those of weights wherever that is
 * cheapest. For each such group of outputs every evaluation is asked what it would take and at what cost;
 * what it leaves goes to schedules that add. The cheapest wins, and what the others said is kept for the
 * report.
 */
#include "schedule/cover.h"
#include "schedule/check.h"
#include "util/answers.h"

#include <math.h>
#include <string.h>

struct cover {
    struct arena *arena;
    struct codes *codes;
    const struct target *target;
    const struct plan *plan;
    const struct kernel_plan *kernel;
    unsigned *beaten; /* as in the kernel's schedule, of all that is tried */
    int schedules, schedules_capacity;
    struct schedule *schedule;
    int verdicts, verdicts_capacity;
    struct verdict *verdict;
    double cost;
    bool whole; /* every output is computed */
};

/* Outputs that are computed together. */
struct outputs {
    int n, *output;
};

static void add_schedule(struct cover *c, const struct schedule *s)
{
    c->schedule =
        arena_grow(c->arena, c->schedule, c->schedules, &c->schedules_capacity, sizeof *c->schedule);
    c->schedule[c->schedules++] = *s;
    c->cost += s->cost;
}

static void add_verdict(struct cover *c, const struct verdict *v)
{
    c->verdict = arena_grow(c->arena, c->verdict, c->verdicts, &c->verdicts_capacity, sizeof *c->verdict);
    c->verdict[c->verdicts++] = *v;
}

/* ---- outputs apart ---- */

static double flops_of(const struct cover *c, const struct outputs *q, const bool *takes)
{
    return demand_flops(demand_build(c->codes, c->plan, c->kernel, q->n, q->output, takes));
}

/* Those of the outputs whose rows are of one of the two indices. */
static struct outputs outputs_of(const struct cover *c, const struct outputs *all, enum index_kind first,
                                 enum index_kind second)
{
    const enum index_kind *index = c->plan->problem->spec->index;
    struct outputs some = {0, NEW_ARRAY(c->arena, int, all->n + 1)};
    for (int o = 0; o < all->n; o++) {
        enum index_kind mine = index[c->kernel->form->output[all->output[o]].slot];
        if (mine == first || mine == second)
            some.output[some.n++] = all->output[o];
    }
    return some;
}

/* The outputs that sum over rows of one index, of each index; of one owner without sums where there is none.
 * Outputs of items are where they add the fewest flops. Returns the number of groups. */
static int outputs_apart(const struct cover *c, const struct outputs *all, const bool *takes,
                         struct outputs group[INDEX_COUNT])
{
    static const enum index_kind owners[] = {INDEX_RECEIVER, INDEX_SENDER, INDEX_SHARED};
    struct outputs items = outputs_of(c, all, INDEX_ITEM, INDEX_ITEM), both[INDEX_COUNT];
    int groups = 0, host = 0;
    for (int w = 0; w < 3; w++) {
        group[groups] = outputs_of(c, all, owners[w], owners[w]);
        both[groups] = outputs_of(c, all, owners[w], INDEX_ITEM);
        groups += group[groups].n > 0;
    }
    if (groups == 0) {
        group[0] = items;
        return items.n > 0;
    }
    if (items.n == 0)
        return groups;
    double least = 0;
    for (int g = 0; g < groups && groups > 1; g++) {
        double more = flops_of(c, &both[g], takes) - flops_of(c, &group[g], takes);
        if (g == 0 || more < least) {
            host = g;
            least = more;
        }
    }
    group[host] = both[host];
    return groups;
}

/* Outputs of slot z, and others. Returns whether there are both. */
static bool outputs_by_slot(const struct cover *c, const struct outputs *all, struct outputs group[2])
{
    for (int g = 0; g < 2; g++)
        group[g] = (struct outputs){0, NEW_ARRAY(c->arena, int, all->n + 1)};
    for (int o = 0; o < all->n; o++) {
        struct outputs *mine = &group[c->kernel->form->output[all->output[o]].slot != SLOT_G];
        mine->output[mine->n++] = all->output[o];
    }
    return group[0].n && group[1].n;
}

/* The same groups, with outputs of weights in group `to` instead; returns whether any move. */
static bool move_weights(const struct cover *c, int groups, const struct outputs *from, int to,
                         struct outputs group[INDEX_COUNT])
{
    bool moves = false;
    for (int g = 0; g < groups; g++)
        group[g] = (struct outputs){0, NEW_ARRAY(c->arena, int, c->kernel->form->outputs + 1)};
    for (int o = 0; o < c->kernel->form->outputs; o++)
        for (int g = 0; g < groups; g++)
            for (int i = 0; i < from[g].n; i++) {
                const bool weights = c->kernel->form->output[o].slot == SLOT_W;
                struct outputs *q = &group[weights ? to : g];
                if (from[g].output[i] != o)
                    continue;
                moves |= weights && g != to;
                q->output[q->n++] = o;
            }
    return moves;
}

/* ---- one group of outputs ---- */

/* What an evaluation takes of a demand: takes, rest: [paths]; why not: verdict. Returns whether it takes any.
 */
static bool ask(const struct cover *c, const struct evaluation *e, const struct demand *d, struct verdict *v,
                bool *takes, bool *rest, bool *leaves)
{
    int paths = c->plan->problem->paths, taken = 0, wanted = 0;
    *leaves = false;
    v->why = e->refuses(c->target, d);
    if (v->why)
        return false;
    v->path = NEW_ARRAY(c->arena, const char *, paths + 1);
    for (int p = 0; p < paths; p++) {
        bool effect = d->variant_of[p] >= 0;
        v->path[p] = effect ? e->refuses_path(c->target, d, &c->plan->problem->path[p]) : "without effect";
        takes[p] = effect && !v->path[p];
        rest[p] = !takes[p];
        taken += takes[p];
        wanted += effect;
        *leaves |= effect && !takes[p];
    }
    if (taken == 0 && wanted > 0)
        v->why = "no path for it";
    else if (taken == 0 && !e->writes_all_weights)
        v->why = "no path has an effect";
    return v->why == NULL;
}

/* Has the demand a block of weights that the evaluation does not write? */
static bool leaves_blocks(const struct cover *c, const struct evaluation *e, const struct demand *d)
{
    for (int o = 0; o < d->outputs && !e->writes_all_weights; o++)
        for (int p = 0; p < c->plan->problem->paths; p++)
            if (leaves_weights(demand_output(d, o), d, &c->plan->problem->path[p]))
                return true;
    return false;
}

/* The demand of an evaluation that reads and writes rows so; NULL: there are none such. */
static const struct demand *stored_demand(const struct cover *c, struct row_access access,
                                          const struct outputs *q)
{
    const struct kernel_plan *k = access.stored ? kernel_stored(c->arena, c->plan, c->kernel, access) : NULL;
    return k ? demand_build(c->codes, c->plan, k, q->n, q->output, NULL) : NULL;
}

/* Has the output anything of the paths `rest`, or a block of weights that `first` does not write? */
static bool has_rest(const struct cover *c, int output, const struct demand *first, const bool *rest)
{
    const struct outputs one = {1, &output};
    bool any = flops_of(c, &one, rest) > 0;
    for (int p = 0; p < c->plan->problem->paths; p++)
        any |= leaves_weights(&c->kernel->form->output[output], first, &c->plan->problem->path[p]);
    return any;
}

/* The last evaluation adds the paths `rest` to the outputs that `first` has written. */
static void add_rest(struct cover *c, const struct schedule *first, const struct outputs *written,
                     const bool *rest)
{
    struct outputs group[INDEX_COUNT], all = {0, NEW_ARRAY(c->arena, int, written->n + 1)};
    for (int o = 0; o < written->n; o++)
        if (has_rest(c, written->output[o], first->demand, rest))
            all.output[all.n++] = written->output[o];
    int groups = outputs_apart(c, &all, rest, group);
    const struct evaluation *const *last = c->target->evaluations;
    while (last[1])
        last++;
    for (int g = 0; g < groups; g++) {
        struct schedule s = {.evaluation = *last, .target = c->target, .before = first->demand};
        s.demand = demand_build(c->codes, c->plan, c->kernel, group[g].n, group[g].output, rest);
        (*last)->plan(c->arena, &s);
        add_schedule(c, &s);
    }
}

/* The cover that begins with evaluation e, which reads and writes rows so; .whole: there is one, and it may
 * cost less than `most`. */
static struct cover begin_so(const struct cover *base, const struct evaluation *e, struct row_access access,
                             const struct outputs *q, const struct demand *d, double most, struct verdict *v)
{
    struct cover c = {.arena = base->arena,
                      .codes = base->codes,
                      .target = base->target,
                      .plan = base->plan,
                      .kernel = base->kernel,
                      .beaten = base->beaten};
    int paths = c.plan->problem->paths;
    bool *takes = NEW_ARRAY(c.arena, bool, paths + 1), *rest = NEW_ARRAY(c.arena, bool, paths + 1), leaves;
    *v = (struct verdict){.evaluation = e, .outputs = q->n, .output = q->output};
    const struct demand *stored = stored_demand(&c, access, q);
    if (stored && ask(&c, e, stored, v, takes, rest, &leaves) && !leaves && !leaves_blocks(&c, e, stored))
        d = stored; /* nothing is added to what it writes */
    else if (!ask(&c, e, d, v, takes, rest, &leaves))
        return c;
    struct schedule s = {.evaluation = e, .target = c.target, .demand = d};
    if (!leaves && e->least && e->least(d) >= most) {
        v->dearer = arena_copy(c.arena, &s, sizeof s);
        return c;
    }
    if (leaves)
        s.demand = demand_build(c.codes, c.plan, c.kernel, q->n, q->output, takes);
    v->why = e->plan(c.arena, &s);
    if (v->why)
        return c;
    add_schedule(&c, &s);
    if (leaves || leaves_blocks(&c, e, s.demand))
        add_rest(&c, &s, q, rest);
    c.whole = true;
    return c;
}

/* The same with as many rows written as they are stored as its plan allows. */
static struct cover begin_with(const struct cover *base, const struct evaluation *e, const struct outputs *q,
                               const struct demand *d, double most, struct verdict *v)
{
    struct row_access access = e->access;
    struct cover c = begin_so(base, e, access, q, d, most, v);
    access.written = 0;
    const bool again = v->why && e->access.written && stored_demand(base, e->access, q);
    return again ? begin_so(base, e, access, q, d, most, v) : c;
}

/* The number of the evaluation that is to compute the kernel, by its knob; -1: any. */
static int evaluation_asked(const struct cover *c)
{
    const struct spec_knob *asked = knob_of(c->plan, c->target, c->kernel, KNOB_EVALUATION);
    for (int i = 0; asked && c->target->evaluations[i]; i++)
        if (strcmp(c->target->evaluations[i]->name, asked->word) == 0)
            return i;
    return -1;
}

/* The cheapest cover of outputs that are computed together; one that begins with the evaluation that is asked
 * for, if there is one. .whole: there is a cover. */
static struct cover cover_outputs(const struct cover *base, const struct outputs *q)
{
    const struct demand *d = demand_build(base->codes, base->plan, base->kernel, q->n, q->output, NULL);
    struct cover best = *base;
    int n = 0, winner = -1, asked = evaluation_asked(base);
    while (base->target->evaluations[n])
        n++;
    struct verdict *verdict = NEW_ARRAY(base->arena, struct verdict, n);
    double *cost = NEW_ARRAY(base->arena, double, n);
    for (int turn = 0; turn < n; turn++) { /* first the one that is asked for */
        int i = asked < 0 || turn > asked ? turn : turn == 0 ? asked : turn - 1;
        if (asked >= 0 && winner == asked) {
            verdict[i] = (struct verdict){.evaluation = base->target->evaluations[i],
                                          .outputs = q->n,
                                          .output = q->output,
                                          .why = "another is asked for"};
            continue;
        }
        double most = winner < 0 ? HUGE_VAL : best.cost;
        struct cover c = begin_with(base, base->target->evaluations[i], q, d, most, &verdict[i]);
        cost[i] = c.cost;
        if (c.whole && (winner < 0 || c.cost < best.cost)) {
            best = c;
            winner = i;
        }
    }
    for (int i = 0; i < n; i++) {
        verdict[i].cost = best.cost;
        if (i != winner && (asked >= 0 || verdict[i].dearer || !verdict[i].why))
            *base->beaten |= 1u << i;
        if (i != winner && !verdict[i].why && !verdict[i].dearer)
            verdict[i].why = arena_printf(base->arena, "would cost %.0f, not %.0f", cost[i], best.cost);
        add_verdict(&best, &verdict[i]);
    }
    return best;
}

/* ---- a kernel ---- */

static struct cover cover_apart(const struct cover *base, int groups, const struct outputs *group)
{
    struct cover c = *base;
    c.whole = true;
    for (int g = 0; g < groups; g++) {
        struct cover one = cover_outputs(base, &group[g]);
        c.whole &= one.whole;
        for (int s = 0; s < one.schedules; s++)
            add_schedule(&c, &one.schedule[s]);
        for (int v = 0; v < one.verdicts; v++)
            add_verdict(&c, &one.verdict[v]);
    }
    return c;
}

static bool has_long_code(const struct cover *c)
{
    bool has = false;
    for (int s = 0; s < c->schedules; s++)
        has |= c->schedule[s].long_code;
    return has;
}

/* Do several evaluations share an output's paths? */
static bool divides_paths(const struct cover *c)
{
    bool divides = false;
    for (int s = 0; s < c->schedules; s++)
        divides |= c->schedule[s].before != NULL;
    return divides;
}

/* Passes over the items, by the knob; 0: any. */
static int passes_asked(const struct cover *c)
{
    const struct spec_knob *asked = knob_of(c->plan, c->target, c->kernel, KNOB_PASSES);
    return asked ? asked->value : 0;
}

/* Would outputs apart tear lines of rows into half as many parts at most? On an H200 double backward then
 * takes 0.71 and 0.90 of the time (7 path sets and twice 3, 2 and twice 1); of nine whose passes have more
 * sets one takes 0.95, the others 1.02 to 1.66. */
static bool tears_less(const struct cover *apart, const struct cover *together)
{
    bool less = apart->whole;
    for (int s = 0; s < apart->schedules; s++)
        less &= apart->schedule[s].sets > 0 && together->schedules == 1 && together->schedule[0].torn &&
                2 * apart->schedule[s].sets <= together->schedule[0].sets;
    return less;
}

/* Of a kernel of long code outputs of slot z by themselves, if there is such a cover. Where another
 * evaluation adds paths, each of both kernels would have it do so again. */
static void try_slots(const struct cover *base, const struct outputs *all, struct cover *best)
{
    struct outputs group[2];
    if (!has_long_code(best) || divides_paths(best) || passes_asked(base) ||
        !outputs_by_slot(base, all, group))
        return;
    struct cover other = cover_apart(base, 2, group);
    if (other.whole && !has_long_code(&other))
        *best = other;
}

/* Names of schedules: of their evaluation, and where several have the same, of whose rows they own, or that
 * they make z. */
static void name_schedules(struct cover *c)
{
    static const char *const owner[] = {"items", "senders", "receivers", "shared", "all"};
    for (int i = 0; i < c->schedules; i++) {
        struct schedule *s = &c->schedule[i];
        int same = 0, owners = 0;
        for (int j = 0; j < c->schedules; j++) {
            const bool mine = c->schedule[j].evaluation == s->evaluation;
            same += mine;
            owners += mine && demand_owner(c->schedule[j].demand) == demand_owner(s->demand);
        }
        const bool z = owners > 1 && demand_output(s->demand, 0)->slot == SLOT_G;
        s->name = same > 1 ? arena_printf(c->arena, "%s_%s", s->evaluation->name,
                                          z ? "z" : owner[demand_owner(s->demand)])
                           : s->evaluation->name;
    }
}

static void count(struct kernel_schedule *k)
{
    for (int s = 0; s < k->schedules; s++) {
        const struct operations *of = &k->schedule[s].operations;
        k->operations.fma += of->fma;
        k->operations.mul += of->mul;
        k->operations.add += of->add;
    }
}

static bool spills(struct arena *a, int schedules, struct schedule *schedule)
{
    bool any = false;
    for (int s = 0; s < schedules; s++) {
        if (schedule[s].evaluation->registers)
            schedule[s].evaluation->registers(a, &schedule[s]);
        any |= schedule[s].spills;
    }
    return any;
}

static struct kernel_schedule cover_kernel(struct codes *codes, const struct plan *plan,
                                           const struct target *target, const struct kernel_plan *kernel)
{
    struct arena *a = codes->arena;
    unsigned beaten = 0;
    struct cover base = {a, codes, target, plan, kernel, .beaten = &beaten};
    int n = kernel->form->outputs;
    struct outputs all = {n, NEW_ARRAY(a, int, n + 1)}, group[INDEX_COUNT];
    for (int o = 0; o < n; o++)
        all.output[o] = o;
    int groups = outputs_apart(&base, &all, NULL, group), passes = groups > 1 ? passes_asked(&base) : 0;
    struct cover best = cover_apart(&base, groups, group);
    for (int to = 0; to < groups && passes != 1;
         to++) { /* where products that give them are made for others */
        struct outputs moved[INDEX_COUNT];
        if (!move_weights(&base, groups, group, to, moved))
            continue;
        struct cover other = cover_apart(&base, groups, moved);
        if (other.whole && other.cost < best.cost)
            best = other;
    }
    if (groups > 1 && passes != 2) {
        struct cover together = cover_outputs(&base, &all);
        const bool longer = tears_less(&best, &together) || (has_long_code(&together) && best.whole);
        if (together.whole && (passes == 1 || (!longer && together.cost <= best.cost &&
                                               !spills(a, together.schedules, together.schedule))))
            best = together;
    }
    try_slots(&base, &all, &best);
    name_schedules(&best);
    struct kernel_schedule k = {.kernel = kernel,
                                .schedules = best.schedules,
                                .schedule = best.schedule,
                                .verdicts = best.verdicts,
                                .verdict = best.verdict,
                                .beaten = beaten};
    count(&k);
    return k;
}

bool schedules_spill(struct arena *a, struct schedules *all, int kernel)
{
    return spills(a, all->kernel[kernel].schedules, all->kernel[kernel].schedule);
}

void schedules_finish(struct arena *a, struct schedules *all, int kernel)
{
    struct kernel_schedule *k = &all->kernel[kernel];
    schedules_spill(a, all, kernel);
    for (int s = 0; s < k->schedules; s++)
        if (k->schedule[s].evaluation->finish)
            k->schedule[s].evaluation->finish(&k->schedule[s]);
}

struct schedules *schedules_build(struct arena *a, const struct plan *plan, const struct target *target)
{
    struct schedules *all = NEW(a, struct schedules);
    all->plan = plan;
    all->target = *target;
    struct codes *codes = NEW(a, struct codes);
    *codes = (struct codes){.arena = a};
    all->kernel = NEW_ARRAY(a, struct kernel_schedule, plan->kernels + 1);
    for (int k = 0; k < plan->kernels; k++) {
        unsigned asked = 0;
        all->target.asked = &asked;
        all->kernel[k] = cover_kernel(codes, plan, &all->target, &plan->kernel[k]);
        all->kernel[k].asked = asked;
        all->target.asked = NULL;
        answers_forget(plan->answers); /* of the kernel: a tuner's plans of it begin with none */
        schedules_finish(a, all, k);
    }
    return all;
}

struct schedules *schedules_with(struct arena *a, const struct schedules *before, int kernel, int knobs,
                                 const struct spec_knob *knob)
{
    const int kernels = before->plan->kernels;
    struct schedules *all = arena_copy(a, before, sizeof *before);
    struct codes *codes = NEW(a, struct codes);
    *codes = (struct codes){.arena = a};
    all->target.knobs = knobs;
    all->target.knob = knob;
    all->kernel = arena_copy(a, before->kernel, (size_t)kernels * sizeof *before->kernel);
    all->kernel[kernel] = cover_kernel(codes, before->plan, &all->target, &before->plan->kernel[kernel]);
    return all;
}
