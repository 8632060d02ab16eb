/* text.h - a growing string in an arena: everything the program prints is written here first. */
#ifndef CGTPGEN_TEXT_H
#define CGTPGEN_TEXT_H

#include "util/arena.h"

struct text {
    struct arena *arena;
    char *s;            /* NUL-terminated once anything was written; NULL before */
    size_t n, capacity; /* bytes written, bytes of room */
};

void text_put(struct text *, const char *s, size_t n);
void text_puts(struct text *, const char *s);
void text_spaces(struct text *, int n);
void text_printf(struct text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* n bytes of s, broken at spaces into lines of at most `columns`, the first after one start, others after
 * another. */
void text_wrap(struct text *, const char *first, const char *others, const char *s, size_t n, size_t columns);

/* A JSON string of valid UTF-8. */
void text_json(struct text *, const char *s);

/* The string so far, never NULL. */
const char *text_string(const struct text *);

#endif
