# SPDX-License-Identifier: MIT
"""Lists of edges as kernels take them, for PyTorch: `Graph`, and `prepare_graph`, which makes one of an edge_index.

What is made of an edge_index is kept, and compared with it whenever it is used again: on a CPU number by number, on a
device by a kernel that nothing waits for. So no result is of edges that were there before, whoever has written the new
ones, and however. The work is done by operators in C++ (cgtp_torch_graph.h), the same in eager and in compiled programs.
"""
from __future__ import annotations

import functools
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor
from torch.utils import weak


class Graph(NamedTuple):
    """A list of edges as kernels take it: sorted by receiver, and indexed. `prepare_graph` makes it.

    Its tensors are its own, and are taken as they are: nobody compares them with the edge_index that they were made of.
    """

    sender: Tensor                  # [edges], sorted by receiver, as all of these
    receiver: Tensor                # [edges], ascends
    senders: int                    # how many nodes there are
    receivers: int
    receiver_row: Optional[Tensor]  # [receivers + 1] edges receiver_row[r] .. receiver_row[r+1] - 1 end at r
    by_sender: Optional[Tensor]     # [edges] edges, ordered by sender
    sender_row: Optional[Tensor]    # [senders + 1] by_sender[sender_row[s] ..] are the edges from s
    order: Optional[Tensor]         # [edges] edge i was order[i] in the edge_index; None: it was sorted
    fault: Optional[Tensor] = None  # [1] where it is not -1 something is wrong with the list, and kernels' results are NaN

    def sort(self, rows: Tensor) -> Tensor:
        """Brings what there is of each edge [edges, ..] from the order of the edge_index into the graph's."""
        if self.order is None:
            return rows
        if rows.shape[0] != self.order.shape[0]:
            raise ValueError(f"rows have shape {list(rows.shape)}: there is to be one for each edge, of which there are "
                             f"{self.order.shape[0]}")
        return rows.index_select(0, self.order)

    def to(self, device: Union[str, torch.device]) -> "Graph":
        """The same on another device."""
        return Graph(*(value.to(device) if isinstance(value, Tensor) else value for value in self))

    def unsort(self, rows: Tensor) -> Tensor:
        """The other way round."""
        if self.order is None:
            return rows
        return rows.index_select(0, torch.empty_like(self.order).index_copy_(
            0, self.order, torch.arange(self.order.shape[0], device=self.order.device)))


Edges = Union[Tensor, tuple[Tensor, Tensor]]  # an edge_index, or its rows: (sender, receiver)
SORT, GIVEN, ANY = range(3)                   # what is to be done with a list, as in cgtp_torch_graph.h


def prepare_graph(edge_index: Edges, senders: int, receivers: Optional[int] = None, *, sender_row: int = 0,
                  sort: bool = True, sorted: bool = False, dtype: torch.dtype = torch.int32) -> Graph:
    """Prepares an edge_index [2, edges], in any order, for all convolutions; or a pair of its rows, (sender, receiver).

    Row `sender_row` of it has the senders, the other one the receivers: 0 in MACE and PyTorch Geometric, 1 in NequIP
    and SevenNet. There are `senders` and `receivers` nodes (as many, where only one number is given). Indices out of
    range are an error. sorted: receivers ascend, as is looked at, and rows need not be moved; without it that is found
    out, but not while a program is made. sort: not needed by products with edges: any. dtype: that of node numbers, the
    spec's index_type.

    A graph is of the edges that are there now: one that was made of this edge_index before is returned where these are the
    same numbers still. Looking at them waits for the device. In functions that are compiled, exported or traced the graph
    is made in each call; there an index out of range is an error on a CPU, and on a device makes results NaN, which the
    next call says.
    """
    return find_graph(edge_index, senders, receivers, sender_row, ANY if not sort else GIVEN if sorted else SORT, dtype)


