/* device.c - runtime/cgtp_tune_device.h for tests on the shim: times are what the test says.
 *
 * CGTP_TUNE_MS lists milliseconds, one for each plan in the order in which they are timed (1 after the last);
 * the runs of a plan take that, the first of them twice as much. With CGTP_TUNE_STOP=N the program is killed
 * before the N-th plan is timed, with CGTP_TUNE_FAIL=N what that launches fails.
 */
#include "cgtp_tune_device.h"

#include "simt.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int plan, run;
static double ms;

static int is_now(const char *variable)
{
    const char *value = getenv(variable);
    return value && atoi(value) == plan;
}

void cgtp_tune_device_name(char *name, size_t size)
{
    snprintf(name, size, "shim");
}

/* Each plan's outputs are waited for before it is timed, and once afterwards. */
const char *cgtp_tune_wait(void)
{
    const bool timed = run;
    if (timed) {
        plan++;
        run = 0;
    }
    return simt_findings()                      ? simt_finding_at(0)->text
           : !timed && is_now("CGTP_TUNE_FAIL") ? "it fails"
                                                : NULL;
}

void cgtp_tune_flush(void)
{
}

void cgtp_tune_begin(void)
{
    const char *list = getenv("CGTP_TUNE_MS");
    if (is_now("CGTP_TUNE_STOP"))
        raise(SIGKILL);
    ms = 1;
    for (int i = 0; list && i <= plan; i++) {
        char *end;
        double value = strtod(list, &end);
        if (end == list)
            break;
        if (i == plan)
            ms = value;
        list = end;
    }
}

double cgtp_tune_end(void)
{
    return run++ ? ms : 2 * ms;
}
