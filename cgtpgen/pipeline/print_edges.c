/* print_edges.c - pipelines of edges: what a team does with a tile of them, the body of a function; its
 * arguments and the kernel around it are its caller's. Rows come and go by templates of the runtime
 * (cgtp_convolution.h, cgtp_epilogue.h), waits and barriers stand where the pipeline has them.
 */
#include "pipeline/edges.h"
#include "pipeline/share.h"
#include "pipeline/trace.h"

#include <string.h>

/* A place of the ring, whose clock is the loop over edges. */
static const struct place *ring_of(const struct printer *c)
{
    const struct place *q = c->p->place;
    while (!edges_is_brought(q))
        q++;
    return q;
}

/* ---- calls ---- */

static const char *call_text(const struct printer *c, const struct call *call, int set);

static const char *argument_text(const struct printer *c, const struct argument *q)
{
    if (q->of == ARGUMENT_CALL)
        return call_text(c, q->call, 0);
    if (q->of == ARGUMENT_NUMBER)
        return q->at.terms ? address_text(c->a, "", &q->at) : arena_printf(c->a, "%d", q->number);
    const char *base = q->of == ARGUMENT_LOCAL ? c->p->local[q->number].name
                                               : edges_version(c, &c->p->place[q->number], q->field);
    return q->element ? arena_printf(c->a, "%s[%s]", base, address_text(c->a, "", &q->at))
                      : address_text(c->a, base, &q->at);
}

/* "f<4, set_0_z>(a, b)"; of set `set` of those that are like the first. */
static const char *call_text(const struct printer *c, const struct call *call, int set)
{
    struct text numbers = {.arena = c->a}, list = {.arena = c->a};
    for (int i = 0; i < call->numbers; i++)
        text_printf(&numbers, "%s%d", i ? ", " : "", call->number[i]);
    if (call->type)
        text_printf(&numbers, "%s%s", numbers.n ? ", " : "", call->type);
    if (call->spread >= 0 && !call->code) {
        text_printf(&numbers, "%sset_%d%s_%s", numbers.n ? ", " : "", c->words->label + set,
                    c->p->spread[call->spread].name, call->table);
        if (call->scaled)
            text_printf(&numbers, ", %s", edges_table(c, call->spread, call->table));
    }
    for (int i = 0; i < call->arguments; i++)
        text_printf(&list, "%s%s", i ? ", " : "", argument_text(c, &call->argument[i]));
    return numbers.n
               ? arena_printf(c->a, "%s<%s>(%s)", call->function, text_string(&numbers), text_string(&list))
               : arena_printf(c->a, "%s(%s)", call->function, text_string(&list));
}

static void print_call(struct printer *c, const struct step *s)
{
    const struct call *call = s->call;
    const int sets = call->likewise ? c->words->alike : 1;
    if (call->note)
        line(c->o, "/* %s */", call->note);
    for (int i = 0; i < sets; i++) {
        if (sets > 1)
            line(c->o, "%s",
                 i == 0          ? "if (which == 0)"
                 : i + 1 == sets ? "else"
                                 : arena_printf(c->a, "else if (which == %d)", i));
        line(c->o, "%s;", call_text(c, call, i));
    }
}

/* What other warps have of the receiver's sums, or this one has for another. */
static void print_hand_over(struct printer *c, const struct step *s)
{
    const struct call *call = s->call;
    const char *name = c->words->name;
    const int blocks = c->p->spread[0].blocks;
    struct text list = {.arena = c->a};
    for (int i = 0; i < call->arguments; i++)
        text_printf(&list, ", %s", argument_text(c, &call->argument[i]));
    line(c->o,
         "if (cgtp_hand_over<%d>(tiles, graph, tile, node, count, {l.flag_%s, l.partial_%s, PARTIAL_%s, "
         "partial_row%s%s}, lane%s))",
         blocks, name, name, name, blocks > 1 ? " + channel_block" : "",
         c->p->walk.teams ? arena_printf(c->a, ", (real *)&own, %s", c->words->step) : "",
         text_string(&list));
    line(c->o, "continue;");
}

