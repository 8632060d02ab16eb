/* tiled_turn.h - tiled items: a path while its part of a group is written, as calls; and turns over channels
 * of z, in which T, weights and rows of z meet.
 *
 * Registers are named by what they hold and the path: x_p3; and vectors of a turn over channels of z by x_f.
 * Loops' variables are a (channels of A), u and j (channels of B, and those that are worked on together), c
 * (channels of z).
 */
#ifndef CGTPGEN_TILED_TURN_H
#define CGTPGEN_TILED_TURN_H

#include "schedule/tiled/tiled.h"

/* A path while its part of a group is written. */
struct worked {
    struct tiled *g;
    const struct tiled_part *part;
    const struct tiled_group *group;
    int piece;
    const struct path_plan *e;
    const struct variant *v;
    int d; /* components of z */
};

struct worked tiled_path(const struct worked *c, int number);
const char *tiled_of_path(const struct worked *q, const char *name);
const char *tiled_of_turn(const struct worked *q, const char *name);
void tiled_declare(const struct worked *q, const char *name, int elements, bool zeros);
/* Registers, declared last under that name. */
struct argument tiled_in(const struct worked *q, const char *name);

/* The same of channel j of those that are worked on together. */
struct argument tiled_in_channel(const struct worked *q, const char *name, int components);

struct argument tiled_row(const struct worked *q, int operand, struct address at);
void tiled_call(const struct worked *q, const char *function, int n0, int n1, int n2, int arguments,
                const struct argument *argument);
void tiled_loop(const struct worked *q, struct loop l);
/* Channels that are worked on together, one after the other. */
void tiled_each(const struct worked *q);
void tiled_end(const struct worked *q);

enum role tiled_role(const struct worked *q, const struct operand *o);
/* Turns over channels of B. */
int tiled_turns_b(const struct worked *q);

/* Loads or stores channels of an operand, from channel `variable` on where that is any. */
void tiled_move(const struct worked *q, int operand, int channels, const char *name, const char *variable,
                bool load);

/* Declares registers with what is there: zeros, where nobody has added to it. */
void tiled_begin(const struct worked *q, int operand, int channels, const char *name, const char *variable);

/* Where the path's weights begin in their row; of channel j (each). */
struct address tiled_weights_at(const struct worked *q, int operand, bool each);

/* Where sums over lanes of a group's gradients go: a place for each path and channel of B. */
void tiled_gradient_places(const struct worked *c, int operand);

/* Gradients of weights on their way from registers, v of each of so many paths' channels of B. */
void tiled_gradients(const struct worked *c, int operand, const char *name, int paths, int v,
                     const struct address *from);

/* Brings what a turn needs of rows of z into registers, or stores what is added to. */
void tiled_hold_z(const struct worked *c, int v, const char *variable, bool load);

/* Turns over n channels of z from `first` on. */
void tiled_emit_turns(const struct worked *c, bool z, int first, int n);

#endif
