/* gemm_weights.c - items by GEMM: weights in the order in which lanes read them. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

const char *gemm_weights_name(struct gemm_writer *c, const struct operand *w)
{
    return arena_printf(c->w->arena,
                        c->r->resident ? "block.weights.%s"
                        : c->r->back   ? "l.%sback"
                                       : "l.%sforth",
                        w->symbol);
}

const char *gemm_weights_of(const struct gemm_path *q, int input)
{
    struct arena *a = q->c->w->arena;
    const struct gemm_rows *r = q->c->r;
    const int64_t each = (int64_t)r->blocks[q->path->number] * GEMM_BLOCK * GEMM_BLOCK * gemm_words(r) *
                         ((gemm_depth(r, q->path) + GEMM_BLOCK - 1) / GEMM_BLOCK);
    const char *w =
        plus_offset(a, gemm_weights_name(q->c, source_input(q->c->w, input)), r->place[q->path->number]);
    return path_channels_a(q->e) > 1 ? arena_printf(a, "%s + a * %lld", w, (long long)each) : w;
}

void gemm_arrange_weights(struct gemm_writer *c, const char *thread, const char *threads)
{
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *w = source_input(c->w, i);
        for (int p = 0; p < c->w->problem->paths && demand_reads(c->d, i) && w->slot == SLOT_W; p++) {
            const struct path *path = &c->w->problem->path[p];
            if (c->d->variant_of[p] >= 0)
                line(c->o,
                     "cgtp_arrange_weights<%d, %s, %s, %d, %d, %d, %d>(%s + %lld, l.%s + %lld, %s, %s);",
                     gemm_words(c->r), c->r->back ? "true" : "false",
                     path->mul_z % 4 == 0 && path->weight_offset % 4 == 0 ? "true" : "false", path->mul_y,
                     path->mul_x, path->mul_z, c->r->blocks[p], gemm_weights_name(c, w),
                     (long long)c->r->place[p], w->symbol, (long long)path->weight_offset, thread, threads);
        }
    }
}

void gemm_weights_kernel(struct gemm_writer *c)
{
    line(c->o, "/* %s_weights: weights in the order in which lanes read them. */", c->r->name);
    line(c->o, "CGTP_KERNEL(%d, 1) %s_weights(const launch l)", GEMM_WEIGHTS_THREADS, c->r->name);
    line(c->o, "{");
    line(c->o, "const int thread = cgtp_block() * %d + cgtp_thread(), threads = cgtp_blocks() * %d;",
         GEMM_WEIGHTS_THREADS, GEMM_WEIGHTS_THREADS);
    gemm_begin_launch(c);
    gemm_arrange_weights(c, "thread", "threads");
    gemm_end_launch(c);
}
