/* item_device.c - see item_device.h. */
#include "schedule/item_device.h"

#include "schedule/code_print.h"
#include "schedule/path.h"
#include "schedule/path_table.h"
#include "util/out.h"

#include <string.h>

enum { LANES = 32 };

struct writer {
    struct source *w;
    const struct item_code *code;
    struct text *out;                 /* the work of an item; functions are found while it is written */
    const struct product_function *f; /* the one that is written */
    int dealt;                        /* paths that have been given to one of several warps */
    bool folded; /* the path's channels of A are worked on two at a time, by lanes on both sides of a place;
                    `shift`: the channel that a lane has is so much away from its number */
};

/* Are functions put in the place of their calls? */
static const char *qualifier(const struct writer *c)
{
    return c->code->inlined ? "CGTP_DEVICE" : "CGTP_DEVICE_CALL";
}

static bool takes(const struct source *w, const struct item_code *code, int path)
{
    return w->demand->variant_of[path] >= 0 && (!code->takes || code->takes[path]);
}

static bool by_table(const struct item_code *code, int path)
{
    return code->tables && code->tables[path];
}

/* The type of the row of a kernel output. */
static const char *row_type(const struct source *w, int output)
{
    for (int o = 0; o < w->demand->outputs; o++)
        if (w->demand->output[o] == output)
            return w->schedule->route[o].compensated ? "cgtp_compensated "
                   : w->schedule->route[o].wide      ? "double *"
                                                     : "real *";
    return "real *";
}

/* Does any output keep what sums lose, so that each element is added to once per channel? */
static bool keeps(const struct source *w)
{
    bool any = false;
    for (int o = 0; o < w->demand->outputs; o++)
        any |= route_keeps(&w->schedule->route[o]);
    return any;
}

/* ---- product functions ---- */

static const char *element(struct writer *c, const char *name, enum role role, int i)
{
    struct arena *a = c->w->arena;
    int d = path_components(c->f->matrix, role);
    if (role == ROLE_W)
        return arena_printf(a, c->f->weight_strided ? "%s[u * ldw]" : "%s[u]", name);
    if (d == 1 || (c->f->apart[role] && i == 0))
        return arena_printf(a, "%s[u]", name);
    if (c->f->apart[role])
        return arena_printf(a, "%s[u + %d * %s]", name, i, step_name[role]);
    return i ? arena_printf(a, "%s[u * %d + %d]", name, d, i) : arena_printf(a, "%s[u * %d]", name, d);
}

/* Component i of an array of one channel of A. */
static const char *of_a(struct writer *c, const char *name, int i)
{
    return c->f->apart[ROLE_A] && i ? arena_printf(c->w->arena, "%s[%d * %s]", name, i, step_name[ROLE_A])
                                    : arena_printf(c->w->arena, "%s[%d]", name, i);
}

/* Where a component of an operand stands: of an input, or an output behind them. */
static const char *place(void *context, int operand, int i)
{
    struct writer *c = context;
    const struct recipe *r = c->f->recipe;
    bool input = operand < r->inputs;
    enum role role = recipe_operand(r, operand).role;
    const char *name = recipe_operand(r, operand).name;
    if (role == ROLE_A && !c->f->elementwise)
        return input ? of_a(c, name, i) : arena_printf(c->w->arena, "%sc%d", name, i);
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
                             .code = codes_lower(w->demand->codes, r, m, f->elementwise, keeps(w)),
                             .constants = w->constants,
                             .mutation = w->mutation,
                             .indent = 4,
                             .place = place,
                             .context = c};
    text_printf(out, "/* (l1, l2, l3) = (%d, %d, %d), a = ", m->l1, m->l2, m->l3);
    surd_print(out, m->scale);
    text_printf(out, ", M from %s:\n * ", slot_name[m->a]);
    code_print_counts(out, p.code);
    text_printf(out, ". */\n");
    text_printf(&line, "%s void %s(int n%s", qualifier(c), f->name, f->weight_strided ? ", int ldw" : "");
    for (int role = 0; role < ROLE_COUNT; role++)
        if (f->apart[role])
            text_printf(&line, ", int %s", step_name[role]);
    size_t open = strlen(qualifier(c)) + strlen(" void (") + strlen(f->name);
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
    for (int o = 0; o < r->outputs; o++) {
        if (r->output[o].role != ROLE_A || f->elementwise)
            continue;
        text_printf(out, "    cgtp_add_sums<%d>(%s, %s, {", m->depth, r->output[o].name,
                    f->apart[ROLE_A] ? step_name[ROLE_A] : "1");
        for (int j = 0; j < m->depth; j++)
            text_printf(out, "%s%sc%d", j ? ", " : "", r->output[o].name, j);
        text_printf(out, "});\n");
    }
    text_printf(out, "    cgtp_sync_warp();\n}\n\n");
}

