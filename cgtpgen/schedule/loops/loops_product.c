/* loops_product.c - see loops_product.h. Straight-line code for one channel inside a loop over channels,
 * which any compiler vectorises: every array is contiguous in the channel. */
#include "schedule/loops/loops.h"
#include "schedule/loops/loops_table.h"

#include <string.h>

struct writer {
    struct text *out;
    const struct product_function *f;
    const struct recipe *r;
    const struct matrix *m;
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

/* Where a component of an operand stands: of an input, or an output behind them. */
static const char *place(void *context, int operand, int i)
{
    struct writer *w = context;
    bool input = operand < w->r->inputs;
    enum role role = input ? w->r->input[operand].role : w->r->output[operand - w->r->inputs].role;
    const char *name = input ? w->r->input[operand].name : w->r->output[operand - w->r->inputs].name;
    if (role == ROLE_W)
        return arena_printf(w->out->arena, "%s[u%s]", name, w->f->weight_strided ? " * ldw" : "");
    if (role == ROLE_A && input && !w->f->elementwise)
        return w->f->apart[ROLE_A] && i
                   ? arena_printf(w->out->arena, "%s[%d * %s]", name, i, step_name[ROLE_A])
                   : arena_printf(w->out->arena, "%s[%d]", name, i);
    return element(w, name, ld_of(w, role), i);
}

/* ---- the function ---- */

static void emit_comment(struct writer *w, const struct code *code)
{
    const struct matrix *m = w->m;
    text_printf(w->out, "/* (l1, l2, l3) = (%d, %d, %d), a = ", m->l1, m->l2, m->l3);
    surd_print(w->out, m->scale);
    text_printf(w->out, ", M from %s:\n * ", slot_name[m->a]);
    code_print_counts(w->out, code);
    text_printf(w->out, ". */\n");
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
    if (w->f->apart[ROLE_A])
        text_printf(&line, ", int64_t %s", step_name[ROLE_A]);
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

void loops_product(struct source *s, const struct product_function *f)
{
    struct text *out = s->out;
    struct writer w = {.out = out, .f = f, .r = f->recipe, .m = f->matrix};
    if (own(s)->by_table && !f->elementwise) {
        const char *table = loops_table(s, f);
        emit_signature(&w);
        loops_table_call(
            s, f, table,
            arena_printf(s->arena, "%s, %s, %s, %s, %s", product_takes_ld(f, ROLE_B) ? "ldb" : "n",
                         product_takes_ld(f, ROLE_G) ? "ldg" : "n", f->weight_strided ? "ldw" : "1",
                         product_takes_ld(f, ROLE_A) ? "lda" : "n",
                         f->apart[ROLE_A] ? step_name[ROLE_A] : "1"));
        text_printf(out, "}\n\n");
        return;
    }
    struct code_printer p = {.out = out,
                             .code =
                                 codes_lower(s->demand->codes, f->recipe, f->matrix, f->elementwise, false),
                             .constants = s->constants,
                             .mutation = s->mutation,
                             .indent = 4,
                             .place = place,
                             .context = &w};
    emit_comment(&w, p.code);
    emit_signature(&w);
    code_printer_begin(&p);
    code_print_item(&p);
    text_printf(out, "    for (int64_t u = 0; u < n; u++) {\n");
    p.indent = 8;
    code_print_channel(&p);
    text_printf(out, "    }\n}\n\n");
}
