/* matrix.c - see matrix.h. */
#include "plan/matrix.h"

#include <math.h>
#include <string.h>

/* Adds the form of one entry to the list unless it or its negative is there; returns +-(form + 1). */
static int intern(struct matrix *m, const struct linear_form *f, int sign)
{
    for (int i = 0; i < m->forms; i++) {
        const struct linear_form *g = &m->form[i];
        bool equal = g->terms == f->terms;
        for (int t = 0; equal && t < f->terms; t++)
            equal = g->index[t] == f->index[t] && surd_equal(g->coefficient[t], f->coefficient[t]);
        if (equal)
            return sign * (i + 1);
    }
    m->form[m->forms] = *f;
    m->form_terms += f->terms;
    return sign * ++m->forms;
}

/* The entry of a cell, whose form is new or known. */
static void add_entry(struct matrix *m, int cell, struct linear_form *f)
{
    if (f->terms == 0)
        return;
    int sign = f->coefficient[0].sign;
    for (int t = 0; t < f->terms && sign < 0; t++)
        f->coefficient[t] = surd_negate(f->coefficient[t]);
    m->entry[cell] = intern(m, f, sign);
    m->entries++;
}

/* ---- choice of column factors: by approximate values, as only the cost depends on them ---- */

enum { ROOTS = 512 };

/* A value: taking roots is long work, and the same few coefficients come again and again. */
struct root {
    struct surd of;
    double value;
};

/* s is not zero. */
static double value_of(struct matrices *all, struct surd s)
{
    int sign = s.sign;
    s.sign = 1;
    if (!all->root)
        all->root = NEW_ARRAY(all->arena, struct root, ROOTS);
    struct root *r = &all->root[(s.square.num.limb[0] * 31 + s.square.den.limb[0]) % ROOTS];
    if (!surd_equal(r->of, s))
        *r = (struct root){s, surd_double(s)};
    return sign * r->value;
}

/* A scaled matrix while it is made; values are those of coefficients. */
struct scaling {
    struct matrix *m;
    const struct linear_form
        *cell;           /* [rows * columns]: entries, those of columns that are done without their factor */
    double **cell_value; /* [rows * columns]: of the whole coefficients */
    double **form_value; /* [forms] */
};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* Operations to compute the form of n terms that is `value / factor`. */
static int form_cost(int n, const double *value, double factor)
{
    int units = 0;
    for (int t = 0; t < n; t++)
        units += near(fabs(value[t]), factor);
    return n - 1 + n - units;
}

/* Is cell / factor a form up to sign? */
static bool is_known(const struct scaling *s, int cell, double factor)
{
    const struct linear_form *f = &s->cell[cell];
    const double *value = s->cell_value[cell];
    for (int i = 0; i < s->m->forms; i++) {
        const struct linear_form *g = &s->m->form[i];
        bool equal = f->terms == g->terms;
        double sign = value[0] * s->form_value[i][0] < 0 ? -1 : 1;
        for (int t = 0; equal && t < f->terms; t++)
            equal = f->index[t] == g->index[t] && near(sign * value[t] / factor, s->form_value[i][t]);
        if (equal)
            return true;
    }
    return false;
}

/* What column k costs without the factor. */
static int column_cost(const struct scaling *s, int k, double factor)
{
    int cost = 0;
    for (int cell = k; cell < s->m->rows * s->m->columns; cell += s->m->columns) {
        int n = s->cell[cell].terms;
        if (n && !is_known(s, cell, factor))
            cost += form_cost(n, s->cell_value[cell], factor) * 2 + (n > 1);
    }
    return cost;
}

/* The magnitude of a coefficient of column k that costs least when taken out, each tried once; its value. */
static struct surd choose_factor(const struct scaling *s, int k, double *value)
{
    struct surd best = {0};
    double tried[2 * L_MAX + 1];
    int least = 0, n = 0;
    for (int cell = k; cell < s->m->rows * s->m->columns; cell += s->m->columns)
        for (int t = 0; t < s->cell[cell].terms; t++) {
            double factor = fabs(s->cell_value[cell][t]);
            int same = 0;
            while (same < n && tried[same] != factor)
                same++;
            if (same < n)
                continue;
            if (n < 2 * L_MAX + 1)
                tried[n++] = factor;
            int cost = column_cost(s, k, factor);
            if (best.sign == 0 || cost < least) {
                least = cost;
                best = s->cell[cell].coefficient[t];
                best.sign = 1;
                *value = factor;
            }
        }
    return best;
}

/* Takes the factor out of every column. */
static void scale_columns(struct matrices *all, struct matrix *m, struct linear_form *cell, struct surd scale)
{
    struct arena *a = all->arena, *scratch = arena_scratch(a);
    int cells = m->rows * m->columns;
    struct scaling s = {m, cell, NEW_ARRAY(scratch, double *, cells), NEW_ARRAY(scratch, double *, cells)};
    for (int i = 0; i < cells; i++) {
        s.cell_value[i] = NEW_ARRAY(scratch, double, cell[i].terms);
        for (int t = 0; t < cell[i].terms; t++)
            s.cell_value[i][t] = value_of(all, cell[i].coefficient[t]);
    }
    m->column = NEW_ARRAY(a, struct surd, m->columns);
    for (int k = 0; k < m->columns; k++) {
        double value = 0;
        struct surd factor = choose_factor(&s, k, &value);
        if (factor.sign)
            m->column[k] = surd_mul(a, factor, scale);
        for (int i = k; i < cells; i += m->columns) {
            int known = m->forms;
            for (int t = 0; t < cell[i].terms; t++)
                cell[i].coefficient[t] = surd_div(a, cell[i].coefficient[t], factor);
            add_entry(m, i, &cell[i]);
            if (m->forms == known)
                continue;
            s.form_value[known] = s.cell_value[i];
            for (int t = 0; t < cell[i].terms; t++)
                s.form_value[known][t] /= value;
        }
    }
    arena_empty(scratch);
}

