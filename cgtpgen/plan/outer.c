/* outer.c - the code of several paths that read one x and one y: their outer product first.
 *
 * A product of components x[i] y[j] is in rows k of the tensors C_p of several paths. Products that stand in
 * the same rows, each time with coefficients of equal magnitude, are a class, and meet a row as one of few
 * sums and differences of them: where the orders of x and y are m and n, the four products of components +m,
 * -m and +n, -n are in rows of order m + n and |m - n| alone. So a sum that is made once is one multiply-add
 * for each row, by a number that is known, and no linear form is made. What flows back to rows is gathered by
 * class, divided among its products, and multiplied with y and x.
 */
#include "plan/code.h"

#include <stdint.h>
#include <stdlib.h>

enum { MEMBERS_MOST = 64 };

/* A nonzero C_p[i,j,k]. */
struct cell {
    int path, k;
    struct surd magnitude;
    int sign;
};

/* x[i] y[j], and the cells where it stands, ordered. */
struct outer_product {
    int i, j, cells;
    struct cell *cell;
};

/* Products of the same cells; in each these have signs, of which those of the first are taken out: a pattern
 * is the mask of the others that are negative then. */
struct outer_class {
    int members, *member; /* products */
    int patterns;
    uint64_t *pattern;
    int *pattern_of; /* [cells] */
};

/* Outer products that are added up before they meet C: of B input b[n] and A input a[n]. */
struct outer_sum {
    int terms, *a, *b;
    int **value; /* [classes][patterns]; 0: not made yet */
};

/* A cotangent of rows: weights times G. */
struct outer_flow {
    int w, g; /* recipe inputs of path 0; w -1: without weights */
};

/* An output of A or B, and the factor that brings a flow there: B of an output of A. */
struct outer_target {
    int flow, output, factor;
};

struct outer {
    struct arena *arena;
    struct code *code;
    const struct recipe *r;
    int paths, first_inputs; /* of the recipe's inputs, those of path 0 */
    const struct matrix *const *matrix;
    int rows, depth;
    int products, classes;
    struct outer_product *product;
    struct outer_class *class;
    int sums, flows, targets;
    struct outer_sum *sum;
    struct outer_flow *flow;
    struct outer_target *target;
    int *kept; /* [outputs]: partial sums that have names */
};

/* ---- classes ---- */

static struct outer_product *product_at(struct outer *o, int i, int j)
{
    return &o->product[i * o->depth + j];
}

static void find_cells(struct outer *o)
{
    int most = 0;
    o->products = o->rows * o->depth;
    o->product = NEW_ARRAY(o->arena, struct outer_product, o->products);
    for (int p = 0; p < o->paths; p++)
        most += o->matrix[p]->columns;
    for (int n = 0; n < o->products; n++)
        o->product[n] =
            (struct outer_product){n / o->depth, n % o->depth, 0, NEW_ARRAY(o->arena, struct cell, most)};
    for (int p = 0; p < o->paths; p++) {
        const struct matrix *m = o->matrix[p];
        for (int k = 0; k < m->columns; k++)
            for (int i = 0; i < m->rows; i++) {
                const int e = m->entry[i * m->columns + k];
                const struct linear_form *f = e ? &m->form[abs(e) - 1] : NULL;
                for (int t = 0; f && t < f->terms; t++) {
                    struct outer_product *q = product_at(o, i, f->index[t]);
                    struct surd s = f->coefficient[t];
                    const int sign = e < 0 ? -s.sign : s.sign;
                    s.sign = 1;
                    q->cell[q->cells++] = (struct cell){p, k, s, sign};
                }
            }
    }
}

static bool same_cells(const struct outer_product *p, const struct outer_product *q)
{
    bool same = p->cells == q->cells;
    for (int c = 0; c < p->cells && same; c++)
        same = p->cell[c].path == q->cell[c].path && p->cell[c].k == q->cell[c].k &&
               surd_equal(p->cell[c].magnitude, q->cell[c].magnitude);
    return same;
}

