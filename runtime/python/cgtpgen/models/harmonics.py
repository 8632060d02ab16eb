# SPDX-License-Identifier: MIT
"""e3nn's spherical harmonics, which on a CPU are some hundred passes over one component of all edges each: as polynomials, products
of components made once and one product of matrices."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .fast import Fast, Site, has_hooks
from .products import is_eager
from .radial import DEVICES

HARMONICS = "e3nn.o3._spherical_harmonics.SphericalHarmonics"
MOST = 4  # degrees, to which they are as exact as e3nn's


def monomials(x: Tensor, degree: int) -> Tensor:
    """[monomials to this degree, rows] of x [3, rows], by degree, those with the highest power of x first, then of y. So each
    degree's are x times all of the last, y times those without x, z times z's power."""
    last, found = torch.ones_like(x[:1]), [torch.ones_like(x[:1])]
    for n in range(1, degree + 1):
        last = torch.cat([last * x[:1], last[-n:] * x[1:2], last[-1:] * x[2:]])
        found.append(last)
    return torch.cat(found)


def begin(degree: int) -> int:
    """Of a degree's monomials."""
    return degree * (degree + 1) * (degree + 2) // 6


def gradients_of(values: Tensor, degree: int) -> Tensor:
    """[3, monomials of degrees less than this, columns]: of polynomials whose coefficients are values' columns."""
    powers = [(a, b, n - a - b) for n in range(degree + 1) for a in range(n, -1, -1) for b in range(n - a, -1, -1)]
    found = values.new_zeros(3, begin(degree), values.shape[1])
    for row, power in enumerate(powers):
        for axis in range(3):
            if power[axis]:
                lower = powers.index(tuple(n - (k == axis) for k, n in enumerate(power)))
                found[axis, lower] += power[axis] * values[row]
    return found


def fitted(harmonics: Any, ls: list[int]) -> Tensor:
    """[monomials, components]: of each degree by its own monomials. harmonics: a function of directions, float64."""
    x = torch.nn.functional.normalize(torch.randn(400, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))
    basis, wanted, at = monomials(x.t(), max(ls)).t(), harmonics(x), 0
    found = x.new_zeros(basis.shape[1], wanted.shape[1])
    for l in ls:
        own, columns = slice(begin(l), begin(l + 1)), slice(at, at + 2 * l + 1)
        for _ in range(2):  # the second time what rounding has left
            found[own, columns] += torch.linalg.lstsq(basis[:, own], wanted[:, columns] - basis @ found[:, columns]).solution
        at += 2 * l + 1
    return found.where(found.abs() > 1e-12, 0.0)


def directions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Of x [3, rows], and lengths, at least 1e-12 as of torch.nn.functional.normalize, which is ten times as slow."""
    lengths = x.square().sum(0).clamp_min(1e-24).sqrt()
    return x / lengths, lengths


class Polynomials(torch.autograd.Function):
    """[rows, columns] of x [rows, 3], or of its directions."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, slopes: Tensor, degree: int, normalize: bool) -> Tensor:
        turned, lengths = x.t().contiguous(), None
        if normalize:
            turned, lengths = directions(turned)
        made = monomials(turned, degree)
        ctx.degree = degree
        ctx.save_for_backward(x, turned, lengths, made[:begin(degree)], slopes)
        return made.t() @ values

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, turned, lengths, below, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():  # for derivatives of these
            turned = x.t()
            if lengths is not None:
                turned, lengths = directions(turned)
            below = monomials(turned, ctx.degree - 1)
        found = ((slopes @ gradients[0].t()).unflatten(0, (3, -1)) * below).sum(1)  # [3, rows], of [3, monomials, rows]
        if lengths is not None:
            found = (found - turned * (turned * found).sum(0)) / lengths
        return found.t(), None, None, None, None


class Harmonics(Fast):
    """e3nn's SphericalHarmonics. Its forward stays, for TorchScript."""

    says = "polynomials, on CPUs"

    def attach(self, layers: list[Any]) -> None:
        pass

    def cgtp_tables(self, dtype: torch.dtype) -> list[Tensor]:
        found = self.__dict__.setdefault("cgtp_known", {})
        if dtype not in found:
            with torch.no_grad():
                values = fitted(super().__call__, list(self._ls_list))
                found[dtype] = [table.to(dtype) for table in (values, gradients_of(values, self._lmax).flatten(0, 1))]
        return found[dtype]

    def __call__(self, x: Tensor) -> Any:
        if x.device.type not in DEVICES or x.dim() != 2 or not is_eager(x):
            return super().__call__(x)
        return Polynomials.apply(x, *self.cgtp_tables(x.dtype), self._lmax, bool(self.normalize))


def harmonics_site(path: str, module: Any) -> Optional[Site]:
    known = 1 <= module._lmax <= MOST and not has_hooks(module)
    return Site(path, module, Harmonics, lambda dtype: []) if known else None
