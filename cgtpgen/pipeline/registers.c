/* registers.c - registers that a thread holds at once: its locals from the step that first touches them to
 * the last that does, and what the codes of paths need meanwhile, executed as they are printed; and what it
 * needs besides.
 */
#include "pipeline/edges.h"
#include "pipeline/trace.h"
#include "plan/live.h"
#include "util/answers.h"

#include <string.h>

enum {
    /* Of an edge, beside values: 10 of the tile (lane, channel block, number, memory of the warp, queue and
     * place in the block of 2, row of partial sums of 2), 9 of the edges (first of 2, count, done, end, node,
     * senders of 3), 3 of the ring, 4 of policies for L2. */
    STATE_LEAST = 26,
    STATE_OF_ORDER = 3,    /* rows of items, which are not those of edges: as senders */
    STATE_OF_SEVERAL = 16, /* where a block goes from set to set and its warps sum: set, first tile, the
                            * group's barrier, broadcast and sums, for this set and the next */
    ADDRESS = 2,           /* where the rows of a tile's edges begin, in an array */
    GAPS = 12,   /* that ptxas leaves: such addresses are held only where there is room for these, too */
    GROUPED = 6, /* of so many one more */
    BEYOND_DOUBLE = 48, /* counted beyond those there are, in float64, with which little is spilled */
    AHEAD = 18,         /* addresses, computed ahead: 6 of outputs of the edge, 12 of copies */
    STATE_OF_ROWS = STATE_LEAST + 2, /* and the address of a receiver's row */
    /* Words that ptxas takes beside sums that carry their rounding errors along, where a lane has two
     * channels: with fewer the kernels of MACE, NequIP and SevenNet spill; of a partial row at a time, then
     */
    CARRY = 32
};

struct counted {
    const struct pipeline *p;
    struct live live;
    int words;  /* of an element */
    int *first; /* [locals]: its values are those from this number on; -1: it takes none, */
    int *begin; /* and the step that declares it; */
    int *since; /* when a call wrote it: what nobody reads of that is not kept; -1: none did */
    int *row; /* [places]: of items that warps take: what codes of a block read there, for all channels alike;
                 -1 */
};

/* Does it say where a lane's numbers are, for codes of the same turn? */
static bool is_place(const struct local *l)
{
    return l->type && strcmp(l->type, "int") == 0;
}

/* What an argument is touches a local, or what a loop is given that begins at step `begin` and was there
 * before it. */
static void touch(struct counted *c, const struct argument *a, int begin)
{
    for (int i = 0; a->of == ARGUMENT_CALL && i < a->call->arguments; i++)
        touch(c, &a->call->argument[i], begin);
    if (a->of != ARGUMENT_LOCAL || c->first[a->number] < 0 || c->begin[a->number] >= begin)
        return;
    if (a->touch == TOUCH_WRITE && begin == c->p->steps)
        c->since[a->number] = c->since[a->number] < 0 ? c->live.step : c->since[a->number];
    else
        live_touch(&c->live, c->first[a->number], c->p->local[a->number].elements);
}

/* Is it read where it is kept in shared memory, each element as it is needed? What comes with an edge is
 * loaded as the code begins. */
static bool is_kept(const struct pipeline *p, const struct argument *a)
{
    return a->of == ARGUMENT_CALL ? is_kept(p, &a->call->argument[0])
                                  : a->of == ARGUMENT_PLACE && p->place[a->number].who == WHO_KEPT;
}

/* What codes of a block read of a row, for all channels alike, is loaded once. */
static int in_row(struct counted *c, const struct argument *a)
{
    const struct place *q = &c->p->place[a->number];
    const struct field *last = &q->field[q->fields - 1];
    if (c->row[a->number] < 0)
        c->row[a->number] = live_values(&c->live, last->at + last->length, c->words);
    return c->row[a->number] + q->field[a->field].at + (int)a->at.offset;
}

/* Where a code finds its operands: those that it is passed, in their order. What it makes of no local is
 * there until it ends. */
