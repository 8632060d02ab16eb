/* paired_code.c - paired items: the work of path sets. Sets of a kind have one code, in which `number`
 * says which of them it is; what differs between them are places in rows.
 */
#include "schedule/paired/paired_emit.h"

#include "schedule/item_rows.h"
#include "schedule/path.h"

/* Sets of a kind while their code is written. */
struct kind_writer {
    struct paired_writer *c;
    const struct paired_kind *kind;
    const struct paired_set *set; /* the first of them */
    int path;                     /* of the set's, that is written */
};

static struct arena *arena_of(const struct kind_writer *k)
{
    return k->c->w->arena;
}

/* ---- places ---- */

const char *paired_rows(const struct paired *g)
{
    return g->in_place ? "own.room.rows" : "own.rows";
}

const char *paired_out(const struct paired *g)
{
    return g->in_place ? "own.room.out" : "own.out";
}

/* "name + 64 + number * 192": an offset of each set, from the name on. */
static const char *with_offset(const struct kind_writer *k, const char *name, const int64_t *offset)
{
    struct text out = {.arena = arena_of(k)};
    const int n = k->kind->sets;
    const long long step = n > 1 ? (long long)(offset[1] - offset[0]) : 0;
    bool steady = true;
    for (int i = 2; i < n; i++)
        steady &= offset[i] - offset[i - 1] == step;
    text_puts(&out, name);
    if (!steady) {
        text_puts(&out, " + (");
        for (int i = 0; i < n - 1; i++)
            text_printf(&out, "number == %d ? %lld : ", i, (long long)offset[i]);
        text_printf(&out, "%lld)", (long long)offset[n - 1]);
        return text_string(&out);
    }
    if (offset[0])
        text_printf(&out, " + %lld", (long long)offset[0]);
    if (step)
        text_printf(&out, " + number * %lld", step);
    return text_string(&out);
}

/* Where the thread's channel of part `part` of the sets' segments is, in the operand's row. */
static const char *channel_at(const struct kind_writer *k, const char *row, const struct operand *q, int part)
{
    int64_t *offset = NEW_ARRAY(arena_of(k), int64_t, k->kind->sets);
    const struct operand_block *b = NULL;
    for (int i = 0; i < k->kind->sets; i++) {
        const struct paired_set *s = &k->set[i];
        b = &q->block[s->part[q->slot][part]];
        offset[i] = b->offset + s->first * b->channel;
    }
    return arena_printf(arena_of(k), "%s + %s", with_offset(k, row, offset),
                        scaled(arena_of(k), "u", b->channel));
}

/* Where the weight of the path is, after that of weight 0 of the same channel. */
static const char *weight_after(const struct kind_writer *k, const char *channel, int path)
{
    int64_t *offset = NEW_ARRAY(arena_of(k), int64_t, k->kind->sets);
    for (int i = 0; i < k->kind->sets; i++)
        offset[i] = k->c->w->problem->path[k->set[i].path[path]].weight_offset + k->set[i].first;
    return with_offset(k, channel, offset);
}

/* Where the thread's weight of the path is, in the operand's row. */
static const char *weight_at(const struct kind_writer *k, const char *row, int path)
{
    return arena_printf(arena_of(k), "%s + u", weight_after(k, row, path));
}

/* Are weights where they are by which set it is? Then each has an address of its own, which the compiler
 * would compute once and spill; it is to add to that of weight 0. */
static bool is_moved(const struct kind_writer *k, const struct operand *weights)
{
    return weights->slot == SLOT_W && weights->index == INDEX_SHARED && k->kind->sets > 1;
}

/* The item's row of an input, of a result. */
static const char *input_row(const struct kind_writer *k, const struct operand *q)
{
    return q->index == INDEX_SHARED ? arena_printf(arena_of(k), "l.%s", q->symbol)
           : k->c->g->direct        ? item_rows_row(k->c->w, q)
                             : arena_printf(arena_of(k), "%s.%s[slot]", paired_rows(k->c->g), q->symbol);
}

static bool is_owned(const struct kind_writer *k, const struct operand *q)
{
    return k->c->g->owner != INDEX_ITEM && q->index == k->c->g->owner;
}

static const char *output_row(const struct kind_writer *k, const struct operand *q)
{
    return arena_printf(arena_of(k), "%s.%s[slot]", is_owned(k, q) ? "own.nodes" : paired_out(k->c->g),
                        q->symbol);
}

