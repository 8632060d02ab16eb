/* memory.h - the memory that kernels under test read and write: the host's (memory_host.c), or another
 * file's. */
#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

#include <stddef.h>

/* Never NULL, a multiple of 64 bytes; aborts when there is no more. */
void *memory_new(size_t bytes);
void memory_free(void *);
void memory_write(void *to, const void *from_host, size_t bytes);
void memory_read(void *to_host, const void *from, size_t bytes);

#endif
