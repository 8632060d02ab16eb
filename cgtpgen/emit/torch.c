/* torch.c - see torch.h. */
#include "emit/torch.h"
#include "emit/emit.h"
#include "schedule/index_words.h"

#include <string.h>

static const char slot_word[SLOT_COUNT + 1] = "xywz"; /* in NAME.py */

/* ---- NAME_torch.cpp ---- */

/* What follows the arrays in the arguments of an operator. */
static const char *graph_schema(const struct spec *s)
{
    return !spec_is_graph(s) ? "SymInt items"
           : !s->sorted      ? "Tensor sender, Tensor receiver, SymInt senders, SymInt receivers"
                             : "Tensor sender, Tensor receiver, Tensor receiver_row, Tensor by_sender, "
                               "Tensor sender_row";
}

/* The schema of an operator as a C string, in pieces of a line. */
static void schema(struct text *out, const struct spec *s, const struct kernel_form *f)
{
    struct arena *a = out->arena;
    struct text t = {.arena = a};
    text_printf(&t, "%s_%s(", s->name, f->name);
    for (int i = 0; i < f->inputs; i++)
        text_printf(&t, "Tensor %s, ", f->input[i].symbol);
    text_printf(&t, "%s) -> %s", graph_schema(s), f->outputs > 1 ? "(" : "");
    for (int o = 0; o < f->outputs; o++)
        text_printf(&t, "%sTensor", o ? ", " : "");
    text_puts(&t, f->outputs > 1 ? ")" : "");
    struct emit_list l = emit_list_open(out, "    library.def(\"");
    const char *at = text_string(&t);
    while (*at) {
        size_t n = strcspn(at, " ");
        n += at[n] == ' ';
        if (l.column + n > 105) {
            text_puts(out, "\"\n                \"");
            l.column = l.indent;
        }
        text_put(out, at, n);
        l.column += n;
        at += n;
    }
    text_puts(out, "\");\n");
}

void emit_torch_operators(struct text *out, const struct emission *e)
{
    const struct plan *plan = e->schedules->plan;
    const struct spec *s = plan->problem->spec;
    const bool cuda = e->backend == &backend_cuda;
    emit_banner(out, plan, cuda ? "operators of PyTorch, on CUDA" : "operators of PyTorch, on CPUs");
    text_printf(out, "%s#include \"%s.h\"\n#include \"cgtp_torch.h\"\n\n",
                cuda ? "#define USE_CUDA /* PyTorch then declares streams and guards */\n" : "", s->name);
    text_puts(out, "/* CGTP_TORCH_NO_DEF: the library of another backend, loaded before, defines them. */\n"
                   "#ifndef CGTP_TORCH_NO_DEF\nSTABLE_TORCH_LIBRARY_FRAGMENT(cgtp, library)\n{\n");
    for (int k = 0; k < plan->kernels; k++)
        schema(out, s, plan->kernel[k].form);
    text_printf(out, "}\n#endif\n\nSTABLE_TORCH_LIBRARY_IMPL(cgtp, %s, library)\n{\n", cuda ? "CUDA" : "CPU");
    for (int k = 0; k < plan->kernels; k++)
        text_printf(out, "    library.impl(\"%s_%s\", cgtp_torch::call<%s_product, %d>);\n", s->name,
                    plan->kernel[k].form->name, s->name, k);
    text_puts(out, "}\n");
}

/* ---- NAME.py: the product as data ---- */

/* One of the entries {"key": ..} of a mapping, on a line of its own where this one is full. */
static void entry(struct emit_list *l, const char *key, const char *value, bool last)
{
    emit_list_add(l, arena_printf(l->out->arena, "\"%s\": %s", key, value), last ? "},\n" : ",");
}

static const char *quoted(struct arena *a, const char *s)
{
    return arena_printf(a, "\"%s\"", s);
}

static void irreps_entry(struct text *out, const char *slot, const struct irreps *r)
{
    const char *s = irreps_text(out->arena, r);
    text_printf(out, "            \"%s\": \"", slot);
    for (size_t column = 18; *s;) {
        size_t n = strcspn(s, "+");
        n += s[n] == '+';
        if (column + n > 105) {
            text_puts(out, "\"\n                 \"");
            column = 18;
        }
        text_put(out, s, n);
        column += n;
        s += n;
    }
    text_puts(out, "\",\n");
}

/* "same x", "cotangent z": what the array is to the parent's. */
static const char *kin_words(struct arena *a, const struct kernel_form *parent, struct lineage l, bool output)
{
    static const char *const word[] = {
        [KIN_SAME] = "same", [KIN_COTANGENT] = "cotangent", [KIN_TANGENT] = "tangent"};
    bool of_output = output ? l.kin == KIN_TANGENT : l.kin == KIN_COTANGENT;
    return arena_printf(a, "\"%s %s\"", word[l.kin],
                        of_output ? parent->output[l.number].name : parent->input[l.number].name);
}

