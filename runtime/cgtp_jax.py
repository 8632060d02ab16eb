# SPDX-License-Identifier: MIT
"""Functions of JAX that are made of a product: `tensor_product`, for batches, and `convolve`, on graphs.

NAME_jax.py has the one that its product is for, and `prepare_graph` and `Graph` beside a convolution. Both may be
compiled, mapped over, sharded, run on CPUs and CUDA devices, and are differentiable as often as wanted.
"""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Optional, Union

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from .cgtp_jax_ops import alike, words
from .cgtp_product import Product

Array = Any  # of JAX or numpy


@dataclass(frozen=True)
class Graph:
    """A list of edges as kernels take it: sorted by receiver, and indexed. `prepare_graph` makes it.

    It is a pytree of its arrays, so that compiled functions take it as an argument; numbers of nodes are static. Row
    pointers, and node numbers where they have 64 bits, are pairs of int32, low word first.
    """

    sender: Array                  # [edges], sorted by receiver, as all of these
    receiver: Array                # [edges], ascends
    receiver_row: Optional[Array]  # [receivers + 1] edges receiver_row[r] .. receiver_row[r+1] - 1 end at r
    by_sender: Optional[Array]     # [edges] edges, ordered by sender
    sender_row: Optional[Array]    # [senders + 1] by_sender[sender_row[s] ..] are the edges from s
    order: Optional[Array]         # [edges] edge i was order[i] in the edge_index; None: it was sorted
    senders: int                   # how many nodes there are
    receivers: int
    fault: Optional[Array] = None  # two words, of lists that were prepared while compiled: cgtp_guard.h

    def sort(self, rows: Array) -> Array:
        """Brings what there is of each edge [edges, ..] from the order of the edge_index into the graph's."""
        if rows.shape[0] != self.sender.shape[0]:
            raise ValueError(f"rows have shape {list(rows.shape)}: there is to be one for each edge, of which there are "
                             f"{self.sender.shape[0]}")
        return rows if self.order is None else jnp.take(rows, self.order, axis=0, unique_indices=True, mode="clip")

    def unsort(self, rows: Array) -> Array:
        """The other way round."""
        return rows if self.order is None else jnp.zeros_like(rows).at[self.order].set(rows, unique_indices=True)


jax.tree_util.register_dataclass(
    Graph, data_fields=["sender", "receiver", "receiver_row", "by_sender", "sender_row", "order", "fault"],
    meta_fields=["senders", "receivers"])


jax.export.register_pytree_node_serialization(
    Graph, serialized_name=f"{__name__}.Graph", serialize_auxdata=lambda numbers: json.dumps(list(numbers)).encode(),
    deserialize_auxdata=lambda text: tuple(json.loads(bytes(text).decode())))


def prepare_graph(edge_index: Array, senders: int, receivers: Optional[int] = None, *, sender_row: int = 0,
                  sort: bool = True, dtype: Any = np.int32) -> Graph:
    """Prepares an edge_index [2, edges], in any order, for all convolutions.

    Row `sender_row` of it has the senders, the other one the receivers: 0 in jraph and PyTorch Geometric, 1 in NequIP.
    There are `senders` and `receivers` nodes (as many, where only one number is given). Indices out of range are an
    error. dtype: that of node numbers, the spec's index_type; sort: not needed by products with edges: any.

    It is computed on the host, of the numbers that are there now, and has none of the edge_index's memory. In functions
    that are compiled or mapped over, where the edge_index is not known yet, it is traced; an index out of range is then an
    error of the kernel on a CPU, and on a device makes results NaN, which the next call says.
    """
    receivers = senders if receivers is None else receivers
    traced = isinstance(edge_index, jax.core.Tracer)
    if isinstance(edge_index, jax.Array) and not traced:
        edge_index = jnp.array(edge_index, copy=True)  # an array keeps what it once was on the host, whoever writes to it
    edges = edge_index if traced else np.array(edge_index)
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(f"edge_index has shape {list(edges.shape)}, not [2, edges]")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"edge_index is of {edges.dtype}, not of integers")
    sender, receiver = edges[sender_row], edges[1 - sender_row]
    if not traced:
        for name, ends, nodes in ("sender", sender, senders), ("receiver", receiver, receivers):
            if ends.size and (ends.min() < 0 or ends.max() >= nodes):
                raise IndexError(f"edge_index has a {name} {ends.min() if ends.min() < 0 else ends.max()}: it is the "
                                 f"number of no node, of which there are {nodes}")
    xp = jnp if traced else np
    order = fault = None
    if traced:
        sender, receiver, fault = _mended(sender, receiver, senders, receivers)
    if sort and (traced or (receiver[1:] < receiver[:-1]).any()):
        order = _ascending(xp, receiver)
        sender, receiver = sender[order], receiver[order]
    rest: tuple[Any, ...] = (None, None, None)
    if sort:
        by_sender = _ascending(xp, sender)
        rest = (words(_rows(xp, receiver, receivers)), _numbers(by_sender, dtype),
                words(_rows(xp, sender[by_sender], senders)))
    parts = (_numbers(sender, dtype), _numbers(receiver, dtype), *rest, None if order is None else order.astype(np.int32))
    return Graph(*(None if part is None else jnp.asarray(part) for part in parts), senders, receivers, fault)


