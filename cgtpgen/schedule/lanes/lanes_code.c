/* lanes_code.c - matrices in lanes: what warps with channels do. */
#include "schedule/lanes/lanes_emit.h"

#include "schedule/code_print.h"
#include "schedule/nodal/nodal_emit.h"
#include "schedule/path.h"

/* ---- before the first node ---- */

/* Where results of the slot go that lanes keep of what they exchange: the first half of the components in one
 * lane, the last in the other, the middle one in the first. */
static void emit_halves(struct lanes_writer *c, enum slot slot)
{
    const int side = lanes_side(c->g, slot), first = lanes_first_of(c, side), n = lanes_part_of(c, side),
              half = n / 2;
    struct text list = {.arena = c->w->arena};
    for (int k = 0; k < n - half; k++)
        if (k < half)
            text_printf(&list, "%sgroup_%c ? %s : %s", k ? ", " : "", slot == SLOT_X ? 'z' : 'x',
                        lanes_place_of(c, slot, first + n - half + k), lanes_place_of(c, slot, first + k));
        else
            text_printf(&list, "%s%s", k ? ", " : "", lanes_place_of(c, slot, first + k));
    line(c->o, "const int %c_kept[] = {%s};", lanes_letter(slot), text_string(&list));
}

/* The components that the warp reads of the slot's rows: of z where sums are made only its part. */
static int read_first(const struct lanes_writer *c, enum slot slot)
{
    return slot == SLOT_G && c->g->nodal->outers && c->g->splits > 1 ? lanes_first_of(c, c->g->dz) : 0;
}

static int read_part(const struct lanes_writer *c, enum slot slot)
{
    return slot == SLOT_G && c->g->nodal->outers && c->g->splits > 1 ? lanes_part_of(c, c->g->dz)
                                                                     : lanes_side(c->g, slot);
}

/* Where the lane's channel begins in segments that the warp reads, or writes as a whole. */
static void emit_segments(struct lanes_writer *c, enum slot slot, int first, int n)
{
    for (int i = 0, before = 0; i < lanes_segments(c->g, slot); i++) {
        int from;
        if (lanes_clip(c, slot, i, before, first, n, &from) > 0)
            line(c->o, "const int %c%d = %s;", lanes_letter(slot), i, lanes_place(c, slot, i, 0));
        before += lanes_components(c, slot, i);
    }
}

void lanes_begin_split(struct lanes_writer *c)
{
    static const enum slot slots[] = {SLOT_X, SLOT_G};
    const struct demand *d = c->w->demand;
    for (int k = 0; k < 2; k++) {
        const enum slot slot = slots[k];
        const int side = lanes_side(c->g, slot);
        bool joins = false, whole = false;
        for (int o = 0; o < d->outputs; o++) {
            const bool mine = demand_operand(d, o)->slot == slot;
            joins |= mine && lanes_joins(c->g, slot);
            whole |= mine && !lanes_joins(c->g, slot);
        }
        if (demand_inputs_of(d, slot))
            emit_segments(c, slot, read_first(c, slot), read_part(c, slot));
        else if (whole)
            emit_segments(c, slot, lanes_first_of(c, side), lanes_part_of(c, side));
        if (joins)
            emit_halves(c, slot);
    }
}

/* Where the lane's segments of y are in a node's row. */
static void emit_y_places(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    const struct operand *q = lanes_operand(c, SLOT_Y);
    const char *channel = lanes_parts(g) > 1
                              ? arena_printf(c->w->arena, "(part * %d + channel)", lanes_channels(g))
                              : "channel";
    for (int s = 0; s < g->ys; s++) {
        int offset[LANES_ALIKE_MOST];
        for (int k = 0; k < lanes_alike(g); k++)
            offset[k] = (int)q->block[g->y[s].segment[k]].offset;
        line(c->o, "const int y%d = %s;", s,
             lanes_offset(c, scaled(c->w->arena, channel, q->block[g->y[s].segment[0]].channel), offset));
    }
}

