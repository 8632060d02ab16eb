/* trace.c - see trace.h. A run is done twice: first only to count turns, as what a loop's last turns bring
 * ahead depends on how many there will be.
 */
#include "pipeline/trace.h"

#include <string.h>

enum {
    TURNS_MOST = 64,   /* of the only loop that a run has */
    COUNTED_TURNS = 2, /* of a loop whose turns are known, and whose versions are alike */
    ENTERED = 3        /* how often the innermost of several loops is, each time with turns of its own */
};

struct runner {
    struct arena *arena;
    const struct pipeline *p;
    int scenario, levels, most;
    int period, repeat;  /* of turns that are known, those in the middle are as others a period before */
    struct trace *trace; /* NULL: turns are counted, and */
    int events, uses;    /* at most so many */
    int turns;           /* of all loops that are not counted */
    int inside;          /* the loop whose turn it is */
    int *times, *total;  /* [loops]: entered; turned */
    int *now;            /* [loops]: number of its turn since the launch: the present one, or the next */
    int *base;           /* [loops][loops]: turns of the second before the present one of the first; */
    int **end;           /* [loops]: and at its end, [turn][loops] */
    int *ends, *end_capacity;
    int *last;      /* [steps]: the one that ends a bracket; of others themselves */
    bool *repeated; /* [steps]: nothing can stand between it and the one before it */
};

int trace_begin(const struct pipeline *p, int loop)
{
    int i = 0;
    while (!(p->step[i].kind == STEP_LOOP && p->step[i].loop == loop))
        i++;
    return i;
}

int trace_end(const struct pipeline *p, int step)
{
    int depth = 0;
    for (;; step++) {
        const enum step_kind k = p->step[step].kind;
        depth += k == STEP_LOOP || k == STEP_BLOCK;
        depth -= k == STEP_END;
        if (depth == 0)
            return step;
    }
}

struct around *trace_around(struct arena *a, const struct pipeline *p)
{
    struct around *all = NEW_ARRAY(a, struct around, p->steps + 1), now = {0};
    for (int i = 0, until = -1; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        const int by = s->kind == STEP_END ? -1 : s->kind == STEP_LOOP || s->kind == STEP_BLOCK;
        now.some = i <= until;
        all[i] = now;
        if (s->kind == STEP_BLOCK && s->note && i > until)
            until = trace_end(p, i);
        now.brackets += by;
        now.looped += s->loop != LOOP_LAUNCH ? by : 0;
        now.clocks += s->loop != LOOP_LAUNCH && !p->loop[s->loop].counted ? by : 0;
    }
    return all;
}

/* ---- how often loops turn ---- */

static int level_of(const struct pipeline *p, int loop)
{
    int n = 0;
    for (int i = p->loop[loop].outer; i > LOOP_LAUNCH; i = p->loop[i].outer)
        n += !p->loop[i].counted;
    return n;
}

static int levels_of(const struct pipeline *p)
{
    int levels = 0;
    for (int i = 1; i < p->loop_count; i++)
        if (!p->loop[i].counted && level_of(p, i) >= levels)
            levels = level_of(p, i) + 1;
    return levels;
}

static int divisor(int a, int b)
{
    return b ? divisor(b, a % b) : a;
}

static int common_multiple(int a, int b)
{
    return a / divisor(a, b) * b;
}

/* The period of all rings, of rounds that some steps are not done in all of. */
static int period_of(const struct pipeline *p)
{
    int period = 1;
    bool rounds = false;
    for (int i = 0; i < p->places; i++)
        period = common_multiple(period, p->place[i].stages / divisor(p->place[i].stages, p->place[i].rate));
    for (int i = 0; i < p->steps; i++)
        rounds |= p->step[i].below;
    for (int i = 0; i < p->loop_count && rounds; i++)
        period = common_multiple(period, !p->loop[i].counted && p->loop[i].end ? p->loop[i].end : 1);
    return period;
}

/* Turns after which stages and what is under way are as they were before: a period, and what is ahead at its
 * begin and end. */
static int turns_repeat(const struct pipeline *p)
{
    int ahead = 0;
    for (int i = 0; i < p->steps; i++) {
        const int skew = p->step[i].skew < 0 ? -p->step[i].skew : p->step[i].skew;
        ahead = ahead > skew ? ahead : skew;
    }
    return period_of(p) + ahead + 2;
}

static int turns_most(const struct pipeline *p)
{
    const int turns = turns_repeat(p);
    return turns < TURNS_MOST ? turns : TURNS_MOST;
}

int trace_count(const struct pipeline *p)
{
    const int levels = levels_of(p);
    return levels == 0 ? 1 : levels == 1 ? turns_most(p) + 1 : 1 << 2 * ENTERED;
}

