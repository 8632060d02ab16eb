# SPDX-License-Identifier: MIT
"""Modules of PyTorch that are made of a product: `TensorProduct`, for batches, and `Convolution`, on graphs.

NAME.py has the one that its product is for, and `prepare_graph` and `Graph` beside a convolution. Both modules may be
compiled and exported, run on CPUs and CUDA devices, and are differentiable as often as wanted.
"""
from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Union

import torch
from torch import Tensor
from torch.utils import weak

from .cgtp_product import Instruction, Product


class Graph(NamedTuple):
    """A list of edges as kernels take it: sorted by receiver, and indexed. `prepare_graph` makes it."""

    sender: Tensor                  # [edges], sorted by receiver, as all of these
    receiver: Tensor                # [edges], ascends
    senders: int                    # how many nodes there are
    receivers: int
    receiver_row: Optional[Tensor]  # [receivers + 1] edges receiver_row[r] .. receiver_row[r+1] - 1 end at r
    by_sender: Optional[Tensor]     # [edges] edges, ordered by sender
    sender_row: Optional[Tensor]    # [senders + 1] by_sender[sender_row[s] ..] are the edges from s
    order: Optional[Tensor]         # [edges] edge i was order[i] in the edge_index; None: it was sorted

    def sort(self, rows: Tensor) -> Tensor:
        """Brings what there is of each edge [edges, ..] from the order of the edge_index into the graph's."""
        return rows if self.order is None else rows.index_select(0, self.order)

    def to(self, device: Union[str, torch.device]) -> "Graph":
        """The same on another device."""
        return Graph(*(value.to(device) if isinstance(value, Tensor) else value for value in self))

    def unsort(self, rows: Tensor) -> Tensor:
        """The other way round."""
        if self.order is None:
            return rows
        return rows.index_select(0, torch.empty_like(self.order).index_copy_(
            0, self.order, torch.arange(self.order.shape[0], device=self.order.device)))


# owner of senders -> {how: (owner of receivers, Graph)}
_prepared: weak.WeakIdKeyDictionary = weak.WeakIdKeyDictionary()


Edges = Union[Tensor, tuple[Tensor, Tensor]]  # an edge_index, or its rows: (sender, receiver)


def prepare_graph(edge_index: Edges, senders: int, receivers: Optional[int] = None, *, sender_row: int = 0,
                  sort: bool = True, dtype: torch.dtype = torch.int32) -> Graph:
    """Prepares an edge_index [2, edges], in any order, for all convolutions; or a pair of its rows, (sender, receiver).

    Row `sender_row` of it has the senders, the other one the receivers: 0 in MACE and PyTorch Geometric, 1 in NequIP
    and SevenNet. There are `senders` and `receivers` nodes (as many, where only one number is given). Indices out of
    range are an error. dtype: that of node numbers, the spec's index_type; sort: not needed by products with edges: any.

    The result is kept as long as the edge_index lives and does not change, so that layers may ask again; looking at it
    for the first time waits for the device. In functions that are compiled, exported or traced it is computed each time,
    without a look at indices: prepare the graph outside, and pass it.
    """
    receivers = senders if receivers is None else receivers
    if isinstance(edge_index, Tensor):
        owner, other, where = edge_index, edge_index, (sender_row,)
    else:  # rows may be views, made anew for each call: what lives is what they are views of
        owner, other = _owner(edge_index[0]), _owner(edge_index[1])
        where = (id(other), *((row.storage_offset(), row.stride(), row.shape) for row in edge_index))
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or owner.is_inference() or other.is_inference():
        return _prepare(*_ends(edge_index, sender_row), senders, receivers, sort, dtype, is_sorted=not sort)
    how = (owner._version, other._version, where, senders, receivers, sort, dtype)
    known = _prepared.setdefault(owner, {})
    if how in known and known[how][0]() is other:
        return known[how][1]
    for stale in [key for key, (ref, _) in known.items() if key[0] != owner._version or ref() is None]:
        del known[stale]
    ends = _ends(edge_index, sender_row)
    is_sorted = _check_edges(*ends, senders, receivers)
    graph = _prepare(*ends, senders, receivers, sort, dtype, is_sorted or not sort)
    known[how] = (weak.TensorWeakRef(other), graph)
    return graph


