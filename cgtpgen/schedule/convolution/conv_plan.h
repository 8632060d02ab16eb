/* conv_plan.h - the pipelined convolution: who owns what, what lives in registers, what streams.
 *
 * It evaluates channelwise products over graphs sorted by receiver. A warp owns a path set, 32 V
 * channels (a channel block) and a contiguous range of edges. Of few channels it works on several edges of a
 * receiver side by side, each with 16, 8 or 4 of its lanes. It keeps operands and outputs of slot z of its
 * set in registers while the receiver stays the same, and brings the rows of each edge through a private ring
 * of stages in shared memory by asynchronous copies.
 */
#ifndef CGTPGEN_CONV_PLAN_H
#define CGTPGEN_CONV_PLAN_H

#include "pipeline/cost.h"
#include "util/layout.h"
#include "schedule/schedule.h"
#include "util/answers.h"

/* Items whose A outputs a warp group hands each other before it sums them. */
enum { REDUCE_ITEMS = 8 };

/* Edges whose terms are added before they move over to sums that carry their rounding errors along. */
enum { CARRY_EDGES = 4 };

/* Words that ptxas takes beside sums that carry their rounding errors along, where a lane has two channels:
 * with fewer the kernels of MACE, NequIP and SevenNet spill. */
enum { CARRY_REGISTERS = 32 };

/* Of the runtime's struct cgtp_tile and the padding of a warp's memory to 128 bytes; of what a block has
 * beside its warps' memory. */
enum { TILE_ROOM = 256, BLOCK_ROOM = 1024 };

/* Warps of a block. */
enum { CONV_WARPS = 4 };

/* Bytes that a lane copies at a time, at most. */
enum { CHUNK = 16 };

/* Neighbouring lanes of a warp; a lane has 1 to 6 neighbouring channels: of multiples of 32 channels 1, 2
 * or 4. Codes are made for these three. */
enum { LANES = 32, CHANNELS_MOST = 6, CODE_CHOICES = 3 };

enum { INSTRUCTION = 16 }; /* bytes */

/* Paths computed together by a warp; all of the convolution's into a segment of z, where there is one. */
struct path_set {
    int paths, *path;     /* numbers, in the order of computation */
    int xs, *x;           /* segments of x they read */
    int zs, *z;           /* of the paths, the first into each segment of z, in the same order */
    int parts, *part;     /* the numbers of channels that they have; mostly one */
    int mul;              /* the largest of them */
    int channels;         /* V: neighbouring channels of a lane, of so many */
    int lanes;            /* of an edge: 32, or fewer where a warp has several edges side by side */
    int channel_blocks;   /* warps that share the channels: mul / (32 V), rounded up */
    int held;             /* registers that would be enough if rows stayed in them for the whole edge */
    int g_length;         /* elements of outputs of slot z that a lane holds */
    struct layout lane;   /* a lane's elements of an operand of slot z */
    int longest, x_bytes; /* of the longest segment of z, of the gradients of x */
    int stage_bytes;      /* of a stage, about */
    int stages;           /* of its ring */
    int memory;           /* shared memory of a warp, at least */
    struct work work;     /* of an edge, or of those side by side */
    double receiver;      /* instructions of a receiver, where they depend on how lanes are shared */
    int y_begin, y_end;   /* components of y that its paths have, and in its sums */
    int part_at;          /* its first among the parts of an item's A output */
    int edge_at;          /* gradients of x go through a buffer of edges: where this set's begin in its row */
    struct pipeline *pipeline; /* its work: conv_program.c */
    struct conv_program *program;
    int like; /* the set whose loop computes it, moved: of some that follow each other the first; itself */
};

/* Segments of x whose paths are alike: of each the next. */
struct alike {
    int next;        /* -1: none */
    int64_t weights; /* how many elements later its paths' weights are */
    bool follows;    /* it is the next of another */
};

struct conv_ways;

/* Which paths are computed together, where a lane has so many channels. */
struct conv_codes {
    const struct matrix **matrix; /* [paths] */
    const struct code **code;
    int *first;
};