def find_graph(edges: Edges, senders: int, receivers: Optional[int], sender_row: int, what: int, dtype: torch.dtype,
               product: Optional[str] = None, wait: bool = True) -> Graph:
    """product: whose library prepares it, so that a program needs no other; wait: for a device to compare edges with those that a graph was made of; without it the graph has a fault instead,
    which becomes one where they differ."""
    receivers = senders if receivers is None else receivers
    if isinstance(edges, Tensor):
        owner, other, where = edges, edges, (sender_row,)
    else:  # rows may be views, made anew for each call: what lives is what they are views of
        owner, other = _owner(edges[0]), _owner(edges[1])
        where = (id(other), *((row.storage_offset(), row.stride(), row.shape) for row in edges)) \
            if not is_traced(owner, other) else ()
    ends = _ends(edges, sender_row)
    if is_traced(owner, other):
        return _prepare(*ends, senders, receivers, what, dtype, product)
    how = (where, owner.shape, ends[0].dtype, ends[0].device, senders, receivers, what, dtype)
    known = _prepared.setdefault(owner, {})
    kept = known.get(how)
    if kept is not None and kept.other() is other:
        graph = kept.graph_of(ends, wait)
        if graph is not None:
            return graph
    for stale in [key for key, found in known.items() if found.other() is None]:
        del known[stale]
    ascends = _check_edges(*ends, senders, receivers)
    if what == GIVEN and not ascends:
        raise ValueError("edge_index, said to be sorted, does not ascend by receiver")
    kept = _Kept(other, ends, _prepare(*ends, senders, receivers, GIVEN if what == SORT and ascends else what, dtype,
                                       product))
    known[how] = kept
    return kept.graph


class _Kept:
    """A graph, and what it was made of."""

    def __init__(self, other: Tensor, ends: tuple[Tensor, Tensor], graph: Graph):
        self.other = weak.TensorWeakRef(other)  # the owner of receivers
        self.sender, self.receiver = (_narrow(end).detach().clone(memory_format=torch.contiguous_format) for end in ends)
        self.version = _versions(ends)
        self.graph = graph._replace(fault=None)
        self.watched: Optional[Graph] = None    # the same with a fault

    def graph_of(self, ends: tuple[Tensor, Tensor], wait: bool) -> Optional[Graph]:
        """The graph, if it is of these ends; None: they are others."""
        if ends[0].device.type != "cuda" or wait:
            same = torch.equal(_narrow(ends[0]), self.sender) and torch.equal(_narrow(ends[1]), self.receiver)
            return self.graph if same else None
        if self.version != _versions(ends):  # what PyTorch has written needs no comparison
            return None
        if self.watched is None:
            self.watched = self.graph._replace(fault=torch.full((1,), -1, dtype=torch.int64, device=ends[0].device))
        _operators("cuda")[1](*map(_narrow, ends), self.sender, self.receiver, self.watched.fault)
        return self.watched


# owner of senders -> {how: what was made of it}
_prepared: weak.WeakIdKeyDictionary = weak.WeakIdKeyDictionary()

# Operators of the libraries that are loaded, by device and product: prepare, and on CUDA compare.
operators: dict[str, dict[str, tuple[Any, Any]]] = {}


def forget() -> None:
    """What a call that has failed was given is looked at anew."""
    _prepared.clear()


def is_traced(*tensors: Tensor) -> bool:
    """Is a program being made of the call, or has a tensor no numbers that could be looked at?"""
    return torch.compiler.is_compiling() or torch.jit.is_tracing() or torch._C._len_torch_dispatch_stack() > 0 or \
        torch._ops.mode_stack_state_for_pre_dispatch().count() > 0 or \
        any(type(t).__torch_dispatch__ is not Tensor.__torch_dispatch__ or t.is_meta or
            torch._C._functorch.is_functorch_wrapped_tensor(t) for t in tensors)


def _operators(device: str, product: Optional[str] = None) -> tuple[Any, Any]:
    found = operators.get(device) or next(iter(operators.values()), {})
    if not found:
        raise RuntimeError("no product on graphs is loaded, whose library prepares them: import one")
    return found.get(product or "") or next(iter(found.values()))


