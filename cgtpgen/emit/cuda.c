/* cuda.c - the CUDA backend: one source file per kernel.
 *
 * A file holds, in this order: banner with the plan, the arrays of a launch, the device code of each
 * schedule, then the workspace and the launcher. It contains neither inline assembly nor launch syntax: those
 * are in runtime/cgtp_cuda.h.
 */
#include "emit/backend.h"
#include "emit/emit.h"
#include "schedule/evaluations.h"
#include "schedule/print.h"

#include <string.h>

static void emit_launch_struct(struct source *w)
{
    const char *index = w->spec->index64 ? "int64_t" : "int32_t";
    if (w->graph)
        text_printf(w->out,
                    "/* The caller's graph: arrays of the device. */\nstruct graph_arrays {\n"
                    "    int64_t items, senders, receivers;\n"
                    "    const %s *sender, *receiver;\n    const int64_t *receiver_row;\n"
                    "    const %s *by_sender;\n    const int64_t *sender_row;\n};\n\n",
                    index, index);
    text_printf(
        w->out,
        "/* A launch: the caller's arrays and the parts of the workspace. */\nstruct launch {\n    %s;\n",
        w->graph ? "graph_arrays graph" : "int64_t items");
    emit_launch_fields(w);
    text_printf(w->out, "};\n\n");
}

static void emit_workspace(struct source *w)
{
    const char *items = w->graph ? "graph" : "items";
    text_printf(w->out,
                "/* Lays out the workspace; returns its bytes. With l, sets l's pointers into it. */\n"
                "static size_t lay_out(%s, launch *l, char *base)\n{\n",
                emit_items_parameter(w->plan));
    if (!emit_sized(w))
        text_printf(w->out, "    (void)%s;\n", items);
    emit_lay_out(w);
    text_printf(w->out, "}\n\nextern \"C\" ");
    emit_workspace_prototype(w->out, w->plan, w->form);
    text_printf(w->out,
                "\n{\n    const size_t bytes = %s ? lay_out(%s, NULL, NULL) : 0;\n"
                "    return bytes ? bytes : 16;\n}\n\n",
                w->graph ? "graph" : "items >= 0", items);
}

static void emit_launcher(struct source *w)
{
    const char *items = w->graph ? "graph" : "items";
    text_printf(w->out, "extern \"C\" ");
    emit_prototype(w->out, w->plan, w->form);
    text_printf(w->out, "\n{\n");
    emit_checks(w->out, w->plan, w->kernel);
    text_printf(
        w->out,
        "    if ((uintptr_t)workspace %% 16)\n        return CGTP_MISALIGNED;\n"
        "    if (!workspace || workspace_bytes < lay_out(%s, NULL, NULL))\n        return CGTP_WORKSPACE;\n"
        "    launch l = {};\n",
        items);
    if (w->graph)
        text_printf(w->out, "    l.graph = {graph->items, graph->senders, graph->receivers, graph->sender, "
                            "graph->receiver,\n               graph->receiver_row, graph->by_sender, "
                            "graph->sender_row};\n");
    else
        text_printf(w->out, "    l.items = items;\n");
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const char *name =
            i < w->form->inputs ? w->form->input[i].name : w->form->output[i - w->form->inputs].name;
        text_printf(w->out, "    l.%s = %s;\n", name, name);
    }
    text_printf(w->out, "    lay_out(%s, &l, (char *)workspace);\n", items);
    emit_launches(w);
    text_printf(w->out, "    return CGTP_OK;\n}\n");
}

/* The plan of the kernel, as lines of a comment. */
static void emit_plan(struct source *w)
{
    struct text table = {.arena = w->arena};
    kernel_schedule_print(&table, w->kernel);
    text_printf(w->out, "/* Plan for %s:\n", w->kernel->schedule[0].target->device->name);
    for (const char *line = text_string(&table); *line;) {
        size_t n = strcspn(line, "\n");
        text_printf(w->out, " *   %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    text_printf(w->out, " */\n");
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
    text_printf(
        out, "#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_cuda.h\"\n#include \"cgtp_gpu.h\"\n\n",
        spec->name, source_real(plan));
    emit_launch_struct(&w);
    emit_schedules(&w, "constexpr");
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
