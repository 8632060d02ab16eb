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

/* "const real *x, *y;": inputs or outputs, those of one type that follow each other on a line. */
static void emit_pointers(struct source *w, struct out *o, bool outputs)
{
    const int end = w->form->inputs + (outputs ? w->form->outputs : 0);
    for (int i = outputs ? w->form->inputs : 0; i < end;) {
        struct text list = {.arena = w->arena};
        const char *type = emit_type(w, i);
        for (; i < end && strcmp(type, emit_type(w, i)) == 0; i++)
            text_printf(&list, "%s*%s", list.n ? ", " : "", emit_stored(w, i));
        line(o, "%s%s %s;", outputs ? "" : "const ", type, text_string(&list));
    }
}

/* Does the launcher make row pointers and permutations, as the caller's edges come in any order? */
static bool orders(const struct source *w)
{
    return w->orders || w->lists_senders;
}

static void emit_launch_struct(struct source *w)
{
    struct out out = {.text = w->out}, *o = &out;
    const struct areas all = memory_areas(w);
    line(o, "/* A launch: the caller's arrays and the areas of the workspace. */");
    line(o, "struct launch {");
    if (w->graph)
        line(o, "cgtp_graph_arrays<%s> graph;", w->spec->index64 ? "int64_t" : "int32_t");
    else
        line(o, "int64_t items;");
    emit_pointers(w, o, false);
    emit_pointers(w, o, true);
    emit_strides(w->out, w->kernel->kernel, "");
    for (int i = 0, next; i < all.n; i = next) {
        const char *type = all.area[i].type, *list = arena_printf(w->arena, "*%s = NULL", all.area[i].name);
        for (next = i + 1; next < all.n && !strcmp(all.area[next].type, type); next++)
            list = arena_printf(w->arena, "%s, *%s = NULL", list, all.area[next].name);
        line(o, "%s %s;", type, list);
    }
    if (orders(w))
        line(o, "cgtp_ordering<%s> ordering = {};", w->spec->index64 ? "int64_t" : "int32_t");
    line(o, "};");
    blank(o);
}

/* Bytes of what an edge has in areas that turns share; NULL: there are none. */
static const char *divided_bytes(const struct source *w, const struct areas *all)
{
    struct text sum = {.arena = w->arena};
    for (int i = 0; i < all->n; i++)
        if (all->area[i].divided)
            text_printf(&sum, "%s%lld * sizeof(%s)", sum.n ? " + " : "", (long long)all->area[i].each,
                        all->area[i].type);
    return sum.n ? sum.s : NULL;
}

/* The number of rows of an area. */
static const char *rows_of(const struct source *w, const struct area *q)
{
    const char *rows = q->count ? q->count : q->divided ? "edges" : source_rows(w->plan, q->rows);
    return q->between ? arena_printf(w->arena, "edges < graph->items ? %s : 0", rows) : rows;
}

/* What the functions of the workspace return. */
static void emit_sizes(struct source *w, const char *items, const char *divided)
{
    struct out out = {.text = w->out}, *o = &out;
    for (int least = 0; least < 2; least++) {
        text_printf(w->out, "extern \"C\" ");
        emit_workspace_prototype(w->out, w->plan, w->form, least);
        text_printf(w->out, "\n");
        line(o, "{");
        if (divided)
            line(o, "return cgtp_workspace_bytes(%s, refused, layout, %s, %s);", items, divided,
                 least ? "0" : "SIZE_MAX");
        else
            line(o, "return cgtp_workspace_bytes(%s, refused, layout);", items);
        line(o, "}");
        blank(o);
    }
}