/* ---- one item ---- */

/* Elements from one vector of T or P to the next: they begin at multiples of 16 bytes. */
static int64_t vector_length(const struct path_plan *e)
{
    return ((int64_t)e->matrix->columns * path_channels_b(e) + 3) / 4 * 4;
}

/* Where the path's part of a kernel's input, of its output begins. */
static const char *input_address(struct source *w, const struct path_plan *e, enum role role, int input)
{
    const struct operand *o = source_input(w, input);
    return path_address(w->arena, e, role, o->symbol, operand_block_of(o, e->path));
}

/* The address from which the lane's number leads to its channel. */
static const char *shifted(const struct writer *c, const struct path_plan *e, enum role role,
                           const struct operand *o, const char *address)
{
    if (!c->folded || role == ROLE_A)
        return address;
    const int64_t step = role == ROLE_W ? 1 : operand_block_of(o, e->path)->channel;
    return arena_printf(c->w->arena, step > 1 ? "%s + shift * %lld" : "%s + shift", address, (long long)step);
}

static const char *output_address(struct source *w, const struct path_plan *e, enum role role, int output)
{
    const struct operand *o = kernel_output(w->kernel->kernel, output);
    return path_address(w->arena, e, role, o->symbol, operand_block_of(o, e->path));
}

static void call_product(struct writer *c, int indent, const struct path_plan *e, const struct recipe *r,
                         const char *n)
{
    struct source *w = c->w;
    struct arena *a = w->arena;
    int64_t step[ROLE_COUNT];
    bool apart[ROLE_COUNT];
    for (int role = 0; role < ROLE_COUNT; role++) {
        step[role] = path_step(w->kernel->kernel, e, r, (enum role)role);
        apart[role] = step[role] > 1;
    }
    const struct product_function *f = product_function_for(c->w->functions, r, e, e->matrix, 0, apart);
    const char **argument = NEW_ARRAY(a, const char *, r->inputs + r->outputs + 2 + ROLE_COUNT);
    int64_t vector = vector_length(e);
    int count = 0, ts = w->demand->variant[w->demand->variant_of[e->path->number]].ts;
    argument[count++] = n;
    if (f->weight_strided)
        argument[count++] = arena_printf(a, "%d", e->path->mul_y);
    for (int role = 0; role < ROLE_COUNT; role++)
        if (apart[role])
            argument[count++] = arena_printf(a, "%lld", (long long)step[role]);
    for (int i = 0; i < r->inputs; i++) {
        const struct recipe_input *in = &r->input[i];
        if (!recipe_reads(r, i))
            continue;
        if (in->source >= w->form->inputs) /* a P vector, behind the T vectors */
            argument[count++] = plus_offset(a, "scratch", (ts + in->source - w->form->inputs) * vector);
        else
            argument[count++] = shifted(c, e, in->role, source_input(w, in->source),
                                        input_address(w, e, in->role, in->source));
    }
    for (int o = 0; o < r->outputs; o++) {
        const struct recipe_output *out = &r->output[o];
        if (out->role == ROLE_G && e->contracted)
            argument[count++] = plus_offset(a, "scratch", out->source * vector);
        else
            argument[count++] = shifted(c, e, out->role, kernel_output(w->kernel->kernel, out->source),
                                        output_address(w, e, out->role, out->source));
    }
    emit_call(c->out, indent, f->name, count, argument);
}

/* Arguments that say where vectors are: T or P, a kernel's array. */
static const char *dense_vectors(struct writer *c, const struct path_plan *e, const char *at)
{
    return arena_printf(c->w->arena, "%s, %d, 1", at, e->matrix->columns);
}

static const char *array_vectors(struct writer *c, const struct path_plan *e, bool output, int number)
{
    struct source *w = c->w;
    const struct kernel_plan *k = w->kernel->kernel;
    const struct operand_block *b =
        operand_block_of(output ? kernel_output(k, number) : kernel_input(k, number), e->path);
    return arena_printf(w->arena, "%s, %lld, %lld",
                        output ? output_address(w, e, ROLE_G, number) : input_address(w, e, ROLE_G, number),
                        (long long)b->channel, (long long)b->component);
}

/* The path's products with its block of weights. Where this has channels of B in columns, rows and columns
 * change places. */
struct contraction {
    struct writer *c;
    const struct path_plan *e;
    int indent;
    const char *size; /* rows, columns, distance of rows */
};

