/* recipe.h - how one path's share of a pass is computed for one channel: which products with M, used by which
 * outputs.
 *
 * A recipe works on roles. A is the operand M is made of, B the other of x and y, W the weight (a scalar a
 * channel; may be absent), G the operand or output of slot g. For a channel it forms, each at most once,
 *
 *     R(a,b)[k] = sum_i M_a[i,k] b[i]        L(a,g)[i] = sum_k M_a[i,k] g[k]        U(w,b)[i] = w b[i]
 *
 * and from these every output:
 *
 *     G output [k] += sum w R(a,b)[k], or sum_a sum_i M_a[i,k] (U(w,b) + U(w',b') + ..)[i] where that is
 *                     cheaper
 *     B output [i] += sum w L(a,g)[i]
 *     W output      = sum_i b[i] L(a,g)[i], or sum_k R(a,b)[k] g[k]
 *     A output [j] += reverse mode of the forms: q_f = sum over entries of f of +-U[i] g[k]; sum_f
 * coefficient q_f
 */
#ifndef CGTPGEN_RECIPE_H
#define CGTPGEN_RECIPE_H

#include "util/arena.h"

#include <stdbool.h>

enum role { ROLE_A, ROLE_B, ROLE_W, ROLE_G, ROLE_COUNT };

/* An array that the recipe reads; `source` is the caller's number for it (a kernel input, or a scratch
 * vector). */
struct recipe_input {
    enum role role;
    const char *name; /* as a C identifier */
    int source;
    int copy; /* of a recipe for several paths (recipe_repeat): which path's it is */
};

/* Q_target at the recipe inputs input[role]; -1 at the target and, without weights, at W. */
struct recipe_term {
    enum role target;
    int input[ROLE_COUNT];
};

/* Is term t the first of its list with this input in the role? */
bool recipe_first_with(const struct recipe_term *, int t, enum role);

/* A product: R {a, b}, L {a, g}, or U {w, b} (first == -1: b itself). */
struct recipe_product {
    int first, second; /* recipe inputs */
};

/* One summand of an output; what the numbers mean depends on the output's role:
 *   G: factor = w input or -1, vector = R;  prescaled: factor = a input, vector = U
 *   B: factor = w input or -1, vector = L
 *   W: factor = b input, vector = L;  by_r: factor = g input, vector = R
 *   A: factor = g input, vector = U
 * Parts are sorted by factor: U that meet the same factor are added up first. */
struct recipe_part {
    int factor, vector;
};

struct recipe_output {
    enum role role;
    const char *name;
    int source;     /* the caller's number for it (a kernel output, or a scratch vector) */
    int copy;       /* as an input's */
    bool assign;    /* written, not added to */
    bool prescaled; /* role G: M applied to U */
    bool by_r;      /* role W: through R */
    int parts;
    struct recipe_part *part;
};

struct recipe {
    int inputs, outputs;
    struct recipe_input *input;
    struct recipe_output *output;
    int rs, ls, us;
    struct recipe_product *r, *l, *u;
    int applications; /* of M: rs + ls + prescaled parts + reverse modes, the unit of cost */
};

/* What recipe_build is given for each output. */
struct recipe_request {
    enum role role;
    const char *name;
    int source;
    bool assign;
    int terms;
    struct recipe_term *term;
};

/* wide: the matrices have no more rows than columns, so scaling B first is cheaper than scaling the result.
 */
struct recipe *recipe_build(struct arena *, int inputs, struct recipe_input *, int outputs,
                            const struct recipe_request *, bool wide);

/* The recipe of `n` paths that have A and its gradients in common (b: B and its, too), and all else their
 * own: A's forms are computed once then, and what flows back to them is added up first. What is path i's own
 * is named x_2, from i = 1 on. */
struct recipe *recipe_repeat(struct arena *, const struct recipe *, int n, bool b);

/* A copy, names included. */
struct recipe *recipe_copy(struct arena *, const struct recipe *);

/* Are they alike in everything, names included? */
bool recipe_equal(const struct recipe *, const struct recipe *);

/* Is the input read: by a product (B, G, W) or through its forms (A)? */
bool recipe_reads(const struct recipe *, int input);

/* An operand by its number: an input, or (inputs + o) an output, whose role, name, source and copy these are.
 */
static inline struct recipe_input recipe_operand(const struct recipe *r, int operand)
{
    if (operand < r->inputs)
        return r->input[operand];
    const struct recipe_output *o = &r->output[operand - r->inputs];
    return (struct recipe_input){o->role, o->name, o->source, o->copy};
}

#endif
