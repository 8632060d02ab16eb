#!/usr/bin/env python3
"""cgtpgen.models with a tensor product of e3nn-jax, without PyTorch: results and derivatives are e3nn-jax's, under jit and vmap.

    tests/jax/models.py PACKAGE    kernels are built in a folder beside it
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f'{HERE}/..', f'{HERE}/../../runtime/python']
from tap import done, ok, skip  # noqa: E402

try:
    from e3nn_jax.legacy import FunctionalTensorProduct
except ImportError:
    skip('cgtpgen.models of e3nn-jax', 'no e3nn-jax')
    done()
    sys.exit()
import e3nn_jax  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from cgtpgen.models import BuildError, accelerate, restore  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[1]))), 'models')
jax.config.update('jax_enable_x64', True)


def product():
    irreps = e3nn_jax.Irreps('4x0e+2x1o'), e3nn_jax.Irreps('0e+1o+2e'), e3nn_jax.Irreps('4x0e+2x1o+2x1e')
    return FunctionalTensorProduct(*irreps, [(0, 0, 0, 'uvu', True), (1, 1, 0, 'uvw', True), (1, 0, 1, 'uvu', True, 0.7),
                                             (1, 1, 2, 'uvu', False)])


def results(of, w, x, y):
    """z, and gradients of a number by all."""
    def z(w, x, y):
        return jax.vmap(lambda *a: of.left_right(*a).array, (None, 0, 0))(w, x, y)
    call = jax.jit(lambda w, x, y: (z(w, x, y), jax.grad(lambda *a: (z(*a) ** 2).sum(), (0, 1, 2))(w, x, y)))
    return jax.tree.leaves(call(w, x, y))


def same(found, wanted, epsilon, name):
    errors = [float(abs(a - b).max() / abs(b).max()) for a, b in zip(found, wanted)]
    ok(len(found) == len(wanted) == 4 and max(errors) < 100 * epsilon and all(a.dtype == b.dtype for a, b in zip(found, wanted)),
       name, errors)


def error_of(call):
    try:
        call()
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return 'nothing'


shutil.rmtree(FOLDER, ignore_errors=True)
plain, fast = product(), product()
ok(accelerate(fast, FOLDER, quiet=True) is fast and isinstance(fast, FunctionalTensorProduct), 'a product stays what it is')
numbers = numpy.random.default_rng(0)
sizes = [int(numpy.prod(i.path_shape)) for i in plain.instructions if i.has_weight]
for dtype, epsilon in (jnp.float64, 2.0**-52), (jnp.float32, 2.0**-23):
    w = jnp.array(numbers.normal(size=sum(sizes)), dtype)
    x, y = (e3nn_jax.IrrepsArray(irreps, jnp.array(numbers.normal(size=(9, irreps.dim)), dtype))
            for irreps in (plain.irreps_in1, plain.irreps_in2))
    wanted = results(plain, w, x, y)
    same(results(fast, w, x, y), wanted, epsilon, f'{dtype.__name__}: it computes the same')
    parts = [part.reshape(i.path_shape) for part, i in zip(jnp.split(w, numpy.cumsum(sizes)[:-1]),
                                                           [i for i in plain.instructions if i.has_weight])]
    a, b = (of.left_right(parts, x[0], y[0]).array for of in (fast, plain))
    ok(float(abs(a - b).max()) < 100 * epsilon, f'{dtype.__name__}: weights as a list', a, b)
jaxpr = str(jax.make_jaxpr(lambda w, x, y: fast.left_right(w, x, y).array)(w, x[0], y[0]))
ok('product_' in jaxpr and 'dot_general' not in jaxpr, 'by a kernel', jaxpr)
text = error_of(lambda: fast.left_right(w.astype(jnp.bfloat16), x.astype(jnp.bfloat16)[0], y.astype(jnp.bfloat16)[0]))
ok('has kernels for float32 and float64, not for bfloat16: accelerate(.., dtypes=' in text, 'another type says what to do', text)
text = error_of(lambda: accelerate(e3nn_jax.Irreps('0e'), FOLDER))
ok(text.startswith(f'{BuildError.__name__}: Irreps has nothing to replace') and '\n' not in text, 'what is no product', text)
ok(restore(fast) is fast and type(fast) is FunctionalTensorProduct, 'restore')
same(results(fast, w, x, y), wanted, 0.0 + 1e-30, 'it computes the same bits')
ok('torch' not in sys.modules, 'PyTorch is not imported')
done()
