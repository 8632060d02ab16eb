/* known.c - see known.h. */
#include "spec/known.h"

const struct known_kernel known_table[KNOWN_COUNT] = {
    [KNOWN_FORWARD] = {"forward", DERIVATION_NONE, KNOWN_FORWARD, "", {0}, SLOT_X},
    [KNOWN_BACKWARD] = {"backward", DERIVATION_COTANGENT, KNOWN_FORWARD, "g", {[SLOT_G] = "gz"}, SLOT_X},
    [KNOWN_DOUBLE_BACKWARD] =
        {"double_backward", DERIVATION_COTANGENT, KNOWN_BACKWARD, "d_", {"ax", "by", "cw"}, SLOT_G},
    [KNOWN_TRIPLE_BACKWARD] = {"triple_backward",
                               DERIVATION_COTANGENT,
                               KNOWN_DOUBLE_BACKWARD,
                               "t_",
                               {"a2x", "b2y", "c2w", "e2gz"},
                               SLOT_X},
    [KNOWN_JVP] = {"jvp", DERIVATION_TANGENT, KNOWN_FORWARD, "d", {0}, SLOT_X},
    [KNOWN_BACKWARD_JVP] = {"backward_jvp", DERIVATION_TANGENT, KNOWN_BACKWARD, "d", {0}, SLOT_X},
    [KNOWN_DOUBLE_BACKWARD_JVP] =
        {"double_backward_jvp", DERIVATION_TANGENT, KNOWN_DOUBLE_BACKWARD, "d", {0}, SLOT_X},
};
