#!/usr/bin/env python3
"""Time and peak memory of a force step and of a training step of models with generated modules, beside e3nn eager,
cuEquivariance and OpenEquivariance in the same run, on one GPU.

    tests/models/bench.py build NAME          generates and compiles what NAME, mace, nequip or sevennet, needs
    tests/models/bench.py run NAMES.. [TSV]   measures all contenders of these; TSV: a file for a table of the results
    tests/models/bench.py atoms TSV           prints microseconds of an atom

MACE and NequIP have random weights, SevenNet is the trained l3i5.

A force step is energy and forces (of NequIP stress, too, which it always computes), with parameters that take no
gradient, as calculators have them. A training step is the same and the gradients by all parameters of a loss of energy
and forces. Float32. Times are medians of steps that are waited for; `kernels` is the sum of its kernels' times, so that
the rest is the host's; `replayed` is the step as a CUDA graph, where it can be captured; memory is the peak of PyTorch's
allocator. A contender whose own kernels do not run is an error; one whose package is not here is left out. Every contender is a
process of its own: all are made ready beside one another, which for most is compiling, by steps on eight atoms, and then
measured one by one. The table is written anew after each, so that whoever stops this program has what was measured before.
"""
import gc
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate  # noqa: E402

FOLDER = os.path.abspath(os.environ.get('MODELS', 'build/models/bench'))
DEVICE = os.environ.get('DEVICE', 'cuda')
# Atoms, channels, cutoff: SiC of 87 and 46 neighbours; 6 is the cutoff of MACE-MP.
SIZES = {'mace': ((5, 5, 25), 128, 6.0), 'nequip': ((5, 5, 25), 64, 5.0), 'sevennet': ((5, 5, 25), 128, 5.0)}
CASES = packages.CASES | {'sevennet': packages.Trained}
if DEVICE == 'cpu':  # to try this program out
    SIZES = dict.fromkeys(SIZES, ((1, 1, 1), 8, 4.0))
RUNS, SECONDS = 10, 1  # of a step, whichever comes first
CHOSEN = os.environ.get('CONTENDERS', '.*')  # a pattern of those that are measured
PATIENCE = float(os.environ.get('PATIENCE', 600))  # seconds that those that are ready wait for the others
CUEQ_CACHE = 'CUEQUIVARIANCE_OPS_NVRTC_CACHE_DIR'  # of kernels that it compiles for minutes
COLUMNS = ['model', 'contender', 'step', 'ms', 'kernels ms', 'GB', 'replayed ms', 'difference']
OWN = {'cgtpgen': 'forward_convolution', 'cuEquivariance': 'segmented_polynomial|uniform_1d|fused_tensor_product',
       'OpenEquivariance': r'forward\(.*ConvData', 'FlashTP': 'fwd_sptp'}
PACKAGES = {'cuEquivariance': 'cuequivariance_ops_torch', 'OpenEquivariance': 'openequivariance', 'FlashTP': 'flashTP_e3nn'}


def case(name):
    repeats, channels, cutoff = SIZES[name]
    made = CASES[name]
    made.layers = 4  # of NequIP, its default
    return made(packages.crystal(repeats), channels, cutoff)


def build(name):
    generated(name, case(name).fresh(torch.float32))


# ---- contenders ----

def generated(name, model, only=None, graphs=False):
    return accelerate(model.to(DEVICE), f'{FOLDER}/{name}_kernels', dtypes=['float32'],
                      devices=['cpu'] if DEVICE == 'cpu' else ['cuda'], only=only, graphs=graphs, quiet=True)


def as_graphs(name):
    return {'cgtpgen, graphs': lambda model: generated(name, model, graphs=True)} if DEVICE != 'cpu' else {}


def is_convolution(path):
    return path.endswith('conv_tp')


def mace_cueq(model):
    from mace.cli.convert_e3nn_cueq import run
    return run(model, device=DEVICE)


def mace_oeq(model):
    from mace.cli.convert_e3nn_oeq import run
    return run(model, device=DEVICE)


def nequip_peer(model, module, name, **more):
    from nequip.nn import InteractionBlock
    made = getattr(__import__(f'nequip.nn.{module}', fromlist=[name]), name)
    for block in [block for block in model.modules() if isinstance(block, InteractionBlock)]:
        old = block.tp_scatter
        block.tp_scatter = made(old.feature_irreps_in, old.irreps_edge_attr, old.irreps_mid, old.instructions, **more)
    return model.to(DEVICE)


def sevennet_peer(switch):
    """The same trained model, built with a switch of the package's own."""
    return lambda model: case('sevennet').build(torch.float32, **{switch: True}).to(DEVICE)


