/* c.c - the portable C backend: one source file per kernel.
 *
 * A file holds, in this order: banner, the arrays of a launch, the functions of each schedule, then the
 * workspace and the launcher.
 */
#include "emit/backend.h"
#include "emit/emit.h"
#include "schedule/evaluations.h"
#include "util/out.h"

/* What compensated sums ask of the compiler. */
static void emit_sums(struct source *w)
{
    bool compensated = false;
    for (int i = 0; i < w->kernel->schedules; i++)
        for (int o = 0; o < w->kernel->schedule[i].demand->outputs; o++)
            compensated |= w->kernel->schedule[i].route[o].compensated;
    if (compensated)
        text_printf(w->out, "#ifdef CGTP_REASSOCIATES\n"
                            "#error \"accumulate: compensated is lost with -ffast-math: compile without "
                            "it, or with -fno-associative-math\"\n#endif\n\n");
}

static void emit_launch_struct(struct source *w)
{
    text_printf(w->out,
                "/* A launch: the caller's arrays and the parts of the workspace. */\nstruct launch {\n");
    if (w->graph)
        text_printf(w->out, "    const %s *graph;\n", w->spec->index64 ? "cgtp_graph64" : "cgtp_graph");
    else
        text_printf(w->out, "    int64_t items;\n");
    emit_launch_fields(w);
    text_printf(w->out, "};\n\n");
}

static void emit_workspace(struct source *w)
{
    const char *items = w->graph ? "graph" : "items";
    text_printf(
        w->out,
        "/* Lays out the workspace for `parts` parts; returns its bytes. With a base, sets l's pointers. "
        "*/\nstatic size_t layout(%s, int64_t parts, struct launch *l, char *base)\n{\n",
        emit_items_parameter(w->plan));
    if (!emit_sized(w))
        text_printf(w->out, "    (void)%s;\n", items);
    emit_lay_out(w);
    text_printf(w->out, "}\n\n");
    emit_refused(w->out, w->plan, w->kernel->kernel);
    for (int least = 0; least < 2; least++) { /* with the least one thread works */
        emit_workspace_prototype(w->out, w->plan, w->form, least);
        text_printf(w->out,
                    "\n{\n    if (%srefused(%s))\n        return CGTP_NO_WORKSPACE;\n"
                    "    return %s ? layout(%s, %s, NULL, NULL) : 0;\n}\n\n",
                    w->graph ? "!graph || " : "", items, w->graph ? "graph->items" : "items", items,
                    least ? "1" : "cgtp_threads()");
    }
}

/* Without items: sums over none of them. */
static void emit_nothing(struct source *w)
{
    text_printf(w->out, "    if (!%s) {\n", w->graph ? "graph->items" : "items");
    for (int o = 0; o < w->form->outputs; o++) {
        const struct operand *q = kernel_output(w->kernel->kernel, o);
        const char *type = emit_type(w, w->form->inputs + o);
        if (q->index != INDEX_ITEM)
            text_printf(w->out, "        cgtp_zero_rows(%s, %lld * sizeof(%s), %s%s * sizeof(%s), %s);\n",
                        source_rows(w->plan, q->index), source_dim(q), type, q->stride ? "(size_t)" : "",
                        q->stride ? q->stride : arena_printf(w->arena, "%lld", source_dim(q)), type,
                        q->symbol);
    }
    text_printf(w->out, "        return CGTP_OK;\n    }\n");
}

