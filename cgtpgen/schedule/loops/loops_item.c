/* loops_item.c - the host's loops, one item: a call of a product function for every path. */
#include "schedule/loops/loops.h"

#include "schedule/path.h"

/* The address in an array in component order; in one as it is stored. */
static const char *address(struct source *w, const struct path_plan *e, enum role role,
                           const struct operand *o, const char *name)
{
    struct operand_block b = block_in_component_order(operand_block_of(o, e->path));
    return path_address(w->arena, e, role, name, &b);
}

static const char *stored_address(struct source *w, const struct path_plan *e, enum role role,
                                  const struct operand *o)
{
    return path_address(w->arena, e, role, o->symbol, operand_block_of(o, e->path));
}

/* Elements between components of the A operands that a recipe reads as they are stored. */
static int64_t step_of_a(const struct source *w, const struct path_plan *e, const struct recipe *r)
{
    for (int i = 0; i < r->inputs && !e->elementwise; i++)
        if (r->input[i].role == ROLE_A && recipe_reads(r, i))
            return path_step(w->kernel->kernel, e, r, ROLE_A);
    return 1;
}

static void call_product(struct source *w, int indent, const struct path_plan *e, const struct recipe *r,
                         const char *n)
{
    struct arena *a = w->arena;
    const int64_t step = step_of_a(w, e, r);
    const bool apart[ROLE_COUNT] = {[ROLE_A] = step > 1};
    const struct product_function *f = product_function_for(w->functions, r, e, e->matrix, 0, apart);
    const char **argument = NEW_ARRAY(a, const char *, r->inputs + r->outputs + 8);
    int count = 0;
    bool tensor = e->contracted; /* G stands for T or P, dense vectors of n channels */
    int64_t vector = e->matrix->columns * path_channels_b(e);
    argument[count++] = n;
    if (product_takes_ld(f, ROLE_B))
        argument[count++] = arena_printf(a, "%lld", (long long)path_channels_b(e));
    if (product_takes_ld(f, ROLE_G))
        argument[count++] = tensor ? n : arena_printf(a, "%d", e->path->mul_z);
    if (f->weight_strided)
        argument[count++] = arena_printf(a, "%d", e->path->mul_y);
    bool direct = path_channels_a(e) > 1; /* sums over channels go to the path's own scratch */
    int segment = e->a == SLOT_X ? e->path->x : e->path->y;
    if (product_takes_ld(f, ROLE_A)) {
        int64_t length = 0;
        for (int i = 0; i < own(w)->sums; i++)
            if (own(w)->sum[i].segment == segment && w->form->output[own(w)->sum[i].output].slot == e->a)
                length = own(w)->sum[i].length;
        argument[count++] = direct ? n : arena_printf(a, "%lld", (long long)length);
    }
    if (f->apart[ROLE_A])
        argument[count++] = arena_printf(a, "%lld", (long long)step);
    for (int i = 0; i < r->inputs; i++) {
        const struct recipe_input *in = &r->input[i];
        if (!recipe_reads(r, i))
            continue;
        if (in->source >= w->form->inputs)
            argument[count++] =
                plus_offset(w->arena, "scratch", own(w)->p_at + (in->source - w->form->inputs) * vector);
        else if (in->role == ROLE_W || (in->role == ROLE_A && !e->elementwise))
            argument[count++] = stored_address(w, e, in->role, source_input(w, in->source));
        else
            argument[count++] =
                address(w, e, in->role, source_input(w, in->source), loops_vector_name(w, in->source));
    }
    for (int i = 0, direct_sums = 0; i < r->outputs; i++) {
        const struct recipe_output *o = &r->output[i];
        if (o->role == ROLE_G && tensor)
            argument[count++] = plus_offset(w->arena, "scratch", own(w)->t_at + o->source * vector);
        else if (o->role == ROLE_A && !e->elementwise)
            argument[count++] =
                direct ? plus_offset(w->arena, "scratch",
                                     own(w)->sum_at +
                                         direct_sums++ * loops_padded(e->matrix->depth * path_channels_b(e)))
                       : plus_offset(w->arena, "scratch", loops_find_sum(own(w), o->source, segment)->at);
        else
            argument[count++] = address(w, e, o->role, kernel_output(w->kernel->kernel, o->source), o->name);
    }
    emit_call(w->out, indent, f->name, count, argument);
}

/* Address, in the row of the kernel's output, of component j of channel a of a block. */
static const char *a_element(struct source *w, int output, const struct operand_block *b, bool one,
                             const char *j)
{
    const struct operand_block q = loops_transposes(w, output) ? block_in_component_order(b) : *b;
    if (one)
        return arena_printf(w->arena, "%lld + %s", (long long)q.offset, j);
    return q.component > 1
               ? arena_printf(w->arena, "%lld + %s * %lld + a", (long long)q.offset, j,
                              (long long)q.component)
               : arena_printf(w->arena, "%lld + a * %lld + %s", (long long)q.offset, (long long)q.channel, j);
}

