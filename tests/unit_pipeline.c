/* unit_pipeline.c - pipelines: what sync.c makes of random programs, check.c accepts, and threads that run in
 * any order read what they are to read; each wait and barrier of tiled items, left out, is refused; each rule
 * of check.c is broken once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/backend.h"
#include "pipeline/build.h"
#include "pipeline/share.h"
#include "pipeline/synced.h"
#include "pipeline/trace.h"
#include "schedule/cover.h"
#include "unit_source.h"
#include "util/file.h"

#include <string.h>

enum { PROGRAMS = 4000, ALIKE = 500, SHARED_BYTES = 232448 };

static struct arena arena;
static struct text said = {.arena = &arena}; /* all that the checker said */
static struct answers *remembered;

static int setup(void **state)
{
    (void)state;
    remembered = answers_begin(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static unsigned long long seed;

static int chance(int n)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((seed >> 33) % (unsigned)n);
}

/* Errors that the checker finds, which are as many where it remembers what it has seen to be sound. */
static int errors_of(const struct pipeline *p, struct text *out)
{
    struct text again = {.arena = &arena};
    struct pipeline same = *p;
    same.synced = NULL;
    const int errors = pipeline_check(&same, SHARED_BYTES, out);
    same.synced = remembered;
    if (pipeline_check(&same, SHARED_BYTES, &again) != errors)
        fail_msg("what was remembered to be sound is not: %s", text_string(out));
    return errors;
}

/* What the checker says; NULL: nothing. */
static const char *complaint(const struct pipeline *p)
{
    struct text out = {.arena = &arena};
    const int errors = errors_of(p, &out);
    text_puts(&said, text_string(&out));
    return errors ? text_string(&out) : NULL;
}

static struct step take_out(struct pipeline *p, int step)
{
    const struct step was = p->step[step];
    memmove(p->step + step, p->step + step + 1, (size_t)(--p->steps - step) * sizeof was);
    return was;
}

static void put_back(struct pipeline *p, int step, struct step s)
{
    memmove(p->step + step + 1, p->step + step, (size_t)(p->steps++ - step) * sizeof s);
    p->step[step] = s;
}

static bool is_sync(const struct step *s)
{
    return s->kind == STEP_WAIT || s->kind == STEP_BARRIER;
}

/* ---- threads that run in any order ---- */

enum { ELEMENTS = 8, THREADS = 8, STAGES = 4, PLACES = 5, PENDING = 4096 };

struct memory {
    int stamp[PLACES][THREADS][STAGES][ELEMENTS]; /* of each scope's instance: the event that wrote it */
};

struct pending {
    int thread, group, *to, stamp; /* a copy that has not landed: to NULL, it has */
};

struct simulation {
    const struct pipeline *p;
    const struct trace *t;
    struct memory memory, right;      /* right: as if one step were done after the other */
    int at[THREADS], closed[THREADS]; /* event; groups */
    int threads, pendings;
    struct pending pending[PENDING];
    int (*expected)[2][3][ELEMENTS]; /* [events]: of each access, each version */
};

static int instance_of(const struct pipeline *p, const struct place *q, int thread)
{
    return q->scope == SCOPE_TEAM ? thread / (p->worker.lanes * p->worker.warps) : 0;
}

static int first_of(const struct pipeline *p, const struct access *a, int thread)
{
    return instance_of(p, &p->place[a->place], thread) * share_threads(p, p->place[a->place].scope);
}

/* Does the thread touch the element? Written without a look at share.c. */
static bool touches(const struct simulation *s, const struct access *a, int thread, int element, int event)
{
    const struct place *q = &s->p->place[a->place];
    const int mine = thread - first_of(s->p, a, thread), all = share_threads(s->p, q->scope);
    const struct field *f = &q->field[0];
    switch (a->who) {
    case WHO_COPY:
        return element / f->wide % all == mine;
    case WHO_LANE:
        return element / f->lane % all == mine;
    case WHO_KEPT:
        return (element * 5 + a->place) % all == mine;
    default: /* any one each, now this and then that */
        return a->touch == TOUCH_READ || (element * 7 + event * 3) % all == mine;
    }
}

static int *cell(struct memory *m, const struct pipeline *p, const struct access *a, int thread, int stage,
                 int element)
{
    const struct place *q = &p->place[a->place];
    return &m->stamp[share_leader(p, a->place)][instance_of(p, q, thread)][stage % q->stages][element];
}

/* What each event reads where one step is done after the other. */
static void expect_all(struct simulation *s)
{
    memset(&s->right, -1, sizeof s->right);
    s->expected = arena_array(&arena, (size_t)s->t->events + 1, sizeof *s->expected);
    for (int e = 0; e < s->t->events; e++) {
        const struct step *step = &s->p->step[s->t->event[e].step];
        for (int write = 0; write < 2; write++)
            for (int k = 0; k < step->accesses; k++) {
                const struct use u = s->t->use[s->t->event[e].use + k];
                for (int v = 0; v < u.n; v++)
                    for (int i = 0; i < ELEMENTS; i++) {
                        int *c = cell(&s->right, s->p, &step->access[k], 0, u.stage + v, i);
                        if (!write)
                            s->expected[e][k][v][i] = *c;
                        else if (step->access[k].touch != TOUCH_READ)
                            *c = e;
                    }
            }
    }
}

static void land(struct simulation *s, int i)
{
    if (s->pending[i].to)
        *s->pending[i].to = s->pending[i].stamp;
    s->pending[i].to = NULL;
}

/* A thread's part of an event; false: it has read what it was not to read. */
static bool run_part(struct simulation *s, int thread, int e)
{
    const struct step *step = &s->p->step[s->t->event[e].step];
    bool right = true;
    s->closed[thread] += step->kind == STEP_COMMIT;
    for (int i = 0; i < s->pendings && step->kind == STEP_WAIT; i++)
        if (s->pending[i].thread == thread && s->pending[i].group < s->closed[thread] - step->number)
            land(s, i);
    for (int k = 0; k < step->accesses; k++) {
        const struct access *a = &step->access[k];
        const struct use u = s->t->use[s->t->event[e].use + k];
        const bool async = step->kind == STEP_COPY && s->p->place[a->place].how == HOW_ASYNC;
        for (int v = 0; v < u.n; v++)
            for (int i = 0; i < ELEMENTS; i++) {
                int *c = cell(&s->memory, s->p, a, thread, u.stage + v, i);
                if (!touches(s, a, thread, i, e))
                    continue;
                right &= a->touch == TOUCH_WRITE || *c == s->expected[e][k][v][i];
                if (async && s->pendings < PENDING)
                    s->pending[s->pendings++] = (struct pending){thread, s->closed[thread], c, e};
                else if (a->touch != TOUCH_READ)
                    *c = e;
            }
    }
    return right;
}

/* Have all threads of the barrier come? */
static bool may_pass(const struct simulation *s, int thread, enum scope scope)
{
    const struct worker *w = &s->p->worker;
    const int n = scope == SCOPE_BLOCK ? s->threads : scope == SCOPE_TEAM ? w->lanes * w->warps : w->lanes;
    for (int i = thread / n * n; i < thread / n * n + n; i++)
        if (s->at[i] < s->at[thread])
            return false;
    return true;
}

/* One order of many: some thread goes on, for a while, until it has to wait; copies land when they like. */
static bool run_threads(const struct pipeline *p, const struct trace *t)
{
    static struct simulation s;
    s.p = p;
    s.t = t;
    s.threads = p->worker.lanes * p->worker.warps * p->worker.teams;
    s.pendings = 0;
    memset(&s.memory, -1, sizeof s.memory);
    memset(s.at, 0, sizeof s.at);
    memset(s.closed, 0, sizeof s.closed);
    expect_all(&s);
    for (int idle = 0; idle < 50 * THREADS;) {
        const int thread = chance(s.threads), burst = chance(4) ? chance(6) : t->events;
        idle++;
        for (int i = 0; i < burst && s.at[thread] < t->events; i++) {
            const struct step *step = &p->step[t->event[s.at[thread]].step];
            if (step->kind == STEP_BARRIER && !may_pass(&s, thread, scope_of(p, step->scope)))
                break;
            if (!run_part(&s, thread, s.at[thread]++))
                return false;
            idle = 0;
        }
        if (s.pendings && chance(3) == 0)
            land(&s, chance(s.pendings));
    }
    return true;
}

/* Does every order that is tried read what it is to read? */
static bool runs_right(const struct pipeline *p, int orders)
{
    bool right = true;
    for (int i = 0; i < orders && right; i++) {
        struct trace t;
        trace_run(&arena, p, chance(trace_count(p)), &t);
        right = run_threads(p, &t);
    }
    return right;
}

/* ---- random programs ---- */

static void add_access(struct pipeline *p, int place, int index, enum touch touch, enum who who)
{
    struct step *s = &p->step[p->steps - 1];
    struct access *all = NEW_ARRAY(&arena, struct access, s->accesses + 1);
    for (int i = 0; i < s->accesses; i++)
        all[i] = s->access[i];
    all[s->accesses++] = (struct access){place, index, touch, who};
    s->access = all;
}

/* Code that touches a place. */
static void add_code(struct pipeline *p, int place, int index, enum touch touch, enum who who, int skew)
{
    static struct call code = {.function = "code", .path = -1};
    build_step(p, STEP_NOTE)->note = "";
    p->step[p->steps - 1] = (struct step){.kind = STEP_CALL, .skew = skew, .call = &code};
    add_access(p, place, index, touch, who);
}

enum { EVERY = 2 };

static void random_accesses(struct pipeline *p, int place, int index, bool inner)
{
    static const enum who readers[] = {WHO_ANY, WHO_COPY, WHO_LANE};
    const struct place *q = &p->place[place];
    if (q->how == HOW_CODE && q->stages == 2 * EVERY) { /* turns' versions are collected */
        add_code(p, place, index, TOUCH_WRITE, readers[1 + chance(2)], 0);
        build_store(p, place, -1, 0);
        build_every(p, EVERY);
        return;
    }
    if (q->how == HOW_ASYNC)
        build_copy(p, place, index, chance(3));
    else
        add_code(p, place, index, TOUCH_WRITE, readers[1 + chance(2)],
                 inner && chance(4) == 0 ? -chance(2) : 0);
    for (int reads = 1 + chance(2); reads > 0; reads--) {
        const bool sum = inner && chance(4) == 0;
        add_code(p, place, index, sum ? TOUCH_ADD : TOUCH_READ, readers[sum ? 1 + chance(2) : chance(3)],
                 inner && !sum && chance(5) == 0 ? -1 : 0);
        const int other = chance(p->places);
        if (other != place && p->place[other].clock == q->clock && chance(2))
            add_access(p, other, chance(p->place[other].rate), TOUCH_READ, readers[chance(3)]);
    }
}

/* Some places take the bytes of the one before, instead of it; of some many versions are there, and are
 * stored together. */
static struct place random_place(const struct pipeline *p, const char *name, int unit, int owner)
{
    struct place q = {.name = name, .scope = SCOPE_TEAM, .alias = -1, .size = 4, .group = -1};
    const struct place *before = p->places ? &p->place[p->places - 1] : NULL;
    q.how = chance(3) ? HOW_ASYNC : HOW_CODE;
    q.clock = owner != LOOP_LAUNCH && chance(3) == 0 ? owner : unit;
    q.stages = 1 + chance(3);
    q.rate = q.clock == unit ? 1 + chance(3) : 1;
    if (q.how == HOW_CODE && q.clock == unit && chance(2)) {
        q.stages = 2 * EVERY;
        q.rate = 1;
    } else if (before && before->how == HOW_CODE && before->stages == 1 && before->rate == 1 && chance(2)) {
        q.how = HOW_CODE;
        q.stages = q.rate = 1;
        q.group = before->group;
        p->group[q.group].instead = true;
    }
    return q;
}

static void add_random_field(struct pipeline *p, int place)
{
    build_field(
        p, place,
        (struct field){
            .version = -1, .runs = 1, .length = ELEMENTS, .wide = 1 + chance(2), .lane = 1 + chance(2)});
}

/* Some steps of the innermost loop, from one that is not done later or earlier on, are not done in all of its
 * turns. */
static void leave_out_some(struct pipeline *p, int first)
{
    int end = first = first + chance(p->steps - first);
    while (end < p->steps && p->step[end].skew == 0 && !p->step[end].every)
        end++;
    if (end == first)
        return;
    for (int i = 0; i < 2; i++) /* there is room for what is put in */
        build_step(p, STEP_NOTE)->note = "";
    p->steps -= 2;
    put_back(p, first, (struct step){.kind = STEP_BLOCK, .number = -1, .below = 1});
    put_back(p, end + 1, (struct step){.kind = STEP_END});
}

/* One loop after the other, in which another place has the bytes of the first one. */
static void add_another_loop(struct pipeline *p)
{
    const int loop = build_loop(p, (struct loop){.name = "another"}), stages = p->place[0].stages;
    const int place = build_place(p, (struct place){.name = "e",
                                                    .scope = SCOPE_TEAM,
                                                    .how = HOW_ASYNC,
                                                    .clock = loop,
                                                    .rate = 1 + chance(3),
                                                    .stages = stages,
                                                    .alias = -1,
                                                    .group = p->place[0].group,
                                                    .size = 4});
    add_random_field(p, place);
    p->group[p->place[0].group].instead = true;
    build_step(p, STEP_FILL)->loop = loop;
    build_begin(p, loop);
    for (int k = 0; k < p->place[place].rate; k++)
        random_accesses(p, place, k, false);
    build_end(p);
}

static struct pipeline *random_program(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    const int owners = chance(3); /* loops around units */
    struct pipeline *p = build_pipeline(&arena, (struct worker){2, 1 + chance(2), 1 + chance(2), 1}, 1);
    const int range = owners > 1 ? build_loop(p, (struct loop){.name = "range"}) : LOOP_LAUNCH;
    const int owner = owners ? build_loop(p, (struct loop){.name = "owner", .outer = range}) : LOOP_LAUNCH;
    const int unit = build_loop(p, (struct loop){.name = "unit", .outer = owner, .end = 2 + chance(2)});
    for (int i = 0, n = 1 + chance(PLACES - 1); i < n; i++) {
        struct place q = random_place(p, names[i], unit, owner);
        if (q.group < 0)
            q.group = build_group(p, (struct group){.name = names[i], .alias = names[i]});
        add_random_field(p, build_place(p, q));
    }
    build_step(p, STEP_FILL)->loop = unit;
    if (owners > 1)
        build_begin(p, range);
    if (owners) {
        build_step(p, STEP_FILL)->loop = owner;
        build_begin(p, owner);
    }
    for (int i = 0; i < p->places; i++)
        if (p->place[i].clock != unit)
            random_accesses(p, i, 0, false);
    build_begin(p, unit);
    const int first = p->steps;
    for (int i = 0; i < p->places; i++)
        for (int k = 0; k < p->place[i].rate && p->place[i].clock == unit; k++)
            random_accesses(p, i, k, true);
    for (int k = p->steps - 1; k > first; k--) { /* in any order */
        const int j = first + chance(k - first + 1);
        const struct step s = p->step[k];
        p->step[k] = p->step[j];
        p->step[j] = s;
    }
    if (chance(3) == 0 && p->steps > first)
        leave_out_some(p, first);
    build_end(p);
    for (int i = 0; i < owners; i++)
        build_end(p);
    build_step(p, STEP_DRAIN)->loop = unit;
    if (chance(3) == 0)
        add_another_loop(p);
    pipeline_layout(p);
    return p;
}

/* Programs that read what is not made, or too late, are none. */
static bool is_no_program(const char *wrong)
{
    return wrong &&
           (strstr(wrong, "before it is made") || strstr(wrong, "later version") ||
            strstr(wrong, "long past") || strstr(wrong, ", where ") || strstr(wrong, "never stored"));
}

static bool same_steps(const struct pipeline *p, const struct pipeline *q)
{
    bool same = p->steps == q->steps;
    for (int i = 0; i < p->steps && same; i++) {
        const struct step *s = &p->step[i], *t = &q->step[i];
        same = s->kind == t->kind && s->number == t->number && s->scope == t->scope && s->every == t->every;
    }
    return same;
}

/* One of the random programs; of its first field a lane has so many elements, if any. */
static struct pipeline *program_of(int number, int lane, struct answers *synced)
{
    seed = (unsigned long long)number * 7919 + 17;
    struct pipeline *p = random_program();
    p->synced = synced;
    p->place[0].field[0].lane = lane ? lane : p->place[0].field[0].lane;
    share_forget(p);
    return p;
}

/* What is remembered of others is what would be found, also of those of the same shape whose threads touch
 * other elements. */
static void alike_have_the_same(void **state)
{
    (void)state;
    struct answers *synced = answers_begin(&arena);
    int differ = 0;
    for (int i = 0; i < ALIKE; i++) {
        const struct pipeline *before = NULL;
        for (int k = 0; k < 2 * 3; k++) { /* each twice */
            struct pipeline *p = program_of(i, k % 3, NULL), *q = program_of(i, k % 3, synced);
            const char *why = pipeline_sync(p), *same = pipeline_sync(q);
            if (why != same || !same_steps(p, q))
                fail_msg("program %d, lane %d: what was remembered is not what is found", i, k % 3);
            differ += before && !same_steps(before, p);
            before = p;
        }
    }
    assert_true(differ > 0);
}

static void random_programs_are_right(void **state)
{
    (void)state;
    int valid = 0, syncs = 0, needed = 0, seen = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        const struct arena_mark mark = arena_mark(&arena);
        seed = (unsigned long long)i * 7919 + 17;
        struct pipeline *p = random_program();
        const bool refused = pipeline_sync(p) != NULL;
        struct text out = {.arena = &arena};
        const int errors = refused ? 0 : errors_of(p, &out);
        if (!refused && !is_no_program(text_string(&out))) {
            valid++;
            if (errors)
                fail_msg("program %d: %s", i, text_string(&out));
            if (!runs_right(p, 4))
                fail_msg("program %d: threads read what they were not to read", i);
        }
        for (int k = 0; k < p->steps && !refused && !errors; k++) {
            if (!is_sync(&p->step[k]))
                continue;
            const struct step was = take_out(p, k);
            struct text without = {.arena = &arena};
            const bool wrong = errors_of(p, &without) > 0, right = runs_right(p, 4);
            if (!wrong && !right)
                fail_msg("program %d without step %d: accepted, and threads read what they were not to", i,
                         k);
            syncs++;
            needed += wrong;
            seen += !right;
            put_back(p, k, was);
        }
        arena_release(&arena, mark);
    }
    print_message("# %d programs are valid; of %d waits and barriers %d are needed, %d seen to be\n", valid,
                  syncs, needed, seen);
    assert_true(valid > PROGRAMS / 20);
    assert_true(100 * needed > 95 * syncs);
    assert_true(2 * seen > needed);
}

