#!/usr/bin/env python3
"""Every pair of what a spec and the command line can say, compiled as C11, C++17 and C++20 by gcc and clang, without a
warning of a simulation code's options. With TEST_ALL every three, by all compilers.

The products are small; each is generated in one call and its files are read by the compiler's front end alone. CUDA
kernels are read as C++ with the shim's headers (tests/simt); with TEST_ALL nvcc compiles them, whose host compiler has
the same options.
"""
import concurrent.futures
import glob
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
STRENGTH = 3 if os.environ.get('TEST_ALL') else 2
JOBS = int(os.environ.get('PROVE_JOBS', '2'))
WARNINGS = '-Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -Werror'.split()
# nvcc's pragmas, and what stands in the bodies of kernels, which the host's compiler doesn't see: lambdas whose parameters
# are called as what they stand for, or are of no use in a case; constants of two headers multiplied; a mask's bits; sums
# that are meant to be wider.
OF_KERNELS = '-Wno-unknown-warning-option -Wno-unknown-pragmas -Wno-shadow -Wno-unused-parameter -Wno-unused-variable ' \
    '-Wno-sign-conversion -Wno-double-promotion -Wno-deprecated-enum-enum-conversion -Wno-deprecated-anon-enum-enum-conversion'.split()
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
COMPILERS = [(c, cpp, standard) for c, cpp in (('gcc', 'g++'), ('clang', 'clang++'))
             for standard in ('c11', 'c++17', 'c++20')]

# Factors: name -> words; what a word means in a spec, where it is more than KEY: WORD, stands in MEANS.
FACTORS = {
    'backend': ['c', 'cuda'],
    'emit': ['header,source', 'header,source,hpp', 'header,source,unity', 'header,source,selftest',
             'header,source,torch,jax', 'header,tune'],
    'compiler': COMPILERS,
    'precision': ['float32', 'float64', 'bfloat16', 'float16', '{x: bfloat16, w: float16}',
                  '{y: float32, z: float64, compute: float32}', '{x: float32, sum: float64}'],
    'layout': ['mul_ir', 'ir_mul', '{x: ir_mul}', '{z: ir_mul}'],
    'rows': ['dense', 'strided', '{x: strided}', '{w: strided, z: strided}'],
    'index': ['batch', 'weights', 'convolution', 'allegro', 'mixed'],
    'index_type': ['int32', 'int64'],
    'edges': ['sorted', 'any'],
    'reduction': ['deterministic', 'invariant', 'atomic'],
    'accumulate': ['plain', 'compensated'],
    'instructions': ['channelwise', 'nodes', 'wide', 'fully_connected', 'elementwise', 'full', 'list', 'unweighted'],
    'kernels': ['forward', 'backward', 'double_backward', 'triple_backward', 'jvp', 'spelled'],
}
INDEX = {
    'batch': '{}', 'weights': '{w: shared}', 'convolution': '{x: sender, y: item, w: item, z: receiver}',
    'allegro': '{x: item, y: sender, w: shared, z: item}', 'mixed': '{x: receiver, y: shared, w: sender, z: shared}',
}
GRAPH = ('convolution', 'allegro', 'mixed')
INSTRUCTIONS = {
    'channelwise': ('x: 32x0e + 32x1o, y: 0e + 1o', 'channelwise'),
    'nodes': ('x: 5x0e + 3x1o, y: 2x0e + 1o, z: 0e + 1o', 'channelwise'),
    'wide': ('x: 64x0e, y: 0e + 1o', 'channelwise'),
    'fully_connected': ('x: 8x0e + 4x1o, y: 0e + 1o, z: 8x0e + 4x1o', 'fully_connected'),
    'elementwise': ('x: 4x0e + 2x1o, y: 2x0e + 4x1o', 'elementwise'),
    'full': ('x: 2x0e + 1o, y: 3x1o', 'full'),
    'list': ('x: 4x0e + 4x1o, y: 4x0e + 2x1o, z: 4x0e + 4x1o + 6x0e + 16x0e + 2x1o',
             '[[0, 0, 0, uuu, true, 0.5], [1, 0, 1, uvu, false], [0, 0, 2, "uvu<v"], [0, 0, 3, uvuv], [0, 1, 4, uvv], '
             '[1, 0, 1, uuw], [1, 1, 0, uvw], [0, 0, 0, "u<vw"]]'),
    'unweighted': ('x: 4x0e + 4x1o, y: 4x0e, z: 4x0e + 4x1o', '[[0, 0, 0, uuu, false], [1, 0, 1, uvu, false]]'),
}
SPELLED = ['{name: forces, of: backward, outputs: [gx, gy]}',
           '{name: along, arguments: {by: d y, q: x}, outputs: {d_z: [Q_g(x, by, w), Q_g(q, y, w)]}}']


