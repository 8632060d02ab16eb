"""A process of contenders for bench.py: makes rows ready, which for most is compiling, and measures each when it is told to.

    measure.py WORKER PART PARTS TABLE[/LAYER]..

It says lines of JSON, and reads one after each of them but those of the table: {"lacks": n} for a row of its own whose product is not
built, {"ready": n} for one that is ready, with "more": true where that is some of its kernels, {"failed": n} for one that cannot be,
{"done": n} for one that is measured, {"idle": 0} when there is none to make ready. It is told {"measure": n}, or {} to go on.
"""
import json
import os
import re
import sys
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contenders  # noqa: E402
import numpy as np  # noqa: E402
import rows as layers  # noqa: E402
import torch  # noqa: E402

DEVICE, PAPERS = contenders.DEVICE, contenders.PAPERS
RUNS, SECONDS = int(os.environ.get("RUNS", 15)), float(os.environ.get("MOST", 0.15))  # of a kernel, whichever comes first, but three
FLUSH = 1 << 28                # bytes
EDGES = {"cuda": (64, 64), "cpu": (16, 64)}[DEVICE]  # of the random graph: nodes, and neighbours of each
SHOWN = 64                     # rows of an output that are compared


class Place:
    """Where a row is computed, on the device."""

    def __init__(self, row, items=0, nodes=0):
        self.nodes, self.items = nodes, items
        if not row.place:
            return
        if row.place == "random" or items:
            nodes, degree = (nodes, items // nodes) if items else EDGES
            made = np.random.default_rng(1)
            receiver, sender = np.repeat(np.arange(nodes), degree), made.integers(0, nodes, nodes * degree)
        else:
            receiver, sender = (np.fromfile(f"{layers.ROOT}/tests/gpu/graphs/{row.place}_{end}.i32", dtype="<i4")
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
        made = (torch.rand if self.uniform else torch.randn)(shape, generator=self.generator, device=DEVICE)
        return made.to(self.dtype)

    def like(self, value):
        return self.numbers(*value.shape)

    def of(self, kernel):
        """What is timed, and makes outputs."""
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
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(call, flush):
    """(median ms, least ms, least wall ms, GB). It was called once."""
    wait()
    begin = time.perf_counter()
    call()
    host = time.perf_counter() - begin
    wait()
    slow = time.perf_counter() - begin > SECONDS  # three runs are enough
    walls = []
    while len(walls) < (1 if slow else 5):
        begin = time.perf_counter()
        call()
        wait()
        walls.append(time.perf_counter() - begin)
    if DEVICE == "cpu":
        return sorted(walls)[len(walls) // 2] * 1e3, min(walls) * 1e3, min(walls) * 1e3, 0
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
    return times[len(times) // 2], times[0], min(walls) * 1e3, memory


def own_share(contender, calls):
    """Of the device's time, and what takes longest."""
    from torch.profiler import ProfilerActivity, profile
    pattern = contenders.OWN.get(contender if contender in contenders.OWN else layers.worker_of(contender))
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
    return [value.detach().cpu() for value in outputs[:3]]


def steps(row, contender):
    """Its kernels as they are made ready: one after the other where each compiles long, and what is ready is to be measured first."""
    kernels = kernels_of(row, contender)
    long = os.environ.get("ORDER") == "quick" and layers.worker_of(contender) in layers.MAKING
    return [kernels[:n + 1] for n in range(0 if long else len(kernels) - 1, len(kernels))]


def prepare(row, contender, kernels):
    """Compiles what is compiled at the first call, by calls on little, and lets the profiler start."""
    # torch.compile takes what is as large as channels or a row of y for these, and compiles for other sizes anew: 143 and 13 are not.
    small = Place(row, 143, 13 if row.place else 0) if contender == "e3nn compiled" else Place(row, 128, 16 if row.place else 0)
    call = Call(row, contenders.CONTENDERS[contender](row, small), small, dtype_of(contender))
    calls = [call.of(kernel) for kernel in kernels]
    for kernel in calls:
        kernel()
    own_share(contender, calls[:1])
    wait()
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def dtype_of(contender):
    return torch.float64 if contender.endswith("float64") else torch.float32


def kernels_of(row, contender):
    """What is compiled has no derivative of the second order."""
    return [kernel for kernel in row.kernels if f"{contender}:{kernel}" not in layers.WITHOUT and
            (kernel != "double_backward" or contender != "e3nn compiled")]


def measure(row, contender, kernels, flush):
    """Lines of the table, as dictionaries; a kernel that fails has a reason."""
    base = {"table": row.table, "layer": row.name, "contender": contender}
    whole, results, found, place, share, longest = row.table == "stability", {}, [], None, "-", ""
    for kernel in kernels:
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
            if kernel == kernels[:2][-1]:
                share, longest = own_share(contender, [arguments.of(each) for each in kernels[:2]])
        except torch.OutOfMemoryError:
            line["why"] = "out of memory"
        call = None  # and what it keeps
        found.append(line)
    for line in found:
        line["own"] = share
        if share == "0.00":
            line["why"] = f"none of its own kernels ran: {longest}"
    torch.save(results, f"{layers.file_of(PAPERS, row, contender)}.new")
    os.replace(f"{layers.file_of(PAPERS, row, contender)}.new", layers.file_of(PAPERS, row, contender))
    return found


def reason(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:160]}"


class Process:
    def __init__(self, name, part, parts, words):
        self.mine, self.known = layers.shares(words, name, parts)[part], set()
        self.kernels, self.flush = {}, None  # that are ready, of each row

    def run(self):
        for n, (row, contender) in enumerate(self.mine):
            if not layers.built(PAPERS, row, contender):
                self.obey({"lacks": n})
            for kernels in steps(row, contender):
                ready = self.attempt(n, self.first, kernels)
                self.obey({"ready" if ready else "failed": n, "more": ready and kernels != kernels_of(row, contender)})
                if not ready:
                    break
        while True:
            self.obey({"idle": 0})

    def first(self, n, kernels):
        row, contender = self.mine[n]
        if (row.name, bool(row.place), contender, *kernels) not in self.known:
            prepare(row, contender, kernels)
        self.known.add((row.name, bool(row.place), contender, *kernels))
        self.kernels[n] = kernels

    def second(self, n):
        if self.flush is None and DEVICE == "cuda":
            self.flush = torch.zeros(FLUSH // 4, device=DEVICE)
        for line in measure(*self.mine[n], self.kernels[n], self.flush):
            say(line)

    def attempt(self, n, what, *words):
        """Whether it could."""
        row, contender = self.mine[n]
        try:
            what(n, *words)
            return True
        except Exception as error:
            say({"table": row.table, "layer": row.name, "contender": contender, "kernel": "all", "why": reason(error)})
            return False
        finally:
            if DEVICE == "cuda":
                torch.cuda.empty_cache()

    def obey(self, said):
        """Measures until it is told to go on."""
        while True:
            say(said)
            told = json.loads(sys.stdin.readline() or "null")
            if told is None:
                sys.exit(0)
            if "measure" not in told:
                return
            self.attempt(told["measure"], self.second)
            said = {"done": told["measure"]}


def say(line):
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    Process(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]).run()
