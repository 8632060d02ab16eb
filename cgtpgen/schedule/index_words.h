/* index_words.h - slots and indices in the words of generated code: one table each. */
#ifndef CGTPGEN_INDEX_WORDS_H
#define CGTPGEN_INDEX_WORDS_H

#include "spec/words.h"
#include "util/arena.h"

extern const char *const slot_constant[SLOT_COUNT]; /* the runtime's: CGTP_X .. CGTP_Z */

extern const char *const layout_constant[LAYOUT_COUNT]; /* the runtime's */

struct index_words {
    const char *constant; /* the runtime's */
    const char *plural;   /* as part of names: of passes, kernels, workspaces */
    const char *rows;     /* rows of an array in a graph, as a C expression */
    const char *shape;    /* the same in comments */
    const char *each;     /* the rows' items together: "a sender" */
};

extern const struct index_words index_words[INDEX_COUNT];

/* The row that item e has in arrays of this index, as a C expression; graph: what fields of the graph begin
 * with, "graph->"; item: its row in arrays of items. */
const char *source_item_row(struct arena *, const char *graph, const char *item, enum index_kind);

#endif
