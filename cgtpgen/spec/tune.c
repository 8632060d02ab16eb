/* tune.c - see tune.h. */
#include "spec/tune.h"

#include <string.h>

/* "1 or 2", "8, 12 or 16", "2 to 8": the values that a knob can have. */
static const char *range_text(struct arena *a, const struct knob_range *range)
{
    enum { LISTED = 3 };
    const char *word[LISTED];
    int values = (range->most - range->least) / range->step + 1;
    if (values > LISTED)
        return arena_printf(a, range->step == 1 ? "%d to %d" : "%d to %d in steps of %d", range->least,
                            range->most, range->step);
    for (int i = 0; i < values; i++)
        word[i] = arena_printf(a, "%d", range->least + i * range->step);
    return field_alternatives(a, word, values);
}

/* The device's knob that a key names; NULL after an error. */
static const struct knob_range *find_knob(struct reader *r, const struct device *d, const struct node *key)
{
    const char *names[KNOB_COUNT];
    for (int i = 0; i < d->knobs; i++) {
        names[i] = knob_name[d->knob[i].knob];
        if (strcmp(key->text, names[i]) == 0)
            return &d->knob[i];
    }
    if (!d->knobs) {
        diag_report(r->diag, DIAG_UNKNOWN_KNOB, key->pos, "%s has no knob '%s', nor any other", d->name,
                    key->text);
        return NULL;
    }
    diag_report(r->diag, DIAG_UNKNOWN_KNOB, key->pos, "unknown knob '%s'; expected %s", key->text,
                field_alternatives(r->arena, names, d->knobs));
    diag_suggest(r->diag, diag_nearest(key->text, names, d->knobs));
    return NULL;
}

static bool read_knob(struct reader *r, const struct device *d, const struct entry *entry,
                      struct spec_knob *out)
{
    if (entry->key->kind == NODE_WRONG)
        return false;
    const struct knob_range *range = find_knob(r, d, entry->key);
    int64_t value;
    if (!field_integer(r, entry->value, "a whole number", INT64_MIN, INT64_MAX, &value) || !range)
        return false;
    if (!knob_allows(range, value)) {
        diag_report(r->diag, DIAG_KNOB_VALUE, entry->value->pos, "%s is %lld; expected %s", entry->key->text,
                    (long long)value, range_text(r->arena, range));
        return false;
    }
    *out = (struct spec_knob){d, range->knob, (int)value};
    return true;
}

void tune_read(struct reader *r, const struct node *node, struct spec *spec)
{
    const char **names = device_names(r->arena);
    const struct entry **found = NEW_ARRAY(r->arena, const struct entry *, device_count);
    int capacity = 0;
    if (!field_mapping(r, node, "a mapping from architectures to knobs, as {sm_90: {...}}", names,
                       device_count, found))
        return;
    for (int i = 0; i < node->n; i++) { /* in file order */
        const struct node *knobs = node->entry[i].value;
        int d = 0;
        while (d < device_count && found[d] != &node->entry[i])
            d++;
        if (d == device_count)
            continue;
        if (knobs->kind != NODE_MAPPING) {
            field_expected(r, knobs, "a mapping from knobs to whole numbers");
            continue;
        }
        for (int k = 0; k < knobs->n; k++) {
            struct spec_knob knob;
            if (!read_knob(r, &device_table[d], &knobs->entry[k], &knob))
                continue;
            spec->knob = arena_grow(r->arena, spec->knob, spec->knobs, &capacity, sizeof *spec->knob);
            spec->knob[spec->knobs++] = knob;
        }
    }
}
