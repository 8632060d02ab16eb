/* depend.c - see depend.h. */
#include "cli/depend.h"

#include <string.h>

enum { COLUMNS = 100 };

/* As gcc escapes: a blank needs a backslash, and backslashes before it are doubled; $ is doubled; # and : get
 * a backslash. */
static const char *escape(struct arena *a, const char *s)
{
    struct text t = {.arena = a};
    for (const char *p = s; *p; p++) {
        if (*p == ' ' || *p == '\t') {
            for (const char *q = p; q > s && q[-1] == '\\'; q--)
                text_put(&t, "\\", 1);
            text_put(&t, "\\", 1);
        } else if (*p == '$') {
            text_put(&t, "$", 1);
        } else if (*p == '#' || *p == ':') {
            text_put(&t, "\\", 1);
        }
        text_put(&t, p, 1);
    }
    return text_string(&t);
}

void depend_rule(struct text *out, const char *const *target, int targets, bool verbatim,
                 const char *const *source, int sources, bool phony)
{
    size_t column = 0;
    for (int i = 0; i < targets; i++) {
        const char *s = verbatim ? target[i] : escape(out->arena, target[i]);
        if (i && column + strlen(s) + 1 > COLUMNS) {
            text_printf(out, " \\\n ");
            column = 1;
        } else if (i) {
            text_printf(out, " ");
        }
        text_printf(out, "%s", s);
        column += strlen(s) + 1;
    }
    text_printf(out, ":");
    for (int i = 0; i < sources; i++)
        text_printf(out, " %s", escape(out->arena, source[i]));
    text_printf(out, "\n");
    for (int i = 0; i < sources && phony; i++)
        text_printf(out, "\n%s:\n", escape(out->arena, source[i]));
}

bool depend_rules(const char *text)
{
    bool goes_on = false; /* the line before ends with a backslash */
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        bool colon = false;
        for (size_t i = 0; i < n; i++)
            colon |= line[i] == ':' && (i + 1 == n || line[i + 1] == ' ' || line[i + 1] == '\r');
        const bool blank = strspn(line, " \r") >= n;
        if (!goes_on && !blank && (!colon || *line == '\t' || *line == '#'))
            return false;
        goes_on = n && line[n - 1] == '\\';
        line += n + (line[n] == '\n');
    }
    return true;
}
