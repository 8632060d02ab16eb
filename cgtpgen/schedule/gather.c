/* gather.c - see gather.h. */
#include "schedule/path.h"
#include "schedule/gather.h"

#include "schedule/index_words.h"

enum { THREADS = 128 };

static const struct operand *output_of(const struct source *w, const struct form_output *f)
{
    return kernel_output(w->demand->kernel, (int)(f - w->form->output));
}

/* The type of the sums of an output of a demand, beside which there is what is still to be added; NULL: there
 * is nothing. */
static const char *carried_by(const struct schedule *s, int o)
{
    return s->route[o].wide          ? precision_table[s->demand->plan->problem->spec->sum].c
           : s->route[o].compensated ? "real"
                                     : NULL;
}

static const char *carried(const struct source *w, const struct form_output *f)
{
    for (int o = 0; o < w->demand->outputs; o++)
        if (demand_output(w->demand, o) == f)
            return carried_by(w->schedule, o);
    return NULL;
}

/* Are sums of a turn kept apart from the output, whose rows do not hold them? */
static bool kept_apart(const struct operand *q, const struct kernel_plan *k, const char *carried)
{
    return carried || operand_size(q) != kernel_size(k);
}

void gather_areas(struct areas *all, const struct schedule *s, int o)
{
    const struct operand *q = demand_operand(s->demand, o);
    const char *whole = carried_by(s, o), *name = demand_output(s->demand, o)->symbol;
    if (kept_apart(q, s->demand->kernel, whole))
        areas_add_between(all, "real", arena_printf(all->arena, "%ssums", name), q->index, q->dim);
    if (whole)
        areas_add_between(all, whole, arena_printf(all->arena, "%swhole", name), q->index, q->dim);
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

/* Has a block threads of several rows, as each has few chunks? */
static bool shares_block(const struct operand *q, int aligned)
{
    return 2 * chunks_of(q, aligned) <= THREADS;
}

static void emit_move(struct out *o, int per, bool begins, const char *sum, const char *row)
{
    line(o, "cgtp_move_sum<%d>(%s, %s);", per, begins ? sum : row, begins ? row : sum);
}

/* The sums as the turn before has left them, or to where the next one finds them: rows of the output, if they
 * hold sums, are those that are stored anyway. */
static void emit_between(struct out *o, const struct source *w, const struct form_output *f, int per,
                         bool begins)
{
    struct arena *a = w->arena;
    const struct operand *q = output_of(w, f);
    const char *row = arena_printf(a, "node * %lld + at", source_dim(q));
    const bool apart = kept_apart(q, w->demand->kernel, carried(w, f));
    if (!begins && !apart)
        return;
    line(o, "if (!turn.%s) {", begins ? "first" : "last");
    if (apart)
        emit_move(o, per, begins, "sum", arena_printf(a, "l.%ssums + %s", f->symbol, row));
    else
        emit_move(o, per, begins, "sum",
                  arena_printf(a, "l.%s + node * %s + at", q->array, source_stride(w, q)));
    if (carried(w, f))
        emit_move(o, per, begins, "whole", arena_printf(a, "l.%swhole + %s", f->symbol, row));
    if (!begins)
        line(o, "return;");
    line(o, "}");
}

void gather_begin(struct source *w, struct out *o, const struct form_output *f, int aligned,
                  const char *parameters, bool in_turns)
{
    const struct operand *q = output_of(w, f);
    const bool sender = q->index == INDEX_SENDER;
    const int per = elements_of(q, aligned);
    const long long dim = (long long)q->dim, chunks = chunks_of(q, aligned),
                    blocks = (chunks + THREADS - 1) / THREADS;
    const bool shared = shares_block(q, aligned);
    line(o, "/* %s: the rows of each %s's edges, added in %s; %s per thread. */", f->name,
         sender ? "sender" : "receiver", sender ? "the order of by_sender" : "their order",
         per == 1 ? "an element" : "16 bytes");
    if (*parameters)
        line(o, "CGTP_KERNEL(%d, 8) %s_gather_%s(const launch l%s)", THREADS, w->form->name, f->symbol,
             parameters);
    else
        line(o, "template <int together> CGTP_KERNEL(%d, 64 / together) %s_gather_%s(const launch l%s)",
             THREADS, w->form->name, f->symbol, in_turns ? ", const cgtp_turn turn" : "");
    line(o, "{");
    if (shared) {
        line(o, "const int64_t thread = cgtp_block() * (int64_t)%d + cgtp_thread(), node = thread / %lld;",
             THREADS, chunks);
        line(o, "const int at = %s;",
             scaled(w->arena, arena_printf(w->arena, "(int)(thread %% %lld)", chunks), per));
    } else if (blocks == 1) {
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
    if (shared)
        line(o, "if (node >= l.graph.%s)", sender ? "senders" : "receivers");
    else if (chunks % THREADS)
        line(o, "if (at >= %lld)", dim);
    if (shared || chunks % THREADS)
        line(o, "return;");
    line(o, "real sum[%d] = {0};", per);
    if (carried(w, f))
        line(o, "%s whole[%d] = {0}; /* to which the sum is to be added */", carried(w, f), per);
    if (in_turns)
        emit_between(o, w, f, per, true);
}

const char *gather_sum(const struct source *w, const struct form_output *f, int aligned)
{
    if (carried(w, f))
        return "cgtp_carried_chunk{whole, sum}";
    return arena_printf(w->arena, "cgtp_plain_elements<%d>{sum}", elements_of(output_of(w, f), aligned));
}

void gather_end(struct out *o, const struct source *w, const struct form_output *f, int aligned,
                bool in_turns)
{
    const struct operand *q = output_of(w, f);
    if (in_turns)
        emit_between(o, w, f, elements_of(q, aligned), false);
    if (carried(w, f))
        line(o, "cgtp_finish(whole, sum);");
    line(o, "cgtp_store<%d>(l.%s + node * %s + at, sum);", elements_of(q, aligned), q->array,
         source_stride(w, q));
    line(o, "}");
    blank(o);
}

void gather_launch(struct source *w, struct out *o, const struct form_output *f, int aligned,
                   const char *arguments, bool in_turns)
{
    const struct operand *q = output_of(w, f);
    const long long blocks = (chunks_of(q, aligned) + THREADS - 1) / THREADS;
    const char *nodes = source_rows(w->plan, q->index);
    const char *all = blocks > 1 ? arena_printf(w->arena, "%s * %lld", nodes, blocks) : nodes;
    if (shares_block(q, aligned))
        all = arena_printf(w->arena, "(%s * %lld + %d) / %d", nodes, chunks_of(q, aligned), THREADS - 1,
                           THREADS);
    const char *kernel = arena_printf(w->arena, "code::%s_gather_%s", w->form->name, f->symbol);
    if (!*arguments) /* rows on their way at once: more where there are few threads */
        kernel = arena_printf(w->arena, "cgtp_few_blocks(%s) ? %s<32> : %s<8>", all, kernel, kernel);
    line(o, "if ((status = cgtp_launch_early(%s, %s, %d, 0, stream, l%s%s)))", kernel, all, THREADS,
         arguments, in_turns ? ", turn" : "");
    line(o, "return status;");
}