/* Sums of vectors over rows or columns, by weights: into those of the other. dense: of T. */
static void sum_vectors(const struct contraction *q, bool over_rows, bool dense, bool adds,
                        const char *weights, const char *from, const char *to)
{
    struct arena *a = q->c->w->arena;
    const char *name = arena_printf(a, "cgtp_weights_%s<%d, %s, %s>", over_rows ? "columns" : "rows",
                                    q->e->matrix->columns, dense ? "true" : "false", adds ? "true" : "false");
    emit_call(q->c->out, q->indent, name, 4, (const char *[]){q->size, weights, from, to});
}

static void emit_weighted(const struct contraction *q, const struct variant *v)
{
    struct writer *c = q->c;
    struct source *w = c->w;
    const struct path_plan *e = q->e;
    const bool turned = path_weights_turned(e);
    const int64_t vector = vector_length(e);
    for (int i = 0; i < v->zs; i++)
        if (v->z[i].w >= 0)
            sum_vectors(q, !turned, true, true, input_address(w, e, ROLE_W, v->z[i].w),
                        dense_vectors(c, e, plus_offset(w->arena, "scratch", v->z[i].t * vector)),
                        array_vectors(c, e, true, v->z[i].output));
    for (int i = 0; i < v->ps; i++)
        if (v->p[i].w >= 0)
            sum_vectors(q, turned, false, false, input_address(w, e, ROLE_W, v->p[i].w),
                        array_vectors(c, e, false, v->p[i].g),
                        dense_vectors(c, e, plus_offset(w->arena, "scratch", (v->ts + i) * vector)));
    for (int i = 0; i < v->ws; i++)
        for (int part = 0; part < v->w[i].parts; part++) {
            const bool first =
                part == 0 && kernel_output(w->kernel->kernel, v->w[i].output)->index == INDEX_ITEM;
            const char *t =
                dense_vectors(c, e, plus_offset(w->arena, "scratch", v->w[i].part[part].t * vector));
            const char *g = array_vectors(c, e, false, v->w[i].part[part].g);
            const char *name = arena_printf(w->arena, "cgtp_weights_outer<%d, %s, %s>", e->matrix->columns,
                                            turned ? "false" : "true", first ? "false" : "true");
            emit_call(c->out, q->indent, name, 4,
                      (const char *[]){q->size, turned ? g : t, turned ? t : g,
                                       output_address(w, e, ROLE_W, v->w[i].output)});
        }
}

/* G from T, P from G, gradients of weights from T, which may take the place of the weights that the others
 * read. */
static void emit_contractions(struct writer *c, int indent, const struct path_plan *e,
                              const struct variant *v, const char *n)
{
    struct arena *a = c->w->arena;
    const int64_t vector = vector_length(e);
    const int d = e->matrix->columns;
    const char *m = arena_printf(a, "%d", path_channels_g(e));
    const bool turned = path_weights_turned(e);
    const struct contraction q = {
        c, e, indent,
        arena_printf(a, "%s, %s, %lld", turned ? m : n, turned ? n : m, (long long)path_weight_rows(e))};
    for (int i = 0; i < v->zs; i++)
        if (v->z[i].w < 0)
            emit_call(c->out, indent, arena_printf(a, "cgtp_ones_z<%d>", d), 4,
                      (const char *[]){n, m, plus_offset(a, "scratch", v->z[i].t * vector),
                                       array_vectors(c, e, true, v->z[i].output)});
    for (int i = 0; i < v->ps; i++)
        if (v->p[i].w < 0)
            emit_call(c->out, indent, arena_printf(a, "cgtp_ones_p<%d>", d), 4,
                      (const char *[]){n, m, array_vectors(c, e, false, v->p[i].g),
                                       plus_offset(a, "scratch", (v->ts + i) * vector)});
    emit_weighted(&q, v);
}

/* Pairs u < v of at most as many channels as there are lanes: has a lane nothing to add to what another has,
 * so that row a, of few pairs, and row n - 2 - a, of all but as many, may be worked on at once? */
static bool may_fold(const struct path_plan *e, const struct variant *v)
{
    const struct recipe *r = v->product;
    bool may = e->pairs && !e->contracted && !v->tensor && r && e->path->mul_x > 2 && e->path->mul_x <= LANES;
    for (int o = 0; may && o < r->outputs; o++)
        may = r->output[o].role == ROLE_G || r->output[o].role == ROLE_W;
    return may;
}

