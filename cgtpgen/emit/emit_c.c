/* emit_c.c - the portable C backend: one source file a kernel.
 *
 * A file holds, in this order: banner, product functions (emit_c_product.c), for each pass the work of one
 * item (emit_c_item.c) and the loop over items (emit_c_pass.c), then the workspace and the launcher. Rows of
 * outputs are summed in component order in place and brought to mul_ir order when their owner is done with
 * them.
 */
#include "emit/emit_c_kernel.h"

#include <string.h>

const struct irreps *irreps_of(const struct plan *plan, enum slot s)
{
    const struct problem *p = plan->problem;
    return s == SLOT_X ? &p->x : s == SLOT_Y ? &p->y : &p->z;
}

int64_t row_dim(const struct kernel_writer *w, enum slot s)
{
    return w->plan->problem->dim[s];
}

bool is_transposed(const struct kernel_writer *w, enum slot s)
{
    return s != SLOT_W && w->plan->transposed[s];
}

const struct form_output *pass_output(const struct kernel_writer *w, int i)
{
    return &w->form->output[w->pass->output[i]];
}

enum index_kind index_of(const struct kernel_writer *w, enum slot s)
{
    return w->spec->index[s];
}

bool is_compensated(const struct kernel_writer *w, enum slot s)
{
    return w->spec->compensated && index_of(w, s) != INDEX_ITEM;
}

const char *owner_word(enum index_kind owner)
{
    static const char *const word[] = {"items", "senders", "receivers", "shared"};
    return word[owner];
}

/* The vector form of input i: its staged copy, or itself where the orders agree. */
const char *vector_name(struct kernel_writer *w, int i)
{
    const char *name = w->form->input[i].name;
    return w->pass->staging[i] == STAGE_NONE ? name : arena_printf(w->arena, "%s_t", name);
}

/* ---- workspace and launcher ---- */

static bool compensates(const struct kernel_writer *w, int output)
{
    return is_compensated(w, w->form->output[output].slot);
}

static bool is_shared(const struct kernel_writer *w, int output)
{
    return index_of(w, w->form->output[output].slot) == INDEX_SHARED;
}

/* Is input i transposed as a whole in some pass? */
static bool stages_all(const struct kernel_writer *w, int i)
{
    for (int p = 0; p < w->kernel->passes; p++)
        if (w->kernel->pass[p].staging[i] == STAGE_ALL)
            return true;
    return false;
}

static void emit_launch_struct(struct kernel_writer *w)
{
    struct text *out = w->out;
    text_printf(out,
                "/* A launch: the caller's arrays and the parts of the workspace. */\nstruct launch {\n");
    if (w->graph)
        text_printf(out, "    const %s *graph;\n", w->spec->index64 ? "cgtp_graph64" : "cgtp_graph");
    else
        text_printf(out, "    int64_t items;\n");
    for (int i = 0; i < w->form->inputs; i++) {
        text_printf(out, "    const real *%s;\n", w->form->input[i].name);
        if (stages_all(w, i))
            text_printf(out, "    real *%s_t; /* all its rows in component order */\n",
                        w->form->input[i].name);
    }
    for (int o = 0; o < w->form->outputs; o++) {
        const char *name = w->form->output[o].name;
        text_printf(out, "    real *%s;\n", name);
        if (is_shared(w, o))
            text_printf(out, "    real *%s_parts; /* a partial sum for each part of the items */\n", name);
        if (compensates(w, o))
            text_printf(out, "    real *%s_error; /* rounding errors of its sums */\n", name);
    }
    text_printf(out, "    real *scratch; /* SCRATCH elements a part */\n};\n\n");
}

static void emit_area(struct kernel_writer *w, const char *field, const char *count, int64_t dim)
{
    text_printf(
        w->out,
        "    if (l)\n        l->%s = (real *)(base + at);\n    at += cgtp_bytes(%s * (int64_t)%lld);\n",
        field, count, (long long)dim);
}