/* Where vector number i of T, of P stands in the scratch. */
static const char *t_vector(struct source *w, const struct path_plan *e, int i)
{
    return plus_offset(w->arena, "scratch",
                       own(w)->t_at + i * e->matrix->columns * (int64_t)path_channels_b(e));
}

static const char *p_vector(struct source *w, const struct path_plan *e, int i)
{
    return plus_offset(w->arena, "scratch",
                       own(w)->p_at + i * e->matrix->columns * (int64_t)path_channels_b(e));
}

/* Address of the kernel's weights, and of its input in component order. */
static const char *input_address(struct source *w, const struct path_plan *e, enum role role, int input)
{
    const struct operand *o = source_input(w, input);
    return role == ROLE_W ? stored_address(w, e, role, o)
                          : address(w, e, role, o, loops_vector_name(w, input));
}

static const char *output_address(struct source *w, const struct path_plan *e, enum role role, int output)
{
    const struct operand *o = kernel_output(w->kernel->kernel, output);
    return address(w, e, role, o, o->symbol);
}

/* Products with the path's block of weights: G from T, gradients of weights from T, P from G. Where the block
 * has channels of B in columns, rows and columns change places. */
static void emit_contractions(struct source *w, int indent, const struct path_plan *e,
                              const struct variant *v, const char *n)
{
    const bool turned = path_weights_turned(e);
    const char *d = arena_printf(w->arena, "%d", e->matrix->columns);
    const char *m = arena_printf(w->arena, "%d", path_channels_g(e));
    const char *ld = arena_printf(w->arena, "%lld", (long long)path_weight_rows(e));
    const char *rows = turned ? m : n, *columns = turned ? n : m;
    for (int i = 0; i < v->zs; i++) {
        const char *t = t_vector(w, e, v->z[i].t);
        const char *z = output_address(w, e, ROLE_G, v->z[i].output);
        if (v->z[i].w < 0) /* no weights: sums over the channels */
            emit_call(w->out, indent, "cgtp_ones_z", 5, (const char *[]){d, n, m, t, z});
        else
            emit_call(w->out, indent, turned ? "cgtp_weights_rows" : "cgtp_weights_columns", 7,
                      (const char *[]){d, rows, columns, ld, input_address(w, e, ROLE_W, v->z[i].w), t, z});
    }
    for (int i = 0; i < v->ws; i++)
        for (int part = 0; part < v->w[i].parts; part++) {
            const char *g = input_address(w, e, ROLE_G, v->w[i].part[part].g);
            const char *gw = output_address(w, e, ROLE_W, v->w[i].output);
            const char *t = t_vector(w, e, v->w[i].part[part].t);
            emit_call(w->out, indent, "cgtp_weights_outer", 7,
                      (const char *[]){d, rows, columns, ld, turned ? g : t, turned ? t : g, gw});
        }
    for (int i = 0; i < v->ps; i++) {
        const char *g = input_address(w, e, ROLE_G, v->p[i].g), *p = p_vector(w, e, i);
        if (v->p[i].w < 0) {
            emit_call(w->out, indent, "cgtp_ones_p", 5, (const char *[]){d, n, m, g, p});
            continue;
        }
        text_printf(w->out, "%*scgtp_zero(%s * (%s), %s);\n", indent, "", d, n, p);
        emit_call(w->out, indent, turned ? "cgtp_weights_columns" : "cgtp_weights_rows", 7,
                  (const char *[]){d, rows, columns, ld, input_address(w, e, ROLE_W, v->p[i].w), g, p});
    }
}

/* Adds the path's own sums over channels to the rows of its A outputs. */
static void emit_own_sums(struct source *w, const struct path_plan *e, const struct variant *v, const char *n)
{
    int64_t one_sum = loops_padded(e->matrix->depth * (int64_t)path_channels_b(e));
    for (int o = 0, seen = 0; o < v->product->outputs; o++) {
        const struct recipe_output *out = &v->product->output[o];
        if (out->role != ROLE_A)
            continue;
        const struct operand_block *block =
            operand_block_of(kernel_output(w->kernel->kernel, out->source), e->path);
        text_printf(w->out,
                    "        for (int j = 0; j < %d; j++)\n"
                    "            %s[%s] += cgtp_sum(%s, scratch + %lld + j * (%s));\n",
                    e->matrix->depth, out->name, a_element(w, out->source, block, false, "j"), n,
                    (long long)(own(w)->sum_at + seen++ * one_sum), n);
    }
}

