/* tiled_turn.h - tiled items: turns over channels of z, in which T, weights and rows of z meet. */
#ifndef CGTPGEN_TILED_TURN_H
#define CGTPGEN_TILED_TURN_H

#include "schedule/tiled/tiled_path.h"

/* Where sums over lanes of a group's gradients go: a place for each path and channel of B. */
void tiled_places(struct tiled_writer *c, const struct tiled_group *group, int operand);

/* Gradients of weights on their way from registers, v of each of so many paths' channels of B. */
void tiled_gradients(struct tiled_writer *c, const struct tiled_group *group, int operand, int paths, int v,
                     const char *channel);

/* Brings what a turn needs of rows of z into registers, or stores what is added to. */
void tiled_hold_z(struct tiled_writer *c, const struct tiled_group *group, int v, const char *variable,
                  bool load);

/* Turns over n channels of z from `first` on; z: are rows of z brought and stored in each? */
void tiled_emit_turns(struct tiled_writer *c, const struct tiled_group *group, bool z, int first, int n);

#endif
