/* spec.h - what a spec file says, checked for form; meaning that needs the whole product is problem.c's and
 * form.c's.
 *
 * docs/spec.md is the reference of the keys.
 */
#ifndef CGTPGEN_SPEC_H
#define CGTPGEN_SPEC_H

#include "util/diag.h"
#include "algebra/exact.h"
#include "algebra/irreps.h"
#include "spec/device.h"
#include "spec/known.h"
#include "spec/mode.h"
#include "spec/precision.h"
#include "spec/words.h"

enum sugar { SUGAR_NONE, SUGAR_CHANNELWISE, SUGAR_FULLY_CONNECTED, SUGAR_ELEMENTWISE, SUGAR_FULL };

struct spec_instruction {
    int x, y, z; /* segment numbers, not yet checked against the irreps */
    enum mode mode;
    bool weighted;
    struct rat path_weight;
    struct pos pos; /* of the whole entry */
    struct pos x_pos, y_pos, z_pos, mode_pos, weighted_pos,
        path_weight_pos; /* of its elements; of the entry where left out */
};

/* A list of variances, one number a segment. n == 0: none given, all one. */
struct spec_variance {
    int n;
    struct rat *value;
    struct pos pos;
};

/* Segments of an operand that no path is to read or write. */
struct spec_unused {
    int n;
    struct spec_segment {
        int number; /* not yet checked */
        struct pos pos;
    } * segment;
};

/* One term of a user-spelled kernel: Q_<target>(name, name, name), the names in slot order x y w g less the
 * target. */
struct spec_term {
    enum slot target;
    const char *argument[3];
    struct pos pos, argument_pos[3];
};

struct spec_output {
    const char *name;
    struct pos pos;
    int terms; /* 0 in a subset, where only the name is given */
    struct spec_term *term;
};

/* `by: d y`: by is a (co)tangent of y; `q: y`: q is another primal value of y. */
struct spec_argument {
    const char *name;
    enum slot slot;
    bool tangent;
    struct pos pos;
};

/* An entry of `kernels`: a known name; {name, of, outputs}; or {name, arguments, outputs}. */
struct spec_kernel {
    const char *name;              /* the symbol's suffix */
    const struct known_kernel *of; /* what it is, or is a subset of; NULL for one spelled out */
    struct pos pos, of_pos;
    bool subset; /* outputs were listed */
    int outputs, arguments;
    struct spec_output *output;
    struct spec_argument *argument;
};

/* A planner knob, as `tune: {sm_90: {stages: 3, forward: {warps: 8}}}`. */
struct spec_knob {
    const struct device *device;
    int kernel;       /* the number of the one that it is for; -1: of all that have none of their own */
    enum knob knob;   /* one that the device has */
    int value;        /* in its range; */
    const char *word; /* or a word, where the knob takes one, not yet checked; else NULL */
    struct pos pos;   /* of the value */
};

/* "stages: 3" */
const char *spec_knob_text(struct arena *, const struct spec_knob *);

struct spec {
    const char *name;         /* of files and symbols */
    const char *written_name; /* what the file says: the same, but where --name gives another */
    const char *description;  /* "" when not given */
    struct irreps x, y, z;    /* as written; with sugar instructions z is a filter */
    bool has_z;
    struct pos x_pos, y_pos, z_pos;             /* of the irreps strings */
    const struct node *irreps_node[SLOT_COUNT]; /* where they stand, of x, y and z; NULL: not given */
    enum sugar sugar;
    struct pos sugar_pos, instructions_pos;
    bool order_output; /* channelwise: instructions sorted by output segment */
    int instructions;
    struct spec_instruction *instruction;
    enum irrep_normalization irrep_normalization;
    enum path_normalization path_normalization;
    struct spec_variance variance[3];      /* x, y, z */
    struct spec_unused unused[SLOT_COUNT]; /* of x, y and z */
    enum index_kind index[SLOT_COUNT];
    struct pos index_pos[SLOT_COUNT];
    bool sorted; /* edges: sorted */
    enum reduction reduction;
    bool compensated;                   /* accumulate: compensated */
    bool index64;                       /* index_type: int64 */
    enum precision storage[SLOT_COUNT]; /* of every array of the slot */
    enum precision compute;             /* arithmetic: float32 or float64 */
    struct pos precision_pos;           /* of the key's value */
    enum precision sum;                 /* of sums into rows of nodes and shared rows: the same, or wider */
    enum row_layout layout[SLOT_COUNT]; /* of every array of the slot; w has none */
    enum row_stride rows[SLOT_COUNT];   /* of every array of the slot that has more than one row */
    struct pos rows_pos[SLOT_COUNT];    /* of the word that a mapping has for the slot */
    int kernels;
    struct spec_kernel *kernel;
    int knobs, knobs_capacity;
    struct spec_knob *knob;
};

/* Reads the YAML text of diag->source. Returns NULL when anything was wrong; diag says what. */
struct spec *spec_read(struct arena *, struct diag *diag);

/* What was read, a line per fact. */
void spec_print(struct text *, const struct spec *);

/* The place of a segment of x, y or z, or of all of them (segment -1, and where it cannot be told). */
struct pos spec_segment_pos(const struct spec *, const struct diag *, enum slot, int segment);

/* Does any slot use sender or receiver, so that kernels take a graph? */
bool spec_is_graph(const struct spec *);

/* Does a kernel for a GPU put the edges in order itself, where it asks for them so? */
bool spec_orders(const struct spec *);

/* The types as `precision` says them: a word, or "{x: bfloat16, ..}". */
const char *spec_precision(struct arena *, const struct spec *);

/* Are the rows of all slots as e3nn has them? */
bool spec_has_e3nn_layout(const struct spec *);

/* Do callers say of arrays of the slot how far rows are from each other? */
bool spec_is_strided(const struct spec *, enum slot);

/* The same of any slot. */
bool spec_has_strides(const struct spec *);

/* "x strided, y dense, ..": the rows of arrays of all slots. */
const char *spec_rows(struct arena *, const struct spec *);

#endif
