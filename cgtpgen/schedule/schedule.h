/* schedule.h - how demands are met: evaluations, and the schedules that they make.
 *
 * An evaluation is a way to compute some paths of some outputs of a kernel: a row of a target's table, made
 * of functions. Nothing outside of its own files knows what a schedule's private part holds. The paths of a
 * kernel are covered by the schedules that cost least (cover.h).
 */
#ifndef CGTPGEN_SCHEDULE_H
#define CGTPGEN_SCHEDULE_H

#include "plan/demand.h"
#include "schedule/route.h"

struct evaluation;
struct pipeline;
struct source;
struct report;
struct checker;

/* What code is generated for. */
struct target {
    const struct device *device;
    /* In the order in which they are asked; at the end NULL. The last computes every path of demands with one
     * owner, also where it has to add to what is there. */
    const struct evaluation *const *evaluations;
    /* Knobs that are tried: those of the spec that are for the same kernel and have the same name do not
     * hold. */
    int knobs;
    const struct spec_knob *knob;
    unsigned *asked; /* a bit is set for each knob that a planner asks for; NULL: nobody wants to know */
    struct answers
        *synced; /* what pipelines that are alike share (pipeline/synced.h); NULL: nothing is kept */
};

/* An area of a kernel's workspace: rows of `each` elements. */
struct area {
    const char *type, *name;
    enum index_kind rows; /* as many as there are of this index; */
    const char *count;    /* where not NULL: as many as this C expression of a launcher says */
    int64_t each;
    bool shared;  /* by schedules */
    bool divided; /* rows of edges that have room in it in turns, where there is not room for all; */
    bool between; /* there only then: what is kept from one turn to the next */
};

struct areas {
    struct arena *arena;
    int n, capacity;
    struct area *area;
};

void areas_add(struct areas *, const char *type, const char *name, enum index_kind rows, int64_t each);
/* The same for an area that several schedules use alike: there once. */
void areas_share(struct areas *, const char *type, const char *name, enum index_kind rows, int64_t each);

/* As many rows as the C expression says; of the second, that depends on the number of items. */
void areas_add_counted(struct areas *, const char *type, const char *name, const char *count, int64_t each);
void areas_add_by_items(struct areas *, const char *type, const char *name, const char *count, int64_t each);

/* Rows of edges, as many as the caller's workspace has room for (struct cgtp_turn of the runtime): the launch
 * takes turns of `edges` edges, a variable of launchers. What it keeps from one to the next, where there are
 * several. */
void areas_add_divided(struct areas *, const char *type, const char *name, int64_t each);
void areas_add_between(struct areas *, const char *type, const char *name, enum index_kind rows,
                       int64_t each);

/* What an evaluation decided for a demand. */
struct schedule {
    const struct evaluation *evaluation;
    const struct target *target;
    const struct demand *demand;
    const char *name; /* of its kernels and areas in the file of the kernel */
    const struct demand
        *before;         /* of a schedule that has written the outputs, to which this one adds; or NULL */
    struct route *route; /* [demand->outputs]: how each leaves */
    bool spills;         /* needs more registers than there are */
    int sets;            /* of paths, each at its time; 0: not so */
    bool torn;           /* do these have parts of lines of rows that they write, beside sums of receivers? */
    bool long_code;      /* so many instructions that their fetching decides: outputs apart take less time */
    struct operations operations; /* per item, of its code */
    double cost;                  /* per item; comparable among the evaluations of one target */
    void *own;                    /* the evaluation's; or NULL, and */
    struct pipeline *pipeline;    /* its kernel (program.h), */
    int registers;                /* with so many registers of a thread, at most */
};

struct evaluation {
    const char *name;   /* one word, a part of C names: convolution */
    const char *words;  /* for people: pipelined convolution */
    const char *header; /* of the runtime, that its code includes; another that it does where sums over */
    const char *parts_header; /* all items leave in parts, if the first has not what these need; NULL */
    struct row_access access; /* of which slots it reads and writes rows of 16 bits as they are. Those that it
                               * only reads it reads by words of 4 bytes; those that it only writes it writes
                               * if its plan is that nobody else adds to them */
    /* Writes every block of an output of weights, also those of paths that are not its own; otherwise a
     * schedule that adds does. */
    bool writes_all_weights;
    /* Why it computes nothing of the demand; NULL: it may. */
    const char *(*refuses)(const struct target *, const struct demand *);
    /* Why it cannot compute a path of such a demand; NULL: it can. */
    const char *(*refuses_path)(const struct target *, const struct demand *, const struct path *);
    /* What a schedule for the demand costs at least, as far as that is known without codes: where another is
     * cheaper still, this is planned only for reports. NULL: nothing is known. */
    double (*least)(const struct demand *);
    /* Decides everything; why it does not after all, or NULL. */
    const char *(*plan)(struct arena *, struct schedule *);
    /* Counts registers, and so whether it spills, of a schedule that may be taken; NULL: nothing. */
    void (*registers)(struct arena *, struct schedule *);
    /* What has to be done of schedules that are taken alone; NULL: nothing. */
    void (*finish)(struct schedule *);
    /* Reports what is wrong with what it decided (check.h). */
    void (*check)(struct checker *, const struct schedule *);
    /* Areas of the workspace, under names that begin with the schedule's or an output's. */
    void (*areas)(struct areas *, const struct schedule *);
    /* Does its launch read the graph's receiver_row; sender_row and by_sender? NULL: none of it. */
    void (*reads_graph)(const struct schedule *, bool *receiver_row, bool *by_sender);
    /* Writes its functions; its part of the launcher, in which the variables l and status stand. */
    void (*device)(struct source *, const struct schedule *);
    void (*launch)(struct source *, const struct schedule *);
    /* Its figures, for reports and banners. */
    void (*report)(struct report *, const struct schedule *);
};

/* What an evaluation said about outputs of a kernel. */
struct verdict {
    const struct evaluation *evaluation;
    int outputs;
    const int *output;
    const char *why;         /* it takes nothing; NULL: it has a schedule, or `dearer` */
    struct schedule *dearer; /* not planned, as it costs more than `cost`; NULL */
    double cost;
    const char **path; /* [paths], where it has one: why not this path; or NULL */
};

struct kernel_schedule {
    const struct kernel_plan *kernel;
    int schedules; /* in the order of their launches */
    struct schedule *schedule;
    int verdicts;
    struct verdict *verdict;
    unsigned beaten; /* a bit for each evaluation of the target that could begin somewhere, and does not */
    unsigned asked;  /* a bit for each knob that the planner asked for */
    struct operations operations; /* per item */
};

/* A plan for one target. */
struct schedules {
    const struct plan *plan;
    struct target target;
    struct kernel_schedule *kernel; /* [plan->kernels] */
    struct mutation *mutation;      /* what to get wrong when code is written; NULL: nothing */
};

/* What the knob is set to for a kernel of the plan and the target's device; NULL: nothing. */
const struct spec_knob *knob_of(const struct plan *, const struct target *, const struct kernel_plan *,
                                enum knob);

/* The same for a schedule's kernel, of a knob that is a number; 0: nothing. */
int knob_value(const struct schedule *, enum knob);

/* Do a kernel's launches read the graph's receiver_row; sender_row and by_sender? */
void kernel_reads_graph(const struct kernel_schedule *, bool *receiver_row, bool *by_sender);

/* Does a schedule leave the path's block of an output of weights to one that adds, as it does not write it?
 * first: the demand of the schedule that may leave it. A sum over all items is written as a whole. */
bool leaves_weights(const struct form_output *, const struct demand *first, const struct path *);

#endif
