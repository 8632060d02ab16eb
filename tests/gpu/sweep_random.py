#!/usr/bin/env python3
"""Times layers by one generator or by several in turn: layers drawn at random, a fixed list, the benchmark's own.

Usage: sweep_random.py [options] [make] [build] [run] [table]

  make    draws, generates into OUT/LETTER (a folder for each generator, with its runtime), says what could not be generated
  build   compiles there, where nvcc is: a program for each layer, the longest sources first; says what took too long
  run     times every layer by all generators in turn, compares a sample of its outputs with the dense reference
          (not gradients of what over 2,000 items share: make gpu-random has those),
          writes OUT/rows.tsv
  table   prints the tables of OUT/rows.tsv
Without a word: all four. OUT may be made on one machine and built and run on another. The status is 1 where numbers are
wrong or a program failed.

  --draw=SEED:FIRST:COUNT   layers FIRST .. of drawn.py's seed (default 1:0:50)
  --fixed                   the fixed list of drawn.py instead
  --published=SET           the benchmark's products instead: main, large or quick (sources.py)
  --layers=REGEX            only layers whose names match: '^conv_|^batch_' are families
  --kernels=LIST            of forward,backward,double_backward only these
  --cgtpgen=FILE[:RUNTIME[:KNOBS]]  the generator, its runtime/ (default build/cgtpgen:runtime) and the knobs that specs get,
                            '{evaluation: staged, table: 2}'; given twice or more: A, B, ..
  --trees=OLD,NEW           the same of source trees that are built: their build/cgtpgen, or build/static/cgtpgen if that is newer
  --out=DIR                 default build/sweep
  --arch=sm_90              default native
  --jobs=N                  default: as many as there are cores
  --compile-most=S          seconds of one file of nvcc (default 300); a layer with one that takes longer is left out
  --run-most=S              seconds of one program (default 150)
  --rounds=N                how often each layer is timed by each generator (default 1); the least median counts
  --runs=N, --items=N, --no-check   as of bench
  --backend=c               tries everything but the GPU

The table: by family and kernel the geometric mean of times over floors, the ninth decile and the worst; the same by
evaluation; the worst kernels. The floor is the longest of the bytes of all arguments at what a copy reaches, the plan's
flops at the rate of FMAs (bench.c), 3 us. Several generators: times of each over those of A.
"""
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import drawn  # noqa: E402
import sources  # noqa: E402

KERNELS = ("forward", "backward", "double_backward")
FLAGS = {"cuda": ["-std=c++17", "-O3", "-lineinfo"], "c": ["-std=c11", "-O2", "-march=native"]}
WORST = 20  # kernels that are listed


class Options:
    def __init__(self):
        self.draw, self.fixed, self.published, self.layers, self.kernels = "1:0:50", False, "", "", ",".join(KERNELS)
        self.cgtpgen, self.trees, self.out, self.arch, self.backend = [], "", "build/sweep", "native", "cuda"
        self.jobs, self.compile_most, self.run_most, self.rounds = os.cpu_count(), 300, 150, 1
        self.runs = self.items = 0
        self.no_check = False
        self.words = []

    def read(self, arguments):
        for argument in arguments:
            key, equals, value = argument.partition("=")
            key = key[2:].replace("-", "_") if key.startswith("--") else None
            if argument in WORDS:
                self.words.append(argument)
            elif key == "cgtpgen" and value:
                self.cgtpgen.append(value)
            elif key in ("fixed", "no_check") and not equals:
                setattr(self, key, True)
            elif key in vars(self) and key not in ("words", "fixed", "no_check") and value:
                setattr(self, key, int(value) if isinstance(getattr(self, key), int) else value)
            else:
                sys.exit(__doc__.strip())
        self.cgtpgen += [f"{built(tree)}:{tree}/runtime" for tree in self.trees.split(",") if tree]
        self.cgtpgen = self.cgtpgen or ["build/cgtpgen"]
        return self

    def generators(self):
        """(letter, program, runtime)."""
        for number, one in enumerate(self.cgtpgen):
            program, runtime, _ = (one + "::").split(":", 2)
            yield chr(ord("A") + number), program, runtime or "runtime"

    def knobs(self, letter):
        """As a key of a spec."""
        knobs = (self.cgtpgen[ord(letter) - ord("A")] + "::").split(":", 2)[2].rstrip(":")
        return {"tune": f"{{sm_90: {knobs}}}"} if knobs else {}


def built(tree):
    there = [path for path in (f"{tree}/build/cgtpgen", f"{tree}/build/static/cgtpgen") if os.path.exists(path)]
    return max(there, key=os.path.getmtime, default=f"{tree}/build/cgtpgen")


