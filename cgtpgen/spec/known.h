/* known.h - the kernels that are known by name, each derived from one before it. */
#ifndef CGTPGEN_KNOWN_H
#define CGTPGEN_KNOWN_H

#include "spec/words.h"

enum known {
    KNOWN_FORWARD,
    KNOWN_BACKWARD,
    KNOWN_DOUBLE_BACKWARD,
    KNOWN_TRIPLE_BACKWARD,
    KNOWN_JVP,
    KNOWN_BACKWARD_JVP,
    KNOWN_DOUBLE_BACKWARD_JVP,
    KNOWN_COUNT
};

/* How a kernel comes from another: form.c has the rules. */
enum derivation {
    DERIVATION_NONE,      /* the forward kernel */
    DERIVATION_COTANGENT, /* reverse mode: the derivative by each input, given a cotangent of each output */
    DERIVATION_TANGENT    /* forward mode: the derivative of each output along a tangent of each input */
};

struct known_kernel {
    const char *name;
    enum derivation derivation;
    enum known of;
    const char *prefix; /* of the names that are made: an output is prefix + input (reverse) or prefix +
                           output (forward), a tangent prefix + input */
    /* reverse mode only: */
    const char
        *cotangent[SLOT_COUNT]; /* the name of the cotangent of the output of each slot; in this order */
    enum slot first;            /* the derivative by the first input of this slot leads the outputs */
};

extern const struct known_kernel known_table[KNOWN_COUNT];

#endif
