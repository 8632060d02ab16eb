/* descriptor.c - NAME.c: what a product is, for callers that know none by name, and functions that take
 * arrays by position.
 */
#include "emit/emit.h"
#include "schedule/code_print.h"
#include "schedule/index_words.h"

#include <string.h>

enum { STRING_MOST = 96 };

static const char *type_constant(enum precision p)
{
    return precision_table[p].constant;
}

static void arguments(struct text *out, const struct kernel_form *f, int number, bool inputs)
{
    int n = inputs ? f->inputs : f->outputs;
    text_printf(out, "static const cgtp_argument %s_%d[] = {\n", inputs ? "inputs" : "outputs", number);
    for (int i = 0; i < n; i++) {
        enum slot s = inputs ? f->input[i].slot : f->output[i].slot;
        text_printf(out, "    {\"%s\", %s, %d},\n", inputs ? f->input[i].name : f->output[i].name,
                    slot_constant[s], inputs && f->input[i].tangent);
    }
    text_printf(out, "};\n\n");
}

void emit_wrappers(struct text *out, const struct plan *plan, const struct kernel_plan *k, int number,
                   bool least)
{
    const struct spec *s = plan->problem->spec;
    const struct kernel_form *f = k->form;
    bool strided = false;
    for (int i = 0; i < f->inputs + f->outputs; i++)
        strided |= k->operand[i].stride != NULL;
    const bool plain = !spec_is_graph(s);
    const char *argument = plain        ? "((const cgtp_graph *)graph)->items"
                           : s->index64 ? "(const cgtp_graph64 *)graph"
                                        : "(const cgtp_graph *)graph";
    for (int i = 0; i < 1 + least; i++)
        text_printf(out,
                    "static size_t %s_%d(const void *graph)\n{\n%s    return %s_%s_workspace%s(%s);\n}\n\n",
                    i ? "least" : "workspace", number,
                    plain ? "    if (!graph)\n        return CGTP_NO_WORKSPACE;\n" : "", s->name, f->name,
                    i ? "_least" : "", argument);
    text_printf(
        out,
        "static cgtp_status run_%d(const void *graph, const void *const *input, void *const *output,\n"
        "    const int64_t *stride, void *ws, size_t ws_bytes, cgtp_stream stream)\n{\n%s",
        number, strided ? "" : "    (void)stride;\n");
    if (plain)
        text_printf(out, "    if (!graph)\n        return CGTP_NULL_POINTER;\n");
    text_printf(out, "    return %s_%s(%s,\n", s->name, f->name, argument);
    for (int i = 0; i < f->inputs + f->outputs; i++) {
        text_printf(out, "        (%s%s *)%s[%d],", i < f->inputs ? "const " : "",
                    source_stored(plan, k->operand[i].slot), i < f->inputs ? "input" : "output",
                    i < f->inputs ? i : i - f->inputs);
        if (k->operand[i].stride)
            text_printf(out, " stride ? stride[%d] : 0,", i);
        text_printf(out, "\n");
    }
    text_printf(out, "        ws, ws_bytes, stream);\n}\n\n");
}

static void irreps_string(struct text *out, const struct irreps *r)
{
    struct text t = {.arena = out->arena};
    irreps_print(&t, r);
    const char *s = text_string(&t);
    for (size_t n; strlen(s) > STRING_MOST; s += n) { /* a piece per line, from a + on */
        for (n = STRING_MOST; s[n] != '+';)
            n--;
        text_printf(out, "\"%.*s\"\n        ", (int)n, s);
    }
    text_printf(out, "\"%s\"", s);
}

/* cgtp_memory */
static void bytes(struct text *out, const double by[BY_COUNT])
{
    text_puts(out, "{");
    for (int i = 0; i < BY_COUNT; i++)
        text_printf(out, "%s%.17g", i ? ", " : "", by[i]);
    text_puts(out, "}");
}

