/* emit_cuda.c - the CUDA backend: one source file a kernel of the spec.
 *
 * A file holds, in this order: banner with the plan, the arrays of a launch, for each pass its device code
 * (emit_cuda_conv.c, emit_cuda_general.c), then the workspace and the launcher. It contains neither inline
 * assembly nor launch syntax: those are in runtime/cgtp_cuda.h.
 */
#include "emit/emit_cuda.h"
#include "util/out.h"

#include <string.h>

const char *cuda_owner(const struct gpu_pass *g)
{
    return g->name;
}

const char *cuda_plus(struct cuda_writer *w, const char *name, int64_t offset)
{
    return offset ? arena_printf(w->arena, "%s + %lld", name, (long long)offset) : name;
}

static enum index_kind index_of(const struct cuda_writer *w, enum slot s)
{
    return w->spec->index[s];
}

static long long dim(const struct cuda_writer *w, enum slot s)
{
    return (long long)w->problem->dim[s];
}

/* ---- the arrays of a launch ---- */

/* Areas of the workspace that the passes need: name, rows as a C expression, elements of a row. */
struct area {
    const char *type, *name, *count;
    long long each;
};

static struct area *areas(struct cuda_writer *w, int *count)
{
    int n = 0;
    struct area *area = NEW_ARRAY(w->arena, struct area, w->kernel->passes * (2 * w->form->outputs + 4) + 1);
    for (int p = 0; p < w->kernel->passes; p++) {
        const struct gpu_pass *g = &w->kernel->pass[p];
        const char *owner = cuda_owner(g);
        if (g->evaluation == GPU_GENERAL) {
            if (g->pass->owner == INDEX_SHARED)
                for (int o = 0; o < g->pass->outputs; o++) {
                    const struct form_output *f = &w->form->output[g->pass->output[o]];
                    if (index_of(w, f->slot) == INDEX_SHARED)
                        area[n++] = (struct area){"real", arena_printf(w->arena, "%s_parts", f->name),
                                                  "CGTP_GENERAL_WARPS", dim(w, f->slot)};
                }
            for (int o = 0; o < g->pass->outputs; o++) {
                const struct form_output *f = &w->form->output[g->pass->output[o]];
                enum index_kind index = index_of(w, f->slot);
                if (w->spec->compensated && index != INDEX_ITEM)
                    area[n++] = (struct area){"real", arena_printf(w->arena, "%s_error", f->name),
                                              index == INDEX_SHARED ? "CGTP_GENERAL_WARPS"
                                                                    : emit_rows(w->gpu->plan, index),
                                              dim(w, f->slot)};
            }
            if (g->scratch)
                area[n++] = (struct area){"real", arena_printf(w->arena, "scratch_%s", owner),
                                          "CGTP_GENERAL_WARPS", g->scratch};
            continue;
        }
        area[n++] =
            (struct area){"unsigned", arena_printf(w->arena, "counters_%s", owner), conv_counters(w, g), 1};
        if (g->g_outputs) {
            int longest = 0;
            for (int s = 0; s < g->segments; s++)
                longest = longest > g->segment[s].g_length ? longest : g->segment[s].g_length;
            const char *rows = conv_partial_rows(w, g);
            area[n++] = (struct area){"unsigned", arena_printf(w->arena, "flag_%s", owner), rows, 1};
            area[n++] =
                (struct area){"real", arena_printf(w->arena, "partial_%s", owner), rows, 32LL * longest};
        }
        for (int o = 0; o < g->pass->outputs; o++) {
            const struct form_output *f = &w->form->output[g->pass->output[o]];
            if (f->slot == SLOT_X && g->edge_buffer)
                area[n++] = (struct area){"real", arena_printf(w->arena, "%s_edges", f->name),
                                          emit_rows(w->gpu->plan, INDEX_ITEM), g->edge_row};
            if (f->slot == SLOT_Y && g->part_buffer)
                area[n++] = (struct area){"real", arena_printf(w->arena, "%s_parts", f->name),
                                          emit_rows(w->gpu->plan, INDEX_ITEM), g->parts * dim(w, f->slot)};
        }
    }
    *count = n;
    return area;
}

/* ", *b": the names of inputs or outputs. */
static const char *pointers(const struct cuda_writer *w, bool outputs)
{
    struct text list = {.arena = w->arena};
    int n = outputs ? w->form->outputs : w->form->inputs;
    for (int i = 0; i < n; i++)
        text_printf(&list, "%s*%s", i ? ", " : "",
                    outputs ? w->form->output[i].name : w->form->input[i].name);
    return text_string(&list);
}

