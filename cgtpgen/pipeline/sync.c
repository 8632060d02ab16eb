/* sync.c - commits, waits and barriers, from places and steps.
 *
 * A hazard is a pair of accesses, a before b, of bytes that more than one thread touches, one of them a
 * write: some barrier of the scope in which they meet must stand between. Barriers stand before steps, and
 * one serves all hazards whose interval (a, b] it stabs, in every turn. They are put greedily, by the right
 * end, as far out of loops as the interval reaches; then what is not needed goes. A wait for copies stands
 * before the last barrier that stabs or, where each thread reads what it has copied itself, before the read.
 */
#include "pipeline/share.h"
#include "pipeline/synced.h"
#include "pipeline/trace.h"
#include "util/hash.h"

#include <string.h>

struct hazard {
    const struct trace *t;
    int a, low, end; /* events: the first access; a barrier may stand before those from low to end */
    enum scope scope;
    bool landing; /* a is an asynchronous copy, of what the other one reads or writes over */
    uint64_t key;
    int by; /* the step before which stands what serves for it */
};

/* What has happened to a stage. */
struct stage {
    int written; /* event; -1: nothing */
    const struct access *write;
    int id;
    bool async;
    int reads, capacity; /* since then: the last one of each kind of access */
    struct read {
        int event;
        const struct access *access;
    } * read;
};

struct sync {
    struct arena *arena; /* for what is of no use afterwards */
    struct pipeline *p;
    const struct around *around; /* [steps] */
    struct decision d;
    uint64_t *power; /* of TRACE_BASE */
    struct hash seen;
    int hazards, capacity;
    struct hazard *hazard;
};

static bool is_async(const struct pipeline *p, const struct step *s)
{
    return s->kind == STEP_COPY && p->place[s->access[0].place].how == HOW_ASYNC;
}

/* Groups that are closed between a copy's own and an event; -1: not even that. */
static int groups(const struct trace *t, int copy, int event)
{
    return t->event[event].closed - t->event[copy].closed - 1;
}

/* ---- hazards ---- */

/* One like another, in the steps of its interval, is one. */
static uint64_t key_of(const struct sync *y, const struct hazard *h)
{
    const struct event *event = h->t->event;
    const int from = h->landing ? h->a : h->low, n = h->end < from ? 0 : h->end + 1 - from; /* 0: no point */
    const uint64_t steps = event[from + n].hash - event[from].hash * y->power[n];
    return ((steps * TRACE_BASE + (uint64_t)n) * TRACE_BASE + (uint64_t)(h->low - from)) * TRACE_BASE +
           (uint64_t)h->scope * 2 + h->landing;
}

static void add_hazard(struct sync *y, const struct trace *t, int a, int b, enum scope scope, bool landing)
{
    struct hazard h = {t, a, a + 1, b, scope, landing, 0, -1};
    while (t->event[h.end].skewed) /* before the fill or drain, not in it */
        h.end--;
    /* a wait stands in the turn that reads, since later copies are to be under way until then */
    for (int i = h.end; landing && i > a && t->event[i].turn == t->event[h.end].turn && groups(t, a, i) >= 0;
         i--)
        h.low = i;
    h.key = key_of(y, &h);
    for (int i = hash_first(&y->seen, (uint32_t)h.key); i >= 0; i = hash_next(&y->seen, i))
        if (y->hazard[i].key == h.key)
            return;
    hash_add(&y->seen, (uint32_t)h.key);
    *APPEND(y->arena, y->hazard, y->hazards, y->capacity) = h;
}

/* An access after what has happened to a stage. */
static void meet_stage(struct sync *y, const struct trace *t, const struct stage *g, int event,
                       const struct access *a, int id)
{
    if (g->written >= 0) {
        const enum scope scope = share_scope(y->p, g->write, a);
        /* who has read what a copy brought has waited for it */
        const bool landing = g->async && (a->touch == TOUCH_WRITE ? g->reads == 0 : g->id == id);
        if (scope > SCOPE_LANE || landing)
            add_hazard(y, t, g->written, event, scope, landing);
    }
    for (int i = 0; i < g->reads && a->touch != TOUCH_READ; i++) {
        const enum scope scope = share_scope(y->p, g->read[i].access, a);
        if (scope > SCOPE_LANE)
            add_hazard(y, t, g->read[i].event, event, scope, false);
    }
}

