/* lower.c - a recipe by a matrix, as code (code.h).
 *
 * Vectors are a product of scalars times components, and the scalars are multiplied only where they must be:
 * where a vector is added to an output, or after the sum of a dot product. A vector of one component is a
 * scalar alone, its component is one. So matrices that are a multiple of the identity, a row or a column need
 * no rules of their own: their form, or the operand of one component, is a scalar that passes through M.
 *
 * The order of scalars decides which products are shared: weight and form first in outputs of z and B, b and
 * g first in those of w and A.
 */
#include "plan/code.h"

enum { FACTORS = 6 }; /* more than meet anywhere: w, a form, b, g and a sum of products */

struct factors {
    int n, factor[FACTORS];
};

struct vector {
    struct factors scale;
    int *component; /* values */
};

/* x[i] * y[i], to be added up. */
struct products {
    int n, *x, *y;
};

struct lowering {
    struct arena *arena;
    struct code *code;
    const struct recipe *r;
    const struct matrix *m;
    bool tied, blind;
    bool mixes; /* M is no multiple of the identity and no column: a scaled B is multiplied out before */
    struct vector *form;        /* [inputs] of role A */
    struct vector *u, *rv, *lv; /* U, R, L of the recipe */
    int vs;
    struct products products;
};

/* ---- scalars and vectors ---- */

static struct factors joined(struct factors a, struct factors b)
{
    for (int i = 0; i < b.n; i++)
        a.factor[a.n++] = b.factor[i];
    return a;
}

/* The same with those that came last in front. */
static struct factors reversed(struct factors a)
{
    struct factors f = {.n = a.n};
    for (int i = 0; i < a.n; i++)
        f.factor[i] = a.factor[a.n - 1 - i];
    return f;
}

static int one(struct lowering *l)
{
    return code_constant(l->code, surd_make(1, (struct rat){nat_one, nat_one}));
}

/* A vector of these components; a single one becomes a scalar. */
static struct vector make_vector(struct lowering *l, struct factors scale, int n, const int *component)
{
    struct vector v = {scale, NEW_ARRAY(l->arena, int, n)};
    for (int i = 0; i < n; i++)
        v.component[i] = component[i];
    if (n == 1 && !code_is_unit(l->code, component[0])) {
        v.scale.factor[v.scale.n++] = component[0] < 0 ? -component[0] : component[0];
        v.component[0] = component[0] < 0 ? -one(l) : one(l);
    }
    return v;
}

/* Multiplies factors, from the first on, until `left` remain. */
static struct factors reduce(struct lowering *l, struct factors f, int left)
{
    while (f.n > left) {
        f.factor[0] = code_mul(l->code, f.factor[0], f.factor[1]);
        for (int i = 1; i + 1 < f.n; i++)
            f.factor[i] = f.factor[i + 1];
        f.n--;
    }
    return f;
}

/* sum + product of the factors * component */
static int add_scaled(struct lowering *l, int sum, struct factors scale, int component)
{
    bool unit = code_is_unit(l->code, component);
    scale = reduce(l, scale, unit ? 2 : 1);
    if (scale.n == 0)
        return code_add(l->code, sum, component);
    if (scale.n == 1)
        return code_fma(l->code, scale.factor[0], component, sum);
    return code_fma(l->code, component < 0 ? -scale.factor[0] : scale.factor[0], scale.factor[1], sum);
}

/* sum + product of the factors * sum of the products */
static int add_products(struct lowering *l, int sum, struct factors scale, struct products p)
{
    struct code *c = l->code;
    if (p.n == 1 && (code_is_unit(c, p.x[0]) || code_is_unit(c, p.y[0])))
        return add_scaled(l, sum, scale, code_mul(c, p.x[0], p.y[0]));
    int inner = scale.n ? 0 : sum;
    for (int i = 0; i < p.n; i++)
        inner = code_fma(c, p.x[i], p.y[i], inner);
    if (!scale.n)
        return inner;
    scale.factor[scale.n++] = inner < 0 ? -inner : inner;
    return add_scaled(l, sum, scale, inner < 0 ? -one(l) : one(l));
}

/* ---- operands and products with M ---- */

static int components(const struct lowering *l, enum role role)
{
    return role == ROLE_A ? l->m->depth : role == ROLE_B ? l->m->rows : role == ROLE_G ? l->m->columns : 1;
}

