#!/usr/bin/env python3
"""gcc and clang build the generator without a warning, at any optimisation, and it writes the same bytes."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from generator import build, by_cmake, counting  # noqa: E402
from tap import done, ok, skip  # noqa: E402

SPECS = sorted(glob.glob('specs/*.yaml'))


def output(generator):
    """Everything that it writes about all specs: for each backend the files one after the other, then reports."""
    texts = []
    for backend in ('c', 'cuda'):
        with tempfile.TemporaryDirectory() as folder:
            report = subprocess.run([generator, f'--backend={backend}', '-Wno-all',
                                     '--print=paths,nnz,weights,plan,cost,json', '-o', folder, *SPECS], stdout=subprocess.PIPE).stdout
            files = []
            for name in sorted(os.listdir(folder)):
                with open(f'{folder}/{name}', 'rb') as file:
                    files += [name.encode(), file.read()]
        texts += [b'\n'.join(files), report]
    return texts


reference = output(os.environ.get('CGTPGEN', 'build/cgtpgen'))
sizes = [len(text) for text in reference]
ok(min(sizes[0::2]) > 1e7 and min(sizes[1::2]) > 1e6, 'all specs at once, for both backends',
   f'{sizes} bytes')
for compiler, flags in (('gcc', '-O0'), ('gcc', '-O3 -march=native'), ('clang', '-O0'), ('clang', '-O2')):
    name = f'{compiler} {flags}'
    if not shutil.which(compiler):
        skip(name, f'no {compiler}')
        continue
    if name == 'gcc -O0' and shutil.which('cmake') and shutil.which('ninja'):  # with -Werror
        folder, said = by_cmake()
        program, said = f'{folder}/cgtpgen', said if not os.path.exists(f'{folder}/cgtpgen') else ''
    else:
        program, said = counting() if name == 'clang -O0' else build(
            'build/' + name.replace(' ', '').replace('=', ''), compiler, flags.split())
    if ok(not said, f'{name}: builds in silence', said):
        ok(output(program) == reference, f'{name}: the same output')
done()
