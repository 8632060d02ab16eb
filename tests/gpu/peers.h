/* peers.h - the benchmark's problems, told by their descriptors, and how long other libraries take for them.
 */
#ifndef TEST_GPU_PEERS_H
#define TEST_GPU_PEERS_H

#include "cgtp.h"

/* A problem under the name that the peers' table has for it. */
struct problem {
    const char *name;
    const char *x, *y;        /* irreps, as in a descriptor */
    int64_t weights, outputs; /* elements of a row of w and z */
    const char *graphs;       /* names of those that its convolution is timed on */
};

/* NULL: none of them. Irreps and sizes decide, so a spec may have any name and any tune knobs. */
const struct problem *problem_of(const cgtp_product *);

/* What tells the rows of the table apart. */
struct peer_key {
    const char *op, *problem, *place; /* conv or batch; a graph, or the number of rows */
    const char *type, *kernel;        /* fp32 or fp64 */
};

struct peer {
    char op[8], problem[40], place[16], type[8], kernel[24];
    double floor; /* milliseconds; 0: not in the table */
    char name[24];
    double ms; /* of the fastest, which is `name` */
};

enum { PEERS = 400 };

/* Reads a table of tab-separated columns, named by its first line; every NAME_ms but floor_ms is a library.
 * Returns the number of rows, or -1, with a line on stderr, where the table is not as said. */
int peers_read(const char *path, struct peer *);

/* NULL: no row. */
const struct peer *peer_of(const struct peer *, int peers, struct peer_key);

#endif
