/* abi.c - what every backend emits alike: banner, header, prototypes. */
#include "emit/emit.h"
#include "emit/emitter.h"
#include "emit/seal.h"
#include "schedule/index_words.h"
#include "spec/kernels.h"
#include "util/version.h"

#include <string.h>

/* ---- the spec as understood ---- */

/* Text from the spec inside a comment: lines start alike, and no comment can end in it. */
static void comment_lines(struct text *out, const char *start, const char *s)
{
    const char *lead = arena_printf(out->arena, "%s ", start);
    while (*s) {
        struct text t = {.arena = out->arena};
        for (; *s && *s != '\n'; s++)
            if (s[0] == '*' && s[1] == '/')
                text_printf(&t, "* ");
            else if (s[0] == '/' && s[1] == '*')
                text_printf(&t, "/ ");
            else if ((unsigned char)*s >= 32 && *s != 127)
                text_put(&t, s, 1);
        text_wrap(out, lead, lead, text_string(&t), t.n, 110);
        s += *s == '\n';
    }
}

static void irreps_lines(struct text *out, const char *start, const char *lead, const struct irreps *r)
{
    struct text t = {.arena = out->arena};
    irreps_print(&t, r);
    const char *s = text_string(&t);
    text_printf(out, "%s%s", start, lead);
    const size_t indent = strlen(start) + strlen(lead);
    size_t column = indent;
    while (*s) {
        size_t n = strcspn(s, "+");
        n += s[n] == '+';
        if (column + n > 108) {
            text_printf(out, "\n%s%*s", start, (int)strlen(lead), "");
            column = indent;
        }
        text_put(out, s, n);
        column += n;
        s += n;
    }
    text_printf(out, "\n");
}

/* The banner in comments of a language: how they open, how lines begin, how they close. What may change while
 * the mathematics does not stands in the header alone (whole), so that other files are as they were: the
 * generator's version, the description. */
static void banner(struct text *out, const struct plan *plan, const char *what, const char *open,
                   const char *start, const char *close, bool whole)
{
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    struct arena *a = out->arena;
    text_printf(out, "%s%s: %s.\n%s " SEAL_BY " ", open, s->name, what, start);
    if (whole)
        text_printf(
            out,
            CGTPGEN_VERSION
            " from a spec, in short below (" SEAL_TEXT "); edit that, not this.\n"
            "%s It belongs to whoever had it generated; the runtime's files are under the MIT licence.\n%s\n",
            start, start);
    else
        text_printf(out, "from the spec in the product's header (" SEAL_TEXT "); edit that, not this.\n%s\n",
                    start);
    if (whole && *s->description) {
        comment_lines(out, start, s->description);
        text_printf(out, "%s\n", start);
    }
    irreps_lines(out, start, arena_printf(a, "   x %-9s ", index_name[s->index[SLOT_X]]), &p->x);
    irreps_lines(out, start, arena_printf(a, "   y %-9s ", index_name[s->index[SLOT_Y]]), &p->y);
    text_printf(out, "%s   w %-9s %lld weights of %d paths\n", start, index_name[s->index[SLOT_W]],
                (long long)p->weight_numel, p->paths);
    irreps_lines(out, start, arena_printf(a, "   z %-9s ", index_name[s->index[SLOT_G]]), &p->z);
    if (!spec_has_e3nn_layout(s))
        text_printf(out, "%s   layout      x %s, y %s, z %s\n", start, layout_name[s->layout[SLOT_X]],
                    layout_name[s->layout[SLOT_Y]], layout_name[s->layout[SLOT_G]]);
    if (spec_has_strides(s))
        text_printf(out, "%s   rows        %s\n", start, spec_rows(a, s));
    text_puts(out, close);
}

void emit_banner(struct text *out, const struct plan *plan, const char *what)
{
    banner(out, plan, what, "/* ", " *", " */\n", false);
}