static void emit_workspace(struct source *w)
{
    struct out out = {.text = w->out}, *o = &out;
    const char *items = w->graph ? "graph" : "items";
    const struct areas all = memory_areas(w);
    const char *divided = divided_bytes(w, &all);
    bool sized = emit_sized(w) || orders(w);
    line(o, "/* Lays out the workspace from `base` on, for which NULL may stand; returns its bytes.%s */",
         divided ? " edges: that are worked on in a turn." : "");
    line(o, "static size_t layout(%s%s%s, launch &%s, void *base%s)",
         !w->graph          ? "int64_t"
         : w->spec->index64 ? "const cgtp_graph64 *"
                            : "const cgtp_graph *",
         sized && !w->graph ? " " : "", sized ? items : "", all.n || orders(w) ? "l" : "",
         divided ? ", int64_t edges" : "");
    line(o, "{");
    line(o, "cgtp_workspace space(base);");
    for (int i = 0; i < all.n; i++) {
        const struct area *q = &all.area[i];
        line(o, "l.%s = space.area<%s>(%s%s);", q->name, q->type, rows_of(w, q),
             q->each > 1 ? arena_printf(w->arena, ", %lld", (long long)q->each) : "");
    }
    if (orders(w))
        line(o, "l.ordering = {space, *graph, %s, %s};", w->orders ? "true" : "false",
             w->lists_senders ? "true" : "false");
    line(o, "return space.bytes();");
    line(o, "}");
    blank(o);
    emit_refused(w->out, w->plan, w->kernel->kernel);
    text_printf(w->out, "} // namespace\n\n");
    emit_sizes(w, items, divided);
}

/* Arrays of a graph. */
struct needs {
    bool sender, receiver, receiver_row, by_sender;
};

static const char *needs_words(struct arena *a, const struct needs *n)
{
    static const char *const word[] = {"CGTP_NEEDS_SENDER", "CGTP_NEEDS_RECEIVER", "CGTP_NEEDS_RECEIVER_ROW",
                                       "CGTP_NEEDS_BY_SENDER"};
    const bool needed[] = {n->sender, n->receiver, n->receiver_row, n->by_sender};
    struct text words = {.arena = a};
    for (int i = 0; i < 4; i++)
        if (needed[i])
            text_printf(&words, "%s%s", words.n ? " | " : "", word[i]);
    return words.n ? words.s : "0";
}

/* Checks of the graph and the arrays. */
static void emit_cuda_checks(struct source *w)
{
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    struct text arrays = {.arena = w->arena};
    if (w->graph) {
        const struct needs before = {.sender = emit_uses(w->spec, w->form, INDEX_SENDER),
                                     .receiver = emit_uses(w->spec, w->form, INDEX_RECEIVER)};
        struct needs all = before;
        kernel_reads_graph(w->kernel, &all.receiver_row, &all.by_sender);
        line(o, "cgtp_status status = cgtp_check_graph(graph, refused, %s);",
             needs_words(w->arena, orders(w) ? &before : &all));
        line(o, "if (status)");
        line(o, "return status;");
        if (orders(w))
            source_step(w,
                        arena_printf(w->arena, "cgtp_check_ordered(graph, %s)", needs_words(w->arena, &all)));
    } else {
        line(o, "cgtp_status status;");
        line(o, "if (refused(items))");
        line(o, "return CGTP_BAD_SIZE;");
    }
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const struct operand *q = &w->kernel->kernel->operand[i];
        text_printf(&arrays, "%s{%s, %s, %lld", i ? ", " : "", q->symbol, source_rows(w->plan, q->index),
                    source_dim(q));
        if (q->storage != w->spec->compute || q->stride)
            text_printf(&arrays, ", sizeof(%s)", emit_type(w, i));
        if (q->stride)
            text_printf(&arrays, ", %s", q->stride);
        text_puts(&arrays, "}");
    }
    line(o, "const cgtp_array arrays[] = {%s};", text_string(&arrays));
    line(o, "if ((status = cgtp_check_arrays(arrays)))");
    line(o, "return status;");
}