/* "x_s2": the thread's channel of a part of the set's. */
static const char *registers_of(const struct kind_writer *k, const char *symbol, int part)
{
    return arena_printf(arena_of(k), "%ss%d", symbol, part);
}

static int components_of(const struct kind_writer *k, const struct operand *q, int part)
{
    return q->block[k->set->part[q->slot][part]].components;
}

/* Elements between the components of a channel, of all sets. */
static long long step_of(const struct kind_writer *k, const struct operand *q, int part)
{
    const struct operand_block *b = &q->block[k->set->part[q->slot][part]];
    return block_is_apart(b) ? (long long)b->component : 1;
}

/* ---- paths ---- */

static int part_of(const struct paired_set *s, enum slot slot, int segment)
{
    int i = 0;
    while (s->part[slot][i] != segment)
        i++;
    return i;
}

/* "w_p3": a thread's weight of the path, or its gradient, in a register. */
static const char *weight_of(const struct kind_writer *k, const struct operand *q, int path)
{
    return arena_printf(arena_of(k), "%sp%d", q->symbol, k->set->path[path]);
}

/* What a path's function is passed for an operand. */
static const char *argument(const struct device_path *f, int operand)
{
    const struct kind_writer *k = f->context;
    const struct recipe *r = f->code->recipe;
    const bool input = operand < r->inputs;
    const int i = input ? operand : operand - r->inputs;
    const enum role role = input ? r->input[i].role : r->output[i].role;
    const int source = input ? r->input[i].source : r->output[i].source;
    const int copy = input ? r->input[i].copy : r->output[i].copy;
    const struct paired *g = k->c->g;
    const struct path *p = &k->c->w->problem->path[k->set->path[k->path + copy]];
    const struct operand *q =
        input ? source_input(k->c->w, source) : kernel_output(k->c->w->kernel->kernel, source);
    struct arena *a = arena_of(k);
    if (role == ROLE_A)
        return registers_of(k, q->symbol, part_of(k->set, SLOT_Y, p->y));
    if (role == ROLE_B)
        return registers_of(k, q->symbol, part_of(k->set, SLOT_X, p->x));
    if (role == ROLE_G)
        return registers_of(k, q->symbol, part_of(k->set, SLOT_G, p->z));
    if (g->direct)
        return weight_of(k, q, k->path + copy);
    if (!input)
        return q->index == INDEX_SHARED ? plus_offset(a, arena_printf(a, "%sall", q->symbol),
                                                      (int64_t)(k->path + copy) * paired_threads(g))
                                        : weight_at(k, output_row(k, q), k->path + copy);
    if (paired_keeps(g, source))
        return arena_printf(a, "%sall[%d]", q->symbol, (k->path + copy) * k->set->lanes);
    if (is_moved(k, q))
        return arena_printf(a, "*(%s)", weight_after(k, arena_printf(a, "%sall", q->symbol), k->path + copy));
    return arena_printf(a, "*(%s)", weight_at(k, input_row(k, q), k->path + copy));
}

/* The call of a set that begins with its path number `i`. */
static struct device_path call_of(struct kind_writer *k, struct paired_writer *c, const struct paired_set *s,
                                  int i)
{
    return (struct device_path){.w = c->w,
                                .o = c->o,
                                .path = &c->w->problem->path[s->path[i]],
                                .code = paired_code(c->w->demand, s, i),
                                .matrix = c->w->plan->path[s->path[i]].matrix,
                                .channels = 1,
                                .argument = argument,
                                .context = k};
}

void paired_functions(struct paired_writer *c)
{
    for (int k = 0; k < c->g->kinds; k++) {
        const struct paired_set *s = &c->g->set[c->g->kind[k].first];
        for (int i = 0; i < s->paths; i++) {
            if (!s->together[i])
                continue;
            const struct device_path f = call_of(NULL, c, s, i);
            device_path_function(&f);
        }
    }
}

/* Gradients of weights of nodes are added to zeros. */
static void clear_weights(const struct kind_writer *k)
{
    const struct source *w = k->c->w;
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        const bool node = q->index == INDEX_SENDER || q->index == INDEX_RECEIVER;
        for (int i = 0; i < k->set->together[k->path] && q->slot == SLOT_W && node && !k->c->g->direct; i++)
            if (w->problem->path[k->set->path[k->path + i]].weighted)
                line(k->c->o, "*(%s) %s= %s;", weight_at(k, output_row(k, q), k->path + i),
                     is_owned(k, q) ? "*" : "", is_owned(k, q) ? "!run.first" : "0");
    }
}

