/* form.h - every kernel as outputs, each a sum of derivatives of one number by one of its operands.
 *
 * For one item Q(x, y, w, g) = sum over paths and nonzeros of a C[i,j,k] x[u,i] y[v,j] w[..] g[..,k] is
 * linear in each operand. A term Q_s(..) is the derivative of Q by slot s at given arguments of the other
 * three slots. Everything below this layer sees kernels only in this form; nothing branches on a kernel's
 * name.
 *
 * An unweighted path has no w, so Q is affine in w: its part of a term counts once where the w argument is a
 * primal value, is zero where that argument is a (co)tangent of w, and it has no Q_w (form_term_applies).
 */
#ifndef CGTPGEN_FORM_H
#define CGTPGEN_FORM_H

#include "problem/problem.h"

/* What an array is to the kernel that its own derives from. */
enum kin {
    KIN_NONE,      /* nothing: the kernel is forward, or spelled out */
    KIN_SAME,      /* an input that is that kernel's input too */
    KIN_COTANGENT, /* an input: the cotangent of an output; an output: of an input */
    KIN_TANGENT    /* an input: the tangent of an input; an output: of an output */
};

struct lineage {
    enum kin kin;
    int number; /* of that input or output of kernel_form.of */
};

/* An input array of a kernel. */
struct form_argument {
    const char *name;   /* as in the spec */
    const char *symbol; /* in emitted code: see form_symbol */
    enum slot slot;
    bool tangent; /* a tangent or cotangent of the slot, not its primal value */
    struct lineage lineage;
};

/* Q_target at the inputs argument[s], s != target; -1 at the target, and at W where the product has no
 * weights. */
struct form_term {
    enum slot target;
    int argument[SLOT_COUNT];
};

struct form_output {
    const char *name, *symbol; /* as an argument's */
    enum slot slot;            /* the target of all its terms */
    int terms;                 /* distinct; may be 0: the output is then zero */
    struct form_term *term;
    struct lineage lineage;
};

struct kernel_form {
    const char *name;
    const struct kernel_form *of; /* the kernel it derives from, with all outputs; NULL: none */
    int inputs, outputs;          /* inputs: those that some term uses */
    struct form_argument *input;
    struct form_output *output;
};

struct form {
    int kernels;
    struct kernel_form *kernel;
};

/* What an argument or output is called in emitted code: x_. What is derived from it there is that and a word
 * without underscores that begins with a letter, x_c0 or x_out; nothing else has such a name, so names of
 * specs meet neither keywords and macros nor the emitter's names and the runtime's (tests/names.t). */
const char *form_symbol(struct arena *, const char *name);

/* Derives the kernels that the spec asks for. Returns NULL when one is wrong; diag says what. */
struct form *form_build(struct arena *, const struct problem *, struct diag *);

/* What there is to be coded: the nonzero coefficients of all paths, for each term of each output. */
int64_t form_entries(const struct problem *, const struct form *);

/* The first of the form's kernels that is what k derives from, with all inputs and outputs; NULL: none. */
const struct kernel_form *form_parent(const struct form *, const struct kernel_form *k);

/* Does the path take part in the term? */
bool form_term_applies(const struct kernel_form *, const struct form_term *, const struct path *);

/* Q_x(y, w, gz) */
void form_term_print(struct text *, const struct kernel_form *, const struct form_term *);

#endif