/* A recipe input; no factor and component one for -1, which stands for a weight that is not there. */
static struct vector operand(struct lowering *l, int input)
{
    int n = input < 0 ? 1 : components(l, l->r->input[input].role);
    int *component = NEW_ARRAY(l->arena, int, n);
    for (int i = 0; i < n; i++)
        component[i] = input < 0 ? one(l) : code_load(l->code, input, i, false);
    return make_vector(l, (struct factors){0}, n, component);
}

static void make_forms(struct lowering *l, int input)
{
    const struct matrix *m = l->m;
    int *value = NEW_ARRAY(l->arena, int, m->forms + 1);
    for (int f = 0; f < m->forms; f++) {
        const struct linear_form *form = &m->form[f];
        for (int t = 0; t < form->terms; t++)
            value[f] = code_fma(l->code, code_constant(l->code, form->coefficient[t]),
                                code_load(l->code, input, form->index[t], !l->tied), value[f]);
        code_name(l->code, value[f], 'f', input, f);
    }
    l->form[input] = make_vector(l, (struct factors){0}, m->forms, value);
}

/* The entry's form of A input a with its sign, as a component of l->form[a]. */
static int entry(const struct lowering *l, int a, int i, int k)
{
    int e = l->m->entry[i * l->m->columns + k];
    return e > 0 ? l->form[a].component[e - 1] : e < 0 ? -l->form[a].component[-e - 1] : 0;
}

static void start(struct lowering *l)
{
    l->products.n = 0;
}

static void product(struct lowering *l, int x, int y)
{
    if (x == 0 || y == 0)
        return;
    l->products.x[l->products.n] = x;
    l->products.y[l->products.n++] = y;
}

/* M_a b, or M_a g where transposed. */
static struct vector apply(struct lowering *l, int a, struct vector v, bool transposed, char letter,
                           int number)
{
    const struct matrix *m = l->m;
    int n = transposed ? m->rows : m->columns, inner = transposed ? m->columns : m->rows;
    int *component = NEW_ARRAY(l->arena, int, n);
    for (int q = 0; q < n; q++) {
        start(l);
        for (int p = 0; p < inner; p++)
            product(l, transposed ? entry(l, a, q, p) : entry(l, a, p, q), v.component[p]);
        component[q] = add_products(l, 0, (struct factors){0}, l->products);
        code_name(l->code, component[q], letter, number, q);
    }
    return make_vector(l, joined(l->form[a].scale, v.scale), n, component);
}

static struct vector scaled(struct lowering *l, int w, struct vector v)
{
    v.scale = joined(operand(l, w).scale, v.scale);
    return v;
}

/* U: b by a weight; multiplied out where M mixes components. */
static struct vector make_u(struct lowering *l, int number)
{
    const struct recipe_product *p = &l->r->u[number];
    struct vector v = scaled(l, p->first, operand(l, p->second));
    if (!l->mixes || p->first < 0)
        return v;
    int *component = NEW_ARRAY(l->arena, int, l->m->rows);
    for (int i = 0; i < l->m->rows; i++) {
        component[i] = add_scaled(l, 0, v.scale, v.component[i]);
        code_name(l->code, component[i], 'u', number, i);
    }
    return make_vector(l, (struct factors){0}, l->m->rows, component);
}

/* Sums of vectors of n components that have no scalars, or have nothing else. */
static struct vector sum_of(struct lowering *l, int n, int vectors, const struct vector *v, char letter)
{
    int *component = NEW_ARRAY(l->arena, int, n);
    for (int i = 0; i < n; i++) {
        for (int p = 0; p < vectors; p++)
            component[i] = add_scaled(l, component[i], v[p].scale, v[p].component[i]);
        code_name(l->code, component[i], letter, l->vs, i);
    }
    l->vs++;
    return make_vector(l, (struct factors){0}, n, component);
}

/* ---- outputs ---- */

static int begin(struct lowering *l, int o, int component)
{
    bool reads = !l->r->output[o].assign && !l->blind;
    return reads ? code_load(l->code, l->r->inputs + o, component, false) : 0;
}

static void end(struct lowering *l, int o, int component, int value)
{
    code_result(l->code, o, component, value, l->blind && !l->r->output[o].assign);
}

/* The vectors of the parts from `first` on that meet the same factor: one sum of them where that saves
 * products, or else one after the other. Returns their number; *parts: of the parts they stand for. */
