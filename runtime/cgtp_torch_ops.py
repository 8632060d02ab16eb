# SPDX-License-Identifier: MIT
"""A product's kernels as differentiable operators of PyTorch: what NAME.py, which has the facts, is made to work by.

`register` loads the libraries that lie beside NAME.py, in which the operators `torch.ops.cgtp.NAME_kernel` are, and
gives each of them what torch.compile, torch.export, autograd, torch.func and autocast ask for:

- shapes of results without computing them (register_fake),
- derivatives (register_autograd; `Differentiable` for forward mode and torch.func),
- a rule for torch.vmap (register_vmap): the copies become more items, or more nodes of a larger graph,
- autocast: arrays are brought to the type that the product computes in (register_autocast).

Derivatives are composed of kernels by cgtp_product.py.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import cgtp_torch_graph
from .cgtp_product import Arrays, Calculus, Graph, Kernel, Product, check_digest, no_library

SAVED = object()  # stands for a tensor that autograd keeps

# What each call asks, found once.
is_compiling, is_tracing, is_grad_enabled = torch.compiler.is_compiling, torch.jit.is_tracing, torch.is_grad_enabled
transforms_active, BelowAutograd = torch._C._are_functorch_transforms_active, torch._C._AutoDispatchBelowAutograd


class Operator(Calculus):
    """A kernel as an operator. Called with arrays and graph it is differentiable in every way that PyTorch has."""

    def __init__(self, product: Product, kernel: Kernel):
        super().__init__(product, kernel)
        self.op = getattr(torch.ops.cgtp, self.name).default
        self.bound = self.op._op  # what self.op calls

    def __call__(self, arrays: Sequence[Tensor], graph: Graph) -> tuple[Tensor, ...]:
        if is_compiling():
            made = self.op(*arrays, *graph)
        elif is_tracing():
            made = cgtp_torch_graph.traceable(self.op)(*arrays, *graph)
        elif forward_ad._current_level >= 0 or transforms_active():
            made = Differentiable.apply(self, *arrays, *graph)
        elif is_grad_enabled() and any([array.requires_grad for array in arrays]):
            made = Recorded.apply(self, graph, *arrays)
        else:
            made = self.below_autograd(*arrays, *graph)
        return made if isinstance(made, tuple) else (made,)

    def below_autograd(self, *arguments: Optional[Tensor]) -> Any:
        """The operator itself looks at derivatives in Python, some microseconds long. What it says of memory gets the type of
        what PyTorch says of it, which programs catch."""
        try:
            with BelowAutograd():
                return self.bound(*arguments)
        except RuntimeError as error:
            raise torch.OutOfMemoryError(str(error)) if "out of memory" in str(error) else error

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies of modules, and those that torch.load makes, have the operator that is there."""
        return operator_of, (self.product.name, self.kernel.name)

    def zeros(self, slot: str, inputs: Arrays, graph: Graph) -> Tensor:
        like = next((array for array in inputs.values() if array is not None), graph[0])
        rows = self.product.rows(graph)[self.product.index[slot]]
        return like.new_zeros((rows, self.product.dim[slot]), dtype=self.product.dtype[slot])

    def dense(self, array: Tensor, slot: str) -> Tensor:
        if self.product.strided[slot] and array.stride(-1) == 1 and array.stride(0) >= array.shape[-1]:
            return array  # rows of it; one that begins elsewhere than kernels want is copied by the operator
        return array.contiguous()

    # ---- what is registered ----

    def split(self, arguments: Sequence[Any]) -> tuple[Arrays, Graph]:
        n = len(self.kernel.inputs)
        graph = arguments[n:]
        if graph and graph[-1] is None:  # no fault, which need not be said
            graph = graph[:-1]
        return dict(zip(self.kernel.inputs, arguments)), tuple(graph)

    def fake(self, *arguments: Any) -> Any:
        inputs, graph = self.split(arguments)
        rows = self.product.rows(graph)
        for name, array in inputs.items():
            slot = self.kernel.inputs[name][-1]
            wanted = (rows[self.product.index[slot]], self.product.dim[slot])
            torch._check(array.dim() == 2, lambda: f"cgtp::{self.name}: {name} has shape {list(array.shape)}, "
                                                   f"not {list(wanted)}")
            for size, want in zip(array.shape, wanted):
                torch._check(size == want, lambda: f"cgtp::{self.name}: {name} has shape {list(array.shape)}, "
                                                   f"not {list(wanted)}")
            dtype = self.product.dtype[slot]
            torch._check(array.dtype == dtype,
                         lambda: f"cgtp::{self.name}: {name} is of {array.dtype}, not {dtype}")
        like = next(iter(inputs.values()), graph[0])
        for name, array in {**inputs, "its graph": graph[0]}.items():
            torch._check(not isinstance(array, Tensor) or array.device == like.device,
                         lambda: f"cgtp::{self.name}: {name} is on {array.device}, not on {like.device}")
        made = [like.new_empty((rows[self.product.index[slot]], self.product.dim[slot]), dtype=self.product.dtype[slot])
                for slot in self.kernel.outputs.values()]
        return made[0] if len(made) == 1 else tuple(made)

    def remember(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*(value for value in inputs if isinstance(value, Tensor)))
        ctx.numbers = [SAVED if isinstance(value, Tensor) else value for value in inputs]

    def recall(self, ctx: Any) -> tuple[Arrays, Graph]:
        saved = iter(ctx.saved_tensors)
        return self.split([next(saved) if number is SAVED else number for number in ctx.numbers])

    def gradients(self, inputs: Arrays, graph: Graph, needed: Sequence[bool],
                  cotangents: Sequence[Optional[Tensor]]) -> list[Optional[Tensor]]:
        wanted = [name for name, need in zip(inputs, needed) if need]
        found = self.pullback(inputs, dict(zip(self.kernel.outputs, cotangents)), wanted, graph)
        return [found[name] if name in wanted else None for name in inputs]

    def backward(self, ctx: Any, *cotangents: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        inputs, graph = self.recall(ctx)
        return *self.gradients(inputs, graph, ctx.needs_input_grad, cotangents), *[None] * (len(ctx.numbers) - len(inputs))

    def vmap(self, info: Any, dims: tuple[Optional[int], ...], *arguments: Any) -> tuple[Any, Any]:
        inputs, graph = self.split(arguments)
        copies, n = info.batch_size, len(inputs)
        moved = [value if dim is None else value.movedim(dim, 0) for value, dim in zip(arguments, dims)]
        shared = any(self.product.index[slot[-1]] == "shared" and (output or dim is not None)
                     for output, slot, dim in
                     [(False, slot, dim) for slot, dim in zip(self.kernel.inputs.values(), dims)] +
                     [(True, slot, None) for slot in self.kernel.outputs.values()])
        if shared or any(dim is not None for dim in dims[n:]) or not self.fits(copies, graph):
            results = [as_tuple(self.op(*(value if dim is None else value[copy].contiguous()
                                          for value, dim in zip(moved, dims)))) for copy in range(copies)]
            made = tuple(torch.stack(values) for values in zip(*results))
        else:
            arrays = []
            for value, dim, slot in zip(moved, dims, self.kernel.inputs.values()):
                if self.product.index[slot[-1]] != "shared":
                    value = value.expand(copies, *value.shape) if dim is None else value
                    value = value.reshape(-1, value.shape[-1]).contiguous()
                arrays.append(value)
            results = as_tuple(self.op(*arrays, *self.copied(copies, graph)))
            rows = self.product.rows(graph)
            made = tuple(result.reshape(copies, rows[self.product.index[slot]], result.shape[-1])
                         for result, slot in zip(results, self.kernel.outputs.values()))
        return (made[0], 0) if len(made) == 1 else (made, (0,) * len(made))

    def fits(self, copies: int, graph: Graph) -> bool:
        """Can the nodes and edges of so many copies be numbered?"""
        if copies == 0:
            return False
        most = max(self.product.rows(graph).values()) if self.product.edges else 0
        return self.product.index_dtype == torch.int64 or copies * most < 2**31

    def copied(self, copies: int, graph: Graph) -> Graph:
        """So many copies of a graph as one."""
        rows = self.product.rows(graph)
        if self.product.edges is None:
            return (graph[0] * copies,)

        def shift(values: Tensor, step: int) -> Tensor:
            offsets = torch.arange(copies, device=values.device, dtype=values.dtype) * step
            return (values + offsets[:, None]).reshape(-1)

        ends = shift(graph[0], rows["sender"]), shift(graph[1], rows["receiver"])
        if self.product.edges == "any":
            return (*ends, graph[2] * copies, graph[3] * copies, *graph[4:])
        items = rows["item"]
        pointers = [torch.cat([shift(row[:-1], items), row[-1:] * copies]) for row in (graph[2], graph[4])]
        return (*ends, pointers[0], shift(graph[3], items), pointers[1], *graph[5:])


class Recorded(torch.autograd.Function):
    """An operator of which autograd is to know: what register_autograd makes of it, in less time."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, graph: Graph, *arrays: Tensor) -> Any:
        ctx.operator, ctx.graph = operator, graph
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arrays)
        return operator.below_autograd(*arrays, *graph)

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        operator = ctx.operator
        inputs = dict(zip(operator.kernel.inputs, ctx.saved_tensors))
        return None, None, *operator.gradients(inputs, ctx.graph, ctx.needs_input_grad[2:], gradients)


class Differentiable(torch.autograd.Function):
    """An operator where forward-mode derivatives or transforms of torch.func are asked for: what torch.library
    registers serves neither."""

    generate_vmap_rule = True

    @staticmethod
    def forward(operator: Operator, *arguments: Any) -> Any:
        return operator.op(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.operator = inputs[0]
        ctx.operator.remember(ctx, inputs[1:], output)
        ctx.save_for_forward(*(value for value in inputs[1:] if isinstance(value, Tensor)))

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        operator = ctx.operator
        inputs, graph = operator.recall(ctx)
        return None, *operator.gradients(inputs, graph, ctx.needs_input_grad[1:], gradients), \
            *[None] * (len(ctx.numbers) - len(inputs))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        operator = ctx.operator
        inputs, graph = operator.recall(ctx)
        found = operator.pushforward(inputs, dict(zip(inputs, tangents)), graph)
        made = tuple(operator.zeros(slot, inputs, graph) if found[name] is None else found[name]
                     for name, slot in operator.kernel.outputs.items())
        return made[0] if len(made) == 1 else made


def as_tuple(results: Any) -> tuple[Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)


# ---- loading ----

def load(product: Product, folder: str) -> list[str]:
    """Loads the product's libraries, for CPUs and, where this PyTorch has CUDA, for it; says for which there is one."""
    wanted = ["cpu"] + ["cuda"] * (torch.version.cuda is not None)
    wanted = [device for device in wanted if os.path.exists(os.path.join(folder, f"lib{product.name}_{device}.so"))]
    paths = [os.path.join(folder, f"lib{product.name}_{device}.so") for device in wanted]
    if not paths:
        raise no_library(product, folder)
    first = f"{product.name}_{product.kernels[0].name}"
    if hasattr(torch.ops.cgtp, first) and os.path.realpath(paths[0]) not in map(os.path.realpath, torch.ops.loaded_libraries):
        raise ImportError(f"operators cgtp::{product.name}_* are there already, of another library than {paths[0]}: cgtpgen "
                          f"--name gives a product another name")
    for path in paths:
        try:
            torch.ops.load_library(path)
        except OSError as error:
            raise ImportError(f"{path} is not for this PyTorch, {torch.__version__}: build it again, with 2.10 or later "
                              f"({str(error).splitlines()[0]})") from error
        check_digest(product, path, f"{product.name}.py")
    return wanted


registered: dict[str, Product] = {}


def twins(product: Product) -> dict[torch.dtype, Product]:
    """The products that compute the same as this one, by the type of x; of its own type itself."""
    return {other.dtype["x"]: other for other in registered.values() if other.computes_as(product)} | {
        product.dtype["x"]: product}


def operator_of(product: str, kernel: str) -> Calculus:
    return registered[product].operators[kernel]


def register(product: Product, file: str) -> Product:
    """Loads the product's libraries, which are in the folder of `file`, and registers its operators; once."""
    if product.name in registered:
        return registered[product.name]
    devices = load(product, os.path.dirname(os.path.abspath(file)))
    if product.edges:
        cgtp_torch_graph.register(product.name, devices)
    for kernel in product.kernels:
        if kernel.inputs or product.edges:
            product.operators[kernel.name] = Operator(product, kernel)
    for operator in product.operators.values():
        name = f"cgtp::{operator.name}"
        torch.library.register_fake(name, operator.fake)
        torch.library.register_autograd(name, operator.backward, setup_context=operator.remember)
        torch.library.register_vmap(name, operator.vmap)
        for device in ("cpu", "cuda"):
            if torch._C._is_autocast_available(device) and len(set(product.dtype.values())) == 1:
                torch.library.register_autocast(name, device, product.dtype["x"])
    registered[product.name] = product
    return product
