/* live.c - see live.h. */
#include "plan/live.h"

/* ---- values ---- */

int live_values(struct live *l, int n, int words)
{
    int first = l->values;
    for (int i = 0; i < n; i++) {
        l->value = arena_grow(l->arena, l->value, l->values, &l->capacity, sizeof *l->value);
        l->value[l->values++] = (struct live_value){.first = -1, .last = -1, .words = words};
    }
    return first;
}

void live_touch(struct live *l, int first, int n)
{
    for (struct live_value *v = l->value + first; v < l->value + first + n; v++) {
        v->first = v->first < 0 ? l->step : v->first;
        v->last = l->step;
    }
}

void live_since(struct live *l, int first, int n, int step)
{
    for (struct live_value *v = l->value + first; v < l->value + first + n; v++)
        v->first = v->first < step ? v->first : step;
}

void live_until(struct live *l, int first, int n)
{
    for (struct live_value *v = l->value + first; v < l->value + first + n; v++)
        v->last = v->first < 0 ? -1 : l->step;
}

int live_most(const struct live *l)
{
    int *change = NEW_ARRAY(l->arena, int, l->step + 2), now = 0, most = 0;
    for (const struct live_value *v = l->value; v < l->value + l->values; v++) {
        if (v->first < 0)
            continue;
        change[v->first] += v->words;
        change[v->last > v->first ? v->last : v->first + 1] -= v->words; /* unused: until the next step */
    }
    for (int s = 0; s <= l->step; s++) {
        now += change[s];
        most = most > now ? most : now;
    }
    return most;
}

/* ---- forms ---- */

/* What a form is made of: a value, or a constant (value -1); sign 0: nothing. */
struct form_part {
    int value, sign;
    struct surd constant;
};

struct live_form {
    enum code_op op;
    struct form_part part[3];
    int value;
};

static bool same_form(const struct live_form *f, const struct live_form *g)
{
    bool same = f->op == g->op;
    for (int i = 0; i < 3; i++)
        same &= f->part[i].value == g->part[i].value && f->part[i].sign == g->part[i].sign;
    for (int i = 0; i < 3 && same; i++)
        same &=
            f->part[i].value >= 0 || !f->part[i].sign || surd_equal(f->part[i].constant, g->part[i].constant);
    return same;
}

/* The value of an equal form; -1: there was none, and the next value is its. */
static int known_form(struct live *l, struct live_form f)
{
    const int parts[] = {(int)f.op, f.part[0].value, f.part[1].value, f.part[2].value};
    uint32_t key = hash_bytes(0, parts, sizeof parts);
    for (int i = 0; i < 3; i++)
        key = f.part[i].value < 0 && f.part[i].sign ? key ^ surd_hash(f.part[i].constant) : key;
    for (int i = hash_first(&l->hash, key); i >= 0; i = hash_next(&l->hash, i))
        if (same_form(&l->form[i], &f))
            return l->form[i].value;
    f.value = l->values;
    l->hash.arena = l->arena;
    hash_add(&l->hash, key);
    l->form = arena_grow(l->arena, l->form, l->forms, &l->form_capacity, sizeof f);
    l->form[l->forms++] = f;
    return -1;
}

/* ---- instructions ---- */

struct instruction {
    int used[3], made;       /* values; -1: none */
    int from[3];             /* the instruction of this code that made what it uses; -1: none did */
    int left;                /* uses of what it makes that are still to come */
    int first_use, last_use; /* the list of these; -1: empty */
    bool done;
};

struct use {
    int instruction, next; /* in the list of what one instruction makes; -1: the last */
};

/* A code's instructions in the order in which it is printed. */
struct trace {
    struct live *live;
    int n, uses;
    struct instruction *instruction;
    struct use *use;  /* three of each instruction, at most */
    int looks, *look; /* while it is executed: instructions of whose uses some may be next */
};

/* Room for so many instructions, each of which makes a value. */
static struct trace new_trace(struct live *l, int most)
{
    return (struct trace){.live = l,
                          .instruction = NEW_ARRAY(l->arena, struct instruction, most + 1),
                          .use = NEW_ARRAY(l->arena, struct use, 3 * most + 1),
                          .look = NEW_ARRAY(l->arena, int, 4 * most + 1)};
}

