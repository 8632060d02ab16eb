#!/usr/bin/env python3
"""Specs of models say what of a model's rows their product leaves out, and so the generator warns of nothing. No package is
needed.

    tests/models/left_out.py FOLDER
"""
import glob
import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f'{HERE}/..', f'{HERE}/../../runtime/python']
from cgtpgen import generator  # noqa: E402
from cgtpgen.models.e3nn_specs import product_spec  # noqa: E402
from cgtpgen.models.kernels import Kernels  # noqa: E402
from tap import done, equal  # noqa: E402

INPUT, OUTPUT = 'no path reads 2x1e, segment 1 of x', 'no path writes 2x1o, segment 1 of z: it is always zero'
# Of a product of 2x0e+2x1e and 0e: what it makes, its paths, and what is warned of where nothing says that it is meant.
CASES = {'all': ('2x0e+2x1e', [(0, 0, 1), (1, 1, 1)], []), 'some': ('2x0e', [(0, 0, 1)], [INPUT]),
         'zeros': ('2x0e+2x1o', [(0, 0, 1)], [INPUT, OUTPUT]), 'weightless': ('2x0e+2x1e', [(0, 0, 1), (1, 1, 0)], [INPUT, OUTPUT.replace('1o', '1e')]),
         'empty': ('2x0e+0x1e', [(0, 0, 1), (1, 1, 1)], [INPUT])}


class Irreps(list):
    """e3nn's, as far as specs read them."""

    def __init__(self, text):
        super().__init__((int(term.split('x')[0]), term.split('x')[1]) for term in text.split('+'))

    def __str__(self):
        return '+'.join(f'{mul}x{ir}' for mul, ir in self)


def product(z, paths):
    instructions = [SimpleNamespace(i_in1=x, i_in2=0, i_out=out, connection_mode='uvw', has_weight=True, path_weight=weight)
                    for x, out, weight in paths]
    return SimpleNamespace(irreps_in1=Irreps('2x0e+2x1e'), irreps_in2=Irreps('1x0e'), irreps_out=Irreps(z), instructions=instructions,
                           output_mask=SimpleNamespace(dtype='torch.float32'), shared_weights=False, weight_numel=4 * len(paths))


def read(path):
    with open(path) as file:
        return file.read()


def without(text):
    """A spec that does not say what is unused."""
    return ''.join(line for line in text.splitlines(True) if not line.startswith('unused: '))


def warned(text):
    """What the generator says of a spec."""
    run = subprocess.run([generator(), '--lint', '-'], input=text, capture_output=True, text=True)
    return [line.split('warning: ')[1].rpartition(' [')[0] if ' warning: ' in line else line
            for line in run.stderr.splitlines() if ': warning: ' in line or ': error: ' in line]


def told(folder):
    """What the generator says of the specs of a folder."""
    return {os.path.basename(path): warned(read(path)) for path in sorted(glob.glob(f'{glob.escape(folder)}/specs/*.yaml'))}


def main():
    with tempfile.TemporaryDirectory() as folder:
        names = Kernels(folder).write(product_spec(product(z, paths), kind, 'float32') for kind, (z, paths, _) in CASES.items())
        equal(list(told(folder).values()), [[]] * len(CASES), 'the generator warns of nothing')
        texts = [read(f'{folder}/specs/{name}.yaml') for name in names]
        equal([warned(without(text)) for text in texts], [found for *_, found in CASES.values()], 'but where specs do not say what is meant')
        equal([text != without(text) for text in texts], [bool(found) for *_, found in CASES.values()], 'which they do where anything is left out')
    done()


if __name__ == '__main__':
    main()
