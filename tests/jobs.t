#!/usr/bin/env python3
"""Specs of a call are compiled by several threads: what is written, what is said, in which order and the exit status are those
of one thread, whatever --jobs says."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from generator import build  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
SPEC = 'cgtp: 1\nname: s%d\nirreps: {x: 8x0e + %dx1o, y: 0e + 1o}\ninstructions: channelwise\n'
COUNT = 60


def run(folder, *arguments, prepare=None):
    """(status, standard output, standard error, the files of the folder `out`)"""
    out = tempfile.mkdtemp(dir=folder)
    done_ = subprocess.run([GENERATOR, *arguments, *([] if '--lint' in arguments else ['-o', out])], cwd=folder, capture_output=True, text=True, preexec_fn=prepare)
    files = {}
    for name in sorted(os.listdir(out)):
        with open(f'{out}/{name}') as file:
            files[name] = file.read()
    return done_.returncode, done_.stdout.replace(out, 'out'), done_.stderr.replace(out, 'out'), files


def alike(what, folder, *arguments, prepare=None):
    """Runs it by one thread and by several, by more than there are specs too; the first of their results."""
    results = [run(folder, f'--jobs={jobs}', *arguments, prepare=prepare) for jobs in (1, 2, 5, 64)]
    results.append(run(folder, *arguments, prepare=prepare))
    equal([result == results[0] for result in results], [True] * 5, f'{what}: the same by 1, 2, 5, 64 threads and as many as usual')
    return results[0]


def main(folder):
    names = [f's{number}.yaml' for number in range(COUNT)]
    for number, name in enumerate(names):
        with open(f'{folder}/{name}', 'w') as file:
            file.write(SPEC % (number, number % 7 + 1) + ('kernels: [forward]\n' if number % 3 else ''))
    for backend in 'c', 'cuda':
        status, _, told, files = alike(backend, folder, f'--backend={backend}', *names)
        equal((status, told, sum(name.endswith('.h') for name in files)), (0, '', COUNT), f'{backend}: all files of all specs')
    alike('the runtime for all', folder, '--backend=c', '--emit=header,source,runtime', *names)
    alike('reports', folder, '--print=json', *names[:9])
    alike('what the tuner tries', folder, '--emit=tune', *names[:2])
    # Some say much, some say nothing, one is too large and found so late.
    for number, text in ((7, 'irreps: {x: 0e'), (20, 'cgtp: 2\n'), (41, 'kernels: [backwards]\n')):
        with open(f'{folder}/s{number}.yaml', 'a') as file:
            file.write(text)
    with open(f'{folder}/s1.yaml', 'w') as file:
        file.write('cgtp: 1\nname: s1\nirreps: {x: %s, y: 11o, z: %s}\ninstructions:\n' % ('32x11o', '32x11e') +
                   ''.join(f'  - [0, 0, 0, uvu, true, {i + 1}]\n' for i in range(4096)))
    for more in [], ['--diagnostics=json'], ['--lint']:
        status, said, told, files = alike(' '.join(['wrong ones', *more]), folder, '--backend=c', *more, *names, 'gone.yaml')
        order = [word for word in ('s1.yaml', 's7.yaml', 's20.yaml', 's41.yaml', 'gone.yaml') if word in told]
        equal((status, said, files, sorted(order, key=told.index)), (1, '', {}, order), f'{more}: told in the order of the specs')
        equal(len(order), 5, f'{more}: of each that is wrong')
    if '/san' in os.environ.get('BUILD', 'build'):
        return skip('where there is little memory', 'a sanitizer takes it all')

    def bound():
        resource.setrlimit(resource.RLIMIT_AS, (40 << 20, 40 << 20))
    status, _, told, files = run(folder, '--jobs=64', *[name for name in names if name not in ('s1.yaml', 's7.yaml', 's20.yaml', 's41.yaml')],
                                 prepare=bound)
    return ok((status, told, len(files) > COUNT) == (0, '', True) or (status, told, files) == (4, 'cgtpgen: out of memory\n', {}),
              'where there is no memory for threads it is done by fewer, or says so', status, told)


def test_races():
    """Whether threads touch what others do is seen by a generator that is compiled to see it."""
    if not os.environ.get('TEST_ALL') or not shutil.which('clang'):
        return skip('races', 'TEST_ALL=1 and clang are not there')
    program, said = build(f"{os.environ.get('BUILD', 'build')}/races", 'clang', ['-O1', '-g', '-pthread', '-fsanitize=thread'])
    if not ok(not said, 'the generator compiles with what sees races', said):
        return None
    with tempfile.TemporaryDirectory() as folder:
        for more in ['--backend=c', '--emit=header,source,runtime'], ['--emit=tune']:
            result = subprocess.run([program, '--jobs=4', *more, '-o', folder, 'specs/nequip_water.yaml', 'specs/mace_medium.yaml',
                                     'specs/diffdock_l2.yaml', 'specs/tetris_poly_2.yaml'], capture_output=True, text=True)
            equal((result.returncode, result.stderr), (0, ''), f"{' '.join(more)}: no races")
    return None


for words, message in (('0', 'from 1 to 64, not 0'), ('65', 'from 1 to 64, not 65'), ('x', "'x' is no number")):
    result = subprocess.run([GENERATOR, f'--jobs={words}', 'specs/nequip_water.yaml'], capture_output=True, text=True)
    equal((result.returncode, result.stderr, result.stdout), (2, f'cgtpgen: --jobs: {message}\n', ''), f'--jobs={words}')
with tempfile.TemporaryDirectory() as ROOT:
    main(ROOT)
test_races()
done()