struct convolution {
    const struct demand *demand;
    const struct device *device;
    double cost; /* an edge, in instructions; weighted by occupancy and division */
    int sets;
    struct path_set *set;
    bool joined;         /* are paths that are alike in one path set, which makes their forms once? */
    bool shared;         /* do path sets that are alike share their code? */
    bool apart;          /* then: are they found so? Otherwise all sets are made so */
    bool mixes;          /* have sets paths of different numbers of channels? */
    int spare;           /* registers of a thread that its sets leave, for what ptxas takes more */
    struct alike *alike; /* [segments of x] */
    int *like;           /* [paths]: the same path of the next segment that is alike; -1: none */
    bool *shares_z;      /* [paths]: others go into the path's segment of z */
    /* [paths]; those in use, of codes */
    const struct matrix **matrix; /* scaled where the path has its segment of z for itself, and is alone */
    const struct code **code;     /* [paths]: of the demand's recipe by that matrix, or of several paths */
    int *first; /* [paths]: of those that a path is computed together with, and follows; mostly itself */
    struct conv_codes codes[CODE_CHOICES]; /* for one channel of a lane, for two or three, for more */
    int aligned[SLOT_COUNT]; /* elements, a power of two: rows of the slot, and what paths have of them, begin
                                and end at multiples of so many; */
    int aligned_edges;       /* the same of rows of the buffer of edges */
    unsigned shifted;        /* slots whose rows may come in whole chunks, wherever they begin: bits */
    struct operations operations; /* per item, of that code */
    bool keeps_z;                 /* are inputs of slot z in shared memory? Otherwise they are in registers */
    int stages, warps;            /* of the ring of the largest stages; of a block */
    int blocks;                   /* a multiprocessor must hold */
    int buffers, buffer_bytes;    /* of a warp, through which rows of z leave */
    int block_bytes;              /* of shared memory */
    bool g_outputs, a_outputs, b_outputs, w_outputs;
    bool orders; /* edges come in any order: rows of items are read and written through that in which they are
                    done */
    bool carries; /* beside each sum over edges there is what is still to be added, so that rounding errors
                     are kept; */
    bool wide;    /* or as the sum is of a wider type than arithmetic */
    bool whole; /* tiles are whole receivers, in every graph, so that a sum depends on its own edges alone */
    bool hands_over;  /* warps hand each other parts of a receiver's sums */
    bool may_team;    /* has little enough code for one of its own for small graphs? */
    bool teams;       /* it has one, in which those warps are of one block */
    bool few;         /* has a kernel of its own for graphs with few edges per receiver */
    int few_nodes;    /* receivers of a tile where tiles are whole receivers */
    bool edge_buffer; /* B outputs are summed by a second kernel, in the order of by_sender */
    int edge_row;     /* elements of a row of that buffer, for each B output */
    /* A outputs, a_length elements an item: are the warps of a tile a group of one block? Then they sum them
     * across warps in shared memory (reduces), REDUCE_ITEMS items at a time. */
    bool grouped, reduces;
    int a_length;
    int parts;        /* sums of one item's A output: a set, or a warp where there are no warp groups */
    bool part_buffer; /* several are summed by a second kernel, in a fixed order; otherwise by atomics */
};

/* The set's paths with weights by their number of channels, then by the place of those, so that one copy
 * takes neighbours: the order of their fields. Returns their number. */
int conv_weighted(struct arena *, const struct problem *, const struct path_set *, int **path);

/* A path's code is called for each channel of y, of which a channel of x has a weight each. */
static inline int conv_calls(const struct path *q)
{
    return q->mul_y;
}

/* How many times as long channel blocks take that are warps of several blocks, as they sum gradients of y by
 * way of memory. */
static inline double conv_scattered(const struct convolution *g, const struct path_set *s)
{
    return CONV_WARPS % s->channel_blocks ? (g->a_outputs ? 1.4 : 1.15) : 1;
}