void emit_banner_python(struct text *out, const struct plan *plan, const char *what)
{
    banner(out, plan, what, "# ", "#", "", false);
}

/* ---- prototypes ---- */

const char *emit_items_parameter(const struct plan *plan)
{
    const struct spec *s = plan->problem->spec;
    return !spec_is_graph(s) ? "int64_t items"
           : s->index64      ? "const cgtp_graph64 *graph"
                             : "const cgtp_graph *graph";
}

struct emit_list emit_list_open(struct text *out, const char *head)
{
    text_puts(out, head);
    return (struct emit_list){out, strlen(head), strlen(head)};
}

void emit_list_add(struct emit_list *l, const char *word, const char *end)
{
    enum { COLUMNS = 108 };
    size_t n = strlen(word) + strlen(end);
    bool first = l->column == l->indent;
    if (!first && l->column + n > COLUMNS) {
        text_printf(l->out, "\n%*s", (int)l->indent, "");
        l->column = l->indent;
    } else if (!first) {
        text_put(l->out, " ", 1);
        l->column++;
    }
    text_printf(l->out, "%s%s", word, end);
    l->column += n;
}

static void add_workspace(struct emit_list *l)
{
    emit_list_add(l, "void *workspace", ",");
    emit_list_add(l, "size_t workspace_bytes", ",");
    emit_list_add(l, "cgtp_stream stream", ")");
}

void emit_parameters(struct emit_list *l, const struct plan *plan, const struct kernel_plan *k,
                     const char *scope)
{
    struct arena *a = l->out->arena;
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++) {
        const struct operand *o = &k->operand[i];
        const char *of = o->storage < PRECISION_ARITHMETIC ? "" : scope;
        emit_list_add(l,
                      arena_printf(a, "%s%s%s *%s", o->output ? "" : "const ", of,
                                   source_stored(plan, o->slot), o->symbol),
                      ",");
        if (o->stride)
            emit_list_add(l, arena_printf(a, "%sint64_t %s", *scope ? "::std::" : "", o->stride), ",");
    }
}

void emit_arguments(struct emit_list *l, const struct kernel_plan *k, const char *of)
{
    struct arena *a = l->out->arena;
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++) {
        emit_list_add(l, arena_printf(a, "%s%s", of, k->operand[i].symbol), ",");
        if (k->operand[i].stride)
            emit_list_add(l, arena_printf(a, "%s%s", of, k->operand[i].stride), ",");
    }
}

void emit_prototype(struct text *out, const struct plan *plan, const struct kernel_plan *k,
                    const char *linkage)
{
    struct emit_list l = emit_list_open(out, arena_printf(out->arena, "%scgtp_status %s_%s(", linkage,
                                                          plan->problem->spec->name, k->form->name));
    emit_list_add(&l, emit_items_parameter(plan), ",");
    emit_parameters(&l, plan, k, "");
    add_workspace(&l);
}

void emit_workspace_prototype(struct text *out, const struct plan *plan, const struct kernel_form *f,
                              bool least)
{
    text_printf(out, "size_t %s_%s_workspace%s(%s)", plan->problem->spec->name, f->name,
                least ? "_least" : "", emit_items_parameter(plan));
}

static const char dim_letter[SLOT_COUNT + 1] = "XYWZ"; /* of macros NAME_DIM_X */

int emit_symbols(struct arena *a, const struct plan *plan, const char ***symbols)
{
    const char *name = plan->problem->spec->name;
    const char **symbol = *symbols =
        NEW_ARRAY(a, const char *, (1 + KERNEL_SUFFIXES) * plan->kernels + 2 + SLOT_COUNT);
    int n = 0;
    symbol[n++] = arena_printf(a, "%s_product", name);
    symbol[n++] = arena_printf(a, "%s_DIGEST", name);
    for (int s = 0; s < SLOT_COUNT; s++)
        symbol[n++] = arena_printf(a, "%s_DIM_%c", name, dim_letter[s]);
    for (int k = 0; k < plan->kernels; k++) {
        symbol[n++] = arena_printf(a, "%s_%s", name, plan->kernel[k].form->name);
        for (int i = 0; i < KERNEL_SUFFIXES; i++)
            symbol[n++] =
                arena_printf(a, "%s_%s%s", name, plan->kernel[k].form->name, kernel_suffix[i].suffix);
    }
    return n;
}

