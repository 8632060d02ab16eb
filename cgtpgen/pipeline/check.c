/* check.c - is a pipeline sound? Runs it as a machine would that only promises what a GPU does: a thread's
 * copies land when it has waited for their group, and are seen by others after a barrier of both.
 *
 * Each use is compared with the last write of its stage, and a write with the reads since then: what is older
 * is ordered before that write by the same rules.
 */
#include "pipeline/share.h"
#include "pipeline/synced.h"
#include "pipeline/trace.h"

#include <stdarg.h>
#include <string.h>

/* When another access of a kind was. */
struct past {
    int time;
    const struct access *access;
};

struct stage {
    int id;    /* of the version that it has; -1: nothing yet */
    int place; /* whose it is */
    struct past write;
    int group;  /* of the asynchronous copy; -1: none */
    int landed; /* when its thread has waited for it; -1: not yet */
    bool owed;  /* made, and not stored yet, though its place is */
    int reads, capacity;
    struct past *read;
};

struct checked {
    struct arena *arena; /* of a run, and of what is looked at before */
    const struct pipeline *p;
    struct text *out;
    int errors, said, capacity;
    const char **say;
    int time, closed;     /* closed: groups of copies */
    int barrier[SCOPES];  /* when the last one was that joins this scope */
    bool waited;          /* has the launch before ended? */
    bool *stored;         /* [places]: is there a step that stores it? */
    struct stage **stage; /* [places][stages] */
};

