/* gemm_plan.h - items by GEMM: products with matrices of weights that all items share, on tensor cores.
 *
 * A path whose weights connect channels is T = M x, made for each item and channel of x by its code, and a
 * product of matrices: z += T W for channels u of x and w of z, P = g W^T the other way, gW = T^T g, where
 * items and components are what is summed over. Kernels of rows, one of z and one of x and y: a team of warps
 * has tiles of 16 items, and each warp chunks of the channels of an output's segments. Of u<vw the sum of x
 * by weights comes first (plan->summed): x and z have changed places, and of a channel of y only the channels
 * of x below it take part. A kernel of sums over all items, in which each warp of a set of blocks has a part
 * of the weights of one path, whose sum stays in registers. The left operand of a product (T, or g) is made
 * in the registers of the lanes that need it; weights are put in the order of lanes beforehand, in shared
 * memory or, where there is no room, in the workspace.
 */
#ifndef CGTPGEN_GEMM_PLAN_H
#define CGTPGEN_GEMM_PLAN_H

#include "util/layout.h"
#include "schedule/schedule.h"

enum {
    GEMM_ITEMS = 16,            /* of a tile: rows of a left operand */
    GEMM_BLOCK = 8,             /* columns of a right operand, and what is summed over at a time */
    GEMM_WEIGHTS_THREADS = 256, /* of a block that puts weights into the workspace */
    GEMM_EXACT = 4 /* such sums that tensor cores add up in float32, before they are added to others */
};

/* The elements of a row that are in shared memory at a time. */
struct gemm_window {
    int first, length;
};

/* A segment of outputs: a warp has `tiles` blocks of its channels at a time, a chunk. */
struct gemm_span {
    int output; /* of slot G: the demand's */
    int segment, channels;
    int cut; /* the piece of rows that it reads */
    int tiles, chunks;
    int first; /* number of its first chunk among those of all spans, which the team's warps take in turns */
    double work; /* of a chunk, for a tile: instructions of a warp */
    int paths;
    const int *path;
};

/* A kernel of rows. */
struct gemm_rows {
    const struct demand *demand; /* its outputs; NULL: there is no such kernel */
    bool back;                   /* of A and B: by weights turned round; otherwise of G */
    const char *name;            /* what its device code is called */
    int cuts;                    /* pieces in which a tile's rows come one after the other, and */
    int *cut_of;                 /* [segments of the spans' slot] */
    struct gemm_window *window;  /* [cuts][inputs]; NULL: one piece, whole rows */
    int spans;
    struct gemm_span *span;
    int members, teams, stages;    /* warps of a team; of a block; tiles of a team under way */
    bool resident, split;          /* weights are in shared memory; each as its two parts */
    int registers;                 /* that sums may take */
    bool turned;                   /* warps of one number have other parts of the work in other teams */
    bool unrolled;                 /* loops over what is summed over, as far as tensor cores add up */
    int time;                      /* of as many tiles as a multiprocessor has at a time */
    int64_t *place, weights;       /* [paths]: where its weights are among those of an input; of all */
    int *blocks;                   /* [paths]: blocks of columns of its weights */
    struct layout tile, out, team; /* rows of inputs, of outputs of slot y; of a team */
    struct layout fields, block;   /* weights in shared memory */
};

enum { GEMM_FORTH, GEMM_BACK, GEMM_KINDS };

/* The weights of a path: one to three times 16 channels of B for one of y, and a chunk of the channels of G,
 * are a part, which a warp has. */
struct gemm_sum {
    int path;
    int rows; /* times 16 channels of B, for which what is made of g is made once */
    int tiles, chunks;
    int first, parts; /* number of its first part among those of all */
};

struct gemm {
    const char *name; /* kernel and schedule; what its device code is called */
    const struct device *device;
    int unrolled_bytes; /* of loops over what is summed over that are unrolled, at most */
    struct gemm_rows rows[GEMM_KINDS];
    const struct demand *sums; /* sums over all items; NULL: none */
    double work, bytes;        /* per item: instructions of a warp; moved */
    int sum_count, parts;
    struct gemm_sum *sum;
    int warps, fit, sets;           /* of a block; blocks on a multiprocessor; that together have all parts */
    int turn;                       /* the part of a block's first warp */
    int time;                       /* of as many tiles as a multiprocessor has at a time */
    int sum_stages, sum_items;      /* tiles under way; items of a tile */
    struct gemm_window *sum_window; /* [sets][inputs], of one length for all sets; NULL: whole rows */
    struct layout sum_tile, sum_block;
};

