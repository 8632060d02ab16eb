/* path_table.h - paths by tables: a path's tensor as numbers that are read while the kernel runs, a function
 * for each recipe, which takes any of them, and a loop over the paths (runtime/cgtp_table.h). There is the
 * same code for many paths of high degree, which written out would be megabytes.
 */
#ifndef CGTPGEN_PATH_TABLE_H
#define CGTPGEN_PATH_TABLE_H

#include "schedule/schedule.h"
#include "schedule/source.h"

/* [paths]: those of the demand that can be computed so, as each channel of B has one of weights and G, and
 * all have the same A. NULL: none. */
bool *paths_by_table(struct arena *, const struct demand *);

/* Are they to be computed so whatever that costs: as a knob says, or as written out they are too much code?
 */
bool paths_want_tables(const struct target *, const struct demand *);

/* Elements that a warp needs to work on the path; instructions of the warp, about. */
int64_t path_table_scratch(const struct demand *, int path);
double path_table_work(const struct demand *, int path);

/* Lists of numbers, in lines that are not too long: the terms c A[j] that entries of matrices are sums of, by
 * j. Where those of each j begin, and after all of a matrix where they end; their cells, row * columns +
 * column; c. */
struct numbers {
    struct text text;
    size_t column;
};
struct table_terms {
    int terms, starts;
    struct numbers start, cell, value;
};
void table_terms_begin(struct arena *, struct table_terms *);
void table_terms_put(struct source *, struct table_terms *, const struct matrix *);

/* What is summed for outputs of G over rows of M (columns), or for those of B over its columns, and for those
 * of weights with either: M of recipe input `first` times input `second`. Parts of the recipe's outputs, in
 * their order, use them by number. */
struct table_sums {
    int n;
    struct recipe_product *product;
};
bool table_output_by(const struct recipe_output *, bool columns);
int table_sum_of(const struct recipe *, const struct recipe_output *, int part, bool columns,
                 struct table_sums *, int *factor);
void table_sums_begin(struct arena *, struct table_sums *, const struct recipe *);

/* Is an input of the recipe one that matrices are made of? */
bool table_has_matrix(const struct recipe *, int input);

/* Writes tables, functions, and then, to `item`, the loops over the paths of which takes[path] says so, which
 * begin with variable `warp` of so many; rows have the names of operands. */
void path_tables(struct source *, struct text *item, const bool *takes, int warps);

#endif
