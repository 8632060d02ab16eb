# SPDX-License-Identifier: MIT
"""A product's kernels as primitives of JAX: what NAME_jax.py, which has the facts, is made to work by.

`register` loads the libraries that lie beside NAME_jax.py and tells XLA of the handlers in them. A kernel is two
primitives, each with the rules that jit, grad, jvp, vmap and sharding ask for:

- the kernel itself. Its derivative along tangents is
- the tangent of the kernel, which is linear in these tangents. Computed, it is composed of kernels; transposed, as grad
  does, it is the kernel's derivative that the product has for that. Derivatives are composed by cgtp_product.py.

Operands are the kernel's arrays, then the graph's. 64-bit integers are pairs of int32, low word first (`words`), since
JAX has no others unless told.
"""
from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, Optional

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

try:
    from jax._src.dispatch import prim_requires_devices_during_lowering as knows_devices
except ImportError:  # a JAX that keeps it elsewhere: items are then not divided among devices
    knows_devices = None

from .cgtp_product import Arrays, Calculus, Graph, Kernel, Product, check_digest, no_library

PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}  # JAX's and XLA's names
Numbers = tuple[int, ...]                   # of a graph: what is no array


class Operator(Calculus):
    """A kernel. Called with arrays and graph it may be traced and differentiated in every way that JAX has."""

    def __init__(self, product: Product, kernel: Kernel):
        super().__init__(product, kernel)
        self.inputs = len(kernel.inputs)
        self.target = f"cgtp_{self.name}_{product.digest}"  # what XLA knows the handler as
        self.workspace: dict[str, Callable[..., int]] = {}  # platform -> bytes, from numbers of rows
        self.launch = self.primitive("launch", self.result_types)
        self.kernel_p = self.primitive("", self.result_types)
        self.tangent_p = self.primitive("tangent", self.result_types)
        for platform in PLATFORMS:
            mlir.register_lowering(self.launch, functools.partial(self.lower_launch, platform), platform=platform)
        mlir.register_lowering(self.kernel_p, self.lower)
        mlir.register_lowering(self.tangent_p, mlir.lower_fun(self.tangent, multiple_results=True))
        if knows_devices is not None and self.divisible:
            knows_devices.update((self.kernel_p, self.tangent_p))
        ad.primitive_jvps[self.kernel_p] = self.jvp
        ad.primitive_transposes[self.kernel_p] = self.transpose
        ad.primitive_jvps[self.tangent_p] = self.tangent_jvp
        ad.primitive_transposes[self.tangent_p] = self.tangent_transpose
        batching.primitive_batchers[self.kernel_p] = self.batch
        batching.primitive_batchers[self.tangent_p] = self.tangent_batch

    def primitive(self, suffix: str, types: Callable[..., Any]) -> Primitive:
        made = Primitive("_".join(["cgtp", self.name, *[suffix] * (suffix != "")]))
        made.multiple_results = True
        made.def_abstract_eval(types)

        @functools.partial(jax.jit, static_argnames=("numbers", "mask"))
        def compiled(*operands: Any, **parameters: Any) -> tuple[Any, ...]:
            return tuple(made.bind(*operands, **{k: v for k, v in parameters.items() if v is not None}))

        def evaluate(*operands: Any, **parameters: Any) -> list[Any]:
            with jax.disable_jit(False):
                return list(compiled(*operands, **parameters))

        made.def_impl(evaluate)
        return made

    # ---- calls ----

    def __call__(self, arrays: Sequence[Any], graph: Graph) -> tuple[Any, ...]:
        numbers = tuple(value for value in graph if not hasattr(value, "shape"))  # or symbols that stand for some
        operands = [*arrays, *(value for value in graph if hasattr(value, "shape"))]
        return tuple(self.kernel_p.bind(*alike(operands), numbers=numbers))

    def split(self, operands: Sequence[Any], numbers: Numbers) -> tuple[Arrays, Graph]:
        return dict(zip(self.kernel.inputs, operands)), (*operands[self.inputs:], *numbers)

    def rows(self, graph: Graph) -> dict[str, int]:
        return self.product.rows((*[part for part in graph if hasattr(part, "shape")][:len(self.of_graph)],
                                  *(part for part in graph if not hasattr(part, "shape"))))

    @property
    def of_graph(self) -> tuple[str, ...]:
        """The arrays of a graph that the kernel takes; its fault may follow."""
        return PARTS[:{None: 0, "any": 2, "sorted": 5}[self.product.edges]]

    def zeros(self, slot: str, inputs: Arrays, graph: Graph) -> Any:
        return jnp.zeros((self.rows(graph)[self.product.index[slot]], self.product.dim[slot]), self.product.dtype[slot])

    def result_types(self, *types: Any, numbers: Numbers, mask: Optional[tuple[bool, ...]] = None) -> list[Any]:
        """Shapes and types of the outputs, after a look at those of the arrays."""
        inputs, graph = self.split(types[:len(types) - sum(mask or ())], numbers)
        rows = self.rows(graph)
        for name, slot in self.kernel.inputs.items():
            self.expect(name, inputs[name], (rows[self.product.index[slot[-1]]], self.product.dim[slot[-1]]),
                        np.dtype(self.product.dtype[slot[-1]]))
        for name, part in zip((*self.of_graph, "fault"), graph):
            if hasattr(part, "shape"):
                self.expect(name, part, self.part_shape(name, rows), np.dtype(np.int32))
        results = [((rows[self.product.index[slot]], self.product.dim[slot]), np.dtype(self.product.dtype[slot]))
                   for slot in self.kernel.outputs.values()]
        if jax.sharding.get_abstract_mesh().empty:
            return [jax.core.ShapedArray(shape, dtype) for shape, dtype in results]

        def depends(*operands: Any) -> list[Any]:
            """What varies over a mesh as outputs do: they depend on all operands."""
            total = sum(jnp.sum(operand).astype(np.float32) for operand in operands)
            return [jnp.broadcast_to(total.astype(dtype), shape) for shape, dtype in results]

        return list(jax.make_jaxpr(depends)(*types).out_avals)

    def part_shape(self, name: str, rows: dict[str, int]) -> tuple[int, ...]:
        if name == "fault":
            return (2,)
        nodes = {"receiver_row": "receiver", "sender_row": "sender"}.get(name)
        length = rows[nodes] + 1 if nodes else rows["item"]
        return (length, 2) if nodes or np.dtype(self.product.index_dtype).itemsize == 8 else (length,)

    def expect(self, name: str, given: Any, shape: tuple[int, ...], dtype: Any) -> None:
        if given.shape != shape:
            raise ValueError(f"cgtp {self.name}: {name} has shape {list(given.shape)}, not {list(shape)}")
        if given.dtype != dtype:
            hint = ": jax.config.update(\"jax_enable_x64\", True) allows that type" \
                if dtype.itemsize == 8 and not jax.config.jax_enable_x64 else ""
            raise TypeError(f"cgtp {self.name}: {name} is of {given.dtype}, not {dtype}{hint}")

    # ---- lowering ----

    def lower_launch(self, platform: str, context: Any, *operands: Any, numbers: Numbers) -> Any:
        """A call of the handler, whose last result is the workspace."""
        if platform not in self.workspace:
            raise NotImplementedError(f"{self.product.name} was not built for {platform}: generate it with --backend="
                                      f"{'c' if platform == 'cpu' else platform}, too")
        rows = self.rows(self.split(context.avals_in, numbers)[1])
        sizes = [rows["item"], rows.get("sender", 0), rows.get("receiver", 0)]
        known = all(map(jax.core.is_constant_dim, sizes))  # else the handler looks at arrays, and makes room
        if not known and platform != "cpu":
            raise NotImplementedError(f"{self.product.name}: sizes that are symbols work on CPUs alone, since what a device "
                                      f"needs for a call is to be known: export for each size")
        room = jax.core.ShapedArray((self.workspace[platform](*sizes) if known else 0,), np.dtype(np.uint8))
        call = jax.ffi.ffi_lowering(self.target)
        attributes = {name: np.int64(size if known else -1) for name, size in zip(("items", "senders", "receivers"), sizes)}
        return call(context.replace(avals_out=[*context.avals_out, room]), *operands, **attributes)[:-1]

    def lower(self, context: Any, *operands: Any, numbers: Numbers) -> Any:
        by = self.partitioned if knows_devices is not None and self.divisible else self.launch.bind
        return mlir.lower_fun(functools.partial(by, numbers=numbers), multiple_results=True)(context, *operands)

    # ---- sharding ----

    @property
    def divisible(self) -> bool:
        """Can devices each take a part of the items? Graphs are left whole."""
        return self.product.edges is None and any(self.of_items(slot) for slot in self.kernel.inputs.values())

    def of_items(self, slot: str) -> bool:
        return self.product.index[slot[-1]] == "item"

    def partitioned(self, *operands: Any, numbers: Numbers) -> Any:
        """The kernel of a batch, where XLA may divide items among devices; sums over all items are added up."""
        inputs, outputs = list(self.kernel.inputs.values()), list(self.kernel.outputs.values())

        def whole(*operands: Any) -> list[Any]:
            return self.launch.bind(*operands, numbers=numbers)

        def partition(mesh: Any, types: Any, results: Any) -> Any:
            specs = [type_.sharding.spec[:1] for type_, slot in zip(types, inputs) if self.of_items(slot)]
            axes = next((spec[0] for spec in specs if spec and spec[0] is not None), None)
            names = axes if isinstance(axes, tuple) else (axes,) * (axes is not None)
            parts = int(np.prod([mesh.shape[name] for name in names], dtype=int))
            if numbers[0] % parts:
                axes, names, parts = None, (), 1

            def part(*operands: Any) -> tuple[Any, ...]:
                found = self.launch.bind(*operands, numbers=(numbers[0] // parts,))
                return tuple(value if self.of_items(slot) or not names else jax.lax.psum(value, names)
                             for value, slot in zip(found, outputs))

            def sharding(slot: str) -> NamedSharding:
                return NamedSharding(mesh, PartitionSpec(axes if self.of_items(slot) else None, None))

            return mesh, part, tuple(map(sharding, outputs)), tuple(map(sharding, inputs))

        columns = iter(range(len(inputs) + len(outputs)))

        def factors(slots: list[str]) -> str:
            return ", ".join(f"{'items' if self.of_items(slot) else f'one{n}'} column{n}"
                             for slot, n in zip(slots, columns))

        call = custom_partitioning(lambda *operands: tuple(whole(*operands)))
        rule = f"{factors(inputs)} -> {factors(outputs)}"
        call.def_partition(partition, sharding_rule=rule, need_replication_factors=tuple(
            word for word in dict.fromkeys(rule.replace(",", "").replace("->", "").split()) if word != "items"))
        return call(*operands)

    # ---- derivatives ----

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, numbers: Numbers) -> tuple[Any, Any]:
        results = self.kernel_p.bind(*primals, numbers=numbers)
        mask = tuple(type(tangent) is not ad.Zero for tangent in tangents[:self.inputs])
        if not any(mask):
            return results, [jnp.zeros_like(result) for result in results]
        given = [tangent for tangent, has in zip(tangents, mask) if has]
        return results, self.tangent_p.bind(*alike([*primals, *given]), numbers=numbers, mask=mask)

    def transpose(self, cotangents: Sequence[Any], *operands: Any, numbers: Numbers) -> list[Any]:
        """As jax.linear_transpose asks for: the kernel is linear in the operands that are not known."""
        mask = tuple(ad.is_undefined_primal(operand) for operand in operands[:self.inputs])
        _, graph = self.split(operands, numbers)
        known = [self.zeros(slot[-1], {}, graph) if unknown else operand
                 for operand, unknown, slot in zip(operands, mask, self.kernel.inputs.values())]
        found = self.gradients(cotangents, [*known, *operands[self.inputs:]], mask, numbers)
        return [*found, *(None for _ in operands[self.inputs:])]

    def gradients(self, cotangents: Sequence[Any], operands: Sequence[Any], mask: Sequence[bool],
                  numbers: Numbers) -> list[Any]:
        """By each input that the mask has; None for others."""
        inputs, graph = self.split(operands, numbers)
        given = {name: None if type(value) is ad.Zero else value for name, value in zip(self.kernel.outputs, cotangents)}
        wanted = [name for name, has in zip(self.kernel.inputs, mask) if has]
        found = self.pullback(inputs, given, wanted, graph)
        return [None if name not in wanted else found[name] if found[name] is not None else
                self.zeros(slot[-1], inputs, graph) for name, slot in self.kernel.inputs.items()]

    def unfold(self, operands: Sequence[Any], mask: Sequence[bool]) -> tuple[list[Any], Arrays]:
        """The kernel's operands and the tangents of a tangent's operands."""
        count = len(operands) - sum(mask)
        tangents = iter(operands[count:])
        return list(operands[:count]), {name: next(tangents) if has else None
                                        for name, has in zip(self.kernel.inputs, mask)}

    def tangent(self, *operands: Any, numbers: Numbers, mask: tuple[bool, ...]) -> list[Any]:
        """The derivatives of the outputs along tangents of the inputs that the mask has, composed of kernels."""
        primals, tangents = self.unfold(operands, mask)
        inputs, graph = self.split(primals, numbers)
        found = self.pushforward(inputs, tangents, graph)
        return [self.zeros(slot, inputs, graph) if found[name] is None else found[name]
                for name, slot in self.kernel.outputs.items()]

    def tangent_jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **parameters: Any) -> tuple[Any, Any]:
        live = [i for i, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]

        def call(*values: Any) -> list[Any]:
            operands = list(primals)
            for i, value in zip(live, values):
                operands[i] = value
            return self.tangent(*operands, **parameters)

        return jax.jvp(call, [primals[i] for i in live], [tangents[i] for i in live])

    def tangent_transpose(self, cotangents: Sequence[Any], *operands: Any, numbers: Numbers,
                          mask: tuple[bool, ...]) -> list[Any]:
        primals, tangents = self.unfold(operands, mask)
        unknown = [tangent is not None and ad.is_undefined_primal(tangent) for tangent in tangents.values()]
        found = self.gradients(cotangents, primals, unknown, numbers)
        return [*(None for _ in primals), *(value for value, has in zip(found, mask) if has)]

    # ---- vmap ----

    def batch(self, operands: Sequence[Any], dims: Sequence[Optional[int]], *, numbers: Numbers) -> tuple[Any, Any]:
        """Copies become more items, or more nodes of a larger graph; where an operand without rows of items is mapped
        over, or all items are summed, one call follows the other."""
        copies = next(operand.shape[dim] for operand, dim in zip(operands, dims) if dim is not None)
        moved = [operand if dim is None else jnp.moveaxis(operand, dim, 0) for operand, dim in zip(operands, dims)]
        index, slots = self.product.index, list(self.kernel.inputs.values())
        shared = any(index[slot[-1]] == "shared" and dim is not None for slot, dim in zip(slots, dims)) or \
            any(index[slot] == "shared" for slot in self.kernel.outputs.values())
        shapes = [operand.shape if dim is None else operand.shape[1:] for operand, dim in zip(moved, dims)]
        rows = self.rows(self.split([jax.ShapeDtypeStruct(shape, np.int32) for shape in shapes], numbers)[1])
        if shared or copies == 0 or copies * max(rows.values()) >= 2**31:
            mapped = [operand for operand, dim in zip(moved, dims) if dim is not None]

            def one(values: Any) -> Any:
                left = iter(values)
                return self.kernel_p.bind(*(operand if dim is None else next(left)
                                            for operand, dim in zip(moved, dims)), numbers=numbers)

            results = jax.lax.map(one, mapped)
        else:
            arrays = [operand if index[slot[-1]] == "shared" else self.stacked(operand, dim, copies)
                      for operand, dim, slot in zip(moved, dims, slots)]
            parts = [shifted(name, operand, dim is not None, copies, rows)
                     for name, operand, dim in zip((*self.of_graph, "fault"), moved[self.inputs:], dims[self.inputs:])]
            found = self.kernel_p.bind(*alike([*arrays, *parts]), numbers=tuple(copies * n for n in numbers))
            results = [value.reshape(copies, value.shape[0] // copies, value.shape[1]) for value in found]
        return results, [0] * len(results)

    def stacked(self, operand: Any, dim: Optional[int], copies: int) -> Any:
        """Rows of all copies."""
        if dim is None:
            operand = jnp.broadcast_to(operand, (copies, *operand.shape))
        return operand.reshape(copies * operand.shape[1], operand.shape[2])

    def tangent_batch(self, operands: Sequence[Any], dims: Sequence[Optional[int]], **parameters: Any) -> tuple[Any, Any]:
        results = jax.vmap(functools.partial(self.tangent, **parameters), tuple(dims))(*operands)
        return results, [0] * len(results)


def alike(operands: Sequence[Any]) -> list[Any]:
    """Operands that vary over the same axes of a mesh inside of jax.shard_map, as those of one call are to."""
    if jax.sharding.get_abstract_mesh().empty:
        return list(operands)
    varies = [varying(operand) for operand in operands]
    every = frozenset().union(*varies)
    return [jax.lax.pcast(operand, tuple(sorted(every - mine)), to="varying") if every - mine else operand
            for operand, mine in zip(operands, varies)]


def varying(value: Any) -> frozenset[str]:
    type_ = jax.typeof(value)
    return frozenset(type_.manual_axis_type.varying if hasattr(type_, "manual_axis_type") else type_.vma)


# ---- graphs ----

PARTS = ("sender", "receiver", "receiver_row", "by_sender", "sender_row")  # arrays of a graph, in a kernel's order


def words(values: Any) -> Any:
    """64-bit integers as int32 [.., 2]."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, "<i8").view("<i4").reshape(*values.shape, 2)
    if values.dtype.itemsize == 8:
        low = (values & 0xffffffff).astype(jnp.uint32).astype(jnp.int32)  # whose sizes may be symbols
        return jnp.stack([low, (values >> 32).astype(jnp.int32)], -1)
    return jnp.stack([values.astype(jnp.int32), jnp.zeros(values.shape, jnp.int32)], -1)


def shifted(name: str, part: Any, mapped: bool, copies: int, rows: dict[str, int]) -> Any:
    """An array of a graph for so many copies of it, as one graph."""
    if name == "fault":  # that of the first copy that has one
        return part[jnp.argmax(part[:, 1] >= 0)] if mapped else part
    step = rows[name if name in rows else "item"]
    part = part if mapped else jnp.broadcast_to(part, (copies, *part.shape))
    offsets = (jnp.arange(copies, dtype=jnp.int32) * step).reshape(-1, *(1,) * (part.ndim - 1))
    if part.ndim == 3:  # words, of which the low ones have room: copies * rows < 2^31
        offsets = jnp.concatenate([offsets, jnp.zeros_like(offsets)], 2)
    moved = part + offsets
    if not name.endswith("_row"):
        return moved.reshape(-1, *moved.shape[2:])
    return jnp.concatenate([moved[:, :-1].reshape(-1, 2), moved[-1, -1:]])


# ---- loading ----

class Sizes(ctypes.Structure):
    """cgtp_graph, of which a workspace's size depends on the numbers of rows."""

    _fields_ = [(name, ctypes.c_int64) for name in ("items", "senders", "receivers")] + \
               [(name, ctypes.c_void_p) for name in (*PARTS, "order")]


NO_WORKSPACE = ctypes.c_size_t(-1).value  # CGTP_NO_WORKSPACE


def workspace_of(library: Any, name: str, graph: bool) -> Callable[..., int]:
    """Bytes of the workspace, from numbers of items, senders and receivers: what the kernel asks for or, where the environment
    says less, as much as that, but what it takes at least."""
    functions = [getattr(library, f"{name}_{which}") for which in ("workspace", "workspace_least")]
    for function in functions:
        function.restype = ctypes.c_size_t
        function.argtypes = [ctypes.c_void_p if graph else ctypes.c_int64]

    def size(items: int, senders: int, receivers: int) -> int:
        asked, least = (function(ctypes.byref(Sizes(items, senders, receivers)) if graph else items) for function in functions)
        if asked == NO_WORKSPACE:
            return 0  # the call is refused, and says why
        return min(asked, max(least, int(os.environ.get("CGTP_WORKSPACE_MOST", asked))))

    return size


def load(product: Product, folder: str) -> None:
    """Loads the product's libraries, and tells XLA of its kernels."""
    paths = {platform: os.path.join(folder, f"lib{product.name}_{platform}_jax.so") for platform in PLATFORMS}
    paths = {platform: path for platform, path in paths.items() if os.path.exists(path)}
    if not paths:
        raise no_library(product, folder)
    for platform, path in paths.items():
        check_digest(product, path, f"{product.name}_jax.py")
        library = ctypes.CDLL(path)
        for operator in product.operators.values():
            handler = getattr(library, f"cgtp_xla_{operator.name}")
            try:
                jax.ffi.register_ffi_target(operator.target, jax.ffi.pycapsule(handler), platform=PLATFORMS[platform])
            except RuntimeError as error:
                raise ImportError(f"{product.name} is there already, of another library than {path}: cgtpgen --name gives a "
                                  f"product another name") from error
            operator.workspace[platform] = workspace_of(library, operator.name, product.edges is not None)


registered: dict[tuple[str, str], Product] = {}


def register(product: Product, file: str) -> Product:
    """Loads the product's libraries, which are in the folder of `file`, and makes primitives of its kernels; once."""
    key = product.name, product.digest
    if key not in registered:
        for kernel in product.kernels:
            product.operators[kernel.name] = Operator(product, kernel)
        load(product, os.path.dirname(os.path.abspath(file)))
        registered[key] = product
    return registered[key]
