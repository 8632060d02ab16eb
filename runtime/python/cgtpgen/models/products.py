# SPDX-License-Identifier: MIT
"""e3nn's own modules: tensor products, in a batch or on a graph, products by species, and linear layers."""
from __future__ import annotations

import json
import math
from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils import weak

from .fast import Fast, Left, Site, Trilinear, look_once, name_of, warn
from .kernels import Spec
from .e3nn_specs import product_spec, reader

TENSOR_PRODUCT = "e3nn.o3._tensor_product._tensor_product.TensorProduct"
LINEAR = "e3nn.o3._linear.Linear"
EXTRACT = "e3nn.nn._extract.Extract"
FEW = 4  # species
ALONG_X = {"name": "backward_x", "of": "backward", "outputs": ["gx"]}  # all that is asked for where weights are constants


def convolution_spec(product: Any, dtype: str) -> Spec:
    return product_spec(product, "convolution", dtype, index=reader.CONVOLUTION, reduction="atomic")


def overrides(module: Any, known: str) -> bool:
    """Has somebody given its class, or itself, another forward than that of the class that is known?"""
    own = next(kind for kind in type(module).__mro__ if name_of(kind) == known)
    return type(module).forward is not own.forward or "forward" in module.__dict__


def why_not(product: Any) -> Optional[str]:
    """Why a tensor product has no kernels."""
    if overrides(product, TENSOR_PRODUCT):
        return "its forward is not e3nn's"
    if max(ir.l for irreps in (product.irreps_in1, product.irreps_in2, product.irreps_out) for _, ir in irreps) > 11:
        return "cgtpgen knows irreps to l = 11"
    return None


# ---- a tensor product in a batch ----

class Product(Fast):
    """e3nn's TensorProduct, computed by generated kernels."""

    def typed(self) -> Tensor:
        return self.output_mask

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].TensorProduct(internal_weights=False, shared_weights=self.shared_weights))

    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor] = None) -> Tensor:
        return self.cgtp(x, y, self.weight if weight is None else weight)


def product_site(path: str, product: Any) -> Site | Left | None:
    if not any(i.path_weight for i in product.instructions):
        return None  # nothing to compute
    why = why_not(product)
    if why is None and isinstance(product.weight, torch.nn.Parameter) != bool(product.internal_weights and
                                                                              product.weight_numel):
        why = "its weights are not where e3nn has them"
    if why:
        return Left(path, product, why)
    return Site(path, product, Product, lambda dtype: [product_spec(product, "product", dtype)], what="product")


# ---- products by species ----

class Species:
    """Of rows of one-hot species, or of numbers of species: which there are, which of these each row is of."""

    def __init__(self, given: Tensor):
        species = given.argmax(1) if given.dim() > 1 else given
        self.item = torch.arange(given.shape[0], device=given.device)
        self.present: Optional[Tensor] = None  # all
        self.one_hot = True
        if is_traced(given):  # asking for more, such as a version, would end torch.compile's graph
            self.ones, self.index = given.gather(1, species[:, None]) if given.dim() > 1 else None, species
            return
        self.version = given._version
        self.present, self.index = torch.unique(species, return_inverse=True)
        if given.dim() > 1:
            self.one_hot = not given.requires_grad and bool((given.count_nonzero(1) <= 1).all())
            self.ones = given.detach().gather(1, species[:, None])


def is_traced(given: Tensor) -> bool:
    """Is a program made, for other rows, or may nothing be remembered of these?"""
    return torch.compiler.is_compiling() or torch.jit.is_tracing() or given.is_inference() or type(given) is not Tensor


def is_eager(*given: Tensor) -> bool:
    """Are numbers computed now, without any transformation but reverse derivatives?"""
    return not (torch.compiler.is_compiling() or torch.jit.is_tracing() or torch._C._len_torch_dispatch_stack() > 0 or
                torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0 or
                torch.is_autocast_enabled(given[0].device.type))


_species: weak.WeakIdKeyDictionary = weak.WeakIdKeyDictionary()


