/* print_items.c - pipelines of items that warps take in turn (cgtp_batch.h): the kernel, and where what it
 * brings and stores is in rows, as structs of constants. The first group is the ring of sets, the second has
 * rows of channel blocks. Calls, locals and waits are printed as with edges.
 */
#include "pipeline/edges.h"

#include <string.h>

enum { RING, ROWS };

struct items {
    struct edges c;
    int block;                 /* loop: over the channel blocks of an item; */
    const struct place *first; /* the first of its sets, of which there are `rate`; */
    int set;                   /* that which is worked on */
};

/* One past the last of the fields of a place that one template moves, from number `first` on: those of an
 * operand and a spread. */
static int end_of(const struct place *q, int first)
{
    int end = first + 1;
    while (end < q->fields && q->field[end].operand == q->field[first].operand &&
           q->field[end].spread == q->field[first].spread)
        end++;
    return end;
}

/* ---- tables ---- */

/* "set0_z", "rows_of_64_x"; of rows of x that are stored, "set0_end" */
static const char *table_of(const struct items *n, const struct place *q, const struct field *f)
{
    static const char *const names[SLOT_COUNT] = {[SLOT_X] = "x", [SLOT_W] = "w", [SLOT_G] = "z"};
    const bool end = f->operand->slot == SLOT_X && f->operand->output;
    return arena_printf(n->c.a, "%s%s_%s", q->name, n->c.p->spread[f->spread].name,
                        end ? "end" : names[f->operand->slot]);
}

static void print_table(struct items *n, const struct place *q, int first, int end)
{
    struct text list = {.arena = n->c.a};
    const struct field *f = &q->field[first];
    const bool weights = f->operand->slot == SLOT_W;
    for (int i = first; i < end; i++) {
        const struct operand_block *b = f->operand->block;
        while (b->offset != q->field[i].base)
            b++;
        text_puts(&list, list.n ? ", " : "");
        if (weights)
            text_printf(&list, "%lld", (long long)b->offset);
        else if (b->component == 1)
            text_printf(&list, "{%d, %lld}", b->components, (long long)b->offset);
        else
            text_printf(&list, "{%d, %lld, %lld}", b->components, (long long)b->offset,
                        (long long)b->component);
    }
    line(n->c.o, "struct %s : part%s { static constexpr %s[] = {%s}; };", table_of(n, q, f),
         n->c.p->spread[f->spread].name, weights ? "int64_t offset" : "cgtp_segment segment",
         text_string(&list));
}

/* Each once, whichever operands of a slot have it. */
static void print_tables(struct items *n)
{
    const struct pipeline *p = n->c.p;
    struct text told = {.arena = n->c.a};
    int aligned = p->aligned[0];
    for (int i = 1; i < SLOT_COUNT; i++)
        aligned = aligned < p->aligned[i] ? aligned : p->aligned[i];
    line(n->c.o, "/* Where irreps segments and weights are in rows. */");
    for (int i = 0; i < p->spreads; i++)
        line(n->c.o,
             "struct part%s { [[maybe_unused]] static constexpr int mul = %d, channels = %d, lanes = %d, "
             "blocks = %d, aligned = %d; };",
             p->spread[i].name, p->spread[i].mul, p->spread[i].channels, p->spread[i].lanes,
             p->spread[i].blocks, aligned);
    for (int i = 0; i < p->places; i++)
        for (int k = 0, end; k < p->place[i].fields; k = end) {
            const struct place *q = &p->place[i];
            const char *word =
                q->field[k].spread < 0 ? "" : arena_printf(n->c.a, " %s ", table_of(n, q, &q->field[k]));
            end = end_of(q, k);
            if (*word && !strstr(text_string(&told), word))
                print_table(n, q, k, end);
            text_puts(&told, word);
        }
    blank(n->c.o);
}

/* ---- what moves ---- */

/* Has a warp several items side by side? */
static bool abreast(const struct items *n)
{
    return n->c.p->loop[n->block].side > 1;
}

static int lanes_of_item(const struct items *n)
{
    return n->c.p->worker.lanes / n->c.p->loop[n->block].side;
}

/* A row of y, of the items side by side one each. */
static void print_row_copy(struct items *n, const struct operand *o, const char *to, const char *row)
{
    const int lanes = lanes_of_item(n);
    if (abreast(n))
        line(n->c.o, "cgtp_copy_lanes_row<%lld, %d>(%s, %s + cgtp_row_begin<%lld, %d>(lane), lane, stream);",
             (long long)o->dim, lanes, to, row, (long long)o->dim, lanes);
    else if (operand_size(o) == 2)
        line(n->c.o, "cgtp_copy_words<%lld>(%s, %s, lane, stream);", (long long)o->dim, to, row);
    else
        line(n->c.o, "cgtp_copy_row(%s, %s, lane, stream);", to, row);
}

