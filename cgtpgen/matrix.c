/* matrix.c - see matrix.h. */
#include "matrix.h"

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

static struct matrix *build(struct arena *a, const struct path *p, enum slot slot_a)
{
    const struct cg *cg = p->cg;
    bool a_is_y = slot_a == SLOT_Y;
    struct matrix *m = NEW(a, struct matrix);
    *m = (struct matrix){
        .l1 = p->l1, .l2 = p->l2, .l3 = p->l3, .a = slot_a, .b = a_is_y ? SLOT_X : SLOT_Y, .scale = p->coefficient,
        .rows = 2 * (a_is_y ? p->l1 : p->l2) + 1, .columns = 2 * p->l3 + 1, .depth = 2 * (a_is_y ? p->l2 : p->l1) + 1,
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
                f->coefficient[f->terms] = surd_mul(a, p->coefficient, c->value);
            }
            f->terms++;
        }
        for (int i = 0; pass == 0 && i < cells; i++) {
            cell[i].index = NEW_ARRAY(a, int, cell[i].terms);
            cell[i].coefficient = NEW_ARRAY(a, struct surd, cell[i].terms);
            cell[i].terms = 0;
        }
    }
    for (int i = 0; i < cells; i++) {
        if (cell[i].terms == 0)
            continue;
        int sign = cell[i].coefficient[0].sign;
        for (int t = 0; sign < 0 && t < cell[i].terms; t++)
            cell[i].coefficient[t] = surd_negate(cell[i].coefficient[t]);
        m->entry[i] = intern(m, &cell[i], sign);
        m->entries++;
    }
    return m;
}

const struct matrix *matrix_of(struct matrices *all, const struct path *p, enum slot a)
{
    for (int i = 0; i < all->n; i++) {
        const struct matrix *m = all->matrix[i];
        if (m->l1 == p->l1 && m->l2 == p->l2 && m->l3 == p->l3 && m->a == a && surd_equal(m->scale, p->coefficient))
            return m;
    }
    all->matrix = arena_grow(all->arena, all->matrix, all->n, &all->capacity, sizeof(struct matrix *));
    return all->matrix[all->n++] = build(all->arena, p, a);
}