static void find_patterns(struct outer *o, struct outer_class *c)
{
    const struct outer_product *first = &o->product[c->member[0]];
    c->pattern = NEW_ARRAY(o->arena, uint64_t, first->cells + 1);
    c->pattern_of = NEW_ARRAY(o->arena, int, first->cells + 1);
    for (int n = 0; n < first->cells; n++) {
        uint64_t mask = 0;
        int p = 0;
        for (int m = 1; m < c->members; m++)
            mask |= (uint64_t)(o->product[c->member[m]].cell[n].sign != first->cell[n].sign) << m;
        while (p < c->patterns && c->pattern[p] != mask)
            p++;
        c->pattern[p] = mask;
        c->patterns += p == c->patterns;
        c->pattern_of[n] = p;
    }
}

static void find_classes(struct outer *o)
{
    o->class = NEW_ARRAY(o->arena, struct outer_class, o->products + 1);
    for (int n = 0; n < o->products; n++) {
        int c = 0;
        if (!o->product[n].cells)
            continue;
        while (c < o->classes && (o->class[c].members == MEMBERS_MOST ||
                                  !same_cells(&o->product[o->class[c].member[0]], &o->product[n])))
            c++;
        if (c == o->classes)
            o->class[o->classes++].member = NEW_ARRAY(o->arena, int, MEMBERS_MOST);
        o->class[c].member[o->class[c].members++] = n;
    }
    for (int c = 0; c < o->classes; c++)
        find_patterns(o, &o->class[c]);
}

/* ---- sums of outer products ---- */

static int load(struct outer *o, int input, int component)
{
    return code_load(o->code, input, component, o->r->input[input].role == ROLE_A);
}

/* The pattern of members `begin` to `end`, of which the sign of the first is taken out; *sign: that one. */
static uint64_t part_of(uint64_t pattern, int begin, int end, int *sign)
{
    uint64_t all = end - begin == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (end - begin)) - 1;
    uint64_t part = pattern >> begin & all;
    *sign = part & 1 ? -1 : 1;
    return part & 1 ? ~part & all : part;
}

/* What is added to a sum of the member's products. */
static int add_product(struct outer *o, const struct outer_sum *s, const struct outer_product *q, int sign,
                       int to)
{
    for (int t = 0; t < s->terms; t++)
        to = code_fma(o->code, sign * load(o, s->b[t], q->i), load(o, s->a[t], q->j), to);
    return to;
}

/* The sum of members `begin` to `end` of a class by their signs. */
static int sum_of(struct outer *o, const struct outer_sum *s, const struct outer_class *c, uint64_t pattern,
                  int begin, int end)
{
    const int middle = (begin + end) / 2;
    int sign;
    if (end - begin == 1)
        return add_product(o, s, &o->product[c->member[begin]], 1, 0);
    int left = sum_of(o, s, c, part_of(pattern, 0, middle - begin, &sign), begin, middle);
    uint64_t right = part_of(pattern, middle - begin, end - begin, &sign);
    if (end - middle == 1 && s->terms == 1)
        return add_product(o, s, &o->product[c->member[middle]], sign, left);
    return code_add(o->code, left, sign * sum_of(o, s, c, right, middle, end));
}

static int pattern_value(struct outer *o, struct outer_sum *s, int class, int pattern)
{
    const struct outer_class *c = &o->class[class];
    int *value = &s->value[class][pattern];
    if (!*value)
        *value = sum_of(o, s, c, c->pattern[pattern], 0, c->members);
    return *value;
}

/* Row k of the path's tensor, of the sum; 0: there is nothing. */
static int row_of(struct outer *o, struct outer_sum *s, int path, int k)
{
    int sum = 0;
    for (int c = 0; c < o->classes; c++) {
        const struct outer_product *first = &o->product[o->class[c].member[0]];
        for (int n = 0; n < first->cells; n++)
            if (first->cell[n].path == path && first->cell[n].k == k)
                sum =
                    code_fma(o->code, first->cell[n].sign * code_constant(o->code, first->cell[n].magnitude),
                             pattern_value(o, s, c, o->class[c].pattern_of[n]), sum);
    }
    return sum;
}

