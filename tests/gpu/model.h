/* model.h - a generated product beside the dense reference of the same product, and how far apart they may
 * be. */
#ifndef TEST_GPU_MODEL_H
#define TEST_GPU_MODEL_H

#include "cgtp.h"
#include "reference.h"

struct model {
    const cgtp_product *product;
    struct ref_problem *problem;
};

/* Of the folder's file, or, without one (NULL), from the descriptor alone, with e3nn's default normalisation (driver_problem).
 * False, with a line on stderr, if the descriptor's coefficients are not the reference's (a spec with another
 * normalisation, or a wrong one). */
bool model_make(struct model *, const cgtp_product *, const char *folder);
void model_free(struct model *);

/* The reference's kernel: the problem's own of that name, or the known one whose outputs the kernel's are (all or some of),
 * by their names. */
bool model_kernel(const struct ref_problem *, const cgtp_kernel *, struct ref_kernel *);

/* The kernel's inputs by position in the order of the reference's arguments; NULL where the kernel has none.
 */
void model_inputs(const cgtp_kernel *, const struct ref_kernel *, const double *const *input,
                  const double *arguments[REF_ARGUMENTS]);

/* Terms that are added into an element of an output (the segment with most of them), per item. */
double model_terms(const struct ref_problem *, const struct ref_kernel *, int output);

/* The bound c of |error| <= c u sum|terms|, where `items` items are summed: a constant for the roundings of
 * one term, and 6 sqrt(n) for a sum of n terms in any order. (Higham and Mary, A new approach to
 * probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4: with lambda = 6 it fails
 * with a probability below 2n exp(-18) = 3e-8 n; the certain bound is n.) */
double model_bound(const struct ref_problem *, const struct ref_kernel *, int output, double items);

/* u: 2^-24 or 2^-53. */
double model_unit(const cgtp_product *);

#endif
