#!/usr/bin/env python3
"""Times the rows of rows.py for all their contenders in one run on one GPU, and writes RESULTS/papers.tsv and stability.tsv.

    tests/papers/bench.py run RESULTS [TABLE[/LAYER]..]     run.sh says what is to be there

Contenders are processes, all of which make ready beside one another, which for most is compiling; then they measure one by one,
each row by itself. A row that fails is in the table, with the reason. Columns:

    ms, least    between two events of the device, median and least of the runs, after a read of more than L2 holds and a wait in
                 which the host gets ahead: the device's time of everything a call does, without the host's
    wall ms      of a call that is waited for, by the host's clock, L2 as it is: overheads of all frameworks included
    GB           the peak of PyTorch's allocator in the call, with its arguments and what autograd keeps for it
    own          share of the device's time in kernels of the contender's own, by PyTorch's profiler, forward and backward together
    difference   the largest of z, gx, gy from e3nn's, of the largest element, on 64 rows of each; without e3nn, from the first

A kernel is what autograd calls: forward without gradients; backward, gradients of x, y and w; double_backward, of those the gradients
of x, y, w and gz. `bytes` are the arguments' of a kernel, each once, `flops` those of the generator's plan of the first contender.
DEVICE=cpu tries this program out. BUILD: seconds in which ours are built; PATIENCE: seconds in which contenders make their rows ready, those that are first in rows.py
first; BUDGET: seconds after these in which all is measured, none more than twice its share of them; OVERLAP=1: what is ready is
measured while others make ready, in less time, and with more noise. What comes later is left out, and said so. WITHOUT: contenders, or contender:kernel, with commas.
"""
import functools
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import rows as layers  # noqa: E402

DEVICE = os.environ.get("DEVICE", "cuda")
PAPERS = os.path.abspath(os.environ.get("PAPERS", "build/papers"))
PATIENCE, GRACE, BUDGET = float(os.environ.get("PATIENCE", 1800)), 30, float(os.environ.get("BUDGET", 1800))
WITHOUT = set(os.environ.get("WITHOUT", "").split(","))
BUILD = float(os.environ.get("BUILD", PATIENCE))
RUNS, SECONDS = int(os.environ.get("RUNS", 15)), float(os.environ.get("MOST", 0.15))  # of a kernel, whichever comes first, but three
FLUSH = 1 << 28                # bytes
EDGES = {"cuda": (64, 64), "cpu": (16, 64)}[DEVICE]  # of the random graph: nodes, and neighbours of each
SHOWN = 64                     # rows of an output that are compared
COLUMNS = ["table", "layer", "place", "items", "contender", "kernel", "ms", "least", "wall ms", "GB", "own", "difference", "bytes",
           "flops", "why"]
# Processes: what each measures, in the order of measuring. Those that compile long are several.
WORKERS = [("cgtpgen", 1), ("e3nn", 2), ("FlashTP", 1), ("OpenEquivariance", 4), ("cuEquivariance", 5), ("e3nn compiled", 5)]


def worker_of(contender):
    if contender == "e3nn compiled":
        return contender
    return next(name for name in ("cgtpgen", "OpenEquivariance", "FlashTP", "cuEquivariance", "e3nn") if contender.startswith(name))


# ---- what is built ----

def build(tables):
    """All products of ours, in the order of rows; those that are built from the same sources stand. May be done on another machine
    than the run, for its architecture and this PyTorch or an earlier one."""
    folder, made = f"{PAPERS}/sources", {}
    for row in layers.rows(tables):
        made.update(row.spec(contender) for contender in row.contenders if contender in layers.VARIANTS)
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
    """The status of what failed."""
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


# ---- a process of contenders ----

