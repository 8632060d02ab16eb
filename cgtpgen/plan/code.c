/* code.c - see code.h: nodes that are made once, and what is counted of them. */
#include "plan/code.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 128 }; /* as many nodes as most codes have; a power of two */

/* Room for so many nodes, and as many lists in their table. */
static struct code *begin(struct arena *a, const struct recipe *recipe, int capacity)
{
    struct code *c = NEW(a, struct code);
    c->arena = a;
    c->recipe = recipe;
    c->capacity = capacity;
    c->node = arena_resize(a, NULL, 0, (size_t)capacity * sizeof *c->node);
    return c;
}

struct code *code_begin(struct arena *a, const struct recipe *recipe)
{
    struct code *c = begin(a, recipe, FIRST_CAPACITY);
    c->table = NEW_ARRAY(a, int, c->capacity);
    return c;
}

/* ---- nodes ---- */

/* The list of nodes that hash alike; factors in either order and of either sign do. */
static int *list_of(const struct code *c, enum code_op op, int a, int b, int to)
{
    unsigned p = (unsigned)abs(a), q = (unsigned)abs(b);
    unsigned hash = (p + q) * 0x9e3779b1u + p * q * 0x85ebca6bu + (unsigned)to * 0xc2b2ae35u + op;
    return &c->table[(hash ^ hash >> 15) & (unsigned)(c->capacity - 1)];
}

static bool same_node(const struct code_node *n, enum code_op op, int a, int b, int to)
{
    if (n->op != op || n->c != to)
        return false;
    if (n->a == a && n->b == b)
        return true;
    bool product = op == CODE_MUL || op == CODE_FMA;
    int sign = n->a < 0 ? -1 : 1; /* the sign of a product stands at its first factor */
    return product && sign * n->a == b && n->b * sign == a;
}

/* The table of all nodes anew. */
static void list_nodes(struct code *c)
{
    c->table = NEW_ARRAY(c->arena, int, c->capacity);
    for (int i = 0; i < c->nodes; i++) {
        struct code_node *n = &c->node[i];
        int *list = list_of(c, n->op, n->a, n->b, n->c);
        n->next = *list;
        *list = i + 1;
    }
}

/* A node at the end, of which only what it computes is set. */
static struct code_node *append(struct code *c, enum code_op op, bool item, int a, int b, int to)
{
    if (c->nodes == c->capacity) {
        size_t bytes = (size_t)c->capacity * sizeof *c->node;
        c->node = arena_resize(c->arena, c->node, bytes, 2 * bytes);
        c->capacity *= 2;
        if (c->table)
            list_nodes(c);
    }
    struct code_node *n = &c->node[c->nodes++];
    *n = (struct code_node){.op = op, .item = item, .a = a, .b = b, .c = to};
    return n;
}

/* The value of a node, new or known. */
static int intern(struct code *c, enum code_op op, bool item, int a, int b, int to)
{
    for (int value = *list_of(c, op, a, b, to); value; value = c->node[value - 1].next)
        if (same_node(&c->node[value - 1], op, a, b, to))
            return value;
    struct code_node *n = append(c, op, item, a, b, to);
    int *list = list_of(c, op, a, b, to);
    n->next = *list;
    return *list = c->nodes;
}

static bool is_item(const struct code *c, int value)
{
    return c->node[code_number(value)].item;
}

static int sign_of(int value)
{
    return value < 0 ? -1 : 1;
}

int code_load(struct code *c, int operand, int component, bool item)
{
    return intern(c, CODE_LOAD, item, operand, component, 0);
}

/* Adds a positive constant that is not there; returns its number. */
static int add_constant(struct code *c, struct surd s)
{
    c->constant = arena_grow(c->arena, c->constant, c->constants, &c->constant_capacity, sizeof s);
    c->constant[c->constants] = s;
    return c->constants++;
}

