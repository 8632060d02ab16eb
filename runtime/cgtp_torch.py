# SPDX-License-Identifier: MIT
"""Modules of PyTorch that are made of a product: `TensorProduct`, for batches, and `Convolution`, on graphs.

NAME.py has the one that its product is for, and `prepare_graph` and `Graph` beside a convolution. Both modules may be
compiled and exported, run on CPUs and CUDA devices, and are differentiable as often as wanted.
"""
from __future__ import annotations

from typing import Any, Iterator, Optional, Union

import torch
from torch import Tensor

from .cgtp_product import Instruction, Product
from .cgtp_wigner import wigner_3j
from .cgtp_torch_graph import ANY, GIVEN, SORT, Edges, Graph, find_graph, forget, prepare_graph  # noqa: F401
from .cgtp_torch_ops import twins
from .cgtp_torch_script import scripted


class _Constants(torch.nn.Module):
    """What a module of e3nn has in its state beside its weights, so that it can load that of one of ours."""

    def __init__(self, constants: dict[str, Any], dtype: torch.dtype):
        super().__init__()
        for name, value in constants.items():
            self.register_buffer(name, torch.tensor(value, dtype=dtype if name.startswith("_w3j") else torch.int64))

    def _load_from_state_dict(self, *_: Any) -> None:
        """They are constants."""


def _e3nn_constants(p: Product) -> dict[str, Any]:
    """By names, of the symbols that e3nn's code for these instructions refers to."""
    found: dict[str, Any] = {}
    degrees = {slot: [(dim - 1) // 2 for _, dim in segments(p.irreps[slot])] for slot in "xyz"}
    multiplicities = [mul for mul, _ in segments(p.irreps["x"])]
    for i in p.instructions:
        if 0 in i.path_shape:
            continue
        key = degrees["x"][i.i_in1], degrees["y"][i.i_in2], degrees["z"][i.i_out]
        if i.connection_mode in ("uvu<v", "u<vw"):
            mul = multiplicities[i.i_in1]
            pairs = [(a, b) for a in range(mul) for b in range(a + 1, mul)]
            found.setdefault(f"_triu_indices_{mul}", [[pair[side] for pair in pairs] for side in (0, 1)])
        # cases that e3nn's code knows by heart: those with a scalar, and cross products
        by_heart = i.connection_mode in ("uvw", "uvv", "uuu") or (i.connection_mode in ("uvu", "uuw") and i.has_weight)
        if not by_heart or not (0 in key or (i.connection_mode == "uuu" and key == (1, 1, 1))):
            found.setdefault("_w3j_{}_{}_{}".format(*key), wigner_3j(*key))
    return found


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
        # by the type of x: the kernel and its inputs; None: z is zero
        self._forward = {dtype: self._kernel(twin) for dtype, twin in twins(p).items()} \
            if any(i.path_weight for i in p.instructions) else None
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
        constants = _e3nn_constants(p)
        if constants:
            self._compiled_main_left_right = _Constants(constants, p.dtype["z"])

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "product" in cls.__dict__:  # what NequIP imports before it loads a compiled model
            cls._nequip_custom_ops_libs = (cls.__module__.rpartition(".")[0] or cls.__module__,)

    def __prepare_scriptable__(self) -> torch.nn.Module:
        """What torch.jit.script compiles in its place."""
        return scripted(self, getattr(self, "_order", 0))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *more: Any) -> None:
        """Constants are not read: e3nn's, or none where the state is of an older version."""
        for key in [key for key in state_dict if key.startswith(f"{prefix}_compiled_main")]:
            del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, *more)

    @staticmethod
    def _kernel(p: Product) -> tuple[Any, list[tuple[int, str, bool]]]:
        operator = p.forward()
        return operator, [("xyw".index(slot), slot, p.strided[slot]) for slot in operator.kernel.inputs.values()]

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
        forward, slots = self._forward.get(given[0].dtype) or self._forward[self.product.dtype["x"]]
        return forward([forward.dense(given[number], slot) if strided else given[number].contiguous()
                        for number, slot, strided in slots], graph)[0]


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
        sizes = [value.shape[:-1] for slot, value in given.items() if p.index[slot] == "item"]
        batch = sizes[0] if sizes and all(size == sizes[0] for size in sizes) else torch.broadcast_shapes(*sizes)
        items = 1
        for n in batch:
            items = items * n
        for slot, value in given.items():
            if p.index[slot] == "item" and value.shape[:-1] != batch:
                value = value.expand(*batch, p.dim[slot])
            if p.index[slot] != "item":
                value = value.reshape(1, p.dim[slot])
            elif value.dim() != 2:  # of rows a view would cost, and one more in backward
                value = value.reshape(items, p.dim[slot])
            given[slot] = value
        z = self._call((given["x"], given["y"], given.get("w")), (items,))
        if p.index["z"] != "item":
            return z.reshape(p.dim["z"])
        return z if len(batch) == 1 else z.reshape(*batch, p.dim["z"])