CONTENDERS = {  # of each model the first is measured first, and so on: what matters most comes before any time limit
    'mace': {
        'cgtpgen': lambda model: generated('mace', model),
        **as_graphs('mace'),
        'cuEquivariance': mace_cueq,
        'e3nn': lambda model: model,
        'OpenEquivariance': mace_oeq,
        'cgtpgen, convolutions alone': lambda model: generated('mace', model, is_convolution),
    },
    'nequip': {
        'cgtpgen': lambda model: generated('nequip', model),
        **as_graphs('nequip'),
        'OpenEquivariance': lambda model: nequip_peer(model, '_tp_scatter_oeq', 'OpenEquivarianceTensorProductScatter',
                                                      use_opaque=False),
        'e3nn': lambda model: model,
        'cuEquivariance': lambda model: nequip_peer(model, '_tp_scatter_cueq', 'CuEquivarianceTensorProductScatter'),
    },
    'sevennet': {
        'cgtpgen': lambda model: generated('sevennet', model),
        **as_graphs('sevennet'),
        'OpenEquivariance': sevennet_peer('enable_oeq'),
        'cuEquivariance': sevennet_peer('enable_cueq'),
        'FlashTP': sevennet_peer('enable_flash'),
        'e3nn': lambda model: model,
    },
}


# ---- measuring ----

def wait():
    if DEVICE == 'cuda':
        torch.cuda.synchronize()


def force_step(found, model, inputs):
    return [value.detach() for value in found.call(model, inputs, stress=False)[:2]]


def training_step(found, model, inputs):
    model.zero_grad(set_to_none=True)
    energy, forces = found.call(model, inputs, True, stress=False)[:2]
    (energy / len(found.atoms) + forces.square().mean()).backward()
    return [energy.detach(), forces.detach()]


def set_for(step, model):
    """Do its parameters take gradients? Said before its steps, not in each, which takes 0.4 ms for MACE."""
    model.requires_grad_(step is training_step)


def median(call):
    times = []
    while len(times) < RUNS and sum(times) < SECONDS:
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3


