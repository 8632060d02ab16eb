/* path_table.c - see path_table.h. */
#include "schedule/path_table.h"
#include "util/hash.h"

#include "schedule/code_print.h"
#include "schedule/path.h"
#include "util/out.h"

#include <string.h>

enum {
    LANES = 32,
    LONG =
        1
        << 16 /* entries of matrices, times how often each is applied: 3 MB of code, three minutes of nvcc */
};

/* ---- what it takes ---- */

static bool may_table(const struct demand *d, int path)
{
    const struct path_plan *e = &d->plan->path[path];
    return d->variant_of[path] >= 0 && d->variant[d->variant_of[path]].product && !e->elementwise &&
           !e->contracted && !e->pairs && path_channels_a(e) == 1;
}

bool *paths_by_table(struct arena *a, const struct demand *d)
{
    bool *by_table = NEW_ARRAY(a, bool, d->plan->problem->paths + 1), any = false;
    for (int i = 0; i < d->plan->problem->paths; i++)
        any |= by_table[i] = may_table(d, i);
    return any ? by_table : NULL;
}

static const struct recipe *recipe_of(const struct demand *d, int path)
{
    return d->variant[d->variant_of[path]].product;
}

bool table_has_matrix(const struct recipe *r, int input)
{
    return r->input[input].role == ROLE_A && recipe_reads(r, input);
}

static int matrices_of(const struct recipe *r)
{
    int n = 0;
    for (int i = 0; i < r->inputs; i++)
        n += table_has_matrix(r, i);
    return n;
}

static int gradients_of_a(const struct recipe *r)
{
    int n = 0;
    for (int o = 0; o < r->outputs; o++)
        n += r->output[o].role == ROLE_A;
    return n;
}

int64_t path_table_scratch(const struct demand *d, int path)
{
    const struct recipe *r = recipe_of(d, path);
    const struct matrix *m = d->plan->path[path].matrix;
    const bool sums = gradients_of_a(r) > 0;
    return (int64_t)(matrices_of(r) + sums) * m->rows * m->columns + (sums ? m->rows * (LANES + 1) : 0);
}

static int rounds(int n, int at_a_time)
{
    return (n + at_a_time - 1) / at_a_time;
}

double path_table_work(const struct demand *d, int path)
{
    const double per_path = 60, per_j = 14, per_step = 5,
                 per_sum = 16; /* shared memory is read twice a step */
    const struct path_plan *e = &d->plan->path[path];
    const struct recipe *r = recipe_of(d, path);
    const struct matrix *m = e->matrix;
    const int n = path_channels_b(e), cells = m->rows * m->columns;
    int parts = 1;
    while (parts * n * 2 <= LANES)
        parts *= 2;
    double work = per_path + matrices_of(r) * (per_j * m->depth + 3 * rounds(cells, LANES));
    int rs = r->rs;
    for (int o = 0; o < r->outputs; o++)
        rs += r->output[o].role == ROLE_G && r->output[o].prescaled ? r->output[o].parts : 0;
    work +=
        rounds(n, LANES) * ((rs > 0) * rounds(m->columns, parts) * (per_sum + per_step * rs * m->rows) +
                            (r->ls > 0) * rounds(m->rows, parts) * (per_sum + per_step * r->ls * m->columns));
    return work + gradients_of_a(r) * ((per_j + 10) * m->depth + rounds(n, LANES) * 8.0 * m->rows +
                                       per_step * rounds(cells, LANES) * n);
}

/* Has a path before it the same code? It is added to those there are, `other` by their numbers in the hash.
 */
static bool has_code(const struct demand *d, struct hash *codes, int *other, int path)
{
    const struct matrix *m = d->plan->path[path].matrix;
    const uint32_t key = hash_bytes(hash_bytes(0, &m, sizeof m), &d->variant_of[path], sizeof *d->variant_of);
    int i = hash_first(codes, key);
    while (i >= 0 && (d->plan->path[other[i]].matrix != m || d->variant_of[other[i]] != d->variant_of[path]))
        i = hash_next(codes, i);
    if (i >= 0)
        return true;
    other[codes->n] = path;
    hash_add(codes, key);
    return false;
}

bool paths_want_tables(const struct target *target, const struct demand *d)
{
    const struct spec_knob *asked = knob_of(d->plan, target, d->kernel, KNOB_TABLE);
    if (asked)
        return asked->value > 1;
    double entries = 0;
    const struct arena_mark mark = arena_mark(d->codes->arena);
    struct hash codes = {.arena = d->codes->arena};
    int *other = NEW_ARRAY(d->codes->arena, int, d->plan->problem->paths);
    for (int i = 0; i < d->plan->problem->paths; i++)
        if (may_table(d, i) && !has_code(d, &codes, other, i))
            entries += (double)recipe_of(d, i)->applications * d->plan->path[i].matrix->entries;
    arena_release(d->codes->arena, mark);
    return entries > LONG;
}