/* An input's elements to the type that is computed with; an output's, rounded, to the caller's. */
static void emit_conversion(struct source *w, const struct operand *o)
{
    const char *dense = arena_printf(w->arena, "%lld", source_dim(o));
    const char *stored = o->stride ? arena_printf(w->arena, "l.%s", o->stride) : dense;
    source_step(w, arena_printf(w->arena, "cgtp_convert(%s, %s, l.%s%s, %s, l.%s%s, %s, stream)",
                                source_rows(w->plan, o->index), dense, o->symbol, o->output ? "" : "stored",
                                o->output ? dense : stored, o->symbol, o->output ? "stored" : "",
                                o->output ? stored : dense));
}

static void emit_launcher(struct source *w)
{
    const char *items = w->graph ? "graph" : "items";
    emit_prototype(w->out, w->plan, w->kernel->kernel, "extern \"C\" ");
    text_printf(w->out, "\n{\n");
    emit_cuda_checks(w);
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++)
        text_printf(&list, ", %s",
                    i < w->form->inputs ? w->form->input[i].symbol
                                        : w->form->output[i - w->form->inputs].symbol);
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const struct operand *q = &w->kernel->kernel->operand[i];
        if (q->stride)
            text_printf(&list, ", cgtp_stride(%s, %lld)", q->stride, source_dim(q));
    }
    struct out out = {.text = w->out, .depth = 1}, *o = &out;
    line(o, "if (!%s)", w->graph ? "graph->items" : "items");
    line(o, "return cgtp_clear_outputs<%d, %s>(arrays, stream);", w->form->inputs,
         spec_has_strides(w->spec) ? "true" : "false");
    line(o, "launch l = {%s%s};", w->graph ? "*graph" : "items", text_string(&list));
    const struct areas all = memory_areas(w);
    const char *divided = divided_bytes(w, &all);
    if (divided)
        line(o, "const int64_t edges = cgtp_edges_of_turn(graph, workspace_bytes, layout, %s);", divided);
    line(o, "if ((status = cgtp_check_workspace(workspace, workspace_bytes, layout(%s, l, workspace%s))))",
         items, divided ? ", edges" : "");
    line(o, "return status;");
    if (orders(w))
        source_step(w, "cgtp_order_edges(l.graph, l.ordering, stream)");
    emit_launches(w, emit_conversion);
    text_printf(w->out, "    return CGTP_OK;\n}\n");
}

/* Cost and plan of the kernel, as a comment. */
static void emit_plan(struct text *out, const struct source *w)
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
    text_printf(out, "/* Cost, and the plan for %s:\n", w->kernel->schedule[0].target->device->name);
    for (const char *at = text_string(&table); *at;) {
        size_t n = strcspn(at, "\n"), indent = strspn(at, " ");
        const char *start = arena_printf(w->arena, " *   %*s", (int)indent, "");
        text_wrap(out, start, arena_printf(w->arena, "%s    ", start), at + indent, n - indent, 105);
        at += n + (at[n] == '\n');
    }
    text_printf(out, " */\n");
}

/* Headers that only some kernels need: those in which these names begin with the prefix, or end. */
#define PREFIX "cgtp_"
static const struct {
    const char *header, *begin[6], *end[3];
} optional[] = {
    {"cgtp_narrow.h", {"bfloat16", "float16"}, {NULL}},
    {"cgtp_carry.h", {"carr", "finish"}, {NULL}},
    {"cgtp_sets.h", {"block_slot", "sum_parts", "sum_rows<"}, {NULL}},
    {"cgtp_table.h", {"table_"}, {NULL}},
    {"cgtp_shifted.h", {"shifted_row"}, {NULL}},
    {"cgtp_uneven.h",
     {"clear_stages", "join_items", "note", "outgoing_s", "reduce_items"},
     {"_lane_components<", "_apart<"}},
};
enum { OPTIONAL = sizeof optional / sizeof *optional };