/* Copies of what the lane has of a node's rows of y, which it alone reads. */
static void emit_fetch(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    line(c->o, "auto fetch = [&](int64_t of, int turn_of_y) {");
    line(c->o, "if (of < nodes) {");
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        for (int s = 0; s < g->ys && q->slot == SLOT_Y && demand_reads(c->w->demand, i); s++)
            line(c->o, "cgtp_lanes_fetch<%d, %lld>(block.%s[turn_of_y] + %d, l.%s + of * %s + y%d, thread);",
                 g->y[s].components, (long long)q->block[g->y[s].segment[0]].component, q->symbol,
                 g->y[s].before, q->symbol, source_stride(c->w, q), s);
    }
    line(c->o, "}");
    line(c->o, "cgtp_copies_commit();");
    line(c->o, "};");
    line(c->o, "fetch(node, 0);");
}

void lanes_begin_channels(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    const int warps = g->warps / g->splits;
    const char *warp = g->splits == 1 ? "warp" : arena_printf(c->w->arena, "(warp %% %d)", warps);
    if (g->splits > 1)
        line(c->o, "const int split = %s;", divided(c->w->arena, "warp", warps));
    line(c->o, "const int channel = %scgtp_lane()%s;",
         warps > 1 ? arena_printf(c->w->arena, "%s * %d + ", warp, g->lanes) : "",
         lanes_alike(g) > 1 ? arena_printf(c->w->arena, " %% %d", g->lanes) : "");
    if (lanes_alike(g) > 1)
        line(c->o, "const int number = cgtp_lane() / %d;", g->lanes);
    if (g->rows > 1)
        line(c->o, "const int group_x = %s;", divided(c->w->arena, "number", g->columns));
    if (g->columns > 1)
        line(c->o, "const int group_z = %s;", g->rows > 1 ? "number % 2" : "number");
    emit_y_places(c);
    if (demand_inputs_of(c->w->demand, SLOT_Y))
        emit_fetch(c);
    line(c->o, "auto items_of = [&](int64_t of) {");
    line(c->o,
         "const cgtp_positions at = of < nodes ? cgtp_positions_of<%s>(l.graph, of) : "
         "cgtp_positions{0, 0};",
         g->nodal->owner == INDEX_SENDER ? "true" : "false");
    line(c->o, "return (int)(at.end - at.first);");
    line(c->o, "};");
    line(c->o, "int next = items_of(node)%s;",
         !g->copiers && demand_inputs_of(c->w->demand, SLOT_Y) ? ", before = 0" : "");
}

/* ---- a node: before its items, and after them ---- */

/* Cell of job j that lane number k has. */
static const struct nodal_cell *cell_of(const struct lanes_writer *c, int j, int k)
{
    return &c->g->nodal->cell[c->g->nodal->job[j].cell[k]];
}

static const struct path *path_of(const struct lanes_writer *c, int j, int i, int k)
{
    return &c->w->problem->path[cell_of(c, j, k)->path[i]];
}

static int l_of(const struct lanes_writer *c, enum slot slot, int segment)
{
    return (slot == SLOT_X ? &c->w->problem->x : &c->w->problem->z)->segment[segment].ir.l;
}

/* Components of a lane before the segment, which is of its first group. */
static int before_segment(const struct lanes_writer *c, enum slot slot, int segment)
{
    int n = 0;
    for (int i = 0; lanes_segment(c->g, slot, 0, i) != segment; i++)
        n += lanes_components(c, slot, i);
    return n;
}

/* Where the cells of a job are in an array of components of x and of z from the first ones on, as template
 * arguments: the row and the column where they begin, their rows and columns. */
static const char *cell_arguments(const struct lanes_writer *c, int j, int first_x, int first_z)
{
    const struct nodal_cell *cell = cell_of(c, j, 0);
    return arena_printf(c->w->arena, "%d, %d, %d, %d", before_segment(c, SLOT_X, cell->x) - first_x,
                        before_segment(c, SLOT_G, cell->z) - first_z, 2 * l_of(c, SLOT_X, cell->x) + 1,
                        2 * l_of(c, SLOT_G, cell->z) + 1);
}

