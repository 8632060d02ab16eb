#!/usr/bin/env python3
"""The golden cases with as many channels as layers have, and the table of what they take.

Usage: sweep.py TABLE.tsv > TABLE.md

A golden case (tests/golden) is small. For the sweep each multiplicity of x and z becomes its smallest multiple that is
at least 32, those of y too where a mode ties them to channels of x or z (uuu, uvv, uuw, uvu<v, u<vw); others, harmonics'
above all, stay. Multiplicities of z that follow from those of x and y (uvuv, uvu<v) follow again, and paths uuw without
weights keep the one channel that they may have. Type is float32, coefficients are e3nn's defaults: of cases that then
are the same one is left.

The table has a line for each product: per kernel the evaluations, the floor and the time in units of it, the worst
product first.
"""
import csv
import re
import sys

CHANNELS = 32
TIED = {"uuu", "uvv", "uuw", "uvu<v", "u<vw"}
LARGE = 100  # paths, from which kernels compile for minutes
KERNELS = ("forward", "backward", "double_backward")


def irreps(text, slot):
    line = re.search(rf"^  {slot}: (.*)$", text, re.M).group(1)
    return [[int(n), irrep] for n, irrep in re.findall(r"(\d+)x(\d+[eo])", line)]


def instructions(text):
    """(x, y, z, mode, weighted) of each."""
    found = re.findall(r"^  - \[(\d+), (\d+), (\d+), ([^,\]]+)(, false)?", text, re.M)
    return [(int(x), int(y), int(z), mode, not false) for x, y, z, mode, false in found]


def scaled(text):
    """The spec of a golden case with more channels; kernels and precision are left to the caller."""
    part = {slot: irreps(text, slot) for slot in "xyz"}
    paths = instructions(text)
    grown = {id(segment) for slot in "xz" for segment in part[slot]}
    grown |= {id(part["y"][y]) for _, y, _, mode, _ in paths if mode in TIED}
    for segments in part.values():
        for segment in segments:
            if id(segment) in grown:
                segment[0] *= -(-CHANNELS // segment[0])
    for x, y, z, mode, weighted in paths:
        u, v = part["x"][x][0], part["y"][y][0]
        follows = {"uvuv": u * v, "uvu<v": u * (u - 1) // 2, "uuw": 1}
        if mode in follows and not (mode == "uuw" and weighted):
            part["z"][z][0] = follows[mode]
    for slot, segments in part.items():
        line = f"  {slot}: " + " + ".join(f"{n}x{irrep}" for n, irrep in segments)
        text = re.sub(rf"^  {slot}: .*$", line, text, flags=re.M)
    for x, y, z, mode, weighted in paths:  # without their factors
        line = f"  - [{x}, {y}, {z}, {mode}{'' if weighted else ', false'}]"
        text = re.sub(rf"^  - \[{x}, {y}, {z}, {re.escape(mode)}[],].*$", line, text, flags=re.M)
    return re.sub(r"^(normalization|variance):.*\n", "", text, flags=re.M)


def cases(found, large):
    """Of (name, spec) of golden cases those that are timed, scaled; large: those that compile for minutes."""
    seen = set()
    for name, text in found:
        text = scaled(text)
        same = re.sub(r"^name:.*$", "", text, flags=re.M)
        if same not in seen and (len(instructions(text)) >= LARGE) == large:
            yield name, text
        seen.add(same)


def table(rows):
    products = {}
    for row in rows:
        products.setdefault(row["problem"], {})[row["kernel"]] = row
    worst = {name: max(float(row["xfloor"]) for row in kernels.values()) for name, kernels in products.items()}
    yield "| product | items | evaluation | floor, ms | | | x floor | | |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|"
    for name in sorted(products, key=lambda name: -worst[name]):
        kernels = [products[name].get(kernel) for kernel in KERNELS]
        some = next(row for row in kernels if row)
        items = sorted({int(row["items"]) for row in kernels if row}, reverse=True)
        how = [row["evaluation"] if row else "-" for row in kernels]
        floors = [f"{float(row['floor']):.3f}{'*' if row['bound'] == 'flops' else ''}" if row else "-" for row in kernels]
        times = [f"{float(row['xfloor']):.2f}" if row else "-" for row in kernels]
        yield " | ".join([f"| {name}{' (graph)' if some['op'] == 'conv' else ''}", ", ".join(map(str, items)),
                          how[0] if len(set(how)) == 1 else ", ".join(how), *floors, *times]) + " |"


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__.strip())
    with open(arguments[0], newline="") as file:
        print("\n".join(table(csv.DictReader(file, delimiter="\t"))))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"sweep.py: {error}")
