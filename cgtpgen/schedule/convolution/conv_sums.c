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
static const char *call_of(struct source *w, const struct form_output *f, int x)
{
    struct text parts = {.arena = w->arena};
    const struct operand *gx = conv_output(w, f);
    for (int s = 0; s < own(w)->sets; s++) {
        const struct path_set *q = &own(w)->set[s];
        int64_t at = q->edge_at;
        for (int i = 0; i < q->xs; i++) {
            const struct operand_block *b = &gx->block[q->x[i]];
            if (q->x[i] == x)
                text_printf(&parts, ", %lld", (long long)(at - gx->block[x].offset));
            at += b->channels * b->components;
        }
    }
    return parts.n
               ? arena_printf(w->arena,
                              "cgtp_gather_rows<together%s>(%s, l.%sedges + at, %d, l.graph, node, turn);",
                              parts.s, gather_sum(w, f, own(w)->aligned_edges), f->symbol, own(w)->edge_row)
               : "";
}

/* Divides the row where other calls begin. Returns the number of divisions. */
static int divide_row(struct source *w, const struct form_output *f, struct moved *part)
{
    int n = 0;
    for (int x = 0; x < conv_output(w, f)->blocks; x++) {
        const struct operand_block *q = &conv_output(w, f)->block[x];
        int64_t end = q->offset + q->channels * q->components;
        const char *add = call_of(w, f, x);
        if (end == q->offset)
            continue;
        if (n && strcmp(part[n - 1].add, add) == 0)
            part[n - 1].to = end;
        else
            part[n++] = (struct moved){q->offset, end, add};
    }
    return n;
}

void conv_gather(struct source *w, const struct form_output *f)
{
    struct out out = {.text = w->out}, *o = &out;
    long long dim = (long long)conv_output(w, f)->dim;
    struct moved *part = NEW_ARRAY(w->arena, struct moved, w->problem->x.n + 1);
    int parts = divide_row(w, f, part);
    gather_begin(w, o, f, own(w)->aligned_edges, "", true);
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
    gather_end(o, w, f, own(w)->aligned_edges, true);
}

/* Has each path set's part all components of y? */
static bool has_all_ys(const struct convolution *g, int dim)
{
    bool all = true;
    for (int s = 0; s < g->sets; s++)
        all &= g->set[s].y_end - g->set[s].y_begin == dim;
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
static void emit_some_parts(struct source *w, struct out *o, const struct form_output *f)
{
    const struct convolution *g = own(w);
    long long dim = (long long)conv_output(w, f)->dim;
    line(o, "if (at < l.graph.items * %lld) {", dim);
    line(o, "const real *const row = l.%sparts + at / %lld * %lld + at %% %lld;", f->symbol, dim,
         g->parts * dim, dim);
    line(o, "const int component = (int)(at %% %lld);", dim);
    line(o, "real sum = 0;");
    for (int s = 0, next; s < g->sets; s = next) {
        const struct path_set *q = &g->set[s];
        for (next = s;
             next < g->sets && g->set[next].y_begin == q->y_begin && g->set[next].y_end == q->y_end;)
            next++;
        line(o, "if (component >= %d && component < %d)", q->y_begin, q->y_end);
        line(o, "sum += cgtp_sum_rows<%d, %lld>(row + %lld);",
             (next < g->sets ? g->set[next].part_at : g->parts) - q->part_at, dim, q->part_at * dim);
    }
    line(o, "cgtp_leave(l.%s + %s, sum);", conv_output(w, f)->array, element_at(w, f));
    line(o, "}");
}

void conv_parts_sum(struct source *w, const struct form_output *f)
{
    const struct convolution *g = own(w);
    struct out out = {.text = w->out}, *o = &out;
    long long dim = (long long)conv_output(w, f)->dim;
    line(o,
         "/* %s: the parts of each edge's row, one per path set or warp, added in order; an element per "
         "thread. */",
         f->name);
    line(o, "CGTP_KERNEL(256, 4) %s_sum_%s(const launch l)", w->form->name, f->symbol);
    line(o, "{");
    line(o, "const int64_t at = cgtp_block() * (int64_t)256 + cgtp_thread();");
    line(o, "cgtp_launch_wait();");
    if (has_all_ys(g, (int)dim)) {
        line(o, "if (at < l.graph.items * %lld)", dim);
        line(o, "cgtp_leave(l.%s + %s, cgtp_sum_parts<%d, %lld>(l.%sparts, at));", conv_output(w, f)->array,
             element_at(w, f), g->parts, dim, f->symbol);
    } else {
        emit_some_parts(w, o, f);
    }
    line(o, "}");
    blank(o);
}