/* ---- the tile ---- */

static void print_tile(struct printer *c)
{
    line(c->o, "const auto &graph = l.graph;");
    if (c->p->walk.shares)
        line(c->o, "const cgtp_tile &tile = own.tile;");
    line(c->o, "const int lane = cgtp_pinned_lane();");
    line(c->o, "cgtp_tile_prologue prologue = tiles.begin(graph, number);");
    line(c->o, "const int64_t first = prologue.first;");
    line(c->o, "const int count = prologue.count;");
    if (edges_need_senders(c->p))
        line(c->o, "senders.begin(graph.sender, first, count, lane);");
    if (c->p->walk.orders)
        line(c->o, "order.begin(graph.order, first, count, lane);");
}

/* Channels of the lane, where a block may have fewer than its lanes have room for. */
static void print_channels(struct printer *c)
{
    bool out = false;
    for (int i = 0; i < c->p->places; i++) {
        const struct place *q = &c->p->place[i];
        out |= q->table && q->operand && q->operand->output && q->operand->slot == SLOT_W;
    }
    for (int k = 0; k < c->p->spreads && out; k++) {
        const struct spread *s = &c->p->spread[k];
        if (s->of == 1 && s->mul != s->channels * s->lanes * s->blocks)
            line(c->o, "const int channels%s = cgtp_own_channels<set_%d%s>(channel_block, lane);",
                 edges_suffix(c, k), c->words->label, s->name);
    }
}

/* The first copies, as soon as what they need is known: rows of items before those of senders. */
static void print_fill(struct printer *c, const struct step *s)
{
    (void)s;
    const bool senders = edges_need_senders(c->p);
    line(c->o, "cgtp_ring<stage_%d, %d> ring(own.ring);", c->words->label, ring_of(c)->stages);
    line(c->o, "int done = 0; /* edges of the tile */");
    print_channels(c);
    if (edges_abreast(c)) {
        line(c->o, "/* Each %d lanes have an edge, %d edges a turn. */", edges_lanes(c), c->side);
        line(c->o, "const int side = lane / %d, turns = (count + %d) / %d;", edges_lanes(c), c->side - 1,
             c->side);
        line(c->o, "const stage_%d *stage = own.ring;", c->words->label);
    }
    edges_rows(c);
    edges_loads(c);
    edges_stores(c);
    if (senders)
        line(c->o, "ring.begin(%s, load_item);", c->turns);
    line(c->o, "tiles.resolve(graph, prologue);");
    line(c->o, "%s node = (%s)prologue.node;", c->words->index, c->words->index);
    line(c->o, "ring.fill(%s, load%s);", c->turns, senders ? "_sender" : "");
    line(c->o, "tiles.commit(prologue, number);");
    if (senders)
        line(c->o, "tiles.ask(senders, graph.sender, count, lane);");
    if (c->p->walk.orders)
        line(c->o, "tiles.ask(order, graph.order, count, lane);");
}

/* Edges side by side: of a turn's those of the receiver, `there`, that of the lane number `number` of the
 * tile. */
static void print_turn(struct printer *c)
{
    const int n = c->side;
    line(c->o, "for (int next; done < end; done = next) {");
    line(c->o, "const int turn = done / %d, number = turn * %d + side;", n, n);
    line(c->o, "const bool fresh = done == turn * %d;", n);
    line(c->o, "next = turn * %d + %d < end ? turn * %d + %d : end;", n, n, n, n);
    line(c->o, "const bool there = number >= done && number < next;");
    line(c->o, "if (fresh)");
    line(c->o, "stage = &ring.now();");
    line(c->o, "const stage_%d &at = *stage;", c->words->label);
}