static void report(struct checked *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void report(struct checked *m, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *text = arena_vprintf(m->out->arena, format, list);
    va_end(list);
    m->errors++;
    for (int i = 0; i < m->said; i++)
        if (strcmp(m->say[i], text) == 0)
            return;
    *APPEND(m->out->arena, m->say, m->said, m->capacity) = text;
    text_printf(m->out, "%s\n", text);
}

/* What a step is called. */
static const char *name_of(const struct step *s)
{
    return s->kind == STEP_CALL ? s->call->function : step_words[s->kind];
}

static bool is_ordered(const struct checked *m, const struct access *before, const struct access *now,
                       int since)
{
    const enum scope s = share_scope(m->p, before, now);
    return s == SCOPE_LANE || m->barrier[s] > since;
}

/* ---- accesses ---- */

static void read_version(struct checked *m, const struct step *s, const struct access *a, struct stage *g,
                         int id)
{
    const char *name = m->p->place[a->place].name;
    if (g->id >= 0 && !share_holds(m->p, g->place, a->place)) {
        report(m, "%s reads %s, where %s is", name_of(s), name, m->p->place[g->place].name);
        return;
    }
    if (g->id != id) {
        report(m,
               g->id < id ? "%s reads %s before it is made"
                          : "%s reads %s after a later version took its stage",
               name_of(s), name);
        return;
    }
    const int since = g->landed > g->write.time ? g->landed : g->write.time;
    if (g->group >= 0 && g->landed < 0)
        report(m, "%s reads %s, whose copies nobody has waited for", name_of(s), name);
    else if (!is_ordered(m, g->write.access, a, since))
        report(m, "%s reads %s without a barrier of its %s since it came", name_of(s), name,
               scope_words[share_scope(m->p, g->write.access, a)]);
    if (s->kind == STEP_STORE && a == s->access) {
        if (!g->owed)
            report(m, "%s is stored twice", name);
        g->owed = false;
    }
    int i = 0;
    while (i < g->reads && (g->read[i].access->place != a->place || g->read[i].access->index != a->index ||
                            g->read[i].access->who != a->who))
        i++;
    *(i < g->reads ? &g->read[i] : APPEND(m->arena, g->read, g->reads, g->capacity)) =
        (struct past){m->time, a};
}

static void write_version(struct checked *m, const struct step *s, const struct access *a, struct stage *g,
                          int id)
{
    const struct place *q = &m->p->place[a->place];
    for (int i = 0; i < g->reads; i++)
        if (!is_ordered(m, g->read[i].access, a, g->read[i].time))
            report(m, "%s overwrites %s, which others of the %s may still read", name_of(s), q->name,
                   scope_words[share_scope(m->p, g->read[i].access, a)]);
    if (g->id >= 0 && g->group >= 0 && g->landed < 0)
        report(m, "%s overwrites %s, to which a copy is under way", name_of(s), q->name);
    else if (g->id >= 0 && !is_ordered(m, g->write.access, a, g->write.time))
        report(m, "%s overwrites %s, which others of the %s have just written", name_of(s), q->name,
               scope_words[share_scope(m->p, g->write.access, a)]);
    if (g->id > id && share_holds(m->p, g->place, a->place))
        report(m, "%s makes a version of %s that is long past", name_of(s), q->name);
    if (g->owed && (g->id != id || !share_holds(m->p, g->place, a->place)))
        report(m, "%s overwrites %s, which was never stored", name_of(s), q->name);
    const bool copy = s->kind == STEP_COPY;
    g->id = id;
    g->place = a->place;
    g->write = (struct past){m->time, a};
    g->group = copy && q->how == HOW_ASYNC ? m->closed : -1;
    g->landed = -1;
    g->owed = m->stored[a->place] && !copy;
    g->reads = 0;
}

static void run_access(struct checked *m, const struct step *s, const struct access *a, struct use u)
{
    const struct place *q = &m->p->place[a->place];
    for (int i = 0; i < u.n; i++) {
        struct stage *g = &m->stage[share_leader(m->p, a->place)][(u.stage + i) % q->stages];
        if (a->touch != TOUCH_WRITE)
            read_version(m, s, a, g, u.id + i);
        if (a->touch != TOUCH_READ)
            write_version(m, s, a, g, u.id + i);
    }
}

static void land(struct checked *m, int groups)
{
    for (int i = 0; i < m->p->places; i++)
        for (int k = 0; k < m->p->place[i].stages; k++) {
            struct stage *g = &m->stage[i][k];
            if (g->group >= 0 && g->landed < 0 && g->group < groups)
                g->landed = m->time;
        }
}

static void run_event(struct checked *m, const struct trace *t, const struct event *e)
{
    const struct step *s = &m->p->step[e->step];
    m->time++;
    m->waited |= s->kind == STEP_LAUNCH_WAIT;
    if ((s->kind == STEP_COPY || s->kind == STEP_STORE) && !m->waited)
        report(m, "%s touches memory before the launch before has ended", name_of(s));
    if (s->kind == STEP_COMMIT)
        m->closed++;
    if (s->kind == STEP_WAIT)
        land(m, m->closed - s->number);
    for (int k = 0; (s->kind == STEP_BARRIER || s->kind == STEP_MEET) && k <= (int)scope_of(m->p, s->scope);
         k++)
        m->barrier[k] = m->time;
    for (int k = 0; k < s->accesses; k++)
        run_access(m, s, &s->access[k], t->use[e->use + k]);
}

static void run(struct checked *m, int number)
{
    const struct pipeline *p = m->p;
    struct trace t;
    trace_run(m->arena, p, number, &t);
    m->time = m->closed = 0;
    m->waited = false;
    memset(m->barrier, -1, sizeof m->barrier);
    for (int i = 0; i < p->places; i++)
        for (int k = 0; k < p->place[i].stages; k++)
            m->stage[i][k] = (struct stage){.id = -1, .group = -1, .landed = -1};
    for (int e = 0; e < t.events; e++)
        run_event(m, &t, &t.event[e]);
    for (int i = 0; i < p->places; i++)
        for (int k = 0; k < p->place[i].stages; k++)
            if (m->stage[i][k].owed)
                report(m, "the last of %s is never stored", p->place[i].name);
    arena_empty(m->arena);
}

/* ---- what holds without a run ---- */

static void check_steps(struct checked *m)
{
    const struct pipeline *p = m->p;
    const struct around *around = trace_around(m->arena, p);
    for (int i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        if (s->kind == STEP_BARRIER && around[i].clocks && scope_of(p, s->scope) > scope_of(p, SCOPE_TEAM))
            report(m, "a barrier of the %s in a loop that teams turn differently", scope_words[s->scope]);
        if ((s->kind == STEP_BARRIER || s->kind == STEP_WAIT) && around[i].some)
            report(m, "a %s where only some threads come", step_words[s->kind]);
        for (int k = 0; k < s->accesses; k++) {
            const struct access *a = &s->access[k];
            if (a->index >= p->place[a->place].rate)
                report(m, "%s touches version %d of %s", name_of(s), a->index, p->place[a->place].name);
            for (int j = 0; j < k; j++) /* a step's own threads are in no order */
                if (s->access[j].place == a->place && s->access[j].index == a->index &&
                    s->access[j].touch + a->touch && s->access[j].who != a->who)
                    report(m, "threads of %s meet in %s", name_of(s), p->place[a->place].name);
        }
    }
}

static void check_places(struct checked *m, int bytes)
{
    const struct pipeline *p = m->p;
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        for (int k = 0; k < q->fields; k++)
            if (q->field[k].at + q->field[k].length > q->pitch)
                report(m, "version %d of %s is longer than its rows", q->field[k].version, q->name);
    }
    const char *wrong = layout_check(m->arena, &p->of_block);
    if (wrong)
        report(m, "shared memory: %s", wrong);
    if (p->of_block.bytes > bytes)
        report(m, "a block of %d bytes of %d that there are", p->of_block.bytes, bytes);
}

int pipeline_check(const struct pipeline *p, int bytes, struct text *out)
{
    struct arena *a = arena_scratch(p->arena);
    struct checked m = {.arena = a, .p = p, .out = out};
    check_steps(&m);
    check_places(&m, bytes);
    arena_empty(a); /* as each run does */
    m.stored = NEW_ARRAY(out->arena, bool, p->places + 1);
    m.stage = NEW_ARRAY(out->arena, struct stage *, p->places + 1);
    for (int i = 0; i < p->places; i++)
        m.stage[i] = NEW_ARRAY(out->arena, struct stage, p->place[i].stages);
    for (int i = 0; i < p->steps; i++)
        if (p->step[i].kind == STEP_STORE)
            m.stored[p->step[i].access[0].place] = true;
    if (synced_find(p, true))
        return m.errors;
    const int before = m.errors, traces = trace_count(p);
    for (int i = 0; i < traces; i++)
        run(&m, i);
    if (m.errors == before)
        synced_add(p, (struct decision){0});
    return m.errors;
}