/* The paths of a call, of all sets; a path that has several blocks of channels is there once. */
static void comment_paths(struct kind_writer *k)
{
    const struct source *w = k->c->w;
    for (int copy = k->set->together[k->path] - 1; copy >= 0; copy--)
        for (int i = 0; i < k->kind->sets; i++) {
            const struct device_path call = call_of(k, k->c, &k->set[i], k->path);
            const struct path *p = &w->problem->path[k->set[i].path[k->path + copy]];
            if (k->set[i].first)
                continue;
            if (copy)
                line(k->c->o, "/* and %s */", source_path_line(w->arena, w->plan, p));
            else
                device_path_comment(&call);
        }
}

static void emit_paths(struct kind_writer *k)
{
    for (k->path = 0; k->path < k->set->paths; k->path++) {
        if (!k->set->together[k->path])
            continue;
        const struct device_path call = call_of(k, k->c, k->set, k->path);
        clear_weights(k);
        comment_paths(k);
        device_path_call(&call);
    }
}

/* ---- rows to registers, and back ---- */

/* The parts of an operand that are in registers. */
static int parts_of(const struct kind_writer *k, const struct operand *q)
{
    return q->slot == SLOT_W ? 0 : k->set->parts[q->slot];
}

static void declare(const struct kind_writer *k, const struct operand *q, const char *value)
{
    for (int i = 0; i < parts_of(k, q); i++)
        line(k->c->o, "real %s[%d]%s;", registers_of(k, q->symbol, i), components_of(k, q, i), value);
}

static void load_rows(const struct kind_writer *k)
{
    const struct source *w = k->c->w;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct operand *q = source_input(w, i);
        for (int part = 0; part < parts_of(k, q) && demand_reads(w->demand, i); part++)
            line(k->c->o, "cgtp_take_channel<%d, %lld>(%s, %s);", components_of(k, q, part),
                 step_of(k, q, part), registers_of(k, q->symbol, part),
                 channel_at(k, input_row(k, q), q, part));
    }
}

/* Where the sets' weights of all items are, and the thread's sums of their gradients; some paths have any. */
static void name_weights(const struct kind_writer *k)
{
    const struct source *w = k->c->w;
    const struct paired *g = k->c->g;
    bool weighted = false;
    for (int i = 0; i < k->set->paths; i++)
        weighted |= w->problem->path[k->set->path[i]].weighted;
    if (!weighted)
        return;
    int64_t *kept = NEW_ARRAY(w->arena, int64_t, k->kind->sets),
            *sums = NEW_ARRAY(w->arena, int64_t, k->kind->sets);
    for (int i = 0; i < k->kind->sets; i++) {
        kept[i] = paired_weights_before(g, k->kind->first + i);
        sums[i] = paired_sums_before(g, k->kind->first + i);
    }
    for (int i = 0; i < w->form->inputs; i++)
        if (paired_keeps(g, i)) {
            const char *name = source_input(w, i)->symbol;
            line(k->c->o, "const real *const %sall = %s + u;", name,
                 with_offset(k, arena_printf(w->arena, "block.%s", name), kept));
        } else if (is_moved(k, source_input(w, i)) && demand_reads(w->demand, i)) {
            const char *name = source_input(w, i)->symbol;
            line(k->c->o, "const real *const %sall = cgtp_opaque_global(l.%s + u);", name, name);
        }
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        if (q->index == INDEX_SHARED)
            line(k->c->o, "real *const %sall = %s + at;", q->symbol,
                 with_offset(k, arena_printf(w->arena, "own.sums.%s", q->symbol), sums));
    }
}

/* "(5u >> number & 1)": is each set the first that has part `part` of its segments? */
static const char *is_first(const struct kind_writer *k, enum slot slot, int part)
{
    const struct paired *g = k->c->g;
    unsigned bits = 0, all = 0;
    for (int i = 0; i < k->kind->sets; i++) {
        const struct paired_set *s = &k->set[i];
        bool first = true;
        for (const struct paired_set *t = g->set; t < s; t++)
            for (int j = 0; j < t->parts[slot]; j++)
                first &= t->part[slot][j] != s->part[slot][part] || t->first != s->first;
        bits |= (unsigned)first << i;
        all |= 1u << i;
    }
    return bits == all ? "true" : bits == 0 ? "false" : arena_printf(arena_of(k), "%uu >> number & 1", bits);
}