/* ---- the recipe's terms ---- */

/* A term of an output, by recipe inputs; -1: what the output is the derivative by, or no weights. */
struct outer_term {
    int a, b, w, g;
};

static struct outer_term term_of(const struct recipe *r, const struct recipe_output *out, int part)
{
    const int factor = out->part[part].factor, v = out->part[part].vector;
    if (out->role == ROLE_A)
        return (struct outer_term){-1, r->u[v].second, r->u[v].first, factor};
    if (out->role == ROLE_B)
        return (struct outer_term){r->l[v].first, -1, factor, r->l[v].second};
    if (out->role == ROLE_W)
        return out->by_r ? (struct outer_term){r->r[v].first, r->r[v].second, -1, factor}
                         : (struct outer_term){r->l[v].first, factor, -1, r->l[v].second};
    return out->prescaled ? (struct outer_term){factor, r->u[v].second, r->u[v].first, -1}
                          : (struct outer_term){r->r[v].first, r->r[v].second, factor, -1};
}

/* The terms of an output that meet the same weight, or G, as that of part `first`, as a sum of outer
 * products. done: [parts], set for these. */
static int sum_with(struct outer *o, const struct recipe_output *out, int first, bool *done)
{
    const struct outer_term of = term_of(o->r, out, first);
    struct outer_sum *s = &o->sum[o->sums];
    *s = (struct outer_sum){0, NEW_ARRAY(o->arena, int, out->parts), NEW_ARRAY(o->arena, int, out->parts),
                            NULL};
    for (int i = first; i < out->parts; i++) {
        const struct outer_term t = term_of(o->r, out, i);
        if (t.w != of.w || t.g != of.g)
            continue;
        s->a[s->terms] = t.a;
        s->b[s->terms++] = t.b;
        done[i] = true;
    }
    for (int i = 0; i < o->sums; i++) {
        const struct outer_sum *q = &o->sum[i];
        int found = 0;
        for (int n = 0; n < s->terms && q->terms == s->terms; n++)
            for (int k = 0; k < q->terms; k++)
                found += q->a[k] == s->a[n] && q->b[k] == s->b[n];
        if (found == s->terms)
            return i;
    }
    s->value = NEW_ARRAY(o->arena, int *, o->classes + 1);
    for (int c = 0; c < o->classes; c++)
        s->value[c] = NEW_ARRAY(o->arena, int, o->class[c].patterns);
    return o->sums++;
}

/* ---- outputs of G and W ---- */

/* A partial sum that has a name, so that what it is made of is needed no longer. */
static int kept(struct outer *o, int output, int value)
{
    code_name(o->code, value, CODE_KEPT, output, o->kept[output]++);
    return value;
}

static int begin(struct outer *o, int output, int component)
{
    return o->r->output[output].assign ? 0 : code_load(o->code, o->r->inputs + output, component, false);
}

static void end(struct outer *o, int output, int component, int value)
{
    if (value != begin(o, output, component))
        code_result(o->code, output, component, value, false);
}

/* What of an output of G or W comes of row k of path `path`: a G output's component is complete then. */
static void add_row(struct outer *o, int output, int path, int k, int *weight_sum)
{
    const struct recipe_output *out = &o->r->output[output];
    bool *done = NEW_ARRAY(o->arena, bool, out->parts + 1);
    int sum = out->role == ROLE_G ? begin(o, output, k) : *weight_sum;
    for (int i = 0; i < out->parts; i++) {
        if (done[i])
            continue;
        const struct outer_term t = term_of(o->r, out, i);
        const int row = row_of(o, &o->sum[sum_with(o, out, i, done)], path, k);
        if (!row)
            continue;
        if (out->role == ROLE_W)
            sum = kept(o, output, code_fma(o->code, load(o, t.g, k), row, sum));
        else
            sum = t.w < 0 ? code_add(o->code, sum, row) : code_fma(o->code, load(o, t.w, 0), row, sum);
    }
    if (out->role == ROLE_G)
        end(o, output, k, sum);
    else
        *weight_sum = sum;
}

