/* conv_sums.c - the small kernels that finish outputs of a pipelined convolution: sums in a fixed order
 * of what its warps left in buffers.
 */
#include "schedule/convolution/conv_emit.h"
#include "schedule/gather.h"
#include "util/out.h"

#include <string.h>

/* Elements `from` .. `to` - 1 of a row of x are elsewhere in the rows of the buffer of edges. */
struct moved {
    int64_t from, to;
    const char *add; /* the call that adds them */
};

/* The call that adds the edges' rows of segment x of a sender; "" where no path reads it. Of an edge those of
 * several path sets follow each other. */
static const char *call_of(const struct conv *first, const struct form_output *f, int x)
{
    struct source *w = first->w;
    struct text parts = {.arena = w->arena};
    const struct operand *gx = conv_output(w, f);
    for (int s = 0; s < first->g.sets; s++) {
        const struct path_list *q = conv_after(first, s).s;
        int64_t at = q->edge_at;
        for (int i = 0; i < q->xs; i++) {
            const struct operand_block *b = &gx->block[q->x[i]];
            if (q->x[i] == x)
                text_printf(&parts, ", %lld", (long long)(at - gx->block[x].offset));
            at += b->channels * b->components;
        }
    }
    return parts.n
               ? arena_printf(
                     w->arena, "cgtp_gather_rows<together%s>(%s, l.%sedges + at, %d, l.graph, node, turn);",
                     parts.s, gather_sum(w, f, first->p->aligned_edges), f->symbol, first->g.edge_row)
               : "";
}

/* Divides the row where other calls begin. Returns the number of divisions. */
static int divide_row(const struct conv *first, const struct form_output *f, struct moved *part)
{
    const struct operand *gx = conv_output(first->w, f);
    int n = 0;
    for (int x = 0; x < gx->blocks; x++) {
        const struct operand_block *q = &gx->block[x];
        int64_t end = q->offset + q->channels * q->components;
        const char *add = call_of(first, f, x);
        if (end == q->offset)
            continue;
        if (n && strcmp(part[n - 1].add, add) == 0)
            part[n - 1].to = end;
        else
            part[n++] = (struct moved){q->offset, end, add};
    }
    return n;
}

void conv_gather(struct conv *first, const struct form_output *f)
{
    struct source *w = first->w;
    struct out *o = first->o;
    const int aligned = first->p->aligned_edges;
    long long dim = (long long)conv_output(w, f)->dim;
    struct moved *part = NEW_ARRAY(w->arena, struct moved, w->problem->x.n + 1);
    int parts = divide_row(first, f, part);
    gather_begin(w, o, f, aligned, "", true);
    for (int i = 0; i < parts; i++) {
        if (!*part[i].add)
            continue;
        if (parts == 1) {
            line(o, "%s", part[i].add);
            continue;
        }
        const char *from = part[i].from ? arena_printf(w->arena, "at >= %lld", (long long)part[i].from) : "";
        const char *to = part[i].to < dim ? arena_printf(w->arena, "at < %lld", (long long)part[i].to) : "";
        line(o, "if (%s%s%s) {", from, *from && *to ? " && " : "", to);
        line(o, "%s", part[i].add);
        line(o, "}");
    }
    gather_end(o, w, f, aligned, true);
}

/* The components of y that the set's sums have: as many, from *begin on. */
static int components_of(const struct conv *c, int *begin)
{
    const struct place *sums = conv_sums_place(c->p);
    for (int i = 0; i < c->p->steps; i++) {
        const struct call *call = c->p->step[i].call;
        if (c->p->step[i].kind != STEP_CALL || call->code || call->argument[0].of != ARGUMENT_PLACE ||
            &c->p->place[call->argument[0].number] != sums)
            continue;
        *begin = (int)call->argument[0].at.offset;
        return call->number[0];
    }
    *begin = 0;
    return 0;
}

/* Has each path set's part all components of y? */
static bool has_all_ys(const struct conv *first, int dim)
{
    bool all = true;
    for (int s = 0, begin; s < first->g.sets; s++) {
        const struct conv c = conv_after(first, s);
        all &= components_of(&c, &begin) == dim;
    }
    return all;
}

/* Where element `at` of all rows of the output is. */
static const char *element_at(const struct source *w, const struct form_output *f)
{
    const struct operand *q = conv_output(w, f);
    const long long dim = source_dim(q);
    return operand_stride(q)
               ? arena_printf(w->arena, "at / %lld * %s + at %% %lld", dim, source_stride(w, q), dim)
               : "at";
}

/* The sum of those parts that have the thread's component. */
static void emit_some_parts(const struct conv *first, const struct form_output *f)
{
    struct source *w = first->w;
    struct out *o = first->o;
    const int sets = first->g.sets, parts = first->g.parts;
    const long long dim = (long long)conv_output(w, f)->dim;
    line(o, "if (at < l.graph.items * %lld) {", dim);
    line(o, "const real *const row = l.%sparts + at / %lld * %lld + at %% %lld;", f->symbol, dim, parts * dim,
         dim);
    line(o, "const int component = (int)(at %% %lld);", dim);
    line(o, "real sum = 0;");
    for (int s = 0, next; s < sets; s = next) {
        struct conv c = conv_after(first, s);
        int begin, other, n = components_of(&c, &begin);
        const int part = c.s->part_at;
        for (next = s + 1; next < sets; next++) {
            c = conv_after(first, next);
            if (components_of(&c, &other) != n || other != begin)
                break;
        }
        line(o, "if (component >= %d && component < %d)", begin, begin + n);
        line(o, "sum += cgtp_sum_rows<%d, %lld>(row + %lld);", (next < sets ? c.s->part_at : parts) - part,
             dim, part * dim);
    }
    line(o, "cgtp_leave(l.%s + %s, sum);", conv_output(w, f)->array, element_at(w, f));
    line(o, "}");
}

void conv_parts_sum(struct conv *first, const struct form_output *f)
{
    struct source *w = first->w;
    struct out *o = first->o;
    long long dim = (long long)conv_output(w, f)->dim;
    line(o,
         "/* %s: the parts of each edge's row, one per path set or warp, added in order; an element per "
         "thread. */",
         f->name);
    line(o, "CGTP_KERNEL(256, 4) %s_sum_%s(const launch l)", w->form->name, f->symbol);
    line(o, "{");
    line(o, "const int64_t at = cgtp_block() * (int64_t)256 + cgtp_thread();");
    line(o, "cgtp_launch_wait();");
    if (has_all_ys(first, (int)dim)) {
        line(o, "if (at < l.graph.items * %lld)", dim);
        line(o, "cgtp_leave(l.%s + %s, cgtp_sum_parts<%d, %lld>(l.%sparts, at));", conv_output(w, f)->array,
             element_at(w, f), first->g.parts, dim, f->symbol);
    } else {
        emit_some_parts(first, f);
    }
    line(o, "}");
    blank(o);
}
