/* code.c - see code.h: nodes that are made once, and what is counted of them. */
#include "plan/code.h"

#include <stdlib.h>

enum { LISTS = 256 };

struct code *code_begin(struct arena *a, const struct recipe *recipe)
{
    struct code *c = NEW(a, struct code);
    c->arena = a;
    c->recipe = recipe;
    c->table = NEW_ARRAY(a, int, LISTS);
    for (int i = 0; i < LISTS; i++)
        c->table[i] = -1;
    return c;
}

/* ---- nodes ---- */

static int list_of(const struct code_node *n)
{
    unsigned a = (unsigned)abs(n->a), b = (unsigned)abs(n->b); /* factors in either order are equal */
    unsigned pair = (a + b) * 31u + a * b;
    return (int)((pair * 31u + (unsigned)n->c * 7u + (unsigned)n->op) % LISTS);
}

static bool same_node(const struct code_node *n, const struct code_node *m)
{
    if (n->op != m->op || n->c != m->c)
        return false;
    if (n->a == m->a && n->b == m->b)
        return true;
    bool product = n->op == CODE_MUL || n->op == CODE_FMA;
    int sign = n->a < 0 ? -1 : 1; /* the sign of a product stands at its first factor */
    return product && sign * n->a == m->b && n->b * sign == m->a;
}

static int find(const struct code *c, const struct code_node *n)
{
    for (int i = c->table[list_of(n)]; i >= 0; i = c->node[i].next)
        if (same_node(&c->node[i], n))
            return i;
    return -1;
}

/* The value of a node, new or known. */
static int intern(struct code *c, struct code_node n)
{
    int known = find(c, &n);
    if (known >= 0)
        return known + 1;
    int list = list_of(&n);
    n.next = c->table[list];
    c->table[list] = c->nodes;
    c->node = arena_grow(c->arena, c->node, c->nodes, &c->capacity, sizeof n);
    c->node[c->nodes] = n;
    return ++c->nodes;
}

static bool is_item(const struct code *c, int value)
{
    return value == 0 || c->node[code_number(value)].item;
}

static int sign_of(int value)
{
    return value < 0 ? -1 : 1;
}

int code_load(struct code *c, int operand, int component, bool item)
{
    return intern(c, (struct code_node){.op = CODE_LOAD, .a = operand, .b = component, .item = item});
}

int code_constant(struct code *c, struct surd s)
{
    int sign = s.sign, i = 0;
    if (sign == 0)
        return 0;
    s.sign = 1;
    while (i < c->constants && !surd_equal(c->constant[i], s))
        i++;
    if (i == c->constants) {
        c->constant = arena_grow(c->arena, c->constant, i, &c->constant_capacity, sizeof s);
        c->constant[c->constants++] = s;
    }
    return sign * intern(c, (struct code_node){.op = CODE_CONSTANT, .a = i, .item = true});
}

bool code_is_unit(const struct code *c, int value)
{
    const struct code_node *n = value ? &c->node[code_number(value)] : NULL;
    return n && n->op == CODE_CONSTANT && surd_is_one(c->constant[n->a]);
}

int code_mul(struct code *c, int a, int b)
{
    int sign = sign_of(a) * sign_of(b);
    if (a == 0 || b == 0)
        return 0;
    a *= sign_of(a);
    b *= sign_of(b);
    if (code_is_unit(c, a))
        return sign * b;
    if (code_is_unit(c, b))
        return sign * a;
    bool item = is_item(c, a) && is_item(c, b);
    return sign * intern(c, (struct code_node){.op = CODE_MUL, .a = a, .b = b, .item = item});
}

int code_add(struct code *c, int to, int a)
{
    if (to == 0 || a == 0)
        return to + a;
    if (to < 0 && a > 0) { /* -p + q = q - p */
        int p = to;
        to = a;
        a = p;
    }
    int sign = sign_of(to);
    bool item = is_item(c, to) && is_item(c, a);
    return sign * intern(c, (struct code_node){.op = CODE_ADD, .a = a * sign, .c = to * sign, .item = item});
}

