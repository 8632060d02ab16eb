/* code_print.c - see code_print.h. */
#include "schedule/code_print.h"

#include <stdint.h>
#include <string.h>

enum { WIDTH = 110 };

/* ---- constants ---- */

const char *constant_name(struct constants *all, struct surd s)
{
    uint32_t key = surd_hash(s);
    for (int i = hash_first(&all->hash, key); i >= 0; i = hash_next(&all->hash, i))
        if (surd_equal(all->constant[i].value, s))
            return all->constant[i].name;
    struct text name = {.arena = all->arena};
    text_printf(&name, "K");
    rat_print(&name, (struct rat){s.square.num, nat_one});
    text_printf(&name, "_");
    rat_print(&name, (struct rat){s.square.den, nat_one});
    all->hash.arena = all->arena;
    hash_add(&all->hash, key);
    all->constant = arena_grow(all->arena, all->constant, all->n, &all->capacity, sizeof *all->constant);
    all->constant[all->n++] = (struct constant){s, text_string(&name)};
    return text_string(&name);
}

void constants_print(struct text *out, const struct constants *all, const struct plan *plan,
                     const char *qualifier)
{
    bool is_float = plan->problem->spec->compute == PRECISION_FLOAT32;
    struct text line = {.arena = all->arena}, one = line;
    for (int i = 0; i < all->n; i++) {
        struct surd s = all->constant[i].value;
        one.n = 0;
        text_printf(&one, "%s = ", all->constant[i].name);
        hex_print(&one, is_float ? (double)surd_float(s) : surd_double(s), is_float);
        text_printf(&one, " /* ");
        surd_print(&one, s);
        text_printf(&one, " */");
        if (line.n && line.n + one.n + 3 > WIDTH) {
            text_printf(out, "%s;\n", line.s);
            line.n = 0;
        }
        text_printf(&line, line.n ? ", %s" : "%s real %s", line.n ? one.s : qualifier, one.s);
    }
    if (all->n)
        text_printf(out, "%s;\n\n", line.s);
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

static const char *local_name(const struct code_printer *p, const struct code_node *n, int *passing)
{
    struct arena *a = p->out->arena;
    if (n->letter == 'f')
        return arena_printf(a, "%sf%d", p->code->recipe->input[n->number].name, n->component);
    if (n->letter)
        return arena_printf(a, "%c%d_%d", n->letter, n->number, n->component);
    return arena_printf(a, "s%d", (*passing)++);
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

/* Is it what the output holds already, for a sum that is written there, and for nothing else? */
static bool is_held(const struct code_printer *p, const struct code_result *r, int value)
{
    const struct code_node *n = node_of(p->code, value);
    return value > 0 && n->op == CODE_LOAD && n->uses == 1 && n->a == p->code->recipe->inputs + r->output &&
           n->b == r->component;
}

/* Does the node, a partial sum, add a term to another, which nobody else needs? */
static bool continues(const struct code *c, const struct code_node *n)
{
    if (n->letter != CODE_KEPT || (n->op != CODE_FMA && n->op != CODE_ADD) || n->c < 0)
        return false;
    const struct code_node *before = node_of(c, n->c);
    return before->letter == CODE_KEPT && before->uses == 1 && before->item == n->item;
}

/* Partial sums that continue each other are one variable, or where the output stands that they begin with and
 * become. */
static void find_sums(struct code_printer *p)
{
    const struct code *c = p->code;
    int *begin = NEW_ARRAY(p->out->arena, int, c->nodes + 1), sums = 0;
    for (int i = 0; i < c->nodes; i++) {
        const struct code_node *n = &c->node[i];
        if (!n->uses || n->letter != CODE_KEPT || is_leaf(n))
            continue;
        const bool adds = continues(c, n);
        begin[i] = adds ? begin[code_number(n->c)] : i;
        p->sum[begin[i]] = adds ? SUM_BEGINS : SUM_ALONE;
        p->sum[i] = adds ? SUM_ADDS : SUM_ALONE;
    }
    for (int i = 0; i < c->results; i++) {
        const struct code_result *r = &c->result[i];
        const int last = code_number(r->value), first = begin[last];
        if (r->value > 0 && p->sum[last] && c->node[last].uses == 1 && !r->adds &&
            c->node[first].op != CODE_MUL && is_held(p, r, c->node[first].c)) {
            p->sum[first] = SUM_ADDS;
            p->name[first] = p->place(p->context, c->recipe->inputs + r->output, r->component);
        }
    }
    for (int i = 0; i < c->nodes; i++)
        if (p->sum[i] && begin[i] != i)
            p->name[i] = p->name[begin[i]];
        else if (p->sum[i] && !p->name[i])
            p->name[i] = arena_printf(p->out->arena, "%c%d", CODE_KEPT, sums++);
}

void code_printer_begin(struct code_printer *p)
{
    if (p->mutation)
        p->code = code_mutate(p->code, p->mutation);
    const struct code *c = p->code;
    int passing = 0;
    p->name = NEW_ARRAY(p->out->arena, const char *, c->nodes + 1);
    p->sum = NEW_ARRAY(p->out->arena, char, c->nodes + 1);
    find_sums(p);
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i].uses && !p->sum[i])
            p->name[i] = is_leaf(&c->node[i]) ? leaf_name(p, &c->node[i])
                         : c->node[i].named   ? local_name(p, &c->node[i], &passing)
                                              : NULL;
}

