# SPDX-License-Identifier: MIT
"""NequIP: convolutions, and self connections by species.

`nequip-compile` and training take the kernels as a model modifier, `enable_cgtpgen`, which `register` adds to those that
NequIP finds in a model; with an installed wheel NequIP has that done itself (nequip_extension.py).
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .allegro import CONTRACTER, LAYER, Contracter, Layers
from .fast import Fast, Imported, Left, Site, Sites, name_of, names_of
from .graphs import Step, can_be_recorded, replayed
from .radial import Paired, layer_of, once, pairs_for
from .products import convolution_spec, is_by_species, species_of, species_spec, weights_by_species, why_not

SCATTER = "nequip.nn._tp_scatter_base.TensorProductScatter"
BLOCK = "nequip.nn.interaction_block.InteractionBlock"
EMBED = "nequip.nn.embedding.node.NodeTypeEmbed"


class Scatter(Imported):
    """NequIP's TensorProductScatter, with gather and scatter in the kernel."""

    def typed(self) -> Tensor:
        return self.tp.output_mask

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution())

    def forward(self, x: Tensor, edge_attr: Tensor, edge_weight: Tensor, edge_dst: Tensor, edge_src: Tensor) -> Tensor:
        graph = self.__dict__.get("cgtp_graph")
        return self.cgtp(x, edge_attr, edge_weight, (edge_src, edge_dst) if graph is None else graph)

    def cgtp_ends(self, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        return edge_index[1], edge_index[0]


class Mlp(Paired):
    """NequIP's ScalarMLPFunction."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            return self.mlp(x)
        else:
            return once(self.cgtp_net, x, self.__dict__.get("cgtp_pairs"))

    def cgtp_net(self, x: Tensor) -> Tensor:
        if not isinstance(self.mlp, torch.nn.Sequential):
            return self.mlp(x)
        for layer in self.mlp:
            is_plain = name_of(layer) == LAYER and layer.bias is None and not layer._forward_hooks and not layer._forward_pre_hooks
            x = layer_of(x, layer.weight * layer.alpha) if is_plain else layer(x)
        return x


class Interaction(Fast):
    """NequIP's InteractionBlock, which says to its self connection which species atoms are of, and to its network which edges
    are pairs."""

    def attach(self, layers: list[Any]) -> None:
        pass

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        vectors = data.get("edge_vectors")
        if vectors is not None and vectors.is_leaf and vectors.requires_grad:
            vectors = None  # forces are asked for by edge: each has its own
        mine = isinstance(self.sc, SelfConnection)
        if mine:
            self.sc.cgtp_types = (data["atom_types"],)
        try:
            with pairs_for([self.edge_mlp], data["edge_index"], vectors):
                return super().forward(data)
        finally:
            if mine:
                self.sc.cgtp_types = None


class SelfConnection(Imported):
    """NequIP's product of features and a species' embedding: a matrix for each species."""

    cgtp_types: Optional[tuple[Tensor]] = None

    def typed(self) -> Tensor:
        return self.output_mask

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution())

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        [types], [embed] = self.cgtp_types, self.cgtp_made.options["embed"]
        species = species_of(types if types.dim() == 1 and types.shape[0] == x.shape[0] else types.reshape(-1)[:x.shape[0]])
        weights = weights_by_species(self, species.present, embed.embed_module.weight)
        return self.cgtp(x, x.new_ones(x.shape[0], 1), weights, (species.index, species.item), receivers=x.shape[0])


class Recorded(Fast):
    """A GraphModel whose force steps are CUDA graphs."""

    def attach(self, layers: list[Any]) -> None:
        pass

    def __call__(self, data: Any) -> Any:
        convolutions = [module for module in self.modules() if isinstance(module, (Scatter, Contracter, Layers))]
        if convolutions and not self.training and "edge_index" in data and can_be_recorded(data):
            made = replayed(Step(self, convolutions, lambda data, graph: super(Recorded, self).__call__(data)), data)
            if made is not None:
                return made
        return super().__call__(data)


STEPS = {"nequip.nn.graph_model.GraphModel": Recorded}


def sites(model: torch.nn.Module) -> Sites:
    found: Sites = {}
    embed = [module for module in model.modules() if EMBED in names_of(module)]
    for path, module in model.named_modules():
        names, inside = names_of(module), path + "." if path else ""
        if SCATTER in names:
            found |= scatter_sites(path, module, names)
        elif BLOCK in names:
            found |= block_sites(path, inside, module, embed)
    return found


def scatter_sites(path: str, module: Any, names: set[str]) -> Sites:
    if type(module).__qualname__ != "TensorProductScatter":
        return {path: Left(path, module, "another modifier computes it"), f"{path}.tp": None}
    if why := why_not(module.tp):
        return {path: Left(path, module, why), f"{path}.tp": None}
    return {path: Site(path, module, Scatter, lambda dtype: [convolution_spec(module.tp, dtype)], what="convolution"),
            f"{path}.tp": None}


def block_sites(path: str, inside: str, block: Any, embed: list[Any]) -> Sites:
    return {path: Site(path, block, Interaction, lambda dtype: []),
            f"{inside}edge_mlp": Site(f"{inside}edge_mlp", block.edge_mlp, Mlp, lambda dtype: []),
            **(connection_sites(f"{inside}sc", block, embed) if block.sc is not None else {})}


def connection_sites(at: str, block: Any, embed: list[Any]) -> Sites:
    if not is_by_species(block.sc):
        return {at: Left(at, block.sc, "y is not species alone")}
    if len(embed) != 1 or embed[0].embed_module.weight.shape[1] != block.sc.irreps_in2.dim:
        return {at: Left(at, block.sc, "node attributes are not of species alone")}
    return {at: Site(at, block.sc, SelfConnection, lambda dtype: [species_spec(block.sc, dtype)],
                     {"embed": (embed[0],)}, what="product by species")}


def enable_cgtpgen(model: torch.nn.Module, folder: Optional[str] = None) -> torch.nn.Module:
    """The modifier: kernels for NequIP's and Allegro's products."""
    from .torch_models import accelerate
    return accelerate(model, folder, strict=True)


def register(modify_utils: Any = None) -> None:
    """Adds the modifier `enable_cgtpgen` to those that NequIP finds, also in packaged models, which have code of their own.
    modify_utils: NequIP's module of them, where it is being imported."""
    if modify_utils is None:
        from nequip.model import modify_utils
    from nequip.nn.model_modifier_utils import model_modifier

    if hasattr(modify_utils.get_all_modifiers, "cgtpgen"):
        return
    own = modify_utils.get_all_modifiers

    class Modifier:
        @model_modifier(persistent=False, supported_compile_modes=["aotinductor"])
        @classmethod
        def enable_cgtpgen(cls, model: torch.nn.Module, folder: Optional[str] = None) -> torch.nn.Module:
            return enable_cgtpgen(model, folder)

    def get_all_modifiers(module: torch.nn.Module, _all_modifiers: Any = None) -> Any:
        found = own(module, _all_modifiers)
        if any({SCATTER, CONTRACTER} & names_of(part) for part in module.modules()):
            found["enable_cgtpgen"] = Modifier.enable_cgtpgen
        return found

    get_all_modifiers.cgtpgen = True  # type: ignore[attr-defined]
    modify_utils.get_all_modifiers = get_all_modifiers
