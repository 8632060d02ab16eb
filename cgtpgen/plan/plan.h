/* plan.h - what is true of a product on every target: how each path becomes a matrix, and the least bytes
 * that each kernel moves. Const once plan_build has returned.
 *
 * A path works in roles. Operand A (x or y) supplies the matrix M (matrix.h), one channel at a time; channels
 * of operand B are the vector dimension. Elementwise paths (A tied to B) have M by channel. The third, G, is
 * z, but x of uvv, and y of uvu with many channels of y. Contracted paths, whose weights connect channels of
 * G with those of the others (w of uvw, u of uvv, v of uvu), go through a tensor T[k,b], M applied to B, and
 * products of T with the block of weights; what G stands for comes to the others as P, its product with that
 * block.
 *
 * What is to be computed for some outputs and paths is a demand (demand.h); how, a schedule (schedule/).
 */
#ifndef CGTPGEN_PLAN_H
#define CGTPGEN_PLAN_H

#include "form/form.h"
#include "plan/matrix.h"
#include "plan/operand.h"

struct path_plan {
    const struct path *path;
    enum slot a, b, g;   /* roles of x, y and z */
    bool elementwise;    /* channels of A and B are tied */
    bool contracted;     /* weights connect channels of the product with channels of G */
    bool pairs;          /* channels b > a only (u<v) */
    bool below;          /* channels g < a only (u<v, where x is summed first) */
    bool strided;        /* B and G are parts of longer rows of channels (uvuv, u<v) */
    bool weight_strided; /* weights of neighbouring channels are not neighbours (uvu with mul_y > 1) */
    const struct matrix *matrix; /* NULL where the path contributes nothing (weight zero, or no channels) */
};

/* Channels of operand A that are taken one after the other (1: tied to B), and channels of B. */
int path_channels_a(const struct path_plan *);
int path_channels_b(const struct path_plan *);

/* Channels of G. */
int path_channels_g(const struct path_plan *);

/* The block of weights of a contracted path: elements from one of its rows to the next. Rows are channels of
 * B, or of G where those of B are neighbours in it. */
int64_t path_weight_rows(const struct path_plan *);
bool path_weights_turned(const struct path_plan *);

/* Paths that read one segment of x, which is brought in once for all of them. */
struct path_group {
    int x; /* segment */
    int paths;
    int *path; /* ascending */
};

struct kernel_plan {
    const struct kernel_form *form;
    enum precision compute;        /* what is computed with */
    const struct operand *operand; /* [form->inputs + form->outputs] */
    double bytes_least;            /* per item: every item-indexed operand once */
    double bytes_row[INDEX_COUNT]; /* per row of senders, receivers, shared: each operand once */
};

/* The operand of a kernel's input, of its output. */
const struct operand *kernel_input(const struct kernel_plan *, int input);
const struct operand *kernel_output(const struct kernel_plan *, int output);

/* Bytes of a number of the type that a kernel computes in, which registers hold. */
int kernel_size(const struct kernel_plan *);

struct codes;
struct answers;

struct plan {
    const struct problem *problem;
    const struct form *form;
    struct matrices matrices;
    struct codes *codes;     /* of all schedules that were made by it (codes.h) */
    struct answers *answers; /* what plans of a kernel take from each other (answers.h) */
    struct path_plan *path;  /* [problem->paths] */
    int groups;
    struct path_group *group; /* by segment of x */
    int kernels;
    struct kernel_plan *kernel;
    const char *digest;        /* see plan_digest */
    bool sums_x;               /* paths u<vw have other roles: x is summed by weights first */
    const struct plan *summed; /* that plan of the same product; NULL: there are no such paths */
};

/* The kernel for schedules that read and write rows so; NULL: there are no such rows. */
const struct kernel_plan *kernel_stored(struct arena *, const struct plan *, const struct kernel_plan *,
                                        struct row_access);

const struct plan *plan_build(struct arena *, const struct problem *, const struct form *);

/* The digest of the spec as understood: 16 hexadecimal digits. */
const char *plan_digest(struct arena *, const struct plan *);

/* Paths and matrices as a table for people. */
void plan_print(struct text *, const struct plan *);

#endif