/* An input's elements to the type that is computed with; an output's, rounded, to the caller's. */
static void emit_conversion(struct source *w, const struct operand *o)
{
    const char *stored = precision_table[o->storage].name, *held = precision_table[o->held].name;
    const char *rows = source_rows(w->plan, o->index);
    const char *from = o->output ? "" : "stored", *to = o->output ? "stored" : "";
    const char *call =
        arena_printf(w->arena, "cgtp_%s_to_%s(", o->output ? held : stored, o->output ? stored : held);
    text_printf(w->out, "    CGTP_PARALLEL\n    for (int64_t part = 0; part < parts; part++)\n");
    if (o->stride) {
        const char *dim = arena_printf(w->arena, "%lld", source_dim(o));
        text_printf(
            w->out,
            "        for (int64_t r = cgtp_part(%s, part, parts), end = cgtp_part(%s, part + 1, parts);\n"
            "             r < end; r++)\n"
            "            %s0, %s, l.%s%s + r * %s%s, l.%s%s + r * %s%s);\n",
            rows, rows, call, dim, o->symbol, from, o->output ? "" : "l.", o->output ? dim : o->stride,
            o->symbol, to, o->output ? "l." : "", o->output ? o->stride : dim);
    } else {
        const char *n = arena_printf(w->arena, "%s * %lld", rows, source_dim(o));
        text_printf(w->out,
                    "        %scgtp_part(%s, part, parts),\n"
                    "            cgtp_part(%s, part + 1, parts), l.%s%s, l.%s%s);\n",
                    call, n, n, o->symbol, from, o->symbol, to);
    }
}

static void emit_launcher(struct source *w)
{
    const char *items = w->graph ? "graph" : "items";
    emit_prototype(w->out, w->plan, w->kernel->kernel, "");
    text_printf(w->out, "\n{\n");
    emit_checks(w->out, w->plan, w->kernel);
    struct out out = {.text = w->out, .depth = 1};
    struct text list = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const char *name = w->kernel->kernel->operand[i].symbol;
        const char *stride = w->kernel->kernel->operand[i].stride;
        text_printf(&list, ", l.%s = %s", emit_stored(w, i), name);
        if (stride)
            text_printf(&list, ", l.%s = %s", stride, stride);
    }
    emit_nothing(w);
    line(&out, "struct launch l = CGTP_ZEROED;");
    line(&out, "l.%s = %s%s;", items, items, text_string(&list));
    text_printf(
        w->out,
        "    if ((status = cgtp_check_workspace(workspace, workspace_bytes, layout(%s, 1, NULL, NULL))))\n"
        "        return status;\n"
        "    int64_t parts = cgtp_threads(); /* fewer where the workspace was sized for fewer */\n"
        "    while (parts > 1 && workspace_bytes < layout(%s, parts, NULL, NULL))\n        parts--;\n"
        "    layout(%s, parts, &l, (char *)workspace);\n"
        "    (void)stream;\n",
        items, items, items);
    emit_launches(w, emit_conversion);
    text_printf(w->out, "    return CGTP_OK;\n}\n");
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
    emit_banner(out, plan, arena_printf(a, "%s, portable C", form->name));
    text_printf(out, "#include \"%s.h\"\n\ntypedef %s real;\n#include \"cgtp_c.h\"\n%s\n", spec->name,
                source_real(plan), emit_converts(&w) ? "#include \"cgtp_types.h\"\n" : "");
    emit_sums(&w);
    emit_launch_struct(&w);
    emit_schedules(&w, "static const");
    emit_workspace(&w);
    emit_launcher(&w);
}

const struct backend backend_c = {
    .name = "c",
    .device = "c",
    .suffix = ".c",
    .evaluations = c_evaluations,
    .kernel = emit_kernel,
    .rates = {.compiler = "gcc -O3",
              .start = 0.0026,
              .rate = {[EFFORT_ARGUMENT] = 0.00029,
                       [EFFORT_DENSE] = 0.0042,
                       [EFFORT_UNEVEN] = 0.0034,
                       [EFFORT_DOT] = 0.032,
                       [EFFORT_ROW] = 0.016,
                       [EFFORT_SUM] = 0.015,
                       [EFFORT_PATH] = 0.0048,
                       [EFFORT_REST] = 0.00022,
                       [EFFORT_APART] = 0.00011}},
};
