#!/usr/bin/env python3
"""Generated code as part of something else: of a shared library with few symbols, of a program in C++."""
import ctypes
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

NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
CC = os.environ.get('CC', 'cc')
BATCH = '''cgtp: 1
name: batch
irreps: {x: 2x0e + 1x1o, y: 0e + 1o, z: 2x0e + 1o}
instructions: fully_connected
kernels: [forward, backward]
'''
GRAPH = '''cgtp: 1
name: graph
irreps: {x: 4x0e + 4x1o, y: 0e + 1o, z: 0e + 1o}
instructions: channelwise
index: {x: sender, z: receiver}
index_type: int64
precision: float64
kernels: [forward, {name: class, of: backward}, {name: dim_x, of: backward}, {name: WIDE, of: backward}]
'''
STRIDED = '''cgtp: 1
name: strided
irreps: {x: 4x0e + 4x1o, y: 0e + 1o, z: 4x0e + 4x1o}
instructions: channelwise
rows: strided
precision: {x: bfloat16, y: float16}
index: {x: sender, z: receiver}
'''
BATCH_BAD_SIZE = 3  # CGTP_BAD_SIZE
# Every function of the wrapper once, and what it says of sizes. z[0] = 1/sqrt(3): three terms share its variance.
PROGRAM_CPP = '''#include "batch.hpp"
#include "graph.hpp"

#include <cstdio>

static_assert(cgtp::batch::dim_x == batch_DIM_X && cgtp::batch::dim_y == batch_DIM_Y &&
              cgtp::batch::dim_w == batch_DIM_W && cgtp::batch::dim_z == batch_DIM_Z, "sizes of rows");

int main()
{
    alignas(64) float x[batch_DIM_X] = {1}, y[batch_DIM_Y] = {1}, w[batch_DIM_W] = {1}, z[batch_DIM_Z];
    alignas(64) static char workspace[1 << 16];
    const cgtp_graph64 none = {};
    std::printf("%d %d", cgtp::batch::forward(1, x, y, w, z, workspace, sizeof workspace),
                cgtp::batch::forward_workspace(1) <= sizeof workspace);
    std::printf(" %.3f %s", z[0], cgtp::batch::product().name);
    alignas(64) float same[batch_DIM_Z];
    const cgtp::batch::forward_arrays arrays = {x, y, w, same};
    std::printf(" %d", cgtp::batch::forward(1, arrays, workspace, sizeof workspace));
    std::printf(" %.3f", same[0]);
    std::printf(" %d", cgtp::graph::class_(none, cgtp::graph::class_arrays{}, nullptr, 0));
    std::printf(" %d", cgtp::graph::forward({-1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0));
    std::printf(" %d", cgtp::graph::class_({-1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    std::printf(" %d", cgtp::graph::dim_x_({-1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    std::printf(" %d", cgtp::graph::WIDE_({-1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    std::printf(" %d\\n", cgtp::graph::class_workspace(none) == graph_class_workspace(&none));
}
'''
# Arrays by name, in another order than arguments have; one that is left out is NULL.
PROGRAM_C = '''#include "batch.h"

#include <stdalign.h>
#include <stdio.h>

int main(void)
{
    alignas(64) float x[batch_DIM_X] = {1}, y[batch_DIM_Y] = {2}, w[batch_DIM_W] = {3}, z[batch_DIM_Z], gz[batch_DIM_Z] = {1};
    alignas(64) float gx[batch_DIM_X], gy[batch_DIM_Y], gw[batch_DIM_W];
    alignas(64) static char workspace[1 << 16];
    const batch_forward_arrays forward = {.z_ = z, .w_ = w, .y_ = y, .x_ = x};
    printf("%d", batch_forward_with(1, &forward, workspace, sizeof workspace, NULL));
    const batch_backward_arrays backward = {.gw_ = gw, .gy_ = gy, .gx_ = gx, .gz_ = gz, .w_ = w, .y_ = y, .x_ = x};
    printf(" %d", batch_backward_with(1, &backward, workspace, sizeof workspace, NULL));
    printf(" %.3f %.3f %.3f %.3f", z[0], gx[0], gy[0], gw[0]);
    printf(" %d", batch_forward_with(1, &(batch_forward_arrays){.z_ = z}, workspace, sizeof workspace, NULL));
    printf(" %d\\n", batch_forward_with(1, NULL, workspace, sizeof workspace, NULL));
    return 0;
}
'''


