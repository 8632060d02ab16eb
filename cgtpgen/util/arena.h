/* arena.h - one memory pool for the whole run, freed in one call.
 *
 * Every pass allocates from the arena and nothing is freed before the end, but what is in its scratch arena.
 * Allocation never returns NULL: when memory is exhausted the arena jumps to `failure`, which its owner set
 * (see arena.c).
 */
#ifndef CGTPGEN_ARENA_H
#define CGTPGEN_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *block; /* newest block; older ones are linked behind it */
    struct arena_block *spare; /* blocks of the usual size that were given back, and serve again */
    size_t used, most;         /* bytes handed out, scratch included: now, and the most so far */
    size_t limit;              /* bytes after which allocation fails; 0: no limit */
    bool limited;              /* it failed for the limit */
    struct arena *scratch;     /* see arena_scratch */
    struct arena *owner;       /* of a part: the whole; NULL */
    struct arena *part, *next; /* its parts, the newest first; of a part: the one before it */
    size_t lent;               /* bytes of them, among those used */
    jmp_buf failure;           /* where an allocation that fails goes; set before the first use */
};

/* size bytes, zeroed, aligned for any type. */
void *arena_alloc(struct arena *, size_t size);

/* count elements of `size` bytes, zeroed; fails cleanly when the product overflows. */
void *arena_array(struct arena *, size_t count, size_t size);

/* Room for one more element in a growing array: returns `array`, or a copy twice as long when count ==
 * *capacity. */
void *arena_grow(struct arena *, void *array, int count, int *capacity, size_t size);

/* Room for size >= old bytes: what stands in the `old` bytes at p, then anything. What is large does not move
 * through memory that is then of no use. */
void *arena_resize(struct arena *, void *p, size_t old, size_t size);

/* A copy of the `size` bytes at p. */
void *arena_copy(struct arena *, const void *p, size_t size);

/* A NUL-terminated copy of the n bytes at s. */
char *arena_string(struct arena *, const char *s, size_t n);

/* printf into the arena. */
char *arena_printf(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *, const char *format, va_list) __attribute__((format(printf, 2, 0)));

void arena_free(struct arena *);

/* A part of it, for what stays when the rest is released: it counts to the whole's bytes and limit, fails
 * where that does, and goes with it, or at the release of a mark that was there before. */
struct arena *arena_part(struct arena *);

/* Its part for what is of no use after a call. One at a time uses it, and empties it at the end. */
struct arena *arena_scratch(struct arena *);
void arena_empty(struct arena *scratch);

/* A point in time: what is allocated after it goes at its release, and marks after it with it. */
struct arena_mark {
    struct arena_block *fence;
    size_t used; /* but for parts */
    const struct arena *part;
};
struct arena_mark arena_mark(struct arena *);
void arena_release(struct arena *, struct arena_mark);

#define NEW(arena, type) ((type *)arena_alloc(arena, sizeof(type)))
#define NEW_ARRAY(arena, type, count) ((type *)arena_array(arena, (size_t)(count), sizeof(type)))

/* The next element of a growing array, which counts it. */
#define APPEND(arena, array, count, capacity)                                                                \
    ((array) = arena_grow(arena, array, count, &(capacity), sizeof *(array)), &(array)[(count)++])

#endif
