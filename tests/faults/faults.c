/* faults.c - a library to preload: what goes wrong in a process at the n-th chance (tests/faults.t).
 *
 *     FAULT=memory:N       the N-th call of malloc, calloc or realloc fails; N counts from 1
 *     FAULT=call:N         the N-th call of a function that opens, writes, names ... files fails: no space
 *     FAULT=SIGNAL:N       the signal of this number comes before that call
 *
 * N = 0: nothing goes wrong, and how many chances there were is written to descriptor 3 at the end.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* glibc's own, so that no symbol need be looked up to allocate. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static enum { NOTHING, MEMORY, CALL } kind;
static int raised; /* the signal; 0: calls fail */
static long wanted, count;

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("FAULT");
    if (!fault)
        return;
    wanted = atol(strchr(fault, ':') + 1);
    raised = atoi(fault);
    kind = strncmp(fault, "memory", 6) ? CALL : MEMORY;
}

static void end(void)
{
    kind = NOTHING;
    if (!wanted)
        dprintf(3, "%ld", count);
}

/* Is this the chance? */
static int fails(int of)
{
    if (kind != of)
        return 0;
    if (count++ == 0)
        atexit(end); /* before what else is done at the end, as gcov does */
    if (count != wanted)
        return 0;
    if (raised) {
        raise(raised);
        return 0;
    }
    errno = of == MEMORY ? ENOMEM : ENOSPC;
    return 1;
}

void *malloc(size_t size)
{
    return fails(MEMORY) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(MEMORY) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails(MEMORY) ? NULL : __libc_realloc(p, size);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(CALL) ? -1 : NEXT(open)(path, flags, mode);
}

ssize_t write(int descriptor, const void *s, size_t n)
{
    return fails(CALL) ? -1 : NEXT(write)(descriptor, s, n);
}

int close(int descriptor)
{
    return fails(CALL) ? -1 : NEXT(close)(descriptor);
}

int fchmod(int descriptor, mode_t mode)
{
    return fails(CALL) ? -1 : NEXT(fchmod)(descriptor, mode);
}

int rename(const char *from, const char *to)
{
    return fails(CALL) ? -1 : NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(CALL) ? -1 : NEXT(mkdir)(path, mode);
}