def _mended(sender: Array, receiver: Array, senders: int, receivers: int) -> tuple[Array, Array, Array]:
    """Node numbers of 32 bits will do; on devices those out of range become 0, and the fault says where one is. On a CPU
    they stay out of range, and the kernel refuses them."""
    def keep(sender: Array, receiver: Array) -> tuple[Array, Array, Array]:
        return tuple(alike((sender, receiver, jnp.full(2, -1, jnp.int32))))

    def mend(sender: Array, receiver: Array) -> tuple[Array, Array, Array]:
        fault = jnp.full(2, -1, jnp.int32)
        made = []
        for kind, ends, nodes in (1, receiver, receivers), (0, sender, senders):  # kinds of cgtp_fault.h
            bad = (ends < 0) | (ends >= nodes)
            first = jnp.min(jnp.where(bad, jnp.arange(ends.shape[0], dtype=jnp.int32), 2**31 - 1), initial=2**31 - 1)
            fault = jnp.where(bad.any(), jnp.stack([first, jnp.int32(kind << 28)]), fault)
            made.append(jnp.where(bad, 0, ends))
        return tuple(alike((made[1], made[0], fault)))

    def within(ends: Array, nodes: int) -> Array:
        """Out of range stays out of range with fewer bits."""
        if ends.dtype.kind == "u":
            return jnp.minimum(ends, nodes).astype(jnp.int32)
        return jnp.clip(ends, -1, nodes)
    return jax.lax.platform_dependent(within(sender, senders), within(receiver, receivers), cpu=keep, default=mend)


def _ascending(xp: Any, values: Array) -> Array:
    """The order in which they ascend, equal ones as they came."""
    return np.argsort(values, kind="stable") if xp is np else jnp.argsort(values, stable=True)


def _rows(xp: Any, ascending: Array, nodes: int) -> Array:
    """[nodes + 1]: where the edges of each node begin."""
    if xp is np:
        return np.searchsorted(ascending, np.arange(nodes + 1, dtype=ascending.dtype))
    return jnp.cumsum(jnp.zeros(nodes + 1, jnp.int32).at[ascending + 1].add(1, mode="drop"))  # also of symbolic sizes


def _numbers(values: Array, dtype: Any) -> Array:
    return words(values) if np.dtype(dtype).itemsize == 8 else values.astype(np.int32)


def _array(p: Product, slot: str, value: Array) -> Array:
    """An operand, of rows that have the product's length."""
    name = "weight" if slot == "w" else slot
    if value is None:
        raise ValueError(f"{p.name} has {p.dim[slot]} weights: pass them")
    if hasattr(value, "irreps") and hasattr(value, "array"):  # an IrrepsArray of e3nn-jax
        if slot != "w" and (p.layout[slot] != "mul_ir" or _merged(str(value.irreps)) != _merged(p.irreps[slot])):
            raise ValueError(f"{name} is of irreps {value.irreps}: those of {p.name} are {p.irreps[slot]}, in layout "
                             f"{p.layout[slot]}")
        value = value.array
    value = jnp.asarray(value)
    if value.shape[-1:] != (p.dim[slot],):
        raise ValueError(f"{name} has shape {list(value.shape)}: its rows are to have {p.dim[slot]} elements")
    return value


def _merged(irreps: str) -> list[tuple[int, str]]:
    """(multiplicity, irrep) in order, those of the same irrep together, as rows in mul_ir do not tell them apart."""
    found: list[tuple[int, str]] = []
    for term in irreps.replace(" ", "").split("+") if irreps else []:
        mul, _, irrep = term.rpartition("x")
        if found and found[-1][1] == irrep:
            found[-1] = found[-1][0] + int(mul or 1), irrep
        elif int(mul or 1):
            found.append((int(mul or 1), irrep))
    return found


