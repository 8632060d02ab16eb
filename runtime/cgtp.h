/* SPDX-License-Identifier: MIT */
/* cgtp.h - what generated code and its callers share: status codes, graphs, descriptors.
 *
 * C11 and C++; depends on libc only. The functions declared here are in cgtp.c; cgtp_check.h
 * and cgtp_ranks.h have more of graphs.
 */
#ifndef CGTP_H
#define CGTP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On every function and descriptor: they are visible outside of a shared library, with -fvisibility=hidden
 * too; -DCGTP_API= leaves it to that option. */
#ifndef CGTP_API
#ifdef __GNUC__
#define CGTP_API __attribute__((visibility("default")))
#else
#define CGTP_API
#endif
#endif

#define CGTP_ABI 8 /* generated code refuses to compile with another */

typedef enum cgtp_status {
    CGTP_OK = 0,
    CGTP_NULL_POINTER,  /* an array with elements, or the graph, is NULL */
    CGTP_MISALIGNED,    /* an array's base is not a multiple of 16 bytes, or its stride none of what rows are */
    CGTP_BAD_SIZE,      /* a negative number of items or rows, or more than can be addressed or, of edges, than an index
                           type numbers; edges between no nodes; a stride below a row */
    CGTP_BAD_GRAPH,     /* index out of range, edges not sorted, row pointers or permutation inconsistent */
    CGTP_WORKSPACE,     /* workspace missing or smaller than the least that the kernel takes */
    CGTP_LAUNCH_FAILED, /* the device refused the launch */
    CGTP_NOT_INDEXED,   /* receiver_row, by_sender or sender_row is NULL: cgtp_graph_index fills them */
    CGTP_NO_DEVICE,     /* CUDA finds no GPU, or no driver that is new enough */
    CGTP_NO_CODE,       /* the kernels were compiled for other GPUs than this */
    CGTP_STATUS_COUNT
} cgtp_status;

/* One line of English, never NULL. */
CGTP_API const char *cgtp_status_text(cgtp_status status);

/* What NAME_kernel_workspace says where NAME_kernel would refuse the call: the graph is NULL, a number of
 * items or rows is negative or, for the workspace or an array, more than can be addressed, sorted edges are more
 * than their index type numbers, or there are edges and no nodes. An allocation of so many bytes fails. */
#define CGTP_NO_WORKSPACE SIZE_MAX

/* Numbers of 16 bits, by their bits: bfloat16 (8 bits of exponent, 7 of mantissa, a float's upper half) and IEEE's
 * binary16 (5 and 10). PyTorch's, CUDA's and others' types of these names are the same in memory. */
typedef struct cgtp_bfloat16 {
    uint16_t bits;
} cgtp_bfloat16;
typedef struct cgtp_float16 {
    uint16_t bits;
} cgtp_float16;

/* Types of numbers. */
typedef enum cgtp_type { CGTP_FLOAT32, CGTP_FLOAT64, CGTP_BFLOAT16, CGTP_FLOAT16 } cgtp_type;

/* Bytes of a number. */
static inline size_t cgtp_type_size(cgtp_type type)
{
    return type == CGTP_FLOAT64 ? 8 : type == CGTP_FLOAT32 ? 4 : 2;
}

/* cudaStream_t on a GPU; ignored by the C backend. */
typedef void *cgtp_stream;

/* A directed graph as a list of edges (items); edge e goes from sender[e] to receiver[e]. Arrays belong to the caller. With
 * edges: sorted, receiver[] ascends, receiver_row/by_sender/sender_row are required (cgtp_graph_index fills them). With edges:
 * any they are not read, and edge e has row e of arrays of items; or, with `order`, the list is sorted and indexed too, edge e
 * has row order[e], and nobody sorts once more. A batch product called through cgtp_kernel.run reads only `items`. */
typedef struct cgtp_graph {
    int64_t items, senders,
        receivers; /* edges, rows of sender-indexed arrays, rows of receiver-indexed arrays */
    const int32_t *sender, *receiver; /* [items] */
    const int64_t *receiver_row; /* [receivers + 1]: edges receiver_row[r] .. receiver_row[r+1]-1 end at r */
    const int32_t *by_sender;    /* [items]: edge numbers sorted by (sender, edge number) */
    const int64_t *sender_row;   /* [senders + 1]: by_sender[sender_row[s] ..] are the edges from s */
    const int32_t *order;        /* [items] or NULL; with edges: sorted not read */
} cgtp_graph;

/* The same with 64-bit node indices (index_type: int64). */
typedef struct cgtp_graph64 {
    int64_t items, senders, receivers;
    const int64_t *sender, *receiver;
    const int64_t *receiver_row;
    const int64_t *by_sender;
    const int64_t *sender_row;
    const int64_t *order;
} cgtp_graph64;

/* Sort the edge list by receiver, those of one receiver in the order that they have, into sender, receiver and order [items],
 * none of them the graph's own (host memory), and point the graph at the first two: edge i is then what edge order[i] was, and
 * rows of y and w are to be put in that order by the caller, or with edges: any the graph is pointed at `order`. receiver_row
 * [receivers+1] is room to count in. The graph is to be indexed next. CGTP_BAD_GRAPH if an index is out of range, or an array
 * is the graph's own: then nothing changed. O(items + receivers). */