static void emit_workspace(struct kernel_writer *w)
{
    struct text *out = w->out;
    bool shared = false, reads = false;
    text_printf(
        out,
        "/* Lays out the workspace for `parts` parts; returns its bytes. With l, sets l's pointers into it. "
        "*/\n"
        "static size_t lay_out(const struct launch *given, int64_t parts, struct launch *l, char *base)\n{\n"
        "    size_t at = 0;\n");
    for (int i = 0; i < w->form->inputs; i++)
        reads |= stages_all(w, i);
    for (int o = 0; o < w->form->outputs; o++)
        reads |= compensates(w, o) && !is_shared(w, o);
    if (reads && w->graph)
        text_printf(out, "    const %s *const graph = given->graph;\n",
                    w->spec->index64 ? "cgtp_graph64" : "cgtp_graph");
    else
        text_printf(out, "    (void)given;\n");
    for (int i = 0; i < w->form->inputs; i++)
        if (stages_all(w, i)) {
            enum slot s = w->form->input[i].slot;
            emit_area(w, arena_printf(w->arena, "%s_t", w->form->input[i].name),
                      emit_rows(w->plan, index_of(w, s)), row_dim(w, s));
        }
    for (int o = 0; o < w->form->outputs; o++) {
        enum slot s = w->form->output[o].slot;
        const char *name = w->form->output[o].name,
                   *count = is_shared(w, o) ? "CGTP_SHARED_PARTS" : emit_rows(w->plan, index_of(w, s));
        shared |= is_shared(w, o);
        if (is_shared(w, o))
            emit_area(w, arena_printf(w->arena, "%s_parts", name), count, row_dim(w, s));
        if (compensates(w, o))
            emit_area(w, arena_printf(w->arena, "%s_error", name), count, row_dim(w, s));
    }
    if (shared)
        text_printf(out, "    if (parts < CGTP_SHARED_PARTS)\n        parts = CGTP_SHARED_PARTS;\n");
    text_printf(out, "    if (l)\n        l->scratch = (real *)(base + at);\n"
                     "    return at + (size_t)parts * SCRATCH * sizeof(real);\n}\n\n");
    emit_workspace_prototype(out, w->plan, w->kernel);
    if (w->graph)
        text_printf(out, "\n{\n    struct launch l = {.graph = graph};\n    return graph ? lay_out(&l, "
                         "cgtp_threads(), NULL, NULL) : 0;\n}\n\n");
    else
        text_printf(out, "\n{\n    struct launch l = {.items = items};\n    return lay_out(&l, "
                         "cgtp_threads(), NULL, NULL);\n}\n\n");
}

