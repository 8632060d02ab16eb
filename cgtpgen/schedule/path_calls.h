/* path_calls.h - paths as calls of a pipeline whose threads have an item each: their operands in registers,
 * their codes, and turns over channels of z, in which T, weights and rows of z meet.
 *
 * Registers are named by what they hold and the path: x_p3; and vectors of a turn over channels of z by x_f.
 * Loops' variables are a (channels of A), u and j (channels of B, and those that are worked on together), c
 * (channels of z). Where operands are is asked of their places.
 */
#ifndef CGTPGEN_PATH_CALLS_H
#define CGTPGEN_PATH_CALLS_H

#include "pipeline/build.h"
#include "plan/demand.h"

/* Paths that are worked on together, in the order of their numbers; and one of them. */
struct path_calls {
    struct pipeline *pipeline;
    const struct demand *demand;
    const int *place; /* [arrays of the demand] */
    int version;      /* that is worked on, of places of several a turn; */
    bool made;        /* nobody else adds to outputs there */
    int paths;
    const int *path;
    int together, turn; /* channels of B, of z at a time */
    const struct path_plan *e;
    const struct variant *v;
    int d; /* components of z */
};

/* Which of a path's recipes operands are held for. */
enum { CALLS_TENSOR = 1, CALLS_PRODUCT = 2, CALLS_BOTH = 3 };

/* Path `number` of those. */
struct path_calls calls_path(const struct path_calls *c, int number);
const char *calls_of_path(const struct path_calls *q, const char *name);
const char *calls_of_turn(const struct path_calls *q, const char *name);
void calls_declare(const struct path_calls *q, const char *name, int elements, bool zeros);

/* Registers, declared last under that name. */
struct argument calls_in(const struct path_calls *q, const char *name);

/* The same of channel j of those that are worked on together. */
struct argument calls_in_channel(const struct path_calls *q, const char *name, int components);
struct argument calls_row(const struct path_calls *q, int operand, struct address at);
void calls_call(const struct path_calls *q, const char *function, int n0, int n1, int n2, int arguments,
                const struct argument *argument);
void calls_loop(const struct path_calls *q, struct loop l);

/* Channels that are worked on together, one after the other. */
void calls_each(const struct path_calls *q);

/* Turns over channels of B. */
int calls_turns_b(const struct path_calls *q);

/* Do the rows of weights of its channels follow each other, where a turn has whole rows? */
bool calls_is_block(const struct path_calls *q);

/* The operand's block of the path, as it stands in its place: a place in parts has some of its channels
 * there, component by component where these are apart. */
struct operand_block calls_block_of(const struct path_calls *q, int operand);

/* Elements that an address is a multiple of, where it moves on by so many channels: at most as many as its
 * place has for a lane. */
int calls_alignment(const struct path_calls *q, int operand, const struct operand_block *b, int channels);

/* Loads or stores channels of an operand, from channel `variable` on where that is any. */
void calls_move(const struct path_calls *q, int operand, int channels, const char *name, const char *variable,
                bool load);

/* Declares registers with what is there: zeros, where nobody has added to it. */
void calls_begin(const struct path_calls *q, int operand, int channels, const char *name,
                 const char *variable);

/* Where the path's weights begin in their row; of channel j (each). */
struct address calls_weights_at(const struct path_calls *q, int operand, bool each);

/* Does the operand stand in registers while one of the recipes is computed; of_a: with channels of A alone?
 */
bool calls_holds(const struct path_calls *q, int recipes, int operand, bool of_a);

/* Brings them into registers, or stores those that are outputs. */
void calls_hold(const struct path_calls *q, int recipes, bool of_a, bool load);

/* The path's code, for each channel that is worked on together. */
void calls_code(const struct path_calls *q, bool tensor);

/* T of the channels of the group's path `number`. */
void calls_tensors(const struct path_calls *c, int number);

/* Brings what a turn needs of rows of z into registers, or stores what is added to. */
void calls_hold_z(const struct path_calls *c, int v, const char *variable, bool load);

/* Turns over n channels of z from `first` on. */
void calls_turns(const struct path_calls *c, int first, int n);

/* What comes of its P, or of its operands themselves. */
void calls_product(const struct path_calls *c, int number);

#endif
