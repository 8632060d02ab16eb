#!/usr/bin/env python3
"""Times the rows of rows.py for all their contenders in one run on one GPU, and writes RESULTS/papers.tsv and stability.tsv.

    tests/papers/bench.py run RESULTS [TABLE[/LAYER][=SECONDS]..]     run.sh says what is to be there
    tests/papers/bench.py build [TABLE[/LAYER]..]                     ours alone, into PAPERS

Contenders are processes (measure.py), which make their rows ready beside one another, which for most is compiling. One at a time
measures: of those that wait, the one whose row stands first in the order of tables. What compiles long has a process of its own, as many
of which compile at once as there are cores. So nobody waits for them, but wall clock has the noise of compilers beside it. What a table has
after SECONDS of measuring comes after what others have; all take LIMIT seconds at most. Both tables are written anew all the time, so that what is measured when time is over
stands; what is not has the reason. Columns:

    ms, least    between two events of the device, median and least of the runs, after a read of more than L2 holds and a wait in
                 which the host gets ahead: the device's time of everything a call does, without the host's
    wall ms      the least of a call that is waited for, by the host's clock, L2 as it is: overheads of all frameworks included
    GB           the peak of PyTorch's allocator in the call, with its arguments and what autograd keeps for it
    own          share of the device's time in kernels of the contender's own, by PyTorch's profiler, forward and backward together
    difference   the largest of z, gx, gy from e3nn's, of the largest element, on 64 rows of each; without e3nn, from the first

A kernel is what autograd calls: forward without gradients; backward, gradients of x, y and w; double_backward, of those the gradients
of x, y, w and gz. `bytes` are the arguments' of a kernel, each once, `flops` those of the generator's plan of the first contender.
ORDER=quick: what is made ready in little time comes first.
DEVICE=cpu tries this program out. WITHOUT: contenders, or contender:kernel, with commas; COMPILED: LAYER or TABLE/LAYER with e3nn compiled.
KNOWN: files of earlier runs on such a GPU, papers.tsv and stability.tsv; what these lack is measured, and ours beside it.
"""
import functools
import glob
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import rows as layers  # noqa: E402

DEVICE = os.environ.get("DEVICE", "cuda")
PAPERS = os.path.abspath(os.environ.get("PAPERS", "build/papers"))
LIMIT = float(os.environ.get("LIMIT", 3600))
MEASURE = f"{HERE}/measure.py"
HANG = 120                     # seconds after which a contender that measures a row is given up
COLUMNS = ["table", "layer", "place", "items", "contender", "kernel", "ms", "least", "wall ms", "GB", "own", "difference", "bytes",
           "flops", "why"]


# ---- what is built ----

def build(words):
    """All products of ours, in the order of rows; those that are built from the same sources stand. May be done on another machine
    than the run, for its architecture and this PyTorch or an earlier one."""
    folder, made = f"{PAPERS}/sources", {}
    for row, contender in layers.tasks(words):
        if contender in layers.VARIANTS:
            made.update([row.spec(contender)])
    for name, text in made.items():
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        with open(f"{folder}/{name}/{name}.yaml", "w") as file:
            file.write(text)
    first, *others = [f"{folder}/{name}" for name in made]  # what all have in common is built with the first
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [name for name, status in zip(made, [build_one(first), *pool.map(build_one, others)]) if status]
    print(f"{len(made) - len(failed)} products built" + "".join(f"; {name} is not" for name in failed))
    return len(failed)


def build_one(folder):
    """The status of what failed; what did not is in PAPERS/built."""
    status = build_product(folder)
    if not status:
        os.makedirs(f"{PAPERS}/built", exist_ok=True)
        open(f"{PAPERS}/built/{os.path.basename(folder)}", "w").close()
    return status


def build_product(folder):
    name, generator = os.path.basename(folder), os.environ.get("CGTPGEN", f"{ROOT}/build/cgtpgen")
    backend = "cuda" if DEVICE == "cuda" else "c"
    made = subprocess.run([generator, f"--backend={backend}", "-Wno-all", "--emit=header,source,torch", "-o", folder, f"{folder}/{name}.yaml"])
    state = hashlib.sha256()
    for path in sorted(glob.glob(f"{folder}/{name}*")):
        with open(path, "rb") as file:
            state.update(file.read())
    stamp = f"{PAPERS}/ours/{name}.{state.hexdigest()[:16]}"
    if made.returncode or os.path.exists(stamp):
        return made.returncode
    status = subprocess.run([sys.executable, f"{ROOT}/runtime/cgtp_build.py", folder, f"{PAPERS}/ours", f"{PAPERS}/objects"],
                            env={"MAX_JOBS": "3", **os.environ}).returncode
    if not status:
        open(stamp, "w").close()
    return status