static void emit_path(struct source *w, int number)
{
    const struct path_plan *e = &w->plan->path[number];
    const struct path *p = e->path;
    const struct variant *v = &w->demand->variant[w->demand->variant_of[number]];
    bool loop = path_channels_a(e) > 1;
    int indent = loop ? 8 : 4, sums = 0;
    const char *n = e->pairs ? arena_printf(w->arena, "%d - a", p->mul_x - 1)
                             : arena_printf(w->arena, "%d", path_channels_b(e));
    text_printf(w->out, "\n    /* %s */\n", source_path_line(w->arena, w->plan, p));
    if (loop)
        text_printf(w->out, "    for (int64_t a = 0; a < %d; a++) {\n",
                    e->pairs ? p->mul_x - 1 : path_channels_a(e));
    for (int o = 0; loop && v->product && o < v->product->outputs; o++)
        sums += v->product->output[o].role == ROLE_A;
    if (sums)
        text_printf(w->out, "%*scgtp_zero(%lld, %s);\n", indent, "",
                    (long long)(sums * loops_padded(e->matrix->depth * (int64_t)path_channels_b(e))),
                    plus_offset(w->arena, "scratch", own(w)->sum_at));
    if (v->tensor)
        call_product(w, indent, e, v->tensor, n);
    emit_contractions(w, indent, e, v, n);
    if (v->product)
        call_product(w, indent, e, v->product, n);
    if (sums)
        emit_own_sums(w, e, v, n);
    if (loop)
        text_printf(w->out, "    }\n");
}

/* Weights' outputs of an item are assigned path by path; zero what no path assigns or what paths add up in.
 */
static void zero_weight_blocks(struct source *w)
{
    for (int o = 0; o < w->demand->outputs; o++) {
        if (demand_output(w->demand, o)->slot != SLOT_W || demand_operand(w->demand, o)->index != INDEX_ITEM)
            continue;
        int64_t from = 0, to = 0; /* the run of blocks to zero */
        for (int i = 0; i <= w->problem->paths; i++) {
            const struct path *p = i < w->problem->paths ? &w->problem->path[i] : NULL;
            bool zero =
                p && p->weight_numel &&
                (w->demand->variant_of[i] < 0 || w->demand->variant[w->demand->variant_of[i]].contracted);
            if (zero && p->weight_offset == to) {
                to += p->weight_numel;
            } else if (zero || !p) {
                if (to > from)
                    text_printf(w->out, "    cgtp_zero(%lld, %s);\n", (long long)(to - from),
                                plus_offset(w->arena, demand_output(w->demand, o)->symbol, from));
                from = zero ? p->weight_offset : 0;
                to = zero ? from + p->weight_numel : 0;
            }
        }
    }
}

void loops_item(struct source *w)
{
    struct text *out = w->out;
    struct text signature = {.arena = w->arena};
    text_printf(out, "/* What one item adds to its row%s, schedule %s:\n", w->demand->outputs > 1 ? "s" : "",
                w->schedule->name);
    for (int o = 0; o < w->demand->outputs; o++) {
        struct text sum = {.arena = w->arena};
        text_printf(&sum, "%s =", demand_output(w->demand, o)->name);
        for (int t = 0; t < demand_output(w->demand, o)->terms; t++) {
            text_puts(&sum, t ? " + " : " ");
            form_term_print(&sum, w->form, &demand_output(w->demand, o)->term[t]);
        }
        text_wrap(out, " *   ", " *     ", text_string(&sum), sum.n, 110);
    }
    text_printf(out, " * Names ending in _turned are rows in component order. scratch: %lld elements. */\n",
                (long long)own(w)->temporary_at);
    text_printf(&signature, "static void item_%d(", loops_number(w));
    int indent = (int)signature.n;
    for (int i = 0; i < w->form->inputs; i++) {
        if (w->demand->raw[i] || (w->demand->vector[i] && own(w)->staging[i] == STAGE_NONE))
            text_printf(&signature, "const real *%s,\n%*s", w->form->input[i].symbol, indent, "");
        if (own(w)->staging[i] != STAGE_NONE)
            text_printf(&signature, "const real *%s,\n%*s", loops_vector_name(w, i), indent, "");
    }
    for (int o = 0; o < w->demand->outputs; o++)
        if (loops_touches(w, o))
            text_printf(&signature, "real *%s,\n%*s", demand_output(w->demand, o)->symbol, indent, "");
    text_printf(out, "%sreal *scratch)\n{\n", signature.s);
    zero_weight_blocks(w);
    if (own(w)->sums)
        text_printf(out, "    cgtp_zero(%lld, scratch);\n", (long long)own(w)->sums_length);
    for (int g = 0; g < w->plan->groups; g++)
        for (int i = 0; i < w->plan->group[g].paths; i++)
            if (w->demand->variant_of[w->plan->group[g].path[i]] >= 0)
                emit_path(w, w->plan->group[g].path[i]);
    if (own(w)->sums)
        text_printf(out, "\n    /* sums over channels */\n");
    for (int i = 0; i < own(w)->sums; i++) {
        const struct channel_sum *s = &own(w)->sum[i];
        const struct form_output *o = &w->form->output[s->output];
        const struct operand_block *b = &kernel_output(w->kernel->kernel, s->output)->block[s->segment];
        text_printf(out,
                    "    for (int j = 0; j < %d; j++)\n        %s[%s] += cgtp_sum(%lld, %s + j * %lld);\n",
                    s->depth, o->symbol, a_element(w, s->output, b, true, "j"), (long long)s->length,
                    plus_offset(w->arena, "scratch", s->at), (long long)s->length);
    }
    text_printf(out, "    (void)scratch;\n}\n\n");
}