static void emit_launch_struct(struct cuda_writer *w)
{
    struct out out = {.text = w->out}, *o = &out;
    int n;
    const struct area *area = areas(w, &n);
    line(o, "/* A launch: the caller's arrays and the areas of the workspace. */");
    line(o, "struct launch {");
    if (w->graph)
        line(o, "cgtp_graph_arrays<%s> graph;", w->spec->index64 ? "int64_t" : "int32_t");
    else
        line(o, "int64_t items;");
    line(o, "const real %s;", pointers(w, false));
    line(o, "real %s;", pointers(w, true));
    for (int i = 0; i < n; i++)
        line(o, "%s *%s = NULL;", area[i].type, area[i].name);
    line(o, "};");
    blank(o);
}

/* ---- workspace and launcher ---- */

static void emit_workspace(struct cuda_writer *w)
{
    struct out out = {.text = w->out}, *o = &out;
    int n;
    const struct area *area = areas(w, &n);
    const char *graph = w->spec->index64 ? "const cgtp_graph64 *" : "const cgtp_graph *";
    bool sized = false;
    for (int i = 0; i < n; i++)
        sized |= strstr(area[i].count, "graph->") || strcmp(area[i].count, "items") == 0;
    line(o, "/* Lays out the workspace from `base` on, for which NULL may stand; returns its bytes. */");
    line(o, "static size_t lay_out(%s%s, launch &%s, void *base)", w->graph ? graph : "int64_t ",
         !sized     ? ""
         : w->graph ? "graph"
                    : "items",
         n ? "l" : "");
    line(o, "{");
    line(o, "cgtp_workspace space(base);");
    for (int i = 0; i < n; i++) {
        line(o, "l.%s = space.area<%s>(%s%s);", area[i].name, area[i].type, area[i].count,
             area[i].each > 1 ? arena_printf(w->arena, ", %lld", area[i].each) : "");
    }
    line(o, "return space.bytes();");
    line(o, "}");
    blank(o);
    text_printf(w->out, "} // namespace\n");
    blank(o);
    text_printf(w->out, "extern \"C\" ");
    emit_workspace_prototype(w->out, w->gpu->plan, w->kernel->kernel);
    text_printf(w->out, "\n");
    line(o, "{");
    line(o, "launch l;");
    line(o, w->graph ? "return graph ? lay_out(graph, l, NULL) : 0;"
                     : "return items >= 0 ? lay_out(items, l, NULL) : 0;");
    line(o, "}");
    blank(o);
}

/* Checks of the graph and the arrays. */
static void emit_cuda_checks(struct cuda_writer *w, bool receiver_row, bool by_sender)
{
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    if (w->graph) {
        const bool needed[] = {emit_uses(w->spec, w->form, INDEX_SENDER),
                               emit_uses(w->spec, w->form, INDEX_RECEIVER), receiver_row, by_sender};
        static const char *const word[] = {"CGTP_NEEDS_SENDER", "CGTP_NEEDS_RECEIVER",
                                           "CGTP_NEEDS_RECEIVER_ROW", "CGTP_NEEDS_BY_SENDER"};
        struct text list = {.arena = w->arena};
        for (int i = 0; i < 4; i++)
            if (needed[i])
                text_printf(&list, "%s%s", list.n ? " | " : "", word[i]);
        line(o, "cgtp_status status = cgtp_check_graph(graph, %s);", list.n ? list.s : "0");
        line(o, "if (status)");
        line(o, "return status;");
    } else {
        line(o, "cgtp_status status;");
        line(o, "if (items < 0)");
        line(o, "return CGTP_BAD_SIZE;");
    }
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        bool input = i < w->form->inputs;
        enum slot slot = input ? w->form->input[i].slot : w->form->output[i - w->form->inputs].slot;
        text_printf(&list, "%s{%s, %s, %lld}", i ? ", " : "",
                    input ? w->form->input[i].name : w->form->output[i - w->form->inputs].name,
                    emit_rows(w->gpu->plan, index_of(w, slot)), dim(w, slot));
    }
    line(o, "const cgtp_array arrays[] = {%s};", text_string(&list));
    line(o, "if ((status = cgtp_check_arrays(arrays)))");
    line(o, "return status;");
}

static void emit_launcher(struct cuda_writer *w)
{
    struct text *out = w->out;
    text_printf(out, "extern \"C\" ");
    emit_prototype(out, w->gpu->plan, w->kernel->kernel);
    text_printf(out, "\n{\n");
    bool row = false, by_sender = false;
    for (int p = 0; p < w->kernel->passes && w->spec->sorted; p++) {
        const struct gpu_pass *g = &w->kernel->pass[p];
        row |= g->evaluation == GPU_CONVOLUTION || g->pass->owner == INDEX_RECEIVER;
        by_sender |= g->edge_buffer || (g->evaluation == GPU_GENERAL && g->pass->owner == INDEX_SENDER);
    }
    emit_cuda_checks(w, row, by_sender);
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++)
        text_printf(&list, ", %s",
                    i < w->form->inputs ? w->form->input[i].name : w->form->output[i - w->form->inputs].name);
    struct out writer = {.text = out, .depth = 1}, *o = &writer;
    line(o, "launch l = {%s%s};", w->graph ? "*graph" : "items", text_string(&list));
    line(o, "if ((uintptr_t)workspace %% 16)");
    line(o, "return CGTP_MISALIGNED;");
    line(o, "if (!workspace || workspace_bytes < lay_out(%s, l, workspace))", w->graph ? "graph" : "items");
    line(o, "return CGTP_WORKSPACE;");
    for (int p = 0; p < w->kernel->passes; p++) {
        w->pass = &w->kernel->pass[p];
        if (w->pass->evaluation == GPU_CONVOLUTION)
            emit_cuda_conv_launch(w);
        else
            emit_cuda_general_launch(w);
    }
    text_printf(out, "    return CGTP_OK;\n}\n");
}

