# SPDX-License-Identifier: MIT
"""A module of a model that computes by generated kernels what it computed before.

It stays the object that it was: parameters, buffers, names of a state_dict, hooks and attributes are its own, and so is
its class but for `forward`, which a class derived from its own and from one here has. `restore` gives it its class back.
The kernels are a submodule, `cgtp`, which has no part in a state_dict.
"""
from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import torch
from torch import Tensor

from .kernels import BuildError, Kernels, Spec

TYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass
class Made:
    """folder: of kernels; products: their names, by type; options: of whoever uses them."""

    folder: str
    products: dict[str, list[str]]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Site:
    """A module that can be replaced. specs: what it needs, in a type; mixin: the class whose forward it gets."""

    path: str
    module: torch.nn.Module
    mixin: type
    specs: Callable[[str], list[Spec]]
    options: dict[str, Any] = field(default_factory=dict)
    what: str = ""  # for the table


@dataclass
class Left:
    """A module that is not, and why."""

    path: str
    module: torch.nn.Module
    why: str


Sites = dict[str, Union[Site, Left, None]]  # by path; None: what a replaced module calls no more


class Fast:
    """What classes with another forward have in common. `attach` takes the products' modules of the current type. Attributes
    have no annotations, which TorchScript would want to know."""

    flag = None  # an attribute that is set in the module that has this one
    says = ""    # in the table, of what needs no kernels

    def attach(self, layers: list[Any]) -> None:
        raise NotImplementedError

    def typed(self) -> Tensor:
        """One of its tensors, which says in which type and where it computes."""
        raise NotImplementedError

    def fit(self) -> None:
        """Takes the kernels of the current type and device."""
        names = self.cgtp_made.products
        if not any(names.values()):
            return self.attach([])
        one = self.typed()
        kind = str(one.dtype).rpartition(".")[2]
        if kind not in names:
            raise BuildError(f"{type(self).__name__} has kernels for {' and '.join(names)}, not for {kind}: "
                             f"accelerate(.., dtypes=({', '.join(map(repr, [*names, kind]))})) of the restored model, or "
                             f"restore(model)")
        kernels = Kernels(self.cgtp_made.folder)
        if not kernels.built() and os.environ.get("CGTP_KERNELS"):  # they have moved
            kernels = Kernels(os.environ["CGTP_KERNELS"])
        if one.device.type != "cpu":
            kernels.check_device(names[kind], one.device)
        self.attach([layer for layer in kernels.load(names[kind])])
        self.cgtp_kind = kind, one.device.type

    def keep(self, module: torch.nn.Module) -> None:
        """Makes it the submodule `cgtp`, none of which is in a state_dict."""
        for part in module.modules():
            part._non_persistent_buffers_set.update(part._buffers)
        self.cgtp = module.to(self.typed().device)

    def _apply(self, *arguments: Any, **more: Any) -> Any:
        made = super()._apply(*arguments, **more)
        if any(self.cgtp_made.products.values()):
            one = self.typed()
            if (str(one.dtype).rpartition(".")[2], one.device.type) != self.cgtp_kind:
                self.fit()
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = self.__getstate__() if hasattr(self, "__getstate__") else self.__dict__
        state = dict(state if isinstance(state, dict) else self.__dict__)
        state["_modules"] = {name: module for name, module in state["_modules"].items() if name != "cgtp"}
        base, mixin = type(self).cgtp_bases
        return rebuild, (base, mixin), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.fit()


class Imported(Fast):
    """What a program of AOTInductor has to import before it is loaded."""

    @property
    def _nequip_custom_ops_libs(self) -> tuple[str, ...]:
        return (Kernels(self.cgtp_made.folder).name,)


def rebuild(base: type, mixin: type) -> Any:
    return base.__new__(fast_class(base, mixin))


_classes: dict[tuple[type, type], type] = {}


def fast_class(base: type, mixin: type) -> type:
    """Derived from both; called like the base."""
    if (base, mixin) not in _classes:
        _classes[base, mixin] = type(base.__name__, (mixin, base), {"cgtp_bases": (base, mixin), "__module__": base.__module__,
                                                                    "__doc__": mixin.__doc__})
    return _classes[base, mixin]