static void kernel_arrays(struct text *out, const struct kernel_form *f)
{
    struct arena *a = out->arena;
    struct emit_list l = emit_list_open(out, "                inputs={");
    if (!f->inputs)
        text_puts(out, "},\n");
    for (int i = 0; i < f->inputs; i++)
        entry(&l, f->input[i].name,
              arena_printf(a, "\"%s%c\"", f->input[i].tangent ? "d " : "", slot_word[f->input[i].slot]),
              i + 1 == f->inputs);
    l = emit_list_open(out, "                outputs={");
    for (int o = 0; o < f->outputs; o++)
        entry(&l, f->output[o].name, arena_printf(a, "\"%c\"", slot_word[f->output[o].slot]),
              o + 1 == f->outputs);
    text_puts(out, "                terms={\n");
    for (int o = 0; o < f->outputs; o++) {
        const struct form_output *q = &f->output[o];
        l = emit_list_open(out, arena_printf(a, "                    \"%s\": [", q->name));
        if (!q->terms)
            text_puts(out, "],\n");
        for (int t = 0; t < q->terms; t++) {
            struct text term = {.arena = a};
            form_term_print(&term, f, &q->term[t]);
            emit_list_add(&l, quoted(a, text_string(&term)), t + 1 < q->terms ? "," : "],\n");
        }
    }
    text_puts(out, "                },\n");
}

static void kernel_data(struct text *out, const struct form *form, const struct kernel_form *f)
{
    struct arena *a = out->arena;
    text_printf(out, "            Kernel(\n                \"%s\",\n", f->name);
    kernel_arrays(out, f);
    const struct kernel_form *parent = form_parent(form, f);
    if (parent) {
        text_printf(out, "                of=\"%s\",\n", parent->name);
        struct emit_list l = emit_list_open(out, "                kin={");
        for (int i = 0; i < f->inputs; i++)
            entry(&l, f->input[i].name, kin_words(a, parent, f->input[i].lineage, false), false);
        for (int o = 0; o < f->outputs; o++)
            entry(&l, f->output[o].name, kin_words(a, parent, f->output[o].lineage, true),
                  o + 1 == f->outputs);
    }
    text_puts(out, "            ),\n");
}

/* A number of Python that is no integer. */
static const char *real_text(struct arena *a, double value)
{
    const char *s = arena_printf(a, "%.17g", value);
    return strpbrk(s, ".e") ? s : arena_printf(a, "%s.0", s);
}

static void instructions(struct text *out, const struct problem *p)
{
    text_puts(out, "        instructions=(\n");
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        int shape[AXES_MOST], rank = path_weight_shape(q, shape);
        text_printf(out, "            Instruction(%d, %d, %d, \"%s\", %s, %s, (", q->x, q->y, q->z,
                    mode_table[q->mode].name, q->weighted ? "True" : "False",
                    real_text(out->arena, surd_double(q->coefficient)));
        for (int d = 0; d < rank; d++)
            text_printf(out, "%s%d", d ? ", " : "", shape[d]);
        text_puts(out, rank == 1 ? ",)),  # " : ")),  # ");
        surd_print(out, q->coefficient);
        text_puts(out, "\n");
    }
    text_puts(out, "        ),\n");
}

/* torch's type of a slot's arrays has the spec's name. */
static const char *dtype(const struct spec *s, enum slot slot)
{
    return precision_table[s->storage[slot]].name;
}

static void product_data(struct text *out, const struct plan *plan)
{
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    text_printf(out,
                "PRODUCT = register(\n    Product(\n        name=\"%s\",\n        digest=\"%s\",\n"
                "        dtype={\"x\": torch.%s, \"y\": torch.%s, \"w\": torch.%s, \"z\": torch.%s},\n       "
                " edges=%s,\n        index_dtype=torch.%s,\n"
                "        irreps={\n",
                s->name, plan->digest, dtype(s, SLOT_X), dtype(s, SLOT_Y), dtype(s, SLOT_W), dtype(s, SLOT_G),
                !spec_is_graph(s) ? "None"
                : s->sorted       ? "\"sorted\""
                                  : "\"any\"",
                s->index64 ? "int64" : "int32");
    irreps_entry(out, "x", &p->x);
    irreps_entry(out, "y", &p->y);
    irreps_entry(out, "z", &p->z);
    text_printf(out, "        },\n        dim={\"x\": %lld, \"y\": %lld, \"w\": %lld, \"z\": %lld},\n",
                (long long)p->dim[SLOT_X], (long long)p->dim[SLOT_Y], (long long)p->dim[SLOT_W],
                (long long)p->dim[SLOT_G]);
    text_printf(out, "        index={\"x\": \"%s\", \"y\": \"%s\", \"w\": \"%s\", \"z\": \"%s\"},\n",
                index_name[s->index[SLOT_X]], index_name[s->index[SLOT_Y]], index_name[s->index[SLOT_W]],
                index_name[s->index[SLOT_G]]);
    text_printf(out, "        layout={\"x\": \"%s\", \"y\": \"%s\", \"z\": \"%s\"},\n",
                layout_name[s->layout[SLOT_X]], layout_name[s->layout[SLOT_Y]],
                layout_name[s->layout[SLOT_G]]);
    instructions(out, p);
    text_puts(out, "        kernels=(\n");
    for (int k = 0; k < plan->kernels; k++)
        kernel_data(out, plan->form, plan->kernel[k].form);
    text_puts(out, "        ),\n    ),\n    __file__,\n)\n");
}