/* ---- launchers ---- */

bool emit_uses(const struct spec *s, const struct kernel_form *f, enum index_kind index)
{
    for (int i = 0; i < f->inputs; i++)
        if (s->index[f->input[i].slot] == index)
            return true;
    for (int o = 0; o < f->outputs; o++)
        if (s->index[f->output[o].slot] == index)
            return true;
    return false;
}

/* Bytes of the longest row of an index's arrays; 0: there are none, or none has elements. */
static long long longest_row(const struct kernel_plan *k, enum index_kind index)
{
    long long most = 0;
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++) {
        const struct operand *o = &k->operand[i];
        const long long bytes = source_dim(o) * precision_table[o->storage].bytes;
        if (o->index == index && bytes > most)
            most = bytes;
    }
    return most;
}

void emit_refused(struct text *out, const struct plan *plan, const struct kernel_plan *k)
{
    static const enum index_kind index[] = {INDEX_ITEM, INDEX_SENDER, INDEX_RECEIVER};
    const struct spec *s = plan->problem->spec;
    const bool graph = spec_is_graph(s);
    text_printf(out, "/* Numbers of rows that are negative or too large%s. */\nstatic int refused(%s)\n{\n",
                graph ? ", or of edges between no nodes" : "", emit_items_parameter(plan));
    for (int i = 0; i < (graph ? 3 : 1); i++) {
        const char *rows = source_rows(plan, index[i]);
        const long long row = longest_row(k, index[i]);
        text_printf(out, "%s%s < 0", i ? " ||\n        " : "    return ", rows);
        if (graph && i == 0 && s->sorted && !s->index64)
            text_printf(out, " || %s > INT32_MAX", rows);
        if (row)
            text_printf(out, " || %s > PTRDIFF_MAX / %lld", rows, row);
        if (i && emit_uses(s, k->form, index[i]))
            text_printf(out, " ||\n        (graph->items && !%s)", rows);
    }
    text_printf(out, ";\n}\n\n");
}

void emit_checks(struct text *out, const struct plan *plan, const struct kernel_schedule *kernel)
{
    const struct spec *s = plan->problem->spec;
    const struct kernel_form *f = kernel->kernel->form;
    bool receiver_row = false, by_sender = false;
    kernel_reads_graph(kernel, &receiver_row, &by_sender);
    text_printf(out, "    cgtp_status status;\n");
    if (spec_is_graph(s))
        text_printf(out, "    if (!graph)\n        return CGTP_NULL_POINTER;\n");
    text_printf(out, "    if (refused(%s))\n        return CGTP_BAD_SIZE;\n",
                spec_is_graph(s) ? "graph" : "items");
    if (emit_uses(s, f, INDEX_SENDER))
        text_printf(out, "    if (graph->items && !graph->sender)\n        return CGTP_NULL_POINTER;\n");
    if (emit_uses(s, f, INDEX_RECEIVER))
        text_printf(out, "    if (graph->items && !graph->receiver)\n        return CGTP_NULL_POINTER;\n");
    if (receiver_row)
        text_printf(out, "    if (graph->items && !graph->receiver_row)\n        return CGTP_NOT_INDEXED;\n");
    if (by_sender)
        text_printf(out, "    if (graph->items && (!graph->sender_row || !graph->by_sender))\n"
                         "        return CGTP_NOT_INDEXED;\n");
    for (int i = 0; i < f->inputs + f->outputs; i++) {
        const struct operand *o = &kernel->kernel->operand[i];
        if (o->stride)
            text_printf(out, "    %s = cgtp_stride(%s, %lld);\n", o->stride, o->stride, source_dim(o));
        text_printf(
            out,
            "    if ((status = cgtp_check_array(%s, %s, %lld, %s, sizeof(%s))))\n        return status;\n",
            o->symbol, source_rows(plan, o->index), source_dim(o),
            o->stride ? o->stride : arena_printf(out->arena, "%lld", source_dim(o)),
            o->storage == s->compute ? "real" : source_stored(plan, o->slot));
    }
}

