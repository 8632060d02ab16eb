/* code_print.c - see code_print.h. */
#include "schedule/code_print.h"

#include <string.h>

enum { WIDTH = 100 };

/* ---- constants ---- */

static const char *constant_name(struct constants *all, struct surd s)
{
    struct text t = {.arena = all->arena};
    int i = 0;
    while (i < all->n && !surd_equal(all->value[i], s))
        i++;
    if (i == all->n) {
        all->value = arena_grow(all->arena, all->value, i, &all->capacity, sizeof s);
        all->value[all->n++] = s;
    }
    text_printf(&t, "K");
    rat_print(&t, (struct rat){s.square.num, rat_make(all->arena, 1, 1).den});
    text_printf(&t, "_");
    rat_print(&t, (struct rat){s.square.den, rat_make(all->arena, 1, 1).den});
    return text_string(&t);
}

void constants_print(struct text *out, const struct constants *all, const struct plan *plan,
                     const char *qualifier)
{
    bool is_float = plan->problem->spec->precision == PRECISION_FLOAT32;
    struct constants *names = NEW(all->arena, struct constants);
    *names = *all;
    for (int i = 0; i < all->n; i++) {
        struct surd s = all->value[i];
        text_printf(out, "%s real %s = ", qualifier, constant_name(names, s));
        hex_print(out, is_float ? (double)surd_float(s) : surd_double(s), is_float);
        text_printf(out, "; /* ");
        surd_print(out, s);
        text_printf(out, " */\n");
    }
    if (all->n)
        text_printf(out, "\n");
}

/* ---- names ---- */

static bool is_leaf(const struct code_node *n)
{
    return n->op == CODE_LOAD || n->op == CODE_CONSTANT;
}

static const struct code_node *node_of(const struct code *c, int value)
{
    return &c->node[code_number(value)];
}

/* Is the value a product that nobody else uses, which can stand as the first factor of another? */
static bool is_first_factor(const struct code_node *n)
{
    return n->op == CODE_MUL && n->uses == 1;
}

static const char *local_name(const struct code_printer *p, const struct code_node *n, int *passing)
{
    struct arena *a = p->out->arena;
    if (n->letter == 'f')
        return arena_printf(a, "%sf%d", p->code->recipe->input[n->number].name, n->component);
    if (n->letter)
        return arena_printf(a, "%c%d_%d", n->letter, n->number, n->component);
    return arena_printf(a, "s%d_0", (*passing)++);
}

static const char *leaf_name(const struct code_printer *p, const struct code_node *n)
{
    const struct recipe *r = p->code->recipe;
    if (n->op == CODE_CONSTANT)
        return constant_name(p->constants, p->code->constant[n->a]);
    if (n->a >= r->inputs || (p->in_place && p->in_place[n->a]))
        return p->place(p->context, n->a, n->b);
    return arena_printf(p->out->arena, "%sc%d", r->input[n->a].name, n->b);
}

void code_printer_begin(struct code_printer *p)
{
    if (p->mutation)
        p->code = code_mutate(p->code, p->mutation);
    const struct code *c = p->code;
    bool *named = NEW_ARRAY(p->out->arena, bool, c->nodes + 1);
    int passing = 0;
    p->name = NEW_ARRAY(p->out->arena, const char *, c->nodes + 1);
    for (int i = 0; i < c->nodes; i++) {
        const struct code_node *n = &c->node[i];
        named[i] = n->uses > 1;
        if (is_leaf(n) || !n->uses)
            continue;
        int operand[] = {n->a, n->op == CODE_ADD ? 0 : n->b, n->op == CODE_MUL ? 0 : n->c};
        for (int k = 0; k < 3; k++)
            if (operand[k])
                named[code_number(operand[k])] |= node_of(c, operand[k])->item && !n->item;
        if (n->op != CODE_ADD) {
            bool first = is_first_factor(node_of(c, n->a)), second = is_first_factor(node_of(c, n->b));
            named[code_number(n->a)] |= !first;
            named[code_number(n->b)] |= first || !second;
        }
    }
    for (int i = 0; i < c->results; i++)
        if (c->result[i].value)
            named[code_number(c->result[i].value)] |= node_of(c, c->result[i].value)->item;
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i].uses)
            p->name[i] = is_leaf(&c->node[i]) ? leaf_name(p, &c->node[i])
                         : named[i]           ? local_name(p, &c->node[i], &passing)
                                              : NULL;
}

/* ---- statements ---- */

/* A sum that breaks into lines. */
struct sum {
    struct text *out;
    int indent, terms;
    size_t line; /* where the current line began */
};

static void add_term(struct sum *s, bool negative, const char *term)
{
    if (s->terms && s->out->n - s->line + strlen(term) + 4 > WIDTH) {
        text_printf(s->out, "\n");
        s->line = s->out->n;
        text_printf(s->out, "%*s", s->indent + 3, "");
    }
    text_printf(s->out, s->terms ? (negative ? " - %s" : " + %s") : (negative ? " -%s" : " %s"), term);
    s->terms++;
}

static const char *product(const struct code_printer *p, const struct code_node *n, int *sign);