/* The entries of the path's tensor as forms, times `scale`. */
static struct linear_form *cells_of(struct arena *a, const struct matrix *m, const struct cg *cg,
                                    struct surd scale)
{
    int cells = m->rows * m->columns;
    struct linear_form *cell = NEW_ARRAY(a, struct linear_form, cells);
    /* Entries come sorted by (i, j, k), so within a cell the index of A ascends. */
    for (int pass = 0; pass < 2; pass++) {
        for (int e = 0; e < cg->n; e++) {
            const struct cg_entry *c = &cg->entry[e];
            const int at[SLOT_COUNT] = {[SLOT_X] = c->i, [SLOT_Y] = c->j, [SLOT_G] = c->k};
            struct linear_form *f = &cell[at[m->b] * m->columns + at[m->g]];
            if (pass == 1) {
                f->index[f->terms] = at[m->a];
                f->coefficient[f->terms] = surd_is_one(scale) ? c->value : surd_mul(a, scale, c->value);
            }
            f->terms++;
        }
        for (int i = 0; pass == 0 && i < cells; i++) {
            cell[i].index = NEW_ARRAY(a, int, cell[i].terms);
            cell[i].coefficient = NEW_ARRAY(a, struct surd, cell[i].terms);
            cell[i].terms = 0;
        }
    }
    return cell;
}

static struct matrix *build(struct matrices *all, const struct path *p, enum slot slot_a, enum slot g,
                            bool scaled)
{
    struct arena *a = all->arena;
    const enum slot b = (enum slot)(SLOT_X + SLOT_Y + SLOT_G - slot_a - g);
    struct matrix *m = NEW(a, struct matrix);
    *m = (struct matrix){
        .l1 = p->l1,
        .l2 = p->l2,
        .l3 = p->l3,
        .a = slot_a,
        .b = b,
        .g = g,
        .scale = p->coefficient,
        .rows = 2 * path_degree(p, b) + 1,
        .columns = 2 * path_degree(p, g) + 1,
        .depth = 2 * path_degree(p, slot_a) + 1,
    };
    int cells = m->rows * m->columns;
    m->entry = NEW_ARRAY(a, int, cells);
    m->form = NEW_ARRAY(a, struct linear_form, cells);
    const struct surd one = surd_make(1, (struct rat){nat_one, nat_one});
    struct linear_form *cell = cells_of(a, m, p->cg, scaled ? one : p->coefficient);
    if (scaled)
        scale_columns(all, m, cell, p->coefficient);
    for (int k = 0; k < m->columns && !scaled; k++)
        for (int i = k; i < cells; i += m->columns)
            add_entry(m, i, &cell[i]);
    return m;
}

static const struct matrix *find(struct matrices *all, const struct path *p, enum slot a, enum slot g,
                                 bool scaled)
{
    const int kind[] = {p->l1, p->l2, p->l3, (int)a, (int)g, scaled};
    uint32_t key = hash_bytes(surd_hash(p->coefficient), kind, sizeof kind);
    for (int i = hash_first(&all->hash, key); i >= 0; i = hash_next(&all->hash, i)) {
        const struct matrix *m = all->matrix[i];
        const int other[] = {m->l1, m->l2, m->l3, (int)m->a, (int)m->g, m->column != NULL};
        if (!memcmp(other, kind, sizeof kind) && surd_equal(m->scale, p->coefficient))
            return m;
    }
    all->hash.arena = all->arena;
    hash_add(&all->hash, key);
    all->matrix = arena_grow(all->arena, all->matrix, all->n, &all->capacity, sizeof(struct matrix *));
    return all->matrix[all->n++] = build(all, p, a, g, scaled);
}

const struct matrix *matrix_of(struct matrices *all, const struct path *p, enum slot a, enum slot g)
{
    return find(all, p, a, g, false);
}

const struct matrix *matrix_scaled(struct matrices *all, const struct path *p, enum slot a)
{
    return find(all, p, a, SLOT_G, true);
}

bool matrix_same(const struct matrix *m, const struct matrix *o)
{
    return m->l1 == o->l1 && m->l2 == o->l2 && m->l3 == o->l3 && m->a == o->a && m->g == o->g &&
           !m->column == !o->column && surd_equal(m->scale, o->scale);
}

uint32_t matrix_hash(uint32_t key, const struct matrix *m)
{
    const int kind[] = {m->l1, m->l2, m->l3, (int)m->a, (int)m->g, m->column != NULL};
    const uint32_t scale = surd_hash(m->scale);
    return hash_bytes(hash_bytes(key, kind, sizeof kind), &scale, sizeof scale);
}

const struct matrix *matrix_kind(struct arena *a, const struct matrix *m)
{
    struct matrix *kind = arena_copy(a, m, sizeof *m);
    kind->form = NULL;
    kind->entry = NULL;
    kind->scale = surd_copy(a, m->scale);
    kind->column = m->column ? &kind->scale : NULL; /* that there are factors */
    return kind;
}

bool matrix_has_factors(const struct matrix *m)
{
    for (int k = 0; k < m->columns && m->column; k++)
        if (m->column[k].sign && !surd_is_one(m->column[k]))
            return true;
    return false;
}
