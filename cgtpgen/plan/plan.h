/* plan.h - how every kernel is computed: the data that the emitters read and --print=plan shows.
 *
 * A kernel is one or more passes over the items. A pass owns the rows of one index: outputs that reduce over
 * receivers, over senders, over all items (shared), or not at all (item), so that a row is summed by one
 * owner in the order of the edge list and the result does not depend on how work is divided. Outputs of items
 * ride along with the pass where they cost least.
 *
 * Within a pass every path has an evaluation. Operand A (x or y) supplies the matrix M (matrix.h), one
 * channel at a time; channels of the other operand B are the vector dimension. Elementwise paths (u tied to
 * v) have M by channel. Contracted paths (a third index w) go through a tensor T[k,b], M applied to B, and
 * products of T with rows of weights.
 */
#ifndef CGTPGEN_PLAN_H
#define CGTPGEN_PLAN_H

#include "form/form.h"
#include "plan/code.h"

struct path_plan {
    const struct path *path;
    enum slot a, b;      /* roles of x and y */
    bool elementwise;    /* channels of A and B are tied */
    bool contracted;     /* weights connect channels of the product with channels of z */
    bool pairs;          /* channels b > a only (u<v) */
    bool strided;        /* B and G are parts of longer rows of channels (uvuv, u<v) */
    bool weight_strided; /* weights of neighbouring channels are not neighbours (uvu with mul_y > 1) */
    const struct matrix *matrix; /* NULL where the path contributes nothing (weight zero, or no channels) */
};

/* Paths that read one segment of x, which is brought in once for all of them. */
struct group {
    int x; /* segment */
    int paths;
    int *path; /* ascending */
};

/* z output += W^T T: kernel output, kernel input (weights; -1: all one, and z has one channel), number of the
 * T vector. */
struct contract_z {
    int output, w, t;
};

/* weights output = sum of T g^T. */
struct contract_w {
    int output, parts;
    struct contract_w_part {
        int t, g; /* number of the T vector, kernel input */
    } * part;
};

/* P = W g, kernel inputs (w -1: all one). */
struct contract_p {
    int w, g;
};

/* One way of computing a path in a pass; shared by all paths that are alike. */
struct variant {
    enum slot a;
    bool elementwise, contracted, weighted, wide, strided, weight_strided;
    const struct recipe
        *product; /* diagonal: everything; contracted: outputs of x and y, from P; NULL: nothing to do */
    /* contracted only: */
    const struct recipe *tensor; /* the T vectors; NULL: none */
    int ts, ps, zs, ws;
    struct contract_p *p;
    struct contract_z *z;
    struct contract_w *w;
};

/* How a host kernel reads an input of slot x, y or z in component order. */
enum staging {
    STAGE_NONE, /* in place: the two orders agree, or it is only read as A or W */
    STAGE_ROW,  /* a transposed copy of the current row, made when the row changes */
    STAGE_ALL   /* all rows transposed once a launch, as rows come back in no order */
};

/* A path's recipes by its matrix; NULL: none. */
struct path_code {
    const struct code *product, *tensor;
};

struct pass {
    enum index_kind owner;
    int outputs, *output; /* kernel outputs, ascending */
    int variants;
    struct variant *variant;
    int *variant_of;        /* [paths]: variant, or -1: the path has nothing to do, or takes no part */
    struct path_code *code; /* [paths]; paths of the same variant and matrix share them */
    enum staging *staging;  /* [kernel inputs] */
    bool *raw, *vector; /* [kernel inputs]: read as stored (A, W); as vectors over channels (B, G, tied A) */
    double flops;       /* an item */
};

struct kernel_plan {
    const struct kernel_form *form;
    int passes;
    struct pass *pass;
    double bytes_least;            /* an item: every item-indexed operand once */
    double bytes_planned;          /* an item: inputs once a pass, reduced rows in cache */
    double bytes_row[INDEX_COUNT]; /* a row of senders, receivers, shared: each operand once */
    double flops;                  /* an item */
};

struct plan {
    const struct problem *problem;
    const struct form *form;
    struct matrices matrices;
    struct path_plan *path; /* [problem->paths] */
    int groups;
    struct group *group;         /* by segment of x */
    bool transposed[SLOT_COUNT]; /* does component order differ from mul_ir for what is used as vectors */
    int kernels;
    struct kernel_plan *kernel;
    struct mutation *mutation; /* what to get wrong when code is written; NULL: nothing */
};

struct plan *plan_build(struct arena *, const struct problem *, const struct form *);

/* A pass over the rows of `owner` for outputs of a kernel. only: [paths], which take part; NULL: all. */
struct pass plan_pass(struct arena *, const struct plan *, const struct kernel_form *, enum index_kind owner,
                      int outputs, const int *output, const bool *only);

/* The plan as a table for people; also the body of each generated file's banner. */
void plan_print(struct text *, const struct plan *);

#endif