/* What a set takes for an edge where receivers have as many as in common graphs, of instructions of a turn
 * and of a receiver: edges side by side that are another receiver's wait. */
double conv_of_edge(const struct path_set *, double instructions, double receiver);

/* Edges that a warp has side by side. */
static inline int conv_abreast(const struct path_set *s)
{
    return LANES / s->lanes;
}
/* Of so many channels: those of a lane; of a block, of which the last may have fewer; have all blocks as
 * many? */
static inline int conv_channels(const struct path_set *s, int64_t mul)
{
    const int lanes = s->lanes * s->channel_blocks;
    return (int)((mul + lanes - 1) / lanes);
}
static inline int conv_width(const struct path_set *s, int64_t mul)
{
    return s->lanes * conv_channels(s, mul);
}
static inline bool conv_is_whole(const struct path_set *s, int64_t mul)
{
    return mul == s->channel_blocks * conv_width(s, mul);
}
static inline bool conv_all_whole(const struct path_set *s)
{
    bool whole = true;
    for (int i = 0; i < s->parts; i++)
        whole &= conv_is_whole(s, s->part[i]);
    return whole;
}

/* Numbers of the type of arithmetic that a sum is in a partial row. */
static inline int conv_sum_words(const struct convolution *g)
{
    return g->wide ? 2 : 1;
}

/* Bytes that a copy of rows of the slot moves. */
int conv_piece(const struct convolution *, const struct path_set *, const struct operand *);

/* Terms of forms of y that the code of the first of some paths of a set makes, beyond the first of each. */
int conv_forms(const struct convolution *, const struct path_set *, const int *path);

/* Are sums of receivers all that it makes? */
static inline bool conv_only_sums(const struct convolution *g)
{
    return !g->b_outputs && !g->a_outputs && !g->w_outputs;
}

/* Bytes of a stage; do a warp's sums of a receiver fit in the place of its ring and its buffers? */
static inline int conv_stage_bytes(const struct path_set *s)
{
    return s->pipeline->group[0].layout.bytes;
}
static inline bool conv_team_fits(const struct convolution *g, const struct path_set *s)
{
    return LANES * s->g_length * conv_sum_words(g) * kernel_size(g->demand->kernel) <=
           s->stages * conv_stage_bytes(s) + g->buffers * g->buffer_bytes;
}

/* What paths share that are alike: nothing; the loops of their path sets; one path set, and forms. */
enum { SHARE_NOTHING = 1, SHARE_LOOPS, SHARE_FORMS };

/* Planner knobs; 0: chosen by the planner. */
struct conv_choice {
    int channels; /* V */
    int stages;
    int warps;    /* a multiprocessor; decides the registers of a thread */
    int paths;    /* most in a set */
    int code;     /* most KiB of a set's loop */
    int share;    /* 1: each set has a loop of its own; 2: sets that are alike share one */
    int together; /* paths of one x and y are computed 1: each for itself; 2: by their outer product */
    int keep;     /* a receiver's inputs of slot z are in 1: registers; 2: shared memory */
};

/* The question of which codes its paths have together; its first word is that of another about the same. */
enum conv_asked { ASKED_CODES, ASKED_SETS };
void conv_ask(const struct convolution *, const struct conv_choice *);

/* Finds paths that are computed together; takes these codes, of lanes of so many channels. */
void conv_find_together(struct arena *, struct convolution *, const struct conv_choice *);
void conv_take_codes(struct convolution *, int channels);

/* How many paths the code of a path computes. */
static inline int conv_together(const struct convolution *g, int path)
{
    return g->code[path]->matrices ? g->code[path]->matrices : 1;
}

/* Are there rows of 16 bits? */
bool conv_has_shorts(const struct convolution *);

/* Which segments of x, y and z a set has been seen to have: those marked `now`. */
struct conv_seen {
    int now, *x, *y, *z;
};

/* Of a set with its paths set: its numbers of channels, and how lanes share them, where one may have so many;
 * of one with one number of channels alone, `mul`. Then its segments of z, by number of channels; registers
 * of a thread, and the other figures. */