int trace_like(const struct pipeline *p, int i)
{
    enum { DIGIT = 2 }; /* bits of how often the loop turns when it is entered first, then again */
    int last = 0;
    while (i >> DIGIT * (last + 1))
        last++;
    return levels_of(p) < 2 || last == 0 ? -1 : i - (1 << DIGIT * last);
}

static int turns_of(const struct runner *r, int loop, int time)
{
    const struct loop *l = &r->p->loop[loop];
    const int digit[] = {0, 1, 2, r->most}, level = level_of(r->p, loop);
    if (l->counted) {
        const int all = (l->end - l->first + l->by - 1) / l->by;
        bool clock = false;
        for (int i = 0; i < r->p->places; i++)
            clock |= r->p->place[i].clock == loop;
        if (!clock)
            return all < COUNTED_TURNS ? all : COUNTED_TURNS;
        return all > r->repeat + r->period ? r->repeat + (all - r->repeat) % r->period : all;
    }
    if (r->levels == 1)
        return r->scenario;
    if (level == r->levels - 1 && r->levels > 2 && time > 0) /* the first time has shown what many turns do */
        return r->scenario >> 2 * (time % ENTERED) & 3;
    if (level == r->levels - 1)
        return digit[r->scenario >> 2 * (time % ENTERED) & 3];
    return r->levels == 2 ? ENTERED : level == 0 ? 2 : 2 - time % 2; /* 2 and then 1 of the loop between */
}

/* ---- running ---- */

/* Turns of a place's clock before the present one, since versions are counted anew; all of them. */
static int turn_of(const struct runner *r, const struct place *q)
{
    return q->clock == LOOP_LAUNCH ? 0 : r->now[q->clock] - r->base[q->within * r->p->loop_count + q->clock];
}

/* Versions that a step has now which works in every so many-th turn; 0: it does not. */
static int since(const struct runner *r, const struct step *s, bool drained)
{
    while (!s->accesses && s->kind >= STEP_COMMIT) /* waits and barriers stand before what it is */
        s++;
    const int turn = s->accesses ? turn_of(r, &r->p->place[s->access[0].place]) : 0;
    return drained ? turn % s->every : (turn + 1) % s->every ? 0 : s->every;
}

/* The versions that an access has, `ahead` turns from here; of those of `last` turns. */
static struct use use_of(const struct runner *r, const struct access *a, int ahead, int last)
{
    const struct place *q = &r->p->place[a->place];
    const int n = r->p->loop_count, within = r->now[q->within], base = r->base[q->within * n + q->clock];
    if (within * n >= r->ends[q->within]) /* outside of the loop that versions are counted in */
        return (struct use){0};
    const int turn = turn_of(r, q) + ahead - last + (last > 0);
    const int count = q->clock == LOOP_LAUNCH ? 1 : r->end[q->within][within * n + q->clock] - base;
    if (turn < 0 || turn >= count)
        return (struct use){0};
    const int version = turn * q->rate + (a->index < 0 ? 0 : a->index);
    return (struct use){(within << 12) + version, version % q->stages,
                        a->index < 0 ? q->rate * (last ? last : 1) : 1};
}

/* Is a step like the one before it, a call of what that has called? */
static bool is_repeated(const struct pipeline *p, int step)
{
    const struct step *s = &p->step[step], *before = s - 1;
    return step > 0 && s->kind == STEP_CALL && before->kind == STEP_CALL && s->accesses == before->accesses &&
           (s->accesses == 0 ||
            memcmp(s->access, before->access, (size_t)s->accesses * sizeof *s->access) == 0);
}

static void emit(struct runner *r, int step, int ahead, bool skewed)
{
    struct trace *t = r->trace;
    const struct step *s = &r->p->step[step];
    if (r->repeated[step])
        return;
    if (!t) {
        r->events++;
        r->uses += s->accesses;
        return;
    }
    const bool drained = skewed && s->skew == 0;
    const int last = s->every ? since(r, s, drained) : 0;
    if (s->every && !last)
        return;
    struct event *e = &t->event[t->events++];
    e->step = step;
    e->skewed = skewed;
    e->turn = r->turns;
    e[1] = (struct event){.closed = e->closed + (s->kind == STEP_COMMIT),
                          .hash = e->hash * TRACE_BASE + (uint64_t)(2 * step + skewed + 1)};
    for (int i = 0; i < s->accesses; i++)
        t->use[t->uses++] = use_of(r, &s->access[i], s->skew + ahead - drained, last);
    e[1].use = t->uses;
}

/* The steps of a loop, in turns before its first one or after its last: those that are there by their skew.
 * Groups of copies are closed as in the loop. */
