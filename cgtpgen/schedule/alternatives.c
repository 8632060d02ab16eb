/* alternatives.c - see alternatives.h.
 *
 * Each knob that the device has gets some values, the words of `evaluation` too; then knobs that trade the
 * same registers, shared memory or code get values together, of those that were worth something alone. A plan
 * is dropped that is there already, that spills where the planner's own does not, or costs much more. Plans
 * are large and their number is not: each is forgotten once it is judged. Knobs that a planner does not ask
 * for change nothing, so that what differs by such alone from what was tried is that, and is not planned.
 */
#include "schedule/alternatives.h"
#include "schedule/cover.h"
#include "schedule/print.h"
#include "util/hash.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES = 6, FOUND_MOST = 512 };

/* A plan that costs more than this many times the planner's own is not tried. */
static const double cost_most = 2;

/* Values to try. Not those of `table`, which changes how long sources take to compile, and hardly a kernel.
 */
static const struct {
    enum knob knob;
    int value[VALUES]; /* 0: no more */
} trial_table[] = {
    {KNOB_CHANNELS, {1, 2, 4}},
    {KNOB_STAGES, {2, 3, 4, 6}},
    {KNOB_WARPS, {8, 12, 16}},
    {KNOB_PATHS, {1, 2, 3, 4, 6, 8}},
    {KNOB_PASSES, {1, 2}},
    {KNOB_PHASES, {1, 2, 3, 4, 5, 6}},
    {KNOB_PARTS, {1, 2, 3, 4, 5, 6}},
    {KNOB_CODE, {8, 12, 16, 24, 32, 48}},
    {KNOB_SHARE, {1, 2, 3}},
    {KNOB_TOGETHER, {1, 2}},
    {KNOB_KEEP, {1, 2}},
};
enum { TRIALS = sizeof trial_table / sizeof *trial_table };

/* Knobs that are tried together. */
static const enum knob pair_table[][2] = {
    {KNOB_CHANNELS, KNOB_WARPS},   {KNOB_STAGES, KNOB_WARPS},      {KNOB_WARPS, KNOB_PATHS},
    {KNOB_WARPS, KNOB_PASSES},     {KNOB_WARPS, KNOB_PHASES},      {KNOB_CHANNELS, KNOB_PHASES},
    {KNOB_PATHS, KNOB_PASSES},     {KNOB_STAGES, KNOB_PARTS},      {KNOB_CODE, KNOB_SHARE},
    {KNOB_WARPS, KNOB_EVALUATION}, {KNOB_STAGES, KNOB_EVALUATION}, {KNOB_WARPS, KNOB_KEEP},
    {KNOB_PASSES, KNOB_KEEP},
};
enum { PAIRS = sizeof pair_table / sizeof *pair_table };

/* Knobs that were tried, and what became of them; first those of the planner, none. */
struct trial {
    struct alternative q;
    bool spills;
    unsigned asked; /* a bit for each knob that the planner asked for */
};

struct search {
    struct arena *arena;
    const struct schedules *all;
    int kernel;
    struct alternative own; /* the planner's */
    bool own_spills;
    struct alternatives *found;
    int n;
    struct alternative *kept; /* [FOUND_MOST] */
    int trials, trial_capacity;
    struct trial *trial;
};

static double cost_of(const struct kernel_schedule *k)
{
    double cost = 0;
    for (int s = 0; s < k->schedules; s++)
        cost += k->schedule[s].cost;
    return cost;
}

/* Of the kernel's plan. */
static uint32_t hash_of(struct arena *a, const struct kernel_schedule *k)
{
    struct text t = {.arena = a};
    kernel_schedule_print(&t, k);
    return hash_bytes(0, text_string(&t), t.n);
}

static const struct spec_knob *knob_in(const struct alternative *q, enum knob knob)
{
    const struct spec_knob *found = NULL;
    for (int i = 0; i < q->knobs; i++)
        if (q->knob[i].knob == knob)
            found = &q->knob[i];
    return found;
}

/* Would the planner that tried one be told the same by the other? */
static bool answers_alike(const struct trial *tried, const struct alternative *q)
{
    bool same = true;
    for (int k = 0; k < KNOB_COUNT && same; k++) {
        const struct spec_knob *had = knob_in(&tried->q, (enum knob)k), *has = knob_in(q, (enum knob)k);
        if (tried->asked & 1u << k)
            same = had && has ? had->value == has->value && had->word == has->word : had == has;
    }
    return same;
}

static void judge(struct search *s, struct schedules *all, struct trial *t)
{
    struct kernel_schedule *k = &all->kernel[s->kernel];
    t->spills = schedules_spill(s->arena, all, s->kernel);
    t->q.plan = hash_of(s->arena, k);
    t->q.cost = cost_of(k);
}

