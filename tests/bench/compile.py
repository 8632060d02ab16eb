#!/usr/bin/env python3
"""Fits how long compilers take for generated sources (cgtpgen/emit/effort.h), and says how far off that is.

    tests/bench/compile.py measure BACKEND FOLDER SPEC...   processor time of each kernel: rows for the table
    tests/bench/compile.py fit BACKEND                      rates by the rows that are for it, tried on the others

The table is tests/data/compile_BACKEND.tsv: a kernel's name, what it is for (fit or unseen), seconds, counts. Cores run
slower while others are used too, by a factor that changes: the seconds of each kernel are divided by those of a small
one that is compiled before and after it, and multiplied by what that takes at best. Needs numpy for the fit; nvcc for cuda.
"""
import glob
import os
import re
import resource
import subprocess
import sys

COMPILERS = {'c': ['gcc', '-O3'], 'cuda': [os.environ.get('NVCC', 'nvcc'), '-std=c++17', '-O3', '-arch=sm_90']}
SMALL = 'generated/nequip_water_backward.c'
COUNTED = ('argument', 'loop', 'dense', 'sweep', 'call', 'function', 'long_code')


def counts(text):
    """As cgtpgen/emit/effort.c has them."""
    text = re.sub(r'\[\] = {.*?};', '', re.sub(r'/\*.*?\*/', '', text, flags=re.S), flags=re.S)
    templates = text.count('>\nCGTP_KERNEL(')
    times = len(re.findall(r'code::(?!\w+_gather_)\w+<', text)) / templates if templates else 1
    dense = sum(int(sums) for sums, rows in re.findall(r'cgtp_weights_\w+\((\d+), (\d+)', text) if int(rows) > 3)
    functions = [len(re.findall(r' \*(?= )', function)) for function in text.split('\n}')[:-1]]
    return (text.count(','), times * len(re.findall(r' \*(?= )', text)), times * text.count('CGTP_LOOP\n'), dense, text.count('for ('),
            len(re.findall(r'(?m)^ +u[uvw]{2}\w*\(', text)), sum(n * n / (n + 300) for n in functions))


def seconds_of(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(backend, folder, specs):
    out = f'{folder}/{backend}'
    subprocess.run([os.environ.get('CGTPGEN', 'build/cgtpgen'), f'--backend={backend}', '-Wno-all', '-o', out, *specs],
                   check=True)
    names = [os.path.splitext(os.path.basename(spec))[0] for spec in specs]

    def small():
        return seconds_of('gcc', '-O3', '-Iruntime', '-c', '-o', f'{folder}/object.o', SMALL)
    best, rows = min(small() for _ in range(5)), []
    for path in sorted(glob.glob(f'{out}/*.{backend if backend == "c" else "cu"}')):
        name = os.path.splitext(os.path.basename(path))[0]
        if name in names:
            continue  # a descriptor
        before = small()
        seconds = seconds_of(*COMPILERS[backend], '-Iruntime', '-c', '-o', f'{folder}/object.o', path)
        beside = (before + small()) / 2
        with open(path) as file:
            rows.append((name, seconds / beside, counts(file.read())))
        best = min(best, before)
    for name, times, numbers in rows:
        print(name, 'unseen', f'{times * best:.3f}', *(f'{number:.0f}' for number in numbers), sep='\t')


def table(backend):
    """[(name, fit or unseen, seconds, counts)]"""
    with open(f'tests/data/compile_{backend}.tsv') as file:
        rows = [line.split() for line in file if not line.startswith('#')]
    return [(row[0], row[1], float(row[2]), [float(number) for number in row[3:]]) for row in rows]


def counted(numbers):
    """What rates are of: what is counted, and products in each loop, of which code that is long takes more than its share."""
    return [number for i, number in enumerate(numbers) if i != 1] + [numbers[1] * numbers[2]]


def off(rates, rows):
    """How many times too long or too short the prediction is, of each row."""
    predicted = [rates[0] + sum(rate * number for rate, number in zip(rates[1:], counted(row[3]))) for row in rows]
    return [max(p / row[2], row[2] / p) for p, row in zip(predicted, rows)]


def fit(backend):
    import numpy
    rows = table(backend)
    used = [row for row in rows if row[1] == 'fit']
    seconds = numpy.array([row[2] for row in used])
    numbers = numpy.array([[1, *counted(row[3])] for row in used])
    draw = numpy.random.default_rng(1)

    def error(rates):
        return (numpy.abs(numpy.log(numbers @ rates / seconds)) ** 3).mean()
    found = []
    for _ in range(12):
        rates = seconds.mean() / numbers.mean(0).clip(1) / 4 * draw.uniform(0.2, 2, numbers.shape[1]) * numbers.any(0)
        least = error(rates)
        for _ in range(6000):
            other = rates * numpy.exp(draw.normal(0, 0.15, len(rates)) * (draw.random(len(rates)) < 0.5))
            if error(other) < least:
                rates, least = other, error(other)
        found.append((least, list(rates)))
    rates = min(found)[1]
    print(*(f'.{word} = {rate:.2g}' for word, rate in zip(('start', *COUNTED), rates)), sep=', ')
    for word in 'fit', 'unseen':
        some = [row for row in rows if row[1] == word]
        far = sorted(zip(off(rates, some), some))
        print(f'{word}: {sum(times <= 1.5 for times, _ in far)} of {len(far)} within a factor of 1.5, worst {far[-1][0]:.2f} '
              f'({far[-1][1][0]})')


if __name__ == '__main__':
    if sys.argv[1:2] == ['measure'] and len(sys.argv) > 4:
        measure(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif sys.argv[1:2] == ['fit'] and len(sys.argv) == 3:
        fit(sys.argv[2])
    else:
        sys.exit(__doc__)
