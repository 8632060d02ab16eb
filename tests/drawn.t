#!/usr/bin/env python3
"""Layers that are drawn at random to be timed (tests/gpu/drawn.py): the same ones each time, by the distribution that is
stated there, and each can be generated for a GPU; those of the fixed list, too. The program that times them
(tests/gpu/sweep_random.py) finds their numbers right on the host, and its tables say what its rows say.
"""
import collections
import csv
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/gpu']
import drawn  # noqa: E402
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
SEED, COUNTED = 1, 3000
GENERATED = 400 if os.environ.get('TEST_ALL') else 60
SWEEP = [sys.executable, 'tests/gpu/sweep_random.py']
GRAPHS, CHANNELWISE = ('conv', 'conv_full', 'allegro'), ('conv', 'batch')
ITEM_WEIGHTS = ('conv', 'conv_full', 'batch', 'batch_full')
HEAD = ['generator', 'family', 'layer', 'graph', 'dtype', 'kernel', 'reduction', 'ms', 'xfloor', 'evaluation', 'items',
        'receivers', 'x', 'y', 'checked', 'source_kB', 'nvcc_s']


def run(*command):
    environment = {key: value for key, value in os.environ.items() if not key.startswith('MAKE')}
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def near(found, of, percent, name):
    """So many percent of them: within four standard deviations."""
    share, wanted = sum(map(bool, found)) / len(of), percent / 100
    ok(abs(share - wanted) <= 4 * (wanted * (1 - wanted) / len(of)) ** 0.5, f'{name}: {percent:.3g} %', f'{100 * share:.3g}')


def check_distribution(layers):
    families = collections.Counter(layer.family for layer in layers)
    for family, percent in drawn.FAMILIES.items():
        near([layer.family == family for layer in layers], layers, percent, family)
    equal(sorted(families), sorted(drawn.FAMILIES), 'there are no other families')
    near([layer.precision == 'float64' for layer in layers], layers, 100 / 6, 'float64')
    turned = [layer for layer in layers if max(l for _, l, _ in layer.x)]  # at l = 0 alone natural is even
    parities = [{p for _, l, p in layer.x if l == 1} for layer in turned]
    for wanted, percent in (({-1}, 50), ({1}, 25), ({1, -1}, 25)):
        near([found == wanted for found in parities], parities, percent, f'parities of l = 1: {sorted(wanted)}')
    conv = [layer for layer in layers if layer.family in ('conv', 'conv_full')]
    near(['edges: any' in layer.keys for layer in conv], conv, 10, 'edges in any order')
    of_items = [layer for layer in layers if layer.family in ITEM_WEIGHTS]
    near([layer.y[0][0] > 1 for layer in of_items], of_items, 100 / 12, 'y of several channels')
    near([len(layer.z) == 1 for layer in of_items], of_items, 100 / 12, '0e alone as output')
    of_l = [max(l for _, l, _ in layer.x) for layer in layers if layer.family != 'allegro']
    for l in sorted(set(drawn.L_X)):
        near([l == found for found in of_l], of_l, 100 * drawn.L_X.count(l) / len(drawn.L_X), f'x to l = {l}')
    for family, most in drawn.MOST.items():
        muls = [mul for layer in layers if layer.family == family for mul, _, _ in layer.x]
        ok(max(muls) <= most, f'{family}: at most {most} channels', max(muls))
    ok(all(layer.bytes_of(*layer.place[1:3]) <= drawn.MEMORY for layer in layers), 'all fit into the memory')
    ok(all(0 < layer.place[1] <= 1e6 and layer.place[2] <= drawn.NODES for layer in layers), 'items and nodes have their bounds')
    ok(all((layer.place[2] > 0) == (layer.family in GRAPHS) for layer in layers), 'graphs have nodes, batches none')


def check_widths():
    r = random.Random(0)
    found = [drawn.width(r, 256) for _ in range(COUNTED)]
    near([n <= 8 for n in found], found, 10, '8 channels or fewer')
    equal((min(found), max(found)), (2, 256), 'the fewest channels and the most')
    odd = [n for n in found if n % 8 and n > 8]
    near(odd, found, 90 / 4 * 7 / 8, 'more than 8, no multiple of 8')
    of_l = [drawn.widths(r, 256, 2) for _ in range(COUNTED)]
    near([len(set(one)) == 1 for one in of_l], of_l, 45 + 20 * 0.03, 'equal over l')


def check_same(layers):
    text = ''.join(layer.text() + repr(layer.place) for layer in layers[:100])
    equal(hashlib.sha256(text.encode()).hexdigest()[:16], '11c4a4339550f176', 'the first hundred layers are what they always were')
    again = drawn.layer(SEED, 7)
    equal((again.text(), again.place), (layers[7].text(), layers[7].place), 'a layer is the same whatever was drawn before')
    ok(drawn.layer(SEED + 1, 7).text() != again.text(), 'another seed has others')


def check_generated(folder):
    fixed = list(drawn.fixed())
    for what, count, word in (('drawn', GENERATED, f'--draw={SEED}:0:{GENERATED}'), ('of the fixed list', len(fixed), '--fixed')):
        made = run(*SWEEP, 'make', word, f'--cgtpgen={GENERATOR}', f'--out={folder}/make', '--jobs=2')
        ok(made.returncode == 0 and f'{count} of {count} layers generated' in made.stdout,
           f'all {count} layers {what} are generated', made.stdout)
    different = []
    for layer in [*fixed, *(drawn.layer(SEED, number) for number in range(20))]:
        write(f'{folder}/one.yaml', layer.text())
        dims = json.loads(run(GENERATOR, '-Wno-all', '--print=json', '--backend=c', f'{folder}/one.yaml').stdout)['dim']
        if list(dims.values()) != list(layer.dims()):
            different.append((layer.name, dims, layer.dims()))
    equal(different, [], 'rows are as long as the drawing counts them')