/* ---- tiled items ---- */

static const char tiled[] =
    "cgtp: 1\nname: t\nirreps: {x: 1x0e + 1x1o, y: 1x0e + 1x1o, z: 32x0e + 16x1o + 3x0e}\n"
    "instructions: fully_connected\nindex: {w: shared}\nkernels: [forward, backward, double_backward]\n"
    "tune: {sm_90: {evaluation: tiled%s}}\n";

static struct pipeline *tiled_program(int kernel, const char *knobs)
{
    const struct target target = {.device = device_named("sm_90"), .evaluations = backend_cuda.evaluations};
    const struct schedules *all =
        schedules_build(&arena, unit_plan(&arena, arena_printf(&arena, tiled, knobs)), &target);
    assert_non_null(all->kernel[kernel].schedule[0].pipeline);
    return all->kernel[kernel].schedule[0].pipeline;
}

static void tiled_items_need_each(void **state)
{
    (void)state;
    int syncs = 0;
    for (int kernel = 0; kernel < 3; kernel++)
        for (int k = 0; k < 3; k++) {
            static const char *const knobs[] = {"", ", stages: 2", ", stages: 3"};
            struct pipeline *p = tiled_program(kernel, knobs[k]);
            const char *wrong = complaint(p);
            if (wrong)
                fail_msg("%s", wrong);
            for (int i = 0; i < p->steps; i++) {
                if (!is_sync(&p->step[i]))
                    continue;
                const struct step was = take_out(p, i);
                if (!complaint(p))
                    fail_msg("kernel %d%s: accepted without step %d", kernel, knobs[k], i);
                put_back(p, i, was);
                syncs++;
            }
        }
    assert_true(syncs > 60);
}