static int same_factor(struct lowering *l, const struct recipe_output *o, int first, const struct vector *all,
                       int n, bool join, struct vector *v, int *parts)
{
    int end = first;
    for (; end < o->parts && o->part[end].factor == o->part[first].factor; end++)
        v[end - first] = all[o->part[end].vector];
    *parts = end - first;
    for (int i = 0; i < *parts; i++)
        join &= v[i].scale.n == 0 || n == 1;
    if (!join || *parts == 1)
        return *parts;
    v[0] = sum_of(l, n, *parts, v, 'v');
    return 1;
}

/* Has v[p] the components of a vector before? Then its scalars join that one's, as a sum of scalars. */
static bool joins_equal(struct lowering *l, struct vector *v, int p, int n)
{
    for (int q = 0; q < p && n > 1 && v[p].scale.n; q++) {
        bool equal = v[q].scale.n > 0;
        for (int i = 0; i < n; i++)
            equal &= v[q].component[i] == v[p].component[i];
        if (!equal)
            continue;
        struct factors all = reduce(l, v[q].scale, 1);
        int sum = add_scaled(l, all.factor[0], v[p].scale, one(l));
        v[q].scale = (struct factors){1, {sum}};
        return true;
    }
    return false;
}

/* Adds vectors to output `number`. */
static void lower_sum(struct lowering *l, int number, int vectors, struct vector *v, int n)
{
    int count = 0;
    for (int p = 0; p < vectors; p++) {
        v[count] = v[p];
        count += !joins_equal(l, v, count, n);
    }
    for (int i = 0; i < n; i++) {
        int sum = begin(l, number, i);
        for (int p = 0; p < count; p++)
            sum = add_scaled(l, sum, v[p].scale, v[p].component[i]);
        end(l, number, i, sum);
    }
}

/* G and B outputs: sums of weighted R or L. */
static void lower_weighted(struct lowering *l, int number, const struct vector *all, int n)
{
    const struct recipe_output *o = &l->r->output[number];
    struct vector *v = NEW_ARRAY(l->arena, struct vector, o->parts + 1);
    int count = 0, parts = 0;
    for (int p = 0; p < o->parts; p += parts) {
        int more = same_factor(l, o, p, all, n, l->mixes, v + count, &parts);
        for (int i = 0; i < more; i++, count++)
            v[count] = scaled(l, o->part[p].factor, v[count]);
    }
    lower_sum(l, number, count, v, n);
}

static void lower_weight_gradient(struct lowering *l, int number)
{
    const struct recipe_output *o = &l->r->output[number];
    int sum = begin(l, number, 0);
    for (int p = 0; p < o->parts; p++) {
        struct vector b = operand(l, o->part[p].factor);
        struct vector v = (o->by_r ? l->rv : l->lv)[o->part[p].vector];
        start(l);
        for (int i = 0; i < components(l, o->by_r ? ROLE_G : ROLE_B); i++)
            product(l, b.component[i], v.component[i]);
        sum = add_products(l, sum, joined(b.scale, reversed(v.scale)), l->products);
    }
    end(l, number, 0, sum);
}

/* What meets each part's factor in a prescaled G output or an A output: parts become pairs of the two. */
struct pairs {
    int n;
    int *factor; /* recipe input */
    struct vector *v;
};

static struct pairs pairs_of(struct lowering *l, const struct recipe_output *o)
{
    struct pairs q = {0, NEW_ARRAY(l->arena, int, o->parts + 1),
                      NEW_ARRAY(l->arena, struct vector, o->parts + 1)};
    int parts = 0;
    for (int p = 0; p < o->parts; p += parts) {
        int more = same_factor(l, o, p, l->u, l->m->rows, l->mixes, q.v + q.n, &parts);
        for (int i = 0; i < more; i++)
            q.factor[q.n++] = o->part[p].factor;
    }
    return q;
}

/* G output by M of scaled B. Where M mixes components its products are added to the output one by one. */
static void lower_prescaled(struct lowering *l, int number)
{
    struct pairs q = pairs_of(l, &l->r->output[number]);
    if (!l->mixes) {
        for (int p = 0; p < q.n; p++)
            q.v[p] = apply(l, q.factor[p], q.v[p], false, 0, 0);
        lower_sum(l, number, q.n, q.v, l->m->columns);
        return;
    }
    for (int k = 0; k < l->m->columns; k++) {
        int sum = begin(l, number, k);
        for (int p = 0; p < q.n; p++) {
            start(l);
            for (int i = 0; i < l->m->rows; i++)
                product(l, entry(l, q.factor[p], i, k), q.v[p].component[i]);
            sum = add_products(l, sum, joined(l->form[q.factor[p]].scale, q.v[p].scale), l->products);
        }
        end(l, number, k, sum);
    }
}