class Place:
    """Where a row is computed, on the device."""

    def __init__(self, row, items=0, nodes=0):
        import numpy as np
        import torch
        self.nodes, self.items = nodes, items
        if not row.place:
            return
        if row.place == "random" or items:
            nodes, degree = (nodes, items // nodes) if items else EDGES
            made = np.random.default_rng(1)
            receiver, sender = np.repeat(np.arange(nodes), degree), made.integers(0, nodes, nodes * degree)
        else:
            receiver, sender = (np.fromfile(f"{ROOT}/tests/gpu/graphs/{row.place}_{end}.i32", dtype="<i4")
                                for end in ("receiver", "sender"))
            nodes = layers.NODES[row.place]
            if DEVICE == "cpu":
                receiver, sender = receiver[:2000], sender[:2000]
        self.nodes, self.items = nodes, len(receiver)
        self.receiver, self.sender = (torch.tensor(end.astype("int32"), device=DEVICE) for end in (receiver, sender))

    def rows(self, index, slot):
        """Of an operand; without a graph all have one of each item."""
        rows = {"item": self.items, "sender": self.nodes, "receiver": self.nodes, "shared": 1}
        return rows[index[slot]] if self.nodes else self.items


def place_of(row, kernel):
    if row.place:
        return Place(row)
    items = min(row.items, layers.SECOND_ORDER) if kernel == "double_backward" else row.items
    return Place(row, items if DEVICE == "cuda" else min(items, 500))


class Call:
    """A row's function with arguments; numbers are the same in every process."""

    def __init__(self, row, function, place, dtype):
        import torch
        product, generator = row.product(), torch.Generator(DEVICE).manual_seed(zlib.crc32(row.label.encode()))
        self.function, self.uniform, self.generator, self.dtype = function, row.table == "stability", generator, dtype
        self.inputs = [self.numbers(place.rows(product["index"], slot), product["dim"][slot]) for slot in "xyw"]
        if product["index"]["w"] == "shared":
            self.inputs[2] = self.inputs[2][0]
        if hasattr(function, "from_e3nn"):
            self.inputs[2] = function.from_e3nn(self.inputs[2]).to(dtype)
        for value in self.inputs:
            value.requires_grad_(True)

    def numbers(self, *shape):
        import torch
        made = (torch.rand if self.uniform else torch.randn)(shape, generator=self.generator, device=DEVICE)
        return made.to(self.dtype)

    def like(self, value):
        return self.numbers(*value.shape)

    def of(self, kernel):
        """What is timed, and makes outputs."""
        import torch
        if kernel == "forward":
            def forward():
                with torch.no_grad():
                    return [self.function(*self.inputs)]
            return forward
        z = self.function(*self.inputs)
        gz = self.like(z).requires_grad_(kernel != "backward")
        if kernel == "backward":
            return lambda: torch.autograd.grad(z, self.inputs, gz, retain_graph=True)
        gradients = torch.autograd.grad(z, self.inputs, gz, create_graph=True)
        along = [self.like(value) for value in gradients]
        return lambda: torch.autograd.grad(gradients, [*self.inputs, gz], along, retain_graph=True)


def wait():
    import torch
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(call, flush):
    """(median ms, least ms, wall ms, GB)."""
    import torch
    call()
    wait()
    begin = time.perf_counter()
    call()
    host = time.perf_counter() - begin
    wait()
    slow = time.perf_counter() - begin > SECONDS  # three runs are enough
    if not slow:
        call()
        wait()
    walls = []
    while len(walls) < (1 if slow else 5):
        begin = time.perf_counter()
        call()
        wait()
        walls.append(time.perf_counter() - begin)
    walls.sort()
    if DEVICE == "cpu":
        return walls[len(walls) // 2] * 1e3, walls[0] * 1e3, walls[len(walls) // 2] * 1e3, 0
    torch.cuda.reset_peak_memory_stats()
    times, begin = [], time.perf_counter()
    while len(times) < RUNS and (len(times) < 3 or time.perf_counter() - begin < SECONDS):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        flush.sum()
        torch.cuda._sleep(int(2e9 * min(0.1, 1.5 * host + 1e-4)))
        events[0].record()
        call()
        events[1].record()
        wait()
        times.append(events[0].elapsed_time(events[1]))
    times.sort()
    memory = (torch.cuda.max_memory_allocated() - flush.numel() * 4) / 1e9
    return times[len(times) // 2], times[0], walls[len(walls) // 2] * 1e3, memory


def own_share(contender, calls):
    """Of the device's time, and what takes longest."""
    import contenders
    import torch
    from torch.profiler import ProfilerActivity, profile
    pattern = contenders.OWN.get(contender if contender in contenders.OWN else worker_of(contender))
    if DEVICE == "cpu" or not pattern:
        return "-", ""
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for call in calls:
            call()
        torch.cuda.synchronize()
    took = sorted(((event.self_device_time_total, event.key) for event in found.key_averages()), reverse=True)
    own = sum(ms for ms, name in took if re.search(pattern, name))
    return f"{own / max(1e-9, sum(ms for ms, _ in took)):.2f}", "; ".join(name[:60] for _, name in took[:3])


def shown(outputs, whole, function):
    """What is compared of z, or of gradients of x, y (and w, where all of them are wanted)."""
    if not whole:
        return [value.detach()[:SHOWN].cpu().clone() for value in outputs[:2]]
    if len(outputs) > 2 and hasattr(function, "to_e3nn"):
        outputs = [*outputs[:2], function.to_e3nn(outputs[2])]
    return [value.detach().double().cpu() for value in outputs[:3]]


def file_of(row, contender):
    return f"{PAPERS}/outputs/{re.sub(r'[^0-9a-z]+', '_', f'{row.label} {contender}'.lower())}.pt"


def prepare(row, contender):
    """Compiles what is compiled at the first call, by calls on little."""
    import contenders
    import torch
    small = Place(row, 128, 16 if row.place else 0)
    call = Call(row, contenders.CONTENDERS[contender](row, small), small, dtype_of(contender))
    for kernel in kernels_of(row, contender):
        call.of(kernel)()
    wait()
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def dtype_of(contender):
    import torch
    return torch.float64 if contender.endswith("float64") else torch.float32


def kernels_of(row, contender):
    """What is compiled has no derivative of the second order."""
    return [kernel for kernel in row.kernels if f"{contender}:{kernel}" not in WITHOUT and
            (kernel != "double_backward" or contender != "e3nn compiled")]


def measure(row, contender, flush):
    """Lines of the table, as dictionaries; a kernel that fails has a reason."""
    import contenders
    import torch
    base = {"table": row.table, "layer": row.name, "contender": contender}
    whole, results, found, place, share, longest = row.table == "stability", {}, [], None, "-", ""
    for kernel in kernels_of(row, contender):
        line = {**base, "kernel": kernel}
        try:
            if place is None or not row.place:
                place = place_of(row, kernel)
                function = contenders.CONTENDERS[contender](row, place)
                arguments = Call(row, function, place, dtype_of(contender))
            call = arguments.of(kernel)
            line.update(place=row.place or "rows", items=place.items)
            results[kernel] = shown(call(), whole, function)
            if not whole:
                ms, least, wall, memory = timed(call, flush)
                line.update({"ms": f"{ms:.4f}", "least": f"{least:.4f}", "wall ms": f"{wall:.4f}", "GB": f"{memory:.3f}"})
            if kernel == "backward":
                share, longest = own_share(contender, [arguments.of("forward"), call])
        except torch.OutOfMemoryError:
            line["why"] = "out of memory"
        call = None  # and what it keeps
        found.append(line)
    for line in found:
        line["own"] = share
        if share == "0.00":
            line["why"] = f"none of its own kernels ran: {longest}"
    torch.save(results, file_of(row, contender))
    return found


def reason(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:160]}"


def work(name, part, parts, tables):
    """A process: prepares its rows, says so, and measures them when it is told to and until when."""
    import torch
    mine = [(row, c) for row in layers.rows(tables) for c in row.contenders if worker_of(c) == name][part::parts]
    mine.sort(key=lambda one: "," in one[1] or "deterministic" in one[1] or "float64" in one[1])  # what matters less comes last
    ready, known, ready_by = [], set(), float(os.environ.get("READY_BY", "inf"))
    for row, contender in mine:
        if time.time() > ready_by and name != "cgtpgen":
            say({"table": row.table, "layer": row.name, "contender": contender, "kernel": "all", "why": "not ready: no time left"})
            continue
        try:
            if name != "cgtpgen" and (row.name, bool(row.place), contender) not in known:
                prepare(row, contender)
            known.add((row.name, bool(row.place), contender))
            ready.append((row, contender))
        except Exception as error:
            say({"table": row.table, "layer": row.name, "contender": contender, "kernel": "all", "why": reason(error)})
    say({"ready": len(ready)})
    until = sys.stdin.readline()
    flush = torch.zeros(FLUSH // 4, device=DEVICE) if DEVICE == "cuda" else None
    for row, contender in ready if until else []:
        if time.time() > float(until):
            say({"table": row.table, "layer": row.name, "contender": contender, "kernel": "all", "why": "not measured: no time left"})
            continue
        try:
            for line in measure(row, contender, flush):
                say(line)
        except Exception as error:
            say({"table": row.table, "layer": row.name, "contender": contender, "kernel": "all", "why": reason(error)})
        if DEVICE == "cuda":
            torch.cuda.empty_cache()


def say(line):
    print(json.dumps(line), flush=True)


# ---- the run ----

class Worker(threading.Thread):
    def __init__(self, name, part, parts, tables, log):
        super().__init__(daemon=True)
        self.name, self.part, self.parts, self.tables, self.log = name, part, parts, tables, log
        self.ready, self.lines, self.process, self.begin = None, [], None, time.monotonic()
        mine = [(row, c) for row in layers.rows(tables) for c in row.contenders if worker_of(c) == name]
        self.rows = len(mine[part::parts])
        self.start()

    def run(self):
        while not os.path.exists(f"{PAPERS}/flashtp.built") and self.name == "FlashTP":
            time.sleep(1)
        while not os.path.exists(f"{PAPERS}/ours.built") and self.name == "cgtpgen":
            time.sleep(1)
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", __file__, "work", self.name, str(self.part), str(self.parts),
                                         *self.tables], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            made = json.loads(line)
            if "ready" in made:
                self.ready = time.monotonic() - self.begin
                print(f"# {time.strftime('%X')} {self.name} {self.part}: {made['ready']} rows ready after {self.ready:.0f} s", flush=True)
            else:
                self.lines.append(made)

    def go(self, until):
        self.process.stdin.write(f"{until}\n")
        self.process.stdin.close()


def conditions():
    """A line about the machine: its GPU, and what a copy reaches there."""
    import torch
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


def start_build(tables):
    def of():
        made = subprocess.Popen([sys.executable, __file__, "build", *tables], stdout=log, stderr=log, start_new_session=True)
        try:
            status = made.wait(BUILD)
        except subprocess.TimeoutExpired:  # what is built is measured
            os.killpg(made.pid, signal.SIGKILL)
            status = "out of time"
        print(f"# {time.strftime('%X')} ours built, status {status}", flush=True)
        open(f"{PAPERS}/ours.built", "w").close()
    log = open(f"{PAPERS}/build.log", "w")
    threading.Thread(target=of, daemon=True).start()


def next_ready(workers, ready_by):
    """Who is measured: all are waited for, then the first; with OVERLAP the first that is ready while others make ready."""
    while True:
        waiting = [worker for worker in workers if worker.ready is None and worker.is_alive()]
        if not waiting or time.time() > ready_by + GRACE:
            return workers[0]
        if os.environ.get("OVERLAP") and len(waiting) < len(workers):
            return next(worker for worker in workers if worker not in waiting)
        time.sleep(0.2)


def run(results, tables):
    os.makedirs(f"{PAPERS}/outputs", exist_ok=True)
    for path in (f"{PAPERS}/ours.built", *glob.glob(f"{PAPERS}/outputs/*")):
        if os.path.exists(path):
            os.remove(path)
    ready_by = time.time() + PATIENCE
    os.environ["READY_BY"] = str(ready_by)
    start_build(tables)
    log, all_rows, lines = open(f"{results}/workers.log", "w"), layers.rows(tables), []
    wanted = {worker_of(c) for row in all_rows for c in row.contenders}
    if DEVICE == "cpu":
        wanted &= {"cgtpgen", "e3nn", "e3nn compiled"}
    wanted -= WITHOUT
    workers = [Worker(name, part, parts, tables, log) for name, parts in WORKERS if name in wanted for part in range(parts)]
    head, until, left, lost = None, ready_by + BUDGET, list(workers), 0
    while left:
        worker = next_ready(left, ready_by)
        head = head or conditions()
        left.remove(worker)
        if worker.ready is None:
            print(f"# {worker.name} {worker.part}: left out, {'not ready in time' if worker.is_alive() else 'ended, see workers.log'}",
                  flush=True)
            lost += 1
            if worker.process:
                worker.process.kill()
        else:
            share = worker.rows / max(1, sum(other.rows for other in [worker, *left]))
            worker.go(min(until, time.time() + 2 * share * (until - time.time())))
            worker.join()
            print(f"# {time.strftime('%X')} {worker.name} {worker.part}: measured, status {worker.process.wait()}", flush=True)
        lines += worker.lines
        write(results, head, all_rows, lines)
    deviations(results, head, [row for row in all_rows if row.table == "stability"])
    return summary(lines, lost)


def summary(lines, lost):
    bad = [line for line in lines if "none of its own" in line.get("why", "")]
    failed = [line for line in lines if line.get("why")]
    print(f"# {len(lines)} lines, {len(failed)} without a time, {len(bad)} without kernels of their own, {lost} processes left out")
    for line in failed:
        print(f"#   {line['table']} {line['layer']} {line['contender']} {line['kernel']}: {line['why']}")
    return 1 if bad or lost or not lines else 0


def write(results, head, all_rows, lines):
    """Both tables, anew."""
    known = {(row.table, row.name): row for row in all_rows}
    for line in lines:
        row = known[line["table"], line["layer"]]
        line.update(costs(row, line), difference=difference(row, line))
    timed_lines = [line for line in lines if line["table"] != "stability"]
    if timed_lines:
        with open(f"{results}/papers.tsv", "w") as file:
            print(head, "\t".join(COLUMNS), sep="\n", file=file)
            for line in timed_lines:
                print("\t".join(str(line.get(column, "-")) for column in COLUMNS), file=file)


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
    base = "e3nn" if os.path.exists(file_of(row, "e3nn")) else row.contenders[0]
    paths = file_of(row, line["contender"]), file_of(row, base)
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
        if not os.path.exists(file_of(row, "e3nn float64")):
            continue
        exact = torch.load(file_of(row, "e3nn float64"))
        for contender in row.contenders[:-1]:
            if os.path.exists(file_of(row, contender)):
                found = torch.load(file_of(row, contender))
                for kernel, names in ("forward", ["z"]), ("backward", ["gx", "gy", "gw"]):
                    for name, a, b in zip(names, found.get(kernel, []), exact[kernel]):
                        made.append([row.name, contender, name, f"{(a - b).square().mean().sqrt():.3e}", f"{b.square().mean().sqrt():.3e}"])
    if made:
        with open(f"{results}/stability.tsv", "w") as file:
            print(head, "layer\tcontender\toutput\trmse\trms", *("\t".join(line) for line in made), sep="\n", file=file)


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        sys.exit(build(sys.argv[2:]))
    elif sys.argv[1:2] == ["work"]:
        work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
    elif sys.argv[1:2] == ["run"] and len(sys.argv) > 2:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
    else:
        sys.exit(__doc__.strip())
