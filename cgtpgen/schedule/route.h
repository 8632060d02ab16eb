/* route.h - how an output leaves a kernel: the table of ways, and the one place where a spec's reduction and
 * accumulate are read.
 */
#ifndef CGTPGEN_ROUTE_H
#define CGTPGEN_ROUTE_H

#include "spec/spec.h"

enum route_kind {
    ROUTE_ITEM,        /* an item's own row, written once */
    ROUTE_OWNED_ROW,   /* a row that one worker owns, summed in the order of the items */
    ROUTE_FIXED_UP,    /* the same, where neighbouring workers hand over partial rows in order */
    ROUTE_EDGE_BUFFER, /* a row per edge in the workspace, gathered by a second kernel in a fixed order */
    ROUTE_PARTS, /* a partial row per worker in the workspace, summed by a second kernel in a fixed order */
    ROUTE_GROUP_SUM, /* summed over the warps of a block, in a fixed order, in shared memory */
    ROUTE_ATOMIC,    /* added in place, in no order */
    ROUTE_KINDS
};

struct route {
    enum route_kind kind;
    bool compensated; /* rounding errors of the sums are summed beside them */
    bool wide;        /* sums are of a wider type than arithmetic */
};

/* Facts of a kind. */
struct route_facts {
    const char *words;  /* "edge buffer and gather" */
    bool deterministic; /* the same bits for the same graph, device and build */
    bool invariant;     /* and for the same edges of a node in any graph, where rows of nodes are summed */
    bool keeps;         /* can keep rounding errors, or sums of a wider type */
    bool sums;          /* takes more than one contribution per row */
    bool cleared;       /* the output is zero before the first contribution comes */
    bool finished;      /* by a second kernel */
    const char *area;   /* suffix of the area in the workspace that it needs; NULL: none */
};
extern const struct route_facts route_facts[ROUTE_KINDS];

/* The first of the kinds offered that does what the spec asks of sums; false: none does. A way that takes one
 * contribution per row satisfies every spec. index: of the output; what an item has for itself is no sum over
 * items, whose rounding errors are to be kept. */
bool route_choose(const struct spec *, enum index_kind, int n, const enum route_kind *offered,
                  struct route *);

/* The way of an output whose rows have one worker each, or a partial row of each worker's where all items
 * share it: it does what any spec asks. */
struct route route_owned(const struct spec *, enum index_kind);

/* Do sums keep what plain ones lose? */
bool route_keeps(const struct route *);

#endif