/* ---- edges, and items that warps take ---- */

/* Specs of tests/simt/specs, with edges in any order, with atomic sums: those with warps of a group, with
 * edges side by side, with several path sets, with sums that carry their errors along; batches, with path
 * sets that not all channel blocks have, with items side by side, with several loops, with rows that are
 * widened. */
static const struct {
    const char *file, *more;
} pipelined[] = {{"conv_64", ""},
                 {"conv_128", ""},
                 {"conv_128", "edges: any\n"},
                 {"conv_narrow", ""},
                 {"conv_sums", ""},
                 {"conv_sums", "edges: any\n"},
                 {"conv_mixed", ""},
                 {"conv_alike", ""},
                 {"conv_narrow", "reduction: atomic\n"},
                 {"conv_64", "reduction: atomic\n"},
                 {"conv_64", "accumulate: compensated\n"},
                 {"batch_128", ""},
                 {"batch_mixed", ""},
                 {"batch_narrow", ""},
                 {"batch_phases", ""},
                 {"batch_phases", "precision: bfloat16\n"},
                 {"batch_plain", "precision: bfloat16\n"}};

static const struct schedules *pipelined_schedules(int i)
{
    size_t size;
    const char *path = arena_printf(&arena, "tests/simt/specs/%s.yaml", pipelined[i].file);
    const char *spec = file_read(&arena, path, SIZE_MAX, &size);
    assert_non_null(spec);
    const struct target target = {.device = device_named("sm_90"), .evaluations = backend_cuda.evaluations};
    return schedules_build(&arena, unit_plan(&arena, arena_printf(&arena, "%s%s", spec, pipelined[i].more)),
                           &target);
}