static void store_rows(const struct kind_writer *k)
{
    const struct source *w = k->c->w;
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        for (int part = 0; part < parts_of(k, q); part++)
            line(k->c->o, "cgtp_leave_channel<%d, %lld>(%s, %s, %s);", components_of(k, q, part),
                 step_of(k, q, part), channel_at(k, output_row(k, q), q, part),
                 registers_of(k, q->symbol, part),
                 is_owned(k, q) ? arena_printf(w->arena, "run.first && (%s)", is_first(k, q->slot, part))
                                : is_first(k, q->slot, part));
    }
}

/* ---- a set ---- */

void paired_load_next(struct paired_writer *c)
{
    const bool item = c->g->owner == INDEX_ITEM;
    line(c->o, "if (%s < turns)", item ? "turn + step" : "next");
    line(c->o, "load(%s);", item ? "turn + step" : "next, next_place");
    line(c->o, "cgtp_copies_commit();");
}

/* Which item of the team's, and which channel. */
static void name_channel(const struct kind_writer *k)
{
    const struct paired *g = k->c->g;
    const int lanes = k->set->lanes;
    const char *of = g->owner == INDEX_SENDER ? "true" : "false";
    struct out *o = k->c->o;
    if (paired_looks_ahead(g)) {
        line(o, "constexpr int slot = 0;");
        line(o, "const int u = at;");
        line(o, "const bool mine = u < %d && turn * chunk + place < items;", lanes);
        return;
    }
    if (g->owner != INDEX_ITEM) {
        line(o, "const int slot = at / %d, u = at %% %d;", lanes, lanes);
        line(o, "const int64_t part = turn * %d + slot, position = part * chunk + place;", g->items);
        line(o, "const bool mine = slot < %d && position < items;", g->items);
        line(o,
             "const cgtp_run run = mine ? cgtp_run_of<%s>(l.graph, "
             "cgtp_node_of<%s>(l.graph, cgtp_nth_item<%s>(l.graph, position)), part, place, chunk) : "
             "cgtp_run();",
             of, of, of);
        return;
    }
    if (g->items == 1) {
        line(o, "constexpr int slot = 0;");
        line(o, "const int u = at;");
        if (lanes < paired_threads(g))
            line(o, "const bool mine = u < %d;", lanes);
        return;
    }
    line(o, "const int slot = at / %d, u = at %% %d;", lanes, lanes);
    line(o, "const bool mine = slot < %d && first + slot < items;", g->items);
}

static void when_mine(const struct kind_writer *k)
{
    const struct paired *g = k->c->g;
    line(k->c->o,
         g->owner == INDEX_ITEM && g->items == 1 && k->set->lanes == paired_threads(g) ? "{" : "if (mine) {");
}

/* Results of one group after the other. */
static void emit_leave(const struct kind_writer *k)
{
    const struct paired *g = k->c->g;
    if (g->groups > 1) {
        line(k->c->o, "CGTP_LOOP");
        line(k->c->o, "for (int turn = 0; turn < %d; turn++) {", g->groups);
        line(k->c->o, "if (turn == group)");
    }
    when_mine(k);
    store_rows(k);
    line(k->c->o, "}");
    if (g->groups > 1) {
        line(k->c->o, "cgtp_sync_group<%d>();", g->warps);
        line(k->c->o, "}");
    }
}

void paired_set_work(struct paired_writer *c, int kind)
{
    const struct paired *g = c->g;
    const struct paired_kind *of = &g->kind[kind];
    struct kind_writer k = {.c = c, .kind = of, .set = &g->set[of->first]};
    struct source *w = c->w;
    if (of->sets > 1)
        line(c->o, "const int number = set%s;", of->first ? arena_printf(w->arena, " - %d", of->first) : "");
    name_channel(&k);
    name_weights(&k);
    for (int i = 0; i < w->form->inputs; i++)
        if (demand_reads(w->demand, i))
            declare(&k, source_input(w, i), "");
    when_mine(&k);
    load_rows(&k);
    line(c->o, "}");
    for (int o = 0; o < w->demand->outputs; o++)
        declare(&k, demand_operand(w->demand, o), " = {0}");
    if (paired_reads_once(g)) {
        line(c->o, "cgtp_sync_group<%d>(); /* nobody reads the rows any more */", g->warps);
        if (!g->in_place)
            paired_load_next(c);
    }
    when_mine(&k);
    emit_paths(&k);
    line(c->o, "}");
    emit_leave(&k);
}

/* ---- a set in rows where they stand ---- */

static bool is_weighted(const struct kind_writer *k, int path)
{
    return k->c->w->problem->path[k->set->path[path]].weighted;
}

