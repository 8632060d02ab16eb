/* print_items.c - pipelines of items that warps take in turn (cgtp_batch.h): the kernel, and where what it
 * brings and stores is in rows, as structs of constants. The first group is the ring of sets, the second has
 * rows of channel blocks. Calls, locals and waits are printed as with edges.
 */
#include "pipeline/edges.h"

#include <string.h>

enum { RING, ROWS };

/* Is it the first of the fields that one template moves, those of an operand and a spread? */
static bool is_first(const struct place *q, int field)
{
    const struct field *f = &q->field[field];
    return f->operand && edges_first(q, f->operand, f->spread) == field;
}

/* ---- tables ---- */

/* "set0_z", "rows_of_64_x"; of rows of x that are stored, "set0_end" */
static const char *table_of(const struct printer *c, const struct place *q, const struct field *f)
{
    static const char *const names[SLOT_COUNT] = {[SLOT_X] = "x", [SLOT_W] = "w", [SLOT_G] = "z"};
    const bool end = f->operand->slot == SLOT_X && f->operand->output;
    return arena_printf(c->a, "%s%s_%s", q->name, c->p->spread[f->spread].name,
                        end ? "end" : names[f->operand->slot]);
}

static void print_table(struct printer *c, const struct place *q, int first)
{
    struct text list = {.arena = c->a};
    const struct field *f = &q->field[first];
    const bool weights = f->operand->slot == SLOT_W;
    for (int i = first; i < q->fields; i++) {
        const struct operand_block *b = f->operand->block;
        if (q->field[i].operand != f->operand || q->field[i].spread != f->spread)
            continue;
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
    line(c->o, "struct %s : part%s { static constexpr %s[] = {%s}; };", table_of(c, q, f),
         c->p->spread[f->spread].name, weights ? "int64_t offset" : "cgtp_segment segment",
         text_string(&list));
}

/* Each once, whichever operands of a slot have it. */
static void print_tables(struct printer *c)
{
    const struct pipeline *p = c->p;
    struct text told = {.arena = c->a};
    int aligned = p->aligned[0];
    for (int i = 1; i < SLOT_COUNT; i++)
        aligned = aligned < p->aligned[i] ? aligned : p->aligned[i];
    line(c->o, "/* Where irreps segments and weights are in rows. */");
    for (int i = 0; i < p->spreads; i++)
        line(c->o,
             "struct part%s { [[maybe_unused]] static constexpr int mul = %d, channels = %d, lanes = %d, "
             "blocks = %d, aligned = %d; };",
             p->spread[i].name, p->spread[i].mul, p->spread[i].channels, p->spread[i].lanes,
             p->spread[i].blocks, aligned);
    for (int i = 0; i < p->places; i++)
        for (int k = 0; k < p->place[i].fields; k++) {
            const struct place *q = &p->place[i];
            const char *word =
                q->field[k].spread < 0 ? "" : arena_printf(c->a, " %s ", table_of(c, q, &q->field[k]));
            if (*word && !strstr(text_string(&told), word))
                print_table(c, q, k);
            text_puts(&told, word);
        }
    blank(c->o);
}

/* ---- what moves ---- */

/* A row of y, of the items side by side one each. */
static void print_row_copy(struct printer *c, const struct operand *o, const char *to, const char *row)
{
    const int lanes = edges_lanes(c);
    if (edges_abreast(c))
        line(c->o, "cgtp_copy_lanes_row<%lld, %d>(%s, %s + cgtp_row_begin<%lld, %d>(lane), lane, stream);",
             (long long)o->dim, lanes, to, row, (long long)o->dim, lanes);
    else if (operand_size(o) == 2)
        line(c->o, "cgtp_copy_words<%lld>(%s, %s, lane, stream);", (long long)o->dim, to, row);
    else
        line(c->o, "cgtp_copy_row(%s, %s, lane, stream);", to, row);
}

/* Starts the copies of a version of the place, which is `from`; some channel blocks have none of a spread. */
static void print_copies(struct printer *c, const struct place *q, const char *from)
{
    if (c->p->group[q->group].instead)
        from = arena_printf(c->a, "%s.%s", from, q->name);
    for (int i = 0; i < q->fields; i++) {
        const struct field *f = &q->field[i];
        const struct operand *o = f->operand;
        if (!is_first(q, i))
            continue;
        const char *to = edges_field(c, q, i, from),
                   *row = edges_nth(c, o, edges_abreast(c) ? "item" : "ahead.item");
        if (f->spread >= 0 && c->p->spread[f->spread].blocks < c->p->loop[c->block].end)
            line(c->o, "if (ahead.block < %d)", c->p->spread[f->spread].blocks);
        if (o->slot == SLOT_W)
            line(c->o, "cgtp_copy_weights<%s>(%s, %s, ahead.block, lane, stream);", table_of(c, q, f), to,
                 row);
        else if (f->spread >= 0)
            line(c->o, "cgtp_copy_segments<%s>(%s, ahead.block, lane, stream%s);", table_of(c, q, f), row,
                 edges_fields(c, q, i, from));
        else
            print_row_copy(c, o, to, row);
    }
}

static void print_store(struct printer *c, const struct step *s)
{
    const struct place *q = &c->p->place[s->access[0].place];
    for (int i = 0; i < q->fields; i++) {
        if (!is_first(q, i))
            continue;
        if (edges_abreast(c))
            line(c->o, "if (there)");
        line(c->o, "cgtp_write_segments<%s, CGTP_STORE>(%s, now.block, lane%s);",
             table_of(c, q, &q->field[i]), edges_nth(c, q->field[i].operand, c->item),
             edges_fields(c, q, i, NULL));
    }
}

/* " * 6", "" */
static const char *times(const struct printer *c, int by)
{
    return by > 1 ? arena_printf(c->a, " * %d", by) : "";
}

/* Where the lane's gradients of weights go. */
static void print_row(struct printer *c, const struct step *s)
{
    const struct place *q = &c->p->place[s->number];
    const int channels = c->p->spread[0].channels;
    const char *lane = edges_abreast(c)
                           ? arena_printf(c->a, "lane %% %d", edges_lanes(c))
                           : arena_printf(c->a, "now.block * %d + lane", c->p->worker.lanes * channels);
    line(c->o, "%s *const %sout = %s + %s%s;", edges_type(c, q->operand), q->name,
         edges_nth(c, q->operand, c->item), lane, times(c, channels));
}

/* ---- a loop over all items ---- */

/* The functions that start the copies of sets, and of a channel block with the first. */
static void print_fill(struct printer *c, const struct step *s)
{
    const int loop = s->loop;
    const struct pipeline *p = c->p;
    const struct place *rows = NULL;
    const char *name = c->words->name;
    struct text first = {.arena = c->a};
    struct out *o = c->o;
    c->block = loop;
    c->side = p->loop[loop].side;
    c->item = edges_abreast(c) ? "item" : "now.item";
    for (int i = p->places - 1; i >= 0; i--)
        if (p->place[i].how == HOW_ASYNC && p->place[i].clock == loop)
            *(p->place[i].group == RING ? &c->first : &rows) = &p->place[i];
    const int sets = c->first->rate, ahead = c->first->stages - 1;
    line(o, "{ /* the channel block that is worked on; that is loaded */");
    line(o, "cgtp_channel_blocks<%s_rows, %d, %d%s> now(own.rows, %d), ahead = now;", name, rows->stages,
         p->loop[loop].end,
         p->loop[loop].group > 1 ? arena_printf(c->a, ", %d, %d", p->loop[loop].side, p->loop[loop].group)
                                 : "",
         p->worker.teams);
    line(o, "const int turns = now.left(%s)%s;", c->words->items, times(c, sets));
    line(o, "cgtp_ring<%s_stage, %d> ring(own.ring);", name, ahead + 1);
    line(o, "/* Start the copies of a turn into a stage (see cgtp_ring). */");
    for (int i = 0; i < sets; i++) {
        const struct place *q = &c->first[i];
        const bool comes = q->field[0].operand;
        line(o, "auto load_%s = [&](int, %s_stage &%s, int%s) {", q->name, name, comes ? "to" : "",
             comes || i == 0 ? " lane" : "");
        if (i == 0) {
            line(o, "ahead.advance();");
            if (rows->field[0].operand)
                line(o, "%s_rows &rows = ahead.lanes_own(lane);", name);
        }
        if (edges_abreast(c) && (comes || (i == 0 && rows->field[0].operand)))
            line(o, "const int64_t item = ahead.nth(lane / %d, %s);", edges_lanes(c), c->words->items);
        if (i == 0)
            print_copies(c, rows, "rows");
        print_copies(c, q, "to");
        line(o, "};");
        if (i < ahead)
            text_printf(&first, "%sload_%s", i ? ", " : "", q->name);
    }
    line(o, "ring.fill(turns, %s);", text_string(&first));
}

/* Over items, over the channel blocks of one, or over all channel blocks. */
static void print_loop(struct printer *c, const struct step *s)
{
    line(c->o, "CGTP_LOOP");
    line(c->o, c->p->loop[s->loop].counted ? "do {" : "for (int done = 0; done < turns;) {");
    if (s->loop != c->block)
        return;
    line(c->o, "now.advance();");
    if (!edges_abreast(c))
        return;
    const char *items = c->words->items;
    line(c->o, "[[maybe_unused]] const int side = lane / %d;", edges_lanes(c));
    line(c->o, "const int64_t item = now.nth(side, %s);", items);
    line(c->o, "const bool there = now.item + side < %s;", items);
}

static void print_end(struct printer *c, const struct step *s)
{
    const struct loop *l = &c->p->loop[s->loop];
    if (s->loop == c->block)
        line(c->o, "done += %d;", c->first->rate);
    if (l->counted)
        line(c->o, "} while (now.block < %d);", l->end - 1);
    else
        line(c->o, "}");
    if (l->outer == LOOP_LAUNCH)
        line(c->o, "}"); /* of the fill */
}

/* A set, and what its calls find; or the part of it that only the first channel blocks have. */
static void print_block(struct printer *c, const struct step *s)
{
    if (s->below || s->note) {
        line(c->o, "if (%s) {", s->note ? s->note : arena_printf(c->a, "now.block < %d", s->below));
        return;
    }
    c->set = s->number;
    line(c->o, "{ /* path %s */", c->first[c->set].name);
    if (c->first[c->set].field[0].operand)
        line(c->o, "const %s_stage &at = ring.now();", c->words->name);
    line(c->o, "[[maybe_unused]] const %s_rows &rows = now.rows();", c->words->name);
}

/* Copies of a set; those of rows come with that of the set that follows. */
static void print_ahead(struct printer *c, const struct step *s)
{
    const struct place *q = &c->p->place[s->access[0].place];
    if (q->group == RING)
        line(c->o, "ring.load_ahead(done%s, turns, lane, load_%s);",
             c->set ? arena_printf(c->a, " + %d", c->set) : "", q->name);
}

void pipeline_print_items(struct out *o, const struct pipeline *p, const struct print_words *words)
{
    static print_function *const own[STEP_KINDS] = {
        [STEP_FILL] = print_fill, [STEP_LOOP] = print_loop,  [STEP_BLOCK] = print_block,
        [STEP_END] = print_end,   [STEP_COPY] = print_ahead, [STEP_STORE] = print_store,
        [STEP_ROW] = print_row};
    struct printer c = {.o = o, .a = o->text->arena, .p = p, .words = words, .side = 1, .item = "now.item"};
    const struct worker *w = &p->worker;
    print_tables(&c);
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
    edges_steps(&c, own);
    line(o, "}");
    blank(o);
}
