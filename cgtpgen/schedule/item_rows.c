/* item_rows.c - see item_rows.h. */
#include "schedule/item_rows.h"

#include "schedule/check.h"
#include "schedule/clear.h"
#include "schedule/gather.h"
#include "schedule/index_words.h"
#include "schedule/parts.h"

#include <string.h>

/* ---- plans ---- */

const char *item_rows_refuses(const struct target *target, const struct demand *d)
{
    (void)target;
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *q = &d->kernel->operand[i];
        if (q->index == INDEX_SENDER || q->index == INDEX_RECEIVER)
            return "rows of nodes";
        if (q->slot != SLOT_W && q->index == INDEX_SHARED)
            return "shared rows that are no weights";
    }
    return NULL;
}

const char *item_rows_routes(struct arena *a, struct schedule *s, bool several)
{
    static const enum route_kind own_row[] = {ROUTE_ITEM}, parts[] = {ROUTE_PARTS};
    static const enum route_kind node[] = {ROUTE_ATOMIC, ROUTE_EDGE_BUFFER};
    const struct demand *d = s->demand;
    const struct spec *spec = d->plan->problem->spec;
    s->route = NEW_ARRAY(a, struct route, d->outputs + 1);
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        const enum route_kind *offered = q->index == INDEX_ITEM         ? own_row
                                         : q->index == INDEX_SHARED     ? parts
                                         : q->slot == SLOT_Y && several ? node + 1
                                                                        : node;
        const int kinds = offered == node ? 2 : 1;
        if (!route_choose(spec, q->index, kinds, offered, &s->route[o]) || route_keeps(&s->route[o]))
            return "no way to sum as the spec asks";
    }
    return NULL;
}

const char *item_rows_owned(struct arena *a, struct schedule *s)
{
    s->route = NEW_ARRAY(a, struct route, s->demand->outputs + 1);
    for (int o = 0; o < s->demand->outputs; o++) {
        s->route[o] = route_owned(s->demand->plan->problem->spec, demand_operand(s->demand, o)->index);
        if (route_keeps(&s->route[o]))
            return "no way to sum as the spec asks";
    }
    return NULL;
}

enum index_kind item_rows_owner(struct schedule *s, const bool *may, bool inputs)
{
    int64_t dim[INDEX_COUNT] = {0};
    enum index_kind owner = INDEX_ITEM;
    bool any = false,
         lists_senders = false; /* a caller gives edges by sender to kernels that sum there alone */
    if (s->demand->plan->problem->spec->reduction == REDUCTION_INVARIANT)
        return owner; /* which items a team has is the graph's matter */
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct operand *q = demand_operand(s->demand, o);
        const bool buffered = s->route[o].kind == ROUTE_EDGE_BUFFER;
        lists_senders |= buffered && q->index == INDEX_SENDER;
        if (buffered && (!may || may[o])) {
            dim[q->index] += 2 * q->dim;
            any = true;
        }
    }
    for (int i = 0; i < s->demand->kernel->form->inputs && inputs; i++)
        if (demand_reads(s->demand, i))
            dim[kernel_input(s->demand->kernel, i)->index] += kernel_input(s->demand->kernel, i)->dim;
    if (any)
        owner = lists_senders && dim[INDEX_SENDER] > dim[INDEX_RECEIVER] ? INDEX_SENDER : INDEX_RECEIVER;
    for (int o = 0; o < s->demand->outputs && owner != INDEX_ITEM; o++)
        if (demand_operand(s->demand, o)->index == owner && (!may || may[o]))
            s->route[o].kind = ROUTE_FIXED_UP;
    return owner;
}

void item_rows_areas(struct areas *all, const struct schedule *s, const char *parts, const char *partial)
{
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct operand *q = demand_operand(s->demand, o);
        if (s->route[o].kind == ROUTE_EDGE_BUFFER)
            areas_add(all, "real", arena_printf(all->arena, "%sedges", q->symbol), INDEX_ITEM, q->dim);
        if (s->route[o].kind == ROUTE_PARTS)
            parts_area(all, q, parts);
        if (s->route[o].kind == ROUTE_FIXED_UP)
            areas_add_by_items(all, "real", arena_printf(all->arena, "%spartial", q->symbol), partial,
                               q->dim);
    }
}

/* Sums at receivers ask a caller for row pointers in every way, so that he need not know which one is taken;
 * where the launch makes them, only if they are read. */
void item_rows_reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    const bool sorted = s->demand->plan->problem->spec->sorted;
    for (int o = 0; o < s->demand->outputs; o++) {
        const enum index_kind index = demand_operand(s->demand, o)->index;
        const enum route_kind kind = s->route[o].kind;
        *receiver_row |= index == INDEX_RECEIVER && (sorted || kind != ROUTE_ATOMIC);
        *by_sender |= (kind == ROUTE_EDGE_BUFFER || kind == ROUTE_FIXED_UP) && index == INDEX_SENDER;
    }
}

void item_rows_check_owner(struct checker *c, const struct schedule *s, enum index_kind owner)
{
    bool receiver_row = false, by_sender = false;
    item_rows_reads_graph(s, &receiver_row, &by_sender);
    check_that(c, owner != INDEX_SENDER || by_sender,
               "items in the order of senders, whose edges nobody lists");
}

