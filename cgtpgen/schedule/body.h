/* body.h - straight-line code for one channel of one path: a recipe over a matrix, in C that every
 * backend shares.
 *
 * Inputs stand in local constants that the caller declares: component i of an input with stem s is s_i, its
 * linear form f is s_f<f> (body_forms declares those). Outputs are whatever lvalue the caller names.
 */
#ifndef CGTPGEN_BODY_H
#define CGTPGEN_BODY_H

#include "plan/demand.h"

/* U products that are added up before M: the vectors of n parts. */
struct body_sum {
    int n;
    const struct recipe_part *part;
};

struct body {
    struct text *out;
    int indent;
    const struct recipe *recipe;
    const struct matrix *matrix;
    bool is_float;
    const char *const *stem; /* [recipe inputs] */
    const char *(*output)(void *context, const struct recipe_output *, int component);
    void *context;
    bool proxies; /* outputs are objects that know += only */
    /* set by body_begin: */
    bool *row, *column; /* has M a nonzero in this row, column */
    int constants;
    struct surd *constant; /* distinct coefficients of forms but one, positive: C0, C1, .. */
    /* set by body_channel: */
    int vs;
    struct body_sum *v;
};

/* Prepares and declares the constants. */
void body_begin(struct body *);

/* Does the recipe apply M made of this input (so that its forms are needed)? */
bool body_needs_forms(const struct recipe *, int input);

/* Declares the forms of an A input; component j of it is written as printf(component, stem, j). */
void body_forms(struct body *, int input, const char *component);

/* The work of one channel. */
void body_channel(struct body *);

#endif
