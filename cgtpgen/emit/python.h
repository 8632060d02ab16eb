/* python.h - what a product is to any framework of Python: its facts as data, and how a folder of products is
 * built as a package. What is done with the facts is in the runtime: cgtp_product.py and, of each framework,
 * what torch.h and jax.h name.
 */
#ifndef CGTPGEN_PYTHON_H
#define CGTPGEN_PYTHON_H

#include "emit/emitter.h"

/* PRODUCT = register(Product(..)): irreps, instructions, kernels with their terms and lineage. types: the
 * module of the framework that has its types, as in torch.float32. */
void emit_python_product(struct text *, const struct plan *, const char *types);

/* Lines of documentation: the shapes and types of x, y, weight and z. */
void emit_python_shapes(struct text *, const struct plan *, const char *types);

/* pyproject.toml and setup.py of the folder, for all products in it. */
void emit_python_project(struct text *);
void emit_python_setup(struct text *);

#endif
