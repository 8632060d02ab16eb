/* body.c - see body.h. */
#include "schedule/body.h"

#include <string.h>

/* A sum that breaks into lines: sum_begin writes `lhs`, sum_add a signed term, sum_end the semicolon (or "
 * 0;"). */
struct sum {
    struct text *out;
    int indent, terms;
    size_t line; /* where the current line began */
};

static void sum_begin(struct sum *s, struct text *out, int indent, const char *lhs)
{
    *s = (struct sum){out, indent, 0, out->n};
    text_printf(out, "%*s%s", indent, "", lhs);
}

static void sum_add(struct sum *s, bool negative, const char *term)
{
    if (s->out->n - s->line + strlen(term) > 104) {
        text_printf(s->out, "\n");
        s->line = s->out->n;
        text_printf(s->out, "%*s", s->indent + 3, "");
    }
    text_printf(s->out, s->terms ? (negative ? " - %s" : " + %s") : (negative ? " -%s" : " %s"), term);
    s->terms++;
}

static void sum_end(struct sum *s)
{
    text_printf(s->out, s->terms ? ";\n" : " 0;\n");
}

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
    return c.square.num.n == 1 && c.square.num.limb[0] == 1 && c.square.den.n == 1 &&
           c.square.den.limb[0] == 1;
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
        sum_begin(&s, w->out, w->indent,
                  arena_printf(w->out->arena, "const real %s_f%d =", w->stem[input], f));
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

/* The part after those that share the factor of part `first`. */
static int same_factor_end(const struct recipe_output *o, int first)
{
    int p = first;
    while (p < o->parts && o->part[p].factor == o->part[first].factor)
        p++;
    return p;
}

/* Number of the sum V of the U products that share the factor of part `first`; -1: it is one U product. */
static int v_number(struct body *w, const struct recipe_output *o, int first)
{
    int n = same_factor_end(o, first) - first, v = 0;
    if (n == 1)
        return -1;
    for (; v < w->vs; v++) {
        bool equal = w->v[v].n == n;
        for (int i = 0; equal && i < n; i++)
            equal = w->v[v].part[i].vector == o->part[first + i].vector;
        if (equal)
            return v;
    }
    w->v[w->vs++] = (struct body_sum){n, &o->part[first]};
    return v;
}

/* The sums of U products that an A output or a prescaled G output needs and that are not there yet. */
static void emit_vs(struct body *w, const struct recipe_output *o)
{
    int before = w->vs;
    for (int p = 0; p < o->parts; p = same_factor_end(o, p))
        v_number(w, o, p);
    for (int v = before; v < w->vs; v++)
        for (int i = 0; i < w->matrix->rows; i++) {
            struct sum s;
            if (!w->row[i])
                continue;
            sum_begin(&s, w->out, w->indent, arena_printf(w->out->arena, "const real v%d_%d =", v, i));
            for (int q = 0; q < w->v[v].n; q++)
                sum_add(&s, false, u_name(w, w->v[v].part[q].vector, i));
            sum_end(&s);
        }
}

/* Name of component i of what meets the factor of part `first`: a U product or a sum of several. */
static const char *v_name(struct body *w, const struct recipe_output *o, int first, int i)
{
    int v = v_number(w, o, first);
    return v < 0 ? u_name(w, o->part[first].vector, i) : arena_printf(w->out->arena, "v%d_%d", v, i);
}

