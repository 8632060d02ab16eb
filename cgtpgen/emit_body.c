/* emit_body.c - see emit_body.h. */
#include "emit_body.h"

#include <string.h>

static const char *format(struct body *w, const char *f, const char *name, int i)
{
    return arena_printf(w->out->arena, f, name, i);
}

/* ---- constants and forms ---- */

static int constant_number(const struct body *w, struct surd c)
{
    c.sign = 1;
    for (int i = 0; i < w->constants; i++)
        if (surd_equal(w->constant[i], c))
            return i;
    return -1;
}

static bool is_one(struct surd c)
{
    return c.square.num.n == 1 && c.square.num.limb[0] == 1 && c.square.den.n == 1 && c.square.den.limb[0] == 1;
}

void body_begin(struct body *w)
{
    struct arena *a = w->out->arena;
    const struct matrix *m = w->matrix;
    w->row = NEW_ARRAY(a, bool, m->rows);
    w->column = NEW_ARRAY(a, bool, m->columns);
    for (int i = 0; i < m->rows * m->columns; i++)
        if (m->entry[i])
            w->row[i / m->columns] = w->column[i % m->columns] = true;
    w->constants = 0;
    w->constant = NEW_ARRAY(a, struct surd, m->form_terms + 1);
    for (int f = 0; f < m->forms; f++)
        for (int t = 0; t < m->form[f].terms; t++) {
            struct surd c = m->form[f].coefficient[t];
            c.sign = 1;
            if (is_one(c) || constant_number(w, c) >= 0)
                continue;
            text_printf(w->out, "%*sconst real C%d = ", w->indent, "", w->constants);
            hex_print(w->out, w->is_float ? (double)surd_float(c) : surd_double(c), w->is_float);
            text_printf(w->out, "; /* ");
            surd_print(w->out, c);
            text_printf(w->out, " */\n");
            w->constant[w->constants++] = c;
        }
}

/* coefficient times name, as text without the sign. */
static const char *scaled(struct body *w, struct surd c, const char *name)
{
    return is_one(c) ? name : arena_printf(w->out->arena, "C%d * %s", constant_number(w, c), name);
}

void body_forms(struct body *w, int input, const char *component)
{
    for (int f = 0; f < w->matrix->forms; f++) {
        const struct linear_form *form = &w->matrix->form[f];
        struct sum s;
        sum_begin(&s, w->out, w->indent, arena_printf(w->out->arena, "const real %s_f%d =", w->stem[input], f));
        for (int t = 0; t < form->terms; t++)
            sum_add(&s, form->coefficient[t].sign < 0,
                    scaled(w, form->coefficient[t], format(w, component, w->stem[input], form->index[t])));
        sum_end(&s);
    }
}

bool body_needs_forms(const struct recipe *r, int input)
{
    for (int i = 0; i < r->rs; i++)
        if (r->r[i].first == input)
            return true;
    for (int i = 0; i < r->ls; i++)
        if (r->l[i].first == input)
            return true;
    for (int o = 0; o < r->outputs; o++)
        for (int p = 0; p < r->output[o].parts; p++)
            if (r->output[o].prescaled && r->output[o].part[p].factor == input)
                return true;
    return false;
}

/* ---- one channel ---- */

/* Name of component i of the U product number u: the scaled copy, or B itself. */
static const char *u_name(struct body *w, int u, int i)
{
    const struct recipe_product *p = &w->recipe->u[u];
    return p->first < 0 ? format(w, "%s_%d", w->stem[p->second], i)
                        : arena_printf(w->out->arena, "u%d_%d", u, i);
}

static void emit_us(struct body *w)
{
    for (int u = 0; u < w->recipe->us; u++) {
        const struct recipe_product *p = &w->recipe->u[u];
        for (int i = 0; p->first >= 0 && i < w->matrix->rows; i++)
            if (w->row[i])
                text_printf(w->out, "%*sconst real u%d_%d = %s_0 * %s_%d;\n", w->indent, "", u, i,
                            w->stem[p->first], w->stem[p->second], i);
    }
}

static const char *form_name(struct body *w, int input, int entry)
{
    return format(w, "%s_f%d", w->stem[input], (entry < 0 ? -entry : entry) - 1);
}

static void add_column(struct body *w, struct sum *s, int a, int k, const char *(*name)(struct body *, int, int), int vector)
{
    for (int i = 0; i < w->matrix->rows; i++) {
        int entry = w->matrix->entry[i * w->matrix->columns + k];
        if (entry)
            sum_add(s, entry < 0,
                    arena_printf(w->out->arena, "%s * %s", form_name(w, a, entry), name(w, vector, i)));
    }
}

static const char *input_component(struct body *w, int input, int i)
{
    return format(w, "%s_%d", w->stem[input], i);
}

static void emit_products(struct body *w)
{
    struct sum s;
    for (int p = 0; p < w->recipe->rs; p++)
        for (int k = 0; k < w->matrix->columns; k++) {
            if (!w->column[k])
                continue;
            sum_begin(&s, w->out, w->indent, arena_printf(w->out->arena, "const real r%d_%d =", p, k));
            add_column(w, &s, w->recipe->r[p].first, k, input_component, w->recipe->r[p].second);
            sum_end(&s);
        }
    for (int p = 0; p < w->recipe->ls; p++)
        for (int i = 0; i < w->matrix->rows; i++) {
            if (!w->row[i])
                continue;
            sum_begin(&s, w->out, w->indent, arena_printf(w->out->arena, "const real l%d_%d =", p, i));
            for (int k = 0; k < w->matrix->columns; k++) {
                int entry = w->matrix->entry[i * w->matrix->columns + k];
                if (entry)
                    sum_add(&s, entry < 0,
                            arena_printf(w->out->arena, "%s * %s", form_name(w, w->recipe->l[p].first, entry),
                                         input_component(w, w->recipe->l[p].second, k)));
            }
            sum_end(&s);
        }
}

