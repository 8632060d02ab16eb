/* conv_operands.c - the pipelined convolution: what its writers ask of operands and of the plan. */
#include "schedule/convolution/conv_emit.h"

int conv_operands(const struct source *w, enum slot slot, bool outputs, int *number)
{
    int n = 0;
    for (int o = 0; o < w->demand->outputs && outputs; o++)
        if (w->form->output[w->demand->output[o]].slot == slot)
            number[n++] = w->demand->output[o];
    for (int i = 0; i < w->form->inputs && !outputs; i++)
        if (w->form->input[i].slot == slot && demand_reads(w->demand, i))
            number[n++] = i;
    return n;
}

const struct operand *conv_array(const struct source *w, enum slot slot)
{
    const struct operand *o = w->demand->kernel->operand;
    while (o->slot != slot)
        o++;
    return o;
}

/* The paths that are number i of the sets like it; NULL: none. */
static const char *likewise(const struct conv *c, int i)
{
    struct text list = {.arena = c->w->arena};
    for (int k = 1; k < c->alike; k++)
        text_printf(&list, "%s%d", k > 1 ? ", " : "", c->s[k].path[i]);
    return c->alike > 1 ? text_string(&list) : NULL;
}

struct device_path conv_path(const struct conv *c, int i)
{
    int number = c->s->path[i];
    return (struct device_path){.w = c->w,
                                .o = c->o,
                                .path = &c->w->problem->path[number],
                                .paths = conv_together(own(c->w), number) > 1 ? &c->s->path[i] : NULL,
                                .code = own(c->w)->code[number],
                                .matrix = own(c->w)->matrix[number],
                                .channels = conv_channels(c->s, c->w->problem->path[number].mul_x),
                                .likewise = likewise(c, i)};
}

/* Queues of tiles: one for each channel block of a path set; warp groups share the first. */
int conv_queues(const struct convolution *g)
{
    int n = 0;
    for (int s = 0; s < g->sets; s++)
        n += g->set[s].channel_blocks;
    return n;
}

struct conv conv_of_set(const struct conv *first, int number)
{
    const struct convolution *g = own(first->w);
    struct conv c = *first;
    c.s = &g->set[number];
    c.number = number;
    c.label = g->label + number;
    for (c.alike = 1; number + c.alike < g->sets && g->set[number + c.alike].like == number;)
        c.alike++;
    return c;
}

static int64_t distance(const struct conv *c, const struct conv *other, const struct operand *o)
{
    int *path, *path_there;
    if (o->slot == SLOT_X)
        return o->block[other->s->x[0]].offset - o->block[c->s->x[0]].offset;
    if (o->slot != SLOT_W || !conv_weighted(c->w->arena, c->w->problem, c->s, &path))
        return 0;
    conv_weighted(c->w->arena, c->w->problem, other->s, &path_there);
    return o->block[path_there[0]].offset - o->block[path[0]].offset;
}

static void move(struct text *list, const char *array, int64_t by)
{
    if (by)
        text_printf(list, "%sat.%s %s= %lld", list->n ? ", " : "", array, by < 0 ? "-" : "+",
                    (long long)(by < 0 ? -by : by));
}

const char *conv_move(const struct conv *c, const struct conv *other)
{
    struct source *w = c->w;
    const struct convolution *g = own(w);
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i))
            move(&list, source_input(w, i)->array, distance(c, other, source_input(w, i)));
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *o = demand_operand(w->demand, i);
        if (o->slot == SLOT_X && g->edge_buffer)
            move(&list, arena_printf(w->arena, "%sedges", o->symbol), other->s->edge_at - c->s->edge_at);
        else
            move(&list, o->array, distance(c, other, o));
        if (o->slot == SLOT_Y && g->part_buffer)
            move(&list, arena_printf(w->arena, "%sparts", o->symbol),
                 (other->s->part_at - c->s->part_at) * o->dim);
    }
    return text_string(&list);
}

bool conv_covers_z(const struct source *w)
{
    const struct convolution *g = own(w);
    int64_t written = 0;
    for (int s = 0; s < g->sets; s++)
        for (int i = 0; i < g->set[s].zs; i++) {
            const struct path *p = &w->problem->path[g->set[s].z[i]];
            written += (int64_t)p->mul_z * (2 * p->l3 + 1);
        }
    return written == w->problem->dim[SLOT_G];
}
