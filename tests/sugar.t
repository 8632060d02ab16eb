#!/usr/bin/env python3
"""tests/golden/NAME.sugar.yaml is NAME.yaml in fewer words: the same code comes of it, for both backends. So what
the golden tests find of the one is true of the other.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
KERNELS = {'c': 'forward, backward, double_backward, triple_backward, jvp, backward_jvp, double_backward_jvp',
           'cuda': 'forward, backward'}
ECHO = re.compile(r'\A/\*.*?\*/\n', re.S)  # the banner, which shows the spec
DIGEST = re.compile(r'\(digest [^)]*\)|(?<=\.digest = ")\w+')


def generated(spec, name, backend):
    """The files of a spec under another name, with other kernels: {file: text without what shows the spec}."""
    text = re.sub('^name: .*', f'name: {name}', spec, flags=re.M)
    text = re.sub('^kernels: .*', f'kernels: [{KERNELS[backend]}]', text, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([GENERATOR, f'--backend={backend}', '-o', folder, '-'], input=text, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if run.returncode:
            return {'': run.stdout}
        files = {}
        for file in sorted(os.listdir(folder)):
            with open(f'{folder}/{file}') as there:
                files[file] = DIGEST.sub('', ECHO.sub('', there.read()))
        return files


pairs = sorted(glob.glob('tests/golden/*.sugar.yaml'))
ok(len(pairs) >= 32, f'{len(pairs)} cases')
for sugar in pairs:
    plain = sugar.replace('.sugar', '')
    name = os.path.basename(plain)[:-5]
    with open(sugar) as short, open(plain) as long:
        short, long = short.read(), long.read()
    for backend in KERNELS:
        one, other = generated(short, name, backend), generated(long, name, backend)
        equal(list(one), list(other), f'{name}, {backend}: the same files')
        differing = [file for file in other if one.get(file) != other[file]]
        ok(len(other) >= 4 and not differing, f'{name}, {backend}: the same code', *differing)
done()