/* G and B outputs: sum over weights of w (v + v' + ..), v = r0_k or l0_i. */
static void emit_weighted(struct body *w, const struct recipe_output *o, char letter, int i)
{
    struct arena *a = w->out->arena;
    struct sum s;
    sum_begin(&s, w->out, w->indent,
              arena_printf(a, "%s %s", w->output(w->context, o, i), o->assign ? "=" : "+="));
    for (int p = 0; p < o->parts;) {
        struct text group = {.arena = a};
        int first = p;
        for (; p < o->parts && o->part[p].factor == o->part[first].factor; p++)
            text_printf(&group, "%s%c%d_%d", p > first ? " + " : "", letter, o->part[p].vector, i);
        if (o->part[first].factor < 0)
            sum_add(&s, false, text_string(&group));
        else
            sum_add(&s, false, arena_printf(a, p - first > 1 ? "%s_0 * (%s)" : "%s_0 * %s",
                                            w->stem[o->part[first].factor], text_string(&group)));
    }
    sum_end(&s);
}

static void emit_weight_gradient(struct body *w, const struct recipe_output *o)
{
    struct sum s;
    sum_begin(&s, w->out, w->indent,
              arena_printf(w->out->arena, "%s %s", w->output(w->context, o, 0), o->assign ? "=" : "+="));
    for (int p = 0; p < o->parts; p++)
        for (int i = 0; i < (o->by_r ? w->matrix->columns : w->matrix->rows); i++)
            if (o->by_r ? w->column[i] : w->row[i])
                sum_add(&s, false, arena_printf(w->out->arena, "%s_%d * %c%d_%d", w->stem[o->part[p].factor], i,
                                                o->by_r ? 'r' : 'l', o->part[p].vector, i));
    sum_end(&s);
}

/* A output `number`: reverse mode of the forms. */
static void emit_reverse(struct body *w, const struct recipe_output *o, int number)
{
    struct arena *a = w->out->arena;
    struct sum s;
    /* V[g][i]: sum of the U's that meet g */
    for (int p = 0; p < o->parts;) {
        int first = p;
        while (p < o->parts && o->part[p].factor == o->part[first].factor)
            p++;
        for (int i = 0; p - first > 1 && i < w->matrix->rows; i++) {
            if (!w->row[i])
                continue;
            sum_begin(&s, w->out, w->indent, arena_printf(a, "const real v%d%s_%d =", number,
                                                  w->stem[o->part[first].factor], i));
            for (int q = first; q < p; q++)
                sum_add(&s, false, u_name(w, o->part[q].vector, i));
            sum_end(&s);
        }
    }
    for (int f = 0; f < w->matrix->forms; f++) {
        sum_begin(&s, w->out, w->indent, arena_printf(a, "const real q%d_%d =", number, f));
        for (int p = 0; p < o->parts;) {
            int first = p, g = o->part[first].factor;
            while (p < o->parts && o->part[p].factor == g)
                p++;
            for (int cell = 0; cell < w->matrix->rows * w->matrix->columns; cell++) {
                int entry = w->matrix->entry[cell], i = cell / w->matrix->columns, k = cell % w->matrix->columns;
                if (entry != f + 1 && entry != -f - 1)
                    continue;
                const char *v = p - first > 1 ? arena_printf(a, "v%d%s_%d", number, w->stem[g], i)
                                              : u_name(w, o->part[first].vector, i);
                sum_add(&s, entry < 0, arena_printf(a, "%s * %s", v, input_component(w, g, k)));
            }
        }
        sum_end(&s);
    }
    for (int j = 0; j < w->matrix->depth; j++) {
        bool any = false;
        for (int f = 0; f < w->matrix->forms; f++)
            for (int t = 0; t < w->matrix->form[f].terms; t++) {
                if (w->matrix->form[f].index[t] != j)
                    continue;
                if (!any)
                    sum_begin(&s, w->out, w->indent, arena_printf(a, "%s +=", w->output(w->context, o, j)));
                any = true;
                struct surd c = w->matrix->form[f].coefficient[t];
                sum_add(&s, c.sign < 0, scaled(w, c, arena_printf(a, "q%d_%d", number, f)));
            }
        if (any)
            sum_end(&s);
    }
}

static void emit_outputs(struct body *w)
{
    struct arena *a = w->out->arena;
    for (int n = 0; n < w->recipe->outputs; n++) {
        const struct recipe_output *o = &w->recipe->output[n];
        if (o->role == ROLE_W) {
            emit_weight_gradient(w, o);
        } else if (o->role == ROLE_A) {
            emit_reverse(w, o, n);
        } else if (o->role == ROLE_B) {
            for (int i = 0; i < w->matrix->rows; i++)
                if (w->row[i])
                    emit_weighted(w, o, 'l', i);
        } else {
            for (int k = 0; k < w->matrix->columns; k++) {
                struct sum s;
                if (w->column[k] && !o->prescaled) {
                    emit_weighted(w, o, 'r', k);
                } else if (w->column[k] || o->assign) {
                    sum_begin(&s, w->out, w->indent, arena_printf(a, "%s %s", w->output(w->context, o, k),
                                                          o->assign ? "=" : "+="));
                    for (int p = 0; w->column[k] && p < o->parts; p++)
                        add_column(w, &s, o->part[p].factor, k, u_name, o->part[p].vector);
                    sum_end(&s);
                }
            }
        }
    }
}

void body_channel(struct body *w)
{
    emit_us(w);
    emit_products(w);
    emit_outputs(w);
}
