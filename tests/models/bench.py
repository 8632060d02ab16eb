#!/usr/bin/env python3
"""Time and peak memory of a force step and of a training step of models with generated modules, beside e3nn eager,
cuEquivariance and OpenEquivariance in the same run, on one GPU.

    tests/models/bench.py build mace|nequip        generates and compiles (no GPU is used)
    tests/models/bench.py run mace|nequip [FILE]   measures; FILE: rows of a table, added

A force step is energy, forces and stress, with parameters that take no gradient, as calculators have them. A training
step is the same and the gradients by all parameters of a loss of energy and forces. Float32; times are medians of runs
that are waited for; memory is the peak of PyTorch's allocator. A contender that its package cannot make is an error.
"""
import gc
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packages  # noqa: E402
import swapping  # noqa: E402
import torch  # noqa: E402

FOLDER = os.path.abspath(os.environ.get('MODELS', 'build/models/bench'))
DEVICE = os.environ.get('DEVICE', 'cuda')
ATOMS = {'mace': (5, 5, 25), 'nequip': (5, 5, 25)}
CHANNELS = {'mace': 128, 'nequip': 64}
RUNS = 10
# What must be among the names of the kernels that run, so that no contender is measured by its fallback.
OWN = {'cgtpgen': 'forward', 'cuEquivariance': 'segmented|uniform|fused', 'OpenEquivariance': 'forward|backward'}


def case(name):
    small = os.environ.get('SMALL')
    atoms = packages.crystal((1, 1, 1) if small else ATOMS[name])
    made = packages.CASES[name]
    if name == 'nequip':
        made.layers = 4
    return made(atoms, 8 if small else CHANNELS[name], 4.0 if small else 4.5)


def specs(name, model):
    """Products of the plain model, and with cuEquivariance's layout for MACE."""
    functions = swapping.functions(name, FOLDER)
    texts = {f'{name}{number}': text for number, text in enumerate(functions.specs(model, name))}
    if name == 'mace':
        texts |= {f'mace_ir{number}': text + 'layout: ir_mul\n'
                  for number, text in enumerate(functions.specs(model, 'mace_ir'))}
    return texts


def build(name):
    found = case(name)
    model = found.like(torch.float32)
    swapping.build(f'{name}_layers', specs(name, model), FOLDER, ('cuda',) if DEVICE == 'cuda' else ('cpu',))


# ---- contenders ----

def generated(name, model, prefix):
    functions = swapping.functions(name, FOLDER)
    count = len(functions.specs(model, name)) if prefix == name else 2
    functions.swap(model, swapping.layers(f'{name}_layers', [f'{prefix}{n}' for n in range(count)], FOLDER))
    return model.to(DEVICE)


def mace_cueq(model):
    from mace.cli.convert_e3nn_cueq import run
    return run(model, device=DEVICE)


def mace_oeq(model):
    from mace.cli.convert_e3nn_oeq import run
    return run(model, device=DEVICE)


def nequip_peer(model, module, name, **more):
    functions = swapping.functions('nequip', FOLDER)
    made = getattr(__import__(f'nequip.nn.{module}', fromlist=[name]), name)
    for block in functions.blocks(model):
        old = block.tp_scatter
        block.tp_scatter = made(old.feature_irreps_in, old.irreps_edge_attr, old.irreps_mid, old.instructions, **more)
    return model.to(DEVICE)


CONTENDERS = {
    'mace': {
        'e3nn': lambda model: model,
        'cgtpgen': lambda model: generated('mace', model, 'mace'),
        'OpenEquivariance': mace_oeq,
        'cuEquivariance': mace_cueq,
        'cgtpgen, the rest cuEquivariance': lambda model: generated('mace', mace_cueq(model), 'mace_ir'),
    },
    'nequip': {
        'e3nn': lambda model: model,
        'cgtpgen': lambda model: generated('nequip', model, 'nequip'),
        'OpenEquivariance': lambda model: nequip_peer(model, '_tp_scatter_oeq', 'OpenEquivarianceTensorProductScatter',
                                                      use_opaque=False),
        'cuEquivariance': lambda model: nequip_peer(model, '_tp_scatter_cueq', 'CuEquivarianceTensorProductScatter'),
    },
}


# ---- measuring ----

def wait():
    if DEVICE == 'cuda':
        torch.cuda.synchronize()


def force_step(found, model, inputs):
    model.requires_grad_(False)
    return [value.detach() for value in found.call(model, inputs)]


def training_step(found, model, inputs):
    model.requires_grad_(True)
    model.zero_grad(set_to_none=True)
    energy, forces, stress = found.call(model, inputs, True)
    (energy / len(found.atoms) + forces.square().mean()).backward()
    return [energy.detach(), forces.detach(), stress.detach()]


def measure(step, *arguments):
    """(seconds, peak bytes, results), or None where memory does not suffice."""
    gc.collect()
    if DEVICE == 'cuda':
        torch.cuda.empty_cache()
    try:
        results = step(*arguments)
        results = step(*arguments)
        wait()
        if DEVICE == 'cuda':
            torch.cuda.reset_peak_memory_stats()
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            results = step(*arguments)
            wait()
            times.append(time.perf_counter() - start)
            if sum(times) > 3:
                break
        return sorted(times)[len(times) // 2], torch.cuda.max_memory_allocated() if DEVICE == 'cuda' else 0, results
    except torch.OutOfMemoryError:
        return None


def kernels(step, *arguments):
    """Names of the kernels of a step, and how long each took, in us."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        step(*arguments)
        wait()
    rows = [(event.key, event.self_device_time_total) for event in found.key_averages() if event.self_device_time_total]
    return sorted(rows, key=lambda row: -row[1])


def run(name, into):
    found = case(name)
    inputs = {key: value.to(DEVICE) if isinstance(value, torch.Tensor) else value
              for key, value in found.inputs(torch.float32).items()}
    print(f'# {name}: {len(found.atoms)} atoms, {len(found.receiver)} edges, {found.channels} channels', flush=True)
    wanted, rows = None, []
    for contender, make in CONTENDERS[name].items():
        try:
            model = make(found.like(torch.float32, DEVICE)).to(torch.float32)
        except Exception as error:
            print(f'# {contender}: {type(error).__name__}: {error}', flush=True)
            continue
        for step in force_step, training_step:
            start = time.perf_counter()
            try:
                made = measure(step, found, model, inputs)
            except Exception as error:
                print(f'# {contender}, {step.__name__}: {type(error).__name__}: {error}', flush=True)
                continue
            if made is None:
                rows.append((name, contender, step.__name__, 'out of memory', '', ''))
                print(*rows[-1], sep='\t', flush=True)
                continue
            seconds, memory, results = made
            wanted = wanted or results
            error = max(((a.reshape(-1)[:b.numel()] - b.reshape(-1)).abs().max() / b.abs().max()).item()
                        for a, b in zip(results, wanted))
            rows.append((name, contender, step.__name__, f'{seconds * 1e3:.2f}', f'{memory / 2**30:.2f}', f'{error:.1e}'))
            print(*rows[-1], sep='\t', flush=True)
            if DEVICE == 'cuda' and os.environ.get('KERNELS'):
                for key, took in kernels(step, found, model, inputs)[:14]:
                    print(f'#    {took:10.0f} us {key[:150]}')
            print(f'# {time.perf_counter() - start:.0f} s', flush=True)
        del model
        gc.collect()
    if into:
        with open(into, 'a') as file:
            file.writelines('\t'.join(row) + '\n' for row in rows)


if __name__ == '__main__':
    build(sys.argv[2]) if sys.argv[1] == 'build' else run(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
