/* cuda.c - the CUDA backend: one source file per kernel.
 *
 * A file holds, in this order: banner with the plan, the arrays of a launch, the device code of each
 * schedule, then the workspace and the launcher. The device code is in a namespace of its own: a kernel may
 * have the name of another product's function, which the header declares. It contains neither inline assembly
 * nor launch syntax: those are in runtime/cgtp_cuda.h.
 */
#include "emit/backend.h"
#include "emit/emit.h"
#include "schedule/evaluations.h"
#include "schedule/print.h"
#include "util/out.h"

#include <string.h>

/* "*x, *y": the names of inputs or outputs. */
static const char *pointers(const struct source *w, bool outputs)
{
    struct text list = {.arena = w->arena};
    int n = outputs ? w->form->outputs : w->form->inputs;
    for (int i = 0; i < n; i++)
        text_printf(&list, "%s*%s", i ? ", " : "",
                    outputs ? w->form->output[i].symbol : w->form->input[i].symbol);
    return text_string(&list);
}

static void emit_launch_struct(struct source *w)
{
    struct out out = {.text = w->out}, *o = &out;
    const struct areas all = emit_areas(w);
    line(o, "/* A launch: the caller's arrays and the areas of the workspace. */");
    line(o, "struct launch {");
    if (w->graph)
        line(o, "cgtp_graph_arrays<%s> graph;", w->spec->index64 ? "int64_t" : "int32_t");
    else
        line(o, "int64_t items;");
    if (w->form->inputs)
        line(o, "const real %s;", pointers(w, false));
    line(o, "real %s;", pointers(w, true));
    for (int i = 0; i < all.n; i++)
        line(o, "%s *%s = NULL;", all.area[i].type, all.area[i].name);
    line(o, "};");
    blank(o);
}

static void emit_workspace(struct source *w)
{
    struct out out = {.text = w->out}, *o = &out;
    const char *items = w->graph ? "graph" : "items";
    const struct areas all = emit_areas(w);
    bool sized = emit_sized(w);
    line(o, "/* Lays out the workspace from `base` on, for which NULL may stand; returns its bytes. */");
    line(o, "static size_t layout(%s%s%s, launch &%s, void *base)",
         !w->graph          ? "int64_t"
         : w->spec->index64 ? "const cgtp_graph64 *"
                            : "const cgtp_graph *",
         sized && !w->graph ? " " : "", sized ? items : "", all.n ? "l" : "");
    line(o, "{");
    line(o, "cgtp_workspace space(base);");
    for (int i = 0; i < all.n; i++) {
        const struct area *q = &all.area[i];
        line(o, "l.%s = space.area<%s>(%s%s);", q->name, q->type,
             q->count ? q->count : source_rows(w->plan, q->rows),
             q->each > 1 ? arena_printf(w->arena, ", %lld", (long long)q->each) : "");
    }
    line(o, "return space.bytes();");
    line(o, "}");
    blank(o);
    text_printf(w->out, "} // namespace\n\nextern \"C\" ");
    emit_workspace_prototype(w->out, w->plan, w->form);
    text_printf(w->out, "\n");
    line(o, "{");
    line(o, "return cgtp_workspace_bytes(%s, layout);", items);
    line(o, "}");
    blank(o);
}

/* Checks of the graph and the arrays. */
static void emit_cuda_checks(struct source *w)
{
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    struct text needs = {.arena = w->arena}, arrays = {.arena = w->arena};
    if (w->graph) {
        bool needed[] = {emit_uses(w->spec, w->form, INDEX_SENDER),
                         emit_uses(w->spec, w->form, INDEX_RECEIVER), false, false};
        static const char *const word[] = {"CGTP_NEEDS_SENDER", "CGTP_NEEDS_RECEIVER",
                                           "CGTP_NEEDS_RECEIVER_ROW", "CGTP_NEEDS_BY_SENDER"};
        for (int s = 0; s < w->kernel->schedules; s++)
            w->kernel->schedule[s].evaluation->reads_graph(&w->kernel->schedule[s], &needed[2], &needed[3]);
        for (int i = 0; i < 4; i++)
            if (needed[i])
                text_printf(&needs, "%s%s", needs.n ? " | " : "", word[i]);
        line(o, "cgtp_status status = cgtp_check_graph(graph, %s);", needs.n ? needs.s : "0");
        line(o, "if (status)");
        line(o, "return status;");
    } else {
        line(o, "cgtp_status status;");
        line(o, "if (items < 0)");
        line(o, "return CGTP_BAD_SIZE;");
    }
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const struct operand *q = &w->kernel->kernel->operand[i];
        text_printf(&arrays, "%s{%s, %s, %lld}", i ? ", " : "", q->symbol, source_rows(w->plan, q->index),
                    source_dim(q));
    }
    line(o, "const cgtp_array arrays[] = {%s};", text_string(&arrays));
    line(o, "if ((status = cgtp_check_arrays(arrays)))");
    line(o, "return status;");
}

