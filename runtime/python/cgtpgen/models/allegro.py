# SPDX-License-Identifier: MIT
"""Allegro: contractions, and the harmonics that are weighted before them.

Allegro's rows of edges are [channel][component]. Kernels of its products take them as [component][channel], `ir_mul`, which is
the transposed view of a tensor of Allegro's shape: from one product to the next nothing is copied.
"""
from __future__ import annotations

import json
from typing import Any, Optional

import torch
from torch import Tensor

from .e3nn_specs import reader
from .fast import Imported, Left, Site, Sites, has_hooks, name_of, names_of
from .kernels import Spec

CONTRACTER = "allegro.nn._strided._contract.Contracter"
WEIGHTER = "allegro.nn._strided._channels.MakeWeightedChannels"
NET, LAYER = "nequip.nn.mlp.ScalarMLPFunction", "nequip.nn.mlp.ScalarLinearLayer"
LAYERS = "allegro.nn._allegro.Allegro_Module"


def of_edges(rows: Tensor, channels: int) -> Tensor:
    """Rows of a product as Allegro's tensor, [edges, channels, components]."""
    return rows.unflatten(1, (-1, channels)).transpose(1, 2)


class Split(torch.autograd.Function):
    """A tensor, and its first components. Their gradients are added in one pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        ctx.n = n
        return x.view_as(x), x.narrow(2, 0, n)

    @staticmethod
    def backward(ctx: Any, whole: Tensor, first: Tensor) -> Any:
        return Joined.apply(whole, first, ctx.n), None


class Joined(torch.autograd.Function):
    """The sum of a tensor, and of another in its first components."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, first: Tensor, n: int) -> Tensor:
        ctx.n = n
        made = whole.clone()
        made.narrow(2, 0, n).add_(first)
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return *Split.apply(gradient, ctx.n), None


class Beside(torch.autograd.Function):
    """Rows beside each other, as torch.cat's. The derivative of their gradients is a row, not the sum of a row for each of them that is
    zero but for it."""

    @staticmethod
    def forward(ctx: Any, *parts: Tensor) -> Tensor:
        ctx.sizes = [part.shape[1] for part in parts]
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient.split(ctx.sizes, 1)


class Contracter(Imported):
    """Allegro's Contracter."""

    def typed(self) -> Tensor:
        return self.w3j

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution(internal_weights=False))

    def cgtp_rows(self, x: Tensor, components: int) -> Tensor:
        return x.reshape(-1, self.mul, components).transpose(1, 2).flatten(1)

    def forward(self, x1: Tensor, x2: Tensor, idxs: Tensor) -> Tensor:
        weights = self.weights.reshape(-1, self.num_paths).T.expand(self.num_paths, self.mul).reshape(1, -1)
        graph = self.__dict__.get("cgtp_graph")
        z = self.cgtp(self.cgtp_rows(x1, self.base_dim1), self.cgtp_rows(x2, self.base_dim2), weights,
                      (idxs, idxs) if graph is None else graph)
        return of_edges(z, self.mul)

    def cgtp_ends(self, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        return edge_index[0], edge_index[0]


class Weighter(Imported):
    """Allegro's MakeWeightedChannels: harmonics of edges times weights of channels and irreps."""

    def typed(self) -> Tensor:
        return self._rtoi

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].TensorProduct())

    def forward(self, edge_attr: Tensor, weights: Tensor) -> Tensor:
        return of_edges(self.cgtp(weights_by_irrep(self, weights), edge_attr), self.multiplicity_out)


def weights_by_irrep(weighter: Any, weights: Tensor) -> Tensor:
    """[edges, irreps * channels] of rows that have a channel's next to each other."""
    return weights.unflatten(1, (weighter.multiplicity_out, -1)).transpose(1, 2).flatten(1)


def scalars_and_weights(net: Any, x: Tensor, scalars: int, weighter: Any) -> tuple[Tensor, Tensor]:
    """What a network makes of x: scalars, and weights by irrep. Its last layer has its weights brought into that order, which are
    few, and not each edge's numbers."""
    sizes = scalars, weighter.weight_numel
    layers = list(net.mlp) if name_of(net) == NET and isinstance(net.mlp, torch.nn.Sequential) and not has_hooks(net) else []
    if not layers or name_of(layers[-1]) != LAYER or layers[-1].bias is not None or has_hooks(layers[-1]):
        own, rest = net(x).split(sizes, 1)
        return own, weights_by_irrep(weighter, rest)
    for layer in layers[:-1]:
        x = layer(x)
    own, rest = (layers[-1].weight * layers[-1].alpha).split(sizes, 1)
    return x @ own, x @ weights_by_irrep(weighter, rest)


