/* report.c - see report.h. */
#include "schedule/report.h"

#include <string.h>

struct figure {
    enum { NUMBER, WORD, FLAG, LIST, WORDS, RECORDS } kind;
    const char *name;
    double number;    /* NUMBER, FLAG */
    const char *word; /* WORD; of RECORDS: what one is called */
    int n, capacity;  /* of a list */
    const int *list;
    const char *const *words;
    struct report **record;
};

static struct figure *add(struct report *r, int kind, const char *name)
{
    r->figure = arena_grow(r->arena, r->figure, r->n, &r->capacity, sizeof *r->figure);
    struct figure *f = &r->figure[r->n++];
    *f = (struct figure){.kind = kind, .name = name};
    return f;
}

void report_number(struct report *r, const char *name, double value)
{
    add(r, NUMBER, name)->number = value;
}

void report_word(struct report *r, const char *name, const char *word)
{
    add(r, WORD, name)->word = word;
}

void report_flag(struct report *r, const char *name, bool value)
{
    add(r, FLAG, name)->number = value;
}

void report_list(struct report *r, const char *name, int n, const int *list)
{
    struct figure *f = add(r, LIST, name);
    f->n = n;
    f->list = list;
}

void report_words(struct report *r, const char *name, int n, const char *const *words)
{
    struct figure *f = add(r, WORDS, name);
    f->n = n;
    f->words = words;
}

struct report *report_record(struct report *r, const char *name, const char *one)
{
    struct figure *f = NULL;
    for (int i = 0; i < r->n && !f; i++)
        if (r->figure[i].kind == RECORDS && strcmp(r->figure[i].name, name) == 0)
            f = &r->figure[i];
    if (!f) {
        f = add(r, RECORDS, name);
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

static const char *spaced(struct arena *a, const char *name)
{
    char *s = arena_printf(a, "%s", name);
    for (char *p = s; *p; p++)
        if (*p == '_')
            *p = ' ';
    return s;
}

static const char *figure_text(struct arena *a, const struct figure *f)
{
    const char *name = spaced(a, f->name);
    switch (f->kind) {
    case NUMBER:
        return arena_printf(a, "%s %.17g", name, f->number);
    case WORD:
        return arena_printf(a, "%s %s", name, f->word);
    case FLAG:
        return f->number != 0 ? name : NULL;
    case LIST:
        return f->n ? arena_printf(a, "%s %s", name, report_ranges(a, f->n, f->list)) : NULL;
    default:
        return NULL;
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
        for (int k = 0; r->figure[i].kind == RECORDS && k < r->figure[i].n; k++) {
            text_printf(out, "%*s%s %d:\n", indent, "", r->figure[i].word, k);
            report_text(out, indent + 2, r->figure[i].record[k]);
        }
}

/* ---- JSON ---- */

void report_json(struct text *out, int indent, const struct report *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct figure *f = &r->figure[i];
        text_printf(out, "%s\"%s\": ", i ? ", " : "", f->name);
        if (f->kind == NUMBER)
            text_printf(out, "%.17g", f->number);
        else if (f->kind == FLAG)
            text_printf(out, f->number != 0 ? "true" : "false");
        else if (f->kind == WORD)
            text_json(out, f->word);
        else
            text_printf(out, "[");
        for (int k = 0; f->kind == LIST && k < f->n; k++)
            text_printf(out, "%s%d", k ? ", " : "", f->list[k]);
        for (int k = 0; f->kind == WORDS && k < f->n; k++) {
            text_printf(out, k ? ", " : "");
            text_json(out, f->words[k]);
        }
        for (int k = 0; f->kind == RECORDS && k < f->n; k++) {
            text_printf(out, "%s\n%*s{", k ? "," : "", indent, "");
            report_json(out, indent + 2, f->record[k]);
            text_printf(out, "}");
        }
        if (f->kind == LIST || f->kind == WORDS || f->kind == RECORDS)
            text_printf(out, "]");
    }
}
