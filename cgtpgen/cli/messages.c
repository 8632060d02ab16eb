/* messages.c - see messages.h. */
#include "cli/messages.h"

#include <stdlib.h>
#include <string.h>

static bool is_warning(int id)
{
    return diag_table[id].severity != SEVERITY_ERROR;
}

void messages_begin(struct message_options *o)
{
    *o = (struct message_options){0};
    for (int i = 0; i < DIAG_COUNT; i++)
        o->severity[i] = diag_table[i].severity;
}

/* The names of all warnings, in the order of diag_table; returns how many. */
static int warning_names(const char *names[DIAG_COUNT])
{
    int count = 0;
    for (int i = 0; i < DIAG_COUNT; i++)
        if (is_warning(i))
            names[count++] = diag_table[i].name;
    return count;
}

/* The text after the prefix, or NULL. */
static const char *after(const char *s, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

bool messages_read_warning(struct arena *a, struct message_options *o, const char *value, struct text *error)
{
    const char *positive = after(value, "no-"), *name = positive ? positive : value, *as_error;
    bool on = !positive, found = false;
    if (strcmp(name, "error") == 0) {
        o->all_errors = on;
        return true;
    }
    as_error = after(name, "error=");
    name = as_error ? as_error : name;
    for (int i = 0; i < DIAG_COUNT; i++) {
        bool all = strcmp(name, "all") == 0 && !as_error;
        if (!is_warning(i) || (!all && strcmp(name, diag_table[i].name) != 0))
            continue;
        found = true;
        if (as_error)
            o->no_error[i] = !on;
        if (as_error && on)
            o->severity[i] = SEVERITY_ERROR;
        else if (as_error)
            o->severity[i] = o->severity[i] == SEVERITY_ERROR ? SEVERITY_WARNING : o->severity[i];
        else
            o->severity[i] = !on                                  ? SEVERITY_IGNORED
                             : o->severity[i] == SEVERITY_IGNORED ? SEVERITY_WARNING
                                                                  : o->severity[i];
    }
    if (found)
        return true;
    const char *names[DIAG_COUNT];
    int count = warning_names(names);
    const char *near = diag_nearest(name, names, count);
    text_printf(error, "cgtpgen: -W: unknown warning '%s'%s%s%s", diag_escaped(a, name),
                near ? "; did you mean " : "", near ? near : "",
                near ? "? There are all" : "; there are all");
    for (int i = 0; i < count; i++)
        text_printf(error, "%s%s", i == count - 1 ? " and " : ", ", names[i]);
    text_puts(error, "\n");
    return false;
}

void messages_end(struct message_options *o)
{
    for (int i = 0; i < DIAG_COUNT; i++)
        if (o->all_errors && o->severity[i] == SEVERITY_WARNING && !o->no_error[i])
            o->severity[i] = SEVERITY_ERROR;
}

/* Is the variable there, with a value that is neither empty nor `off`? */
static bool is_set(const char *variable, const char *off)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, off) != 0;
}

/* What terminals, and the conventions of NO_COLOR and CLICOLOR, say. */
static bool wants_color(bool terminal)
{
    const char *term = getenv("TERM"), *color = getenv("CLICOLOR");
    if (is_set("NO_COLOR", ""))
        return false;
    if (is_set("CLICOLOR_FORCE", "0"))
        return true;
    return terminal && term && strcmp(term, "dumb") != 0 && !(color && strcmp(color, "0") == 0);
}

enum diag_format messages_format(const struct message_options *o, bool terminal)
{
    bool color = o->color == WHEN_AUTO ? wants_color(terminal) : o->color == WHEN_ALWAYS;
    return o->json ? DIAG_JSON : color ? DIAG_COLOR : DIAG_PLAIN;
}

void messages_lines(struct text *out, bool json, const char *severity, const char *lines)
{
    static const char program[] = "cgtpgen: ";
    for (const char *end; *lines; lines = end) {
        end = lines + strcspn(lines, "\n");
        const size_t head = sizeof program - 1, n = (size_t)(end - lines);
        end += *end == '\n';
        if (!json || strncmp(lines, program, head)) {
            text_put(out, lines, (size_t)(end - lines));
            continue;
        }
        text_puts(out, strcmp(severity, "note") ? MESSAGES_OBJECT("error") : MESSAGES_OBJECT("note"));
        text_json(out, diag_escaped(out->arena, arena_string(out->arena, lines + head, n - head)));
        text_puts(out, MESSAGES_REST);
    }
}

bool messages_wants_json(int argc, char *const *argv)
{
    bool json = false;
    for (int i = 1; i < argc && argv[i]; i++)
        json |= !strcmp(argv[i], "--diagnostics=json") ||
                (!strcmp(argv[i], "json") && !strcmp(argv[i - 1], "--diagnostics"));
    return json;
}
