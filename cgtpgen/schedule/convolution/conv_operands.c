/* conv_operands.c - the pipelined convolution: what its writers ask of a schedule's pipelines and operands.
 */
#include "schedule/convolution/conv_emit.h"
#include "schedule/program.h"

const struct place *conv_edge_place(const struct pipeline *p)
{
    for (int i = 0; i < p->places; i++)
        if (p->place[i].group == STAGING && p->place[i].table)
            return &p->place[i];
    return NULL;
}

const struct place *conv_sums_place(const struct pipeline *p)
{
    for (int i = 0; i < p->places; i++)
        if (p->place[i].operand && p->place[i].operand->output && p->place[i].operand->slot == SLOT_Y)
            return &p->place[i];
    return NULL;
}

static bool leaves_by(const struct schedule *s, enum route_kind kind)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == kind)
            return true;
    return false;
}

struct conv_kernel conv_kernel_of(struct arena *a, const struct schedule *s)
{
    const struct pipeline *p = s->pipeline;
    const struct place *edges = conv_edge_place(p), *sums = conv_sums_place(p);
    struct conv_kernel g = {.name = arena_printf(a, "%s_%s", s->demand->kernel->form->name, s->name),
                            .first = s->pipeline,
                            .warps = p->worker.warps * p->worker.teams,
                            .blocks = p->worker.blocks,
                            .reduces = p->group[SUMS].layout.fields > 0,
                            .one_reduce = true,
                            .edge_buffer = leaves_by(s, ROUTE_EDGE_BUFFER),
                            .part_buffer = leaves_by(s, ROUTE_PARTS),
                            .whole = demand_outputs_of(s->demand, SLOT_G) && !p->walk.shares,
                            .parts = sums ? sums->parts : 1,
                            .edge_row = edges ? edges->row_elements : 0};
    for (; p; p = p->next) {
        g.sets += p->sets;
        g.one_reduce &= p->worker.warps == g.first->worker.warps;
    }
    return g;
}

/* Set `number` of the schedule. */
static struct conv set_of(struct conv c, int number)
{
    int i = number;
    for (c.p = c.g.first; i >= c.p->sets; c.p = c.p->next)
        i -= c.p->sets;
    c.s = &c.p->set[i];
    c.label += number - c.number;
    c.number = number;
    c.alike = c.p->sets - i;
    c.blocks = c.p->spread[0].blocks;
    return c;
}

struct conv conv_first(struct source *w, struct out *o, int label)
{
    const struct conv c = {.w = w, .o = o, .g = conv_kernel_of(w->arena, w->schedule), .label = label};
    return set_of(c, 0);
}

struct conv conv_after(const struct conv *c, int sets)
{
    return set_of(*c, c->number + sets);
}

int conv_partial_bytes(const struct schedule *s, const struct pipeline *p)
{
    const enum precision sum = s->demand->plan->problem->spec->sum;
    int most = 0;
    for (; p; p = p->next)
        most = most > p->set->sums ? most : p->set->sums;
    return s->pipeline->worker.lanes * most * precision_table[sum].bytes;
}

const char *conv_words(const struct conv *c, const struct call *call)
{
    struct device_path path = program_path(c->w, c->o, c->p, call);
    struct text list = {.arena = c->w->arena};
    int i = 0;
    while (c->s->path[i] != call->path)
        i++;
    for (int k = 1; k < c->alike; k++)
        text_printf(&list, "%s%d", k > 1 ? ", " : "", c->s[k].path[i]);
    path.likewise = list.n ? text_string(&list) : NULL;
    return device_path_words(&path);
}

/* Queues of tiles: one for each channel block of a path set; warp groups share the first. */
int conv_queues(const struct conv_kernel *g)
{
    int n = 0;
    for (const struct pipeline *p = g->first; p; p = p->next)
        n += p->sets * p->spread[0].blocks;
    return n;
}

static int64_t distance(const struct conv *c, const struct conv *other, const struct operand *o)
{
    const struct path *path = c->w->problem->path;
    if (o->slot == SLOT_X)
        return o->block[other->s->x[0]].offset - o->block[c->s->x[0]].offset;
    for (int i = 0; i < c->s->paths && o->slot == SLOT_W; i++)
        if (path[c->s->path[i]].weighted)
            return path[other->s->path[i]].weight_offset - path[c->s->path[i]].weight_offset;
    return 0;
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
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i))
            move(&list, source_input(w, i)->array, distance(c, other, source_input(w, i)));
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct operand *o = demand_operand(w->demand, i);
        if (o->slot == SLOT_X && c->g.edge_buffer)
            move(&list, arena_printf(w->arena, "%sedges", o->symbol), other->s->edge_at - c->s->edge_at);
        else
            move(&list, o->array, distance(c, other, o));
        if (o->slot == SLOT_Y && c->g.part_buffer)
            move(&list, arena_printf(w->arena, "%sparts", o->symbol),
                 (other->s->part_at - c->s->part_at) * o->dim);
    }
    return text_string(&list);
}

/* ---- shared memory ---- */

void conv_memory(struct arena *a, struct pipeline *first, struct conv_memory *m)
{
    const bool several = first->next || first->sets > 1, reduces = first->group[SUMS].layout.fields > 0;
    const int warps = first->worker.warps * first->worker.teams;
    bool one_reduce = true;
    int number = 0;
    *m = (struct conv_memory){
        {.note = "A warp's memory, whichever path set it has.", .align = 16, .alternatives = true},
        {.note = "The warp groups' sums, whichever path set the block has.",
         .align = 16,
         .alternatives = true},
        {.note = "The shared memory of a block.", .align = 16}};
    for (struct pipeline *p = first; p; number += p->sets, p = p->next) {
        const char *name = arena_printf(a, "set%d", number);
        layout_nest(a, &m->warp, name, &p->of_warp, 0, NULL);
        if (reduces)
            layout_nest(a, &m->reduce, name, &p->group[SUMS].layout, p->worker.teams, NULL);
        one_reduce &= p->worker.warps == first->worker.warps;
    }
    layout_nest(a, &m->block, "warp", several ? &m->warp : &first->of_warp, warps, NULL);
    if (!reduces)
        return;
    layout_nest(a, &m->block, "reduce", one_reduce ? &first->group[SUMS].layout : &m->reduce,
                one_reduce ? first->worker.teams : 0, NULL);
    layout_add(a, &m->block, "broadcast", "int", 4, 4, warps, NULL); /* at most a slot per warp */
}
