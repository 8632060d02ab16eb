/* field.c - see field.h. */
#include "spec/field.h"

#include "spec/names.h"

#include <string.h>
#include <strings.h>

void field_expected(struct reader *r, const struct node *node, const char *what)
{
    if (node->kind != NODE_WRONG)
        diag_report(r->diag, DIAG_UNEXPECTED_VALUE, node->pos, "expected %s, found %s%s", what,
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

bool field_begins_with(const struct node *node, char c)
{
    return node->kind == NODE_SCALAR && !node->quoted && node->text[0] == c;
}

bool field_ends_with(const struct node *node, char c)
{
    size_t n = node->kind == NODE_SCALAR && !node->quoted ? strlen(node->text) : 0;
    return n > 0 && node->text[n - 1] == c;
}

/* What other programs call things: said for what is meant here, where that is among the words. */
static const struct synonym {
    const char *said, *meant;
} synonym_table[] = {
    {"double", "float64"},
    {"fp64", "float64"},
    {"f64", "float64"},
    {"single", "float32"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"float", "float32"},
    {"bf16", "bfloat16"},
    {"half", "float16"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"int", "int32"},
    {"long", "int64"},
    {"edge", "item"},
    {"source", "sender"},
    {"src", "sender"},
    {"neighbor", "sender"},
    {"neighbour", "sender"},
    {"destination", "receiver"},
    {"dst", "receiver"},
    {"target", "receiver"},
    {"center", "receiver"},
    {"centre", "receiver"},
    {"global", "shared"},
    {"unsorted", "any"},
    {"unordered", "any"},
    {"nondeterministic", "atomic"},
    {"kahan", "compensated"},
    /* e3nn's */
    {"irreps_in1", "irreps"},
    {"irreps_in2", "irreps"},
    {"irreps_out", "irreps"},
    {"filter_ir_out", "irreps"},
    {"irreps_in1", "x"},
    {"irreps_in2", "y"},
    {"irreps_out", "z"},
    {"filter_ir_out", "z"},
    {"shared_weights", "index"},
    {"internal_weights", "index"},
    {"irrep_normalization", "normalization"},
    {"path_normalization", "normalization"},
    {"irrep_normalization", "irrep"},
    {"path_normalization", "path"},
    {"in1_var", "variance"},
    {"in2_var", "variance"},
    {"out_var", "variance"},
    {"dtype", "precision"},
    {"FullyConnectedTensorProduct", "fully_connected"},
    {"ElementwiseTensorProduct", "elementwise"},
    {"FullTensorProduct", "full"},
    {"fwd", "forward"},
    {"bwd", "backward"},
    {"yes", "true"},
    {"on", "true"},
    {"1", "true"},
    {"no", "false"},
    {"off", "false"},
    {"0", "false"},
    {"fctp", "fully_connected"},
};

/* The word that is meant: what it is called elsewhere, or the nearest; NULL: none. */
static const char *suggestion(const char *word, const char *const *words, int count)
{
    for (size_t s = 0; s < sizeof synonym_table / sizeof *synonym_table; s++)
        for (int i = 0; i < count; i++)
            if (strcasecmp(word, synonym_table[s].said) == 0 && strcmp(words[i], synonym_table[s].meant) == 0)
                return words[i];
    return diag_nearest(word, words, count);
}

/* The number of a word; count: it is none of them. */
static int word_number(const char *word, const char *const *words, int count)
{
    int i = 0;
    while (i < count && strcmp(word, words[i]) != 0)
        i++;
    return i;
}

/* A key that is none of those known. Returns the number of the one that is meant, count: not to be told. */
static int unknown_key(struct reader *r, const struct node *key, const char *const *keys, int count)
{
    enum { FEW = 8 };
    const char *near = suggestion(key->text, keys, count);
    bool listed = !near || count <= FEW;
    diag_report(r->diag, DIAG_UNKNOWN_KEY, key->pos, "unknown key %s%s%s", node_shown(r->arena, key),
                listed ? "; known here: " : "", listed ? joined(r->arena, keys, count, ", ") : "");
    diag_suggest(r->diag, near);
    return near ? word_number(near, keys, count) : count;
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
        int k = entry->key->kind == NODE_WRONG ? count : word_number(entry->key->text, keys, count);
        if (k < count)
            found[k] = entry;
    }
    for (int i = 0; i < node->n; i++) {
        const struct entry *entry = &node->entry[i];
        if (entry->key->kind == NODE_WRONG || word_number(entry->key->text, keys, count) < count)
            continue;
        int meant = unknown_key(r, entry->key, keys, count);
        if (meant < count && !found[meant])
            found[meant] = entry;
    }
    return true;
}

bool field_list(struct reader *r, const struct node *node, const char *what)
{
    if (node->kind != NODE_LIST)
        field_expected(r, node, what);
    return node->kind == NODE_LIST;
}

void field_unknown_word(struct reader *r, const struct node *node, const char *what, const char *const *words,
                        int count)
{
    if (node->quoted || *node->text) {
        diag_report(r->diag, DIAG_UNKNOWN_WORD, node->pos, "expected %s, found %s", what,
                    node_shown(r->arena, node));
        diag_suggest(r->diag, suggestion(node->text, words, count));
    } else {
        field_expected(r, node, what);
    }
}

int field_word(struct reader *r, const struct node *node, const char *const *words, int count, int fallback)
{
    if (node->kind == NODE_SCALAR) {
        int word = word_number(node->text, words, count);
        if (word < count)
            return word;
        field_unknown_word(r, node, field_alternatives(r->arena, words, count), words, count);
    } else {
        field_expected(r, node, field_alternatives(r->arena, words, count));
    }
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
        diag_report(r->diag, DIAG_NUMBER_RANGE, node->pos, "expected %s, found %s: it does not fit 64 bits",
                    what, node_shown(r->arena, node));
        return false;
    }
    if (number < least || number > most) {
        diag_report(r->diag, DIAG_NUMBER_RANGE, node->pos,
                    "expected %s, found %s: out of the range %lld to %lld", what, node_shown(r->arena, node),
                    (long long)least, (long long)most);
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
        diag_report(r->diag, DIAG_NUMBER_RANGE, node->pos, "expected %s, found %s: it cannot be negative",
                    what, node_shown(r->arena, node));
        return false;
    }
    if (!rat_parse(r->arena, s + (*s == '+'), out)) {
        diag_report(
            r->diag, DIAG_NUMBER_RANGE, node->pos,
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
        diag_report(r->diag, DIAG_BAD_NAME, node->pos, "%s cannot be %s: %s", node_shown(r->arena, node),
                    what, problem);
    return !problem;
}