static void add_use(struct trace *t, int maker, int user)
{
    struct instruction *m = &t->instruction[maker];
    t->use[t->uses] = (struct use){user, -1};
    if (m->first_use < 0)
        m->first_use = t->uses;
    else
        t->use[m->last_use].next = t->uses;
    m->last_use = t->uses++;
    m->left++;
}

/* The instruction of this code that made the value; -1: none did. */
static int maker_of(const struct trace *t, int value)
{
    const struct live_value *v = value < 0 ? NULL : &t->live->value[value];
    return v && v->code == t->live->codes ? v->maker : -1;
}

static void add_instruction(struct trace *t, const int used[3], int made)
{
    struct instruction *i = &t->instruction[t->n];
    *i = (struct instruction){.made = made, .first_use = -1};
    for (int k = 0; k < 3; k++) {
        i->used[k] = used[k];
        i->from[k] = maker_of(t, used[k]);
        if (i->from[k] >= 0)
            add_use(t, i->from[k], t->n);
    }
    t->live->value[made].code = t->live->codes;
    t->live->value[made].maker = t->n++;
}

static bool is_ready(const struct trace *t, const struct instruction *i)
{
    for (int k = 0; k < 3; k++)
        if (i->from[k] >= 0 && !t->instruction[i->from[k]].done)
            return false;
    return !i->done;
}

/* Does a value of this code, its used[k], end with the instruction? Told once of each. */
static bool ends(const struct trace *t, const struct instruction *i, int k)
{
    int uses = 0;
    for (int j = 0; j < 3; j++) {
        if (j < k && i->from[j] == i->from[k])
            return false;
        uses += i->from[j] == i->from[k];
    }
    return i->from[k] >= 0 && i->used[k] != i->made && t->instruction[i->from[k]].left == uses;
}

/* Values that begin to live with it, less those that end. */
static int more_alive(const struct trace *t, const struct instruction *i)
{
    bool begins = t->live->value[i->made].first < 0;
    return begins - ends(t, i, 0) - ends(t, i, 1) - ends(t, i, 2);
}

static void execute(struct trace *t, int number)
{
    struct instruction *i = &t->instruction[number];
    i->done = true;
    t->live->step++;
    t->look[t->looks++] = number;
    for (int k = 0; k < 3; k++) {
        if (i->used[k] >= 0)
            live_touch(t->live, i->used[k], 1);
        if (i->from[k] >= 0 && --t->instruction[i->from[k]].left > 0)
            t->look[t->looks++] = i->from[k];
    }
    live_touch(t->live, i->made, 1);
}

/* In the printed order; but what leaves no more alive than there was is done as soon as it can be. */
static void execute_all(struct trace *t)
{
    for (int i = 0; i < t->n; i++) {
        if (!t->instruction[i].done)
            execute(t, i);
        while (t->looks > 0)
            for (int u = t->instruction[t->look[--t->looks]].first_use; u >= 0; u = t->use[u].next) {
                const struct instruction *user = &t->instruction[t->use[u].instruction];
                if (is_ready(t, user) && more_alive(t, user) <= 0)
                    execute(t, t->use[u].instruction);
            }
    }
}

/* ---- code ---- */

/* A code while its instructions are found. */
struct reading {
    struct trace trace;
    const struct code *code;
    const struct live_place *place;
    int words, channel;
    int *value; /* [nodes]: of those that were computed or loaded; -1: not yet */
};

static void compute(struct reading *r, int number, int to);

static int row_value(const struct reading *r, const struct code_node *load)
{
    return r->place[load->a].first + r->channel * r->place[load->a].stride + load->b;
}

/* Is the operand, to be added to, a sum that nobody else needs and that begins with what value `to` holds? */
static bool accumulates(const struct reading *r, int operand, int to)
{
    const struct code_node *n = &r->code->node[code_number(operand)];
    if (n->letter == CODE_KEPT)
        return r->value[code_number(operand)] == to;
    if ((n->op == CODE_ADD || n->op == CODE_FMA) && !n->named)
        return accumulates(r, n->c, to);
    return n->op == CODE_LOAD && r->place[n->a].first >= 0 && row_value(r, n) == to;
}

/* Where a partial sum that is kept stands: where the one that it continues does, or the output's component.
 */
static int kept_in(const struct reading *r, int number)
{
    const struct code_node *n = &r->code->node[number];
    while (n->op == CODE_FMA || n->op == CODE_ADD) {
        const struct code_node *from = &r->code->node[code_number(n->c)];
        if (from->letter == CODE_KEPT)
            return r->value[code_number(n->c)];
        if (from->op == CODE_LOAD)
            return r->place[from->a].first >= 0 ? row_value(r, from) : -1;
        n = from;
    }
    return -1;
}

