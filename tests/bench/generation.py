#!/usr/bin/env python3
"""make bench-generation: how long the generator takes for every layer of specs/, as a Markdown table.

    generation.py GENERATOR SPEC...

CPU time in ms of a whole process that writes every file, the mean of ten runs: some systems count in steps as
long as a run. Megabytes are those that tests/specs.t limits.
"""
import os
import re
import subprocess
import sys
import tempfile

RUNS = 10
BACKENDS = ('c', 'cuda')


def measure(generator, backend, spec):
    """(ms, MB) of one layer."""
    seconds = 0
    with tempfile.TemporaryDirectory() as folder:
        command = [generator, f'--backend={backend}', '-o', folder, spec]
        for _ in range(RUNS):
            process = subprocess.Popen(command)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                sys.exit(f'{spec}: exit status {process.returncode}')
            seconds += usage.ru_utime + usage.ru_stime
        dump = subprocess.run([*command, '-d', 'm'], check=True, capture_output=True, text=True).stderr
    return seconds / RUNS * 1e3, int(re.search(r'(\d+) bytes of memory', dump).group(1)) / 1e6


def main(generator, *specs):
    print(f"| {'layer':30} |" + ''.join(f' {backend} ms | {backend} MB |' for backend in BACKENDS))
    print('|---|' + '---:|---:|' * len(BACKENDS))
    together = [0] * (2 * len(BACKENDS))
    for spec in specs:
        row = [value for backend in BACKENDS for value in measure(generator, backend, spec)]
        together = [a + b for a, b in zip(together, row)]
        print(f'| {os.path.basename(spec)[:-5]:30} |' + ''.join(f' {value:.1f} |' for value in row), flush=True)
    print(f"| {'together':30} |" + ''.join(f' {value:.1f} |' for value in together))


main(*sys.argv[1:])