int code_constant(struct code *c, struct surd s)
{
    int sign = s.sign, i;
    assert(sign);
    s.sign = 1;
    const uint32_t key = surd_hash(s);
    for (i = hash_first(&c->by_value, key); i >= 0; i = hash_next(&c->by_value, i))
        if (surd_equal(c->constant[i], s))
            return sign * intern(c, CODE_CONSTANT, true, i, 0, 0);
    c->by_value.arena = c->arena;
    hash_add(&c->by_value, key);
    int value = intern(c, CODE_CONSTANT, true, add_constant(c, s), 0, 0);
    if (surd_is_one(s))
        c->one = value;
    return sign * value;
}

bool code_is_unit(const struct code *c, int value)
{
    assert(value);
    return abs(value) == c->one;
}

int code_mul(struct code *c, int a, int b)
{
    int sign = sign_of(a) * sign_of(b);
    assert(a && b);
    a *= sign_of(a);
    b *= sign_of(b);
    if (code_is_unit(c, a))
        return sign * b;
    if (code_is_unit(c, b))
        return sign * a;
    bool item = is_item(c, a) && is_item(c, b);
    return sign * intern(c, CODE_MUL, item, a, b, 0);
}

int code_add(struct code *c, int to, int a)
{
    assert(a);
    if (to == 0)
        return a;
    if (to < 0 && a > 0) { /* -p + q = q - p */
        int p = to;
        to = a;
        a = p;
    }
    int sign = sign_of(to);
    bool item = is_item(c, to) && is_item(c, a);
    return sign * intern(c, CODE_ADD, item, a * sign, 0, to * sign);
}

int code_fma(struct code *c, int a, int b, int to)
{
    assert(a && b);
    if (to == 0)
        return code_mul(c, a, b);
    if (code_is_unit(c, a) || code_is_unit(c, b))
        return code_add(c, to, code_mul(c, a, b));
    int sign = sign_of(to), product = sign_of(a) * sign_of(b) * sign;
    bool item = is_item(c, a) && is_item(c, b) && is_item(c, to);
    return sign * intern(c, CODE_FMA, item, a * sign_of(a) * product, b * sign_of(b), to * sign);
}

void code_name(struct code *c, int value, char letter, int number, int component)
{
    struct code_node *n = &c->node[code_number(value)];
    if (n->letter || n->op == CODE_LOAD || n->op == CODE_CONSTANT)
        return;
    n->letter = letter;
    n->number = number;
    n->component = component;
}

void code_result(struct code *c, int output, int component, int value, bool adds)
{
    assert(value);
    c->result = arena_grow(c->arena, c->result, c->results, &c->result_capacity, sizeof *c->result);
    c->result[c->results++] = (struct code_result){output, component, value, adds, c->nodes};
}

/* ---- the end ---- */

static void use(struct code *c, int value)
{
    if (value)
        c->node[code_number(value)].uses++;
}

static void find_uses(struct code *c)
{
    for (int i = 0; i < c->results; i++)
        use(c, c->result[i].value);
    for (int i = c->nodes - 1; i >= 0; i--) {
        const struct code_node *n = &c->node[i];
        if (!n->uses || n->op == CODE_LOAD || n->op == CODE_CONSTANT)
            continue;
        use(c, n->a);
        use(c, n->op == CODE_ADD ? 0 : n->b);
        use(c, n->op == CODE_MUL ? 0 : n->c);
    }
}

static void count(struct code *c)
{
    for (int i = 0; i < c->nodes; i++) {
        const struct code_node *n = &c->node[i];
        struct code_count *to = n->item ? &c->item : &c->channel;
        to->fma += n->uses && n->op == CODE_FMA;
        to->mul += n->uses && n->op == CODE_MUL;
        to->add += n->uses && n->op == CODE_ADD;
    }
    for (int i = 0; i < c->results; i++) {
        c->channel.add += c->result[i].adds;
        c->channel.neg += c->result[i].value < 0;
    }
}

/* While a code is copied: map[n] is the new value of node n. */
struct copy {
    const struct code *from;
    struct code *to;
    int *map;
};

