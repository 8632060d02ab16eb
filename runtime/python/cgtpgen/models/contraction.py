# SPDX-License-Identifier: MIT
"""MACE's symmetric contraction: a node's features to some power, as a chain of tensor products.

Of every output each degree is a polynomial of the features, channel by channel, and each of its terms a product of a
product .. of features. `Chain` finds few products of two of which all terms are sums, whichever basis MACE was built with:
squares, cubes where the correlation is 4, and a last product, whose weights are MACE's, mixed.
"""
from __future__ import annotations

import itertools
import json
from typing import Any

import torch
from torch import Tensor

from .e3nn_specs import reader
from .fast import Again, Fast, Left, Site
from .kernels import Spec

Factor = tuple[Any, Tensor]  # an irrep, and its tensor [components, components of x for each degree]


def coupled(left: Tensor, of: Any, at: slice, ir: Any, out: Any, n: int) -> Tensor:
    """(left x an irrep of x)_out."""
    from e3nn import o3
    made = left.new_zeros(out.dim, *left.shape[1:], n)
    made[..., at] = torch.einsum("a...,abm->m...b", left, o3.wigner_3j(of.l, ir.l, out.l, dtype=left.dtype))
    return made * out.dim**0.5


def symmetric(t: Tensor) -> Tensor:
    turns = list(itertools.permutations(range(1, t.dim())))
    return sum(t.permute(0, *turn) for turn in turns) / len(turns)


class Chain:
    """The products that a contraction is made of.

    levels: of squares, cubes ..: [(factor of the level before, irrep of x, irrep that is made)]
    last: for each output and degree: [(factor of the row below, irrep of x)], and how MACE's polynomials are sums of them;
    the row is what the last level makes, .. , squares, x and one.
    """

    def __init__(self, old: Any):
        from e3nn import o3
        self.irreps, self.out = [ir for _, ir in old.irreps_in], [ir for _, ir in old.irreps_out]
        self.n = old.irreps_in.dim // old.irreps_in[0].mul
        ends = list(itertools.accumulate(ir.dim for ir in self.irreps))
        self.at = [slice(end - ir.dim, end) for end, ir in zip(ends, self.irreps)]
        self.degree = max(contraction.correlation for contraction in old.contractions)
        x = [(ir, torch.eye(self.n, dtype=torch.float64)[s]) for ir, s in zip(self.irreps, self.at)]
        factors: list[list[Factor]] = [[(o3.Irrep("0e"), torch.ones(1, dtype=torch.float64))], x]
        levels: list[list[tuple[int, int, Any]]] = []
        for degree in range(2, self.degree):
            levels.append(self.level(factors[-1], degree))
            factors.append([(ir, coupled(factors[-1][f][1], factors[-1][f][0], self.at[j], self.irreps[j], ir, self.n))
                            for f, j, ir in levels[-1]])
        found = [[self.fitted(contraction, degree, factors[degree - 1], out) for degree in range(contraction.correlation, 0, -1)]
                 for contraction, out in zip(old.contractions, self.out)]
        self.prune(levels, found, len(x))

    def couplings(self, factors: list[Factor], degree: int, wanted: Any) -> list[tuple[int, int, Tensor]]:
        """Products of a factor and an irrep of x to an irrep, symmetrized, so many that any other is a sum of them.
        Symbols of an odd sum of degrees have another sign in old e3nn: such are left out."""
        chosen: list[tuple[int, int, Tensor]] = []
        unit = torch.zeros(wanted.dim * self.n**degree, 0, dtype=torch.float64)
        for (f, (of, t)), (j, ir) in itertools.product(enumerate(factors), enumerate(self.irreps)):
            if wanted in of * ir and (of.l + ir.l + wanted.l) % 2 == 0:
                column = symmetric(coupled(t, of, self.at[j], ir, wanted, self.n)).flatten()
                rest = column - unit @ (unit.T @ column)
                rest = rest - unit @ (unit.T @ rest)
                if rest.norm() > 1e-6:
                    chosen.append((f, j, column))
                    unit = torch.cat([unit, (rest / rest.norm())[:, None]], 1)
        return chosen

    def level(self, factors: list[Factor], degree: int) -> list[tuple[int, int, Any]]:
        irreps = sorted({ir for of, _ in factors for one in self.irreps for ir in of * one})
        return [(f, j, ir) for ir in irreps for f, j, _ in self.couplings(factors, degree, ir)]

    def fitted(self, contraction: Any, degree: int, factors: list[Factor], out: Any) -> tuple[list[tuple[int, int]], Tensor]:
        chosen = self.couplings(factors, degree, out)
        basis = getattr(contraction, f"U_matrix_{degree}").double().cpu().reshape(out.dim, *[self.n] * degree, -1)
        basis = torch.stack([symmetric(b).flatten() for b in basis.unbind(-1)], 1)
        columns = torch.stack([c for _, _, c in chosen], 1) if chosen else basis.new_zeros(len(basis), 0)
        mix = torch.linalg.lstsq(columns, basis).solution if chosen else basis.new_zeros(0, basis.shape[1])
        if not torch.allclose(columns @ mix, basis, atol=1e-5):
            raise NotImplementedError(f"its terms of degree {degree} to {out} are no sums of products of two whose degrees "
                                      f"have an even sum")
        return [(f, j) for f, j, _ in chosen], mix

    def prune(self, levels: list[Any], found: list[Any], of_x: int) -> None:
        """Leaves out what nothing reads, and numbers the row of factors: the last level, .. , squares, x, one."""
        used: list[set[int]] = [{0}, set(range(of_x)), *({*()} for _ in levels)]
        for terms in found:
            for degree, (pairs, _) in zip(range(len(terms), 0, -1), terms):
                used[degree - 1] |= {f for f, _ in pairs}
        for number in range(len(levels) - 1, 0, -1):
            used[number + 1] |= {levels[number][f][0] for f in used[number + 2]}
        kept = [sorted(numbers) for numbers in used]
        self.levels = [[(f if number == 0 else kept[number + 1].index(f), j, ir)
                        for at, (f, j, ir) in enumerate(level) if at in used[number + 2]] for number, level in enumerate(levels)]
        starts, start = {}, 0
        for degree in range(self.degree - 1, -1, -1):
            starts[degree] = start
            start += len(kept[degree])
        self.last = [[([(starts[degree - 1] + kept[degree - 1].index(f), j) for f, j in pairs], mix)
                      for degree, (pairs, mix) in zip(range(len(terms), 0, -1), terms)] for terms in found]
        if self.degree == 1:
            self.row = ["0e"]
        else:
            self.row = [ir for level in reversed(self.levels) for _, _, ir in level] + [*self.irreps, "0e"]

    def specs(self, mul: int, dtype: str) -> list[Spec]:
        def spec(kind: str, x: Any, z: Any, instructions: Any, **keys: Any) -> Spec:
            rows = {slot: "+".join(f"{mul}x{ir}" for ir in of) for slot, of in zip("xyz", (x, self.irreps, z))}
            return Spec(kind, lambda name: json.dumps({
                "cgtp": 1, "name": name, "irreps": rows, "instructions": instructions, "precision": dtype,
                **reader.unused_of([[mul] * len(of) for of in (x, self.irreps, z)], [path[:3] for path in instructions]),
                "normalization": {"irrep": "component", "path": "none"}, **keys}) + "\n")
        below, made = self.irreps, []
        for level in self.levels:
            irreps = [ir for _, _, ir in level]
            made.append(spec("power", below, irreps, [[f, j, k, "uuu", False] for k, (f, j, _) in enumerate(level)],
                             layout="ir_mul", rows={"z": "strided"}))
            below = irreps
        products = [[f, j, o, "uuu", True] for o, terms in enumerate(self.last) for pairs, _ in terms for f, j in pairs]
        return [*made, spec("contraction", self.row, self.out, products, layout={"x": "ir_mul", "y": "ir_mul"})]


