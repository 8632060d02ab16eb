#!/usr/bin/env python3
"""Prints the tables of docs/papers.md, or draws its rooflines, from what bench.py measured; nothing of them is typed by hand.

    tests/papers/page.py [tables] FILE.tsv..        Markdown
    tests/papers/page.py update PAGE.md FILE.tsv..  the same into a page, where it has <!-- the table's name -->
    tests/papers/page.py contenders FILE.tsv > SVG  a line a layer: how many times as long others take
    tests/papers/page.py kernels FILE.tsv.. > SVG   of kernels alone: how many times as long libraries take
    tests/papers/page.py roofline FILE.tsv > SVG    the roof of a machine, and what reaches it
    tests/papers/page.py parts FILE.tsv > SVG       of whole models: what a step consists of

The files are of one machine each; those with `kernels` in their names are of kernels alone. Of more runs on a GPU,
NAME_more.tsv, NAME_third.tsv, _fourth and _fifth, tables are called `TABLE GPU more` and so on: ratios are of one run. The third and
fourth and fifth measured what others lack, so their layers and tables that have ours alone are left out. Of each layer the first contender's
milliseconds stand as forward, backward, double backward, and of every other one how many times as long it takes; `-` was not
measured, or disturbed by another process in all runs, `memory` did not fit. A cell is bold where it is under LEVEL: behind, or level.
"""
import csv
import html
import math
import os
import re
import sys

KERNELS = ("forward", "backward", "double_backward")
LEVEL, NEAR = 1.05, 1.1
DISTURBED = 1.05  # times the wall clock of a call, which its time on the device is not; that has L2 as it is
TIME = "least"  # of bench.py's columns: processes that compile use the GPU beside the one that is measured, which a median shows
OPERATIONS = {"batch": "rows", "conv": "convolutions"}
PEERS = ("oeq", "oeq_det", "oeq_atomic", "flashtp", "cueq", "e3nn", "e3nn_compiled")
FMA = 63.7e12  # flops a second, measured on an H200 and an H100 (tests/gpu/bench.c)
ORDER = ("FlashTP", "OpenEquivariance", "OpenEquivariance deterministic", "cuEquivariance", "cuEquivariance, scatter", "e3nn",
         "e3nn compiled")
PUBLISHED = {"batch": "_f32_batch", "table5": "_f32_atomic", "sevennet": "_f32_atomic", "allegro": "_f32_pairs",
             "convolution": "_f32_atomic"}  # how the benchmark's products are called
SHORT = {"OpenEquivariance": "oeq", "OpenEquivariance deterministic": "oeq, det.", "cuEquivariance": "cueq",
         "cuEquivariance, scatter": "cueq, scatter"}