def start_build(words):
    def of():
        made = subprocess.Popen([sys.executable, __file__, "build", *words], stdout=log, stderr=log, start_new_session=True)
        BUILDING.append(made)
        print(f"# {time.strftime('%X')} ours built, status {made.wait()}", flush=True)
        open(f"{PAPERS}/ours.built", "w").close()
    log = open(f"{PAPERS}/build.log", "w")
    threading.Thread(target=of, daemon=True).start()


BUILDING = []


# ---- the run ----

class Worker(threading.Thread):
    """A process of contenders, as the run sees it."""

    def __init__(self, run, name, part, parts):
        super().__init__(daemon=True)
        self.all, self.name, self.part, self.parts = run, f"{name} {part}", part, parts
        self.of, self.mine = name, layers.shares(run.words, name, parts)[part]
        self.ready, self.waits, self.idle, self.ended, self.measuring, self.process = [], False, False, False, None, None
        self.lacks = None  # a row that it waits for, while what is ready is measured
        self.makes, self.begun = False, 0  # it is one of those of which only so many make ready at once, and since when
        self.first = min((run.order[row.label, contender] for row, contender in self.mine), default=0)

    def run(self):
        while self.of == "FlashTP" and not os.path.exists(f"{PAPERS}/flashtp.built"):
            time.sleep(0.2)
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", MEASURE, self.of, str(self.part),
                                         str(self.parts), *self.all.words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.all.log, text=True)
        if self.all.closed:
            self.process.kill()
        for line in self.process.stdout:
            if line.startswith("{"):
                self.all.heard(self, json.loads(line))
        self.all.heard(self, {"ended": self.process.wait()})

    def tell(self, **words):
        self.waits = False
        try:
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass


