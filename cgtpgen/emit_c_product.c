/* emit_c_product.c - see emit_c_product.h. Straight-line code for one channel inside a loop over channels, which any
 * compiler vectorises: every array is contiguous in the channel. */
#include "emit_c_product.h"

#include <string.h>

struct writer {
    struct text *out;
    const struct product_function *f;
    const struct recipe *r;
    const struct matrix *m;
    const char *real;
    bool *row, *column;        /* has M a nonzero in this row, column */
    int constants;             /* distinct coefficients of forms */
    struct surd *constant;
    bool is_float;
};

static const char *format(struct writer *w, const char *f, const char *name, int i)
{
    return arena_printf(w->out->arena, f, name, i);
}

/* Component `i` of an array at channel u: name[u], name[ld + u], name[3 * ld + u]. */
static const char *element(struct writer *w, const char *name, const char *ld, int i)
{
    if (i == 0)
        return arena_printf(w->out->arena, "%s[u]", name);
    if (i == 1)
        return arena_printf(w->out->arena, "%s[%s + u]", name, ld);
    return arena_printf(w->out->arena, "%s[%d * %s + u]", name, i, ld);
}

static const char *ld_of(const struct writer *w, enum role role)
{
    if (role == ROLE_A)
        return w->f->elementwise ? "n" : "lda";
    return !w->f->strided ? "n" : role == ROLE_B ? "ldb" : "ldg";
}

bool product_takes_ld(const struct product_function *f, enum role role)
{
    bool used = false;
    for (int i = 0; i < f->recipe->inputs; i++)
        used |= f->recipe->input[i].role == role && recipe_reads(f->recipe, i);
    for (int o = 0; o < f->recipe->outputs; o++) {
        if (role == ROLE_A && f->recipe->output[o].role == ROLE_A && !f->elementwise)
            return f->matrix->depth > 1;
        used |= f->recipe->output[o].role == role;
    }
    return used && f->strided && ((role == ROLE_B && f->matrix->rows > 1) || (role == ROLE_G && f->matrix->columns > 1));
}

/* ---- constants and forms ---- */

static int constant_number(const struct writer *w, struct surd c)
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

static void emit_constants(struct writer *w)
{
    w->constant = NEW_ARRAY(w->out->arena, struct surd, w->m->form_terms + 1);
    for (int f = 0; f < w->m->forms; f++)
        for (int t = 0; t < w->m->form[f].terms; t++) {
            struct surd c = w->m->form[f].coefficient[t];
            if (is_one(c) || constant_number(w, c) >= 0)
                continue;
            c.sign = 1;
            text_printf(w->out, "    const %s C%d = ", w->real, w->constants);
            hex_print(w->out, w->is_float ? (double)surd_float(c) : surd_double(c), w->is_float);
            text_printf(w->out, "; /* ");
            surd_print(w->out, c);
            text_printf(w->out, " */\n");
            w->constant[w->constants++] = c;
        }
}

/* coefficient times name, as text without the sign. */
static const char *scaled(struct writer *w, struct surd c, const char *name)
{
    return is_one(c) ? name : arena_printf(w->out->arena, "C%d * %s", constant_number(w, c), name);
}

static void emit_forms(struct writer *w, const struct recipe_input *in, const char *indent)
{
    for (int f = 0; f < w->m->forms; f++) {
        const struct linear_form *form = &w->m->form[f];
        struct sum s;
        sum_begin(&s, w->out, (int)strlen(indent), arena_printf(w->out->arena, "const %s %s_f%d =", w->real, in->name, f));
        for (int t = 0; t < form->terms; t++)
            sum_add(&s, form->coefficient[t].sign < 0,
                    scaled(w, form->coefficient[t],
                           format(w, w->f->elementwise ? "%s_%d" : "%s[%d]", in->name, form->index[t])));
        sum_end(&s);
    }
}

static bool forms_needed(const struct recipe *r, int input)
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

/* ---- the body for one channel ---- */

