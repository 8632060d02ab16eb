/* unicode.h - UTF-8 for messages: which characters a screen shows, and in how many columns. */
#ifndef CGTPGEN_UNICODE_H
#define CGTPGEN_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at s, n bytes long at most; *length gets its bytes. Returns -1, length 1, where the UTF-8 is
 * broken. */
int32_t unicode_decode(const char *s, size_t n, int *length);

/* Controls: what a terminal might obey instead of show. */
bool unicode_is_control(int32_t c);

/* Line separators, and what changes the direction of text: code that holds it is not what it looks like. */
bool unicode_is_directional(int32_t c);

/* Any other character that leaves no mark, or looks like a plain space and is none. */
bool unicode_is_invisible(int32_t c);

/* Columns a character takes: the ranges that matter in practice, since wcwidth() depends on the locale. */
int unicode_columns(int32_t c);

enum { UNICODE_STAND_IN = 16 };

/* What stands for a character that must not, or cannot, be shown as it is: <U+200B>, or ? where the UTF-8 is
 * broken; NULL: it shows itself. */
const char *unicode_stand_in(int32_t c, char buffer[UNICODE_STAND_IN]);

#endif
