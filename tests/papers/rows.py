"""What the papers measured, as layers: tables of rows, and for each row who is to be timed.

A row is a layer (the text of a spec), where it is computed (a graph of tests/gpu/graphs, or so many items), the kernels that are
timed, and contenders. Contenders whose names begin with cgtpgen are the same layer with keys of VARIANTS set.
"""
import csv
import functools
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, f"{ROOT}/tests/gpu")
cwd = os.getcwd()
os.chdir(ROOT)  # sources.py finds what it imports from there
from sources import read, with_channels, with_keys  # noqa: E402
os.chdir(cwd)

NODES = {"carbon": 1000, "dhfr": 1800, "covid": 23000, "table5": 512}
THREE = ("forward", "backward", "double_backward")
SECOND_ORDER = 20000  # rows of a batch for kernels of the second order, as in OpenEquivariance's benchmark
CONVOLUTION = "{x: sender, y: item, w: item, z: receiver}"
# What is set of a spec: a product of its own. Knobs are those of docs/spec.md, switched off one by one from FlashTP's ablation.
VARIANTS = {
    "cgtpgen": {},
    "cgtpgen atomic": {"reduction": "atomic"},
    "cgtpgen, a path at a time": {"reduction": "atomic", "tune": "{sm_90: {paths: 1, share: 1, together: 1}}"},
    "cgtpgen, paths by tables": {"reduction": "atomic", "tune": "{sm_90: {table: 2}}"},
    "cgtpgen, unfused": {"index": "{}"},  # gather, a batch, a sum over edges: each by itself
    "cgtpgen compensated": {"accumulate": "compensated"},
}
ABLATION = tuple(VARIANTS)[1:5]
CONVOLUTIONS = ("cgtpgen", "cgtpgen atomic", "OpenEquivariance", "OpenEquivariance deterministic", "cuEquivariance",
                "cuEquivariance, scatter", "e3nn", "e3nn compiled")
FLASHTP = ("cgtpgen atomic", "FlashTP", "OpenEquivariance", "cuEquivariance", "e3nn")
SEVEN = ("mace_large", "mace_medium", "oeq_nequip_lips", "oeq_nequip_revmd17_aspirin", "oeq_nequip_revmd17_toluene",
         "oeq_nequip_revmd17_benzene", "oeq_nequip_water")
# Processes by which library is measured, and how many there are: those that compile long have one for each row (0).
WORKERS = {"cgtpgen": 1, "FlashTP": 1, "OpenEquivariance": 0, "cuEquivariance": 0, "e3nn": 2, "e3nn compiled": 0}
# How long a row is made ready where 16 are on 16 cores, roughly: seconds, and more by a power of the number of paths.
MAKING = {"OpenEquivariance": (20, 0.8, 1), "cuEquivariance": (25, 1.5, 1.2), "e3nn compiled": (60, 4, 1)}
WITHOUT = set(filter(None, os.environ.get("WITHOUT", "").split(",")))
COMPILED = os.environ.get("COMPILED")  # LAYER or TABLE/LAYER that have e3nn compiled (default: all)
KNOWN = os.environ.get("KNOWN", "").split()  # files of earlier runs


@dataclass
class Row:
    table: str
    name: str        # of the layer
    text: str        # its spec
    place: str       # a graph, or "" where there is none
    items: int       # of a batch
    kernels: tuple   # that are timed
    contenders: tuple
    known: dict = field(default_factory=dict)  # product()
    compiled: tuple = THREE

    @property
    def label(self):
        return f"{self.table}/{self.name}"

    def spec(self, contender):
        """Of a contender that is cgtpgen: name and text."""
        name = re.sub(r"\W+", "_", f"{self.name} {contender}{'' if self.place else ' batch'}")
        keys = dict(VARIANTS[contender])
        if self.place and not self.text_has_index():
            keys.setdefault("index", CONVOLUTION)
        if not self.place:
            keys["index"] = "{}"
        return name, with_keys(self.text, {**keys, "name": name, "kernels": f"[{', '.join(self.compiled)}]"})

    def text_has_index(self):
        return re.search(r"^index:", self.text, re.M) is not None

    def product(self):
        """The layer as the generator expands it: irreps, paths, elements of rows, flops."""
        if not self.known:
            generator = os.environ.get("CGTPGEN", f"{ROOT}/build/cgtpgen")
            said = subprocess.run([generator, "--print=json", "-Wno-all", "-"], input=self.spec(self.contenders[0])[1], text=True,
                                  stdout=subprocess.PIPE, check=True)
            self.known.update(json.loads(said.stdout))
        return self.known


