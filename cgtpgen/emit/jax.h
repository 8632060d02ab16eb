/* jax.h - what JAX needs of a product: handlers that XLA calls, and functions.
 *
 * What is the same for all products is in the runtime: cgtp_jax.h, cgtp_jax.py, cgtp_jax_ops.py.
 */
#ifndef CGTPGEN_JAX_H
#define CGTPGEN_JAX_H

#include "emit/emitter.h"

/* NAME_jax.cpp: the kernels of one backend as handlers of XLA's foreign function interface. */
void emit_jax_handlers(struct text *, const struct emission *);

/* NAME_jax.py: the product as data, from which the runtime makes primitives, and its function. */
void emit_jax_module(struct text *, const struct plan *);

#endif
