/* launch.h - a kernel with arrays of its own on the device, to be launched often. */
#ifndef TEST_GPU_LAUNCH_H
#define TEST_GPU_LAUNCH_H

#include "driver.h"

enum { LAUNCH_ARRAYS = 16 };

struct launch {
    const cgtp_product *product;
    const cgtp_kernel *kernel;
    const struct ref_graph *graph;       /* on the host */
    const struct driver_graph *prepared; /* the same on the device */
    void *in[LAUNCH_ARRAYS], *out[LAUNCH_ARRAYS], *workspace;
    size_t out_bytes[LAUNCH_ARRAYS], workspace_bytes;
};

/* Element i of the input of that name is random_at(launch_seed(name), i). */
uint64_t launch_seed(const char *name);

/* Device memory that launch_new would take. */
size_t launch_bytes(const cgtp_product *, const cgtp_kernel *, const struct ref_graph *,
                    const struct driver_graph *);

/* Inputs are filled, outputs and workspace are NaNs. Both graphs must outlive it. */
void launch_new(struct launch *, const cgtp_product *, const cgtp_kernel *, const struct ref_graph *,
                const struct driver_graph *);
void launch_free(struct launch *);

/* Outputs and workspace become NaNs, in stream order. */
void launch_clear(struct launch *, void *stream);
cgtp_status launch_run(struct launch *, void *stream);

/* A number that differs when any bit of any output does. Waits. */
uint64_t launch_hash(const struct launch *);

#endif
