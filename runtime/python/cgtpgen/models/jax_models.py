# SPDX-License-Identifier: MIT
"""Tensor products of e3nn-jax (`e3nn_jax.legacy`), computed by generated kernels.

e3nn-jax has no modules that hold products: its functions take arrays alone, and are what a model calls. What can be replaced
is an object of FunctionalTensorProduct, whose `left_right` then calls the product's function.
"""
from __future__ import annotations

import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Optional

import e3nn_jax
import jax
import jax.numpy as jnp
from e3nn_jax.legacy import FunctionalTensorProduct

from .e3nn_specs import product_spec
from .kernels import BuildError, Kernels, where


class JaxKernels(Kernels):
    framework, suffix, record = "jax", "_jax", "built_jax.json"


class Fast:
    """What the class of a product gets in front of its own."""

    def left_right(self, weights: Any, input1: Any, input2: Any = None, **_: Any) -> Any:
        if input2 is None:
            weights, input1, input2 = [], weights, input1
        x, y = input1.rechunk(self.irreps_in1).array, input2.rechunk(self.irreps_in2).array
        dtype = jnp.result_type(x, y)
        call = self.cgtp_calls.get(dtype.name)
        if call is None:
            raise BuildError(f"{self} has kernels for {' and '.join(self.cgtp_calls)}, not for {dtype.name}: "
                             f"accelerate(.., dtypes=({', '.join(map(repr, [*self.cgtp_calls, dtype.name]))}))")
        if isinstance(weights, (list, tuple)):
            weights = jnp.concatenate([jnp.ravel(w) for w in weights]) if weights else None
        z = call(x.astype(dtype), y.astype(dtype), None if weights is None or not weights.size else weights.astype(dtype))
        return e3nn_jax.IrrepsArray(self.irreps_out, z)


def facts(product: Any) -> Any:
    """The product as cgtp_e3nn.py reads those of PyTorch."""
    sizes = [int(jnp.prod(jnp.array(i.path_shape))) for i in product.instructions if i.has_weight]
    return SimpleNamespace(irreps_in1=product.irreps_in1, irreps_in2=product.irreps_in2, irreps_out=product.irreps_out,
                           instructions=product.instructions, output_mask=product.output_mask, shared_weights=False,
                           weight_numel=sum(sizes))


def accelerate(model: Any, folder: Optional[str] = None, *, dtypes: Optional[Iterable[str]] = None,
               devices: Optional[Iterable[str]] = None, quiet: bool = False, **_: Any) -> Any:
    """As of a model of PyTorch. dtypes: float32, and float64 where JAX has it enabled."""
    if not isinstance(model, FunctionalTensorProduct):
        raise BuildError(f"{type(model).__name__} has nothing to replace: of e3nn-jax that has "
                         f"legacy.FunctionalTensorProduct; what else calls products can call those of docs/jax.md")
    if isinstance(model, Fast):
        return model
    say = (lambda text: None) if quiet else (lambda text: print(f"cgtpgen: {text}", file=sys.stderr, flush=True))
    dtypes = tuple(dtypes or ("float32", *["float64"] * bool(jax.config.read("jax_enable_x64"))))
    devices = tuple(devices or ("cpu", *["cuda"] * any(d.platform == "gpu" for d in jax.devices())))
    kernels = JaxKernels(where(folder))
    names = {dtype: kernels.write([product_spec(facts(model), "product", dtype)])[0] for dtype in dtypes}
    kernels.build(names.values(), devices, say)
    calls = {dtype: module.tensor_product for dtype, module in zip(names, kernels.load(names.values()))}
    kind = type(model)
    model.__class__ = type(kind.__name__, (Fast, kind), {"cgtp_base": kind, "__module__": kind.__module__})
    model.cgtp_calls = calls
    say(f"{kind.__name__}: computed by {' '.join(names.values())}")
    return model


def restore(model: Any) -> Any:
    """The product as it was."""
    if isinstance(model, Fast):
        model.__class__ = type(model).cgtp_base
        del model.cgtp_calls
    return model
