/* paired_kernel.c - paired items: the kernel, and its launch. */
#include "schedule/paired/paired_emit.h"

#include "schedule/item_rows.h"
#include "schedule/path.h"

const char *paired_blocks(struct arena *a, const struct paired *g)
{
    return g->blocks > 1 ? arena_printf(a, "cgtp_multiprocessors() * %d", g->blocks)
                         : "cgtp_multiprocessors()";
}

/* The length of chunks of items, as a C expression. */
static const char *chunk_of(struct arena *a, const struct paired *g)
{
    if (g->direct) /* partial rows are few, and stay in L2 */
        return arena_printf(a, "cgtp_chunk(graph->items, %d, 2, 16)",
                            g->teams * g->blocks * PAIRED_LANES / g->set->lanes);
    return arena_printf(a, "cgtp_chunk(graph->items, %d)", g->teams * g->blocks * g->items);
}

const char *paired_partial(struct arena *a, const struct paired *g)
{
    return arena_printf(a, "2 * cgtp_chunks(graph->items, %s)", chunk_of(a, g));
}

static int threads_of_team(const struct paired *g)
{
    return g->warps * PAIRED_LANES;
}

static int threads_of_block(const struct paired *g)
{
    return g->teams * threads_of_team(g);
}

static bool has_sums(const struct paired *g)
{
    return g->sums.fields > 0;
}

/* Begins what is done for each item `e` of a team's, and, if asked for, for its run; ends it. */
static void begin_items(struct paired_writer *c, bool run)
{
    const struct paired *g = c->g;
    const char *of = g->owner == INDEX_SENDER ? "true" : "false";
    if (g->items == 1 && g->owner == INDEX_ITEM) {
        line(c->o, "const int64_t e = turn;");
        return;
    }
    if (paired_looks_ahead(g)) {
        line(c->o, "if (turn * chunk + place < items) {");
        return;
    }
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int i = 0; i < %d; i++) {", g->items);
    if (g->owner == INDEX_ITEM) {
        line(c->o, "const int64_t e = turn * %d + i;", g->items);
        line(c->o, "if (e < items) {");
    } else {
        line(c->o, "const int64_t part = turn * %d + i, position = part * chunk + place;", g->items);
        line(c->o, "if (position < items) {");
        line(c->o, "const int64_t e = cgtp_nth_item<%s>(l.graph, position);", of);
        if (run)
            line(c->o,
                 "const cgtp_run run = cgtp_run_of<%s>(l.graph, cgtp_node_of<%s>(l.graph, e), part, place, "
                 "chunk);",
                 of, of);
    }
}

static void end_items(struct paired_writer *c)
{
    if (c->g->items == 1 && c->g->owner == INDEX_ITEM)
        return;
    if (!paired_looks_ahead(c->g))
        line(c->o, "}");
    line(c->o, "}");
}

static const char *item_of(const struct paired *g)
{
    return g->items == 1 ? "0" : "i";
}

/* Copies of the rows of item `e`, of inputs that the nodes' owner has or of others. */
static void emit_copies(struct paired_writer *c, bool owned)
{
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (item_rows_copies(c->w, i) && owned == (c->g->owner != INDEX_ITEM && q->index == c->g->owner))
            item_rows_copy(
                c->w, c->o, i,
                arena_printf(c->w->arena, "%s.%s[%s]", paired_rows(c->g), q->symbol, item_of(c->g)),
                threads_of_team(c->g));
    }
}

static bool copies_owned(const struct paired_writer *c)
{
    bool any = false;
    for (int i = 0; i < c->w->form->inputs; i++)
        any |= item_rows_copies(c->w, i) && source_input(c->w, i)->index == c->g->owner;
    return c->g->owner != INDEX_ITEM && any;
}

static void emit_owned_copies(struct paired_writer *c, const char *run)
{
    if (!copies_owned(c))
        return;
    line(c->o, "if (%s.first) { /* otherwise the row is there */", run);
    emit_copies(c, true);
    line(c->o, "}");
}

/* Indices come from far away, and lead to each other: those of an item are asked for while the one before the
 * one before it is worked on. `ask` begins with the next item's number, when the rows of the one before have
 * been asked for, `look` goes on with its node, `settle` with where its run is. */
