# SPDX-License-Identifier: MIT
"""A product's kernels as differentiable operators of PyTorch: what NAME.py, which has the facts, is made to work by.

`register` loads the libraries that lie beside NAME.py, in which the operators `torch.ops.cgtp.NAME_kernel` are, and
gives each of them what torch.compile, torch.export, autograd, torch.func and autocast ask for:

- shapes of results without computing them (register_fake),
- derivatives (register_autograd; `Differentiable` for forward mode and torch.func),
- a rule for torch.vmap (register_vmap): the copies become more items, or more nodes of a larger graph,
- autocast: arrays are brought to the type that the product computes in (register_autocast).

Nothing here knows a kernel by its name. A kernel's outputs are sums of terms Q_s(..), the derivative by slot s of

    Q(x, y, w, g) = sum over paths and Clebsch-Gordan nonzeros of a C[i,j,k] x[u,i] y[v,j] w[..] g[..,k]

Where the product has a kernel that is the derivative of another, which it says (`Kernel.of` and `kin`), that is called.
Where it has none, each term is differentiated, and the parts are computed by whatever kernels have them as outputs;
forward and backward suffice for derivatives of every order.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

Arrays = dict[str, Optional[Tensor]]  # by the names that a kernel has for them
Graph = tuple[Any, ...]               # what follows the arrays in an operator's arguments
SLOTS = "xywz"


class Instruction(NamedTuple):
    """A path, with the fields of e3nn's instructions; path_weight is the coefficient that it is multiplied by."""

    i_in1: int
    i_in2: int
    i_out: int
    connection_mode: str
    has_weight: bool
    path_weight: float
    path_shape: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    name: str
    inputs: dict[str, str]        # array -> slot x, y, w or z; "d x": a tangent or cotangent of x
    outputs: dict[str, str]       # array -> slot
    terms: dict[str, list[str]]   # output -> its terms, as Q_x(y, w, gz)
    of: Optional[str] = None      # the kernel that this one is the derivative of
    kin: dict[str, str] = field(default_factory=dict)  # array -> "same", "cotangent" or "tangent", and of which there


@dataclass(frozen=True)
class Product:
    name: str
    digest: str
    dtype: dict[str, torch.dtype]  # by slot
    edges: Optional[str]          # "sorted", "any"; None: no graph
    index_dtype: torch.dtype      # of node numbers
    irreps: dict[str, str]
    dim: dict[str, int]           # elements of a row, by slot
    index: dict[str, str]         # which row an item has, by slot: item, sender, receiver, shared
    layout: dict[str, str]
    instructions: tuple[Instruction, ...]
    kernels: tuple[Kernel, ...]
    operators: dict[str, "Operator"] = field(default_factory=dict, compare=False, repr=False)  # `register` fills it

    @property
    def weight_numel(self) -> int:
        return self.dim["w"]

    @property
    def mixed(self) -> bool:
        """Has it paths without weights beside others? Then Q is not linear in w, but affine."""
        return self.weight_numel > 0 and not all(i.has_weight or i.path_weight == 0 for i in self.instructions)

    def rows(self, graph: Graph) -> dict[str, int]:
        """How many rows arrays have, by index."""
        if self.edges is None:
            return {"item": graph[0], "shared": 1}
        items = graph[0].shape[0]
        if self.edges == "any":
            return {"item": items, "sender": graph[2], "receiver": graph[3], "shared": 1}
        return {"item": items, "sender": graph[4].shape[0] - 1, "receiver": graph[2].shape[0] - 1, "shared": 1}

    def forward(self) -> "Operator":
        """The operator of the kernel that computes z from x, y and w."""
        for operator in self.operators.values():
            if operator.simple and operator.simple.keys() == {"z"}:
                return operator
        raise NotImplementedError(f"{self.name} has no kernel forward: list it in `kernels` of its spec")


class Term(NamedTuple):
    target: str                   # a slot
    argument: dict[str, str]      # slot -> input, of the other slots


def parse_term(text: str, kernel: Kernel) -> Term:
    target, _, arguments = text[2:-1].partition("(")
    names = arguments.split(", ")
    return Term("z" if target == "g" else target, {kernel.inputs[name][-1]: name for name in names})


def add(a: Optional[Tensor], b: Optional[Tensor]) -> Optional[Tensor]:
    return b if a is None else a if b is None else a + b


