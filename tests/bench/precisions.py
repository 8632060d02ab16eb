#!/usr/bin/env python3
"""make bench-precisions: errors of the types of arrays, arithmetic and sums, as one Markdown table.

    precisions.py FOLDER GENERATOR CC DEVICE SPEC...

For each convolution and kernel: the error of the generated kernels in C by `precision` (with CC `-` none), and of e3nn's
TensorProduct with index_add and autograd in float32 on DEVICE, where that is cuda also with products of matrices in TF32.
All get the same numbers, which float32 has exactly and 16 bits have not: what rounding these changes is counted. An error is
the root mean square of the differences of an array from e3nn's in float64 over that of the array; of a kernel with several
outputs the largest. Needs an interpreter with torch and e3nn (PYTHON=...).
"""
import os
import sys

import torch

import stability

PRECISIONS = {'float32': 'float32', 'sums in float64': '{sum: float64}', 'w in bfloat16': '{w: bfloat16}',
              'float16': 'float16', 'bfloat16': 'bfloat16'}


def columns(folder, generator, compiler, device, spec, report, problem):
    """The outputs of all kernels by each way."""
    name, (graph, sender, receiver, inputs) = os.path.basename(spec)[:-len('.yaml')], problem
    for number, precision in enumerate(PRECISIONS.values() if compiler != '-' else ()):
        product, _ = stability.build(folder, generator, compiler, spec, f'{name}_{number}', precision, False)
        yield stability.generated(product, graph, inputs)
    for tf32 in (False, True)[:1 + (device != 'cpu')]:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        yield stability.by_e3nn(report, sender.long(), receiver.long(), inputs, device)


def main(folder, generator, compiler, device, *specs):
    torch.set_num_threads(1)
    names = [*(PRECISIONS if compiler != '-' else ()), 'e3nn, float32', *['e3nn, TF32'] * (device != 'cpu')]
    print('| convolution | kernel |', ' | '.join(names), '|\n|---|---|' + '---:|' * len(names))
    for spec in specs:
        report = stability.facts(generator, spec)
        problem = _, sender, receiver, inputs = stability.problem(report)
        exact = stability.by_e3nn(report, sender.long(), receiver.long(), inputs, device, torch.float64)
        reference = {kernel: {name: array.detach().cpu() for name, array in arrays.items()}
                     for kernel, arrays in exact.items()}
        found = list(columns(folder, generator, compiler, device, spec, report, problem))
        for kernel in stability.KERNELS:
            errors = (f'{stability.error(column[kernel], reference[kernel]) / 2**24:.1e}' for column in found)
            print('|', ' | '.join((report['name'], kernel, *errors)), '|', flush=True)


main(*sys.argv[1:])
