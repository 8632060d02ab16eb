/* path_table.c - see path_table.h. */
#include "schedule/path_table.h"

#include "schedule/code_print.h"
#include "schedule/path.h"

bool matrix_has_table(const struct matrix *m)
{
    return m->rows > 1 && m->columns > 1 && m->forms > 1;
}

/* ---- matrices ---- */

/* A table of numbers under a name of the matrix's, and how the struct gives them. */
static void emit_numbers(struct out *o, const char *matrix, const char *what, const char *type,
                         struct text *list)
{
    line(o, "CGTP_TABLE %s %s_%s[] = {%s};", type, matrix, what, text_string(list));
    list->n = 0;
}

static void emit_member(struct out *o, const char *matrix, const char *what, const char *type)
{
    line(o, "[[maybe_unused]] static CGTP_MEMBER %s %s(int i) { return %s_%s[i]; }", type, what, matrix,
         what);
}

static bool is_bare(const struct linear_form *f)
{
    return f->terms == 1 && surd_is_one(f->coefficient[0]);
}

static void emit_matrix(struct source *w, struct out *o, const struct matrix *m, const char *name)
{
    struct text list = {.arena = w->arena};
    static const char *const what[] = {"row", "column", "entry"};
    int cells = m->rows * m->columns, entries = 0;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < cells; i++)
            if (m->entry[i])
                text_printf(&list, "%s%d", list.n ? ", " : "",
                            k == 0   ? i / m->columns
                            : k == 1 ? i % m->columns
                                     : m->entry[i]);
        emit_numbers(o, name, what[k], "int", &list);
    }
    for (int i = 0; i < cells; i++)
        entries += m->entry[i] != 0;
    for (int f = 0; f < m->forms; f++)
        text_printf(&list, "%s%d", f ? ", " : "", is_bare(&m->form[f]) ? m->form[f].index[0] : -1);
    emit_numbers(o, name, "bare", "int", &list);
    for (int f = 0; f < m->forms; f++)
        for (int t = 0; t < m->form[f].terms; t++)
            text_printf(&list, "%s%d", f || t ? ", " : "", f);
    emit_numbers(o, name, "form", "int", &list);
    for (int f = 0; f < m->forms; f++)
        for (int t = 0; t < m->form[f].terms; t++)
            text_printf(&list, "%s%d", f || t ? ", " : "", m->form[f].index[t]);
    emit_numbers(o, name, "index", "int", &list);
    for (int f = 0; f < m->forms; f++)
        for (int t = 0; t < m->form[f].terms; t++) {
            struct surd c = m->form[f].coefficient[t];
            const char *sign = c.sign < 0 ? "-" : "";
            c = c.sign < 0 ? surd_negate(c) : c;
            text_printf(&list, "%s%s%s", f || t ? ", " : "", sign,
                        surd_is_one(c) ? "1" : constant_name(w->constants, c));
        }
    emit_numbers(o, name, "coefficient", "real", &list);
    line(o, "struct %s {", name);
    line(o, "enum { rows = %d, columns = %d, depth = %d, entries = %d, forms = %d, terms = %d };", m->rows,
         m->columns, m->depth, entries, m->forms, m->form_terms);
    for (int k = 0; k < 3; k++)
        emit_member(o, name, what[k], "int");
    emit_member(o, name, "bare", "int");
    emit_member(o, name, "form", "int");
    emit_member(o, name, "index", "int");
    emit_member(o, name, "coefficient", "real");
    line(o, "};");
    blank(o);
}

/* ---- recipes ---- */

struct table_recipe {
    struct source *w;
    struct out *o;
    const struct recipe *r;
    int channels;
};

/* The lane's channel of an operand in a role, a vector of so many components; a number where it has one. */
static const char *operand(const struct table_recipe *t, enum role role, const char *name)
{
    static const char *const components[ROLE_COUNT] = {[ROLE_B] = "rows", [ROLE_G] = "columns"};
    if (role == ROLE_A || t->channels == 1)
        return name;
    return arena_printf(t->w->arena, "(%s + u * M::%s)", name, components[role]);
}

static const char *weight(const struct table_recipe *t, int input)
{
    const char *name = t->r->input[input].name;
    return t->channels == 1 ? name : arena_printf(t->w->arena, "%s[u]", name);
}

static const char *input(const struct table_recipe *t, int i)
{
    return operand(t, t->r->input[i].role, t->r->input[i].name);
}

static const char *forms(const struct table_recipe *t, int i)
{
    return arena_printf(t->w->arena, "%sform", t->r->input[i].name);
}

/* A product's vector, by its letter and number; U without a weight is B itself. */
static const char *vector(const struct table_recipe *t, char letter, int i)
{
    if (letter == 'u' && t->r->u[i].first < 0)
        return input(t, t->r->u[i].second);
    return arena_printf(t->w->arena, "%c%d", letter, i);
}

/* to += weight * v; without a weight: to += v */
static void emit_add(const struct table_recipe *t, const char *to, const char *length, int factor,
                     const char *v)
{
    if (factor < 0)
        line(t->o, "cgtp_table_add_vector<M::%s>(%s, %s);", length, to, v);
    else
        line(t->o, "cgtp_table_add_scaled<M::%s>(%s, %s, %s);", length, to, weight(t, factor), v);
}