static void run_skewed(struct runner *r, int at)
{
    const struct pipeline *p = r->p;
    const bool fill = p->step[at].kind == STEP_FILL;
    const int loop = trace_begin(p, p->step[at].loop), end = r->last[loop];
    int most = 0;
    for (int i = loop + 1; i < end; i = r->last[i] + 1) {
        const int skew = fill ? p->step[i].skew : p->step[i].every ? 1 : -p->step[i].skew;
        most = most > skew ? most : skew;
    }
    for (int k = 0; k < most; k++) {
        bool copied = false;
        const int ahead = fill ? k - most : k;
        for (int i = loop + 1; i < end; i = r->last[i] + 1) {
            const int skew = p->step[i].skew;
            const bool rest = !fill && p->step[i].every && p->step[i].accesses && k == 0;
            const bool there = rest || (fill ? skew > 0 && skew + ahead >= 0 : skew < 0 && skew + ahead < 0);
            if (p->step[i].kind == STEP_COMMIT ? copied : there) {
                emit(r, i, ahead, true);
                copied = p->step[i].kind != STEP_COMMIT;
            }
        }
    }
}

static void run(struct runner *r, int first, int end);

static void begin_turn(struct runner *r, int loop, int k)
{
    const int n = r->p->loop_count;
    r->now[loop] = k;
    r->turns += !r->p->loop[loop].counted;
    for (int i = 0; i < n; i++)
        r->base[loop * n + i] = r->total[i];
    r->total[loop]++;
}

static void end_turn(struct runner *r, int loop)
{
    const int n = r->p->loop_count;
    for (int i = 0; i < n && !r->trace; i++)
        *APPEND(r->arena, r->end[loop], r->ends[loop], r->end_capacity[loop]) = r->total[i];
    r->now[loop] = r->total[loop];
}

static void run_loop(struct runner *r, int at)
{
    const int loop = r->p->step[at].loop, last = r->last[at], n = turns_of(r, loop, r->times[loop]++);
    const int outer = r->inside;
    emit(r, at, 0, false);
    for (int k = 0; k < n; k++) {
        begin_turn(r, loop, r->total[loop]);
        r->inside = loop;
        run(r, at + 1, last);
        emit(r, last, 0, false);
        end_turn(r, loop);
    }
    r->inside = outer;
}

/* Has the loop turned as often in this round as the block is gone through? */
static bool is_past(const struct runner *r, const struct step *s)
{
    const struct loop *l = &r->p->loop[r->inside];
    return s->below &&
           (r->now[r->inside] - r->base[l->outer * r->p->loop_count + r->inside]) % l->end >= s->below;
}

static void run(struct runner *r, int first, int end)
{
    for (int i = first; i < end; i++) {
        const enum step_kind kind = r->p->step[i].kind;
        if (kind == STEP_LOOP) {
            run_loop(r, i);
            i = r->last[i];
            continue;
        }
        if (kind == STEP_BLOCK && is_past(r, &r->p->step[i])) {
            i = trace_end(r->p, i);
            continue;
        }
        emit(r, i, 0, false);
        if (kind == STEP_FILL || kind == STEP_DRAIN)
            run_skewed(r, i);
    }
}

static void run_all(struct runner *r)
{
    const int n = r->p->loop_count;
    r->turns = 0;
    for (int i = 0; i < n; i++)
        r->times[i] = r->total[i] = r->now[i] = 0;
    begin_turn(r, LOOP_LAUNCH, 0);
    run(r, 0, r->p->steps);
    end_turn(r, LOOP_LAUNCH);
}

void trace_run(struct arena *a, const struct pipeline *p, int i, struct trace *t)
{
    const int n = p->loop_count;
    struct runner r = {.arena = a,
                       .p = p,
                       .scenario = i,
                       .levels = levels_of(p),
                       .most = turns_most(p),
                       .period = period_of(p),
                       .repeat = turns_repeat(p)};
    r.times = NEW_ARRAY(a, int, n);
    r.total = NEW_ARRAY(a, int, n);
    r.now = NEW_ARRAY(a, int, n);
    r.base = NEW_ARRAY(a, int, n *n);
    r.end = NEW_ARRAY(a, int *, n);
    r.ends = NEW_ARRAY(a, int, n);
    r.end_capacity = NEW_ARRAY(a, int, n);
    r.last = NEW_ARRAY(a, int, p->steps + 1);
    r.repeated = NEW_ARRAY(a, bool, p->steps + 1);
    for (int k = 0; k < p->steps; k++) {
        r.last[k] = p->step[k].kind == STEP_LOOP ? trace_end(p, k) : k;
        r.repeated[k] = is_repeated(p, k);
    }
    run_all(&r);
    *t = (struct trace){.event = NEW_ARRAY(a, struct event, r.events + 1),
                        .use = NEW_ARRAY(a, struct use, r.uses + 1)};
    r.trace = t;
    run_all(&r);
}
