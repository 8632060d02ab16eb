/* backend.c - see backend.h. */
#include "emit/backend.h"
#include "spec/field.h"

#include <string.h>

const struct backend *const backend_table[] = {&backend_cuda, &backend_c};
const int backend_count = sizeof backend_table / sizeof *backend_table;

static const struct backend *backend_of(const struct device *d)
{
    int i = 0;
    while (strcmp(backend_table[i]->name, d->backend) != 0)
        i++;
    return backend_table[i];
}

static void check_knob(const struct spec_knob *q, struct diag *diag)
{
    const struct evaluation *const *all = backend_of(q->device)->evaluations;
    int n = 0;
    while (all[n])
        n++;
    const char **name = NEW_ARRAY(diag->arena, const char *, n);
    for (int i = 0; i < n; i++) {
        name[i] = all[i]->name;
        if (strcmp(name[i], q->word) == 0)
            return;
    }
    diag_report(diag, DIAG_KNOB_VALUE, q->pos, "%s is %s; expected %s", knob_name[q->knob], q->word,
                field_alternatives(diag->arena, name, n));
    diag_suggest(diag, diag_nearest(q->word, name, n));
}

void backend_check_knobs(const struct spec *s, struct diag *diag)
{
    for (int k = 0; k < s->knobs; k++)
        if (s->knob[k].word)
            check_knob(&s->knob[k], diag);
}
