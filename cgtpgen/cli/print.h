/* print.h - reports for people and programs: --print, and the dumps of -d. They read what the passes made, no
 * more. */
#ifndef CGTPGEN_PRINT_H
#define CGTPGEN_PRINT_H

#include "cli/options.h"
#include "schedule/plan_cuda.h"

/* Appends the report of one kind about one product. gpu: NULL with --backend=c. */
void print_report(struct text *, enum print_kind, const struct plan *, const struct gpu_plan *gpu);

/* What -d shows after a pass: paths, nonzeros and weights; kernels as sums of terms. */
void print_problem(struct text *, const struct problem *);
void print_form(struct text *, const struct form *);

#endif