class Table:
    """A file: its conditions, and its lines by (table, layer, contender, kernel)."""

    def __init__(self, path):
        with open(path, newline="") as file:
            self.head = file.readline().lstrip("# ").rstrip()
            self.lines = list(csv.DictReader(file, delimiter="\t"))
        for line in self.lines:
            if line["ms"] != "-" and float(line[TIME]) > DISTURBED * float(line["wall ms"]):
                line.update(ms="-", why="disturbed")
        copy = re.search(r"copy ([\d.]+) TB/s", self.head)
        self.copy = float(copy.group(1)) * 1e12 if copy else math.nan  # on a CPU
        self.gpu = re.match(r"(?:NVIDIA )?(\w+)", self.head).group(1)
        self.name = " ".join([self.gpu, *re.findall("_(more|third|fourth|fifth)[.]", path)])
        self.fills = self.name.endswith(("third", "fourth", "fifth"))  # what others lack, ours beside it
        self.by = {(line["table"], line["layer"], line["contender"], line["kernel"]): line for line in self.lines}
        for line in list(self.lines):  # of table 5 what an ablation takes apart, on its graph
            key = ("ablation", line["layer"], line["contender"], line["kernel"])
            if line["table"] == "table5" and line["contender"] == "cgtpgen atomic" and line["layer"] in self.layers("ablation"):
                if key not in self.by:
                    self.by[key] = {**line, "table": "ablation"}
                    self.lines.append(self.by[key])

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

    def compared(self):
        """(theirs over ours, layer, kernel, who, our ms)."""
        for name, layer, contender, kernel in self.by:
            value = None if contender.startswith("cgtpgen") else ratio(self, TIME, name, layer, contender, kernel)
            if value is not None:
                mine = self.number(TIME, name, layer, ours_of(self, name, layer), kernel)
                yield value, f"{name}/{layer}", kernel, contender, mine

    def why(self, *key):
        line = self.by.get(key) or self.by.get((*key[:3], "all"))
        return "memory" if line and "memory" in line["why"] else "-"


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def ours_of(table, name, layer):
    """The contender whose time is 1: of those that are cgtpgen the first that was measured."""
    return next((c for c in table.contenders(name) if c.startswith("cgtpgen") and "," not in c and
                 table.number(TIME, name, layer, c, "forward") is not None), None)


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
        kernels = [k for k in KERNELS if (name, layer, ours, k) in table.by]
        times = [table.number(TIME, name, layer, ours, k) for k in kernels]
        cells = [", ".join("-" if ms is None else f"{ms:.3f}" for ms in times)]
        for contender in others:
            found = [ratio(table, TIME, name, layer, contender, k) for k in kernels]
            cells.append("-" if contender == ours or not any(found) and table.why(name, layer, contender, "forward") == "-" else
                         ", ".join(cell(value, table.why(name, layer, contender, k)) for value, k in zip(found, kernels)))
        if not table.fills or set(cells[1:]) != {"-"}:
            yield f"| {layer} | " + " | ".join([*cells, memory(table, name, layer, ours)]) + " |"


def memory(table, name, layer, ours):
    """The peak of the last kernel, ours, and the least of others' that are not ours."""
    kernel = [k for k in KERNELS if table.number("GB", name, layer, ours, k) is not None][-1]
    others = [table.number("GB", name, layer, c, kernel) for c in table.contenders(name) if not c.startswith("cgtpgen")]
    others = [value for value in others if value is not None]
    return f"{table.number('GB', name, layer, ours, kernel):.2f}" + (f" ({min(others):.2f})" if others else "")


def behind(tables):
    """Whose times are under NEAR times cgtpgen's in some kernel on some GPU, the nearest first; of two runs on one the nearer."""
    found = {}
    for table in tables:
        for value, layer, kernel, contender, _ in table.compared():
            by = found.setdefault((layer, contender), {})
            by[table.gpu, kernel] = min(value, by.get((table.gpu, kernel), value))
    gpus = sorted({gpu for by in found.values() for gpu, _ in by}, reverse=True)
    yield "| layer | who | " + " | ".join(gpus) + " |"
    yield "|---|---|" + "---|" * len(gpus)
    for (layer, contender), by in sorted(found.items(), key=lambda one: min(one[1].values())):
        if min(by.values()) < NEAR:
            yield f"| {layer} | {contender} | " + " | ".join(
                ", ".join(cell(by[gpu, kernel]) for kernel in KERNELS if (gpu, kernel) in by) or "-" for gpu in gpus) + " |"


