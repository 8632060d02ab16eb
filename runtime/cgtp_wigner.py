# SPDX-License-Identifier: MIT
"""3j symbols in e3nn's basis and normalisation, which modules of e3nn keep in their state: cgtp_torch.py has them in its own,
so that either reads the other's. Kernels have symbols of their own, from the generator."""
from __future__ import annotations

import functools
import math
from fractions import Fraction


@functools.lru_cache(maxsize=None)
def _clebsch_gordan(j1: int, m1: int, j2: int, m2: int, j3: int, m3: int) -> float:
    """<j1 m1 j2 m2 | j3 m3>, by Racah's formula."""
    if m3 != m1 + m2:
        return 0.0
    f = math.factorial
    square = Fraction((2 * j3 + 1) * f(j3 + j1 - j2) * f(j3 - j1 + j2) * f(j1 + j2 - j3) * f(j3 + m3) * f(j3 - m3),
                      f(j1 + j2 + j3 + 1) * f(j1 - m1) * f(j1 + m1) * f(j2 - m2) * f(j2 + m2))
    total = sum(Fraction((-1) ** (v + j2 + m2) * f(j2 + j3 + m1 - v) * f(j1 - m1 + v),
                         f(v) * f(j3 - j1 + j2 - v) * f(j3 + m3 - v) * f(v + j1 - j2 - m3))
                for v in range(max(-j1 + j2 + m3, -j1 + m1, 0), min(j2 + j3 + m1, j3 - j1 + j2, j3 + m3) + 1))
    return math.copysign(math.sqrt(square * total * total), total)


def _column(degree: int, m: int) -> dict[int, complex]:
    """A column of the matrix that makes complex harmonics real, with a phase for which the symbols are real."""
    if m == 0:
        return {0: (-1j) ** degree}
    half = (-1j) ** degree * math.sqrt(0.5)
    if m > 0:
        return {-m: half, m: (-1) ** m * half}
    return {m: -1j * half, -m: 1j * (-1) ** m * half}


@functools.lru_cache(maxsize=None)
def wigner_3j(l1: int, l2: int, l3: int) -> list[list[list[float]]]:
    """[2 l1 + 1, 2 l2 + 1, 2 l3 + 1], of norm 1."""
    made = [[[sum(a * b * c.conjugate() * _clebsch_gordan(l1, m1, l2, m2, l3, m3)
                  for m1, a in _column(l1, i).items() for m2, b in _column(l2, k).items()
                  for m3, c in _column(l3, n).items()).real
              for n in range(-l3, l3 + 1)] for k in range(-l2, l2 + 1)] for i in range(-l1, l1 + 1)]
    norm = math.sqrt(math.fsum(value * value for plane in made for row in plane for value in row))
    return [[[value / norm for value in row] for row in plane] for plane in made]
