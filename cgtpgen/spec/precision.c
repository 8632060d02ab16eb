/* precision.c - see precision.h. */
#include "spec/precision.h"

const struct precision_row precision_table[PRECISION_COUNT] = {
    [PRECISION_FLOAT32] = {"float32", "float", 4},
    [PRECISION_FLOAT64] = {"float64", "double", 8},
};