/* Has the warp some of the job's cells, where it has a part of the slot's components? */
static bool has_some(const struct lanes_writer *c, int j, enum slot slot)
{
    const struct nodal_cell *cell = cell_of(c, j, 0);
    const int segment = slot == SLOT_X ? cell->x : cell->z, side = lanes_side(c->g, slot);
    const int before = before_segment(c, slot, segment), first = lanes_first_of(c, side);
    return before < first + lanes_part_of(c, side) && before + 2 * l_of(c, slot, segment) + 1 > first;
}

static int cell_elements(const struct lanes_writer *c, int j)
{
    const struct nodal_cell *cell = cell_of(c, j, 0);
    return (2 * l_of(c, SLOT_X, cell->x) + 1) * (2 * l_of(c, SLOT_G, cell->z) + 1);
}

/* The lane's weight of the job's path number i in an array of all weights. */
static const char *w_at(const struct lanes_writer *c, int j, int i, const char *array)
{
    int offset[LANES_ALIKE_MOST];
    for (int k = 0; k < lanes_alike(c->g); k++)
        offset[k] = path_of(c, j, i, k)->number * lanes_channels(c->g);
    return arena_printf(c->w->arena, "block.%s[%s]", array, lanes_offset(c, "channel", offset));
}

/* What the lane has of y that the path reads. */
static const struct lanes_y *y_of(const struct lanes_writer *c, int j, int i)
{
    const struct lanes_y *y = c->g->y;
    for (bool found = false; !found; y += !found) {
        found = true;
        for (int k = 0; k < lanes_alike(c->g); k++)
            found &= y->segment[k] == path_of(c, j, i, k)->y;
    }
    return y;
}

static const char *y_at(const struct lanes_writer *c, int input, const struct lanes_y *y)
{
    return arena_printf(c->w->arena, "&block.%s[turn_of_y][%d][thread]", source_input(c->w, input)->symbol,
                        y->before);
}

static const char *w_of(const struct lanes_writer *c, int j, int i, int input)
{
    return path_of(c, j, i, 0)->weighted ? w_at(c, j, i, source_input(c->w, input)->symbol) : "1";
}

static const char *function_of(struct lanes_writer *c, const struct path *p, bool back)
{
    bool is_new;
    const struct matrix *m = c->w->plan->path[p->number].matrix;
    return product_table_name(
        c->w->functions, m, back,
        arena_printf(c->w->arena, "%s_%d_%d_%d", back ? "fold" : "cells", m->l1, m->l2, m->l3), &is_new);
}

static void begin_cell(struct lanes_writer *c, int j)
{
    const struct nodal_cell *cell = cell_of(c, j, 0);
    line(c->o, "{ /* %s to %s%s */",
         segment_text(c->w->arena, c->g->nodal->mul, c->w->problem->x.segment[cell->x].ir),
         segment_text(c->w->arena, c->g->nodal->mul, c->w->problem->z.segment[cell->z].ir),
         lanes_alike(c->g) > 1 ? arena_printf(c->w->arena, ", and %d alike", lanes_alike(c->g) - 1) : "");
}

/* What a path adds to the cell of a matrix. */
static void emit_path_cell(struct lanes_writer *c, const struct nodal_matrix *m, int j, int i)
{
    const struct nodal *n = c->g->nodal;
    const struct path *p = path_of(c, j, i, 0);
    bool takes = false;
    for (int t = 0; t < m->terms; t++)
        takes |= nodal_takes(n, p, m->term[t].w);
    if (!takes)
        return;
    line(c->o, "{");
    line(c->o, "real v[%d] = {0};", 2 * p->l2 + 1);
    for (int t = 0; t < m->terms; t++)
        if (nodal_takes(n, p, m->term[t].w))
            line(c->o, "cgtp_nodal_scale<%d, %d>(v, %s, %s);", 2 * p->l2 + 1, c->g->warps * NODAL_LANES,
                 y_at(c, m->term[t].y, y_of(c, j, i)), w_of(c, j, i, m->term[t].w));
    line(c->o, "%s(cell, v);", function_of(c, p, false));
    line(c->o, "}");
}

