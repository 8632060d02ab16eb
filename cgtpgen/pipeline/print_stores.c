/* print_stores.c - pipelines of edges: how rows leave: gradients of x and of weights from where they wait in
 * shared memory, sums over the warps of a team, by templates of the runtime (cgtp_epilogue.h).
 */
#include "pipeline/edges.h"
#include "pipeline/share.h"

/* From the staging buffer to the rows of the edge `number` of the tile or, whose stage is `from`, of its
 * sender. */
static void print_edge_rows(struct printer *c, const struct place *q, const char *number, const char *from)
{
    for (int i = 0; i < q->fields; i++) {
        const struct operand *o = q->field[i].operand;
        if (i && o == q->field[i - 1].operand)
            continue;
        for (int k = 0; k < c->p->spreads; k++) {
            const int first = edges_first(q, o, k);
            if (first < 0)
                continue;
            const char *row = q->rows
                                  ? arena_printf(c->a, "l.%s%s + (first + %s) * (int64_t)%d", o->symbol,
                                                 q->rows, number, q->row_elements)
                                  : edges_nth(c, o, edges_of_item(c, arena_printf(c->a, "%s.sender", from)));
            if (q->rows && c->p->walk.turns)
                line(c->o, "if (first + %s < tiles.kept)", number);
            line(c->o, "cgtp_write_segments<%s, %s>(%s, channel_block, lane%s);", edges_table(c, k, q->table),
                 q->rows ? "CGTP_STORE" : "CGTP_ADD", row, edges_fields(c, q, first, NULL));
        }
    }
}

static void print_sums(struct printer *c, const struct place *q, int begin, int n)
{
    const char *item = edges_item(c->p)
                           ? arena_printf(c->a, "sums.item[(unsigned)(begin + i) %% %d]", q->stages)
                           : "(first + begin + i)";
    const char *from = edges_of_team(c, q, "begin", "0"),
               *more = begin ? arena_printf(c->a, " + %d", begin) : "";
    line(c->o, "auto %srow = [&](int i) { return %s%s; };", q->name, edges_item_row(c, q, item), more);
    const int blocks = c->p->spread[0].blocks; /* a thread's number is not kept, as registers are few */
    const char *thread = c->p->walk.many && blocks > 1
                             ? arena_printf(c->a, ", cgtp_uniform(cgtp_warp() %% %d) * 32 + lane", blocks)
                             : "";
    line(c->o, "cgtp_reduce_across_warps<%d, %d, %s, %lld>(%srow, %s%s, items%s);", n, blocks,
         q->adds ? "CGTP_ADD" : "CGTP_STORE", (long long)q->operand->dim, q->name, from, more, thread);
}

/* The functions by which stores are done that turns have and, for what is left, the tile's end. */
void edges_stores(struct printer *c)
{
    for (int i = 0; i < c->p->steps; i++) {
        const struct step *s = &c->p->step[i];
        const struct place *q = s->kind == STEP_STORE ? &c->p->place[s->access[0].place] : NULL;
        if (!q || (!s->every && s->skew == 0))
            continue;
        if (!s->every) {
            if (c->words->first)
                line(c->o, "/* Brings gradients of x from the staging buffer to their rows. */");
            if (q->rows)
                line(c->o, "auto put_x = [&](int number) {");
            else
                line(c->o, "auto put_x = [&](const stage_%d &from) {", c->words->label);
            print_edge_rows(c, q, "number", "from");
            line(c->o, "};");
            continue;
        }
        if (c->p->step[i - 1].kind != STEP_STORE) {
            line(c->o, "/* Sums what the group's warps have of `items` edges from number `begin` of the tile "
                       "on. */");
            line(c->o, "auto reduce = [&](int begin, int items) {");
        }
        print_sums(c, q, q->field[0].at, q->field[0].length);
        if (c->p->step[i + 1].kind != STEP_STORE)
            line(c->o, "};");
    }
}

/* Weights' gradients, from where the weights were. */
static void print_weights(struct printer *c, const struct place *q)
{
    const struct place *in = &c->p->place[q->alias];
    for (int k = 0; k < c->p->spreads; k++) {
        const int first = edges_first(q, NULL, k);
        const char *shift = in->shifted ? arena_printf(c->a, ", at.%sshift", in->name) : "";
        if (first >= 0)
            line(c->o, "cgtp_write_%s<%s>(%sout, %s%s, channel_block, lane);",
                 in->shifted ? "shifted_weights" : "lanes_weights", edges_table(c, k, q->table), q->name,
                 edges_version(c, q, first), shift);
    }
}

/* Gradients of x, of this turn or of the one before; of weights. */
void edges_store(struct printer *c, const struct step *s)
{
    const struct place *q = &c->p->place[s->access[0].place];
    if (q->alias >= 0) {
        print_weights(c, q);
    } else if (s->skew == 0) {
        print_edge_rows(c, q, c->edge, "at");
    } else {
        line(c->o, "if (done)");
        line(c->o, "put_x(%s);", q->rows ? "done - 1" : "ring.before()");
    }
}

/* ---- of the launch ---- */

/* What the block's teams have summed, in their order, to the block's row. */
static void print_row_of_sums(struct printer *c, const struct place *q)
{
    line(c->o, "for (int i = cgtp_thread(); i < %d; i += %d) {", q->field[0].length,
         share_threads(c->p, SCOPE_BLOCK));
    line(c->o, "real sum = 0;");
    line(c->o, "CGTP_UNROLL");
    line(c->o, "for (int k = 0; k < %d; k++)", c->p->worker.teams);
    line(c->o, "sum += block.warp[k].%s.%s[i];", c->p->group[q->group].name, q->name);
    line(c->o, "l.%sparts[cgtp_block() * (int64_t)%d + i] = sum;", q->name, q->field[0].length);
    line(c->o, "}");
}

bool edges_of_launch(struct printer *c, const struct step *s)
{
    const struct place *q = s->accesses ? &c->p->place[s->access[0].place] : NULL;
    if (!q || s->kind == STEP_CALL || q->clock != LOOP_LAUNCH)
        return false;
    const struct group *g = &c->p->group[q->group];
    if (s->kind == STEP_COPY) {
        line(c->o, "for (int i = cgtp_thread(); i < %d; i += %d)", q->field[0].length,
             share_threads(c->p, SCOPE_BLOCK));
        line(c->o, "block.%s.%s[i] = l.%s[i];", g->name, q->name, q->operand->symbol);
    } else if (s->kind == STEP_STORE) {
        print_row_of_sums(c, q);
    } else {
        line(c->o, "for (int i = lane; i < %d; i += CGTP_LANES)", g->layout.bytes / q->size);
        line(c->o, "((real *)&own.%s)[i] = 0;", g->name);
    }
    return true;
}