class Contraction(Fast):
    """MACE's SymmetricContraction: powers of a node's features, and a last product with the weights of its element."""

    def typed(self) -> Tensor:
        return self.contractions[0].weights_max

    def attach(self, layers: list[Any]) -> None:
        *powers, last = [layer.TensorProduct() for layer in layers]
        parts = torch.nn.ModuleDict({"powers": torch.nn.ModuleList(powers), "last": last})
        parts.register_buffer("mix", torch.block_diag(*self.cgtp_made.options["mixes"]).to(self.typed().dtype))
        self.keep(parts)

    def cgtp_contract(self, x: Tensor, elements: Tensor, *weights: Tensor) -> Tensor:
        """weights: of each output those of the highest degree first. Powers are not kept: squares alone are six times as
        large as x."""
        ones, x = x.new_ones(x.shape[:2]), x.transpose(1, 2).flatten(1)  # ir_mul, as it lies in memory by `Reshape`
        row, power = [x, ones] if len(self.cgtp_made.options["degrees"]) > 1 else [ones], x
        for product in self.cgtp["powers"]:
            power = product(power, x)
            row.insert(0, power)
        mixed = self.cgtp.mix @ torch.cat(weights, 1)  # all at once: with few elements calls are what it costs
        return self.cgtp["last"](torch.cat(row, 1), x, elements @ mixed.flatten(1))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            outs = []
            for contraction in self.contractions:
                outs.append(contraction(x, y))
            return torch.cat(outs, dim=-1)
        else:
            return self.cgtp_call(x, y)

    def cgtp_call(self, x: Tensor, elements: Tensor) -> Tensor:
        weights = [w for c in self.contractions for w in (c.weights_max, *c.weights)]
        if x.device.type == "cpu" and not any(w.requires_grad for w in weights):  # a force step: memory is less than time here
            return self.cgtp_contract(x, elements, *weights)
        return Again.apply(self.cgtp_contract, x, elements, *weights)


def contraction_site(path: str, old: Any) -> Site | Left:
    muls = {mul for mul, _ in old.irreps_in}
    if len(muls) != 1 or any(mul not in muls for mul, _ in old.irreps_out):
        return Left(path, old, "its irreps have several multiplicities")
    try:
        chain = Chain(old)
    except NotImplementedError as error:
        return Left(path, old, str(error))
    options = {"mixes": [mix for terms in chain.last for _, mix in terms], "degrees": list(range(1, chain.degree + 1))}
    return Site(path, old, Contraction, lambda dtype: chain.specs(old.irreps_in[0].mul, dtype), options,
                what=f"symmetric contraction, {' and '.join(map(str, sorted({c.correlation for c in old.contractions})))}")