CGTP_API cgtp_status cgtp_graph_sort(cgtp_graph *graph, int32_t *sender, int32_t *receiver, int32_t *order,
                                     int64_t *receiver_row);
CGTP_API cgtp_status cgtp_graph64_sort(cgtp_graph64 *graph, int64_t *sender, int64_t *receiver, int64_t *order,
                                       int64_t *receiver_row);

/* Fill receiver_row [receivers+1], by_sender [items], sender_row [senders+1] (host memory) from the edge list and point the
 * graph at them. CGTP_BAD_GRAPH if an index is out of range or receivers do not ascend. O(items + nodes). */
CGTP_API cgtp_status cgtp_graph_index(cgtp_graph *graph, int64_t *receiver_row, int32_t *by_sender,
                                      int64_t *sender_row);
CGTP_API cgtp_status cgtp_graph64_index(cgtp_graph64 *graph, int64_t *receiver_row, int64_t *by_sender,
                                        int64_t *sender_row);

/* ---- descriptors: everything a generic caller (a test, a binding) needs to know about a generated product ---- */

typedef enum cgtp_slot { CGTP_X, CGTP_Y, CGTP_W, CGTP_Z, CGTP_SLOTS } cgtp_slot;
typedef enum cgtp_index { CGTP_ITEM, CGTP_SENDER, CGTP_RECEIVER, CGTP_SHARED } cgtp_index;

/* Where component i of channel u of an irreps segment (mul channels of 2l+1 components, from element `offset`
 * of a row on) is: at offset + u * (2l+1) + i, as in e3nn; or at offset + i * mul + u. */
typedef enum cgtp_layout { CGTP_MUL_IR, CGTP_IR_MUL } cgtp_layout;

/* An array of a kernel: its rows have dim[slot] elements, their number and meaning follow index[slot]. */
typedef struct cgtp_argument {
    const char *name; /* x, gz, d_w, ... */
    cgtp_slot slot;
    int tangent; /* inputs: 1 for a tangent or cotangent of the slot, 0 for a primal value; outputs: 0 */
} cgtp_argument;

/* Bytes of a workspace: item * items + sender * senders + receiver * receivers + worker * workers + call. Workers are the
 * GPU's multiprocessors or the host's threads; each area of it takes the next multiple of 128 bytes. */
typedef struct cgtp_memory {
    double item, sender, receiver, worker, call;
} cgtp_memory;

typedef struct cgtp_kernel {
    const char *name; /* forward, backward, ... */
    int inputs, outputs;
    const cgtp_argument *input, *output; /* in the order of the C function's parameters */
    double bytes_per_item;               /* least memory traffic: each item-indexed operand once */
    double flops_per_item;               /* planned arithmetic */
    /* The same functions as NAME_<kernel>_workspace and NAME_<kernel>, with arrays passed by position.
     * `graph` is a cgtp_graph or, with index_size 8, a cgtp_graph64. stride: [inputs + outputs], elements from a row of
     * each array to the next, read where the slot is `strided`; 0, and NULL for all: rows follow each other. */
    size_t (*workspace)(const void *graph);
    size_t (*workspace_least)(const void *graph); /* with which it works, too, and with any between both */
    cgtp_status (*run)(const void *graph, const void *const *input, void *const *output, const int64_t *stride,
                       void *ws, size_t ws_bytes, cgtp_stream stream);
    cgtp_memory memory;           /* of the workspace, of graphs with many edges at most; */
    cgtp_memory memory_reduction; /* what of it `reduction: atomic` would not need */
} cgtp_kernel;

typedef struct cgtp_path {
    int x, y, z;      /* segment numbers */
    const char *mode; /* uvw, uvu, ... */
    int weighted;
    int64_t weight_offset, weight_numel;
    double coefficient; /* a_p, rounded */
} cgtp_path;

typedef struct cgtp_product {
    int abi;                        /* CGTP_ABI of the generator */
    const char *name, *backend;     /* backend: "c" or "cuda" */
    const char *digest;             /* of the normalised spec */
    const char *irreps[CGTP_SLOTS]; /* x, y, NULL, z, in e3nn's notation, after expansion */
    int64_t dim[CGTP_SLOTS];        /* elements of a row of x, y, w, z */
    cgtp_index index[CGTP_SLOTS];
    cgtp_layout layout[CGTP_SLOTS]; /* of all arrays of x, y, z; w has none */
    int strided[CGTP_SLOTS];        /* 1: calls say how far rows of the slot's arrays are from each other */
    cgtp_type type[CGTP_SLOTS];     /* of the elements of all arrays of a slot; */
    cgtp_type compute, sum;         /* of arithmetic, of sums over items: CGTP_FLOAT32 or CGTP_FLOAT64 */
    int graph;                      /* 1: kernels take a graph; 0: a number of items */
    int sorted;                     /* edges: sorted */
    int index_size;                 /* 4 or 8: node indices */
    int paths, kernels;
    const cgtp_path *path;
    const cgtp_kernel *kernel;
} cgtp_product;

#ifdef __cplusplus
}
#endif

#endif
