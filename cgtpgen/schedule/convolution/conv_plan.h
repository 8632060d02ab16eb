/* conv_plan.h - the pipelined convolution: who owns what, what lives in registers, what streams.
 *
 * It evaluates channelwise products over graphs sorted by receiver. A warp owns a segment of paths, 32 V
 * channels (a group) and a contiguous range of edges. It keeps operands and outputs of slot z of its segment
 * in registers while the receiver stays the same, and brings the rows of each edge through a private ring of
 * stages in shared memory by asynchronous copies.
 */
#ifndef CGTPGEN_CONV_PLAN_H
#define CGTPGEN_CONV_PLAN_H

#include "schedule/schedule.h"

/* Items whose A outputs a team exchanges before it sums them. */
enum { TEAM_ITEMS = 8 };

/* A slice of rows in a stage: bytes from `at` on. */
struct stage_piece {
    int input;  /* kernel input */
    int number; /* path (weights), segment of x, or 0 (y) */
    int at, bytes;
};

/* Paths computed together by a warp; all of the convolution's into a segment of z, where there is one. */
struct gpu_segment {
    int paths, *path; /* numbers, in the order of computation */
    int xs, *x;       /* segments of x they read */
    int zs, *z;       /* of the paths, the first into each segment of z, in the same order */
    int mul;          /* channels of all of them */
    int channels;     /* V: neighbouring channels of a lane */
    int groups;       /* warps that share the channels: mul / (32 V) */
    int registers;    /* predicted, of a thread */
    int g_length;     /* elements of outputs of slot z that a lane holds */
    int pieces;
    struct stage_piece *piece;
    int stage_bytes, sender_at; /* of one stage; where the edge's sender is kept in it */
    int longest, x_bytes;       /* of the longest segment of z, of the gradients of x */
    int bytes;                  /* moved an edge, from and to L2 or beyond */
    int work;                   /* instructions an edge, to divide the multiprocessors */
    int part_at;                /* its first among the parts of an item's A output */
    int edge_at; /* gradients of x go through a buffer of edges: where this segment's begin in its row */
};

struct convolution {
    const struct demand *demand;
    const struct device *device;
    double cost; /* an edge, in instructions; weighted by occupancy and division */
    bool spills; /* no choice of segments fits into registers */
    int segments;
    struct gpu_segment *segment;
    const struct matrix **matrix; /* [paths]; scaled where the path has its segment of z for itself */
    const struct code **code;     /* [paths]: of the demand's recipe by that matrix */
    double flops;                 /* per item, of that code */
    int stages, warps;            /* of a ring; of a block */
    int blocks;                   /* a multiprocessor must hold */
    int flush_bytes;              /* of each of a warp's buffers, one or two, through which rows of z leave */
    int piece_at;                 /* in a warp's shared memory, after them: its piece of work */
    int warp_bytes, block_bytes;  /* shared memory of a warp's ring and buffers, of a block */
    bool g_outputs, a_outputs, b_outputs, w_outputs;
    bool edge_buffer; /* B outputs are summed by a second kernel, in the order of by_sender */
    int edge_row;     /* elements of a row of that buffer, for each B output */
    /* A outputs, a_length elements an item: are the warps of a range a team of one block? Then they sum them
     * in shared memory (exchange), TEAM_ITEMS items at a time. */
    bool team, exchange;
    int a_length;
    int parts;        /* sums of one item's A output: a segment, or a warp where there are no teams */
    bool part_buffer; /* several are summed by a second kernel, in a fixed order; otherwise by atomics */
};

/* Why the convolution computes nothing of a demand, or not a path of it; NULL: it may. */
const char *conv_refuses(const struct target *, const struct demand *);
const char *conv_refuses_path(const struct target *, const struct demand *, const struct path *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *conv_plan(struct arena *, struct schedule *);

#endif