/* ---- tables ---- */

static void put_number(struct numbers *to, const char *number)
{
    enum { WIDTH = 100 };
    const size_t n = strlen(number) + 2;
    const bool breaks = to->column + n > WIDTH;
    text_printf(&to->text, "%s%s", !to->text.n ? "" : breaks ? ",\n    " : ", ", number);
    to->column = breaks ? n : to->column + n;
}

void table_terms_begin(struct arena *a, struct table_terms *t)
{
    *t = (struct table_terms){0};
    t->start.text.arena = t->cell.text.arena = t->value.text.arena = a;
}

void table_terms_put(struct source *w, struct table_terms *t, const struct matrix *m)
{
    struct arena *a = w->arena;
    for (int j = 0; j < m->depth; j++) {
        put_number(&t->start, arena_printf(a, "%d", t->terms));
        for (int cell = 0; cell < m->rows * m->columns; cell++) {
            const int entry = m->entry[cell];
            const struct linear_form *f = entry ? &m->form[(entry < 0 ? -entry : entry) - 1] : NULL;
            for (int k = 0; f && k < f->terms; k++) {
                const struct surd c = f->coefficient[k];
                if (f->index[k] != j)
                    continue;
                put_number(&t->cell, arena_printf(a, "%d", cell));
                put_number(&t->value,
                           arena_printf(a, "%s%s", (c.sign < 0) != (entry < 0) ? "-" : "",
                                        constant_name(w->constants, c.sign < 0 ? surd_negate(c) : c)));
                t->terms++;
            }
        }
    }
    put_number(&t->start, arena_printf(a, "%d", t->terms));
    t->starts += m->depth + 1;
}

struct tables {
    struct source *w;
    struct out *o;
    const char *name; /* what the schedule's tables begin with */
    int matrices;
    const struct matrix **matrix;
    int *start; /* [matrices]: where its numbers begin among those of terms */
    struct table_terms terms;
};

static int start_of(struct tables *t, const struct matrix *m)
{
    for (int i = 0; i < t->matrices; i++)
        if (t->matrix[i] == m)
            return t->start[i];
    t->matrix[t->matrices] = m;
    t->start[t->matrices++] = t->terms.starts;
    table_terms_put(t->w, &t->terms, m);
    return t->start[t->matrices - 1];
}

/* The block of the arrays that stand in a role; NULL: none. */
static const struct operand_block *block_in(const struct tables *t, const struct path_plan *e,
                                            const struct recipe *r, enum role role)
{
    const struct kernel_plan *k = t->w->kernel->kernel;
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        const bool input = i < r->inputs;
        if ((input ? r->input[i].role : r->output[i - r->inputs].role) == role)
            return operand_block_of(input ? kernel_input(k, r->input[i].source)
                                          : kernel_output(k, r->output[i - r->inputs].source),
                                    e->path);
    }
    return NULL;
}

static long long first_of(const struct operand_block *b)
{
    return b ? b->offset : 0;
}

static long long channel_of(const struct operand_block *b)
{
    return b ? b->channel : 0;
}

static long long component_of(const struct operand_block *b)
{
    return b ? b->component : 0;
}

static void emit_path(struct tables *t, const struct recipe *r, int path)
{
    const struct path_plan *e = &t->w->plan->path[path];
    const struct matrix *m = e->matrix;
    const struct operand_block *a = block_in(t, e, r, ROLE_A), *b = block_in(t, e, r, ROLE_B),
                               *w = block_in(t, e, r, ROLE_W), *g = block_in(t, e, r, ROLE_G);
    line(t->o, "/* %s */", source_path_line(t->w->arena, t->w->plan, e->path));
    line(t->o, "{%d, %d, %d, %d, %d, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld},",
         path_channels_b(e), m->rows, m->columns, m->depth, start_of(t, m), first_of(a), first_of(b),
         first_of(w), first_of(g), component_of(a), channel_of(b), component_of(b),
         w ? (long long)path_weight_step(e->path, e->b) : 0, channel_of(g), component_of(g));
}

/* ---- the function of a recipe ---- */

struct table_function {
    struct arena *arena;
    struct out *o;
    const struct recipe *r;
};

static const char *name_of(const struct table_function *f, int input)
{
    return f->r->input[input].name;
}

