#!/usr/bin/env python3
"""The tables of docs/precision.md are what the generator does: for all layers of specs/, however sums are to be made,
and what schedule/route.c says of each way. Nothing that happens is missing, nothing is listed that does not. Those of
docs/tuning.md have the planner's own reasons, and all knobs."""
import glob
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
SUMS = ['reduction: deterministic', 'reduction: atomic', 'reduction: invariant', 'edges: any', 'accumulate: compensated',
        'precision: {sum: float64}']  # columns
FIRST = 3  # of them
LAYERS = [*glob.glob('specs/*.yaml'), 'tests/simt/specs/staged_graph.yaml',
          'tests/simt/specs/staged_shared.yaml', 'tests/simt/specs/paired_pairs.yaml', 'tests/simt/specs/paired_nodes.yaml']
ELSEWHERE = {'general', 'no graph', 'no sum'}  # cells of what cannot be seen there


def read(path):
    with open(path) as file:
        return file.read()


def rows(page, word):
    """The cells of the table whose header begins with this word, header first."""
    lines = page[re.search(rf'^\| {word} \|', page, re.M).start():].split('\n\n')[0].splitlines()
    return [[cell.strip(' `') for cell in line.strip('|').split('|')] for line in [lines[0], *lines[2:]]]


def layers(sums):
    """The specs of all layers with this line; batches, which have no such sums, only with the first."""
    for path in LAYERS:
        text = re.sub(r'^(reduction|edges|accumulate|precision):.*\n', '', read(path), flags=re.M)
        if re.search('sender|receiver|shared' if re.search('accumulate|precision', sums) else 'sender|receiver', text):
            yield os.path.basename(path), f'{text}\n{sums}\n'
        elif sums == SUMS[0]:
            yield os.path.basename(path), text


def planned(sums, backend):
    """(evaluation, kernel and output, index, way) of all outputs."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, text in layers(sums):
            paths.append(f'{folder}/{name}')
            with open(paths[-1], 'w') as file:
                file.write(text)
        products = json.loads(subprocess.run([GENERATOR, '-Wno-all', f'--backend={backend}', '--print=json', *paths],
                                             stdout=subprocess.PIPE, text=True).stdout)
    return [(schedule['evaluation'], f"{kernel['name']} {output}", product['index'][slot[output]], way)
            for product in products for kernel in product['kernels']
            for slot in [{output['name']: output['slot'] for output in kernel['outputs']}]
            for schedule in kernel['schedules'] for output, way in zip(schedule['outputs'], schedule['routes'])]


page = read('docs/precision.md')
facts = {name: ('yes' if '.deterministic = true' in more else 'no',
                'no sum' if '.sums = true' not in more else 'yes' if '.keeps = true' in more else 'no')
         for name, more in re.findall(r'\{"([^"]+)",([^}]*)\}', read('cgtpgen/schedule/route.c'))}
equal({row[0]: tuple(row[1:3]) for row in rows(page, 'way')[1:]}, facts, 'the ways, and what is said of each')
header, *table = rows(page, 'evaluation')
equal(header[FIRST:], SUMS, 'the columns')
for column, sums in enumerate(SUMS, FIRST):
    found = {}  # by row of the table: ways
    for evaluation, output, index, way in planned(sums, 'cuda') + planned(sums, 'c'):
        row = next((number for number, (evaluations, outputs, indices, *_) in enumerate(table)
                    if evaluation in evaluations.split(', ') and index in indices.split(', ') and
                    (outputs == 'all' or output in outputs.split('; '))), (evaluation, output, index))
        found.setdefault(row, set()).add(way)
    equal([row for row in found if isinstance(row, tuple)], [], f'{sums}: everything has a row')
    for number, row in enumerate(table):
        shown = set() if row[column] in ELSEWHERE else set(row[column].split('; '))
        equal(found.get(number, set()), shown, f'{sums}: {", ".join(row[:FIRST])}')
tuning = read('docs/tuning.md')
planner = ''.join(read(path) for path in glob.glob('cgtpgen/schedule/**/*.c', recursive=True))
equal([row[0] for row in rows(tuning, 'reason')[1:] if f'"{row[0]}"' not in planner], [], 'reasons are the planner\'s')
knobs = re.findall(r'"(\w+)"', re.search(r'knob_name\[.*?\};', read('cgtpgen/spec/device.c'), re.S).group())
for name, text in (('docs/tuning.md', tuning), ('docs/spec.md', read('docs/spec.md'))):
    equal(sorted(row[0] for row in rows(text, 'knob')[1:]), sorted(knobs), f'{name}: the knobs')
ok(all(len(row) == FIRST + len(SUMS) for row in table), 'all rows are whole')
done()
