#!/usr/bin/env python3
"""Prints the tables of docs/papers.md, or draws its rooflines, from what bench.py measured; nothing of them is typed by hand.

    tests/papers/page.py [tables] FILE.tsv..        Markdown
    tests/papers/page.py update PAGE.md FILE.tsv..  the same into a page, where it has <!-- the table's name -->
    tests/papers/page.py roofline FILE.tsv > SVG    the roof of a machine, and what reaches it

The files are those of one machine each. Of each layer the first contender's milliseconds stand as forward, backward, double
backward, and of every other one how many times as long it takes; `-` was not measured, `memory` did not fit. A cell is bold where it
is under LEVEL: behind, or level.
"""
import csv
import html
import math
import re
import sys

KERNELS = ("forward", "backward", "double_backward")
LEVEL = 1.05
FMA = 63.7e12  # flops a second, measured on an H200 and an H100 (tests/gpu/bench.c)
ORDER = ("FlashTP", "OpenEquivariance", "OpenEquivariance deterministic", "cuEquivariance", "cuEquivariance, scatter", "e3nn",
         "e3nn compiled")
SHORT = {"OpenEquivariance": "oeq", "OpenEquivariance deterministic": "oeq, det.", "cuEquivariance": "cueq",
         "cuEquivariance, scatter": "cueq, scatter"}


class Table:
    """A file: its conditions, and its lines by (table, layer, contender, kernel)."""

    def __init__(self, path):
        with open(path, newline="") as file:
            self.head = file.readline().lstrip("# ").rstrip()
            self.lines = list(csv.DictReader(file, delimiter="\t"))
        self.copy = float(re.search(r"copy ([\d.]+) TB/s", self.head).group(1)) * 1e12
        self.gpu = re.match(r"(?:NVIDIA )?(\w+)", self.head).group(1)
        self.by = {(line["table"], line["layer"], line["contender"], line["kernel"]): line for line in self.lines}

    def tables(self):
        return list(dict.fromkeys(line["table"] for line in self.lines))

    def layers(self, table):
        return sorted({line["layer"] for line in self.lines if line["table"] == table}, key=natural)

    def contenders(self, table):
        found = {line["contender"] for line in self.lines if line["table"] == table and line["ms"] != "-"}
        ours = sorted((c for c in found if c.startswith("cgtpgen")), key=lambda c: (c != "cgtpgen atomic", c != "cgtpgen", c))
        return ours + [c for c in ORDER if c in found]

    def number(self, column, *key):
        line = self.by.get(key)
        return float(line[column]) if line and line["ms"] != "-" else None

    def why(self, *key):
        line = self.by.get(key) or self.by.get((*key[:3], "all"))
        return "memory" if line and "memory" in line["why"] else "-"


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def ours_of(table, name, layer):
    """The contender whose time is 1: of those that are cgtpgen the first that was measured."""
    return next((c for c in table.contenders(name) if c.startswith("cgtpgen") and
                 table.number("ms", name, layer, c, "forward") is not None), None)


def ratio(table, column, name, layer, contender, kernel):
    mine = table.number(column, name, layer, ours_of(table, name, layer), kernel)
    theirs = table.number(column, name, layer, contender, kernel)
    return None if mine is None or theirs is None or not mine else theirs / mine


def cell(value, missing="-"):
    if value is None:
        return missing
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return f"**{text}**" if value < LEVEL else text


def times_table(table, name):
    contenders = table.contenders(name)
    others = [c for c in contenders if c != contenders[0]]
    yield f"| {table.gpu} | ms | " + " | ".join(SHORT.get(c, c.replace("cgtpgen, ", "").replace("cgtpgen", "deterministic"))
                                                for c in others) + " | GB |"
    yield "|---|---|" + "---|" * len(others) + "---|"
    for layer in table.layers(name):
        ours = ours_of(table, name, layer)
        if not ours:
            continue
        kernels = [k for k in KERNELS if table.number("ms", name, layer, ours, k) is not None]
        cells = [", ".join(f"{table.number('ms', name, layer, ours, k):.3f}" for k in kernels)]
        for contender in others:
            found = [ratio(table, "ms", name, layer, contender, k) for k in kernels]
            cells.append("-" if contender == ours or not any(found) and table.why(name, layer, contender, "forward") == "-" else
                         ", ".join(cell(value, table.why(name, layer, contender, k)) for value, k in zip(found, kernels)))
        yield f"| {layer} | " + " | ".join([*cells, memory(table, name, layer, ours)]) + " |"


