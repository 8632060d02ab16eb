#!/usr/bin/env python3
"""Fits how long compilers take for generated sources (cgtpgen/emit/effort.h), and says how far off that is.

    tests/bench/compile.py measure BACKEND FOLDER KERNEL...  processor time of each kernel: rows for the table; a number is a
                                                             seed, of which 20 kernels are taken: of every third layer its
                                                             forward, its backward and its double backward in turn
    tests/bench/compile.py fit BACKEND                       rates by the rows that are for it, tried on the others

The table is tests/data/compile_BACKEND.tsv: a kernel's name, what it is for (fit or unseen), seconds. Layers are of specs/, also in
another precision (mace_medium_float64_forward), or drawn by tests/gpu/drawn.py (conv_77_4_forward: seed 77, number 4). What is
counted, the generator says. Cores run slower while others are used too, by a factor that changes: the seconds of each kernel are
divided by those of a small one that is compiled before and after it, and multiplied by what that takes at best, a fifth of a
second. Needs numpy for the fit; nvcc for cuda.
"""
import json
import os
import re
import resource
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests/gpu')
import drawn  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
COMPILERS = {'c': ['gcc', '-O3'], 'cuda': [os.environ.get('NVCC', 'nvcc'), '-std=c++17', '-O3', '-arch=sm_90']}
SMALL, SMALL_SECONDS = 'generated/nequip_water_backward.c', 0.2
COUNTED = {'c': ('argument', 'dense', 'uneven', 'dot', 'row', 'sum', 'path', 'rest', 'apart'),
           'cuda': ('call', 'block', 'long_argument', 'long_loop', 'callee', 'instance')}
MANY = 1.5  # a factor


def layer_of(kernel):
    """The name of a kernel's layer, and of the kernel in it."""
    return re.fullmatch(r'(.+?)_((?:double_)?backward|forward)', kernel).groups()


def kernels_of(word):
    """A kernel, or 20 of a seed."""
    return [f'{drawn.layer(int(word), 3 * i).name}_{("forward", "backward", "double_backward")[i % 3]}' for i in range(20)] \
        if word.isdigit() else [word]


def spec_of(layer):
    """The text of a spec."""
    other = re.fullmatch(r'(.+)_(float64|float16|bfloat16)', layer)
    for name in [layer] + ([other.group(1)] if other else []):
        if os.path.exists(f'specs/{name}.yaml'):
            with open(f'specs/{name}.yaml') as file:
                text = file.read()
            if name == layer:
                return text
            text = re.sub(r'^precision:.*\n', '', text, flags=re.M)
            return re.sub(r'^name:.*', f'name: {layer}\nprecision: {other.group(2)}', text, flags=re.M)
    seed, number = layer.split('_')[-2:]
    return drawn.layer(int(seed), int(number)).text()


def generated(backend, *options, text):
    return subprocess.run([GENERATOR, f'--backend={backend}', '-Wno-all', *options, '-'], input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def said(backend, kernels):
    """What the generator says of kernels, by their names: {'compile_seconds', 'compile_counts', ..}"""
    found = {}
    for layer in sorted({layer_of(kernel)[0] for kernel in kernels}):
        for kernel in json.loads(generated(backend, '--print=json', text=spec_of(layer)))['kernels']:
            found[f'{layer}_{kernel["name"]}'] = kernel
    return found


def seconds_of(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(backend, folder, kernels):
    def small():
        return seconds_of('gcc', '-O3', '-Iruntime', '-c', '-o', f'{folder}/object.o', SMALL)
    after = small()
    for kernel in kernels:
        generated(backend, '-o', f'{folder}/{backend}', text=spec_of(layer_of(kernel)[0]))
        before = after
        seconds = seconds_of(*COMPILERS[backend], '-Iruntime', '-c', '-o', f'{folder}/object.o',
                             f'{folder}/{backend}/{kernel}.{"c" if backend == "c" else "cu"}')
        after = small()
        print(kernel, 'unseen', f'{seconds / (before + after) * 2 * SMALL_SECONDS:.3f}', sep='\t', flush=True)


def table(backend, word):
    """{kernel: seconds} of the rows that are for this."""
    with open(f'tests/data/compile_{backend}.tsv') as file:
        rows = [line.split() for line in file if not line.startswith('#')]
    return {row[0]: float(row[2]) for row in rows if row[1] == word}


def off(predicted, seconds):
    """How many times too long or too short."""
    return max(predicted / seconds, seconds / predicted)


def fit(backend):
    import numpy
    rows = {word: table(backend, word) for word in ('fit', 'unseen')}
    counts = said(backend, [*rows['fit'], *rows['unseen']])

    def counted(kernel):
        return [1, *(counts[kernel]['compile_counts'][word] for word in COUNTED[backend])]
    seconds = numpy.array(list(rows['fit'].values()))
    numbers = numpy.array([counted(kernel) for kernel in rows['fit']])
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
    rates = [float(f'{rate:.2g}') for rate in min(found)[1]]
    print(*(f'{word} = {rate:g}' for word, rate in zip(('start', *COUNTED[backend]), rates)), sep=', ')
    for word, some in rows.items():
        far = sorted((off(numpy.dot(rates, counted(kernel)), some[kernel]), kernel) for kernel in some)
        print(f'{word}: {sum(times <= MANY for times, _ in far)} of {len(far)} within a factor of {MANY}, worst {far[-1][0]:.2f} '
              f'({far[-1][1]})')


if __name__ == '__main__':
    if sys.argv[1:2] == ['measure'] and len(sys.argv) > 4:
        measure(sys.argv[2], sys.argv[3], [kernel for word in sys.argv[4:] for kernel in kernels_of(word)])
    elif sys.argv[1:2] == ['fit'] and len(sys.argv) == 3:
        fit(sys.argv[2])
    else:
        sys.exit(__doc__)
