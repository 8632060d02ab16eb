/* arena.c - see arena.h. */
#include "util/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *older;
    size_t size, used; /* bytes in data, bytes of them handed out */
    max_align_t data[];
};

enum { BLOCK_SIZE = 1 << 16 };

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (size > SIZE_MAX - 2 * BLOCK_SIZE)
        longjmp(a->failure, 1);
    size = (size + align - 1) / align * align;
    if (a->limit && size > a->limit - a->used)
        longjmp(a->failure, 1);
    struct arena_block *b = a->block;
    if (!b || size > b->size - b->used) {
        size_t data = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        b = malloc(sizeof *b + data);
        if (!b)
            longjmp(a->failure, 1);
        b->older = a->block;
        b->size = data;
        b->used = 0;
        a->block = b;
    }
    void *p = (char *)b->data + b->used;
    b->used += size;
    a->used += size;
    return memset(p, 0, size);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        longjmp(a->failure, 1);
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

char *arena_string(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char *s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, format, again);
    va_end(again);
    return s;
}

void arena_free(struct arena *a)
{
    while (a->block) {
        struct arena_block *older = a->block->older;
        free(a->block);
        a->block = older;
    }
    a->used = 0;
}