/* sum + sign * what flows back to form f */
static int add_reverse(struct lowering *l, int sum, const struct pairs *q, int f)
{
    const struct matrix *m = l->m;
    for (int p = 0; p < q->n; p++) {
        struct vector g = operand(l, q->factor[p]);
        start(l);
        for (int cell = 0; cell < m->rows * m->columns; cell++) {
            int e = m->entry[cell], x = q->v[p].component[cell / m->columns];
            if (e == f + 1 || e == -f - 1)
                product(l, e < 0 ? -x : x, g.component[cell % m->columns]);
        }
        sum = add_products(l, sum, joined(g.scale, reversed(q->v[p].scale)), l->products);
    }
    return sum;
}

/* Is the form one component of A as it is? Then its gradient needs no name of its own. */
static bool is_bare(const struct linear_form *f)
{
    return f->terms == 1 && surd_is_one(f->coefficient[0]);
}

/* A output: reverse mode of the forms. */
static void lower_reverse(struct lowering *l, int number)
{
    const struct matrix *m = l->m;
    struct pairs q = pairs_of(l, &l->r->output[number]);
    int *flow = NEW_ARRAY(l->arena, int, m->forms + 1);
    for (int f = 0; f < m->forms; f++)
        if (!is_bare(&m->form[f])) {
            flow[f] = add_reverse(l, 0, &q, f);
            code_name(l->code, flow[f], 'q', number, f);
        }
    for (int j = 0; j < m->depth; j++) {
        int sum = begin(l, number, j);
        for (int f = 0; f < m->forms; f++)
            for (int t = 0; t < m->form[f].terms; t++) {
                if (m->form[f].index[t] != j)
                    continue;
                if (is_bare(&m->form[f]))
                    sum = add_reverse(l, sum, &q, f);
                else
                    sum = code_fma(l->code, code_constant(l->code, m->form[f].coefficient[t]), flow[f], sum);
            }
        end(l, number, j, sum);
    }
}

struct code *code_lower(struct arena *a, const struct recipe *r, const struct matrix *m, bool tied,
                        bool blind)
{
    int cells = m->rows * m->columns + 1;
    struct arena *scratch = arena_scratch(a);
    struct lowering l = {.arena = scratch,
                         .code = code_begin(scratch, r),
                         .r = r,
                         .m = m,
                         .tied = tied,
                         .blind = blind,
                         .mixes = m->columns > 1 && m->forms > 1,
                         .form = NEW_ARRAY(scratch, struct vector, r->inputs + 1),
                         .u = NEW_ARRAY(scratch, struct vector, r->us + 1),
                         .rv = NEW_ARRAY(scratch, struct vector, r->rs + 1),
                         .lv = NEW_ARRAY(scratch, struct vector, r->ls + 1),
                         .products = {0, NEW_ARRAY(scratch, int, cells), NEW_ARRAY(scratch, int, cells)}};
    for (int i = 0; i < r->inputs; i++)
        if (r->input[i].role == ROLE_A)
            make_forms(&l, i);
    for (int i = 0; i < r->us; i++)
        l.u[i] = make_u(&l, i);
    for (int i = 0; i < r->rs; i++)
        l.rv[i] = apply(&l, r->r[i].first, operand(&l, r->r[i].second), false, 'r', i);
    for (int i = 0; i < r->ls; i++)
        l.lv[i] = apply(&l, r->l[i].first, operand(&l, r->l[i].second), true, 'l', i);
    for (int o = 0; o < r->outputs; o++) {
        const struct recipe_output *out = &r->output[o];
        if (out->role == ROLE_W)
            lower_weight_gradient(&l, o);
        else if (out->role == ROLE_A)
            lower_reverse(&l, o);
        else if (out->role == ROLE_B)
            lower_weighted(&l, o, l.lv, m->rows);
        else if (out->prescaled)
            lower_prescaled(&l, o);
        else
            lower_weighted(&l, o, l.rv, m->columns);
    }
    struct code *code = code_finish(a, l.code);
    arena_empty(scratch);
    return code;
}
