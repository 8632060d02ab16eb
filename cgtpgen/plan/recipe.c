/* recipe.c - see recipe.h: from terms to the fewest products with M. */
#include "plan/recipe.h"

#include <stdlib.h>
#include <string.h>

static int product(struct recipe_product *list, int *n, int first, int second)
{
    for (int i = 0; i < *n; i++)
        if (list[i].first == first && list[i].second == second)
            return i;
    list[*n] = (struct recipe_product){first, second};
    return (*n)++;
}

static int find(const struct recipe_product *list, int n, int first, int second)
{
    for (int i = 0; i < n; i++)
        if (list[i].first == first && list[i].second == second)
            return i;
    return -1;
}

static int by_factor(const void *a, const void *b)
{
    const struct recipe_part *p = a, *q = b;
    return p->factor != q->factor ? (p->factor < q->factor ? -1 : 1)
                                  : (p->vector > q->vector) - (p->vector < q->vector);
}

bool recipe_first_with(const struct recipe_term *term, int t, enum role role)
{
    for (int before = 0; before < t; before++)
        if (term[before].input[role] == term[t].input[role])
            return false;
    return true;
}

/* Is G output o computed as M applied to sums of U, not as weighted sums of R? Each A costs an application
 * then, otherwise each R that is new; on a tie U pays when M has few rows, or when U is there. It needs W to
 * scale by, and that nothing else wants R. */
static bool scale_first(const struct recipe *r, int outputs, const struct recipe_request *request, int o,
                        bool wide)
{
    const struct recipe_request *q = &request[o];
    for (int other = 0; other < outputs; other++) {
        const struct recipe_request *w = &request[other];
        if (w->role == ROLE_G && other != o)
            return false;
        for (int t = 0; w->role == ROLE_W && t < w->terms; t++)
            if (find(r->l, r->ls, w->term[t].input[ROLE_A], w->term[t].input[ROLE_G]) < 0)
                return false;
    }
    int as = 0, rs = 0;
    bool there = true;
    for (int t = 0; t < q->terms; t++) {
        const int *in = q->term[t].input;
        if (in[ROLE_W] < 0)
            return false;
        there &= find(r->u, r->us, in[ROLE_W], in[ROLE_B]) >= 0;
        as += recipe_first_with(q->term, t, ROLE_A);
        bool new_r = true;
        for (int before = 0; before < t; before++)
            new_r &=
                q->term[before].input[ROLE_A] != in[ROLE_A] || q->term[before].input[ROLE_B] != in[ROLE_B];
        rs += new_r;
    }
    return as != rs ? as < rs : wide || there;
}

