/* print_rows.c - pipelines of edges: where the rows of a tile's edges begin, and the functions that start the
 * copies of an edge's rows into a stage, by templates of the runtime (cgtp_convolution.h).
 */
#include "pipeline/edges.h"

#include <string.h>

const char *edges_table(const struct printer *c, int spread, const char *table)
{
    return arena_printf(c->a, "set_%d%s_%s", c->words->label, c->p->spread[spread].name, table);
}

const char *edges_suffix(const struct printer *c, int spread)
{
    const struct spread *s = &c->p->spread[spread];
    const char *mul = arena_printf(c->a, s->of > 1 ? "%dx%d" : "%d", s->mul / s->of, s->of);
    return c->p->spreads > 1 ? mul : "";
}

const char *edges_type(const struct printer *c, const struct operand *o)
{
    return o->held == c->words->real ? "real" : precision_table[o->held].c;
}

const char *edges_stride(const struct printer *c, const struct operand *o)
{
    const char *stride = operand_stride(o);
    return stride ? arena_printf(c->a, "l.%s", stride) : arena_printf(c->a, "%lld", (long long)o->dim);
}

const char *edges_nth(const struct printer *c, const struct operand *o, const char *number)
{
    return arena_printf(c->a, "l.%s + %s * %s", o->array, number, edges_stride(c, o));
}

const char *edges_field(const struct printer *c, const struct place *q, int field, const char *from)
{
    const char *name = field < q->fields ? q->field[field].name : NULL;
    if (!name && c->p->group[q->group].instead)
        return from;
    return arena_printf(c->a, "%s.%s", from, name ? name : q->name);
}

int edges_first(const struct place *q, const struct operand *o, int spread)
{
    int i = 0;
    while (i < q->fields && (q->field[i].spread != spread || (o && q->field[i].operand != o)))
        i++;
    return i < q->fields ? i : -1;
}

const char *edges_fields(const struct printer *c, const struct place *q, int field, const char *from)
{
    struct text list = {.arena = c->a};
    for (int i = field; i < q->fields; i++)
        if (q->field[i].operand == q->field[field].operand && q->field[i].spread == q->field[field].spread)
            text_printf(&list, ", %s", from ? edges_field(c, q, i, from) : edges_version(c, q, i));
    return text_string(&list);
}

bool edges_is_brought(const struct place *q)
{
    return q->how == HOW_ASYNC || q->how == HOW_LOAD;
}

bool edges_is_of_sender(const struct place *q)
{
    const struct operand *o = q->shift_of ? q->shift_of : q->operand;
    return o ? o->index == INDEX_SENDER : strcmp(q->name, "sender") == 0;
}

bool edges_need_senders(const struct pipeline *p)
{
    bool need = false;
    for (int i = 0; i < p->places; i++)
        need |= edges_is_brought(&p->place[i]) && edges_is_of_sender(&p->place[i]);
    return need;
}

const struct place *edges_item(const struct pipeline *p)
{
    for (int i = 0; i < p->places; i++)
        if (p->place[i].how == HOW_LOAD && strcmp(p->place[i].name, "item") == 0)
            return &p->place[i];
    return NULL;
}

/* Of the places of rows that are so brought: those of whole rows (table NULL), of segments, of weights. */
static bool is_by(const struct place *q, const char *table)
{
    return q->how == HOW_ASYNC && !q->shifted &&
           (table ? q->table && strcmp(q->table, table) == 0 : !q->table);
}

/* ---- where places are ---- */

/* The row of item `item` (an expression) that a worker's sums of it go to. */
const char *edges_item_row(const struct printer *c, const struct place *q, const char *item)
{
    if (!q->rows)
        return edges_nth(c, q->operand, item);
    return arena_printf(c->a, "l.%s%s + (%s * %d%s%s) * %d", q->name, q->rows, item, q->parts,
                        q->part ? arena_printf(c->a, " + %d", q->part) : "",
                        q->part_of_warp ? " + channel_block" : "", q->row_elements);
}

static const char *row_in_memory(const struct printer *c, const struct place *q)
{
    if (q->table)
        return arena_printf(c->a, "%sout", q->name);
    if (c->item)
        return edges_item_row(c, q, c->item);
    if (q->operand->index == INDEX_RECEIVER)
        return edges_nth(c, q->operand, "(int64_t)node");
    return edges_item_row(c, q, c->p->walk.orders && !edges_abreast(c) ? "at.item" : "edge");
}

/* Of sums that a team's warps have: a version, and each warp's in it. */
const char *edges_of_team(const struct printer *c, const struct place *q, const char *version,
                          const char *warp)
{
    const char *at = arena_printf(c->a, "sums.%s[(unsigned)%s %% %d]", q->name, version, q->stages);
    return q->summed ? arena_printf(c->a, "%s[%s]", at, warp) : at;
}

