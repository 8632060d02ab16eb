/* loops_table.c - see loops_table.h. */
#include "schedule/loops/loops_table.h"

#include "schedule/path_table.h"
#include "util/out.h"

struct table_writer {
    struct source *s;
    struct out o;
    const struct recipe *r;
};

static const char *name_of(const struct table_writer *w, int input)
{
    return w->r->input[input].name;
}

/* Channel u's number of an input: of B in row i, of G in column k. */
static const char *element(const struct table_writer *w, int input)
{
    static const char *const at[ROLE_COUNT] = {
        [ROLE_B] = "i * ldb + u", [ROLE_W] = "u * ldw", [ROLE_G] = "k * ldg + u"};
    return arena_printf(w->s->arena, "%s[%s]", name_of(w, input), at[w->r->input[input].role]);
}

static const char *times(const struct table_writer *w, int factor, const char *with)
{
    return factor < 0 ? with : arena_printf(w->s->arena, "%s * %s", element(w, factor), with);
}

static void emit_channels(struct table_writer *w)
{
    line(&w->o, "for (int64_t u = from; u < to; u++)");
}

/* Sums over rows of M for outputs of G, or over its columns for those of B, and for weights. */
static void emit_sums(struct table_writer *w, bool columns)
{
    struct arena *a = w->s->arena;
    struct table_sums sums;
    struct text uses = {.arena = a};
    struct out later = {.text = &uses, .depth = 3};
    const char letter = columns ? 'r' : 'l';
    table_sums_begin(a, &sums, w->r);
    for (int i = 0; i < w->r->outputs; i++) {
        const struct recipe_output *q = &w->r->output[i];
        struct text sum = {.arena = a};
        for (int k = 0, factor; table_output_by(q, columns) && k < q->parts; k++) {
            const int number = table_sum_of(w->r, q, k, columns, &sums, &factor);
            text_printf(&sum, "%s%s", sum.n ? " + " : "",
                        times(w, factor, arena_printf(a, "%c%d[u - from]", letter, number)));
        }
        if (!sum.n)
            continue;
        line(&later, "for (int64_t u = from; u < to; u++)");
        line(&later, "%s += %s;",
             q->role == ROLE_W ? arena_printf(a, "%ssum[u - from]", q->name)
                               : arena_printf(a, "%s[%s + u]", q->name, columns ? "k * ldg" : "i * ldb"),
             text_string(&sum));
    }
    if (!sums.n)
        return;
    line(&w->o,
         columns ? "for (int64_t k = 0; k < m->columns; k++) {" : "for (int64_t i = 0; i < m->rows; i++) {");
    for (int i = 0; i < sums.n; i++)
        line(&w->o, "real %c%d[CGTP_TABLE_CHANNELS] = {0};", letter, i);
    line(&w->o,
         columns ? "for (int64_t i = 0; i < m->rows; i++) {" : "for (int64_t k = 0; k < m->columns; k++) {");
    for (int i = 0; i < sums.n; i++) {
        const char *of = name_of(w, sums.product[i].first);
        line(&w->o, "const real f%d = %sm[i * m->columns + k];", i, of);
        emit_channels(w);
        line(&w->o, "%c%d[u - from] += f%d * %s;", letter, i, i, element(w, sums.product[i].second));
    }
    line(&w->o, "}");
    text_put(w->o.text, text_string(&uses), uses.n);
    line(&w->o, "}");
}

/* Gradients of A, for each channel: of terms those of B and weights times those of G. */
static void emit_gradient_of_a(struct table_writer *w, const struct recipe_output *q)
{
    struct arena *a = w->s->arena;
    line(&w->o, "for (int j = 0; j < m->depth; j++) {");
    line(&w->o, "for (int t = m->start[j]; t < m->start[j + 1]; t++) {");
    line(&w->o, "const int64_t i = m->cell[t] / m->columns, k = m->cell[t] %% m->columns;");
    emit_channels(w);
    struct text sum = {.arena = a};
    for (int part = 0, end; part < q->parts; part = end) {
        struct text u = {.arena = a};
        for (end = part; end < q->parts && q->part[end].factor == q->part[part].factor; end++) {
            const struct recipe_product *v = &w->r->u[q->part[end].vector];
            text_printf(&u, "%s%s", u.n ? " + " : "", times(w, v->first, element(w, v->second)));
        }
        text_printf(&sum, "%s(%s) * %s", sum.n ? " + " : "", text_string(&u),
                    element(w, q->part[part].factor));
    }
    line(&w->o, "%s[j * lda + u] += m->value[t] * (%s);", q->name, text_string(&sum));
    line(&w->o, "}");
    line(&w->o, "}");
}

