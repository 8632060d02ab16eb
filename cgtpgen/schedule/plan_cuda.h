/* plan_cuda.h - how a GPU computes the passes of a plan: who owns what, what lives in registers, what
 * streams.
 *
 * The pipelined convolution evaluates passes of channelwise products over graphs sorted by receiver. A warp
 * owns a segment of paths, 32 V channels (a group) and a contiguous range of edges. It keeps operands and
 * outputs of slot z of its segment in registers while the receiver stays the same, and brings the rows of
 * each edge through a private ring of stages in shared memory by asynchronous copies. The general evaluation
 * computes everything else: a warp owns a row. Where some paths of a pass are for the convolution and others
 * are not, two passes on the GPU compute it: the convolution, then a general one that adds to its outputs.
 */
#ifndef CGTPGEN_PLAN_CUDA_H
#define CGTPGEN_PLAN_CUDA_H

#include "plan/plan.h"
#include "schedule/layout.h"

enum gpu_evaluation { GPU_CONVOLUTION, GPU_GENERAL };

/* Items whose A outputs a team exchanges before it sums them. */
enum { TEAM_ITEMS = 8 };

/* Neighbouring lanes of a warp. */
enum { LANES = 32 };

/* Paths computed together by a warp; all of the convolution's into a segment of z, where there is one. */
struct gpu_segment {
    int paths, *path;      /* numbers, in the order of computation */
    int xs, *x;            /* segments of x they read */
    int zs, *z;            /* of the paths, the first into each segment of z, in the same order */
    int mul;               /* channels of all of them */
    int channels;          /* V: neighbouring channels of a lane */
    int groups;            /* warps that share the channels: mul / (32 V) */
    int registers;         /* predicted, of a thread */
    int g_length;          /* elements of outputs of slot z that a lane holds */
    struct layout stage;   /* what a warp brings in for an edge */
    struct layout edge;    /* gradients of x on their way out: a slice per segment of x and output */
    struct layout staging; /* through which rows leave: of z in batches, of x by edge */
    struct layout warp;    /* of a warp: its ring of stages, the staging, its tile */
    struct layout reduce;  /* of a warp group: outputs of slot y, which its warps sum */
    struct layout lane;    /* a lane's elements of an operand of slot z */
    int longest, x_bytes;  /* of the longest segment of z, of the gradients of x */
    int bytes;             /* moved an edge, from and to L2 or beyond */
    int work;              /* instructions an edge, to divide the multiprocessors */
    int part_at;           /* its first among the parts of an item's A output */
    int edge_at; /* gradients of x go through a buffer of edges: where this segment's begin in its row */
};

struct gpu_pass {
    const char *name;        /* kernel and evaluation: backward_convolution; what its device code is called */
    const struct pass *pass; /* of its own paths, which alone have a variant; of the plan's outputs or,
                                together, all of the kernel's */
    enum gpu_evaluation evaluation;
    /* the convolution: */
    double cost; /* an edge, in instructions; weighted by occupancy and division */
    bool spills; /* no choice of segments fits into registers */
    int segments;
    struct gpu_segment *segment;
    const struct matrix **matrix; /* [paths]; scaled where the path has its segment of z for itself */
    int stages, warps;            /* of a ring; of a block */
    int blocks;                   /* a multiprocessor must hold */
    int buffers, buffer_bytes;    /* of a warp, through which rows of z leave */
    struct layout *warp, *reduce; /* those of the path sets: unions, where there are several */
    struct layout *block;         /* shared memory */
    bool g_outputs, a_outputs, b_outputs, w_outputs;
    bool edge_buffer; /* B outputs are summed by a second kernel, in the order of by_sender */
    int edge_row;     /* elements of a row of that buffer, for each B output */
    /* A outputs, a_length elements an item: are the warps of a range a team of one block? Then they sum them
     * in shared memory (exchange), TEAM_ITEMS items at a time. */
    bool team, exchange;
    int a_length;
    int parts;        /* sums of one item's A output: a segment, or a warp where there are no teams */
    bool part_buffer; /* several are summed by a second kernel, in a fixed order; otherwise by atomics */
    /* the general evaluation: */
    const char *reason;        /* why; NULL: it has what a convolution leaves */
    const char **path_reason;  /* [paths], or NULL: why the path is not for the convolution; NULL: it is */
    const struct pass *before; /* the convolution's that has written the outputs, which this one adds to */
    int64_t scratch;           /* elements a warp needs for the vectors of contracted paths */
};

/* The name of an input's or output's part in layouts: of a path (slots w, z) or a segment of x; for slot y
 * its own. */
const char *gpu_field(struct arena *, const char *name, enum slot, int number);

/* Lays out a stage and a lane's elements; and, once the ring and the buffers are chosen, shared memory. */
void conv_layout_stage(struct arena *, const struct plan *, const struct kernel_form *,
                       const struct gpu_pass *, struct gpu_segment *);
void conv_layout_block(struct arena *, const struct plan *, const struct kernel_form *, struct gpu_pass *);

/* Names the structs of a pass; `first` is the number of its first path set in the file. */
void conv_layout_name(struct arena *, struct gpu_pass *, const char *kernel, int first);

/* Passes on the GPU, in the order of their launches. */
struct gpu_kernel {
    const struct kernel_plan *kernel;
    int passes;
    struct gpu_pass *pass;
};

struct gpu_plan {
    const struct plan *plan;
    const char *arch; /* sm_90, ..: the architecture the knobs are for */
    struct gpu_kernel *kernel;
    const char *fault; /* of the planner: what is wrong in a layout; NULL: nothing */
};

/* Reports planner knobs that do not exist or are out of range, of any architecture. */
void plan_cuda_check(const struct spec *, struct diag *);

/* Plans every kernel for one architecture; the spec's knobs for that architecture apply. */
struct gpu_plan *plan_cuda(struct arena *, struct plan *, const char *arch);

/* Does a convolution leave the path's block of this output (of slot w) to a general pass, as it does not
 * write it? */
bool gpu_leaves_weights(const struct form_output *, const struct pass *convolution, const struct path *);

/* The plan as a table, after plan_print's: all kernels, or one. */
void plan_cuda_print(struct text *, const struct gpu_plan *);
void plan_cuda_print_kernel(struct text *, const struct plan *, const struct gpu_kernel *);

#endif
