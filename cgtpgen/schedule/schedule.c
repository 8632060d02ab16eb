/* schedule.c - see schedule.h: small questions about schedules and their targets. */
#include "schedule/schedule.h"

#include <string.h>

static void add_area(struct areas *all, struct area area)
{
    all->area = arena_grow(all->arena, all->area, all->n, &all->capacity, sizeof *all->area);
    all->area[all->n++] = area;
}

void areas_add(struct areas *all, const char *type, const char *name, enum index_kind rows, int64_t each)
{
    add_area(all, (struct area){.type = type, .name = name, .rows = rows, .each = each});
}

void areas_share(struct areas *all, const char *type, const char *name, enum index_kind rows, int64_t each)
{
    for (int i = 0; i < all->n; i++)
        if (all->area[i].shared && strcmp(all->area[i].name, name) == 0)
            return;
    add_area(all, (struct area){.type = type, .name = name, .rows = rows, .each = each, .shared = true});
}

void areas_add_counted(struct areas *all, const char *type, const char *name, const char *count, int64_t each)
{
    add_area(all,
             (struct area){.type = type, .name = name, .rows = INDEX_COUNT, .count = count, .each = each});
}

void areas_add_by_items(struct areas *all, const char *type, const char *name, const char *count,
                        int64_t each)
{
    add_area(all,
             (struct area){.type = type, .name = name, .rows = INDEX_ITEM, .count = count, .each = each});
}

void areas_add_divided(struct areas *all, const char *type, const char *name, int64_t each)
{
    add_area(all,
             (struct area){.type = type, .name = name, .rows = INDEX_ITEM, .each = each, .divided = true});
}

void areas_add_between(struct areas *all, const char *type, const char *name, enum index_kind rows,
                       int64_t each)
{
    add_area(all, (struct area){.type = type, .name = name, .rows = rows, .each = each, .between = true});
}

/* The last of the knobs that is for the kernel; kernel -1: for all. */
static const struct spec_knob *find(int n, const struct spec_knob *knob, const struct device *d, int kernel,
                                    enum knob wanted)
{
    const struct spec_knob *found = NULL;
    for (int i = 0; i < n; i++)
        if (knob[i].device == d && knob[i].kernel == kernel && knob[i].knob == wanted)
            found = &knob[i];
    return found;
}

const struct spec_knob *knob_of(const struct plan *plan, const struct target *t,
                                const struct kernel_plan *kernel, enum knob knob)
{
    const struct spec *s = plan->problem->spec;
    int k = (int)(kernel->form - plan->form->kernel); /* that of rows as they are stored has the same */
    const struct spec_knob *found = find(t->knobs, t->knob, t->device, k, knob);
    if (t->asked)
        *t->asked |= 1u << knob;
    found = found ? found : find(s->knobs, s->knob, t->device, k, knob);
    return found ? found : find(s->knobs, s->knob, t->device, -1, knob);
}

int knob_value(const struct schedule *s, enum knob knob)
{
    const struct spec_knob *found = knob_of(s->demand->plan, s->target, s->demand->kernel, knob);
    return found ? found->value : 0;
}

bool leaves_weights(const struct form_output *o, const struct demand *first, const struct path *q)
{
    return o->slot == SLOT_W && first->plan->problem->spec->index[SLOT_W] != INDEX_SHARED && q->weighted &&
           q->weight_numel && first->variant_of[q->number] < 0;
}

void kernel_reads_graph(const struct kernel_schedule *k, bool *receiver_row, bool *by_sender)
{
    for (int s = 0; s < k->schedules; s++)
        if (k->schedule[s].evaluation->reads_graph)
            k->schedule[s].evaluation->reads_graph(&k->schedule[s], receiver_row, by_sender);
}