def _call(p: Product, given: dict[str, Array], graph: tuple[Any, ...]) -> Array:
    """given: rows of x, y and w."""
    if not any(i.path_weight for i in p.instructions):
        return jnp.zeros((p.rows(graph)[p.index["z"]], p.dim["z"]), p.dtype["z"])
    forward = p.forward()
    return forward([given[slot] for slot in forward.kernel.inputs.values()], graph)[0]


def _given(p: Product, x: Array, y: Array, weight: Optional[Array]) -> dict[str, Array]:
    values = {"x": x, "y": y} | ({"w": weight} if p.weight_numel else {})
    return {slot: _array(p, slot, value) for slot, value in values.items()}


def tensor_product(p: Product, x: Array, y: Array, weight: Optional[Array]) -> Array:
    """z [.., dim of z] of x [.., dim of x], y [.., dim of y] and weight [.., weight_numel], where the dimensions before the
    last broadcast. An operand whose index is shared in the spec has one row."""
    given = _given(p, x, y, weight)
    batch = jnp.broadcast_shapes(*(value.shape[:-1] for slot, value in given.items() if p.index[slot] == "item"))
    items = math.prod(batch)
    for slot, value in given.items():
        if p.index[slot] == "item":
            given[slot] = jnp.broadcast_to(value, (*batch, p.dim[slot])).reshape(items, p.dim[slot])
        elif value.size != p.dim[slot]:
            raise ValueError(f"{'weight' if slot == 'w' else slot} has shape {list(value.shape)}, and is shared: it is to have "
                             f"{p.dim[slot]} elements")
        else:
            given[slot] = value.reshape(1, p.dim[slot])
    z = _call(p, given, (items,))
    return z.reshape(*batch, p.dim["z"]) if p.index["z"] == "item" else z.reshape(p.dim["z"])


def convolve(p: Product, x: Array, y: Array, weight: Optional[Array], graph: Union[Array, Graph],
                receivers: Optional[int], sender_row: int) -> Array:
    """x, y, weight and z have the rows that the spec's `index` says: a row for each edge, each sender or each receiver, or
    one alone; rows of edges are in the order of the edge_index. A weight [weight_numel] is the same for all edges.

    There are as many senders and receivers as rows of x, y, weight that have such an index; `receivers` says how many
    of z where no operand does and they differ. Sorting rows of y and weight costs as much as reading them: where edges
    are sorted by receiver to begin with (`Graph.sort`), nothing is moved.
    """
    given = _given(p, x, y, weight)
    if not isinstance(graph, Graph):
        graph = _graph(p, given, graph, receivers, sender_row)
    for slot, value in given.items():
        if value.ndim == 1 and (p.index[slot] == "shared" or slot == "w"):
            rows = graph.sender.shape[0] if p.index[slot] == "item" else 1
            given[slot] = jnp.broadcast_to(value, (rows, p.dim[slot]))
        elif p.index[slot] == "item":
            if value.ndim != 2 or value.shape[0] != graph.sender.shape[0]:
                raise ValueError(f"{'weight' if slot == 'w' else slot} has shape {list(value.shape)}: it is to have a row for "
                                 f"each edge, of which there are {graph.sender.shape[0]}")
            given[slot] = graph.sort(value)
    z = _call(p, given, _arguments(p, graph))
    return graph.unsort(z) if p.index["z"] == "item" else z


def _graph(p: Product, given: dict[str, Array], edge_index: Array, receivers: Optional[int], sender_row: int) -> Graph:
    nodes = {p.index[slot]: value.shape[0] for slot, value in given.items() if value.ndim == 2}
    senders = nodes.get("sender", receivers)
    receivers = nodes.get("receiver", senders if receivers is None else receivers)
    if receivers is None:
        raise ValueError("neither x nor y has a row for each node: pass `receivers`, or a Graph")
    return prepare_graph(edge_index, receivers if senders is None else senders, receivers, sender_row=sender_row,
                         sort=p.edges == "sorted", dtype=p.index_dtype)


def _arguments(p: Product, graph: Graph) -> tuple[Any, ...]:
    """What follows the arrays in a kernel's arguments."""
    wide, wanted = graph.sender.ndim == 2, np.dtype(p.index_dtype)
    if wide != (wanted.itemsize == 8):
        raise TypeError(f"the graph's node numbers are {'int64' if wide else 'int32'}, those of {p.name} {wanted}: pass "
                        f"prepare_graph that dtype")
    fault = () if graph.fault is None else (graph.fault,)
    if p.edges == "any":
        return graph.sender, graph.receiver, graph.senders, graph.receivers, *fault
    if graph.receiver_row is None:
        raise ValueError(f"{p.name} needs sorted edges: prepare_graph(.., sort=True)")
    return graph.sender, graph.receiver, graph.receiver_row, graph.by_sender, graph.sender_row, *fault