def memory(table, name, layer, ours):
    """The peak of the last kernel, ours, and the least of others' that are not ours."""
    kernel = [k for k in KERNELS if table.number("GB", name, layer, ours, k) is not None][-1]
    others = [table.number("GB", name, layer, c, kernel) for c in table.contenders(name) if not c.startswith("cgtpgen")]
    others = [value for value in others if value is not None]
    return f"{table.number('GB', name, layer, ours, kernel):.2f}" + (f" ({min(others):.2f})" if others else "")


def behind(tables):
    """What is not faster than every other."""
    yield "| GPU | layer | kernel | who | theirs / ours | ms |"
    yield "|---|---|---|---|---:|---:|"
    for table in tables:
        for (name, layer, contender, kernel) in table.by:
            value = None if contender.startswith("cgtpgen") else ratio(table, "ms", name, layer, contender, kernel)
            if value is not None and value < LEVEL:
                mine = table.number("ms", name, layer, ours_of(table, name, layer), kernel)
                yield f"| {table.gpu} | {name}/{layer} | {kernel.replace('_', ' ')} | {contender} | {value:.2f} | {mine:.4f} |"


def geometric(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def overheads(table):
    """By contender: device time alone, and wall clock."""
    yield f"| {table.gpu} | rows | device, geometric mean | least | most | wall clock, geometric mean | least |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for contender in ORDER:
        keys = [key for key in table.by if key[2] == contender and ratio(table, "ms", *key) is not None]
        if keys:
            device, wall = ([ratio(table, column, *key) for key in keys] for column in ("ms", "wall ms"))
            yield (f"| {contender} | {len(keys)} | {geometric(device):.2f} | {min(device):.2f} | {max(device):.1f} | "
                   f"{geometric(wall):.2f} | {min(wall):.2f} |")


def points(table):
    """(layer, kernel, contender, flops per byte, share of FMAs, share of a copy's rate)."""
    for (name, layer, contender, kernel), line in table.by.items():
        ms = table.number("ms", name, layer, contender, kernel)
        if name == "roofline" and ms is not None:
            first = table.by[name, layer, "cgtpgen", kernel]
            flops, size = float(first["flops"]), float(first["bytes"])
            yield layer, kernel, contender, flops / size, flops / (ms * 1e-3) / FMA, size / (ms * 1e-3) / table.copy


def roofline_table(table):
    found = {(layer, kernel, contender): values for layer, kernel, contender, *values in points(table)}
    others = [c for c in ORDER if any(key[2] == c for key in found)]
    yield f"| {table.gpu} | kernel | flops per byte | FMAs % | bandwidth % | " + " | ".join(f"{c}: FMAs %, bandwidth %" for c in others) + " |"
    yield "|---|---|---:|---:|---:|" + "---|" * len(others)
    for layer in table.layers("roofline"):
        for kernel in KERNELS[:2]:
            if (layer, kernel, "cgtpgen") in found:
                intensity, fma, band = found[layer, kernel, "cgtpgen"]
                cells = [", ".join(f"{100 * v:.0f}" for v in found[layer, kernel, c][1:]) if (layer, kernel, c) in found else "-"
                         for c in others]
                yield f"| {layer} | {kernel} | {intensity:.1f} | {100 * fma:.0f} | {100 * band:.0f} | " + " | ".join(cells) + " |"


def stability_table(path):
    with open(path, newline="") as file:
        head = file.readline()
        lines = list(csv.DictReader(file, delimiter="\t"))
    contenders = list(dict.fromkeys(line["contender"] for line in lines))
    outputs = ("z", "gx", "gy", "gw")
    found = {(line["layer"], line["contender"], line["output"]): float(line["rmse"]) / float(line["rms"]) for line in lines}
    yield f"| {re.match(r'# (?:NVIDIA )?([^,]*)', head).group(1)}: z, gx, gy, gw; units of 1e-8 | " + \
        " | ".join(c.replace("cgtpgen atomic", "cgtpgen") for c in contenders) + " |"
    yield "|---|" + "---|" * len(contenders)
    for layer in dict.fromkeys(line["layer"] for line in lines):
        yield f"| {layer} | " + " | ".join(", ".join(f"{1e8 * found[layer, c, o]:.1f}" if (layer, c, o) in found else "-" for o in outputs)
                                           for c in contenders) + " |"


def draw(table):
    """A logarithmic picture: the roof, a filled mark for ours, an open one for others."""
    found = list(points(table))
    colours = {"cgtpgen": "#1f6fb2", "OpenEquivariance": "#c2571a", "cuEquivariance": "#3d8a4f"}
    width, height, left, top, x0, x1, y0, y1 = 620, 300, 70, 50, 0.3, 100.0, 0.5, 100.0

    def x(value):
        return left + width * math.log(value / x0) / math.log(x1 / x0)

    def y(value):
        return top + height * (1 - math.log(value / y0) / math.log(y1 / y0))
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {top + height + 50}" font-family="sans-serif" '
           'font-size="11">')
    yield f"<title>Rooflines of one path on an {html.escape(table.gpu)}</title>"
    yield f'<rect width="{left + width + 20}" height="{top + height + 50}" fill="#ffffff"/>'
    for value in (0.5, 1, 2, 5, 10, 20, 50, 100):
        yield f'<line x1="{left}" x2="{left + width}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
    for value in (0.5, 1, 2, 5, 10, 20, 50, 100):
        yield f'<text x="{x(value):.1f}" y="{top + height + 16}" text-anchor="middle">{value:g}</text>'
    ridge = FMA / table.copy
    corners = [(x0, max(y0, x0 * table.copy / 1e12)), (ridge, FMA / 1e12), (x1, FMA / 1e12)]
    yield '<polyline fill="none" stroke="#000000" points="' + " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in corners) + '"/>'
    yield f'<text x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">flops per byte, of the plan</text>'
    yield f'<text x="14" y="{top + height / 2}" transform="rotate(-90 14 {top + height / 2})" text-anchor="middle">TFLOP/s</text>'
    for i, (contender, colour) in enumerate(colours.items()):
        yield f'<circle cx="{left + 10 + 190 * i}" cy="18" r="4" fill="{colour}"/>'
        yield f'<text x="{left + 20 + 190 * i}" y="22">{contender} (open: backward)</text>'
    for layer, kernel, contender, intensity, share, _ in found:
        fill = colours[contender] if kernel == "forward" else "none"
        yield (f'<circle cx="{x(intensity):.1f}" cy="{y(share * FMA / 1e12):.1f}" r="4" fill="{fill}" stroke="{colours[contender]}">'
               f"<title>{layer} {kernel}, {contender}</title></circle>")
    yield "</svg>"