static void load(struct writer *w, const struct recipe_input *in, int count, const bool *wanted)
{
    struct text line = {.arena = w->out->arena};
    for (int i = 0; i < count; i++) {
        if (wanted && !wanted[i])
            continue;
        if (line.n > 80) {
            text_printf(w->out, "        const %s %s;\n", w->real, line.s);
            line.n = 0;
        }
        text_printf(&line, "%s%s_%d = %s", line.n ? ", " : "", in->name, i, element(w, in->name, ld_of(w, in->role), i));
    }
    if (line.n)
        text_printf(w->out, "        const %s %s;\n", w->real, line.s);
}

static void emit_loads(struct writer *w)
{
    for (int i = 0; i < w->r->inputs; i++) {
        const struct recipe_input *in = &w->r->input[i];
        if (!recipe_reads(w->r, i))
            continue;
        if (in->role == ROLE_B)
            load(w, in, w->m->rows, w->row);
        else if (in->role == ROLE_G)
            load(w, in, w->m->columns, w->column);
        else if (in->role == ROLE_W)
            text_printf(w->out, "        const %s %s_0 = %s[u%s];\n", w->real, in->name, in->name,
                        w->f->weight_strided ? " * ldw" : "");
        else if (w->f->elementwise)
            load(w, in, w->m->depth, NULL);
    }
    for (int i = 0; w->f->elementwise && i < w->r->inputs; i++)
        if (w->r->input[i].role == ROLE_A && forms_needed(w->r, i))
            emit_forms(w, &w->r->input[i], "        ");
}

/* Name of component i of the U product number u: the scaled copy, or B itself. */
static const char *u_name(struct writer *w, int u, int i)
{
    const struct recipe_product *p = &w->r->u[u];
    return p->first < 0 ? format(w, "%s_%d", w->r->input[p->second].name, i)
                        : arena_printf(w->out->arena, "u%d_%d", u, i);
}

static void emit_us(struct writer *w)
{
    for (int u = 0; u < w->r->us; u++) {
        const struct recipe_product *p = &w->r->u[u];
        for (int i = 0; p->first >= 0 && i < w->m->rows; i++)
            if (w->row[i])
                text_printf(w->out, "        const %s u%d_%d = %s_0 * %s_%d;\n", w->real, u, i,
                            w->r->input[p->first].name, w->r->input[p->second].name, i);
    }
}

static const char *form_name(struct writer *w, int input, int entry)
{
    return format(w, "%s_f%d", w->r->input[input].name, (entry < 0 ? -entry : entry) - 1);
}

static void add_column(struct writer *w, struct sum *s, int a, int k, const char *(*name)(struct writer *, int, int), int vector)
{
    for (int i = 0; i < w->m->rows; i++) {
        int entry = w->m->entry[i * w->m->columns + k];
        if (entry)
            sum_add(s, entry < 0,
                    arena_printf(w->out->arena, "%s * %s", form_name(w, a, entry), name(w, vector, i)));
    }
}

static const char *input_component(struct writer *w, int input, int i)
{
    return format(w, "%s_%d", w->r->input[input].name, i);
}

static void emit_products(struct writer *w)
{
    struct sum s;
    for (int p = 0; p < w->r->rs; p++)
        for (int k = 0; k < w->m->columns; k++) {
            if (!w->column[k])
                continue;
            sum_begin(&s, w->out, 8, arena_printf(w->out->arena, "const %s r%d_%d =", w->real, p, k));
            add_column(w, &s, w->r->r[p].first, k, input_component, w->r->r[p].second);
            sum_end(&s);
        }
    for (int p = 0; p < w->r->ls; p++)
        for (int i = 0; i < w->m->rows; i++) {
            if (!w->row[i])
                continue;
            sum_begin(&s, w->out, 8, arena_printf(w->out->arena, "const %s l%d_%d =", w->real, p, i));
            for (int k = 0; k < w->m->columns; k++) {
                int entry = w->m->entry[i * w->m->columns + k];
                if (entry)
                    sum_add(&s, entry < 0,
                            arena_printf(w->out->arena, "%s * %s", form_name(w, w->r->l[p].first, entry),
                                         input_component(w, w->r->l[p].second, k)));
            }
            sum_end(&s);
        }
}