def in_parallel(jobs, function, work):
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        return list(pool.map(function, work))


def manifest(options):
    return f"{options.out}/layers.json"


def read_manifest(options):
    with open(manifest(options)) as file:
        return json.load(file)


def write_manifest(options, made):
    with open(manifest(options), "w") as file:
        json.dump(made, file, indent=1)


# ---- make ----

def products(options):
    """(family, product) of each layer."""
    if options.published:
        return [("published", p) for p in sources.bench(options.published)]
    if options.fixed:
        layers = list(drawn.fixed())
    else:
        seed, first, count = map(int, options.draw.split(":"))
        layers = [drawn.layer(seed, number) for number in range(first, first + count)]
    return [(layer.family, sources.Product(layer.name, layer.text(), place=layer.place)) for layer in layers]


def generate(options, letter, program, p):
    """What is known of a layer by a generator: its sources and evaluations, or why there is none."""
    out = f"{options.out}/{letter}"
    spec = f"{out}/specs/{p.name}.yaml"
    sources.write(spec, sources.with_keys(p.text, {"kernels": f"[{options.kernels}]".replace(",", ", "), **options.knobs(letter)}))
    call, begin = [program, f"--backend={options.backend}", "-Wno-all", "-o", out], time.monotonic()
    try:
        made = subprocess.run([*call, "--print=json", spec], capture_output=True, text=True, timeout=options.compile_most)
        if made.returncode:
            return {"why": "not generated: " + (made.stderr.strip().splitlines() or ["?"])[0]}
        seconds = time.monotonic() - begin
        listed = subprocess.run([*call, "--list", spec], check=True, capture_output=True, text=True).stdout.split()
    except subprocess.TimeoutExpired:
        return {"why": f"not generated in {options.compile_most} s"}
    table = f"{out}/table_{p.name}.c"
    sources.write(table, sources.table([p], letter, sources.evaluations(made.stdout)))
    files = [os.path.basename(path) for path in (*listed, table) if not path.endswith(".h")]
    return {"files": files, "generated": seconds, "bytes": {name: os.path.getsize(f"{out}/{name}") for name in files}}


def make(options):
    found = [(family, p) for family, p in products(options) if re.search(options.layers, p.name)]
    if not found:
        sys.exit("sweep_random.py: no layers")
    made = [{"name": p.name, "family": family, "by": {}} for family, p in found]
    for letter, program, runtime in options.generators():
        out = f"{options.out}/{letter}"
        sources.own(out)
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(f"{out}/specs")
        shutil.copytree(runtime, f"{out}/runtime")
        known = in_parallel(options.jobs, lambda one: generate(options, letter, os.path.abspath(program), one[1]), found)
        for layer, of in zip(made, known):
            layer["by"][letter] = of
            if "why" in of:
                print(f"# {letter} {layer['name']}: {of['why']}")
        print(f"# {letter}: {program}, {sum('why' not in of for of in known)} of {len(known)} layers generated, "
              f"{sum(sum(of.get('bytes', {}).values()) for of in known) / 1e6:.1f} MB", flush=True)
    write_manifest(options, made)


# ---- build ----

def compiler(options):
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return [nvcc, f"-arch={options.arch}"] if options.backend == "cuda" else [os.environ.get("CC") or "gcc"]


def compile_file(options, out, name):
    """Seconds, or why not."""
    source, made = f"{out}/{name}", f"{out}/{name}.o"
    include = [f"-I{folder}" for folder in (out, f"{out}/runtime", "tests", "tests/gpu")]
    command = [*compiler(options), *FLAGS["cuda"]] if name.endswith(".cu") else ["gcc", *FLAGS["c"]]
    begin = time.monotonic()
    try:
        said = subprocess.run([*command, *include, "-c", "-o", made, source], capture_output=True, text=True,
                              timeout=options.compile_most)
    except subprocess.TimeoutExpired:
        return f"{name} takes over {options.compile_most} s to compile"
    if said.returncode:
        return f"{name}: " + (said.stderr.strip().splitlines() or ["does not compile"])[0]
    return time.monotonic() - begin


def link(options, work):
    out, layer, of = work
    objects = [f"{out}/{name}.o" for name in of["files"]]
    command = [*compiler(options), "-o", f"{out}/{layer['name']}.bench", *objects, f"{out}/bench.a", "-lm"]
    openmp = ["-Xcompiler", "-fopenmp"] if options.backend == "cuda" else ["-fopenmp"]
    said = subprocess.run([*command, *openmp], capture_output=True, text=True)
    if said.returncode:
        of["why"] = "not linked: " + (said.stderr.strip().splitlines() or ["?"])[0]
        print(f"# {layer['name']}: {of['why']}")
    for path in objects:  # of hundreds of kernels
        os.remove(path)


