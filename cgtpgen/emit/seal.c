/* seal.c - see seal.h. */
#include "emit/seal.h"
#include "util/hash.h"

#include <string.h>

enum { DIGITS = 8 };
static const char word[] = SEAL_TEXT;

/* Where the n bytes have s; NULL: nowhere. */
static const char *find(const char *text, size_t n, const char *s)
{
    const size_t length = strlen(s);
    for (size_t i = 0; i + length <= n; i++)
        if (!memcmp(text + i, s, length))
            return text + i;
    return NULL;
}

/* The rest of the line that says who wrote it, one of the first two; 0 where none does. */
static size_t banner(const char *text, size_t n, const char **rest)
{
    for (int line = 0; line < 2 && n; line++) {
        const char *end = memchr(text, '\n', n);
        const size_t length = end ? (size_t)(end - text) : n;
        const char *by = find(text, length, SEAL_BY);
        if (by) {
            *rest = by + strlen(SEAL_BY);
            return length - (size_t)(*rest - text);
        }
        if (!end)
            break;
        text += length + 1;
        n -= length + 1;
    }
    return 0;
}

/* The digits of the checksum in the banner; NULL: it has none. */
static const char *place(const char *text, size_t n)
{
    const char *rest = NULL;
    const size_t left = banner(text, n, &rest), lead = sizeof word - 1 - DIGITS;
    for (const char *s = rest; s && s + lead + DIGITS <= rest + left; s++)
        if (!memcmp(s, word, lead) && strspn(s + lead, "0123456789abcdef") >= DIGITS)
            return s + lead;
    return NULL;
}

/* Of the text but for the digits themselves. */
static void checksum(char digits[DIGITS], const char *text, size_t n, const char *at)
{
    uint32_t key = 0;
    for (const char *s = text, *end = text + n; s < end;) {
        if (s == at)
            s += DIGITS;
        const char *stop = s < at ? at : end, *cr = memchr(s, '\r', (size_t)(stop - s));
        stop = cr ? cr : stop;
        key = hash_bytes(key, s, (size_t)(stop - s));
        s = cr ? cr + 1 : stop;
    }
    for (int i = 0; i < DIGITS; i++, key <<= 4)
        digits[i] = "0123456789abcdef"[key >> 28];
}

void seal_set(char *text, size_t n)
{
    const char *at = place(text, n);
    if (at)
        checksum(text + (at - text), text, n, at);
}

enum seal seal_of(const char *text, size_t n)
{
    const char *rest, *at = place(text, n);
    if (!banner(text, n, &rest))
        return SEAL_NONE;
    char digits[DIGITS];
    if (at)
        checksum(digits, text, n, at);
    return !at ? SEAL_OLD : memcmp(digits, at, DIGITS) ? SEAL_EDITED : SEAL_WHOLE;
}