/* Nothing is left out of those of a set's pipeline without a complaint; how many there are. */
static int set_needs_each(struct pipeline *p, const char *name)
{
    int syncs = 0;
    const char *wrong = complaint(p);
    if (wrong)
        fail_msg("%s: %s", name, wrong);
    for (int i = 0; i < p->steps; i++) {
        if (!is_sync(&p->step[i]))
            continue;
        const struct step was = take_out(p, i);
        if (!complaint(p))
            fail_msg("%s: accepted without step %d, a %s before %s", name, i, step_words[was.kind],
                     step_words[p->step[i].kind]);
        put_back(p, i, was);
        syncs++;
    }
    return syncs;
}

static void pipelined_need_each(void **state)
{
    (void)state;
    int syncs = 0, pipelines = 0;
    for (size_t i = 0; i < sizeof pipelined / sizeof *pipelined; i++) {
        const struct schedules *all = pipelined_schedules((int)i);
        for (int k = 0; k < all->plan->kernels; k++)
            for (int s = 0; s < all->kernel[k].schedules; s++)
                for (struct pipeline *p = all->kernel[k].schedule[s].pipeline; p; p = p->next, pipelines++)
                    syncs += p->walk.room || p->walk.warps ? set_needs_each(p, pipelined[i].file) : 0;
    }
    print_message("# %d waits and barriers of %d pipelines\n", syncs, pipelines);
    assert_true(pipelines > 40);
    assert_true(syncs > 3 * pipelines);
}

