/* precision.h - the types of numbers that arrays and arithmetic can have. */
#ifndef CGTPGEN_PRECISION_H
#define CGTPGEN_PRECISION_H

enum precision { PRECISION_FLOAT32, PRECISION_FLOAT64, PRECISION_COUNT };

struct precision_row {
    const char *name; /* in a spec */
    const char *c;    /* C's type */
    int bytes;        /* of an element */
};

extern const struct precision_row precision_table[PRECISION_COUNT];

#endif