def build(options):
    made, begin = read_manifest(options), time.monotonic()
    letters = list(made[0]["by"])
    for letter in letters:
        out = f"{options.out}/{letter}"
        subprocess.run(["make", f"-j{options.jobs}", "gpu-bench-library", f"GPU_DIR={out}", f"GPU_RUNTIME={out}/runtime",
                        f"GPU_ARCH={options.arch}", f"GPU_BACKEND={options.backend}"],
                       check=True, env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})
    work = [(of, f"{options.out}/{letter}", name) for layer in made for letter, of in layer["by"].items()
            if "why" not in of for name in of["files"]]
    work.sort(key=lambda one: -one[0]["bytes"][one[2]])
    for (of, _, name), took in zip(work, in_parallel(options.jobs, lambda one: compile_file(options, *one[1:]), work)):
        if isinstance(took, str):
            of["why"] = took
            print(f"# {took}")
        else:
            of.setdefault("compiled", {})[name] = took
    in_parallel(options.jobs, lambda one: link(options, one),
                [(f"{options.out}/{letter}", layer, of) for layer in made for letter, of in layer["by"].items()
                 if "why" not in of])
    write_manifest(options, made)
    seconds = sum(sum(of.get("compiled", {}).values()) for layer in made for of in layer["by"].values())
    print(f"# built in {time.monotonic() - begin:.0f} s, {seconds:.0f} s of compilers", flush=True)


# ---- run ----

def timed(options, letter, layer):
    """The rows of one program, by kernel and place; or why there are none."""
    out = f"{options.out}/{letter}"
    tsv = f"{out}/{layer['name']}.tsv"
    command = [f"{out}/{layer['name']}.bench", f"--tsv={tsv}"]
    command += [f"--{key}={getattr(options, key)}" for key in ("runs", "items") if getattr(options, key)]
    command += ["--no-check"] * options.no_check
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=options.run_most)
    except subprocess.TimeoutExpired:
        return {}, f"takes over {options.run_most} s to run"
    why = [line for line in said.stdout.splitlines() if "WRONG" in line or "skipped" in line]
    if said.returncode and not why:
        why = said.stdout.strip().splitlines()[-1:] or [f"exits with {said.returncode}"]
    if not os.path.exists(tsv):
        return {}, "; ".join(why)
    with open(tsv, newline="") as file:
        rows = {(row["kernel"], row["graph"], row["reduction"]): row for row in csv.DictReader(file, delimiter="\t")}
    return rows, "; ".join(why)


def time_layer(options, layer):
    """Rows of a layer, by generators in turn, in the next round in the other order."""
    best, letters = {}, [letter for letter, of in layer["by"].items() if "why" not in of]
    for number in range(options.rounds):
        for letter in letters if number % 2 == 0 else letters[::-1]:
            rows, why = timed(options, letter, layer)
            if why:
                layer["by"][letter]["failed"] = why
                print(f"# {letter} {layer['name']}: {why}")
            for key, row in rows.items():
                before = best.get((letter, *key))
                wrong = "wrong" in (row["checked"], before and before["checked"])
                if not before or float(row["ms"]) < float(before["ms"]):
                    best[(letter, *key)] = row
                best[(letter, *key)]["checked"] = "wrong" if wrong else row["checked"]
    for (letter, kernel, *_), row in best.items():
        of = layer["by"][letter]
        file = [name for name in of["files"] if name.endswith((f"{layer['name']}_{kernel}.cu", f"{layer['name']}_{kernel}.c"))]
        yield {"generator": letter, "family": layer["family"], "layer": layer["name"], **row,
               "source_kB": f"{sum(of['bytes'][name] for name in file) / 1e3:.1f}",
               "nvcc_s": f"{sum(of['compiled'][name] for name in file):.1f}"}


