/* plan_cuda_print.c - a plan for a GPU as text: --print=plan, and the banners of generated files. */
#include "schedule/plan_cuda.h"

#include <string.h>

/* "path 3" or "paths 0-3, 5": those listed. */
static void print_numbers(struct text *out, int paths, const bool *listed)
{
    int n = 0;
    for (int i = 0; i < paths; i++)
        n += listed[i];
    text_printf(out, n == 1 ? "path" : "paths");
    for (int i = 0, first = 1; i < paths; i++) {
        int end = i;
        while (end < paths && listed[end])
            end++;
        if (end == i)
            continue;
        text_printf(out, "%s %d", first ? "" : ",", i);
        if (end - i > 1)
            text_printf(out, "%s%d", end - i > 2 ? "-" : ", ", end - 1);
        first = 0;
        i = end;
    }
}

/* The reasons of a general pass, each with its paths. */
static void print_reasons(struct text *out, int paths, const char *const *reason)
{
    bool *alike = NEW_ARRAY(out->arena, bool, paths + 1), *done = NEW_ARRAY(out->arena, bool, paths + 1);
    for (int i = 0; i < paths; i++) {
        if (!reason[i] || done[i])
            continue;
        for (int j = 0; j < paths; j++) {
            alike[j] = reason[j] && strcmp(reason[j], reason[i]) == 0;
            done[j] |= alike[j];
        }
        text_printf(out, "  ");
        print_numbers(out, paths, alike);
        text_printf(out, ": %s\n", reason[i]);
    }
}

static void print_pass(struct text *out, const struct plan *plan, const struct gpu_pass *g)
{
    int paths = plan->problem->paths;
    bool *own = NEW_ARRAY(out->arena, bool, paths + 1), all = true;
    for (int i = 0; i < paths; i++)
        all &= own[i] = g->pass->variant_of[i] >= 0;
    if (g->evaluation == GPU_GENERAL) {
        if (g->before)
            text_printf(out, "general, adds what the convolution leaves\n");
        else
            text_printf(out, "general (%s)\n", g->reason);
        if (g->path_reason)
            print_reasons(out, paths, g->path_reason);
        return;
    }
    text_printf(out, "pipelined convolution");
    if (!all) {
        text_printf(out, " of ");
        print_numbers(out, paths, own);
    }
    text_printf(
        out, "%s\n  %d stages, %d warps per block, %d blocks per multiprocessor, %d bytes shared per block\n",
        g->edge_buffer ? ", gradients of x through a buffer of edges" : "", g->stages, g->warps, g->blocks,
        g->block->bytes);
    for (int s = 0; s < g->segments; s++) {
        const struct gpu_segment *q = &g->segment[s];
        text_printf(
            out,
            "  path set %d: %s of %s, %d per lane in %s; %d registers; stage %d bytes; %d instructions per "
            "edge\n",
            s, plural(out->arena, q->paths, "path"), plural(out->arena, q->mul, "channel"), q->channels,
            plural(out->arena, q->groups, "channel block"), q->registers, q->stage.bytes, q->work);
    }
}

void plan_cuda_print_kernel(struct text *out, const struct plan *plan, const struct gpu_kernel *k)
{
    for (int p = 0; p < k->passes; p++) {
        const struct gpu_pass *g = &k->pass[p];
        text_printf(out, "kernel %s, ", g->name);
        if (g->evaluation == GPU_GENERAL)
            text_printf(out, "by %s, ", index_name[g->pass->owner]);
        print_pass(out, plan, &k->pass[p]);
    }
}

void plan_cuda_print(struct text *out, const struct gpu_plan *gpu)
{
    text_printf(out, "GPU plan for %s\n", gpu->arch);
    for (int i = 0; i < gpu->plan->kernels; i++)
        plan_cuda_print_kernel(out, gpu->plan, &gpu->kernel[i]);
}