static void touch_stage(struct sync *y, struct stage *g, int event, const struct access *a, int id,
                        bool async)
{
    if (a->touch != TOUCH_READ) {
        g->written = event;
        g->write = a;
        g->id = id;
        g->async = async;
        g->reads = 0;
        return;
    }
    int i = 0;
    while (i < g->reads && (g->read[i].access->place != a->place || g->read[i].access->index != a->index ||
                            g->read[i].access->who != a->who))
        i++;
    *(i < g->reads ? &g->read[i] : APPEND(y->arena, g->read, g->reads, g->capacity)) =
        (struct read){event, a};
}

/* Events that the trace begins with as the other one does, which has shown their hazards. */
static int events_alike(const struct trace *t, const struct trace *other)
{
    const int n = t->events < other->events ? t->events : other->events;
    int e = 0, use = 0;
    for (; e < n && t->event[e + 1].hash == other->event[e + 1].hash; e++)
        for (const int end = t->event[e + 1].use; use < end; use++)
            if (t->use[use].id != other->use[use].id || t->use[use].n != other->use[use].n)
                return e;
    return e;
}

/* Each access with the last write of its stage, and a write with the reads since; from event `first` on they
 * are looked at. */
static void find_hazards(struct sync *y, const struct trace *t, int first)
{
    const struct pipeline *p = y->p;
    struct stage **stage = NEW_ARRAY(y->arena, struct stage *, p->places + 1);
    for (int i = 0; i < p->places; i++) {
        stage[i] = NEW_ARRAY(y->arena, struct stage, p->place[i].stages);
        for (int k = 0; k < p->place[i].stages; k++)
            stage[i][k].written = -1;
    }
    for (int e = 0; e < t->events; e++) {
        const struct step *s = &p->step[t->event[e].step];
        for (int pass = e < first; pass < 2; pass++)
            for (int k = 0; k < s->accesses; k++) {
                const struct access *a = &s->access[k];
                const struct use u = t->use[t->event[e].use + k];
                struct stage *const all = stage[share_leader(p, a->place)];
                for (int i = 0; i < u.n; i++) {
                    struct stage *g = &all[(u.stage + i) % p->place[a->place].stages];
                    if (pass == 0)
                        meet_stage(y, t, g, e, a, u.id + i);
                    else
                        touch_stage(y, g, e, a, u.id + i, is_async(p, s));
                }
            }
    }
}

/* ---- barriers ---- */

/* The last event before which a barrier stands that stabs; -1: none. */
static int stab(const struct sync *y, const struct hazard *h)
{
    for (int i = h->end; i >= h->low; i--) {
        const int step = h->t->event[i].step;
        const bool meets = y->p->step[step].kind == STEP_MEET && y->p->step[step].scope >= h->scope;
        if (!h->t->event[i].skewed && (y->d.barrier[step] >= h->scope || (meets && !h->landing)))
            return i;
    }
    return -1;
}

/* May a barrier of the scope stand there? Copies that follow each other begin together. All its threads must
 * come: not all go through each block; of a block of threads, not all turn loops alike. */
static bool may_stand(const struct sync *y, int step, enum scope scope)
{
    const struct step *s = &y->p->step[step];
    const bool goes_on = step > 0 && s->kind == STEP_COPY && s[-1].kind == STEP_COPY && s->skew == s[-1].skew;
    return !goes_on && !y->around[step].some &&
           (scope <= scope_of(y->p, SCOPE_TEAM) || y->around[step].clocks == 0);
}

/* The last of the points in the fewest loops, moved up over what touches nothing. */
static int best_point(const struct sync *y, const struct hazard *h)
{
    const struct event *event = h->t->event;
    int best = -1;
    for (int e = h->end; e >= h->low; e--)
        if (!event[e].skewed && may_stand(y, event[e].step, h->scope) &&
            (best < 0 || y->around[event[e].step].looped < y->around[event[best].step].looped))
            best = e;
    while (best > h->low) {
        const struct step *s = &y->p->step[event[best - 1].step];
        if (event[best - 1].skewed ||
            (s->kind != STEP_LOCAL && s->kind != STEP_NOTE && s->kind != STEP_BLOCK))
            break; /* what opens a block of some threads is not in it */
        best--;
    }
    return best < 0 ? -1 : event[best].step;
}

static int step_at(const struct hazard *h, int event)
{
    return event < 0 ? -1 : h->t->event[event].step;
}

