/* answers.c - see answers.h. */
#include "util/answers.h"

#include <string.h>

void answers_ask(struct answers *k)
{
    k->asked.n = 0;
}

void answers_word(struct answers *k, int64_t word)
{
    struct question *q = &k->asked;
    q->word = arena_grow(k->arena, q->word, q->n, &q->capacity, sizeof *q->word);
    q->word[q->n++] = word;
}

void answers_pointer(struct answers *k, const void *p)
{
    answers_word(k, (int64_t)(intptr_t)p);
}

static size_t bytes(const struct question *q)
{
    return (size_t)q->n * sizeof *q->word;
}

static uint32_t key(const struct question *q)
{
    uint64_t key = 0;
    for (int i = 0; i < q->n; i++) {
        key = (key ^ (uint64_t)q->word[i]) * 0x9e3779b97f4a7c15u;
        key ^= key >> 32;
    }
    return (uint32_t)key;
}

void *answers_find(const struct answers *k)
{
    const struct question *q = &k->asked;
    for (int i = hash_first(&k->hash, key(q)); i >= 0; i = hash_next(&k->hash, i))
        if (k->answer[i].of.n == q->n && memcmp(k->answer[i].of.word, q->word, bytes(q)) == 0)
            return k->answer[i].is;
    return NULL;
}

void answers_add(struct answers *k, void *answer)
{
    const struct question *q = &k->asked;
    const struct question of = {.n = q->n, .word = arena_copy(k->arena, q->word, bytes(q))};
    k->hash.arena = k->arena;
    hash_add(&k->hash, key(q));
    k->answer = arena_grow(k->arena, k->answer, k->n, &k->capacity, sizeof *k->answer);
    k->answer[k->n++] = (struct answer){of, answer};
}

void answers_forget(struct answers *k)
{
    arena_empty(k->arena);
    *k = (struct answers){.arena = k->arena};
}
