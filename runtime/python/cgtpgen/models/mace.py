# SPDX-License-Identifier: MIT
"""MACE: its convolutions by its own switch for fused ones, skip connections by element, contractions, linear layers."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Optional

import torch
from torch import Tensor

from .contraction import contraction_site
from .fast import Fast, Left, Site, Sites, Trilinear, has_hooks, name_of, names_of, warn
from .graphs import Step, can_be_recorded, given, replayed
from .radial import Paired, pairs_for
from .products import Linear, convolution_spec, is_by_species, is_eager, linear_site, species_site, why_not

BLOCK = "mace.modules.blocks.InteractionBlock"
RADIAL = "mace.modules.blocks.RadialEmbeddingBlock"
BESSEL, CUTOFF = "mace.modules.radial.BesselBasis", "mace.modules.radial.PolynomialCutoff"
SCALED = {"mace.modules.blocks.RealAgnosticResidualInteractionBlock"}  # which divides by a number between `linear` and `reshape`
MODELS = {"mace.modules.models.MACE"}
EDGES_MATTER = {"compute_edge_forces", "compute_atomic_stresses", "lammps_mliap"}  # whose results or inputs are in the list's order
GRAPHS_STAY = {"training", "compute_hessian"}  # whose results are differentiated once more


class Convolution(Fast):
    """e3nn's TensorProduct in an interaction block, with gather and scatter: MACE's way of calling fused ones."""

    flag = "conv_fusion"

    def typed(self) -> Tensor:
        return self.output_mask

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution())

    def forward(self, node_feats: Tensor, edge_attrs: Tensor, tp_weights: Tensor, edge_index: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            return self.cgtp(node_feats, edge_attrs, tp_weights, edge_index)
        else:
            graph = self.__dict__.get("cgtp_graph")  # of a model that has sorted what is of edges
            return self.cgtp(node_feats, edge_attrs, tp_weights, edge_index if graph is None else graph)

    def cgtp_ends(self, edge_index: Tensor) -> Tensor:
        return edge_index


class Message(Linear):
    """The linear layer before `Reshape`, to which it gives rows as they are to be: [rows, channels, components]."""

    def cgtp_turned(self, x: Optional[Tensor], weight: Optional[Tensor], z: Optional[Tensor]) -> Tensor:
        return self.cgtp_form(x, weight, z, True)

    def __call__(self, features: Tensor, *more: Any, **options: Any) -> Any:
        [reshape] = self.cgtp_made.options["reshape"]
        if more or options or features.dim() != 2 or not isinstance(reshape, Reshape) or not is_eager(features, self.weight) or \
                has_hooks(self) or has_hooks(reshape):
            return super().__call__(features, *more, **options)
        z = Trilinear.apply(self.cgtp_turned, features, self.weight, None)
        return z.unflatten(1, (-1, self.irreps_out[0].mul)).mT


class Reshape(Fast):
    """MACE's reshape_irreps, of an interaction's output: rows by channel, which lie in memory as contractions take them. Slices
    would each add a row of full length in backward."""

    def attach(self, layers: list[Any]) -> None:
        pass

    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor if tensor.dim() == 3 else super().__call__(tensor)  # `Message` has done it

    def forward(self, tensor: Tensor) -> Tensor:
        parts = []
        for part, mul, d in zip(tensor.split([mul * d for mul, d in zip(self.muls, self.dims)], 1), self.muls, self.dims):
            parts.append(part.reshape(tensor.shape[0], mul, d).transpose(1, 2))
        return torch.cat(parts, 1).transpose(1, 2)


def functions(r: Tensor, bessel: Tensor, most: Tensor, p: int) -> tuple[Tensor, Tensor]:
    """sin(bessel r) / r with MACE's cutoff, and its slope."""
    x, turns = r / most, r * bessel
    sine, inside, power = turns.sin() / r, x < 1, x**(p - 1)
    value = 1 - power * x * ((p + 1) * (p + 2) / 2 - x * (p * (p + 2) - p * (p + 1) / 2 * x))
    slope = power * (1 - x).square() * (-p * (p + 1) * (p + 2) / 2)
    value, slope = value * inside, slope * inside / most
    return sine * value, (bessel * turns.cos() - sine) * (value / r) + sine * slope