/* ---- header ---- */

static const char *rows_text(const struct plan *plan, enum slot s)
{
    enum index_kind index = plan->problem->spec->index[s];
    return index == INDEX_ITEM && !spec_is_graph(plan->problem->spec) ? "items" : index_words[index].shape;
}

void emit_paths(struct text *out, const struct plan *plan, const char *start)
{
    const struct problem *p = plan->problem;
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        text_printf(out, "%s%s", start, source_path_line(out->arena, plan, q));
        if (q->weight_numel) {
            int shape[3], rank = path_weight_shape(q, shape);
            text_printf(out, "; w[%lld .. %lld] (", (long long)q->weight_offset,
                        (long long)(q->weight_offset + q->weight_numel - 1));
            for (int d = 0; d < rank; d++)
                text_printf(out, "%s%d", d ? ", " : "", shape[d]);
            text_printf(out, ")");
        }
        text_printf(out, "\n");
    }
}

static void header_paths(struct text *out, const struct plan *plan)
{
    text_printf(out, "/* Paths: number: x segment * y segment -> z segment, mode, coefficient; [place in a "
                     "row of w], shape.\n *\n");
    emit_paths(out, plan, " *   ");
    text_printf(out, " */\n\n");
}

/* Fields "    TYPE *a, *b;" of a struct: inputs or outputs, those of one type that follow each other as one.
 */
static void fields(struct text *out, const struct plan *plan, int n, const struct operand *o)
{
    for (int i = 0; i < n;) {
        const enum precision type = o[i].storage;
        struct emit_list l =
            emit_list_open(out, arena_printf(out->arena, "    %s%s ", o->output ? "" : "const ",
                                             source_stored(plan, o[i].slot)));
        for (bool more = true; more; i++) {
            more = i + 1 < n && o[i + 1].storage == type;
            emit_list_add(&l, arena_printf(out->arena, "*%s", o[i].symbol), more ? "," : ";\n");
        }
    }
}

void emit_strides(struct text *out, const struct kernel_plan *k, const char *words)
{
    struct text list = {.arena = out->arena};
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++)
        if (k->operand[i].stride)
            text_printf(&list, "%s%s", list.n ? ", " : "", k->operand[i].stride);
    if (list.n)
        text_printf(out, "    int64_t %s;%s\n", list.s, words);
}

/* The kernel with a struct of its arrays, which cannot be mixed up as arguments can. */
static void header_by_name(struct text *out, const struct plan *plan, const struct kernel_plan *k)
{
    struct arena *a = out->arena;
    const struct kernel_form *f = k->form;
    const char *items = spec_is_graph(plan->problem->spec) ? "graph" : "items";
    const char *name = arena_printf(a, "%s_%s", plan->problem->spec->name, f->name);
    text_printf(out, "typedef struct %s_arrays {\n", name);
    fields(out, plan, f->inputs, k->operand);
    fields(out, plan, f->outputs, k->operand + f->inputs);
    emit_strides(out, k, " /* elements from a row to the next; 0: rows follow each other */");
    text_printf(out, "} %s_arrays;\n", name);
    text_puts(out, "static inline cgtp_status\n");
    const char *arrays = arena_printf(a, "const %s_arrays *arrays", name);
    const bool is_long = strlen(name) + strlen("_with(") + strlen(arrays) > 108;
    struct emit_list head =
        emit_list_open(out, arena_printf(a, is_long ? "%s_with(\n    " : "%s_with(", name));
    if (is_long)
        head.indent = head.column = 4;
    emit_list_add(&head, emit_items_parameter(plan), ",");
    emit_list_add(&head, arrays, ",");
    add_workspace(&head);
    text_puts(out, "\n{\n    if (!arrays)\n        return CGTP_NULL_POINTER;\n");
    struct emit_list call = emit_list_open(out, arena_printf(a, "    return %s(", name));
    emit_list_add(&call, items, ",");
    emit_arguments(&call, k, "arrays->");
    emit_list_add(&call, "workspace", ",");
    emit_list_add(&call, "workspace_bytes", ",");
    emit_list_add(&call, "stream", ");\n}\n\n");
}

