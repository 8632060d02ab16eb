/* emit_c_item.c - the C function that does one item's work in a pass: a call of a product function for every
 * path.
 *
 * Scratch of a part, in elements: sums over channels | a path's own sums | T | P | copies of rows |
 * contributions of an item to compensated outputs | a segment to transpose.
 */
#include "emit/emit_c_kernel.h"

#include <ctype.h>
#include <string.h>

/* ---- scratch of a pass ---- */

static const struct recipe_output *a_output(const struct recipe *r, int o)
{
    for (int i = 0; r && i < r->outputs; i++)
        if (r->output[i].role == ROLE_A && r->output[i].source == o)
            return &r->output[i];
    return NULL;
}

static struct channel_sum *find_sum(struct kernel_writer *w, int o, int segment)
{
    for (int i = 0; i < w->sums; i++)
        if (w->sum[i].output == o && w->sum[i].segment == segment)
            return &w->sum[i];
    return NULL;
}

static int64_t padded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

static void lay_out_scratch(struct kernel_writer *w)
{
    const struct problem *problem = w->plan->problem;
    const struct pass *pass = w->pass;
    int capacity = 0;
    int64_t t = 0, p = 0, sum = 0, at = 0, longest = 0;
    w->sums = 0;
    w->sum = NULL;
    for (int i = 0; i < problem->paths; i++) {
        const struct path_plan *e = &w->plan->path[i];
        if (pass->variant_of[i] < 0)
            continue;
        const struct variant *v = &pass->variant[pass->variant_of[i]];
        if (v->contracted) {
            int64_t vector = e->matrix->columns * path_channels_b(e);
            t = t > v->ts * vector ? t : v->ts * vector;
            p = p > v->ps * vector ? p : v->ps * vector;
        }
        for (int o = 0; o < pass->outputs && !e->elementwise; o++) {
            if (!a_output(v->product, pass->output[o]))
                continue;
            int segment = e->a == SLOT_X ? e->path->x : e->path->y;
            int64_t vector = e->matrix->depth * path_channels_b(e);
            if (path_channels_a(e) > 1) {
                sum = sum > vector ? sum : vector;
                continue;
            }
            struct channel_sum *s = find_sum(w, pass->output[o], segment);
            if (!s) {
                w->sum = arena_grow(w->arena, w->sum, w->sums, &capacity, sizeof *w->sum);
                s = &w->sum[w->sums++];
                *s = (struct channel_sum){pass->output[o], segment, 0, e->matrix->depth, 0};
            }
            s->length = s->length > path_channels_b(e) ? s->length : path_channels_b(e);
        }
    }
    for (int i = 0; i < w->sums; i++) /* one product function serves all outputs of a slot with one stride */
        for (int j = 0; j < w->sums; j++)
            if (w->sum[i].segment == w->sum[j].segment && w->sum[i].length < w->sum[j].length &&
                w->form->output[w->sum[i].output].slot == w->form->output[w->sum[j].output].slot)
                w->sum[i].length = w->sum[j].length;
    for (int i = 0; i < w->sums; i++) {
        w->sum[i].at = at;
        at += padded(w->sum[i].length * w->sum[i].depth);
    }
    w->sums_length = at;
    w->sum_at = at;
    at += padded(sum) * pass->outputs;
    w->t_at = at;
    at += padded(t);
    w->p_at = at;
    at += padded(p);
    w->staged_at = NEW_ARRAY(w->arena, int64_t, w->form->inputs + 1);
    for (int i = 0; i < w->form->inputs; i++)
        if (pass->staging[i] == STAGE_ROW) {
            w->staged_at[i] = at;
            at += padded(row_dim(w, w->form->input[i].slot));
        }
    w->term_at = NEW_ARRAY(w->arena, int64_t, pass->outputs + 1);
    for (int o = 0; o < pass->outputs; o++) {
        enum slot s = pass_output(w, o)->slot;
        if (is_compensated(w, s)) {
            w->term_at[o] = at;
            at += padded(row_dim(w, s));
        }
        for (int i = 0; is_transposed(w, s) && i < irreps_of(w->plan, s)->n; i++) {
            const struct segment *g = &irreps_of(w->plan, s)->segment[i];
            int64_t length = g->mul * (2 * g->ir.l + 1);
            longest = longest > length ? longest : length;
        }
    }
    w->temporary_at = at;
    at += padded(longest);
    w->scratch = w->scratch > at ? w->scratch : at;
}

