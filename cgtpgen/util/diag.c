/* diag.c - see diag.h. What is printed is safe for a terminal: control characters and broken UTF-8 never get
 * through. */
#include "util/diag.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_ERRORS = 100,  /* reported in full; the rest is only counted */
    SHOWN_COLUMNS = 100, /* of a source line; longer ones are cut around the caret */
    TAB_STOP = 8,
    WORD_MAX = 64 /* longer words get no suggestion */
};

/* The code point at s, n bytes long at most; *length gets its bytes. Returns -1, length 1, where the UTF-8 is
 * broken. */
static int32_t decode(const char *s, size_t n, int *length)
{
    const unsigned char *p = (const unsigned char *)s;
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    int size = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    *length = 1;
    if (size == 1)
        return p[0];
    if (p[0] < 0xc2 || p[0] > 0xf4 || (size_t)size > n)
        return -1;
    int32_t c = p[0] & (0x7f >> size);
    for (int i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[size] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return -1;
    *length = size;
    return c;
}

/* Anything a terminal might obey instead of show: controls, line separators, bidirectional overrides. */
static bool is_control(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200e && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Columns a character takes: the ranges that matter in practice, since wcwidth() depends on the locale. */
static int columns_of(int32_t c)
{
    if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200d) || (c >= 0x20d0 && c <= 0x20ff) ||
        (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff)
        return 0;
    if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
        (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
        (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
        return 2;
    return 1;
}

/* The columns that the first n bytes of a line take on the screen. */
static int columns_before(const char *line, size_t n)
{
    int columns = 0, length;
    for (size_t i = 0; i < n; i += (size_t)length) {
        int32_t c = decode(line + i, n - i, &length);
        if (c == '\t')
            columns += TAB_STOP - columns % TAB_STOP;
        else
            columns += c < 0 || is_control(c) ? 1 : columns_of(c);
    }
    return columns;
}

/* The columns [first, last) of a line; tabs become spaces, and what cannot be shown becomes '?'. */
static void put_columns(struct text *out, const char *line, size_t n, int first, int last)
{
    int column = 0, length;
    for (size_t i = 0; i < n && column < last; i += (size_t)length) {
        int32_t c = decode(line + i, n - i, &length);
        bool shown = c >= 0 && !is_control(c);
        int width = c == '\t' ? TAB_STOP - column % TAB_STOP : shown ? columns_of(c) : 1;
        if (c != '\t' && column >= first && column + width <= last)
            text_put(out, shown ? line + i : "?", shown ? (size_t)length : 1);
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
    if (n && s[n - 1] == '\r')
        n--;
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

static void put_escaped(struct text *out, const char *s)
{
    int length;
    for (size_t n = strlen(s); n; n -= (size_t)length, s += length) {
        int32_t c = decode(s, n, &length);
        if (c >= 0 && !is_control(c))
            text_put(out, s, (size_t)length);
        else
            for (int i = 0; i < length; i++)
                text_printf(out, "\\x%02x", (unsigned char)s[i]);
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
