#!/usr/bin/env python3
"""Every layer of specs/ generates, for both backends, with e3nn's counts of paths and weights, within its
memory, and on a GPU without the general evaluation.

Counts are in tests/data/specs.tsv. Nothing but scratch is freed before the end, so memory grows with all that is
done, and is the same on every machine, however busy: it stands for time, which `make bench-generation` shows.
"""
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
# MB that a layer may take, up to l = 3 and above, and all of them together: not much more than they do.
MOST = {'c': (9, 35, 178), 'cuda': (30, 64, 376)}


# KB of all CUDA sources of the layers that have most paths.
LONGEST = {'flashtp_table5_lmax4': 750, 'flashtp_table5_lmax5': 1500}


def expected():
    with open('tests/data/specs.tsv') as table:
        for line in table:
            if not line.startswith('#'):
                name, *numbers = line.split('\t')
                yield name, *map(int, numbers)


def check(backend, name, paths, weights, dim_z, l_max):
    """Generates one layer; the megabytes that it took."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([GENERATOR, f'--backend={backend}', '-Wno-all', '--print=json', '-d', 'm', '-o', folder,
                              f'specs/{name}.yaml'], capture_output=True, text=True)
        files = len(os.listdir(folder))
        text = sum(os.path.getsize(path) for path in glob.glob(f'{folder}/*.cu')) / 1e3
    used = re.fullmatch(r'\S+: (\d+) bytes of memory at most so far\n', run.stderr)
    if not ok(run.returncode == 0 and used and files >= 3, f'{name}, {backend}: generates', run.stderr):
        return 0
    product = json.loads(run.stdout)
    equal((len(product['paths']), product['dim']['w'], product['dim']['z'], product['name']),
          (paths, weights, dim_z, name), f'{name}, {backend}: paths, weights, dim z, name')
    ok(product['description'], f'{name}, {backend}: has a description')
    megabytes, most = int(used.group(1)) / 1e6, MOST[backend][l_max > 3]
    ok(megabytes <= most, f'{name}, {backend}: {megabytes:.1f} MB, at most {most}')
    if backend == 'cuda' and name in LONGEST:
        ok(text <= LONGEST[name], f'{name}: {text:.0f} KB of sources, at most {LONGEST[name]}')
        check_loops(product)
    return megabytes


def check_loops(product):
    """Path sets that are alike have one loop, among others of both parities that are like none; and no loop is longer than
    caches for instructions bear, unless it is of one code."""
    alike = alone = 0
    for schedule in [one for kernel in product['kernels'] for one in kernel['schedules']]:
        loops = [(one.get('loop_of_path_set', number), one) for number, one in enumerate(schedule['path_sets'])]
        for number, (loop, one) in enumerate(loops):
            first = loops[loop][1]
            equal((len(one['paths']), one['instructions_per_edge']), (len(first['paths']), first['instructions_per_edge']),
                  f'{product["name"]}, {schedule["outputs"]}: path set {number} has the loop of one like it')
            alike += loop < number
        alone += len({loop for loop, _ in loops}) * 2 - len(loops)
        most = max(one['instructions_per_edge'] for _, one in loops)
        ok(most <= 36 << 6, f'{product["name"]}, {schedule["outputs"]}: loops of at most {most} instructions')
    ok(alike and alone, f'{product["name"]}: {alike} path sets have the loop of another, {alone} no other like them')


def check_evaluations(name):
    """Nothing of a layer is left to the general evaluation, in float64 either."""
    with open(f'specs/{name}.yaml') as file:
        text = file.read()
    for precision in 'float32', 'float64':
        changed = re.sub('^precision: .*$', f'precision: {precision}', text, flags=re.M)
        ok(precision in changed, f'{name}: {precision}')
        run = subprocess.run([GENERATOR, '--backend=cuda', '-Wno-all', '--print=plan', '-'], input=changed,
                             capture_output=True, text=True)
        found = re.findall(r'^  (?:\w+): (\w+) .*(?:paths|items)', run.stdout, re.M)
        ok(run.returncode == 0 and found and 'general' not in found, f'{name}, {precision}: no general evaluation',
           run.stderr or found)


layers = list(expected())
equal(sorted(name for name, *_ in layers), sorted(os.path.basename(path)[:-5] for path in glob.glob('specs/*.yaml')),
      'every file of specs/ is in the table and every row has a file')
for layer, *_ in layers:
    lint = subprocess.run([GENERATOR, '--lint', f'specs/{layer}.yaml'], capture_output=True, text=True)
    equal((lint.returncode, lint.stderr), (0, ''), f'{layer}: nothing is warned of')
    check_evaluations(layer)
together = dict.fromkeys(MOST, 0)
for layer, backend in itertools.product(layers, MOST):
    together[backend] += check(backend, *layer)
for backend, megabytes in together.items():
    ok(megabytes <= MOST[backend][2], f'{backend}: {megabytes:.1f} MB together, at most {MOST[backend][2]}')
done()