static void emit_load_ahead(struct paired_writer *c)
{
    const char *of = c->g->owner == INDEX_SENDER ? "true" : "false";
    struct out *o = c->o;
    line(o, "int64_t item = 0, item_ahead = 0, node_ahead = 0, turn_ahead = turn;");
    line(o, "int place_ahead = 0;");
    line(o, "cgtp_run run_loaded = {}, run_ahead = {};");
    line(
        o,
        "auto there = [&](void) { return turn_ahead < turns && turn_ahead * chunk + place_ahead < items; };");
    line(o, "auto ask = [&](void) {");
    line(o, "if (there())");
    line(o, "item_ahead = cgtp_nth_item<%s>(l.graph, turn_ahead * chunk + place_ahead);", of);
    line(o, "};");
    line(o, "auto look = [&](void) {");
    line(o, "if (there())");
    line(o, "node_ahead = cgtp_node_of<%s>(l.graph, item_ahead);", of);
    line(o, "};");
    line(o, "auto settle = [&](void) {");
    line(o, "if (there())");
    line(o, "run_ahead = cgtp_run_of<%s>(l.graph, node_ahead, turn_ahead, place_ahead, chunk);", of);
    line(o, "};");
    line(o, "auto load = [&](int64_t turn, int place) {");
    line(o, "const int64_t e = item_ahead;");
    line(o, "item = e;");
    line(o, "run_loaded = run_ahead;");
    line(o, "if (turn * chunk + place < items) {");
    emit_copies(c, false);
    emit_owned_copies(c, "run_loaded");
    line(o, "}");
    line(o, "place_ahead = place + 1 < chunk ? place + 1 : 0;");
    line(o, "turn_ahead = place_ahead ? turn : turn + step;");
    line(o, "ask();");
    line(o, "};");
}

static void emit_load(struct paired_writer *c)
{
    item_rows_policies(c->w, c->o, INDEX_SHARED);
    if (paired_looks_ahead(c->g)) {
        emit_load_ahead(c);
        return;
    }
    line(c->o, "auto load = [&](int64_t turn%s) {", c->g->owner == INDEX_ITEM ? "" : ", int place");
    begin_items(c, copies_owned(c));
    emit_copies(c, false);
    emit_owned_copies(c, "run");
    end_items(c);
    line(c->o, "};");
}

/* ---- weights of all items ---- */

/* Where the weights of the paths of a kind's sets are: by set and path. Begins a loop over them, by the
 * threads of the block: `row` counts sets and paths, `u` channels. */
static void begin_weights(struct paired_writer *c, const struct paired_kind *kind)
{
    const struct paired_set *s = &c->g->set[kind->first];
    struct text list = {.arena = c->w->arena};
    bool all = true;
    for (int i = 0; i < kind->sets; i++)
        for (int k = 0; k < s->paths; k++) {
            const struct path *p = &c->w->problem->path[s[i].path[k]];
            text_printf(&list, "%s%lld", i || k ? ", " : "",
                        p->weighted ? (long long)p->weight_offset + s[i].first : -1LL);
            all &= p->weighted;
        }
    line(c->o, "{");
    line(c->o, "static constexpr int places[] = {%s};", text_string(&list));
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int i = cgtp_thread(); i < %d; i += %d) {", kind->sets * s->paths * s->lanes,
         threads_of_block(c->g));
    line(c->o, "const int row = i / %d, u = i %% %d, place = places[row];", s->lanes, s->lanes);
    if (!all) {
        line(c->o, "if (place < 0)");
        line(c->o, "continue;");
    }
}

static void end_weights(struct paired_writer *c)
{
    line(c->o, "}");
    line(c->o, "}");
}

/* Brings weights of all items into shared memory. */
static void emit_weights(struct paired_writer *c)
{
    bool any = false;
    for (int in = 0; in < c->w->form->inputs; in++)
        any |= paired_keeps(c->g, in);
    for (int k = 0; k < c->g->kinds && any; k++) {
        begin_weights(c, &c->g->kind[k]);
        for (int in = 0; in < c->w->form->inputs; in++) {
            const char *name = source_input(c->w, in)->symbol;
            if (paired_keeps(c->g, in))
                line(c->o, "block.%s[%s] = l.%s[place + u];", name,
                     plus_offset(c->w->arena, "i", paired_weights_before(c->g, c->g->kind[k].first)), name);
        }
        end_weights(c);
    }
    if (any)
        line(c->o, "cgtp_sync_block();");
}

