/* print_cuda.c - a pipeline's kernel for a CUDA compiler: a team of one warp takes tiles of items, of which
 * each lane has one. What is called, declared and waited for is printed as with edges.
 */
#include "pipeline/edges.h"
#include "pipeline/share.h"
#include "pipeline/trace.h"

/* What counts the stages of a ring. */
static const char *counter_of(const struct place *q)
{
    return place_is_in_parts(q) ? "slot" : "turn";
}

/* The stage that a version is in. */
static const char *stage_of(const struct printer *c, int place, int index, int skew)
{
    const struct place *q = &c->p->place[place];
    const char *counter = counter_of(q);
    if (q->stages == 1)
        return "0";
    const int ahead = (skew - c->filling) * q->rate + index - (c->filling ? 0 : c->advanced[q->group]);
    const int d = (ahead % q->stages + q->stages) % q->stages;
    return c->filling       ? arena_printf(c->a, "%d", d)
           : d == 0         ? counter
           : q->stages == 2 ? arena_printf(c->a, "1 - %s", counter)
                            : arena_printf(c->a, "(%s + %d) %% %d", counter, d, q->stages);
}

/* "own.rows[0].x_" */
static const char *version_of(const struct printer *c, int place, int index, int skew)
{
    const struct place *q = &c->p->place[share_leader(c->p, place)];
    const struct group *g = &c->p->group[q->group];
    const char *from = edges_group(c, q);
    if (g->alias && skew == 0 && c->version[q->group] == index)
        from = g->alias;
    else if (g->alias)
        from = arena_printf(c->a, "%s[%s]", from, stage_of(c, place, index, skew));
    return arena_printf(c->a, "%s.%s", from, q->name);
}

/* Do calls of these steps touch the place? */
static bool is_called(const struct pipeline *p, int place, int first, int end)
{
    bool called = false;
    for (int i = first; i < end && !called; i++)
        for (int k = 0; k < p->step[i].accesses && p->step[i].kind == STEP_CALL; k++)
            called |= p->step[i].access[k].place == place;
    return called;
}

/* Is a version of it named by a bracket: of loops those that come one a turn, or for the launch? */
static bool is_named_by(const struct place *q, const struct step *bracket)
{
    return bracket->kind == STEP_BLOCK
               ? place_is_in_parts(q)
               : !place_is_in_parts(q) && (q->clock == bracket->loop || q->clock == LOOP_LAUNCH);
}

/* Names a bracket's versions, and where in them the lane's rows begin. */
static void print_names(struct printer *c, const struct step *s)
{
    const struct pipeline *p = c->p;
    const int at = c->at, end = trace_end(p, at), index = s->kind == STEP_BLOCK ? s->number : 0;
    for (int g = 0; g < p->groups; g++) {
        bool named = false, written = false;
        int place = 0;
        for (int i = 0; i < p->places && p->group[g].alias; i++)
            if (p->place[i].group == g && is_named_by(&p->place[i], s) && is_called(p, i, at, end)) {
                place = i;
                named = true;
                written |= p->place[i].alias >= 0;
            }
        if (!named)
            continue;
        line(c->o, "%s%s_%s &%s = own.%s[%s];", written ? "" : "const ", c->words->name, p->group[g].type,
             p->group[g].alias, p->group[g].name, stage_of(c, place, index, 0));
        c->version[g] = index;
    }
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        if (is_named_by(q, s) && is_called(p, i, at, end))
            line(c->o, "%s *const %srow = %s%s;", q->how == HOW_CODE ? "real" : "const real", q->name,
                 version_of(c, i, index, 0), q->who == WHO_RUN ? "[lane]" : "");
    }
}

/* ---- what moves ---- */

/* The unit that is worked on so many turns from here. */
static const char *unit_of(const struct printer *c, const struct place *q, int skew)
{
    return skew > (c->filling ? 1 : 0) ? "next" : c->p->loop[q->clock].name;
}

