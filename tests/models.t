#!/usr/bin/env python3
"""Models of MACE, NequIP, SevenNet and Allegro, small ones on the CPU, with the kernels that cgtpgen.models puts
into them (tests/models/check.py).

None of the packages is needed to pass the tests: what is not there is skipped. `make models` asks for all of them
(TEST_MODELS). MODELS_PYTHON is a Python that has them; MODELS_MACE a folder with mace-torch and the e3nn that it needs,
which is older than the others'.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
PYTHON = os.environ.get('MODELS_PYTHON') or sys.executable
MACE = os.environ.get('MODELS_MACE')
DEVICE = ['--device=cuda'] if os.environ.get('MODELS_DEVICE') == 'cuda' else []
NEEDS = {'mace': 'mace.modules', 'nequip': 'nequip.model', 'sevennet': 'sevenn.model_build', 'allegro': 'allegro.model',
         'any': 'e3nn.o3'}
ASKED = bool(os.environ.get('TEST_MODELS'))  # then all of it; without, what takes least
STEPS = ['--steps=1000'] if ASKED else ['--steps=40', '7net-0']
CHECKS = [('any', 'interface'), ('any', 'pairs'), ('mace', 'check', 'mace'), ('nequip', 'check', 'nequip'),
          ('sevennet', 'check', 'sevennet'), ('allegro', 'check', 'allegro'), ('mace', 'kinds'), ('mace', 'calculators'), ('mace', 'mliap', 'mace'),
          ('sevennet', 'mliap', 'sevennet'), ('nequip', 'commands', 'nequip'),
          *((name, 'graphs', name) for name in ('mace', 'nequip', 'sevennet', 'allegro')),
          ('mace', 'scripts', 'mace'), ('sevennet', 'scripts', 'sevennet'), ('sevennet', 'trained'),
          *([('mace', 'wheel')] if ASKED else [])]
ON_A_GPU = {'check', 'graphs', 'trained'}


def run(name, *command, **more):
    path = [MACE] * (name == 'mace' and MACE is not None) + [os.environ.get('PYTHONPATH', '')]
    environment = {'PYTHONPATH': ':'.join(filter(None, path)), 'CFLAGS': '-O1', 'OMP_NUM_THREADS': '2',
                   'CGTPGEN': os.path.abspath(os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen'))}
    return subprocess.run([PYTHON, *command], env=os.environ | environment | more, capture_output=True, text=True)


def check(name, script, *words):
    """Its lines become this test's."""
    folder = os.path.abspath(f'{BUILD}/models/{name}')
    os.makedirs(folder, exist_ok=True)
    device = DEVICE if script in ON_A_GPU else []
    result = run(name, f'tests/models/{script}.py', *device, *words, folder, *(STEPS if script == 'trained' else []))
    lines = re.findall(r'^(not ok|ok) \d+ - (.*)((?:\n#.*)*)', result.stdout, re.M)
    for status, what, details in lines:
        ok(status == 'ok', f'{name}, {script}: {what}', *(re.findall(r'# (.*)', details) if status != 'ok' else []))
    ok(f'1..{len(lines)}' in result.stdout, f'{name}, {script}: checked to the end', result.stdout[-2000:], result.stderr[-3000:])
    for line in re.findall(r'^# (?:f64|f32|NVE|7net).*', result.stdout, re.M):
        print(line, flush=True)


def check_bench():
    """The benchmark's systems, a few atoms of each: all are measured, and generated kernels compute what e3nn does."""
    systems = ['mace-carbon', 'mace-carbon-f64', 'nequip-water', 'allegro', '+', 'sevennet-l2i5', 'sevennet-l4i5', 'sevennet-copper']
    folder = os.path.abspath(f'{BUILD}/models/bench_cpu')
    os.makedirs(folder, exist_ok=True)
    ours = ['mace-carbon-f64', 'nequip-water', 'allegro']  # the rest takes minutes to compile
    result = run('any', '-W', 'ignore', 'tests/models/bench.py', 'run', *systems, f'{folder}/bench.tsv', DEVICE='cpu', MODELS=folder,
                 MODELS_MACE=MACE or '', CONTENDERS=f'e3nn|({"|".join(ours)})/cgtpgen')
    ok(result.returncode == 0, 'bench: every contender measures', result.stdout[-2000:], result.stderr[-2000:])
    with open(f'{folder}/bench.tsv') as file:
        columns, *rows = (line.rstrip('\n').split('\t') for line in file)
    found = {(row[0].split(',')[0], row[1]): dict(zip(columns, row)) for row in rows}
    wanted = {(name, who) for name in systems if name != '+' for who in ['e3nn', *['cgtpgen'] * (name in ours)]}
    ok(set(found) == wanted, 'bench: of every system', set(found) ^ wanted)
    for (name, who), row in found.items():
        ok(float(row['ms']) > 0 and float(row['difference']) < (1e-13 if name.endswith('f64') else 1e-5), f'bench: {name}, {who}', row)
    ok(len({row[0] for row in rows if row[0].startswith('sevennet-copper, ')}) == 2, 'bench: copper in two sizes')


def main():
    if not DEVICE:
        check('any', 'left_out')
    for name, *what in CHECKS:
        module = NEEDS[name]
        if DEVICE and what[0] not in ON_A_GPU:
            continue
        there = run(name, '-c', f'import torch, ase, matscipy, e3nn, {module}\n'
                                'assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10)')
        if there.returncode == 0:
            check(name, *what)
        elif ASKED:
            ok(False, f'{name}: {PYTHON} has its package (make models-venv)', there.stderr[-1000:])
        else:
            skip(f'{name}, {what[0]}', f'no {module} (make models, tests/models.t)')
    if ASKED and not DEVICE:
        check_bench()
    done()


main()
