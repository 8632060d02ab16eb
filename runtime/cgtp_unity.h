/* SPDX-License-Identifier: MIT */
/* cgtp_unity.h - for NAME.unity.c, which holds all of a product in C in one source, as the C backend writes it with
 * --emit=unity.
 *
 * There each file has a name, CGTP_UNITY_FILE, and what it has for itself is a macro that puts that behind, so
 * that many files, of both precisions, make one translation unit, with cgtp.c if so wanted. Systems' headers come
 * first, so that the macros do not meet them.
 */
#ifndef CGTP_UNITY_H
#define CGTP_UNITY_H

#include "cgtp.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define CGTP_UNITY(name) CGTP_UNITY_JOIN(name, CGTP_UNITY_FILE)
#define CGTP_UNITY_JOIN(name, file) CGTP_UNITY_PASTE(name, file)
#define CGTP_UNITY_PASTE(name, file) name##_##file

/* What depends on `real` in cgtp_c.h. */
#define cgtp_zero CGTP_UNITY(cgtp_zero)
#define cgtp_terms CGTP_UNITY(cgtp_terms)
#define cgtp_table_matrix CGTP_UNITY(cgtp_table_matrix)
#define cgtp_eight CGTP_UNITY(cgtp_eight)
#define cgtp_four_dots CGTP_UNITY(cgtp_four_dots)
#define cgtp_to_components CGTP_UNITY(cgtp_to_components)
#define cgtp_from_components CGTP_UNITY(cgtp_from_components)
#define cgtp_row_to_components CGTP_UNITY(cgtp_row_to_components)
#define cgtp_row_from_components CGTP_UNITY(cgtp_row_from_components)
#define cgtp_sum CGTP_UNITY(cgtp_sum)
#define cgtp_add_compensated CGTP_UNITY(cgtp_add_compensated)
#define cgtp_add CGTP_UNITY(cgtp_add)
#define cgtp_add_wide CGTP_UNITY(cgtp_add_wide)
#define cgtp_dot CGTP_UNITY(cgtp_dot)
#define cgtp_weights_columns_d CGTP_UNITY(cgtp_weights_columns_d)
#define cgtp_weights_rows_d CGTP_UNITY(cgtp_weights_rows_d)
#define cgtp_weights_outer_d CGTP_UNITY(cgtp_weights_outer_d)
#define cgtp_weights_columns CGTP_UNITY(cgtp_weights_columns)
#define cgtp_weights_rows CGTP_UNITY(cgtp_weights_rows)
#define cgtp_weights_outer CGTP_UNITY(cgtp_weights_outer)
#define cgtp_ones_z CGTP_UNITY(cgtp_ones_z)
#define cgtp_ones_p CGTP_UNITY(cgtp_ones_p)

#endif
