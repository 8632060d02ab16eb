/* emit_cuda_general.c - the general evaluation on a GPU: a warp owns rows, or items of a sum over all of
 * them, and does the work of an item path by path with its lanes sharing the channels. Everything is read
 * where it stands. Simple, and right for every product, index and order of edges.
 */
#include "emit/emit_cuda.h"
#include "emit/emit_path.h"

#include <string.h>

struct general {
    struct cuda_writer *w;
    struct text *out; /* the work of an item; functions are found while it is written */
    struct product_functions functions;
    const struct product_function *f; /* the one that is written */
};

static const struct form_output *pass_output(const struct cuda_writer *w, int i)
{
    return &w->form->output[w->pass->pass->output[i]];
}

static enum index_kind index_of(const struct cuda_writer *w, enum slot s)
{
    return w->spec->index[s];
}

static bool is_compensated(const struct cuda_writer *w, enum slot s)
{
    return w->spec->compensated && index_of(w, s) != INDEX_ITEM;
}

static const char *row_type(const struct cuda_writer *w, enum slot s)
{
    return is_compensated(w, s) ? "cgtp_compensated " : "real *";
}

static int components(const struct matrix *m, enum role role)
{
    return role == ROLE_A ? m->depth : role == ROLE_B ? m->rows : role == ROLE_G ? m->columns : 1;
}

/* ---- product functions ---- */

static const char *element(struct general *c, const char *name, enum role role, int i)
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
    struct general *c = context;
    const struct recipe *r = c->f->recipe;
    bool input = operand < r->inputs;
    enum role role = input ? r->input[operand].role : r->output[operand - r->inputs].role;
    const char *name = input ? r->input[operand].name : r->output[operand - r->inputs].name;
    if (role == ROLE_A && !c->f->elementwise)
        return arena_printf(c->w->arena, input ? "%s[%d]" : "%s_%d", name, i);
    return element(c, name, role, i);
}

/* The slot's output rows may be compensated; T is not. */
static const char *parameter_type(struct general *c, const struct recipe_output *o)
{
    bool vector =
        o->role == ROLE_G &&
        strcmp(o->name, c->w->form->output[o->source < c->w->form->outputs ? o->source : 0].name) != 0;
    return vector ? "real *" : row_type(c->w, c->w->form->output[o->source].slot);
}

