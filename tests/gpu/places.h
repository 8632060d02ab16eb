/* places.h - the graphs that products are timed on: those of files, changed ones, drawn ones. */
#ifndef TEST_GPU_PLACES_H
#define TEST_GPU_PLACES_H

#include "reference.h"
#include "table.h"

/* Edges of FOLDER/graphs/NAME_sender.i32 and _receiver.i32, sorted by receiver: the first so many. Exits, with a line on
 * stderr, where they cannot be read. */
struct ref_graph places_read(const char *folder, const char *name, int64_t nodes, int64_t most);

/* The graph with its edges in a random order. */
struct ref_graph places_shuffled(const struct ref_graph *);

/* The graph with so many edges of each receiver at most, the first. */
struct ref_graph places_thin(const struct ref_graph *, int64_t most);

/* A random graph: every edge has any of the nodes for its receiver, sorted by it, and a sender that is at most `window`
 * nodes away (in a ring). Without nodes: so many items. */
struct ref_graph places_drawn(const struct table_place *, int64_t most);

void places_free(struct ref_graph *);

#endif
