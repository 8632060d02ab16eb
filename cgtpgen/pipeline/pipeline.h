/* pipeline.h - a kernel as data: who works, where each piece of an operand is while it is used (place), and
 * what is done in which order (step). Planners build it (build.h); everything else reads it.
 *
 * - A version is what a place holds at a time: so many (rate) each turn of a loop, its clock, of which so
 * many (stages) are there at once.
 * - A step has a skew: in turn t of its loop it works on the versions of turn t + skew. What is brought two
 *   turns ahead has skew 2; the turns before a loop's first and after its last follow (fill, drain).
 * - Code is calls, which are data as well: what they read and write, what registers hold and the text that is
 *   printed are the same statement.
 * - Waits and barriers are no steps of a planner. They follow from who touches which element when (sync.c),
 *   and are proven by a machine that knows nothing of how they were found (check.c).
 */
#ifndef CGTPGEN_PIPELINE_H
#define CGTPGEN_PIPELINE_H

#include "plan/code.h"
#include "plan/operand.h"
#include "util/layout.h"

/* Who shares something, and whom a barrier joins: a wider scope holds the narrower ones. */
enum scope { SCOPE_LANE, SCOPE_WARP, SCOPE_TEAM, SCOPE_BLOCK, SCOPES };

/* Teams take units of the walk, each its own: a team's threads turn loops alike, those of a block do not. */
struct worker {
    int lanes;  /* of a warp */
    int warps;  /* of a team */
    int teams;  /* of a block */
    int blocks; /* that a multiprocessor must hold */
};

/* How a row's channels are shared by lanes and warps: a struct of constants of that name, from which
 * templates of the runtime know it (cgtp_segments.h). Of `mul` channels a lane has so many neighbours, and so
 * many lanes are a block, of which there are so many. Each `of` neighbours belong to one channel of rows: its
 * weights, where it has several. */
struct spread {
    const char *name;
    int mul, channels, lanes, blocks, of;
};

/* Loops are a tree. The first stands for the launch, which turns once. */
enum { LOOP_LAUNCH };
struct loop {
    const char *name;   /* its variable */
    int outer;          /* the one around it: as it is begun */
    bool counted;       /* turns are known: for (name = first; name < end; name += by) */
    int first, end, by; /* of others `end` is, if any, how many turns are a round */
    const char *less;   /* a variable that ends it sooner by as much; NULL */
    int side, group;    /* of items that warps take in turn: of one turn; of one warp, one after the other */
    bool unroll;
};

/* ---- places: pieces of shared memory ---- */

/* How a version comes to be there. */
enum how {
    HOW_LOAD,  /* through registers */
    HOW_ASYNC, /* by a thread's asynchronous copies, which land when it has waited for their group */
    HOW_CODE,  /* made there */
    HOW_STANDS /* nobody brings it: calls use the row where it stands in memory */
};

/* Which thread touches which element of a version. */
enum who {
    WHO_ANY,   /* any one each */
    WHO_COPY,  /* pieces of `wide` elements go to threads in turn, along runs and then from run to run */
    WHO_RUN,   /* a run a thread: item = lane */
    WHO_LANE,  /* `lane` elements a thread, along runs: channels of a lane */
    WHO_KEPT,  /* one thread an element, in every turn the same, but nobody says which */
    WHO_TEAMS, /* any thread of the block, of all teams' versions */
    WHO_COUNT
};

/* A part of a version that is laid out as one: `runs` neighbours in memory and in the place. */
struct field {
    const char *name, *note;       /* of the struct's member, where a place has several; NULL: the place's */
    const struct operand *operand; /* of whose row it is, where the place has parts of several; NULL */
    int spread;                    /* how lanes share it; -1: by no table */
    int version;                   /* of several a turn: whose it is; -1: each has it */
    int runs;                      /* an item each, or one */
    int length;                    /* elements of a run */
    int64_t base;     /* of the first run in its row of memory; runs are rows of the operand, in turn */
    int at;           /* elements from the version's beginning to the first run */
    int wide;         /* elements that a copy moves at a time */
    int lane;         /* elements that a lane works on at a time */
    int apart;        /* from a run to the next, where that is not the place's pitch; 0 */
    const char *type; /* of an element, and its bytes, where they are not the place's; NULL */
    int size;
};

