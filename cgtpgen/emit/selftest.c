/* selftest.c - NAME_selftest.c: a program that compares every kernel with a dense loop over tables.
 *
 * The file holds the tables (tensors, paths, kernels as terms) and a main; what reads them is
 * runtime/cgtp_selftest.c. It is the same for all backends. Tables are written straight from problem and
 * form, never from the plan, so that nothing the kernels are made of is believed.
 */
#include "emit/emit.h"
#include "schedule/index_words.h"

#include <string.h>

static void tensor(struct text *out, const struct cg *c)
{
    text_printf(out, "static const cgtp_selftest_entry cg_%d_%d_%d[] = {\n", c->l1, c->l2, c->l3);
    for (int e = 0; e < c->n; e++) {
        text_printf(out, "    {%d, %d, %d, ", c->entry[e].i, c->entry[e].j, c->entry[e].k);
        hex_print(out, surd_double(c->entry[e].value), false);
        text_printf(out, "}, /* ");
        surd_print(out, c->entry[e].value);
        text_printf(out, " */\n");
    }
    text_printf(out, "};\n\n");
}

/* The tensors in use, in the order of their first paths; returns how many. number[p]: of path p. */
static int tensors(struct text *out, const struct problem *p, int *number)
{
    const struct cg **known = NEW_ARRAY(out->arena, const struct cg *, p->paths + 1);
    int n = 0;
    text_printf(out, "/* The nonzeros C[i,j,k] of the tensors in use, by (l1, l2, l3). */\n");
    for (int i = 0; i < p->paths; i++) {
        int k = 0;
        while (k < n && known[k] != p->path[i].cg)
            k++;
        if (k == n) {
            known[n++] = p->path[i].cg;
            tensor(out, p->path[i].cg);
        }
        number[i] = k;
    }
    text_printf(out, "static const cgtp_selftest_cg cgs[] = {\n");
    for (int k = 0; k < n; k++) {
        const struct cg *c = known[k];
        text_printf(out, "    {%d, %d, %d, %d, cg_%d_%d_%d},\n", c->l1, c->l2, c->l3, c->n, c->l1, c->l2,
                    c->l3);
    }
    text_printf(out, "};\n\n");
    return n;
}

static void paths(struct text *out, const struct plan *plan, const int *number)
{
    const struct problem *p = plan->problem;
    text_printf(out, "/* x, y, z: {first element, channels}; mode; weighted, first element in w, elements; "
                     "coefficient; C. */\n"
                     "static const cgtp_selftest_path paths[] = {\n");
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        text_printf(out, "    /* %s */\n    {{%lld, %d}, {%lld, %d}, {%lld, %d}, %s, %d, %lld, %lld, ",
                    source_path_line(out->arena, plan, q), (long long)p->x.segment[q->x].offset, q->mul_x,
                    (long long)p->y.segment[q->y].offset, q->mul_y, (long long)p->z.segment[q->z].offset,
                    q->mul_z, mode_table[q->mode].constant, q->weighted,
                    (long long)(q->weighted ? q->weight_offset : 0), (long long)q->weight_numel);
        hex_print(out, surd_double(q->coefficient), false);
        text_printf(out, ", &cgs[%d]},\n", number[i]);
    }
    text_printf(out, "};\n\n");
}

static void output(struct text *out, const struct kernel_form *f, const struct form_output *o)
{
    text_printf(out, "        {\"%s\", %s, %d, (const cgtp_selftest_term[]){\n", o->name,
                slot_constant[o->slot], o->terms);
    for (int t = 0; t < o->terms; t++) {
        const int *a = o->term[t].argument;
        text_printf(out, "            {%s, {%d, %d, %d, %d}}, /* ", slot_constant[o->term[t].target],
                    a[SLOT_X], a[SLOT_Y], a[SLOT_W], a[SLOT_G]);
        form_term_print(out, f, &o->term[t]);
        text_printf(out, " */\n");
    }
    text_printf(out, "        }},\n");
}

static void kernels(struct text *out, const struct plan *plan)
{
    text_printf(
        out,
        "/* Inputs: name, slot, tangent. Outputs: name, slot, terms; of a term the target and, by number,\n"
        " * the inputs at x, y, w, z. */\n"
        "static const cgtp_selftest_kernel kernels[] = {\n");
    for (int k = 0; k < plan->kernels; k++) {
        const struct kernel_form *f = plan->kernel[k].form;
        text_printf(out, "    {\"%s\", %d, (const cgtp_argument[]){\n", f->name, f->inputs);
        for (int i = 0; i < f->inputs; i++)
            text_printf(out, "        {\"%s\", %s, %d},\n", f->input[i].name, slot_constant[f->input[i].slot],
                        f->input[i].tangent);
        text_printf(out, "     }, %d, (const cgtp_selftest_output[]){\n", f->outputs);
        for (int o = 0; o < f->outputs; o++)
            output(out, f, &f->output[o]);
        text_printf(out, "     }},\n");
    }
    text_printf(out, "};\n\n");
}

void emit_selftest_tables(struct text *out, const struct plan *plan)
{
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    struct arena *a = out->arena;
    int *number = NEW_ARRAY(a, int, p->paths + 1), cgs = 0;
    if (p->paths) {
        cgs = tensors(out, p, number);
        paths(out, plan, number);
    }
    kernels(out, plan);
    text_printf(out,
                "static const cgtp_selftest test = {\n    .product = &%s_product, .digest = %s_DIGEST,\n"
                "    .dim = {%lld, %lld, %lld, %lld},\n    .index = {%s, %s, %s, %s},\n"
                "    .layout = {%s, %s, %s, %s},\n",
                s->name, s->name, (long long)p->dim[SLOT_X], (long long)p->dim[SLOT_Y],
                (long long)p->dim[SLOT_W], (long long)p->dim[SLOT_G], index_words[s->index[SLOT_X]].constant,
                index_words[s->index[SLOT_Y]].constant, index_words[s->index[SLOT_W]].constant,
                index_words[s->index[SLOT_G]].constant, layout_constant[s->layout[SLOT_X]],
                layout_constant[s->layout[SLOT_Y]], layout_constant[s->layout[SLOT_W]],
                layout_constant[s->layout[SLOT_G]]);
    text_printf(out,
                "    .type = {%s, %s, %s, %s}, .compute = %s,\n"
                "    .graph = %d, .sorted = %d, .index_size = %d,\n"
                "    .cgs = %d, .paths = %d, .kernels = %d, .cg = %s, .path = %s, .kernel = kernels,\n};\n\n",
                precision_table[s->storage[SLOT_X]].constant, precision_table[s->storage[SLOT_Y]].constant,
                precision_table[s->storage[SLOT_W]].constant, precision_table[s->storage[SLOT_G]].constant,
                precision_table[s->compute].constant, spec_is_graph(s), s->sorted, s->index64 ? 8 : 4, cgs,
                p->paths, plan->kernels, p->paths ? "cgs" : "NULL", p->paths ? "paths" : "NULL");
}

void emit_selftest(struct text *out, const struct plan *plan)
{
    emit_banner(out, plan, "self-test");
    text_printf(out, "#include \"%s.h\"\n#include \"cgtp_selftest.h\"\n\n", plan->problem->spec->name);
    emit_selftest_tables(out, plan);
    text_printf(out, "int main(void)\n{\n    return cgtp_selftest_run(&test);\n}\n");
}