class Run:
    """Who measures, and what was measured."""

    def __init__(self, results, words):
        self.results, self.words, self.log = results, words, open(f"{results}/workers.log", "w")
        self.rows, self.lines, self.lock = layers.rows(words), [], threading.RLock()
        self.places = {(row.label, contender): n for n, (row, contender) in enumerate(layers.tasks(words))}  # in the table
        self.order = layers.quick_first(words) if os.environ.get("ORDER") == "quick" else self.places
        self.limits = {word.partition("=")[0].partition("/")[0]: float(word.partition("=")[2] or "inf") for word in words or layers.TABLES}
        self.spent, self.begun, self.busy = dict.fromkeys(self.limits, 0), 0, None
        self.until, self.head, self.closed = time.time() + LIMIT, "", False  # nobody measures before the machine is
        wanted = {layers.worker_of(contender) for _, contender in self.order}
        if DEVICE == "cpu":
            wanted &= {"cgtpgen", "e3nn", "e3nn compiled"}
        with self.lock:
            self.workers = [Worker(self, name, part, parts) for name in layers.WORKERS if name in wanted
                            for parts in [layers.processes(words, name)]
                            for part in range(parts) if layers.shares(words, name, parts)[part]]
            self.queue = sorted((worker for worker in self.workers if not layers.WORKERS[worker.of]), key=lambda worker: worker.first)
            for worker in self.workers:
                if layers.WORKERS[worker.of]:
                    worker.start()
            self.start_some()

    def start_some(self):
        """Of those that have one row, as many as there are cores make it ready at once, in the order of rows."""
        while self.queue and sum(worker.makes for worker in self.workers) < (os.cpu_count() or 1):
            worker = self.queue.pop(0)
            worker.makes, worker.begun = True, time.time()
            worker.start()

    def open(self, head):
        with self.lock:
            self.head = head
            self.choose()

    def heard(self, worker, said):
        """What a process said."""
        with self.lock:
            if "table" in said:  # of a row that was measured with fewer kernels the later lines stand
                names = [said[key] for key in ("table", "layer", "contender", "kernel")]
                self.lines = [line for line in self.lines if [line[key] for key in ("table", "layer", "contender", "kernel")] != names] + [said]
                return
            if self.busy is worker:
                row, _ = worker.mine[worker.measuring]
                self.spent[row.table] += time.time() - self.begun
                print(f"# {time.strftime('%X')} {worker.name}: {row.label} measured, {time.time() - self.begun:.1f} s", flush=True)
                self.busy = worker.measuring = None
            if "ready" in said:
                worker.ready += {said["ready"]} - set(worker.ready)
                if worker.makes:
                    print(f"# {time.strftime('%X')} {worker.name}: {worker.mine[0][0].label} ready{', some of it' if said.get('more') else ''}, "
                          f"{time.time() - worker.begun:.0f} s", flush=True)
            worker.lacks, worker.ended = said.get("lacks", worker.lacks), "ended" in said
            worker.waits, worker.idle = not worker.ended, worker.idle or "idle" in said or worker.ended
            if worker.ended:
                worker.ready = []
            if {"ready", "failed", "ended"} & said.keys() and not said.get("more"):
                worker.makes = False
                self.start_some()
            if "idle" in said or "ended" in said:
                print(f"# {time.strftime('%X')} {worker.name}: {'all ready' if 'idle' in said else 'ended'}", flush=True)
            self.choose()
            if worker.waits and not worker.idle and worker.lacks is None:
                worker.tell()
            elif worker.waits and worker.idle and not worker.ready:
                worker.process.stdin.close()  # it ends, and has no memory of the GPU any more

    def choose(self):
        """The next that measures: of those that wait, whose row is the first."""
        if self.busy or not self.head:
            return
        found = [(self.wanted(*worker.mine[n]), worker, n) for worker in self.workers if worker.waits for n in worker.ready]
        if found:
            _, self.busy, n = min(found, key=lambda one: one[0])
            self.busy.ready.remove(n)
            self.busy.measuring, self.begun = n, time.time()
            self.busy.tell(measure=n)

    def wanted(self, row, contender):
        """Its place in the order: what its table had no time for comes last."""
        return self.spent[row.table] >= self.limits[row.table], self.order[row.label, contender]

    def over(self):
        """Whether there is nothing left to do."""
        with self.lock:
            if self.busy and time.time() - self.begun > HANG:
                self.busy.process.kill()
            return not self.busy and self.head and all(worker.idle and not worker.ready for worker in self.workers)

    def go_on(self):
        """Those that waited for a product which is built now."""
        with self.lock:
            for worker in self.workers:
                if worker.waits and worker.lacks is not None and layers.built(PAPERS, *worker.mine[worker.lacks]):
                    worker.lacks = None
                    worker.tell()

    def wait(self):
        wrote = time.time()
        while time.time() < self.until and not self.over():
            time.sleep(0.1)
            self.go_on()
            if time.time() > wrote + 10:
                self.write()
                wrote = time.time()
        with self.lock:
            self.closed = True
            self.queue = []
            for worker in self.workers:
                if worker.process:
                    worker.process.kill()
        for made in BUILDING:
            if made.poll() is None:
                os.killpg(made.pid, signal.SIGKILL)
        self.missing()
        self.write()
        deviations(self.results, self.head, [row for row in self.rows if row.table == "stability"])

    def missing(self):
        """Lines for what has none."""
        with self.lock:
            known = {(line["table"], line["layer"], line["contender"]) for line in self.lines}
            for worker in self.workers:
                for n, (row, contender) in enumerate(worker.mine):
                    if (row.table, row.name, contender) not in known:
                        why = "its process ended, see workers.log" if worker.ended else "no time left to measure it" \
                            if n in worker.ready or n == worker.measuring else "no time left to make it ready"
                        self.lines.append({"table": row.table, "layer": row.name, "contender": contender, "kernel": "all", "why": why})

    def write(self):
        """The table, anew."""
        with self.lock:
            lines = list(self.lines)
        known = {(row.table, row.name): row for row in self.rows}
        lines.sort(key=lambda line: self.places[f"{line['table']}/{line['layer']}", line["contender"]])
        for line in lines:
            row = known[line["table"], line["layer"]]
            line.update(costs(row, line), difference=difference(row, line))
        lines = [line for line in lines if line["table"] != "stability"]
        with open(f"{self.results}/papers.tsv.new", "w") as file:
            print(self.head, "\t".join(COLUMNS), sep="\n", file=file)
            for line in lines:
                print("\t".join(str(line.get(column, "-")) for column in COLUMNS), file=file)
        os.replace(f"{self.results}/papers.tsv.new", f"{self.results}/papers.tsv")

    def summary(self):
        bad = [line for line in self.lines if "none of its own" in line.get("why", "")]
        failed = [line for line in self.lines if line.get("why")]
        print(f"# {len(self.lines)} lines, {len(failed)} without a time, {len(bad)} without kernels of their own; seconds of tables: " +
              ", ".join(f"{name} {seconds:.0f}" for name, seconds in self.spent.items()))
        for line in failed:
            print(f"#   {line['table']} {line['layer']} {line['contender']} {line['kernel']}: {line['why']}")
        return 1 if bad or len(failed) == len(self.lines) else 0


