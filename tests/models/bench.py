#!/usr/bin/env python3
"""Time and peak memory of steps of models with generated modules, beside e3nn eager, cuEquivariance, OpenEquivariance and
FlashTP in the same run, on one GPU.

    tests/models/bench.py build SYSTEM            generates and compiles what SYSTEM, such as mace, needs (SYSTEMS below)
    tests/models/bench.py run SYSTEMS.. [TSV]     measures all contenders of these; TSV: a file for a table of the results.
                                                  Those after a + are made ready when all before it have been measured
    tests/models/bench.py atoms TSV               prints microseconds of an atom

MACE, NequIP and Allegro have random weights, SevenNet is the trained l3i5, or of its architecture.

A force step is energy and forces (of NequIP stress, too, which it always computes), with parameters that take no
gradient, as calculators have them. A training step is the same and the gradients by all parameters of a loss of energy
and forces. Times are medians of steps that are waited for; `kernels` is the sum of its kernels' times, so that
the rest is the host's. Parts of that are `products`, the contender's own kernels, and matrix products with rows of `edges`,
which are radial networks' and those inside e3nn's tensor products, and of `nodes`, as linear layers'. `host` is the
time until a step returns to Python, while kernels still run; `launches` says how many kernels, copies and fills it has. `replayed` is
the step as a CUDA graph, where it can be captured; memory is the peak of PyTorch's allocator.
A contender whose own kernels do not run is an error; one whose package is not here is left out. Every contender is a
process of its own: all are made ready beside one another, which for most is compiling, by steps on a few atoms, and then
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
from typing import Callable, NamedTuple

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate  # noqa: E402

FOLDER = os.path.abspath(os.environ.get('MODELS', 'build/models/bench'))
DEVICE = os.environ.get('DEVICE', 'cuda')
RUNS, SECONDS = 10, 1  # of a step, whichever comes first
CHOSEN = os.environ.get('CONTENDERS', '.*')  # a pattern of those that are measured, CONTENDER or SYSTEM/CONTENDER
PATIENCE = float(os.environ.get('PATIENCE', 600))  # seconds that those that are ready wait for the others
CUEQ_CACHE = 'CUEQUIVARIANCE_OPS_NVRTC_CACHE_DIR'  # of kernels that it compiles for minutes
COLUMNS = ['model', 'contender', 'step', 'ms', 'kernels ms', 'GB', 'products ms', 'edges ms', 'nodes ms', 'host ms', 'launches', 'replayed ms',
           'difference']
OWN = {'cgtpgen': 'code::forward', 'cuEquivariance': 'segmented_polynomial|uniform_1d|fused_tensor_product',
       'OpenEquivariance': r'forward\(.*ConvData', 'FlashTP': 'fwd_sptp'}
PACKAGES = {'cuEquivariance': 'cuequivariance_ops_torch', 'OpenEquivariance': 'openequivariance', 'FlashTP': 'flashTP_e3nn'}
PRODUCTS = r'\bcode::|ConvData|sptp|' + OWN['cuEquivariance']  # kernels of products, whoever's
MATRICES = 'gemm|gemv|cutlass|splitK'


def SiC(repeats):
    return packages.crystal(repeats)


def diamond(repeats):
    return packages.crystal(repeats, name='C')


def copper(repeats):
    return packages.crystal(repeats, name='Cu')


class System(NamedTuple):
    """What is measured: a model, and what it computes. More than one size: each until one does not fit, a row each."""
    model: type
    channels: int
    cutoff: float
    kernels: str  # the folder of them, which systems of equal layers share
    atoms: Callable = SiC
    sizes: tuple = ((5, 5, 25),)
    steps: tuple = ('force step', 'training step')
    dtype: torch.dtype = torch.float32
    more: dict = {}  # attributes of the model's case
    contenders: str = '.*'  # a pattern


# SiC of 87 and 46 neighbours; 6 is the cutoff of MACE-MP.
ALLEGRO = {'num_scalar_features': 64, 'allegro_mlp_hidden_layers_width': 64, 'readout_mlp_hidden_layers_width': 32,
           'radial_chemical_embed_dim': 64, 'scalar_embed_mlp_hidden_layers_width': 64}
CARBON = {'atoms': diamond, 'sizes': ((5, 5, 5),), 'steps': ('force step',), 'more': {'elements': (1, 6, 7, 8, 9, 15, 16, 17)},
          'contenders': '(?!.*alone).*'}
LAYERS = {'layers': 4}  # NequIP's default
SMALLER = {'sizes': ((5, 5, 10),), 'steps': ('training step',), 'contenders': '(?!.*graphs|cuEquivariance).*'}
COPPER = (10, 14, 16, 20, 24, 28, 30, 32, 36)
SYSTEMS = {
    'mace': System(packages.Mace, 128, 6.0, 'mace'),
    'nequip': System(packages.Nequip, 64, 5.0, 'nequip', more=LAYERS),
    'sevennet': System(packages.Trained, 128, 5.0, 'sevennet'),
    'mace-carbon': System(packages.Mace, 128, 6.0, 'mace', **CARBON),
    'mace-carbon-f64': System(packages.Mace, 128, 6.0, 'mace_f64', dtype=torch.float64, **CARBON),
    'nequip-water': System(packages.Nequip, 64, 5.0, 'nequip', packages.water, ((12, 12, 12),), ('force step',),
                           more=LAYERS | {'elements': (1, 8)}),
    'sevennet-l2i5': System(packages.Trained, 128, 5.0, 'sevennet_l2', more={'lmax': 2}, **SMALLER),
    'sevennet-l3i5': System(packages.Trained, 128, 5.0, 'sevennet', **SMALLER),
    'sevennet-l4i5': System(packages.Trained, 128, 5.0, 'sevennet_l4', more={'lmax': 4}, **SMALLER),
    'allegro': System(packages.Allegro, 64, 5.0, 'allegro', sizes=((5, 5, 5),), more={'more': ALLEGRO}),
    'sevennet-copper': System(packages.Trained, 128, 5.0, 'sevennet', copper, tuple((n, n, n) for n in COPPER), ('force step',),
                              contenders='(?!.*graphs).*'),
}
if DEVICE == 'cpu':  # to try this program out
    SYSTEMS = {name: system._replace(channels=8, cutoff=4.0, sizes=((1, 1, 1), (2, 2, 1))[:len(system.sizes)])
               for name, system in SYSTEMS.items()}


def case(name, size=None):
    """Of a size, or without one of the smallest."""
    system = SYSTEMS[name]
    made = type(system.model.__name__, (system.model,), system.more)
    return made(system.atoms(size or (1, 1, 1)), system.channels, system.cutoff)


def build(name):
    generated(name, case(name).fresh(SYSTEMS[name].dtype))


# ---- contenders: a function of the system's name and a model ----

def as_it_is(name, model):
    return model


def generated(name, model, only=None, graphs=False):
    return accelerate(model.to(DEVICE), f'{FOLDER}/{SYSTEMS[name].kernels}_kernels', dtypes=[str(SYSTEMS[name].dtype)[6:]],
                      devices=['cpu'] if DEVICE == 'cpu' else ['cuda'], only=only, graphs=graphs, quiet=True)


def recorded(name, model):
    return generated(name, model, graphs=True)


def convolutions(name, model):
    return generated(name, model, is_convolution)


def is_convolution(path):
    return path.endswith('conv_tp')


def mace_cueq(name, model):
    from mace.cli.convert_e3nn_cueq import run
    return run(model, device=DEVICE)


def mace_oeq(name, model):
    from mace.cli.convert_e3nn_oeq import run
    return run(model, device=DEVICE)


def nequip_peer(model, module, name, **more):
    from nequip.nn import InteractionBlock
    made = getattr(__import__(f'nequip.nn.{module}', fromlist=[name]), name)
    for block in [block for block in model.modules() if isinstance(block, InteractionBlock)]:
        old = block.tp_scatter
        block.tp_scatter = made(old.feature_irreps_in, old.irreps_edge_attr, old.irreps_mid, old.instructions, **more)
    return model.to(DEVICE)


def nequip_oeq(name, model):
    return nequip_peer(model, '_tp_scatter_oeq', 'OpenEquivarianceTensorProductScatter', use_opaque=False)


def nequip_cueq(name, model):
    return nequip_peer(model, '_tp_scatter_cueq', 'CuEquivarianceTensorProductScatter')


def allegro_cueq(name, model):
    from allegro.nn._strided import Contracter
    return Contracter.enable_CuEquivarianceContracter(model).to(DEVICE)


def sevennet_peer(switch):
    """The same weights in a model that is built with a switch of the package's own."""
    def made(name, model):
        new = case(name).build(SYSTEMS[name].dtype, **{switch: True})
        if SYSTEMS[name].more:  # weights are random
            new.load_state_dict(model.state_dict(), strict=False)
        return new.to(DEVICE)
    return made


