#!/usr/bin/env python3
"""Paths by tables, as text: how much there is of it, that it is the same each time, which compilers take it, and where
the planner chooses it. tables.t checks what it computes."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
CC = os.environ.get('CC', 'gcc')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
KERNELS = ('forward', 'backward', 'double_backward')
HIGH = 'tests/simt/specs/tables_l11.yaml'


def even(channels, l):
    return ' + '.join(f'{channels}x{i}e' for i in range(l + 1))


def items(l, more='', channels=16):
    return (f'cgtp: 1\nname: t\nirreps: {{x: {even(channels, l)}, y: {even(1, l)}, z: {even(channels, l)}}}\ninstructions: channelwise\n'
            f'{more}')


def layer(l, more=''):
    return items(l, f'index: {{x: sender, y: item, w: item, z: receiver}}\n{more}')


def generated(spec, backend='cuda'):
    """(the plan's kernels by name, the text of each one's file)"""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([GENERATOR, f'--backend={backend}', '-Wno-all', '--print=json', '-o', folder, '-'], input=spec,
                             capture_output=True, text=True)
        if run.returncode:
            ok(False, 'is generated', run.stderr)
            sys.exit(1)
        plan = {kernel['name']: kernel['schedules'] for kernel in json.loads(run.stdout)['kernels']}
        text = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name)) as file:
                text[name] = file.read()
    return plan, text


def code(text):
    """Lines that are no numbers of tables, constants or comments."""
    rest = re.sub(r'\[\] = \{[^{}]*\};|constexpr real [^;]*;|/\*.*?\*/', '', text, flags=re.S)
    return sum(bool(line.strip()) for line in rest.splitlines())


low, high = (generated(layer(l, 'tune: {sm_90: {table: 2}}\n')) for l in (3, 6))
for kernel in KERNELS:
    equal({(s['evaluation'], s['by_table']) for s in high[0][kernel]}, {('staged', True)}, f'l = 6, {kernel}: by tables, if so asked')
    n = len(high[1][f't_{kernel}.cu'])
    ok(n < 1 << 19, f'l = 6, {kernel}: half of 1 MB at most', n)
    lines = [code(text[f't_{kernel}.cu']) for _, text in (low, high)]
    paths = [len(re.findall(r'uvu', text[f't_{kernel}.cu'])) for _, text in (low, high)]
    ok(paths[1] > 140 and lines[1] - lines[0] <= 2 * (paths[1] - paths[0]), f'{kernel}: a path is a row or two of a table', lines, paths)
equal(generated(layer(6, 'tune: {sm_90: {table: 2}}\n')), high, 'the same text each time')

plan, _ = generated(layer(6))
equal({s['evaluation'] for kernel in KERNELS for s in plan[kernel]}, {'convolution'}, 'l = 6: the convolution, if nothing is asked')
for l, by_table in ((3, False), (6, True)):  # double backward's rows of items have no room at l = 6
    plan, _ = generated(items(l, 'tune: {sm_90: {evaluation: staged}}\n', 12))
    equal([(s['evaluation'], s['by_table']) for kernel in KERNELS[:2] for s in plan[kernel]], [('staged', by_table)] * 2,
          f'l = {l}, items: ' + ('by tables, since code waits' if by_table else 'written out'))
plan, _ = generated(items(6, 'tune: {sm_90: {evaluation: staged, table: 1}}\n', 12))
equal({s['by_table'] for kernel in KERNELS for s in plan[kernel]}, {False}, 'table: 1: written out, too')

with tempfile.TemporaryDirectory() as folder:
    warnings = ''
    for backend in ('cuda', 'c'):
        warnings += subprocess.run([GENERATOR, f'--backend={backend}', '-o', f'{folder}/{backend}', HIGH], check=True,
                                   capture_output=True, text=True).stderr
    equal(warnings, '', 'l = 11: nothing is said of its code')
    for backend, suffix in (('cuda', 'cu'), ('c', 'c')):
        for kernel in KERNELS:
            name = f'{folder}/{backend}/tables_l11_{kernel}.{suffix}'
            command = [CC, '-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-Iruntime', '-c', '-o', f'{folder}/o', name]
            if backend == 'cuda':
                command = [NVCC, '-std=c++17', '-O3', '-arch=sm_90', '-Iruntime', '-c', '-o', f'{folder}/o', name]
            if backend == 'cuda' and not os.path.exists(NVCC):
                skip(f'l = 11, {kernel}, {backend}', 'no nvcc')
                continue
            size = os.path.getsize(name)
            ok(size < 6 << 20, f'l = 11, {kernel}, {backend}: 6 MB at most', size)
            run = subprocess.run(command, capture_output=True, text=True)
            ok(run.returncode == 0 and not run.stderr, f'l = 11, {kernel}, {backend}: compiles', run.stderr)
            if backend == 'cuda':  # what is executed, not the numbers
                sections = subprocess.run(['readelf', '-SW', f'{folder}/o'], capture_output=True, text=True).stdout
                ok('.nv_fatbin' in sections, f'l = 11, {kernel}: is code for a GPU', sections)
done()
