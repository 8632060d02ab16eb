/* jax.c - see jax.h. */
#include "emit/jax.h"
#include "emit/emit.h"
#include "emit/python.h"

void emit_jax_handlers(struct text *out, const struct emission *e)
{
    const struct plan *plan = e->schedules->plan;
    const char *name = plan->problem->spec->name;
    const bool cuda = e->backend == &backend_cuda;
    emit_banner(out, plan, cuda ? "handlers that XLA calls, on CUDA" : "handlers that XLA calls, on CPUs");
    text_printf(out, "%s#include \"%s.h\"\n#include \"cgtp_jax.h\"\n\n",
                cuda ? "#define CGTP_JAX_CUDA /* handlers then take XLA's stream */\n" : "", name);
    for (int k = 0; k < plan->kernels; k++)
        text_printf(out, "CGTP_JAX_HANDLER(cgtp_xla_%s_%s, %s_product, %d);\n", name,
                    plan->kernel[k].form->name, name, k);
}

/* ---- NAME_jax.py ---- */

static void function_of_items(struct text *out)
{
    text_puts(out, "\n\ndef tensor_product(x, y, weight=None):\n    \"\"\"Computes what an "
                   "`e3nn.o3.TensorProduct` does: z = tensor_product(x, y, weight).\n\n");
}

static void function_of_edges(struct text *out)
{
    text_puts(
        out,
        "\n\ndef convolve(x, y, weight, graph, *, receivers=None, sender_row=0):\n"
        "    \"\"\"Sums products over the edges of a graph: z = convolve(x, y, weight, graph).\n\n"
        "    The graph is one of `prepare_graph`, or an edge_index [2, edges], which is then sorted by each "
        "call.\n\n");
}

static void function(struct text *out, const struct plan *plan)
{
    const bool graph = spec_is_graph(plan->problem->spec);
    (graph ? function_of_edges : function_of_items)(out);
    emit_python_shapes(out, plan, "");
    text_printf(out, "    \"\"\"\n    return cgtp_jax.%s(PRODUCT, x, y, weight%s)\n",
                graph ? "convolve" : "tensor_product", graph ? ", graph, receivers, sender_row" : "");
}

void emit_jax_module(struct text *out, const struct plan *plan)
{
    const bool graph = spec_is_graph(plan->problem->spec);
    const char *word = graph ? "convolve" : "tensor_product";
    emit_banner_python(out, plan, "a function of JAX, and the kernels that it calls");
    text_printf(out, "\"\"\"%s: `%s`, a function; `PRODUCT`, its facts, and its kernels.\"\"\"\n",
                plan->problem->spec->name, word);
    text_printf(out,
                "import jax.numpy as jnp\n\nfrom . import cgtp_jax\n%sfrom .cgtp_jax_ops import register\n"
                "from .cgtp_product import Instruction, Kernel, Product\n\n",
                graph ? "from .cgtp_jax import Graph, prepare_graph\n" : "");
    text_printf(out, "__all__ = [\"PRODUCT\", \"%s\"%s]\n\n", word,
                graph ? ", \"Graph\", \"prepare_graph\"" : "");
    emit_python_product(out, plan, "jnp.");
    function(out, plan);
}
