/* torch.h - what PyTorch needs of a product: operators and a module.
 *
 * What is the same for all products is in the runtime: cgtp_torch.h, cgtp_torch.py, cgtp_torch_ops.py.
 */
#ifndef CGTPGEN_TORCH_H
#define CGTPGEN_TORCH_H

#include "emit/emitter.h"

/* NAME_torch.cpp: registers the kernels of one backend. */
void emit_torch_operators(struct text *, const struct emission *);

/* NAME.py: the product as data, from which the runtime makes derivatives and checks, and its module. */
void emit_torch_module(struct text *, const struct plan *);

#endif