/* A lane's element of an input, of channel u. */
static const char *element(const struct table_function *f, int input)
{
    static const char *const at[ROLE_COUNT] = {
        [ROLE_B] = "u * p.b_channel + i * p.b_component", [ROLE_G] = "u * p.g_channel + k * p.g_component"};
    const enum role role = f->r->input[input].role;
    return role == ROLE_W ? arena_printf(f->arena, "%sc", name_of(f, input))
                          : arena_printf(f->arena, "%s[%s]", name_of(f, input), at[role]);
}

/* "+= w_c * r0": a factor may be none. */
static const char *product(const struct table_function *f, int factor, const char *with)
{
    return factor < 0 ? with : arena_printf(f->arena, "%s * %s", element(f, factor), with);
}

static void emit_head(const struct table_function *f, const char *name)
{
    const struct recipe *r = f->r;
    struct text types = {.arena = f->arena}, list = {.arena = f->arena};
    for (int o = 0; o < r->outputs; o++)
        text_printf(&types, "%stypename %srow", o ? ", " : "", r->output[o].name);
    for (int i = 0; i < r->inputs; i++)
        if (recipe_reads(r, i))
            text_printf(&list, ", const real *%s", name_of(f, i));
    for (int o = 0; o < r->outputs; o++)
        text_printf(&list, ", %srow %s", r->output[o].name, r->output[o].name);
    line(f->o, "/* What a warp computes of a path by tables. */");
    line(f->o, "template <%s>", text_string(&types));
    line(f->o, "CGTP_DEVICE void %s(const cgtp_table_path &p, cgtp_terms terms%s, real *scratch)", name,
         text_string(&list));
    line(f->o, "{");
    static const char letter[ROLE_COUNT] = {[ROLE_A] = 'a', [ROLE_B] = 'b', [ROLE_W] = 'w', [ROLE_G] = 'g'};
    for (int i = 0; i < r->inputs; i++)
        if (recipe_reads(r, i))
            line(f->o, "%s += p.%c;", name_of(f, i), letter[r->input[i].role]);
    for (int o = 0; o < r->outputs; o++)
        line(f->o, "%s = %s + p.%c;", r->output[o].name, r->output[o].name, letter[r->output[o].role]);
}

static const char *cells_before(const struct table_function *f, int matrices)
{
    return matrices == 1 ? "cells" : arena_printf(f->arena, "%d * cells", matrices);
}

static void emit_matrices(const struct table_function *f)
{
    const int n = matrices_of(f->r);
    if (n > 1 || gradients_of_a(f->r))
        line(f->o, "const int cells = p.rows * p.columns;");
    for (int i = 0, at = 0; i < f->r->inputs; i++)
        if (table_has_matrix(f->r, i)) {
            line(f->o, "real *const %sm = %s;", name_of(f, i),
                 at ? arena_printf(f->arena, "scratch + %s", cells_before(f, at)) : "scratch");
            line(f->o, "cgtp_table_matrix(%sm, p, terms, %s);", name_of(f, i), name_of(f, i));
            at++;
        }
    if (gradients_of_a(f->r))
        line(f->o, "real *const sums = scratch + %s, *const products = sums + cells;", cells_before(f, n));
}

/* Does the output, or all that are summed by rows and columns of M (NULL), multiply by the weights? */
static bool meets_weights(const struct table_function *f, const struct recipe_output *only, int input)
{
    bool meets = false;
    for (int o = 0; o < f->r->outputs; o++) {
        const struct recipe_output *q = &f->r->output[o];
        const bool of_products = q->role == ROLE_A || q->prescaled;
        for (int k = 0; k < q->parts && (only ? q == only : q->role == ROLE_B || q->role == ROLE_G); k++)
            meets |= input == (of_products ? f->r->u[q->part[k].vector].first : q->part[k].factor);
    }
    return meets;
}

static void open_channel(const struct table_function *f, const struct recipe_output *only)
{
    for (int i = 0; i < f->r->inputs; i++)
        if (f->r->input[i].role == ROLE_W && meets_weights(f, only, i))
            line(f->o, "const real %sc = has ? %s[u * p.w_channel] : (real)0;", name_of(f, i), name_of(f, i));
}

/* Gradients of A: the products of B and weights of 32 channels at a time, a channel for each lane, which meet
 * rows of G by cells of M. */
