/* answers.c - see answers.h. */
#include "util/answers.h"

struct answers *answers_begin(struct arena *a)
{
    struct answers *k = NEW(a, struct answers);
    k->arena = arena_part(a);
    return k;
}

void answers_ask(struct answers *k)
{
    k->asked = (struct question){{1, 2}};
}

void answers_word(struct answers *k, int64_t word)
{
    uint64_t *d = k->asked.digest;
    d[0] = (d[0] ^ (uint64_t)word) * 0x9e3779b97f4a7c15u;
    d[0] ^= d[0] >> 32;
    d[1] = (d[1] + (uint64_t)word) * 0xc2b2ae3d27d4eb4fu;
    d[1] ^= d[1] >> 29;
}

void answers_words(struct answers *k, size_t n, const int *word)
{
    for (size_t i = 0; i < n; i++)
        answers_word(k, word[i]);
}

void answers_pointer(struct answers *k, const void *p)
{
    answers_word(k, (int64_t)(intptr_t)p);
}

void *answers_find(const struct answers *k)
{
    const uint64_t *d = k->asked.digest;
    for (int i = hash_first(&k->hash, (uint32_t)d[0]); i >= 0; i = hash_next(&k->hash, i))
        if (k->answer[i].of.digest[0] == d[0] && k->answer[i].of.digest[1] == d[1])
            return k->answer[i].is;
    return NULL;
}

void answers_add(struct answers *k, void *answer)
{
    k->hash.arena = k->arena;
    k->answer = arena_grow(k->arena, k->answer, k->hash.n, &k->capacity, sizeof *k->answer);
    k->answer[k->hash.n] = (struct answer){k->asked, answer};
    hash_add(&k->hash, (uint32_t)k->asked.digest[0]); /* where memory does not suffice, it is as it was */
}

void answers_forget(struct answers *k)
{
    arena_empty(k->arena);
    *k = (struct answers){.arena = k->arena};
}
