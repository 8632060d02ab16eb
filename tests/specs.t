#!/usr/bin/env python3
"""Every layer of specs/ generates, for both backends, with e3nn's counts of paths and weights, within its
time.

Counts are in tests/data/specs.tsv. Time is the CPU time of a whole process that writes every file, the least
of three. A build with sanitizers is not timed.
"""
import glob
import itertools
import json
import os
import subprocess
import sys
import tempfile

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
LIMITS = {'c': (0.020, 0.200), 'cuda': (0.030, 0.300)}  # seconds: up to l = 3, above
TIMED = '/san' not in os.environ.get('BUILD', 'build')


def expected():
    with open('tests/data/specs.tsv') as table:
        for line in table:
            if not line.startswith('#'):
                name, *numbers = line.split('\t')
                yield name, *map(int, numbers)


def cpu_time(command):
    """Exit status and CPU seconds of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=sys.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def check(backend, name, paths, weights, dim_z, l_max, folder):
    """What is wrong with a layer (empty: nothing), and its time in seconds."""
    generate, spec = [GENERATOR, f'--backend={backend}'], f'specs/{name}.yaml'
    report = subprocess.run([*generate, '--print=json', spec], capture_output=True)
    if report.returncode or report.stderr:
        return f'exit {report.returncode}: {report.stderr.decode()}', 0
    product = json.loads(report.stdout)
    found = len(product['paths']), product['dim']['w'], product['dim']['z'], product['name']
    if found != (paths, weights, dim_z, name):
        return f'paths, weights, dim z, name are {found}, not {(paths, weights, dim_z, name)}', 0
    if not product['description']:
        return 'no description', 0
    seconds = []
    for run in range(3):
        status, time = cpu_time([*generate, '-o', f'{folder}/{run}', spec])
        if status:
            return f'exit {status}', 0
        seconds.append(time)
    limit = LIMITS[backend][l_max > 3]
    if TIMED and min(seconds) >= limit:
        return f'{min(seconds) * 1e3:.1f} ms of CPU time; the limit is {limit * 1e3:.0f}', min(seconds)
    return '', min(seconds)


def main():
    layers = list(expected())
    listed = {name for name, *_ in layers}
    there = {os.path.basename(path)[:-5] for path in glob.glob('specs/*.yaml')}
    print(f'1..{len(LIMITS) * len(layers) + 1}')
    verdict = 'ok' if listed == there else 'not ok'
    print(f'{verdict} 1 - every file of specs/ is in the table and every row has a file')
    for name in sorted(listed ^ there):
        print('#', name)
    for number, (layer, backend) in enumerate(itertools.product(layers, LIMITS), 2):
        with tempfile.TemporaryDirectory() as folder:
            wrong, seconds = check(backend, *layer, folder)
        verdict = 'not ok' if wrong else 'ok'
        print(f'{verdict} {number} - {layer[0]}, {backend}: {layer[1]} paths, {seconds * 1e3:.1f} ms')
        for line in wrong.splitlines():
            print('#', line)


main()
