/* conv_shifted.c - the pipelined convolution: rows that begin at any element, which come in whole chunks as
 * they are in memory (cgtp_shifted.h): which ones, and the room that they take.
 */
#include "schedule/convolution/conv_plan.h"

/* Where a warp has one edge, only rows that would come by single numbers of 32 bits: two of them, or one of
 * 64, are as fast. Chunks take fewer copies and more instructions, a third more of an edge's in double
 * backward. Measured on an H200: forward takes 0.79 to 0.89 of the time, backward and double backward of 127
 * channels 1.00 and 1.16, of 100 + 30 + 10 + 5 channels 1.13 and 1.21; so not where something flows back. But
 * of 129 channels, whose blocks are five warps that nothing keeps at the same edge, double backward takes
 * 0.82: so there, too. */
bool conv_shifts(const struct convolution *g, const struct path_set *s, const struct operand *o)
{
    const int size = operand_size(o), bytes = g->aligned[o->slot] * size;
    bool apart = false;
    if (o->output || size < 4 || size != kernel_size(g->demand->kernel) || !(g->shifted >> o->slot & 1))
        return false;
    if (!conv_only_sums(g) && (o->slot == SLOT_Y || CONV_WARPS % s->channel_blocks == 0))
        return false;
    if (o->slot == SLOT_Y)
        return s->lanes < LANES && o->dim * size % CHUNK;
    for (int i = 0; i < s->xs && o->slot == SLOT_X; i++)
        apart |= block_is_apart(&o->block[s->x[i]]);
    for (int i = 0; i < s->paths && o->slot == SLOT_W; i++) /* of which a channel has several */
        apart |= conv_calls(&g->demand->plan->problem->path[s->path[i]]) > 1;
    return !apart && (s->lanes < LANES ? bytes < CHUNK : bytes == 4);
}

bool conv_has_shifts(const struct convolution *g)
{
    bool has = false;
    for (int s = 0; s < g->sets; s++)
        for (int i = 0; i < g->demand->kernel->form->inputs; i++)
            has |=
                demand_reads(g->demand, i) && conv_shifts(g, &g->set[s], kernel_input(g->demand->kernel, i));
    return has;
}

int conv_chunk(const struct operand *o)
{
    return CHUNK / operand_size(o);
}

static int rounded_up(int n, int wide)
{
    return (n + wide - 1) / wide * wide;
}

int conv_shifted_room(const struct operand *o, int n)
{
    return rounded_up(n + conv_chunk(o) - 1, conv_chunk(o));
}

int conv_in_chunk(const struct operand *o, int64_t offset)
{
    return (int)(offset % conv_chunk(o));
}

/* Each edge's row of those side by side begins at a multiple of 16 bytes. */
int conv_y_room(const struct convolution *g, const struct operand *y, const struct path_set *s)
{
    const int dim = (int)y->dim,
              room = conv_shifts(g, s, y) ? conv_shifted_room(y, dim) : rounded_up(dim, conv_chunk(y));
    return s->lanes == LANES ? dim : conv_abreast(s) * room;
}
