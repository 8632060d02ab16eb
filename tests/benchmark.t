#!/usr/bin/env python3
"""The benchmark of GPU kernels, on the host: a row has the floor and the fastest peer of its problem, and two
runs are compared row by row.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

# NequIP's smallest layer under another name, as a batch: told by its irreps and sizes.
SPEC = """cgtp: 1
name: renamed
irreps: {x: 32x0o + 32x0e + 32x1o + 32x1e, y: 1x0e + 1x1o, z: 32x0o + 32x0e + 32x1o + 32x1e}
instructions: channelwise
order: input
index: {}
kernels: [forward]
precision: float32
"""
HEAD = 'op problem graph dtype kernel reduction ms least floor xfloor best_peer peer_ms gain evaluation'.split()
KEY = ['conv', 'mace-large', 'carbon', 'fp32', 'forward']


def run(*command):
    environment = {key: value for key, value in os.environ.items() if not key.startswith('MAKE')}
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def rows(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file, delimiter='\t'))


def table(folder, name, times):
    """A table with these milliseconds by reduction."""
    with open(f'{folder}/{name}', 'w') as file:
        print(*HEAD, sep='\t', file=file)
        for reduction, ms in times.items():
            print(*KEY, reduction, ms, ms, 1, 1, '-', '-', '-', 'convolution', sep='\t', file=file)
    return f'{folder}/{name}'


def check_rows(folder):
    with open(f'{folder}/renamed.yaml', 'w') as file:
        file.write(SPEC)
    generator = os.environ.get('CGTPGEN', 'build/cgtpgen')
    made = run('make', 'gpu-bench', f'VARIANTS={folder}', f'GPU_GENERATOR={generator}', 'GPU_BACKEND=c',
               f'GPU_DIR={folder}/gpu', 'GPU_JOBS=1', f'GPU_OPTIONS=--runs=3 --tsv={folder}/rows.tsv')
    ok(made.returncode == 0, 'a product is timed, its outputs and its floor are right', made.stdout)
    found = rows(f'{folder}/rows.tsv')[0]
    equal([found[key] for key in HEAD[:6]], ['batch', 'nequip-water', '50000', 'fp32', 'forward', '-'],
          'its row has the problem, the place and the type')
    [peer] = [row for row in rows('tests/gpu/peers_h200.tsv') if [*row.values()][:5] == [found[k] for k in HEAD[:5]]]
    least = min(float(ms) for name, ms in peer.items() if name.endswith('_ms') and name != 'floor_ms' and ms)
    equal(float(found['peer_ms']), least, 'the best peer is the best of all columns')
    ok(found['evaluation'] != '-', 'the row says which evaluation ran', found)
    equal([found[key] for key in ('items', 'senders', 'receivers', 'x', 'y', 'w', 'z')],
          ['50000', '0', '0', '32x0o+32x0e+32x1o+32x1e', '1x0e+1x1o', '320', '704'],
          'how many items there were, and of which product')
    head, row = ([cell.strip() for cell in line.strip().strip('|').split('|')] for line in made.stdout.splitlines()
                 if line.startswith(('| product ', '| renamed ')))
    equal((head[-1], row[-1]), ('workspace MiB', f"{int(found['workspace']) / 2**20:.1f}"), 'the table has the workspace')
    with open('docs/benchmarks.md') as file:
        page = re.search(r'^\| product \| graph or rows \|.*', file.read(), re.M).group()
    equal(page.strip('| ').split(' | ')[2:], head[2:], 'and so has that of the page')


def check_compare(folder):
    old = table(folder, 'old.tsv', {'atomic': 1.0, 'deterministic': 2.0})
    for name, times, status, text in [
            ('within 2 %', {'atomic': 1.019, 'deterministic': 1.5}, 0, '2 rows compared, 0 more than 2 % slower'),
            ('slower', {'atomic': 1.021, 'deterministic': 1.5}, 1, '2 rows compared, 1 more than 2 % slower'),
            ('missing', {'atomic': 1.0}, 1, '1 rows compared, 0 more than 2 % slower, 1 missing, 0 new'),
            ('more', {'atomic': 1, 'deterministic': 2, '-': 9}, 0, '0 more than 2 % slower, 0 missing, 1 new')]:
        compared = run(sys.executable, 'tests/gpu/compare.py', old, table(folder, 'new.tsv', times))
        ok(compared.returncode == status and text in compared.stdout, f'two runs compared: {name}', compared.stdout)
    new = table(folder, 'new.tsv', {'atomic': 1, 'deterministic': 3})
    compared = run(sys.executable, 'tests/gpu/compare.py', old, new)
    ok('deterministic' in compared.stdout.splitlines()[1], 'the worst row comes first', compared.stdout)


def check_plot(folder):
    drawn = run(sys.executable, 'tests/gpu/plot.py', table(folder, 'plot.tsv', {'atomic': 5.0, 'deterministic': 2.0}))
    ok(drawn.returncode == 0, 'a table is drawn', drawn.stdout)
    svg = '{http://www.w3.org/2000/svg}'
    page = ElementTree.fromstring(drawn.stdout)
    tick = {text.text: text.get('x') for text in page.iter(f'{svg}text') if text.text.isdigit()}
    marks = [mark.get('cx') for mark in page.iter(f'{svg}circle') if float(mark.get('cy')) > 20]
    equal(marks, [tick['2']], 'the faster of two reductions stands at its multiple of the floor')
    none = run(sys.executable, 'tests/gpu/plot.py', table(folder, 'plot.tsv', {}))
    ok(none.returncode == 1 and 'no rows' in none.stdout, 'no rows are no plot', none.stdout)


def check_models(folder):
    path, rows = f'{folder}/models.tsv', [
        ['model', 'contender', 'step', 'ms', 'kernels ms', 'GB', 'replayed ms', 'difference'],
        ['mace', 'cgtpgen', 'force step', '50.0', '40.0', '1.5', '41.0', '1e-6'],
        ['mace', 'e3nn', 'force step', '200.0', '190.0', '9.0', '-', '0'],
        ['mace', 'OpenEquivariance', 'force step', 'out of memory', '-', '-', '-', '-']]
    with open(path, 'w') as file:
        file.writelines('\t'.join(row) + '\n' for row in rows)
    drawn = run(sys.executable, 'tests/models/plot.py', path)
    ok(drawn.returncode == 0, 'a table of models is drawn', drawn.stdout)
    svg = '{http://www.w3.org/2000/svg}'
    page = ElementTree.fromstring(drawn.stdout)
    bars = [float(bar.get('width')) for bar in page.iter(f'{svg}rect')][1:]
    equal([round(bar / bars[0], 2) for bar in bars], [1, 0.95, 0.25, 0.2], 'bars are as long as steps and kernels take')
    ok('50.0 ms, 1.5 GB, 4.0 x e3nn' in [text.text for text in page.iter(f'{svg}text')], 'and say how much faster', drawn.stdout)
    with open(path, 'w') as file:
        file.write('\t'.join(rows[0]) + '\n')
    none = run(sys.executable, 'tests/models/plot.py', path)
    ok(none.returncode == 1 and 'no rows' in none.stdout, 'no rows of models are no plot', none.stdout)


with tempfile.TemporaryDirectory() as temporary:
    check_rows(temporary)
    check_compare(temporary)
    check_plot(temporary)
    check_models(temporary)
done()
