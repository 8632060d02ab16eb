#!/usr/bin/env python3
"""Draws what make gpu-bench measured: for each product and place how many times its floor each kernel takes.

Usage: plot.py TABLE.tsv... > benchmarks.svg

A line is a product on a graph, or as a batch, in one type. A filled mark is ours, an open one of the same colour the best
peer's. Of convolutions with two reductions the faster one counts. The axis is logarithmic.
"""
import csv
import html
import math
import sys

KERNELS = {"forward": "#1f6fb2", "backward": "#c2571a", "double_backward": "#3d8a4f"}
LEFT, WIDTH, LINE, TOP, BOTTOM, MARGIN = 290, 610, 15, 64, 30, 18
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def read(paths):
    """{(op, problem, type, place): {kernel: (x floor, the best peer's or None)}} in the order of the tables."""
    lines = {}
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                place = "rows" if row["op"] == "batch" else row["graph"]
                kernels = lines.setdefault((row["op"], row["problem"], row["dtype"], place), {})
                peer = None if row["best_peer"] == "-" else float(row["peer_ms"]) / float(row["floor"])
                ours = float(row["ms"]) / float(row["floor"])
                before = kernels.get(row["kernel"])
                kernels[row["kernel"]] = (ours, peer) if before is None or ours < before[0] else before
    if not lines:
        raise ValueError("no rows")
    return lines


def draw(lines):
    values = [v for kernels in lines.values() for pair in kernels.values() for v in pair if v is not None]
    first = min(1, *values)
    last = next((tick for tick in TICKS if tick >= max(values)), max(values))

    def at(value):
        return LEFT + WIDTH * math.log(value / first) / math.log(last / first)

    height = TOP + LINE * len(lines) + BOTTOM
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + MARGIN} {height}" '
           'font-family="sans-serif" font-size="11">')
    yield "<title>Time of each kernel in units of its floor</title>"
    yield f'<rect width="{LEFT + WIDTH + MARGIN}" height="{height}" fill="#ffffff"/>'
    x = LEFT
    for kernel, colour in KERNELS.items():
        yield f'<circle cx="{x}" cy="16" r="4" fill="{colour}"/>'
        yield f'<circle cx="{x + 12}" cy="16" r="3.5" fill="none" stroke="{colour}"/>'
        yield f'<text x="{x + 22}" y="20">{kernel.replace("_", " ")}: ours, best peer</text>'
        x += 62 + 6 * len(kernel) + 80
    for tick in TICKS:
        if first <= tick <= last:
            yield (f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{TOP - 10}" y2="{height - BOTTOM}" '
                   'stroke="#d8d8d8"/>')
            for y in (TOP - 15, height - BOTTOM + 14):
                yield f'<text x="{at(tick):.1f}" y="{y}" text-anchor="middle">{tick}</text>'
    yield f'<text x="{LEFT - 8}" y="{TOP - 15}" text-anchor="end">time / floor</text>'
    for i, ((op, problem, dtype, place), kernels) in enumerate(lines.items()):
        y = TOP + LINE * i + LINE / 2
        if i % 2 == 0:
            yield (f'<rect x="0" y="{TOP + LINE * i}" width="{LEFT + WIDTH + MARGIN}" height="{LINE}" '
                   'fill="#000000" fill-opacity="0.03"/>')
        yield (f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">'
               f'{html.escape(f"{problem}, {place}, {dtype}")}</text>')
        for kernel, colour in KERNELS.items():
            ours, peer = kernels.get(kernel, (None, None))
            if peer is not None:
                yield f'<circle cx="{at(peer):.1f}" cy="{y}" r="3.5" fill="none" stroke="{colour}"/>'
            if ours is not None:
                yield f'<circle cx="{at(ours):.1f}" cy="{y}" r="4" fill="{colour}"/>'
    yield "</svg>"


if len(sys.argv) < 2:
    sys.exit(__doc__.strip())
try:
    sys.stdout.write("\n".join(draw(read(sys.argv[1:]))) + "\n")
except (OSError, KeyError, ValueError) as error:
    sys.exit(f"plot.py: {error}")