static void print_loop(struct printer *c, const struct step *s)
{
    if (c->p->loop[s->loop].outer == LOOP_LAUNCH) {
        print_tile(c);
        return;
    }
    line(c->o, "CGTP_LOOP");
    if (s->loop != ring_of(c)->clock) {
        line(c->o, "for (; done < count; node++) {");
        line(c->o,
             "const int full = tiles.reach(graph, node, first, done), end = full < count ? full : count;");
    } else if (edges_abreast(c)) {
        print_turn(c);
    } else {
        line(c->o, "for (; done < end; done++) {");
        line(c->o, "const stage_%d &at = ring.now();", c->words->label);
    }
}

/* After the last edge, what is left of it, and of turns that were too few. */
static void print_drain(struct printer *c, const struct step *drain)
{
    (void)drain;
    int every = 0;
    for (int i = 0; i < c->p->steps; i++) {
        const struct step *s = &c->p->step[i];
        if (s->kind == STEP_STORE && s->skew < 0)
            edges_store(c, s);
        if (s->kind == STEP_STORE && s->every)
            every = s->every;
    }
    if (!every)
        return;
    line(c->o, "if ((unsigned)done %% %d)", every);
    line(c->o, "reduce(done - (int)((unsigned)done %% %d), (int)((unsigned)done %% %d));", every, every);
}

/* ---- steps ---- */

/* A constant. */
static void print_constant(struct printer *c, const struct local *l)
{
    struct text list = {.arena = c->a};
    for (int i = 0; i < l->elements && l->begins == LOCAL_TABLE; i++)
        text_printf(&list, "%s%s", i ? ", " : "", address_text(c->a, "", &l->table[i]));
    line(c->o, "const %s %s[%d] = {%s};", list.n ? "int" : "real", l->name, l->elements,
         list.n ? text_string(&list) : "1");
}

/* Neighbouring locals are declared in one line. */
static void print_locals(struct printer *c, const struct step *s)
{
    struct text list = {.arena = c->a};
    const struct local *first = &c->p->local[s->number];
    if (first->begins > LOCAL_ZERO) {
        print_constant(c, first);
        return;
    }
    for (;; c->at++) {
        const struct local *l = &c->p->local[c->p->step[c->at].number];
        text_printf(&list, "%s %s[%d]%s", list.n ? "," : "", l->name, l->elements,
                    l->begins == LOCAL_ZERO ? " = {0}" : "");
        const struct step *next = &c->p->step[c->at + 1];
        if (next->kind != STEP_LOCAL || c->p->local[next->number].type != first->type ||
            c->p->local[next->number].begins > LOCAL_ZERO)
            break;
    }
    line(c->o, "%s%s;", first->type ? first->type : "real", text_string(&list));
}

static void print_copies(struct printer *c, const struct step *s)
{
    for (; s[1].kind == STEP_COPY; s++)
        c->at++;
    if (edges_abreast(c))
        line(c->o, "if (fresh)");
    line(c->o, "ring.load_ahead(%s, %s, lane, %s);", c->turn, c->turns,
         edges_need_senders(c->p) ? "load_sender, load_item" : "load");
}

/* Names the row of the edge that an output goes to. */
static void print_row(struct printer *c, const struct step *s)
{
    const struct place *q = &c->p->place[s->number];
    const struct place *item = edges_item(c->p);
    if (!q->table) {
        if (!item || edges_abreast(c))
            line(c->o, "const int64_t edge = %s%s;", item ? "there ? at.item[side] : 0" : "first + ",
                 item ? "" : c->edge);
        return;
    }
    if (!c->p->walk.holds)
        edges_rows_out(c, q);
    line(c->o, "%s *const %sout = cgtp_nth_row(%sbase, %s, %s);", edges_type(c, q->operand), q->name, q->name,
         item ? edges_of_item(c, "at.item") : c->edge, edges_stride(c, q->operand));
}

