/* print.h - reports for people and programs: --print, and the dumps of -d. They read what the passes made, no
 * more. */
#ifndef CGTPGEN_PRINT_H
#define CGTPGEN_PRINT_H

#include "cli/options.h"
#include "schedule/schedule.h"

/* Appends the report of one kind about one product. */
void print_report(struct text *, enum print_kind, const struct schedules *);

/* What -d shows after a pass: paths, nonzeros and weights; kernels as sums of terms. */
void print_problem(struct text *, const struct problem *);
void print_form(struct text *, const struct form *);

#endif