def _ends(edges: Edges, sender_row: int) -> tuple[Tensor, Tensor]:
    """Senders and receivers."""
    if isinstance(edges, Tensor):
        if edges.dim() != 2 or edges.shape[0] != 2:
            raise ValueError(f"edge_index has shape {list(edges.shape)}, not [2, edges]")
        edges = edges[sender_row], edges[1 - sender_row]
    sender, receiver = edges
    if sender.dim() != 1 or receiver.shape != sender.shape:
        raise ValueError(f"sender and receiver have shapes {list(sender.shape)} and {list(receiver.shape)}, not [edges]")
    for row in edges:
        if row.is_floating_point() or row.dtype == torch.bool:
            raise TypeError(f"edge_index is of {row.dtype}, not of integers")
    return sender, receiver


def _owner(row: Tensor) -> Tensor:
    """The tensor that a row is a view of."""
    return row if row._base is None else row._base


def _check_edges(sender: Tensor, receiver: Tensor, senders: int, receivers: int) -> bool:
    """Refuses indices out of range, and says whether receivers ascend."""
    if not sender.numel():
        return True
    facts = torch.stack([sender.min(), sender.max(), receiver.min(), receiver.max(),
                         (receiver[1:] < receiver[:-1]).any().to(sender.dtype)]).tolist()
    for name, least, most, nodes in ("sender", *facts[:2], senders), ("receiver", *facts[2:4], receivers):
        if least < 0 or most >= nodes:
            raise IndexError(f"edge_index has a {name} {least if least < 0 else most}: it is the number of no node, "
                             f"of which there are {nodes}")
    return not facts[4]


def _prepare(sender: Tensor, receiver: Tensor, senders: int, receivers: int, sort: bool, dtype: torch.dtype,
             is_sorted: bool) -> Graph:
    with torch.no_grad():
        order = None
        if not is_sorted:
            receiver, order = torch.sort(receiver, stable=True)
            sender = sender.index_select(0, order)
        sender, receiver = sender.to(dtype, copy=True), receiver.to(dtype, copy=True)
        if not sort:
            return Graph(sender, receiver, senders, receivers, None, None, None, None)
        in_order, by_sender = torch.sort(sender, stable=True)
        return Graph(sender, receiver, senders, receivers, _rows(receiver, receivers), by_sender.to(dtype),
                     _rows(in_order, senders), order)


def _rows(ascending: Tensor, nodes: int) -> Tensor:
    """[nodes + 1]: where the edges of each node begin."""
    return torch.searchsorted(ascending, torch.arange(nodes + 1, device=ascending.device, dtype=ascending.dtype))


