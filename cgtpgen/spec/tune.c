/* tune.c - see tune.h. */
#include "spec/tune.h"

#include <string.h>

/* Instead of a kernel's number. */
enum { ALL_KERNELS = -1, NOT_THERE = -2, NO_KERNEL = -3 };

/* "1 or 2", "8, 12 or 16", "2 to 8": the values that a knob can have. */
static const char *range_text(struct arena *a, const struct knob_range *range)
{
    enum { LISTED = 3 };
    const char *word[LISTED];
    int values = 0;
    for (int value = range->least; value <= range->most; value++)
        if (knob_allows(range, value) && values++ < LISTED)
            word[values - 1] = arena_printf(a, "%d", value);
    if (values > LISTED)
        return arena_printf(a, range->step == 1 ? "%d to %d" : "%d to %d in steps of %d", range->least,
                            range->most, range->step);
    return field_alternatives(a, word, values);
}

static const struct knob_range *knob_named(const struct device *d, const struct node *key)
{
    for (int i = 0; i < d->knobs; i++)
        if (strcmp(key->text, knob_name[d->knob[i].knob]) == 0)
            return &d->knob[i];
    return NULL;
}

/* The device's knob that a key names; NULL after an error. */
static const struct knob_range *find_knob(struct reader *r, const struct device *d, const struct node *key)
{
    const char *names[KNOB_COUNT];
    for (int i = 0; i < d->knobs; i++)
        names[i] = knob_name[d->knob[i].knob];
    if (knob_named(d, key))
        return knob_named(d, key);
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

/* A word that is to be the name of an evaluation: those there are is known where they are. */
static bool read_word(struct reader *r, const struct node *node, struct spec_knob *out)
{
    if (node->kind != NODE_SCALAR || !*node->text) {
        field_expected(r, node, "the name of an evaluation");
        return false;
    }
    out->word = node->text;
    return true;
}

static bool read_knob(struct reader *r, const struct device *d, const struct entry *entry, int kernel,
                      struct spec_knob *out)
{
    if (entry->key->kind == NODE_WRONG)
        return false;
    const struct knob_range *range = find_knob(r, d, entry->key);
    int64_t value;
    if (range)
        *out = (struct spec_knob){d, kernel, range->knob, 0, NULL, entry->value->pos};
    if (range && !range->step)
        return read_word(r, entry->value, out);
    if (!field_integer(r, entry->value, "a whole number", INT64_MIN, INT64_MAX, &value) || !range)
        return false;
    if (!knob_allows(range, value)) {
        diag_report(r->diag, DIAG_KNOB_VALUE, entry->value->pos, "%s is %lld; expected %s", entry->key->text,
                    (long long)value, range_text(r->arena, range));
        return false;
    }
    out->value = (int)value;
    return true;
}

/* The number of the kernel that a key names; NOT_THERE: of a known one that the product has not, as a spec
 * may be made with more and with fewer kernels; NO_KERNEL after an error. */
static int find_kernel(struct reader *r, const struct spec *spec, const struct node *key)
{
    const char **names = NEW_ARRAY(r->arena, const char *, spec->kernels + 1);
    int n = 0;
    for (int k = 0; k < spec->kernels; k++) {
        if (!spec->kernel[k].name) /* it was wrong */
            continue;
        names[n++] = spec->kernel[k].name;
        if (strcmp(key->text, spec->kernel[k].name) == 0)
            return k;
    }
    for (int k = 0; k < KNOWN_COUNT; k++)
        if (strcmp(key->text, known_table[k].name) == 0)
            return NOT_THERE;
    diag_report(r->diag, DIAG_UNKNOWN_KNOB, key->pos, "no kernel '%s' to tune; expected %s", key->text,
                field_alternatives(r->arena, names, n));
    diag_suggest(r->diag, diag_nearest(key->text, names, n));
    return NO_KERNEL;
}

/* Knobs of all kernels, or of the one; among the former stand mappings, which are of the kernel that their
 * key names. */
static void read_knobs(struct reader *r, const struct device *d, const struct node *knobs, int kernel,
                       struct spec *spec)
{
    for (int k = 0; k < knobs->n; k++) {
        const struct entry *entry = &knobs->entry[k];
        struct spec_knob knob;
        if (kernel == ALL_KERNELS && entry->value->kind == NODE_MAPPING && !knob_named(d, entry->key)) {
            int of = entry->key->kind == NODE_WRONG ? NO_KERNEL : find_kernel(r, spec, entry->key);
            if (of != NO_KERNEL)
                read_knobs(r, d, entry->value, of, spec);
        } else if (read_knob(r, d, entry, kernel, &knob) && kernel != NOT_THERE) {
            spec->knob =
                arena_grow(r->arena, spec->knob, spec->knobs, &spec->knobs_capacity, sizeof *spec->knob);
            spec->knob[spec->knobs++] = knob;
        }
    }
}

void tune_read(struct reader *r, const struct node *node, struct spec *spec)
{
    const char **names = device_names(r->arena);
    const struct entry **found = NEW_ARRAY(r->arena, const struct entry *, device_count);
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
        read_knobs(r, &device_table[d], knobs, ALL_KERNELS, spec);
    }
}