/* The lane's block of a matrix. */
static void emit_matrix(struct lanes_writer *c, int k)
{
    const struct lanes *g = c->g;
    const struct nodal *n = g->nodal;
    bool back = false;
    for (int i = 0; i < n->operands; i++)
        back |= n->operand[i].matrix == k && n->operand[i].back && lanes_turns(g);
    line(c->o, "real matrix%d[%d][%d];", k, back ? lanes_part_of(c, g->dx) : g->dx,
         back ? g->dz : lanes_part_of(c, g->dz));
    for (int j = 0; j < n->jobs; j++) {
        if (!has_some(c, j, back ? SLOT_X : SLOT_G))
            continue;
        begin_cell(c, j);
        line(c->o, "real cell[%d] = {0};", cell_elements(c, j));
        for (int i = 0; i < cell_of(c, j, 0)->paths; i++)
            emit_path_cell(c, &n->matrix[k], j, i);
        line(c->o, "cgtp_lanes_put<%s>(matrix%d, cell);",
             cell_arguments(c, j, back ? lanes_first_of(c, g->dx) : 0, back ? 0 : lanes_first_of(c, g->dz)),
             k);
        line(c->o, "}");
    }
    for (int i = 0; i < n->operands && lanes_turns(c->g); i++)
        if (n->operand[i].matrix == k && lanes_joins(c->g, n->operand[i].back ? SLOT_X : SLOT_G))
            line(c->o, "cgtp_lanes_turn_%s(matrix%d, group_%c);", n->operand[i].back ? "rows" : "columns", k,
                 n->operand[i].back ? 'z' : 'x');
}

/* What flows back from sums number k by the job's path number i. */
static void emit_path_flow(struct lanes_writer *c, int k, int j, int i)
{
    const struct nodal *n = c->g->nodal;
    const struct path *p = path_of(c, j, i, 0);
    const struct lanes_y *y = y_of(c, j, i);
    line(c->o, "{");
    line(c->o, "real v[%d] = {0};", 2 * p->l2 + 1);
    line(c->o, "%s(v, cell);", function_of(c, p, true));
    for (int s = 0; s < n->shares; s++) {
        const struct nodal_share *share = &n->share[s];
        const struct operand *q = demand_operand(c->w->demand, share->output);
        if (share->outer == k && q->slot == SLOT_W && p->weighted)
            line(c->o, "%s += cgtp_nodal_dot<%d, %d>(%s, v);",
                 w_at(c, j, i, arena_printf(c->w->arena, "%ssums[%d]", q->symbol, c->split)), 2 * p->l2 + 1,
                 c->g->warps * NODAL_LANES, y_at(c, share->by, y));
        if (share->outer == k && q->slot == SLOT_Y && nodal_takes(n, p, share->by))
            line(c->o, "cgtp_nodal_scale<%d, 1>(%ssum + %d, v, %s);", 2 * p->l2 + 1, q->symbol, y->before,
                 w_of(c, j, i, share->by));
    }
    line(c->o, "}");
}

/* An output's row of y: what lanes with one segment have, together, by one of them. */
static void emit_y_row(struct lanes_writer *c, const struct operand *q)
{
    const struct lanes *g = c->g;
    const unsigned all = (1u << lanes_alike(g)) - 1;
    for (int s = 0; s < g->ys; s++) {
        const struct lanes_y *y = &g->y[s];
        for (int bit = 1; bit < lanes_alike(g); bit++)
            if (y->bits >> bit & 1 && (y->bits != 15 || bit != 3))
                line(c->o, "cgtp_lanes_add<%d>(%ssum + %d, %d);", y->components, q->symbol, y->before,
                     bit * g->lanes);
        if (y->first != all)
            line(c->o, "if (%u >> number & 1)", y->first);
        line(c->o, "cgtp_lanes_leave<%d, %lld>(l.%s + node * %s + y%d, %ssum + %d);", y->components,
             (long long)q->block[y->segment[0]].component, q->symbol, source_stride(c->w, q), s, q->symbol,
             y->before);
    }
}