/* What the block's threads have summed, in the order of teams and items, to the block's row. */
static void emit_parts(struct paired_writer *c)
{
    const struct paired *g = c->g;
    const struct demand *d = c->w->demand;
    bool written = true;
    for (int i = 0; i < c->w->problem->paths; i++)
        written &= !c->w->problem->path[i].weighted || d->variant_of[i] >= 0;
    line(c->o, "cgtp_sync_block();");
    for (int o = 0; o < d->outputs; o++) {
        const struct operand *q = demand_operand(d, o);
        if (q->index != INDEX_SHARED)
            continue;
        if (!written) {
            line(c->o, "for (int i = cgtp_thread(); i < %lld; i += %d)", source_dim(q), threads_of_block(g));
            line(c->o, "l.%sparts[cgtp_block() * (int64_t)%lld + i] = 0;", q->symbol, source_dim(q));
            line(c->o, "cgtp_sync_block();");
        }
        for (int k = 0; k < g->kinds; k++) {
            const struct paired_set *s = &g->set[g->kind[k].first];
            begin_weights(c, &g->kind[k]);
            line(c->o, "real sum = 0;");
            line(c->o, "CGTP_LOOP");
            line(c->o, "for (int k = 0; k < %d; k++)", g->teams * g->items);
            line(c->o, "sum += block.team[%s].sums.%s[%s%s + u];", divided(c->w->arena, "k", g->items),
                 q->symbol,
                 plus_offset(c->w->arena, arena_printf(c->w->arena, "row * %d", paired_threads(g)),
                             paired_sums_before(g, g->kind[k].first)),
                 g->items > 1 ? arena_printf(c->w->arena, " + k %% %d * %d", g->items, s->lanes) : "");
            line(c->o, "l.%sparts[cgtp_block() * (int64_t)%lld + place + u] = sum;", q->symbol,
                 source_dim(q));
            end_weights(c);
        }
    }
}

/* ---- the loop ---- */

/* The kinds of the group's set. */
static void emit_set(struct paired_writer *c)
{
    const struct paired *g = c->g;
    const bool idle = g->sets % g->groups != 0;
    for (int k = 0; k < g->kinds; k++) {
        const char *words = k ? "} else " : "";
        int end = g->kind[k].first + g->kind[k].sets;
        if (k + 1 < g->kinds || idle)
            line(c->o, "%sif (set < %d) {", words, end);
        else
            line(c->o, "%s{", words);
        paired_set_work(c, k);
    }
    if (idle) {
        line(c->o, "} else {");
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int turn = 0; turn < %d; turn++)", g->groups);
        line(c->o, "cgtp_sync_group<%d>();", g->warps);
    }
    line(c->o, "}");
}

/* Do results leave to rows that the item tells? */
static bool puts_items(const struct paired_writer *c)
{
    bool any = false;
    for (int o = 0; o < c->w->demand->outputs; o++)
        any |= !paired_owns(c->g, o) && demand_operand(c->w->demand, o)->index != INDEX_SHARED;
    return any;
}

/* Results on their way from shared memory. */
static void emit_put(struct paired_writer *c)
{
    struct source *w = c->w;
    if (!c->g->out.fields && !c->g->nodes.fields)
        return;
    bool run = false;
    for (int o = 0; o < w->demand->outputs; o++)
        run |= paired_owns(c->g, o);
    line(c->o, "{");
    begin_items(c, run);
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        if (paired_owns(c->g, o)) {
            line(c->o, "if (run.last)");
            line(c->o,
                 "cgtp_put_row_by<%d>(run.partial < 0 ? l.%s + run.node * %s : l.%spartial + run.partial * "
                 "%lld, own.nodes.%s[%s], thread);",
                 threads_of_team(c->g), q->symbol, source_stride(w, q), q->symbol, source_dim(q), q->symbol,
                 item_of(c->g));
        } else if (q->index != INDEX_SHARED)
            line(c->o, "cgtp_%s_by<%d>(%s, %s.%s[%s], thread);", item_rows_leave(w, o), threads_of_team(c->g),
                 item_rows_to(w, o), paired_out(c->g), q->symbol, item_of(c->g));
    }
    end_items(c);
    line(c->o, "}");
}

