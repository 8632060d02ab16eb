/* share.c - see share.h. An access says of each element of a version which thread touches it; two accesses
 * are compared element by element.
 */
#include "pipeline/share.h"

#include "util/hash.h"

#include <assert.h>
#include <stdint.h>

const char *const scope_words[SCOPES] = {"lane", "warp", "team", "block"};
const char *const who_words[WHO_COUNT] = {"any",           "copies",   "item = lane", "channels of a lane",
                                          "the same lane", "all teams"};

struct meets {
    struct hash hash;
    int n, capacity;
    struct share_pair *meet;
    int elements, *thread[2]; /* room for threads_of of two accesses */
};

enum scope scope_of(const struct pipeline *p, enum scope s)
{
    if (s == SCOPE_BLOCK && p->worker.teams == 1)
        s = SCOPE_TEAM;
    if (s == SCOPE_TEAM && p->worker.warps == 1)
        s = SCOPE_WARP;
    return s;
}

int share_leader(const struct pipeline *p, int place)
{
    const struct place *q = &p->place[place];
    int first = 0;
    if (!p->groups || !p->group[q->group].instead)
        return q->alias >= 0 ? q->alias : place;
    while (p->place[first].group != q->group)
        first++;
    return first;
}

bool share_holds(const struct pipeline *p, int had, int place)
{
    return had == place || p->place[had].alias == place || p->place[place].alias == had ||
           (p->place[had].alias >= 0 && p->place[had].alias == p->place[place].alias);
}

int share_threads(const struct pipeline *p, enum scope scope)
{
    const struct worker *w = &p->worker;
    return w->lanes * (scope >= SCOPE_TEAM ? w->warps : 1) * (scope == SCOPE_BLOCK ? w->teams : 1);
}

enum { NONE = -1, EACH = -2, KEPT = -3 }; /* nobody; any thread; one that is always the same */

static int at_most(int n, int most)
{
    return n < most ? n : most;
}

/* Elements of a run in pieces of `wide`, which `threads` threads from `first` on take in turn. */
static void deal(int *thread, int length, int wide, int first, int threads)
{
    for (int at = 0, turn = 0; at < length; turn = turn + 1 < threads ? turn + 1 : 0)
        for (int end = at_most(length, at + wide); at < end; at++)
            thread[at] = first + turn;
}

/* The threads that touch the elements of a run. */
static void run_threads(const struct field *f, enum who who, bool spread, int threads, int run, int *thread)
{
    if (who == WHO_LANE) {
        deal(thread, f->length, f->lane, 0, threads);
    } else if (who == WHO_COPY && !spread) {
        const int per = at_most((f->length + f->wide - 1) / f->wide, threads), abreast = threads / per;
        deal(thread, f->length, f->wide, run % abreast * per, per);
    } else { /* copies of several runs at a time are anybody's */
        const int all = who == WHO_RUN ? run % threads : who == WHO_KEPT ? KEPT : EACH;
        for (int at = 0; at < f->length; at++)
            thread[at] = all;
    }
}

static int apart_of(const struct place *q, const struct field *f)
{
    return f->apart ? f->apart : q->pitch;
}

/* One past the last element of a version. */
static int elements_of(const struct place *q)
{
    int n = 0;
    for (int i = 0; i < q->fields; i++) {
        const struct field *f = &q->field[i];
        const int end = f->at + (f->runs - 1) * apart_of(q, f) + f->length;
        n = n > end ? n : end;
    }
    return n;
}

/* Of each of n elements the thread that the access has for it. */
static const int *threads_of(const struct pipeline *p, const struct access *a, int n, int *thread)
{
    const struct place *q = &p->place[a->place];
    const int threads = share_threads(p, q->scope);
    for (int i = 0; i < n; i++)
        thread[i] = NONE;
    for (int i = 0; i < q->fields; i++) {
        const struct field *f = &q->field[i];
        if (f->version >= 0 && a->index >= 0 && f->version != a->index)
            continue;
        for (int run = 0; run < f->runs; run++)
            run_threads(f, a->who, p->spreads && f->spread >= 0, threads, run,
                        thread + f->at + run * apart_of(q, f));
    }
    return thread;
}