class _Module(torch.nn.Module):
    """The facts of a product, as e3nn's TensorProduct has them, and its weights.

    internal_weights: the module has a parameter `weight` [weight_numel], and forward takes none.
    shared_weights: there is one row of weights for all items, and not one for each.
    Defaults are e3nn's, where the product has `w: shared`; where it has rows of weights, weights are arguments.
    """

    product: Product

    def __init__(self, *, internal_weights: Optional[bool] = None, shared_weights: Optional[bool] = None):
        super().__init__()
        p = self.product
        self._forward = p.forward() if any(i.path_weight for i in p.instructions) else None  # None: z is zero
        self._slots = [("xyw".index(slot), slot, p.strided[slot]) for slot in self._forward.kernel.inputs.values()] \
            if self._forward else []
        self._of_items = tuple(p.index[slot] == "item" for slot in "xyw")
        self._sorted, self._index_dtype = p.edges == "sorted", p.index_dtype
        self.irreps_in1, self.irreps_in2, self.irreps_out = p.irreps["x"], p.irreps["y"], p.irreps["z"]
        self.instructions: list[Instruction] = list(p.instructions)
        self.weight_numel: int = p.weight_numel
        has_shared_row = p.index["w"] == "shared"
        if shared_weights is None:
            shared_weights = has_shared_row or bool(internal_weights)
        if internal_weights is None:
            internal_weights = has_shared_row and shared_weights and self.weight_numel > 0
        if has_shared_row and not shared_weights and self.weight_numel:
            raise ValueError(f"{p.name} has one row of weights (index of w: shared in its spec): "
                             f"shared_weights=False needs a product with w: item")
        if internal_weights and not shared_weights:
            raise ValueError("internal weights are shared by all items: shared_weights=False contradicts that")
        self.internal_weights, self.shared_weights = internal_weights, shared_weights
        if internal_weights and self.weight_numel:
            self.weight = torch.nn.Parameter(torch.randn(self.weight_numel, dtype=p.dtype["w"]))
        else:
            self.register_buffer("weight", torch.Tensor())  # as e3nn's, so that state_dicts fit
        self.register_buffer("output_mask", self._output_mask())

    def _output_mask(self) -> Tensor:
        """[elements of a row of z] 1 where some path writes."""
        mask: list[float] = []
        written = {i.i_out for i in self.instructions if i.path_weight != 0 and 0 not in i.path_shape}
        for number, (mul, dim) in enumerate(segments(self.irreps_out)):
            mask += [float(number in written)] * (mul * dim)
        return torch.tensor(mask)

    def _row_of_weights(self, weight: Optional[Tensor]) -> Tensor:
        if weight is None:
            if not self.internal_weights:
                raise RuntimeError(f"{type(self).__name__} has no weights of its own: pass them to forward")
            weight = self.weight
        if not weight.dim() or weight.shape[-1] != self.weight_numel:
            raise ValueError(f"weight has shape {list(weight.shape)}: its rows are to have {self.weight_numel} elements")
        if self.shared_weights and weight.numel() != self.weight_numel:
            raise ValueError(f"weight has shape {list(weight.shape)}, and is shared: it is to have {self.weight_numel} "
                             f"elements")
        return weight

    def weight_views(self, weight: Optional[Tensor] = None, yield_instruction: bool = False) -> Iterator[Any]:
        """The weights of each path that has some, [.., *path_shape], as e3nn's; with its number and instruction."""
        weight, at = self._row_of_weights(weight), 0
        for number, instruction in enumerate(self.instructions):
            if instruction.has_weight:
                size = 1
                for n in instruction.path_shape:
                    size *= n
                view = weight.narrow(-1, at, size).view(weight.shape[:-1] + instruction.path_shape)
                at += size
                yield (number, instruction, view) if yield_instruction else view

    def weight_view_for_instruction(self, instruction: int, weight: Optional[Tensor] = None) -> Tensor:
        """The weights of one path, by its number."""
        for number, _, view in self.weight_views(weight, yield_instruction=True):
            if number == instruction:
                return view
        raise ValueError(f"instruction {instruction} has no weights")

    def extra_repr(self) -> str:
        return f"{self.irreps_in1} x {self.irreps_in2} -> {self.irreps_out} | {len(self.instructions)} paths | " \
               f"{self.weight_numel} weights"

    def _call(self, given: tuple[Optional[Tensor], ...], graph: tuple[Any, ...]) -> Tensor:
        """given: rows of x, y and w."""
        if self._forward is None:
            p = self.product
            return given[0].new_zeros((p.rows(graph)[p.index["z"]], p.dim["z"]), dtype=p.dtype["z"])
        return self._forward([self._forward.dense(given[number], slot) if strided else given[number].contiguous()
                              for number, slot, strided in self._slots], graph)[0]


class TensorProduct(_Module):
    """Stands for an `e3nn.o3.TensorProduct` of the same irreps and instructions.

    z = module(x, y, weight), where x is [.., dim of irreps_in1], y [.., dim of irreps_in2], z [.., dim of irreps_out] and
    the dimensions before the last broadcast. weight is [.., weight_numel], or [weight_numel] where weights are shared;
    where they are internal it is left out. An operand whose index is shared in the spec has one row.
    """

    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor] = None) -> Tensor:
        p = self.product
        given = {"x": x, "y": y}
        for slot in "xy":
            if given[slot].shape[-1:] != (p.dim[slot],):
                raise ValueError(f"{slot} has shape {list(given[slot].shape)}: its rows are to have {p.dim[slot]} elements")
        if self.weight_numel:
            given["w"] = self._row_of_weights(weight)
        batch = torch.broadcast_shapes(*(value.shape[:-1] for slot, value in given.items() if p.index[slot] == "item"))
        items = 1
        for n in batch:
            items = items * n
        for slot, value in given.items():
            if p.index[slot] == "item" and value.shape[:-1] != batch:
                value = value.expand(*batch, p.dim[slot])
            given[slot] = value.reshape(items if p.index[slot] == "item" else 1, p.dim[slot])
        z = self._call((given["x"], given["y"], given.get("w")), (items,))
        return z.reshape(*batch, p.dim["z"]) if p.index["z"] == "item" else z.reshape(p.dim["z"])


