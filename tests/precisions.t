#!/usr/bin/env python3
"""The portable kernels of a golden case in single precision are those in double precision, but for the type and the
constants, which are the same numbers rounded. So what golden_double.t finds of all kernels holds for single precision,
where golden_single.t checks those that take least time to compile: that type and runtime are right.
"""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
SPECS = [path for path in sorted(glob.glob('tests/golden/*.yaml')) if not path.endswith('.sugar.yaml')]
CONSTANT = re.compile(r'\b(K\w+) = (0x[0-9a-f.]+p[-+]\d+)')
SIZE = {'float32': 4, 'float64': 8}
TYPE, CONSTANTS = {'float32': 'float ', 'float64': 'double '}, 'static const real '
ECHO = re.compile(r'\A/\*.*?\*/\n', re.S)  # the banner, which shows the spec


def generated(folder, precision):
    """Of all cases {file of a kernel: (its words without the type and the constants, the constants)}"""
    specs, files = [], {}
    for path in SPECS:
        specs.append(f'{folder}/{os.path.basename(path)}')
        with open(path) as plain, open(specs[-1], 'w') as spec:
            spec.write(re.sub('^precision: .*', f'precision: {precision}', plain.read(), flags=re.M))
    run = subprocess.run([GENERATOR, '--backend=c', '-Wno-all', '-o', f'{folder}/out', *specs], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    ok(run.returncode == 0, f'{len(SPECS)} cases, {precision}', run.stdout)
    for path in glob.glob(f'{folder}/out/*ward*.c') + glob.glob(f'{folder}/out/*_jvp.c'):
        with open(path) as file:
            lines = ECHO.sub('', file.read()).split('\n')
        constants = ' '.join(line for line in lines if line.startswith(CONSTANTS))
        code = ' '.join(line for line in lines if not line.startswith(CONSTANTS))
        code = re.sub(r'(?<=PTRDIFF_MAX / )\d+', lambda row: str(int(row.group()) // SIZE[precision]), code)  # bytes of a row
        words = ' '.join(code.replace(TYPE[precision], 'type ').split())  # lines are as long as they may be
        files[os.path.basename(path)] = words, CONSTANT.findall(constants)
    return files


def different(some, others):
    """The first words that differ."""
    return [pair for pair in zip(some.split(), others.split()) if pair[0] != pair[1]][:5] if some != others else []


def rounded(constants):
    return [(name, struct.unpack('f', struct.pack('f', float.fromhex(value)))[0]) for name, value in constants]


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    single, double = generated(one, 'float32'), generated(other, 'float64')
equal(sorted(single), sorted(double), 'the same files')
ok(len(double) == 7 * len(SPECS) and sum(len(constants) for _, constants in double.values()) > len(double),
   f'{len(double)} kernels')
for file, (words, exact) in sorted(double.items()):
    code, constants = single[file]
    ok(code == words and words.count(' ') >= 100, f'{file}: the same code', *different(code, words))
    equal([(name, float.fromhex(value)) for name, value in constants], rounded(exact), f'{file}: constants are rounded')
done()
