/* knobs.c - see knobs.h. */
#include "schedule/knobs.h"

#include <string.h>

/* Planner knobs: names, ranges, defaults (0: chosen by the planner). */
static const struct knob {
    const char *name;
    int least, most;
} knobs[] = {
    {"channels", 1, 2}, /* V */
    {"stages", 2, 8},
    {"warps", 8, 16},      /* a multiprocessor, a multiple of 4; decides the registers of a thread */
    {"paths", 1, 1 << 16}, /* most paths in a segment */
    {"passes", 1, 2}, /* 1: all outputs of a kernel in one; 2: one for each index that outputs sum over */
};
enum { KNOB_CHANNELS, KNOB_STAGES, KNOB_WARPS, KNOB_PATHS, KNOB_PASSES, KNOBS };

static int knob_number(const char *name)
{
    int k = 0;
    while (k < KNOBS && strcmp(knobs[k].name, name) != 0)
        k++;
    return k;
}

void knobs_check(const struct spec *s, struct diag *diag)
{
    const char *names[KNOBS];
    for (int k = 0; k < KNOBS; k++)
        names[k] = knobs[k].name;
    for (int i = 0; i < s->knobs; i++) {
        const struct spec_knob *q = &s->knob[i];
        int k = knob_number(q->name);
        if (strcmp(q->arch, "c") == 0) {
            diag_error(diag, q->pos, "the C backend has no knob '%s', nor any other", q->name);
        } else if (k == KNOBS) {
            const char *near = diag_nearest(q->name, names, KNOBS);
            diag_error(diag, q->pos, "unknown knob '%s'%s%s%s", q->name, near ? "; did you mean '" : "",
                       near ? near : "",
                       near ? "'?" : "; there are channels, stages, warps, paths and passes");
        } else if (q->value < knobs[k].least || q->value > knobs[k].most) {
            diag_error(diag, q->pos, "%s is %lld; expected %d to %d", q->name, (long long)q->value,
                       knobs[k].least, knobs[k].most);
        } else if (k == KNOB_WARPS && q->value % 4) {
            diag_error(diag, q->pos, "warps is %lld; expected 8, 12 or 16", (long long)q->value);
        }
    }
}