def allowed(row):
    """Do the words of a row, which may lack some, go together?"""
    said = row.get
    if said('index') not in (None, *GRAPH) and (said('index_type', 'int32') != 'int32' or
                                                said('edges', 'sorted') != 'sorted' or
                                                said('reduction', 'deterministic') != 'deterministic'):
        return False
    if said('accumulate') == 'compensated' and (said('reduction') == 'atomic' or said('index') == 'batch' or
                                                'sum: float64' in said('precision', '')):
        return False
    if said('rows') == '{w: strided, z: strided}' and (
            said('index') in ('weights', 'allegro', 'mixed') or
            said('instructions') in ('elementwise', 'full', 'unweighted')):
        return False
    if said('instructions') in ('elementwise', 'full', 'unweighted') and 'w:' in said('precision', ''):
        return False
    return said('emit') != 'header,source,unity' if said('backend') == 'cuda' else said('emit') != 'header,tune' or not said('backend')


def array(strength):
    """Rows that have all words of any `strength` factors together that are allowed to be."""
    draw, names = random.Random(1), list(FACTORS)
    open_sets = {}  # factors -> the words of these that no row has yet
    for factors in itertools.combinations(names, strength):
        open_sets[factors] = {words for words in itertools.product(*(FACTORS[name] for name in factors))
                              if allowed(dict(zip(factors, words)))}
    rows = []
    while any(open_sets.values()):
        # The first set that is open begins a row; each further factor has the word that closes most.
        factors = max(open_sets, key=lambda key: len(open_sets[key]))
        row = dict(zip(factors, min(open_sets[factors], key=str)))
        for name in draw.sample([name for name in names if name not in row], len(names) - strength):
            def gain(word, name=name):
                with_it = row | {name: word}
                return sum(tuple(with_it[of] for of in key) in left for key, left in open_sets.items()
                           if name in key and all(of in with_it for of in key))
            row[name] = max((word for word in FACTORS[name] if allowed(row | {name: word})), key=gain)
        closed = 0
        for key, left in open_sets.items():
            words = tuple(row[name] for name in key)
            closed += words in left
            left.discard(words)
        if not closed:  # the rest cannot stand in any row: words that exclude one another by a third
            break
        rows.append(row)
    return rows, sum(len(left) for left in open_sets.values())


def spec(name, row):
    """The text of the spec that a row stands for."""
    irreps, instructions = INSTRUCTIONS[row['instructions']]
    weighted = row['instructions'] not in ('elementwise', 'full', 'unweighted')
    lines = ['cgtp: 1', f'name: {name}', f'irreps: {{{irreps}}}', f'instructions: {instructions}',
             f'index: {INDEX[row["index"]]}']
    lines += [f'{key}: {row[key]}' for key in ('precision', 'layout', 'rows', 'accumulate')
              if key != 'accumulate' or row[key] != 'plain']
    if row['index'] in GRAPH:
        lines += [f'{key}: {row[key]}' for key in ('index_type', 'edges', 'reduction')]
    kernels = SPELLED if row['kernels'] == 'spelled' else [row['kernels']]
    return '\n'.join([*lines, f'kernels: [{", ".join(kernels)}]']) + '\n'


