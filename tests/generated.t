#!/usr/bin/env python3
"""generated/ is what the generator writes today, no more and no less, and compiles without a warning; kernels are
no longer than somebody can read.

GPU kernels are compiled by cuda.t.
"""
import glob
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
COLUMNS = 110
LINES = {'mace_large_forward.cu': 600, 'mace_large_backward.cu': 800, 'mace_large_double_backward.cu': 1050}
LONGEST, BYTES = 'flashtp_table5_lmax5', 3000000  # of 222 paths with 111 couplings, all kernels
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


sources, headers = [], []
for backend, folder in (('c', 'generated'), ('cuda', 'generated/cuda')):
    there = sorted(f'{folder}/{name}' for name in os.listdir(folder) if name not in ('cuda', 'torch', 'jax'))
    specs = [f'specs/{os.path.basename(name)[:-2]}.yaml' for name in there if name.endswith('.h')]
    generate = [GENERATOR, f'--backend={backend}', '-o', folder, *specs]
    check = run(*generate, '--check')
    ok(specs and check.returncode == 0, f'{folder}: cgtpgen --check (make generated brings it up to date)',
       check.stdout)
    equal(there, sorted(run(*generate, '--list').stdout.split()), f'{folder}: no other files are there')
    sources += [name for name in there if name.endswith('.c')]
    headers += [name for name in there if name.endswith('.h')]
for word in 'torch', 'jax':
    generate = [GENERATOR, f'--emit={word}', '-o', f'generated/{word}', 'specs/nequip_water.yaml']
    check = run(*generate, '--check')
    ok(check.returncode == 0, f'generated/{word}: cgtpgen --check', check.stdout)
    equal(sorted(f'generated/{word}/{name}' for name in os.listdir(f'generated/{word}')),
          sorted(run(*generate, '--list').stdout.split()), f'generated/{word}: no other files are there')
for name in headers:
    if name.startswith('generated/cuda/'):
        with open(name) as cuda, open(f'generated/{os.path.basename(name)}') as c:
            texts = [re.sub(r'^ \* Workspace: .*\n(?: \*   .*\n)*|\(text \w+\)', '', text.read(), flags=re.M) for text in (cuda, c)]
            equal(texts[0], texts[1], f'{name} is the same for both backends, but for the workspace')

lengths = {}
for folder in 'generated', 'generated/cuda', 'generated/torch', 'generated/jax':
    for name in sorted(os.listdir(folder)):
        if not os.path.isdir(f'{folder}/{name}'):
            with open(f'{folder}/{name}') as file:
                lengths[f'{folder}/{name}'] = [len(line.rstrip('\n')) for line in file]
wide = [f'{name}: {max(lengths[name])}' for name in lengths if max(lengths[name]) > COLUMNS]
ok(lengths and not wide, f'at most {COLUMNS} columns', *wide)
for name, most in LINES.items():
    lines = len(lengths[f'generated/cuda/{name}'])
    ok(lines <= most, f'{name}: {lines} lines, at most {most}')
with tempfile.TemporaryDirectory() as folder:
    for backend in 'c', 'cuda':
        specs = [*glob.glob('specs/*.yaml'), *glob.glob('tests/simt/specs/*.yaml')]
        made = run(GENERATOR, f'--backend={backend}', '-o', f'{folder}/{backend}', *specs)
        wide, bare, idle = [], [], []
        for name in sorted(glob.glob(f'{folder}/{backend}/*')):
            with open(name) as file:
                text = ' '.join(file.read().replace('\n * ', ' ').split())
                bare += [f'{name}: {comment}' for comment in re.findall(r'/\*.*?\*/', text) if 'dynamic shared memory' in comment
                         and not re.search('No wait lasts for ever|waits for nothing but its own copies', comment)]
                if backend == 'cuda':
                    code = re.sub(r'/\*.*?\*/', '', text)
                    idle += [f'{name}: {code[max(found.start() - 40, 0):found.end() + 9]}' for found in
                             re.finditer(r' [*/%] 1(?![\w.])|\[0 \+ (?!\()', code)]
                file.seek(0)
                wide += [f'{name}: {line.rstrip()}' for line in file if len(line.rstrip()) > COLUMNS]
        ok(made.returncode == 0 and not wide, f'{len(specs)} products, {backend}: at most {COLUMNS} columns', *wide[:10])
        ok(not idle, f'{backend}: no operation without effect: times, by or modulo one, plus zero', *idle[:10])
        ok(not bare, f'{backend}: kernels say why no wait of theirs can block', *bare[:10])
    made = run(GENERATOR, '--backend=cuda', '-o', folder, f'specs/{LONGEST}.yaml')
    length = sum(os.path.getsize(f'{folder}/{name}') for name in os.listdir(folder) if name.endswith('.cu'))
    ok(0 < length <= BYTES, f'{LONGEST}: kernels of {length} bytes, at most {BYTES}', made.stdout)

for compiler in ('gcc', 'clang'):
    name = f'{compiler} -std=c11 {" ".join(WARNINGS)}'
    if shutil.which(compiler):
        result = run(compiler, '-std=c11', *WARNINGS, '-fsyntax-only', '-Iruntime', *sources)
        ok(result.returncode == 0, name, result.stdout)
    else:
        skip(name, f'no {compiler}')
if shutil.which('g++'):
    includes = [word for header in headers for word in ('-include', header)]
    result = run('g++', *WARNINGS, '-fsyntax-only', '-Iruntime', *includes, '-x', 'c++', '/dev/null')
    ok(result.returncode == 0, 'the headers are C++ too', result.stdout)
else:
    skip('the headers are C++ too', 'no g++')
done()