/* Which of the optional headers the code needs, in one pass over the names with the prefix. */
static void find_needed(const char *code, bool needed[OPTIONAL])
{
    for (int i = 0; i < OPTIONAL; i++) {
        needed[i] = false;
        for (int k = 0; optional[i].end[k]; k++)
            needed[i] = needed[i] || strstr(code, optional[i].end[k]);
    }
    for (const char *s = code; (s = strstr(s, PREFIX));) {
        s += strlen(PREFIX);
        for (int i = 0; i < OPTIONAL; i++)
            for (int k = 0; !needed[i] && optional[i].begin[k]; k++)
                needed[i] = *s == *optional[i].begin[k] &&
                            strncmp(s, optional[i].begin[k], strlen(optional[i].begin[k])) == 0;
    }
}

/* Has the schedule sums over all items, which leave in parts? */
static bool has_parts(const struct schedule *s)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS && demand_operand(s->demand, o)->index == INDEX_SHARED)
            return true;
    return false;
}

/* The runtime's headers that the kernel's schedules need, and its code. */
static void emit_includes(struct source *w, struct text *out, const char *code)
{
    text_printf(out, "#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_cuda.h\"\n", w->spec->name,
                source_real(w->plan));
    for (int s = 0; s < w->kernel->schedules; s++) {
        const struct schedule *q = &w->kernel->schedule[s];
        const char *header = q->evaluation->header, *parts = q->evaluation->parts_header;
        if (source_once(w, header))
            text_printf(out, "#include \"%s\"\n", header);
        if (parts && has_parts(q) && source_once(w, parts))
            text_printf(out, "#include \"%s\"\n", parts);
    }
    bool needed[OPTIONAL];
    find_needed(code, needed);
    for (int i = 0; i < OPTIONAL; i++)
        if (needed[i])
            text_printf(out, "#include \"%s\"\n", optional[i].header);
    if (emit_converts(w))
        text_puts(out, "#include \"cgtp_convert.h\"\n");
    text_printf(out,
                "#include \"%s\"\n\n"
                "static_assert(CGTP_DEVICE_ABI == 25 && CGTP_LANES == %d, \"made for other headers of the "
                "runtime\");\n\nnamespace\n{\n\n",
                orders(w) ? "cgtp_order.h" : "cgtp_launch.h", w->kernel->schedule[0].target->device->lanes);
}

static void emit_kernel(struct text *out, const struct schedules *all, const struct kernel_schedule *kernel)
{
    struct arena *a = out->arena;
    const struct plan *plan = all->plan;
    const struct spec *spec = plan->problem->spec;
    const struct kernel_form *form = kernel->kernel->form;
    struct text code = {.arena = a};
    struct source w = {.arena = a,
                       .out = &code,
                       .plan = plan,
                       .problem = plan->problem,
                       .spec = spec,
                       .form = form,
                       .kernel = kernel,
                       .mutation = all->mutation,
                       .graph = spec_is_graph(spec)};
    if (spec_orders(spec))
        kernel_reads_graph(kernel, &w.orders, &w.lists_senders);
    emit_launch_struct(&w);
    text_printf(w.out, "namespace code\n{\n\n");
    emit_schedules(&w, "constexpr");
    text_printf(w.out, "} // namespace code\n\n");
    emit_workspace(&w);
    emit_launcher(&w);
    emit_banner(out, plan, arena_printf(a, "%s, CUDA", form->name));
    emit_plan(out, &w);
    emit_includes(&w, out, text_string(&code));
    text_puts(out, text_string(&code));
}

const struct backend backend_cuda = {
    .name = "cuda",
    .device = "sm_90",
    .suffix = ".cu",
    .evaluations = cuda_evaluations,
    .kernel = emit_kernel,
    .rates = {.compiler = "nvcc -O3",
              .start = 0.6,
              .rate = {[EFFORT_CALL] = 0.002,
                       [EFFORT_BLOCK] = 0.011,
                       [EFFORT_LONG_ARGUMENT] = 0.0011,
                       [EFFORT_LONG_LOOP] = 4.2e-06,
                       [EFFORT_CALLEE] = 0.0012,
                       [EFFORT_INSTANCE] = 0.0004}},
};
