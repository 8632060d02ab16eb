/* operand.c - see operand.h. */
#include "plan/operand.h"

/* The largest power of two of elements, at most 16 bytes, that divides both. Strides that callers say are
 * multiples of what divides dim, too. */
static int alignment(int64_t offset, int64_t dim, int bytes)
{
    int n = 16 / bytes;
    while (n > 1 && (offset % n || dim % n))
        n /= 2;
    return n;
}

static void add_segments(struct arena *a, const struct irreps *r, enum row_layout layout, struct operand *o)
{
    struct operand_block *block = NEW_ARRAY(a, struct operand_block, r->n + 1);
    for (int i = 0; i < r->n; i++) {
        const struct segment *s = &r->segment[i];
        int components = 2 * s->ir.l + 1;
        bool by_component = layout == LAYOUT_IR_MUL;
        block[i] = (struct operand_block){.offset = s->offset,
                                          .channel = by_component ? 1 : components,
                                          .component = by_component ? s->mul : 1,
                                          .channels = s->mul,
                                          .components = components,
                                          .alignment = alignment(s->offset, o->dim, operand_size(o))};
    }
    o->blocks = r->n;
    o->block = block;
}

static void add_weights(struct arena *a, const struct problem *p, struct operand *o)
{
    struct operand_block *block = NEW_ARRAY(a, struct operand_block, p->paths + 1);
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        block[i] = (struct operand_block){.offset = q->weight_offset,
                                          .channel = 1,
                                          .component = 1,
                                          .channels = q->weight_numel,
                                          .components = 1,
                                          .alignment = alignment(q->weight_offset, o->dim, operand_size(o))};
    }
    o->blocks = p->paths;
    o->block = block;
}

/* Of which type schedules see the rows of an array. */
static enum precision held(const struct spec *s, enum slot slot, bool output, bool stored, bool rounded)
{
    const bool summed = output && s->index[slot] != INDEX_ITEM;
    if (summed && rounded && s->storage[slot] == s->compute)
        return s->compute;
    if (stored && precision_table[s->storage[slot]].bytes == 2 && s->sum == PRECISION_FLOAT32)
        return s->storage[slot];
    return summed ? s->sum : s->compute;
}

/* Is each element of a row of its array read or written as it is? A shared row is read by all, and in many
 * places; at senders rows are sums of edges that come in no order, at receivers those that are not rounded
 * are of several schedules. */
static bool is_complete(enum index_kind index, bool output, bool rounded)
{
    return index != INDEX_SHARED && (!output || index == INDEX_ITEM || (index == INDEX_RECEIVER && rounded));
}

const struct operand *operands_build(struct arena *a, const struct problem *p, const struct kernel_form *k,
                                     struct row_access access)
{
    struct operand *all = NEW_ARRAY(a, struct operand, k->inputs + k->outputs + 1);
    for (int i = 0; i < k->inputs + k->outputs; i++) {
        bool output = i >= k->inputs;
        enum slot slot = output ? k->output[i - k->inputs].slot : k->input[i].slot;
        const char *symbol = output ? k->output[i - k->inputs].symbol : k->input[i].symbol;
        bool by_word = p->dim[slot] % 2 == 0 || !spec_is_strided(p->spec, slot);
        bool rounded = access.rounded >> slot & 1;
        bool own = (access.stored >> slot & 1 || (access.read >> slot & 1 && !output && by_word) ||
                    (access.written >> slot & 1 && output)) &&
                   is_complete(p->spec->index[slot], output, rounded);
        struct operand *o = &all[i];
        *o = (struct operand){.name = output ? k->output[i - k->inputs].name : k->input[i].name,
                              .symbol = symbol,
                              .slot = slot,
                              .index = p->spec->index[slot],
                              .storage = p->spec->storage[slot],
                              .held = held(p->spec, slot, output, own, rounded),
                              .output = output,
                              .tangent = !output && k->input[i].tangent,
                              .dim = p->dim[slot],
                              .stride = spec_is_strided(p->spec, slot) ? arena_printf(a, "%sstride", symbol)
                                                                       : NULL};
        const bool copied = held(p->spec, slot, output, false, false) != o->storage;
        o->array = copied && !operand_is_copied(o) ? arena_printf(a, "%sstored", symbol) : symbol;
        if (slot == SLOT_W)
            add_weights(a, p, o);
        else
            add_segments(a, slot_irreps(p, slot), p->spec->layout[slot], o);
    }
    return all;
}

const char *operand_part(struct arena *a, const struct operand *o, int block)
{
    return o->slot == SLOT_Y ? o->symbol
                             : arena_printf(a, o->slot == SLOT_W ? "%sp%d" : "%ss%d", o->symbol, block);
}

const struct operand_block *operand_block_of(const struct operand *o, const struct path *p)
{
    const int number[SLOT_COUNT] = {[SLOT_X] = p->x, [SLOT_Y] = p->y, [SLOT_W] = p->number, [SLOT_G] = p->z};
    return &o->block[number[o->slot]];
}

const char *operand_stride(const struct operand *o)
{
    return operand_is_copied(o) ? NULL : o->stride;
}

int operand_size(const struct operand *o)
{
    return precision_table[o->held].bytes;
}

int operand_stored_size(const struct operand *o)
{
    return precision_table[o->storage].bytes;
}

bool operand_is_copied(const struct operand *o)
{
    return o->storage != o->held;
}

bool block_is_by_component(const struct operand_block *b)
{
    return b->channels <= 1 || b->channel == 1;
}

bool block_is_apart(const struct operand_block *b)
{
    return b->components > 1 && b->component != 1;
}

struct operand_block block_in_component_order(const struct operand_block *b)
{
    struct operand_block c = *b;
    c.channel = 1;
    c.component = b->channels;
    return c;
}
