/* slips.c - see slips.h. Only look-alikes are known here; of other letters readers say what they expected. */
#include "spec/slips.h"

#include "util/unicode.h"

#include <string.h>

/* ---- characters ---- */

/* Characters `first` and on, as many as `meant` has, one byte each; a space: what is to be left out. */
struct look_alikes {
    int32_t first;
    const char *meant;
    const char *what;
};

static const struct look_alikes look_alikes[] = {
    {0x0410, "A", "a Cyrillic letter"},
    {0x0412, "B", "a Cyrillic letter"},
    {0x0415, "E", "a Cyrillic letter"},
    {0x041a, "K", "a Cyrillic letter"},
    {0x041c, "MHO", "a Cyrillic letter"},
    {0x0420, "PCT", "a Cyrillic letter"},
    {0x0425, "X", "a Cyrillic letter"},
    {0x0430, "a", "a Cyrillic letter"},
    {0x0433, "r", "a Cyrillic letter"},
    {0x0435, "e", "a Cyrillic letter"},
    {0x043e, "o", "a Cyrillic letter"},
    {0x0440, "pc", "a Cyrillic letter"},
    {0x0443, "y", "a Cyrillic letter"},
    {0x0445, "x", "a Cyrillic letter"},
    {0x0455, "si", "a Cyrillic letter"},
    {0x0458, "j", "a Cyrillic letter"},
    {0x04bb, "h", "a Cyrillic letter"},
    {0x0501, "d", "a Cyrillic letter"},
    {0x051d, "w", "a Cyrillic letter"},
    {0x03bd, "v", "a Greek letter"},
    {0x03bf, "o", "a Greek letter"},
    {0x03c5, "u", "a Greek letter"},
    {0x03c7, "x", "a Greek letter"},
    {0x00d7, "x", "a sign of multiplication"},
    {0x2715, "xx", "a sign of multiplication"},
    {0x2a2f, "x", "a sign of multiplication"},
    {0x2010, "------", "a dash"},
    {0x2212, "-", "a minus sign"},
    {0x2295, "+", "the sign of a direct sum"},
    {0x2018, "    ", "a typographic quotation mark"},
    {0x201c, "    ", "a typographic quotation mark"},
    {0xff01,
     "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
     "a fullwidth form"},
};

/* What the character looks like; NULL: nothing of a spec. */
static const struct look_alikes *find(int32_t c)
{
    for (size_t i = 0; i < sizeof look_alikes / sizeof *look_alikes; i++)
        if (c >= look_alikes[i].first && c - look_alikes[i].first < (int32_t)strlen(look_alikes[i].meant))
            return &look_alikes[i];
    return NULL;
}

enum diag_id slips_id(int32_t c)
{
    return unicode_is_directional(c) ? DIAG_DIRECTION : find(c) ? DIAG_LOOK_ALIKE : DIAG_INVISIBLE;
}

const char *slips_message(struct arena *arena, const char *s, int length, int32_t c)
{
    const struct look_alikes *like = find(c);
    const char *shown = arena_string(arena, s, (size_t)length);
    if (unicode_is_directional(c))
        return arena_printf(
            arena, "U+%04X breaks lines or turns the direction of text, which then is not what it looks like",
            (unsigned)c);
    if (!like)
        return arena_printf(arena, "U+%04X is not visible; delete it, or write a plain space", (unsigned)c);
    if (like->meant[c - like->first] == ' ')
        return arena_printf(arena, "'%s' is %s, U+%04X; write a plain \" or none", shown, like->what,
                            (unsigned)c);
    return arena_printf(arena, "'%s' is %s, U+%04X; write a plain '%c'", shown, like->what, (unsigned)c,
                        like->meant[c - like->first]);
}

bool slips_is_character(int32_t c, bool free_text)
{
    return unicode_is_directional(c) || (!free_text && (find(c) || unicode_is_invisible(c)));
}

char slips_meant(int32_t c)
{
    const struct look_alikes *like = find(c);
    char meant = like ? like->meant[c - like->first] : '\0';
    return meant == ' ' ? '\0' : meant;
}

/* ---- keys ---- */

size_t slips_word_length(const char *s)
{
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' ||
           (n > 0 && s[n] >= '0' && s[n] <= '9'))
        n++;
    return n;
}