/* A copy, a store. */
static void print_rows(struct printer *c, const struct step *s)
{
    const struct access *a = &s->access[0];
    const struct place *q = &c->p->place[a->place];
    const struct operand *o = q->operand;
    const char *unit = unit_of(c, q, s->skew), *version = version_of(c, a->place, a->index, s->skew),
               *tile = operand_stride(o) ? arena_printf(c->a, "%d * %s", c->p->items, edges_stride(c, o))
                                         : arena_printf(c->a, "%lld", (long long)o->dim * c->p->items),
               *tiles = arena_printf(c->a, "l.%s + %s * (int64_t)%s", o->array, unit, tile);
    for (const struct field *f = q->field; f < q->field + q->fields; f++) {
        if (f->version >= 0 && f->version != a->index)
            continue;
        const char *row = address_text(c->a, tiles, &(struct address){.offset = f->base}),
                   *shape = arena_printf(c->a, f->at ? "%d, %s, %d" : "%d, %s", f->length,
                                         f->wide > 1 ? "true" : "false", f->at);
        if (s->kind == STEP_COPY)
            line(c->o, "cgtp_copy_tile<%s>(%s, %s, %s, count_of(%s), lane, %s);", shape, version, row,
                 edges_stride(c, o), unit, q->keep ? "keep" : "once");
        else
            line(c->o, "cgtp_put_tile<%s>(%s, %s, %s, count, lane);", shape, row, edges_stride(c, o),
                 version);
    }
}

/* The next version of a ring takes its turn: of several a unit, when copies for one have begun; of one, when
 * the unit is done. */
static void advance(struct printer *c, const struct place *q)
{
    if (q->stages == 1)
        return;
    c->advanced[q->group]++;
    if (q->stages == 2 && !place_is_in_parts(q))
        line(c->o, "turn = 1 - turn;");
    else
        line(c->o, "%s = %s == %d ? 0 : %s + 1;", counter_of(q), counter_of(q), q->stages - 1, counter_of(q));
}

/* Neighbouring copies of one turn, if there is that turn; asked for the present one, too, as compilers then
 * leave addresses where they are used (2 % of a loop's instructions). */
static void print_copies(struct printer *c, const struct step *s)
{
    const struct place *first = &c->p->place[s->access[0].place];
    const struct step *const all = c->p->step;
    line(c->o, "if (%s < tiles) {", unit_of(c, first, s->skew));
    print_rows(c, s);
    while (c->at + 1 < c->p->steps && all[c->at + 1].kind == STEP_COPY && all[c->at + 1].skew == s->skew)
        print_rows(c, &all[++c->at]);
    line(c->o, "}");
    if (place_is_in_parts(first) && !c->filling)
        advance(c, first);
}

/* The steps of a loop that are ahead of it, before its first turn: of one turn, as none is two ahead. */
static void print_fill(struct printer *c, const struct step *fill)
{
    const struct pipeline *p = c->p;
    const int at = c->at, begin = trace_begin(p, fill->loop), end = trace_end(p, begin);
    c->filling = true;
    for (c->at = begin; c->at < end; c->at++) {
        const struct step *s = &p->step[c->at];
        if (s->kind == STEP_COPY && s->skew > 0)
            print_copies(c, s);
        else if (s->kind == STEP_COMMIT && s->skew > 0)
            line(c->o, "cgtp_copies_commit();");
    }
    c->filling = false;
    c->at = at;
}

/* At a turn's end: rings of one version a turn. */
static void end_turn(struct printer *c, int loop)
{
    bool *done = NEW_ARRAY(c->a, bool, c->p->groups + 1);
    for (int i = 0; i < c->p->places; i++) {
        const struct place *q = &c->p->place[i];
        if (!place_is_in_parts(q) && q->clock == loop && !done[q->group])
            advance(c, q);
        done[q->group] = true;
        c->advanced[q->group] = 0;
        c->version[q->group] = -1;
    }
}

/* ---- brackets ---- */

/* Counted loops of one call have no braces. */
static bool is_bare(const struct pipeline *p, int loop)
{
    const int begin = trace_begin(p, loop);
    return p->loop[loop].unroll && trace_end(p, begin) == begin + 2;
}

/* Opens a loop over units, or a counted one, which is a block where it turns once. */
static void print_loop(struct printer *c, const struct step *s)
{
    const struct loop *l = &c->p->loop[s->loop];
    const char *less = l->less ? arena_printf(c->a, " - %s", l->less) : "",
               *step = l->by == 1 ? "++" : arena_printf(c->a, " += %d", l->by);
    const bool once = l->counted && l->end - l->first <= l->by && !l->unroll && !l->less;
    if (!l->unroll && !once)
        line(c->o, "CGTP_LOOP");
    if (once) {
        line(c->o, "{");
        line(c->o, "constexpr int %s = %d;", l->name, l->first);
    } else if (l->counted) {
        line(c->o, "%sfor (int %s = %d; %s < %d%s; %s%s)%s", l->unroll ? "CGTP_UNROLL " : "", l->name,
             l->first, l->name, l->end, less, l->name, step, is_bare(c->p, s->loop) ? "" : " {");
    } else {
        line(c->o, "for (; %s < tiles; %s += step) {", l->name, l->name);
        line(c->o, "const int64_t next = %s + step;", l->name);
        line(c->o, "const int count = count_of(%s);", l->name);
        print_names(c, s);
    }
}