/* The arguments of calls in their order, with what is declared before each. */
static const char *arguments(const struct table_writer *w, const char *input, const char *output)
{
    struct text list = {.arena = w->s->arena};
    for (int i = 0; i < w->r->inputs; i++)
        if (recipe_reads(w->r, i))
            text_printf(&list, ", %s%s", input, name_of(w, i));
    for (int i = 0; i < w->r->outputs; i++)
        text_printf(&list, ", %s%s", output, w->r->output[i].name);
    return text_string(&list);
}

static void emit_function(struct table_writer *w, const char *name)
{
    const struct recipe *r = w->r;
    const struct matrices *all = &w->s->plan->matrices;
    int cells = 0;
    for (int i = 0; i < all->n; i++)
        if (all->matrix[i]->rows * all->matrix[i]->columns > cells)
            cells = all->matrix[i]->rows * all->matrix[i]->columns;
    line(&w->o, "/* What is computed of paths by tables. */");
    line(&w->o,
         "static void %s(const struct cgtp_terms *m, int64_t n, int64_t ldb, int64_t ldg, int64_t ldw, "
         "int64_t lda, int64_t step%s)",
         name, arguments(w, "const real *restrict ", "real *restrict "));
    line(&w->o, "{");
    for (int i = 0; i < r->inputs; i++)
        if (table_has_matrix(r, i)) {
            line(&w->o, "real %sm[%d];", name_of(w, i), cells);
            line(&w->o, "cgtp_table_matrix(%sm, m, step, %s);", name_of(w, i), name_of(w, i));
        }
    line(&w->o, "for (int64_t from = 0; from < n; from += CGTP_TABLE_CHANNELS) {");
    line(&w->o, "const int64_t to = n - from < CGTP_TABLE_CHANNELS ? n : from + CGTP_TABLE_CHANNELS;");
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].role == ROLE_W)
            line(&w->o, "real %ssum[CGTP_TABLE_CHANNELS] = {0};", r->output[i].name);
    emit_sums(w, true);
    emit_sums(w, false);
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].role == ROLE_A)
            emit_gradient_of_a(w, &r->output[i]);
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].role == ROLE_W) {
            emit_channels(w);
            line(&w->o, "%s[u * ldw] %s %ssum[u - from];", r->output[i].name,
                 r->output[i].assign ? "=" : "+=", r->output[i].name);
        }
    line(&w->o, "}");
    line(&w->o, "(void)ldb, (void)ldg, (void)ldw, (void)lda, (void)step;");
    line(&w->o, "}");
    blank(&w->o);
}

const char *loops_table(struct source *s, const struct product_function *f)
{
    bool is_new;
    const char *name = product_table_name(s->functions, f->recipe, 0, "by_table", &is_new);
    struct table_writer w = {s, {.text = s->out}, f->recipe};
    struct table_terms t;
    if (is_new)
        emit_function(&w, name);
    table_terms_begin(s->arena, &t);
    table_terms_put(s, &t, f->matrix);
    text_printf(
        s->out,
        "static const int %s_start[] = {\n    %s};\nstatic const unsigned short %s_cell[] = {\n    %s};\n"
        "static const real %s_value[] = {\n    %s};\n",
        f->name, text_string(&t.start.text), f->name, text_string(&t.cell.text), f->name,
        text_string(&t.value.text));
    return name;
}

void loops_table_call(struct source *s, const struct product_function *f, const char *function,
                      const char *strides)
{
    const struct matrix *m = f->matrix;
    struct table_writer w = {s, {.text = s->out, .depth = 1}, f->recipe};
    line(&w.o, "const struct cgtp_terms terms = {%d, %d, %d, %s_start, %s_cell, %s_value};", m->rows,
         m->columns, m->depth, f->name, f->name, f->name);
    line(&w.o, "%s(&terms, n, %s%s);", function, strides, arguments(&w, "", ""));
}