static int mapped(const struct copy *m, int value)
{
    return value ? sign_of(value) * m->map[code_number(value)] : 0;
}

/* Is the value a product or sum that nobody else uses and that can join the chain of the sum it is added to?
 */
static bool joins(const struct code *c, int value, bool item)
{
    const struct code_node *n = &c->node[code_number(value)];
    return n->uses == 1 && n->op != CODE_LOAD && n->op != CODE_CONSTANT && n->letter != CODE_KEPT &&
           n->item == item;
}

/* chain + value */
static int join(const struct copy *m, int chain, int value, bool item)
{
    const struct code_node *n = &m->from->node[code_number(value)];
    int sign = sign_of(value);
    if (!joins(m->from, value, item))
        return code_add(m->to, chain, mapped(m, value));
    if (n->op != CODE_MUL)
        chain = join(m, chain, sign * n->c, item);
    if (n->op == CODE_ADD)
        return join(m, chain, sign * n->a, item);
    return code_fma(m->to, sign * mapped(m, n->a), mapped(m, n->b), chain);
}

/* The node by way of what makes new ones, which finds those that have become equal. */
static int made_again(const struct copy *m, const struct code_node *n)
{
    switch (n->op) {
    case CODE_LOAD:
        return code_load(m->to, n->a, n->b, n->item);
    case CODE_CONSTANT:
        return code_constant(m->to, m->from->constant[n->a]);
    case CODE_MUL:
        return code_mul(m->to, mapped(m, n->a), mapped(m, n->b));
    case CODE_ADD:
        return code_add(m->to, mapped(m, n->c), mapped(m, n->a));
    case CODE_FMA:
        return code_fma(m->to, mapped(m, n->a), mapped(m, n->b), mapped(m, n->c));
    }
    return 0;
}

/* The node as it is, of other numbers. */
static int moved(const struct copy *m, const struct code_node *n)
{
    bool leaf = n->op == CODE_LOAD || n->op == CODE_CONSTANT;
    int a = n->op == CODE_CONSTANT ? add_constant(m->to, m->from->constant[n->a]) : n->a;
    append(m->to, n->op, n->item, leaf ? a : mapped(m, a), leaf ? n->b : mapped(m, n->b), mapped(m, n->c));
    return m->to->nodes;
}

/* Until sums join chains, different nodes stay different, and nobody looks for equal ones. */
static int copied(const struct copy *m, int number)
{
    const struct code *c = m->from;
    const struct code_node *n = &c->node[number];
    bool from = n->op == CODE_ADD && joins(c, n->c, n->item),
         what = n->op == CODE_ADD && joins(c, n->a, n->item);
    if (!from && !what)
        return m->to->table ? made_again(m, n) : moved(m, n);
    if (!m->to->table)
        list_nodes(m->to);
    return from && !what ? join(m, mapped(m, n->a), n->c, n->item) : join(m, mapped(m, n->c), n->a, n->item);
}

/* ---- reading ---- */

static bool is_leaf(const struct code_node *n)
{
    return n->op == CODE_LOAD || n->op == CODE_CONSTANT;
}

/* Is it a product that nobody else uses, which can stand as the first factor of another? */
static bool is_first_factor(const struct code_node *n)
{
    return n->op == CODE_MUL && n->uses == 1;
}

/* The factors of a sum that nobody else needs, until they are more than so many; SHORT_MOST + 1 where one of
 * them is such a sum itself. */
enum { SHORT_MOST = 10 };

static int factors_of(const struct code *c, int operand, bool factor)
{
    const struct code_node *n = &c->node[code_number(operand)];
    if (!operand || is_leaf(n) || n->uses > 1 || n->named || n->letter == CODE_KEPT)
        return 1;
    int factors = n->op == CODE_MUL ? 0 : factor ? SHORT_MOST + 1 : factors_of(c, n->c, false);
    factors += factors_of(c, n->a, n->op != CODE_ADD);
    if (n->op != CODE_ADD && factors <= SHORT_MOST)
        factors += factors_of(c, n->b, true);
    return factors;
}