/* ---- one item ---- */

static void call_product(struct kernel_writer *w, int indent, const struct path_plan *e,
                         const struct recipe *r, const char *suffix, const char *n)
{
    struct arena *a = w->arena;
    bool several = w->kernel->passes > 1;
    const struct product_function *f =
        product_function_for(&w->functions, r,
                             arena_printf(a, "%s%s%s", several ? "_" : "",
                                          several ? index_words[w->pass->owner].plural : "", suffix),
                             e);
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
        for (int i = 0; i < w->sums; i++)
            if (w->sum[i].segment == segment && w->form->output[w->sum[i].output].slot == e->a)
                length = w->sum[i].length;
        argument[count++] = direct ? n : arena_printf(a, "%lld", (long long)length);
    }
    for (int i = 0; i < r->inputs; i++) {
        const struct recipe_input *in = &r->input[i];
        if (!recipe_reads(r, i))
            continue;
        if (in->source >= w->form->inputs)
            argument[count++] =
                plus_offset(w->arena, "scratch", w->p_at + (in->source - w->form->inputs) * vector);
        else if (in->role == ROLE_W || (in->role == ROLE_A && !e->elementwise))
            argument[count++] = path_address(w->arena, w->plan, e, in->role, in->name, 1);
        else
            argument[count++] = path_address(w->arena, w->plan, e, in->role, vector_name(w, in->source), 1);
    }
    for (int i = 0, direct_sums = 0; i < r->outputs; i++) {
        const struct recipe_output *o = &r->output[i];
        if (o->role == ROLE_G && tensor)
            argument[count++] = plus_offset(w->arena, "scratch", w->t_at + o->source * vector);
        else if (o->role == ROLE_A && !e->elementwise)
            argument[count++] =
                direct
                    ? plus_offset(w->arena, "scratch",
                                  w->sum_at + direct_sums++ * padded(e->matrix->depth * path_channels_b(e)))
                    : plus_offset(w->arena, "scratch", find_sum(w, o->source, segment)->at);
        else
            argument[count++] = path_address(w->arena, w->plan, e, o->role, o->name, 1);
    }
    emit_call(w->out, indent, f->name, count, argument);
}

/* Address in an output's row of component j of channel a of a segment of an A operand. */
static const char *a_element(struct kernel_writer *w, enum slot slot, const struct segment *g, bool one,
                             const char *j)
{
    int d = 2 * g->ir.l + 1;
    if (one)
        return arena_printf(w->arena, "%lld + %s", (long long)g->offset, j);
    return is_transposed(w, slot)
               ? arena_printf(w->arena, "%lld + %s * %d + a", (long long)g->offset, j, g->mul)
               : arena_printf(w->arena, "%lld + a * %d + %s", (long long)g->offset, d, j);
}