static const char *form_name(struct body *w, int input, int entry)
{
    return format(w, "%s_f%d", w->stem[input], (entry < 0 ? -entry : entry) - 1);
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
            for (int i = 0; i < w->matrix->rows; i++) {
                int entry = w->matrix->entry[i * w->matrix->columns + k];
                if (entry)
                    sum_add(&s, entry < 0,
                            arena_printf(w->out->arena, "%s * %s", form_name(w, w->recipe->r[p].first, entry),
                                         input_component(w, w->recipe->r[p].second, i)));
            }
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

/* Begins `output = output + ..`: a chain of multiply-adds, where `output += ..` would add the terms up first.
 */
static void output_begin(struct body *w, struct sum *s, const struct recipe_output *o, int i)
{
    const char *lhs = w->output(w->context, o, i);
    if (o->assign || w->proxies) {
        sum_begin(s, w->out, w->indent, arena_printf(w->out->arena, "%s %s", lhs, o->assign ? "=" : "+="));
        return;
    }
    sum_begin(s, w->out, w->indent, arena_printf(w->out->arena, "%s = %s", lhs, lhs));
    s->terms = 1;
}

/* G and B outputs: sum over weights of w (v + v' + ..), v = r0_k or l0_i. */
static void emit_weighted(struct body *w, const struct recipe_output *o, char letter, int i)
{
    struct arena *a = w->out->arena;
    struct sum s;
    output_begin(w, &s, o, i);
    for (int p = 0; p < o->parts;) {
        struct text group = {.arena = a};
        int first = p;
        for (; p < o->parts && o->part[p].factor == o->part[first].factor; p++)
            text_printf(&group, "%s%c%d_%d", p > first ? " + " : "", letter, o->part[p].vector, i);
        if (o->part[first].factor < 0)
            sum_add(&s, false, text_string(&group));
        else
            sum_add(&s, false,
                    arena_printf(a, p - first > 1 ? "%s_0 * (%s)" : "%s_0 * %s",
                                 w->stem[o->part[first].factor], text_string(&group)));
    }
    sum_end(&s);
}

static void emit_weight_gradient(struct body *w, const struct recipe_output *o)
{
    struct sum s;
    output_begin(w, &s, o, 0);
    for (int p = 0; p < o->parts; p++)
        for (int i = 0; i < (o->by_r ? w->matrix->columns : w->matrix->rows); i++)
            if (o->by_r ? w->column[i] : w->row[i])
                sum_add(&s, false,
                        arena_printf(w->out->arena, "%s_%d * %c%d_%d", w->stem[o->part[p].factor], i,
                                     o->by_r ? 'r' : 'l', o->part[p].vector, i));
    sum_end(&s);
}

/* Is the form one component of A as it is? Then its gradient needs no name of its own. */
static bool is_bare(const struct linear_form *f)
{
    return f->terms == 1 && is_one(f->coefficient[0]);
}

/* Adds to the sum what entry by entry flows back to form f. */
static void add_reverse(struct body *w, struct sum *s, const struct recipe_output *o, int f, bool negative)
{
    for (int p = 0; p < o->parts; p = same_factor_end(o, p))
        for (int cell = 0; cell < w->matrix->rows * w->matrix->columns; cell++) {
            int entry = w->matrix->entry[cell], i = cell / w->matrix->columns, k = cell % w->matrix->columns;
            if (entry == f + 1 || entry == -f - 1)
                sum_add(s, (entry < 0) != negative,
                        arena_printf(w->out->arena, "%s * %s", v_name(w, o, p, i),
                                     input_component(w, o->part[p].factor, k)));
        }
}

/* A output `number`: reverse mode of the forms. */
static void emit_reverse(struct body *w, const struct recipe_output *o, int number)
{
    struct arena *a = w->out->arena;
    struct sum s;
    emit_vs(w, o);
    for (int f = 0; f < w->matrix->forms; f++) {
        if (is_bare(&w->matrix->form[f]))
            continue;
        sum_begin(&s, w->out, w->indent, arena_printf(a, "const real q%d_%d =", number, f));
        add_reverse(w, &s, o, f, false);
        sum_end(&s);
    }
    for (int j = 0; j < w->matrix->depth; j++) {
        bool any = false;
        for (int f = 0; f < w->matrix->forms; f++)
            for (int t = 0; t < w->matrix->form[f].terms; t++) {
                const struct linear_form *form = &w->matrix->form[f];
                if (form->index[t] != j)
                    continue;
                if (!any)
                    output_begin(w, &s, o, j);
                any = true;
                if (is_bare(form))
                    add_reverse(w, &s, o, f, false);
                else
                    sum_add(&s, form->coefficient[t].sign < 0,
                            scaled(w, form->coefficient[t], arena_printf(a, "q%d_%d", number, f)));
            }
        if (any)
            sum_end(&s);
    }
}

static void emit_outputs(struct body *w)
{
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
            if (o->prescaled)
                emit_vs(w, o);
            for (int k = 0; k < w->matrix->columns; k++) {
                struct sum s;
                if (w->column[k] && !o->prescaled) {
                    emit_weighted(w, o, 'r', k);
                } else if (w->column[k] || o->assign) {
                    output_begin(w, &s, o, k);
                    for (int p = 0; w->column[k] && p < o->parts; p = same_factor_end(o, p))
                        for (int i = 0; i < w->matrix->rows; i++) {
                            int entry = w->matrix->entry[i * w->matrix->columns + k];
                            if (entry)
                                sum_add(&s, entry < 0,
                                        arena_printf(w->out->arena, "%s * %s",
                                                     form_name(w, o->part[p].factor, entry),
                                                     v_name(w, o, p, i)));
                        }
                    sum_end(&s);
                }
            }
        }
    }
}