class BesselFunctions(torch.autograd.Function):
    """[rows, functions] of lengths [rows, 1]. PyTorch's own derivatives of MACE's are thirty passes, powers of integers among them."""

    @staticmethod
    def forward(ctx: Any, r: Tensor, bessel: Tensor, most: Tensor, p: int) -> Tensor:
        made, slope = functions(r, bessel, most, p)
        ctx.p = p
        ctx.save_for_backward(r, bessel, most, slope)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        r, bessel, most, slope = ctx.saved_tensors
        if torch.is_grad_enabled():  # for derivatives of it
            slope = functions(r, bessel, most, ctx.p)[1]
        return (gradients[0] * slope).sum(1, keepdim=True), None, None, None


class Radial(Paired):
    """MACE's functions of lengths of edges, which networks are given. Its forward stays, for TorchScript."""

    def __call__(self, lengths: Tensor, *more: Any) -> Any:
        pairs = self.__dict__.get("cgtp_pairs")
        rows = None
        if pairs is not None and is_eager(lengths) and not hasattr(self, "distance_transform"):  # which is of edges
            rows = pairs.rows_of(lengths)
        if rows is None:
            return self.cgtp_functions(lengths, *more)
        made = self.cgtp_functions(rows, *more)
        return tuple(one if one is None else pairs.each(one) for one in made) if isinstance(made, tuple) else pairs.each(made)

    def cgtp_functions(self, lengths: Tensor, *more: Any) -> Any:
        basis, cutoff = self.bessel_fn, self.cutoff_fn
        known = lengths.device.type == "cpu" and name_of(basis) == BESSEL and name_of(cutoff) == CUTOFF and \
            self.__dict__.get("apply_cutoff") is True and not hasattr(self, "distance_transform") and \
            not basis.bessel_weights.requires_grad and not any(map(has_hooks, (self, basis, cutoff))) and is_eager(lengths)
        if not known:
            return super().__call__(lengths, *more)
        return BesselFunctions.apply(lengths, basis.bessel_weights, cutoff.r_max, int(cutoff.p)) * basis.prefactor, None


class Model(Fast):
    """A model of MACE. Its list of neighbours ascends by sender: what is given of edges is sorted by receiver once, where each
    layer would have to move its rows of weights. And MACE's own conversions build a model anew from its settings: for
    compile_mode, enable_cueq, enable_oeq."""

    def __call__(self, data: Any, *arguments: Any, **options: Any) -> Any:
        convolutions = [block.conv_tp for block in self.interactions if isinstance(block.conv_tp, Convolution)]
        asked = self.cgtp_asked(arguments, options)
        if not convolutions or not is_sortable(data) or EDGES_MATTER & asked:
            return super().__call__(data, *arguments, **options)

        def sorted_step(data: Any, graph: Any) -> Any:
            if graph.order is None:
                return self.cgtp_paired(data, *arguments, **options)
            moved = {key: graph.sort(data[key]) for key in ("shifts", "unit_shifts")}
            moved["edge_index"] = torch.stack([graph.sender, graph.receiver]).to(data["edge_index"].dtype)
            with given(convolutions, graph._replace(order=None)):
                return self.cgtp_paired({**data, **moved}, *arguments, **options)
        if self.cgtp_made.options.get("graphs") and not GRAPHS_STAY & asked and can_be_recorded(data):
            made = replayed(Step(self, convolutions, sorted_step, ("node_attrs",), (arguments, options)), data)
            if made is not None:
                return made
        nodes = data["positions"]  # stands for what has a row for each
        return sorted_step(data, convolutions[0].cgtp._graph(data["edge_index"], nodes, nodes, None, None))

    def cgtp_paired(self, data: Any, *arguments: Any, **options: Any) -> Any:
        nets = [getattr(block, name, None) for block in self.interactions for name in ("conv_tp_weights", "density_fn")]
        with pairs_for([*nets, getattr(self, "radial_embedding", None)], data["edge_index"], data["shifts"]):
            return super().__call__(data, *arguments, **options)

    def cgtp_asked(self, arguments: Any, options: dict[str, Any]) -> set[str]:
        """The options that are on."""
        names = parameters_of(type(self).cgtp_bases[0].forward)[2:]
        return {name for name, value in {**dict(zip(names, arguments)), **options}.items() if value}

    def __init__(self, *arguments: Any, **settings: Any):
        base = type(self).cgtp_bases[0]
        self.__class__ = base
        base.__init__(self, *arguments, **settings)
        warn("MACE builds a new model from the settings of this one (compile_mode, enable_cueq, enable_oeq), and generated "
             "kernels are not in that: leave the option out, or give it restore(model)")

    def attach(self, layers: list[Any]) -> None:
        pass


