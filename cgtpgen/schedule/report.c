/* report.c - see report.h. */
#include "schedule/report.h"

#include "util/layout.h"

#include <string.h>

static struct figure *add(struct report *r, enum figure_kind kind, const char *name)
{
    r->figure = arena_grow(r->arena, r->figure, r->n, &r->capacity, sizeof *r->figure);
    struct figure *f = &r->figure[r->n++];
    *f = (struct figure){.kind = kind, .name = name};
    return f;
}

void report_number(struct report *r, const char *name, double value)
{
    add(r, FIGURE_NUMBER, name)->number = value;
}

void report_part(struct report *r, const char *name, double value, double most)
{
    struct figure *f = add(r, FIGURE_NUMBER, name);
    f->number = value;
    f->of = OF_LIMIT;
    f->most = most;
}

void report_share(struct report *r, const char *name, double value)
{
    struct figure *f = add(r, FIGURE_NUMBER, name);
    f->number = value;
    f->of = OF_RECORDS;
}

void report_ring(struct report *r, const char *name, int slots, const char *owner, const char *turn)
{
    struct figure *f = add(r, FIGURE_NUMBER, name);
    f->number = slots;
    f->of = OF_RING;
    f->owner = owner;
    f->word = turn;
}

void report_channels(struct report *r, const char *name, int parts, int channels, const char *owner)
{
    struct figure *f = add(r, FIGURE_NUMBER, name);
    f->number = parts;
    f->of = OF_CHANNELS;
    f->most = channels;
    f->word = owner;
}

void report_layout(struct report *r, const char *name, const struct layout *layout)
{
    add(r, FIGURE_LAYOUT, name)->layout = layout;
}

void report_word(struct report *r, const char *name, const char *word)
{
    add(r, FIGURE_WORD, name)->word = word;
}

void report_flag(struct report *r, const char *name, bool value)
{
    add(r, FIGURE_FLAG, name)->number = value;
}

void report_list(struct report *r, const char *name, int n, const int *list)
{
    struct figure *f = add(r, FIGURE_LIST, name);
    f->n = n;
    f->list = list;
}

void report_words(struct report *r, const char *name, int n, const char *const *words)
{
    struct figure *f = add(r, FIGURE_WORDS, name);
    f->n = n;
    f->words = words;
}

struct report *report_record(struct report *r, const char *name, const char *one)
{
    struct figure *f = NULL;
    for (int i = 0; i < r->n && !f; i++)
        if (r->figure[i].kind == FIGURE_RECORDS && strcmp(r->figure[i].name, name) == 0)
            f = &r->figure[i];
    if (!f) {
        f = add(r, FIGURE_RECORDS, name);
        f->word = one;
    }
    f->record = arena_grow(r->arena, f->record, f->n, &f->capacity, sizeof *f->record);
    struct report *record = NEW(r->arena, struct report);
    record->arena = r->arena;
    f->record[f->n++] = record;
    return record;
}

const char *report_ranges(struct arena *a, int n, const int *list)
{
    struct text t = {.arena = a};
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && list[end] == list[end - 1] + 1; end++)
            ;
        text_printf(&t, i ? ", %d" : "%d", list[i]);
        if (end - i > 1)
            text_printf(&t, end - i > 2 ? "-%d" : ", %d", list[end - 1]);
    }
    return text_string(&t);
}

/* ---- text ---- */

const char *figure_name(struct arena *a, const struct figure *f)
{
    char *s = arena_printf(a, "%s", f->name);
    for (char *p = s; *p; p++)
        if (*p == '_')
            *p = ' ';
    return s;
}

static const char *figure_text(struct arena *a, const struct figure *f)
{
    const char *name = figure_name(a, f);
    switch (f->kind) {
    case FIGURE_NUMBER:
        return arena_printf(a, "%s %.17g", name, f->number);
    case FIGURE_WORD:
        return arena_printf(a, "%s %s", name, f->word);
    case FIGURE_FLAG:
        return f->number != 0 ? name : NULL;
    case FIGURE_LIST:
        return f->n ? arena_printf(a, "%s %s", name, report_ranges(a, f->n, f->list)) : NULL;
    default:
        return NULL;
    }
}

