#!/usr/bin/env python3
"""--emit=jax, with JAX on the CPU: the package that is built of emitted files, as pip builds it, and everything that
tests/jax/check.py asks of it; then the same library from C++.

JAX is not needed to pass the tests: without it this one is skipped. `make test-jax` asks for it (TEST_JAX). JAX_PYTHON is
the Python that has it.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/jax']
from cases import GOLDEN, OTHERS  # noqa: E402
from tap import done, ok  # noqa: E402
from wheel import BUILD, Wheel, run  # noqa: E402

PYTHON = os.environ.get('JAX_PYTHON') or sys.executable


def program(wheel):
    """The wheel's library without Python, by its interface for C++: the same bits."""
    wheel.check('tests/jax/check.py', 'written', JAX_PLATFORMS='cpu')
    site, path = wheel.package, f'{wheel.work}/same'
    made = run('c++', '-std=c++17', '-O0', f'-I{site}', '-o', path, 'tests/jax/same.cpp', f'{site}/libedges_cpu_jax.so',
               f'-Wl,-rpath,{site}')
    if ok(made.returncode == 0, 'a program in C++ is built with the wheel\'s header and library', made.stdout[-3000:]):
        result = run(path, f'{site}/edges.in', OMP_NUM_THREADS='1')
        ok(result.stdout == 'same\n', 'it computes the bits that JAX did', result.stdout)


def main():
    version = subprocess.run([PYTHON, '-c', 'import jax; print(jax.__version__)'], capture_output=True, text=True)
    has = re.match(r'(\d+)\.(\d+)', version.stdout)
    if not has or tuple(map(int, has.groups())) < (0, 10):
        if os.environ.get('TEST_JAX'):
            print(f'not ok 1 - {PYTHON} has no JAX of 0.10 or later: make test-jax JAX_PYTHON=..')
            sys.exit(1)
        print('1..0 # SKIP no JAX of 0.10 or later (make test-jax, tests/jax.t)')
        return
    wheel = Wheel('jax', f'{BUILD}/jax', PYTHON)
    if wheel.generate(GOLDEN, OTHERS) and wheel.install():
        for parts in ('golden', 'c', 'gradients', 'closure'), ('transforms', 'sharding', 'exported'), \
                ('graphs', 'batches', 'errors'), ('writers', 'programs', 'mended', 'clients'), ('single',):
            wheel.check('tests/jax/check.py', *parts, JAX_PLATFORMS='cpu')
        wheel.check('tests/jax/models.py', JAX_PLATFORMS='cpu')
        program(wheel)
    done()


main()
