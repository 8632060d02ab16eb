/* conv_program.h - the pipelined convolution: a path set while its work is written as a pipeline.
 * conv_places.c says where everything is, conv_program.c what is done.
 */
#ifndef CGTPGEN_CONV_PROGRAM_H
#define CGTPGEN_CONV_PROGRAM_H

#include "pipeline/build.h"
#include "schedule/convolution/conv_emit.h"
#include "schedule/convolution/conv_plan.h"

/* Operands are numbered: the kernel's inputs, then its outputs. */
struct conv_program {
    struct arena *a;
    const struct convolution *g;
    const struct path_set *s;
    const struct kernel_plan *k;
    struct pipeline *p;
    int tile, node, edge;        /* loops */
    int edges, rows, lanes_sums; /* places in which gradients of x, rows of z leave; sums over lanes; */
    int sender, item, items;     /* numbers of an edge; items of a group's sums; -1: none */
    int *place;                  /* [operands]: -1: none */
    int *shift, **weight; /* [operands]: place of what a row is shifted by; [operands][spreads]: where a
                             lane's weights are then, a local */
    int *local, **x;      /* [operands]: of slots y and z; [operands][segments of x] */
    int *carried;         /* [operands]: sums that carry their errors along */
};

/* The number of an input or an output of the kernel; of those of a slot that the demand has: returns how
 * many. */
int conv_number(const struct conv_program *, bool output, int number);
int conv_numbers(const struct conv_program *, enum slot, bool output, int *number);
static inline int *conv_some(const struct conv_program *c)
{
    return NEW_ARRAY(c->a, int, c->k->form->inputs + c->k->form->outputs + 1);
}

/* How paths of so many channels are spread over lanes. */
int conv_spread(const struct conv_program *, int mul, int of);

/* Elements of a lane of a row of slot z. */
int conv_lane_elements(const struct conv_program *);

/* A row in memory that calls use where it stands: a place, of the turns of a loop. */
int conv_row(struct conv_program *, const struct operand *, int clock);

/* The operand of a number. */
static inline const struct operand *conv_operand(const struct conv_program *c, int number)
{
    return &c->k->operand[number];
}

/* A field of a place. */
struct argument conv_at(int place, int field);

/* Are registers of channels that are not there to be zeros, where rows that are shifted have what others do:
 * as sums over lanes have them? */
static inline bool conv_clears(const struct conv_program *c, int64_t mul)
{
    return c->g->a_outputs && !conv_is_whole(c->s, mul);
}

/* The code of a path, and of those that are computed with it. */
void conv_call_path(struct conv_program *, const int *paths, int channel);

/* A local of so many elements, whose number is then *local. */
void conv_declare(struct conv_program *, int *local, const char *name, int elements, bool zeros);

/* The receiver's rows of inputs, and its sums, in registers; what becomes of the sums. */
void conv_begin_receiver(struct conv_program *);
void conv_end_receiver(struct conv_program *);

/* How sums reach an output of slot y: several adders add atomically. */
static inline const char *conv_how(const struct convolution *g)
{
    return g->parts > 1 && !g->part_buffer ? "CGTP_ADD" : "CGTP_STORE";
}

#endif
