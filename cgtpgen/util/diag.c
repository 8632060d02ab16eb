/* diag.c - see diag.h. What is printed is safe for a terminal: control characters and broken UTF-8 never get
 * through. */
#include "util/diag.h"

#include "util/unicode.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_ERRORS = 100,  /* reported in full; the rest is only counted */
    SHOWN_COLUMNS = 100, /* of a source line; longer ones are cut around the caret */
    TAB_STOP = 8,
    WORD_MAX = 64 /* longer words get no suggestion */
};

/* What stands for a character that must not, or cannot, be shown as it is: <U+200B>; NULL: it shows itself.
 */
static const char *stand_in(int32_t c, char buffer[16])
{
    if (c < 0)
        return "?";
    if (!unicode_is_control(c) && !unicode_is_directional(c) && !unicode_is_invisible(c))
        return NULL;
    snprintf(buffer, 16, "<U+%04X>", (unsigned)c);
    return buffer;
}

/* The columns that a character of a source line takes where it begins in this one. */
static int columns_at(int column, int32_t c)
{
    char buffer[16];
    const char *shown = stand_in(c, buffer);
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
        char buffer[16];
        const char *shown = stand_in(c, buffer);
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
static void put_source(struct diag *diag, struct pos pos)
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
    text_printf(&diag->out, "%s", first ? "..." : "");
    put_columns(&diag->out, s, n, first, last);
    text_printf(&diag->out, "%s\n", last < total ? "..." : "");
    text_printf(&diag->out, "%*s^", (first ? 3 : 0) + caret - first, "");
    for (int k = caret + 1; k < stop && k < last; k++)
        text_put(&diag->out, "~", 1);
    text_put(&diag->out, "\n", 1);
}

/* A message or a file's name. */
static void put_escaped(struct text *out, const char *s)
{
    int length;
    for (size_t n = strlen(s); n; n -= (size_t)length, s += length) {
        int32_t c = unicode_decode(s, n, &length);
        char buffer[16];
        const char *shown = stand_in(c, buffer);
        if (c < 0)
            text_printf(out, "\\x%02x", (unsigned char)*s);
        else
            text_put(out, shown ? shown : s, shown ? strlen(shown) : (size_t)length);
    }
}

static void report(struct diag *diag, struct pos pos, const char *kind, const char *format, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    char *message = arena_alloc(diag->out.arena, (size_t)n + 1);
    vsnprintf(message, (size_t)n + 1, format, again);
    va_end(again);

    put_escaped(&diag->out, diag->file);
    if (pos.line > 0)
        text_printf(&diag->out, ":%d:%d", pos.line, pos.column);
    text_printf(&diag->out, ": %s: ", kind);
    put_escaped(&diag->out, message);
    text_put(&diag->out, "\n", 1);
    if (pos.line > 0 && diag->source)
        put_source(diag, pos);
}

static void note_place(struct diag *diag, struct pos pos)
{
    diag->place =
        arena_grow(diag->out.arena, diag->place, diag->places, &diag->capacity, sizeof *diag->place);
    diag->place[diag->places++] = (struct diag_place){pos, diag->out.n};
}

void diag_error(struct diag *diag, struct pos pos, const char *format, ...)
{
    if (++diag->errors > SHOWN_ERRORS) {
        if (diag->errors == SHOWN_ERRORS + 1) {
            note_place(diag, (struct pos){INT_MAX, 0, 0});
            put_escaped(&diag->out, diag->file);
            text_printf(&diag->out, ": error: more than %d errors; the rest is not shown\n", SHOWN_ERRORS);
        }
        return;
    }
    note_place(diag, pos);
    va_list ap;
    va_start(ap, format);
    report(diag, pos, "error", format, ap);
    va_end(ap);
}

void diag_note(struct diag *diag, struct pos pos, const char *format, ...)
{
    if (diag->errors > SHOWN_ERRORS)
        return;
    va_list ap;
    va_start(ap, format);
    report(diag, pos, "note", format, ap);
    va_end(ap);
}

static int compare_places(const void *a, const void *b)
{
    const struct diag_place *p = a, *q = b;
    if (p->pos.line != q->pos.line)
        return p->pos.line < q->pos.line ? -1 : 1;
    if (p->pos.column != q->pos.column)
        return p->pos.column < q->pos.column ? -1 : 1;
    return p->begin < q->begin ? -1 : p->begin > q->begin;
}

void diag_sort(struct diag *diag)
{
    int n = diag->places;
    if (n < 2)
        return;
    struct diag_place *sorted = NEW_ARRAY(diag->out.arena, struct diag_place, n);
    for (int i = 0; i < n; i++)
        sorted[i] = diag->place[i];
    qsort(sorted, (size_t)n, sizeof *sorted, compare_places);
    struct text out = {.arena = diag->out.arena};
    text_put(&out, diag->out.s, diag->place[0].begin);
    for (int i = 0; i < n; i++) {
        int k = 0; /* the place's number in the order of reporting */
        while (diag->place[k].begin != sorted[i].begin)
            k++;
        size_t begin = sorted[i].begin, end = k + 1 < n ? diag->place[k + 1].begin : diag->out.n;
        sorted[i].begin = out.n;
        text_put(&out, diag->out.s + begin, end - begin);
    }
    diag->out = out;
    diag->place = sorted;
    diag->capacity = n;
}

/* Edits that turn a into b: insertions, deletions, substitutions and swaps of neighbours; letter case is
 * free. */
static int edit_distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b);
    int row[3][WORD_MAX + 1];
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = above[j - 1] + (ca != cb);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *diag_nearest(const char *word, const char *const *words, int count)
{
    const char *nearest = NULL;
    int least = WORD_MAX;
    size_t n = strlen(word);
    if (n > WORD_MAX)
        return NULL;
    for (int i = 0; i < count; i++) {
        size_t m = strlen(words[i]);
        if (m > WORD_MAX)
            continue;
        int distance = edit_distance(word, words[i]);
        if (distance < least && (size_t)(3 * distance) <= (n > m ? n : m)) {
            least = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