bool lanes_meets(const struct lanes_writer *c)
{
    return c->g->splits > 1 && nodal_has(c->g->nodal, SLOT_Y);
}

/* What the splits have of a row of y comes together in the first one's lanes, by two buffers in turn: a node
 * without items has no other barrier. */
static void emit_meeting(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    const struct demand *d = c->w->demand;
    const int threads = g->warps / g->splits * NODAL_LANES;
    for (int o = 0; o < d->outputs && c->split; o++)
        if (demand_operand(d, o)->slot == SLOT_Y)
            line(c->o, "cgtp_lanes_leave<%d, %d>(&block.%ssums[turn_of_y][0][thread], %ssum);", g->dy,
                 g->warps * NODAL_LANES, demand_operand(d, o)->symbol, demand_operand(d, o)->symbol);
    line(c->o, "cgtp_sync_block();");
    for (int o = 0; o < d->outputs && !c->split; o++)
        for (int k = 1; k < g->splits && demand_operand(d, o)->slot == SLOT_Y; k++)
            line(c->o, "cgtp_nodal_scale<%d, %d>(%ssum, &block.%ssums[turn_of_y][0][thread + %d], 1);", g->dy,
                 g->warps * NODAL_LANES, demand_operand(d, o)->symbol, demand_operand(d, o)->symbol,
                 k * threads);
}

static void emit_flow(struct lanes_writer *c)
{
    const struct nodal *n = c->g->nodal;
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs; o++)
        if (demand_operand(d, o)->slot == SLOT_Y)
            line(c->o, "real %ssum[%d] = {0};", demand_operand(d, o)->symbol, c->g->dy);
    for (int k = 0; k < n->outers; k++)
        for (int j = 0; j < n->jobs; j++) {
            if (!cell_of(c, j, 0)->paths || !has_some(c, j, SLOT_G))
                continue;
            begin_cell(c, j);
            line(c->o, "real cell[%d];", cell_elements(c, j));
            line(c->o, "cgtp_lanes_take<%s>(cell, outer%d);",
                 cell_arguments(c, j, 0, lanes_first_of(c, c->g->dz)), k);
            for (int i = 0; i < cell_of(c, j, 0)->paths; i++)
                emit_path_flow(c, k, j, i);
            line(c->o, "}");
        }
    if (lanes_meets(c))
        emit_meeting(c);
    for (int o = 0; o < d->outputs && !c->split; o++)
        if (demand_operand(d, o)->slot == SLOT_Y)
            emit_y_row(c, demand_operand(d, o));
}

/* ---- an item ---- */

/* Components of a lane's rows, from the first one on: from an array of the tile to registers, or back. */
static void emit_components(struct lanes_writer *c, const struct operand *q, int first, int n, bool load,
                            const char *array)
{
    for (int i = 0, before = 0; i < lanes_segments(c->g, q->slot); i++) {
        const struct operand_block *b = &q->block[lanes_segment(c->g, q->slot, 0, i)];
        int from, step = lanes_component_step(c->g, b),
                  some = lanes_clip(c, q->slot, i, before, first, n, &from);
        const char *registers = load ? arena_printf(c->w->arena, "%sof", q->symbol) : "sum";
        const char *row = arena_printf(c->w->arena, "%srow + %c%d", array, lanes_letter(q->slot), i);
        registers = plus_offset(c->w->arena, registers, from - first);
        row = plus_offset(c->w->arena, row, (from - before) * step);
        if (some > 0)
            line(c->o, "cgtp_lanes_%s<%d, %d>(%s, %s);", load ? "load" : "leave", some, step,
                 load ? registers : row, load ? row : registers);
        before += b->components;
    }
}

static void emit_loads(struct lanes_writer *c)
{
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (!lanes_is_copied(c, i))
            continue;
        line(c->o, "real %sof[%d];", q->symbol, read_part(c, q->slot));
        emit_components(c, q, read_first(c, q->slot), read_part(c, q->slot), true, q->symbol);
    }
}

