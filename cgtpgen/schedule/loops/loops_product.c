/* loops_product.c - see loops_product.h. Straight-line code for one channel inside a loop over channels,
 * which any compiler vectorises: every array is contiguous in the channel. */
#include "schedule/loops/loops_product.h"

#include "schedule/body.h"

#include <string.h>

struct writer {
    struct text *out;
    const struct product_function *f;
    const struct recipe *r;
    const struct matrix *m;
    struct body body;
};

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
    return used && f->strided &&
           ((role == ROLE_B && f->matrix->rows > 1) || (role == ROLE_G && f->matrix->columns > 1));
}

/* ---- the body for one channel ---- */

static void load(struct writer *w, const struct recipe_input *in, int count, const bool *wanted)
{
    struct text line = {.arena = w->out->arena};
    for (int i = 0; i < count; i++) {
        if (wanted && !wanted[i])
            continue;
        if (line.n > 80) {
            text_printf(w->out, "        const real %s;\n", line.s);
            line.n = 0;
        }
        text_printf(&line, "%s%s_%d = %s", line.n ? ", " : "", in->name, i,
                    element(w, in->name, ld_of(w, in->role), i));
    }
    if (line.n)
        text_printf(w->out, "        const real %s;\n", line.s);
}

static void emit_loads(struct writer *w)
{
    for (int i = 0; i < w->r->inputs; i++) {
        const struct recipe_input *in = &w->r->input[i];
        if (!recipe_reads(w->r, i))
            continue;
        if (in->role == ROLE_B)
            load(w, in, w->m->rows, w->body.row);
        else if (in->role == ROLE_G)
            load(w, in, w->m->columns, w->body.column);
        else if (in->role == ROLE_W)
            text_printf(w->out, "        const real %s_0 = %s[u%s];\n", in->name, in->name,
                        w->f->weight_strided ? " * ldw" : "");
        else if (w->f->elementwise)
            load(w, in, w->m->depth, NULL);
    }
}

/* ---- the function ---- */

static void emit_comment(struct writer *w)
{
    const struct matrix *m = w->m;
    text_printf(w->out, "/* (l1, l2, l3) = (%d, %d, %d): M from ", m->l1, m->l2, m->l3);
    int named = 0;
    for (int i = 0; i < w->r->inputs; i++)
        if (w->r->input[i].role == ROLE_A && body_needs_forms(w->r, i))
            text_printf(w->out, "%s%s", named++ ? " and " : "", w->r->input[i].name);
    text_printf(w->out, "%s, a = ", named ? "" : slot_name[m->a]);
    surd_print(w->out, m->scale);
    text_printf(w->out, "; %d entries, %d forms, %.0f flops a channel. */\n", m->entries, m->forms,
                recipe_cost(w->r, m->entries, m->rows, m->columns, m->form_terms).flops);
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
        const char *p = i < r->inputs
                            ? arena_printf(line.arena, "const real *restrict %s", r->input[i].name)
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

/* Lvalue of component i of an output at channel u. */
static const char *output_element(void *context, const struct recipe_output *o, int i)
{
    struct writer *w = context;
    if (o->role == ROLE_W)
        return arena_printf(w->out->arena, "%s[u%s]", o->name, w->f->weight_strided ? " * ldw" : "");
    return element(w, o->name, ld_of(w, o->role), i);
}

static void emit_all_forms(struct writer *w, const char *component)
{
    for (int i = 0; i < w->r->inputs; i++)
        if (w->r->input[i].role == ROLE_A && body_needs_forms(w->r, i))
            body_forms(&w->body, i, component);
}

void loops_product(struct text *out, const struct plan *plan, const struct product_function *f)
{
    const char **stem = NEW_ARRAY(out->arena, const char *, f->recipe->inputs + 1);
    struct writer w = {.out = out, .f = f, .r = f->recipe, .m = f->matrix};
    for (int i = 0; i < f->recipe->inputs; i++)
        stem[i] = f->recipe->input[i].name;
    w.body = (struct body){.out = out,
                           .indent = 4,
                           .recipe = f->recipe,
                           .matrix = f->matrix,
                           .stem = stem,
                           .is_float = plan->problem->spec->precision == PRECISION_FLOAT32,
                           .output = output_element,
                           .context = &w};
    emit_comment(&w);
    emit_signature(&w);
    body_begin(&w.body);
    if (!f->elementwise)
        emit_all_forms(&w, "%s[%d]");
    text_printf(out, "    for (int64_t u = 0; u < n; u++) {\n");
    w.body.indent = 8;
    emit_loads(&w);
    if (f->elementwise)
        emit_all_forms(&w, "%s_%d");
    body_channel(&w.body);
    text_printf(out, "    }\n}\n\n");
}
