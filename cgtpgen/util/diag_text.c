/* diag_text.c - diagnostics for people: see diag_print in diag.h. */
#include "util/diag.h"
#include "util/unicode.h"

#include <stdio.h>
#include <string.h>

enum {
    SHOWN_COLUMNS = 100, /* of a source line; longer ones are cut around the caret */
    TAB_STOP = 8
};

enum kind { KIND_ERROR, KIND_WARNING, KIND_NOTE, KINDS };

/* What a terminal is told before and after the parts of a message. */
struct palette {
    const char *place, *kind[KINDS], *caret, *end;
};

static const struct palette palettes[] = {
    [DIAG_PLAIN] = {"", {"", "", ""}, "", ""},
    [DIAG_COLOR] = {"\33[1m", {"\33[1;31m", "\33[1;35m", "\33[1;36m"}, "\33[1;32m", "\33[0m"},
};

/* The columns that a character of a source line takes where it begins in this one. */
static int columns_at(int column, int32_t c)
{
    char buffer[UNICODE_STAND_IN];
    const char *shown = unicode_stand_in(c, buffer);
    return c == '\t' ? TAB_STOP - column % TAB_STOP : shown ? (int)strlen(shown) : unicode_columns(c);
}

/* The columns that the first n bytes of a line take on the screen. */
static int columns_before(const char *line, size_t n)
{
    int columns = 0, length;
    for (size_t i = 0; i < n; i += (size_t)length) {
        int32_t c = unicode_decode(line + i, n - i, &length);
        columns += columns_at(columns, c);
    }
    return columns;
}

/* The columns [first, last) of a line; tabs become spaces. */
static void put_columns(struct text *out, const char *line, size_t n, int first, int last)
{
    int column = 0, length;
    for (size_t i = 0; i < n && column < last; i += (size_t)length) {
        int32_t c = unicode_decode(line + i, n - i, &length);
        char buffer[UNICODE_STAND_IN];
        const char *shown = unicode_stand_in(c, buffer);
        int width = columns_at(column, c);
        if (c != '\t' && column >= first && column + width <= last)
            text_put(out, shown ? shown : line + i, shown ? (size_t)width : (size_t)length);
        else /* a tab, or a wide character cut in half */
            for (int k = column; k < column + width; k++)
                if (k >= first && k < last)
                    text_put(out, " ", 1);
        column += width;
    }
}

/* The source line at pos and the caret line below it. */
static void put_source(struct text *out, const struct diag *diag, struct pos pos, const struct palette *p)
{
    const char *s = diag->source, *end = s + diag->source_size;
    for (int line = 1; line < pos.line; line++) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        if (!newline)
            return;
        s = newline + 1;
    }
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    size_t n = (size_t)((newline ? newline : end) - s);
    const char *carriage = memchr(s, '\r', n); /* of CR LF; one inside of a line is all that is wrong there */
    n = carriage ? (size_t)(carriage - s) : n;
    if (pos.line == 1 && n >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) { /* a byte order mark shows as nothing */
        s += 3;
        n -= 3;
    }

    size_t at = pos.column > 0 ? (size_t)pos.column - 1 : 0;
    size_t width = pos.width > 0 ? (size_t)pos.width : 1;
    at = at < n ? at : n;
    width = width < n - at ? width : n - at;
    int total = columns_before(s, n), caret = columns_before(s, at), stop = columns_before(s, at + width);
    stop = stop > caret ? stop : caret + 1;

    int first = 0, last = total;
    if (total > SHOWN_COLUMNS) {
        first = caret - SHOWN_COLUMNS / 3;
        if (first > total - SHOWN_COLUMNS)
            first = total - SHOWN_COLUMNS;
        first = first > 3 ? first : 0;
        last = first + SHOWN_COLUMNS < total ? first + SHOWN_COLUMNS : total;
        last = total - last > 3 ? last : total;
    }
    text_printf(out, "%s", first ? "..." : "");
    put_columns(out, s, n, first, last);
    text_printf(out, "%s\n", last < total ? "..." : "");
    text_printf(out, "%*s%s^", (first ? 3 : 0) + caret - first, "", p->caret);
    for (int k = caret + 1; k < stop && k < last; k++)
        text_put(out, "~", 1);
    text_printf(out, "%s\n", p->end);
}

static void put_message(struct text *out, const struct diag *diag, struct pos pos, enum kind kind,
                        const struct palette *p, const char *text)
{
    static const char *const name[KINDS] = {"error", "warning", "note"};
    text_printf(out, "%s%s", p->place, diag_escaped(out->arena, diag->file));
    if (pos.line > 0)
        text_printf(out, ":%d:%d", pos.line, pos.column);
    text_printf(out, ":%s %s%s:%s %s\n", p->end, p->kind[kind], name[kind], p->end, text);
    if (pos.line > 0 && diag->source)
        put_source(out, diag, pos, p);
}

void diag_print(struct text *out, const struct diag *diag, enum diag_format format)
{
    if (format == DIAG_JSON) {
        diag_json(out, diag);
        return;
    }
    const struct palette *p = &palettes[format];
    for (int i = 0; i < diag->messages; i++) {
        const struct diag_message *m = &diag->message[i];
        struct text line = {.arena = diag->arena};
        text_puts(&line, m->text);
        if (m->suggestion)
            text_printf(&line, "; did you mean '%s'?", m->suggestion);
        bool optional = diag_table[m->id].severity != SEVERITY_ERROR, error = m->severity == SEVERITY_ERROR;
        text_printf(&line, " [%s%s]", !optional ? "" : error ? "-Werror=" : "-W", diag_table[m->id].name);
        put_message(out, diag, m->pos, error ? KIND_ERROR : KIND_WARNING, p, text_string(&line));
        for (const struct diag_note *note = m->note; note; note = note->next)
            put_message(out, diag, note->pos, KIND_NOTE, p, note->text);
    }
    const char *rest[2];
    for (int n = diag_not_shown(diag, rest), i = 0; i < n; i++)
        put_message(out, diag, (struct pos){0}, KIND_NOTE, p, rest[i]);
}

const char *diag_text(const struct diag *diag)
{
    struct text out = {.arena = diag->arena};
    diag_print(&out, diag, DIAG_PLAIN);
    return text_string(&out);
}
