# SPDX-License-Identifier: MIT
"""accelerate and restore of models of PyTorch, and what says what they did."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch

from . import graphs as recorded
from . import allegro, harmonics, mace, nequip, products, radial, sevenn
from .fast import Left, Site, Sites, is_fast, names_of, replace, undo
from .kernels import BuildError, Kernels, where
from .table import Table, difference, timed

FAMILIES = mace, nequip, allegro, sevenn
STEPS = mace.STEPS | nequip.STEPS | sevenn.STEPS  # whose calls are force steps
DTYPES = "float32", "float64"


def accelerate(model: Any, folder: Optional[str] = None, *, dtypes: Iterable[str] = DTYPES,
               devices: Optional[Iterable[str]] = None, strict: bool = False, step: Optional[Callable[[], Any]] = None,
               only: Optional[Callable[[str], bool]] = None, graphs: bool = False, quiet: bool = False) -> Any:
    """What the package's function of this name says."""
    say = (lambda text: None) if quiet else (lambda text: print(f"cgtpgen: {text}", file=sys.stderr, flush=True))
    before = timed(step) if step else None
    for part in models_of(model):
        _accelerate(part, where(folder), tuple(dtypes), devices_of(part, devices), strict, only, graphs, say)
    table = report(model)
    if step and before:
        after = timed(step)
        table.times = before[0], after[0], difference(after[1], before[1])
    if not quiet:
        print(table, file=sys.stderr)
    return model


def _accelerate(model: torch.nn.Module, folder: str, dtypes: tuple[str, ...], devices: tuple[str, ...], strict: bool,
                only: Optional[Callable[[str], bool]], graphs: bool, say: Callable[[str], None]) -> None:
    found = {path: site for path, site in sites(model).items() if only is None or only(path)}
    left = [site for site in found.values() if isinstance(site, Left)]
    slow = [site for site in left if not isinstance(site.module, torch.nn.Module) or products.LINEAR not in names_of(site.module)]
    mine = [site for site in found.values() if isinstance(site, Site)]
    if strict and slow:
        raise BuildError("stays slow: " + "; ".join(f"{site.path}: {site.why}" for site in slow))
    if not any(site.what for site in mine) and not any(is_fast(module) for module in model.modules()):
        raise BuildError(f"{type(model).__name__} has nothing to replace" +
                         (": " + "; ".join(f"{site.path}: {site.why}" for site in left) if left else
                          ": no products of e3nn, MACE, NequIP, Allegro or SevenNet are in it"))
    if graphs:
        mine = [site for site in mine if site.mixin not in STEPS.values()] + recorded.sites(model, STEPS)
    kernels = Kernels(folder)
    names = {site.path: {dtype: kernels.write(site.specs(dtype)) for dtype in dtypes} for site in mine}
    kernels.build([name for by_type in names.values() for of in by_type.values() for name in of], devices, say)
    done = []
    try:
        for site in mine:
            parent = parent_of(model, site.path)
            replace(site, folder, names[site.path], parent)
            done.append((site.module, parent))
    except BaseException:
        for module, parent in reversed(done):
            undo(module, parent)
        raise


def restore(model: Any) -> Any:
    """Undoes `accelerate`: the modules that there were, with the parameters that there are."""
    for part in models_of(model):
        for path, module in list(part.named_modules()):
            if is_fast(module):
                recorded.forget(module)
                undo(module, parent_of(part, path))
    return model


def report(model: Any) -> Table:
    """What is replaced, what is not, and why not."""
    table = Table()
    for part in models_of(model):
        for path, module in part.named_modules():
            if is_fast(module):
                table.replaced(path, module)
        for site in sites(part).values():
            if isinstance(site, Left):
                table.left(site.path, site.module, site.why)
    return table


def specs(model: Any, folder: Optional[str] = None, *, dtypes: Iterable[str] = DTYPES) -> list[str]:
    """Writes the specs of a model, and returns their names; nothing is built or replaced."""
    kernels = Kernels(where(folder))
    return sorted({name for part in models_of(model) for site in sites(part).values() if isinstance(site, Site)
                   for dtype in dtypes for name in kernels.write(site.specs(dtype))})


def build(folder: Optional[str] = None, *, devices: Optional[Iterable[str]] = None, quiet: bool = False) -> str:
    """Builds all specs of a folder, and returns the folder of the package."""
    kernels = Kernels(where(folder))
    say = (lambda text: None) if quiet else (lambda text: print(f"cgtpgen: {text}", file=sys.stderr, flush=True))
    if not kernels.specs():
        raise BuildError(f"{kernels.folder} has no specs: write them with python3 -m cgtpgen.models specs MODEL")
    kernels.build(kernels.specs(), devices_of(None, devices), say)
    return kernels.package


# ---- what is where ----

def models_of(model: Any) -> list[torch.nn.Module]:
    """The models of a calculator, or the one."""
    if isinstance(model, torch.nn.Module):
        return [model]
    found = getattr(model, "models", None) or [getattr(model, "model", None)]
    if not all(isinstance(part, torch.nn.Module) for part in found):
        raise TypeError(f"{type(model).__name__} is neither a module of PyTorch nor a calculator that has some")
    return list(found)


def sites(model: torch.nn.Module) -> Sites:
    """By path: what can be replaced, and what cannot, of what computes products."""
    found: Sites = {}
    for family in FAMILIES:
        found |= family.sites(model)
    for path, module in model.named_modules():
        names = names_of(module)
        if path in found or is_fast(module):
            continue
        if products.TENSOR_PRODUCT in names:
            found[path] = products.product_site(path, module)
        elif products.LINEAR in names:
            found[path] = products.linear_site(path, module)
        elif products.EXTRACT in names:
            found[path] = products.extract_site(path, module)
        elif radial.FULLY_CONNECTED in names:
            found[path] = radial.net_site(path, module)
        elif harmonics.HARMONICS in names:
            found[path] = harmonics.harmonics_site(path, module)
    return {path: site for path, site in found.items() if site is not None and not is_fast(site.module)}


def parent_of(model: torch.nn.Module, path: str) -> Optional[torch.nn.Module]:
    return model.get_submodule(path.rpartition(".")[0]) if path else None


def devices_of(model: Optional[torch.nn.Module], devices: Optional[Iterable[str]]) -> tuple[str, ...]:
    if devices is not None:
        return tuple(devices)
    there = {"cpu"} | ({"cuda"} if torch.cuda.is_available() else set())
    there |= {p.device.type for p in model.parameters()} & {"cuda"} if model is not None else set()
    return tuple(sorted(there))