/* May the operand of a product stand in it: another product, first; in the code of several paths, which is
 * long, also a short sum? */
static bool stands_in_product(const struct code *c, int operand)
{
    const struct code_node *n = &c->node[code_number(operand)];
    bool sum = (n->op == CODE_ADD || n->op == CODE_FMA) && n->uses == 1 && n->letter != CODE_KEPT;
    return is_first_factor(n) || (c->matrices && sum && factors_of(c, operand, false) <= SHORT_MOST);
}

void code_find_named(struct code *c)
{
    for (int i = 0; i < c->nodes; i++)
        c->node[i].named = false;
    for (int i = 0; i < c->nodes; i++) {
        const struct code_node *n = &c->node[i];
        c->node[i].named |= n->uses > 1 || n->letter == CODE_KEPT;
        if (is_leaf(n) || !n->uses)
            continue;
        int operand[] = {n->a, n->op == CODE_ADD ? 0 : n->b, n->op == CODE_MUL ? 0 : n->c};
        for (int k = 0; k < 3; k++)
            if (operand[k])
                c->node[code_number(operand[k])].named |= c->node[code_number(operand[k])].item && !n->item;
        if (n->op != CODE_ADD) {
            bool first = stands_in_product(c, n->a), second = stands_in_product(c, n->b);
            c->node[code_number(n->a)].named |= !first;
            c->node[code_number(n->b)].named |= first || !second;
        }
    }
    for (int i = 0; i < c->results; i++)
        c->node[code_number(c->result[i].value)].named |= c->node[code_number(c->result[i].value)].item;
    for (int i = 0; i < c->nodes; i++)
        c->node[i].named &= c->node[i].uses > 0 && !is_leaf(&c->node[i]);
}

/* ---- finishing ---- */

/* Nothing that it holds is in the arena of what it was copied from, but constants' digits, which are the
 * matrix's. */
static struct code *settle(struct arena *a, const struct code *from)
{
    struct code *c = NEW(a, struct code);
    *c = *from;
    c->arena = a;
    c->table = NULL;
    c->by_value = (struct hash){0};
    c->capacity = c->constant_capacity = c->result_capacity = 0;
    c->node = arena_copy(a, from->node, (size_t)from->nodes * sizeof *c->node);
    c->constant = arena_copy(a, from->constant, (size_t)from->constants * sizeof *c->constant);
    c->result = arena_copy(a, from->result, (size_t)from->results * sizeof *c->result);
    code_find_named(c);
    return c;
}

struct code *code_finish(struct arena *a, struct code *c)
{
    struct copy m = {c, begin(c->arena, c->recipe, c->capacity), NEW_ARRAY(c->arena, int, c->nodes + 1)};
    int result = 0;
    find_uses(c);
    for (int i = 0; i <= c->nodes; i++) {
        for (; result < c->results && (i == c->nodes || c->result[result].before <= i); result++) {
            const struct code_result *r = &c->result[result];
            code_result(m.to, r->output, r->component, mapped(&m, r->value), r->adds);
        }
        if (i == c->nodes || !c->node[i].uses)
            continue;
        m.map[i] = copied(&m, i);
        code_name(m.to, m.map[i], c->node[i].letter, c->node[i].number, c->node[i].component);
    }
    find_uses(m.to);
    count(m.to);
    return settle(a, m.to);
}

/* ---- counting ---- */

double code_flops(struct code_count n)
{
    return 2.0 * n.fma + n.mul + n.add;
}

void operations_add(struct operations *o, struct code_count n, double times)
{
    o->fma += times * n.fma;
    o->mul += times * n.mul;
    o->add += times * n.add;
}

double operations_flops(struct operations o)
{
    return 2 * o.fma + o.mul + o.add;
}

int code_instructions(struct code_count n)
{
    return n.fma + n.mul + n.add;
}