def channelwise(name, x, y, z):
    return (f"cgtp: 1\nname: {name}\nirreps:\n  x: {x}\n  y: {y}\n  z: {z}\ninstructions: channelwise\n"
            f"index: {CONVOLUTION}\nprecision: float32\n")


def spec(name):
    return with_keys(re.sub(r"^tune:.*\n( .*\n)*", "", read(f"{ROOT}/specs/{name}.yaml"), flags=re.M), {"precision": "float32"})


def roofline():
    """OpenEquivariance, its roofline."""
    for n in range(1, 9):
        yield Row("roofline", f"roofline_{n}", spec(f"roofline_{n}"), "", 200000, THREE[:2],
                  ("cgtpgen", "OpenEquivariance", "cuEquivariance"), compiled=THREE[:2])


def batch():
    """OpenEquivariance, without a graph."""
    for name in SEVEN:
        yield Row("batch", name, spec(name), "", 50000, THREE,
                  ("cgtpgen", "OpenEquivariance", "cuEquivariance", "e3nn", "e3nn compiled"))


def convolution():
    """OpenEquivariance, fused, on carbon."""
    for name in SEVEN:
        some = CONVOLUTIONS if name in ("mace_large", "oeq_nequip_lips") else \
            tuple(c for c in CONVOLUTIONS if c not in ("cgtpgen", "OpenEquivariance deterministic"))
        yield Row("convolution", name, spec(name), "carbon", 0, THREE, some)


def table5():
    """FlashTP's table 5, and its scaling in channels."""
    for l in (1, 2, 3):
        for channels in (32, 64, 128):
            name = f"flashtp_table5_lmax{l}"
            yield Row("table5", f"{name}_c{channels}", with_channels(spec(name), f"={channels}"), "table5", 0, THREE,
                      FLASHTP if channels == 32 else FLASHTP[:-1])


def high():
    """Its highest degrees, which compile for minutes."""
    for l in (4, 5):
        yield Row("high", f"flashtp_table5_lmax{l}_c32", spec(f"flashtp_table5_lmax{l}"), "table5", 0, THREE, FLASHTP)


def sevennet():
    """Layers of SevenNet; 2 to 4 are alike."""
    for l in (3, 4):
        x, y = "128x0e + 64x1e + 32x2e" + "".join(f" + 32x{i}e" for i in range(3, l + 1)), " + ".join(f"{i}e" for i in range(l + 1))
        for number, (of, to) in {1: ("128x0e", y), 2: (x, y), 5: (x, "0e")}.items():
            name = f"sevennet_l{l}i5_layer{number}"
            yield Row("sevennet", name, channelwise(name, of, y, to), "table5", 0, THREE, FLASHTP if number == 2 else FLASHTP[:-1])


def nequip():
    """NequIP with natural parity, 64 channels, on diamond."""
    for l in (1, 2, 3):
        irreps = [f"{i}{'eo'[i % 2]}" for i in range(l + 1)]
        name = f"nequip_natural_lmax{l}"
        yield Row("nequip", name, channelwise(name, " + ".join(f"64x{i}" for i in irreps), " + ".join(irreps), " + ".join(irreps)),
                  "carbon", 0, THREE, ("cgtpgen atomic", "OpenEquivariance", "cuEquivariance", "e3nn"))


def allegro():
    """Allegro's layers."""
    for l in (1, 2, 3):
        name = f"allegro_lmax{l}"
        yield Row("allegro", name, spec(name), "dhfr", 0, THREE, ("cgtpgen", "cuEquivariance", "e3nn", "e3nn compiled"))


def ablation():
    """FlashTP's ablation, by knobs."""
    for name in ("flashtp_table5_lmax2", "flashtp_table5_lmax3"):
        yield Row("ablation", f"{name}_c32", spec(name), "table5", 0, THREE, ABLATION)