/* Rows of one order follow each other: they are made of the same products. */
static void lower_rows(struct outer *o)
{
    int *weight_sum = NEW_ARRAY(o->arena, int, o->r->outputs + 1), l = 0;
    for (int p = 0; p < o->paths; p++)
        l = o->matrix[p]->columns / 2 > l ? o->matrix[p]->columns / 2 : l;
    for (int n = 0; n <= 2 * l; n++) {
        const int order = n % 2 ? -(n + 1) / 2 : n / 2;
        for (int p = 0; p < o->paths; p++)
            for (int output = 0; output < o->r->outputs; output++) {
                const struct recipe_output *out = &o->r->output[output];
                if ((out->role == ROLE_G || out->role == ROLE_W) && out->copy == p &&
                    abs(order) <= o->matrix[p]->columns / 2)
                    add_row(o, output, p, o->matrix[p]->columns / 2 + order, &weight_sum[output]);
            }
    }
    for (int output = 0; output < o->r->outputs; output++)
        if (o->r->output[output].role == ROLE_W) {
            const int before = begin(o, output, 0);
            end(o, output, 0,
                before && weight_sum[output] ? code_add(o->code, before, weight_sum[output])
                                             : weight_sum[output]);
        }
}

/* ---- outputs of A and B ---- */

static void find_flows(struct outer *o)
{
    for (int output = 0; output < o->r->outputs; output++) {
        const struct recipe_output *out = &o->r->output[output];
        for (int i = 0; i < out->parts && (out->role == ROLE_A || out->role == ROLE_B); i++) {
            const struct outer_term t = term_of(o->r, out, i);
            int f = 0;
            if (o->r->input[t.g].copy)
                continue;
            while (f < o->flows && (o->flow[f].w != t.w || o->flow[f].g != t.g))
                f++;
            o->flow[f] = (struct outer_flow){t.w, t.g};
            o->flows += f == o->flows;
            o->target[o->targets++] = (struct outer_target){f, output, out->role == ROLE_A ? t.b : t.a};
        }
    }
}

/* While what flows back to one class is divided among its products. */
struct dividing {
    struct outer *o;
    const struct outer_class *class;
    int flow, **sum; /* [outputs][components] */
};

static void add_to_targets(const struct dividing *d, const struct outer_product *q, int value)
{
    struct outer *o = d->o;
    for (int t = 0; t < o->targets && value; t++) {
        const struct outer_target *to = &o->target[t];
        const bool a = o->r->output[to->output].role == ROLE_A;
        int *sum = &d->sum[to->output][a ? q->j : q->i];
        if (to->flow == d->flow)
            *sum = kept(o, to->output, code_fma(o->code, value, load(o, to->factor, a ? q->i : q->j), *sum));
    }
}

/* What has flowed back to some patterns of members from `begin` to `end`. */
static void divide(const struct dividing *d, int begin, int end, int n, const uint64_t *pattern,
                   const int *value)
{
    struct outer *o = d->o;
    const int middle = (begin + end) / 2;
    if (end - begin == 1) {
        add_to_targets(d, &o->product[d->class->member[begin]], value[0]);
        return;
    }
    for (int half = 0; half < 2; half++) {
        const int from = half ? middle : begin, to = half ? end : middle;
        uint64_t *mask = NEW_ARRAY(o->arena, uint64_t, n);
        int *sum = NEW_ARRAY(o->arena, int, n), masks = 0;
        for (int i = 0; i < n; i++) {
            int sign, k = 0;
            const uint64_t part = part_of(pattern[i], from - begin, to - begin, &sign);
            while (k < masks && mask[k] != part)
                k++;
            mask[k] = part;
            masks += k == masks;
            sum[k] = code_add(o->code, sum[k], sign * value[i]);
        }
        divide(d, from, to, masks, mask, sum);
    }
}