def replace(site: Site, folder: str, products: dict[str, list[str]], parent: Optional[torch.nn.Module]) -> None:
    module = site.module
    if isinstance(module, site.mixin):  # and has kernels, or needs none
        module.cgtp_made.options.update(site.options)
        return
    module.__dict__["cgtp_made"] = Made(folder, products, site.options)
    module.__class__ = fast_class(type(module), site.mixin)
    try:
        module.fit()
    except BaseException:
        undo(module, parent)
        raise
    if site.mixin.flag and parent is not None:
        setattr(parent, site.mixin.flag, True)


def undo(module: torch.nn.Module, parent: Optional[torch.nn.Module]) -> None:
    flag = type(module).cgtp_bases[1].flag
    module.__class__ = type(module).cgtp_bases[0]
    module._modules.pop("cgtp", None)
    for name in [name for name in module.__dict__ if name.startswith("cgtp_")]:
        del module.__dict__[name]
    if flag and parent is not None:
        parent.__dict__.pop(flag, None)


def is_fast(module: torch.nn.Module) -> bool:
    return isinstance(module, Fast)


def has_hooks(module: Any) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks)


def name_of(module: Any) -> str:
    """A class's full name; of one that torch.package has loaded, the one that it had."""
    kind = module if isinstance(module, type) else type(module)
    home = kind.__module__.partition(">.")[2] if kind.__module__.startswith("<torch_package") else kind.__module__
    return f"{home}.{kind.__qualname__}"


def names_of(module: Any) -> set[str]:
    """Of its class and of those that it derives from."""
    return {name_of(kind) for kind in type(module).__mro__}


class Again(torch.autograd.Function):
    """function(*arguments). Nothing but arguments is kept for derivatives, of any order; they compute the rest again."""

    @staticmethod
    def forward(ctx: Any, function: Any, *arguments: Any) -> Any:
        ctx.function = function
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arguments)
        return function(*arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        arguments, at = ctx.saved_tensors, [n for n, needs in enumerate(ctx.needs_input_grad[1:]) if needs]
        given, function = [n for n, gradient in enumerate(gradients) if gradient is not None], ctx.function

        def derivative(*both: Any) -> Any:
            higher = torch.is_grad_enabled()
            with torch.enable_grad():
                x = [a if higher and a.requires_grad else a.detach().requires_grad_() for a in both[:len(arguments)]]
                made = function(*x)
                made = made if isinstance(made, tuple) else (made,)
                return torch.autograd.grad([made[n] for n in given], [x[n] for n in at], both[len(arguments):],
                                           create_graph=higher, allow_unused=True)

        found = iter(Again.apply(derivative, *arguments, *(gradients[n] for n in given)))
        return None, *(next(found) if needs else None for needs in ctx.needs_input_grad[1:])


class Trilinear(torch.autograd.Function):
    """form(x, weight, z), of which one is None and is returned: z of x and weight, and the derivatives by either, which are
    each other's derivatives, too. So nothing is computed again, whatever the order."""

    @staticmethod
    def forward(ctx: Any, form: Any, *given: Optional[Tensor]) -> Tensor:
        needs = ctx.needs_input_grad[1:]
        ctx.form, ctx.missing = form, next(n for n, one in enumerate(given) if one is None)
        ctx.save_for_backward(*(one if any(needs[:n] + needs[n + 1:]) else None for n, one in enumerate(given)))
        return form(*given)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        known = list(ctx.saved_tensors)
        known[ctx.missing] = gradients[0]
        return None, *(Trilinear.apply(ctx.form, *known[:n], None, *known[n + 1:]) if needs else None
                       for n, needs in enumerate(ctx.needs_input_grad[1:]))


class Looks:
    """What a step finds by looking at numbers, in the order in which it asks: a recorded one cannot look."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.again: Optional[Iterator[Any]] = None

    def at(self, look: Callable[[], Any]) -> Any:
        if self.again is not None:
            return next(self.again)
        self.found.append(look())
        return self.found[-1]


looks: Optional[Looks] = None  # of the step that is being recorded


@contextlib.contextmanager
def looking(by: Looks) -> Iterator[None]:
    global looks
    looks = by
    try:
        yield
    finally:
        looks = None


def look_once(look: Callable[[], Any]) -> Any:
    """look(), or what was found by it when the step was last computed for this record."""
    return look() if looks is None else looks.at(look)


def warn(text: str) -> None:
    warnings.warn(f"cgtpgen: {text}", stacklevel=3)
