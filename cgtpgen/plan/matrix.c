/* matrix.c - see matrix.h. */
#include "plan/matrix.h"

#include <math.h>

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

/* ---- choice of column factors: by approximate values, as only the cost depends on them ---- */

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* Operations to compute the form that is `coefficient / factor`. */
static int form_cost(const struct linear_form *f, double factor)
{
    int units = 0;
    for (int t = 0; t < f->terms; t++)
        units += near(fabs(surd_double(f->coefficient[t])), factor);
    return f->terms - 1 + f->terms - units;
}

/* Are f / factor and g equal up to sign? */
static bool same_form(const struct linear_form *f, double factor, const struct linear_form *g)
{
    if (f->terms != g->terms)
        return false;
    double sign = surd_double(f->coefficient[0]) * surd_double(g->coefficient[0]) < 0 ? -1 : 1;
    for (int t = 0; t < f->terms; t++)
        if (f->index[t] != g->index[t] ||
            !near(sign * surd_double(f->coefficient[t]) / factor, surd_double(g->coefficient[t])))
            return false;
    return true;
}

/* The magnitude of a coefficient of column k that costs least when taken out. */
static struct surd choose_factor(const struct matrix *m, const struct linear_form *cell, int k)
{
    struct surd best = {0};
    int least = 0;
    for (int r = 0; r < m->rows; r++)
        for (int t = 0; t < cell[r * m->columns + k].terms; t++) {
            struct surd factor = cell[r * m->columns + k].coefficient[t];
            double value = fabs(surd_double(factor));
            int cost = 0;
            for (int q = 0; q < m->rows; q++) {
                const struct linear_form *f = &cell[q * m->columns + k];
                bool known = f->terms == 0;
                for (int i = 0; i < m->forms && !known; i++)
                    known = same_form(f, value, &m->form[i]);
                cost += known ? 0 : form_cost(f, value) * 2 + (f->terms > 1);
            }
            if (best.sign == 0 || cost < least) {
                least = cost;
                best = factor;
                best.sign = 1;
            }
        }
    return best;
}

static struct matrix *build(struct arena *a, const struct path *p, enum slot slot_a, bool scaled)
{
    const struct cg *cg = p->cg;
    bool a_is_y = slot_a == SLOT_Y;
    struct matrix *m = NEW(a, struct matrix);
    *m = (struct matrix){
        .l1 = p->l1,
        .l2 = p->l2,
        .l3 = p->l3,
        .a = slot_a,
        .b = a_is_y ? SLOT_X : SLOT_Y,
        .scale = p->coefficient,
        .rows = 2 * (a_is_y ? p->l1 : p->l2) + 1,
        .columns = 2 * p->l3 + 1,
        .depth = 2 * (a_is_y ? p->l2 : p->l1) + 1,
    };
    int cells = m->rows * m->columns;
    m->entry = NEW_ARRAY(a, int, cells);
    m->form = NEW_ARRAY(a, struct linear_form, cells);
    /* Entries come sorted by (i, j, k), so within a cell the index of A ascends. */
    struct linear_form *cell = NEW_ARRAY(a, struct linear_form, cells);
    for (int pass = 0; pass < 2; pass++) {
        for (int e = 0; e < cg->n; e++) {
            const struct cg_entry *c = &cg->entry[e];
            struct linear_form *f = &cell[(a_is_y ? c->i : c->j) * m->columns + c->k];
            if (pass == 1) {
                f->index[f->terms] = a_is_y ? c->j : c->i;
                f->coefficient[f->terms] = scaled ? c->value : surd_mul(a, p->coefficient, c->value);
            }
            f->terms++;
        }
        for (int i = 0; pass == 0 && i < cells; i++) {
            cell[i].index = NEW_ARRAY(a, int, cell[i].terms);
            cell[i].coefficient = NEW_ARRAY(a, struct surd, cell[i].terms);
            cell[i].terms = 0;
        }
    }
    if (scaled)
        m->column = NEW_ARRAY(a, struct surd, m->columns);
    for (int k = 0; k < m->columns; k++) {
        struct surd factor = scaled ? choose_factor(m, cell, k) : (struct surd){0};
        if (factor.sign)
            m->column[k] = surd_mul(a, factor, p->coefficient);
        for (int r = 0; r < m->rows; r++) {
            struct linear_form *f = &cell[r * m->columns + k];
            if (f->terms == 0)
                continue;
            int sign = f->coefficient[0].sign;
            for (int t = 0; t < f->terms; t++) {
                if (scaled)
                    f->coefficient[t] = surd_div(a, f->coefficient[t], factor);
                if (sign < 0)
                    f->coefficient[t] = surd_negate(f->coefficient[t]);
            }
            m->entry[r * m->columns + k] = intern(m, f, sign);
            m->entries++;
        }
    }
    return m;
}

static const struct matrix *find(struct matrices *all, const struct path *p, enum slot a, bool scaled)
{
    for (int i = 0; i < all->n; i++) {
        const struct matrix *m = all->matrix[i];
        if (m->l1 == p->l1 && m->l2 == p->l2 && m->l3 == p->l3 && m->a == a &&
            (m->column != NULL) == scaled && surd_equal(m->scale, p->coefficient))
            return m;
    }
    all->matrix = arena_grow(all->arena, all->matrix, all->n, &all->capacity, sizeof(struct matrix *));
    return all->matrix[all->n++] = build(all->arena, p, a, scaled);
}

const struct matrix *matrix_of(struct matrices *all, const struct path *p, enum slot a)
{
    return find(all, p, a, false);
}

const struct matrix *matrix_scaled(struct matrices *all, const struct path *p, enum slot a)
{
    return find(all, p, a, true);
}
