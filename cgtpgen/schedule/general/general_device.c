/* general_device.c - the general evaluation, one item: a function for every recipe and matrix, called path by
 * path with the lanes of a warp sharing the channels. Everything is read where it stands.
 */
#include "schedule/general/general.h"

#include "schedule/code_print.h"
#include "schedule/path.h"

#include <string.h>

struct writer {
    struct source *w;
    struct text *out;                 /* the work of an item; functions are found while it is written */
    const struct product_function *f; /* the one that is written */
};

/* The type of the row of a kernel output. */
static const char *row_type(const struct source *w, int output)
{
    for (int o = 0; o < w->demand->outputs; o++)
        if (w->demand->output[o] == output)
            return w->schedule->route[o].compensated ? "cgtp_compensated " : "real *";
    return "real *";
}

/* Is any output summed with compensation? */
static bool compensates(const struct source *w)
{
    bool any = false;
    for (int o = 0; o < w->demand->outputs; o++)
        any |= w->schedule->route[o].compensated;
    return any;
}

static int components(const struct matrix *m, enum role role)
{
    return role == ROLE_A ? m->depth : role == ROLE_B ? m->rows : role == ROLE_G ? m->columns : 1;
}

/* ---- product functions ---- */

static const char *element(struct writer *c, const char *name, enum role role, int i)
{
    struct arena *a = c->w->arena;
    int d = components(c->f->matrix, role);
    if (role == ROLE_W)
        return arena_printf(a, c->f->weight_strided ? "%s[u * ldw]" : "%s[u]", name);
    if (d == 1)
        return arena_printf(a, "%s[u]", name);
    return i ? arena_printf(a, "%s[u * %d + %d]", name, d, i) : arena_printf(a, "%s[u * %d]", name, d);
}

/* Where a component of an operand stands: of an input, or an output behind them. */
static const char *place(void *context, int operand, int i)
{
    struct writer *c = context;
    const struct recipe *r = c->f->recipe;
    bool input = operand < r->inputs;
    enum role role = input ? r->input[operand].role : r->output[operand - r->inputs].role;
    const char *name = input ? r->input[operand].name : r->output[operand - r->inputs].name;
    if (role == ROLE_A && !c->f->elementwise)
        return arena_printf(c->w->arena, input ? "%s[%d]" : "%sc%d", name, i);
    return element(c, name, role, i);
}

/* The slot's output rows may be compensated; T is not. */
static const char *parameter_type(struct writer *c, const struct recipe_output *o)
{
    bool vector =
        o->role == ROLE_G &&
        strcmp(o->name, c->w->form->output[o->source < c->w->form->outputs ? o->source : 0].symbol) != 0;
    return vector ? "real *" : row_type(c->w, o->source);
}

