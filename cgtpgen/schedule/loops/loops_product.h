/* loops_product.h - the C function that applies one matrix of linear forms by one recipe to a run of
 * channels. */
#ifndef CGTPGEN_LOOPS_PRODUCT_H
#define CGTPGEN_LOOPS_PRODUCT_H

#include "schedule/code_print.h"
#include "schedule/path.h"
#include "schedule/source.h"

/* Has the function a parameter for the stride between components of its A, B or G arrays? (Otherwise it is n,
 * or there is one component.) */
bool product_takes_ld(const struct product_function *, enum role);

/* The function's definition. Its parameters, in this order, which product_call's caller follows:
 *   n             channels
 *   ldb, ldg      elements from one component of a B, G array to the next
 *   ldw           weight_strided: elements from one channel's weight to the next
 *   lda           stride of the component arrays of A outputs
 *   stepa         apart[ROLE_A]: elements from one component to the next of A arrays read as stored
 *   inputs that recipe_reads, then outputs, in the recipe's order */
void loops_product(struct source *, const struct product_function *);

#endif
