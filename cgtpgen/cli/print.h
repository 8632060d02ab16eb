/* print.h - reports for people and programs: --print, and the dumps of -d. They read what the passes made, no
 * more. */
#ifndef CGTPGEN_PRINT_H
#define CGTPGEN_PRINT_H

#include "schedule/schedule.h"

/* A report about one product. */
struct print_row {
    const char *word; /* in --print */
    bool is_json;     /* of several products it is a list */
    void (*print)(struct text *, const struct schedules *);
};

extern const struct print_row print_table[];
extern const int print_count;

/* What -d shows after a pass: paths, nonzeros and weights; kernels as sums of terms. */
void print_problem(struct text *, const struct problem *);
void print_form(struct text *, const struct form *);

#endif
