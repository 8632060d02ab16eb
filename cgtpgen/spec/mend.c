/* mend.c - see mend.h. */
#include "spec/mend.h"

#include "spec/slips.h"
#include "util/unicode.h"

#include <string.h>

/* Reports the first such character of a scalar. */
static void check_characters(struct arena *arena, struct diag *diag, struct node *node, bool free_text)
{
    struct text meant = {.arena = arena};
    bool reported = false;
    const char *s = node->text;
    int length;
    for (size_t n = strlen(s), i = 0; i < n; i += (size_t)length) {
        int32_t c = unicode_decode(s + i, n - i, &length);
        if (!slips_is_character(c, free_text)) {
            text_put(&meant, s + i, (size_t)length);
            continue;
        }
        if (!reported)
            diag_report(diag, slips_id(c), node_pos_at(diag, node, (int)i, length), "%s",
                        slips_message(arena, s + i, length, c));
        reported = true;
        char instead = slips_meant(c);
        text_put(&meant, &instead, instead != '\0');
    }
    if (reported)
        node->text = text_string(&meant);
}

/* In a mapping in braces, `x:item` and `x=item` are keys without values. */
static void check_entry(struct arena *arena, struct diag *diag, struct entry *entry)
{
    struct node *key = entry->key, *value = entry->value;
    struct slip slip;
    bool no_value = value->kind == NODE_SCALAR && !value->quoted && !*value->text;
    if (key->kind != NODE_SCALAR || key->quoted || !no_value || !key->text[strcspn(key->text, ":=")] ||
        !slips_in_key(arena, key->text, 0, &slip))
        return;
    diag_report(diag, slip.id, node_pos_at(diag, key, (int)slip.at, 1), "%s", slip.message);
    value->kind = NODE_WRONG;
    key->text = arena_string(arena, key->text, slips_word_length(key->text));
}

void mend_tree(struct arena *arena, struct diag *diag, struct node *node, const char *free_text)
{
    if (node->kind == NODE_SCALAR)
        check_characters(arena, diag, node, false);
    for (int i = 0; node->kind == NODE_LIST && i < node->n; i++)
        mend_tree(arena, diag, node->child[i], NULL);
    for (int i = 0; node->kind == NODE_MAPPING && i < node->n; i++) {
        struct entry *entry = &node->entry[i];
        if (entry->key->kind == NODE_SCALAR)
            check_characters(arena, diag, entry->key, false);
        check_entry(arena, diag, entry);
        if (free_text && entry->value->kind == NODE_SCALAR && strcmp(entry->key->text, free_text) == 0)
            check_characters(arena, diag, entry->value, true);
        else
            mend_tree(arena, diag, entry->value, NULL);
    }
}