/* Where the paths of a plan have their roles: A is y, B and G are x and z, or z and x where x is summed
 * first.
 */
enum slot gemm_slot(const struct plan *, enum role);

/* The number of the path's segment of x, or of z. */
int gemm_segment(const struct path *, enum slot);

/* The path's variant. */
const struct variant *gemm_variant(const struct demand *, int path);

/* Is the path alone worked from z to x: M takes rows of slot z to components of x, so that what meets weights
 * is as long as these? Then z += M (x W) in the kernel of z, and gW = x (M g)^T. */
bool gemm_from_z(const struct demand *, int path);

/* Does the path add to the output of such a demand? */
bool gemm_adds(const struct demand *, int output, int path);

/* Does the demand's arithmetic need numbers in parts? */
bool gemm_has_parts(const struct demand *);

/* Are its rows copied by 16 bytes? */
bool gemm_is_wide(const struct operand *);

/* Elements from one row to the next in shared memory, of rows of so many, whose channels lanes read two at a
 * time, or one at a time as sums do. */
int gemm_pitch(int64_t elements);
int gemm_sum_pitch(const struct demand *, int64_t elements);

/* Numbers that a weight is, as weights are put for lanes. */
int gemm_words(const struct gemm_rows *);

/* Channels of the path that are summed over; of those below a channel of y, at most. */
int gemm_depth(const struct gemm_rows *, int path);

/* Are weights put turned round: what is summed over is next to each other? */
bool gemm_is_turned(const struct gemm_rows *);

/* Blocks of 8 channels that are below each of n channels, of all of these. */
int64_t gemm_below(int n);

/* Blocks of 8 by 8 of the path's weights. */
int64_t gemm_blocks(const struct gemm_rows *, int path);

/* Do a team's warps divide channels of y instead of those of an output? Gradients of y are then each one
 * warp's; each warp has a part of the sums of G. */
bool gemm_divides(const struct gemm_rows *);

/* Chunks of all spans: a team of more warps has some idle, unless these divide channels of y. */
int gemm_chunks(const struct gemm_rows *);

/* Has each warp of a team rows of its own for sums in shared memory? */
bool gemm_apart(const struct gemm_rows *);

/* Are rows of the demand's output summed in shared memory? */
bool gemm_sums_rows(const struct gemm_rows *, int output);

/* Of how many teams in a row warps of one number have one part of the work; 0: all. Schedulers have a warp
 * each in turn, so that the same part of all teams would be one scheduler's. */
int gemm_teams_alike(const struct gemm_rows *);

/* Divides rows into so many pieces, or fewer; returns whether there are so many segments. */
bool gemm_cut_rows(struct arena *, struct gemm_rows *, int cuts);

/* What each set of blocks needs of rows, where that is less than all. */
void gemm_find_sum_windows(struct arena *, struct gemm *);

/* Elements of rows of an input in shared memory. */
int gemm_rows_length(const struct gemm_rows *, int input);
int gemm_sum_length(const struct gemm *, int input);

/* Bytes of an item that the blocks of sums bring, all sets together. */
double gemm_sum_bytes(const struct gemm *);

/* Lays out the shared memory of the kernels. */
void gemm_layout_rows(struct arena *, struct gemm_rows *);
void gemm_layout_sums(struct arena *, struct gemm *);

/* Names the device code of a schedule, and its structs. */
void gemm_layout_name(struct arena *, const struct schedule *);

/* The plan with the roles in which it takes paths: plan->summed, where those that it can take are u<vw. */
const struct plan *gemm_roles(const struct plan *);

/* Why it computes nothing of a demand, or not a path of it; NULL: it may. */
const char *gemm_refuses(const struct target *, const struct demand *);
const char *gemm_refuses_path(const struct target *, const struct demand *, const struct path *);

/* How often `by` goes into n, the last time in part. */
int gemm_round_up(int64_t n, int by);

/* Instructions of a warp: of a lane's operations, and what the parts of a product take besides their sums; of
 * a product, for 8 that are summed over, what right operands take, and tensor cores; of all parts of a path's
 * weights, for 16 items. */
double gemm_tensor_work(const struct demand *, int path);
double gemm_product_work(const struct demand *, int components, int rows, int tiles, double right);
double gemm_sum_work(const struct demand *, const struct gemm_sum *);

/* Products of a path for gradients of weights, all of them together. */
int gemm_sum_products(const struct demand *, int path);

/* Decides everything about the kernel of sums; returns whether it has room. */
bool gemm_choose_sums(struct arena *, struct gemm *, bool twice);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *gemm_plan(struct arena *, struct schedule *);

#endif