/* What the workspace is made of, as far as it can matter. */
static void header_workspace(struct text *out, const struct schedules *all, const struct memory *m)
{
    struct text words = {.arena = out->arena};
    bool reduction = false;
    text_printf(&words, "Workspace: %s bytes", memory_formula(out->arena, all, m->all));
    for (int by = 0; by < BY_COUNT; by++)
        reduction |= m->by_reduction[by] > 0;
    if (reduction)
        text_printf(&words, ", %s of them for reduction: %s",
                    memory_formula(out->arena, all, m->by_reduction),
                    reduction_name[all->plan->problem->spec->reduction]);
    if (m->least[BY_ITEM] < m->all[BY_ITEM] && all->target.device->lanes > 1)
        text_printf(&words, "; with less, down to %s, in turns", memory_formula(out->arena, all, m->least));
    text_puts(&words, ".");
    text_wrap(out, " * ", " *   ", text_string(&words), words.n, 110);
}

static void header_kernel(struct text *out, const struct schedules *all, const struct memory *memory,
                          int number)
{
    const struct plan *plan = all->plan;
    const struct kernel_plan *k = &plan->kernel[number];
    const struct kernel_form *f = k->form;
    text_printf(out, "/* %s:\n", f->name);
    for (int o = 0; o < f->outputs; o++) {
        const struct form_output *q = &f->output[o];
        struct text sum = {.arena = out->arena};
        text_printf(&sum, "%s =", q->name);
        for (int t = 0; t < q->terms; t++) {
            text_puts(&sum, t ? " + " : " ");
            form_term_print(&sum, f, &q->term[t]);
        }
        enum index_kind index = plan->problem->spec->index[q->slot];
        if (index != INDEX_ITEM)
            text_printf(&sum, ", summed over the items of %s", index_words[index].each);
        text_wrap(out, " *   ", " *     ", text_string(&sum), sum.n, 110);
    }
    size_t column = 0;
    const char *lead = " * Shapes: ";
    for (int i = 0; i < f->inputs + f->outputs; i++) {
        bool input = i < f->inputs;
        enum slot s = input ? f->input[i].slot : f->output[i - f->inputs].slot;
        const char *shape = arena_printf(out->arena, "%s [%s, %lld]",
                                         input ? f->input[i].name : f->output[i - f->inputs].name,
                                         rows_text(plan, s), (long long)plan->problem->dim[s]);
        const bool breaks = i && column + strlen(shape) + 3 > 110;
        text_printf(out, "%s%s", !i ? lead : breaks ? ",\n *         " : ", ", shape);
        column = strlen(shape) + (!i || breaks ? strlen(lead) : column + 2);
    }
    text_puts(out, "\n");
    text_printf(out, " * At least %.0f bytes per item.\n", k->bytes_least);
    header_workspace(out, all, &memory[number]);
    text_puts(out, " */\n");
    emit_prototype(out, plan, k, "CGTP_API ");
    text_printf(out, ";\nCGTP_API ");
    emit_workspace_prototype(out, plan, f, false);
    text_printf(out, ";\nCGTP_API ");
    emit_workspace_prototype(out, plan, f, true);
    text_printf(out, ";\n");
    header_by_name(out, plan, k);
}