static void emit_function(struct general *c, const struct product_function *f)
{
    struct cuda_writer *w = c->w;
    struct text *out = w->out, line = {.arena = w->arena};
    const struct recipe *r = f->recipe;
    const struct matrix *m = f->matrix;
    c->f = f;
    struct code_printer p = {.out = out,
                             .code = code_lower(w->arena, r, m, f->elementwise, w->spec->compensated),
                             .constants = w->constants,
                             .mutation = w->gpu->plan->mutation,
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
            text_printf(out, "    real %s_%d = 0;\n", r->output[o].name, j);
    text_printf(out, "    for (int u = cgtp_lane(); u < n; u += CGTP_LANES) {\n");
    p.indent = 8;
    code_print_channel(&p);
    text_printf(out, "    }\n");
    for (int o = 0; o < r->outputs; o++)
        for (int j = 0; j < m->depth && r->output[o].role == ROLE_A && !f->elementwise; j++)
            text_printf(
                out,
                "    %s_%d = cgtp_sum_lanes(%s_%d);\n    if (cgtp_lane() == 0)\n        %s[%d] += %s_%d;\n",
                r->output[o].name, j, r->output[o].name, j, r->output[o].name, j, r->output[o].name, j);
    text_printf(out, "    cgtp_sync_warp();\n}\n\n");
}

/* ---- one item ---- */

static void call_product(struct general *c, int indent, const struct path_plan *e, const struct recipe *r,
                         const char *suffix, const char *n)
{
    struct cuda_writer *w = c->w;
    struct arena *a = w->arena;
    const struct plan *plan = w->gpu->plan;
    const struct product_function *f =
        product_function_for(&c->functions, r, arena_printf(a, "_%s%s", cuda_owner(w->pass), suffix), e);
    const char **argument = NEW_ARRAY(a, const char *, r->inputs + r->outputs + 4);
    int64_t vector = (int64_t)e->matrix->columns * path_channels_b(e);
    int count = 0, ts = w->pass->pass->variant[w->pass->pass->variant_of[e->path->number]].ts;
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

static void emit_path(struct general *c, int number)
{
    struct cuda_writer *w = c->w;
    struct arena *a = w->arena;
    const struct plan *plan = w->gpu->plan;
    const struct path_plan *e = &plan->path[number];
    const struct path *p = e->path;
    const struct variant *v = &w->pass->pass->variant[w->pass->pass->variant_of[number]];
    bool loop = path_channels_a(e) > 1;
    int indent = loop ? 8 : 4, columns = e->matrix->columns;
    const char *n =
        e->pairs ? arena_printf(a, "%d - a", p->mul_x - 1) : arena_printf(a, "%d", path_channels_b(e));
    int64_t vector = (int64_t)columns * path_channels_b(e);
    text_printf(c->out, "\n    /* ");
    emit_path_line(c->out, plan, p);
    text_printf(c->out, " */\n");
    if (loop)
        text_printf(c->out, "    for (int a = 0; a < %d; a++) {\n",
                    e->pairs ? p->mul_x - 1 : path_channels_a(e));
    if (v->tensor)
        call_product(c, indent, e, v->tensor, "_t", n);
    const char *d = arena_printf(a, "%d", columns), *m = arena_printf(a, "%d", p->mul_z);
    const char *ld = arena_printf(a, "%lld", (long long)path_weight_rows(e));
    for (int i = 0; i < v->zs; i++) {
        if (v->z[i].w < 0) { /* no weights: sums over the channels */
            const char *argument[] = {
                d, n, plus_offset(a, "scratch", v->z[i].t * vector),
                path_address(a, plan, e, ROLE_G, w->form->output[v->z[i].output].name, columns)};
            emit_call(c->out, indent, "cgtp_ones_z", 4, argument);
            continue;
        }
        const char *argument[] = {
            d,
            n,
            m,
            ld,
            path_address(a, plan, e, ROLE_W, w->form->input[v->z[i].w].name, 1),
            plus_offset(a, "scratch", v->z[i].t * vector),
            path_address(a, plan, e, ROLE_G, w->form->output[v->z[i].output].name, columns)};
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
                path_address(a, plan, e, ROLE_G, w->form->input[v->w[i].part[part].g].name, columns),
                path_address(a, plan, e, ROLE_W, w->form->output[v->w[i].output].name, 1)};
            emit_call(c->out, indent, "cgtp_weights_w", 7, argument);
        }
    for (int i = 0; i < v->ps; i++) {
        if (v->p[i].w < 0) {
            const char *argument[] = {
                d, n, path_address(a, plan, e, ROLE_G, w->form->input[v->p[i].g].name, columns),
                plus_offset(a, "scratch", (v->ts + i) * vector)};
            emit_call(c->out, indent, "cgtp_ones_p", 4, argument);
            continue;
        }
        const char *argument[] = {d,
                                  n,
                                  m,
                                  ld,
                                  path_address(a, plan, e, ROLE_W, w->form->input[v->p[i].w].name, 1),
                                  path_address(a, plan, e, ROLE_G, w->form->input[v->p[i].g].name, columns),
                                  plus_offset(a, "scratch", (v->ts + i) * vector)};
        emit_call(c->out, indent, "cgtp_weights_p", 7, argument);
    }
    if (v->product)
        call_product(c, indent, e, v->product, "", n);
    if (loop)
        text_printf(c->out, "    }\n");
}

static void emit_item(struct general *c)
{
    struct cuda_writer *w = c->w;
    struct text *out = c->out;
    const struct pass *pass = w->pass->pass;
    text_printf(out, "/* What one item adds to its rows, pass over %s. */\nCGTP_DEVICE_CALL void item_%s(",
                cuda_owner(w->pass), cuda_owner(w->pass));
    for (int i = 0; i < w->form->inputs; i++)
        if (pass->raw[i] || pass->vector[i])
            text_printf(out, "const real *%s, ", w->form->input[i].name);
    for (int o = 0; o < pass->outputs; o++)
        text_printf(out, "%s%s, ", row_type(w, pass_output(w, o)->slot), pass_output(w, o)->name);
    text_printf(out, "real *scratch)\n{\n");
    for (int g = 0; g < w->gpu->plan->groups; g++)
        for (int i = 0; i < w->gpu->plan->group[g].paths; i++)
            if (pass->variant_of[w->gpu->plan->group[g].path[i]] >= 0)
                emit_path(c, w->gpu->plan->group[g].path[i]);
    text_printf(out, "}\n\n");
}

/* ---- the loop over items ---- */

/* Row of item e, as a C expression. */
static const char *row_of(enum index_kind index)
{
    static const char *const expression[] = {"e", "l.graph.sender[e]", "l.graph.receiver[e]", "0"};
    return expression[index];
}

static void emit_row(struct cuda_writer *w, int indent, int o, const char *at)
{
    const struct form_output *f = pass_output(w, o);
    bool shared = index_of(w, f->slot) == INDEX_SHARED;
    long long dim = (long long)w->problem->dim[f->slot];
    const char *array =
        shared ? arena_printf(w->arena, "l.%s_parts", f->name) : arena_printf(w->arena, "l.%s", f->name);
    if (is_compensated(w, f->slot))
        text_printf(w->out,
                    "%*sconst cgtp_compensated %s_row = {%s + %s * (int64_t)%lld, l.%s_error + %s * "
                    "(int64_t)%lld};\n",
                    indent, "", f->name, array, at, dim, f->name, at, dim);
    else
        text_printf(w->out, "%*sreal *const %s_row = %s + %s * (int64_t)%lld;\n", indent, "", f->name, array,
                    at, dim);
}

/* Zeros in the row of an output, or in what a convolution before has not written of it: blocks of weights. */
static void emit_zeros(struct cuda_writer *w, int indent, const struct form_output *f)
{
    int64_t from = 0, to = 0;
    if (!w->pass->before) {
        text_printf(w->out, "%*scgtp_zero_row(%s_row, %lld);\n", indent, "", f->name,
                    (long long)w->problem->dim[f->slot]);
        return;
    }
    for (int p = 0; p <= w->problem->paths && f->slot == SLOT_W; p++) {
        const struct path *q = &w->problem->path[p];
        bool left = p < w->problem->paths && gpu_leaves_weights(f, w->pass->before, q);
        if (left && q->weight_offset == to) {
            to += q->weight_numel;
        } else if (left || p == w->problem->paths) {
            if (to > from)
                text_printf(w->out, "%*scgtp_zero_row(%s, %lld);\n", indent, "",
                            cuda_plus(w, arena_printf(w->arena, "%s_row", f->name), from),
                            (long long)(to - from));
            from = left ? q->weight_offset : to;
            to = left ? from + q->weight_numel : to;
        }
    }
}

static void emit_visit(struct cuda_writer *w, int indent)
{
    const struct pass *pass = w->pass->pass;
    for (int o = 0; o < pass->outputs; o++)
        if (index_of(w, pass_output(w, o)->slot) == INDEX_ITEM) {
            emit_row(w, indent, o, "e");
            emit_zeros(w, indent, pass_output(w, o));
        }
    const char **argument = NEW_ARRAY(w->arena, const char *, w->form->inputs + pass->outputs + 1);
    int n = 0;
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        enum index_kind index = index_of(w, in->slot);
        if (!pass->raw[i] && !pass->vector[i])
            continue;
        argument[n++] = index == INDEX_SHARED
                            ? arena_printf(w->arena, "l.%s", in->name)
                            : arena_printf(w->arena, "l.%s + %s * (int64_t)%lld", in->name, row_of(index),
                                           (long long)w->problem->dim[in->slot]);
    }
    for (int o = 0; o < pass->outputs; o++)
        argument[n++] = arena_printf(w->arena, "%s_row", pass_output(w, o)->name);
    argument[n++] = "scratch";
    emit_call(w->out, indent, arena_printf(w->arena, "item_%s", cuda_owner(w->pass)), n, argument);
}

