# SPDX-License-Identifier: MIT
"""SevenNet: its convolutions, serial and parallel, and self connections by species."""
from __future__ import annotations

import contextlib
from typing import Any, Dict

import torch
from torch import Tensor

from .fast import Fast, Left, Site, Sites, look_once, names_of
from .graphs import Step, can_be_recorded, replayed
from .radial import pairs_for
from .products import convolution_spec, is_by_species, species_site, why_not

CONVOLUTION = "sevenn.nn.convolution.IrrepsConvolution"
OTHERS = {"sevenn.nn.convolution.IrrepsScatterGatterFusedConvolution"}


class Convolution(Fast):
    """SevenNet's IrrepsConvolution, with gather and scatter in the kernel."""

    def typed(self) -> Tensor:
        return self.convolution.output_mask

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution(sender_row=1))

    def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
        if torch.jit.is_scripting():
            weight = self.weight_nn(data[self.key_weight_input])
        else:
            # a virial of each atom is that of edges to it
            nets = [] if any(forces.use_atomic_virial for forces in self.cgtp_made.options["forces"]) else [self.weight_nn]
            with pairs_for(nets, data[self.key_edge_idx], data.get("edge_vec")):
                weight = self.weight_nn(data[self.key_weight_input])
        x = data[self.key_x]
        if self.is_parallel:
            x = torch.cat([x, data["x_ghost"]])
        if torch.jit.is_scripting():
            x = self.cgtp(x, data[self.key_filter], weight, data[self.key_edge_idx])
        else:
            graph = self.__dict__.get("cgtp_graph")
            x = self.cgtp(x, data[self.key_filter], weight, data[self.key_edge_idx] if graph is None else graph)
        x = x.div(self.denominator)
        if self.is_parallel:
            x = torch.tensor_split(x, data["nlocal"])[0]
        data[self.key_x] = x
        return data

    def cgtp_ends(self, edge_index: Tensor) -> Tensor:
        return edge_index


class Volume:
    """Stands for the volume of a cell where it is asked whether it is as good as none, which a recorded step cannot see."""

    def __init__(self, value: Tensor):
        self.value = value

    def __lt__(self, limit: float) -> bool:
        self.value = torch.where(self.value < limit, limit, self.value)
        return False

    def unsqueeze(self, dim: int) -> Tensor:
        return self.value.unsqueeze(dim)


class Recorded(Fast):
    """A model whose force steps are CUDA graphs, but for how atoms become species."""

    def attach(self, layers: list[Any]) -> None:
        pass

    def __call__(self, data: Any) -> Any:
        convolutions = [module for module in self.modules() if isinstance(module, Convolution)]
        if not convolutions or self.training or self.is_batch_data or any(module.is_parallel for module in convolutions) or \
                self._forward_hooks or self._forward_pre_hooks:
            return super().__call__(data)
        data = self._preprocess(data)
        made = replayed(Step(self, convolutions, self.cgtp_step), data) if can_be_recorded(data) else None
        if made is None:
            for module in self:
                data = module(data)
            return data
        for name, value in made.items():
            data[name] = value
        return data

    def cgtp_step(self, data: Any, graph: Any) -> Any:
        volume, atoms = data["cell_volume"], data["num_atoms"]
        data["cell_volume"], data["num_atoms"] = Volume(volume), look_once(atoms.cpu)
        for module in self:
            data = module(data)
        data["cell_volume"], data["num_atoms"] = volume, atoms
        return data


STEPS = {"sevenn.nn.sequential.AtomGraphSequential": Recorded}


def sites(model: torch.nn.Module) -> Sites:
    found: Sites = {}
    forces = tuple(module for module in model.modules() if hasattr(module, "use_atomic_virial"))
    for path, module in model.named_modules():
        names, inside = names_of(module), path + "." if path else ""
        if CONVOLUTION in names:
            found |= convolution_sites(path, module, forces)
        elif names & OTHERS:
            found[path] = Left(path, module, "another package computes it: build the model without enable_flash, enable_oeq")
        elif "sevenn.nn.self_connection.SelfConnectionIntro" in names and is_by_species(module.fc_tensor_product):
            found[f"{inside}fc_tensor_product"] = species_site(f"{inside}fc_tensor_product", module.fc_tensor_product)
    return found


def convolution_sites(path: str, block: Any, forces: tuple[Any, ...]) -> Sites:
    if "e3nn.o3._tensor_product._tensor_product.TensorProduct" not in names_of(block.convolution):
        return {path: Left(path, block, "another package computes it: build the model without enable_cueq")}
    if why := why_not(block.convolution):
        return {path: Left(path, block, why)}
    inside = f"{path}.convolution"  # which the block calls no more
    return {path: Site(path, block, Convolution, lambda dtype: [convolution_spec(block.convolution, dtype)],
                       {"forces": forces}, what="convolution"),
            inside: None}


def register() -> None:
    """Makes whatever sevenn builds from a checkpoint or for a deployment, serial, parallel or for ML-IAP, take kernels."""
    import sevenn.model_build
    import sevenn.scripts.deploy

    with contextlib.suppress(ImportError):  # which says that there is no LAMMPS
        from .sevenn_mliap import register as register_mliap
        register_mliap()

    own = sevenn.model_build.build_E3_equivariant_model
    if hasattr(own, "cgtpgen"):
        return

    def built(*arguments: Any, **more: Any) -> Any:
        from .torch_models import accelerate
        made = own(*arguments, **more)
        for model in made if isinstance(made, list) else [made]:
            accelerate(model)
        return made

    built.cgtpgen = True  # type: ignore[attr-defined]
    for module in sevenn.model_build, sevenn.scripts.deploy:
        module.build_E3_equivariant_model = built