static void emit_launcher(struct source *w)
{
    const char *items = w->graph ? "graph" : "items";
    emit_prototype(w->out, w->plan, w->form, "extern \"C\" ");
    text_printf(w->out, "\n{\n");
    emit_cuda_checks(w);
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++)
        text_printf(&list, ", %s",
                    i < w->form->inputs ? w->form->input[i].symbol
                                        : w->form->output[i - w->form->inputs].symbol);
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    line(o, "if (!%s)", w->graph ? "graph->items" : "items");
    line(o, "return cgtp_clear_outputs<%d>(arrays, stream);", w->form->inputs);
    line(o, "launch l = {%s%s};", w->graph ? "*graph" : "items", text_string(&list));
    line(o, "if ((status = cgtp_check_workspace(workspace, workspace_bytes, layout(%s, l, workspace))))",
         items);
    line(o, "return status;");
    emit_launches(w);
    text_printf(w->out, "    return CGTP_OK;\n}\n");
}

/* Cost and plan of the kernel, as a comment. */
static void emit_plan(struct source *w)
{
    struct text table = {.arena = w->arena};
    const struct kernel_plan *k = w->kernel->kernel;
    text_printf(&table, "%.0f flops and at least %.0f bytes per item (%.1f flops per byte)",
                operations_flops(w->kernel->operations), k->bytes_least,
                k->bytes_least > 0 ? operations_flops(w->kernel->operations) / k->bytes_least : 0);
    for (int i = 0; i < INDEX_COUNT; i++)
        if (k->bytes_row[i] > 0)
            text_printf(&table, ", %.0f per row of %s", k->bytes_row[i], index_name[i]);
    text_printf(
        &table,
        ";\nfloor: the longer of these bytes at the device's bandwidth and these flops at its peak\n");
    kernel_schedule_print(&table, w->kernel);
    text_printf(w->out, "/* Cost, and the plan for %s:\n", w->kernel->schedule[0].target->device->name);
    for (const char *at = text_string(&table); *at;) {
        size_t n = strcspn(at, "\n"), indent = strspn(at, " "), more = n;
        for (size_t most = 100; n > most && (more > most || at[more] != ' ');)
            more = more > most ? most : more - 1;
        text_printf(w->out, " *   %.*s\n", (int)more, at);
        if (more < n)
            text_printf(w->out, " *   %*s    %.*s\n", (int)indent, "", (int)(n - more - 1), at + more + 1);
        at += n + (at[n] == '\n');
    }
    text_printf(w->out, " */\n");
}

/* The runtime's headers that the kernel's schedules need. */
static void emit_includes(struct source *w)
{
    text_printf(w->out, "#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_cuda.h\"\n", w->spec->name,
                source_real(w->plan));
    for (int s = 0; s < w->kernel->schedules; s++) {
        const char *header = w->kernel->schedule[s].evaluation->header;
        if (source_once(w, header))
            text_printf(w->out, "#include \"%s\"\n", header);
    }
    text_printf(w->out,
                "#include \"cgtp_launch.h\"\n\n"
                "static_assert(CGTP_DEVICE_ABI == 7 && CGTP_LANES == %d, \"made for other headers of the "
                "runtime\");\n\nnamespace\n{\n\n",
                w->kernel->schedule[0].target->device->lanes);
}

static void emit_kernel(struct text *out, const struct schedules *all, const struct kernel_schedule *kernel)
{
    struct arena *a = out->arena;
    const struct plan *plan = all->plan;
    const struct spec *spec = plan->problem->spec;
    const struct kernel_form *form = kernel->kernel->form;
    struct source w = {.arena = a,
                       .out = out,
                       .plan = plan,
                       .problem = plan->problem,
                       .spec = spec,
                       .form = form,
                       .kernel = kernel,
                       .mutation = all->mutation,
                       .graph = spec_is_graph(spec)};
    emit_banner(out, plan, arena_printf(a, "%s, CUDA", form->name));
    emit_plan(&w);
    emit_includes(&w);
    emit_launch_struct(&w);
    text_printf(out, "namespace code\n{\n\n");
    emit_schedules(&w, "constexpr");
    text_printf(out, "} // namespace code\n\n");
    emit_workspace(&w);
    emit_launcher(&w);
}

const struct backend backend_cuda = {
    .name = "cuda",
    .device = "sm_90",
    .suffix = ".cu",
    .evaluations = cuda_evaluations,
    .kernel = emit_kernel,
};