/* The types of arrays; where they are not all that of arithmetic, all types. */
static const char *types_words(struct arena *a, const struct spec *s)
{
    bool same = s->sum == s->compute;
    struct text words = {.arena = a};
    for (int i = 0; i < SLOT_COUNT; i++)
        same &= s->storage[i] == s->compute;
    if (same)
        return precision_table[s->compute].c;
    for (int i = 0; i < SLOT_COUNT; i++)
        text_printf(&words, "%s%s %s", i ? ", " : "", slot_name[i], precision_table[s->storage[i]].name);
    text_printf(&words,
                " (tangents and\n * cotangents as their primals; cgtp.h); arithmetic is in %s, sums over "
                "items in %s; outputs are\n * rounded to their type once, to nearest even",
                precision_table[s->compute].name, precision_table[s->sum].name);
    return text_string(&words);
}

/* What a segment of a row holds, in the layouts that rows have. */
static const char *layout_words(struct arena *a, const struct spec *s)
{
    static const char *const order[LAYOUT_COUNT] = {"channels, a channel its 2l+1 components (e3nn's layout)",
                                                    "2l+1 components, a component its channels (ir_mul)"};
    static const enum slot slots[] = {SLOT_X, SLOT_Y, SLOT_G};
    struct text words = {.arena = a};
    if (spec_has_e3nn_layout(s))
        return " a\n * segment its channels, a channel its 2l+1 components (e3nn's layout), "
               "a row of w the blocks of\n *";
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        int named = 0;
        for (int i = 0; i < 3; i++)
            if ((int)s->layout[slots[i]] == layout)
                text_printf(&words, named++ ? ", %s" : "\n * a segment of %s", slot_name[slots[i]]);
        if (named)
            text_printf(&words, " its %s,", order[layout]);
    }
    text_printf(&words, "\n * a row of w the blocks of\n *");
    return text_string(&words);
}

/* What strides must be. */
static const char *strides_words(const struct spec *s)
{
    return spec_has_strides(s)
               ? "\n * A stride says how many elements there are from a row to the next, 0: as many as a row "
                 "has, "
                 "and no fewer.\n * Where rows are multiples of 16, 8 or 4 bytes, strides are, too "
                 "(CGTP_MISALIGNED). What is between rows is\n * neither read nor written."
               : "";
}

/* What the caller's graph must be, and what checks it. */
static const char *graph_words(const struct spec *s)
{
    if (!spec_is_graph(s))
        return "";
    return s->sorted
               ? "\n * The graph's edges ascend by receiver, as cgtp_graph_sort (cgtp.h) puts them, and "
                 "cgtp_graph_index\n * has made its row pointers; on a device cgtp_device_graph_sort and "
                 "_index (cgtp_device.h) do. Kernels\n * do not look whether that is so and whether indices "
                 "are in range: cgtp_graph_find_fault does, or\n * cgtp_device_graph_check."
               : "\n * The graph's edges may be in any order; with its `order` they are sorted, and rows of "
                 "items are not. "
                 "Kernels\n * do not look whether indices are in range: cgtp_graph_find_fault (cgtp_check.h) "
                 "does, "
                 "or\n"
                 " * cgtp_device_graph_check (cgtp_device.h).";
}

/* Headers without a folder that C, POSIX, glibc, C++ and CUDA have for <..>. */
static const char system_headers[] =
    " aio alloca argp assert byteswap complex cpio crypt ctype cublas_v2 cuda cuda_bf16 cuda_fp16 "
    "cuda_runtime cuda_runtime_api dirent dlfcn elf endian err errno error execinfo fcntl features "
    "fenv float fmtmsg fnmatch ftw getopt glob grp iconv inttypes iso646 langinfo libgen limits link "
    "locale malloc math math_constants memory monetary mqueue ndbm netdb nl_types omp poll printf "
    "pthread pwd regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool "
    "stdckdint stddef stdbit stdint stdio stdlib stdnoreturn string strings stropts sysexits syslog "
    "tar termios tgmath thread threads time uchar ucontext ulimit unistd utime utmpx values "
    "vector_types wait wchar wctype wordexp xlocale ";