/* Do two records differ in their lists alone? */
static bool are_alike(struct arena *a, const struct report *r, const struct report *q)
{
    bool alike = r->n == q->n;
    for (int i = 0; i < r->n && alike; i++) {
        const char *one = figure_text(a, &r->figure[i]), *other = figure_text(a, &q->figure[i]);
        alike = r->figure[i].kind == FIGURE_LIST || (one && other ? strcmp(one, other) == 0 : one == other);
    }
    return alike;
}

/* The records of a list; of one that differs in its lists alone from the last that was printed whole, these.
 */
static void records_text(struct text *out, int indent, const struct figure *f)
{
    for (int k = 0, whole = 0; k < f->n; k++) {
        const struct report *r = f->record[k];
        text_printf(out, "%*s%s %d:\n", indent, "", f->word, k);
        if (k == 0 || !are_alike(out->arena, r, f->record[whole])) {
            report_text(out, indent + 2, r);
            whole = k;
            continue;
        }
        text_printf(out, "%*s", indent + 2, "");
        for (int i = 0; i < r->n; i++)
            if (r->figure[i].kind == FIGURE_LIST)
                text_printf(out, "%s, ", figure_text(out->arena, &r->figure[i]));
        text_printf(out, "all else as %s %d\n", f->word, whole);
    }
}

void report_text(struct text *out, int indent, const struct report *r)
{
    size_t begin = out->n;
    int shown = 0;
    for (int i = 0; i < r->n; i++) {
        const char *figure = figure_text(out->arena, &r->figure[i]);
        if (!figure)
            continue;
        if (shown && out->n - begin + strlen(figure) > 97) { /* with commas 100 columns */
            text_printf(out, ",\n");
            begin = out->n;
            text_printf(out, "%*s", indent, "");
        } else {
            text_printf(out, shown ? ", " : "%*s", shown ? 0 : indent, "");
        }
        text_printf(out, "%s", figure);
        shown++;
    }
    if (shown)
        text_printf(out, "\n");
    for (int i = 0; i < r->n; i++)
        if (r->figure[i].kind == FIGURE_RECORDS)
            records_text(out, indent, &r->figure[i]);
}

/* ---- JSON ---- */

static void layout_json(struct text *out, const struct layout *l)
{
    text_printf(out, "{\"bytes\": %d, \"union\": %s, \"fields\": [", l->bytes,
                l->alternatives ? "true" : "false");
    for (int i = 0; i < l->fields; i++) {
        const struct layout_field *f = &l->field[i];
        text_printf(out, "%s{\"name\": \"%s\", \"at\": %d, \"bytes\": %d, \"count\": [", i ? ", " : "",
                    f->name, f->at, f->bytes);
        for (int k = 0; k < 3 && f->count[k]; k++)
            text_printf(out, "%s%d", k ? ", " : "", f->count[k]);
        text_printf(out, "], ");
        if (f->of) {
            text_printf(out, "\"of\": ");
            layout_json(out, f->of);
        } else {
            text_printf(out, "\"type\": \"%s\"", f->type);
        }
        text_printf(out, "}");
    }
    text_printf(out, "]}");
}

void report_json(struct text *out, int indent, const struct report *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct figure *f = &r->figure[i];
        text_printf(out, "%s\"%s\": ", i ? ", " : "", f->name);
        if (f->kind == FIGURE_NUMBER)
            text_printf(out, "%.17g", f->number);
        else if (f->kind == FIGURE_FLAG)
            text_printf(out, f->number != 0 ? "true" : "false");
        else if (f->kind == FIGURE_WORD)
            text_json(out, f->word);
        else if (f->kind == FIGURE_LAYOUT)
            layout_json(out, f->layout);
        else
            text_printf(out, "[");
        for (int k = 0; f->kind == FIGURE_LIST && k < f->n; k++)
            text_printf(out, "%s%d", k ? ", " : "", f->list[k]);
        for (int k = 0; f->kind == FIGURE_WORDS && k < f->n; k++) {
            text_printf(out, k ? ", " : "");
            text_json(out, f->words[k]);
        }
        for (int k = 0; f->kind == FIGURE_RECORDS && k < f->n; k++) {
            text_printf(out, "%s\n%*s{", k ? "," : "", indent, "");
            report_json(out, indent + 2, f->record[k]);
            text_printf(out, "}");
        }
        if (f->kind == FIGURE_LIST || f->kind == FIGURE_WORDS || f->kind == FIGURE_RECORDS)
            text_printf(out, "]");
    }
}
