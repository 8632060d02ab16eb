#!/usr/bin/env python3
"""Programs that fill or clear a folder refuse one that has somebody's own files, and have written nothing then: the builder
of packages of Python, the generators of benchmarks."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
SPEC = 'cgtp: 1\nname: layer\nirreps: {x: 2x0e, y: 0e, z: 2x0e}\ninstructions: channelwise\nkernels: [forward]\n'


def run(*command):
    """No compiler runs: CC fails."""
    return subprocess.run(command, env=os.environ | {'CC': 'false', 'CXX': 'false', 'PYTHONDONTWRITEBYTECODE': '1'},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def files(folder):
    return sorted(os.path.relpath(f'{at}/{name}', folder) for at, _, names in os.walk(folder) for name in names)


def test_packages(root):
    write(f'{root}/layer.yaml', SPEC)
    made = run(GENERATOR, '--backend=c', '--emit=header,source,torch', '-o', f'{root}/products', f'{root}/layer.yaml')
    ok(made.returncode == 0, 'products', made.stdout)
    before = files(f'{root}/products')
    for name in '__init__.py', 'layer.py', 'layer.h':
        own = f'{root}/of {name}/{name}'
        write(own, 'mine = 1\n')
        result = run(sys.executable, 'runtime/cgtp_build.py', f'{root}/products', os.path.dirname(own))
        equal((result.returncode, result.stdout, read(own), files(os.path.dirname(own))),
              (1, f'{own} was not made by cgtpgen, and would be lost: name another folder, or move it\n', 'mine = 1\n', [name]),
              f"a package where {name} is one's own: refused")
    equal(files(f'{root}/products'), before, 'and nothing is compiled')
    with open('runtime/python/cgtpgen/models/kernels.py') as file:
        [words] = re.findall(r"_write\(f\"\{self.package\}/__init__.py\", '(\"\"\"[^\\\\']*)", file.read())
    for name, text in (('__init__.py', ''), ('__init__.py', '"""Products of cgtpgen for PyTorch: modules layer."""\n'),
                       ('__init__.py', words),  # as cgtpgen.models writes it
                       ('layer.py', read(f'{root}/products/layer.py'))):
        write(f'{root}/again/{name}', text)
        result = run(sys.executable, 'runtime/cgtp_build.py', f'{root}/products', f'{root}/again')
        ok('was not made by cgtpgen' not in result.stdout, f'{name} of {len(text)} bytes, empty or made before, is no obstacle',
           result.stdout)


def test_benchmarks(root):
    for name, folder, command in (
            ('sources.py', f'{root}/sources/regress', ['tests/gpu/sources.py', f'--generator={GENERATOR}', '--backend=c',
                                                     f'--out={root}/sources', 'regress']),
            ('sweep_random.py', f'{root}/sweep/A', ['tests/gpu/sweep_random.py', f'--cgtpgen={GENERATOR}', '--backend=c',
                                                    '--draw=1:0:1', f'--out={root}/sweep', 'make'])):
        write(f'{folder}/mine.c', 'int mine;\n')
        result = run(sys.executable, *command)
        equal((result.returncode, result.stdout, files(folder)),
              (1, f'{name}: {folder} has files and was not made here: they would be lost\n', ['mine.c']),
              f"{name}: one's own folder")
        os.remove(f'{folder}/mine.c')
        for when in 'an empty one', 'one that it made':
            result = run(sys.executable, *command)
            ok(result.returncode == 0 and os.path.isdir(f'{folder}/specs'), f'{name}: {when}', result.stdout)


with tempfile.TemporaryDirectory() as ROOT:
    test_packages(ROOT)
    test_benchmarks(ROOT)
done()
