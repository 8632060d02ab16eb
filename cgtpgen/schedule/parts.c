/* parts.c - see parts.h. */
#include "schedule/parts.h"

enum { COLUMNS = 32 }; /* of a block */

void parts_area(struct areas *all, const struct operand *q, const char *count)
{
    areas_add_counted(all, "real", arena_printf(all->arena, "%sparts", q->symbol), count, q->dim);
}

void parts_sum(struct source *w, struct out *o, const struct operand *q)
{
    line(o, "/* %s: the sums of all blocks, added in order. */", q->name);
    line(o, "CGTP_KERNEL(CGTP_SUM_WARPS * CGTP_LANES, 1) %s_sum_%s(const launch l, const int64_t blocks)",
         w->form->name, q->symbol);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "cgtp_launch_wait();");
    line(o, "cgtp_sum_rows(l.%s, l.%sparts, blocks, %lld, shared);", q->symbol, q->symbol, source_dim(q));
    line(o, "}");
    blank(o);
}

void parts_launch(struct source *w, const struct operand *q, const char *blocks)
{
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s_sum_%s, %lld, CGTP_SUM_WARPS * CGTP_LANES, "
                                "CGTP_SUM_BYTES, stream, l, %s)",
                                w->form->name, q->symbol, (source_dim(q) + COLUMNS - 1) / COLUMNS, blocks));
}