def check_timed(folder):
    """Two generators on the host, a convolution with edges in any order among the layers."""
    numbers = range(200)
    some = [next(layer for layer in map(lambda n: drawn.layer(SEED, n), numbers) if wanted(layer)) for wanted in (
        lambda layer: layer.family == 'conv' and layer.keys and layer.dims()[3] < 3000,
        lambda layer: layer.family == 'allegro' and layer.dims()[3] < 1000,
        lambda layer: layer.family == 'batch' and layer.dims()[3] < 1000)]
    names = '|'.join(layer.name for layer in some)
    out = f'{folder}/timed'
    made = run(*SWEEP, f'--draw={SEED}:0:200', f'--layers=^({names})$', '--backend=c', '--runs=3', '--items=200', '--jobs=2',
               '--kernels=forward,backward', f'--cgtpgen={GENERATOR}', f'--cgtpgen={GENERATOR}:runtime', f'--out={out}')
    ok(made.returncode == 0 and 'numbers right of 12; 0 layers left out, 0 failed' in made.stdout,
       'layers are timed by two generators, and their numbers are right', made.stdout)
    with open(f'{out}/rows.tsv', newline='') as file:
        rows = list(csv.DictReader(file, delimiter='\t'))
    equal(collections.Counter((row['generator'], row['kernel']) for row in rows),
          {(letter, kernel): 3 for letter in 'AB' for kernel in ('forward', 'backward')}, 'a row for each kernel by each')
    equal({row['reduction'] for row in rows if row['family'] == 'conv'}, {'atomic, any order'}, 'edges are in any order')
    equal({(row['layer'], row['items'], row['receivers']) for row in rows},
          {(layer.name, '200', str(layer.place[2])) for layer in some}, 'each in its own graph')


def check_left_out(folder):
    """What cannot be generated, compiled or run is said, and the others go on."""
    write(f'{folder}/broken', '#!/bin/sh\ncase "$*" in *batch*) exit 1;; esac\nexec ' + os.path.abspath(GENERATOR) + ' "$@"\n')
    os.chmod(f'{folder}/broken', 0o755)
    made = run(*SWEEP, 'make', f'--draw={SEED}:0:20', '--layers=^(batch|conv)_', f'--cgtpgen={folder}/broken', f'--out={folder}/left')
    ok(made.returncode == 0 and 'batch_1_7: not generated' in made.stdout and ' 0 of' not in made.stdout,
       'a layer that cannot be generated is named and left out', made.stdout)


def check_table(folder):
    """A layer of 1, 4 and 9 times its floor by A, in half the time by B but for one kernel."""
    os.makedirs(f'{folder}/table')
    write(f'{folder}/table/layers.json', '[]')
    for checked, status in (('right', 0), ('wrong', 1)):
        lines = ['\t'.join(HEAD)]
        for letter, family, xfloor, word in (('A', 'conv', 1, 'right'), ('A', 'batch', 4, 'right'), ('A', 'conv', 16, 'right'),
                                             ('B', 'conv', 0.5, 'right'), ('B', 'batch', 2, 'right'), ('B', 'conv', 32, checked)):
            lines.append('\t'.join(map(str, [letter, family, f'{family}_{1 if xfloor < 10 else 2}', 'drawn', 'fp32', 'forward', '-',
                                             xfloor, xfloor, 'staged', 9, 3, '8x0e', '1x0e', word, 1, 1])))
        write(f'{folder}/table/rows.tsv', '\n'.join(lines) + '\n')
        said = run(*SWEEP, 'table', f'--out={folder}/table')
        equal(said.returncode, status, f'a table of numbers of which one is {checked}')
    for line, name in (('| all | 3 | 4.00 | 16.00 | 16.00 | -', 'of all'), ('| conv | 2 | 4.00 | 16.00 | 16.00 | -', 'of a family'),
                       ('| by staged | 3 | 4.00 |', 'of an evaluation'), ('3 rows, geometric mean 0.7937, 1 over 3 % slower', 'of both')):
        ok(line in said.stdout, f'the table has the geometric mean {name}', said.stdout)
    ok('  2.000 conv_2 ' in said.stdout, 'and names what is slower', said.stdout)


def check_judged(folder):
    """One call: the checks of a product, then times by two trees in turn."""
    made = run('make', 'gpu-judge', 'GPU_BACKEND=c', f'GPU_DIR={folder}/judged', 'GPU_JOBS=2', f'GPU_GENERATOR={GENERATOR}', 'SOME=^mace5$',
               'JUDGED=quick', 'OLD=.', 'JUDGE_OPTIONS=--layers=diffdock_l1_f32 --items=20 --runs=3', 'SANITIZER_TOOL=')
    ok(made.returncode == 0 and ' 0 failed, 0 findings' in made.stdout and 'numbers right of 6;' in made.stdout,
       'products are checked and two trees are timed in one call', made.stdout)
    with open(f'{folder}/judged/some/some.log') as file:
        ok('mace5' in file.read(), 'the checks are of the products asked for')


with tempfile.TemporaryDirectory() as temporary:
    all_layers = [drawn.layer(SEED, number) for number in range(COUNTED)]
    check_distribution(all_layers)
    check_widths()
    check_same(all_layers)
    check_generated(temporary)
    check_timed(temporary)
    check_left_out(temporary)
    check_table(temporary)
    if os.environ.get('TEST_ALL'):
        check_judged(temporary)
done()
