#!/usr/bin/env python3
"""Draws what tests/models/bench.py measured: how long steps take, and how much of that kernels do.

Usage: plot.py TABLE.tsv > models.svg

A bar is a step of a contender, the darker part of it the sum of its kernels' times, a line where the step ends that is
replayed as a CUDA graph. Each model and step has a scale of its own, on which the longest bar fills the page.
"""
import csv
import html
import sys

OURS, THEIRS = "#1f6fb2", "#8a8a8a"
LEFT, WIDTH, RIGHT, LINE, HEAD, TOP = 220, 470, 210, 18, 26, 8


def read(path):
    """{(model, step): rows} in the order of the table, those that ran; the slowest first."""
    groups = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if number(row["ms"]) is not None:
                groups.setdefault((row["model"], row["step"]), []).append(row)
    if not groups:
        raise ValueError("no rows")
    return {key: sorted(rows, key=lambda row: -number(row["ms"])) for key, rows in groups.items()}


def number(text):
    """None: a dash, or words."""
    try:
        return float(text)
    except ValueError:
        return None


def bar(row, y, longest, e3nn):
    def end(ms):
        return LEFT + WIDTH * ms / longest
    ms, kernels, replayed = (number(row[column]) for column in ("ms", "kernels ms", "replayed ms"))
    colour = OURS if row["contender"].startswith("cgtpgen") else THEIRS
    yield f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{html.escape(row["contender"])}</text>'
    yield f'<rect x="{LEFT}" y="{y + 3}" width="{end(ms) - LEFT:.1f}" height="{LINE - 6}" fill="{colour}" fill-opacity="0.45"/>'
    if kernels is not None:
        yield f'<rect x="{LEFT}" y="{y + 3}" width="{end(min(kernels, ms)) - LEFT:.1f}" height="{LINE - 6}" fill="{colour}"/>'
    if replayed is not None and replayed <= longest:
        yield f'<line x1="{end(replayed):.1f}" x2="{end(replayed):.1f}" y1="{y + 1}" y2="{y + LINE - 1}" stroke="#000000"/>'
    words = f"{ms:.1f} ms, {row['GB']} GB" + (f", {e3nn / ms:.1f} x e3nn" if e3nn and row["contender"] != "e3nn" else "")
    yield f'<text x="{end(ms) + 6:.1f}" y="{y + 12}">{words}</text>'


def draw(groups):
    height = TOP + sum(HEAD + LINE * len(rows) for rows in groups.values()) + TOP
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" '
           'font-family="sans-serif" font-size="11">')
    yield "<title>Time and memory of steps of models, by what computes their tensor products</title>"
    yield f'<rect width="{LEFT + WIDTH + RIGHT}" height="{height}" fill="#ffffff"/>'
    y = TOP
    for (model, step), rows in groups.items():
        yield f'<text x="{LEFT}" y="{y + 18}" font-weight="bold">{html.escape(f"{model}, {step}")}</text>'
        y += HEAD
        e3nn = next((number(row["ms"]) for row in rows if row["contender"] == "e3nn"), None)
        longest = number(rows[0]["ms"])
        for row in rows:
            yield from bar(row, y, longest, e3nn)
            y += LINE
    yield "</svg>"


if len(sys.argv) != 2:
    sys.exit(__doc__.strip())
try:
    sys.stdout.write("\n".join(draw(read(sys.argv[1]))) + "\n")
except (OSError, KeyError, ValueError) as error:
    sys.exit(f"plot.py: {error}")