def species_of(given: Tensor) -> Species:
    """Looked at once for all layers: a tensor that something writes to by other ways than PyTorch's is compared with what
    was found, which is little beside the rows of weights that it saves."""
    return Species(given) if is_traced(given) else look_once(lambda: _species_of(given))


def _species_of(given: Tensor) -> Species:
    known = _species.get(given)
    if known is None or known[0].version != given._version or not torch.equal(known[1], given):
        known = _species[given] = Species(given), given.detach().clone()
    return known[0]


def is_by_species(product: Any) -> bool:
    """Is y a row of scalars, and each path a matrix of weights for each of them?"""
    return (all(ir.l == 0 and ir.p == 1 for _, ir in product.irreps_in2) and len(product.irreps_in2) == 1 and
            all(i.connection_mode == "uvw" and i.has_weight for i in product.instructions) and
            bool(product.internal_weights) and len(product.instructions) > 0)


def species_spec(product: Any, dtype: str) -> Spec:
    """A linear layer whose weights are those of an item's species, y one number of each item."""
    def text(name: str) -> str:
        lines = [f"{key}: {json.dumps(value)}" for key, value in {
            "cgtp": 1, "name": name, "irreps": {"x": str(product.irreps_in1), "y": "0e", "z": str(product.irreps_out)},
            "normalization": {"irrep": "none", "path": "none"}, "precision": dtype,
            "index": {"x": "item", "y": "item", "w": "sender", "z": "item"}, "edges": "any",
            "kernels": ["forward", "backward", "double_backward", ALONG_X],
            **reader.unused_of([[mul for mul, _ in product.irreps_in1], [1], [mul for mul, _ in product.irreps_out]],
                               [(i.i_in1, 0, i.i_out) for i in product.instructions if i.path_weight])}.items()]
        lines += ["instructions:", *(f'  - [{i.i_in1}, 0, {i.i_out}, "uvw", true, {reader._square(float(i.path_weight))}]'
                                     for i in product.instructions)]
        return "\n".join(lines) + "\n"
    return Spec("species", text)


def weights_by_species(product: Any, present: Optional[Tensor], embedding: Optional[Tensor] = None) -> Tensor:
    """[species, weights]: of a product's paths, for species that are present; for rows of an embedding of species instead
    of one-hot ones."""
    found, at, weight = [], 0, product.weight
    if embedding is not None and present is not None:
        embedding = embedding.index_select(0, present)
    for i in product.instructions:
        size = math.prod(i.path_shape)
        path = weight[at:at + size].view(i.path_shape)  # [u, v, w]
        if embedding is None and present is not None:
            path = path.index_select(1, present)
        if embedding is not None:
            path = torch.bmm(embedding.expand(i.path_shape[0], -1, -1), path)  # which reads them once, and copies none
        found.append(path.transpose(0, 1).flatten(1))
        at += size
    return torch.cat(found, 1)


class BySpecies(Fast):
    """e3nn's FullyConnectedTensorProduct of features and one-hot species: a matrix for each species."""

    def typed(self) -> Tensor:
        return self.output_mask

    def attach(self, layers: list[Any]) -> None:
        self.keep(layers[0].Convolution())

    def forward(self, x: Tensor, y: Tensor, weight: Optional[Tensor] = None) -> Tensor:
        if torch.jit.is_scripting():
            return self._compiled_main_left_right(x, y, self.weight if weight is None else weight)
        else:
            species = species_of(y)
            if species.one_hot and weight is None:
                return self.cgtp(x, species.ones, weights_by_species(self, species.present), (species.index, species.item),
                                 receivers=x.shape[0])
            if not species.one_hot:
                warn("rows of species are not one-hot: such products stay e3nn's, which is slow")
            return super().forward(x, y, weight)


def species_site(path: str, product: Any) -> Site | Left | None:
    if is_by_species(product) and product.irreps_in2.dim <= FEW and product.weight.device.type != "cpu":
        return None  # e3nn's, one product of matrices, is as fast
    why = why_not(product)
    if why is None and not is_by_species(product):
        why = "y is not species alone"
    if why:
        return Left(path, product, why)
    return Site(path, product, BySpecies, lambda dtype: [species_spec(product, dtype)], what="product by species")


