/* out.c - see out.h. */
#include "util/out.h"

#include <stdbool.h>
#include <string.h>

enum { COLUMNS = 110, INDENT = 4 };

static bool begins(const char *s, const char *word)
{
    size_t n = strlen(word);
    return strncmp(s, word, n) == 0 && strchr(" (", s[n]);
}

/* How well a line breaks at the space s[i]: after a comma or before a comment best, then before operators
 * that bind less; -1: it does not. */
static int looseness(const char *s, size_t i)
{
    static const struct {
        const char *before;
        int rank;
    } known[] = {{"/* ", 0}, {"&& ", 1}, {"|| ", 1}, {"? ", 1}, {": ", 1}, {"= ", 2}, {"+ ", 2}, {"- ", 2}};
    if (s[i - 1] == ',' || s[i - 1] == ';')
        return 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (s[i + 1] == *known[k].before && strncmp(s + i + 1, known[k].before, strlen(known[k].before)) == 0)
            return known[k].rank;
    return -1;
}

/* Where to break s, which has room for `room` characters: among the places in its second half where the
 * fewest brackets are open, the loosest, and of those the last; 0: nowhere. In comments at any space. */
static size_t break_at(const char *s, size_t room, bool comment)
{
    size_t best = 0;
    int depth = 0, least = 0;
    bool quoted = false;
    for (size_t i = 0; s[i] && i <= room; i++) {
        quoted ^= s[i] == '"';
        if (quoted)
            continue;
        depth += s[i] == '(' || s[i] == '{' || s[i] == '[' ||
                 (s[i] == '<' && s[i + 1] != ' ' && i && s[i - 1] != ' ');
        depth -= s[i] == ')' || s[i] == '}' || s[i] == ']' ||
                 (s[i] == '>' && i && s[i - 1] != ' ' && s[i - 1] != '-');
        if (s[i] != ' ' || i == 0)
            continue;
        int loose = comment ? 0 : looseness(s, i), rank = 4 * depth + loose;
        if (loose >= 0 && (best == 0 || rank <= least || best < room / 2)) {
            best = i;
            least = rank;
        }
        if (s[i + 1] == '/' && s[i + 2] == '*' && !comment) {
            comment = true;
            depth++;
        }
    }
    return best;
}

static void put(struct out *o, const char *s, int indent)
{
    const char *end = strncmp(s, "/*", 2) == 0 ? strstr(s, "*/") : NULL;
    bool comment = end && !end[2]; /* nothing but one */
    for (const char *more = "";; more = comment ? " * " : "    ") {
        size_t n = strlen(s), room = (size_t)COLUMNS - (size_t)indent - strlen(more);
        size_t cut = n > room ? break_at(s, room, comment) : 0;
        if (cut && strcmp(s + cut, " */") == 0) /* a comment's end does not stand alone */
            cut = break_at(s, cut - 1, comment);
        text_spaces(o->text, indent);
        text_puts(o->text, more);
        text_put(o->text, s, cut ? cut : n);
        text_puts(o->text, "\n");
        if (!cut)
            return;
        s += cut + 1;
    }
}

/* The end of what stands before a comment at the end of the line. */
static const char *code_end(const char *s)
{
    const char *end = strlen(s) > 4 && strncmp(s, "/*", 2) != 0 ? strstr(s, " /*") : NULL;
    return end && strcmp(s + strlen(s) - 2, "*/") == 0 ? end : s + strlen(s);
}

void line(struct out *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *s = arena_vprintf(o->text->arena, format, args);
    va_end(args);
    const char *end = code_end(s);
    bool label = *s == '}' && o->depth > 0;
    put(o, s, (o->depth - label + o->indented) * INDENT);
    o->depth -= label;
    bool opens = end > s && end[-1] == '{';
    o->depth += opens;
    bool single =
        !opens && ((end > s && end[-1] == ')' &&
                    (begins(s, "if") || begins(s, "for") || begins(s, "while") || begins(s, "else"))) ||
                   strcmp(s, "else") == 0);
    o->indented = single ? o->indented + 1 : 0;
}

void blank(struct out *o)
{
    text_puts(o->text, "\n");
}

const char *plural(struct arena *a, long long n, const char *noun)
{
    return arena_printf(a, "%lld %s%s", n, noun, n == 1 ? "" : "s");
}