static void emit_path(struct kernel_writer *w, int number)
{
    struct arena *a = w->arena;
    const struct path_plan *e = &w->plan->path[number];
    const struct path *p = e->path;
    const struct variant *v = &w->pass->variant[w->pass->variant_of[number]];
    bool loop = path_channels_a(e) > 1;
    int indent = loop ? 8 : 4;
    const char *n = e->pairs ? arena_printf(a, "%d - a", p->mul_x - 1)
                             : arena_printf(a, "%lld", (long long)path_channels_b(e));
    int64_t vector = e->matrix->columns * path_channels_b(e);
    text_printf(w->out, "\n    /* ");
    emit_path_line(w->out, w->plan, p);
    text_printf(w->out, " */\n");
    if (loop)
        text_printf(w->out, "    for (int64_t a = 0; a < %lld; a++) {\n",
                    (long long)(e->pairs ? p->mul_x - 1 : path_channels_a(e)));
    int direct = 0;
    for (int o = 0; loop && v->product && o < v->product->outputs; o++)
        direct += v->product->output[o].role == ROLE_A;
    int64_t one_sum = padded(e->matrix->depth * path_channels_b(e));
    if (direct)
        text_printf(w->out, "%*scgtp_zero(%lld, %s);\n", indent, "", (long long)(direct * one_sum),
                    plus_offset(w->arena, "scratch", w->sum_at));
    if (v->tensor)
        call_product(w, indent, e, v->tensor, "_t", n);
    const char *ld = arena_printf(a, "%lld", (long long)path_weight_rows(e));
    const char *d = arena_printf(a, "%d", e->matrix->columns), *m = arena_printf(a, "%d", p->mul_z);
    for (int i = 0; i < v->zs; i++) {
        if (v->z[i].w < 0) { /* no weights: sums over the channels */
            const char *argument[] = {
                d, n, plus_offset(a, "scratch", w->t_at + v->z[i].t * vector),
                path_address(a, w->plan, e, ROLE_G, w->form->output[v->z[i].output].name, 1)};
            emit_call(w->out, indent, "cgtp_ones_z", 4, argument);
            continue;
        }
        const char *argument[] = {
            d,
            n,
            m,
            ld,
            path_address(w->arena, w->plan, e, ROLE_W, w->form->input[v->z[i].w].name, 1),
            plus_offset(w->arena, "scratch", w->t_at + v->z[i].t * vector),
            path_address(w->arena, w->plan, e, ROLE_G, w->form->output[v->z[i].output].name, 1)};
        emit_call(w->out, indent, "cgtp_weights_z", 7, argument);
    }
    for (int i = 0; i < v->ws; i++)
        for (int part = 0; part < v->w[i].parts; part++) {
            const char *argument[] = {
                d,
                n,
                m,
                ld,
                plus_offset(w->arena, "scratch", w->t_at + v->w[i].part[part].t * vector),
                path_address(w->arena, w->plan, e, ROLE_G, vector_name(w, v->w[i].part[part].g), 1),
                path_address(w->arena, w->plan, e, ROLE_W, w->form->output[v->w[i].output].name, 1)};
            emit_call(w->out, indent, "cgtp_weights_w", 7, argument);
        }
    for (int i = 0; i < v->ps; i++) {
        if (v->p[i].w < 0) {
            const char *argument[] = {d, n, path_address(a, w->plan, e, ROLE_G, vector_name(w, v->p[i].g), 1),
                                      plus_offset(a, "scratch", w->p_at + i * vector)};
            emit_call(w->out, indent, "cgtp_ones_p", 4, argument);
            continue;
        }
        const char *argument[] = {
            d,
            n,
            m,
            ld,
            path_address(w->arena, w->plan, e, ROLE_W, w->form->input[v->p[i].w].name, 1),
            path_address(w->arena, w->plan, e, ROLE_G, vector_name(w, v->p[i].g), 1),
            plus_offset(w->arena, "scratch", w->p_at + i * vector)};
        emit_call(w->out, indent, "cgtp_weights_p", 7, argument);
    }
    if (v->product)
        call_product(w, indent, e, v->product, "", n);
    for (int o = 0, seen = 0; direct && o < v->product->outputs; o++) {
        const struct recipe_output *out = &v->product->output[o];
        if (out->role != ROLE_A)
            continue;
        text_printf(
            w->out,
            "%*sfor (int j = 0; j < %d; j++)\n%*s%s[%s] += cgtp_sum(%s, scratch + %lld + j * (%s));\n",
            indent, "", e->matrix->depth, indent + 4, "", out->name,
            a_element(w, e->a, path_segment(w->plan, e, e->a), false, "j"), n,
            (long long)(w->sum_at + seen++ * one_sum), n);
    }
    if (loop)
        text_printf(w->out, "    }\n");
}

/* Weights' outputs of an item are assigned path by path; zero what no path assigns or what paths add up in.
 */