/* ---- a matrix that is a multiple of the identity (l of A is zero): M = f D, D diagonal with entries +-1
 * ---- */

static bool is_scalar(const struct matrix *m)
{
    if (m->forms != 1 || m->depth != 1 || m->rows != m->columns || m->entries != m->rows)
        return false;
    for (int i = 0; i < m->rows; i++)
        if (m->entry[i * m->columns + i] == 0)
            return false;
    return true;
}

/* The inputs of a part by role; -1 at the output's own role and where there is no weight. */
static void part_inputs(const struct recipe *r, const struct recipe_output *o, const struct recipe_part *p,
                        int in[ROLE_COUNT])
{
    const struct recipe_product *v = &(o->role == ROLE_B || (o->role == ROLE_W && !o->by_r) ? r->l
                                       : o->role == ROLE_A || o->prescaled                  ? r->u
                                                                           : r->r)[p->vector];
    in[ROLE_A] = in[ROLE_B] = in[ROLE_W] = in[ROLE_G] = -1;
    if (o->role == ROLE_B || (o->role == ROLE_W && !o->by_r)) {
        in[ROLE_A] = v->first;
        in[ROLE_G] = v->second;
        in[o->role == ROLE_B ? ROLE_W : ROLE_B] = p->factor;
    } else if (o->role == ROLE_A || o->prescaled) {
        in[ROLE_W] = v->first;
        in[ROLE_B] = v->second;
        in[o->role == ROLE_A ? ROLE_G : ROLE_A] = p->factor;
    } else {
        in[ROLE_A] = v->first;
        in[ROLE_B] = v->second;
        in[o->role == ROLE_G ? ROLE_W : ROLE_G] = p->factor;
    }
}

/* s<n>_0 = w f for each pair that scales a vector, d<n>_0 = sum_i D_i b_i g_i for each pair that meets in a
 * dot product. */
static const char *scalar_name(struct body *w, struct recipe_product *list, int *n, char letter, int first,
                               int second)
{
    int i = 0;
    while (i < *n && (list[i].first != first || list[i].second != second))
        i++;
    if (i == *n) {
        list[(*n)++] = (struct recipe_product){first, second};
        struct sum s;
        sum_begin(&s, w->out, w->indent, arena_printf(w->out->arena, "const real %c%d_0 =", letter, i));
        if (letter == 's' && first < 0)
            sum_add(&s, false, format(w, "%s_f%d", w->stem[second], 0));
        else if (letter == 's')
            sum_add(&s, false, arena_printf(w->out->arena, "%s_0 * %s_f0", w->stem[first], w->stem[second]));
        else
            for (int k = 0; k < w->matrix->rows; k++)
                sum_add(&s, w->matrix->entry[k * w->matrix->columns + k] < 0,
                        arena_printf(w->out->arena, "%s * %s", input_component(w, first, k),
                                     input_component(w, second, k)));
        sum_end(&s);
    }
    return arena_printf(w->out->arena, "%c%d_0", letter, i);
}