/* G and B outputs: sum over weights of w (v + v' + ..), v = r0_k or l0_i. */
static void emit_weighted(struct writer *w, const struct recipe_output *o, char letter, int i)
{
    struct arena *a = w->out->arena;
    struct sum s;
    sum_begin(&s, w->out, 8,
              arena_printf(a, "%s %s", element(w, o->name, ld_of(w, o->role), i), o->assign ? "=" : "+="));
    for (int p = 0; p < o->parts;) {
        struct text group = {.arena = a};
        int first = p;
        for (; p < o->parts && o->part[p].factor == o->part[first].factor; p++)
            text_printf(&group, "%s%c%d_%d", p > first ? " + " : "", letter, o->part[p].vector, i);
        if (o->part[first].factor < 0)
            sum_add(&s, false, text_string(&group));
        else
            sum_add(&s, false, arena_printf(a, p - first > 1 ? "%s_0 * (%s)" : "%s_0 * %s",
                                            w->r->input[o->part[first].factor].name, text_string(&group)));
    }
    sum_end(&s);
}

static void emit_weight_gradient(struct writer *w, const struct recipe_output *o)
{
    struct sum s;
    sum_begin(&s, w->out, 8, arena_printf(w->out->arena, "%s[u%s] %s", o->name, w->f->weight_strided ? " * ldw" : "",
                                          o->assign ? "=" : "+="));
    for (int p = 0; p < o->parts; p++)
        for (int i = 0; i < (o->by_r ? w->m->columns : w->m->rows); i++)
            if (o->by_r ? w->column[i] : w->row[i])
                sum_add(&s, false, arena_printf(w->out->arena, "%s_%d * %c%d_%d", w->r->input[o->part[p].factor].name, i,
                                                o->by_r ? 'r' : 'l', o->part[p].vector, i));
    sum_end(&s);
}

/* A output `number`: reverse mode of the forms. */
static void emit_reverse(struct writer *w, const struct recipe_output *o, int number)
{
    struct arena *a = w->out->arena;
    struct sum s;
    /* V[g][i]: sum of the U's that meet g */
    for (int p = 0; p < o->parts;) {
        int first = p;
        while (p < o->parts && o->part[p].factor == o->part[first].factor)
            p++;
        for (int i = 0; p - first > 1 && i < w->m->rows; i++) {
            if (!w->row[i])
                continue;
            sum_begin(&s, w->out, 8, arena_printf(a, "const %s v%d%s_%d =", w->real, number,
                                                  w->r->input[o->part[first].factor].name, i));
            for (int q = first; q < p; q++)
                sum_add(&s, false, u_name(w, o->part[q].vector, i));
            sum_end(&s);
        }
    }
    for (int f = 0; f < w->m->forms; f++) {
        sum_begin(&s, w->out, 8, arena_printf(a, "const %s q%d_%d =", w->real, number, f));
        for (int p = 0; p < o->parts;) {
            int first = p, g = o->part[first].factor;
            while (p < o->parts && o->part[p].factor == g)
                p++;
            for (int cell = 0; cell < w->m->rows * w->m->columns; cell++) {
                int entry = w->m->entry[cell], i = cell / w->m->columns, k = cell % w->m->columns;
                if (entry != f + 1 && entry != -f - 1)
                    continue;
                const char *v = p - first > 1 ? arena_printf(a, "v%d%s_%d", number, w->r->input[g].name, i)
                                              : u_name(w, o->part[first].vector, i);
                sum_add(&s, entry < 0, arena_printf(a, "%s * %s", v, input_component(w, g, k)));
            }
        }
        sum_end(&s);
    }
    for (int j = 0; j < w->m->depth; j++) {
        bool any = false;
        for (int f = 0; f < w->m->forms; f++)
            for (int t = 0; t < w->m->form[f].terms; t++) {
                if (w->m->form[f].index[t] != j)
                    continue;
                if (!any)
                    sum_begin(&s, w->out, 8, arena_printf(a, "%s +=", element(w, o->name, ld_of(w, ROLE_A), j)));
                any = true;
                struct surd c = w->m->form[f].coefficient[t];
                sum_add(&s, c.sign < 0, scaled(w, c, arena_printf(a, "q%d_%d", number, f)));
            }
        if (any)
            sum_end(&s);
    }
}

