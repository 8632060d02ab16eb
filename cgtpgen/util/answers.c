/* answers.c - see answers.h. */
#include "util/answers.h"

#include <string.h>

void question_word(struct question *q, int64_t word)
{
    q->word = arena_grow(q->arena, q->word, q->n, &q->capacity, sizeof *q->word);
    q->word[q->n++] = word;
}

void question_pointer(struct question *q, const void *p)
{
    question_word(q, (int64_t)(intptr_t)p);
}

static size_t bytes(const struct question *q)
{
    return (size_t)q->n * sizeof *q->word;
}

void *answers_find(const struct answers *k, const struct question *q)
{
    for (int i = hash_first(&k->hash, hash_bytes(0, q->word, bytes(q))); i >= 0; i = hash_next(&k->hash, i))
        if (k->answer[i].of.n == q->n && memcmp(k->answer[i].of.word, q->word, bytes(q)) == 0)
            return k->answer[i].is;
    return NULL;
}

void answers_add(struct answers *k, const struct question *q, void *answer)
{
    const struct question of = {.n = q->n, .word = arena_copy(k->arena, q->word, bytes(q))};
    k->hash.arena = k->arena;
    hash_add(&k->hash, hash_bytes(0, q->word, bytes(q)));
    k->answer = arena_grow(k->arena, k->answer, k->n, &k->capacity, sizeof *k->answer);
    k->answer[k->n++] = (struct answer){of, answer};
}