# ---- linear layers ----

def by_component(rows: Tensor, mul: int, dim: int) -> Tensor:
    """Rows of a segment, one for each component."""
    return rows.unflatten(1, (mul, dim)).mT.reshape(-1, mul)


class Linear(Fast):
    """e3nn's Linear, with neighbouring segments of one irrep as one: a product of matrices for each irrep."""

    says = "one product of matrices an irrep"

    def typed(self) -> Tensor:
        return self.output_mask

    def attach(self, layers: list[Any]) -> None:
        scales = [{i.path_weight for i in self.instructions if i.i_out == out}.pop() for out in range(len(self.irreps_out))]
        self.cgtp_blocks = [(one.mul, two.mul, one.ir.dim, scale)
                            for one, two, scale in zip(self.irreps_in.simplify(), self.irreps_out, scales)]

    def cgtp_product(self, x: Tensor, weight: Tensor) -> Tensor:
        parts = x.split([u * dim for u, _, dim, _ in self.cgtp_blocks], 1)
        weights = weight.split([u * w for u, w, _, _ in self.cgtp_blocks])
        made = []
        for part, matrix, (u, w, dim, scale) in zip(parts, weights, self.cgtp_blocks):
            matrix = matrix.view(u, w) * scale
            if dim == 1:
                made.append(part @ matrix)
            else:
                z = by_component(part, u, dim) @ matrix
                made.append(z.unflatten(0, (x.shape[0], dim)).mT.flatten(1))
        return torch.cat(made, 1)

    def cgtp_form(self, x: Optional[Tensor], weight: Optional[Tensor], z: Optional[Tensor], turned: bool = False) -> Tensor:
        """The one that is missing, of the other two (Trilinear), written to where it belongs. Views are made in one go: with few
        rows, or on a GPU, calls are what it costs. turned: z has rows of components of channels."""
        if weight is None:
            return self.cgtp_outer(x, z, turned)
        rows, back = (z, True) if x is None else (x, False)
        n, [row, step], start = rows.shape[0], rows.stride(), rows.storage_offset()
        width = sum(block[0 if back else 1] * block[2] for block in self.cgtp_blocks)
        made, one, at, to, [by] = rows.new_empty(n, width), weight[:1], weight.storage_offset(), 0, weight.stride()
        for u, w, dim, scale in self.cgtp_blocks:
            matrix = weight.as_strided((w, u), (by, w * by), at) if back else weight.as_strided((u, w), (w * by, by), at)
            at += u * w * by
            if back:
                u, w = w, u
            if dim == 1:
                into = made.as_strided((n, w), (width, 1), to)
                torch.addmm(into, rows.as_strided((n, u), (row, step), start), matrix, beta=0, alpha=scale, out=into)
            else:
                given, written = ((u, 1) if turned and back else (1, dim)), ((w, 1) if turned and not back else (1, dim))
                part = rows.as_strided((n, dim, u), (row, given[0] * step, given[1] * step), start).reshape(-1, u)
                product = torch.addmm(one, part, matrix, beta=0, alpha=scale)
                made.as_strided((n, dim, w), (width, *written), to).copy_(product.view(n, dim, w))
            start, to = start + u * dim * step, to + w * dim
        return made

    def cgtp_outer(self, x: Tensor, z: Tensor, turned: bool) -> Tensor:
        made = x.new_empty(sum(u * w for u, w, _, _ in self.cgtp_blocks))
        at, from_x, from_z, n = 0, x.storage_offset(), z.storage_offset(), x.shape[0]
        [row_x, step_x], [row_z, step_z] = x.stride(), z.stride()
        for u, w, dim, scale in self.cgtp_blocks:
            if dim == 1:
                of_x, of_z = x.as_strided((n, u), (row_x, step_x), from_x), z.as_strided((n, w), (row_z, step_z), from_z)
            else:
                of_x = x.as_strided((n, dim, u), (row_x, step_x, dim * step_x), from_x).reshape(-1, u)
                by = (w, 1) if turned else (1, dim)
                of_z = z.as_strided((n, dim, w), (row_z, by[0] * step_z, by[1] * step_z), from_z).reshape(-1, w)
            into = made.as_strided((u, w), (w, 1), at)
            torch.addmm(into, of_x.t(), of_z, beta=0, alpha=scale, out=into)
            at, from_x, from_z = at + u * w, from_x + u * dim * step_x, from_z + w * dim * step_z
        return made

    def forward(self, features: Tensor, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None) -> Tensor:
        if torch.jit.is_scripting():
            return self._compiled_main(features, self.weight if weight is None else weight,
                                       self.bias if bias is None else bias)
        else:
            own, rows = self.weight if weight is None else weight, features.dim() == 2
            x = features if rows else features.reshape(-1, features.shape[-1])
            z = Trilinear.apply(self.cgtp_form, x, own, None) if is_eager(x, own) else self.cgtp_product(x, own)
            return z if rows else z.reshape(features.shape[:-1] + z.shape[-1:])