/* Two rows of pairs at a time. */
static void emit_folded(struct writer *c, const struct path_plan *e, const struct variant *v)
{
    const int n = e->path->mul_x;
    const char *warp = c->code->warps > 1 ? "warp" : "0";
    text_printf(c->out, "    for (int row = %s; row < %d; row += %d) {\n", warp, n / 2, c->code->warps);
    text_printf(c->out, "        const bool second = cgtp_lane() >= %d - row;\n", n - 1);
    text_printf(c->out, "        const int a = second ? %d - row : row, shift = second ? row - %d : 0;\n",
                n - 2, n - 1);
    c->folded = true;
    const int alone = n - 1 - n / 2; /* a row that is its own other one, where n is even */
    call_product(c, 8, e, v->product,
                 arena_printf(c->w->arena, "row == %d ? %d - row : %d", alone, n - 1, n));
    c->folded = false;
    text_printf(c->out, "    }\n");
}

static void emit_path(struct writer *c, int number)
{
    struct source *w = c->w;
    const struct path_plan *e = &w->plan->path[number];
    const struct path *p = e->path;
    const struct variant *v = &w->demand->variant[w->demand->variant_of[number]];
    bool loop = path_channels_a(e) > 1;
    int indent = loop || c->code->warps > 1 ? 8 : 4;
    const char *n = e->pairs ? arena_printf(w->arena, "%d - a", p->mul_x - 1)
                             : arena_printf(w->arena, "%d", path_channels_b(e));
    text_printf(c->out, "\n    /* %s */\n", source_path_line(w->arena, w->plan, p));
    if (may_fold(e, v)) {
        emit_folded(c, e, v);
        return;
    }
    const bool alone = c->code->warps > 1 && !loop;
    if (alone)
        text_printf(c->out, "    if (warp == %d) {\n", c->dealt++ % c->code->warps);
    if (loop)
        text_printf(c->out,
                    c->code->warps > 1 ? "    for (int a = warp; a < %d; a += %d) {\n"
                                       : "    for (int a = 0; a < %d; a++) {\n",
                    e->pairs ? p->mul_x - 1 : path_channels_a(e), c->code->warps);
    if (v->tensor)
        call_product(c, indent, e, v->tensor, n);
    emit_contractions(c, indent, e, v, n);
    if (v->product)
        call_product(c, indent, e, v->product, n);
    if (loop || alone)
        text_printf(c->out, "    }\n");
}

static void emit_item(struct writer *c)
{
    struct source *w = c->w;
    struct text *out = c->out;
    const struct demand *d = w->demand;
    struct text list = {.arena = w->arena};
    struct out o = {.text = out};
    for (int i = 0; i < w->form->inputs; i++)
        if (d->raw[i] || d->vector[i])
            text_printf(&list, "const real *%s, ", w->form->input[i].symbol);
    for (int i = 0; i < d->outputs; i++)
        text_printf(&list, "%s%s%s", i ? ", " : "", row_type(w, d->output[i]), demand_output(d, i)->symbol);
    if (item_scratch(d, c->code->takes, c->code->tables))
        text_printf(&list, ", real *scratch");
    const bool several = c->code->warps > 1;
    line(&o, "/* What one item adds to its rows, pass over %s%s. */", w->schedule->name,
         several ? ": a warp's part" : "");
    line(&o, "%s void item_%s(%s%s)", qualifier(c), w->schedule->name, text_string(&list),
         several ? ", int warp" : "");
    text_printf(out, "{\n");
    for (int g = 0; g < w->plan->groups; g++)
        for (int i = 0; i < w->plan->group[g].paths; i++)
            if (takes(w, c->code, w->plan->group[g].path[i]) && !by_table(c->code, w->plan->group[g].path[i]))
                emit_path(c, w->plan->group[g].path[i]);
    if (c->code->tables)
        path_tables(w, out, c->code->tables, c->code->warps);
    text_printf(out, "}\n\n");
}

int64_t item_scratch(const struct demand *d, const bool *takes, const bool *tables)
{
    int64_t most = 0;
    for (int i = 0; i < d->plan->problem->paths; i++) {
        if (d->variant_of[i] < 0 || (takes && !takes[i]))
            continue;
        const struct variant *v = &d->variant[d->variant_of[i]];
        const struct path_plan *e = &d->plan->path[i];
        const bool table = tables && tables[i];
        int64_t need = table ? path_table_scratch(d, i) : (v->ts + v->ps) * vector_length(e);
        most = most > need ? most : need;
    }
    return most;
}

void item_device(struct source *w, const struct item_code *code)
{
    struct text item = {.arena = w->arena};
    struct writer c = {.w = w, .code = code, .out = &item};
    int known = w->functions->n;
    emit_item(&c);
    for (int i = known; i < w->functions->n; i++)
        emit_function(&c, &w->functions->function[i]);
    text_put(w->out, text_string(&item), item.n);
}
