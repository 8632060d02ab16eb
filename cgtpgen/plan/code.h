/* code.h - the arithmetic of one path, or of several that read one x and one y, for one channel, as a DAG of
 * operations in static single assignment.
 *
 * A value is an int: 0 is the number zero, n + 1 is what node n computes and -(n + 1) its negative. Signs
 * belong to uses, so that x and -x are computed once and a negation costs nothing where it meets an addition.
 * Equal operations are one node. Nodes stand in the order in which they are computed.
 */
#ifndef CGTPGEN_CODE_H
#define CGTPGEN_CODE_H

#include "plan/matrix.h"
#include "plan/recipe.h"

enum code_op {
    CODE_LOAD,     /* component b of operand a: a recipe input, or (inputs + o) what output o holds already */
    CODE_CONSTANT, /* constant number a */
    CODE_MUL,      /* a * b */
    CODE_ADD,      /* c + a */
    CODE_FMA       /* c + a * b */
};

/* The letter of a partial sum that is computed for itself, where it stands, so that its terms are needed no
 * longer. */
enum { CODE_KEPT = 'k' };

struct code_node {
    enum code_op op : 8;
    bool item;   /* the same for all channels: made of A and of constants only */
    bool named;  /* it is computed for itself, in the order of the nodes; otherwise where it is used */
    char letter; /* what it is named by: u, r and l of a recipe, v, q, f, CODE_KEPT; 0: a passing value */
    int a, b, c; /* values, but for loads and constants */
    int uses;    /* by nodes and results that are needed; 0: not needed itself */
    int number, component; /* of the letter */
    int next;              /* while it is built: the value that follows in its list of the table; 0: none */
};

/* An output's component gets a value: that alone, or (adds) on top of what it holds, which cannot be read. */
struct code_result {
    int output, component, value;
    bool adds;
    int before; /* nodes from this one on are computed after it */
};

/* Operations, a use of a negative result among them only as a negation. */
struct code_count {
    int fma, mul, add, neg;
};

/* Of many codes, each as often as an item needs it; negations cost nothing. */
struct operations {
    double fma, mul, add;
};

struct code {
    struct arena *arena; /* which it is in: a scratch arena while it is built */
    const struct recipe *recipe;
    int matrices; /* of several paths: as many as these are; 0: of one, whose matrix the caller knows */
    const struct matrix **matrix;
    int nodes, capacity;
    struct code_node *node;
    int constants, constant_capacity;
    struct surd *constant; /* positive, distinct */
    int results, result_capacity;
    struct code_result *result;
    struct code_count item, channel; /* once for all channels; for each */
    int one;                         /* the value one; 0: it is not there */
    /* while it is built, [capacity]: the first value of each list of nodes that hash alike; 0: none */
    int *table;
    struct hash by_value; /* constants */
};

/* ---- building: no value is 0 but that to which something is added ---- */

struct code *code_begin(struct arena *, const struct recipe *);
int code_load(struct code *, int operand, int component, bool item);
int code_constant(struct code *, struct surd); /* of either sign */
int code_mul(struct code *, int a, int b);
int code_add(struct code *, int to, int a);
int code_fma(struct code *, int a, int b, int to); /* to + a * b */

/* Is the value one or minus one? */
bool code_is_unit(const struct code *, int value);

/* What the value is to be named by, unless it has a name or needs none. */
void code_name(struct code *, int value, char letter, int number, int component);

void code_result(struct code *, int output, int component, int value, bool adds);

/* A copy in the arena that takes no more room than it needs. It joins sums to the chains that they are added
 * to, drops what nobody needs, and counts. */
struct code *code_finish(struct arena *, struct code *);

/* ---- reading ---- */

static inline int code_number(int value)
{
    return (value < 0 ? -value : value) - 1;
}

/* Finds which of its values are named, again where it was changed. */
void code_find_named(struct code *);

double code_flops(struct code_count);
void operations_add(struct operations *, struct code_count, double times);
double operations_flops(struct operations);
int code_instructions(struct code_count);

/* A node per line. */
void code_dump(struct text *, const struct code *);

/* ---- wrong on purpose (mutate.c) ---- */

/* Mutants are numbered from 1 on in the order in which the files' codes are written. */
struct mutation {
    int wanted; /* the one to be made; 0: none, only list them */
    int seen;
    struct text list; /* "NUMBER KIND" of the one, or of all */
};

/* The code as it is, or its mutant where that is wanted. */
struct code *code_mutate(const struct code *, struct mutation *);

/* ---- from recipes (lower.c) ---- */

/* The recipe by the matrix. tied: A has the channels of B. blind: what outputs hold cannot be read, only
 * added to. Works in the arena's scratch. */
struct code *code_lower(struct arena *, const struct recipe *, const struct matrix *, bool tied, bool blind);

/* ---- and of several paths (outer.c) ---- */

/* The recipe of paths that have A and B in common (recipe_repeat), by their matrices, none of which is
 * scaled. Works in the arena's scratch. */
struct code *code_lower_outer(struct arena *, const struct recipe *, int n, const struct matrix *const *);

#endif