def linear_site(path: str, linear: Any) -> Site | Left:
    joined = linear.irreps_in.simplify()
    why = None
    if overrides(linear, LINEAR):
        why = "its forward is not e3nn's"
    elif linear.bias_numel or not linear.shared_weights or not linear.weight_numel:
        why = "it has biases, or weights that are not its own"
    elif [ir for _, ir in joined] != [ir for _, ir in linear.irreps_out]:
        why = "irreps of its output are others, or in another order"
    elif len({(i.i_out, i.path_weight) for i in linear.instructions}) != len(linear.irreps_out) or \
            len(linear.instructions) != len(linear.irreps_in):
        why = "not every segment goes to its irrep"
    elif len(joined) == 1:
        why = "one irrep: e3nn's is one product of matrices, too"
    if why:
        return Left(path, linear, why)
    return Site(path, linear, Linear, lambda dtype: [], what="linear layer")


# ---- what gates cut rows with ----

class Extract(Fast):
    """e3nn's Extract as one split of rows, whose derivative is one row put together, where e3nn writes segments one by one into
    rows of zeros, which backward undoes one by one."""

    def attach(self, layers: list[Any]) -> None:
        slices = self.irreps_in.slices()
        rows = [runs([slices[i] for i in of if slices[i].stop > slices[i].start]) for of in self.instructions]
        begins = sorted(begin for row in rows for begin, _ in row)
        self.cgtp_sizes = [end - begin for begin, end in zip(begins, [*begins[1:], self.irreps_in.dim])]
        self.cgtp_parts = [[begins.index(begin) for begin, _ in row] for row in rows]

    def forward(self, x: Tensor):  # returns as many as there are outputs, which TorchScript finds out
        if torch.jit.is_scripting():
            return self._compiled_forward(x)
        else:
            return self.cgtp_extract(x)

    def cgtp_extract(self, x: Tensor) -> tuple[Tensor, ...]:
        made = x.split(self.cgtp_sizes, -1)
        rows = [[made[number] for number in row] for row in self.cgtp_parts]
        return tuple(row[0] if len(row) == 1 else torch.cat(row, -1) if row else x[..., :0] for row in rows)


def runs(slices: list[slice]) -> list[tuple[int, int]]:
    """Neighbours as one."""
    found: list[tuple[int, int]] = []
    for one in slices:
        if found and found[-1][1] == one.start:
            found[-1] = found[-1][0], one.stop
        else:
            found.append((one.start, one.stop))
    return found


def extract_site(path: str, extract: Any) -> Optional[Site]:
    """Where each segment goes to one place, and all have one."""
    used = sorted(i for of in extract.instructions for i in of)
    if name_of(extract) != EXTRACT or overrides(extract, EXTRACT) or used != list(range(len(extract.irreps_in))):
        return None
    return Site(path, extract, Extract, lambda dtype: [])