class Layers(Imported):
    """Allegro_Module, where the sum of weighted harmonics over an atom's edges is one product, a convolution of ones."""

    def typed(self) -> Tensor:
        return self._env_weighter._rtoi

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution())

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        center, basis, tensor = data["edge_index"][0], data[self.tensor_basis_in_field], data[self.tensor_features_in_field]
        graph = self.__dict__.get("cgtp_graph")
        graph = (center, center) if graph is None else graph
        ones = basis.new_ones((data["pos"] if "pos" in data else data["atom_types"]).shape[0], self.num_tensor_features)
        net, given, known = self.first_layer_env_embed_projection, data[self.scalar_in_field], []
        for number, (latent, tp) in enumerate(zip(self.latents, self.tps)):
            scalars, weights = scalars_and_weights(net, given, self.num_scalar_features, self._env_weighter)
            known.append(scalars)
            data["node_features"] = self.cgtp(ones, basis, weights, graph)
            data = self.avg_num_neighbors_norm(data)
            tensor = tp(tensor, of_edges(data["node_features"], self.num_tensor_features), center)
            n = self._n_scalar_outs[number]
            tensor, invariants = Split.apply(tensor, n) if tensor.shape[2] > n else (tensor, tensor)
            net, given = latent, Beside.apply(*known, invariants.flatten(1))
        data[self.scalar_out_field] = Beside.apply(*known, net(given))
        return data

    def cgtp_ends(self, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        return edge_index[0], edge_index[0]


def contracter_spec(tp: Any, dtype: str) -> Spec:
    found = tp.instructions or [(i, j, k) for k, (_, out) in enumerate(tp.irreps_out)
                                for i, (_, one) in enumerate(tp.irreps_in1) for j, (_, two) in enumerate(tp.irreps_in2)
                                if out in one * two]
    irreps = {slot: "+".join(f"{tp.mul}x{ir}" for _, ir in of)
              for slot, of in zip("xyz", (tp.irreps_in1, tp.irreps_in2, tp.irreps_out))}
    muls = [[tp.mul] * len(of) for of in (tp.irreps_in1, tp.irreps_in2, tp.irreps_out)]
    return Spec("contracter", lambda name: json.dumps({
        "cgtp": 1, "name": name, "irreps": irreps, "instructions": [[*path, "uuu"] for path in found],
        **reader.unused_of(muls, found),
        "normalization": {"irrep": tp.irrep_normalization or "none", "path": "none"}, "precision": dtype, "layout": "ir_mul",
        "index": {"x": "item", "y": "receiver", "w": "shared", "z": "item"}}) + "\n")


def weighter_spec(weighter: Any, dtype: str, summed: bool) -> Spec:
    """Harmonics times weights, a row for each edge, or summed over those of an atom, where weights are those of a product of ones
    and harmonics. Parities, which no number depends on, are even."""
    mul, degrees = weighter.multiplicity_out, [(int(n) - 1) // 2 for n in (weighter._rtoi != 0).sum(1)]
    numbers = range(len(degrees))
    irreps = {"x": f"{mul}x0e" if summed else "+".join(f"{mul}x0e" for _ in numbers), "y": "+".join(f"{degree}e" for degree in degrees),
              "z": "+".join(f"{mul}x{degree}e" for degree in degrees)}
    factor = reader._square(float(weighter.alpha))
    return Spec("weighted_sum" if summed else "weighted", lambda name: json.dumps({
        "cgtp": 1, "name": name, "irreps": irreps, "precision": dtype, "layout": {"z": "ir_mul"},
        "instructions": [[0 if summed else n, n, n, "uvu", summed, float(factor)] for n in numbers],
        "normalization": {"irrep": "component", "path": "none"},
        **({"index": reader.CONVOLUTION} if summed else {})}) + "\n")


def has_own_weights(weighter: Optional[Any]) -> bool:
    """Has each irrep weights, and is the class Allegro's?"""
    return weighter is not None and name_of(weighter) == WEIGHTER and weighter.weight_individual_irreps and weighter.alpha > 0


def sites(model: torch.nn.Module) -> Sites:
    found: Sites = {}
    for path, module in model.named_modules():
        names = names_of(module)
        if CONTRACTER in names:
            found[path] = Site(path, module, Contracter, lambda dtype, tp=module: [contracter_spec(tp, dtype)],
                               what="contraction") if type(module).__qualname__ == "Contracter" else \
                Left(path, module, "another modifier computes it")
        elif LAYERS in names and type(module).__qualname__ == "Allegro_Module" and has_own_weights(module._env_weighter):
            found[path] = Site(path, module, Layers, lambda dtype, of=module._env_weighter: [weighter_spec(of, dtype, True)],
                               what="sum of weighted harmonics")
        elif WEIGHTER in names and has_own_weights(module):
            inside = path.rpartition(".")[0]
            found[path] = None if isinstance(found.get(inside), Site) and path.endswith("._env_weighter") else \
                Site(path, module, Weighter, lambda dtype, of=module: [weighter_spec(of, dtype, False)], what="weighted harmonics")
    return found