static void emit_function(struct writer *c, const struct product_function *f)
{
    struct source *w = c->w;
    struct text *out = w->out, line = {.arena = w->arena};
    const struct recipe *r = f->recipe;
    const struct matrix *m = f->matrix;
    c->f = f;
    struct code_printer p = {.out = out,
                             .code = code_lower(w->arena, r, m, f->elementwise, compensates(w)),
                             .constants = w->constants,
                             .mutation = w->mutation,
                             .indent = 4,
                             .place = place,
                             .context = c};
    text_printf(out, "/* (l1, l2, l3) = (%d, %d, %d), a = ", m->l1, m->l2, m->l3);
    surd_print(out, m->scale);
    text_printf(out, ", M from %s: ", slot_name[m->a]);
    code_print_counts(out, p.code);
    text_printf(out, ". */\n");
    text_printf(&line, "CGTP_DEVICE_CALL void %s(int n%s", f->name, f->weight_strided ? ", int ldw" : "");
    size_t open = strlen("CGTP_DEVICE_CALL void (") + strlen(f->name);
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        if (i < r->inputs && !recipe_reads(r, i))
            continue;
        const char *parameter =
            i < r->inputs ? arena_printf(w->arena, "const real *%s", r->input[i].name)
                          : arena_printf(w->arena, "%s%s", parameter_type(c, &r->output[i - r->inputs]),
                                         r->output[i - r->inputs].name);
        if (line.n + strlen(parameter) > 105) {
            text_printf(out, "%s,\n", line.s);
            line.n = 0;
            text_printf(&line, "%*s%s", (int)open, "", parameter);
        } else {
            text_printf(&line, ", %s", parameter);
        }
    }
    text_printf(out, "%s)\n{\n", line.s);
    code_printer_begin(&p);
    code_print_item(&p);
    for (int o = 0; o < r->outputs; o++)
        for (int j = 0; j < m->depth && r->output[o].role == ROLE_A && !f->elementwise; j++)
            text_printf(out, "    real %sc%d = 0;\n", r->output[o].name, j);
    text_printf(out, "    for (int u = cgtp_lane(); u < n; u += CGTP_LANES) {\n");
    p.indent = 8;
    code_print_channel(&p);
    text_printf(out, "    }\n");
    for (int o = 0; o < r->outputs; o++)
        for (int j = 0; j < m->depth && r->output[o].role == ROLE_A && !f->elementwise; j++)
            text_printf(
                out,
                "    %sc%d = cgtp_sum_lanes(%sc%d);\n    if (cgtp_lane() == 0)\n        %s[%d] += %sc%d;\n",
                r->output[o].name, j, r->output[o].name, j, r->output[o].name, j, r->output[o].name, j);
    text_printf(out, "    cgtp_sync_warp();\n}\n\n");
}

/* ---- one item ---- */

static void call_product(struct writer *c, int indent, const struct path_plan *e, const struct recipe *r,
                         const char *n)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    const struct plan *plan = w->plan;
    const struct product_function *f = product_function_for(c->w->functions, r, e);
    const char **argument = NEW_ARRAY(a, const char *, r->inputs + r->outputs + 4);
    int64_t vector = (int64_t)e->matrix->columns * path_channels_b(e);
    int count = 0, ts = w->demand->variant[w->demand->variant_of[e->path->number]].ts;
    argument[count++] = n;
    if (f->weight_strided)
        argument[count++] = arena_printf(a, "%d", e->path->mul_y);
    for (int i = 0; i < r->inputs; i++) {
        const struct recipe_input *in = &r->input[i];
        if (!recipe_reads(r, i))
            continue;
        if (in->source >= w->form->inputs) /* a P vector, behind the T vectors */
            argument[count++] = plus_offset(a, "scratch", (ts + in->source - w->form->inputs) * vector);
        else
            argument[count++] = path_address(a, plan, e, in->role, in->name, components(e->matrix, in->role));
    }
    for (int o = 0; o < r->outputs; o++) {
        const struct recipe_output *out = &r->output[o];
        if (out->role == ROLE_G && e->contracted)
            argument[count++] = plus_offset(a, "scratch", out->source * vector);
        else
            argument[count++] =
                path_address(a, plan, e, out->role, out->name, components(e->matrix, out->role));
    }
    emit_call(c->out, indent, f->name, count, argument);
}