def conditions():
    """A line about the machine: its GPU, and what a copy reaches there."""
    if not all(found and found.origin for found in map(importlib.util.find_spec, ("torch", "e3nn"))):  # tests/torch is a namespace
        sys.exit(f"bench.py: {sys.executable} lacks PyTorch or e3nn: PYTHON names one that has them")
    import torch
    if DEVICE == "cuda" and not torch.cuda.is_available():
        sys.exit("bench.py: PyTorch sees no GPU here; with DEVICE=cpu this can be tried without, for cgtpgen and e3nn alone")
    if DEVICE == "cpu":
        return f"# CPU, torch {torch.__version__}"
    source, times = torch.zeros(1 << 30, device=DEVICE), []
    into = torch.empty_like(source)
    for _ in range(10):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        into.copy_(source)
        events[1].record()
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[1]))
    rate = 2 * source.numel() * 4 / (min(times) * 1e-3)
    del source, into
    torch.cuda.empty_cache()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return (f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, {time.strftime('%Y-%m-%d')}, commit "
            f"{os.environ.get('COMMIT') or commit or 'unknown'}; copy {rate / 1e12:.3f} TB/s")


def run(results, words):
    os.makedirs(f"{PAPERS}/outputs", exist_ok=True)
    for path in (f"{PAPERS}/ours.built", *glob.glob(f"{PAPERS}/built/*"), *glob.glob(f"{PAPERS}/outputs/*")):
        if os.path.exists(path):
            os.remove(path)
    start_build(words)
    all_of_it = Run(results, words)
    all_of_it.open(conditions())
    all_of_it.wait()
    return all_of_it.summary()


def costs(row, line):
    """Bytes of all arguments and flops of a kernel."""
    product = row.product()
    kernel = next((k for k in product["kernels"] if k["name"] == line["kernel"]), None)
    if kernel is None or "items" not in line:
        return {}
    nodes = layers.NODES.get(row.place, 0)
    rows = {"item": line["items"], "sender": nodes, "receiver": nodes, "shared": 1}
    slots = [argument["slot"] for argument in kernel["inputs"] + kernel["outputs"]]
    flops = sum(schedule["flops_per_item"] for schedule in kernel["schedules"])
    count = sum((rows[product["index"][slot]] if row.place else line["items"]) * product["dim"][slot] for slot in slots)
    return {"bytes": 4 * count, "flops": flops * line["items"]}


@functools.lru_cache(None)
def loaded(path, written):
    import torch
    return torch.load(path)


def difference(row, line):
    if row.table == "stability" or line["contender"].startswith("cuEquivariance"):
        return "-"
    base = layers.file_of(PAPERS, row, "e3nn")
    paths = layers.file_of(PAPERS, row, line["contender"]), base if os.path.exists(base) else layers.file_of(PAPERS, row, row.contenders[0])
    if not all(map(os.path.exists, paths)):
        return "-"
    mine, theirs = (loaded(path, os.path.getmtime(path)).get(line["kernel"]) for path in paths)
    if not mine or not theirs:
        return "-"
    return f"{max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(mine, theirs)):.1e}"


def deviations(results, head, rows):
    """Root mean squares of float32's differences from e3nn in float64, and of the results themselves."""
    import torch
    made = []
    for row in rows:
        exact = layers.file_of(PAPERS, row, "e3nn float64")
        if not os.path.exists(exact):
            continue
        exact = torch.load(exact)
        for contender in row.contenders[:-1]:
            if os.path.exists(layers.file_of(PAPERS, row, contender)):
                found = torch.load(layers.file_of(PAPERS, row, contender))
                for kernel, names in ("forward", ["z"]), ("backward", ["gx", "gy", "gw"]):
                    for name, a, b in zip(names, found.get(kernel, []), exact[kernel]):
                        made.append([row.name, contender, name, f"{(a - b).square().mean().sqrt():.3e}", f"{b.square().mean().sqrt():.3e}"])
    if made:
        with open(f"{results}/stability.tsv", "w") as file:
            print(head, "layer\tcontender\toutput\trmse\trms", *("\t".join(line) for line in made), sep="\n", file=file)


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        sys.exit(build(sys.argv[2:]))
    elif sys.argv[1:2] == ["run"] and len(sys.argv) > 2:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
    else:
        sys.exit(__doc__.strip())