/* ---- mutants ---- */

/* A ring of copies two turns ahead, of which one turn's are summed into a row, which is stored; and a row of
 * an owner that is brought for it. */
static struct pipeline *small_program(void)
{
    struct pipeline *p = build_pipeline(&arena, (struct worker){32, 1, 2, 1}, 1);
    const int owner = build_loop(p, (struct loop){.name = "owner"});
    const int unit = build_loop(p, (struct loop){.name = "unit", .outer = owner});
    static const struct {
        const char *name;
        bool of_owner, made;
        int stages;
    } of[] = {{"x", false, false, 3}, {"y", true, false, 2}, {"z", false, true, 1}};
    for (int i = 0; i < 3; i++) {
        const int group = build_group(p, (struct group){.name = of[i].name, .alias = of[i].name});
        build_place(p, (struct place){.name = of[i].name,
                                      .scope = SCOPE_TEAM,
                                      .how = of[i].made ? HOW_CODE : HOW_ASYNC,
                                      .clock = of[i].of_owner ? owner : unit,
                                      .rate = 1,
                                      .stages = of[i].stages,
                                      .alias = -1,
                                      .group = group,
                                      .size = 4});
        build_field(p, i, (struct field){.version = -1, .runs = 1, .length = 64, .wide = 4, .lane = 2});
    }
    build_step(p, STEP_FILL)->loop = unit;
    build_step(p, STEP_FILL)->loop = owner;
    build_begin(p, owner);
    build_copy(p, 1, -1, 1);
    build_begin(p, unit);
    build_copy(p, 0, -1, 2);
    add_code(p, 2, -1, TOUCH_WRITE, WHO_LANE, 0);
    add_access(p, 0, -1, TOUCH_READ, WHO_LANE);
    add_access(p, 1, -1, TOUCH_READ, WHO_ANY);
    build_store(p, 2, -1, 0);
    build_end(p);
    build_end(p);
    pipeline_layout(p);
    assert_null(pipeline_sync(p));
    return p;
}