RUNTIME = ['runtime/cgtp.c', 'runtime/cgtp_check.c', 'runtime/cgtp_ranks.c']


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def sources(folder, name=''):
    return sorted(path for path in glob.glob(f'{folder}/{name}*.c') if '_selftest' not in path)


def test_shared(folder):
    """-fvisibility=hidden hides all but what callers need; CGTP_API decides."""
    library = f'{folder}/library.so'
    build = [CC, '-O1', '-fPIC', '-shared', '-fvisibility=hidden', '-Iruntime', '-o', library, *RUNTIME,
             *sources(folder, 'batch')]
    result = run(*build)
    ok(result.returncode == 0, 'a shared library', result.stdout)
    exported = set(re.findall(r' [TRDB] (\w+)', run('nm', '-D', '--defined-only', library).stdout))
    headers = ''.join(open(f'runtime/{name}').read() for name in ('cgtp.h', 'cgtp_check.h', 'cgtp_fault.h', 'cgtp_ranks.h'))
    declared = set(re.findall(r'^CGTP_API [^(]*\b(cgtp_\w+)\(', headers, flags=re.M))
    equal(exported, {'batch_forward', 'batch_forward_workspace', 'batch_forward_workspace_least', 'batch_backward_workspace_least', 'batch_backward', 'batch_backward_workspace',
                     'batch_product'} | declared,
          'it exports the functions and the descriptor, and those of the runtime\'s headers')
    loaded = ctypes.CDLL(library)
    loaded.batch_forward.argtypes = [ctypes.c_int64] + [ctypes.c_void_p] * 5 + [ctypes.c_size_t, ctypes.c_void_p]
    equal(loaded.batch_forward(-1, None, None, None, None, None, 0, None), BATCH_BAD_SIZE, 'loaded and called')
    run(*build, '-DCGTP_API=')
    exported = re.findall(r' [TRDB] (\w+)', run('nm', '-D', '--defined-only', library).stdout)
    equal(exported, [], '-DCGTP_API=: nothing')


def test_cpp(folder):
    """The generated C, but for self-tests, and the runtime's are C++ as well."""
    for name, text in ('strided', STRIDED), ('rows', re.sub('^(precision|index): .*\n', '', STRIDED.replace('strided\nirreps', 'rows\nirreps'), flags=re.M)):
        os.mkdir(f'{folder}/{name}')
        with open(f'{folder}/{name}/{name}.yaml', 'w') as file:
            file.write(text)
        made = run(GENERATOR, '--backend=c', '-o', f'{folder}/{name}', f'{folder}/{name}/{name}.yaml')
        ok(made.returncode == 0, f'rows: strided: {name}', made.stdout)
    for compiler, *options in ('g++', '-std=c++17'), ('g++', '-std=c++20'), ('clang++', '-std=c++17'), ('clang++', '-std=c++20'):
        name = ' '.join([compiler, *options])
        if not shutil.which(compiler):
            skip(name, f'no {compiler}')
            continue
        result = run(compiler, *options, '-Wall', '-Werror', '-fsyntax-only', '-Iruntime', '-x', 'c++', *RUNTIME,
                     *sources('generated'), *sources(folder), *sources(f'{folder}/strided'), *sources(f'{folder}/rows'))
        ok(result.returncode == 0, f'{name}: C products are C++', result.stdout[:4000])
    for compiler in 'g++', 'clang++':
        if not shutil.which(compiler):
            skip(f'{compiler}: the interface in a namespace', f'no {compiler}')
            continue
        with open(f'{folder}/program.cc', 'w') as file:
            file.write(PROGRAM_CPP)
        result = run(compiler, '-std=c++11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Iruntime', f'-I{folder}',
                     '-c', '-o', f'{folder}/program.o', f'{folder}/program.cc')
        ok(result.returncode == 0, f'{compiler}: the interface in a namespace', result.stdout[:4000])
        result = run(compiler, '-o', f'{folder}/program', f'{folder}/program.o', '-Iruntime', '-x', 'c++',
                     'runtime/cgtp.c', *sources(folder))
        ok(result.returncode == 0, f'{compiler}: linked with products compiled as C++', result.stdout[:4000])
        equal(run(f'{folder}/program').stdout, '0 1 0.577 batch 0 0.577 0 3 3 3 3 1\n', f'{compiler}: called')