class Convolution(_Module):
    """Sums products over the edges of a graph.

    z = module(x, y, weight, edge_index), where x, y, weight and z have the rows that the spec's `index` says: a row for
    each edge, each sender or each receiver, or one alone. edge_index [2, edges] is in any order, and rows of edges are
    in that order; or it is a pair, (sender, receiver); or a `Graph` of `prepare_graph`, which spares a look into the
    cache, and which compiled functions and CUDA graphs should be given. Sorting rows of y and weight costs as much as
    reading them: where edges are sorted by receiver to begin with (`Graph.sort`), nothing is moved.

    There are as many senders and receivers as rows of x, y, weight that have such an index; `receivers` says how many
    of z where no operand does and they differ. sender_row: the row of an edge_index that has the senders.
    """

    def __init__(self, *, sender_row: int = 0, internal_weights: Optional[bool] = None,
                 shared_weights: Optional[bool] = None):
        super().__init__(internal_weights=internal_weights, shared_weights=shared_weights)
        self.sender_row = sender_row

    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor], edge_index: Union[Edges, Graph],
                receivers: Optional[int] = None) -> Tensor:
        graph = edge_index if isinstance(edge_index, Graph) else self._graph(edge_index, x, y, weight, receivers)
        if weight is None or self.shared_weights:
            weight = self._weights(weight, graph)
        if graph.order is None:
            return self._call((x, y, weight), self._arguments(graph))
        x_of_items, y_of_items, w_of_items = self._of_items  # whose rows are in another order than the graph's
        if w_of_items and self.weight_numel and not self.shared_weights:
            weight = graph.sort(weight)
        z = self._call((graph.sort(x) if x_of_items else x, graph.sort(y) if y_of_items else y, weight),
                       self._arguments(graph))
        return graph.unsort(z) if self.product.index["z"] == "item" else z

    def _weights(self, weight: Optional[Tensor], graph: Graph) -> Optional[Tensor]:
        """Of a module that has some, or one row for all edges."""
        if not self.weight_numel:
            return None
        weight = self._row_of_weights(weight)
        if not self.shared_weights:
            return weight
        return weight.reshape(1, -1).expand(graph.sender.shape[0] if self._of_items[2] else 1, -1)

    def _graph(self, edge_index: Edges, x: Tensor, y: Tensor, weight: Optional[Tensor],
               receivers: Optional[int]) -> Graph:
        nodes = {self.product.index[slot]: value.shape[0] for slot, value in zip("wxy", (weight, x, y))
                 if value is not None and value.dim() == 2}
        senders = nodes.get("sender", receivers)
        receivers = nodes.get("receiver", senders if receivers is None else receivers)
        if receivers is None:
            raise ValueError("neither x nor y has a row for each node: pass `receivers`, or a Graph")
        return prepare_graph(edge_index, receivers if senders is None else senders, receivers,
                             sender_row=self.sender_row, sort=self.product.edges == "sorted",
                             dtype=self.product.index_dtype)

    def _arguments(self, graph: Graph) -> tuple[Any, ...]:
        """What follows the arrays in an operator's arguments."""
        sender, receiver, senders, receivers, receiver_row, by_sender, sender_row, _ = graph
        if sender.dtype != self._index_dtype:
            raise TypeError(f"the graph's node numbers are {sender.dtype}, those of {self.product.name} "
                            f"{self._index_dtype}: pass prepare_graph that dtype")
        if not self._sorted:
            return sender, receiver, senders, receivers
        if receiver_row is None:
            raise ValueError(f"{self.product.name} needs sorted edges: prepare_graph(.., sort=True)")
        return sender, receiver, receiver_row, by_sender, sender_row


def segments(irreps: str) -> list[tuple[int, int]]:
    """(multiplicity, dimension) of each term of irreps as text."""
    found = []
    for term in irreps.split("+") if irreps else []:
        mul, _, ir = term.partition("x")
        found.append((int(mul), 2 * int(ir[:-1]) + 1))
    return found