static void print_end(struct printer *c, const struct step *s)
{
    if (s->loop != LOOP_LAUNCH && !c->p->loop[s->loop].counted)
        end_turn(c, s->loop);
    if (s->loop == LOOP_LAUNCH || !is_bare(c->p, s->loop))
        line(c->o, "}");
}

static void print_block(struct printer *c, const struct step *s)
{
    line(c->o, "{");
    if (s->number >= 0)
        print_names(c, s);
}

/* ---- the whole ---- */

static void print_head(struct printer *c)
{
    const struct pipeline *p = c->p;
    const char *name = c->words->name, *items = c->words->items;
    struct out *o = c->o;
    bool policy[2] = {false, false};
    for (int i = 0; i < p->places; i++)
        policy[p->place[i].keep] |= p->place[i].how == HOW_ASYNC;
    line(o,
         "/* %s: a block of %d threads per multiprocessor, with %d bytes of dynamic shared memory: %d warps, "
         "each "
         "with tiles of its own at equal distances. %s */",
         name, share_threads(p, SCOPE_BLOCK), p->of_block.bytes, p->worker.teams, c->words->note);
    line(o, "CGTP_KERNEL(%d, 1) %s(const launch l)", share_threads(p, SCOPE_BLOCK), name);
    line(o, "{");
    line(o, "CGTP_SHARED(shared);");
    line(o, "const int lane = cgtp_lane(), warp = cgtp_uniform(cgtp_warp());");
    line(o, "%s_block &block = *(%s_block *)shared;", name, name);
    line(o, "%s_warp &own = block.warp[warp];", name);
    if (policy[1]) /* lines that parts share are read by each of them */
        line(o, "const cgtp_policy keep = cgtp_policy_keep();");
    if (policy[0])
        line(o, "const cgtp_policy once = cgtp_policy_stream();");
    line(o, "const int64_t tiles = (%s + %d) / %d, step = (int64_t)cgtp_blocks() * %d;", items, p->items - 1,
         p->items, p->worker.teams);
    line(o, "int64_t tile = (int64_t)warp * cgtp_blocks() + cgtp_block();");
    line(o, "auto count_of = [&](int64_t i) {");
    line(o, "return %s - i * %d < %d ? (int)(%s - i * %d) : %d;", items, p->items, p->items, items, p->items,
         p->items);
    line(o, "};");
    bool told[2] = {false, false};
    for (int i = 0; i < p->places; i++)
        if (p->place[i].stages > 1 && !told[place_is_in_parts(&p->place[i])]) {
            told[place_is_in_parts(&p->place[i])] = true;
            line(o, "int %s = 0;", counter_of(&p->place[i]));
        }
}

void pipeline_print_cuda(struct out *o, const struct pipeline *p, const struct print_words *words)
{
    static print_function *const own[STEP_KINDS] = {
        [STEP_LOOP] = print_loop, [STEP_BLOCK] = print_block, [STEP_END] = print_end,
        [STEP_FILL] = print_fill, [STEP_COPY] = print_copies, [STEP_STORE] = print_rows};
    struct printer c = {.o = o, .a = o->text->arena, .p = p, .words = words, .side = 1, .rows = true};
    c.advanced = NEW_ARRAY(c.a, int, p->groups + 1);
    c.version = NEW_ARRAY(c.a, int, p->groups + 1);
    for (int i = 0; i < p->groups; i++)
        c.version[i] = -1;
    print_head(&c);
    edges_steps(&c, own);
    line(o, "}");
    blank(o);
}

void pipeline_print_structs(struct out *o, struct pipeline *p, const char *name)
{
    for (int i = 0; i < p->groups; i++) {
        struct group *g = &p->group[i];
        if (g->type && g->layout.bytes) {
            g->layout.name = arena_printf(p->arena, "%s_%s", name, g->type);
            layout_print(o, &g->layout);
        }
    }
    p->of_team.name = arena_printf(p->arena, "%s_warp", name);
    p->of_block.name = arena_printf(p->arena, "%s_block", name);
    layout_print(o, &p->of_team);
    layout_print(o, &p->of_block);
}
