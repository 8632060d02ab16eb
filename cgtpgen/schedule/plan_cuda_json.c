/* plan_cuda_json.c - a plan for a GPU as JSON: its part of --print=json. */
#include "schedule/plan_cuda.h"

static void print_segment(struct text *out, const struct gpu_segment *q)
{
    text_printf(out, "\n        {\"paths\": [");
    for (int p = 0; p < q->paths; p++)
        text_printf(out, "%s%d", p ? ", " : "", q->path[p]);
    text_printf(out,
                "], \"channels\": %d, \"channels_per_lane\": %d, \"groups\": %d, \"registers\": %d, "
                "\"stage_bytes\": %d, \"instructions_per_edge\": %d}",
                q->mul, q->channels, q->groups, q->registers, q->stage_bytes, q->work);
}

/* Owner, outputs and paths as in the plan's passes; of a general one, why, and why by path where that is
 * decided by path. */
static void print_pass(struct text *out, const struct kernel_form *form, int paths, const struct gpu_pass *g)
{
    bool general = g->evaluation == GPU_GENERAL;
    pass_json(out, form, g->pass);
    text_printf(out, ", \"paths\": [");
    for (int i = 0, n = 0; i < paths; i++)
        if (g->pass->variant_of[i] >= 0)
            text_printf(out, "%s%d", n++ ? ", " : "", i);
    text_printf(out, "],\n       \"evaluation\": \"%s\"", general ? "general" : "convolution");
    if (general) {
        text_printf(out, ", \"adds\": %s, \"reason\": ", g->before ? "true" : "false");
        text_json(out, g->reason ? g->reason : "");
        text_printf(out, ", \"path_reasons\": {");
        for (int i = 0, n = 0; i < paths && g->path_reason; i++)
            if (g->path_reason[i]) {
                text_printf(out, "%s\"%d\": ", n++ ? ", " : "", i);
                text_json(out, g->path_reason[i]);
            }
        text_printf(out, "}}");
        return;
    }
    text_printf(
        out,
        ", \"stages\": %d, \"warps_per_block\": %d, \"blocks_per_multiprocessor\": %d,\n       "
        "\"shared_bytes_per_block\": %d, \"registers_most\": %d, \"edge_buffer\": %s, \"segments\": [",
        g->stages, g->warps, g->blocks, g->block_bytes, device_registers(g->device, g->blocks * g->warps),
        g->edge_buffer ? "true" : "false");
    for (int s = 0; s < g->segments; s++) {
        text_printf(out, "%s", s ? "," : "");
        print_segment(out, &g->segment[s]);
    }
    text_printf(out, "]}");
}

void plan_cuda_json(struct text *out, const struct gpu_plan *gpu, int kernel)
{
    const struct gpu_kernel *k = &gpu->kernel[kernel];
    text_printf(out, ",\n     \"gpu\": [");
    for (int i = 0; i < k->passes; i++) {
        text_printf(out, "%s", i ? ",\n      " : "");
        print_pass(out, k->kernel->form, gpu->plan->problem->paths, &k->pass[i]);
    }
    text_printf(out, "]");
}
