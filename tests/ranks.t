#!/usr/bin/env python3
"""docs/examples/ranks: ranks in one process, and of MPI where it is, compute what one rank does, with its bits; without
one of their steps that is noticed. The same source is compiled for GPUs where nvcc is."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, plain, skip  # noqa: E402

NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
CC, CXX = os.environ.get('CC', 'cc'), os.environ.get('CXX', 'c++')
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(('MAKE', 'MFLAGS', 'CGTPGEN_', 'CXXFLAGS'))}
RUNTIME = plain('runtime')
VARIABLES = [f"CGTPGEN={plain(os.environ.get('CGTPGEN', 'build/cgtpgen'))}", f'RUNTIME={RUNTIME}', f'CC={CC}',
             f'CXX={CXX}', f'NVCC={NVCC}']
RIGHT = '''\
z has the bits of one rank: right
gy and gw have the bits of one rank: right
gx is close to one rank's: right
all have the same bits in three runs: right
'''


def run(*command, folder=None, environment=None):
    return subprocess.run(command, cwd=folder, env=environment or ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def make(folder, *arguments, flags='-O2 -Wall -Wextra -Werror'):
    result = run('make', *VARIABLES, f'CFLAGS={flags}', *arguments, folder=folder)
    return ok(result.returncode == 0, f"ranks: builds {' '.join(arguments)}", result.stdout)


def narrow(folder, before, after):
    """Other numbers of channels: the steps are the same for few, which take less time where there is no GPU."""
    with open(f'{folder}/layer.yaml') as file:
        text = file.read()
    equal(text.count(before), 5, f'layer.yaml has channels: {before}')
    with open(f'{folder}/layer.yaml', 'w') as file:
        file.write(text.replace(before, after))


def check(folder, what, *command, environment=None):
    result = run(*command, '--check', folder=folder, environment=environment)
    ok(result.returncode == 0 and result.stdout.endswith(RIGHT), f'ranks: {what}', result.stdout)
    return result.stdout


def atoms(told):
    """(own, interior, ghosts) of each rank."""
    return [tuple(map(int, found)) for found in
            re.findall(r'^rank \d+: (\d+) atoms, of which (\d+) without ghosts, (\d+) ghosts', told, re.M)]


def test_one_process(folder):
    if not make(folder):
        return
    one = check(folder, 'one', './ranks', '--ranks=1', '--cells=4,4,4')
    equal(atoms(one), [(512, 512, 0)], 'ranks: one has no ghosts')
    ok('differs from one rank\'s by 0 of' in one, 'ranks: and the bits of one', one)
    two = atoms(check(folder, 'two', './ranks'))
    ok(len(two) == 2 and all(own == 512 and 0 < interior < own and ghosts > 0 for own, interior, ghosts in two),
       'ranks: two have interior atoms and others', two)
    five = atoms(check(folder, 'five', './ranks', '--ranks=5', '--cells=4,4,4'))
    ok(len(five) == 5 and sum(own for own, _, _ in five) == 512 and all(not interior for _, interior, _ in five),
       'ranks: five have no interior atoms', five)
    timed = run('./ranks', '--cells=4,4,4', '--time=1', folder=folder)
    ok(timed.returncode == 0 and re.search(r'^2 ranks: \S+ ms; one: \S+ ms, \S+ times as long\n2 ranks: \S+ ms; one, of ', timed.stdout, re.M),
       'ranks: times', timed.stdout)
    for arguments in (['--ranks=0'], ['--cells=3,4,4'], ['--cells=4,4'], ['--chek']):
        result = run('./ranks', *arguments, folder=folder)
        ok(result.returncode == 2 and result.stdout.startswith('usage: ranks '), f'ranks: {arguments[0]} is refused')


def test_mistakes(folder):
    """Each step is needed: two runs may agree on what is wrong, one rank does not. One program makes the mistake whose
    number is in its environment."""
    mistakes = [('    t.start(forth);', 'if (MISTAKE != 0) t.start(forth);'),
                ('    t.start(back);', 'if (MISTAKE != 1) t.start(back);'),
                ('add_rows(r->rows(r->touched, r->touched), r->gx_outer',
                 'if (MISTAKE != 2) add_rows(r->rows(r->touched, r->touched), r->gx_outer'),
                ('add_rows(r->rows(r->add, r->place), r->back', 'if (MISTAKE != 3) add_rows(r->rows(r->add, r->place), r->back'),
                ('r->rows(r->add, r->place)', 'r->rows(r->add, MISTAKE != 4 ? (const int32_t *)r->place : nullptr)')]
    with open(f'{folder}/ranks.cpp') as file:
        text = file.read()
    for right, wrong in mistakes:
        equal(text.count(right), 1, f'ranks.cpp has: {right.strip()}')
    for right, wrong in mistakes:
        text = text.replace(right, wrong)
    with open(f'{folder}/ranks.cpp', 'w') as file:
        file.write('#include <cstdlib>\nstatic const int MISTAKE = std::atoi(std::getenv("MISTAKE"));\n' + text)
    if make(folder, flags='-O1'):
        for number, (right, _) in enumerate(mistakes):
            result = run('./ranks', '--ranks=3', '--cells=4,4,4', '--check', folder=folder,
                         environment={**ENVIRONMENT, 'MISTAKE': str(number)})
            ok(result.returncode == 1 and 'WRONG' in result.stdout, f'ranks: noticed, a mistake at {right.strip()}', result.stdout)
        check(folder, 'three, no mistake', './ranks', '--ranks=3', '--cells=4,4,4', environment={**ENVIRONMENT, 'MISTAKE': '-1'})
    shutil.copy('docs/examples/ranks/ranks.cpp', folder)


def test_mpi(folder):
    if not shutil.which('mpicxx') or not shutil.which('mpirun'):
        return skip('ranks: processes of MPI', 'no mpicxx and mpirun (libopenmpi-dev or mpich)')
    run('make', *VARIABLES, 'clean', folder=folder)
    if not make(folder, 'MPI=1', flags='-O1'):
        return
    is_open = 'Open MPI' in run('mpirun', '--version').stdout
    options = ['--oversubscribe', '--mca', 'mpi_yield_when_idle', '1'] if is_open else []
    allowed = {**ENVIRONMENT, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    for n in (2, 3):
        told = check(folder, f'{n} processes of MPI', 'mpirun', *options, '-n', str(n), './ranks', '--cells=4,4,4',
                     environment=allowed)
        equal(sum(own for own, _, _ in atoms(told)), 512, 'ranks: each atom in one process')


def test_gpu(folder):
    if not shutil.which(NVCC):
        return skip('ranks: for GPUs', 'no nvcc')
    cuda = os.path.dirname(os.path.dirname(os.path.realpath(NVCC)))
    nccl = ['-DRANKS_NCCL'] if os.path.exists(f'{cuda}/include/nccl.h') else []
    run('make', *VARIABLES, 'clean', folder=folder)
    if not os.path.exists('/dev/nvidia0'):
        generated = run('make', *VARIABLES, 'GPU=1', '-n', 'ranks', folder=folder)
        result = run(NVCC, '-arch=sm_90', '-O0', '-x', 'cu', '-DRANKS_CUDA', *nccl, '-std=c++17', '-Icgtpgen-out',
                     f'-I{RUNTIME}', '-c', '-o', 'ranks.o', 'ranks.cpp', folder=folder)
        ok(result.returncode == 0, f"ranks: for GPUs{', with NCCL' if nccl else ''}", generated.stdout, result.stdout)
        return skip('ranks: on a GPU', 'no GPU')
    if make(folder, 'GPU=1'):
        check(folder, 'two on one GPU', './ranks')


with tempfile.TemporaryDirectory() as ROOT:
    HERE = f'{ROOT}/ranks'
    shutil.copytree('docs/examples/ranks', HERE, ignore=shutil.ignore_patterns('cgtpgen-out'))
    narrow(HERE, '32x', '4x')
    test_one_process(HERE)
    test_mistakes(HERE)
    test_mpi(HERE)
    narrow(HERE, '4x', '32x')
    test_gpu(HERE)
done()
