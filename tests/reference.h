/* reference.h - the dense reference: what a tensor product and its derivatives are, computed the plain way.
 *
 * Shares no code and no data with the generator. Coupling tensors come from ladder operators, coefficients
 * from e3nn's definitions, kernels from lists of derivatives written out by hand, and everything is summed
 * term by term in long double, or, for products in single precision, in double. Beside each value stands the
 * sum of the absolute values of its terms, which error bounds are made of.
 *
 * For one item Q(x, y, w, g) = sum over paths and (i, j, k) of a C[i,j,k] x[u,i] y[v,j] w[..] g[..,k]; a term
 * Q_s(..) is its derivative by slot s at given arguments of the other three. A path without weights counts
 * once where the argument of slot w is a primal value, not at all where it is a tangent or cotangent, and has
 * no Q_w.
 */
#ifndef TEST_REFERENCE_H
#define TEST_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Operands; z and its cotangent share the slot g. */
enum { REF_X, REF_Y, REF_W, REF_G, REF_SLOTS };

/* Which row of an array an item reads or adds to. */
enum { REF_ITEM, REF_SENDER, REF_RECEIVER, REF_SHARED, REF_INDICES };

enum { REF_L_MAX = 11, REF_NAME = 32, REF_ARGUMENTS = 24, REF_OUTPUTS = 8, REF_TERMS = 12 };

/* ---- coupling tensors ---- */

struct ref_entry {
    int i, j, k;
    long double value; /* never zero */
    double rounded;    /* the same */
};

/* The nonzero entries of a real coupling tensor of Frobenius norm one, e3nn's basis and signs. */
struct ref_w3j {
    int l1, l2, l3, n;
    struct ref_entry *entry;
};

/* Makes the tensor; |l1 - l2| <= l3 <= l1 + l2. Free with ref_w3j_free. */
struct ref_w3j *ref_w3j(int l1, int l2, int l3);
void ref_w3j_free(struct ref_w3j *);

/* The rotation by the vector `turn` (axis times angle) on the real basis of degree l: d[(2l+1) * (2l+1)]. */
void ref_rotation(int l, const long double turn[3], long double *d);

/* ---- kernels ---- */

struct ref_argument {
    char name[REF_NAME];
    int slot;
    bool tangent;
};

struct ref_term {
    int target, argument[REF_SLOTS]; /* argument numbers; -1 at the target */
};

struct ref_output {
    char name[REF_NAME];
    int slot, terms;
    struct ref_term term[REF_TERMS];
};

struct ref_kernel {
    char name[REF_NAME];
    int arguments, outputs;
    struct ref_argument argument[REF_ARGUMENTS];
    struct ref_output output[REF_OUTPUTS];
};

/* The text of a kernel known by name, NULL for another. */
const char *ref_kernel_text(const char *name);

/* "d_x = Q_x(by, w, gz) + Q_x(y, cw, gz); d_y = ..". An argument's slot is its place. In slot w every name
 * but w is a tangent, unless `primal`, a list of names between commas, has it (only there does being a
 * tangent matter). */
void ref_kernel_parse(struct ref_kernel *, const char *name, const char *text, const char *primal);
int ref_find_argument(const struct ref_kernel *, const char *name); /* -1: none */
int ref_find_output(const struct ref_kernel *, const char *name);

/* ---- products ---- */

struct ref_segment {
    int mul, l, parity; /* parity +1 or -1 */
    int64_t offset;     /* of its first element in a row */
};

struct ref_irreps {
    int n;
    struct ref_segment *segment;
    int64_t dim;
};

/* What a mode of e3nn means: which pairs (u, v) of channels there are, and which channels of z a pair
 * reaches. */
struct ref_mode {
    const char *name;
    enum { REF_ALL_PAIRS, REF_UPPER_PAIRS, REF_EQUAL_PAIRS } pairs; /* all; u < v; u = v */
    enum { REF_ALL_CHANNELS, REF_CHANNEL_U, REF_CHANNEL_V, REF_OWN_CHANNEL } to;
};

struct ref_path {
    int x, y, z;
    char mode[6];
    const struct ref_mode *meaning; /* of the mode */
    bool weighted;
    long double path_weight;
    long double coefficient; /* a_p */
    int64_t weight_offset, weight_numel;
    const struct ref_w3j *cg;
};

struct ref_problem {
    struct ref_irreps irreps[REF_SLOTS]; /* that of w is empty */
    char irrep_normalization[16], path_normalization[16];
    long double *variance[REF_SLOTS]; /* by segment; NULL: all one */
    int paths;
    struct ref_path *path;
    int64_t dim[REF_SLOTS]; /* elements of a row */
    int index[REF_SLOTS];   /* REF_ITEM and so on */
    bool rounded;           /* evaluated in double, for a product in single precision; else in long double */
    int kernels;            /* those that the problem brings with it */
    struct ref_kernel *kernel;
    struct ref_w3j *cg[REF_L_MAX + 1][REF_L_MAX + 1][REF_L_MAX + 1];
};

/* An array of a file that describes a case: rows x columns of float64, one after the other in a data file. */
struct ref_array {
    char name[REF_NAME];
    int64_t rows, columns, offset; /* offset in elements */
};

/* An empty problem with e3nn's defaults, to be filled by the functions below. Everything here aborts with a
 * message when its input is malformed: it is the tests' own. */
struct ref_problem *ref_problem_new(const char *x, const char *y, const char *z);
void ref_problem_free(struct ref_problem *);
void ref_add_path(struct ref_problem *, int x, int y, int z, const char *mode, bool weighted,
                  long double path_weight);
/* Derives coefficients, weight layout and tensors, once all paths are there. */
void ref_problem_finish(struct ref_problem *);

/* Reads a problem from text: lines `x|y|z IRREPS`, `normalization IRREP PATH`, `variance x|y|z NUMBERS`,
 * `instruction X Y Z MODE WEIGHTED PATH_WEIGHT`, `index X Y W Z`, `array NAME ROWS COLUMNS`, and
 * `kernel NAME PRIMAL TEXT` as for ref_kernel_parse (PRIMAL may be -, TEXT the name of a known kernel). x, y
 * and z come first. `array` (room for `capacity`) and `arrays` get the arrays; both may be NULL. */
struct ref_problem *ref_problem_read(FILE *, const char *name, struct ref_array *array, int capacity,
                                     int *arrays);

/* ---- evaluation ---- */

/* Items and how they refer to rows; in a batch product senders and receivers are 0 and NULL. */
struct ref_graph {
    int64_t items, senders, receivers;
    const int64_t *sender, *receiver;
};

int64_t ref_rows(const struct ref_problem *, const struct ref_graph *, int slot);

/* One output of a kernel. input[a]: rows of the kernel's argument a. value, magnitude [rows * dim]: the sum
 * (may be NULL), and the sum of the absolute values of its terms. only: one path's number, or -1 for all. */
void ref_evaluate(const struct ref_problem *, const struct ref_graph *, const struct ref_kernel *, int output,
                  const double *const *input, int only, long double *value, long double *magnitude);

/* The numbers of terms of those sums that are not zero. */
void ref_count_terms(const struct ref_problem *, const struct ref_graph *, const struct ref_kernel *,
                     int output, const double *const *input, int only, long double *terms);

#endif