int code_fma(struct code *c, int a, int b, int to)
{
    if (a == 0 || b == 0)
        return to;
    if (to == 0)
        return code_mul(c, a, b);
    if (code_is_unit(c, a) || code_is_unit(c, b))
        return code_add(c, to, code_mul(c, a, b));
    int sign = sign_of(to), product = sign_of(a) * sign_of(b) * sign;
    bool item = is_item(c, a) && is_item(c, b) && is_item(c, to);
    return sign * intern(c, (struct code_node){.op = CODE_FMA,
                                               .a = a * sign_of(a) * product,
                                               .b = b * sign_of(b),
                                               .c = to * sign,
                                               .item = item});
}

void code_name(struct code *c, int value, char letter, int number, int component)
{
    struct code_node *n = value ? &c->node[code_number(value)] : NULL;
    if (!n || n->letter || n->op == CODE_LOAD || n->op == CODE_CONSTANT)
        return;
    n->letter = letter;
    n->number = number;
    n->component = component;
}

void code_result(struct code *c, int output, int component, int value, bool adds)
{
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
    return n->uses == 1 && n->op != CODE_LOAD && n->op != CODE_CONSTANT && n->item == item;
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

static int copied(const struct copy *m, int number)
{
    const struct code *c = m->from;
    const struct code_node *n = &c->node[number];
    switch (n->op) {
    case CODE_LOAD:
        return code_load(m->to, n->a, n->b, n->item);
    case CODE_CONSTANT:
        return code_constant(m->to, c->constant[n->a]);
    case CODE_MUL:
        return code_mul(m->to, mapped(m, n->a), mapped(m, n->b));
    case CODE_ADD:
        if (joins(c, n->c, n->item) && !joins(c, n->a, n->item))
            return join(m, mapped(m, n->a), n->c, n->item);
        return join(m, mapped(m, n->c), n->a, n->item);
    case CODE_FMA:
        return code_fma(m->to, mapped(m, n->a), mapped(m, n->b), mapped(m, n->c));
    }
    return 0;
}

/* Nothing that it holds is in the arena of what it was copied from, but constants' digits, which are the
 * matrix's. */
static struct code *settle(struct arena *a, const struct code *from)
{
    struct code *c = NEW(a, struct code);
    *c = *from;
    c->arena = a;
    c->table = NULL;
    c->capacity = c->constant_capacity = c->result_capacity = 0;
    c->node = arena_copy(a, from->node, (size_t)from->nodes * sizeof *c->node);
    c->constant = arena_copy(a, from->constant, (size_t)from->constants * sizeof *c->constant);
    c->result = arena_copy(a, from->result, (size_t)from->results * sizeof *c->result);
    return c;
}

struct code *code_finish(struct arena *a, struct code *c)
{
    struct copy m = {c, code_begin(c->arena, c->recipe), NEW_ARRAY(c->arena, int, c->nodes + 1)};
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

bool *code_named(struct arena *a, const struct code *c)
{
    bool *named = NEW_ARRAY(a, bool, c->nodes + 1);
    for (int i = 0; i < c->nodes; i++) {
        const struct code_node *n = &c->node[i];
        named[i] = n->uses > 1;
        if (is_leaf(n) || !n->uses)
            continue;
        int operand[] = {n->a, n->op == CODE_ADD ? 0 : n->b, n->op == CODE_MUL ? 0 : n->c};
        for (int k = 0; k < 3; k++)
            if (operand[k])
                named[code_number(operand[k])] |= c->node[code_number(operand[k])].item && !n->item;
        if (n->op != CODE_ADD) {
            bool first = is_first_factor(&c->node[code_number(n->a)]);
            bool second = is_first_factor(&c->node[code_number(n->b)]);
            named[code_number(n->a)] |= !first;
            named[code_number(n->b)] |= first || !second;
        }
    }
    for (int i = 0; i < c->results; i++)
        if (c->result[i].value)
            named[code_number(c->result[i].value)] |= c->node[code_number(c->result[i].value)].item;
    for (int i = 0; i < c->nodes; i++)
        named[i] &= c->node[i].uses > 0 && !is_leaf(&c->node[i]);
    return named;
}

double code_flops(struct code_count n)
{
    return 2.0 * n.fma + n.mul + n.add;
}

int code_instructions(struct code_count n)
{
    return n.fma + n.mul + n.add;
}