class Operator:
    """A kernel as an operator. Called with arrays and graph it is differentiable in every way that PyTorch has."""

    def __init__(self, product: Product, kernel: Kernel):
        self.product, self.kernel = product, kernel
        self.name = f"{product.name}_{kernel.name}"
        self.op = getattr(torch.ops.cgtp, self.name).default
        self.terms = {name: [parse_term(text, kernel) for text in terms] for name, terms in kernel.terms.items()}
        # Where the inputs are one primal value a slot, outputs of one term: the derivatives of Q at these, by slot.
        self.simple: dict[str, int] = {}
        slots = list(kernel.inputs.values())
        if len(set(slots)) == len(slots) and all(slot in SLOTS for slot in slots):
            for number, (name, terms) in enumerate(self.terms.items()):
                if len(terms) == 1:
                    self.simple.setdefault(kernel.outputs[name], number)

    def __call__(self, arrays: Sequence[Tensor], graph: Graph) -> tuple[Tensor, ...]:
        if torch.compiler.is_compiling():
            return as_tuple(self.op(*arrays, *graph))
        if forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active():
            return as_tuple(Differentiable.apply(self, *arrays, *graph))
        if torch.is_grad_enabled() and any([array.requires_grad for array in arrays]):
            return as_tuple(Recorded.apply(self, graph, *arrays))
        return as_tuple(self.compute(arrays, graph))

    def compute(self, arrays: Sequence[Tensor], graph: Graph) -> Any:
        """Without a look at derivatives, which the operator itself takes in Python, some microseconds long."""
        with torch._C._AutoDispatchBelowAutograd():
            return self.op(*arrays, *graph)

    # ---- derivatives ----

    def children(self, kind: str, wanted: Iterable[str]) -> Optional["Operator"]:
        """The derivative of this kernel, of that kind, that has the wanted outputs and fewest others."""
        found = None
        for child in self.product.operators.values():
            k = child.kernel
            if k.of == self.kernel.name and {f"{kind} {name}" for name in wanted} <= {k.kin[o] for o in k.outputs}:
                if found is None or len(k.outputs) < len(found.kernel.outputs):
                    found = child
        return found

    def derive(self, child: "Operator", inputs: Arrays, others: Arrays, graph: Graph) -> Arrays:
        """Calls a derivative; others: the tangents or cotangents, of which those that are None are zero. Returns its
        outputs, by the names of what they are derivatives of."""
        arrays = []
        for name, slot in child.kernel.inputs.items():
            kind, _, mine = child.kernel.kin[name].partition(" ")
            array = inputs[mine] if kind == "same" else others[mine]
            arrays.append(self.zeros(slot[-1], inputs, graph) if array is None else array.contiguous())
        results = child(arrays, graph)
        return {child.kernel.kin[name].partition(" ")[2]: result for name, result in zip(child.kernel.outputs, results)}

    def zeros(self, slot: str, inputs: Arrays, graph: Graph) -> Tensor:
        like = next((array for array in inputs.values() if array is not None), graph[0])
        rows = self.product.rows(graph)[self.product.index[slot]]
        return like.new_zeros((rows, self.product.dim[slot]), dtype=self.product.dtype[slot])

    def pullback(self, inputs: Arrays, cotangents: Arrays, wanted: Sequence[str], graph: Graph) -> Arrays:
        """The gradients by the wanted inputs, given those by the outputs (None: zero)."""
        if all(cotangent is None for cotangent in cotangents.values()) or not wanted:
            return dict.fromkeys(wanted)
        child = self.children("cotangent", wanted)
        if child:
            return self.derive(child, inputs, cotangents, graph)
        gradients: Arrays = dict.fromkeys(wanted)
        for output, terms in self.terms.items():
            if cotangents[output] is None:
                continue
            for term in terms:
                slots = [slot for slot, name in term.argument.items() if name in gradients]
                number = {slot: inputs[name] for slot, name in term.argument.items()} | {term.target: cotangents[output]}
                tangent = term.target == "w" or self.is_tangent(term)
                for slot, value in self.parts(slots, number, tangent, graph).items():
                    name = term.argument[slot]
                    gradients[name] = add(gradients[name], value)
        return gradients

    def pushforward(self, inputs: Arrays, tangents: Arrays, graph: Graph) -> Arrays:
        """The derivatives of the outputs along tangents of the inputs (None: zero)."""
        child = self.children("tangent", self.kernel.outputs)
        if child:
            return self.derive(child, inputs, tangents, graph)
        results: Arrays = dict.fromkeys(self.kernel.outputs)
        for output, terms in self.terms.items():
            for term in terms:
                for slot, name in term.argument.items():
                    if tangents[name] is None:
                        continue
                    number = {s: inputs[n] for s, n in term.argument.items()} | {slot: tangents[name]}
                    part = self.parts([term.target], number, slot == "w" or self.is_tangent(term), graph)
                    results[output] = add(results[output], part[term.target])
        return results

    def is_tangent(self, term: Term) -> bool:
        """Has the term a tangent or cotangent in place of the weights?"""
        return "w" in term.argument and self.kernel.inputs[term.argument["w"]] == "d w"

    def parts(self, slots: Sequence[str], number: Arrays, tangent: bool, graph: Graph) -> Arrays:
        """The derivatives by these slots of Q at the number's arrays, by the kernels that have them. tangent: what is
        in slot w is no value, so that paths without weights take no part."""
        found: Arrays = {}
        left = list(slots)
        while left:
            operator = max(self.product.operators.values(), key=lambda o: (
                len(o.simple.keys() & set(left)), -len(o.kernel.outputs)))
            mine = operator.simple.keys() & set(left)
            if not mine:
                wanted = sorted({"forward" if slot == "z" else "backward" for slot in left})
                raise NotImplementedError(
                    f"the derivative of {self.name} takes a kernel that {self.product.name} does not have: "
                    f"add {' and '.join(wanted)} to `kernels` of its spec")
            found |= operator.at(mine, number, graph)
            if tangent and self.product.mixed:
                without = operator.at(mine - {"w"}, number | {"w": self.zeros("w", number, graph)}, graph)
                for slot, value in without.items():
                    found[slot] = found[slot] - value
            left = [slot for slot in left if slot not in mine]
        return {slot: found[slot] for slot in slots}

    def at(self, slots: Iterable[str], number: Arrays, graph: Graph) -> Arrays:
        """The outputs of a simple kernel for these slots at the arrays of a number."""
        slots = list(slots)
        if not slots:
            return {}
        arrays = []
        for slot in self.kernel.inputs.values():
            array = number.get(slot)
            arrays.append(self.zeros(slot, number, graph) if array is None else array.contiguous())
        results = self(arrays, graph)
        return {slot: results[self.simple[slot]] for slot in slots}

    # ---- what is registered ----

    def split(self, arguments: Sequence[Any]) -> tuple[Arrays, Graph]:
        n = len(self.kernel.inputs)
        return dict(zip(self.kernel.inputs, arguments)), tuple(arguments[n:])

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
        made = [like.new_empty((rows[self.product.index[slot]], self.product.dim[slot]), dtype=self.product.dtype[slot])
                for slot in self.kernel.outputs.values()]
        return made[0] if len(made) == 1 else tuple(made)

    def remember(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*(value for value in inputs if isinstance(value, Tensor)))
        ctx.numbers = [None if isinstance(value, Tensor) else value for value in inputs]

    def recall(self, ctx: Any) -> tuple[Arrays, Graph]:
        saved = iter(ctx.saved_tensors)
        return self.split([next(saved) if number is None else number for number in ctx.numbers])

    def gradients(self, inputs: Arrays, graph: Graph, needed: Sequence[bool],
                  cotangents: Sequence[Optional[Tensor]]) -> list[Optional[Tensor]]:
        wanted = [name for name, need in zip(inputs, needed) if need]
        found = self.pullback(inputs, dict(zip(self.kernel.outputs, cotangents)), wanted, graph)
        return [found[name] if name in wanted else None for name in inputs]

    def backward(self, ctx: Any, *cotangents: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        inputs, graph = self.recall(ctx)
        return *self.gradients(inputs, graph, ctx.needs_input_grad, cotangents), *(None for _ in graph)

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
            return (*ends, graph[2] * copies, graph[3] * copies)
        items = rows["item"]
        pointers = [torch.cat([shift(row[:-1], items), row[-1:] * copies]) for row in (graph[2], graph[4])]
        return (*ends, pointers[0], shift(graph[3], items), pointers[1])


class Recorded(torch.autograd.Function):
    """An operator of which autograd is to know: what register_autograd makes of it, in less time."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, graph: Graph, *arrays: Tensor) -> Any:
        ctx.operator, ctx.graph = operator, graph
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arrays)
        return operator.compute(arrays, graph)

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
        return None, *operator.gradients(inputs, graph, ctx.needs_input_grad[1:], gradients), *(None for _ in graph)

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

class Descriptor(ctypes.Structure):
    """The beginning of cgtp_product (cgtp.h)."""

    _fields_ = [("abi", ctypes.c_int), ("name", ctypes.c_char_p), ("backend", ctypes.c_char_p),
                ("digest", ctypes.c_char_p)]


def load(product: Product, folder: str) -> None:
    """Loads the product's libraries, for CPUs and, where this PyTorch has CUDA, for it."""
    wanted = ["cpu"] + ["cuda"] * (torch.version.cuda is not None)
    paths = [path for path in (os.path.join(folder, f"lib{product.name}_{device}.so") for device in wanted)
             if os.path.exists(path)]
    if not paths:
        raise ImportError(f"there is no library of {product.name} in {folder}: build it, by `pip install` of the folder "
                          f"that cgtpgen wrote")
    first = f"{product.name}_{product.kernels[0].name}"
    if hasattr(torch.ops.cgtp, first) and os.path.realpath(paths[0]) not in map(os.path.realpath, torch.ops.loaded_libraries):
        raise ImportError(f"operators cgtp::{product.name}_* are there already, of another library than {paths[0]}: cgtpgen "
                          f"--name gives a product another name")
    for path in paths:
        torch.ops.load_library(path)
        digest = Descriptor.in_dll(ctypes.CDLL(path), f"{product.name}_product").digest.decode()
        if digest != product.digest:
            raise ImportError(f"{path} was built from another spec (digest {digest}) than {product.name}.py "
                              f"({product.digest}): build it again")


registered: dict[str, Product] = {}


def register(product: Product, file: str) -> Product:
    """Loads the product's libraries, which are in the folder of `file`, and registers its operators; once."""
    if product.name in registered:
        return registered[product.name]
    load(product, os.path.dirname(os.path.abspath(file)))
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
