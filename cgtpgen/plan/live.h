/* live.h - values that are alive at once, where code is executed in the order in which it is printed.
 *
 * A value is alive from the step that first touches it, which makes or loads it, to the last one that does:
 * so many registers hold it as it has words. The order is the printed one but for two things that compilers
 * do: what is made of constants and of values that are the same for all channels (a form) is one value for
 * all codes that need an equal one, made where it is first needed; and what leaves no more alive than there
 * was is done as soon as it can be.
 */
#ifndef CGTPGEN_LIVE_H
#define CGTPGEN_LIVE_H

#include "plan/code.h"
#include "util/hash.h"

struct live_value {
    int first, last; /* steps; -1: not touched */
    int words;       /* of 32 bits */
    int code, maker; /* the last code that made it, and its instruction that did; code 0: none */
};

struct live_form;

/* Zero-initialise and set the arena. */
struct live {
    struct arena *arena;
    int step;
    int values, capacity;
    struct live_value *value;
    int codes; /* executed, with the one that is */
    struct hash hash;
    int forms, form_capacity;
    struct live_form *form;
};

/* `n` new values of so many words each; returns the number of the first. */
int live_values(struct live *, int n, int words);

/* The `n` values from number `first` on are made or used at this step. */
void live_touch(struct live *, int first, int n);

/* Those of them that were touched are there since an earlier step; until this one. */
void live_since(struct live *, int first, int n, int step);
void live_until(struct live *, int first, int n);

/* Words that are alive between two steps, at most. */
int live_most(const struct live *);

/* Where a code's operand is among the values: component i of channel u is number first + u * stride + i. An
 * input with first < 0 the code loads by itself, what it uses of it: as it begins, or (stride) for each
 * channel. */
struct live_place {
    int first, stride;
};

/* Executes the code for so many channels, one after the other, by values of so many words. place: [recipe
 * inputs + outputs]. */
void live_code(struct live *, const struct code *, int channels, int words, const struct live_place *place);

#endif