static void zero_weight_blocks(struct kernel_writer *w)
{
    for (int o = 0; o < w->pass->outputs; o++) {
        if (pass_output(w, o)->slot != SLOT_W || index_of(w, SLOT_W) != INDEX_ITEM)
            continue;
        int64_t from = 0, to = 0; /* the run of blocks to zero */
        for (int i = 0; i <= w->plan->problem->paths; i++) {
            const struct path *p = i < w->plan->problem->paths ? &w->plan->problem->path[i] : NULL;
            bool zero = p && p->weight_numel &&
                        (w->pass->variant_of[i] < 0 || w->pass->variant[w->pass->variant_of[i]].contracted);
            if (zero && p->weight_offset == to) {
                to += p->weight_numel;
            } else if (zero || !p) {
                if (to > from)
                    text_printf(w->out, "    cgtp_zero(%lld, %s);\n", (long long)(to - from),
                                plus_offset(w->arena, pass_output(w, o)->name, from));
                from = zero ? p->weight_offset : 0;
                to = zero ? from + p->weight_numel : 0;
            }
        }
    }
}

/* Does the name stand in the code, as a word? */
static bool mentions(const char *code, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = code; (at = strstr(at, name)); at++)
        if ((at == code || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) &&
            !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    return false;
}

void emit_c_item(struct kernel_writer *w)
{
    struct text *out = w->out;
    struct text signature = {.arena = w->arena};
    lay_out_scratch(w);
    text_printf(out, "/* What one item adds to its row%s, pass over %s:\n", w->pass->outputs > 1 ? "s" : "",
                index_words[w->pass->owner].plural);
    for (int o = 0; o < w->pass->outputs; o++) {
        text_printf(out, " *   %s =", pass_output(w, o)->name);
        for (int t = 0; t < pass_output(w, o)->terms; t++) {
            text_printf(out, t ? " + " : " ");
            form_term_print(out, w->form, &pass_output(w, o)->term[t]);
        }
        text_printf(out, "\n");
    }
    text_printf(out, " * Names ending in _t are rows in component order. scratch: %lld elements. */\n",
                (long long)w->temporary_at);
    text_printf(&signature, "static void item_%s(", index_words[w->pass->owner].plural);
    int indent = (int)signature.n;
    for (int i = 0; i < w->form->inputs; i++) {
        if (w->pass->raw[i] || (w->pass->vector[i] && w->pass->staging[i] == STAGE_NONE))
            text_printf(&signature, "const real *%s,\n%*s", w->form->input[i].name, indent, "");
        if (w->pass->staging[i] != STAGE_NONE)
            text_printf(&signature, "const real *%s,\n%*s", vector_name(w, i), indent, "");
    }
    for (int o = 0; o < w->pass->outputs; o++)
        text_printf(&signature, "real *%s,\n%*s", pass_output(w, o)->name, indent, "");
    text_printf(out, "%sreal *scratch)\n{\n", signature.s);
    size_t before = out->n;
    zero_weight_blocks(w);
    if (w->sums)
        text_printf(out, "    cgtp_zero(%lld, scratch);\n", (long long)w->sums_length);
    for (int g = 0; g < w->plan->groups; g++)
        for (int i = 0; i < w->plan->group[g].paths; i++)
            if (w->pass->variant_of[w->plan->group[g].path[i]] >= 0)
                emit_path(w, w->plan->group[g].path[i]);
    if (w->sums)
        text_printf(out, "\n    /* sums over channels */\n");
    for (int i = 0; i < w->sums; i++) {
        const struct channel_sum *s = &w->sum[i];
        const struct form_output *o = &w->form->output[s->output];
        const struct segment *g = &irreps_of(w->plan, o->slot)->segment[s->segment];
        text_printf(out,
                    "    for (int j = 0; j < %d; j++)\n        %s[%s] += cgtp_sum(%lld, %s + j * %lld);\n",
                    s->depth, o->name, a_element(w, o->slot, g, true, "j"), (long long)s->length,
                    plus_offset(w->arena, "scratch", s->at), (long long)s->length);
    }
    for (int o = 0; o < w->pass->outputs; o++)
        if (!mentions(text_string(out) + before, pass_output(w, o)->name)) /* nothing contributes */
            text_printf(out, "    (void)%s;\n", pass_output(w, o)->name);
    text_printf(out, "    (void)scratch;\n}\n\n");
}
