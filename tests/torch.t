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
sys.path.insert(0, 'tests')
from tap import done, ok  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen'))
PYTHON = os.environ.get('TORCH_PYTHON') or sys.executable
WORK = os.path.abspath(f'{BUILD}/torch')
GOLDEN = ['g_mixed_modes', 'g_triple_mixed', 'g_mode_ultvw_1', 'g_mode_uuw_1', 'g_mode_uvv_1', 'g_mode_uvultv_1',
          'g_mode_uvu_noweight', 'g_variances', 'g_nequip_lmax1_graph', 'g_diffdock_l1_graph']
# Products of tests/torch/specs with other kernels: a name, whose, kernels.
FEWER = [('modes_two', 'modes', '[forward, backward]'), ('modes_one', 'modes', '[forward]'),
         ('modes_none', 'modes', '[backward]')]


def run(*command, folder=None, **environment):
    return subprocess.run(command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def generate():
    """The folder that is built: products that are used below, for CPUs."""
    os.makedirs(f'{WORK}/specs', exist_ok=True)
    specs = [f'tests/torch/specs/{name}' for name in sorted(os.listdir('tests/torch/specs'))]
    specs.append('docs/examples/ddp/layer.yaml')
    specs += [f'tests/golden/{name}.yaml' for name in GOLDEN]
    for name, of, kernels in FEWER:
        text = read(f'tests/torch/specs/{of}.yaml')
        path = f'{WORK}/specs/{name}.yaml'
        write(path, re.sub('kernels: .*', f'kernels: {kernels}', text.replace(f'name: {of}', f'name: {name}')))
        specs.append(path)
    made = run(GENERATOR, '--backend=c', '-Wno-all', '--emit=header,hpp,source,torch', '--prune', '-o', f'{WORK}/products',
               *specs)
    return ok(made.returncode == 0 and not made.stdout, f'{len(specs)} products are generated', made.stdout)


def install():
    """pip builds a wheel and installs it into WORK/site."""
    environment = {'CGTP_RUNTIME': os.path.abspath('runtime'), 'CFLAGS': '-O1', 'MAX_JOBS': '2'}
    wheel = run(PYTHON, '-m', 'pip', 'wheel', '--no-build-isolation', '--no-deps', '-w', f'{WORK}/wheel', f'{WORK}/products',
                **environment)
    files = sorted(os.listdir(f'{WORK}/wheel')) if os.path.exists(f'{WORK}/wheel') else []
    if not ok(wheel.returncode == 0 and len(files) == 1 and re.fullmatch(r'products-[\d.]+-py3-none-linux_\w+\.whl', files[0]),
              'pip makes one wheel, for all versions of Python', *files, wheel.stdout[-4000:]):
        return False
    made = run(PYTHON, '-m', 'pip', 'install', '--no-deps', '--upgrade', '--target', f'{WORK}/site',
               f'{WORK}/wheel/{files[0]}')
    return ok(made.returncode == 0, 'and installs it', made.stdout[-4000:])


def check(*parts):
    """Runs parts of check.py, whose lines become this test's."""
    result = run(PYTHON, 'tests/torch/check.py', f'{WORK}/site/products', *parts, OMP_NUM_THREADS='1')
    lines = re.findall(r'^(not ok|ok) \d+ - (.*)((?:\n#.*)*)', result.stdout, re.M)
    for status, name, details in lines:
        ok(status == 'ok', name, *re.findall(r'# ?(.*)', details))
    ok(result.returncode == (1 if any(status != 'ok' for status, _, _ in lines) else 0) and f'1..{len(lines)}' in result.stdout,
       f"{' '.join(parts)}: checked to the end", result.stdout[-3000:])


def program():
    """Without Python: the model that check.py made, and the product by its interface for C++, of the wheel's library."""
    site, path = f'{WORK}/site/products', f'{WORK}/aoti'
    torch = run(PYTHON, '-c', 'import torch; print(torch.__path__[0])').stdout.splitlines()[-1]
    made = run('c++', '-std=c++20', '-O0', f'-I{site}', '-isystem', f'{torch}/include', '-isystem',
               f'{torch}/include/torch/csrc/api/include', '-o', path, 'tests/torch/aoti.cpp', f'{site}/libedges_cpu.so',
               f'-L{torch}/lib', '-ltorch', '-ltorch_cpu', '-lc10', f'-Wl,-rpath,{torch}/lib', f'-Wl,-rpath,{site}')
    if ok(made.returncode == 0, 'a program in C++ is built with the wheel\'s header and library', made.stdout[-3000:]):
        result = run(path, site, '6', '17', OMP_NUM_THREADS='1')
        ok(result.returncode == 0 and result.stdout == 'AOTInductor: same\nC++ interface and operator: same\n',
           'it runs the model of AOTInductor, the product and the operator: the same numbers as Python', result.stdout)


def example():
    """docs/examples/ddp: one process and two have the same losses, which fall."""
    os.makedirs(f'{WORK}/ddp', exist_ok=True)
    if not os.path.exists(f'{WORK}/ddp/layers'):
        os.symlink(f'{WORK}/site/products', f'{WORK}/ddp/layers')
    losses = []
    for n in (1, 2):
        result = run(PYTHON, '-m', 'torch.distributed.run', '--standalone', f'--nproc-per-node={n}',
                     'docs/examples/ddp/train.py', '--steps=4', PYTHONPATH=f'{WORK}/ddp', OMP_NUM_THREADS='1', DEVICE='cpu')
        losses.append([float(loss) for loss in re.findall(r'^step \d: loss (\S+)$', result.stdout, re.M)])
        ok(result.returncode == 0 and len(losses[-1]) == 4 and losses[-1] == sorted(set(losses[-1]), reverse=True),
           f'ddp: {n} of 2 processes: losses fall', result.stdout[-3000:])
    ok(all(abs(a - b) < 1e-4 * a for a, b in zip(*losses)), 'ddp: two processes learn what one does', *losses)


def main():
    version = subprocess.run([PYTHON, '-c', 'import torch; print(torch.__version__)'], capture_output=True, text=True)
    has = re.match(r'(\d+)\.(\d+)', version.stdout)
    if not has or tuple(map(int, has.groups())) < (2, 10):
        if os.environ.get('TEST_TORCH'):
            print(f'Bail out! {PYTHON} has no PyTorch of 2.10 or later: make test-torch TORCH_PYTHON=..')
            sys.exit(1)
        print('1..0 # SKIP no PyTorch of 2.10 or later (make test-torch, tests/torch.t)')
        return
    if generate() and install():
        check('golden', 'c', 'gradients', 'closure')
        check('transforms', 'opcheck', 'graphs', 'modules', 'e3nn', 'errors')
        check('compiled', 'exported')
        program()
        example()
    done()


main()
