/* check.h - checks of generated products through their descriptors; each kind is one function in
 * check_KIND.c.
 *
 * Error bound. Every element is compared by |error| <= c u S: u the unit roundoff, S the sum of the absolute
 * values of the element's n terms in the reference, c = 16 + n/8. A term passes through about ten roundings
 * before it is summed (coefficient, two factors of the matrix and its one or two entries, linear forms once
 * more, two or three operands). A sum of n terms can be off by n u S; with terms of mixed signs or sizes it
 * is by less than u S, but terms that are all equal (operands shared by many items) come as far as n/9.
 * u is that of the type that is computed with; an output of another type may be rounded by as much as that
 * allows (cgtp_rounding), once.
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include "cgtp_types.h"
#include "driver.h"

extern const double check_constant; /* the 16 of c */

struct check {
    const cgtp_product *product;
    struct ref_problem *problem;
    const char *kind;
    double roundoff; /* u of the type of arithmetic */
    uint64_t seed;
    double worst; /* largest error so far in units of u S */
    double share; /* and as a part of what was allowed */
    long compared, failures;
};

/* Values by argument name: what the kernels of one product take. Random where nothing was put. */
struct check_values {
    int n;
    struct check_value {
        char name[REF_NAME];
        int64_t count;
        double *value;
    } entry[64];
};

/* A number in [-1, 1) of few bits, so that sums and differences of two are exact. */
double check_random(uint64_t *seed);

/* A number as arrays of the slot hold it; a random one. */
double check_rounded(const struct check *, cgtp_slot, double);
double check_random_of(struct check *, cgtp_slot);

/* What rounding an output of about this size to its array's type may add to its error. */
double check_stored(const struct check *, cgtp_slot, double size);

/* The values of a name; made at random the first time. */
double *check_value_of(struct check *, struct check_values *, const struct ref_graph *, const char *name,
                       cgtp_slot slot);
void check_values_free(struct check_values *);

/* A random graph, or `items` alone for a batch product; receivers ascend where the product wants that. */
struct ref_graph check_graph(struct check *, int64_t items, int64_t senders, int64_t receivers);

/* Puts so many nodes that no edge has before, in the middle of and after its senders and receivers. */
void check_graph_pad(struct ref_graph *, int64_t before, int64_t middle, int64_t after);
void check_graph_free(struct ref_graph *);

/* Counts a failure and prints it as a TAP comment (the first few of a check). */
void check_failure(struct check *, const char *format, ...);

/* Is got within factor * u * magnitude + stored of expected? Notes the ratio. name[i] is printed where it is
 * not. */
void check_number(struct check *, const char *kernel, const char *name, int64_t i, double got,
                  long double expected, long double magnitude, double factor, double stored);

/* The kernel of the reference that a product's kernel is: known by its name, or one that the problem brings.
 */
void check_reference_kernel(struct check *, const cgtp_kernel *, struct ref_kernel *);

/* Runs a kernel on the values; output[o] are new arrays. Counts a failure where the status or the memory is
 * not right. */
bool check_run(struct check *, const cgtp_kernel *, const struct ref_graph *, struct check_values *,
               double **output);
void check_free_outputs(const cgtp_kernel *, double **output);

/* The reference's output `name`: new arrays of rows * dim; value may be NULL. only: as in ref_evaluate. */
void check_reference(struct check *, const struct ref_kernel *, const char *name, const struct ref_graph *,
                     struct check_values *, int only, long double **value, long double **magnitude);

/* The number of terms of each element of output o, which is counted only where the constant part of the bound
 * is not enough; zeros among the inputs take their terms away. To be freed. */
bool check_needs_terms(const struct check *, double got, long double value, long double magnitude);
long double *check_terms(struct check *, const cgtp_kernel *, int o, const struct ref_graph *,
                         struct check_values *);

/* Compares element i of output o; terms: those of check_terms, or NULL. */
void check_element(struct check *, const cgtp_kernel *, int o, int64_t i, double got, long double value,
                   long double magnitude, const long double *terms);

/* Compares output o of a kernel, got, with the reference's. */
void check_output(struct check *, const cgtp_kernel *, int o, const struct ref_graph *, struct check_values *,
                  const double *got, const long double *value, const long double *magnitude);

/* Runs the kernel and compares all its outputs. */
void check_kernel(struct check *, const cgtp_kernel *, const struct ref_graph *, struct check_values *);

/* The product's kernel of that name, or NULL. */
const cgtp_kernel *check_find_kernel(const cgtp_product *, const char *name);

/* ---- kinds ---- */

void check_golden(struct check *,
                  const char *folder); /* e3nn's numbers, and the reference at the same inputs */
void check_descriptor(struct check *); /* irreps, paths, coefficients, weight layout */
void check_sizes(struct check *);      /* no items, one, around a vector's width; lone nodes */
void check_calls(struct check *);      /* wrong calls are refused and write nothing */
void check_paths(struct check *);      /* one path at a time */
void check_symmetry(struct check *);   /* rotations and inversion */
void check_euler(struct check *);      /* sums over operands */
void check_quotients(struct check *);  /* derivatives against differences */

#endif
