/* backend_cuda.c - CUDA C++: a row of backend_table. */
#include "emit/backend.h"
#include "emit/emit_cuda.h"

static const void *schedule(struct arena *a, struct plan *plan, const struct device *device)
{
    return plan_cuda(a, plan, device);
}

static void print(struct text *out, const struct program *p)
{
    plan_cuda_print(out, p->schedule);
}

static void json(struct text *out, const struct program *p, int kernel)
{
    plan_cuda_json(out, p->schedule, kernel);
}

static void kernel_source(struct text *out, const struct program *p, int kernel)
{
    emit_cuda_kernel(out, p->schedule, kernel);
}

const struct backend backend_cuda = {
    .name = "cuda",
    .device = "sm_90",
    .suffix = ".cu",
    .schedule = schedule,
    .kernel = kernel_source,
    .print = print,
    .json = json,
};