def kernels(call):
    """[(name, ms)] of the kernels of a step, those that take longest first."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        call()
        wait()
    rows = [(event.key, event.self_device_time_total / 1e3) for event in found.key_averages()]
    return sorted(rows, key=lambda row: -row[1])


def captured(call):
    """The step as a CUDA graph, or why it is none."""
    try:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            call()
        wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        graph.replay()
        return f'{median(graph.replay):.2f}'
    except Exception as error:
        print(f'# not captured: {type(error).__name__}: {str(error).splitlines()[0]}')
        return '-'


def measure(contender, step, found, model, inputs):
    """The columns of a row, and the results."""
    def call():
        return step(found, model, inputs)

    set_for(step, model)
    gc.collect()
    torch.cuda.empty_cache()
    try:
        for _ in range(3):
            results = [value.cpu() for value in call()]
        if DEVICE == 'cpu':
            return [f'{median(call):.2f}', '-', '-'], results
        torch.cuda.reset_peak_memory_stats()
        took = median(call)
        memory = torch.cuda.max_memory_allocated()
        times = kernels(call)
    except torch.OutOfMemoryError:
        return ['out of memory', '-', '-'], None
    for name, ms in times[:14]:
        print(f'#    {ms:8.2f} ms {name[:150]}')
    missing = [own for name, own in OWN.items() if name in contender and not any(re.search(own, k) for k, _ in times)]
    if missing:
        raise RuntimeError(f'{contender}: no kernel is called {missing[0]}')
    return [f'{took:.2f}', f'{sum(ms for _, ms in times):.2f}', f'{memory / 2**30:.2f}'], results


def contend(name, contender, into):
    """A process of one contender: makes it ready, says so, and measures when it is told to."""
    found = case(name)
    small = type(found)(packages.crystal(), found.channels, found.cutoff)
    model = CONTENDERS[name][contender](found.fresh(torch.float32, DEVICE)).to(torch.float32)
    for step in force_step, training_step:  # what is compiled at the first call is compiled now
        set_for(step, model)
        for _ in range(3):
            step(small, model, moved(small.inputs(torch.float32)))
    inputs = found.inputs(torch.float32)
    wait()
    print('ready', flush=True)
    if not sys.stdin.readline():
        return  # who started it is no more
    inputs = moved(inputs)
    print(f'# {name}: {len(found.atoms)} atoms, {len(found.receiver)} edges, {found.channels} channels, {contender}')
    rows, results = [], []
    for step in force_step, training_step:
        columns, made = measure(contender, step, found, model, inputs)
        rows.append([name, contender, step.__name__.replace('_', ' '), *columns, '-'])
        results.append(made)
        keep((rows, results), into)
    if DEVICE == 'cuda' and 'graphs' not in contender:
        set_for(force_step, model)
        rows[0][-1] = captured(lambda: force_step(found, model, inputs))
        keep((rows, results), into)


def moved(inputs):
    return {key: value.to(DEVICE) if isinstance(value, torch.Tensor) else value for key, value in inputs.items()}


def keep(value, into):
    """The file is whole whenever this process is ended."""
    torch.save(value, f'{into}.new')
    os.replace(f'{into}.new', into)


class Contender(threading.Thread):
    """A process of a contender, and what it has printed."""

    def __init__(self, name, contender, number):
        super().__init__(daemon=True)
        self.name, self.contender, self.into = name, contender, f'{FOLDER}/{name}.{number}'
        self.ready, self.lines, self.start_time = None, [], time.monotonic()
        if os.path.exists(self.into):
            os.remove(self.into)
        path = os.pathsep.join(filter(None, [name == 'mace' and os.environ.get('MODELS_MACE'), os.environ.get('PYTHONPATH')]))
        self.process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-X', 'faulthandler', __file__, 'contend', name, contender, self.into],
            env={CUEQ_CACHE: f'{FOLDER}/cueq'} | os.environ | {'PYTHONPATH': path, 'OMP_NUM_THREADS': '1'}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.start()

    def run(self):
        for line in self.process.stdout:
            if line == 'ready\n':
                self.ready = time.monotonic() - self.start_time
            else:
                self.lines.append(line)

    def waiting(self):
        return self.ready is None and self.is_alive()

    def measured(self):
        """Its rows and results."""
        if self.ready is not None:
            self.process.stdin.write('go\n')
            self.process.stdin.close()
        self.join()
        status = self.process.wait()
        took = f'ready after {self.ready:.0f} s' if self.ready is not None else 'not ready'
        print(f'# {time.strftime("%X")} {self.name}, {self.contender}: {took}, status {status}')
        print(*self.lines, sep='', end='')
        return zip(*torch.load(self.into, weights_only=False)) if os.path.exists(self.into) else []


def run(names, table):
    """Starts all contenders, and measures them one by one once all are ready; after PATIENCE those that are, while the
    others stand still."""
    os.makedirs(f'{FOLDER}/cueq', exist_ok=True)
    ranked = sorted((n, name, contender) for name in names for n, contender in enumerate(CONTENDERS[name]))
    absent = {peer for peer, package in PACKAGES.items() if importlib.util.find_spec(package) is None}
    print(*(f'# no {peer} here' for peer in sorted(absent)), sep='\n')
    ranked = [found for found in ranked if found[2] not in absent and re.fullmatch(CHOSEN, found[2])]
    left = [Contender(name, contender, n) for n, name, contender in ranked]
    rows, failures = [], 0
    while left:
        end = time.monotonic() + PATIENCE
        while any(found.waiting() for found in left) and time.monotonic() < end:
            time.sleep(0.2)
        late = [found for found in left if found.waiting()]
        for found in late:
            found.process.send_signal(signal.SIGSTOP)
        for found in [found for found in left if found not in late]:
            rows += found.measured()
            failures += found.process.returncode != 0
            report(found, rows, table)
        for found in late:
            found.process.send_signal(signal.SIGCONT)
        left = late
    return failures


def report(of, rows, table):
    """Prints a contender's rows, and writes all there are."""
    lines = [row + [difference(row, results, rows)] for row, results in rows]
    print(*['\t'.join(line) for line in lines if line[:2] == [of.name, of.contender]], sep='\n', flush=True)
    if table:
        with open(table, 'w') as file:
            file.writelines('\t'.join(line) + '\n' for line in [COLUMNS, *lines])


def difference(row, results, rows):
    """Of energy and forces from e3nn's, of the largest element; while there is no row of it, from the first contender's."""
    same = [(other[1] != 'e3nn', of) for other, of in rows if (other[0], other[2]) == (row[0], row[2]) and of]
    if not results:
        return '-'
    of = min(same, key=lambda found: found[0])[1]
    return f'{max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(results, of)):.1e}'


def atoms(table):
    """Of each force step, by wall clock."""
    with open(table) as file:
        columns, *rows = (line.rstrip('\n').split('\t') for line in file)
    for row in rows:
        found = dict(zip(columns, row))
        if found['step'] == 'force step':
            try:
                each = f'{float(found["ms"]) * 1e3 / len(case(found["model"]).atoms):.2f} us an atom'
            except ValueError:
                each = found['ms']
            print(f'{found["model"]}, {found["contender"]}: {each}')


if __name__ == '__main__':
    if sys.argv[1] == 'build':
        build(sys.argv[2])
    elif sys.argv[1] == 'atoms':
        atoms(sys.argv[2])
    elif sys.argv[1] == 'contend':
        contend(*sys.argv[2:])
    else:
        files = [word for word in sys.argv[2:] if word.endswith('.tsv')]
        sys.exit(run([word for word in sys.argv[2:] if word not in files], files[0] if files else None))