/* ---- statements ---- */

/* A sum that breaks into lines. */
struct sum {
    struct text *out;
    int indent, terms;
    size_t width, line; /* of lines; where the current one began */
};

/* What stands together on one line: `const real a = .., b = ..;`, `real k0 = ..;`, `x[0] = .., k0 += ..;`. */
enum together { CONSTANTS, VARIABLES, ASSIGNMENTS };
static const char *const first_words[] = {"const real ", "real ", ""};

/* In the code of several paths, which has variables, values are declared with them: so its lines are fewer.
 */
static enum together together_of(const struct code_printer *p, int number)
{
    return p->code->matrices || p->sum[number] == SUM_BEGINS ? VARIABLES : CONSTANTS;
}

struct declarations {
    const struct code_printer *p;
    struct text line;       /* without an indent; empty: none */
    enum together together; /* what stands there */
    struct text one, lines; /* an assignment in one line, in several */
};

static struct declarations declarations_of(const struct code_printer *p)
{
    struct text empty = {.arena = p->out->arena};
    return (struct declarations){.p = p, .line = empty, .one = empty, .lines = empty};
}

/* The text without what it held. */
static struct text *emptied(struct text *t)
{
    t->n = 0;
    return t;
}

static void add_term(struct sum *s, bool negative, const char *term)
{
    if (s->terms && s->out->n - s->line + strlen(term) + 4 > s->width) {
        text_puts(s->out, "\n");
        s->line = s->out->n;
        text_spaces(s->out, s->indent + 3);
    }
    text_puts(s->out, s->terms ? (negative ? " - " : " + ") : (negative ? " -" : " "));
    text_puts(s->out, term);
    s->terms++;
}

static const char *product(const struct code_printer *p, const struct code_node *n, int *sign);
static void print_value(const struct code_printer *p, struct sum *s, int value, int sign);

static const char *factor(const struct code_printer *p, int value, int *sign)
{
    if (value < 0)
        *sign = -*sign;
    const char *name = p->name[code_number(value)];
    if (name || node_of(p->code, value)->op == CODE_MUL)
        return name ? name : product(p, node_of(p->code, value), sign);
    struct text terms = {.arena = p->out->arena};
    struct sum s = {.out = &terms, .width = SIZE_MAX};
    print_value(p, &s, code_number(value) + 1, 1);
    return arena_printf(p->out->arena, "(%s)", text_string(&terms) + 1);
}

