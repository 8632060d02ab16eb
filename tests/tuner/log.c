/* log.c - the log of runtime/cgtp_tune.c: reads FILE and says what it takes of it, of one kernel's own plan, with memory for
 * no more than so many allocations; then adds a time.
 *
 *     log FILE ALLOCATIONS
 */
#include <stdlib.h>

/* Allocations that may still succeed. */
static long left;
static void *scarce(void *old, size_t n, size_t size)
{
    void *p = left-- > 0 ? calloc(n, size) : NULL;
    (void)old;
    return p;
}
#define calloc(n, size) scarce(NULL, n, size)
#define realloc(p, size) scarce(p, size, 1)
#include "cgtp_tune.c"

void cgtp_tune_device_name(char *name, size_t size)
{
    snprintf(name, size, "device");
}
const char *cgtp_tune_wait(void)
{
    return NULL;
}
void cgtp_tune_flush(void)
{
}
void cgtp_tune_begin(void)
{
}
double cgtp_tune_end(void)
{
    return 0;
}

int main(int argc, char **argv)
{
    const cgtp_kernel kernel = {.name = "forward"};
    const cgtp_product product = {.kernels = 1, .kernel = &kernel};
    const cgtp_selftest test = {.product = &product};
    const cgtp_tune_kernel tuned = {.source = "0123abcd"};
    const cgtp_tune tune = {.test = &test, .kernel = &tuned};
    struct tuner t = {.tune = &tune, .test = &test, .device = "device", .problem = "problem"};
    struct time time = {0, 0, 0, NULL};
    if (argc != 3)
        return 1;
    left = atol(argv[2]);
    if (!open_log(&t, argv[1])) {
        free(t.text);
        return 2;
    }
    const int found = known(&t, 0, 0, 1, &time);
    int lines = 0;
    for (size_t at = 0; at < t.bytes; at += strlen(t.text + at) + 1)
        lines++;
    printf("%d lines, %s %g %g %g %s\n", lines, found ? "known" : "unknown", time.ms, time.least, time.error,
           time.why ? time.why : "-");
    const struct time now = {4, 3, 0, NULL};
    record(&t, 0, 0, 2, &now);
    fclose(t.log);
    free(t.text);
    return 0;
}
