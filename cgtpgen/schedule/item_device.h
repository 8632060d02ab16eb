/* item_device.h - the work of one item on a GPU, path by path, whatever the paths are: a function for every
 * recipe and matrix, in which the lanes of a warp share the channels. Operands are read where they stand.
 */
#ifndef CGTPGEN_ITEM_DEVICE_H
#define CGTPGEN_ITEM_DEVICE_H

#include "schedule/source.h"

struct item_code {
    const bool *takes; /* [paths]: those of the demand whose work it is; NULL: all */
    bool
        inlined; /* functions stand in the place of their calls, and so know where operands are; not called */
    const bool *tables; /* [paths]: those that are computed by tables (path_table.h); NULL: none */
    int warps; /* that divide the work, channels of A one after the other or whole paths, each with rows of
                  results of   its own but weights */
};

/* Elements that a warp needs for the vectors of contracted paths, and by tables; takes, tables: see above. */
int64_t item_scratch(const struct demand *, const bool *takes, const bool *tables);

/* Writes the functions, and of them item_SCHEDULE(rows of inputs that are read, rows of outputs[, scratch, if
 * they need any][, warp]), which adds the item's part to rows of outputs. Gradients of an item's weights are
 * not added to what is there, and may take the place of weights. The schedule's functions have begun
 * (path.h). */
void item_device(struct source *, const struct item_code *);

#endif