@functools.lru_cache(maxsize=None)
def traceable(op: Any) -> Any:
    """An operator as torch.jit.trace records it with numbers of rows, which would be those of the example: a function of
    TorchScript, to which numbers are tensors."""
    names = [f"a{i}" for i in range(len(op._schema.arguments))]
    types = ["Optional[Tensor]" if str(a.type).startswith("Optional") else "Tensor" for a in op._schema.arguments]
    values = [f"int({name})" if str(a.type) in ("int", "SymInt") else name for name, a in zip(names, op._schema.arguments)]
    namespace, name = op._schema.name.split("::")
    unit = torch.jit.CompilationUnit(f"def call({', '.join(map(': '.join, zip(names, types)))}):\n"
                                     f"    return torch.ops.{namespace}.{name}({', '.join(values)})\n")
    missing = [None] * len(names)  # arguments that have a default

    def call(*arguments: Any) -> Any:
        given = [torch.tensor(a, device="cpu") if isinstance(a, int) else a for a in arguments]
        return unit.call(*given, *missing[len(given):])
    return call


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
    if sender.dtype != receiver.dtype:
        sender, receiver = sender.long(), receiver.long()
    return sender, receiver


def _owner(row: Tensor) -> Tensor:
    """The tensor that a row is a view of."""
    return row if row._base is None else row._base


def _versions(ends: tuple[Tensor, Tensor]) -> tuple[int, ...]:
    return tuple(-1 if end.is_inference() else end._version for end in ends)


def _narrow(row: Tensor) -> Tensor:
    """As operators take it: of 32 or 64 bits."""
    return row if row.dtype in (torch.int32, torch.int64) else row.long()


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


def _prepare(sender: Tensor, receiver: Tensor, senders: int, receivers: int, what: int, dtype: torch.dtype,
             product: Optional[str]) -> Graph:
    op = _operators(sender.device.type, product)[0]
    sender, receiver, receiver_row, by_sender, sender_row, order, fault = (
        traceable(op) if torch.jit.is_tracing() else op)(_narrow(sender), _narrow(receiver), senders, receivers, what,
                                                         dtype.itemsize)
    if what == ANY:
        return Graph(sender, receiver, senders, receivers, None, None, None, None, fault)
    return Graph(sender, receiver, senders, receivers, receiver_row, by_sender, sender_row, order if what == SORT else None,
                 fault)


# ---- what `prepare` says to whom makes programs ----

def fake_prepare(sender: Tensor, receiver: Tensor, senders: Any, receivers: Any, what: int, size: int) -> tuple[Tensor, ...]:
    torch._check(sender.dim() == 1 and receiver.dim() == 1, lambda: "sender and receiver have one dimension")
    torch._check(sender.shape[0] == receiver.shape[0], lambda: "sender and receiver differ in length")
    items, index = sender.shape[0], {4: torch.int32, 8: torch.int64}[size]

    def empty(n: Any, dtype: torch.dtype) -> Tensor:
        return sender.new_empty((n,), dtype=dtype)
    indexed = what != ANY
    return (empty(items, index), empty(items, index), empty(receivers + 1 if indexed else 0, torch.int64),
            empty(items if indexed else 0, index), empty(senders + 1 if indexed else 0, torch.int64),
            empty(items if what == SORT else 0, torch.int64), empty(1, torch.int64))


def vmap_prepare(operator: Any, info: Any, dims: tuple[Optional[int], ...], *arguments: Any) -> tuple[Any, Any]:
    """One list after the other."""
    moved = [value if dim is None else value.movedim(dim, 0) for value, dim in zip(arguments, dims)]
    made = [operator(*(value if dim is None else value[copy].contiguous() for value, dim in zip(moved, dims)))
            for copy in range(info.batch_size)]
    return tuple(torch.stack(values) for values in zip(*made)), (0,) * 7


def register(product: str, devices: list[str]) -> None:
    """The operators of a product's libraries, which are for these devices."""
    prepare = getattr(torch.ops.cgtp_graph, f"{product}_prepare").default
    torch.library.register_fake(f"cgtp_graph::{product}_prepare", fake_prepare)
    torch.library.register_vmap(f"cgtp_graph::{product}_prepare",
                                lambda info, dims, *arguments: vmap_prepare(prepare, info, dims, *arguments))
    for device in devices:
        compare = getattr(torch.ops.cgtp_graph, f"{product}_compare").default
        operators.setdefault(device, {})[product] = prepare, compare
