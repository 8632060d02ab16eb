"""e3nn's convolution on the arrays that bench.c wrote, one thread: medians of five runs after one to warm up.

    python e3nn_eager.py REPORT FOLDER

REPORT is what cgtpgen --print=json says. The convolution is what models do: tensor product of the senders'
features, then index_add into the receivers; backward is torch.autograd.grad alone. Prints milliseconds, and the
largest difference of each output from the generated kernels' in units of its largest element.
"""
import json
import statistics
import sys
import time

import e3nn
import torch
from e3nn import o3

RUNS = 5


def main(report, folder):
    torch.set_num_threads(1)
    with open(report) as f:
        product = json.load(f)
    irreps, dim = product['irreps'], product['dim']
    instructions = [(p['x'], p['y'], p['z'], p['mode'], p['weighted']) for p in product['paths']]
    tensor_product = o3.TensorProduct(irreps['x'], irreps['y'], irreps['z'], instructions, shared_weights=False,
                                      internal_weights=False)

    def load(name, slot=None):
        with open(f'{folder}/{name}', 'rb') as f:
            data = bytearray(f.read())
        array = torch.frombuffer(data, dtype=torch.float32 if slot else torch.int32)
        return array.reshape(-1, dim[slot]) if slot else array.long()
    x, y, w, gz = (load(name, slot).requires_grad_(name != 'gz') for name, slot in
                   (('x', 'x'), ('y', 'y'), ('w', 'w'), ('gz', 'z')))
    sender, receiver = load('sender'), load('receiver')

    def forward():
        messages = tensor_product(x[sender], y, w)
        return torch.zeros(len(x), dim['z']).index_add(0, receiver, messages)

    times = {'forward': [], 'backward': []}
    for run in range(RUNS + 1):
        start = time.perf_counter()
        z = forward()
        middle = time.perf_counter()
        gradients = torch.autograd.grad(z, (x, y, w), gz)
        end = time.perf_counter()
        times['forward'].append(1e3 * (middle - start))
        times['backward'].append(1e3 * (end - middle))
    for kernel, ms in times.items():
        print(kernel, statistics.median(ms[1:]))
    print('version', e3nn.__version__, torch.__version__.split('+')[0])
    for name, slot, found in zip(('z', 'gx', 'gy', 'gw'), ('z', 'x', 'y', 'w'), (z, *gradients)):
        generated = load(name, slot)
        print('difference', name, ((found - generated).abs().max() / found.abs().max()).item())


main(*sys.argv[1:])