static void emit_path(struct writer *c, int number)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    const struct plan *plan = w->plan;
    const struct path_plan *e = &plan->path[number];
    const struct path *p = e->path;
    const struct variant *v = &w->demand->variant[w->demand->variant_of[number]];
    bool loop = path_channels_a(e) > 1;
    int indent = loop ? 8 : 4, columns = e->matrix->columns;
    const char *n =
        e->pairs ? arena_printf(a, "%d - a", p->mul_x - 1) : arena_printf(a, "%d", path_channels_b(e));
    int64_t vector = (int64_t)columns * path_channels_b(e);
    text_printf(c->out, "\n    /* ");
    source_path_line(c->out, plan, p);
    text_printf(c->out, " */\n");
    if (loop)
        text_printf(c->out, "    for (int a = 0; a < %d; a++) {\n",
                    e->pairs ? p->mul_x - 1 : path_channels_a(e));
    if (v->tensor)
        call_product(c, indent, e, v->tensor, n);
    const char *d = arena_printf(a, "%d", columns), *m = arena_printf(a, "%d", p->mul_z);
    const char *ld = arena_printf(a, "%lld", (long long)path_weight_rows(e));
    for (int i = 0; i < v->zs; i++) {
        if (v->z[i].w < 0) { /* no weights: sums over the channels */
            const char *argument[] = {
                d, n, plus_offset(a, "scratch", v->z[i].t * vector),
                path_address(a, plan, e, ROLE_G, w->form->output[v->z[i].output].symbol, columns)};
            emit_call(c->out, indent, "cgtp_ones_z", 4, argument);
            continue;
        }
        const char *argument[] = {
            d,
            n,
            m,
            ld,
            path_address(a, plan, e, ROLE_W, w->form->input[v->z[i].w].symbol, 1),
            plus_offset(a, "scratch", v->z[i].t * vector),
            path_address(a, plan, e, ROLE_G, w->form->output[v->z[i].output].symbol, columns)};
        emit_call(c->out, indent, "cgtp_weights_z", 7, argument);
    }
    for (int i = 0; i < v->ws; i++)
        for (int part = 0; part < v->w[i].parts; part++) {
            const char *argument[] = {
                d,
                n,
                m,
                ld,
                plus_offset(a, "scratch", v->w[i].part[part].t * vector),
                path_address(a, plan, e, ROLE_G, w->form->input[v->w[i].part[part].g].symbol, columns),
                path_address(a, plan, e, ROLE_W, w->form->output[v->w[i].output].symbol, 1)};
            emit_call(c->out, indent, "cgtp_weights_w", 7, argument);
        }
    for (int i = 0; i < v->ps; i++) {
        if (v->p[i].w < 0) {
            const char *argument[] = {
                d, n, path_address(a, plan, e, ROLE_G, w->form->input[v->p[i].g].symbol, columns),
                plus_offset(a, "scratch", (v->ts + i) * vector)};
            emit_call(c->out, indent, "cgtp_ones_p", 4, argument);
            continue;
        }
        const char *argument[] = {d,
                                  n,
                                  m,
                                  ld,
                                  path_address(a, plan, e, ROLE_W, w->form->input[v->p[i].w].symbol, 1),
                                  path_address(a, plan, e, ROLE_G, w->form->input[v->p[i].g].symbol, columns),
                                  plus_offset(a, "scratch", (v->ts + i) * vector)};
        emit_call(c->out, indent, "cgtp_weights_p", 7, argument);
    }
    if (v->product)
        call_product(c, indent, e, v->product, n);
    if (loop)
        text_printf(c->out, "    }\n");
}

static void emit_item(struct writer *c)
{
    struct source *w = c->w;
    struct text *out = c->out;
    const struct demand *d = w->demand;
    text_printf(out, "/* What one item adds to its rows, pass over %s. */\nCGTP_DEVICE_CALL void item_%s(",
                w->schedule->name, w->schedule->name);
    for (int i = 0; i < w->form->inputs; i++)
        if (d->raw[i] || d->vector[i])
            text_printf(out, "const real *%s, ", w->form->input[i].symbol);
    for (int o = 0; o < d->outputs; o++)
        text_printf(out, "%s%s, ", row_type(w, w->demand->output[o]), demand_output(w->demand, o)->symbol);
    text_printf(out, "real *scratch)\n{\n");
    for (int g = 0; g < w->plan->groups; g++)
        for (int i = 0; i < w->plan->group[g].paths; i++)
            if (d->variant_of[w->plan->group[g].path[i]] >= 0)
                emit_path(c, w->plan->group[g].path[i]);
    text_printf(out, "}\n\n");
}

void general_item(struct source *w)
{
    struct text item = {.arena = w->arena};
    product_functions_begin(w->arena, &w->functions);
    struct writer c = {
        .w = w,
        .out = &item,
    };
    emit_item(&c);
    for (int i = w->functions->first; i < w->functions->n; i++)
        emit_function(&c, &w->functions->function[i]);
    text_put(w->out, text_string(&item), item.n);
}
