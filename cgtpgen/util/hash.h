/* hash.h - finds equals among numbered things, by hashes of them: the user keeps the things in an array of
 * his own, in which they are numbered from 0 on.
 *
 *     int i = hash_first(&h, key);
 *     while (i >= 0 && !equal(&thing[i], wanted))
 *         i = hash_next(&h, i);
 *     if (i < 0) { append it to thing; hash_add(&h, key); }
 */
#ifndef CGTPGEN_HASH_H
#define CGTPGEN_HASH_H

#include "util/arena.h"

#include <stdint.h>

/* Zero-initialise and set the arena. */
struct hash {
    struct arena *arena;
    int n, capacity; /* things; room for */
    struct hash_entry {
        uint32_t key;
        int next; /* the one added before it whose key has the same slot; -1: none */
    } * entry;
    int slots; /* a power of two, or 0; more than n */
    int *slot; /* the last that was added of each; -1: none */
};

/* The number of the last thing that was added with the key, of the one before it with the same; -1: none. */
int hash_first(const struct hash *, uint32_t key);
int hash_next(const struct hash *, int number);

/* The next thing has this key. */
void hash_add(struct hash *, uint32_t key);

/* Bytes mixed into a key (FNV-1a); to begin with: 0. */
uint32_t hash_bytes(uint32_t key, const void *bytes, size_t n);

/* The number of the first of n strings that is equal to one before it, which gets into *first; -1: none. */
int hash_repeated(struct arena *, const char *const *s, int n, int *first);

#endif
