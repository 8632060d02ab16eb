/* source.c - see source.h. */
#include "schedule/source.h"

#include "schedule/index_words.h"
#include "util/out.h"

#include <string.h>

void source_set(struct source *s, const struct schedule *schedule)
{
    s->schedule = schedule;
    s->demand = schedule->demand;
}

bool source_once(struct source *s, const char *what)
{
    for (int i = 0; i < s->told; i++)
        if (strcmp(s->tell[i], what) == 0)
            return false;
    s->tell = arena_grow(s->arena, s->tell, s->told, &s->told_capacity, sizeof *s->tell);
    s->tell[s->told++] = what;
    return true;
}

const char *source_real(const struct plan *plan)
{
    return precision_table[plan->problem->spec->compute].c;
}

const char *source_stored(const struct plan *plan, enum slot slot)
{
    return precision_table[plan->problem->spec->storage[slot]].c;
}

const char *source_held(const struct plan *plan, const struct operand *o)
{
    return o->held == plan->problem->spec->compute ? "real" : precision_table[o->held].c;
}

const char *source_rows(const struct plan *plan, enum index_kind index)
{
    return index == INDEX_ITEM && !spec_is_graph(plan->problem->spec) ? "items" : index_words[index].rows;
}

const char *source_path_line(struct arena *a, const struct plan *plan, const struct path *p)
{
    const struct problem *q = plan->problem;
    struct text out = {.arena = a};
    text_printf(&out, "%d: %dx", p->number, p->mul_x);
    irrep_print(&out, q->x.segment[p->x].ir);
    text_printf(&out, " * %dx", p->mul_y);
    irrep_print(&out, q->y.segment[p->y].ir);
    text_printf(&out, " -> %dx", p->mul_z);
    irrep_print(&out, q->z.segment[p->z].ir);
    text_printf(&out, ", %s%s, a = ", mode_table[p->mode].name, p->weighted ? "" : " unweighted");
    surd_print(&out, p->coefficient);
    return text_string(&out);
}

void source_segment(struct text *list, const struct operand_block *b, int64_t offset)
{
    text_printf(list, "%s{%d, %lld", list->n ? ", " : "", b->components, (long long)offset);
    if (b->component > 1)
        text_printf(list, ", %lld", (long long)b->component);
    text_puts(list, "}");
}

const char *source_item(const struct source *s)
{
    if (!s->graph || s->spec->sorted)
        return "e";
    return s->orders ? "l.graph.order[e]" : "l.graph.item(e)";
}

const char *source_items(const struct source *s)
{
    return s->graph ? "l.graph.items" : "l.items";
}

const struct operand *source_input(const struct source *s, int input)
{
    return kernel_input(s->demand->kernel, input);
}

long long source_dim(const struct operand *o)
{
    return (long long)o->dim;
}

const char *source_rows_apart(struct arena *a, const struct operand *o, int n, const char *launch)
{
    const char *stride = operand_stride(o);
    if (!stride)
        return arena_printf(a, "%lld", source_dim(o) * n);
    return n == 1 ? arena_printf(a, "%s%s", launch, stride) : arena_printf(a, "%d * %s%s", n, launch, stride);
}

const char *source_stride(const struct source *s, const struct operand *o)
{
    return source_rows_apart(s->arena, o, 1, "l.");
}

void source_step(struct source *s, const char *call)
{
    struct out o = {.text = s->out, .depth = 1};
    line(&o, "if ((status = %s))", call);
    line(&o, "return status;");
}