/* ---- NAME.py: the module ---- */

/* A line of the module's documentation: the shape of a slot's argument. */
static void shape_line(struct text *out, const struct plan *plan, enum slot slot, const char *what)
{
    const struct spec *s = plan->problem->spec;
    enum index_kind index = s->index[slot];
    const char *rows = index == INDEX_ITEM && !spec_is_graph(s) ? "items" : index_words[index].shape;
    text_printf(out, "        %-7s [%s%s%lld], torch.%s\n", what, index == INDEX_SHARED ? "" : rows,
                index == INDEX_SHARED ? "" : ", ", (long long)plan->problem->dim[slot], dtype(s, slot));
}

static void module(struct text *out, const struct plan *plan)
{
    const struct spec *s = plan->problem->spec;
    const bool graph = spec_is_graph(s);
    const char *name = graph ? "Convolution" : "TensorProduct";
    text_printf(out, "\n\nclass %s(cgtp_torch.%s):\n    \"\"\"", name, name);
    if (graph)
        text_puts(
            out,
            "Sums products over the edges of a graph: z = layer(x, y, weight, edge_index).\n\n"
            "    Edges may be in any order; `prepare_graph(edge_index, nodes)` prepares them ahead.\n\n");
    else
        text_puts(out, "Stands for an `e3nn.o3.TensorProduct`: z = layer(x, y, weight).\n\n");
    shape_line(out, plan, SLOT_X, "x");
    shape_line(out, plan, SLOT_Y, "y");
    if (plan->problem->weight_numel)
        shape_line(out, plan, SLOT_W, "weight");
    shape_line(out, plan, SLOT_G, "z");
    text_puts(out, "\n    All are of one device.\n    \"\"\"\n\n    product = PRODUCT\n");
}

void emit_torch_module(struct text *out, const struct plan *plan)
{
    const bool graph = spec_is_graph(plan->problem->spec);
    const char *name = plan->problem->spec->name;
    emit_banner_python(out, plan, "a module of PyTorch, and the operators that it calls");
    text_printf(out,
                "\"\"\"%s: `%s`, a module; `PRODUCT`, its facts; operators `torch.ops.cgtp.%s_*`.\"\"\"\n",
                name, graph ? "Convolution" : "TensorProduct", name);
    text_printf(out,
                "import torch\n\nfrom . import cgtp_torch\n%s"
                "from .cgtp_torch_ops import Instruction, Kernel, Product, register\n\n",
                graph ? "from .cgtp_torch import Graph, prepare_graph\n" : "");
    text_printf(out, "__all__ = [\"PRODUCT\", %s]\n\n",
                graph ? "\"Convolution\", \"Graph\", \"prepare_graph\"" : "\"TensorProduct\"");
    product_data(out, plan);
    module(out, plan);
}

/* ---- the package ---- */

void emit_torch_project(struct text *out)
{
    text_puts(
        out, "# Generated by cgtpgen: builds the products of this folder as one package. setup.py says how.\n"
             "[build-system]\nrequires = [\"setuptools>=70.1\"]\nbuild-backend = "
             "\"setuptools.build_meta\"\n");
}

void emit_torch_setup(struct text *out)
{
    text_puts(
        out,
        "# Generated by cgtpgen: builds the products of this folder as one package, named like the folder, "
        "by\n"
        "#\n"
        "#     pip install --no-build-isolation .\n"
        "#\n"
        "# cgtp_build.py of cgtpgen's runtime does the work, and says by which variables it can be told "
        "how.\n"
        "# The runtime is looked for in $CGTP_RUNTIME, in ./runtime and where cgtpgen is installed.\n"
        "import os\nimport subprocess\nimport sys\n\n"
        "HERE = os.path.dirname(os.path.abspath(__file__))\n\n\n"
        "def runtime():\n"
        "    \"\"\"The folder of cgtpgen's runtime.\"\"\"\n"
        "    told = [os.environ.get(\"CGTP_RUNTIME\"), os.path.join(HERE, \"runtime\")]\n"
        "    try:\n"
        "        told.append(subprocess.check_output([\"pkg-config\", \"--variable=datadir\", \"cgtpgen\"], "
        "text=True,\n"
        "                                            stderr=subprocess.DEVNULL).strip())\n"
        "    except (OSError, subprocess.CalledProcessError):\n"
        "        pass\n"
        "    for folder in told:\n"
        "        if folder and os.path.exists(os.path.join(folder, \"cgtp_build.py\")):\n"
        "            return folder\n"
        "    sys.exit(\"cgtpgen's runtime is not found: set CGTP_RUNTIME to its folder, the one with "
        "cgtp.h\")\n"
        "\n\n"
        "sys.dont_write_bytecode = True  # in the runtime's folder\n"
        "sys.path.insert(0, runtime())\n"
        "import cgtp_build  # noqa: E402\n\n"
        "cgtp_build.setup(HERE)\n");
}
