/* answers.h - what was worked out before, by the numbers that it was worked out of. */
#ifndef CGTPGEN_ANSWERS_H
#define CGTPGEN_ANSWERS_H

#include "util/hash.h"

/* All that an answer depends on, word by word; pointers only to what stays as long as answers do.
 * Zero-initialise and set the arena. */
struct question {
    struct arena *arena;
    int n, capacity;
    int64_t *word;
};

void question_word(struct question *, int64_t);
void question_pointer(struct question *, const void *);

/* Zero-initialise and set the arena, in which answers are, too. */
struct answers {
    struct arena *arena;
    struct hash hash;
    int n, capacity;
    struct answer {
        struct question of;
        void *is;
    } * answer;
};

/* The answer; NULL: there is none yet. */
void *answers_find(const struct answers *, const struct question *);
void answers_add(struct answers *, const struct question *, void *answer);

#endif
