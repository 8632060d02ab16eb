/* mode.c - see mode.h. */
#include "spec/mode.h"

const char *const axis_name[AXIS_COUNT] = {"", "u", "v", "w", "u<v"};

#define U AXIS_U
#define V AXIS_V
#define W AXIS_W
#define PAIRS AXIS_PAIRS

/* The last columns: operand A, and the target G. B, whose channels are neighbours in G, is the third; of uvw
 * the longer of x and y. Of uvv sums over u are the weights' own: the target is x. */
const struct mode_row mode_table[MODE_COUNT] = {
    [MODE_UVW] = {"uvw", "uvw", "CGTP_UVW", {U, V}, {W}, {U, V, W}, true, true, SLOT_Y, SLOT_G},
    [MODE_UVU] = {"uvu", "uvu", "CGTP_UVU", {U, V}, {U}, {U, V}, false, false, SLOT_Y, SLOT_G},
    [MODE_UVV] = {"uvv", "uvv", "CGTP_UVV", {U, V}, {V}, {U, V}, false, false, SLOT_Y, SLOT_X},
    [MODE_UUW] = {"uuw", "uuw", "CGTP_UUW", {U}, {W}, {U, W}, false, false, SLOT_Y, SLOT_G},
    [MODE_UUU] = {"uuu", "uuu", "CGTP_UUU", {U}, {U}, {U}, false, false, SLOT_Y, SLOT_G},
    [MODE_UVUV] = {"uvuv", "uvuv", "CGTP_UVUV", {U, V}, {U, V}, {U, V}, false, false, SLOT_X, SLOT_G},
    [MODE_UVULTV] =
        {"uvu<v", "uv_less", "CGTP_UVULTV", {PAIRS}, {PAIRS}, {PAIRS}, false, false, SLOT_X, SLOT_G},
    [MODE_ULTVW] = {"u<vw", "less_w", "CGTP_ULTVW", {PAIRS}, {W}, {PAIRS, W}, true, false, SLOT_X, SLOT_G},
};

bool mode_ties_inputs(const struct mode_row *m)
{
    return m->inputs[1] == AXIS_NONE;
}