def commands(folder, row):
    """What reads the files of a row."""
    c, cpp, standard = row['compiler']
    include = ['-fsyntax-only', '-Iruntime', f'-I{folder}']
    out = []
    plain = standard if standard != 'c11' else 'c++17'
    files = sorted(glob.glob(f'{folder}/*.c'))
    own = [file for file in files if '_selftest' in file or row['emit'] == 'header,tune']  # programs, in C alone
    read = [file for file in files if file not in own]
    if read and standard == 'c11':
        out.append([c, '-std=c11', *WARNINGS, *include, *read])
    elif read:
        out.append([cpp, f'-std={standard}', *WARNINGS, *include, '-x', 'c++', *read])
    if own:
        out.append([c, '-std=c11', *WARNINGS, *include, *own])
    for header in glob.glob(f'{folder}/*.hpp'):
        with open(f'{header}.cpp', 'w') as file:
            file.write(f'#include "{os.path.basename(header)}"\n')
        out.append([cpp, f'-std={plain}', *WARNINGS, *include, f'{header}.cpp'])
    kernels = sorted(glob.glob(f'{folder}/*.cu'))
    if kernels and row['emit'] != 'header,tune':
        out.append([cpp, f'-std={plain}', *WARNINGS, *OF_KERNELS, '-Itests/simt', *include, '-x', 'c++', *kernels])
    python = sorted(glob.glob(f'{folder}/*.py'))
    if python:
        out.append([sys.executable, '-c', 'import ast, sys\nfor f in sys.argv[1:]: ast.parse(open(f).read())', *python])
    return out


def check(root, number, row):
    """What is wrong with a row, as text, or None; how many files were read."""
    folder = f'{root}/{number}'
    os.mkdir(folder)
    path = f'{root}/{number}.yaml'
    with open(path, 'w') as file:
        file.write(spec(f'p{number}', row))
    result = subprocess.run([GENERATOR, f'--backend={row["backend"]}', f'--emit={row["emit"]}', '-Wno-all', '-o', folder,
                             path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        return f'not generated:\n{spec(f"p{number}", row)}{result.stdout}', 0
    read, compilers = 0, COMPILERS if STRENGTH > 2 else [row['compiler']]
    for compiler in compilers:
        if not shutil.which(compiler[0]) or not shutil.which(compiler[1]):
            continue
        for command in commands(folder, row | {'compiler': compiler}):
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if result.returncode or result.stdout:
                return f'{spec(f"p{number}", row)}{" ".join(command)}\n{result.stdout[:3000]}', read
            read += sum(os.path.dirname(word) == folder for word in command)
    return None, read


def compile_kernels(root, number, row):
    """By nvcc: what its host compiler says. What is compiled for the device is not optimised, which takes longest."""
    folder = f'{root}/{number}'
    kernels = sorted(glob.glob(f'{folder}/*.cu'))
    command = [NVCC, '-std=c++20' if row['compiler'][2] == 'c++20' else '-std=c++17', '-arch=sm_90', '-Xcicc=-O0',
               '-Xptxas=-O0', f'-Xcompiler={",".join(WARNINGS)}', '-Iruntime', '-c', f'--output-directory={folder}', *kernels]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f'{spec(f"p{number}", row)}{" ".join(command)}\n{result.stdout[:3000]}' if result.returncode else None


ROWS, LEFT = array(STRENGTH)
equal(LEFT, 0, f'{len(ROWS)} products have all words of any {STRENGTH} factors')
for C, CPP, STANDARD in COMPILERS:
    if STANDARD == 'c11' and not (shutil.which(C) and shutil.which(CPP)):
        skip(f'{C}, {CPP}', 'it is not there')
with tempfile.TemporaryDirectory() as ROOT, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
    results = list(pool.map(lambda pair: check(ROOT, *pair), enumerate(ROWS)))
    kernels = [(number, row) for number, row in enumerate(ROWS) if row['backend'] == 'cuda' and 'tune' not in row['emit']]
    if STRENGTH == 2 or not shutil.which(NVCC):
        skip('kernels by nvcc', 'TEST_ALL is not set' if STRENGTH == 2 else 'no nvcc')
    else:
        kernels = kernels[::len(kernels) // 24]
        faults = [fault for fault in pool.map(lambda pair: compile_kernels(ROOT, *pair), kernels) if fault]
        equal(len(faults), 0, f'nvcc compiles {len(kernels)} of them')
        for FAULT in faults:
            ok(False, 'by nvcc', FAULT)
for NUMBER, (ROW, (FAULT, READ)) in enumerate(zip(ROWS, results)):
    if FAULT:
        ok(False, f'product {NUMBER}', FAULT)
ok(not any(fault for fault, _ in results),
   f'they compile without a warning: {sum(read for _, read in results)} times a file')
done()