/* The flow by path and row: value[path][k]. */
static int **flow_values(struct outer *o, const struct outer_flow *f)
{
    int **value = NEW_ARRAY(o->arena, int *, o->paths);
    for (int p = 0; p < o->paths; p++) {
        value[p] = NEW_ARRAY(o->arena, int, o->matrix[p]->columns);
        for (int k = 0; k < o->matrix[p]->columns; k++) {
            value[p][k] = load(o, p * o->first_inputs + f->g, k);
            if (f->w >= 0)
                value[p][k] = code_mul(o->code, load(o, p * o->first_inputs + f->w, 0), value[p][k]);
        }
    }
    return value;
}

static void lower_flow(struct outer *o, int flow, int **sum)
{
    int *const *value = flow_values(o, &o->flow[flow]);
    for (int c = 0; c < o->classes; c++) {
        const struct dividing d = {o, &o->class[c], flow, sum};
        const struct outer_product *first = &o->product[d.class->member[0]];
        int *back = NEW_ARRAY(o->arena, int, d.class->patterns);
        for (int n = 0; n < first->cells; n++) {
            const struct cell *at = &first->cell[n];
            int *to = &back[d.class->pattern_of[n]];
            *to = code_fma(o->code, at->sign * code_constant(o->code, at->magnitude), value[at->path][at->k],
                           *to);
        }
        divide(&d, 0, d.class->members, d.class->patterns, d.class->pattern, back);
    }
}

static void lower_flows(struct outer *o)
{
    int **sum = NEW_ARRAY(o->arena, int *, o->r->outputs + 1);
    find_flows(o);
    for (int out = 0; out < o->r->outputs; out++) {
        const enum role role = o->r->output[out].role;
        const int n = role == ROLE_A ? o->depth : role == ROLE_B ? o->rows : 0;
        sum[out] = NEW_ARRAY(o->arena, int, n + 1);
        for (int i = 0; i < n; i++)
            sum[out][i] = begin(o, out, i);
    }
    for (int f = 0; f < o->flows; f++)
        lower_flow(o, f, sum);
    for (int out = 0; out < o->r->outputs; out++) {
        const enum role role = o->r->output[out].role;
        const int n = role == ROLE_A ? o->depth : role == ROLE_B ? o->rows : 0;
        for (int i = 0; i < n; i++)
            if (sum[out][i])
                end(o, out, i, sum[out][i]);
    }
}

struct code *code_lower_outer(struct arena *a, const struct recipe *r, int n,
                              const struct matrix *const *matrix)
{
    struct arena *scratch = arena_scratch(a);
    int parts = 0;
    for (int o = 0; o < r->outputs; o++)
        parts += r->output[o].parts;
    struct outer o = {.arena = scratch,
                      .code = code_begin(scratch, r),
                      .r = r,
                      .paths = n,
                      .first_inputs = r->inputs / n,
                      .matrix = matrix,
                      .rows = matrix[0]->rows,
                      .depth = matrix[0]->depth,
                      .sum = NEW_ARRAY(scratch, struct outer_sum, parts + 1),
                      .flow = NEW_ARRAY(scratch, struct outer_flow, parts + 1),
                      .target = NEW_ARRAY(scratch, struct outer_target, parts + 1),
                      .kept = NEW_ARRAY(scratch, int, r->outputs + 1)};
    find_cells(&o);
    find_classes(&o);
    lower_rows(&o);
    lower_flows(&o);
    struct code *code = code_finish(a, o.code);
    code->matrices = n;
    code_find_named(code);
    code->matrix = arena_copy(a, matrix, (size_t)n * sizeof *matrix);
    arena_empty(scratch);
    return code;
}
