/* table.h - the generated products that a program tests; sources.py writes the table. */
#ifndef TEST_GPU_TABLE_H
#define TEST_GPU_TABLE_H

#include "cgtp.h"

/* How the generator evaluates a kernel, where it says so in its report. */
struct table_kernel {
    const char *name;       /* NULL: the end of the list */
    const char *evaluation; /* one name, or several joined by + */
    double flops;           /* per item */
};

/* Where a layer is timed that is none of the benchmark's problems. */
struct table_place {
    const char *name; /* NULL: not such a layer; where it has no items of its own: one of the benchmark's places */
    int64_t items, nodes, window; /* places_drawn */
};

struct table_entry {
    const cgtp_product *product;
    int deterministic; /* the spec's reduction */
    int compensated;   /* its sums */
    int large;         /* also launched with offsets past 2^31 elements */
    int scaled;        /* a golden case with more channels (sweep.py): timed in 100,000 items */
    const struct table_kernel *kernel;
    struct table_place place; /* of a layer that was drawn (drawn.py) */
};

extern const struct table_entry table[];
extern const int table_entries;
extern const char table_commit[]; /* of the generator's sources; ends in -dirty where they had changed */

#endif