/* What becomes of knobs: by planning, unless that is known. */
static struct trial try_knobs(struct search *s, struct alternative q)
{
    struct trial new = {.q = q};
    for (int i = 0; i < s->trials; i++)
        if (answers_alike(&s->trial[i], &q)) {
            new = s->trial[i];
            new.q.knobs = q.knobs;
            memcpy(new.q.knob, q.knob, sizeof q.knob);
            return new;
        }
    const struct arena_mark mark = arena_mark(s->arena);
    struct schedules before = *s->all;
    before.target.asked = &new.asked;
    judge(s, schedules_with(s->arena, &before, s->kernel, q.knobs, q.knob), &new);
    arena_release(s->arena, mark);
    return new;
}

/* Tries the knobs, and keeps what is worth it. */
static void consider(struct search *s, struct alternative wanted)
{
    const struct trial t = try_knobs(s, wanted);
    const struct alternative q = t.q;
    const bool spills = t.spills;
    s->trial = arena_grow(s->arena, s->trial, s->trials, &s->trial_capacity, sizeof t);
    s->trial[s->trials++] = t;
    bool alike = q.plan == s->own.plan;
    for (int i = 0; i < s->n; i++)
        alike |= q.plan == s->kept[i].plan;
    s->found->alike += alike;
    s->found->spilled += !alike && spills && !s->own_spills;
    if (alike || (spills && !s->own_spills))
        return;
    if (q.cost > cost_most * s->own.cost)
        s->found->dear++;
    else if (s->n < FOUND_MOST)
        s->kept[s->n++] = q;
}

static struct alternative of_one(const struct search *s, enum knob knob, int value, const char *word)
{
    const struct spec_knob k = {s->all->target.device, s->kernel, knob, value, word, {0}};
    return (struct alternative){.knobs = 1, .knob = {k}};
}

/* Every knob by itself. */
static void consider_ones(struct search *s)
{
    const struct device *d = s->all->target.device;
    for (int k = 0; k < d->knobs; k++) {
        for (int t = 0; t < TRIALS && d->knob[k].step; t++)
            for (int v = 0; trial_table[t].knob == d->knob[k].knob && v < VALUES; v++)
                if (knob_allows(&d->knob[k], trial_table[t].value[v]))
                    consider(s, of_one(s, d->knob[k].knob, trial_table[t].value[v], NULL));
        for (int e = 0; !d->knob[k].step && s->all->target.evaluations[e]; e++)
            if (s->all->kernel[s->kernel].beaten & 1u << e)
                consider(s, of_one(s, d->knob[k].knob, 0, s->all->target.evaluations[e]->name));
            else
                s->found->alike++; /* to ask for it is to ask for what there is */
    }
}

/* Pairs of what is left of these, if these leave room. */
static void consider_pairs(struct search *s)
{
    const int ones = s->n;
    for (int p = 0; p < PAIRS && ones < ALTERNATIVES_MOST; p++)
        for (int i = 0; i < ones; i++)
            for (int j = 0; j < ones; j++)
                if (s->kept[i].knob->knob == pair_table[p][0] && s->kept[j].knob->knob == pair_table[p][1]) {
                    struct alternative q = s->kept[i];
                    q.knob[q.knobs++] = *s->kept[j].knob;
                    consider(s, q);
                }
}

/* Those of fewer knobs first, then cheaper ones; equals as they were found. */
static void sort(int n, struct alternative *q)
{
    for (int i = 1; i < n; i++) {
        const struct alternative moved = q[i];
        int at = i;
        for (; at > 0 && moved.knobs == q[at - 1].knobs && moved.cost < q[at - 1].cost; at--)
            q[at] = q[at - 1];
        q[at] = moved;
    }
}

struct alternatives *alternatives_find(struct arena *a, const struct schedules *all, int kernel)
{
    struct search s = {.arena = a, .all = all, .kernel = kernel, .found = NEW(a, struct alternatives)};
    s.kept = NEW_ARRAY(a, struct alternative, FOUND_MOST);
    s.own.plan = hash_of(a, &all->kernel[kernel]);
    s.own.cost = cost_of(&all->kernel[kernel]);
    for (int i = 0; i < all->kernel[kernel].schedules; i++)
        s.own_spills |= all->kernel[kernel].schedule[i].spills;
    s.trial = arena_grow(a, s.trial, 0, &s.trial_capacity, sizeof *s.trial);
    s.trial[s.trials++] = (struct trial){s.own, s.own_spills, all->kernel[kernel].asked};
    consider_ones(&s);
    consider_pairs(&s);
    sort(s.n, s.kept);
    s.found->n = s.n < ALTERNATIVES_MOST ? s.n : ALTERNATIVES_MOST;
    s.found->beyond = s.n - s.found->n;
    memcpy(s.found->alternative, s.kept, (size_t)s.found->n * sizeof *s.kept);
    return s.found;
}