static int find(const struct pipeline *p, enum step_kind kind, int number)
{
    for (int i = 0; i < p->steps; i++)
        if (p->step[i].kind == kind && number-- == 0)
            return i;
    fail_msg("no step of kind %d", (int)kind);
    return -1;
}

static void expect(const struct pipeline *p, const char *message)
{
    const char *wrong = complaint(p);
    if (!wrong || !strstr(wrong, message))
        fail_msg("wanted: %s\nfound: %s", message, wrong ? wrong : "nothing");
}

/* The small program, in which one thing is wrong. */
#define MUTANT(edit, message)                                                                                \
    do {                                                                                                     \
        struct pipeline *p = small_program();                                                                \
        (void)(edit);                                                                                        \
        expect(p, message);                                                                                  \
    } while (0)

static void mutants_are_refused(void **state)
{
    (void)state;
    assert_null(complaint(small_program()));
    MUTANT(take_out(p, find(p, STEP_WAIT, 0)), "copy overwrites y, to which a copy is under way");
    MUTANT(take_out(p, find(p, STEP_WAIT, 1)), "code reads x, whose copies nobody has waited for");
    MUTANT(p->step[find(p, STEP_WAIT, 1)].number++, "code reads x, whose copies nobody has waited for");
    MUTANT(take_out(p, find(p, STEP_COMMIT, 0)), "whose copies nobody has waited for");
    for (int i = 0; i < 2; i++)
        MUTANT(take_out(p, find(p, STEP_BARRIER, i)), "");
    MUTANT(take_out(p, find(p, STEP_BARRIER, 0)), "without a barrier of its warp since it came");
    MUTANT(take_out(p, find(p, STEP_BARRIER, 1)), "which others of the warp may still read");
    MUTANT(p->step[find(p, STEP_COPY, 1)].skew++, "after a later version took its stage");
    MUTANT(p->step[find(p, STEP_COPY, 1)].skew--, "whose copies nobody has waited for");
    MUTANT(p->place[0].stages--, "after a later version took its stage");
    MUTANT(take_out(p, find(p, STEP_FILL, 0)), "before it is made");
    MUTANT(take_out(p, find(p, STEP_LAUNCH_WAIT, 0)),
           "copy touches memory before the launch before has ended");
    MUTANT(put_back(p, find(p, STEP_STORE, 0), p->step[find(p, STEP_STORE, 0)]), "z is stored twice");
    MUTANT(p->step[find(p, STEP_STORE, 0)].skew = 1, "store reads z before it is made");
    MUTANT(p->step[find(p, STEP_STORE, 0)].skew = -1, "which was never stored");
    MUTANT((p->step[find(p, STEP_STORE, 0)].skew = -1, p->place[2].stages = 2),
           "the last of z is never stored");
    MUTANT((put_back(p, find(p, STEP_STORE, 0), p->step[find(p, STEP_CALL, 0)]),
            p->step[find(p, STEP_CALL, 1)].skew = -1),
           "code makes a version of z that is long past");
    MUTANT(p->step[find(p, STEP_BARRIER, 0)].scope = SCOPE_BLOCK,
           "a barrier of the block in a loop that teams turn differently");
    MUTANT(p->step[find(p, STEP_CALL, 0)].access[1].index = 1, "code touches version 1 of x");
    MUTANT((p->step[find(p, STEP_CALL, 0)].access[1].place = 2,
            p->step[find(p, STEP_CALL, 0)].access[1].who = WHO_ANY),
           "threads of code meet in z");
    MUTANT(p->place[0].field[0].at = 8, "version -1 of x is longer than its rows");
    MUTANT(p->of_team.field[1].at = 0, "shared memory: ");
    MUTANT(p->of_block.bytes = SHARED_BYTES + 128, "that there are");
}

