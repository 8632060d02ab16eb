/* arena.c - see arena.h. */
#include "util/arena.h"
#include "util/format.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *older;
    size_t size, used; /* bytes in data, bytes of them handed out */
    max_align_t data[];
};

enum { BLOCK_SIZE = 1 << 16 };

/* What is given back must not be used: what looks for that has it freed. */
#ifdef __SANITIZE_ADDRESS__
enum { REUSES = false };
#else
enum { REUSES = true };
#endif

static struct arena *owner_of(struct arena *a)
{
    return a->owner ? a->owner : a;
}

/* A block of at least `size` bytes. One that is full at once stands behind the newest, which has room still.
 */
static struct arena_block *add_block(struct arena *a, size_t size)
{
    size_t data = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    struct arena_block **spare = &owner_of(a)->spare, *b = data == BLOCK_SIZE ? *spare : NULL;
    if (b)
        *spare = b->older;
    else
        b = malloc(sizeof *b + data);
    if (!b)
        longjmp(owner_of(a)->failure, 1);
    struct arena_block **at = a->block && size >= BLOCK_SIZE ? &a->block->older : &a->block;
    b->older = *at;
    b->size = data;
    b->used = 0;
    return *at = b;
}

static size_t rounded(size_t size)
{
    const size_t align = _Alignof(max_align_t);
    return (size + align - 1) / align * align;
}

/* Counts so many bytes more. */
static void count(struct arena *a, size_t size)
{
    struct arena *owner = owner_of(a);
    owner->limited = owner->limit && size > owner->limit - owner->used;
    if (owner->limited)
        longjmp(owner->failure, 1);
    owner->used += size;
    owner->most = owner->used > owner->most ? owner->used : owner->most;
    a->used += a->owner ? size : 0;
    owner->lent += a->owner ? size : 0;
}

/* size bytes that hold anything. */
static void *take(struct arena *a, size_t size)
{
    if (size > SIZE_MAX - 2 * BLOCK_SIZE)
        longjmp(owner_of(a)->failure, 1);
    size = rounded(size);
    count(a, size);
    struct arena_block *b =
        a->block && size <= a->block->size - a->block->used ? a->block : add_block(a, size);
    void *p = (char *)b->data + b->used;
    b->used += size;
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(take(a, size), 0, size);
}

void *arena_resize(struct arena *a, void *p, size_t old, size_t size)
{
    struct arena_block **at = &a->block;
    while (*at && old >= BLOCK_SIZE && p != (*at)->data)
        at = &(*at)->older;
    if (!*at || old < BLOCK_SIZE || (*at)->used != rounded(old) || size > SIZE_MAX - 2 * BLOCK_SIZE) {
        void *copy = take(a, size);
        if (old)
            memcpy(copy, p, old);
        return copy;
    }
    count(a, rounded(size) - rounded(old)); /* it has a block of its own */
    struct arena_block *b = realloc(*at, sizeof *b + rounded(size));
    if (!b)
        longjmp(owner_of(a)->failure, 1);
    b->size = b->used = rounded(size);
    *at = b;
    return b->data;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        longjmp(owner_of(a)->failure, 1);
    return arena_alloc(a, count * size);
}

void *arena_grow(struct arena *a, void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    int larger = *capacity ? 2 * *capacity : 8;
    void *copy = arena_array(a, (size_t)larger, size);
    if (count)
        memcpy(copy, array, (size_t)count * size);
    *capacity = larger;
    return copy;
}

void *arena_copy(struct arena *a, const void *p, size_t size)
{
    void *copy = take(a, size);
    if (size)
        memcpy(copy, p, size);
    return copy;
}

char *arena_string(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_vprintf(struct arena *a, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    char shortest[256]; /* as most are */
    size_t n = format_text(shortest, sizeof shortest, format, args);
    char *s = take(a, n + 1);
    if (n < sizeof shortest)
        memcpy(s, shortest, n + 1);
    else
        format_text(s, n + 1, format, again);
    va_end(again);
    return s;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *s = arena_vprintf(a, format, args);
    va_end(args);
    return s;
}

/* Gives back all blocks but those from `last` on. */
static void free_blocks(struct arena *a, const struct arena_block *last)
{
    while (a->block != last) {
        struct arena_block *b = a->block, **spare = &owner_of(a)->spare;
        a->block = b->older;
        if (REUSES && b->size == BLOCK_SIZE) {
            b->older = *spare;
            *spare = b;
        } else {
            free(b);
        }
    }
}

/* What a part has is of the whole no more. */
static void give_back(struct arena *part)
{
    part->owner->used -= part->used;
    part->owner->lent -= part->used;
    part->used = 0;
}

/* Frees its parts down to `last`. */
static void free_parts(struct arena *a, const struct arena *last)
{
    for (; a->part != last; a->part = a->part->next) {
        free_blocks(a->part, NULL);
        give_back(a->part);
    }
}

void arena_free(struct arena *a)
{
    free_parts(a, NULL);
    free_blocks(a, NULL);
    for (struct arena_block *b; (b = a->spare);) {
        a->spare = b->older;
        free(b);
    }
    a->scratch = NULL;
    a->used = 0;
}

static struct arena *add_part(struct arena *a, struct arena *whole)
{
    struct arena *part = NEW(a, struct arena);
    part->owner = whole;
    part->next = whole->part;
    return whole->part = part;
}

struct arena *arena_part(struct arena *a)
{
    struct arena *part = add_part(a, owner_of(a));
    part->scratch = add_part(a, owner_of(a)); /* which is there as long as the part is */
    return part;
}

struct arena *arena_scratch(struct arena *a)
{
    if (!a->scratch)
        a->scratch = add_part(a, owner_of(a));
    assert(a->scratch->used == 0);
    return a->scratch;
}

void arena_empty(struct arena *scratch)
{
    struct arena_block *oldest = scratch->block;
    while (oldest && oldest->older)
        oldest = oldest->older;
    free_blocks(scratch, oldest);
    if (oldest)
        oldest->used = 0;
    give_back(scratch);
}

struct arena_mark arena_mark(struct arena *a)
{
    arena_scratch(a); /* which stays */
    struct arena_mark mark = {NULL, a->used - a->lent, a->part};
    struct arena_block *full = a->block;
    mark.fence = add_block(a, 1);
    assert(mark.fence->older == full); /* of one byte it stands before the newest, */
    add_block(a, 1);                   /* and another before it, behind which stands what is large */
    return mark;
}

void arena_release(struct arena *a, struct arena_mark mark)
{
    struct arena_block *older = mark.fence->older;
    free_parts(a, mark.part);
    free_blocks(a, older);
    a->used = mark.used + a->lent;
}
