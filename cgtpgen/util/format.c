/* format.c - see format.h. */
#include "util/format.h"

#include <stdio.h>
#include <string.h>

struct written {
    char *to;
    size_t size, n;
};

static void put(struct written *w, const char *s, size_t n)
{
    if (w->n + n <= w->size)
        memcpy(w->to + w->n, s, n);
    w->n += n;
}

static void put_number(struct written *w, long long number)
{
    char digit[24], *first = digit + sizeof digit;
    unsigned long long left = number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;
    do
        *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--first = '-';
    put(w, first, (size_t)(digit + sizeof digit - first));
}

/* What follows '%' up to its letter, by the letter; 0: vsnprintf's. */
enum directive { OTHER, PERCENT, CHARACTER, STRING, PREFIX, INT, LONG, LONG_LONG };

static enum directive directive_of(const char **format)
{
    static const struct {
        const char *text;
        size_t n;
        enum directive is;
    } table[] = {{"s", 1, STRING},   {"d", 1, INT},   {"c", 1, CHARACTER},  {"%", 1, PERCENT},
                 {".*s", 3, PREFIX}, {"ld", 2, LONG}, {"lld", 3, LONG_LONG}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strncmp(*format, table[i].text, table[i].n) == 0) {
            *format += table[i].n;
            return table[i].is;
        }
    return OTHER;
}

size_t format_text(char *to, size_t size, const char *format, va_list args)
{
    struct written w = {to, size, 0};
    va_list again;
    va_copy(again, args);
    for (const char *s = format;;) {
        const char *first = s;
        while (*s && *s != '%') /* a few letters */
            s++;
        put(&w, first, (size_t)(s - first));
        if (!*s++)
            break;
        const char *text;
        int most;
        switch (directive_of(&s)) {
        case PERCENT:
            put(&w, "%", 1);
            break;
        case CHARACTER:
            put(&w, &(char){(char)va_arg(args, int)}, 1);
            break;
        case STRING:
            text = va_arg(args, const char *);
            text = text ? text : "(null)";
            put(&w, text, strlen(text));
            break;
        case PREFIX:
            most = va_arg(args, int);
            text = va_arg(args, const char *);
            put(&w, text, strnlen(text, (size_t)most));
            break;
        case INT:
            put_number(&w, va_arg(args, int));
            break;
        case LONG:
            put_number(&w, va_arg(args, long));
            break;
        case LONG_LONG:
            put_number(&w, va_arg(args, long long));
            break;
        case OTHER: {
            const int length = vsnprintf(to, size, format, again);
            va_end(again);
            return (size_t)length;
        }
        }
    }
    va_end(again);
    put(&w, "", 1);
    return w.n - 1;
}