static void emit_gradient_of_a(const struct table_function *f, const struct recipe_output *q)
{
    struct out *o = f->o;
    line(o, "cgtp_table_clear(sums, cells);");
    line(o, "for (int from = 0; from < p.channels; from += CGTP_LANES) {");
    line(o, "const int u = from + cgtp_lane();");
    line(o, "const bool has = u < p.channels;");
    open_channel(f, q);
    for (int part = 0, end; part < q->parts; part = end) {
        struct text sum = {.arena = f->arena};
        for (end = part; end < q->parts && q->part[end].factor == q->part[part].factor; end++) {
            const struct recipe_product *v = &f->r->u[q->part[end].vector];
            text_printf(&sum, "%s%s", sum.n ? " + " : "", product(f, v->first, element(f, v->second)));
        }
        line(o, "for (int i = 0; i < p.rows; i++)");
        line(o, "products[i * (CGTP_LANES + 1) + cgtp_lane()] = has ? %s : (real)0;", text_string(&sum));
        line(o, "cgtp_sync_warp();");
        line(o,
             "cgtp_table_outer(sums, p, products, %s + from * p.g_channel, p.channels - from < CGTP_LANES ? "
             "p.channels - from : CGTP_LANES);",
             name_of(f, q->part[part].factor));
    }
    line(o, "}");
    line(o, "cgtp_table_back(%s, p, terms, sums);", q->name);
}

void table_sums_begin(struct arena *a, struct table_sums *s, const struct recipe *r)
{
    int most = 0;
    for (int i = 0; i < r->outputs; i++)
        most += r->output[i].parts;
    *s = (struct table_sums){0, NEW_ARRAY(a, struct recipe_product, most + 1)};
}

bool table_output_by(const struct recipe_output *q, bool columns)
{
    return q->role == ROLE_W ? q->by_r == columns : q->role == (columns ? ROLE_G : ROLE_B);
}

int table_sum_of(const struct recipe *r, const struct recipe_output *q, int part, bool columns,
                 struct table_sums *s, int *factor)
{
    const struct recipe_part *p = &q->part[part];
    struct recipe_product sum = columns && !q->prescaled ? r->r[p->vector] : (struct recipe_product){0, 0};
    *factor = p->factor;
    if (q->prescaled) { /* M of the factor times B, as weights meet what comes of that, too */
        sum = (struct recipe_product){p->factor, r->u[p->vector].second};
        *factor = r->u[p->vector].first;
    } else if (!columns) {
        sum = r->l[p->vector];
    }
    int i = 0;
    while (i < s->n && (s->product[i].first != sum.first || s->product[i].second != sum.second))
        i++;
    s->product[i] = sum;
    s->n += i == s->n;
    return i;
}

/* Sums over rows for outputs of G (and of weights), or over columns for those of B. */
static void emit_loop(const struct table_function *f, bool columns)
{
    const struct recipe *r = f->r;
    const char letter = columns ? 'r' : 'l';
    struct table_sums sums;
    table_sums_begin(f->arena, &sums, r);
    struct text uses = {.arena = f->arena};
    struct out later = {.text = &uses, .depth = f->o->depth + 1};
    for (int i = 0; i < r->outputs; i++) {
        const struct recipe_output *q = &r->output[i];
        struct text sum = {.arena = f->arena};
        if (!table_output_by(q, columns))
            continue;
        for (int k = 0, factor; k < q->parts; k++) {
            const int number = table_sum_of(r, q, k, columns, &sums, &factor);
            text_printf(&sum, "%s%s", sum.n ? " + " : "",
                        product(f, factor, arena_printf(f->arena, "%c%d", letter, number)));
        }
        if (q->role == ROLE_W)
            line(&later, "%ssum += %s;", q->name, text_string(&sum));
        else
            line(&later, "%s[%s] += %s;", q->name,
                 columns ? "u * p.g_channel + k * p.g_component" : "u * p.b_channel + i * p.b_component",
                 text_string(&sum));
    }
    if (!sums.n)
        return;
    line(f->o, columns ? "for (int k = lanes.part; k < p.columns && has; k += lanes.parts) {"
                       : "for (int i = lanes.part; i < p.rows && has; i += lanes.parts) {");
    for (int i = 0; i < sums.n; i++)
        line(f->o, "real %c%d = 0;", letter, i);
    line(f->o, "for (int %s++)%s", columns ? "i = 0; i < p.rows; i" : "k = 0; k < p.columns; k",
         sums.n > 1 ? " {" : "");
    for (int i = 0; i < sums.n; i++)
        line(f->o, "%c%d += %sm[i * p.columns + k] * %s;", letter, i, name_of(f, sums.product[i].first),
             element(f, sums.product[i].second));
    if (sums.n > 1)
        line(f->o, "}");
    text_put(f->o->text, text_string(&uses), uses.n);
    line(f->o, "}");
}

