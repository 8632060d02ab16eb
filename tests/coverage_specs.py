#!/usr/bin/env python3
"""The products of the shim as its tests change them (simt_golden.t, simt_order.t, simt_types.t, tuner.t), one file each:
layouts, types, sums, the order of edges, other nodes, odd numbers of channels, other evaluations.

    tests/coverage_specs.py FOLDER
"""
import glob
import os
import re
import sys

KEYS = {
    'irmul': 'layout: ir_mul',
    'irmulx': 'layout: {x: ir_mul}',
    'irmulyz': 'layout: {y: ir_mul, x: mul_ir, z: ir_mul}',
    'half': 'precision: bfloat16',
    'double': 'precision: float64',
    'wide': 'precision: {sum: float64}',
    'compensated': 'accumulate: compensated',
    'atomic': 'reduction: atomic',
    'invariant': 'reduction: invariant',
    'any': 'edges: any',
    'any_compensated': 'edges: any\naccumulate: compensated',
    'long': 'index_type: int64',
    **{evaluation: f'tune: {{sm_90: {{evaluation: {evaluation}}}}}'
       for evaluation in ('batch', 'tiled', 'gemm', 'nodal', 'lanes', 'paired', 'staged', 'general')},
}
TEXT = {
    'received': (r': sender', ': receiver'),
    'odd': (r'\b(\d*[2468])x', lambda found: f'{int(found[1]) - 1}x'),
}

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for path in glob.glob('tests/simt/specs/*.yaml'):
    with open(path) as file:
        spec = file.read()
    changed = {}
    for name, line in KEYS.items():
        keys = '|'.join(re.findall(r'^\w+', line, re.M))
        changed[name] = re.sub(rf'^({keys}):.*\n', '', spec, flags=re.M).rstrip('\n') + f'\n{line}\n'
    for name, (old, new) in TEXT.items():
        changed[name] = re.sub(old, new, spec)
    for name, text in changed.items():
        with open(f'{folder}/{name}_{os.path.basename(path)}', 'w') as file:
            file.write(text)
