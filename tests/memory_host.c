/* memory_host.c - see memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *memory_new(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!p) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return p;
}

void memory_free(void *p)
{
    free(p);
}

void memory_write(void *to, const void *from_host, size_t bytes)
{
    if (bytes)
        memcpy(to, from_host, bytes);
}

void memory_read(void *to_host, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to_host, from, bytes);
}