/* Places of a group have versions alike, and are fields of one struct. */
struct group {
    const char *name, *note;  /* of the struct's field; what it holds: the comment above it */
    const char *type, *alias; /* of the struct; a version of it, in code. NULL: there is one version */
    bool lines;               /* a version is whole lines */
    bool instead;             /* its places have the same bytes, one instead of the other */
    struct layout layout;     /* of a version: by layout.c */
};

struct place {
    const char *name;              /* as in emitted code */
    const struct operand *operand; /* that it is a row of; NULL: none */
    const char *rows;  /* of memory, where they are not the operand's: what its symbol goes on with; NULL */
    int row_elements;  /* of those */
    const char *table; /* what a spread's name goes on with where rows have its segments */
    int parts, part;   /* of a row a unit: which of so many the worker's are, */
    bool part_of_warp; /* each of whose warps has its own */
    bool adds;         /* rows are added to, atomically */
    enum scope scope;  /* who shares a version */
    enum how how;
    int clock, within; /* loops: versions count from the beginning of each turn of the latter */
    int rate, stages;
    int alias;    /* the place whose bytes it takes; -1: none */
    int group;    /* of shared memory */
    enum who who; /* how calls touch it */
    int piece;    /* bytes that its copies move at a time */
    bool keep;    /* lines of memory that it comes from are read again soon */
    bool shifted; /* rows begin anywhere: they come in whole chunks, as in memory (cgtp_shifted.h); */
    const struct operand *shift_of; /* it says how far from a chunk one of this begins; NULL: of none */
    bool summed; /* of the launch: over all units, a team has a row, which leaves when all are done; of a
                  * loop:  over warps, each has a run */
    int size;    /* bytes of an element; */
    const char *type, *note; /* its type, NULL: real; what the comment says of it */
    int fields, capacity;
    struct field *field;
    int pitch; /* elements from a run to the next: by layout.c */
};

/* Has each version of a turn a part of the row, with fields of its own? */
static inline bool place_is_in_parts(const struct place *q)
{
    return q->fields && q->field[0].version >= 0;
}

/* Bytes of a version whose fields have sizes of their own. */
static inline double place_bytes(const struct place *q)
{
    double bytes = 0;
    for (int i = 0; i < q->fields; i++)
        bytes += (double)q->field[i].runs * q->field[i].length * q->field[i].size;
    return bytes;
}

/* ---- calls ---- */

enum touch { TOUCH_READ, TOUCH_WRITE, TOUCH_ADD };

/* variable * by */
struct term {
    const char *variable;
    int64_t by;
};

/* `offset` elements, and terms of loops' variables. */
enum { TERMS = 4 };
struct address {
    int64_t offset;
    int terms;
    struct term term[TERMS];
};

enum argument_of { ARGUMENT_PLACE, ARGUMENT_LOCAL, ARGUMENT_NUMBER, ARGUMENT_CALL };
struct argument {
    enum argument_of of;
    int number;        /* of the place, of the local; the number itself */
    int index;         /* of a place's version: which of a turn */
    int field;         /* of a place */
    struct call *call; /* what it is passed through: a conversion, which has the argument */
    struct address at;
    int apart; /* of a code's operand: elements from a channel of a lane to the next; 0: all have the same */
    bool element; /* passed by value: what stands there */
    enum touch touch;
};

/* An array of a thread. */
struct local {
    const char *name;
    int elements;
    enum { LOCAL_ANY, LOCAL_ZERO, LOCAL_ONE, LOCAL_TABLE } begins;
    const struct address *table; /* its elements: places in a row */
    const char *type;            /* NULL: real */
};

enum { TEMPLATE_NUMBERS = 3 };
struct call {
    const char *function;
    int numbers, number[TEMPLATE_NUMBERS]; /* of the template */
    const char *type;                      /* that follows them; NULL: none */
    int spread;        /* whose table they follow, whose channels a code is for; -1: none */
    const char *table; /* which of its; */
    bool likewise;     /* that of the set which is worked on, of those that are like it */
    bool scaled;       /* and once more: it has factors */
    int arguments;
    struct argument *argument;
    int path; /* whose code it is, which is named when it is written; -1: it is in the runtime */
    const struct code *code;
    const struct matrix *matrix; /* of its only path, where that is not the path's own; NULL */
    int forms;                   /* terms, beyond the first of each, of what it makes for all channels */
    const char *note;            /* above it */
};

