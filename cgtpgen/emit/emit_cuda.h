/* emit_cuda.h - the CUDA backend: what its parts share. */
#ifndef CGTPGEN_EMIT_CUDA_H
#define CGTPGEN_EMIT_CUDA_H

#include "emit/emit.h"
#include "emit/emit_body.h"
#include "schedule/plan_cuda.h"

/* NAME.h, NAME.c (the descriptor), NAME_<kernel>.cu one a kernel. Returns the number of files. */
int emit_cuda(struct arena *, const struct gpu_plan *, unsigned what, struct output_file **files);

/* One kernel while it is written. */
struct cuda_writer {
    struct arena *arena;
    struct text *out;
    const struct gpu_plan *gpu;
    const struct problem *problem;
    const struct spec *spec;
    const struct gpu_kernel *kernel;
    const struct kernel_form *form;
    const struct gpu_pass *pass; /* the current one */
    bool graph;
};

/* What the kernels and the workspace of a pass are named by. */
const char *cuda_owner(const struct gpu_pass *);

/* Queues of tiles that its warps take from. */
int conv_queues(const struct gpu_pass *);

/* name + offset */
const char *cuda_plus(struct cuda_writer *, const char *name, int64_t offset);

/* The device code of a pass by the pipelined convolution (emit_cuda_conv.c), and of the kernels that finish
 * its outputs. */
void emit_cuda_conv(struct cuda_writer *);

/* Its launches; C expressions of how many partial rows and counters they need. */
void emit_cuda_conv_launch(struct cuda_writer *);
const char *conv_partial_rows(struct cuda_writer *, const struct gpu_pass *);
const char *conv_counters(struct cuda_writer *, const struct gpu_pass *);

/* Kernels that sum what a convolution's warps left for an output of x (a buffer of edges) or of y (shares of
 * edges). */
void emit_cuda_gather(struct cuda_writer *, const struct form_output *);
void emit_cuda_parts_sum(struct cuda_writer *, const struct form_output *);

/* Bytes of an element; components of a segment of x. */
int cuda_size(const struct cuda_writer *);
int cuda_components_x(const struct cuda_writer *, int x);

/* The device code of a pass by the general evaluation (emit_cuda_general.c). */
void emit_cuda_general(struct cuda_writer *);

/* Its launches. */
void emit_cuda_general_launch(struct cuda_writer *);

#endif