struct recipe *recipe_build(struct arena *a, int inputs, struct recipe_input *input, int outputs,
                            const struct recipe_request *request, bool wide)
{
    struct recipe *r = NEW(a, struct recipe);
    int terms = 0;
    for (int o = 0; o < outputs; o++)
        terms += request[o].terms;
    r->inputs = inputs;
    r->input = input;
    r->outputs = outputs;
    r->output = NEW_ARRAY(a, struct recipe_output, outputs + 1);
    r->r = NEW_ARRAY(a, struct recipe_product, terms + 1);
    r->l = NEW_ARRAY(a, struct recipe_product, terms + 1);
    r->u = NEW_ARRAY(a, struct recipe_product, 2 * terms + 1);
    for (int o = 0; o < outputs; o++) {
        const struct recipe_request *q = &request[o];
        r->output[o] = (struct recipe_output){.role = q->role,
                                              .name = q->name,
                                              .source = q->source,
                                              .assign = q->assign,
                                              .parts = q->terms,
                                              .part = NEW_ARRAY(a, struct recipe_part, q->terms + 1)};
    }
    /* A and B outputs leave no choice; do them first so that G and W outputs can use what is there. */
    for (int o = 0; o < outputs; o++)
        for (int t = 0; t < request[o].terms; t++) {
            const int *in = request[o].term[t].input;
            struct recipe_part *part = &r->output[o].part[t];
            if (request[o].role == ROLE_B)
                *part = (struct recipe_part){in[ROLE_W], product(r->l, &r->ls, in[ROLE_A], in[ROLE_G])};
            else if (request[o].role == ROLE_A)
                *part = (struct recipe_part){in[ROLE_G], product(r->u, &r->us, in[ROLE_W], in[ROLE_B])};
        }
    for (int o = 0; o < outputs; o++) {
        if (request[o].role != ROLE_G)
            continue;
        bool scaled = scale_first(r, outputs, request, o, wide);
        r->output[o].prescaled = scaled;
        for (int t = 0; t < request[o].terms; t++) {
            const int *in = request[o].term[t].input;
            struct recipe_part *part = &r->output[o].part[t];
            if (scaled)
                *part = (struct recipe_part){in[ROLE_A], product(r->u, &r->us, in[ROLE_W], in[ROLE_B])};
            else
                *part = (struct recipe_part){in[ROLE_W], product(r->r, &r->rs, in[ROLE_A], in[ROLE_B])};
        }
    }
    for (int o = 0; o < outputs; o++) {
        if (request[o].role != ROLE_W)
            continue;
        /* New products that each way needs; on a tie the shorter dot product. */
        int new_l = 0, new_r = 0;
        for (int t = 0; t < request[o].terms; t++) {
            const int *in = request[o].term[t].input;
            new_l += find(r->l, r->ls, in[ROLE_A], in[ROLE_G]) < 0;
            new_r += find(r->r, r->rs, in[ROLE_A], in[ROLE_B]) < 0;
        }
        r->output[o].by_r = new_r != new_l ? new_r < new_l : !wide;
        for (int t = 0; t < request[o].terms; t++) {
            const int *in = request[o].term[t].input;
            struct recipe_part *part = &r->output[o].part[t];
            if (r->output[o].by_r)
                *part = (struct recipe_part){in[ROLE_G], product(r->r, &r->rs, in[ROLE_A], in[ROLE_B])};
            else
                *part = (struct recipe_part){in[ROLE_B], product(r->l, &r->ls, in[ROLE_A], in[ROLE_G])};
        }
    }
    r->applications = r->rs + r->ls;
    for (int o = 0; o < outputs; o++) {
        struct recipe_output *out = &r->output[o];
        qsort(out->part, (size_t)out->parts, sizeof *out->part, by_factor);
        for (int t = 0; t < out->parts; t++)
            r->applications += (out->prescaled || out->role == ROLE_A) &&
                               (t == 0 || out->part[t].factor != out->part[t - 1].factor);
    }
    return r;
}

/* ---- several paths ---- */

/* Is what stands in the role the same for all paths? */
static bool in_common(enum role role, bool b)
{
    return role == ROLE_A || (b && role == ROLE_B);
}

/* The input of copy i of a recipe that input `in` is there. */
static int repeated_input(const struct recipe *r, int in, int copy, bool b)
{
    return in < 0 || in_common(r->input[in].role, b) ? in : copy * r->inputs + in;
}

static struct recipe_product *repeat_products(struct arena *a, const struct recipe *r,
                                              const struct recipe_product *list, int count, int n, bool b)
{
    struct recipe_product *all = NEW_ARRAY(a, struct recipe_product, count * n + 1);
    for (int i = 0; i < count * n; i++)
        all[i] = (struct recipe_product){repeated_input(r, list[i % count].first, i / count, b),
                                         repeated_input(r, list[i % count].second, i / count, b)};
    return all;
}

static const char *repeated_name(struct arena *a, const char *name, int copy)
{
    return copy ? arena_printf(a, "%sn%d", name, copy) : name;
}

/* Adds to an output of the recipe for several paths the parts of one of them. */
static void add_parts(const struct recipe *r, const struct recipe_output *from, struct recipe_output *to,
                      int copy, bool b)
{
    const int vectors = from->role == ROLE_A || from->prescaled                        ? r->us
                        : from->role == ROLE_G || (from->role == ROLE_W && from->by_r) ? r->rs
                                                                                       : r->ls;
    for (int i = 0; i < from->parts; i++)
        to->part[to->parts++] = (struct recipe_part){repeated_input(r, from->part[i].factor, copy, b),
                                                     from->part[i].vector + copy * vectors};
}

