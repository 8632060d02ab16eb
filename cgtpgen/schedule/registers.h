/* registers.h - what the registers of a GPU's thread hold while it executes the codes of paths: their values,
 * and the lane's elements of rows. An evaluation says what it holds since when and until when; the rest is
 * counted.
 */
#ifndef CGTPGEN_REGISTERS_H
#define CGTPGEN_REGISTERS_H

#include "plan/demand.h"
#include "plan/live.h"

struct registers {
    struct live live;
    const struct demand *demand;
    int channels, words; /* of a lane; of a number */
    int **first;         /* [the kernel's operands][blocks]: the lane's elements of it, from this value on */
};

/* Rows of inputs or of outputs of a slot: their part in one irreps segment, or (-1) all of them. */
struct register_rows {
    enum slot slot;
    bool output;
    int segment;
};

struct registers *registers_begin(struct arena *, const struct demand *, int channels);

/* Their elements are other values from here on. */
void registers_renew(struct registers *, struct register_rows);

/* What codes have touched of them is there since that step; until this one. */
void registers_since(struct registers *, struct register_rows, int step);
void registers_until(struct registers *, struct register_rows);

/* Executes a path's code, or that of several, path[i] for copy i of the recipe. Weights are loaded where it
 * begins; gradients of weights are gone where it ends. */
void registers_path(struct registers *, const int *path, const struct code *);

#endif
