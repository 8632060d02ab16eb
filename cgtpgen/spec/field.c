/* field.c - see field.h. */
#include "spec/field.h"

#include "spec/names.h"

#include <string.h>

void field_expected(struct reader *r, const struct node *node, const char *what)
{
    if (node->kind != NODE_WRONG)
        diag_error(r->diag, node->pos, "expected %s, found %s%s", what,
                   node->kind == NODE_SCALAR && node->quoted ? "the quoted text " : "",
                   node_shown(r->arena, node));
}

static const char *joined(struct arena *arena, const char *const *words, int count, const char *last)
{
    struct text text = {.arena = arena};
    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%s", i == 0 ? "" : i == count - 1 ? last : ", ", words[i]);
    return text_string(&text);
}

const char *field_alternatives(struct arena *arena, const char *const *words, int count)
{
    return joined(arena, words, count, " or ");
}

bool field_mapping(struct reader *r, const struct node *node, const char *what, const char *const *keys,
                   int count, const struct entry **found)
{
    for (int k = 0; k < count; k++)
        found[k] = NULL;
    if (node->kind != NODE_MAPPING) {
        field_expected(r, node, what);
        return false;
    }
    for (int i = 0; i < node->n; i++) {
        const struct entry *entry = &node->entry[i];
        if (entry->key->kind == NODE_WRONG)
            continue;
        int k = 0;
        while (k < count && strcmp(entry->key->text, keys[k]) != 0)
            k++;
        if (k < count) {
            found[k] = entry;
            continue;
        }
        const char *shown = node_shown(r->arena, entry->key),
                   *near = diag_nearest(entry->key->text, keys, count);
        if (near)
            diag_error(r->diag, entry->key->pos, "unknown key %s; did you mean '%s'?", shown, near);
        else
            diag_error(r->diag, entry->key->pos, "unknown key %s; known here: %s", shown,
                       joined(r->arena, keys, count, ", "));
    }
    return true;
}

bool field_list(struct reader *r, const struct node *node, const char *what)
{
    if (node->kind != NODE_LIST)
        field_expected(r, node, what);
    return node->kind == NODE_LIST;
}

int field_word(struct reader *r, const struct node *node, const char *const *words, int count, int fallback)
{
    if (node->kind == NODE_SCALAR) {
        for (int i = 0; i < count; i++)
            if (strcmp(node->text, words[i]) == 0)
                return i;
        const char *near = diag_nearest(node->text, words, count);
        if (near) {
            diag_error(r->diag, node->pos, "expected %s, found %s; did you mean '%s'?",
                       field_alternatives(r->arena, words, count), node_shown(r->arena, node), near);
            return fallback;
        }
    }
    field_expected(r, node, field_alternatives(r->arena, words, count));
    return fallback;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool field_integer(struct reader *r, const struct node *node, const char *what, int64_t least, int64_t most,
                   int64_t *out)
{
    const char *s = node->kind == NODE_SCALAR && !node->quoted ? node->text : "";
    bool negative = *s == '-', large = false;
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;
    s += negative || *s == '+';
    bool digits = is_digit(*s);
    for (; is_digit(*s); s++) {
        unsigned digit = (unsigned)(*s - '0');
        large |= value > (limit - digit) / 10;
        value = large ? 0 : 10 * value + digit;
    }
    if (!digits || *s) {
        field_expected(r, node, what);
        return false;
    }
    int64_t number = negative ? (value ? -(int64_t)(value - 1) - 1 : 0) : (int64_t)value;
    if (large) {
        diag_error(r->diag, node->pos, "expected %s, found %s: it does not fit 64 bits", what,
                   node_shown(r->arena, node));
        return false;
    }
    if (number < least || number > most) {
        diag_error(r->diag, node->pos, "expected %s, found %s: out of the range %lld to %lld", what,
                   node_shown(r->arena, node), (long long)least, (long long)most);
        return false;
    }
    *out = number;
    return true;
}

/* digits [. digits] [e [sign] digits], with a digit before the exponent. */
static bool is_decimal(const char *s)
{
    int digits = 0;
    for (; is_digit(*s); s++)
        digits++;
    if (*s == '.')
        for (s++; is_digit(*s); s++)
            digits++;
    if (digits && (*s == 'e' || *s == 'E')) {
        s++;
        s += *s == '-' || *s == '+';
        for (digits = 0; is_digit(*s); s++)
            digits++;
    }
    return digits && !*s;
}

bool field_number(struct reader *r, const struct node *node, const char *what, struct rat *out)
{
    const char *s = node->kind == NODE_SCALAR && !node->quoted ? node->text : "";
    bool negative = *s == '-';
    if (!is_decimal(s + (negative || *s == '+'))) {
        field_expected(r, node, what);
        return false;
    }
    if (negative) {
        diag_error(r->diag, node->pos, "expected %s, found %s: it cannot be negative", what,
                   node_shown(r->arena, node));
        return false;
    }
    if (!rat_parse(r->arena, s + (*s == '+'), out)) {
        diag_error(
            r->diag, node->pos,
            "expected %s, found %s: at most 18 digits, and zero or between 1e-30 and 1e30, can be exact",
            what, node_shown(r->arena, node));
        return false;
    }
    return true;
}

bool field_boolean(struct reader *r, const struct node *node, bool *out)
{
    static const char *const words[] = {"false", "true"};
    int value = field_word(r, node, words, 2, -1);
    if (value >= 0)
        *out = value == 1;
    return value >= 0;
}

bool field_name(struct reader *r, const struct node *node, const char *what)
{
    if (node->kind != NODE_SCALAR || (!node->quoted && !*node->text)) {
        field_expected(r, node, arena_printf(r->arena, "%s, a C identifier", what));
        return false;
    }
    const char *problem = name_problem(r->arena, node->text);
    if (problem)
        diag_error(r->diag, node->pos, "%s cannot be %s: %s", node_shown(r->arena, node), what, problem);
    return !problem;
}
