/* print_edges.c - pipelines of edges: what a team does with a tile of them, the body of a function; its
 * arguments and the kernel around it are its caller's. Rows come and go by templates of the runtime
 * (cgtp_convolution.h, cgtp_epilogue.h), waits and barriers stand where the pipeline has them.
 */
#include "pipeline/edges.h"
#include "pipeline/share.h"
#include "pipeline/trace.h"

#include <string.h>

static const struct loop *edge_loop(const struct edges *c)
{
    int last = 0;
    for (int i = 0; i < c->p->loop_count; i++)
        last = c->p->loop[i].counted ? last : i;
    return &c->p->loop[last];
}

/* ---- calls ---- */

static const char *call_text(const struct edges *c, const struct call *call, int set);

static const char *argument_text(const struct edges *c, const struct argument *q)
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
static const char *call_text(const struct edges *c, const struct call *call, int set)
{
    struct text numbers = {.arena = c->a}, list = {.arena = c->a};
    for (int i = 0; i < call->numbers; i++)
        text_printf(&numbers, "%s%d", i ? ", " : "", call->number[i]);
    if (call->type)
        text_printf(&numbers, "%s%s", numbers.n ? ", " : "", call->type);
    if (call->spread >= 0 && !call->code) {
        const struct print_words other = {.label = c->words->label + set};
        const struct edges of_set = {.a = c->a, .p = c->p, .words = &other};
        text_printf(&numbers, "%s%s", numbers.n ? ", " : "", edges_table(&of_set, call->spread, call->table));
        text_printf(&numbers, "%s%s", call->scaled ? ", " : "",
                    call->scaled ? edges_table(c, call->spread, call->table) : "");
    }
    for (int i = 0; i < call->arguments; i++)
        text_printf(&list, "%s%s", i ? ", " : "", argument_text(c, &call->argument[i]));
    return numbers.n
               ? arena_printf(c->a, "%s<%s>(%s)", call->function, text_string(&numbers), text_string(&list))
               : arena_printf(c->a, "%s(%s)", call->function, text_string(&list));
}

