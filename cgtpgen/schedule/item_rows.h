/* item_rows.h - evaluations that bring the rows of items into shared memory, and take results from there: how
 * rows are copied, how results leave, and the kernels that end what leaves in parts.
 */
#ifndef CGTPGEN_ITEM_ROWS_H
#define CGTPGEN_ITEM_ROWS_H

#include "schedule/source.h"
#include "util/out.h"

/* Why not all rows are items' own, but for weights of all; NULL: they are. */
const char *item_rows_refuses(const struct target *, const struct demand *);

/* Chooses the schedule's routes; why there are none, or NULL. several: warps of an item have sums of slot y
 * each, which cannot be added to a node's row. */
const char *item_rows_routes(struct arena *, struct schedule *, bool several);

/* The same where each output leaves as its row's only owner makes it, or by partial rows. */
const char *item_rows_owned(struct arena *, struct schedule *);

/* Sums for nodes that need no order but a fixed one are made by teams that take items in the nodes' order:
 * those of senders or receivers, whichever rows are longer, or of none (item). Of outputs that may be:
 * [outputs]; NULL: all. Their routes are changed. inputs: rows that are read count, too. */
enum index_kind item_rows_owner(struct schedule *, const bool *may, bool inputs);

/* The evaluation's areas, of so many (C expressions) partial rows of what is summed over all items, and of
 * nodes' rows that have a fix-up; and what it reads of a graph. */
void item_rows_areas(struct areas *, const struct schedule *, const char *parts, const char *partial);
void item_rows_reads_graph(const struct schedule *, bool *receiver_row, bool *by_sender);
/* Are edges by sender asked for where items are in the order of senders? */
void item_rows_check_owner(struct checker *, const struct schedule *, enum index_kind owner);

/* Has the input a row of each item, which is copied? */
bool item_rows_copies(const struct source *, int input);

/* The item's row of an operand; and what a copy of it says of lines in L2. */
const char *item_rows_row(const struct source *, const struct operand *);
const char *item_rows_policy(const struct source *, const struct operand *);

/* Declares how long what is copied stays in L2. Rows of `but` are not copied (shared: all that may be are).
 */
void item_rows_policies(const struct source *, struct out *, enum index_kind but);

/* Copies item `e`'s row of the input to `to`, by `thread`, one of so many. */
void item_rows_copy(const struct source *, struct out *, int input, const char *to, int threads);

/* Where the item's row of output number o of the demand leaves to, and by which function of the runtime. */
const char *item_rows_to(const struct source *, int o);
const char *item_rows_leave(const struct source *, int o);

/* The kernels that add up partial rows, and rows of edges. */
void item_rows_kernels(struct source *, struct out *);

/* Steps of the launcher: outputs that are added to are cleared; those kernels, after one of so many blocks.
 */
void item_rows_clear(struct source *);
void item_rows_finish(struct source *, const char *blocks, const char *chunk);

#endif