static void emit_products(const struct table_recipe *t)
{
    const struct recipe *r = t->r;
    for (int i = 0; i < r->us; i++)
        if (r->u[i].first >= 0) {
            line(t->o, "real u%d[M::rows];", i);
            line(t->o, "cgtp_table_clear<M::rows>(u%d);", i);
            line(t->o, "cgtp_table_add_scaled<M::rows>(u%d, %s, %s);", i, weight(t, r->u[i].first),
                 input(t, r->u[i].second));
        }
    for (int i = 0; i < r->rs; i++) {
        line(t->o, "real r%d[M::columns];", i);
        line(t->o, "cgtp_table_clear<M::columns>(r%d);", i);
        line(t->o, "cgtp_table_add<M>(r%d, %s, %s);", i, forms(t, r->r[i].first), input(t, r->r[i].second));
    }
    for (int i = 0; i < r->ls; i++) {
        line(t->o, "real l%d[M::rows];", i);
        line(t->o, "cgtp_table_clear<M::rows>(l%d);", i);
        line(t->o, "cgtp_table_add_left<M>(l%d, %s, %s);", i, forms(t, r->l[i].first),
             input(t, r->l[i].second));
    }
}

/* The U of the parts from `first` on that meet the same factor, added up; *end: the part after them. */
static const char *same_factor(const struct table_recipe *t, int output, int first, int *end)
{
    const struct recipe_output *q = &t->r->output[output];
    for (*end = first + 1; *end < q->parts && q->part[*end].factor == q->part[first].factor;)
        ++*end;
    if (*end == first + 1)
        return vector(t, 'u', q->part[first].vector);
    const char *name = arena_printf(t->w->arena, "v%d_%d", output, first);
    line(t->o, "real %s[M::rows];", name);
    line(t->o, "cgtp_table_clear<M::rows>(%s);", name);
    for (int p = first; p < *end; p++)
        emit_add(t, name, "rows", t->r->u[q->part[p].vector].first,
                 input(t, t->r->u[q->part[p].vector].second));
    return name;
}

static void emit_weight_gradient(const struct table_recipe *t, const struct recipe_output *q)
{
    const char *to = t->channels == 1 ? arena_printf(t->w->arena, "%s[0]", q->name)
                                      : arena_printf(t->w->arena, "%s[u]", q->name);
    for (int p = 0; p < q->parts; p++)
        line(t->o, "%s %s cgtp_table_dot<M::%s>(%s, %s);", to, p || !q->assign ? "+=" : "=",
             q->by_r ? "columns" : "rows", input(t, q->part[p].factor),
             vector(t, q->by_r ? 'r' : 'l', q->part[p].vector));
}

static void emit_output(const struct table_recipe *t, int output)
{
    const struct recipe_output *q = &t->r->output[output];
    const char *to = operand(t, q->role, q->name), *length = q->role == ROLE_G ? "columns" : "rows";
    if (q->role == ROLE_W) {
        emit_weight_gradient(t, q);
        return;
    }
    for (int p = 0, end; p < q->parts; p = end) {
        end = p + 1;
        const int factor = q->part[p].factor;
        if (q->role == ROLE_B || (q->role == ROLE_G && !q->prescaled)) {
            emit_add(t, to, length, factor, vector(t, q->role == ROLE_B ? 'l' : 'r', q->part[p].vector));
            continue;
        }
        const char *v = same_factor(t, output, p, &end);
        if (q->role == ROLE_A)
            line(t->o, "cgtp_table_add_forms<M>(%s, %s, %s);", to, v, input(t, factor));
        else
            line(t->o, "cgtp_table_add<M>(%s, %s, %s);", to, forms(t, factor), v);
    }
}

static void emit_recipe(const struct table_recipe *t, const char *name)
{
    const struct recipe *r = t->r;
    struct text list = {.arena = t->w->arena};
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        bool number = i < r->inputs && r->input[i].role == ROLE_W && t->channels == 1;
        if (i < r->inputs && !recipe_reads(r, i))
            continue;
        text_printf(&list, "%s%sreal %s%s", list.n ? ", " : "", i < r->inputs && !number ? "const " : "",
                    number ? "" : "*", i < r->inputs ? r->input[i].name : r->output[i - r->inputs].name);
    }
    line(t->o, "/* What is computed of paths by table, for a lane's channels. */");
    line(t->o, "template <typename M> CGTP_DEVICE void %s(%s)", name, text_string(&list));
    line(t->o, "{");
    for (int i = 0; i < r->inputs; i++)
        if (r->input[i].role == ROLE_A && recipe_reads(r, i)) {
            line(t->o, "real %s[M::forms];", forms(t, i));
            line(t->o, "cgtp_table_forms<M>(%s, %s);", forms(t, i), r->input[i].name);
        }
    if (t->channels > 1)
        line(t->o, "CGTP_UNROLL for (int u = 0; u < %d; u++) {", t->channels);
    emit_products(t);
    for (int i = 0; i < r->outputs; i++)
        emit_output(t, i);
    if (t->channels > 1)
        line(t->o, "}");
    line(t->o, "}");
    blank(t->o);
}

/* ---- both ---- */

const char *path_table_function(struct source *w, struct out *o, const struct code *c, const struct matrix *m,
                                int channels)
{
    bool new_recipe, new_matrix;
    const char *recipe = product_table_name(w->functions, c->recipe, channels, "by_table", &new_recipe);
    const char *base = arena_printf(w->arena, "matrix_%d_%d_%d", m->l1, m->l2, m->l3);
    const char *matrix = product_table_name(w->functions, m, 0, base, &new_matrix);
    const struct table_recipe t = {w, o, c->recipe, channels};
    if (new_recipe)
        emit_recipe(&t, recipe);
    if (new_matrix)
        emit_matrix(w, o, m, matrix);
    return arena_printf(w->arena, "%s<%s>", recipe, matrix);
}
