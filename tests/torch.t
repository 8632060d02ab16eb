#!/usr/bin/env python3
"""--emit=torch, with PyTorch on the CPU: the package that is built of emitted files, as pip builds it, and everything
that tests/torch/check.py asks of it; then the same product from Python and from C++.

PyTorch is not needed to pass the tests: without it this one is skipped. `make test-torch` asks for it (TEST_TORCH).
TORCH_PYTHON is the Python that has it.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/torch']
from cases import GOLDEN, OTHERS  # noqa: E402
from tap import done, ok  # noqa: E402
from wheel import BUILD, Wheel, run  # noqa: E402

PYTHON = os.environ.get('TORCH_PYTHON') or sys.executable
WHEEL = Wheel('torch', f'{BUILD}/torch', PYTHON)


def check(*parts):
    WHEEL.check('tests/torch/check.py', *parts)


def program():
    """Without Python: the model that check.py made, and the product by its interface for C++, of the wheel's library."""
    site, path = WHEEL.package, f'{WHEEL.work}/aoti'
    torch = run(PYTHON, '-c', 'import torch; print(torch.__path__[0])').stdout.splitlines()[-1]
    made = run('c++', '-std=c++20', '-O0', f'-I{site}', '-isystem', f'{torch}/include', '-isystem',
               f'{torch}/include/torch/csrc/api/include', '-o', path, 'tests/torch/aoti.cpp', f'{site}/libedges_cpu.so',
               f'-L{torch}/lib', '-ltorch', '-ltorch_cpu', '-lc10', f'-Wl,-rpath,{torch}/lib', f'-Wl,-rpath,{site}')
    if ok(made.returncode == 0, 'a program in C++ is built with the wheel\'s header and library', made.stdout[-3000:]):
        result = run(path, site, '6', '17', OMP_NUM_THREADS='1')
        ok(result.returncode == 0 and result.stdout == 'AOTInductor: same\nC++ interface and operator: same\n',
           'it runs the model of AOTInductor, the product and the operator: the same numbers as Python', result.stdout)


def script():
    """The same of the model that scripted.py made."""
    site, path = WHEEL.package, f'{WHEEL.work}/script'
    torch = run(PYTHON, '-c', 'import torch; print(torch.__path__[0])').stdout.splitlines()[-1]
    made = run('c++', '-std=c++20', '-O0', '-isystem', f'{torch}/include', '-isystem', f'{torch}/include/torch/csrc/api/include',
               '-o', path, 'tests/torch/script.cpp', '-Wl,--no-as-needed', f'{site}/libedges_cpu.so',
               f'{site}/libcgtp_script.so', f'-L{torch}/lib', '-ltorch', '-ltorch_cpu', '-lc10', f'-Wl,-rpath,{torch}/lib',
               f'-Wl,-rpath,{site}')
    if ok(made.returncode == 0, 'a program in C++ is linked with the libraries that TorchScript needs', made.stdout[-3000:]):
        result = run(path, site, '5', '40', OMP_NUM_THREADS='1')
        ok(result.returncode == 0 and result.stdout == 'TorchScript: same, a wrong edge: refused\n',
           'it runs the scripted model, with forces by autograd, and refuses a wrong edge', result.stdout)


def example():
    """docs/examples/ddp: one process and two have the same losses, which fall."""
    ddp = f'{WHEEL.work}/ddp'
    os.makedirs(ddp, exist_ok=True)
    if not os.path.exists(f'{ddp}/layers'):
        os.symlink(WHEEL.package, f'{ddp}/layers')
    losses = []
    for n in (1, 2):
        result = run(PYTHON, '-m', 'torch.distributed.run', '--standalone', f'--nproc-per-node={n}',
                     'docs/examples/ddp/train.py', '--steps=4', PYTHONPATH=ddp, OMP_NUM_THREADS='1', DEVICE='cpu')
        losses.append([float(loss) for loss in re.findall(r'^step \d: loss (\S+)$', result.stdout, re.M)])
        ok(result.returncode == 0 and len(losses[-1]) == 4 and losses[-1] == sorted(set(losses[-1]), reverse=True),
           f'ddp: {n} of 2 processes: losses fall', result.stdout[-3000:])
    ok(all(abs(a - b) < 1e-4 * a for a, b in zip(*losses)), 'ddp: two processes learn what one does', *losses)


def main():
    version = subprocess.run([PYTHON, '-c', 'import torch; print(torch.__version__)'], capture_output=True, text=True)
    has = re.match(r'(\d+)\.(\d+)', version.stdout)
    if not has or tuple(map(int, has.groups())) < (2, 10):
        if os.environ.get('TEST_TORCH'):
            print(f'not ok 1 - {PYTHON} has no PyTorch of 2.10 or later: make test-torch TORCH_PYTHON=..')
            sys.exit(1)
        print('1..0 # SKIP no PyTorch of 2.10 or later (make test-torch, tests/torch.t)')
        return
    if WHEEL.generate(GOLDEN, OTHERS, 'docs/examples/ddp/layer.yaml') and WHEEL.install():
        check('golden', 'c', 'gradients', 'closure')
        check('transforms', 'opcheck', 'graphs', 'modules', 'slices', 'e3nn', 'errors', 'memory', 'threads')
        check('compiled', 'exported')
        for parts in ('writers', 'forged', 'states', 'types'), ('fx', 'programs'):
            WHEEL.check('tests/torch/lists.py', *parts)
        WHEEL.check('tests/torch/scripted.py')
        program()
        script()
        example()
    done()


main()
