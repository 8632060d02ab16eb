/* launch.c - see launch.h. */
#include "launch.h"

#include "device.h"
#include "memory.h"

#include <stdlib.h>

uint64_t launch_seed(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

static int64_t elements(const cgtp_product *p, const struct ref_graph *g, cgtp_slot slot)
{
    return driver_rows(p, g, slot) * p->dim[slot];
}

/* WORKSPACE=n in the environment: a part of what the kernel asks for, or the least. */
static size_t workspace_bytes(const cgtp_kernel *k, const struct driver_graph *d)
{
    const char *said = getenv("WORKSPACE");
    const size_t least = k->workspace_least(d->graph), part = k->workspace(d->graph) / (size_t)(said ? atoi(said) : 1);
    return part < least ? least : part;
}

size_t launch_bytes(const cgtp_product *p, const cgtp_kernel *k, const struct ref_graph *g,
                    const struct driver_graph *d)
{
    size_t bytes = workspace_bytes(k, d);
    for (int i = 0; i < k->inputs; i++)
        bytes += (size_t)elements(p, g, k->input[i].slot) * cgtp_type_size(p->type[k->input[i].slot]);
    for (int o = 0; o < k->outputs; o++)
        bytes += (size_t)elements(p, g, k->output[o].slot) * cgtp_type_size(p->type[k->output[o].slot]);
    return bytes;
}

void launch_new(struct launch *l, const cgtp_product *p, const cgtp_kernel *k, const struct ref_graph *g,
                const struct driver_graph *d)
{
    *l = (struct launch){.product = p, .kernel = k, .graph = g, .prepared = d};
    if (k->inputs > LAUNCH_ARRAYS || k->outputs > LAUNCH_ARRAYS)
        abort();
    for (int i = 0; i < k->inputs; i++) {
        int64_t n = elements(p, g, k->input[i].slot);
        const cgtp_type type = p->type[k->input[i].slot];
        l->in[i] = memory_new((size_t)n * cgtp_type_size(type));
        device_fill(l->in[i], type, launch_seed(k->input[i].name), n, NULL);
    }
    for (int o = 0; o < k->outputs; o++) {
        l->out_bytes[o] = (size_t)elements(p, g, k->output[o].slot) * cgtp_type_size(p->type[k->output[o].slot]);
        l->out[o] = memory_new(l->out_bytes[o]);
    }
    l->workspace_bytes = workspace_bytes(k, d);
    l->workspace = memory_new(l->workspace_bytes);
    launch_clear(l, NULL);
    device_wait(NULL);
}

void launch_free(struct launch *l)
{
    for (int i = 0; i < l->kernel->inputs; i++)
        memory_free(l->in[i]);
    for (int o = 0; o < l->kernel->outputs; o++)
        memory_free(l->out[o]);
    memory_free(l->workspace);
}

void launch_clear(struct launch *l, void *stream)
{
    for (int o = 0; o < l->kernel->outputs; o++)
        device_set(l->out[o], 0xff, l->out_bytes[o], stream);
    device_set(l->workspace, 0xff, l->workspace_bytes, stream);
}

cgtp_status launch_run(struct launch *l, void *stream)
{
    return l->kernel->run(l->prepared->graph, (const void *const *)l->in, l->out, NULL, l->workspace,
                          l->workspace_bytes, stream);
}

uint64_t launch_hash(const struct launch *l)
{
    uint64_t sum = 0;
    for (int o = 0; o < l->kernel->outputs; o++)
        sum = 31 * sum + device_hash(l->out[o], l->out_bytes[o]);
    return sum;
}