static struct kind_writer direct_writer(struct paired_writer *c)
{
    return (struct kind_writer){.c = c, .kind = c->g->kind, .set = c->g->set};
}

/* The thread's channels of inputs that the node owns, or of others; its weights. */
static void read_rows(const struct kind_writer *k, bool owned)
{
    const struct source *w = k->c->w;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct operand *q = source_input(w, i);
        if (!demand_reads(w->demand, i) || is_owned(k, q) != owned)
            continue;
        for (int part = 0; part < parts_of(k, q); part++)
            line(k->c->o, "cgtp_read_channel<%d, %lld>(%s, %s);", components_of(k, q, part),
                 step_of(k, q, part), registers_of(k, q->symbol, part),
                 channel_at(k, input_row(k, q), q, part));
        for (int path = 0; path < k->set->paths && q->slot == SLOT_W; path++)
            if (is_weighted(k, path))
                line(k->c->o, "cgtp_read_channel<1, 1>(&%s, %s);", weight_of(k, q, path),
                     weight_at(k, input_row(k, q), path));
    }
}

static void declare_inputs(const struct kind_writer *k, bool owned)
{
    const struct source *w = k->c->w;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct operand *q = source_input(w, i);
        if (!demand_reads(w->demand, i) || is_owned(k, q) != owned)
            continue;
        declare(k, q, "");
        for (int path = 0; path < k->set->paths && q->slot == SLOT_W; path++)
            if (is_weighted(k, path))
                line(k->c->o, "real %s;", weight_of(k, q, path));
    }
}

static void declare_outputs(const struct kind_writer *k, bool owned)
{
    const struct source *w = k->c->w;
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        if (paired_owns(k->c->g, o) != owned)
            continue;
        declare(k, q, " = {0}");
        for (int path = 0; path < k->set->paths && q->slot == SLOT_W; path++)
            if (is_weighted(k, path))
                line(k->c->o, "real %s[1] = {0};", weight_of(k, q, path));
    }
}

void paired_direct_kept(struct paired_writer *c)
{
    const struct kind_writer k = direct_writer(c);
    declare_inputs(&k, true);
    declare_outputs(&k, true);
}

/* Results to the row `to` of an output. */
static void write_rows(const struct kind_writer *k, const struct operand *q, const char *to)
{
    for (int part = 0; part < parts_of(k, q); part++)
        line(k->c->o, "cgtp_write_channel<%d, %lld>(%s, %s);", components_of(k, q, part), step_of(k, q, part),
             channel_at(k, to, q, part), registers_of(k, q->symbol, part));
    for (int path = 0; path < k->set->paths && q->slot == SLOT_W; path++)
        if (is_weighted(k, path))
            line(k->c->o, "cgtp_write_channel<1, 1>(%s, %s);", weight_at(k, to, path), weight_of(k, q, path));
}

/* What the run begins with: its node's rows, and sums that are zero. */
static void begin_run(const struct kind_writer *k)
{
    const struct source *w = k->c->w;
    line(k->c->o, "if (run.first) {");
    read_rows(k, true);
    for (int o = 0; o < w->demand->outputs; o++)
        for (int part = 0; part < parts_of(k, demand_operand(w->demand, o)) && paired_owns(k->c->g, o);
             part++)
            line(k->c->o, "cgtp_clear_channel(%s);",
                 registers_of(k, demand_operand(w->demand, o)->symbol, part));
    line(k->c->o, "}");
}

/* What it ends with: the sums leave. */
static void end_run(const struct kind_writer *k)
{
    const struct source *w = k->c->w;
    for (int o = 0; o < w->demand->outputs; o++) {
        const struct operand *q = demand_operand(w->demand, o);
        if (!paired_owns(k->c->g, o))
            continue;
        line(k->c->o, "if (run.last) {");
        line(k->c->o,
             "real *const to = run.partial < 0 ? l.%s + run.node * %s : l.%spartial + run.partial * %lld;",
             q->symbol, source_stride(w, q), q->symbol, source_dim(q));
        write_rows(k, q, "to");
        line(k->c->o, "}");
    }
}

void paired_direct_work(struct paired_writer *c)
{
    struct kind_writer k = direct_writer(c);
    const struct source *w = c->w;
    declare_inputs(&k, false);
    declare_outputs(&k, false);
    read_rows(&k, false);
    begin_run(&k);
    emit_paths(&k);
    for (int o = 0; o < w->demand->outputs; o++)
        if (!paired_owns(c->g, o))
            write_rows(&k, demand_operand(w->demand, o), item_rows_to(w, o));
    end_run(&k);
}
