/* table.h - the generated products that a program tests; sources.py writes the table. */
#ifndef TEST_GPU_TABLE_H
#define TEST_GPU_TABLE_H

#include "cgtp.h"

struct table_entry {
    const cgtp_product *product;
    int deterministic; /* the spec's reduction */
    int large;         /* also launched with offsets past 2^31 elements */
};

extern const struct table_entry table[];
extern const int table_entries;
extern const char table_commit[]; /* of the generator's sources; ends in -dirty where they had changed */

#endif