/* ---- steps ---- */

enum step_kind {
    STEP_LOOP,  /* brackets: of a loop; */
    STEP_BLOCK, /* of what locals and names of versions are for; */
    STEP_END,   /* which end there */
    STEP_FILL,  /* the steps of a loop with skew > 0 run here for turns -skew .. -1 */
    STEP_DRAIN, /* those with skew < 0 for the turns after its last */
    STEP_COPY,  /* memory -> place, by how it comes */
    STEP_STORE, /* place -> memory */
    STEP_ZERO,  /* all of a place's group */
    STEP_LOCAL,
    STEP_CALL,
    STEP_NOTE,      /* a comment */
    STEP_ROW,       /* names the row that a place stands in */
    STEP_HAND_OVER, /* what other warps have of a unit's sums is added, or this warp leaves them to another */
    STEP_MEET,      /* the template before has let threads of a scope meet at its end */
    /* What sync.c adds: */
    STEP_COMMIT,      /* closes a thread's group of copies */
    STEP_WAIT,        /* until no more than `number` groups are under way */
    STEP_BARRIER,     /* of a scope */
    STEP_LAUNCH_WAIT, /* for the launch before */
    STEP_KINDS
};

/* A step's use of a place, of version (turn + skew) * rate + index; index -1: all of a turn. */
struct access {
    int place, index;
    enum touch touch;
    enum who who;
};

struct step {
    enum step_kind kind;
    int loop; /* of a loop and its end, of fill and drain; LOOP_LAUNCH: a block */
    int skew;
    int every;  /* in every so many-th turn, for the versions since; in the drain for those that are left */
    int below;  /* block: in the first so many turns of a round of its loop alone; 0: in all */
    int number; /* wait: groups; local: which; block: of which version of a turn it is, -1: of none */
    enum scope scope;
    const char *note;
    struct call *call;
    int accesses;
    struct access *access;
};

/* Units that are edges sorted by receiver: a tile of them for each team, dealt out and handed over as the
 * runtime does (cgtp_schedule.h). Where a team has several side by side, `items` of them are a turn, of which
 * it works on those of one receiver at a time: a turn may be gone through several times, and brings what it
 * does but once. */
struct walk {
    bool orders;  /* rows of items are those of a list of edges by receiver */
    bool shares;  /* a receiver's edges may be in several tiles */
    int room;     /* bytes of a warp's tile */
    bool holds;   /* registers hold where the rows of a tile's edges begin */
    bool several; /* a block goes on with another such pipeline, where there are several; */
    bool many;    /* three or more, in float32, whose loops leave no registers for what could be kept */
    bool turns;   /* of a launch that may take several (struct cgtp_turn): receivers' sums leave in the first,
                   * where all edges come; rows of edges are those before `kept` */
    bool teams;   /* those of small graphs hand each other sums in the rings of their block */
    bool few;     /* has a kernel of its own for graphs with few edges per receiver; */
    int nodes;    /* receivers of a tile where tiles are whole receivers */
    bool warps; /* or units are items, which warps take in turn (struct cgtp_channel_blocks), channel block by
                 * channel block: one loop over all of them, or several, one after the other */
};

/* What edges take that are sorted by receiver, of a warp with `abreast` of them side by side; in elements of
 * a lane unless said otherwise. */
struct work {
    int abreast;
    double arithmetic; /* instructions of codes, for all channels of a lane */
    double forms;      /* terms of what is the same for all of them, beyond the first of each */
    double weights;    /* paths' weights and gradients of weights */
    double sums;       /* over lanes: instructions */
    double copies;     /* issued by a lane, weighed: cost_copies */
    double kept;       /* read where they are kept in shared memory */
    double carried;    /* sums that carry rounding errors along, every so many edges; of a wider type: */
    double widened;
    double bytes; /* of an edge, from and to L2 or beyond */
};

/* Words of 32 bits of a thread. */
struct register_count {
    int alive; /* values that its locals and codes hold at once; */
    int least; /* with what it needs besides, if nothing is to spill */
    int taken; /* by ptxas, as predicted: it takes more where there are more */
    bool spills;
};