static void emit_output(struct lanes_writer *c, int o)
{
    const struct lanes *g = c->g;
    const struct nodal *n = g->nodal;
    const struct operand *q = demand_operand(c->w->demand, o);
    const int in = g->in_place_of[o], side = lanes_side(g, q->slot);
    const char *to = in < 0 ? q->symbol : source_input(c->w, in)->symbol;
    line(c->o, "{");
    line(c->o, "real sum[%d] = {0};", lanes_part_of(c, side));
    for (int i = 0; i < n->products; i++) {
        const struct nodal_operand *m = &n->operand[n->product[i].operand];
        if (n->product[i].output == o)
            line(c->o, "cgtp_lanes_multiply%s(sum, %sof, matrix%d);", m->back ? "_back" : "",
                 source_input(c->w, n->product[i].from)->symbol, m->matrix);
    }
    if (lanes_joins(g, q->slot)) {
        const char other = q->slot == SLOT_X ? 'z' : 'x';
        line(c->o, "cgtp_lanes_join<%s, %d>(sum, group_%c);", lanes_turns(g) ? "true" : "false",
             q->slot == SLOT_X ? g->lanes : g->lanes * g->columns, other);
        line(c->o, "cgtp_lanes_keep(%srow, sum, %c_kept, group_%c);", to, lanes_letter(q->slot), other);
    } else
        emit_components(c, q, lanes_first_of(c, side), lanes_part_of(c, side), false, to);
    line(c->o, "}");
}

static void emit_items(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    struct text next = {.arena = c->w->arena};
    line(c->o, "auto &rows = block.stage[turn %% %d];", g->stages);
    for (int i = 0; i < g->stage.fields; i++) {
        const struct layout_field *f = &g->stage.field[i];
        if (f->count[1] == 0)
            continue;
        line(c->o, "real *%srow = rows.%s[0];", f->name, f->name);
        text_printf(&next, ", %srow += %d", f->name, f->count[1]);
    }
    line(c->o, "const int n = items - at < %d ? items - at : %d;", g->items, g->items);
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int i = 0; i < n; i++%s) {", text_string(&next));
    emit_loads(c);
    if (lanes_alike(g) > 1 && g->nodal->products && g->splits == 1)
        line(c->o, "cgtp_sync_warp();");
    for (int k = 0; k < g->nodal->outers; k++)
        line(c->o, "cgtp_lanes_outer(outer%d, %sof, %sof);", k,
             source_input(c->w, g->nodal->outer[k].x)->symbol,
             source_input(c->w, g->nodal->outer[k].g)->symbol);
    for (int o = 0; o < c->w->demand->outputs; o++)
        if (demand_operand(c->w->demand, o)->index == INDEX_ITEM)
            emit_output(c, o);
    line(c->o, "}");
}

void lanes_node(struct lanes_writer *c)
{
    const struct lanes *g = c->g;
    line(c->o, "const int items = next;");
    line(c->o, "next = items_of(node + step);");
    if (demand_inputs_of(c->w->demand, SLOT_Y)) {
        if (!g->copiers) { /* tiles that came since may still be under way */
            line(c->o, "if (before > %d)", (g->stages - 2) * g->items);
            line(c->o, "cgtp_copies_wait<%d>();", g->stages - 1);
            line(c->o, "else");
        }
        line(c->o, "cgtp_copies_wait<0>();");
        line(c->o, "fetch(node + step, turn_of_y ^ 1);");
        if (!g->copiers)
            line(c->o, "before = items;");
    }
    for (int k = 0; k < g->nodal->matrices; k++)
        emit_matrix(c, k);
    for (int k = 0; k < g->nodal->outers; k++)
        line(c->o, "real outer%d[%d][%d] = {};", k, g->dx, lanes_part_of(c, g->dz));
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int at = 0; at < items; at += %d, turn++) {", g->items);
    if (g->copiers)
        line(c->o, "cgtp_sync_block();");
    else
        lanes_turn(c);
    emit_items(c);
    line(c->o, "}");
    emit_flow(c);
}
