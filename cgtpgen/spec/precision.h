/* precision.h - the types of numbers that arrays, arithmetic and sums can have. */
#ifndef CGTPGEN_PRECISION_H
#define CGTPGEN_PRECISION_H

enum precision {
    PRECISION_FLOAT32,
    PRECISION_FLOAT64,
    PRECISION_BFLOAT16,
    PRECISION_FLOAT16,
    PRECISION_COUNT,
    PRECISION_ARITHMETIC = PRECISION_BFLOAT16 /* those before it can be computed with */
};

struct precision_row {
    const char *name;     /* in a spec */
    const char *c;        /* C's type */
    const char *constant; /* of cgtp_type */
    int bytes;            /* of an element */
};

extern const struct precision_row precision_table[PRECISION_COUNT];

#endif
