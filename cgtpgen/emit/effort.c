/* effort.c - see effort.h. What is counted stands in the text, so that it is right whatever wrote it. */
#include "emit/effort.h"

#include <string.h>

/* Is the text at `at` a loop's head? No longer word of generated code ends so. */
static bool is_loop(const char *at, const char *end)
{
    return end - at > 5 && !memcmp(at, "for (", 5);
}

double compile_seconds(const struct backend *b, const char *text, size_t n)
{
    double statements = 0, arguments = 0, fors = 0, functions = 0;
    const char *end = text + n;
    for (const char *at = text; at < end; at++) {
        if (end - at > 1 && at[0] == '/' && at[1] == '*') {
            const char *close = strstr(at + 2, "*/");
            at = close ? close + 1 : end - 1;
            continue;
        }
        if (end - at > 6 && !memcmp(at, "[] = {", 6)) { /* numbers of a table take next to nothing */
            const char *close = strstr(at, "};");
            at = close ? close : end - 1;
        }
        statements += *at == ';';
        arguments += *at == ',';
        fors += is_loop(at, end);
        functions += *at == '}' && at > text && at[-1] == '\n';
    }
    const struct compile_rates *r = &b->rates;
    return r->start + r->statement * statements + r->argument * arguments + r->loop * fors +
           r->function * functions;
}

const struct backend *backend_of(const struct schedules *all)
{
    int i = 0;
    while (backend_table[i]->evaluations != all->target.evaluations)
        i++;
    return backend_table[i];
}

double kernel_compile_seconds(struct arena *a, const struct schedules *all,
                              const struct kernel_schedule *kernel)
{
    const struct backend *b = backend_of(all);
    struct text source = {.arena = a};
    b->kernel(&source, all, kernel);
    return compile_seconds(b, text_string(&source), source.n);
}

const char *duration_text(struct arena *a, double seconds)
{
    return seconds < 10    ? arena_printf(a, "%.1f s", seconds)
           : seconds < 100 ? arena_printf(a, "%.0f s", seconds)
                           : arena_printf(a, "%.0f minutes", seconds / 60);
}
