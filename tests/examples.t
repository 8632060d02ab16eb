#!/usr/bin/env python3
"""docs/examples/ does what it says, built outside of this tree."""
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
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(('MAKE', 'MFLAGS'))}
VARIABLES = [f"CGTPGEN={os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))}",
             f"RUNTIME={os.path.abspath('runtime')}", f"CC={os.environ.get('CC', 'cc')}", f'NVCC={NVCC}',
             'CFLAGS=-O1 -Wall -Wextra -Werror']


def make(folder, *arguments):
    return subprocess.run(['make', *VARIABLES, *arguments], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def program(folder):
    return subprocess.run([f'{folder}/fallback'], stdout=subprocess.PIPE, text=True).stdout


def test_fallback(folder):
    """A product in C and in CUDA in one program. Without a GPU both builds run the same."""
    made = make(folder)
    ok(made.returncode == 0, 'fallback: builds without CUDA', made.stdout)
    alone = program(folder)
    found = re.fullmatch(r'layer_cpu \(c\): sum of z\^2 = (\S+)\n', alone)
    ok(found and float(found.group(1)) > 1, 'fallback: runs on the CPU', alone)
    if not shutil.which(NVCC):
        return skip('fallback: with CUDA', 'no nvcc')
    os.remove(f'{folder}/fallback')
    made = make(folder, 'GPU=1')
    ok(made.returncode == 0, 'fallback: builds with CUDA', made.stdout)
    both = program(folder)
    sums = [text.split('= ')[-1] for text in (alone, both)]
    if os.path.exists('/dev/nvidia0'):
        ok(both.startswith('layer_gpu (cuda): ') and sums[0] == sums[1], 'fallback: runs on the GPU', alone, both)
    else:
        equal(both, alone, 'fallback: without a GPU the same program runs on the CPU')
    symbols = subprocess.run(['nm', f'{folder}/fallback'], stdout=subprocess.PIPE, text=True).stdout
    ok({'layer_cpu_forward', 'layer_gpu_forward'} <= set(re.findall(r' T (\w+)', symbols)),
       'fallback: and has both products', symbols)


TESTS = {'fallback': test_fallback}
equal(sorted(os.listdir('docs/examples')), sorted(TESTS), 'every example is tested')
with tempfile.TemporaryDirectory() as ROOT:
    for name, test in TESTS.items():
        shutil.copytree(f'docs/examples/{name}', f'{ROOT}/{name}')
        test(f'{ROOT}/{name}')
done()