/* What stands before the step has been taken out: is there a hazard that it served for, and nothing else
 * does, as `serves` finds it? */
static bool is_needed(struct sync *y, int step, int (*serves)(const struct sync *, const struct hazard *))
{
    for (int k = 0; k < y->hazards; k++)
        if (y->hazard[k].by == step && serves(y, &y->hazard[k]) < 0)
            return true;
    for (int k = 0; k < y->hazards; k++)
        if (y->hazard[k].by == step)
            y->hazard[k].by = step_at(&y->hazard[k], serves(y, &y->hazard[k]));
    return false;
}

static const char *choose_barriers(struct sync *y)
{
    int deepest = 0;
    for (int i = 0; i < y->hazards; i++) {
        const struct hazard *h = &y->hazard[i];
        if (h->scope == SCOPE_LANE || stab(y, h) >= 0)
            continue;
        const int best = best_point(y, h);
        if (best < 0)
            return h->end < h->low ? "steps of a fill or drain need each other"
                                   : "teams share a place in a loop that they turn differently";
        y->d.barrier[best] = h->scope;
    }
    for (int i = 0; i < y->hazards; i++)
        y->hazard[i].by =
            y->hazard[i].scope > SCOPE_LANE ? step_at(&y->hazard[i], stab(y, &y->hazard[i])) : -1;
    for (int i = 0; i < y->p->steps; i++)
        deepest = deepest > y->around[i].brackets ? deepest : y->around[i].brackets;
    for (int depth = deepest; depth >= 0; depth--) /* what others serve for goes, innermost first */
        for (int i = 0; i < y->p->steps; i++) {
            const enum scope was = y->d.barrier[i];
            if (was == SCOPE_LANE || y->around[i].brackets != depth)
                continue;
            y->d.barrier[i] = SCOPE_LANE;
            y->d.barrier[i] = is_needed(y, i, stab) ? was : SCOPE_LANE;
        }
    return NULL;
}

/* ---- waits ---- */

/* The event before which what a hazard's copy has brought is there for the other access. */
static int needed_at(const struct sync *y, const struct hazard *h)
{
    return h->scope == SCOPE_LANE ? h->end : stab(y, h);
}

/* The event before which a hazard's copy is waited for; -1: none. */
static int waited_at(const struct sync *y, const struct hazard *h)
{
    for (int e = h->a + 1, at = needed_at(y, h); e <= at; e++) {
        const int wait = y->d.wait[h->t->event[e].step];
        if (!h->t->event[e].skewed && wait >= 0 && groups(h->t, h->a, e) >= wait)
            return e;
    }
    return -1;
}

/* Those before barriers, and then those of a thread's own copies; what others serve for goes. */
static void place_waits(struct sync *y)
{
    for (int i = 0; i < y->p->steps; i++)
        y->d.wait[i] = -1;
    for (int own = 0; own < 2; own++)
        for (int i = 0; i < y->hazards; i++) {
            const struct hazard *h = &y->hazard[i];
            if (h->landing && (h->scope == SCOPE_LANE) == own && waited_at(y, h) < 0)
                y->d.wait[h->t->event[needed_at(y, h)].step] = groups(h->t, h->a, needed_at(y, h));
        }
    for (int i = 0; i < y->hazards; i++)
        y->hazard[i].by = y->hazard[i].landing ? step_at(&y->hazard[i], waited_at(y, &y->hazard[i])) : -1;
    for (int i = 0; i < y->p->steps; i++) {
        const int was = y->d.wait[i];
        y->d.wait[i] = -1;
        y->d.wait[i] = was >= 0 && is_needed(y, i, waited_at) ? was : -1;
    }
}

/* Do both of two neighbouring groups land by the same wait, wherever the first one does? */
static bool land_together(const struct sync *y, const struct trace *t, int first, int second)
{
    for (int e = first + 1; e < t->events; e++) {
        const int wait = t->event[e].skewed ? -1 : y->d.wait[t->event[e].step];
        if (wait >= 0 && e < second)
            return false;
        if (wait >= 0 && wait < t->event[e].closed - t->event[first].closed)
            return wait < t->event[e].closed - t->event[second].closed;
    }
    return true;
}