static void emit_turn(struct paired_writer *c)
{
    const struct paired *g = c->g;
    const bool ahead = paired_looks_ahead(g);
    if (ahead) {
        if (puts_items(c))
            line(c->o, "const int64_t e = item;");
        line(c->o, "const cgtp_run run = run_loaded;");
    }
    line(c->o, "cgtp_copies_wait<0>();");
    line(c->o, "cgtp_sync_group<%d>();", g->warps);
    if (g->items > 1 && g->owner == INDEX_ITEM)
        line(c->o, "const int64_t first = turn * %d;", g->items);
    if (paired_rounds(g) > 1) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int set = %s; set < %d; set += %d) {", g->groups > 1 ? "group" : "0",
             paired_rounds(g) * g->groups, g->groups);
        emit_set(c);
        line(c->o, "}");
    } else {
        if (g->kinds > 1 || g->sets > 1)
            line(c->o, "const int set = %s;", g->groups > 1 ? "group" : "0");
        emit_set(c);
    }
    const bool early = paired_reads_once(g) && !g->in_place; /* the next rows are under way */
    if (ahead && early)
        line(c->o, "look();");
    if (g->groups == 1)
        line(c->o, "cgtp_sync_group<%d>();", g->warps);
    if (!paired_reads_once(g))
        paired_load_next(c);
    emit_put(c);
    if (g->in_place) {
        line(c->o, "cgtp_sync_group<%d>();", g->warps);
        paired_load_next(c);
    }
    if (ahead && !early)
        line(c->o, "look();");
    if (ahead)
        line(c->o, "settle();");
}

static void emit_begin(struct paired_writer *c)
{
    const struct paired *g = c->g;
    struct out *o = c->o;
    line(o, "CGTP_SHARED(shared);");
    line(o, "%s &block = *(%s *)shared;", g->block->name, g->block->name);
    line(o, "const int team = %s, thread = cgtp_thread() - team * %d;",
         divided(c->w->arena, "cgtp_warp()", g->warps), threads_of_team(g));
    if (g->groups > 1) {
        line(o, "const int group = cgtp_uniform(thread / %d);", paired_threads(g));
        line(o, "const int at = thread %% %d;", paired_threads(g));
    } else {
        line(o, "const int at = thread;");
    }
    line(o, "%s &own = block.team[team];", g->team.name);
    line(o, "const int64_t items = %s;", source_items(c->w));
    if (g->owner != INDEX_ITEM)
        line(o, "const int64_t turns = %s;",
             g->items == 1 ? "(items + chunk - 1) / chunk"
                           : arena_printf(c->w->arena, "((items + chunk - 1) / chunk + %d) / %d",
                                          g->items - 1, g->items));
    else if (g->items > 1)
        line(o, "const int64_t turns = (items + %d) / %d;", g->items - 1, g->items);
    else
        line(o, "const int64_t turns = items;");
    line(o, "const int64_t step = %s;", scaled(c->w->arena, "(int64_t)cgtp_blocks()", g->teams));
    line(o, "int64_t turn = %s + team;", scaled(c->w->arena, "(int64_t)cgtp_block()", g->teams));
    emit_load(c);
    line(o, "cgtp_launch_wait();");
    if (paired_looks_ahead(g)) {
        line(o, "ask();");
        line(o, "look();");
        line(o, "settle();");
    }
    line(o, "if (turn < turns)");
    line(o, g->owner == INDEX_ITEM ? "load(turn);" : "load(turn, 0);");
    line(o, "cgtp_copies_commit();");
    if (paired_looks_ahead(g)) {
        line(o, "look();");
        line(o, "settle();");
    }
    if (g->out.fields && !g->in_place)
        line(o, "cgtp_zero_by<%d>(own.out, thread); /* segments without paths stay so */",
             threads_of_team(g));
    if (g->nodes.fields)
        line(o, "cgtp_zero_by<%d>(own.nodes, thread);", threads_of_team(g));
    if (has_sums(g))
        line(o, "cgtp_zero_by<%d>(own.sums, thread);", threads_of_team(g));
    emit_weights(c);
}