/* Copies under way are waited for where a turn's begin. */
static void print_wait(struct printer *c, const struct step *s)
{
    if (edges_abreast(c) && !c->item)
        line(c->o, "if (fresh)");
    line(c->o, s->kind == STEP_WAIT ? "cgtp_copies_wait<%d>();" : "cgtp_copies_commit();", s->number);
}

static void print_barrier(struct printer *c, const struct step *s)
{
    const enum scope scope = scope_of(c->p, s->scope);
    if (scope == SCOPE_WARP)
        line(c->o, "cgtp_sync_warp();");
    else
        line(c->o, "cgtp_sync_group<%d>();", share_threads(c->p, scope) / c->p->worker.lanes);
}

/* Neighbouring steps that are done in every so many-th turn; stores are in one function. */
static void print_every(struct printer *c, const struct step *s)
{
    const int every = s->every;
    bool stored = false;
    line(c->o, "if ((unsigned)done %% %d == %d) {", every, every - 1);
    for (; s->every == every; s++, c->at++) {
        if (s->kind == STEP_BARRIER)
            print_barrier(c, s);
        else if (s->kind == STEP_CALL)
            print_call(c, s);
        else if (!stored)
            line(c->o, "reduce(done - %d, %d);", every - 1, every);
        stored |= s->kind == STEP_STORE;
    }
    line(c->o, "}");
    c->at--;
}

static void print_end(struct printer *c, const struct step *s)
{
    if (c->p->loop[s->loop].outer != LOOP_LAUNCH)
        line(c->o, "}");
    if (c->p->walk.turns && s->loop == ring_of(c)->clock) {
        line(c->o, "if (!tiles.sums)");
        line(c->o, "continue;");
    }
}

static void print_zero(struct printer *c, const struct step *s)
{
    (void)s;
    line(c->o, "cgtp_clear_stages(own.ring, lane); /* which lanes without channels read */");
}

/* A comment, a block's condition. */
static void print_note(struct printer *c, const struct step *s)
{
    line(c->o, s->kind == STEP_NOTE ? "/* %s */" : "if (%s) {", s->note);
}

void edges_steps(struct printer *c, print_function *const own[STEP_KINDS])
{
    static print_function *const of_edges[STEP_KINDS] = {
        [STEP_LOOP] = print_loop,           [STEP_BLOCK] = print_note,  [STEP_END] = print_end,
        [STEP_FILL] = print_fill,           [STEP_DRAIN] = print_drain, [STEP_COPY] = print_copies,
        [STEP_STORE] = edges_store,         [STEP_ZERO] = print_zero,   [STEP_LOCAL] = print_locals,
        [STEP_CALL] = print_call,           [STEP_NOTE] = print_note,   [STEP_ROW] = print_row,
        [STEP_HAND_OVER] = print_hand_over, [STEP_COMMIT] = print_wait, [STEP_WAIT] = print_wait,
        [STEP_BARRIER] = print_barrier}; /* templates and the walk have the others */
    for (c->at = 0; c->at < c->p->steps; c->at++) {
        const struct step *s = &c->p->step[c->at];
        print_function *const print = own && own[s->kind] ? own[s->kind]
                                      : s->every          ? print_every
                                                          : of_edges[s->kind];
        if (own && s->kind == STEP_LAUNCH_WAIT)
            line(c->o, "cgtp_launch_wait();");
        else if (print && !(own && edges_of_launch(c, s)))
            print(c, s);
    }
}

void pipeline_print_edges(struct out *o, const struct pipeline *p, const struct print_words *words)
{
    const bool abreast = p->items > 1;
    struct printer c = {.o = o, .a = o->text->arena, .p = p, .words = words, .side = p->items};
    c.turn = abreast ? "turn" : "done";
    c.turns = abreast ? "turns" : "count";
    c.edge = abreast ? "number" : "done";
    edges_steps(&c, NULL);
}
