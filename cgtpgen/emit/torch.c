/* torch.c - see torch.h. */
#include "emit/torch.h"
#include "emit/emit.h"
#include "emit/python.h"

#include <string.h>

/* ---- NAME_torch.cpp ---- */

/* What follows the arrays in the arguments of an operator. */
static const char *graph_schema(const struct spec *s)
{
    return !spec_is_graph(s) ? "SymInt items"
           : !s->sorted      ? "Tensor sender, Tensor receiver, SymInt senders, SymInt receivers, Tensor? "
                               "fault=None"
                             : "Tensor sender, Tensor receiver, Tensor receiver_row, Tensor by_sender, "
                               "Tensor sender_row, Tensor? fault=None";
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
    text_printf(out, "%s#include \"%s.h\"\n#include \"cgtp_torch%s.h\"\n\n",
                cuda ? "#define USE_CUDA /* PyTorch then declares streams and guards */\n" : "", s->name,
                spec_is_graph(s) ? "_graph" : "");
    text_puts(out, "/* CGTP_TORCH_NO_DEF: the library of another backend, loaded before, defines them. */\n"
                   "#ifndef CGTP_TORCH_NO_DEF\nSTABLE_TORCH_LIBRARY_FRAGMENT(cgtp, library)\n{\n");
    for (int k = 0; k < plan->kernels; k++)
        schema(out, s, plan->kernel[k].form);
    text_puts(out, "}\n");
    if (spec_is_graph(s))
        text_printf(out,
                    "STABLE_TORCH_LIBRARY_FRAGMENT(cgtp_graph, library)\n{\n"
                    "    cgtp_torch::define_graph<%s_product>(library);\n}\n",
                    s->name);
    const char *device = cuda ? "CUDA" : "CPU";
    text_printf(out, "#endif\n\nSTABLE_TORCH_LIBRARY_IMPL(cgtp, %s, library)\n{\n", device);
    for (int k = 0; k < plan->kernels; k++)
        text_printf(out, "    library.impl(\"%s_%s\", cgtp_torch::call<%s_product, %d>);\n", s->name,
                    plan->kernel[k].form->name, s->name, k);
    text_puts(out, "}\n");
    if (spec_is_graph(s))
        text_printf(out,
                    "STABLE_TORCH_LIBRARY_IMPL(cgtp_graph, %s, library)\n{\n"
                    "    cgtp_torch::implement_graph<%s_product>(library);\n}\n",
                    device, s->name);
}

/* ---- NAME.py: the module ---- */

static void module(struct text *out, const struct plan *plan)
{
    const bool graph = spec_is_graph(plan->problem->spec);
    const char *name = graph ? "Convolution" : "TensorProduct";
    text_printf(out, "\n\nclass %s(cgtp_torch.%s):\n    \"\"\"", name, name);
    if (graph)
        text_puts(
            out,
            "Sums products over the edges of a graph: z = layer(x, y, weight, edge_index).\n\n"
            "    Edges may be in any order; `prepare_graph(edge_index, nodes)` prepares them ahead.\n\n");
    else
        text_puts(out, "Stands for an `e3nn.o3.TensorProduct`: z = layer(x, y, weight).\n\n");
    emit_python_shapes(out, plan, "torch.");
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
    text_printf(
        out,
        "import torch\n\nfrom . import cgtp_torch\n%s"
        "from .cgtp_product import Instruction, Kernel, Product\nfrom .cgtp_torch_ops import register\n\n",
        graph ? "from .cgtp_torch import Graph, prepare_graph\n" : "");
    text_printf(out, "__all__ = [\"PRODUCT\", %s]\n\n",
                graph ? "\"Convolution\", \"Graph\", \"prepare_graph\"" : "\"TensorProduct\"");
    emit_python_product(out, plan, "torch.");
    module(out, plan);
}
