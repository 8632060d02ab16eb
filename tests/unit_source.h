/* unit_source.h - from a spec's text to what the passes make of it, for unit tests; the text must be right.
 */
#ifndef UNIT_SOURCE_H
#define UNIT_SOURCE_H

#include "plan/plan.h"

#include <string.h>

/* The form of the text's kernels, which fails the test where the text is wrong. *problem: of the text. */
static inline struct form *unit_form(struct arena *a, const char *source, struct problem **problem)
{
    struct diag diag = {.file = "t", .source = source, .source_size = strlen(source), .arena = a};
    struct wigner *wigner = NEW(a, struct wigner);
    wigner->arena = a;
    struct spec *spec = spec_read(a, &diag);
    *problem = spec ? problem_build(a, wigner, spec, &diag) : NULL;
    struct form *form = *problem ? form_build(a, *problem, &diag) : NULL;
    if (!form)
        fail_msg("%s", diag_text(&diag));
    return form;
}

static inline const struct plan *unit_plan(struct arena *a, const char *source)
{
    struct problem *problem;
    struct form *form = unit_form(a, source, &problem);
    return plan_build(a, problem, form);
}

#endif