static void emit_owned(struct cuda_writer *w, int indent, const char *at, bool declare, bool begin, bool end)
{
    for (int o = 0; o < w->pass->pass->outputs; o++) {
        const struct form_output *f = pass_output(w, o);
        if (index_of(w, f->slot) != w->pass->pass->owner)
            continue;
        if (declare)
            emit_row(w, indent, o, at);
        if (begin)
            emit_zeros(w, indent, f);
        if (end && is_compensated(w, f->slot))
            text_printf(w->out, "%*scgtp_finish_row(%s_row, %lld);\n", indent, "", f->name,
                        (long long)w->problem->dim[f->slot]);
    }
}

static void emit_kernel(struct cuda_writer *w)
{
    struct text *out = w->out;
    const struct gpu_pass *g = w->pass;
    enum index_kind owner = g->pass->owner;
    const char *word = cuda_owner(g), *warps = "CGTP_GENERAL_WARPS",
               *items = w->graph ? "l.graph.items" : "l.items",
               *nodes = owner == INDEX_RECEIVER ? "l.graph.receivers" : "l.graph.senders";
    text_printf(out,
                "CGTP_KERNEL(CGTP_GENERAL_BLOCK, 1) %s_kernel(const launch l)\n{\n    const int warp = "
                "cgtp_general_warp();\n",
                word);
    if (g->scratch)
        text_printf(out, "    real *const scratch = l.scratch_%s + (int64_t)warp * %lld;\n", word,
                    (long long)g->scratch);
    else
        text_printf(out, "    real *const scratch = NULL;\n");
    if (owner == INDEX_ITEM || owner == INDEX_SHARED) {
        if (owner == INDEX_SHARED)
            emit_owned(w, 4, "warp", true, true, false);
        text_printf(out, "    for (int64_t e = warp; e < %s; e += %s) {\n", items, warps);
        emit_visit(w, 8);
        text_printf(out, "    }\n");
    } else if (w->spec->sorted) {
        bool receiver = owner == INDEX_RECEIVER;
        text_printf(out, "    for (int64_t node = warp; node < %s; node += %s) {\n", nodes, warps);
        emit_owned(w, 8, "node", true, true, false);
        text_printf(out,
                    "        for (int64_t i = l.graph.%s_row[node]; i < l.graph.%s_row[node + 1]; i++) {\n   "
                    "         const int64_t e = %s;\n",
                    receiver ? "receiver" : "sender", receiver ? "receiver" : "sender",
                    receiver ? "i" : "l.graph.by_sender[i]");
        emit_visit(w, 12);
        text_printf(out, "        }\n");
        emit_owned(w, 8, "node", false, false, true);
        text_printf(out, "    }\n");
    } else { /* edges in any order: each warp looks for the edges of its rows, so that sums keep their order
              */
        text_printf(out, "    for (int64_t node = warp; node < %s; node += %s) {\n", nodes, warps);
        emit_owned(w, 8, "node", true, true, false);
        text_printf(
            out,
            "    }\n    for (int64_t from = 0; from < l.graph.items; from += CGTP_LANES) {\n"
            "        const int64_t mine = from + cgtp_lane();\n"
            "        unsigned found = cgtp_vote(mine < l.graph.items && l.graph.%s[mine] %% %s == warp);\n"
            "        for (; found; found &= found - 1) {\n"
            "            const int64_t e = from + cgtp_lowest(found), node = l.graph.%s[e];\n",
            owner == INDEX_RECEIVER ? "receiver" : "sender", warps,
            owner == INDEX_RECEIVER ? "receiver" : "sender");
        emit_owned(w, 12, "node", true, false, false);
        emit_visit(w, 12);
        text_printf(out, "        }\n    }\n");
        if (w->spec->compensated) {
            text_printf(out, "    for (int64_t node = warp; node < %s; node += %s) {\n", nodes, warps);
            emit_owned(w, 8, "node", true, false, true);
            text_printf(out, "    }\n");
        }
    }
    text_printf(out, "    (void)scratch;\n}\n\n");
    for (int o = 0; o < g->pass->outputs && owner == INDEX_SHARED; o++) {
        const struct form_output *f = pass_output(w, o);
        long long dim = (long long)w->problem->dim[f->slot];
        if (index_of(w, f->slot) != INDEX_SHARED)
            continue;
        text_printf(out,
                    "/* %s: the partial sums of all warps, added in order; an element a thread. */\n"
                    "CGTP_KERNEL(128, 1) %s_sum(const launch l)\n{\n"
                    "    const int64_t at = cgtp_block() * (int64_t)128 + cgtp_thread();\n    if (at >= "
                    "%lld)\n        return;\n",
                    f->name, f->name, dim);
        if (is_compensated(w, f->slot))
            text_printf(
                out,
                "    real sum = 0, error = 0;\n    const cgtp_compensated total = {&sum, &error};\n"
                "    for (int64_t part = 0; part < %s; part++) {\n        total[0] += l.%s_parts[part * %lld "
                "+ at];\n"
                "        error += l.%s_error[part * %lld + at];\n    }\n    l.%s[at] = sum + error;\n}\n\n",
                warps, f->name, dim, f->name, dim, f->name);
        else
            text_printf(out,
                        "    real sum = 0;\n    for (int64_t part = 0; part < %s; part++)\n        sum += "
                        "l.%s_parts[part * %lld + at];\n"
                        "    l.%s[at] = sum;\n}\n\n",
                        warps, f->name, dim, f->name);
    }
}

