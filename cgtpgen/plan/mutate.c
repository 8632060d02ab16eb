/* mutate.c - code that is wrong in one place, for tests of the tests: every mutant must be noticed. */
#include "plan/code.h"

#include <string.h>

/* Counts a mutant, lists it where asked for, and says whether it is the one to be made. */
static bool is_wanted(struct mutation *m, const char *kind)
{
    m->seen++;
    if (m->wanted == 0 || m->wanted == m->seen)
        text_printf(&m->list, "%d %s\n", m->seen, kind);
    return m->wanted == m->seen;
}

static struct code *copy(const struct code *from)
{
    struct code *c = NEW(from->arena, struct code);
    *c = *from;
    c->node = arena_copy(from->arena, from->node, (size_t)from->nodes * sizeof *c->node);
    c->result = arena_copy(from->arena, from->result, (size_t)from->results * sizeof *c->result);
    return c;
}

static bool is_leaf(const struct code_node *n)
{
    return n->op == CODE_LOAD || n->op == CODE_CONSTANT;
}

/* The other sign wherever a node is used. */
static void negate_uses(struct code *c, int number)
{
    for (int i = 0; i < c->nodes; i++) {
        struct code_node *n = &c->node[i];
        if (is_leaf(n))
            continue;
        bool both = n->op != CODE_ADD && code_number(n->a) == number && code_number(n->b) == number;
        if (code_number(n->a) == number && !both)
            n->a = -n->a;
        if (n->op != CODE_ADD && code_number(n->b) == number && !both)
            n->b = -n->b;
        if (n->op != CODE_MUL && code_number(n->c) == number)
            n->c = -n->c;
    }
    for (int i = 0; i < c->results; i++)
        if (code_number(c->result[i].value) == number)
            c->result[i].value = -c->result[i].value;
}

/* The product that node n's is added to, where exchanging their second factors changes the sum and no order
 * of computation; -1: none. */
static int exchangeable(const struct code *c, const struct code_node *n)
{
    if (n->op != CODE_FMA)
        return -1;
    const struct code_node *m = &c->node[code_number(n->c)];
    if (is_leaf(m) || m->op == CODE_ADD || m->letter == CODE_KEPT || m->uses != 1 || m->item != n->item)
        return -1;
    bool same = code_number(n->a) == code_number(m->a) || n->b == m->b;
    return same ? -1 : code_number(n->c);
}

static void mutate_nodes(struct code *c, struct mutation *m)
{
    for (int i = 0; i < c->nodes; i++) {
        struct code_node *n = &c->node[i];
        if (!n->uses)
            continue;
        if (n->op == CODE_CONSTANT && is_wanted(m, "sign of a constant"))
            negate_uses(c, i);
        if ((n->op == CODE_FMA || n->op == CODE_ADD) && is_wanted(m, "sign of a term"))
            n->a = -n->a;
        int other = exchangeable(c, n);
        if (other >= 0 && is_wanted(m, "exchanged factors")) {
            int b = n->b;
            n->b = c->node[other].b;
            c->node[other].b = b;
        }
        if (!is_leaf(n) && n->uses > 1 && is_wanted(m, "negated value"))
            negate_uses(c, i);
    }
}

struct code *code_mutate(const struct code *from, struct mutation *m)
{
    struct code *c = copy(from);
    mutate_nodes(c, m);
    for (int i = 0; i < c->results; i++) {
        if (is_wanted(m, "negated result"))
            c->result[i].value = -c->result[i].value;
        if (is_wanted(m, "dropped result")) {
            memmove(&c->result[i], &c->result[i + 1], (size_t)(c->results - i - 1) * sizeof *c->result);
            c->results--;
        }
    }
    if (is_wanted(m, "dropped path"))
        c->results = 0;
    code_find_named(c);
    return c;
}
