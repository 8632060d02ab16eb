#!/usr/bin/env python3
"""Specs of models: their comments say what the generator warns of, in its words, and nothing else. No package is needed.

    tests/models/left_out.py FOLDER
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f'{HERE}/..', f'{HERE}/../../runtime/python']
from cgtpgen import generator  # noqa: E402
from cgtpgen.models.kernels import Kernels, Spec  # noqa: E402
from tap import done, equal, ok  # noqa: E402

SPEC = 'cgtp: 1\nname: %s\nirreps: {x: 2x0e+2x1e, y: 0e, z: 2x0e%s}\ninstructions: [[0, 0, 0, uvw]%s]\n'
INPUT, OUTPUT = 'no path reads 2x1e, segment 1 of x', 'no path writes 2x1o, segment 1 of z: it is always zero'
CASES = {'all': ('+2x1e', ', [1, 0, 1, uvw]', []), 'some': ('', '', [INPUT]), 'zeros': ('+2x1o', '', [INPUT, OUTPUT])}


def read(path):
    with open(path) as file:
        return file.read()


def specs(folder):
    return {os.path.basename(path)[:-5]: path for path in sorted(glob.glob(f'{glob.escape(folder)}/specs/*.yaml'))}


def written(folder):
    """What comments say, by spec."""
    return {name: [line[4:] for line in read(path).splitlines() if line.startswith('#   ')] for name, path in specs(folder).items()}


def told(folder, *options):
    """What the generator says, by spec."""
    def lint(path):
        lines = subprocess.run([generator(), '--lint', '--diagnostics=json', *options, path], capture_output=True, text=True).stderr
        return [json.loads(line)['message'] for line in lines.splitlines()]
    return {name: lint(path) for name, path in specs(folder).items()}


def main():
    def case(kind, z, instructions):
        return Spec(kind, lambda name: SPEC % (name, z, instructions))
    with tempfile.TemporaryDirectory() as folder:
        names = Kernels(folder).write(case(kind, *of) for kind, (*of, _) in CASES.items())
        equal(names, [case(kind, *of).name for kind, (*of, _) in CASES.items()], 'names are those of specs without comments')
        equal([written(folder)[name] for name in names], [found for *_, found in CASES.values()], 'comments say what is left out')
        equal(told(folder), written(folder), 'which is all that the generator warns of')
        heads = {read(specs(folder)[name]).splitlines()[0] for name in names[1:]}
        options = [word for word in next(iter(heads)).strip('):').split() if word.startswith('-W')]
        equal((len(heads), told(folder, '-Werror', *options)), (1, dict.fromkeys(specs(folder), [])), 'and not with the options that they name')
        os.environ['CGTPGEN'] = '/nowhere'
        Kernels(f'{folder}/none').write([case('some', '', '')])
        ok(list(written(f'{folder}/none').values()) == [[]], 'specs are written where there is no generator, too')
    done()


if __name__ == '__main__':
    main()
