/* loops.h - the host's evaluation: loops over items in portable C, parallel over parts of the rows that a
 * schedule owns. Rows are read and summed in component order, where channels are neighbours and loops
 * vectorise.
 */
#ifndef CGTPGEN_LOOPS_H
#define CGTPGEN_LOOPS_H

#include "schedule/loops/loops_product.h"
#include "schedule/source.h"

/* How an input is read in component order. */
enum staging {
    STAGE_NONE, /* in place: it is in that order, or it is only read as A or W */
    STAGE_ROW,  /* a transposed copy of the current row, made when the row changes */
    STAGE_ALL   /* all rows transposed once a launch, as rows come back in no order */
};

/* A vector over channels, summed at the end of an item: the part of an A output that one segment gets. */
struct channel_sum {
    int output, segment;
    int64_t length; /* channels, the most of any path */
    int depth;      /* components */
    int64_t at;     /* in the scratch */
};

/* Scratch of a part, in elements, in this order: sums over channels, a path's own sums, T, P, copies of rows,
 * contributions of an item to compensated and wide outputs, a segment to transpose. */
struct loops {
    bool *transposed; /* [kernel operands]: is it read or summed as vectors, and stored in another order? */
    enum staging *staging; /* [kernel inputs] */
    int sums;
    struct channel_sum *sum;
    int64_t sums_length, sum_at, t_at, p_at, temporary_at;
    int64_t *brought_at; /* [kernel inputs] */
    int64_t *term_at;    /* [demand's outputs]: contributions of one item to compensated and wide outputs */
    int64_t scratch;     /* elements that a part needs */
    bool by_table;       /* are products of matrices by tables? */
};

/* The plan of the current schedule. */
static inline const struct loops *own(const struct source *w)
{
    return w->schedule->own;
}

/* The sum over channels that output o (of the kernel) has for a segment; NULL: none. */
struct channel_sum *loops_find_sum(const struct loops *, int output, int segment);

/* Is the kernel's output `output` summed in component order, and stored in another? */
bool loops_transposes(const struct source *, int output);

/* Elements, in whole cache lines. */
int64_t loops_padded(int64_t n);

/* The name under which input i is read as a vector: its component-order copy, or itself where orders agree.
 */
const char *loops_vector_name(struct source *, int i);

/* Is output o of the demand a sum in a type wider than that of arithmetic, row by row in the array's own
 * order? */
bool loops_is_wide(const struct demand *, int o);

/* Does the work of an item do anything to the row of output o of the demand? */
bool loops_touches(const struct source *, int o);

/* Decides everything (loops_plan.c). */
const char *loops_plan(struct arena *, struct schedule *);

/* The current schedule's number in the file: what its functions end in. */
int loops_number(const struct source *);

/* The array of a slot's segments. */
const char *loops_segments(enum slot);

/* Writes item_<number>(), the work of one item (loops_item.c). */
void loops_item(struct source *);

/* Writes pass_<number>(), which visits the items of rows and begins and ends rows (loops_pass.c). */
void loops_pass(struct source *);

#endif