const char *edges_group(const struct printer *c, const struct place *q)
{
    return arena_printf(c->a, "%s.%s", q->scope == SCOPE_BLOCK ? "block" : "own", c->p->group[q->group].name);
}

const char *edges_version(const struct printer *c, const struct place *q, int field)
{
    const struct group *g = &c->p->group[q->group];
    if (c->rows)
        return arena_printf(c->a, "%srow", q->name);
    if (q->how == HOW_STANDS)
        return row_in_memory(c, q);
    if (!g->alias && q->stages > 1)
        return edges_of_team(c, q, "done", c->p->spread[0].blocks > 1 ? "channel_block" : "0");
    const char *from = g->alias ? g->alias : g->name ? edges_group(c, q) : "own";
    return edges_field(c, q, field, g->instead ? arena_printf(c->a, "%s.%s", from, q->name) : from);
}

/* An element for each of the edges side by side. */
const char *edges_of_item(const struct printer *c, const char *name)
{
    return edges_abreast(c) ? arena_printf(c->a, "%s[side]", name) : name;
}

/* ---- where rows begin ---- */

/* Of the lane's parts of the rows of senders. */
static void sender_rows_in(struct printer *c)
{
    for (int k = 0; k < c->p->spreads; k++) {
        struct text list = {.arena = c->a};
        const char *type = NULL;
        for (int i = 0; i < c->p->places; i++) {
            const struct place *q = &c->p->place[i];
            if (!is_by(q, "x") || edges_first(q, NULL, k) < 0)
                continue;
            type = edges_type(c, q->operand);
            text_printf(&list, "%s%sbase%s(l.%s, channel_block, lane)", list.n ? ", " : "", q->name,
                        edges_suffix(c, k), q->operand->array);
        }
        if (type)
            line(c->o, "const cgtp_row<const %s, %s> %s;", type, edges_table(c, k, "x"), text_string(&list));
    }
}

/* ", 8": lanes of an edge, where they are not all of the warp's. */
static const char *of_lanes(const struct printer *c)
{
    return edges_abreast(c) ? arena_printf(c->a, ", %d", edges_lanes(c)) : "";
}

/* The same of rows of items, from the tile's first edge on; in any order of edges, from item 0 on. */
static void item_rows_in(struct printer *c)
{
    const char *first = c->p->walk.orders ? "0" : "first", *kept = c->p->walk.holds ? "true" : "false";
    struct text list = {.arena = c->a};
    const struct place *row = NULL;
    for (int i = 0; i < c->p->places; i++) {
        const struct place *q = &c->p->place[i];
        if (!is_by(q, NULL))
            continue;
        row = q;
        text_printf(&list, "%s%sbase(l.%s, %s, %s, lane)", list.n ? ", " : "", q->name, q->operand->array,
                    first, edges_stride(c, q->operand));
    }
    if (row)
        line(c->o, "const cgtp_lanes_rows<%lld, %s%s> %s;", (long long)row->operand->dim, kept, of_lanes(c),
             text_string(&list));
    for (int i = 0; i < c->p->places; i++)
        for (int k = 0; k < c->p->spreads; k++) {
            const struct place *q = &c->p->place[i];
            if (is_by(q, "w") && edges_first(q, NULL, k) >= 0)
                line(c->o,
                     "const %s *const %sbase%s = cgtp_lanes_weights<%s, %s>(l.%s, %s, %s, channel_block, "
                     "lane);",
                     edges_type(c, q->operand), q->name, edges_suffix(c, k), edges_table(c, k, "w"), kept,
                     q->operand->array, first, edges_stride(c, q->operand));
        }
}

void edges_rows_out(struct printer *c, const struct place *q)
{
    const struct spread *s = &c->p->spread[0];
    const char *member = edges_abreast(c) ? arena_printf(c->a, "lane %% %d", s->lanes) : "lane";
    const char *lane = s->channels > 1 ? arena_printf(c->a, "%s * %d", member, s->channels) : member;
    if (s->blocks > 1)
        lane = arena_printf(c->a, "channel_block * %d + %s", s->lanes * s->channels, lane);
    lane = c->p->spreads > 1 || q->alias >= 0
               ? ""
               : arena_printf(c->a, " + %s", lane); /* otherwise as each path needs it */
    const char *first =
        c->p->walk.orders ? "" : arena_printf(c->a, " + first * %s", edges_stride(c, q->operand));
    line(c->o, "%s *const %sbase = cgtp_opaque_global(l.%s%s%s);", edges_type(c, q->operand), q->name,
         q->operand->array, first, lane);
}

void edges_rows(struct printer *c)
{
    if (!c->p->walk.holds)
        return;
    sender_rows_in(c);
    item_rows_in(c);
    for (int i = 0; i < c->p->steps; i++)
        if (c->p->step[i].kind == STEP_ROW && c->p->place[c->p->step[i].number].table)
            edges_rows_out(c, &c->p->place[c->p->step[i].number]);
}