/* The number of an operand's value, which is computed here if it stands where it is used or is a form that
 * nobody has needed before; -1: a constant, none. */
static int value_of(struct reading *r, int operand)
{
    if (!operand)
        return -1;
    int number = code_number(operand);
    const struct code_node *n = &r->code->node[number];
    if (n->op == CODE_CONSTANT)
        return -1;
    if (n->op == CODE_LOAD && r->place[n->a].first >= 0)
        return row_value(r, n);
    if (n->op != CODE_LOAD && (!n->named || r->value[number] < 0))
        compute(r, number, -1);
    return r->value[number];
}

static struct form_part part_of(const struct reading *r, int operand, int value)
{
    struct form_part p = {.value = value, .sign = operand < 0 ? -1 : operand > 0};
    if (operand && value < 0)
        p.constant = r->code->constant[r->code->node[code_number(operand)].a];
    return p;
}

/* Adds the instruction that computes a node, into value number `to`, or (-1) into a new one. */
static void compute(struct reading *r, int number, int to)
{
    const struct code_node *n = &r->code->node[number];
    const int operand[] = {n->op == CODE_MUL ? 0 : n->c, n->a, n->op == CODE_ADD ? 0 : n->b};
    struct live_form form = {.op = n->op};
    int used[3];
    if (n->letter == CODE_KEPT)
        to = kept_in(r, number);
    bool in_place = to >= 0 && n->op != CODE_MUL && accumulates(r, n->c, to);
    const struct code_node *from = in_place ? &r->code->node[code_number(n->c)] : NULL;
    if (in_place && from->op != CODE_LOAD && from->letter != CODE_KEPT)
        compute(r, code_number(n->c), to);
    used[0] = in_place ? to : value_of(r, operand[0]);
    for (int i = 1; i < 3; i++)
        used[i] = value_of(r, operand[i]);
    if (to < 0 && n->item) {
        for (int i = 0; i < 3; i++)
            form.part[i] = part_of(r, operand[i], used[i]);
        r->value[number] = known_form(r->trace.live, form);
        if (r->value[number] >= 0)
            return;
    }
    if (to < 0)
        to = live_values(r->trace.live, 1, r->words);
    r->value[number] = to;
    add_instruction(&r->trace, used, to);
}

/* Loads what is in no value yet: as the code begins, or as a channel does. */
static void load(struct reading *r, bool by_channel)
{
    static const int nothing[] = {-1, -1, -1};
    for (int i = 0; i < r->code->nodes; i++) {
        const struct code_node *n = &r->code->node[i];
        if (!n->uses || n->op != CODE_LOAD || r->place[n->a].first >= 0 ||
            (r->place[n->a].stride > 0) != by_channel)
            continue;
        r->value[i] = live_values(r->trace.live, 1, r->words);
        add_instruction(&r->trace, nothing, r->value[i]);
    }
}

static void compute_result(struct reading *r, const struct code_result *result)
{
    const struct live_place *p = &r->place[r->code->recipe->inputs + result->output];
    int to = p->first + r->channel * p->stride + result->component, number = code_number(result->value);
    const struct code_node *n = &r->code->node[number];
    if (n->op != CODE_LOAD && n->op != CODE_CONSTANT && !n->named)
        compute(r, number, to);
    else
        add_instruction(&r->trace, (int[]){value_of(r, result->value), -1, -1}, to);
}

void live_code(struct live *l, const struct code *c, int channels, int words, const struct live_place *place)
{
    struct reading r = {.trace = new_trace(l, (c->nodes + c->results) * channels),
                        .code = c,
                        .place = place,
                        .words = words,
                        .value = NEW_ARRAY(l->arena, int, c->nodes + 1)};
    l->codes++;
    for (int i = 0; i < c->nodes; i++)
        r.value[i] = -1;
    load(&r, false);
    for (; r.channel < channels; r.channel++) {
        int result = 0;
        load(&r, true);
        for (int i = 0; i <= c->nodes; i++) {
            for (; result < c->results && (i == c->nodes || c->result[result].before <= i); result++)
                compute_result(&r, &c->result[result]);
            if (i < c->nodes && c->node[i].named && !c->node[i].item)
                compute(&r, i, -1);
        }
    }
    execute_all(&r.trace);
}