/* ---- rows ---- */

const char *item_rows_row(const struct source *w, const struct operand *q)
{
    const char *row = source_item_row(w->arena, "l.graph.", source_item(w), q->index);
    return arena_printf(w->arena, "l.%s + (int64_t)%s * %s", q->array, row, source_stride(w, q));
}

bool item_rows_copies(const struct source *w, int input)
{
    return demand_reads(w->demand, input) && source_input(w, input)->index != INDEX_SHARED;
}

/* What a copy of the input says of lines in L2. Rows of nodes are used again. Weights go first only where no
 * gradients of them leave: it was measured that these leave faster where their lines have not gone. */
const char *item_rows_policy(const struct source *w, const struct operand *q)
{
    bool leaves = q->slot == SLOT_W && demand_outputs_of(w->demand, SLOT_W);
    return q->index == INDEX_ITEM && !leaves ? "stream" : "keep";
}

static bool uses_policy(const struct source *w, enum index_kind but, const char *policy)
{
    for (int i = 0; i < w->form->inputs; i++)
        if (item_rows_copies(w, i) && source_input(w, i)->index != but &&
            strcmp(item_rows_policy(w, source_input(w, i)), policy) == 0)
            return true;
    return false;
}

void item_rows_policies(const struct source *w, struct out *o, enum index_kind but)
{
    static const char *const policies[] = {"stream", "keep"};
    for (int i = 0; i < 2; i++)
        if (uses_policy(w, but, policies[i]))
            line(o, "const cgtp_policy %s = cgtp_policy_%s();", policies[i], policies[i]);
}

void item_rows_copy(const struct source *w, struct out *o, int input, const char *to, int threads)
{
    const struct operand *q = source_input(w, input);
    line(o, "cgtp_copy_row_by<%d>(%s, %s, thread, %s);", threads, to, item_rows_row(w, q),
         item_rows_policy(w, q));
}

const char *item_rows_to(const struct source *w, int o)
{
    const struct operand *q = demand_operand(w->demand, o);
    return w->schedule->route[o].kind == ROUTE_EDGE_BUFFER
               ? arena_printf(w->arena, "l.%sedges + e * %lld", q->symbol, source_dim(q))
               : item_rows_row(w, q);
}

const char *item_rows_leave(const struct source *w, int o)
{
    return w->schedule->route[o].kind == ROUTE_ATOMIC ? "add_row" : "put_row";
}

/* ---- sums over items ---- */

/* Completes the rows of nodes whose items are in several chunks, and of those without any. */
static void emit_fix_up(struct source *w, struct out *o, const struct form_output *f, const struct operand *q)
{
    const char *of = q->index == INDEX_SENDER ? "true" : "false";
    gather_begin(w, o, f, GATHER_ROWS, ", const int chunk", false);
    line(o, "if (!cgtp_gather_chunks<%s>(sum, l.%spartial + at, %lld, l.graph, node, chunk))", of, f->symbol,
         source_dim(q));
    line(o, "return;");
    gather_end(o, w, f, GATHER_ROWS, false);
}

void item_rows_kernels(struct source *w, struct out *o)
{
    for (int i = 0; i < w->demand->outputs; i++) {
        const struct form_output *f = demand_output(w->demand, i);
        const struct operand *q = demand_operand(w->demand, i);
        if (w->schedule->route[i].kind == ROUTE_PARTS)
            parts_sum(w, o, q);
        if (w->schedule->route[i].kind == ROUTE_FIXED_UP)
            emit_fix_up(w, o, f, q);
        if (w->schedule->route[i].kind != ROUTE_EDGE_BUFFER)
            continue;
        gather_begin(w, o, f, GATHER_ROWS, "", false);
        const bool sender = q->index == INDEX_SENDER;
        line(o, "cgtp_gather_%s(%s, l.%sedges + at, %lld, l.graph, node%s);",
             sender ? "rows<together, 0>" : "received_rows<together>", gather_sum(w, f, GATHER_ROWS),
             f->symbol, source_dim(q), sender ? ", {0, 0, 0, true, true}" : "");
        gather_end(o, w, f, GATHER_ROWS, false);
    }
}

/* ---- launches ---- */

void item_rows_clear(struct source *w)
{
    struct clear c = clear_begin(w->arena);
    for (int o = 0; o < w->demand->outputs; o++)
        if (w->schedule->route[o].kind == ROUTE_ATOMIC)
            clear_rows(&c, w, demand_operand(w->demand, o));
    clear_launch(&c, w);
}

void item_rows_finish(struct source *w, const char *blocks, const char *chunk)
{
    struct out out = {.text = w->out, .depth = 1};
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct form_output *f = demand_output(w->demand, o);
        if (w->schedule->route[o].kind == ROUTE_EDGE_BUFFER)
            gather_launch(w, &out, f, GATHER_ROWS, "", false);
        if (w->schedule->route[o].kind == ROUTE_FIXED_UP)
            gather_launch(w, &out, f, GATHER_ROWS, arena_printf(w->arena, ", %s", chunk), false);
        if (w->schedule->route[o].kind == ROUTE_PARTS)
            parts_launch(w, demand_operand(w->demand, o), blocks);
    }
}