static const char *factor(const struct code_printer *p, int value, int *sign)
{
    if (value < 0)
        *sign = -*sign;
    const char *name = p->name[code_number(value)];
    return name ? name : product(p, node_of(p->code, value), sign);
}

/* a * b of a node; a factor without a name, itself a product, comes first. */
static const char *product(const struct code_printer *p, const struct code_node *n, int *sign)
{
    bool swap = !p->name[code_number(n->b)];
    const char *first = factor(p, swap ? n->b : n->a, sign);
    return arena_printf(p->out->arena, "%s * %s", first, factor(p, swap ? n->a : n->b, sign));
}

/* Adds sign * value to the sum, as the terms it is made of. */
static void print_value(const struct code_printer *p, struct sum *s, int value, int sign)
{
    const struct code_node *n = node_of(p->code, value);
    if (value < 0)
        sign = -sign;
    const char *term = p->name[code_number(value)];
    if (!term && n->op != CODE_MUL)
        print_value(p, s, n->c, sign);
    if (!term)
        term = n->op == CODE_ADD ? factor(p, n->a, &sign) : product(p, n, &sign);
    add_term(s, sign < 0, term);
}

/* lhs = value, of a node that has a name: what it is made of. */
static void print_statement(const struct code_printer *p, const char *lhs, int value, bool whole)
{
    struct sum s = {p->out, p->indent, 0, p->out->n};
    text_printf(p->out, "%*s%s", p->indent, "", lhs);
    if (!value) {
        text_printf(p->out, " 0;\n");
        return;
    }
    const char *name = p->name[code_number(value)];
    if (whole)
        p->name[code_number(value)] = NULL;
    print_value(p, &s, value, 1);
    p->name[code_number(value)] = name;
    text_printf(p->out, ";\n");
}

static void print_result(const struct code_printer *p, const struct code_result *r)
{
    const char *place = p->place(p->context, p->code->recipe->inputs + r->output, r->component);
    print_statement(p, arena_printf(p->out->arena, "%s %s", place, r->adds ? "+=" : "="), r->value, false);
}

/* The local constants of inputs. */
static void print_loads(const struct code_printer *p, bool item)
{
    const struct code *c = p->code;
    for (int in = 0; in < c->recipe->inputs; in++) {
        struct text line = {.arena = p->out->arena};
        int *node = NEW_ARRAY(line.arena, int, c->nodes + 1), n = 0;
        for (int i = 0; i < c->nodes && !(p->in_place && p->in_place[in]); i++)
            if (c->node[i].op == CODE_LOAD && c->node[i].a == in && c->node[i].uses &&
                c->node[i].item == item)
                node[n++] = i;
        for (int i = 1; i < n; i++) /* by component; mostly they are */
            for (int j = i; j > 0 && c->node[node[j - 1]].b > c->node[node[j]].b; j--) {
                int t = node[j];
                node[j] = node[j - 1];
                node[j - 1] = t;
            }
        for (int i = 0; i < n; i++) {
            const char *load = arena_printf(line.arena, "%s = %s", p->name[node[i]],
                                            p->place(p->context, in, c->node[node[i]].b));
            if (line.n && line.n + strlen(load) + 14 + (size_t)p->indent > WIDTH) {
                text_printf(p->out, "%*sconst real %s;\n", p->indent, "", line.s);
                line.n = 0;
            }
            text_printf(&line, "%s%s", line.n ? ", " : "", load);
        }
        if (line.n)
            text_printf(p->out, "%*sconst real %s;\n", p->indent, "", line.s);
    }
}

static void print_named(const struct code_printer *p, int number, bool item)
{
    const struct code_node *n = &p->code->node[number];
    if (p->name[number] && !is_leaf(n) && n->item == item)
        print_statement(p, arena_printf(p->out->arena, "const real %s =", p->name[number]), number + 1, true);
}

void code_print_item(const struct code_printer *p)
{
    print_loads(p, true);
    for (int i = 0; i < p->code->nodes; i++)
        print_named(p, i, true);
}

void code_print_channel(const struct code_printer *p)
{
    const struct code *c = p->code;
    int result = 0;
    print_loads(p, false);
    for (int i = 0; i < c->nodes; i++) {
        for (; result < c->results && c->result[result].before <= i; result++)
            print_result(p, &c->result[result]);
        print_named(p, i, false);
    }
    for (; result < c->results; result++)
        print_result(p, &c->result[result]);
}

/* ---- counts ---- */

static void print_count(struct text *out, struct code_count n, const char *per)
{
    const char *const what[] = {"fma", "mul", "add", "neg"};
    const int count[] = {n.fma, n.mul, n.add, n.neg};
    int printed = 0;
    for (int i = 0; i < 4; i++)
        if (count[i])
            text_printf(out, "%s%d %s", printed++ ? ", " : "", count[i], what[i]);
    text_printf(out, printed ? " per %s" : "nothing per %s", per);
}

void code_print_counts(struct text *out, const struct code *c)
{
    print_count(out, c->channel, "channel");
    if (code_instructions(c->item)) {
        text_printf(out, "; ");
        print_count(out, c->item, "item");
    }
}