static void print_call(struct edges *c, const struct call *call)
{
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
static void print_hand_over(struct edges *c, const struct call *call)
{
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

static const char *count(const struct edges *c)
{
    return edges_abreast(c) ? "turns" : "count";
}

static void print_tile(struct edges *c)
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
static void print_channels(struct edges *c)
{
    bool out = false;
    for (int i = 0; i < c->p->places; i++)
        out |= edges_is_gradient(&c->p->place[i]);
    for (int k = 0; k < c->p->spreads && out; k++) {
        const struct spread *s = &c->p->spread[k];
        if (s->of == 1 && s->mul != s->channels * s->lanes * s->blocks)
            line(c->o, "const int channels%s = cgtp_own_channels<set_%d%s>(channel_block, lane);",
                 edges_suffix(c, k), c->words->label, s->name);
    }
}

/* The first copies, as soon as what they need is known: rows of items before those of senders. */
static void print_fill(struct edges *c)
{
    const bool senders = edges_need_senders(c->p);
    int stages = 0;
    for (int i = 0; i < c->p->places && !stages; i++)
        stages = edges_is_brought(&c->p->place[i]) ? c->p->place[i].stages : 0;
    line(c->o, "cgtp_ring<stage_%d, %d> ring(own.ring);", c->words->label, stages);
    line(c->o, "int done = 0; /* edges of the tile */");
    print_channels(c);
    if (edges_abreast(c)) {
        const int lanes = c->p->worker.lanes / c->p->items;
        line(c->o, "/* Each %d lanes have an edge, %d edges a turn. */", lanes, c->p->items);
        line(c->o, "const int side = lane / %d, turns = (count + %d) / %d;", lanes, c->p->items - 1,
             c->p->items);
        line(c->o, "const stage_%d *stage = own.ring;", c->words->label);
    }
    edges_rows(c);
    edges_loads(c);
    edges_stores(c);
    if (senders)
        line(c->o, "ring.begin(%s, load_item);", count(c));
    line(c->o, "tiles.resolve(graph, prologue);");
    line(c->o, "%s node = (%s)prologue.node;", c->words->index, c->words->index);
    line(c->o, "ring.fill(%s, load%s);", count(c), senders ? "_sender" : "");
    line(c->o, "tiles.commit(prologue, number);");
    if (senders)
        line(c->o, "tiles.ask(senders, graph.sender, count, lane);");
    if (c->p->walk.orders)
        line(c->o, "tiles.ask(order, graph.order, count, lane);");
}

/* Edges side by side: of a turn's those of the receiver, `there`, that of the lane number `number` of the
 * tile. */
static void print_turn(struct edges *c)
{
    const int n = c->p->items;
    line(c->o, "for (int next; done < end; done = next) {");
    line(c->o, "const int turn = done / %d, number = turn * %d + side;", n, n);
    line(c->o, "const bool fresh = done == turn * %d;", n);
    line(c->o, "next = turn * %d + %d < end ? turn * %d + %d : end;", n, n, n, n);
    line(c->o, "const bool there = number >= done && number < next;");
    line(c->o, "if (fresh)");
    line(c->o, "stage = &ring.now();");
    line(c->o, "const stage_%d &at = *stage;", c->words->label);
}

static void print_loop(struct edges *c, const struct loop *l)
{
    if (l->outer == LOOP_LAUNCH) {
        print_tile(c);
        return;
    }
    line(c->o, "CGTP_LOOP");
    if (l != edge_loop(c)) {
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
static void print_drain(struct edges *c)
{
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
static void print_constant(struct edges *c, const struct local *l)
{
    struct text list = {.arena = c->a};
    for (int i = 0; i < l->elements && l->begins == LOCAL_TABLE; i++)
        text_printf(&list, "%s%s", i ? ", " : "", address_text(c->a, "", &l->table[i]));
    line(c->o, "const %s %s[%d] = {%s};", list.n ? "int" : "real", l->name, l->elements,
         list.n ? text_string(&list) : "1");
}

/* Neighbouring locals are declared in one line. Returns the last one's number, as all that follow. */
static int print_locals(struct edges *c, int i)
{
    struct text list = {.arena = c->a};
    const struct local *first = &c->p->local[c->p->step[i].number];
    if (first->begins > LOCAL_ZERO) {
        print_constant(c, first);
        return i;
    }
    for (;; i++) {
        const struct local *l = &c->p->local[c->p->step[i].number];
        text_printf(&list, "%s %s[%d]%s", list.n ? "," : "", l->name, l->elements,
                    l->begins == LOCAL_ZERO ? " = {0}" : "");
        const struct step *next = &c->p->step[i + 1];
        if (next->kind != STEP_LOCAL || c->p->local[next->number].type != first->type ||
            c->p->local[next->number].begins > LOCAL_ZERO)
            break;
    }
    line(c->o, "%s%s;", first->type ? first->type : "real", text_string(&list));
    return i;
}

static int print_copies(struct edges *c, int i)
{
    while (c->p->step[i + 1].kind == STEP_COPY)
        i++;
    if (edges_abreast(c))
        line(c->o, "if (fresh)");
    line(c->o, "ring.load_ahead(%s, %s, lane, %s);", edges_abreast(c) ? "turn" : "done", count(c),
         edges_load_names(c));
    return i;
}

/* Names the row of the edge that an output goes to. */
static void print_row(struct edges *c, const struct place *q)
{
    const struct place *item = edges_number(c->p, "item");
    if (!q->table) {
        if (!item || edges_abreast(c))
            line(c->o, "const int64_t edge = %s;",
                 item               ? "there ? at.item[side] : 0"
                 : edges_abreast(c) ? "first + number"
                                    : "first + done");
        return;
    }
    if (!c->p->walk.holds)
        edges_rows_out(c, q);
    line(c->o, "%s *const %sout = cgtp_nth_row(%sbase, %s, %s);", edges_type(c, q->operand), q->name, q->name,
         item               ? edges_of_item(c, "at.item")
         : edges_abreast(c) ? "number"
                            : "done",
         edges_stride(c, q->operand));
}

/* Copies under way are waited for where a turn's begin. */
static void print_wait(struct edges *c, const struct step *s)
{
    if (edges_abreast(c))
        line(c->o, "if (fresh)");
    line(c->o, s->kind == STEP_WAIT ? "cgtp_copies_wait<%d>();" : "cgtp_copies_commit();", s->number);
}

static void print_barrier(struct edges *c, enum scope scope)
{
    const struct worker *w = &c->p->worker;
    scope = scope_of(c->p, scope);
    if (scope == SCOPE_WARP)
        line(c->o, "cgtp_sync_warp();");
    else
        line(c->o, "cgtp_sync_group<%d>();", w->warps * (scope == SCOPE_BLOCK ? w->teams : 1));
}

/* Neighbouring steps that are done in every so many-th turn; stores are in one function. */
static int print_every(struct edges *c, int i)
{
    const int every = c->p->step[i].every;
    bool stored = false;
    line(c->o, "if ((unsigned)done %% %d == %d) {", every, every - 1);
    for (; c->p->step[i].every == every; i++) {
        const struct step *s = &c->p->step[i];
        if (s->kind == STEP_BARRIER)
            print_barrier(c, s->scope);
        else if (s->kind == STEP_CALL)
            print_call(c, s->call);
        else if (!stored)
            line(c->o, "reduce(done - %d, %d);", every - 1, every);
        stored |= s->kind == STEP_STORE;
    }
    line(c->o, "}");
    return i - 1;
}

/* A step; returns the number of the last one that was printed with it. */
int edges_step(struct edges *c, int i)
{
    const struct step *s = &c->p->step[i];
    if (s->every)
        return print_every(c, i);
    switch (s->kind) {
    case STEP_LOOP:
        print_loop(c, &c->p->loop[s->loop]);
        return i;
    case STEP_BLOCK:
        line(c->o, "if (%s) {", s->note);
        return i;
    case STEP_END:
        if (s->loop == LOOP_LAUNCH || c->p->loop[s->loop].outer != LOOP_LAUNCH)
            line(c->o, "}");
        if (c->p->walk.turns && &c->p->loop[s->loop] == edge_loop(c)) {
            line(c->o, "if (!tiles.sums)");
            line(c->o, "continue;");
        }
        return i;
    case STEP_FILL:
        print_fill(c);
        return i;
    case STEP_DRAIN:
        print_drain(c);
        return i;
    case STEP_COPY:
        return print_copies(c, i);
    case STEP_STORE:
        edges_store(c, s);
        return i;
    case STEP_ZERO:
        line(c->o, "cgtp_clear_stages(own.ring, lane); /* which lanes without channels read */");
        return i;
    case STEP_LOCAL:
        return print_locals(c, i);
    case STEP_CALL:
        print_call(c, s->call);
        return i;
    case STEP_NOTE:
        line(c->o, "/* %s */", s->note);
        return i;
    case STEP_ROW:
        print_row(c, &c->p->place[s->number]);
        return i;
    case STEP_HAND_OVER:
        print_hand_over(c, s->call);
        return i;
    case STEP_COMMIT:
    case STEP_WAIT:
        print_wait(c, s);
        return i;
    case STEP_BARRIER:
        print_barrier(c, s->scope);
        return i;
    default: /* templates and the walk have it */
        return i;
    }
}

void pipeline_print_edges(struct out *o, const struct pipeline *p, const struct print_words *words)
{
    struct edges c = {.o = o, .a = o->text->arena, .p = p, .words = words};
    for (int i = 0; i < p->steps; i++)
        i = edges_step(&c, i);
}