/* The headers of the evaluations that the kernel has. */
static void emit_includes(struct cuda_writer *w)
{
    static const char *const header[] = {
        [GPU_CONVOLUTION] = "cgtp_convolution.h", [GPU_GENERAL] = "cgtp_general.h"};
    bool has[] = {false, false};
    for (int p = 0; p < w->kernel->passes; p++)
        has[w->kernel->pass[p].evaluation] = true;
    for (int e = 0; e < 2; e++)
        if (has[e])
            text_printf(w->out, "#include \"%s\"\n", header[e]);
    text_printf(w->out,
                "#include \"cgtp_launch.h\"\n\n"
                "static_assert(CGTP_DEVICE_ABI == 2, \"made for other headers of the runtime\");\n"
                "static_assert(CGTP_LANES == 32, \"made for warps of 32 lanes\");\n\nnamespace\n{\n\n");
}

static struct output_file kernel_file(struct arena *a, const struct gpu_plan *gpu,
                                      const struct gpu_kernel *kernel)
{
    const struct plan *plan = gpu->plan;
    const struct spec *spec = plan->problem->spec;
    struct text out = {.arena = a}, table = {.arena = a};
    struct cuda_writer w = {.arena = a,
                            .out = &out,
                            .gpu = gpu,
                            .problem = plan->problem,
                            .spec = spec,
                            .kernel = kernel,
                            .form = kernel->kernel->form,
                            .graph = spec_is_graph(spec)};
    emit_banner(&out, plan, arena_printf(a, "%s, CUDA", w.form->name));
    const struct kernel_plan *k = kernel->kernel;
    text_printf(&table, "%.0f flops and at least %.0f bytes per item (%.1f flops per byte)", k->flops,
                k->bytes_least, k->bytes_least > 0 ? k->flops / k->bytes_least : 0);
    for (int i = 0; i < INDEX_COUNT; i++)
        if (k->bytes_row[i] > 0)
            text_printf(&table, ", %.0f per row of %s", k->bytes_row[i], index_name[i]);
    text_printf(
        &table,
        ";\nfloor: the longer of these bytes at the device's bandwidth and these flops at its peak\n");
    plan_cuda_print_kernel(&table, plan, kernel);
    text_printf(&out, "/* Cost, and the plan for %s:\n", gpu->arch);
    for (const char *at = text_string(&table); *at;) {
        size_t n = strcspn(at, "\n"), indent = strspn(at, " "), more = n;
        for (size_t most = 100; n > most && (more > most || at[more] != ' ');)
            more = more > most ? most : more - 1;
        text_printf(&out, " *   %.*s\n", (int)more, at);
        if (more < n)
            text_printf(&out, " *   %*s    %.*s\n", (int)indent, "", (int)(n - more - 1), at + more + 1);
        at += n + (at[n] == '\n');
    }
    text_printf(&out, " */\n#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_cuda.h\"\n", spec->name,
                emit_real(plan));
    emit_includes(&w);
    emit_launch_struct(&w);
    for (int p = 0; p < kernel->passes; p++) {
        w.pass = &kernel->pass[p];
        if (w.pass->evaluation == GPU_CONVOLUTION)
            emit_cuda_conv(&w);
        else
            emit_cuda_general(&w);
    }
    emit_workspace(&w);
    emit_launcher(&w);
    return (struct output_file){arena_printf(a, "%s_%s.cu", spec->name, w.form->name), text_string(&out),
                                out.n};
}

int emit_cuda(struct arena *a, const struct gpu_plan *gpu, unsigned what, struct output_file **files)
{
    const struct plan *plan = gpu->plan;
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
        emit_descriptor(&out, plan, "cuda");
        file[n++] = (struct output_file){arena_printf(a, "%s.c", name), text_string(&out), out.n};
        for (int k = 0; k < plan->kernels; k++)
            file[n++] = kernel_file(a, gpu, &gpu->kernel[k]);
    }
    if (what & EMIT_SELFTEST)
        file[n++] = emit_selftest(a, plan);
    *files = file;
    return n;
}
