/* clear.c - see clear.h. */
#include "schedule/clear.h"

struct clear clear_begin(struct arena *a)
{
    return (struct clear){.list = {.arena = a}};
}

void clear_area(struct clear *c, const char *area, const char *count, int64_t each, const char *type)
{
    text_printf(&c->list, "%s{l.%s, (size_t)(%s) * ", c->n++ ? ", " : "", area, count);
    if (each > 1)
        text_printf(&c->list, "%lld * ", (long long)each);
    text_printf(&c->list, "sizeof(%s)}", type);
}

void clear_rows(struct clear *c, const struct source *w, const struct operand *q)
{
    const char *rows = source_rows(w->plan, q->index), *type = source_held(w->plan, q);
    if (!operand_stride(q)) {
        clear_area(c, q->array, rows, q->dim, type);
        return;
    }
    c->strided = true;
    text_printf(&c->list, "%s{l.%s, %lld * sizeof(%s), %s, %s * sizeof(%s)}", c->n++ ? ", " : "", q->array,
                source_dim(q), type, rows, source_stride(w, q), type);
}

const char *clear_call(const struct clear *c)
{
    return arena_printf(c->list.arena, "cgtp_clear(cgtp_areas<%d%s>{{%s}}, stream)", c->n,
                        c->strided ? ", true" : "", c->list.s);
}

void clear_launch(const struct clear *c, struct source *w)
{
    if (c->n)
        source_step(w, clear_call(c));
}
