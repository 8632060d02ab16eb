# SPDX-License-Identifier: MIT
"""The modules of cgtp_torch_script.py, in the part of Python that TorchScript compiles."""
from typing import List, Optional, Tuple, Union

import torch
from torch import Tensor


class Scripted(torch.nn.Module):
    """The facts of a product that a call needs."""

    def __init__(self, product: str, single: str, double: str, dim_x: int, dim_y: int, dim_z: int, weight_numel: int, shared_weights: bool,
                 internal_weights: bool, index: List[str]):
        super().__init__()
        self.product, self.of_float32, self.of_float64 = product, single, double
        self.dim_x, self.dim_y, self.dim_z = dim_x, dim_y, dim_z
        self.weight_numel, self.shared_weights, self.internal_weights = weight_numel, shared_weights, internal_weights
        self.index = index
        self.item_rows = [of == "item" for of in index]

    def of(self, x: Tensor) -> str:
        """The product for the type of x."""
        if x.dtype == torch.float32:
            return self.of_float32
        return self.of_float64 if x.dtype == torch.float64 else self.product

    def weights(self, weight: Optional[Tensor], items: int) -> Optional[Tensor]:
        """The rows that kernels take."""
        if self.weight_numel == 0:
            return None
        if weight is None:
            if not self.internal_weights:
                raise RuntimeError("the module has no weights of its own: pass them to forward")
            weight = self.weight
        if weight.size(-1) != self.weight_numel or (self.shared_weights and weight.numel() != self.weight_numel):
            raise RuntimeError(f"weight has shape {weight.shape}: its rows are to have {self.weight_numel} elements")
        if self.shared_weights:
            return weight.reshape(1, -1).expand(items if self.item_rows[2] else 1, -1)
        return weight.reshape(-1, self.weight_numel)


class ScriptedConvolution(Scripted):
    def __init__(self, product: str, single: str, double: str, dim_x: int, dim_y: int, dim_z: int, weight_numel: int, shared_weights: bool,
                 internal_weights: bool, index: List[str], sender_row: int, order: int, size: int):
        super().__init__(product, single, double, dim_x, dim_y, dim_z, weight_numel, shared_weights, internal_weights, index)
        self.sender_row, self.order, self.size = sender_row, order, size

    def nodes(self, given: List[Optional[Tensor]], of: str, otherwise: Optional[int]) -> Optional[int]:
        """How many senders or receivers there are, by the first operand that has a row for each."""
        found = otherwise
        for value, index in zip(given, self.index):
            if value is not None and index == of:
                found = value.size(0)
        return found

    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor], edge_index: Union[Tensor, Tuple[Tensor, Tensor]],
                receivers: Optional[int] = None) -> Tensor:
        if isinstance(edge_index, Tensor):
            sender, receiver = edge_index[self.sender_row], edge_index[1 - self.sender_row]
        else:
            sender, receiver = edge_index
        senders = self.nodes([x, y, weight], "sender", receivers)
        found = self.nodes([x, y, weight], "receiver", senders if receivers is None else receivers)
        if found is None:
            raise RuntimeError("neither x nor y has a row for each node: pass `receivers`")
        w = self.weights(weight, sender.size(0))
        return torch.ops.cgtp_script.convolve(self.of(x), x, y, w, sender, receiver, found if senders is None else senders,
                                              found, self.order, self.size, self.item_rows)


class ScriptedTensorProduct(Scripted):
    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor] = None) -> Tensor:
        sizes: List[List[int]] = []
        if self.item_rows[0]:
            sizes.append(x.shape[:-1])
        if self.item_rows[1]:
            sizes.append(y.shape[:-1])
        if self.item_rows[2] and self.weight_numel > 0 and weight is not None and not self.shared_weights:
            sizes.append(weight.shape[:-1])
        batch: List[int] = []
        for size in sizes:
            batch = torch.broadcast_tensors(torch.empty(batch), torch.empty(size))[0].shape
        items = 1
        for n in batch:
            items *= n
        a = x.expand(batch + [self.dim_x]).reshape(items, self.dim_x) if self.item_rows[0] else x.reshape(1, self.dim_x)
        b = y.expand(batch + [self.dim_y]).reshape(items, self.dim_y) if self.item_rows[1] else y.reshape(1, self.dim_y)
        w = weight
        if w is not None and self.item_rows[2] and not self.shared_weights and self.weight_numel > 0:
            w = w.expand(batch + [self.weight_numel])
        z = torch.ops.cgtp_script.tensor_product(self.of(x), a, b, self.weights(w, items), items)
        return z.reshape(batch + [self.dim_z]) if self.item_rows[3] else z.reshape(self.dim_z)