CONTENDERS = {  # of each package the first is measured first, and so on: what matters most comes before any time limit
    'mace': {'cgtpgen': generated, 'cgtpgen, graphs': recorded, 'cuEquivariance': mace_cueq, 'e3nn': as_it_is,
             'OpenEquivariance': mace_oeq, 'cgtpgen, convolutions alone': convolutions},
    'nequip': {'cgtpgen': generated, 'cgtpgen, graphs': recorded, 'OpenEquivariance': nequip_oeq, 'e3nn': as_it_is,
               'cuEquivariance': nequip_cueq},
    'sevennet': {'cgtpgen': generated, 'cgtpgen, graphs': recorded, 'OpenEquivariance': sevennet_peer('enable_oeq'),
                 'cuEquivariance': sevennet_peer('enable_cueq'), 'FlashTP': sevennet_peer('enable_flash'), 'e3nn': as_it_is},
    'allegro': {'cgtpgen': generated, 'cgtpgen, graphs': recorded, 'cuEquivariance': allegro_cueq, 'e3nn': as_it_is},
}


def contenders(name):
    """{its name: function} of those that are measured."""
    system = SYSTEMS[name]
    return {who: made for who, made in CONTENDERS[system.model.name].items()
            if re.fullmatch(system.contenders, who) and any(re.fullmatch(CHOSEN, of) for of in (who, f'{name}/{who}'))
            and not (DEVICE == 'cpu' and 'graphs' in who)}


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