static void emit_launch_pass(struct kernel_writer *w, const struct pass *pass)
{
    struct text *out = w->out;
    const char *n = emit_rows(w->plan, pass->owner), *word = owner_word(pass->owner);
    w->pass = pass;
    if (pass->owner == INDEX_SHARED) {
        const char *items = emit_rows(w->plan, INDEX_ITEM);
        text_printf(out,
                    "    CGTP_PARALLEL\n    for (int64_t part = 0; part < CGTP_SHARED_PARTS; part++)\n"
                    "        pass_shared(&l, cgtp_part(%s, part, CGTP_SHARED_PARTS),\n"
                    "                    cgtp_part(%s, part + 1, CGTP_SHARED_PARTS), part, l.scratch + part "
                    "* SCRATCH);\n",
                    items, items);
        for (int o = 0; o < pass->outputs; o++) {
            const struct form_output *f = pass_output(w, o);
            long long d = row_dim(w, f->slot);
            if (index_of(w, f->slot) != INDEX_SHARED)
                continue;
            text_printf(out, "    cgtp_zero(%lld, %s);\n", d, f->name);
            if (is_compensated(w, f->slot)) { /* part 0's errors become those of the whole sum */
                text_printf(out,
                            "    for (int64_t part = 1; part < CGTP_SHARED_PARTS; part++)\n"
                            "        cgtp_add(%lld, l.%s_error + part * %lld, l.%s_error);\n"
                            "    for (int64_t part = 0; part < CGTP_SHARED_PARTS; part++)\n"
                            "        cgtp_add_compensated(%lld, l.%s_parts + part * %lld, %s, l.%s_error);\n"
                            "    cgtp_add(%lld, l.%s_error, %s);\n",
                            d, f->name, d, f->name, d, f->name, d, f->name, f->name, d, f->name, f->name);
            } else {
                text_printf(out,
                            "    for (int64_t part = 0; part < CGTP_SHARED_PARTS; part++)\n"
                            "        cgtp_add(%lld, l.%s_parts + part * %lld, %s);\n",
                            d, f->name, d, f->name);
            }
            if (is_transposed(w, f->slot))
                text_printf(out, "    cgtp_row_from_components(%d, segments_%s, %s, l.scratch);\n",
                            irreps_of(w->plan, f->slot)->n, slot_name[f->slot], f->name);
        }
        return;
    }
    bool by_edges = pass->owner == INDEX_RECEIVER && w->spec->sorted;
    const char *part = by_edges ? "cgtp_part_by_edges(graph->receiver_row, " : "cgtp_part(";
    text_printf(out,
                "    CGTP_PARALLEL\n    for (int64_t part = 0; part < parts; part++)\n"
                "        pass_%s(&l, %s%s, part, parts), %s%s, part + 1, parts),\n"
                "        %*s l.scratch + part * SCRATCH);\n",
                word, part, n, part, n, (int)strlen(word) + 5, "");
}

static void emit_launcher(struct kernel_writer *w)
{
    struct text *out = w->out;
    emit_prototype(out, w->plan, w->kernel);
    text_printf(out, "\n{\n");
    bool row = false;
    for (int p = 0; p < w->kernel->passes; p++)
        row |= w->kernel->pass[p].owner == INDEX_RECEIVER && w->spec->sorted;
    emit_checks(out, w->plan, w->kernel, row, false);
    text_printf(out, "    struct launch l = {.%s", w->graph ? "graph = graph" : "items = items");
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const char *name =
            i < w->form->inputs ? w->form->input[i].name : w->form->output[i - w->form->inputs].name;
        text_printf(out, ", .%s = %s", name, name);
    }
    text_printf(
        out, "};\n"
             "    if ((uintptr_t)workspace %% 16)\n        return CGTP_MISALIGNED;\n"
             "    if (!workspace || workspace_bytes < lay_out(&l, 1, NULL, NULL))\n        return "
             "CGTP_WORKSPACE;\n"
             "    int64_t parts = cgtp_threads(); /* fewer where the workspace was sized for fewer */\n"
             "    while (parts > 1 && workspace_bytes < lay_out(&l, parts, NULL, NULL))\n        parts--;\n"
             "    lay_out(&l, parts, &l, workspace);\n"
             "    (void)stream;\n");
    for (int i = 0; i < w->form->inputs; i++)
        if (stages_all(w, i)) {
            enum slot s = w->form->input[i].slot;
            const char *name = w->form->input[i].name, *n = emit_rows(w->plan, index_of(w, s));
            text_printf(
                out,
                "    CGTP_PARALLEL\n    for (int64_t part = 0; part < parts; part++)\n"
                "        for (int64_t r = cgtp_part(%s, part, parts); r < cgtp_part(%s, part + 1, parts); "
                "r++)\n"
                "            cgtp_row_to_components(%d, segments_%s, %s + r * %lld, l.%s_t + r * %lld);\n",
                n, n, irreps_of(w->plan, s)->n, slot_name[s], name, (long long)row_dim(w, s), name,
                (long long)row_dim(w, s));
        }
    for (int p = 0; p < w->kernel->passes; p++)
        emit_launch_pass(w, &w->kernel->pass[p]);
    text_printf(out, "    return CGTP_OK;\n}\n");
}

