#!/usr/bin/env python3
"""make bench: the generated kernels against a dense loop in C and against e3nn, as one Markdown table.

    bench.py FOLDER GENERATOR SPEC EDGES

FOLDER has the programs native (-O3 -march=native), plain (-O3, as build rules compile products) and unset (as a project without flags of
its own would) of bench.c. This interpreter runs e3nn if
it can import it; PYTHON=... chooses another.
"""
import os
import subprocess
import sys

KERNELS = ('forward', 'backward')


def run(command):
    """The program's lines as a dict: first word -> the others (a list for each line with that word)."""
    environment = os.environ | {'OMP_NUM_THREADS': '1'}
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    rows = {}
    for line in out.splitlines():
        word, *others = line.split()
        rows.setdefault(word, []).append(others)
    return rows


def main(folder, generator, spec, edges):
    results = [('generated, -O3 -march=native', run([f'{folder}/native', edges, 'generated', folder])),
               ('generated, -O3', run([f'{folder}/plain', edges, 'generated'])),
               ('generated, without -O', run([f'{folder}/unset', edges, 'generated'])),
               ('dense loop in C, -O3 -march=native', run([f'{folder}/native', edges, 'dense']))]
    report = f'{folder}/report.json'
    with open(report, 'w') as f:
        subprocess.run([generator, '--backend=c', '--print=json', spec], check=True, stdout=f)
    try:
        import e3nn  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        e3nn_row = None
    else:
        program = os.path.join(os.path.dirname(__file__), 'e3nn_eager.py')
        e3nn_row = run([sys.executable, program, report, folder])
        results.append(('e3nn {} eager, torch {}'.format(*e3nn_row['version'][0]), e3nn_row))

    def ms(row, kernel):
        return float(row[kernel][0][0])
    reference = e3nn_row or results[-1][1]
    print(f"{os.path.basename(spec)[:-5]} convolution, {edges} edges of the diamond lattice, float32, one thread; "
          'median of 5, warm\n')
    print(f"| {'':40} | forward ms | backward ms | forward {'x e3nn' if e3nn_row else 'x dense'} | backward |")
    print(f"|{'-' * 42}|-----------:|------------:|---------------:|---------:|")
    for label, row in results:
        times = [ms(row, k) for k in KERNELS]
        ratios = [ms(reference, k) / t for k, t in zip(KERNELS, times)]
        print(f'| {label:40} | {times[0]:10.1f} | {times[1]:11.1f} | {ratios[0]:14.1f} | {ratios[1]:8.1f} |')
    if e3nn_row:
        print('\nLargest difference from e3nn, in units of the largest element: ' +
              ', '.join(f'{name} {float(value):.1e}' for name, value in e3nn_row['difference']))
    else:
        print('\ne3nn: skipped, this Python has no torch and e3nn (PYTHON=... make bench)')


main(*sys.argv[1:])