/* Starts the copies of a version of the place, which is `from`; some channel blocks have none of a spread. */
static void print_copies(struct items *n, const struct place *q, const char *from)
{
    if (n->c.p->group[q->group].instead)
        from = arena_printf(n->c.a, "%s.%s", from, q->name);
    for (int i = 0, end; i < q->fields; i = end) {
        const struct field *f = &q->field[i];
        const struct operand *o = f->operand;
        end = end_of(q, i);
        if (!o)
            continue;
        const char *to = edges_field(&n->c, q, i, from),
                   *row = arena_printf(n->c.a, "l.%s + %s * %s", o->array, abreast(n) ? "item" : "ahead.item",
                                       edges_stride(&n->c, o));
        struct text list = {.arena = n->c.a};
        for (int k = i; k < end; k++)
            text_printf(&list, ", %s", edges_field(&n->c, q, k, from));
        if (f->spread >= 0 && n->c.p->spread[f->spread].blocks < n->c.p->loop[n->block].end)
            line(n->c.o, "if (ahead.block < %d)", n->c.p->spread[f->spread].blocks);
        if (o->slot == SLOT_W)
            line(n->c.o, "cgtp_copy_weights<%s>(%s, %s, ahead.block, lane, stream);", table_of(n, q, f), to,
                 row);
        else if (f->spread >= 0)
            line(n->c.o, "cgtp_copy_segments<%s>(%s, ahead.block, lane, stream%s);", table_of(n, q, f), row,
                 text_string(&list));
        else
            print_row_copy(n, o, to, row);
    }
}

static void print_store(struct items *n, const struct place *q)
{
    for (int i = 0, end; i < q->fields; i = end) {
        const struct operand *o = q->field[i].operand;
        struct text list = {.arena = n->c.a};
        end = end_of(q, i);
        for (int k = i; k < end; k++)
            text_printf(&list, ", %s", edges_version(&n->c, q, k));
        if (abreast(n))
            line(n->c.o, "if (there)");
        line(n->c.o, "cgtp_write_segments<%s, CGTP_STORE>(l.%s + %s * %s, now.block, lane%s);",
             table_of(n, q, &q->field[i]), o->array, n->c.item, edges_stride(&n->c, o), text_string(&list));
    }
}

/* " * 6", "" */
static const char *times(const struct items *n, int by)
{
    return by > 1 ? arena_printf(n->c.a, " * %d", by) : "";
}

/* Where the lane's gradients of weights go. */
static void print_row(struct items *n, const struct place *q)
{
    const struct spread *s = &n->c.p->spread[0];
    if (abreast(n)) {
        line(n->c.o, "%s *const %sout = l.%s + item * %s + lane %% %d%s;", edges_type(&n->c, q->operand),
             q->name, q->operand->array, edges_stride(&n->c, q->operand), lanes_of_item(n),
             times(n, s->channels));
        return;
    }
    line(n->c.o, "%s *const %sout = l.%s + now.item * %s + now.block * %d + lane%s;",
         edges_type(&n->c, q->operand), q->name, q->operand->array, edges_stride(&n->c, q->operand),
         n->c.p->worker.lanes * s->channels, times(n, s->channels));
}

/* ---- a loop over all items ---- */

/* The functions that start the copies of sets, and of a channel block with the first. */
static void print_fill(struct items *n, int loop)
{
    const struct pipeline *p = n->c.p;
    const struct place *rows = NULL;
    const char *name = n->c.words->name;
    struct text first = {.arena = n->c.a};
    struct out *o = n->c.o;
    n->block = loop;
    n->c.item = abreast(n) ? "item" : "now.item";
    for (int i = p->places - 1; i >= 0; i--)
        if (p->place[i].how == HOW_ASYNC && p->place[i].clock == loop)
            *(p->place[i].group == RING ? &n->first : &rows) = &p->place[i];
    const int sets = n->first->rate, ahead = n->first->stages - 1;
    line(o, "{ /* the channel block that is worked on; that is loaded */");
    line(o, "cgtp_channel_blocks<%s_rows, %d, %d%s> now(own.rows, %d), ahead = now;", name, rows->stages,
         p->loop[loop].end,
         p->loop[loop].group > 1 ? arena_printf(n->c.a, ", %d, %d", p->loop[loop].side, p->loop[loop].group)
                                 : "",
         p->worker.teams);
    line(o, "const int turns = now.left(%s)%s;", n->c.words->items, times(n, sets));
    line(o, "cgtp_ring<%s_stage, %d> ring(own.ring);", name, ahead + 1);
    line(o, "/* Start the copies of a turn into a stage (see cgtp_ring). */");
    for (int i = 0; i < sets; i++) {
        const struct place *q = &n->first[i];
        const bool comes = q->field[0].operand;
        line(o, "auto load_%s = [&](int, %s_stage &%s, int%s) {", q->name, name, comes ? "to" : "",
             comes || i == 0 ? " lane" : "");
        if (i == 0) {
            line(o, "ahead.advance();");
            if (rows->field[0].operand)
                line(o, "%s_rows &rows = ahead.lanes_own(lane);", name);
        }
        if (abreast(n) && (comes || (i == 0 && rows->field[0].operand)))
            line(o, "const int64_t item = ahead.nth(lane / %d, %s);", lanes_of_item(n), n->c.words->items);
        if (i == 0)
            print_copies(n, rows, "rows");
        print_copies(n, q, "to");
        line(o, "};");
        if (i < ahead)
            text_printf(&first, "%sload_%s", i ? ", " : "", q->name);
    }
    line(o, "ring.fill(turns, %s);", text_string(&first));
}