/* The segments of the slots whose rows are transposed. */
static void emit_segments(struct kernel_writer *w)
{
    for (int s = 0; s < SLOT_COUNT; s++) {
        bool used = false;
        for (int p = 0; p < w->kernel->passes && is_transposed(w, (enum slot)s); p++) {
            for (int i = 0; i < w->form->inputs; i++)
                used |= (int)w->form->input[i].slot == s && w->kernel->pass[p].staging[i] != STAGE_NONE;
            for (int o = 0; o < w->form->outputs; o++)
                used |= (int)w->form->output[o].slot == s;
        }
        if (!used)
            continue;
        const struct irreps *r = irreps_of(w->plan, (enum slot)s);
        text_printf(w->out,
                    "/* Segments of a row of %s: offset, channels, components. */\n"
                    "static const struct cgtp_segment segments_%s[] = {\n   ",
                    slot_name[s], slot_name[s]);
        for (int i = 0; i < r->n; i++)
            text_printf(w->out, "%s{%lld, %d, %d},", i && i % 5 == 0 ? "\n    " : " ",
                        (long long)r->segment[i].offset, r->segment[i].mul, 2 * r->segment[i].ir.l + 1);
        text_printf(w->out, "\n};\n\n");
    }
}

static struct output_file kernel_file(struct arena *a, const struct plan *plan,
                                      const struct kernel_plan *kernel)
{
    const struct spec *spec = plan->problem->spec;
    struct text out = {.arena = a}, body = {.arena = a};
    struct kernel_writer w = {.arena = a,
                              .out = &body,
                              .plan = plan,
                              .kernel = kernel,
                              .form = kernel->form,
                              .spec = spec,
                              .graph = spec_is_graph(spec),
                              .functions = {.arena = a}};
    for (int p = 0; p < kernel->passes; p++) {
        w.pass = &kernel->pass[p];
        emit_c_pass(&w);
    }
    w.out = &out;
    emit_banner(&out, plan, arena_printf(a, "%s, portable C", kernel->form->name));
    text_printf(&out, "#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_c.h\"\n\n", spec->name,
                emit_real(plan));
    if (w.scratch == 0)
        w.scratch = 16;
    text_printf(&out,
                "enum { SCRATCH = %lld }; /* elements of scratch that one part of the work needs */\n\n",
                (long long)w.scratch);
    emit_segments(&w);
    emit_launch_struct(&w);
    struct text products = {.arena = a};
    struct constants constants = {.arena = a};
    for (int i = 0; i < w.functions.n; i++)
        emit_c_product(&products, plan, &constants, &w.functions.function[i]);
    emit_constants(&out, &constants, plan, "static const");
    text_put(&out, text_string(&products), products.n);
    text_put(&out, text_string(&body), body.n);
    emit_workspace(&w);
    emit_launcher(&w);
    return (struct output_file){arena_printf(a, "%s_%s.c", spec->name, kernel->form->name), text_string(&out),
                                out.n};
}

int emit_c(struct arena *a, const struct plan *plan, unsigned what, struct output_file **files)
{
    const char *name = plan->problem->spec->name;
    struct output_file *file = NEW_ARRAY(a, struct output_file, plan->kernels + 3);
    int n = 0;
    if (what & EMIT_HEADER) {
        struct text out = {.arena = a};
        emit_header(&out, plan);
        file[n++] = (struct output_file){arena_printf(a, "%s.h", name), text_string(&out), out.n};
    }
    if (what & EMIT_SOURCE) {
        struct text out = {.arena = a};
        emit_descriptor(&out, plan, "c");
        file[n++] = (struct output_file){arena_printf(a, "%s.c", name), text_string(&out), out.n};
        for (int k = 0; k < plan->kernels; k++)
            file[n++] = kernel_file(a, plan, &plan->kernel[k]);
    }
    if (what & EMIT_SELFTEST)
        file[n++] = emit_selftest(a, plan);
    *files = file;
    return n;
}
