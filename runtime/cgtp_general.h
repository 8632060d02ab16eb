/* SPDX-License-Identifier: MIT */
/* cgtp_general.h - the general evaluation: which warps there are. Included after cgtp_cuda.h.
 */
#ifndef CGTP_GENERAL_H
#define CGTP_GENERAL_H

#include "cgtp_item.h"

namespace
{

/* Warps of a launch, whatever the device: partial sums over all items are one a warp, so their order is
 * fixed. Tests of few items have fewer, so that each of these has several. */
#ifndef CGTP_GENERAL_WARPS
#define CGTP_GENERAL_WARPS 1024
#endif
enum { CGTP_GENERAL_BLOCK = 128 };

CGTP_DEVICE int cgtp_general_warp(void)
{
    return cgtp_block() * (CGTP_GENERAL_BLOCK / CGTP_LANES) + cgtp_warp();
}

} // namespace

#endif