static void execute(struct counted *c, const struct call *call)
{
    const struct recipe *r = call->code->recipe;
    const int channels = call->spread < 0 ? 1 : c->p->spread[call->spread].channels;
    struct live_place *place = NEW_ARRAY(c->live.arena, struct live_place, r->inputs + r->outputs + 1);
    for (int i = 0, n = 0; i < r->inputs + r->outputs; i++) {
        place[i] = (struct live_place){-1, 0};
        if (i < r->inputs && !recipe_reads(r, i))
            continue;
        const struct argument *a = &call->argument[n++];
        place[i].stride = a->apart;
        if (a->of == ARGUMENT_LOCAL)
            place[i].first = c->first[a->number] + (int)a->at.offset;
        else if (a->of == ARGUMENT_PLACE && !a->apart && c->p->walk.warps)
            place[i].first = in_row(c, a);
        else if (i >= r->inputs || is_kept(c->p, a))
            place[i].first = live_values(&c->live, channels * a->apart, c->words);
    }
    live_code(&c->live, call->code, channels, c->words, place);
    for (int i = 0; i < c->p->locals; i++)
        if (c->first[i] >= 0 && is_place(&c->p->local[i]))
            live_touch(&c->live, c->first[i], c->p->local[i].elements);
    c->live.step++;
    for (int i = r->inputs, n = call->arguments - r->outputs; i < r->inputs + r->outputs; i++, n++)
        if (call->argument[n].of != ARGUMENT_LOCAL && place[i].first >= 0)
            live_until(&c->live, place[i].first, channels * call->argument[n].apart);
}

static void run_call(struct counted *c, const struct call *call)
{
    if (call->code)
        execute(c, call);
    for (int i = 0; i < call->arguments && !call->code; i++)
        touch(c, &call->argument[i], c->p->steps);
    c->live.step++;
}

/* What a loop works with, and was there before it, is there from its beginning to its end. */
static void touch_outer(struct counted *c, int begin, int end)
{
    for (int i = begin; i < end; i++)
        for (int k = 0; c->p->step[i].call && k < c->p->step[i].call->arguments; k++)
            touch(c, &c->p->step[i].call->argument[k], begin);
    c->live.step++;
}

/* Of a code's operands all that says where they are, of others which locals they are. */
static void ask_argument(struct answers *k, const struct argument *a, bool of_code)
{
    enum { LOCAL = 2 };
    const int arguments = a->of == ARGUMENT_CALL ? a->call->arguments : 0;
    if (of_code) {
        ANSWERS_WORDS(k, (int)a->of, a->number, a->field, a->apart, arguments);
        answers_word(k, a->at.offset);
    } else if (a->of == ARGUMENT_LOCAL) {
        ANSWERS_WORDS(k, a->number, (int)a->touch << 2 | LOCAL);
    }
    for (int i = 0; i < arguments; i++)
        ask_argument(k, &a->call->argument[i], of_code);
}

/* What is alive at once, if it is known: asked for by all that it depends on. */
static const int *known_alive(struct answers *k, const struct pipeline *p)
{
    if (!k)
        return NULL;
    answers_ask(k);
    answers_pointer(k, __func__);
    ANSWERS_WORDS(k, p->size, p->walk.warps, p->locals, p->places);
    for (int i = 0; i < p->locals; i++) {
        const struct local *l = &p->local[i];
        ANSWERS_WORDS(k, l->elements, (int)l->begins, l->type ? 1 + is_place(l) : 0);
    }
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        ANSWERS_WORDS(k, q->fields, q->who == WHO_KEPT);
        for (int f = 0; f < q->fields && p->walk.warps; f++)
            ANSWERS_WORDS(k, q->field[f].at, q->field[f].length);
    }
    for (int i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        ANSWERS_WORDS(k, (int)s->kind, s->loop != LOOP_LAUNCH,
                      s->kind == STEP_LOCAL ? s->number : s->call != NULL);
        if (!s->call)
            continue;
        answers_pointer(k, s->call->code);
        answers_word(k, s->call->spread < 0 ? 1 : p->spread[s->call->spread].channels);
        for (int a = 0; a < s->call->arguments; a++)
            ask_argument(k, &s->call->argument[a], s->call->code);
    }
    return answers_find(k);
}

static void count_alive(struct pipeline *p)
{
    const int *known = known_alive(p->answers, p);
    if (known) {
        p->registers.alive = *known;
        return;
    }
    struct arena *scratch = arena_scratch(p->arena);
    struct counted c = {.p = p, .live = {.arena = scratch}, .words = p->size / 4};
    c.first = NEW_ARRAY(scratch, int, p->locals + 1);
    c.begin = NEW_ARRAY(scratch, int, p->locals + 1);
    c.since = NEW_ARRAY(scratch, int, p->locals + 1);
    c.row = NEW_ARRAY(scratch, int, p->places + 1);
    for (int i = 0; i < p->locals; i++) {
        c.first[i] = c.since[i] = -1;
        c.begin[i] = p->steps;
    }
    for (int i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        const struct local *l = s->kind == STEP_LOCAL ? &p->local[s->number] : NULL;
        if (l) {
            const bool held = l->begins == LOCAL_ANY || l->begins == LOCAL_ZERO;
            const int words = !l->type ? c.words : is_place(l) ? 1 : 2 * c.words; /* of a wider type */
            c.first[s->number] = held ? live_values(&c.live, l->elements, words) : -1;
            c.begin[s->number] = i;
        }
        if (s->call)
            run_call(&c, s->call);
        if (s->kind == STEP_BLOCK)
            memset(c.row, -1, (size_t)p->places * sizeof *c.row);
        if (s->kind == STEP_LOOP)
            touch_outer(&c, i, trace_end(p, i));
        if (s->kind == STEP_END && s->loop != LOOP_LAUNCH)
            touch_outer(&c, trace_begin(p, s->loop), i);
    }
    for (int i = 0; i < p->locals; i++)
        if (c.since[i] >= 0)
            live_since(&c.live, c.first[i], p->local[i].elements, c.since[i]);
    p->registers.alive = live_most(&c.live);
    arena_empty(scratch);
    if (p->answers)
        answers_add(p->answers,
                    arena_copy(p->answers->arena, &p->registers.alive, sizeof p->registers.alive));
}

