/* conv_shifted.c - the pipelined convolution: rows that begin at any element, which come in whole chunks as
 * they are in memory (cgtp_shifted.h): which ones, and the room that they take.
 */
#include "schedule/convolution/conv_plan.h"

enum { CHUNK = 16 }; /* bytes that a lane copies at a time */

/* Where a warp has one edge, only rows that would come by single numbers of 32 bits: two of them, or one of
 * 64, are as fast. */
bool conv_shifts(const struct convolution *g, const struct path_set *s, const struct operand *o)
{
    const int size = operand_size(o), bytes = g->aligned[o->slot] * size;
    bool apart = false;
    if (o->output || size < 4 || size != kernel_size(g->demand->kernel) || !(g->shifted >> o->slot & 1))
        return false;
    if (o->slot == SLOT_Y)
        return s->lanes < LANES && o->dim * size % CHUNK;
    for (int i = 0; i < s->xs && o->slot == SLOT_X; i++)
        apart |= block_is_apart(&o->block[s->x[i]]);
    for (int i = 0; i < s->paths && o->slot == SLOT_W; i++) /* of which a channel has several */
        apart |= conv_calls(&g->demand->plan->problem->path[s->path[i]]) > 1;
    return !apart && (s->lanes < LANES ? bytes < CHUNK : bytes == 4);
}

int conv_chunk(const struct operand *o)
{
    return CHUNK / operand_size(o);
}

int conv_shifted_room(const struct operand *o, int n)
{
    const int wide = conv_chunk(o);
    return (n + 2 * (wide - 1)) / wide * wide;
}

int conv_in_chunk(const struct operand *o, int64_t offset)
{
    return (int)(offset % conv_chunk(o));
}