/* Two rows that have the same bytes, one after the other; the second one is read by some threads of a warp.
 */
static struct pipeline *unsynced_program(void)
{
    static const char *const names[] = {"a", "b"};
    struct pipeline *p = build_pipeline(&arena, (struct worker){32, 1, 1, 1}, 1);
    const int unit = build_loop(p, (struct loop){.name = "unit"});
    const int group = build_group(p, (struct group){.name = "both", .instead = true});
    build_begin(p, unit);
    for (int i = 0; i < 2; i++) {
        struct place q = {
            .name = names[i], .scope = SCOPE_TEAM, .how = HOW_CODE, .rate = 1, .alias = -1, .size = 4};
        q.clock = unit;
        q.group = group;
        q.stages = 1;
        build_field(p, build_place(p, q),
                    (struct field){.version = -1, .runs = 1, .length = 64, .wide = 1, .lane = 2});
        add_code(p, i, -1, TOUCH_WRITE, WHO_LANE, 0);
        if (i == 1)
            build_block(p, -1)->note = "some";
        add_code(p, i, -1, TOUCH_READ, WHO_ANY, 0);
    }
    build_end(p);
    build_end(p);
    pipeline_layout(p);
    return p;
}

static struct pipeline *shared_program(void)
{
    struct pipeline *p = unsynced_program();
    assert_null(pipeline_sync(p));
    return p;
}

/* What was found for one is there for the next, if the same threads touch the same elements. */
static void alike_are_found(void **state)
{
    (void)state;
    struct answers *synced = answers_begin(&arena);
    struct pipeline *p = unsynced_program(), *q = unsynced_program();
    p->synced = q->synced = synced;
    assert_null(synced_find(p, false));
    assert_null(pipeline_sync(p));
    assert_non_null(synced_find(q, false));
    q->place[0].field[0].lane = 64; /* of a run: one thread has all */
    share_forget(q);
    assert_null(synced_find(q, false));
}

static void bytes_are_shared(void **state)
{
    (void)state;
    assert_null(complaint(shared_program()));
    for (int i = 0; i < 4; i++) { /* each write and read behind another one */
        struct pipeline *p = shared_program();
        take_out(p, find(p, STEP_BARRIER, i));
        assert_non_null(complaint(p));
    }
    struct pipeline *p = shared_program();
    const struct step read = take_out(p, find(p, STEP_CALL, 1));
    put_back(p, find(p, STEP_CALL, 2), read);
    expect(p, "code reads a, where b is");
    p = shared_program();
    const struct step barrier = take_out(p, find(p, STEP_BARRIER, 3));
    assert_int_equal(p->step[find(p, STEP_BLOCK, 0)].number, -1);
    put_back(p, find(p, STEP_BLOCK, 0) + 1, barrier);
    expect(p, "a barrier where only some threads come");
}