/* The guard. A header that has a system header's name stands before it for <..>, too, where its folder is
 * searched: it reads that one first. What reads it so may be cgtp.h, whose types the rest needs: then that
 * waits. */
static void header_guard(struct text *out, const char *name)
{
    const char *word = arena_printf(out->arena, " %s ", name);
    if (strstr(system_headers, word))
        text_printf(out,
                    "/* <%s.h> is the system's header: it comes first. */\n"
                    "#ifdef __has_include_next\n#pragma GCC system_header\n#if "
                    "__has_include_next(<%s.h>)\n#include_next <%s.h>\n#endif\n"
                    "#endif\n\n#if !defined CGTP_PRODUCT_%s_H && (!defined CGTP_H || defined CGTP_ABI)\n",
                    name, name, name, name);
    else
        text_printf(out, "#ifndef CGTP_PRODUCT_%s_H\n", name);
    text_printf(out, "#define CGTP_PRODUCT_%s_H\n\n", name);
}

void emit_header(struct text *out, const struct schedules *all, const struct memory *memory)
{
    const struct plan *plan = all->plan;
    const struct problem *p = plan->problem;
    const char *name = p->spec->name;
    banner(out, plan, "C interface", "/* ", " *", " */\n", true);
    header_guard(out, name);
    text_printf(out,
                "#include \"cgtp.h\"\n\n"
                "#if CGTP_ABI != 8\n#error \"%s was generated for cgtp runtime ABI 8; regenerate it, or use "
                "that runtime\"\n#endif\n\n"
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                name);
    text_printf(
        out,
        "/* Arrays are row-major, %s; a row holds the segments of its irreps one after the other,%s "
        "the weighted paths in order, each in C order. Q_s(..) is the derivative by slot s (x, y, w, g) "
        "of\n"
        " *\n"
        " *   Q(x, y, w, g) = sum over paths p and CG nonzeros of a_p C_p[i,j,k] x[u,i] y[v,j] "
        "w_p[..] g[..,k]\n"
        " *\n"
        " * at the arguments named. Functions overwrite every element of their outputs, allocate nothing,\n"
        " * and return a status. Base pointers must be multiples of 16 bytes; outputs must not overlap\n"
        " * inputs or one another; an array may be NULL only if it has no elements. NAME_workspace() bytes\n"
        " * of scratch memory go to one call at a time: none where there are no items, over which sums are\n"
        " * zero; CGTP_NO_WORKSPACE where the function would refuse so many rows. NAME_with() is the same "
        "function, and\n"
        " * takes its arrays by their names.%s%s */\n\n",
        types_words(out->arena, p->spec), layout_words(out->arena, p->spec), strides_words(p->spec),
        graph_words(p->spec));
    header_paths(out, plan);
    text_printf(out,
                "/* A hash of the spec as understood, by which its files know each other. */\n"
                "#define %s_DIGEST \"%s\"\n\n/* Elements of a row. */\n",
                name, plan->digest);
    for (int s = 0; s < SLOT_COUNT; s++)
        text_printf(out, "#define %s_DIM_%c %lld\n", name, dim_letter[s], (long long)p->dim[s]);
    text_printf(out, "\n");
    for (int k = 0; k < plan->kernels; k++)
        header_kernel(out, all, memory, k);
    text_printf(
        out,
        "/* What the product is, for generic callers. */\nextern CGTP_API const cgtp_product %s_product;\n\n"
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
        name);
}
