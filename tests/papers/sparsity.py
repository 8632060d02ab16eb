#!/usr/bin/env python3
"""Prints how sparse Clebsch-Gordan tensors are, as FlashTP's table has it: no GPU is needed.

Usage: sparsity.py [LAYER..]    (default: table 5 of its paper, lmax 1 to 5, and layers of MACE and SevenNet)

A tensor of a path has (2 l1 + 1)(2 l2 + 1)(2 l3 + 1) elements; nonzeros are counted in the generator's own exact coefficients, each
path once.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATOR = os.environ.get("CGTPGEN", f"{ROOT}/build/cgtpgen")
LAYERS = [f"flashtp_table5_lmax{l}" for l in range(1, 6)] + ["mace_large", "sevennet_l3i5_layer2"]


def row(name):
    said = subprocess.run([GENERATOR, "--print=json", "-Wno-all", f"{ROOT}/specs/{name}.yaml"], stdout=subprocess.PIPE, check=True)
    paths = json.loads(said.stdout)["paths"]
    elements = sum((2 * a + 1) * (2 * b + 1) * (2 * c + 1) for a, b, c in (path["l"] for path in paths))
    nonzeros = sum(path["nonzeros"] for path in paths)
    return [name, len(paths), elements, nonzeros, f"{100 * (1 - nonzeros / elements):.1f}"]


def main(names):
    print("layer", "paths", "elements", "nonzeros", "zeros %", sep="\t")
    for name in names:
        print(*row(name), sep="\t")


main(sys.argv[1:] or LAYERS)