/* a * b of a node; a factor without a name that is itself a product comes first. */
static const char *product(const struct code_printer *p, const struct code_node *n, int *sign)
{
    bool swap = !p->name[code_number(n->b)] && node_of(p->code, n->b)->op == CODE_MUL;
    const char *first = factor(p, swap ? n->b : n->a, sign);
    const char *second = factor(p, swap ? n->a : n->b, sign);
    size_t n1 = strlen(first), n2 = strlen(second) + 1;
    char *both = arena_alloc(p->out->arena, n1 + 3 + n2);
    memcpy(both, first, n1);
    memcpy(both + n1, " * ", 3);
    memcpy(both + n1 + 3, second, n2);
    return both;
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

static void flush(struct declarations *d)
{
    if (d->line.n) {
        text_spaces(d->p->out, d->p->indent);
        text_put(d->p->out, d->line.s, d->line.n);
        text_puts(d->p->out, ";\n");
    }
    d->line.n = 0;
}

/* Adds `name = value` to the line, or begins another. */
static void declare(struct declarations *d, enum together together, const char *declaration)
{
    if (d->line.n && (together != d->together ||
                      (size_t)d->p->indent + d->line.n + strlen(declaration) + 3 > (size_t)WIDTH))
        flush(d);
    text_puts(&d->line, d->line.n ? ", " : first_words[together]);
    text_puts(&d->line, declaration);
    d->together = together;
}

/* What is assigned: a variable or where a result stands, and the words before and after. */
struct target_words {
    const char *before, *name, *after;
};

/* The words and the value, of a node that has a name (whole: what it is made of), in lines of so many
 * columns, of which the first begins with the text. */
static void print_assignment(const struct code_printer *p, struct text *out, size_t width,
                             struct target_words words, int value, bool whole)
{
    struct sum s = {out, p->indent, 0, width, 0};
    text_puts(out, words.before);
    text_puts(out, words.name);
    text_puts(out, words.after);
    const char *name = p->name[code_number(value)];
    if (whole)
        p->name[code_number(value)] = NULL;
    print_value(p, &s, value, 1);
    p->name[code_number(value)] = name;
}

/* The same on lines of its own, the last of which others may share. */
static void print_wrapped(struct declarations *d, enum together together, struct target_words words,
                          int value, bool whole)
{
    const struct code_printer *p = d->p;
    struct text *lines = emptied(&d->lines);
    flush(d);
    text_spaces(lines, p->indent);
    print_assignment(p, lines, WIDTH, words, value, whole);
    const char *broken = strrchr(text_string(lines), '\n'), *last = broken ? broken + 1 : lines->s;
    text_put(p->out, lines->s, (size_t)(last - lines->s));
    text_puts(&d->line, last + p->indent);
    d->together = together;
}

/* name += a * b, of a sum's last term */
static void print_term(struct declarations *d, const char *name, const struct code_node *n)
{
    struct text *one = emptied(&d->one);
    int sign = 1;
    const char *term = n->op == CODE_ADD ? factor(d->p, n->a, &sign) : product(d->p, n, &sign);
    text_puts(one, name);
    text_puts(one, sign < 0 ? " -=" : " +=");
    if (one->n + strlen(term) + 2 + (size_t)d->p->indent > (size_t)WIDTH) {
        text_puts(one, "\n");
        text_spaces(one, d->p->indent + 3);
    }
    text_printf(one, " %s", term);
    declare(d, ASSIGNMENTS, text_string(one));
}

/* In one line with those before, or in lines of its own. */
static void print_result(struct declarations *d, const struct code_result *r)
{
    const struct code_printer *p = d->p;
    struct text *one = emptied(&d->one);
    const char *place = p->place(p->context, p->code->recipe->inputs + r->output, r->component);
    const struct target_words words = {"", place, r->adds ? " +=" : " ="};
    const struct code_node *n = node_of(p->code, r->value);
    if (p->sum[code_number(r->value)] && strcmp(p->name[code_number(r->value)], place) == 0)
        return;
    if (p->code->matrices && r->value > 0 && !p->name[code_number(r->value)] && n->op != CODE_MUL &&
        is_held(p, r, n->c)) {
        print_term(d, place, n);
        return;
    }
    print_assignment(p, one, SIZE_MAX, words, r->value, false);
    if (one->n + (size_t)p->indent < (size_t)WIDTH) {
        declare(d, ASSIGNMENTS, text_string(one));
        return;
    }
    print_wrapped(d, ASSIGNMENTS, words, r->value, false);
}

/* The nodes that load what is the same for all channels, or what is not; returns their number. */
static int loads_of(const struct code *c, bool item, int *node)
{
    int n = 0;
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i].op == CODE_LOAD && c->node[i].uses && c->node[i].item == item)
            node[n++] = i;
    return n;
}