void emit_descriptor(struct text *out, const struct schedules *all, const struct memory *memory,
                     const char *backend)
{
    const struct plan *plan = all->plan;
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    emit_banner(out, plan, "descriptor");
    text_printf(out, "#include \"%s.h\"\n\n", s->name);
    for (int k = 0; k < plan->kernels; k++) {
        const struct kernel_form *f = plan->kernel[k].form;
        arguments(out, f, k, true);
        arguments(out, f, k, false);
        emit_wrappers(out, plan, &plan->kernel[k], k, true);
    }
    text_printf(out, "static const cgtp_kernel kernel_table[] = {\n");
    for (int k = 0; k < plan->kernels; k++) {
        const struct kernel_plan *q = &plan->kernel[k];
        text_printf(
            out,
            "    {\"%s\", %d, %d, inputs_%d, outputs_%d, %.0f, %.0f, workspace_%d, least_%d, run_%d,\n     ",
            q->form->name, q->form->inputs, q->form->outputs, k, k, q->bytes_least,
            operations_flops(all->kernel[k].operations), k, k, k);
        bytes(out, memory[k].all);
        text_puts(out, ", ");
        bytes(out, memory[k].by_reduction);
        text_puts(out, "},\n");
    }
    text_printf(out, "};\n\n");
    if (p->paths) {
        text_printf(out, "static const cgtp_path path_table[] = {\n");
        for (int i = 0; i < p->paths; i++) {
            const struct path *q = &p->path[i];
            text_printf(out, "    {%d, %d, %d, \"%s\", %d, %lld, %lld, ", q->x, q->y, q->z,
                        mode_table[q->mode].name, q->weighted, (long long)q->weight_offset,
                        (long long)q->weight_numel);
            hex_print(out, surd_double(q->coefficient), false);
            text_printf(out, "},\n");
        }
        text_printf(out, "};\n\n");
    }
    text_printf(out,
                "const cgtp_product %s_product = {\n    .abi = CGTP_ABI, .name = \"%s\", .backend = \"%s\",\n"
                "    .digest = %s_DIGEST,\n    .irreps = {\n        ",
                s->name, s->name, backend, s->name);
    irreps_string(out, &p->x);
    text_printf(out, ",\n        ");
    irreps_string(out, &p->y);
    text_printf(out, ",\n        NULL,\n        ");
    irreps_string(out, &p->z);
    text_printf(
        out,
        ",\n    },\n    .dim = {%lld, %lld, %lld, %lld},\n    .index = {%s, %s, %s, %s},\n"
        "    .layout = {%s, %s, %s, %s},\n    .strided = {%d, %d, %d, %d},\n    .type = {%s, %s, %s, %s},\n"
        "    .compute = %s, .sum = %s,\n",
        (long long)p->dim[SLOT_X], (long long)p->dim[SLOT_Y], (long long)p->dim[SLOT_W],
        (long long)p->dim[SLOT_G], index_words[s->index[SLOT_X]].constant,
        index_words[s->index[SLOT_Y]].constant, index_words[s->index[SLOT_W]].constant,
        index_words[s->index[SLOT_G]].constant, layout_constant[s->layout[SLOT_X]],
        layout_constant[s->layout[SLOT_Y]], layout_constant[s->layout[SLOT_W]],
        layout_constant[s->layout[SLOT_G]], spec_is_strided(s, SLOT_X), spec_is_strided(s, SLOT_Y),
        spec_is_strided(s, SLOT_W), spec_is_strided(s, SLOT_G), type_constant(s->storage[SLOT_X]),
        type_constant(s->storage[SLOT_Y]), type_constant(s->storage[SLOT_W]),
        type_constant(s->storage[SLOT_G]), type_constant(s->compute), type_constant(s->sum));
    text_printf(out,
                "    .graph = %d, .sorted = %d, .index_size = %d,\n    .paths = %d, "
                ".kernels = %d, .path = %s, "
                ".kernel = kernel_table,\n};\n",
                spec_is_graph(s), s->sorted, s->index64 ? 8 : 4, p->paths, plan->kernels,
                p->paths ? "path_table" : "NULL");
}