def run(options):
    begin, rows, made = time.monotonic(), [], read_manifest(options)
    for layer in made:
        for row in time_layer(options, layer):
            rows.append(row)
            print(f"{row['generator']} {row['layer']:24} {row['graph']:8} {row['dtype']:5} {row['kernel']:15} "
                  f"{row['items']:>7}/{row['receivers']:<5} {float(row['ms']):9.4f} ms {float(row['xfloor']):7.2f} x "
                  f"{row['bound']:6} {row['evaluation']:20} {row['checked']}", flush=True)
    if not rows:
        sys.exit("sweep_random.py: nothing was timed")
    with open(f"{options.out}/rows.tsv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    write_manifest(options, made)
    print(f"# {len(rows)} rows in {time.monotonic() - begin:.0f} s")


# ---- table ----

def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def decile(numbers):
    """The ninth: nine of ten are no larger."""
    return sorted(numbers)[math.ceil(0.9 * len(numbers)) - 1]


def cells(numbers):
    return f"{mean(numbers):.2f} | {decile(numbers):.2f} | {max(numbers):.2f}" if numbers else "- | - | -"


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def by_kernel(rows, value):
    return " | ".join(cells([value(row) for row in rows if row["kernel"] == kernel]) for kernel in KERNELS)


def times_table(name, rows):
    """Of one generator."""
    def of(row):
        return float(row["xfloor"])
    yield f"\n**{name}: times the floor**: geometric mean, nine of ten under, worst\n"
    yield "| | kernels | forward | | | backward | | | double backward | | |"
    yield "|---|---:|" + "---:|" * 9
    families = grouped(rows, lambda row: row["family"])
    channelwise = families.get("conv", []) + families.get("batch", [])
    for text, group in [("all", rows), *(("conv and batch", channelwise) for _ in channelwise[:1]), *sorted(families.items())]:
        yield f"| {text} | {len(group)} | {by_kernel(group, of)} |"
    for text, group in sorted(grouped(rows, lambda row: row["evaluation"]).items()):
        yield f"| by {text} | {len(group)} | {by_kernel(group, of)} |"
    yield f"\n{name}, the worst:\n"
    for row in sorted(rows, key=of)[:-WORST - 1:-1]:
        yield (f"    {of(row):7.2f} {row['layer']:18} {row['dtype']} {row['kernel']:15} {float(row['ms']):8.4f} ms, "
               f"{row['items']}/{row['receivers']}, {row['evaluation']}, {row['source_kB']} kB, nvcc {row['nvcc_s']} s, x {row['x']}, "
               f"y {row['y']}")


def ratios_table(letter, rows, first):
    """Times of a generator over those of the first."""
    def key(row):
        return row["layer"], row["kernel"], row["graph"], row["reduction"]
    base = {key(row): row for row in first}
    pairs = [(float(row["ms"]) / float(base[key(row)]["ms"]), row) for row in rows if key(row) in base]
    if not pairs:
        return
    ratio = {key(row): value for value, row in pairs}
    yield f"\n**{letter} over A**: geometric mean, nine of ten under, worst\n"
    yield "| | kernels | forward | | | backward | | | double backward | | |"
    yield "|---|---:|" + "---:|" * 9
    both = [row for _, row in pairs]
    for text, group in [("all", both), *sorted(grouped(both, lambda row: row["family"]).items())]:
        yield f"| {text} | {len(group)} | {by_kernel(group, lambda row: ratio[key(row)])} |"
    slower = sorted((pair for pair in pairs if pair[0] > 1.03), key=lambda pair: -pair[0])
    yield f"\n{len(pairs)} rows, geometric mean {mean([value for value, _ in pairs]):.4f}, {len(slower)} over 3 % slower:\n"
    for value, row in slower:
        before = base[key(row)]
        yield (f"    {value:6.3f} {row['layer']:28} {row['graph']} {row['kernel']:15} {row['reduction']:13} "
               f"{float(before['ms']):.4f} {float(row['ms']):.4f} ms  {before['evaluation']} {row['evaluation']}")


def table(options):
    with open(f"{options.out}/rows.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    letters = grouped(rows, lambda row: row["generator"])
    for letter, of in letters.items():
        print("\n".join(times_table(letter, of)))
    for letter, of in list(letters.items())[1:]:
        print("\n".join(ratios_table(letter, of, letters.get("A", []))))
    missing = [[(letter, layer["name"], of[word]) for layer in read_manifest(options)
                for letter, of in layer["by"].items() if word in of] for word in ("why", "failed")]
    checked = grouped(rows, lambda row: row["checked"])
    print(f"\n# {len(rows)} rows; numbers " + ", ".join(f"{word} of {len(of)}" for word, of in sorted(checked.items()))
          + f"; {len(missing[0])} layers left out, {len(missing[1])} failed")
    print("".join(f"# {letter} {name}: {why}\n" for letter, name, why in sum(missing, [])), end="")
    return bool(checked.get("wrong") or missing[1])


WORDS = {"make": make, "build": build, "run": run, "table": table}


def main(arguments):
    options = Options().read(arguments)
    bad = False
    for word, function in WORDS.items():
        if word in (options.words or WORDS):
            bad = function(options) or bad
    return bad


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        sys.exit(f"sweep_random.py: {error!r}")