/* Two pipelines that differ in what a run depends on are not of one shape. */
#define OTHER_SHAPE_OF(program, edit)                                                                        \
    do {                                                                                                     \
        struct pipeline *p = program;                                                                        \
        struct answers before = {.arena = &arena}, after = before;                                           \
        synced_ask(&before, p, false);                                                                       \
        (void)(edit);                                                                                        \
        synced_ask(&after, p, false);                                                                        \
        assert_memory_not_equal(&after.asked, &before.asked, sizeof after.asked);                            \
    } while (0)

#define OTHER_SHAPE(edit) OTHER_SHAPE_OF(small_program(), edit)

static void shapes_differ(void **state)
{
    (void)state;
    OTHER_SHAPE_OF(shared_program(), p->step[find(p, STEP_BLOCK, 0)].note = NULL);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].kind = STEP_NOTE);
    OTHER_SHAPE(p->step[find(p, STEP_FILL, 0)].loop++);
    OTHER_SHAPE(p->step[find(p, STEP_COPY, 0)].skew++);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].every = 2);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].below = 1);
    OTHER_SHAPE(p->step[find(p, STEP_WAIT, 0)].number++);
    OTHER_SHAPE(p->step[find(p, STEP_BARRIER, 0)].scope++);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].accesses--);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].access[0].place++);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].access[0].index++);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].access[0].touch = TOUCH_ADD);
    OTHER_SHAPE(p->step[find(p, STEP_CALL, 0)].access[0].who = WHO_RUN);
    OTHER_SHAPE(p->loop[2].outer++);
    OTHER_SHAPE(p->loop[2].counted = true);
    OTHER_SHAPE(p->loop[2].first++);
    OTHER_SHAPE(p->loop[2].end++);
    OTHER_SHAPE(p->loop[2].by++);
    OTHER_SHAPE(p->place[0].how = HOW_LOAD);
    OTHER_SHAPE(p->place[0].clock--);
    OTHER_SHAPE(p->place[0].within--);
    OTHER_SHAPE(p->place[0].rate++);
    OTHER_SHAPE(p->place[0].stages++);
    OTHER_SHAPE(p->place[1].alias = 0);
    OTHER_SHAPE((p->place[1].group = p->place[0].group, p->group[p->place[0].group].instead = true));
    OTHER_SHAPE(p->worker.warps = 2);
    OTHER_SHAPE(p->worker.teams = 1);
}

/* What a plan cannot be made right by. */
static void some_are_refused_by_sync(void **state)
{
    (void)state;
    struct pipeline *p = small_program();
    p->place[1].scope = SCOPE_BLOCK;
    share_forget(p);
    assert_string_equal(pipeline_sync(p), "teams share a place in a loop that they turn differently");
}

/* Every rule of the checker is broken by a test above. */
static void every_rule_is_broken(void **state)
{
    (void)state;
    size_t size;
    int rules = 0;
    const char *source = file_read(&arena, "cgtpgen/pipeline/check.c", SIZE_MAX, &size);
    assert_non_null(source);
    for (const char *p = source; (p = strstr(p, "report(m,"));) {
        p = strchr(p, '"') + 1;
        const char *longest = p; /* what stands between two %s, at its longest */
        size_t most = 0;
        for (const char *end = p; *p != '"'; p = end + (*end == '%' ? 2 : 0)) {
            end = p + strcspn(p, "%\"");
            if ((size_t)(end - p) > most) {
                most = (size_t)(end - p);
                longest = p;
            }
        }
        if (!strstr(text_string(&said), arena_string(&arena, longest, most)))
            fail_msg("no test breaks the rule: %.*s", (int)most, longest);
        rules++;
    }
    assert_true(rules >= 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_are_right), cmocka_unit_test(tiled_items_need_each),
        cmocka_unit_test(pipelined_need_each),       cmocka_unit_test(bytes_are_shared),
        cmocka_unit_test(mutants_are_refused),       cmocka_unit_test(shapes_differ),
        cmocka_unit_test(some_are_refused_by_sync),  cmocka_unit_test(alike_have_the_same),
        cmocka_unit_test(alike_are_found),           cmocka_unit_test(every_rule_is_broken), /* last */
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