STEPS = {step.__name__.replace('_', ' '): step for step in (force_step, training_step)}


def set_for(step, model):
    """Do its parameters take gradients? Said before its steps, not in each, which takes 0.4 ms for MACE."""
    model.requires_grad_(step is training_step)


def median(call):
    """ms of a step, and ms after which it had returned to the host."""
    times = []
    while len(times) < RUNS and sum(took for took, _ in times) < SECONDS:
        start = time.perf_counter()
        call()
        returned = time.perf_counter() - start
        wait()
        times.append((time.perf_counter() - start, returned))
    return [sorted(column)[len(times) // 2] * 1e3 for column in zip(*times)]


def kernels(call):
    """[(name, ms, times that it was started)] of the kernels of a step, copies and fills, those that take longest first."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        call()
        wait()
    rows = [(event.key, event.self_device_time_total / 1e3, event.count) for event in found.key_averages() if event.self_device_time_total]
    return sorted(rows, key=lambda row: -row[1])


def matrices(call, edges):
    """ms of matrix products of rows of edges, as of radial networks, and of others, as linear layers', by the shapes of the
    operators that start the kernels; dashes where none does, as in a step that is replayed."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU], record_shapes=True) as found:
        call()
        wait()
    rows = [(any(isinstance(shape, (list, tuple)) and edges in shape for shape in event.input_shapes or ()), kernel.duration / 1e3)
            for event in found.events() for kernel in event.kernels if re.search(MATRICES, kernel.name)]
    return [f'{sum(ms for of_edges, ms in rows if of_edges == wanted):.2f}' if rows else '-' for wanted in (True, False)]


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
        return f'{median(graph.replay)[0]:.2f}'
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
            return [f'{median(call)[0]:.2f}', *'-------'], results
        torch.cuda.reset_peak_memory_stats()
        took, host = median(call)
        memory = torch.cuda.max_memory_allocated()
        times = kernels(call)
        of_matrices = matrices(call, len(found.receiver))
    except torch.OutOfMemoryError:
        return ['out of memory', *'-------'], None
    for name, ms, _ in times[:14]:
        print(f'#    {ms:8.2f} ms {name[:150]}')
    missing = [own for name, own in OWN.items() if name in contender and not any(re.search(own, k) for k, *_ in times)]
    if missing:
        raise RuntimeError(f'{contender}: no kernel is called {missing[0]}')
    products = sum(ms for name, ms, _ in times if re.search(PRODUCTS, name))
    return [f'{took:.2f}', f'{sum(ms for _, ms, _ in times):.2f}', f'{memory / 2**30:.2f}', f'{products:.2f}', *of_matrices, f'{host:.2f}',
            str(sum(count for *_, count in times))], results


def contend(name, contender, into):
    """A process of one contender: makes it ready, says so, and measures when it is told to."""
    system = SYSTEMS[name]
    if contender == 'FlashTP':
        sys.setdlopenflags(os.RTLD_LAZY)  # its kernels for float64 need not be compiled
    steps = [STEPS[step] for step in system.steps[:1 if 'graphs' in contender else None]]  # training is not recorded
    found, small = case(name, system.sizes[0]), case(name)
    model = contenders(name)[contender](name, found.fresh(system.dtype, DEVICE)).to(system.dtype)
    for step in steps:  # what is compiled at the first call is compiled now
        set_for(step, model)
        for _ in range(3):
            step(small, model, moved(small.inputs(system.dtype)))
    inputs = found.inputs(system.dtype)
    wait()
    print('ready', flush=True)
    if not sys.stdin.readline():
        return  # who started it is no more
    rows, results = [], []
    for size in system.sizes:
        if size != system.sizes[0]:
            found = case(name, size)
            inputs = found.inputs(system.dtype)
        print(f'# {name}: {len(found.atoms)} atoms, {len(found.receiver)} edges, {found.channels} channels, {contender}')
        for step in steps:
            columns, made = measure(contender, step, found, model, moved(inputs))
            called = name if len(system.sizes) == 1 else f'{name}, {len(found.atoms)} atoms'
            rows.append([called, contender, step.__name__.replace('_', ' '), *columns, '-'])
            results.append(made)
            keep((rows, results), into)
        if made is None:
            break
    if DEVICE == 'cuda' and 'graphs' not in contender and len(system.sizes) == 1 and force_step in steps:
        set_for(force_step, model)
        inputs = moved(inputs)
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
        path = os.pathsep.join(filter(None, [SYSTEMS[name].model is packages.Mace and os.environ.get('MODELS_MACE'), os.environ.get('PYTHONPATH')]))
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
    others stand still. Those of names after a + are started when all before are measured."""
    os.makedirs(f'{FOLDER}/cueq', exist_ok=True)
    absent = {peer for peer, package in PACKAGES.items() if importlib.util.find_spec(package) is None}
    print(*(f'# no {peer} here' for peer in sorted(absent)), sep='\n')
    rows, failures = [], 0
    for group in ' '.join(names).split('+'):
        # What fills the memory comes last, when the other processes have ended.
        ranked = sorted((len(SYSTEMS[name].sizes), n, name, who) for name in group.split()
                        for n, who in enumerate(contenders(name)) if who not in absent)
        left = [Contender(name, who, n) for _, n, name, who in ranked]
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
    print(*['\t'.join(line) for line in lines if (line[0].split(',')[0], line[1]) == (of.name, of.contender)], sep='\n', flush=True)
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
                each = f'{float(found["ms"]) * 1e3 / atoms_of(found["model"]):.2f} us an atom'
            except ValueError:
                each = found['ms']
            print(f'{found["model"]}, {found["contender"]}: {each}')


def atoms_of(model):
    name, _, count = model.partition(', ')
    system = SYSTEMS[name]
    return int(count.split()[0]) if count else len(system.atoms(system.sizes[0]))


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