class Kernels:
    """Kernels by the benchmark in C, and libraries in Python: {(operation, layer): {who: {kernel: ms}}}."""

    def __init__(self, gpu, ours):
        self.gpu, self.ours, self.of, self.memory = gpu, ours, {}, {}

    def add(self, key, who, kernel, ms):
        self.of.setdefault(key, {}).setdefault(who, {})[kernel] = float(ms)

    def compared(self):
        """(theirs over ours, layer, kernel, who, ours ms)."""
        for (operation, layer), by in self.of.items():
            for who, times in by.items():
                for kernel, ms in times.items() if who not in self.ours else ():
                    mine = self.mine(by, who)[kernel]
                    yield ms / mine, f"{layer}, {operation}", kernel, who, mine

    def mine(self, by, who):
        """What is deterministic is compared with what is, the rest with our fastest."""
        return by[self.ours[-1] if who.endswith("det") and self.ours[-1] in by else next(o for o in self.ours if o in by)]

    def table(self, operation):
        keys = [key for key in self.of if key[0] == operation and not set(self.of[key]) <= set(self.ours)]
        others = list(dict.fromkeys(who for key in keys for who in self.of[key] if who not in self.ours))
        yield f"| {self.gpu} | ms | " + " | ".join(others) + (" | MB |" if self.memory else " |")
        yield "|---|---|" + "---|" * (len(others) + bool(self.memory))
        for key in keys:
            by = self.of[key]
            kernels = [k for k in KERNELS if k in self.mine(by, "")]
            cells = [", ".join(f"{self.mine(by, '')[k]:.3f}" for k in kernels)]
            cells += [", ".join(cell(by[who][k] / self.mine(by, who)[k] if k in by[who] else None) for k in kernels) if who in by else "-"
                      for who in others]
            yield f"| {key[1]} | " + " | ".join(cells + ([self.memory.get(key, "-")] if self.memory else [])) + " |"


def read_kernels(path):
    """A file of gpu-bench's rows, with the libraries' of tests/gpu; or one in which both stand."""
    with open(path, newline="") as file:
        head = file.readline()
        lines = list(csv.DictReader(file, delimiter="\t"))
    gpu = re.search(r"NVIDIA (\w+)", head).group(1)
    if "who" in lines[0]:
        found = Kernels(gpu, ["cgtpgen"])
        for line in lines:
            operation, layer = line["layer"].split(" ")
            found.add((OPERATIONS[operation], layer), "cgtpgen", line["kernel"], line["ours_ms"])
            found.add((OPERATIONS[operation], layer), line["who"], line["kernel"], line["ms"])
        return found
    found = Kernels(gpu, ["atomic", "-", "deterministic"])
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/../gpu/peers_h200.tsv", newline="") as file:
        peers = {tuple(list(line.values())[:5]): line for line in csv.DictReader(file, delimiter="\t")}
    for line in lines:
        key = (OPERATIONS[line["op"]], line["problem"])
        found.add(key, line["reduction"], line["kernel"], line["ms"])
        for who in PEERS:
            ms = peers.get((line["op"], line["problem"], line["graph"], line["dtype"], line["kernel"]), {}).get(f"{who}_ms")
            if ms:
                found.add(key, who, line["kernel"], ms)
        if line["kernel"] == "double_backward" and line["peak_MiB"] != "-" and line["reduction"] != "atomic":
            size = float(line["floor"]) * 4.3e9 + float(line["workspace"])  # the floor is of all arguments
            found.memory[key] = f"{size / 1e6:.0f} ({float(line['peak_MiB']) * 1.048576:.0f}, {line['peak_of']})"
    return found


