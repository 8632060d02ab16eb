/* golden_case.h - a case of tests/golden: a product, a graph, and e3nn's arrays by name. */
#ifndef TEST_GOLDEN_CASE_H
#define TEST_GOLDEN_CASE_H

#include "reference.h"

enum { GOLDEN_ARRAYS = 40 };

struct golden_case {
    struct ref_problem *problem;
    struct ref_graph graph;
    int64_t *ends; /* senders, then receivers of the graph */
    int arrays;
    struct ref_array array[GOLDEN_ARRAYS];
    double *data;
};

/* Reads FOLDER/NAME.problem and FOLDER/NAME.f64; aborts with a message when they are not there. */
void golden_case_read(struct golden_case *, const char *folder, const char *name);
void golden_case_free(struct golden_case *);

/* The array of that name, NULL where the case has none. */
const double *golden_array(const struct golden_case *, const char *name);

#endif
