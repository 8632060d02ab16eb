/* emit_cuda_sums.c - the small kernels that finish outputs of a pipelined convolution: sums in a fixed order
 * of what its warps left in buffers.
 */
#include "schedule/convolution/conv_emit.h"

/* Sums the buffer of edges: a thread owns 16 bytes of a sender's row. */
void conv_gather(struct source *w, const struct form_output *f)
{
    struct text *out = w->out;
    const struct convolution *g = own(w);
    int per = 16 / source_size(w->plan);
    long long dim = (long long)w->problem->dim[SLOT_X];
    text_printf(
        out,
        "/* %s: rows of the edges of each sender, added in the order of by_sender; 16 bytes a thread. */\n"
        "CGTP_KERNEL(128, 8) %s_gather(const launch l)\n{\n"
        "    enum { PIECES = %lld, BLOCKS = (PIECES + 127) / 128 };\n"
        "    const int64_t node = cgtp_block() / BLOCKS;\n"
        "    const int at = ((int)(cgtp_block() %% BLOCKS) * 128 + cgtp_thread()) * %d;\n"
        "    cgtp_launch_wait();\n    if (at >= %lld)\n        return;\n    real sum[%d] = {0};\n",
        f->name, f->name, dim / per, per, dim, per);
    for (int x = 0; x < w->problem->x.n; x++) {
        const struct segment *q = &w->problem->x.segment[x];
        long long from = (long long)q->offset, to = from + (long long)q->mul * (2 * q->ir.l + 1);
        if (to == from)
            continue;
        bool any = false;
        for (int s = 0; s < g->segments; s++) {
            int edge_at = g->segment[s].edge_at;
            for (int i = 0; i < g->segment[s].xs; i++) {
                if (g->segment[s].x[i] == x) {
                    if (!any)
                        text_printf(out, "    if (at >= %lld && at < %lld) {\n", from, to);
                    any = true;
                    text_printf(out,
                                "        cgtp_gather(sum, l.%s_edges + %lld + at, %d, l.graph.by_sender, "
                                "l.graph.sender_row[node],\n"
                                "                    l.graph.sender_row[node + 1]);\n",
                                f->name, edge_at - from, g->edge_row);
                }
                edge_at += g->segment[s].mul * conv_components_x(w, g->segment[s].x[i]);
            }
        }
        if (any)
            text_printf(out, "    }\n");
    }
    text_printf(out, "    cgtp_store<%d>(l.%s + node * %lld + at, sum);\n}\n\n", per, f->name, dim);
}

void conv_parts_sum(struct source *w, const struct form_output *f)
{
    long long dim = (long long)w->problem->dim[SLOT_Y];
    text_printf(
        w->out,
        "/* %s: the shares of each edge, one a segment or warp, added in order; an element a thread. */\n"
        "CGTP_KERNEL(256, 4) %s_sum(const launch l)\n{\n"
        "    const int64_t at = cgtp_block() * (int64_t)256 + cgtp_thread();\n"
        "    cgtp_launch_wait();\n    if (at >= l.graph.items * %lld)\n        return;\n"
        "    const real *const from = l.%s_parts + at / %lld * %lld + at %% %lld;\n"
        "    real sum = from[0];\n    CGTP_UNROLL\n    for (int i = 1; i < %d; i++)\n        sum += "
        "from[i * %lld];\n"
        "    l.%s[at] = sum;\n}\n\n",
        f->name, f->name, dim, f->name, dim, dim * own(w)->parts, dim, own(w)->parts, dim, f->name);
}