/* ---- copies ---- */

/* Of whole rows, or of the segments or weights of the lane's channels; of rows that begin anywhere (shifted)
 * whole chunks. */
static void copy_rows(struct printer *c, const struct place *q)
{
    const bool sender = edges_is_of_sender(q), orders = c->p->walk.orders;
    const char *policy = sender ? "keep" : "stream", *number = orders ? "item" : "edge",
               *stride = edges_stride(c, q->operand);
    const long long dim = q->operand->dim;
    if (q->shifted)
        line(c->o, "const cgtp_shifted_row<%s%s> %srow(l.%s, %s, %s, graph.%s, lane);",
             edges_type(c, q->operand), of_lanes(c), q->name, q->operand->array,
             sender   ? "sender"
             : orders ? "item"
                      : "first + edge",
             stride, sender ? "senders" : "items");
    if (!q->table && q->shifted)
        line(c->o, "cgtp_copy_shifted_row<%lld>(to.%s, %srow, lane, %s);", dim, q->name, q->name, policy);
    else if (!q->table)
        line(c->o, "cgtp_copy_lanes_row<%lld%s>(to.%s, %sbase.nth(%s, %s), lane, stream);", dim, of_lanes(c),
             q->name, q->name, number, stride);
    for (int k = 0; k < c->p->spreads && q->table; k++) {
        const int first = edges_first(q, NULL, k);
        if (first < 0)
            continue;
        const char *table = edges_table(c, k, q->table),
                   *base = arena_printf(c->a, "%sbase%s", q->name, edges_suffix(c, k)),
                   *to = sender ? edges_fields(c, q, first, "to") : edges_field(c, q, first, "to");
        if (q->shifted)
            line(c->o, "cgtp_copy_shifted_%s<%s, %lld>(%srow, channel_block, lane, %s%s%s);",
                 sender ? "segments" : "weights", table, dim, q->name, policy, sender ? "" : ", ", to);
        else if (sender)
            line(c->o, "cgtp_copy_segments<%s>(%s.nth(sender, %s), lane, keep%s);", table, base, stride, to);
        else
            line(c->o,
                 "cgtp_copy_lanes_weights<%s>(%s, cgtp_nth_row(%s, %s, %s), channel_block, lane, stream);",
                 table, to, base, number, stride);
    }
}

/* A number that all lanes know of an edge, of each of those side by side: to the stage. */
static void copy_number(struct printer *c, const struct place *q)
{
    const char *what = q->shift_of ? arena_printf(c->a, "%srow.shift", q->shift_of->symbol) : q->name;
    if (edges_abreast(c)) {
        line(c->o, "cgtp_note<%d>(to.%s, %s, lane);", edges_lanes(c), q->name, what);
        return;
    }
    line(c->o, "if (lane == 0)");
    line(c->o, "to.%s = %s;", q->name, what);
}

/* The number of the edge in a list, 32 ahead. */
static const char *numbered(const struct printer *c, const char *list, const char *array)
{
    const char *edge = edges_abreast(c) ? arena_printf(c->a, "turn * %d, lane, side", c->side) : "edge, lane";
    return arena_printf(c->a, "%s.of(graph.%s, first, count, %s)", list, array, edge);
}

/* A function that starts the copies of what comes with the edge's sender, or of all else. */
static void print_load(struct printer *c, const char *name, bool sender)
{
    line(c->o, "auto %s = [&](int %s, stage_%d &to, int lane) {", name, edges_abreast(c) ? "turn" : "edge",
         c->words->label);
    if (edges_abreast(c))
        line(c->o, "const int side = lane / %d, edge = turn * %d + side;", edges_lanes(c), c->side);
    if (!c->p->walk.holds)
        (sender ? sender_rows_in : item_rows_in)(c);
    if (sender)
        line(c->o, "const auto sender = %s;", numbered(c, "senders", "sender"));
    else if (c->p->walk.orders)
        line(c->o, "const int64_t item = %s;", numbered(c, "order", "order"));
    if (edges_abreast(c))
        line(c->o, "if (edge < count) {");
    for (int numbers = 0; numbers < 2; numbers++)
        for (int i = 0; i < c->p->places; i++) {
            const struct place *q = &c->p->place[i];
            if (edges_is_brought(q) && edges_is_of_sender(q) == sender && (q->how == HOW_LOAD) == numbers)
                numbers ? copy_number(c, q) : copy_rows(c, q);
        }
    if (edges_abreast(c))
        line(c->o, "}");
    line(c->o, "};");
}

void edges_loads(struct printer *c)
{
    const bool senders = edges_need_senders(c->p);
    if (c->words->first)
        line(c->o, "/* Starts the copies of an edge of the tile into a stage (see cgtp_ring)%s. */",
             senders ? ": of its own rows, of its sender's" : "");
    print_load(c, senders ? "load_item" : "load", false);
    if (senders)
        print_load(c, "load_sender", true);
}