class Convolution(_Module):
    """Sums products over the edges of a graph.

    z = module(x, y, weight, edge_index), where x, y, weight and z have the rows that the spec's `index` says: a row for
    each edge, each sender or each receiver, or one alone. edge_index [2, edges] is in any order, and rows of edges are
    in that order; or it is a pair, (sender, receiver); or a `Graph` of `prepare_graph`, which is taken as it is, and which
    compiled functions and CUDA graphs should be given. Sorting rows of y and weight costs as much as reading them: where
    edges are sorted by receiver to begin with, nothing is moved. That is found out where it can be, but not while a program
    is made; `sorted` says it, and is then looked at.

    There are as many senders and receivers as rows of x, y, weight that have such an index; `receivers` says how many
    of z where no operand does and they differ. sender_row: the row of an edge_index that has the senders.
    """

    def __init__(self, *, sender_row: int = 0, sorted: bool = False, internal_weights: Optional[bool] = None,
                 shared_weights: Optional[bool] = None):
        super().__init__(internal_weights=internal_weights, shared_weights=shared_weights)
        self.sender_row, self.sorted = sender_row, sorted

    @property
    def _order(self) -> int:
        """What is to be done with a list of edges."""
        return ANY if self.product.edges == "any" else GIVEN if self.sorted else SORT

    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor], edge_index: Union[Edges, Graph],
                receivers: Optional[int] = None) -> Tensor:
        if isinstance(edge_index, Graph):
            return self._convolve(x, y, weight, edge_index)
        if torch.compiler.is_compiling():
            return self._convolve(x, y, weight, self._graph(edge_index, x, y, weight, receivers))
        try:
            return self._convolve(x, y, weight, self._graph(edge_index, x, y, weight, receivers))
        except RuntimeError:  # as an earlier call's list was found to be another: what is known of lists is not used again
            forget()
            raise

    def _convolve(self, x: Tensor, y: Tensor, weight: Optional[Tensor], graph: Graph) -> Tensor:
        if weight is None or self.shared_weights:
            weight = self._weights(weight, graph)
        arguments = self._arguments(graph)
        if graph.order is None:
            return self._call((x, y, weight), arguments)
        x_of_items, y_of_items, w_of_items = self._of_items  # whose rows are in another order than the graph's
        w_of_items = w_of_items and self.weight_numel > 0 and not self.shared_weights
        for name, rows, moved in ("x", x, x_of_items), ("y", y, y_of_items), ("weight", weight, w_of_items):
            if moved and (rows.dim() != 2 or rows.shape[0] != graph.order.shape[0]):
                raise ValueError(f"{name} has shape {list(rows.shape)}: it is to have a row for each edge, of which there are "
                                 f"{graph.order.shape[0]}")
        z = self._call((graph.sort(x) if x_of_items else x, graph.sort(y) if y_of_items else y,
                        graph.sort(weight) if w_of_items else weight), arguments)
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
               receivers: Optional[int], wait: bool = False) -> Graph:
        nodes = {}
        for slot, value in zip("wxy", (weight, x, y)):
            if value is not None and self.product.index[slot] in ("sender", "receiver"):
                if value.dim() != 2:
                    raise ValueError(f"{'weight' if slot == 'w' else slot} has shape {list(value.shape)}: it is to have a row "
                                     f"for each {self.product.index[slot]}, [{self.product.index[slot]}s, "
                                     f"{self.product.dim[slot]}]")
                nodes[self.product.index[slot]] = value.shape[0]
        senders = nodes.get("sender", receivers)
        receivers = nodes.get("receiver", senders if receivers is None else receivers)
        if receivers is None:
            raise ValueError("neither x nor y has a row for each node: pass `receivers`, or a Graph")
        return find_graph(edge_index, receivers if senders is None else senders, receivers, self.sender_row,
                          self._order, self._index_dtype, self.product.name, wait)

    def _arguments(self, graph: Graph) -> tuple[Any, ...]:
        """What follows the arrays in an operator's arguments."""
        sender, receiver, senders, receivers, receiver_row, by_sender, sender_row, _, fault = graph
        if sender.dtype != self._index_dtype:
            raise TypeError(f"the graph's node numbers are {sender.dtype}, those of {self.product.name} "
                            f"{self._index_dtype}: pass prepare_graph that dtype")
        if not self._sorted:
            return (sender, receiver, senders, receivers) if fault is None else (sender, receiver, senders, receivers, fault)
        if receiver_row is None:
            raise ValueError(f"{self.product.name} needs sorted edges: prepare_graph(.., sort=True)")
        found = sender, receiver, receiver_row, by_sender, sender_row
        return found if fault is None else (*found, fault)


def segments(irreps: str) -> list[tuple[int, int]]:
    """(multiplicity, dimension) of each term of irreps as text."""
    found = []
    for term in irreps.split("+") if irreps else []:
        mul, _, ir = term.partition("x")
        found.append((int(mul), 2 * int(ir[:-1]) + 1))
    return found