/* Paths that are computed together. Of edges: */
struct path_list {
    int paths;
    const int *path;
    int zs; /* the first into each segment of z, by number of channels; */
    const int *z;
    int xs; /* segments of x that they read, in the order of their fields; */
    const int *x;
    int edge_at; /* where these begin in a row of the buffer of edges; */
    int part_at; /* their first among the parts of an item's sums; */
    int sums;    /* numbers of a lane's sums of a receiver */
};

struct pipeline {
    struct arena *arena;
    struct pipeline *next; /* of the schedule; NULL: none */
    struct walk walk;
    struct worker worker;
    int items; /* of a unit: a tile of so many */
    int size;  /* bytes of a number that is computed in */
    int spreads;
    struct spread *spread;
    int loop_count, loop_capacity;
    struct loop *loop;
    int groups, group_capacity;
    struct group *group;
    int shared; /* the first of two groups: sums over all units; what these share. 0: none */
    int places, place_capacity;
    struct place *place;
    int locals, local_capacity;
    struct local *local;
    int steps, step_capacity;
    struct step *step;
    int inside;              /* the loop in which steps are added */
    int aligned[SLOT_COUNT]; /* rows in memory, and paths' parts of them, are multiples of so many elements;
                              */
    int aligned_edges;       /* the same of rows of the buffer of edges */
    int sets, set_capacity;
    struct path_list *set; /* that it computes, one after the other; calls name those of the first */
    /* By the passes: */
    struct layout of_warp, of_team, of_block; /* shared memory: layout.c */
    struct register_count registers;          /* registers.c */
    struct work planned, work;                /* of its edges: as it was chosen by; cost.c */
    struct meets *meets;                      /* of accesses, as far as they were asked for: share.c */
    struct answers *synced;                   /* what was found of others; NULL: nothing is kept */
    struct answers *answers;                  /* the same, of those of the same codes alone */
    const char *unsound;                      /* why it has no waits and barriers; NULL: it has */
};

extern const char *const scope_words[SCOPES];
extern const char *const step_words[STEP_KINDS];
extern const char *const who_words[WHO_COUNT];

/* ---- passes ---- */

/* layout.c: pitches against bank conflicts, offsets, sizes; how many teams so many bytes have room for. */
void pipeline_layout(struct pipeline *);
int pipeline_teams(const struct pipeline *, int bytes);

/* sync.c: adds commits, waits, barriers; any there are it takes away first. Why it cannot, or NULL. */
const char *pipeline_sync(struct pipeline *);

/* check.c: knows nothing of sync.c. Appends a line for each access that is not ordered, and for what does not
 * fit `bytes` of shared memory; how many. */
int pipeline_check(const struct pipeline *, int bytes, struct text *out);

/* registers.c: counts registers, of which a thread has so many at most; where rows begin is held in some if
 * there are enough (walk.holds). */
void pipeline_registers(struct pipeline *, int most);

/* dump.c: for people, with what was derived. */
void pipeline_dump(struct text *, const struct pipeline *);

/* What a kernel's printers are told. print_cuda.c: the kernel, and the structs of its shared memory, for a
 * CUDA compiler. */
struct print_words {
    const char *name;    /* of the kernel: what its areas end in; */
    int label;           /* of the set: what its structs do */
    const char *step;    /* numbers of shared memory from a team's warp to the next */
    const char *index;   /* the type of numbers of nodes */
    enum precision real; /* that is computed in */
    bool first;          /* of a kernel's sets: what is said once is said here */
    int alike;           /* sets that it computes, each with tables of its own: labels from its own on */
    const char *items;   /* of items: their number, as a C expression; */
    const char *note;    /* why no wait lasts for ever */
};
void pipeline_print_structs(struct out *, struct pipeline *, const char *name);
void pipeline_print_cuda(struct out *, const struct pipeline *, const struct print_words *);

/* print_edges.c: what a team does with a tile of edges: the body of a function. print_rows.c: where the rows
 * of edges begin, and how they come. */
void pipeline_print_edges(struct out *, const struct pipeline *, const struct print_words *);

/* print_items.c: a kernel whose warps take items in turn; the tables of its rows. */
void pipeline_print_items(struct out *, const struct pipeline *, const struct print_words *);

#endif
