/* driver.h - calls any kernel of any generated product through its descriptor, with doubles on the outside.
 *
 * Rows are e3nn's outside, whatever the product's layouts. Inputs are rounded to their types. Before a launch outputs and workspace are filled with NaN and
 * every array is fenced; after it the fences and the inputs must be as they were.
 */
#ifndef TEST_DRIVER_H
#define TEST_DRIVER_H

#include "cgtp.h"
#include "reference.h"

enum { DRIVER_LISTS = 6 }; /* arrays of a graph */

/* The graph or number of items in the form that a product takes. */
struct driver_graph {
    cgtp_graph narrow;
    cgtp_graph64 wide;
    const void *graph; /* one of the two */
    void *memory[DRIVER_LISTS];
};

void driver_graph_make(struct driver_graph *, const cgtp_product *, const struct ref_graph *);
void driver_graph_free(struct driver_graph *);

/* Rows of an array of the slot. */
int64_t driver_rows(const cgtp_product *, const struct ref_graph *, cgtp_slot);

/* Elements from a row of an array to the next in a call with the graph: number i of the kernel's inputs, then outputs. Where
 * the product's rows are strided these are of several kinds: rows that follow each other among them. */
int64_t driver_stride(const cgtp_product *, const struct ref_graph *, cgtp_slot, int i);

/* n elements of whole rows of the slot, from layout mul_ir to the product's; or back. */
void driver_change_layout(const cgtp_product *, cgtp_slot, bool back, double *to, const double *from, int64_t n);

/* The reference's problem of a product: of FOLDER/NAME.problem, where a suffix of the name that begins with '_' is dropped
 * until there is such a file; without a folder (NULL) of the descriptor, under e3nn's default normalisation. */
struct ref_problem *driver_problem(const cgtp_product *, const char *folder);

/* What a launch does to memory that it must not touch. */
struct driver_damage {
    const char *what; /* NULL: nothing; else "workspace", "fence of", "input" */
    const char *name;
};

/* Runs a kernel: input and output by position, rows as driver_rows says. */
cgtp_status driver_run(const cgtp_product *, const cgtp_kernel *, const struct ref_graph *,
                       const struct driver_graph *, const double *const *input, double *const *output,
                       struct driver_damage *);

#endif
