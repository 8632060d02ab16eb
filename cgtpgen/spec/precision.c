/* precision.c - see precision.h. */
#include "spec/precision.h"

const struct precision_row precision_table[PRECISION_COUNT] = {
    [PRECISION_FLOAT32] = {"float32", "float", "CGTP_FLOAT32", 4},
    [PRECISION_FLOAT64] = {"float64", "double", "CGTP_FLOAT64", 8},
    [PRECISION_BFLOAT16] = {"bfloat16", "cgtp_bfloat16", "CGTP_BFLOAT16", 2},
    [PRECISION_FLOAT16] = {"float16", "cgtp_float16", "CGTP_FLOAT16", 2},
};
