/* mode.h - e3nn's connection modes: how the channels u of x, v of y and w of z are tied, one row each.
 *
 * What a mode asks of the multiplicities, the shape of its weights, how many products it sums into a channel
 * and how it is evaluated all follow from a row.
 */
#ifndef CGTPGEN_MODE_H
#define CGTPGEN_MODE_H

#include "spec/words.h"

#include <stdbool.h>

enum mode {
    MODE_UVW,
    MODE_UVU,
    MODE_UVV,
    MODE_UUW,
    MODE_UUU,
    MODE_UVUV,
    MODE_UVULTV,
    MODE_ULTVW,
    MODE_COUNT
};

/* What a dimension of an array counts: channels of x, y or z; pairs u < v of channels of x and y. */
enum axis { AXIS_NONE, AXIS_U, AXIS_V, AXIS_W, AXIS_PAIRS, AXIS_COUNT };

extern const char *const axis_name[AXIS_COUNT]; /* u v w u<v */

enum { AXES_MOST = 3 };

struct mode_row {
    const char *name;             /* in a spec, and e3nn's */
    const char *c_name;           /* as part of a C name */
    const char *constant;         /* the runtime's */
    enum axis inputs[AXES_MOST];  /* channels of x and y that meet: u v: all; u: those alike; u<v: pairs */
    enum axis z[AXES_MOST];       /* channels of z, in order; w: weights connect all with all that meet */
    enum axis weights[AXES_MOST]; /* of the weight block, in C order: e3nn's path_shape */
    bool needs_weights;           /* there is no form without */
    bool longest;                 /* operand A is y, or x where that has fewer channels; otherwise: */
    enum slot a;                  /* the operand whose channels are taken one after the other (plan.h) */
    enum slot g;                  /* whose channels weights connect with those of the others, or z */
};

extern const struct mode_row mode_table[MODE_COUNT];

/* Must x and y have equally many channels? */
bool mode_ties_inputs(const struct mode_row *);

#endif