bool slips_in_key(struct arena *arena, const char *line, size_t at, struct slip *slip)
{
    enum { SHOWN = 30 };
    size_t word = slips_word_length(line), p = word + strspn(line + word, " ");
    bool colon = line[word] == ':', sign = line[p] == '=';
    if (!word || !line[p] || (colon && (!line[word + 1] || line[word + 1] == ' '))) /* no key, or no slip */
        return false;
    size_t separator = colon ? word : sign ? p : word;
    const char *value = line + separator + (colon || sign);
    value += strspn(value, " ");
    size_t n = strlen(value);
    bool cut = n > SHOWN;
    for (n = cut ? SHOWN : n; cut && ((unsigned char)value[n] & 0xc0) == 0x80;)
        n--; /* not inside of a character */
    const char *key = arena_string(arena, line, word),
               *shown = arena_printf(arena, "'%s: %.*s%s'", key, (int)n, value, cut ? "..." : "");
    slip->id = DIAG_MISSING_COLON;
    slip->at = at + separator;
    slip->width = 1;
    slip->message = colon ? arena_printf(arena, "a space is missing after the colon: write %s", shown)
                    : sign
                        ? arena_printf(arena, "a colon and a space separate key and value: write %s", shown)
                        : arena_printf(arena, "a colon is missing after the key: write %s", shown);
    return true;
}

/* ---- what is no YAML ---- */

/* The line that holds byte `at`, from its first byte that is not indentation; *begin gets where that is. */
static const char *line_of(struct arena *arena, const struct diag *diag, size_t at, size_t *begin)
{
    const char *s = diag->source;
    size_t end = at;
    while (at > 0 && s[at - 1] != '\n')
        at--;
    if (at == 0 && diag->source_size >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        at = end < 3 ? end : 3;
    while (end < diag->source_size && s[end] != '\n' && s[end] != '\r')
        end++;
    while (at < end && (s[at] == ' ' || (s[at] == '-' && at + 1 < end && s[at + 1] == ' ')))
        at++;
    *begin = at;
    return arena_string(arena, s + at, end - at);
}

/* A character in a line that is not visible, and so no space. */
static bool slip_of_character(struct arena *arena, const char *line, size_t at, struct slip *slip)
{
    int length;
    for (size_t n = strlen(line), i = 0; i < n; i += (size_t)length) {
        int32_t c = unicode_decode(line + i, n - i, &length);
        if (!unicode_is_invisible(c) && !unicode_is_directional(c))
            continue;
        *slip = (struct slip){slips_id(c), at + i, (size_t)length, slips_message(arena, line + i, length, c)};
        return true;
    }
    return false;
}

/* A colon that cannot make a key: the second of its line, or the line goes on with the one before, which is
 * no key with its value, or is one and stands further to the left. */
static bool slip_of_colon(struct arena *arena, const struct diag *diag, size_t at, struct slip *slip)
{
    size_t begin;
    const char *line = line_of(arena, diag, at, &begin), *first = strstr(line, ": ");
    bool is_key = slips_word_length(line) > 0;
    if (first && (size_t)(first - line) < at - begin) {
        *slip = (struct slip){DIAG_MISSING_QUOTES, at, 1,
                              "a value that holds a colon and a space must stand in quotes"};
        return true;
    }
    *slip = (struct slip){
        DIAG_YAML_SYNTAX, begin, at - begin,
        "indented more than the line before, which has a value; keys of a mapping stand in one column"};
    while (begin > 0) {
        while (begin > 0 && diag->source[begin - 1] != '\n')
            begin--;
        if (begin == 0)
            return false;
        line = line_of(arena, diag, begin - 1, &begin);
        if (*line && *line != '#')
            return slip_of_character(arena, line, begin, slip) || slips_in_key(arena, line, begin, slip) ||
                   (is_key && strstr(line, ": "));
    }
    return false;
}

bool slips_in_yaml(struct arena *arena, const struct diag *diag, const char *problem, size_t at,
                   size_t context, struct slip *slip)
{
    bool no_colon = strcmp(problem, "could not find expected ':'") == 0;
    size_t begin;
    const char *line = line_of(arena, diag, no_colon ? context : at, &begin);
    if (slip_of_character(arena, line, begin, slip))
        return true;
    if (no_colon)
        return slips_in_key(arena, line, begin, slip);
    if (strcmp(problem, "mapping values are not allowed in this context") == 0)
        return slip_of_colon(arena, diag, at, slip);
    if (strcmp(problem, "found character that cannot start any token") == 0 && at < diag->source_size &&
        diag->source[at] != '\t') {
        *slip = (struct slip){
            DIAG_MISSING_QUOTES, at, 1,
            arena_printf(arena, "a text that begins with %c must stand in quotes", diag->source[at])};
        return true;
    }
    return false;
}