static void emit_function(const struct table_function *f, const char *name)
{
    const struct recipe *r = f->r;
    struct out *o = f->o;
    emit_head(f, name);
    emit_matrices(f);
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].role == ROLE_A)
            emit_gradient_of_a(f, &r->output[i]);
    line(o, "const cgtp_table_lanes lanes(p.channels);");
    line(o, "for (int from = 0; from < p.channels; from += lanes.width) {");
    line(o, "const int u = from + lanes.channel();");
    line(o, "const bool has = u < p.channels;");
    open_channel(f, NULL);
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].role == ROLE_W)
            line(o, "real %ssum = 0;", r->output[i].name);
    emit_loop(f, true);
    emit_loop(f, false);
    bool gradients = false;
    for (int i = 0; i < r->outputs; i++)
        gradients |= r->output[i].role == ROLE_W;
    if (gradients)
        line(o, "cgtp_sync_warp(); /* weights are read, whose place gradients may take */");
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].role == ROLE_W) {
            line(o, "%ssum = lanes.sum(%ssum);", r->output[i].name, r->output[i].name);
            line(o, "if (has && lanes.part == 0)");
            line(o, "%s[u * p.w_channel] %s %ssum;", r->output[i].name,
                 r->output[i].assign ? "=" : "+=", r->output[i].name);
        }
    line(o, "}");
    line(o, "cgtp_sync_warp();");
    line(o, "}");
    blank(o);
}

/* ---- all of them ---- */

/* The paths of one recipe: their table, and a loop. */
static void emit_recipe(struct tables *t, struct text *item, const bool *takes, const struct recipe *r,
                        int number, int warps)
{
    struct source *w = t->w;
    int n = 0;
    bool is_new;
    const char *function = product_table_name(w->functions, r, 0, "by_table", &is_new);
    const struct table_function f = {w->arena, t->o, r};
    if (is_new)
        emit_function(&f, function);
    line(t->o, "CGTP_TABLE cgtp_table_path %spaths%d[] = {", t->name, number);
    for (int i = 0; i < w->problem->paths; i++)
        if (takes[i] && recipe_of(w->demand, i) == r) {
            emit_path(t, r, i);
            n++;
        }
    line(t->o, "};");
    blank(t->o);
    struct text list = {.arena = w->arena};
    for (int i = 0; i < r->inputs; i++)
        if (recipe_reads(r, i))
            text_printf(&list, "%s, ", source_input(w, r->input[i].source)->symbol);
    for (int o = 0; o < r->outputs; o++)
        text_printf(&list, "%s, ", kernel_output(w->kernel->kernel, r->output[o].source)->symbol);
    struct out o = {.text = item, .depth = 1};
    line(&o, "CGTP_LOOP");
    line(&o, "for (int i = %s; i < %d; i += %d)", warps > 1 ? "warp" : "0", n, warps);
    line(&o, "%s(%spaths%d[i], {%sstart, %scell, %svalue}, %sscratch);", function, t->name, number, t->name,
         t->name, t->name, text_string(&list));
}

void path_tables(struct source *w, struct text *item, const bool *takes, int warps)
{
    const int paths = w->problem->paths;
    struct text rest = {.arena = w->arena};
    struct out o = {.text = &rest};
    struct tables t = {.w = w,
                       .o = &o,
                       .name = arena_printf(w->arena, "%s_", w->schedule->name),
                       .matrix = NEW_ARRAY(w->arena, const struct matrix *, paths + 1),
                       .start = NEW_ARRAY(w->arena, int, paths + 1)};
    table_terms_begin(w->arena, &t.terms);
    for (int i = 0, number = 0; i < paths; i++) {
        bool known = false;
        for (int k = 0; takes[i] && k < i; k++)
            known |= takes[k] && recipe_of(w->demand, k) == recipe_of(w->demand, i);
        if (takes[i] && !known)
            emit_recipe(&t, item, takes, recipe_of(w->demand, i), number++, warps);
    }
    text_printf(
        w->out,
        "/* The terms of all paths' tensors, by tables. */\nCGTP_TABLE int %sstart[] = {\n    %s};\n"
        "CGTP_TABLE unsigned short %scell[] = {\n    %s};\nCGTP_TABLE real %svalue[] = {\n    %s};\n\n",
        t.name, text_string(&t.terms.start.text), t.name, text_string(&t.terms.cell.text), t.name,
        text_string(&t.terms.value.text));
    text_put(w->out, text_string(&rest), rest.n);
}
