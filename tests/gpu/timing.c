/* timing.c - see timing.h. */
#include "timing.h"

#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Warm-up runs go on so long, in seconds: a device that waited for the host has lowered its clocks. Not
 * longer, or the power limit lowers them again. */
static const double warm_up_time = 0.03;

/* Runs that take longer than this have no use of a warm-up, and of many more; in seconds. */
static const double slow_run = 0.2;

enum { RUNS_LEAST = 5, RUNS_SLOW = 2 };

double timing_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say_failed(const struct launch *l, cgtp_status status)
{
    printf("# %s %s: %s\n", l->product->name, l->kernel->name, cgtp_status_text(status));
}

/* Runs until the clocks are up; sets how many timed ones are to follow. */
static bool warm_up(struct launch *l, void *stream, int most, int *runs)
{
    const double begin = timing_seconds();
    double passed = 0;
    int n = 0;
    for (; (n < WARM_UP || passed < warm_up_time) && passed <= slow_run; n++) {
        device_flush(stream);
        cgtp_status status = launch_run(l, stream);
        if (status || !device_wait(stream)) {
            say_failed(l, status);
            return false;
        }
        passed = timing_seconds() - begin;
    }
    const int affordable = (int)(TIMED_MOST * n / passed), least = passed > n * slow_run ? RUNS_SLOW : RUNS_LEAST;
    *runs = affordable > most ? most : affordable > least ? affordable : least;
    *runs = *runs < most ? *runs : most;
    return true;
}

/* Milliseconds of so many runs. */
static bool time_runs(struct launch *l, void *stream, double *ms, int runs)
{
    void **event = malloc(2 * (size_t)runs * sizeof *event);
    cgtp_status status = CGTP_OK;
    if (!event)
        abort();
    for (int i = 0; i < 2 * runs; i++)
        event[i] = device_event_new();
    for (int i = 0; i < runs && !status; i++) {
        device_flush(stream);
        device_event_record(event[2 * i], stream);
        status = launch_run(l, stream);
        device_event_record(event[2 * i + 1], stream);
    }
    const bool good = device_wait(stream) && !status;
    if (!good)
        say_failed(l, status);
    for (int i = 0; i < runs && good; i++)
        ms[i] = device_event_ms(event[2 * i], event[2 * i + 1]);
    for (int i = 0; i < 2 * runs; i++)
        device_event_free(event[i]);
    free(event);
    return good;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool timing_runs(struct launch *l, int most, struct timing *t)
{
    int runs;
    void *stream = device_stream_new();
    double *ms = malloc((size_t)most * sizeof *ms);
    if (!ms)
        abort();
    const bool good = warm_up(l, stream, most, &runs) && time_runs(l, stream, ms, runs);
    if (good) {
        qsort(ms, (size_t)runs, sizeof *ms, by_value);
        *t = (struct timing){(ms[runs / 2] + ms[(runs - 1) / 2]) / 2, ms[0]};
    }
    device_stream_free(stream);
    free(ms);
    return good;
}