def tables_of(paths):
    stable = [path for path in paths if "stability" in path]
    tables = [Table(path) for path in paths if path not in stable]
    sections = {"behind": behind(tables)}
    for table in tables:
        sections[f"overheads {table.gpu}"] = overheads(table)
        for name in table.tables():
            sections[f"{name} {table.gpu}"] = roofline_table(table) if name == "roofline" else times_table(table, name)
    for path in stable:
        sections[path.rpartition("/")[2]] = stability_table(path)
    for name, lines in sections.items():
        yield f"<!-- {name} -->\n" + "\n".join(lines) + "\n"


def update(path, files):
    made = dict(re.findall(r"<!-- (.*?) -->\n(.*?)\n\n", "".join(line + "\n" for line in tables_of(files)), re.S))
    with open(path) as file:
        text = file.read()
    text = re.sub(r"<!-- (.*?) -->\n.*?\n\n", lambda found: f"<!-- {found[1]} -->\n{made[found[1]]}\n\n", text, flags=re.S)
    with open(path, "w") as file:
        file.write(text)


def main(arguments):
    if arguments[:1] == ["roofline"] and len(arguments) == 2:
        print("\n".join(draw(Table(arguments[1]))))
    elif arguments[:1] == ["update"] and len(arguments) > 2:
        update(arguments[1], arguments[2:])
    elif arguments and arguments[0] not in ("roofline", "update"):
        print("\n".join(tables_of(arguments[arguments[0] == "tables":])), end="")
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main(sys.argv[1:])
