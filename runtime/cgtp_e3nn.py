# SPDX-License-Identifier: MIT
"""Specs of tensor products that there are: what an `e3nn.o3.TensorProduct` of a model computes, written for cgtpgen.

e3nn is not imported: a module with the attributes of its TensorProduct will do.
"""
from __future__ import annotations

import json
import math
from typing import Any

CONVOLUTION = {"x": "sender", "y": "item", "w": "item", "z": "receiver"}  # index of z = scatter(product(x[sender], y, w))


def spec_of(product: Any, name: str, **keys: Any) -> str:
    """The spec of an e3nn TensorProduct; keys: others of the spec, as index=CONVOLUTION, kernels=[..].

    Coefficients are the module's, to the last digit. Where keys do not say otherwise the precision is the type of the
    module's buffers, and weights are one row for all items where the module shares them.
    """
    for needed in "irreps_in1", "irreps_in2", "irreps_out", "instructions", "output_mask", "shared_weights", "weight_numel":
        if not hasattr(product, needed):
            raise TypeError(f"{type(product).__name__} is no TensorProduct of e3nn: it has no {needed} "
                            f"(docs/porting.md says what there is instead)")
    spec: dict[str, Any] = {
        "cgtp": 1,
        "name": name,
        "irreps": {"x": str(product.irreps_in1), "y": str(product.irreps_in2), "z": str(product.irreps_out)},
        "normalization": {"irrep": "none", "path": "none"},
        "precision": str(product.output_mask.dtype).rpartition(".")[2],
    }
    muls = [[mul for mul, _ in irreps] for irreps in (product.irreps_in1, product.irreps_in2, product.irreps_out)]
    spec |= unused_of(muls, [(i.i_in1, i.i_in2, i.i_out) for i in product.instructions if i.path_weight])
    if product.shared_weights and product.weight_numel:
        spec["index"] = {"w": "shared"}
    lines = [f"{key}: {json.dumps(value)}" for key, value in (spec | keys).items()]
    lines.append("instructions:" if product.instructions else "instructions: []")
    lines += [f'  - [{i.i_in1}, {i.i_in2}, {i.i_out}, "{i.connection_mode}", {json.dumps(bool(i.has_weight))}, '
              f"{_square(float(i.path_weight))}]" for i in product.instructions]
    return "\n".join(lines) + "\n"


def unused_of(muls: Any, paths: Any) -> dict[str, Any]:
    """The key `unused`: segments that no path reads or writes; none where there is no such.

    muls: of the segments of x, y and z; paths: the segments of x, y and z of each that contributes."""
    there = [path for path in paths if all(of[number] for of, number in zip(muls, path))]
    used = [{path[slot] for path in there} for slot in range(3)]
    unused = {slot: [n for n, mul in enumerate(of) if mul and n not in numbers] for slot, of, numbers in zip("xyz", muls, used)}
    return {"unused": {slot: found for slot, found in unused.items() if found}} if any(unused.values()) else {}


def _square(coefficient: float) -> str:
    """A path's weight, of which its coefficient is the square root: the shortest that gives this one."""
    found = (f"{coefficient**2:.{digits}g}" for digits in range(1, 18))
    return next((text for text in found if math.sqrt(float(text)) == coefficient), f"{coefficient**2:.17g}")
