# SPDX-License-Identifier: MIT
"""Generated kernels in models of mace-torch, nequip, nequip-allegro and sevenn, in any other made of e3nn's modules, and in
tensor products of e3nn-jax.

    from cgtpgen.models import accelerate, restore

    model = accelerate(model)   # writes specs, builds once, puts kernels in, and says what it did
    model = restore(model)      # the model as it was

The model stays the object that it was, with its parameters: optimisers, checkpoints and calculators go on with it.
`python3 -m cgtpgen.models` does the same ahead of time, for a file. Neither PyTorch nor JAX is imported but for a model of it.
"""
from __future__ import annotations

from typing import Any, Optional

from .kernels import BuildError

__all__ = ["accelerate", "restore", "report", "specs", "build", "BuildError"]


def accelerate(model: Any, folder: Optional[str] = None, **options: Any) -> Any:
    """Puts generated kernels into a model, or into all models of an ASE calculator, and returns it.

    folder: has specs and what is built of them; CGTP_KERNELS, or cgtp_kernels here, without it. Options, by name:
    dtypes: which types the model may be brought to. devices: which ones it may be moved to; those that are here.
    strict: an error where a product stays slow. step: a function that takes a step of the model, and returns numbers where
    it likes: its time before and after, and by how much the numbers differ, is in the table. only: which modules, by path;
    all without it. graphs: force steps on a GPU are recorded as CUDA graphs. quiet: no table, no progress.
    """
    return _family(model).accelerate(model, folder, **options)


def restore(model: Any) -> Any:
    """Undoes `accelerate`: the modules that there were, with the parameters that there are."""
    return _family(model).restore(model)


def _family(model: Any) -> Any:
    """The module for models of a framework."""
    if any(kind.__module__.partition(".")[0] == "e3nn_jax" for kind in type(model).__mro__):
        from . import jax_models
        return jax_models
    from . import torch_models
    return torch_models


def __getattr__(name: str) -> Any:
    """What models of PyTorch have besides."""
    if name in __all__:
        from . import torch_models
        return getattr(torch_models, name)
    raise AttributeError(name)