static void scalar_channel(struct body *w)
{
    const struct recipe *r = w->recipe;
    struct arena *a = w->out->arena;
    const struct linear_form *form = &w->matrix->form[0];
    int terms = 0, scales = 0, dots = 0;
    for (int n = 0; n < r->outputs; n++)
        terms += r->output[n].parts;
    struct recipe_product *scale = NEW_ARRAY(a, struct recipe_product, terms + 1);
    struct recipe_product *dot = NEW_ARRAY(a, struct recipe_product, terms + 1);
    for (int n = 0; n < r->outputs; n++) {
        const struct recipe_output *o = &r->output[n];
        const char **part = NEW_ARRAY(a, const char *, o->parts + 1);
        int(*in)[ROLE_COUNT] = (int(*)[ROLE_COUNT])NEW_ARRAY(a, int, ROLE_COUNT *(o->parts + 1));
        struct sum s;
        for (int p = 0; p < o->parts; p++) {
            part_inputs(r, o, &o->part[p], in[p]);
            part[p] = o->role == ROLE_G || o->role == ROLE_B
                          ? scalar_name(w, scale, &scales, 's', in[p][ROLE_W], in[p][ROLE_A])
                          : scalar_name(w, dot, &dots, 'd', in[p][ROLE_B], in[p][ROLE_G]);
        }
        bool bare = is_bare(form);
        if (o->role == ROLE_A && !bare) {
            sum_begin(&s, w->out, w->indent, arena_printf(a, "const real q%d_0 =", n));
            for (int p = 0; p < o->parts; p++)
                sum_add(&s, false,
                        in[p][ROLE_W] < 0 ? part[p]
                                          : arena_printf(a, "%s_0 * %s", w->stem[in[p][ROLE_W]], part[p]));
            sum_end(&s);
        }
        int components = o->role == ROLE_G || o->role == ROLE_B ? w->matrix->rows : 1;
        for (int i = 0; i < components; i++) {
            bool negative = w->matrix->entry[i * w->matrix->columns + i] < 0;
            output_begin(w, &s, o, i);
            if (o->role == ROLE_A && !bare)
                sum_add(&s, form->coefficient[0].sign < 0,
                        scaled(w, form->coefficient[0], arena_printf(a, "q%d_0", n)));
            for (int p = 0; p < o->parts && (o->role != ROLE_A || bare); p++) {
                if (o->role == ROLE_G || o->role == ROLE_B)
                    sum_add(&s, negative,
                            arena_printf(a, "%s * %s", part[p],
                                         input_component(w, in[p][o->role == ROLE_G ? ROLE_B : ROLE_G], i)));
                else if (o->role == ROLE_W)
                    sum_add(&s, false, arena_printf(a, "%s_f0 * %s", w->stem[in[p][ROLE_A]], part[p]));
                else
                    sum_add(&s, false,
                            in[p][ROLE_W] < 0
                                ? part[p]
                                : arena_printf(a, "%s_0 * %s", w->stem[in[p][ROLE_W]], part[p]));
            }
            sum_end(&s);
        }
    }
}

/* ---- a matrix of one column (l3 is zero) ---- */

/* With t = R(a,b) and s = w g, both numbers: W output = t g, B output += s f_i, and s b_i flows back to form
 * f_i. */