/* Threads that have a channel of a chunk of items each, one item after the other. */
static void emit_direct(struct paired_writer *c)
{
    const struct paired *g = c->g;
    const char *of = g->owner == INDEX_SENDER ? "true" : "false";
    struct out *o = c->o;
    line(o,
         "/* %s: blocks of %d threads, %d per multiprocessor. Each thread takes a channel of a chunk of "
         "items, one "
         "after the other, in rows where they stand. */",
         g->name, threads_of_block(g), g->blocks);
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l, const int chunk)", threads_of_block(g), g->blocks,
         g->name);
    line(o, "{");
    line(o,
         "const int64_t at = cgtp_block() * (int64_t)%d + cgtp_thread(), part = at / %d, items = "
         "l.graph.items;",
         threads_of_block(g), g->set->lanes);
    line(o, "const int u = (int)(at %% %d);", g->set->lanes);
    line(o, "const int64_t end = (part + 1) * chunk < items ? (part + 1) * chunk : items;");
    paired_direct_kept(c);
    line(o, "cgtp_launch_wait();");
    line(o, "int64_t ahead = part * chunk < end ? cgtp_nth_item<%s>(l.graph, part * chunk) : 0;", of);
    line(o, "CGTP_LOOP");
    line(o, "for (int64_t position = part * chunk; position < end; position++) {");
    line(o, "const int64_t e = ahead, node = cgtp_node_of<%s>(l.graph, e);", of);
    line(o, "if (position + 1 < end)");
    line(o, "ahead = cgtp_nth_item<%s>(l.graph, position + 1);", of);
    line(o,
         "const cgtp_run run = cgtp_run_of<%s>(l.graph, node, part, (int)(position - part * chunk), chunk);",
         of);
    paired_direct_work(c);
    line(o, "}");
    line(o, "}");
    blank(o);
}

static void emit_kernel(struct paired_writer *c)
{
    const struct paired *g = c->g;
    struct out *o = c->o;
    line(o,
         "/* %s: blocks of %d threads, %d per multiprocessor, each with %d bytes of dynamic shared memory: "
         "%d teams "
         "of %d warps. Each team takes %s at a time, at equal distances. " SOURCE_WAITS " */",
         g->name, threads_of_block(g), g->blocks, g->block->bytes, g->teams, g->warps,
         plural(c->w->arena, g->items, "item"));
    line(o, "CGTP_KERNEL(%d, %d) %s(const launch l%s)", threads_of_block(g), g->blocks, g->name,
         g->owner == INDEX_ITEM ? "" : ", const int chunk");
    line(o, "{");
    emit_begin(c);
    line(o, "CGTP_LOOP");
    if (g->owner == INDEX_ITEM) {
        line(o, "for (; turn < turns; turn += step) {");
    } else {
        line(o, "for (int place = 0; turn < turns;) {");
        line(o, "const int next_place = place + 1 < chunk ? place + 1 : 0;");
        line(o, "const int64_t next = next_place ? turn : turn + step;");
    }
    emit_turn(c);
    if (g->owner != INDEX_ITEM) {
        line(o, "turn = next;");
        line(o, "place = next_place;");
    }
    line(o, "}");
    if (has_sums(g))
        emit_parts(c);
    line(o, "}");
    blank(o);
}

void paired_kernel(struct source *w)
{
    const struct paired *g = w->schedule->own;
    struct out o = {.text = w->out};
    struct paired_writer c = {.w = w, .o = &o, .g = g};
    if (!g->direct) {
        layout_print(&o, &g->team);
        layout_print(&o, g->block);
    }
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    paired_functions(&c);
    if (g->direct)
        emit_direct(&c);
    else
        emit_kernel(&c);
    item_rows_kernels(w, &o);
}

/* Blocks of the launch, as a C expression. */
static const char *grid_of(struct source *w, const struct paired *g, const char *chunk)
{
    const char *rows = source_rows(w->plan, INDEX_ITEM);
    const char *items = chunk ? arena_printf(w->arena, "cgtp_chunks(%s, %s)", rows, chunk) : rows;
    if (g->direct)
        return arena_printf(w->arena, "(%s * %d + %d) / %d", items, g->set->lanes, threads_of_block(g) - 1,
                            threads_of_block(g));
    const char *turns =
        g->items > 1 ? arena_printf(w->arena, "(%s + %d) / %d", items, g->items - 1, g->items) : items;
    return arena_printf(w->arena, "cgtp_teams_grid(%s, %d, %d)", turns, g->teams, g->blocks);
}

void paired_launch(struct source *w, const struct schedule *schedule)
{
    source_set(w, schedule);
    const struct paired *g = schedule->own;
    const char *chunk = g->owner != INDEX_ITEM ? chunk_of(w->arena, g) : NULL;
    const char *grid = grid_of(w, g, chunk);
    const char *bytes = g->direct ? "0" : arena_printf(w->arena, "sizeof(code::%s)", g->block->name);
    item_rows_clear(w);
    source_step(w,
                arena_printf(w->arena, "cgtp_launch_early(code::%s, %s, %d, %s, stream, l%s)", g->name, grid,
                             threads_of_block(g), bytes, chunk ? arena_printf(w->arena, ", %s", chunk) : ""));
    item_rows_finish(w, grid, chunk);
}