/* Over items, over the channel blocks of one, or over all channel blocks. */
static void print_loop(struct items *n, int loop)
{
    line(n->c.o, "CGTP_LOOP");
    line(n->c.o, n->c.p->loop[loop].counted ? "do {" : "for (int done = 0; done < turns;) {");
    if (loop != n->block)
        return;
    line(n->c.o, "now.advance();");
    if (!abreast(n))
        return;
    const char *items = n->c.words->items;
    line(n->c.o, "[[maybe_unused]] const int side = lane / %d;", lanes_of_item(n));
    line(n->c.o, "const int64_t item = now.nth(side, %s);", items);
    line(n->c.o, "const bool there = now.item + side < %s;", items);
}

static void print_end(struct items *n, int loop)
{
    const struct loop *l = &n->c.p->loop[loop];
    if (loop == n->block)
        line(n->c.o, "done += %d;", n->first->rate);
    if (l->counted)
        line(n->c.o, "} while (now.block < %d);", l->end - 1);
    else
        line(n->c.o, "}");
    if (l->outer == LOOP_LAUNCH)
        line(n->c.o, "}"); /* of the fill */
}

/* A set, and what its calls find; or the part of it that only the first channel blocks have. */
static void print_block(struct items *n, const struct step *s)
{
    if (s->below || s->note) {
        line(n->c.o, "if (%s) {", s->note ? s->note : arena_printf(n->c.a, "now.block < %d", s->below));
        return;
    }
    n->set = s->number;
    line(n->c.o, "{ /* path %s */", n->first[n->set].name);
    if (n->first[n->set].field[0].operand)
        line(n->c.o, "const %s_stage &at = ring.now();", n->c.words->name);
    line(n->c.o, "[[maybe_unused]] const %s_rows &rows = now.rows();", n->c.words->name);
}

static int print_step(struct items *n, int i)
{
    const struct step *s = &n->c.p->step[i];
    if (edges_of_launch(&n->c, s))
        return i;
    switch (s->kind) {
    case STEP_FILL:
        print_fill(n, s->loop);
        return i;
    case STEP_LOOP:
        print_loop(n, s->loop);
        return i;
    case STEP_BLOCK:
        print_block(n, s);
        return i;
    case STEP_END:
        if (s->loop == LOOP_LAUNCH)
            break;
        print_end(n, s->loop);
        return i;
    case STEP_COPY: /* of rows, with the set that follows */
        if (n->c.p->place[s->access[0].place].group == RING)
            line(n->c.o, "ring.load_ahead(done%s, turns, lane, load_%s);",
                 n->set ? arena_printf(n->c.a, " + %d", n->set) : "", n->c.p->place[s->access[0].place].name);
        return i;
    case STEP_STORE:
        print_store(n, &n->c.p->place[s->access[0].place]);
        return i;
    case STEP_ROW:
        print_row(n, &n->c.p->place[s->number]);
        return i;
    case STEP_LAUNCH_WAIT:
        line(n->c.o, "cgtp_launch_wait();");
        return i;
    default:
        break;
    }
    return edges_step(&n->c, i);
}

void pipeline_print_items(struct out *o, const struct pipeline *p, const struct print_words *words)
{
    struct items n = {.c = {.o = o, .a = o->text->arena, .p = p, .words = words, .item = "now.item"}};
    const struct worker *w = &p->worker;
    print_tables(&n);
    line(
        o,
        "/* %s: blocks of %d threads, %d per multiprocessor, each with %d bytes of dynamic shared memory; as "
        "many as the device holds at a time. Each warp takes items at equal distances, and waits for nothing "
        "but its own copies. */",
        words->name, w->lanes * w->teams, w->blocks, p->of_block.bytes);
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l)", w->lanes * w->teams, w->blocks, words->name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s_block &block = *(%s_block *)shared;", words->name, words->name);
    line(o, "%s_warp &own = block.warp[cgtp_warp()];", words->name);
    line(o, "const cgtp_policy stream = cgtp_policy_stream();");
    line(o, "const int lane = cgtp_pinned_lane();");
    for (int i = 0; i < p->steps; i++)
        i = print_step(&n, i);
    line(o, "}");
    blank(o);
}
