/* unicode.c - see unicode.h. Ranges in tables; ends included. */
#include "util/unicode.h"

#include <stdio.h>

struct range {
    int32_t first, last;
};

#define IN(table, c) is_in(table, (int)(sizeof(table) / sizeof *(table)), c)

static bool is_in(const struct range *range, int count, int32_t c)
{
    for (int i = 0; i < count; i++)
        if (c >= range[i].first && c <= range[i].last)
            return true;
    return false;
}

int32_t unicode_decode(const char *s, size_t n, int *length)
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

bool unicode_is_control(int32_t c)
{
    return (c >= 0 && c < 0x20) || (c >= 0x7f && c < 0xa0);
}

bool unicode_is_directional(int32_t c)
{
    static const struct range directional[] = {
        {0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    return IN(directional, c);
}

bool unicode_is_invisible(int32_t c)
{
    static const struct range invisible[] = {
        {0x00a0, 0x00a0}, {0x00ad, 0x00ad},  {0x034f, 0x034f}, {0x115f, 0x1160}, {0x1680, 0x1680},
        {0x17b4, 0x17b5}, {0x180b, 0x180f},  {0x2000, 0x200d}, {0x202f, 0x202f}, {0x205f, 0x2065},
        {0x206a, 0x206f}, {0x3000, 0x3000},  {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
        {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    return IN(invisible, c);
}

const char *unicode_stand_in(int32_t c, char buffer[UNICODE_STAND_IN])
{
    if (c < 0)
        return "?";
    if (!unicode_is_control(c) && !unicode_is_directional(c) && !unicode_is_invisible(c))
        return NULL;
    snprintf(buffer, UNICODE_STAND_IN, "<U+%04X>", (unsigned)c);
    return buffer;
}

int unicode_columns(int32_t c)
{
    static const struct range none[] = {{0x300, 0x36f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    static const struct range two[] = {{0x1100, 0x115e},   {0x2e80, 0xa4cf},  {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},   {0xfe30, 0xfe6f},  {0xff01, 0xff60},
                                       {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
    return IN(none, c) ? 0 : IN(two, c) ? 2 : 1;
}
