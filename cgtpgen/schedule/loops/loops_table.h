/* loops_table.h - the host's products by tables (schedule/path_table.h): a function for each recipe, which
 * takes any matrix as numbers, in loops over so many channels at a time that what they sum stays near. Each
 * matrix's product calls it.
 */
#ifndef CGTPGEN_LOOPS_TABLE_H
#define CGTPGEN_LOOPS_TABLE_H

#include "schedule/path.h"
#include "schedule/source.h"

/* Writes the function of the product's recipe, unless it is there, and the numbers of its matrix. Returns the
 * function's name. */
const char *loops_table(struct source *, const struct product_function *);

/* What the product does: a call. strides: ldb, ldg, ldw, lda, stepa (loops_product.h). */
void loops_table_call(struct source *, const struct product_function *, const char *function,
                      const char *strides);

#endif
