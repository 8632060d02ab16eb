/* layout.c - see layout.h. */
#include "util/layout.h"

#include <string.h>

static const char layout_padding[] = "to whole lines";

static int at_most(int64_t bytes)
{
    return bytes < LAYOUT_MOST ? (int)bytes : LAYOUT_MOST;
}

static int64_t round_up(int n, int to)
{
    return ((int64_t)n + to - 1) / to * to;
}

static void place(struct layout *l, struct layout_field *f)
{
    f->at = l->alternatives ? 0 : at_most(round_up(l->bytes, f->align));
    const int end = at_most((int64_t)f->at + f->bytes);
    l->bytes = l->bytes > end ? l->bytes : end;
    l->align = l->align > f->align ? l->align : f->align;
}

static struct layout_field *add(struct arena *a, struct layout *l, struct layout_field field)
{
    l->field = arena_grow(a, l->field, l->fields, &l->capacity, sizeof field);
    struct layout_field *f = &l->field[l->fields++];
    *f = field;
    f->bytes = at_most((int64_t)f->element * (f->count[0] ? f->count[0] : 1));
    place(l, f);
    return f;
}

struct layout_field *layout_add(struct arena *a, struct layout *l, const char *name, const char *type,
                                int element, int align, int64_t count, const char *owner)
{
    return add(a, l,
               (struct layout_field){.name = name,
                                     .type = type,
                                     .element = element,
                                     .align = align,
                                     .count = {at_most(count)},
                                     .owner = owner});
}

struct layout_field *layout_nest(struct arena *a, struct layout *l, const char *name, const struct layout *of,
                                 int count, const char *owner)
{
    return add(a, l,
               (struct layout_field){.name = name,
                                     .of = of,
                                     .element = of->bytes,
                                     .align = of->align,
                                     .count = {count},
                                     .owner = owner});
}

void layout_repeat(struct layout *l, int n)
{
    struct layout_field *f = &l->field[l->fields - 1];
    memmove(f->count + 1, f->count, sizeof f->count - sizeof *f->count);
    f->count[0] = n;
    f->bytes = at_most((int64_t)f->bytes * n);
    if (!l->alternatives)
        l->bytes = f->at;
    place(l, f);
}

void layout_pad(struct arena *a, struct layout *l, int align)
{
    const int whole = (int)round_up(l->bytes, align), missing = l->alternatives ? whole : whole - l->bytes;
    if (whole > l->bytes)
        layout_add(a, l, "padding0", "unsigned char", 1, 1, missing, layout_padding);
}

const char *layout_check(struct arena *a, const struct layout *l)
{
    for (int i = 0; i < l->fields; i++) {
        const struct layout_field *f = &l->field[i];
        if (f->at < 0 || f->bytes < 0 || f->at > l->bytes - f->bytes)
            return arena_printf(a, "%s.%s: bytes %d to %d of %d", l->name, f->name, f->at, f->at + f->bytes,
                                l->bytes);
        if (f->at % f->align || l->align % f->align)
            return arena_printf(a, "%s.%s: at byte %d, not a multiple of %d", l->name, f->name, f->at,
                                f->align);
        for (int j = 0; j < i && !l->alternatives; j++) {
            const struct layout_field *g = &l->field[j];
            if (f->at < g->at + g->bytes && g->at < f->at + f->bytes)
                return arena_printf(a, "%s.%s: overlaps %s", l->name, f->name, g->name);
        }
        const char *inner = f->of ? layout_check(a, f->of) : NULL;
        if (inner)
            return inner;
    }
    return NULL;
}

/* ---- printing ---- */

static const char *type_of(const struct layout_field *f)
{
    return f->of ? f->of->name : f->type;
}

static bool declared_together(const struct layout_field *f, const struct layout_field *g)
{
    return f->owner && f->owner == g->owner && strcmp(type_of(f), type_of(g)) == 0;
}

/* Does the compiler, unasked, put a field elsewhere? It aligns elements of basic types to their size. */
static bool needs_alignas(const struct layout *l, int i)
{
    const struct layout_field *f = &l->field[i];
    int end = i && !l->alternatives ? l->field[i - 1].at + l->field[i - 1].bytes : 0;
    bool basic = (f->element & (f->element - 1)) == 0 && !f->of;
    return round_up(end, basic ? f->element : f->align) != f->at;
}

static void print_all(struct out *, const struct layout *, struct text *checks);

static void print_fields(struct out *o, const struct layout *l, int first, int last)
{
    const struct layout_field *f = &l->field[first];
    struct text names = {.arena = o->text->arena};
    for (int i = first; i < last; i++) {
        text_printf(&names, "%s%s", i > first ? ", " : "", l->field[i].name);
        for (int k = 0; k < 3 && l->field[i].count[k]; k++)
            text_printf(&names, "[%d]", l->field[i].count[k]);
    }
    const char *align = needs_alignas(l, first) ? arena_printf(o->text->arena, "alignas(%d) ", f->align) : "";
    const char *comment = f->owner ? arena_printf(o->text->arena, " /* %s */", f->owner) : "";
    if (type_of(f)) {
        line(o, "%s%s %s;%s", align, type_of(f), text_string(&names), comment);
        return;
    }
    line(o, "%s%s {%s", align, f->of->alternatives ? "union" : "struct", comment);
    print_all(o, f->of, NULL);
    line(o, "} %s;", text_string(&names));
}

/* All fields; adds to `checks` where each owner's begin. */
static void print_all(struct out *o, const struct layout *l, struct text *checks)
{
    for (int first = 0, last = 0; first < l->fields; first = last) {
        const struct layout_field *f = &l->field[first];
        for (last = first + 1; last < l->fields; last++)
            if (!declared_together(f, &l->field[last]) || needs_alignas(l, last))
                break;
        print_fields(o, l, first, last);
        if (checks && f->at && f->owner != layout_padding)
            text_printf(checks, " && offsetof(%s, %s) == %d", l->name, f->name, f->at);
    }
}

void layout_print(struct out *o, const struct layout *l)
{
    struct text checks = {.arena = o->text->arena};
    if (l->note)
        line(o, "/* %s */", l->note);
    if (l->align > 8)
        line(o, "%s alignas(%d) %s {", l->alternatives ? "union" : "struct", l->align, l->name);
    else
        line(o, "%s %s {", l->alternatives ? "union" : "struct", l->name);
    print_all(o, l, &checks);
    line(o, "};");
    line(o, "static_assert(sizeof(%s) == %d%s, \"as planned\");", l->name, l->bytes, text_string(&checks));
    blank(o);
}
