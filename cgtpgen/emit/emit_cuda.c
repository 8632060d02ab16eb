/* emit_cuda.c - the CUDA backend: one source file a kernel of the spec.
 *
 * A file holds, in this order: banner with the plan, the arrays of a launch, for each pass its device code
 * (emit_cuda_conv.c, emit_cuda_general.c), then the workspace and the launcher. It contains neither inline
 * assembly nor launch syntax: those are in runtime/cgtp_cuda.h.
 */
#include "emit/emit_cuda.h"

#include <string.h>

const char *cuda_owner(const struct gpu_pass *g)
{
    static const char *const word[] = {"items", "senders", "receivers", "shared"}, *const added[] = {
                                                                                       "general_items",
                                                                                       "general_senders",
                                                                                       "general_receivers",
                                                                                       "general_shared"};
    return (g->before ? added : word)[g->pass->owner];
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

/* Places for partial sums of a launch of the convolution, as a C expression (see cgtp_slots). */
static const char *partial_slots(struct cuda_writer *w, const struct gpu_pass *g)
{
    int least = 0; /* blocks that it takes to give each segment's channels a warp */
    for (int s = 0; s < g->segments; s++)
        least += (g->segment[s].groups + g->warps - 1) / g->warps;
    return arena_printf(w->arena, "cgtp_slots(%d, %d, %d)", g->blocks, g->warps, least);
}

static const char *counters(struct cuda_writer *w, const struct gpu_pass *g)
{
    return arena_printf(w->arena, "cgtp_counters(%d, %d, cgtp_multiprocessors())", g->segments,
                        cuda_takers(g));
}

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
            (struct area){"unsigned", arena_printf(w->arena, "counters_%s", owner), counters(w, g), 1};
        if (g->g_outputs) {
            int longest = 0;
            for (int s = 0; s < g->segments; s++)
                longest = longest > g->segment[s].g_length ? longest : g->segment[s].g_length;
            const char *slots = partial_slots(w, g);
            area[n++] = (struct area){"unsigned", arena_printf(w->arena, "flag_%s", owner), slots, 1};
            area[n++] =
                (struct area){"real", arena_printf(w->arena, "partial_%s", owner), slots, 32LL * longest};
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

static void emit_launch_struct(struct cuda_writer *w)
{
    struct text *out = w->out;
    int n;
    const struct area *area = areas(w, &n);
    if (w->graph) {
        const char *index = w->spec->index64 ? "int64_t" : "int32_t";
        text_printf(
            out,
            "/* The caller's graph: arrays of the device. */\nstruct graph_arrays {\n    int64_t items, "
            "senders, receivers;\n"
            "    const %s *sender, *receiver;\n    const int64_t *receiver_row;\n    const %s *by_sender;\n"
            "    const int64_t *sender_row;\n};\n\n",
            index, index);
    }
    text_printf(
        out,
        "/* A launch: the caller's arrays and the parts of the workspace. */\nstruct launch {\n    %s;\n",
        w->graph ? "graph_arrays graph" : "int64_t items");
    for (int i = 0; i < w->form->inputs; i++)
        text_printf(out, "    const real *%s;\n", w->form->input[i].name);
    for (int o = 0; o < w->form->outputs; o++)
        text_printf(out, "    real *%s;\n", w->form->output[o].name);
    for (int i = 0; i < n; i++)
        text_printf(out, "    %s *%s;\n", area[i].type, area[i].name);
    text_printf(out, "};\n\n");
}

/* ---- workspace and launcher ---- */

static void emit_workspace(struct cuda_writer *w)
{
    struct text *out = w->out;
    int n;
    const struct area *area = areas(w, &n);
    const char *graph = w->spec->index64 ? "const cgtp_graph64 *graph" : "const cgtp_graph *graph";
    bool sized = false;
    for (int i = 0; i < n; i++)
        sized |= strstr(area[i].count, "graph->") || strcmp(area[i].count, "items") == 0;
    text_printf(out,
                "/* Lays out the workspace; returns its bytes. With l, sets l's pointers into it. */\n"
                "static size_t lay_out(%s, launch *l, char *base)\n{\n    size_t at = 0;\n",
                w->graph ? graph : "int64_t items");
    if (!sized)
        text_printf(out, "    (void)%s;\n", w->graph ? "graph" : "items");
    if (n == 0)
        text_printf(out, "    (void)l;\n    (void)base;\n");
    for (int i = 0; i < n; i++)
        text_printf(out,
                    "    if (l)\n        l->%s = (%s *)(base + at);\n    at += cgtp_round_up((size_t)(%s) * "
                    "%lld * sizeof(%s));\n",
                    area[i].name, area[i].type, area[i].count, area[i].each, area[i].type);
    text_printf(out, "    return at ? at : 16;\n}\n\n");
    text_printf(out, "extern \"C\" ");
    emit_workspace_prototype(out, w->gpu->plan, w->kernel->kernel);
    text_printf(out, w->graph ? "\n{\n    return graph ? lay_out(graph, NULL, NULL) : 0;\n}\n\n"
                              : "\n{\n    return items >= 0 ? lay_out(items, NULL, NULL) : 0;\n}\n\n");
}

static void emit_step(struct cuda_writer *w, const char *call)
{
    text_printf(w->out, "    if ((status = %s))\n        return status;\n", call);
}

/* Arrays that one launch fills with zeros: C expressions of where and how many bytes. */
struct cleared {
    int n;
    const char **at, **bytes;
};

static void add_cleared(struct cuda_writer *w, struct cleared *c, const char *array, const char *count,
                        long long each, const char *type)
{
    c->at[c->n] = array;
    c->bytes[c->n++] = arena_printf(w->arena, "(size_t)(%s) * %lld * sizeof(%s)", count, each, type);
}

static void emit_clear(struct cuda_writer *w, const struct cleared *c)
{
    if (c->n == 0)
        return;
    text_printf(w->out, "    if ((status = cgtp_clear(cgtp_areas<%d>{{", c->n);
    for (int i = 0; i < c->n; i++)
        text_printf(w->out, "%s%s", i ? ", " : "", c->at[i]);
    text_printf(w->out, "},\n");
    for (int i = 0; i < c->n; i++)
        text_printf(w->out, "%*s%s%s\n", 44, i ? "" : "{", c->bytes[i], i + 1 < c->n ? "," : "}},");
    text_printf(w->out, "                             stream)))\n        return status;\n");
}

static void launch_convolution(struct cuda_writer *w)
{
    struct text *out = w->out;
    const struct gpu_pass *g = w->pass;
    const char *owner = cuda_owner(g);
    int most = w->form->outputs + 2;
    struct cleared clear = {0, NEW_ARRAY(w->arena, const char *, most),
                            NEW_ARRAY(w->arena, const char *, most)};
    for (int o = 0; o < g->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[g->pass->output[o]];
        if (f->slot == SLOT_G) {
            int64_t written = 0;
            for (int s = 0; s < g->segments; s++)
                for (int i = 0; i < g->segment[s].zs; i++) {
                    const struct path *p = &w->problem->path[g->segment[s].z[i]];
                    written += (int64_t)p->mul_z * (2 * p->l3 + 1);
                }
            /* does the kernel write every element? */
            bool covered = written == w->problem->dim[SLOT_G];
            add_cleared(w, &clear, f->name,
                        covered ? "graph->items ? 0 : graph->receivers" : "graph->receivers", dim(w, SLOT_G),
                        "real");
        } else if (f->slot == SLOT_X && !g->edge_buffer) {
            add_cleared(w, &clear, f->name, "graph->senders", dim(w, SLOT_X), "real");
        } else if (f->slot == SLOT_Y && g->parts > 1 && !g->part_buffer) {
            add_cleared(w, &clear, f->name, "graph->items", dim(w, SLOT_Y), "real");
        }
    }
    add_cleared(w, &clear, arena_printf(w->arena, "l.counters_%s", owner), counters(w, g), 1, "unsigned");
    if (g->g_outputs) {
        add_cleared(w, &clear, arena_printf(w->arena, "l.flag_%s", owner), partial_slots(w, g), 1,
                    "unsigned");
    }
    emit_clear(w, &clear);
    text_printf(out, "    if (graph->items) {\n        static const int work[] = {");
    for (int s = 0; s < g->segments; s++)
        text_printf(out, "%s%d", s ? ", " : "", g->segment[s].work);
    text_printf(out, "}, groups[] = {");
    for (int s = 0; s < g->segments; s++)
        text_printf(out, "%s%d", s ? ", " : "", g->segment[s].groups);
    text_printf(
        out,
        "};\n        const auto division = cgtp_divide<%d>(cgtp_multiprocessors(), %d, %d, graph->items, "
        "work, groups, %s);\n"
        "        const int nodes = cgtp_piece_nodes(graph->items, graph->receivers);\n"
        "        if ((status = cgtp_launch_early(nodes ? %s_kernel<CGTP_FEW_NODES> : %s_kernel<0>,\n"
        "                                        cgtp_division_blocks(division), %d, %d, stream, l, "
        "division)))\n"
        "            return status;\n    }\n",
        g->segments, g->blocks, g->warps, g->g_outputs ? "true" : "false", owner, owner, g->warps * 32,
        g->block_bytes);
    for (int o = 0; o < g->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[g->pass->output[o]];
        if (f->slot == SLOT_X && g->edge_buffer) {
            long long pieces = dim(w, SLOT_X) * (w->spec->precision == PRECISION_FLOAT64 ? 8 : 4) / 16;
            emit_step(w,
                      arena_printf(w->arena,
                                   "cgtp_launch_early(%s_gather, graph->senders * %lld, 128, 0, stream, l)",
                                   f->name, (pieces + 127) / 128));
        }
        if (f->slot == SLOT_Y && g->part_buffer)
            emit_step(w,
                      arena_printf(
                          w->arena,
                          "cgtp_launch_early(%s_sum, (graph->items * %lld + 255) / 256, 256, 0, stream, l)",
                          f->name, dim(w, SLOT_Y)));
    }
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
    emit_checks(out, w->gpu->plan, w->kernel->kernel, row, by_sender);
    text_printf(
        out,
        "    if ((uintptr_t)workspace %% 16)\n        return CGTP_MISALIGNED;\n"
        "    if (!workspace || workspace_bytes < lay_out(%s, NULL, NULL))\n        return CGTP_WORKSPACE;\n",
        w->graph ? "graph" : "items");
    text_printf(out, "    launch l = {};\n");
    if (w->graph)
        text_printf(out, "    l.graph = {graph->items, graph->senders, graph->receivers, graph->sender, "
                         "graph->receiver, graph->receiver_row,\n"
                         "               graph->by_sender, graph->sender_row};\n");
    else
        text_printf(out, "    l.items = items;\n");
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const char *name =
            i < w->form->inputs ? w->form->input[i].name : w->form->output[i - w->form->inputs].name;
        text_printf(out, "    l.%s = %s;\n", name, name);
    }
    text_printf(out, "    lay_out(%s, &l, (char *)workspace);\n", w->graph ? "graph" : "items");
    for (int p = 0; p < w->kernel->passes; p++) {
        w->pass = &w->kernel->pass[p];
        if (w->pass->evaluation == GPU_CONVOLUTION)
            launch_convolution(w);
        else
            emit_cuda_general_launch(w);
    }
    text_printf(out, "    return CGTP_OK;\n}\n");
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
    plan_cuda_print_kernel(&table, plan, kernel);
    text_printf(&out, "/* Plan for %s:\n", gpu->arch);
    for (const char *line = text_string(&table); *line;) {
        size_t n = strcspn(line, "\n");
        text_printf(&out, " *   %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    text_printf(
        &out,
        " */\n#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_cuda.h\"\n#include \"cgtp_gpu.h\"\n\n",
        spec->name, emit_real(plan));
    emit_launch_struct(&w);
    struct text device = {.arena = a};
    struct constants constants = {.arena = a};
    w.out = &device;
    w.constants = &constants;
    for (int p = 0; p < kernel->passes; p++) {
        w.pass = &kernel->pass[p];
        if (w.pass->evaluation == GPU_CONVOLUTION)
            emit_cuda_conv(&w);
        else
            emit_cuda_general(&w);
    }
    w.out = &out;
    emit_constants(&out, &constants, plan, "constexpr");
    text_put(&out, text_string(&device), device.n);
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
