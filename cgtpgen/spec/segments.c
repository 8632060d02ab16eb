/* segments.c - see segments.h. */
#include "spec/segments.h"

#include <limits.h>

enum { OPERANDS = 3 };

static const char *const operand_name[OPERANDS] = {"x", "y", "z"};

void segments_read_variance(struct reader *r, const struct node *node, struct spec *spec)
{
    const struct entry *found[OPERANDS];
    if (!field_mapping(r, node, "a mapping {x: [...], y: [...], z: [...]}", operand_name, OPERANDS, found))
        return;
    for (int i = 0; i < OPERANDS; i++) {
        if (!found[i])
            continue;
        const struct node *list = found[i]->value;
        struct spec_variance *out = &spec->variance[i];
        out->pos = list->pos;
        if (!field_list(r, list, "a list of variances, one number a segment"))
            continue;
        out->value = NEW_ARRAY(r->arena, struct rat, list->n + 1);
        for (int k = 0; k < list->n; k++)
            field_number(r, list->child[k], "a variance such as 1.0", &out->value[out->n++]);
    }
}

void segments_read_unused(struct reader *r, const struct node *node, struct spec *spec)
{
    static const enum slot slot[OPERANDS] = {SLOT_X, SLOT_Y, SLOT_G};
    const struct entry *found[OPERANDS];
    if (!field_mapping(r, node, "a mapping {x: [...], y: [...], z: [...]}", operand_name, OPERANDS, found))
        return;
    for (int i = 0; i < OPERANDS; i++) {
        if (!found[i] || !field_list(r, found[i]->value, "a list of numbers of segments"))
            continue;
        const struct node *list = found[i]->value;
        const char *what = arena_printf(r->arena, "the number of a segment of %s", operand_name[i]);
        struct spec_unused *out = &spec->unused[slot[i]];
        out->segment = NEW_ARRAY(r->arena, struct spec_segment, list->n + 1);
        for (int k = 0; k < list->n; k++) {
            int64_t number;
            if (field_integer(r, list->child[k], what, 0, INT_MAX, &number))
                out->segment[out->n++] = (struct spec_segment){(int)number, list->child[k]->pos};
        }
    }
}