static void make_room(const struct pipeline *p, int n)
{
    struct meets *m = p->meets;
    for (int i = 0; i < 2 && n > m->elements; i++)
        m->thread[i] = NEW_ARRAY(p->arena, int, 2 * n);
    m->elements = n > m->elements ? 2 * n : m->elements;
}

/* Compared element by element. */
static enum scope meet(const struct pipeline *p, const struct access *a, const struct access *b)
{
    const struct place *q = &p->place[a->place], *r = &p->place[b->place];
    const enum scope most = q->scope > r->scope ? q->scope : r->scope;
    if (a->who == WHO_TEAMS || b->who == WHO_TEAMS)
        return SCOPE_BLOCK;
    if (a->who == WHO_KEPT && b->who == WHO_KEPT && a->place == b->place)
        return SCOPE_LANE;
    const int n = elements_of(q) > elements_of(r) ? elements_of(q) : elements_of(r);
    make_room(p, n);
    const int *s = threads_of(p, a, n, p->meets->thread[0]), *t = threads_of(p, b, n, p->meets->thread[1]);
    enum scope scope = SCOPE_LANE;
    for (int i = 0; i < n && scope < most; i++) {
        if (s[i] == NONE || t[i] == NONE || (s[i] >= 0 && s[i] == t[i]))
            continue;
        const bool warp = s[i] >= 0 && t[i] >= 0 && s[i] / p->worker.lanes == t[i] / p->worker.lanes;
        scope = !warp ? most : scope > SCOPE_WARP ? scope : SCOPE_WARP;
    }
    return scope;
}

void share_forget(struct pipeline *p)
{
    p->meets = NEW(p->arena, struct meets);
    p->meets->hash.arena = p->arena;
}

enum { PLACES = 1 << 13, INDICES = 1 << 16, WHOS = 1 << 3 };

/* Of 32 bits. */
static uint64_t key_of(const struct access *a)
{
    static_assert((int)WHO_COUNT <= (int)WHOS, "each has a number");
    assert(a->place < PLACES && a->index + 1 < INDICES);
    return ((uint64_t)a->place * INDICES + (uint64_t)(a->index + 1)) * WHOS + (uint64_t)a->who;
}

static struct access access_of(uint64_t key)
{
    return (struct access){.place = (int)(key / WHOS / INDICES),
                           .index = (int)(key / WHOS % INDICES) - 1,
                           .who = (enum who)(key % WHOS)};
}

enum scope share_scope(const struct pipeline *p, const struct access *a, const struct access *b)
{
    struct meets *m = p->meets;
    const uint64_t key = key_of(a) << 32 | key_of(b);
    const uint32_t hash = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
    for (int i = hash_first(&m->hash, hash); i >= 0; i = hash_next(&m->hash, i))
        if (m->meet[i].key == key)
            return m->meet[i].scope;
    const enum scope scope = scope_of(p, meet(p, a, b));
    hash_add(&m->hash, hash);
    *APPEND(p->arena, m->meet, m->n, m->capacity) = (struct share_pair){key, scope};
    return scope;
}

int share_pairs(struct arena *a, const struct pipeline *p, struct share_pair **pair)
{
    *pair = arena_copy(a, p->meets->meet, (size_t)p->meets->n * sizeof **pair);
    return p->meets->n;
}

bool share_as(const struct pipeline *p, int n, const struct share_pair *pair)
{
    bool same = true;
    for (int i = 0; i < n && same; i++) {
        const struct access a = access_of(pair[i].key >> 32), b = access_of(pair[i].key & UINT32_MAX);
        same = share_scope(p, &a, &b) == pair[i].scope;
    }
    return same;
}
