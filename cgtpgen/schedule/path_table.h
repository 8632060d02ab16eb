/* path_table.h - paths by table: a path's matrix as a struct of numbers, and a function for each recipe,
 * which takes the matrix as a parameter (runtime/cgtp_table.h). Many paths with large matrices are a fraction
 * of the text that a function for each of them is.
 */
#ifndef CGTPGEN_PATH_TABLE_H
#define CGTPGEN_PATH_TABLE_H

#include "plan/code.h"
#include "schedule/source.h"
#include "util/out.h"

/* Is there something to be had from a table? Not for multiples of the identity, rows and columns. */
bool matrix_has_table(const struct matrix *);

/* Writes the matrix and the recipe's function for so many channels of a lane, unless they are there. Returns
 * the name of the function for that matrix. */
const char *path_table_function(struct source *, struct out *, const struct code *, const struct matrix *,
                                int channels);

#endif
