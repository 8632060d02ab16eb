/* device_host.c - see device.h: the host in the place of a device, for the programs' own logic. */
#include "device.h"

#include "cgtp_types.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool device_open(struct device_info *info)
{
    *info = (struct device_info){.multiprocessors = 1};
    snprintf(info->name, sizeof info->name, "host");
    return true;
}

size_t device_free_memory(void)
{
    return (size_t)1 << 30; /* as much as a test may take here */
}

void *device_stream_new(void)
{
    return NULL;
}

void device_stream_free(void *stream)
{
    (void)stream;
}

bool device_wait(void *stream)
{
    (void)stream;
    return true;
}

bool device_done_within(void *stream, double seconds)
{
    (void)stream, (void)seconds;
    return true;
}

void device_fill(void *to, cgtp_type type, uint64_t seed, int64_t n, void *stream)
{
    (void)stream;
    for (int64_t i = 0; i < n; i++)
        cgtp_put_number(to, type, i, random_at(seed, (uint64_t)i));
}

void device_set(void *to, int byte, size_t bytes, void *stream)
{
    (void)stream;
    memset(to, byte, bytes);
}

uint64_t device_hash(const void *from, size_t bytes)
{
    const uint32_t *word = from;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / 4; i++)
        sum ^= random_bits(word[i], i);
    return sum;
}

void device_flush(void *stream)
{
    (void)stream;
}

void *device_event_new(void)
{
    struct timespec *t = malloc(sizeof *t);
    if (!t)
        abort();
    return t;
}

void device_event_free(void *event)
{
    free(event);
}

void device_event_record(void *event, void *stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, event);
}

double device_event_ms(void *from, void *to)
{
    const struct timespec *a = from, *b = to;
    return 1e3 * (double)(b->tv_sec - a->tv_sec) + 1e-6 * (double)(b->tv_nsec - a->tv_nsec);
}

bool device_capture_begin(void *stream)
{
    (void)stream;
    return false;
}

void *device_capture_end(void *stream)
{
    (void)stream;
    return NULL;
}

void device_replay(void *graph, void *stream)
{
    (void)graph, (void)stream;
}

void device_capture_free(void *graph)
{
    (void)graph;
}

int device_multiplies_wrong(void)
{
    return 0;
}

bool device_spin_start(int leave)
{
    (void)leave;
    return false;
}

void device_spin_stop(void)
{
}
