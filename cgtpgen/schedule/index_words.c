/* index_words.c - see index_words.h. */
#include "schedule/index_words.h"

const char *const slot_constant[SLOT_COUNT] = {"CGTP_X", "CGTP_Y", "CGTP_W", "CGTP_Z"};

const char *const layout_constant[LAYOUT_COUNT] = {"CGTP_MUL_IR", "CGTP_IR_MUL"};

const struct index_words index_words[INDEX_COUNT] = {
    [INDEX_ITEM] = {"CGTP_ITEM", "items", "graph->items", "edges", "an item"},
    [INDEX_SENDER] = {"CGTP_SENDER", "senders", "graph->senders", "senders", "a sender"},
    [INDEX_RECEIVER] = {"CGTP_RECEIVER", "receivers", "graph->receivers", "receivers", "a receiver"},
    [INDEX_SHARED] = {"CGTP_SHARED", "shared", "1", "1", "the call"},
};

const char *source_item_row(struct arena *a, const char *graph, const char *item, enum index_kind index)
{
    return index == INDEX_ITEM     ? item
           : index == INDEX_SHARED ? "0"
                                   : arena_printf(a, "%s%s[e]", graph, index_name[index]);
}