static void emit_outputs(struct writer *w)
{
    struct arena *a = w->out->arena;
    for (int n = 0; n < w->r->outputs; n++) {
        const struct recipe_output *o = &w->r->output[n];
        if (o->role == ROLE_W) {
            emit_weight_gradient(w, o);
        } else if (o->role == ROLE_A) {
            emit_reverse(w, o, n);
        } else if (o->role == ROLE_B) {
            for (int i = 0; i < w->m->rows; i++)
                if (w->row[i])
                    emit_weighted(w, o, 'l', i);
        } else {
            for (int k = 0; k < w->m->columns; k++) {
                struct sum s;
                if (w->column[k] && !o->prescaled) {
                    emit_weighted(w, o, 'r', k);
                } else if (w->column[k] || o->assign) {
                    sum_begin(&s, w->out, 8, arena_printf(a, "%s %s", element(w, o->name, ld_of(w, ROLE_G), k),
                                                          o->assign ? "=" : "+="));
                    for (int p = 0; w->column[k] && p < o->parts; p++)
                        add_column(w, &s, o->part[p].factor, k, u_name, o->part[p].vector);
                    sum_end(&s);
                }
            }
        }
    }
}

/* ---- the function ---- */

static void emit_comment(struct writer *w)
{
    const struct matrix *m = w->m;
    text_printf(w->out, "/* (l1, l2, l3) = (%d, %d, %d): M from ", m->l1, m->l2, m->l3);
    int named = 0;
    for (int i = 0; i < w->r->inputs; i++)
        if (w->r->input[i].role == ROLE_A && forms_needed(w->r, i))
            text_printf(w->out, "%s%s", named++ ? " and " : "", w->r->input[i].name);
    text_printf(w->out, "%s, a = ", named ? "" : slot_name[m->a]);
    surd_print(w->out, m->scale);
    text_printf(w->out, "; %d entries, %d forms, %.0f flops a channel. */\n", m->entries, m->forms,
                recipe_flops(w->r, m->entries, m->rows, m->columns, m->form_terms));
}

static void emit_signature(struct writer *w)
{
    struct text line = {.arena = w->out->arena};
    const struct recipe *r = w->r;
    text_printf(&line, "static void %s(int64_t n", w->f->name);
    size_t open = strlen("static void (") + strlen(w->f->name);
    if (product_takes_ld(w->f, ROLE_B))
        text_printf(&line, ", int64_t ldb");
    if (product_takes_ld(w->f, ROLE_G))
        text_printf(&line, ", int64_t ldg");
    if (w->f->weight_strided)
        text_printf(&line, ", int64_t ldw");
    if (product_takes_ld(w->f, ROLE_A))
        text_printf(&line, ", int64_t lda");
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        if (i < r->inputs && !recipe_reads(r, i))
            continue;
        const char *p = i < r->inputs ? arena_printf(line.arena, "const real *restrict %s", r->input[i].name)
                                      : arena_printf(line.arena, "real *restrict %s", r->output[i - r->inputs].name);
        if (line.n + strlen(p) > 105) {
            text_printf(w->out, "%s,\n", line.s);
            line.n = 0;
            text_printf(&line, "%*s%s", (int)open, "", p);
        } else {
            text_printf(&line, ", %s", p);
        }
    }
    text_printf(w->out, "%s)\n{\n", line.s);
}

void emit_c_product(struct text *out, const struct plan *plan, const struct product_function *f)
{
    const struct matrix *m = f->matrix;
    struct writer w = {.out = out, .f = f, .r = f->recipe, .m = m, .real = "real",
                       .is_float = plan->problem->spec->precision == PRECISION_FLOAT32};
    w.row = NEW_ARRAY(out->arena, bool, m->rows);
    w.column = NEW_ARRAY(out->arena, bool, m->columns);
    for (int i = 0; i < m->rows * m->columns; i++)
        if (m->entry[i])
            w.row[i / m->columns] = w.column[i % m->columns] = true;
    emit_comment(&w);
    emit_signature(&w);
    emit_constants(&w);
    for (int i = 0; !f->elementwise && i < w.r->inputs; i++)
        if (w.r->input[i].role == ROLE_A && forms_needed(w.r, i))
            emit_forms(&w, &w.r->input[i], "    ");
    text_printf(out, "    for (int64_t u = 0; u < n; u++) {\n");
    emit_loads(&w);
    emit_us(&w);
    emit_products(&w);
    emit_outputs(&w);
    text_printf(out, "    }\n}\n\n");
}
