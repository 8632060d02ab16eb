/* sugar.h - the named lists of instructions, channelwise and e3nn's three classes, spelled out: between spec
 * and problem.
 */
#ifndef CGTPGEN_SUGAR_H
#define CGTPGEN_SUGAR_H

#include "spec/spec.h"

enum { PATHS_MAX = 1 << 12, PATHS_OF_KERNELS_MAX = 1 << 14 /* paths times kernels */ };

/* A product with every instruction spelled out. */
struct expansion {
    struct irreps x, y, z;
    struct rat *variance[3]; /* of x, y, z: one a segment; NULL: all one */
    int instructions;
    struct spec_instruction *instruction; /* positions of generated ones: of the sugar's name */
};

/* What the spec's instructions stand for; a list is taken as it is. Reports what does not fit and goes on:
 * look at diag->errors. Lists of variance have one number for each segment that the spec writes; where e3nn
 * merges neighbours or splits segments (elementwise, full) the new ones inherit, and neighbours that are
 * merged must agree. An output that follows from the inputs takes no list.
 *
 *   channelwise      for each segment of x, each of y, each irrep of their product (in z, if z is given): a
 *                    new output segment with the channels of x, and a weighted uvu instruction. Outputs are
 *                    sorted by irrep (stable); with order_output the instructions are too. The convolutions
 *                    of NequIP (order: input) and MACE (order: output).
 *   fully_connected  uvw between all segments that can be: e3nn.o3.FullyConnectedTensorProduct.
 *   elementwise      x and y regrouped to equal multiplicities, uuu, no weights, irreps in z if given:
 *                    e3nn.o3.ElementwiseTensorProduct.
 *   full             uvuv between all segments, no weights, irreps in z if given, outputs sorted:
 *                    e3nn.o3.FullTensorProduct.
 */
void sugar_expand(struct arena *, const struct spec *, struct diag *, struct expansion *);

#endif
