/* SPDX-License-Identifier: MIT */
/* cgtp.h - what generated code and its callers share: status codes, graphs, descriptors.
 *
 * C11 and C++; depends on libc only. The functions declared here are in cgtp.c.
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

#define CGTP_ABI 7 /* generated code refuses to compile with another */

typedef enum cgtp_status {
    CGTP_OK = 0,
    CGTP_NULL_POINTER,  /* an array with elements, or the graph, is NULL */
    CGTP_MISALIGNED,    /* an array's base is not a multiple of 16 bytes, or its stride none of what rows are */
    CGTP_BAD_SIZE,      /* a negative number of items or rows, or more than can be addressed or, of edges, than an index
                           type numbers; edges between no nodes; a stride below a row */
    CGTP_BAD_GRAPH,     /* index out of range, edges not sorted, row pointers or permutation inconsistent */
    CGTP_WORKSPACE,     /* workspace missing or smaller than the size function says */
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

/* A directed graph as a list of edges (items); edge e goes from sender[e] to receiver[e]. Arrays belong to
 * the caller. With edges: sorted, receiver[] ascends, receiver_row/by_sender/sender_row are required
 * (cgtp_graph_index fills them). With edges: any they are not read, and edge e has row e of arrays of items; or,
 * with `order`, the list is sorted and indexed too, edge e has row order[e], and nobody sorts once more. A batch
 * product called through cgtp_kernel.run reads only `items`. */
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

/* Sort the edge list by receiver, those of one receiver in the order that they have, into sender, receiver and
 * order [items], none of them the graph's own (host memory), and point the graph at the first two: edge i is then
 * what edge order[i] was, and rows of y and w are to be put in that order by the caller, or with edges: any the
 * graph is pointed at `order`. receiver_row
 * [receivers+1] is room to count in. The graph is to be indexed next. CGTP_BAD_GRAPH if an index is out of
 * range, or an array is the graph's own: then nothing changed. O(items + receivers). */
CGTP_API cgtp_status cgtp_graph_sort(cgtp_graph *graph, int32_t *sender, int32_t *receiver, int32_t *order,
                                     int64_t *receiver_row);
CGTP_API cgtp_status cgtp_graph64_sort(cgtp_graph64 *graph, int64_t *sender, int64_t *receiver, int64_t *order,
                                       int64_t *receiver_row);

/* Fill receiver_row [receivers+1], by_sender [items], sender_row [senders+1] (host memory) from the edge list
 * and point the graph at them. CGTP_BAD_GRAPH if an index is out of range or receivers do not ascend. O(items
 * + nodes). */
CGTP_API cgtp_status cgtp_graph_index(cgtp_graph *graph, int64_t *receiver_row, int32_t *by_sender,
                                      int64_t *sender_row);
CGTP_API cgtp_status cgtp_graph64_index(cgtp_graph64 *graph, int64_t *receiver_row, int64_t *by_sender,
                                        int64_t *sender_row);

/* Check everything a kernel relies on (host memory; for a device's see cgtp_device.h). Kernels do not: an
 * index out of range is read or written there, and wrong order or row pointers give wrong sums. sorted: as in
 * the spec. CGTP_NOT_INDEXED where there are edges and that needs arrays that are missing. O(items + nodes). */
CGTP_API cgtp_status cgtp_graph_check(const cgtp_graph *graph, int sorted);
CGTP_API cgtp_status cgtp_graph64_check(const cgtp_graph64 *graph, int sorted);

/* What makes a graph CGTP_BAD_GRAPH: array[at], which is `value`. */
typedef struct cgtp_fault {
    const char *array; /* of the graph; NULL: nothing is wrong */
    const char *words; /* what is wrong with it: "is the number of no sender" */
    int64_t at, value;
} cgtp_fault;

/* The same check, and the first fault: an index out of range before wrong order, and that before what
 * follows. */
CGTP_API cgtp_status cgtp_graph_find_fault(const cgtp_graph *graph, int sorted, cgtp_fault *fault);
CGTP_API cgtp_status cgtp_graph64_find_fault(const cgtp_graph64 *graph, int sorted, cgtp_fault *fault);

/* "sender[7] is 12: it is the number of no sender", as by snprintf; "" where nothing is wrong. */
CGTP_API int cgtp_fault_text(const cgtp_fault *fault, char *text, size_t size);

/* ---- ranks: processes or GPUs that have some nodes of a graph each ---- */

/* The graph of a rank has its own nodes as receivers and as first senders, and as further senders ghosts, nodes of
 * other ranks, whose rows of x have to come first. A receiver is interior where no edge to it comes from a ghost.
 * Fills number [receivers] (host memory): the new number of each of the rank's own nodes, all interior ones before
 * the others, and otherwise in the order that they have; *interior is how many these are. Renumbered, and then sorted
 * and indexed, such a graph has two parts, cgtp_graph_slice of its receivers [0, interior) and of the others.
 * CGTP_BAD_SIZE where senders are fewer than receivers, CGTP_BAD_GRAPH if an index is out of range. O(items +
 * receivers). */
CGTP_API cgtp_status cgtp_graph_split(const cgtp_graph *graph, int32_t *number, int64_t *interior);
CGTP_API cgtp_status cgtp_graph64_split(const cgtp_graph64 *graph, int64_t *number, int64_t *interior);

/* The part of a sorted and indexed graph that ends at receivers [first, last), as a graph by itself (host memory), of
 * the graph's first `senders` senders. Its arrays of receivers begin at row `first` of the graph's, those of items at
 * row receiver_row[first] or, with `order`, where the graph's do. Fills receiver [its items], receiver_row [last - first
 * + 1], by_sender [its items], sender_row [senders + 1], and points the part at them and into the graph's other arrays.
 * CGTP_BAD_SIZE where receivers or senders are not the graph's, CGTP_BAD_GRAPH where an edge comes from another sender. */
CGTP_API cgtp_status cgtp_graph_slice(const cgtp_graph *graph, int64_t first, int64_t last, int64_t senders,
                                      cgtp_graph *part, int32_t *receiver, int64_t *receiver_row, int32_t *by_sender,
                                      int64_t *sender_row);
CGTP_API cgtp_status cgtp_graph64_slice(const cgtp_graph64 *graph, int64_t first, int64_t last, int64_t senders,
                                        cgtp_graph64 *part, int64_t *receiver, int64_t *receiver_row, int64_t *by_sender,
                                        int64_t *sender_row);

/* Rows on their way between ranks: entry i of the list is row[i] of an array, and place[i] of a buffer. */
typedef struct cgtp_rows {
    int64_t count;       /* entries */
    int64_t elements;    /* of a row */
    cgtp_type type;      /* of an element */
    const int32_t *row;  /* [count] */
    const int32_t *place; /* [count] or NULL: entry i has place i */
} cgtp_rows;

/* buffer[place] = array[row], of all entries: what is to be sent (host memory; for a device's see cgtp_device.h).
 * Numbers are not checked. */
CGTP_API cgtp_status cgtp_rows_gather(const cgtp_rows *rows, const void *array, void *buffer);

/* array[row] += buffer[place], of one entry after the other: gradients that have come. On a device row[] must ascend, and
 * the entries of a row are added in the order of the list, so that the bits are the host's. Of 16 bits those of a row that
 * follow each other in the list are added to it in float32, and the sum is rounded. */
CGTP_API cgtp_status cgtp_rows_add(const cgtp_rows *rows, const void *buffer, void *array);

/* ---- descriptors: everything a generic caller (a test, a binding) needs to know about a generated product
 * ---- */

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
