# SPDX-License-Identifier: MIT
"""Radial networks, which make the weights of edges and are most of what is left of a step: computed once for an edge and for
the one back, and without passes that only scale.

An edge from j to i and the one from i to j have one length, whatever atoms and cell do. So the two are one function of both,
and whoever computes it once has the same energy, and the same derivatives of every order by positions, cell and parameters.
Other edges that happen to be as long are not: their lengths have other derivatives. Derivatives by what the network is given
are shared among the two, half to each, so that what depends on single edges is left to the package (see those who call
`pairs_of`).
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Optional

import torch
from torch import Tensor
from torch.utils import weak

from .fast import Fast, Site, Trilinear, name_of
from .products import is_eager

FULLY_CONNECTED = "e3nn.nn._fc.FullyConnectedNet"
LAYER, ACTIVATION = "e3nn.nn._fc._Layer", "e3nn.math._normalize_activation.normalize2mom"
DEVICES = {"cpu"}  # where moving rows costs less than their matrix products
LEAST = 256        # edges, below which looking for pairs costs more
PRIMES = 0x9E3779B97F4A7C15 - 2**64, 0xC2B2AE3D27D4EB4F - 2**64, 0x165667B19E3779F9, 0x27D4EB2F165667C5, 0x85EBCA77C2B2AE63 - 2**64


class Pairs:
    """Of a list of edges: first and second, the two of each pair; alone, those whose other one is not in the list."""

    def __init__(self, index: Tensor, vector: Tensor):
        low, high = torch.minimum(index[0], index[1]), torch.maximum(index[0], index[1])
        vector = facing(index, vector)
        bits = vector.contiguous().view(torch.int64 if vector.dtype == torch.float64 else torch.int32).long()
        key = sum((part * prime for part, prime in zip((low, high, *bits.T), PRIMES)), torch.zeros_like(low))
        key, order = key.sort()
        same = key[1:] == key[:-1]
        begins = same.clone()
        begins[1:] &= ~same[:-1]
        at = begins.nonzero()[:, 0]
        first, second = order[at], order[at + 1]
        whole = (low[first] == low[second]) & (high[first] == high[second]) & (vector[first] == vector[second]).all(1)
        self.first, self.second = first[whole], second[whole]
        alone = torch.ones_like(low, dtype=torch.bool)
        alone[self.first] = alone[self.second] = False
        self.alone = alone.nonzero()[:, 0]
        self.count = count = len(self.first)
        self.one_of_each = torch.cat([self.first, self.alone])
        number = torch.arange(len(self.one_of_each), device=low.device)
        self.row = torch.empty_like(low)  # of an edge, among one of each
        self.row[self.second], self.row[self.one_of_each] = number[:count], number
        self.in_turn = torch.cat([torch.stack([self.first, self.second], 1).flatten(), self.alone])
        self.begins = number + number.clamp(max=count)  # of one of each, in these
        self.shares: dict[torch.dtype, Tensor] = {}
        self.given: list[tuple[Tensor, int, Tensor]] = []  # in this step, its version, and rows of pairs for it

    def share(self, dtype: torch.dtype) -> Tensor:
        """What of a sum of both is one's."""
        if dtype not in self.shares:
            self.shares[dtype] = torch.ones(len(self.one_of_each), 1, dtype=dtype, device=self.row.device)
            self.shares[dtype][:self.count] = 0.5
        return self.shares[dtype]

    def hold(self, x: Tensor) -> bool:
        """Are rows of both the same?"""
        x = x.detach()
        return x.dim() == 2 and len(x) == len(self.row) and x.device == self.row.device and \
            torch.equal(x.index_select(0, self.first), x.index_select(0, self.second))

    def rows_of(self, x: Tensor) -> Optional[Tensor]:
        """A row for the two of each pair, if theirs are the same. What several networks of a step are given is looked at once."""
        recorded = x.requires_grad and torch.is_grad_enabled()
        known = next((rows for of, version, rows in self.given
                      if of is x and version == version_of(x) and rows.requires_grad >= recorded), None)
        if known is None and self.hold(x):
            known = Both.apply(x, self) * self.share(x.dtype)
            self.given.append((x, version_of(x), known))
        return known

    def each(self, rows: Tensor) -> Tensor:
        """Rows of pairs for each of the two; networks that are given these take the rows as they are."""
        found = Each.apply(rows, self)
        self.given.append((found, version_of(found), rows))
        return found


def version_of(x: Tensor) -> int:
    return -1 if x.is_inference() else x._version


def facing(index: Tensor, vector: Tensor) -> Tensor:
    """Vectors of edges as from the lower atom to the higher; of an edge to an atom's own image, as one of the two."""
    sign = (index[1] - index[0]).sign().to(vector.dtype)
    own = sign == 0
    if own.any():
        from_left = vector[own].sign()
        leading = from_left @ vector.new_tensor([4.0, 2.0, 1.0])  # decides where any component does
        sign[own] = leading.sign()
    return vector * sign[:, None] + 0.0  # and no negative zero