void conv_choose_lanes(const struct convolution *, struct path_set *, int channels);
void conv_choose_lanes_alike(const struct convolution *, struct path_set *, int channels);
void conv_find_zs(struct path_set *, const struct problem *, struct conv_seen *);
void conv_measure(const struct convolution *, struct conv_seen *, struct path_set *);
bool conv_is_uneven(const struct convolution *);
int conv_torn(const struct convolution *); /* into so many parts; 0: they are not */
double conv_waits(const struct convolution *);

/* Chooses whether functions and loops are shared, then path sets; returns the number of the occupancy. */
void conv_choose_code(struct arena *, struct convolution *, const struct conv_choice *);
int conv_choose_sets(struct arena *, struct convolution *, const struct conv_choice *);

/* What a path set may have at most: registers, paths, instructions, shared memory of a warp. */
enum { LIMITS = 4 };

/* Divides the paths into sets within limits, where a lane has so many channels, unless it is known from
 * before what that gives. The ways that are known; copies sets and their lists, which then take no more room
 * than they need. */
void conv_divide(struct arena *scratch, struct conv_ways *, struct convolution *, int channels,
                 const int *limit);
struct conv_ways *conv_find_ways(const struct convolution *);
struct path_set *conv_copy_sets(struct arena *, const struct convolution *);

/* Finds segments of x whose paths are alike, if their sets share code. Are those that are like x1, and those
 * like x2, at the same distances from them? Then adds to the sets, which are of segments that follow none,
 * those that are like them; or finds those among sets of any segments. */
void conv_find_alike(struct arena *, struct convolution *);
bool conv_moves_alike(const struct convolution *, int x1, int x2);
void conv_add_alike(struct arena *, struct convolution *);
void conv_link_alike(struct arena *, struct convolution *);

/* The components of y that sums of the set have, from *begin on: all, unless sets add their own ones. Bytes
 * in which a warp sums them over its lanes (cgtp_reduce_lanes), a row for each lane, where they are four
 * chunks of 16 bytes; 0: lanes exchange what they have, which was faster for 9 and 25 components and in
 * float64. */
int conv_summed_ys(const struct convolution *, const struct path_set *, int *begin);
int conv_sums_bytes(const struct convolution *, const struct path_set *);

/* Bytes of the receiver's rows in a warp's shared memory, if they are kept there. */
int conv_kept_bytes(const struct convolution *, const struct path_set *);

/* Where everything of a set is, and a lane's elements, as ring and buffers are chosen so far; then, shared
 * memory. */
void conv_places(struct arena *, const struct convolution *, struct path_set *);

/* Do rows of an input begin anywhere, so that they come in whole chunks with what else is in these? Elements
 * of a chunk; of a stage for an item's part of n of one that does; where in a chunk an element is of a row
 * that begins at one. */
bool conv_shifts(const struct convolution *, const struct path_set *, const struct operand *);
bool conv_has_shifts(const struct convolution *); /* one of them? */
int conv_chunk(const struct operand *);
int conv_shifted_room(const struct operand *, int n);
int conv_in_chunk(const struct operand *, int64_t offset);
/* Elements of a stage for rows of y. */
int conv_y_room(const struct convolution *, const struct operand *, const struct path_set *);

/* Writes the set's work as a pipeline, without waits and barriers. */
void conv_program(struct path_set *);

/* Do matrices of the set's paths of so many channels leave out factors of z? Whose segments a gradient of x
 * has where it is written: "x", or "edge" where they are elsewhere in the rows of the buffer of edges. */
bool conv_has_factors(const struct convolution *, const struct path_set *, int mul);
const char *conv_x_out(const struct convolution *, const struct path_set *);

/* Why the convolution computes nothing of a demand, or not a path of it; NULL: it may. */
const char *conv_refuses(const struct target *, const struct demand *);
const char *conv_refuses_path(const struct target *, const struct demand *, const struct path *);

/* Decides everything; returns why it cannot be after all, or NULL. */
const char *conv_plan(struct arena *, struct schedule *);

#endif