def geometric(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def overheads(table):
    """By contender: device time alone, and wall clock."""
    yield f"| {table.gpu} | rows | device, geometric mean | least | most | wall clock, geometric mean | least |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for contender in ORDER:
        keys = [key for key in table.by if key[2] == contender and ratio(table, TIME, *key) is not None]
        if keys:
            device, wall = ([ratio(table, column, *key) for key in keys] for column in (TIME, "wall ms"))
            yield (f"| {contender} | {len(keys)} | {geometric(device):.2f} | {min(device):.2f} | {max(device):.1f} | "
                   f"{geometric(wall):.2f} | {min(wall):.2f} |")


def points(table):
    """(layer, kernel, contender, flops per byte, share of FMAs, share of a copy's rate)."""
    for (name, layer, contender, kernel), line in table.by.items():
        ms = table.number(TIME, name, layer, contender, kernel)
        if name == "roofline" and ms is not None:
            first = table.by[name, layer, "cgtpgen", kernel]
            flops, size = float(first["flops"]), float(first["bytes"])
            yield layer, kernel, contender, flops / size, flops / (ms * 1e-3) / FMA, size / (ms * 1e-3) / table.copy


def roofline_table(table):
    """Forward and backward: flops per byte, and of the rates of multiply-adds and of a copy what is reached."""
    found = {(layer, kernel, contender): values for layer, kernel, contender, *values in points(table)}
    others = [c for c in ("cgtpgen", *ORDER) if any(key[2] == c for key in found)]
    yield f"| {table.gpu}, FMAs % of the peak; bandwidth % | flops per byte | " + " | ".join(SHORT.get(c, c) for c in others) + " |"
    yield "|---|---:|" + "---|" * len(others)
    for layer in table.layers("roofline"):
        kernels = [k for k in KERNELS[:2] if (layer, k, "cgtpgen") in found]
        if not kernels:
            continue
        cells = [", ".join(f"{found[layer, k, 'cgtpgen'][0]:.1f}" for k in kernels)]
        for contender in others:
            of = [found.get((layer, k, contender)) for k in kernels]
            cells.append("; ".join(", ".join(f"{100 * values[which]:.0f}" if values else "-" for values in of) for which in (1, 2)))
        yield f"| {layer.removeprefix('roofline_')} | " + " | ".join(cells) + " |"


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


class Models:
    """A file of tests/models/bench.py. Systems of several sizes are called `NAME, N atoms`."""

    def __init__(self, path):
        with open(path, newline="") as file:
            self.gpu = re.search(r"NVIDIA (\w+)", file.readline()).group(1)
            lines = list(csv.DictReader(file, delimiter="\t"))
        self.found = {(line["model"], line["step"], line["contender"]): line for line in lines}
        self.steps = list(dict.fromkeys((line["model"], line["step"]) for line in lines))
        order = ["cgtpgen", "cgtpgen, graphs", *ORDER]
        self.contenders = sorted({line["contender"] for line in lines} & set(order), key=order.index)

    def number(self, column, *key):
        """None: not measured, or without memory for it."""
        line = self.found.get(key)
        return float(line[column]) if line and line["ms"] != "out of memory" and line.get(column) not in (None, "-") else None

    def of(self, model, step, contender):
        """How many times as long as ours, in brackets that of kernels alone, and gigabytes."""
        line = self.found.get((model, step, contender))
        ms, kernels = (ratio_of(*(self.number(column, model, step, who) for who in (contender, "cgtpgen"))) for column in ("ms", "kernels ms"))
        if not line or line["ms"] == "out of memory":
            return "memory" if line else "-"
        return f"{ms:.2f}" if contender == "cgtpgen, graphs" else f"{cell(ms)} ({cell(kernels)}), {line['GB']}"


def ratio_of(theirs, ours):
    return theirs / ours if theirs is not None and ours else math.nan


def models_table(path, sizes=False):
    """Milliseconds of a step and gigabytes; of others how many times as long. Either of systems of one size, or of several."""
    table = Models(path)
    steps = [key for key in table.steps if (", " in key[0]) == sizes and (*key, "cgtpgen") in table.found]
    others = [c for c in table.contenders[1:] if any((*key, c) in table.found for key in steps)]
    yield f"| {table.gpu} | ms (kernels), GB | " + " | ".join(c.replace("cgtpgen, graphs", "recorded") for c in others) + " |"
    yield "|---|---|" + "---|" * len(others)
    for model, step in steps:
        line = table.found[model, step, "cgtpgen"]
        first = "memory" if line["ms"] == "out of memory" else f"{line['ms']} ({line['kernels ms']}), {line['GB']}"
        yield f"| {model}, {step} | " + " | ".join([first, *(table.of(model, step, c) for c in others)]) + " |"


def parts_table(path):
    """Of the kernels' time what products take, matrix products with rows of edges and of nodes, and the rest; milliseconds."""
    table = Models(path)
    columns = ("kernels ms", "products ms", "edges ms", "nodes ms")
    yield f"| {table.gpu}, ms | who | kernels | products | matrices, edges | matrices, nodes | rest |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for model, step in table.steps:
        for contender in table.contenders:
            of = [table.number(column, model, step, contender) for column in columns]
            if ", " not in model and None not in of:
                yield f"| {model}, {step} | {contender} | " + " | ".join(f"{ms:.1f}" for ms in [*of, of[0] - sum(of[1:])]) + " |"


def read_registers(path):
    """Of make ptxas-table, by product, architecture and kernel."""
    with open(path, newline="") as file:
        file.readline()
        return {(line["product"], line["arch"], line["kernel"]): line for line in csv.DictReader(file, delimiter="\t")}


def registers_table(path):
    """Of a product's kernels: the most registers of its functions, bytes spilled where there are some, predicted times. Of
    convolutions those that add atomically."""
    found = {key: line for key, line in read_registers(path).items() if key[0].rpartition("_")[2] not in ("deterministic", "any", "compensated")}
    arches = list(dict.fromkeys(arch for _, arch, _ in found))
    yield "| registers; predicted ns of an item | " + " | ".join(arches) + " |"
    yield "|---|" + "---|" * len(arches)
    for product in dict.fromkeys(product for product, _, _ in found):
        of = [[found[product, arch, kernel] for kernel in KERNELS if (product, arch, kernel) in found] for arch in arches]
        yield f"| {product.replace('_f32', '')} | " + " | ".join(
            ", ".join(line["registers"] + (f" (spills {line['spilled']})" if line["spilled"] != "0" else "") for line in lines) + "; " +
            ", ".join(f"{float(line['predicted_ns_per_item']):.3g}" for line in lines) for lines in of) + " |"


def predicted_table(path, table):
    """What was measured on a GPU of sm_90, over what was predicted for it."""
    found = read_registers(path)
    yield f"| {table.gpu}, measured over predicted | " + " | ".join(kernel.replace("_", " ") for kernel in KERNELS) + " |"
    yield "|---|" + "---|" * len(KERNELS)
    for name in filter(PUBLISHED.get, table.tables()):
        cells, products = [], set()
        for kernel in KERNELS:
            ratios = []
            for layer in table.layers(name):
                product = layer.removeprefix("oeq_").removesuffix("_c32") + PUBLISHED[name]
                ours = ours_of(table, name, layer)
                line, ms = found.get((product, "sm_90", kernel)), table.number(TIME, name, layer, ours, kernel)
                if line and ms is not None:
                    items = int(table.by[name, layer, ours, kernel]["items"])
                    ratios.append(ms * 1e6 / items / float(line["predicted_ns_per_item"]))
                    products.add(product)
            cells.append(f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-")
        if products:
            yield f"| {name}, {len(products)} products | " + " | ".join(cells) + " |"


def picture(width, height, title, size=10):
    """The head of a drawing."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="{size}">'
    yield f"<title>{html.escape(title, quote=False)}</title>"
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'


def draw(table):
    """A logarithmic picture: the roof, a filled mark for ours, an open one for others."""
    found = list(points(table))
    colours = {"cgtpgen": "#1f6fb2", "OpenEquivariance": "#c2571a", "cuEquivariance": "#3d8a4f"}
    width, height, left, top, x0, x1, y0, y1 = 620, 300, 70, 50, 0.3, 100.0, 0.5, 100.0

    def x(value):
        return left + width * math.log(value / x0) / math.log(x1 / x0)

    def y(value):
        return top + height * (1 - math.log(value / y0) / math.log(y1 / y0))
    yield from picture(left + width + 20, top + height + 50, f"Rooflines of one path on an {table.gpu}", 11)
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


def draw_kernels(found):
    """How many times as long libraries take, by layer and kernel; logarithmic."""
    colours = {"oeq": "#c2571a", "oeq_det": "#e0a070", "oeq_atomic": "#8a3a0e", "flashtp": "#7a4fa0", "cueq": "#3d8a4f", "e3nn": "#8a8a8a",
               "e3nn_compiled": "#333333"}
    lines = [(table.gpu, *key, kernel, table.of[key]) for table in found for key in table.of for kernel in KERNELS
             if any(who not in table.ours and kernel in times for who, times in table.of[key].items())]
    left, width, line, top, most = 330, 520, 13, 56, 400

    def at(value):
        return left + width * math.log(value) / math.log(most)
    height = top + line * len(lines) + 24
    yield from picture(left + width + 20, height, "Times of other libraries over cgtpgen's")
    for i, (who, colour) in enumerate(colours.items()):
        yield f'<circle cx="{20 + 115 * i}" cy="16" r="4" fill="{colour}"/><text x="{28 + 115 * i}" y="20">{who}</text>'
    for tick in (1, 2, 5, 10, 20, 50, 100, 200, 400):
        yield f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{top - 8}" y2="{height - 24}" stroke="#d8d8d8"/>'
        yield f'<text x="{at(tick):.1f}" y="{top - 12}" text-anchor="middle">{tick}</text>'
    tables = {table.gpu: table for table in found}
    for i, (gpu, operation, layer, kernel, by) in enumerate(lines):
        y = top + line * i + line / 2
        yield f'<text x="{left - 8}" y="{y + 3:.1f}" text-anchor="end">{gpu} {html.escape(layer)}, {operation}, {kernel.replace("_", " ")}</text>'
        for who, times in by.items():
            if who in colours and kernel in times:
                yield f'<circle cx="{at(times[kernel] / tables[gpu].mine(by, who)[kernel]):.1f}" cy="{y:.1f}" r="3.5" fill="{colours[who]}"/>'
    yield "</svg>"


def draw_contenders(table):
    """A line a layer: how many times as long others take, from the kernel with the least to that with the most, a mark at the
    geometric mean; logarithmic."""
    colours = {"FlashTP": "#7a4fa0", "OpenEquivariance": "#c2571a", "cuEquivariance": "#3d8a4f", "e3nn": "#8a8a8a", "e3nn compiled": "#333333"}
    found = {}
    for value, layer, _, contender, _ in table.compared():
        if contender in colours:
            found.setdefault(layer, {}).setdefault(contender, []).append(value)
    left, width, line, top = 260, 560, 16, 50
    every = [value for by in found.values() for values in by.values() for value in values]
    first, most = 0.95 * min(1.0, *every), max(every)
    height = top + line * len(found) + 10

    def at(value):
        return left + width * math.log(value / first) / math.log(most / first)
    yield from picture(left + width + 20, height, f"Times of other libraries over cgtpgen's on an {table.gpu}")
    for i, (contender, colour) in enumerate(colours.items()):
        yield f'<circle cx="{20 + 130 * i}" cy="14" r="3" fill="{colour}"/><text x="{28 + 130 * i}" y="18">{contender}</text>'
    for tick in (tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= most):
        yield f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{top - 8}" y2="{height}" stroke="{"#000000" if tick == 1 else "#d8d8d8"}"/>'
        yield f'<text x="{at(tick):.1f}" y="{top - 12}" text-anchor="middle">{tick}</text>'
    for n, (layer, by) in enumerate(found.items()):
        yield f'<text x="{left - 8}" y="{top + line * n + line / 2 + 3}" text-anchor="end">{html.escape(layer)}</text>'
        for i, (contender, colour) in enumerate(colours.items()):
            values, y = by.get(contender), top + line * n + 4 + 2 * i
            if values:
                yield f'<line x1="{at(min(values)):.1f}" x2="{at(max(values)):.1f}" y1="{y}" y2="{y}" stroke="{colour}"/>'
                yield f'<circle cx="{at(geometric(values)):.1f}" cy="{y}" r="3" fill="{colour}"/>'
    yield "</svg>"


PARTS = {"products": "#2b6cb0", "matrices, edges": "#c2571a", "matrices, nodes": "#3d8a4f", "rest": "#a0a0a0", "without a kernel": "#ffffff"}


def draw_parts(table):
    """Bars: what parts of a step take, and what of it no kernel runs in, milliseconds."""
    bars = []
    for model, step in table.steps:
        for contender in table.contenders:
            of = [table.number(column, model, step, contender) for column in
                  ("ms", "kernels ms", "products ms", "edges ms", "nodes ms")]
            if ", " not in model and None not in of:
                ms, kernels, *parts = of
                bars.append((f"{model}, {step}, {contender}", [*parts, kernels - sum(parts), max(ms - kernels, 0)]))
    left, width, line, top = 290, 560, 16, 30
    most, height = max(sum(parts) for _, parts in bars), top + line * len(bars) + 10
    yield from picture(left + width + 60, height, f"What steps consist of on an {table.gpu}")
    for i, (name, colour) in enumerate(PARTS.items()):
        yield f'<rect x="{20 + 130 * i}" y="8" width="9" height="9" fill="{colour}" stroke="#606060"/>'
        yield f'<text x="{34 + 130 * i}" y="16">{name}</text>'
    for n, (name, parts) in enumerate(bars):
        at, y = float(left), top + line * n
        yield f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{html.escape(name)}</text>'
        for part, colour in zip(parts, PARTS.values()):
            wide = width * part / most
            yield f'<rect x="{at:.1f}" y="{y + 2}" width="{wide:.1f}" height="{line - 4}" fill="{colour}" stroke="#606060" stroke-width="0.4"/>'
            at += wide
        yield f'<text x="{at + 4:.1f}" y="{y + 11}">{sum(parts):.0f} ms</text>'
    yield "</svg>"


def tables_of(paths):
    makers = {"stability": stability_table, "models": models_table, "ptxas": registers_table}
    stable = [path for path in paths if any(word in path for word in makers)]
    kernels = [read_kernels(path) for path in paths if "kernels" in path]
    tables = [Table(path) for path in paths if path not in stable and "kernels" not in path]
    sections = {"behind": behind(tables + kernels)}
    for found in kernels:
        sections |= {f"{operation} {found.gpu}": found.table(operation) for operation in OPERATIONS.values()}
    for table in tables:
        sections[f"overheads {table.name}"] = overheads(table)
        for name in table.tables():
            if table.fills and len(table.contenders(name)) < 2:
                continue
            sections[f"{name} {table.name}"] = roofline_table(table) if name == "roofline" else times_table(table, name)
    sections |= {f"predicted {table.gpu}": predicted_table(path, table) for path in stable if "ptxas" in path for table in tables
                 if table.name == table.gpu}
    for path in (path for path in stable if "models" in path):
        name = path.rpartition("/")[2]
        more = {f"{name} sizes": list(models_table(path, sizes=True)), f"{name} parts": list(parts_table(path))}
        sections |= {name: lines for name, lines in more.items() if len(lines) > 2}
    for path in stable:
        sections[path.rpartition("/")[2]] = next(made for word, made in makers.items() if word in path)(path)
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
    elif arguments[:1] == ["contenders"] and len(arguments) == 2:
        print("\n".join(draw_contenders(Table(arguments[1]))))
    elif arguments[:1] == ["parts"] and len(arguments) == 2:
        print("\n".join(draw_parts(Models(arguments[1]))))
    elif arguments[:1] == ["kernels"] and len(arguments) > 1:
        print("\n".join(draw_kernels([read_kernels(path) for path in arguments[1:]])))
    elif arguments[:1] == ["update"] and len(arguments) > 2:
        update(arguments[1], arguments[2:])
    elif arguments and arguments[0] not in ("roofline", "contenders", "parts", "kernels", "update"):
        print("\n".join(tables_of(arguments[arguments[0] == "tables":])), end="")
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main(sys.argv[1:])
