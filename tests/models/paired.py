#!/usr/bin/env python3
"""A force step on one thread of the CPU: by e3nn, with convolutions by kernels (MACE: and contractions), and with everything
that cgtpgen.models replaces. CPU time, of steps by turns, so that a machine that others use too is fair to all.

    taskset -c 0 tests/models/paired.py FOLDER mace|nequip|sevennet [ROUNDS]

BASE: a checkout of 9106bd5, built, whose functions replace what they did in MACE and NequIP, by its own kernels, compiled for this
processor as today's are; these steps are then what `before` is.
"""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate  # noqa: E402

OLD = """
import os, sys, time
folder, name, repeats, channels, cutoff = sys.argv[1], sys.argv[2], *eval(sys.argv[3])
sys.path.insert(0, os.environ['BASE'] + '/tests/models')
os.environ['CGTPGEN'] = os.environ['BASE'] + '/build/cgtpgen'
out = os.dup(1)
os.dup2(2, 1)
import packages, swapping, torch
torch.set_num_threads(1)
made = packages.CASES[name]
made.layers = 4
case = made(packages.crystal(repeats), channels, cutoff)
functions, model = swapping.functions(name, folder), case.like(torch.float32)
texts = {f'{name}{number}': text for number, text in enumerate(functions.specs(model, name))}
swapping.build(f'{name}_layers', texts, folder)
functions.swap(model, swapping.layers(f'{name}_layers', list(texts), folder))
model.requires_grad_(False)
inputs = case.inputs(torch.float32)
for line in sys.stdin:
    start = time.process_time()
    case.call(model, inputs, stress=name != 'mace')
    os.write(out, f'{time.process_time() - start}\\n'.encode())
"""  # a process that takes the step of another commit whenever it is asked
FOLDER, NAME = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 15
SIZES = {'mace': ((2, 2, 1), 128, 4.7), 'nequip': ((2, 2, 1), 64, 4.3), 'sevennet': ((2, 2, 2), 128, 4.7)}
BEFORE = {'mace': lambda path: path and not path.endswith(('skip_tp', 'conv_tp_weights', 'reshape')), 'nequip': lambda path: path.endswith('tp_scatter'),
          'sevennet': lambda path: path.endswith('_convolution')}  # of which models were made before cgtpgen.models

torch.set_num_threads(1)
repeats, channels, cutoff = SIZES[NAME]
made = packages.CASES[NAME]
made.layers = 4
case = made(packages.crystal(repeats), channels, cutoff)
variants = {'e3nn': case.like(torch.float32)}
for name, only in ('before', BEFORE[NAME]), ('now', None):
    variants[name] = accelerate(case.like(torch.float32), f'{FOLDER}/paired_kernels', dtypes=['float32'], only=only, quiet=True)
for model in variants.values():
    model.requires_grad_(False)
inputs = case.inputs(torch.float32)
if os.environ.get('BASE'):
    old = subprocess.Popen([sys.executable, '-W', 'ignore', '-c', OLD, f'{FOLDER}/base', NAME, repr(SIZES[NAME])], text=True, bufsize=1,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {'CFLAGS': '-O3 -march=native'})
    variants['before'] = None
times = {name: [] for name in variants}
for number in range(ROUNDS + 2):
    for name, model in variants.items():
        if name == 'e3nn' and number > 5:
            continue
        start = time.process_time()
        if model:
            case.call(model, inputs, stress=NAME != 'mace')
            times[name].append(time.process_time() - start)
        else:
            print(file=old.stdin)
            times[name].append(float(old.stdout.readline()))
medians = {name: sorted(of[2:])[len(of[2:]) // 2] * 1e3 for name, of in times.items()}
ratio = sorted(a / b for a, b in zip(times['now'][2:], times['before'][2:]))
print(f'{NAME}, {len(case.atoms)} atoms, {len(case.receiver)} edges: ' + ', '.join(f'{n} {ms:.1f} ms' for n, ms in medians.items()) +
      f'; now/before {ratio[len(ratio) // 2]:.3f} (quartiles {ratio[len(ratio) // 4]:.3f}, {ratio[3 * len(ratio) // 4]:.3f})')
if os.environ.get('PROFILE'):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for _ in range(3):
            case.call(variants['now'], inputs, stress=NAME != 'mace')
    for event in sorted(found.key_averages(), key=lambda event: -event.self_cpu_time_total)[:22]:
        print(f'{event.self_cpu_time_total / 3e3:8.2f} ms {event.count // 3:5d} {event.key[:60]}')