struct recipe *recipe_repeat(struct arena *a, const struct recipe *r, int n, bool b)
{
    struct recipe *all = NEW(a, struct recipe);
    *all = (struct recipe){.inputs = n * r->inputs,
                           .input = NEW_ARRAY(a, struct recipe_input, n * r->inputs + 1),
                           .output = NEW_ARRAY(a, struct recipe_output, n * r->outputs + 1),
                           .rs = n * r->rs,
                           .ls = n * r->ls,
                           .us = n * r->us,
                           .r = repeat_products(a, r, r->r, r->rs, n, b),
                           .l = repeat_products(a, r, r->l, r->ls, n, b),
                           .u = repeat_products(a, r, r->u, r->us, n, b),
                           .applications = n * r->applications};
    for (int i = 0; i < all->inputs; i++) {
        all->input[i] = r->input[i % r->inputs];
        all->input[i].copy = i / r->inputs;
        all->input[i].name = repeated_name(a, all->input[i].name, all->input[i].copy);
    }
    for (int o = 0; o < r->outputs; o++)
        for (int copy = 0; copy < n; copy++) {
            const bool common = in_common(r->output[o].role, b) && copy > 0;
            struct recipe_output *to = &all->output[common ? all->outputs - 1 : all->outputs++];
            if (!common) {
                *to = r->output[o];
                to->copy = copy;
                to->name = repeated_name(a, to->name, copy);
                to->parts = 0;
                to->part = NEW_ARRAY(a, struct recipe_part, n * r->output[o].parts + 1);
            }
            add_parts(r, &r->output[o], to, copy, b);
        }
    return all;
}

struct recipe *recipe_copy(struct arena *a, const struct recipe *r)
{
    struct recipe *copy = arena_copy(a, r, sizeof *r);
    copy->input = arena_copy(a, r->input, (size_t)r->inputs * sizeof *r->input);
    copy->output = arena_copy(a, r->output, (size_t)r->outputs * sizeof *r->output);
    copy->r = arena_copy(a, r->r, (size_t)r->rs * sizeof *r->r);
    copy->l = arena_copy(a, r->l, (size_t)r->ls * sizeof *r->l);
    copy->u = arena_copy(a, r->u, (size_t)r->us * sizeof *r->u);
    for (int i = 0; i < r->inputs; i++)
        copy->input[i].name = arena_string(a, r->input[i].name, strlen(r->input[i].name));
    for (int i = 0; i < r->outputs; i++) {
        struct recipe_output *o = &copy->output[i];
        o->name = arena_string(a, o->name, strlen(o->name));
        o->part = arena_copy(a, o->part, (size_t)o->parts * sizeof *o->part);
    }
    return copy;
}

static bool equal_products(int n, const struct recipe_product *p, int m, const struct recipe_product *q)
{
    bool equal = n == m;
    for (int i = 0; equal && i < n; i++)
        equal = p[i].first == q[i].first && p[i].second == q[i].second;
    return equal;
}

static bool equal_outputs(const struct recipe_output *p, const struct recipe_output *q)
{
    bool equal = p->role == q->role && p->source == q->source && p->copy == q->copy &&
                 p->assign == q->assign && p->prescaled == q->prescaled && p->by_r == q->by_r &&
                 p->parts == q->parts && strcmp(p->name, q->name) == 0;
    for (int i = 0; equal && i < p->parts; i++)
        equal = p->part[i].factor == q->part[i].factor && p->part[i].vector == q->part[i].vector;
    return equal;
}

bool recipe_equal(const struct recipe *p, const struct recipe *q)
{
    bool equal = p->inputs == q->inputs && p->outputs == q->outputs &&
                 equal_products(p->rs, p->r, q->rs, q->r) && equal_products(p->ls, p->l, q->ls, q->l) &&
                 equal_products(p->us, p->u, q->us, q->u);
    for (int i = 0; equal && i < p->inputs; i++)
        equal = p->input[i].role == q->input[i].role && p->input[i].source == q->input[i].source &&
                p->input[i].copy == q->input[i].copy && strcmp(p->input[i].name, q->input[i].name) == 0;
    for (int i = 0; equal && i < p->outputs; i++)
        equal = equal_outputs(&p->output[i], &q->output[i]);
    return equal;
}

bool recipe_reads(const struct recipe *r, int input)
{
    for (int i = 0; i < r->rs; i++)
        if (r->r[i].first == input || r->r[i].second == input)
            return true;
    for (int i = 0; i < r->ls; i++)
        if (r->l[i].first == input || r->l[i].second == input)
            return true;
    for (int i = 0; i < r->us; i++)
        if (r->u[i].first == input || r->u[i].second == input)
            return true;
    for (int o = 0; o < r->outputs; o++)
        for (int p = 0; p < r->output[o].parts; p++)
            if (r->output[o].part[p].factor == input)
                return true;
    return false;
}