/* Neighbouring groups that always land together become one. */
static void join_groups(struct sync *y, int traces, struct trace *t)
{
    const struct pipeline *p = y->p;
    for (int i = 0; i < p->steps; i++)
        y->d.idle[i] = p->step[i].kind == STEP_COMMIT;
    for (int i = 0; i < traces; i++)
        for (int e = 0, last = -1; e < t[i].events; e++)
            if (p->step[t[i].event[e].step].kind == STEP_COMMIT) {
                if (last >= 0 && !land_together(y, &t[i], last, e))
                    y->d.idle[t[i].event[last].step] = false;
                last = e;
            } else if (last >= 0 && !t[i].event[e].skewed && y->d.wait[t[i].event[e].step] >= 0) {
                y->d.idle[t[i].event[last].step] = false;
            }
    for (int i = 0; i < traces; i++)
        for (int e = 0; e < t[i].events; e++) {
            const int step = t[i].event[e].step;
            t[i].event[e + 1].closed =
                t[i].event[e].closed + (p->step[step].kind == STEP_COMMIT && !y->d.idle[step]);
        }
    place_waits(y);
}

/* ---- steps ---- */

static void append(struct pipeline *p, struct step s)
{
    *APPEND(p->arena, p->step, p->steps, p->step_capacity) = s;
}

/* The planner's steps, with a commit behind each run of copies. */
static void close_groups(struct pipeline *p)
{
    const struct step *old = p->step;
    const int n = p->steps;
    p->step = NULL;
    p->steps = p->step_capacity = 0;
    for (int i = 0; i < n; i++) {
        if (old[i].kind >= STEP_COMMIT) /* derived before */
            continue;
        append(p, old[i]);
        if (is_async(p, &old[i]) && (i + 1 == n || !is_async(p, &old[i + 1])))
            append(p, (struct step){.kind = STEP_COMMIT, .skew = old[i].skew});
    }
}

static void add_derived(struct pipeline *p, const struct decision *d)
{
    const struct step *old = p->step;
    const int n = p->steps;
    bool waited = false;
    p->step = NULL;
    p->steps = p->step_capacity = 0;
    for (int i = 0; i < n; i++) {
        const enum step_kind k = old[i].kind;
        if (d->idle[i])
            continue;
        if (!waited && (k == STEP_COPY || k == STEP_STORE || k == STEP_FILL)) {
            append(p, (struct step){.kind = STEP_LAUNCH_WAIT});
            waited = true;
        }
        if (d->wait[i] >= 0)
            append(p, (struct step){.kind = STEP_WAIT, .every = old[i].every, .number = d->wait[i]});
        if (d->barrier[i] != SCOPE_LANE)
            append(p, (struct step){.kind = STEP_BARRIER, .every = old[i].every, .scope = d->barrier[i]});
        append(p, old[i]);
    }
}

/* Finds hazards in all runs of the pipeline, and what serves for them. */
static struct decision decide(struct sync *y)
{
    struct arena *a = y->arena, *keep = y->p->synced ? y->p->synced->arena : a;
    const struct pipeline *p = y->p;
    y->d = (struct decision){NULL, NEW_ARRAY(keep, enum scope, p->steps), NEW_ARRAY(keep, bool, p->steps),
                             NEW_ARRAY(keep, int, p->steps)};
    const int traces = trace_count(p);
    y->around = trace_around(a, p);
    struct trace *t = NEW_ARRAY(a, struct trace, traces);
    for (int i = 0; i < traces; i++) {
        trace_run(a, p, i, &t[i]);
        y->power = NEW_ARRAY(a, uint64_t, t[i].events + 1);
        y->power[0] = 1;
        for (int k = 0; k < t[i].events; k++)
            y->power[k + 1] = y->power[k] * TRACE_BASE;
        find_hazards(y, &t[i], trace_like(p, i) < 0 ? 0 : events_alike(&t[i], &t[trace_like(p, i)]));
    }
    y->d.why = choose_barriers(y);
    if (!y->d.why) {
        place_waits(y);
        join_groups(y, traces, t);
    }
    return y->d;
}

const char *pipeline_sync(struct pipeline *p)
{
    close_groups(p);
    struct arena *a = arena_scratch(p->arena);
    struct sync y = {.arena = a, .p = p, .seen = {.arena = a}};
    const struct decision *known = synced_find(p, false);
    const struct decision d = known ? *known : decide(&y);
    if (!known)
        synced_add(p, d);
    if (!d.why)
        add_derived(p, &d);
    arena_empty(a);
    return d.why;
}