def stability():
    """FlashTP's protocol: inputs uniform in (0, 1), float32 against e3nn in float64."""
    for l in range(1, 6):
        yield Row("stability", f"flashtp_table5_lmax{l}_c32", spec(f"flashtp_table5_lmax{l}"), "random", 0, THREE[:2],
                  ("cgtpgen atomic", "cgtpgen compensated", "FlashTP", "OpenEquivariance", "e3nn", "e3nn float64"))


TABLES = {made.__name__: made for made in (roofline, table5, ablation, sevennet, nequip, allegro, convolution, batch, stability, high)}


def rows(words=()):
    """Of words TABLE, or TABLE/LAYER with the beginning of a layer's name, each row once; what follows = is no part of them."""
    found = {}
    for word in words or TABLES:
        table, _, layer = word.partition("=")[0].partition("/")
        if table not in TABLES:
            sys.exit(f"there is no table {table}: {', '.join(TABLES)}")
        for row in TABLES[table]():
            if row.name.startswith(layer):
                found.setdefault(row.label, row)
    return list(found.values())


def worker_of(contender):
    return next(name for name in sorted(WORKERS, key=len, reverse=True) if contender.startswith(name))


def tasks(words=()):
    """All pairs of row and contender, in the order in which they are wanted: what matters less comes last. Of rows that KNOWN has
    those that it lacks, and ours beside them."""
    def wanted(row, contender):
        return worker_of(contender) not in WITHOUT and contender not in WITHOUT and \
            (contender != "e3nn compiled" or COMPILED is None or {row.name, row.label} & set(COMPILED.split()))
    found, measured = [], known(KNOWN)
    for row in rows(words):
        pairs = [contender for contender in row.contenders if wanted(row, contender)]
        lacks = {contender for contender in pairs if (row.label, contender) not in measured}
        if row.table == "stability":  # differences are of one run
            lacks = set(pairs) if lacks - {"e3nn float64"} else set()
        found += [(row, contender) for contender in pairs if contender in lacks or lacks and contender in ("cgtpgen", "cgtpgen atomic")]
    return sorted(found, key=lambda task: "," in task[1] or "deterministic" in task[1])


def quick_first(words):
    """The place of each task where what is made ready in the least time comes first, ours before all others: then most rows have
    been measured whenever the run ends."""
    def seconds(task):
        row, contender = task
        first, each, power = MAKING.get(worker_of(contender), (0, 0, 1))
        return first + each * len(row.product()["paths"]) ** power
    return {(row.label, contender): n for n, (row, contender) in enumerate(sorted(tasks(words), key=seconds))}


@functools.cache
def known_in(path):
    """Of a file, (TABLE/LAYER, contender) for what was measured beside ours, or did not fit."""
    with open(path, newline="") as file:
        file.readline()
        lines = list(csv.DictReader(file, delimiter="\t"))
    if "rmse" in lines[0]:
        return {(f"stability/{line['layer']}", line["contender"]) for line in lines}
    found = {(f"{line['table']}/{line['layer']}", line["contender"]) for line in lines if line["ms"] != "-" or "memory" in line["why"]}
    ours = {label for label, contender in found if contender in ("cgtpgen", "cgtpgen atomic")}
    # What an ablation takes apart is table 5's.
    return {pair for pair in found if pair[0] in ours or pair[0].replace("ablation/", "table5/") in ours}


def known(paths):
    return set().union(*map(known_in, paths))


def processes(words, worker):
    return WORKERS[worker] or sum(worker_of(contender) == worker for _, contender in tasks(words))


def shares(words, worker, parts):
    """Of each of the processes of a worker, its tasks."""
    mine = [task for task in tasks(words) if worker_of(task[1]) == worker]
    return [mine[part::parts] for part in range(parts)]


def built(folder, row, contender):
    """Whether it is there, or will not be: of ours what bench.py builds while others are measured."""
    return contender not in VARIANTS or any(os.path.exists(f"{folder}/{made}")
                                            for made in (f"built/{row.spec(contender)[0]}", "ours.built"))


def file_of(folder, row, contender):
    """Where its outputs are."""
    name = re.sub(r"[^0-9a-z]+", "_", f"{row.label} {contender}".lower())
    return f"{folder}/outputs/{name}.pt"