static void column_channel(struct body *w)
{
    const struct recipe *r = w->recipe;
    struct arena *a = w->out->arena;
    int terms = 0, scales = 0, dots = 0;
    for (int n = 0; n < r->outputs; n++)
        terms += r->output[n].parts;
    struct recipe_product *scale = NEW_ARRAY(a, struct recipe_product, terms + 1);
    struct recipe_product *dot = NEW_ARRAY(a, struct recipe_product, terms + 1);
    for (int n = 0; n < r->outputs; n++) {
        const struct recipe_output *o = &r->output[n];
        const char **part = NEW_ARRAY(a, const char *, o->parts + 1);
        int(*in)[ROLE_COUNT] = (int(*)[ROLE_COUNT])NEW_ARRAY(a, int, ROLE_COUNT *(o->parts + 1));
        struct sum s;
        for (int p = 0; p < o->parts; p++) {
            part_inputs(r, o, &o->part[p], in[p]);
            bool by_t = o->role == ROLE_G || o->role == ROLE_W;
            int first = by_t ? in[p][ROLE_A] : in[p][ROLE_W], second = by_t ? in[p][ROLE_B] : in[p][ROLE_G];
            struct recipe_product *list = by_t ? dot : scale;
            int *count = by_t ? &dots : &scales, q = 0;
            while (q < *count && (list[q].first != first || list[q].second != second))
                q++;
            part[p] = arena_printf(a, "%c%d_0", by_t ? 't' : 's', q);
            if (q < *count)
                continue;
            list[(*count)++] = (struct recipe_product){first, second};
            sum_begin(&s, w->out, w->indent, arena_printf(a, "const real %s =", part[p]));
            if (!by_t)
                sum_add(&s, false,
                        first < 0 ? input_component(w, second, 0)
                                  : arena_printf(a, "%s_0 * %s_0", w->stem[first], w->stem[second]));
            for (int i = 0; by_t && i < w->matrix->rows; i++)
                if (w->matrix->entry[i])
                    sum_add(&s, w->matrix->entry[i] < 0,
                            arena_printf(a, "%s * %s", form_name(w, first, w->matrix->entry[i]),
                                         input_component(w, second, i)));
            sum_end(&s);
        }
        if (o->role == ROLE_G || o->role == ROLE_W) {
            output_begin(w, &s, o, 0);
            for (int p = 0; p < o->parts; p++) {
                int factor = in[p][o->role == ROLE_G ? ROLE_W : ROLE_G];
                sum_add(&s, false,
                        factor < 0 ? part[p] : arena_printf(a, "%s_0 * %s", w->stem[factor], part[p]));
            }
            sum_end(&s);
            continue;
        }
        for (int i = 0; i < w->matrix->rows && o->role == ROLE_B; i++) {
            if (!w->row[i])
                continue;
            output_begin(w, &s, o, i);
            for (int p = 0; p < o->parts; p++)
                sum_add(
                    &s, w->matrix->entry[i] < 0,
                    arena_printf(a, "%s * %s", part[p], form_name(w, in[p][ROLE_A], w->matrix->entry[i])));
            sum_end(&s);
        }
        for (int pass = 0; pass < 2 && o->role == ROLE_A; pass++) /* forms with names, then components */
            for (int at = 0; at < (pass ? w->matrix->depth : w->matrix->forms); at++) {
                bool any = false;
                if (!pass && is_bare(&w->matrix->form[at]))
                    continue;
                for (int f = 0; f < w->matrix->forms; f++)
                    for (int t = 0; t < w->matrix->form[f].terms; t++) {
                        const struct linear_form *form = &w->matrix->form[f];
                        if (pass ? form->index[t] != at : f != at || t)
                            continue;
                        if (!any && pass)
                            output_begin(w, &s, o, at);
                        else if (!any)
                            sum_begin(&s, w->out, w->indent, arena_printf(a, "const real q%d_%d =", n, f));
                        any = true;
                        if (pass && !is_bare(form)) {
                            sum_add(&s, form->coefficient[t].sign < 0,
                                    scaled(w, form->coefficient[t], arena_printf(a, "q%d_%d", n, f)));
                            continue;
                        }
                        for (int i = 0; i < w->matrix->rows; i++)
                            for (int p = 0; p < o->parts &&
                                            (w->matrix->entry[i] == f + 1 || w->matrix->entry[i] == -f - 1);
                                 p++)
                                sum_add(&s, w->matrix->entry[i] < 0,
                                        arena_printf(a, "%s * %s", part[p],
                                                     input_component(w, in[p][ROLE_B], i)));
                    }
                if (any)
                    sum_end(&s);
            }
    }
}

void body_channel(struct body *w)
{
    if (w->matrix->columns == 1 && w->matrix->rows > 1) {
        column_channel(w);
        return;
    }
    if (is_scalar(w->matrix)) {
        scalar_channel(w);
        return;
    }
    int parts = 0;
    for (int n = 0; n < w->recipe->outputs; n++)
        parts += w->recipe->output[n].parts;
    w->vs = 0;
    w->v = NEW_ARRAY(w->out->arena, struct body_sum, parts + 1);
    emit_us(w);
    emit_products(w);
    emit_outputs(w);
}
