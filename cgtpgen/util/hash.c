/* hash.c - see hash.h: chains of numbers, and as many chains as there may be numbers. */
#include "util/hash.h"

#include <string.h>

enum { FEWEST = 64 };

static int *slot_of(const struct hash *h, uint32_t key)
{
    return &h->slot[key & (uint32_t)(h->slots - 1)];
}

/* The first from number i on along its chain with the key. */
static int seek(const struct hash *h, int i, uint32_t key)
{
    while (i >= 0 && h->entry[i].key != key)
        i = h->entry[i].next;
    return i;
}

int hash_first(const struct hash *h, uint32_t key)
{
    return h->slots ? seek(h, *slot_of(h, key), key) : -1;
}

int hash_next(const struct hash *h, int number)
{
    return seek(h, h->entry[number].next, h->entry[number].key);
}

static void link_entry(struct hash *h, int number)
{
    int *slot = slot_of(h, h->entry[number].key);
    h->entry[number].next = *slot;
    *slot = number;
}

void hash_add(struct hash *h, uint32_t key)
{
    h->entry = arena_grow(h->arena, h->entry, h->n, &h->capacity, sizeof *h->entry);
    h->entry[h->n++].key = key;
    if (h->n < h->slots) {
        link_entry(h, h->n - 1);
        return;
    }
    const int slots = h->slots ? 2 * h->slots : FEWEST;
    h->slot = NEW_ARRAY(h->arena, int, slots);
    h->slots = slots; /* where memory did not suffice, what is there is as it was */
    for (int i = 0; i < h->slots; i++)
        h->slot[i] = -1;
    for (int i = 0; i < h->n; i++)
        link_entry(h, i);
}

uint32_t hash_bytes(uint32_t key, const void *bytes, size_t n)
{
    const uint32_t basis = 2166136261u, prime = 16777619u;
    const unsigned char *p = bytes;
    key = key ? key : basis;
    for (size_t i = 0; i < n; i++)
        key = (key ^ p[i]) * prime;
    return key;
}

int hash_repeated(struct arena *a, const char *const *s, int n, int *first)
{
    struct hash h = {.arena = a};
    for (int i = 0; i < n; i++) {
        uint32_t key = hash_bytes(0, s[i], strlen(s[i]));
        for (int k = hash_first(&h, key); k >= 0; k = hash_next(&h, k))
            if (!strcmp(s[k], s[i])) {
                *first = k;
                return i;
            }
        hash_add(&h, key);
    }
    return -1;
}