def test_by_name(folder):
    program = f'{folder}/by_name'
    with open(f'{program}.c', 'w') as file:
        file.write(PROGRAM_C)
    for compiler in 'gcc', 'clang':
        if not shutil.which(compiler):
            skip(f'{compiler}: arrays by name', f'no {compiler}')
            continue
        result = run(compiler, '-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Iruntime', f'-I{folder}', '-o',
                     program, f'{program}.c', *sources(folder, 'batch'), 'runtime/cgtp.c')
        ok(result.returncode == 0, f'{compiler}: arrays by name', result.stdout[:4000])
        equal(run(program).stdout, '0 0 3.464 3.464 1.732 1.155 1 1\n', f'{compiler}: the same derivatives')


def test_unity(folder):
    """All products, of both precisions, and the runtime in one translation unit, as C and as C++."""
    out, names = f'{folder}/unity', ['batch', 'graph', 'nequip_water', 'tetris_poly_2']
    made = run(GENERATOR, '--backend=c', '--emit=header,source,unity,selftest', '-o', out,
               *(f'{folder if name in ("batch", "graph") else "specs"}/{name}.yaml' for name in names))
    ok(made.returncode == 0, '--emit=unity', made.stdout)
    unit = f'{out}/all.c'
    with open(unit, 'w') as file:
        file.write(''.join(f'#include "{name}.unity.c"\n' for name in names) + ''.join(f'#include "{os.path.basename(path)}"\n' for path in RUNTIME) + 'int layout, real, launch;\n')
    for compiler, *options in ('gcc', '-std=c11', '-Wextra'), ('gcc', '-fopenmp'), ('gcc', '-march=native'), ('clang', '-Wextra'), \
            ('g++', '-x', 'c++'), ('clang++', '-x', 'c++'):
        if not shutil.which(compiler):
            skip(f'one translation unit: {compiler}', 'it is not there')
            continue
        result = run(compiler, *options, '-Wall', '-Werror', '-Iruntime', '-fsyntax-only', unit)
        ok(result.returncode == 0, f'one translation unit: {compiler} {" ".join(options)}', result.stdout[:4000])
    run(CC, '-Iruntime', '-c', '-o', f'{out}/all.o', unit)
    for name in 'batch', 'graph':
        program = f'{out}/{name}'
        result = run(CC, '-Iruntime', '-o', program, f'{out}/{name}_selftest.c', f'{out}/all.o',
                     'runtime/cgtp_selftest.c', '-lm')
        ok(result.returncode == 0, f'{name}: linked', result.stdout)
        result = run(program)
        ok(result.returncode == 0 and 'ok 1' in result.stdout, f'{name}: its self-test passes', result.stdout[-2000:])


def test_old_gpu():
    """A GPU that is too old is an error that says so, not one of ptxas."""
    if not shutil.which(NVCC):
        return skip('sm_75', 'no nvcc')
    result = run(NVCC, '-arch=sm_75', '-std=c++17', '-Iruntime', '-ptx', '-o', '/dev/null',
                 'generated/cuda/nequip_water_forward.cu')
    ok(result.returncode and re.search('#error.*need compute capability 8.0 or later', result.stdout) and
       'ptxas' not in result.stdout, 'sm_75 is refused', result.stdout)
    return None


with tempfile.TemporaryDirectory() as FOLDER:
    for spec, text in ('batch', BATCH), ('graph', GRAPH):
        with open(f'{FOLDER}/{spec}.yaml', 'w') as file:
            file.write(text)
    made = run(GENERATOR, '--backend=c', '--emit=header,source,hpp', '-o', FOLDER, f'{FOLDER}/batch.yaml',
               f'{FOLDER}/graph.yaml')
    ok(made.returncode == 0, 'two products', made.stdout)
    test_shared(FOLDER)
    test_cpp(FOLDER)
    test_by_name(FOLDER)
    test_unity(FOLDER)
test_old_gpu()
done()
