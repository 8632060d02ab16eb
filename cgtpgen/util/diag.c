/* diag.c - see diag.h: collecting and sorting. Texts are made safe for a terminal here: controls, broken
 * UTF-8 and what is not visible are kept as their numbers. */
#include "util/diag.h"

#include "util/unicode.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64 /* longer words get no suggestion */ };

const char *diag_escaped(struct arena *arena, const char *s)
{
    struct text out = {.arena = arena};
    int length;
    for (size_t n = strlen(s); n; n -= (size_t)length, s += length) {
        int32_t c = unicode_decode(s, n, &length);
        char buffer[UNICODE_STAND_IN];
        const char *shown = unicode_stand_in(c, buffer);
        if (c < 0)
            text_printf(&out, "\\x%02x", (unsigned char)*s);
        else
            text_put(&out, shown ? shown : s, shown ? strlen(shown) : (size_t)length);
    }
    return text_string(&out);
}

static const char *formatted(struct arena *arena, const char *format, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    char *text = arena_alloc(arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return diag_escaped(arena, text);
}

void diag_report(struct diag *diag, enum diag_id id, struct pos pos, const char *format, ...)
{
    enum diag_severity severity = diag->severity ? diag->severity[id] : diag_table[id].severity;
    int *count = severity == SEVERITY_ERROR ? &diag->errors : &diag->warnings;
    diag->dropped = severity == SEVERITY_IGNORED || ++*count > DIAG_SHOWN;
    if (diag->dropped)
        return;
    va_list ap;
    va_start(ap, format);
    diag->message =
        arena_grow(diag->arena, diag->message, diag->messages, &diag->capacity, sizeof *diag->message);
    diag->message[diag->messages] = (struct diag_message){.id = id,
                                                          .severity = severity,
                                                          .number = diag->messages,
                                                          .pos = pos,
                                                          .text = formatted(diag->arena, format, ap)};
    diag->messages++;
    va_end(ap);
}

void diag_note(struct diag *diag, struct pos pos, const char *format, ...)
{
    if (diag->dropped)
        return;
    va_list ap;
    va_start(ap, format);
    struct diag_note *note = NEW(diag->arena, struct diag_note);
    *note = (struct diag_note){.pos = pos, .text = formatted(diag->arena, format, ap)};
    va_end(ap);
    struct diag_note **end = &diag->message[diag->messages - 1].note;
    while (*end)
        end = &(*end)->next;
    *end = note;
}

void diag_suggest(struct diag *diag, const char *word)
{
    if (!diag->dropped)
        diag->message[diag->messages - 1].suggestion = word;
}

static int compare_places(const void *a, const void *b)
{
    const struct diag_message *p = a, *q = b;
    if (p->pos.line != q->pos.line)
        return p->pos.line < q->pos.line ? -1 : 1;
    if (p->pos.column != q->pos.column)
        return p->pos.column < q->pos.column ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

void diag_sort(struct diag *diag)
{
    if (diag->messages > 1)
        qsort(diag->message, (size_t)diag->messages, sizeof *diag->message, compare_places);
}

int diag_not_shown(const struct diag *diag, const char *text[2])
{
    const int count[2] = {diag->errors, diag->warnings};
    static const char *const what[2] = {"errors", "warnings"};
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (count[i] > DIAG_SHOWN)
            text[n++] =
                arena_printf(diag->arena, "more than %d %s; the rest is not shown", DIAG_SHOWN, what[i]);
    return n;
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
