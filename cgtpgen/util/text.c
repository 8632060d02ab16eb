/* text.c - see text.h. */
#include "util/text.h"
#include "util/format.h"

#include <stdarg.h>
#include <string.h>

static void reserve(struct text *t, size_t more)
{
    if (t->capacity - t->n > more)
        return;
    size_t larger = 2 * (t->n + more) + 256;
    t->s = arena_resize(t->arena, t->s, t->capacity, larger);
    t->capacity = larger;
}

void text_put(struct text *t, const char *s, size_t n)
{
    reserve(t, n);
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
}

void text_puts(struct text *t, const char *s)
{
    text_put(t, s, strlen(s));
}

void text_spaces(struct text *t, int n)
{
    reserve(t, (size_t)n);
    memset(t->s + t->n, ' ', (size_t)n);
    t->n += (size_t)n;
    t->s[t->n] = '\0';
}

void text_printf(struct text *t, const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    reserve(t, 128);
    const size_t n = format_text(t->s + t->n, t->capacity - t->n, format, ap);
    va_end(ap);
    if (n >= t->capacity - t->n) {
        reserve(t, n);
        format_text(t->s + t->n, t->capacity - t->n, format, again);
    }
    va_end(again);
    t->n += n;
}

const char *text_string(const struct text *t)
{
    return t->s ? t->s : "";
}

void text_json(struct text *out, const char *s)
{
    text_put(out, "\"", 1);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            text_printf(out, "\\u%04x", *s);
        else
            text_put(out, s, 1);
    }
    text_put(out, "\"", 1);
}

void text_wrap(struct text *out, const char *first, const char *others, const char *s, size_t n,
               size_t columns)
{
    for (const char *start = first;; start = others) {
        const size_t room = columns - strlen(start);
        size_t cut = n;
        if (n > room) {
            for (cut = room; cut && s[cut] != ' ';)
                cut--;
            for (cut = cut ? cut : room; cut < n && s[cut] != ' ';)
                cut++;
        }
        text_puts(out, start);
        text_put(out, s, cut);
        text_put(out, "\n", 1);
        if (cut == n)
            return;
        s += cut + 1, n -= cut + 1;
    }
}