void emit_cuda_general(struct cuda_writer *w)
{
    struct text item = {.arena = w->arena};
    struct general c = {.w = w, .out = &item, .functions = {.arena = w->arena}};
    emit_item(&c);
    for (int i = 0; i < c.functions.n; i++)
        emit_function(&c, &c.functions.function[i]);
    text_put(w->out, text_string(&item), item.n);
    emit_kernel(w);
}

void emit_cuda_general_launch(struct cuda_writer *w)
{
    struct text *out = w->out;
    const struct gpu_pass *g = w->pass;
    text_printf(out,
                "    if ((status = cgtp_launch(%s_kernel, CGTP_GENERAL_WARPS * CGTP_LANES / "
                "CGTP_GENERAL_BLOCK, CGTP_GENERAL_BLOCK, 0, stream, l)))\n"
                "        return status;\n",
                cuda_owner(g));
    for (int o = 0; o < g->pass->outputs && g->pass->owner == INDEX_SHARED; o++) {
        const struct form_output *f = pass_output(w, o);
        if (index_of(w, f->slot) == INDEX_SHARED)
            text_printf(
                out,
                "    if ((status = cgtp_launch(%s_sum, %lld, 128, 0, stream, l)))\n        return status;\n",
                f->name, ((long long)w->problem->dim[f->slot] + 127) / 128);
    }
}
