# SPDX-License-Identifier: MIT
"""The facts of a product, and how derivatives of its kernels are made of kernels: the same for every framework.

NAME.py (PyTorch) and NAME_jax.py have the facts. Nothing here knows a kernel by its name. A kernel's outputs are sums of
terms Q_s(..), the derivative by slot s of

    Q(x, y, w, g) = sum over paths and Clebsch-Gordan nonzeros of a C[i,j,k] x[u,i] y[v,j] w[..] g[..,k]

Where the product has a kernel that is the derivative of another, which it says (`Kernel.of` and `kin`), that is called.
Where it has none, each term is differentiated, and the parts are computed by whatever kernels have them as outputs;
forward and backward suffice for derivatives of every order.
"""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

Arrays = dict[str, Optional[Any]]     # by the names that a kernel has for them
Graph = tuple[Any, ...]               # what follows the arrays in a kernel's arguments
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
    dtype: dict[str, Any]         # the framework's, by slot
    edges: Optional[str]          # "sorted", "any"; None: no graph
    index_dtype: Any              # of node numbers
    irreps: dict[str, str]
    dim: dict[str, int]           # elements of a row, by slot
    index: dict[str, str]         # which row an item has, by slot: item, sender, receiver, shared
    layout: dict[str, str]
    strided: dict[str, bool]      # may rows be parts of longer ones, by slot?
    instructions: tuple[Instruction, ...]
    kernels: tuple[Kernel, ...]
    operators: dict[str, "Calculus"] = field(default_factory=dict, compare=False, repr=False)  # `register` fills it

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

    def computes_as(self, other: "Product") -> bool:
        """Do both compute the same, if of other types?"""
        return all(getattr(self, name) == getattr(other, name) for name in (
            "edges", "index_dtype", "irreps", "dim", "index", "layout", "instructions"))

    def forward(self) -> "Calculus":
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


def add(a: Optional[Any], b: Optional[Any]) -> Optional[Any]:
    return b if a is None else a if b is None else a + b


class Calculus:
    """A kernel of a product, and its derivatives. A framework says how it is called (`__call__`), in a way that can be
    differentiated in turn, and what zeros are; `dense` brings an array of a slot into the form that kernels take."""

    def __init__(self, product: Product, kernel: Kernel):
        self.product, self.kernel = product, kernel
        self.name = f"{product.name}_{kernel.name}"
        self.terms = {name: [parse_term(text, kernel) for text in terms] for name, terms in kernel.terms.items()}
        # Where the inputs are one primal value a slot, outputs of one term: the derivatives of Q at these, by slot.
        self.simple: dict[str, int] = {}
        slots = list(kernel.inputs.values())
        if len(set(slots)) == len(slots) and all(slot in SLOTS for slot in slots):
            for number, (name, terms) in enumerate(self.terms.items()):
                if len(terms) == 1:
                    self.simple.setdefault(kernel.outputs[name], number)

    def __call__(self, arrays: Sequence[Any], graph: Graph) -> tuple[Any, ...]:
        raise NotImplementedError

    def zeros(self, slot: str, inputs: Arrays, graph: Graph) -> Any:
        raise NotImplementedError

    def dense(self, array: Any, slot: str) -> Any:
        return array

    def children(self, kind: str, wanted: Iterable[str]) -> Optional["Calculus"]:
        """The derivative of this kernel, of that kind, that has the wanted outputs and fewest others."""
        found = None
        for child in self.product.operators.values():
            k = child.kernel
            if k.of == self.kernel.name and {f"{kind} {name}" for name in wanted} <= {k.kin[o] for o in k.outputs}:
                if found is None or len(k.outputs) < len(found.kernel.outputs):
                    found = child
        return found

    def derive(self, child: "Calculus", inputs: Arrays, others: Arrays, graph: Graph) -> Arrays:
        """Calls a derivative; others: the tangents or cotangents, of which those that are None are zero. Returns its
        outputs, by the names of what they are derivatives of."""
        arrays = []
        for name, slot in child.kernel.inputs.items():
            kind, _, mine = child.kernel.kin[name].partition(" ")
            array = inputs[mine] if kind == "same" else others[mine]
            arrays.append(self.zeros(slot[-1], inputs, graph) if array is None else self.dense(array, slot[-1]))
        results = child(arrays, graph)
        return {child.kernel.kin[name].partition(" ")[2]: result for name, result in zip(child.kernel.outputs, results)}

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
            arrays.append(self.zeros(slot, number, graph) if array is None else self.dense(array, slot[-1]))
        results = self(arrays, graph)
        return {slot: results[self.simple[slot]] for slot in slots}


class Descriptor(ctypes.Structure):
    """The beginning of cgtp_product (cgtp.h)."""

    _fields_ = [("abi", ctypes.c_int), ("name", ctypes.c_char_p), ("backend", ctypes.c_char_p),
                ("digest", ctypes.c_char_p)]


def check_digest(product: Product, path: str, module: str) -> None:
    """Refuses a library that was built from another spec than the module of Python that has the facts."""
    digest = Descriptor.in_dll(ctypes.CDLL(path), f"{product.name}_product").digest.decode()
    if digest != product.digest:
        raise ImportError(f"{path} was built from another spec (digest {digest}) than {module} ({product.digest}): build it "
                          f"again")


def no_library(product: Product, folder: str) -> ImportError:
    return ImportError(f"there is no library of {product.name} in {folder}: build it, by `pip install` of the folder that "
                       f"cgtpgen wrote")
