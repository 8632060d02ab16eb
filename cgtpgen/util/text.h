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

/* A JSON string of valid UTF-8. */
void text_json(struct text *, const char *s);

/* The string so far, never NULL. */
const char *text_string(const struct text *);

#endif
