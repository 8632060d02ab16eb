#!/usr/bin/env python3
"""Fits how long compilers take for generated sources (cgtpgen/emit/effort.h), and says how far off that is.

    tests/bench/compile.py measure BACKEND FOLDER SPEC...   processor time of each kernel, into FOLDER/BACKEND.tsv
    tests/bench/compile.py fit FOLDER/BACKEND.tsv           rates by two thirds of the kernels, tried on the others

Counted are statements, arguments, loops and functions. Needs numpy for the fit; nvcc for cuda.
"""
import glob
import os
import re
import resource
import subprocess
import sys
import zlib

COMPILERS = {'c': ['gcc', '-O3'], 'cuda': [os.environ.get('NVCC', 'nvcc'), '-std=c++17', '-O3', '-arch=sm_90']}


def counts(text):
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    return text.count(';'), text.count(','), text.count('for ('), text.count('\n}')


def measure(backend, folder, specs):
    out = f'{folder}/{backend}'
    subprocess.run([os.environ.get('CGTPGEN', 'build/cgtpgen'), f'--backend={backend}', '-Wno-all', '-o', out, *specs],
                   check=True)
    names = [os.path.splitext(os.path.basename(spec))[0] for spec in specs]
    with open(f'{folder}/{backend}.tsv', 'w') as rows:
        for path in sorted(glob.glob(f'{out}/*.{backend if backend == "c" else "cu"}')):
            if os.path.splitext(os.path.basename(path))[0] in names:
                continue  # a descriptor
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*COMPILERS[backend], '-Iruntime', '-c', '-o', f'{folder}/object.o', path], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            with open(path) as file:
                numbers = counts(file.read())
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(os.path.basename(path), f'{seconds:.3f}', *numbers, sep='\t', file=rows, flush=True)


def fit(path):
    import numpy
    with open(path) as file:
        rows = [line.split('\t') for line in file]
    seconds = numpy.array([float(row[1]) for row in rows])
    counted = numpy.array([[1, *map(float, row[2:])] for row in rows])
    unseen = numpy.array([zlib.crc32(row[0].encode()) % 3 == 0 for row in rows])
    draw = numpy.random.default_rng(1)

    def error(rates):
        return (numpy.abs(numpy.log(counted[~unseen] @ rates / seconds[~unseen])) ** 3).mean()
    found = []
    for _ in range(12):
        rates = seconds.mean() / counted.mean(0).clip(1) / 4 * draw.uniform(0.2, 2, counted.shape[1])
        least = error(rates)
        for _ in range(6000):
            other = rates * numpy.exp(draw.normal(0, 0.15, len(rates)) * (draw.random(len(rates)) < 0.5))
            if error(other) < least:
                rates, least = other, error(other)
        found.append((least, list(rates)))
    rates = min(found)[1]
    print(*(f'{word} {rate:.2g}' for word, rate in zip(('start', 'statement', 'argument', 'loop', 'function'), rates)))
    off = numpy.exp(numpy.abs(numpy.log(counted @ numpy.array(rates) / seconds)))
    for word, which in ('fitted', ~unseen), ('unseen', unseen):
        some = numpy.sort(off[which])
        print(f'{word}: {(some <= 1.5).sum()} of {len(some)} within a factor of 1.5, worst {some[-1]:.2f}')


if sys.argv[1:2] == ['measure'] and len(sys.argv) > 4:
    measure(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1:2] == ['fit'] and len(sys.argv) == 3:
    fit(sys.argv[2])
else:
    sys.exit(__doc__)