_known: weak.WeakIdKeyDictionary = weak.WeakIdKeyDictionary()


def pairs_of(index: Tensor, vector: Tensor) -> Optional[Pairs]:
    """Of a list of edges that is the same, number by number, as one of the last calls', what was found then. vector: of each
    edge, or its shift, which of the edge back is the negative. None where there are few, or no numbers are computed now."""
    if index.device.type not in DEVICES or index.dim() != 2 or index.shape[1] < LEAST or type(index) is not Tensor or \
            vector.shape != (index.shape[1], 3) or not is_eager(index, vector):
        return None
    with torch.no_grad():
        vector = vector.detach()
        known = _known.get(index)
        if known is None or not torch.equal(known[0], index) or not torch.equal(known[1], vector):
            found = Pairs(index.detach(), vector)
            known = _known[index] = index.detach().clone(), vector.clone(), found if 4 * found.count > index.shape[1] else None
    return known[2]


class Both(torch.autograd.Function):
    """Rows of edges, summed over the two of each pair."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, pairs: Pairs) -> Tensor:
        ctx.pairs = pairs
        if rows.dtype == torch.float32 and rows.device.type == "cpu":  # one pass, which of float64 is slow
            return torch.nn.functional.embedding_bag(pairs.in_turn, rows.contiguous(), pairs.begins, mode="sum")
        made = rows.index_select(0, pairs.one_of_each)
        made[:pairs.count] += rows.index_select(0, pairs.second)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return Each.apply(gradients[0], ctx.pairs), None


class Each(torch.autograd.Function):
    """Rows of pairs, for each of the two."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, pairs: Pairs) -> Tensor:
        ctx.pairs = pairs
        return rows.index_select(0, pairs.row)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return Both.apply(gradients[0], ctx.pairs), None


@contextlib.contextmanager
def pairs_for(nets: Iterable[Any], index: Tensor, vector: Optional[Tensor]) -> Iterator[None]:
    """While it is open, those of the networks that are replaced know of the pairs in a list."""
    mine = [net for net in nets if isinstance(net, Paired)]
    pairs = pairs_of(index, vector) if mine and vector is not None else None
    for net in mine:
        net.__dict__["cgtp_pairs"] = pairs
    try:
        yield
    finally:
        for net in mine:
            net.__dict__.pop("cgtp_pairs", None)
        if pairs is not None:
            pairs.given.clear()


def once(net: Any, x: Tensor, pairs: Optional[Pairs]) -> Tensor:
    """net(x), once for the two edges of a pair."""
    if pairs is None or not is_eager(x):
        return net(x)
    rows = pairs.rows_of(x)
    return net(x) if rows is None else Each.apply(net(rows), pairs)


class Paired(Fast):
    """A network of what edges have."""

    says = "once for both edges of a pair of atoms"

    def attach(self, layers: list[Any]) -> None:
        pass


def rows_times(x: Optional[Tensor], weight: Tensor, z: Optional[Tensor]) -> Tensor:
    """x @ weight or, without x, z's derivative by it; weight has none (Trilinear). On a GPU weights lie transposed, which takes a
    twentieth less, and what goes back is cuBLASLt's, which PyTorch takes where there is a bias."""
    if weight.device.type != "cuda":
        return z @ weight.t() if x is None else x @ weight
    weight = weight.t().contiguous()
    return torch.addmm(z.new_zeros(weight.shape[1]), z, weight) if x is None else x @ weight.t()


def layer_of(x: Tensor, weight: Tensor) -> Tensor:
    """x @ weight."""
    if weight.requires_grad or not is_eager(x, weight):
        return x @ weight
    return Trilinear.apply(rows_times, x, weight, None)


class Net(Paired):
    """e3nn's FullyConnectedNet. What scales a layer's numbers scales the next layer's weights instead."""

    def cgtp_net(self, x: Tensor) -> Tensor:
        if not is_known(self):  # somebody has changed it since
            return super().forward(x)
        scale = 1.0
        for layer in self._modules.values():
            if layer.act is None:
                x = layer_of(x, layer.weight * (scale / (layer.h_in * layer.var_in / layer.var_out) ** 0.5))
                scale = 1.0
            else:
                x = layer.act.f(layer_of(x, layer.weight * (scale / (layer.h_in * layer.var_in) ** 0.5)))
                scale = layer.var_out ** 0.5 * (1.0 if layer.act._is_id else layer.act.cst)
        return x if scale == 1.0 else x * scale

    def forward(self, x: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            for layer in self:
                x = layer(x)
            return x
        else:
            return once(self.cgtp_net, x, self.__dict__.get("cgtp_pairs"))


def is_known(net: Any) -> bool:
    """Are its layers e3nn's, and called by nobody but it?"""
    return all(name_of(layer) == LAYER and not layer._forward_hooks and not layer._forward_pre_hooks and
               (layer.act is None or name_of(layer.act) == ACTIVATION) for layer in net._modules.values())


def net_site(path: str, net: Any) -> Optional[Site]:
    return Site(path, net, Net, lambda dtype: []) if is_known(net) else None
