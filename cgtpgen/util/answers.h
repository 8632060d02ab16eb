/* answers.h - what was worked out before, by the numbers that it was worked out of.
 *
 *     answers_ask(k);
 *     answers_word(k, ..); ..           all that the answer depends on
 *     answer = answers_find(k);
 *     if (!answer) { work it out in k->arena; answers_add(k, answer); }
 */
#ifndef CGTPGEN_ANSWERS_H
#define CGTPGEN_ANSWERS_H

#include "util/hash.h"

/* What a question depends on, in 128 bits: of two with the same one is taken to be the other. */
struct question {
    uint64_t digest[2];
};

/* Answers are in its arena, too, which answers_begin makes a part of another. */
struct answers {
    struct arena *arena;
    struct question asked; /* the one that is asked now */
    struct hash hash;      /* of which there are as many as answers */
    int capacity;
    struct answer {
        struct question of;
        void *is;
    } * answer;
};

struct answers *answers_begin(struct arena *);

/* Another question; what it depends on, pointers only to what stays as long as answers do. */
void answers_ask(struct answers *);
void answers_word(struct answers *, int64_t);
void answers_words(struct answers *, size_t n, const int *);
void answers_pointer(struct answers *, const void *);

/* So many ints. */
#define ANSWERS_WORDS(answers, ...)                                                                          \
    answers_words(answers, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__})

/* The answer; NULL: there is none yet. */
void *answers_find(const struct answers *);
void answers_add(struct answers *, void *answer);

/* All of them, and their memory. */
void answers_forget(struct answers *);

#endif