@functools.lru_cache(maxsize=None)
def parameters_of(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


STEPS = {name: Model for name in MODELS}


def is_sortable(data: Any) -> bool:
    """Is it a batch of numbers, with all that there is of edges?"""
    return isinstance(data, dict) and {"positions", "edge_index", "shifts", "unit_shifts"} <= data.keys() and \
        is_eager(data["positions"], data["edge_index"]) and data["edge_index"].dim() == 2


def sites(model: torch.nn.Module) -> Sites:
    found: Sites = {}
    for path, module in model.named_modules():
        names, inside = names_of(module), path + "." if path else ""
        if names & MODELS:
            found[path] = Site(path, module, Model, lambda dtype: [], what="")
        if BLOCK in names:
            found |= block_sites(inside, module)
        elif RADIAL in names:
            found[path] = Site(path, module, Radial, lambda dtype: [])
        elif "mace.modules.blocks.EquivariantProductBasisBlock" in names:
            found |= product_sites(inside, module)
    return found


def block_sites(inside: str, block: Any) -> Sites:
    found: Sites = {}
    path, product = f"{inside}conv_tp", block.conv_tp
    if "e3nn.o3._tensor_product._tensor_product.TensorProduct" not in names_of(product):
        found[path] = Left(path, product, f"another package computes it ({type(product).__module__})")
    elif "conv_fusion" in block.__dict__:
        found[path] = Left(path, product, "another package computes it (conv_fusion)")
    elif why := why_not(product):
        found[path] = Left(path, product, why)
    else:
        found[path] = Site(path, product, Convolution, lambda dtype: [convolution_spec(product, dtype)], what="convolution")
    reshape = getattr(block, "reshape", None)
    if "mace.modules.irreps_tools.reshape_irreps" in names_of(reshape) and getattr(reshape, "cueq_config", None) is None:
        found[f"{inside}reshape"] = Site(f"{inside}reshape", reshape, Reshape, lambda dtype: [])
        linear = linear_site(f"{inside}linear", block.linear) if name_of(block) in SCALED and "forward" not in block.__dict__ else None
        if isinstance(linear, Site) and reshape.irreps == block.linear.irreps_out and len({*reshape.muls}) == 1:
            linear.mixin, linear.options = Message, {"reshape": (reshape,)}
            found[linear.path] = linear
    skip = getattr(block, "skip_tp", None)
    if skip is not None and hasattr(skip, "irreps_in2") and is_by_species(skip):
        found[f"{inside}skip_tp"] = species_site(f"{inside}skip_tp", skip)
    return found


def product_sites(inside: str, block: Any) -> Sites:
    path = f"{inside}symmetric_contractions"
    old = block.symmetric_contractions
    if "mace.modules.symmetric_contraction.SymmetricContraction" not in names_of(old):
        return {path: Left(path, old, f"another package computes it ({type(old).__module__})")}
    return {path: contraction_site(path, old)}
