#!/usr/bin/env python3
"""Why evaluations of CUDA leave a product to others: --print=json says so, of the product or of a path."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
CONVOLUTION = '{x: sender, y: item, w: item, z: receiver}'
BATCH = '{}'
SHARED = '{w: shared}'
NODE = '{x: item, y: sender, w: shared, z: item}'

# evaluation, what it says; x, y, z, instructions, index, other keys
REFUSALS = [
    ('nodal', 'segments of several numbers of channels', '16x0e + 8x1o', '16x0e', '16x0e', '[[0, 0, 0, uuu]]', NODE, ''),
    ('nodal', 'segments of several numbers of channels', '16x0e', '16x0e + 8x1o', '16x0e', '[[0, 0, 0, uuu]]', NODE, ''),
    ('nodal', 'segments of several numbers of channels', '16x0e', '16x0e', '16x0e + 8x1o', '[[0, 0, 0, uuu]]', NODE, ''),
    ('nodal', 'channels that are no multiple of 8', '12x0e', '12x0e', '12x0e', '[[0, 0, 0, uuu]]', NODE, ''),
    ('nodal', 'channels that are no multiple of 8', '0x0e', '8x0e', '8x0e', '[]', NODE, ''),
    ('nodal', 'more than 32 components of x or z', '8x8e + 8x8o', '8x0e', '8x8e', '[[0, 0, 0, uuu]]', NODE, ''),
    ('nodal', 'more than 32 components of x or z', '8x8e', '8x0e', '8x8e + 8x8o', '[[0, 0, 0, uuu]]', NODE, ''),
    ('nodal', 'channels are not tied (uuu)', '8x0e', '8x0e', '8x0e', '[[0, 0, 0, uvw]]', NODE, ''),
    ('nodal', 'weights not of all items', '8x0e', '8x0e', '8x0e', '[[0, 0, 0, uuu]]', NODE.replace('shared', 'item'), ''),
    ('nodal', 'no way to sum as the spec asks', '8x0e', '8x0e', '8x0e', '[[0, 0, 0, uuu]]', NODE, 'accumulate: compensated'),
    ('lanes', 'y is no row of a node', '32x0e', '32x0e', '32x0e', '[[0, 0, 0, uuu]]', BATCH, ''),
    ('lanes', 'cells that are not alike by parity', '16x0e + 16x0o', '16x0e + 16x0o', '16x0e + 16x0o',
     '[[0, 0, 0, uuu], [0, 1, 1, uuu], [1, 0, 1, uuu]]', NODE, ''),
    ('lanes', 'cells that are not alike by parity', '32x0e', '32x0e + 32x1o', '32x0e', '[[0, 0, 0, uuu]]', NODE, ''),
    ('lanes', 'channels that do not fill warps', '24x0e', '24x0e', '24x0e', '[[0, 0, 0, uuu]]', NODE, ''),
    ('lanes', 'channels that do not fill warps', '8x0e', '8x0e + 8x0o', '8x0e + 8x0o', '[[0, 0, 0, uuu], [0, 1, 1, uuu]]', NODE, ''),
    ('lanes', 'rows larger than shared memory, or matrices than registers', '32x4e', '32x4e', '32x4e + 32x5e',
     '[[0, 0, 0, uuu], [0, 0, 1, uuu]]', NODE, 'precision: float64'),
    ('lanes', 'no way to sum as the spec asks', '32x0e', '32x0e', '32x0e', '[[0, 0, 0, uuu]]', NODE, 'accumulate: compensated'),
    ('gemm', 'no way to sum as the spec asks', '96x0e', '1x0e', '72x0e', 'fully_connected', SHARED, 'accumulate: compensated'),
    ('gemm', 'rows of a tile larger than shared memory', '96x11e', '1x11e', '96x11e', '[[0, 0, 0, uvw]]', SHARED,
     'precision: float64'),
    ('gemm', 'pairs of channels beside products of all', '96x0e + 16x0e', '1x0e + 16x0e', '72x0e',
     '[[0, 0, 0, uvw], [1, 1, 0, u<vw]]', SHARED, ''),
    ('gemm', 'more channels of y than of x', '8x0e', '9x0e', '64x0e', '[[0, 0, 0, uvw]]', SHARED, ''),
    ('tiled', 'no way to sum as the spec asks', '1x0e', '1x0e', '16x0e', 'fully_connected', SHARED, 'accumulate: compensated'),
    ('tiled', 'rows of a tile larger than shared memory', '8x0e', '40000x0e', '64x0e', '[[0, 0, 0, uvw]]', SHARED, ''),
    ('staged', 'rows larger than shared memory', '8x0e', '8x0e', '40000x0e', '[[0, 0, 0, uvw]]', BATCH, ''),
    ('paired', 'rows larger than shared memory', '8000x0e', '8x0e', '8x0e', '[[0, 0, 0, uvw]]', BATCH, ''),
    ('convolution', 'more than 1024 paths', '32x0e', ' + '.join(['1x0e'] * 1025), ' + '.join(['32x0e'] * 1025), 'channelwise',
     CONVOLUTION, ''),
    ('convolution', 'a stage larger than shared memory', '32x0e', '9000x0e + 1x0e', '32x0e', '[[0, 1, 0, uvu]]', CONVOLUTION,
     'precision: float64'),
    ('batch', 'a stage larger than shared memory', '32x0e', '40000x0e + 1x0e', '32x0e', '[[0, 1, 0, uvu]]', BATCH,
     'precision: float64'),
]


def plan(x, y, z, instructions, index, more):
    spec = (f'cgtp: 1\nname: a\nirreps: {{x: {x}, y: {y}, z: {z}}}\ninstructions: {instructions}\nindex: {index}\n'
            f'kernels: [forward, backward]\n{more}\n')
    run = subprocess.run([GENERATOR, '--backend=cuda', '--print=json', '-'], input=spec, text=True, capture_output=True)
    return run, json.loads(run.stdout)['kernels'] if run.returncode == 0 else []


for evaluation, reason, *product in REFUSALS:
    run, kernels = plan(*product)
    said = {text for kernel in kernels for verdict in kernel['verdicts'] if verdict['evaluation'] == evaluation
            for text in (verdict['reason'], *verdict['path_reasons'].values())}
    ok(reason in said, f'{evaluation}: {reason}', run.stderr or said)
run, kernels = plan('32x0e', ' + '.join(['1x0e'] * 600), ' + '.join(['32x0e'] * 600), 'channelwise', CONVOLUTION, '')
ok(kernels and all(schedule['evaluation'] == 'convolution' for kernel in kernels for schedule in kernel['schedules']),
   'convolution: takes 600 paths', run.stderr or kernels)
done()
