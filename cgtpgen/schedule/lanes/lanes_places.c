/* lanes_places.c - matrices in lanes: which components a lane has, and where they are. */
#include "schedule/lanes/lanes_emit.h"

#include "schedule/path.h"

int lanes_alike(const struct lanes *g)
{
    return g->rows * g->columns;
}

const char *lanes_offset(const struct lanes_writer *c, const char *name, const int *offset)
{
    struct arena *a = c->w->arena;
    const struct lanes *g = c->g;
    const int dz = g->columns > 1 ? offset[1] - offset[0] : 0,
              dx = g->rows > 1 ? offset[g->columns] - offset[0] : 0;
    const bool all = lanes_alike(g) == 4;
    const char *first = plus_offset(a, name, offset[0]);
    if (all && dx == dz && dx && offset[3] == offset[0])
        return arena_printf(a, "%s + (group_x ^ group_z) * %d", first, dx);
    if (!all || offset[3] == offset[0] + dx + dz)
        return arena_printf(a, "%s%s%s", first, dx ? arena_printf(a, " + group_x * %d", dx) : "",
                            dz ? arena_printf(a, " + group_z * %d", dz) : "");
    return arena_printf(a, "%s + (number == 0 ? %d : number == 1 ? %d : number == 2 ? %d : %d)", name,
                        offset[0], offset[1], offset[2], offset[3]);
}

int lanes_segments(const struct lanes *g, enum slot slot)
{
    return slot == SLOT_X ? g->nx : g->nz;
}

int lanes_segment(const struct lanes *g, enum slot slot, int group, int i)
{
    return slot == SLOT_X ? g->x[group * g->nx + i] : g->z[group * g->nz + i];
}

int lanes_side(const struct lanes *g, enum slot slot)
{
    return slot == SLOT_X ? g->dx : g->dz;
}

int lanes_first_of(const struct lanes_writer *c, int components)
{
    return lanes_first(c->g, c->split, components);
}

int lanes_part_of(const struct lanes_writer *c, int components)
{
    return lanes_first(c->g, c->split + 1, components) - lanes_first_of(c, components);
}

char lanes_letter(enum slot slot)
{
    return slot == SLOT_X ? 'x' : 'z';
}

int lanes_components(const struct lanes_writer *c, enum slot slot, int i)
{
    const struct irreps *irreps = slot == SLOT_X ? &c->w->problem->x : &c->w->problem->z;
    return 2 * irreps->segment[lanes_segment(c->g, slot, 0, i)].ir.l + 1;
}

const struct operand *lanes_operand(const struct lanes_writer *c, enum slot slot)
{
    for (int i = 0; i < c->w->form->inputs; i++)
        if (source_input(c->w, i)->slot == slot)
            return source_input(c->w, i);
    for (int o = 0; o < c->w->demand->outputs; o++)
        if (demand_operand(c->w->demand, o)->slot == slot)
            return demand_operand(c->w->demand, o);
    return NULL;
}

const char *lanes_place(const struct lanes_writer *c, enum slot slot, int i, int m)
{
    const struct lanes *g = c->g;
    const int groups = slot == SLOT_X ? g->rows : g->columns, *place = lanes_places(g, slot);
    const int first = lanes_segment(g, slot, 0, i), last = lanes_segment(g, slot, groups - 1, i);
    const struct operand_block *b = &lanes_operand(c, slot)->block[first];
    const char *at = plus_offset(c->w->arena, scaled(c->w->arena, "channel", lanes_channel_step(b)),
                                 place[first] + m * lanes_component_step(g, b));
    return last == first ? at
                         : arena_printf(c->w->arena, "%s + group_%c * %d", at, lanes_letter(slot),
                                        place[last] - place[first]);
}

const char *lanes_place_of(const struct lanes_writer *c, enum slot slot, int k)
{
    int i = 0;
    while (k >= lanes_components(c, slot, i))
        k -= lanes_components(c, slot, i++);
    return lanes_place(c, slot, i, k);
}

int lanes_clip(const struct lanes_writer *c, enum slot slot, int i, int before, int first, int n, int *from)
{
    const int end = before + lanes_components(c, slot, i);
    *from = before > first ? before : first;
    return (end < first + n ? end : first + n) - *from;
}