/* Those of the loads that bring components of an input into local constants, in order; returns their number.
 */
static int loaded(const struct code_printer *p, int in, int loads, const int *load, int *node)
{
    const struct code *c = p->code;
    int n = 0;
    for (int i = 0; i < loads && !(p->in_place && p->in_place[in]); i++) {
        if (c->node[load[i]].a != in)
            continue;
        int j = n++; /* by component; mostly they are */
        for (; j > 0 && c->node[node[j - 1]].b > c->node[load[i]].b; j--)
            node[j] = node[j - 1];
        node[j] = load[i];
    }
    return n;
}

/* x_c0 = x[0] */
static const char *load_of(struct declarations *d, int number)
{
    const struct code_printer *p = d->p;
    const struct code_node *n = &p->code->node[number];
    text_puts(emptied(&d->one), p->name[number]);
    text_puts(&d->one, " = ");
    text_puts(&d->one, p->place(p->context, n->a, n->b));
    return text_string(&d->one);
}

static void print_loads(struct declarations *d, bool item)
{
    const struct code_printer *p = d->p;
    const struct recipe *r = p->code->recipe;
    int *load = NEW_ARRAY(p->out->arena, int, p->code->nodes + 1), loads = loads_of(p->code, item, load);
    int *node = NEW_ARRAY(p->out->arena, int, loads + 1);
    for (int weights = 1; weights >= 0; weights--) /* first, as they may come from farther away */
        for (int in = 0; in < r->inputs; in++) {
            int n = (r->input[in].role == ROLE_W) == weights ? loaded(p, in, loads, load, node) : 0;
            for (int i = 0; i < n; i++)
                declare(d, together_of(p, node[i]), load_of(d, node[i]));
        }
}

static void print_named(struct declarations *d, int number, bool item)
{
    const struct code_printer *p = d->p;
    const struct code_node *n = &p->code->node[number];
    if (!p->name[number] || is_leaf(n) || n->item != item)
        return;
    if (p->sum[number] == SUM_ADDS) {
        print_term(d, p->name[number], n);
        return;
    }
    const enum together together = together_of(p, number);
    struct text *one = emptied(&d->one);
    print_assignment(p, one, SIZE_MAX, (struct target_words){"", p->name[number], " ="}, number + 1, true);
    if (one->n + strlen(first_words[together]) + 1 + (size_t)p->indent <= (size_t)WIDTH) {
        declare(d, together, text_string(one));
        return;
    }
    print_wrapped(d, together, (struct target_words){first_words[together], p->name[number], " ="},
                  number + 1, true);
}

void code_print_item(const struct code_printer *p)
{
    struct declarations d = declarations_of(p);
    print_loads(&d, true);
    for (int i = 0; i < p->code->nodes; i++)
        print_named(&d, i, true);
    flush(&d);
}

void code_print_channel(const struct code_printer *p)
{
    const struct code *c = p->code;
    struct declarations d = declarations_of(p);
    int result = 0;
    print_loads(&d, false);
    for (int i = 0; i <= c->nodes; i++) {
        for (; result < c->results && (i == c->nodes || c->result[result].before <= i); result++)
            print_result(&d, &c->result[result]);
        if (i < c->nodes)
            print_named(&d, i, false);
    }
    flush(&d);
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
