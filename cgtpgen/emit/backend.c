/* backend.c - see backend.h. */
#include "emit/backend.h"

const struct backend *const backend_table[] = {&backend_cuda, &backend_c};
const int backend_count = sizeof backend_table / sizeof *backend_table;

const struct program *program_build(struct arena *a, const struct backend *backend,
                                    const struct device *device, struct plan *plan)
{
    struct program *p = NEW(a, struct program);
    *p = (struct program){.backend = backend, .device = device, .plan = plan};
    if (backend->schedule)
        p->schedule = backend->schedule(a, plan, device);
    return p;
}

void program_print(struct text *out, const struct program *p)
{
    plan_print(out, p->plan);
    if (p->backend->print)
        p->backend->print(out, p);
}