/* ---- what it needs besides ---- */

/* Arrays in which rows begin of a place's edges: of segments that have several channel blocks one for each
 * length of their slices. */
static int arrays_of(const struct pipeline *p, const struct place *q)
{
    int n = 1;
    for (int i = 1; i < q->fields && q->table && edges_is_of_sender(q) && p->spread[0].blocks > 1; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= q->field[k].runs * q->field[k].length == q->field[i].runs * q->field[i].length;
        n += !again;
    }
    return n;
}

static int arrays(const struct pipeline *p)
{
    int n = 0;
    for (int i = 0; i < p->places; i++)
        n += edges_is_brought(&p->place[i]) && p->place[i].operand ? arrays_of(p, &p->place[i]) : 0;
    for (int i = 0; i < p->steps; i++)
        n += p->step[i].kind == STEP_ROW && p->place[p->step[i].number].table;
    return n;
}

/* Words of a row of sums that other warps have had parts of. */
static int handed_over(const struct pipeline *p)
{
    int words = 0;
    for (int i = 0; i < p->steps; i++)
        for (int k = 0; p->step[i].kind == STEP_HAND_OVER && k < p->step[i].call->arguments; k++) {
            const struct call *sums = p->step[i].call->argument[k].call;
            words += p->local[sums->argument[0].number].elements * p->size / 4;
        }
    return words;
}

/* Of items that warps take in turn: beside values 7 of the channel block that is worked on and 7 of the one
 * that is loaded (item, distance to the next, block, rows), 6 of turns and ring, 6 of lane, policy and
 * addresses; for several paths, addresses of several segments, and loads of the paths that follow. Some can
 * be computed again for each use. */
static void count_items(struct pipeline *p, int most)
{
    enum { STATE = 26, STATE_OF_SEVERAL_PATHS = 18, AGAIN = 8 };
    int paths = 0;
    for (int i = 0; i < p->steps; i++)
        paths += p->step[i].call && p->step[i].call->code;
    const int all = p->registers.alive + STATE + (paths > 1 ? STATE_OF_SEVERAL_PATHS : 0);
    p->registers.least = all - (paths > 1 ? 2 * AGAIN : AGAIN);
    p->registers.taken = all < most ? all : most;
    p->registers.spills = p->registers.least > most;
}

void pipeline_registers(struct pipeline *p, int most)
{
    const int words = p->size / 4, rows_held = ADDRESS * arrays(p);
    int more = 0, channels = 0;
    bool carries = false;
    struct register_count *r = &p->registers;
    count_alive(p);
    if (p->walk.warps) {
        count_items(p, most);
        return;
    }
    for (int i = 0; i < p->steps; i++)
        carries |= p->step[i].kind == STEP_CALL && strcmp(p->step[i].call->function, "cgtp_carry") == 0;
    for (int i = 0; i < p->spreads; i++)
        channels = p->spread[i].of > 1 || channels > p->spread[i].channels ? channels : p->spread[i].channels;
    more += p->walk.several ? STATE_OF_SEVERAL : 0;
    more += p->walk.orders ? STATE_OF_ORDER : 0;
    more += carries ? CARRY * words * (channels - 1) : 0;
    p->walk.holds = r->alive + STATE_LEAST + more + rows_held + GAPS <= most;
    more += p->walk.holds ? rows_held : 0;
    r->least = r->alive + STATE_LEAST + more;
    /* ptxas takes more where there is more: for loads ahead of their use, and gaps between aligned groups,
     * which pairs of registers do not leave */
    const int edge = r->least + (words == 1 ? r->alive / GROUPED : 0) + AHEAD;
    /* and it loads all of a partial row before it adds any of it; part of it, where beside sums there are
     * rests */
    const int rows = 2 * handed_over(p) + (carries ? CARRY * words : 0) + STATE_OF_ROWS;
    const int all = edge > rows ? edge : rows;
    r->taken = all < most ? all : most;
    r->spills = r->least > most + (words > 1 ? BEYOND_DOUBLE : 0);
}
