/* gemm_weights.c - items by GEMM: weights in the order in which lanes read them. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

enum {
    TOGETHER = 12
}; /* pieces of a thread in registers: eight numbers each, four where weights are turned round */

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
    const int path = q->path->number, channels = path_channels_a(q->e);
    const int64_t block = GEMM_BLOCK * GEMM_BLOCK * gemm_words(r);
    const char *w = plus_offset(a, gemm_weights_name(q->c, source_input(q->c->w, input)), r->place[path]);
    if (q->e->below)
        return arena_printf(a, "%s + cgtp_gemm_before(a) * %lld", w,
                            (long long)(gemm_blocks(r, path) / gemm_below(channels) * block));
    return channels > 1
               ? arena_printf(a, "%s + a * %lld", w, (long long)(gemm_blocks(r, path) / channels * block))
               : w;
}

/* A path's weights of an input. */
struct arranged {
    const struct operand *w;
    const struct path *path;
    int64_t pieces; /* as many as cgtp_weights counts */
};

static struct arranged *find_arranged(struct gemm_writer *c, int *n)
{
    const struct problem *p = c->w->problem;
    struct arranged *all = NEW_ARRAY(c->w->arena, struct arranged, (c->w->form->inputs + 1) * (p->paths + 1));
    *n = 0;
    for (int i = 0; i < c->w->form->inputs; i++)
        for (int k = 0; k < p->paths && demand_reads(c->d, i) && source_input(c->w, i)->slot == SLOT_W; k++)
            if (c->d->variant_of[k] >= 0)
                all[(*n)++] = (struct arranged){source_input(c->w, i), &p->path[k],
                                                gemm_blocks(c->r, k) *
                                                    (gemm_is_turned(c->r) ? 2 * GEMM_BLOCK : GEMM_BLOCK)};
    return all;
}

static const char *weights_type(struct gemm_writer *c, const struct path *path)
{
    const struct path_plan *e = &c->d->plan->path[path->number];
    return arena_printf(c->w->arena, "%s<%d, %s, %s, %d, %d, %d, %d>",
                        e->below ? "cgtp_weights_below" : "cgtp_weights", gemm_words(c->r),
                        gemm_is_turned(c->r) ? "true" : "false",
                        path->mul_z % 4 == 0 && path->weight_offset % 4 == 0 ? "true" : "false",
                        path_channels_a(e), path->mul_x, path->mul_z, c->r->blocks[path->number]);
}

static const char *arranged_to(struct gemm_writer *c, const struct arranged *q)
{
    return plus_offset(c->w->arena, gemm_weights_name(c, q->w), c->r->place[q->path->number]);
}

static const char *arranged_from(struct gemm_writer *c, const struct arranged *q)
{
    return plus_offset(c->w->arena, arena_printf(c->w->arena, "l.%s", q->w->symbol), q->path->weight_offset);
}

/* Those of n paths, all of them on their way before the first is put. */
static void emit_together(struct gemm_writer *c, const struct arranged *q, int n, int threads,
                          void (*meanwhile)(struct gemm_writer *))
{
    line(c->o, "{");
    for (int i = 0; i < n; i++)
        line(c->o, "%s piece%d[%d];", weights_type(c, q[i].path), i,
             (int)((q[i].pieces + threads - 1) / threads));
    for (int i = 0; i < n; i++)
        line(c->o, "cgtp_bring_weights<%d>(piece%d, %s, cgtp_thread());", threads, i,
             arranged_from(c, &q[i]));
    if (meanwhile)
        meanwhile(c);
    for (int i = 0; i < n; i++)
        line(c->o, "cgtp_leave_weights<%d>(%s, piece%d, cgtp_thread());", threads, arranged_to(c, &q[i]), i);
    line(c->o, "}");
}

/* Puts all that the kernel reads where it is read, by a block of so many threads. */
void gemm_arrange_weights(struct gemm_writer *c, int threads, void (*meanwhile)(struct gemm_writer *))
{
    const int most = TOGETHER * 4 / kernel_size(c->d->kernel) * (gemm_is_turned(c->r) ? 2 : 1);
    int n;
    const struct arranged *q = find_arranged(c, &n);
    for (int i = 0; i < n;) {
        int k = i;
        for (int64_t turns = 0; k < n; k++)
            if ((turns += (q[k].pieces + threads - 1) / threads) > most)
                break;
        if (k == i && i == 0)
            meanwhile(c);
        if (k > i)
            emit_together(c, q + i, k - i, threads, i ? NULL : meanwhile);
        else
            line(c->o, "cgtp_arrange_weights<%s>(%s, %s, cgtp_thread(), %d);", weights_type(c, q[i].path),
                 arranged_to(c, &q[i]), arranged_from(c, &q[i]), threads);
        i = k > i ? k : i + 1;
    }
    if (!n)
        meanwhile(c);
}

void gemm_weights_kernel(struct gemm_writer *c)
{
    line(c->o, "/* %s_weights: weights in the order in which lanes read them. */", c->r->name);
    line(c->o, "CGTP_KERNEL(%d, 1) %s_weights(const launch l)", GEMM_WEIGHTS_THREADS, c->r->name);
    line(c->o, "{");
    line(c->o, "const int thread = cgtp_block() * %d + cgtp_thread(), threads = cgtp_blocks() * %d;",
         GEMM_WEIGHTS_THREADS, GEMM_WEIGHTS_THREADS);
    gemm_begin_launch(c);
    int n;
    const struct arranged *q = find_arranged(c, &n);
    for (int i = 0; i < n; i++)
        line(c->o, "cgtp_arrange_weights<%s>(%s, %s, thread, threads);", weights_type(c, q[i].path),
             arranged_to(c, &q[i]), arranged_from(c, &q[i]));
    gemm_end_launch(c);
}
