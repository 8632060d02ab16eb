/* code_print.h - code (plan/code.h) as text, in C that every backend shares.
 *
 * A value that several need is a local constant, named after what it is: x_c1 is component 1 of input x, y_f3
 * form 3 of input y, u0_1 component 1 of the recipe's product U number 0, s2_0 a passing value. All others
 * stand where they are used, and sums of products are written as such.
 */
#ifndef CGTPGEN_CODE_PRINT_H
#define CGTPGEN_CODE_PRINT_H

#include "plan/demand.h"
#include "util/hash.h"

/* The constants that a file's code uses: K3_10 is sqrt(3/10). Zero-initialise and set the arena. */
struct constants {
    struct arena *arena;
    struct hash hash; /* by value */
    int n, capacity;
    struct constant {
        struct surd value;
        const char *name;
    } * constant;
};

/* The name of one, which is added where it is new. */
const char *constant_name(struct constants *, struct surd);

/* Their definitions; qualifier: "static const". */
void constants_print(struct text *, const struct constants *, const struct plan *, const char *qualifier);

/* Partial sums are all of a sum, the beginning of a variable, or a term that is added to it. */
enum { SUM_ALONE = 1, SUM_BEGINS, SUM_ADDS };

struct code_printer {
    struct text *out;
    const struct code *code;
    struct constants *constants;
    struct mutation *mutation; /* NULL: none */
    int indent;
    /* Where a component of an operand stands: of a recipe input, or (inputs + o) of output o. */
    const char *(*place)(void *context, int operand, int component);
    void *context;
    const bool
        *in_place; /* [recipe inputs]: used where they stand, not through a local constant; NULL: none */
    /* set by code_printer_begin: */
    const char **name; /* [nodes]; NULL: it stands where it is used */
    char *sum;         /* [nodes]: what a partial sum that is computed for itself is, below; 0: it is none */
};

/* Gives names to what needs them; gets wrong what the mutation wants. */
void code_printer_begin(struct code_printer *);

/* What is the same for all channels: for each A input what is used of it, and its forms. */
void code_print_item(const struct code_printer *);

/* The work of a channel. */
void code_print_channel(const struct code_printer *);

/* "34 fma, 3 mul per channel, 2 mul per item" */
void code_print_counts(struct text *, const struct code *);

#endif
