/* progress.c - see progress.h. */
#include "cli/progress.h"
#include "util/file.h"

#include <stdio.h>
#include <unistd.h>

enum { COLUMNS = 78 }; /* on the narrowest of terminals the line is not broken */

void progress_show(const struct plan *plan, int kernel)
{
    char what[128] = "", line[COLUMNS + 3];
    if (!isatty(STDERR_FILENO))
        return;
    if (kernel >= 0)
        snprintf(what, sizeof what, "%.30s: other plans of %.30s, kernel %d of %d", plan->problem->spec->name,
                 plan->kernel[kernel].form->name, kernel + 1, plan->kernels);
    const int n =
        snprintf(line, sizeof line, "\r%-*.*s\r", COLUMNS, COLUMNS, what); /* over what stood there */
    file_put(STDERR_FILENO, line, (size_t)n);
}
