/* synced.c - see synced.h. What sync.c decides follows from the order in which loops turn, versions and
 * accesses, and from the scopes in which accesses meet. Which of these it asks for follows from the shape
 * alone, so that a pipeline of the same shape with the same answers has the same waits and barriers.
 */
#include "pipeline/synced.h"
#include "pipeline/share.h"
#include "util/hash.h"

#include <string.h>

struct remembered {
    struct shape shape;
    int pairs;
    struct share_pair *pair;
    struct decision decision;
};

struct memory {
    struct hash hash;
    int n, capacity;
    struct remembered *one;
};

struct synced {
    struct arena *arena;
    struct memory decided, sound;
};

struct synced *synced_begin(struct arena *a)
{
    struct synced *all = NEW(a, struct synced);
    all->arena = arena_part(a);
    all->decided.hash.arena = all->sound.hash.arena = all->arena;
    return all;
}

/* ---- shapes ---- */

enum { OF_PIPELINE = 5, OF_STEP = 8, OF_ACCESS = 4, OF_LOOP = 5, OF_PLACE = 7 }; /* words */

static void put(struct shape *s, int n, const int *word)
{
    memcpy(s->word + s->n, word, (size_t)n * sizeof *word);
    s->n += n;
}

static void put_step(struct shape *shape, const struct step *s)
{
    const bool joins = s->kind == STEP_MEET || s->kind == STEP_BARRIER;
    const int of_step[OF_STEP] = {(int)s->kind, s->loop,
                                  s->skew,      s->every,
                                  s->below,     s->kind == STEP_WAIT ? s->number : 0,
                                  s->accesses,  joins ? (int)s->scope : s->kind == STEP_BLOCK && s->note};
    put(shape, OF_STEP, of_step);
    for (int i = 0; i < s->accesses; i++) {
        const struct access *q = &s->access[i];
        put(shape, OF_ACCESS, (int[]){q->place, q->index, (int)q->touch, (int)q->who});
    }
}

struct shape shape_of(struct arena *a, const struct pipeline *p)
{
    int words = OF_PIPELINE + OF_LOOP * p->loop_count + OF_PLACE * p->places;
    for (int i = 0; i < p->steps; i++)
        words += OF_STEP + OF_ACCESS * p->step[i].accesses;
    struct shape s = {.word = NEW_ARRAY(a, int, words)};
    put(&s, OF_PIPELINE,
        (int[]){p->steps, p->loop_count, p->places, (int)scope_of(p, SCOPE_TEAM),
                (int)scope_of(p, SCOPE_BLOCK)});
    for (int i = 0; i < p->steps; i++)
        put_step(&s, &p->step[i]);
    for (int i = 0; i < p->loop_count; i++) {
        const struct loop *l = &p->loop[i];
        put(&s, OF_LOOP, (int[]){l->outer, l->counted, l->first, l->end, l->by});
    }
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        put(&s, OF_PLACE,
            (int[]){share_leader(p, i), q->alias, q->how == HOW_ASYNC, q->clock, q->within, q->rate,
                    q->stages});
    }
    return s;
}

static uint32_t key_of(const struct shape *s)
{
    return hash_bytes(0, s->word, (size_t)s->n * sizeof *s->word);
}

/* ---- memory ---- */

static const struct remembered *find(const struct memory *m, const struct shape *shape,
                                     const struct pipeline *p)
{
    for (int i = hash_first(&m->hash, key_of(shape)); i >= 0; i = hash_next(&m->hash, i)) {
        const struct remembered *k = &m->one[i];
        if (k->shape.n == shape->n &&
            memcmp(k->shape.word, shape->word, (size_t)shape->n * sizeof *shape->word) == 0 &&
            share_as(p, k->pairs, k->pair))
            return k;
    }
    return NULL;
}

static void add(struct arena *a, struct memory *m, const struct shape *shape, const struct pipeline *p,
                const struct decision *d)
{
    struct remembered k = {.shape = {.n = shape->n}, .decision = *d};
    k.shape.word = arena_copy(a, shape->word, (size_t)shape->n * sizeof *shape->word);
    k.pairs = share_pairs(a, p, &k.pair);
    m->one = arena_grow(a, m->one, m->n, &m->capacity, sizeof k);
    m->one[m->n++] = k;
    hash_add(&m->hash, key_of(shape)); /* where memory does not suffice for that, nothing is found */
}

const struct decision *synced_find(const struct synced *all, const struct shape *shape,
                                   const struct pipeline *p)
{
    const struct remembered *k = find(&all->decided, shape, p);
    return k ? &k->decision : NULL;
}

void synced_add(struct synced *all, const struct shape *shape, const struct pipeline *p,
                const struct decision *d)
{
    struct arena *a = all->arena;
    const size_t n = (size_t)p->steps;
    add(a, &all->decided, shape, p,
        &(struct decision){d->why, arena_copy(a, d->barrier, n * sizeof *d->barrier),
                           arena_copy(a, d->idle, n * sizeof *d->idle),
                           arena_copy(a, d->wait, n * sizeof *d->wait)});
}

bool synced_is_sound(const struct synced *all, const struct shape *shape, const struct pipeline *p)
{
    return find(&all->sound, shape, p);
}

void synced_add_sound(struct synced *all, const struct shape *shape, const struct pipeline *p)
{
    add(all->arena, &all->sound, shape, p, &(struct decision){0});
}
