/* gather.c - see gather.h. */
#include "schedule/path.h"
#include "schedule/gather.h"

#include "schedule/index_words.h"

enum { THREADS = 128 };

static const struct operand *output_of(const struct source *w, const struct form_output *f)
{
    return kernel_output(w->demand->kernel, (int)(f - w->form->output));
}

/* The type of the output's sums, beside which there is what is still to be added; NULL: there is nothing. */
static const char *carried(const struct source *w, const struct form_output *f)
{
    const struct route *route = w->schedule->route;
    for (int o = 0; o < w->demand->outputs; o++)
        if (demand_output(w->demand, o) == f)
            return route[o].wide ? precision_table[w->spec->sum].c : route[o].compensated ? "real" : NULL;
    return NULL;
}

/* Elements of a row that a thread sums: 16 bytes, or one where rows, or what is summed, are no multiples of
 * that. */
static int elements_of(const struct operand *q, int aligned)
{
    const int wide = 16 / operand_size(q);
    return q->dim % wide || aligned % wide ? 1 : wide;
}

static long long chunks_of(const struct operand *q, int aligned)
{
    return (long long)q->dim / elements_of(q, aligned);
}

void gather_begin(struct source *w, struct out *o, const struct form_output *f, int aligned,
                  const char *parameters)
{
    const struct operand *q = output_of(w, f);
    const bool sender = q->index == INDEX_SENDER;
    const int per = elements_of(q, aligned);
    const long long dim = (long long)q->dim, chunks = chunks_of(q, aligned),
                    blocks = (chunks + THREADS - 1) / THREADS;
    line(o, "/* %s: the rows of each %s's edges, added in %s; %s per thread. */", f->name,
         sender ? "sender" : "receiver", sender ? "the order of by_sender" : "their order",
         per == 1 ? "an element" : "16 bytes");
    if (*parameters)
        line(o, "CGTP_KERNEL(%d, 8) %s_gather_%s(const launch l%s)", THREADS, w->form->name, f->symbol,
             parameters);
    else
        line(o, "template <int together> CGTP_KERNEL(%d, 64 / together) %s_gather_%s(const launch l)",
             THREADS, w->form->name, f->symbol);
    line(o, "{");
    if (blocks == 1) {
        line(o, "const int64_t node = cgtp_block();");
        line(o, "const int at = %s;", scaled(w->arena, "cgtp_thread()", per));
    } else {
        line(o, "const int64_t node = cgtp_block() / %lld;", blocks);
        line(o, "const int at = %s;",
             scaled(w->arena,
                    arena_printf(w->arena,
                                 per == 1 ? "(int)(cgtp_block() %% %lld) * %d + cgtp_thread()"
                                          : "((int)(cgtp_block() %% %lld) * %d + cgtp_thread())",
                                 blocks, THREADS),
                    per));
    }
    line(o, "cgtp_launch_wait();");
    if (chunks % THREADS) {
        line(o, "if (at >= %lld)", dim);
        line(o, "return;");
    }
    line(o, "real sum[%d] = {0};", per);
    if (carried(w, f))
        line(o, "%s whole[%d] = {0}; /* to which the sum is to be added */", carried(w, f), per);
}

const char *gather_sum(const struct source *w, const struct form_output *f, int aligned)
{
    return carried(w, f)                                ? "cgtp_carried_chunk{whole, sum}"
           : elements_of(output_of(w, f), aligned) == 1 ? "cgtp_plain_elements<1>{sum}"
                                                        : "cgtp_plain_chunk{sum}";
}

void gather_end(struct out *o, const struct source *w, const struct form_output *f, int aligned)
{
    const struct operand *q = output_of(w, f);
    if (carried(w, f))
        line(o, "cgtp_finish(whole, sum);");
    line(o, "cgtp_store<%d>(l.%s + node * %s + at, sum);", elements_of(q, aligned), q->array,
         source_stride(w, q));
    line(o, "}");
    blank(o);
}

void gather_launch(struct source *w, const struct form_output *f, int aligned, const char *arguments)
{
    const struct operand *q = output_of(w, f);
    const long long blocks = (chunks_of(q, aligned) + THREADS - 1) / THREADS;
    const char *nodes = source_rows(w->plan, q->index);
    const char *all = blocks > 1 ? arena_printf(w->arena, "%s * %lld", nodes, blocks) : nodes;
    const char *kernel = arena_printf(w->arena, "code::%s_gather_%s", w->form->name, f->symbol);
    if (!*arguments) /* rows on their way at once: more where there are few threads */
        kernel = arena_printf(w->arena, "cgtp_few_blocks(%s) ? %s<32> : %s<8>", all, kernel, kernel);
    source_step(w, arena_printf(w->arena, "cgtp_launch_early(%s, %s, %d, 0, stream, l%s)", kernel, all,
                                THREADS, arguments));
}
