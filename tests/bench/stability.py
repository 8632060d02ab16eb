#!/usr/bin/env python3
"""make bench-stability: rounding errors of float32, as one Markdown table.

    stability.py FOLDER GENERATOR CC SPEC...

For each convolution and kernel: the error of the generated kernels in C, of the same with compensated sums, and of e3nn's
TensorProduct with index_add and autograd, each in float32, against the generated kernels in float64 on the same numbers,
which float32 has exactly. An error is the root mean square of the differences of an array over that of the array, in units
of 2^-24; of a kernel with several outputs the largest. Needs an interpreter with torch and e3nn (PYTHON=...).
"""
import ctypes
import json
import os
import re
import subprocess
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p

import torch
from e3nn import o3

ABI, NODES, EDGES = 6, 50, 2000
KERNELS = ('forward', 'backward', 'double_backward')
SLOTS = 'xywz'


class Graph(Structure):  # cgtp_graph
    _fields_ = [('items', c_int64), ('senders', c_int64), ('receivers', c_int64), ('sender', c_void_p),
                ('receiver', c_void_p), ('receiver_row', c_void_p), ('by_sender', c_void_p), ('sender_row', c_void_p),
                ('order', c_void_p)]


class Argument(Structure):  # cgtp_argument
    _fields_ = [('name', c_char_p), ('slot', c_int), ('tangent', c_int)]


class Kernel(Structure):  # cgtp_kernel
    _fields_ = [('name', c_char_p), ('inputs', c_int), ('outputs', c_int), ('input', POINTER(Argument)),
                ('output', POINTER(Argument)), ('bytes_per_item', c_double), ('flops_per_item', c_double),
                ('workspace', CFUNCTYPE(c_size_t, POINTER(Graph))),
                ('run', CFUNCTYPE(c_int, POINTER(Graph), POINTER(c_void_p), POINTER(c_void_p),
                                  POINTER(c_int64), c_void_p, c_size_t, c_void_p)),
                ('memory', c_double * 5), ('memory_reduction', c_double * 5)]


class Product(Structure):  # cgtp_product
    _fields_ = [('abi', c_int), ('name', c_char_p), ('backend', c_char_p), ('digest', c_char_p),
                ('irreps', c_char_p * 4), ('dim', c_int64 * 4), ('index', c_int * 4), ('layout', c_int * 4),
                ('strided', c_int * 4), ('type', c_int * 4), ('compute', c_int), ('sum', c_int), ('graph', c_int), ('sorted', c_int),
                ('index_size', c_int), ('paths', c_int),
                ('kernels', c_int), ('path', c_void_p), ('kernel', POINTER(Kernel))]


def build(folder, generator, compiler, spec, name, precision, compensated):
    """The product of a spec in a shared library of its own, and what the generator says of it."""
    with open(spec) as file:
        text = re.sub(r'(?m)^(name|kernels|precision|accumulate|reduction|tune):.*\n', '', file.read())
    text += f'name: {name}\nkernels: [{", ".join(KERNELS)}]\nprecision: {precision}\n'
    text += 'accumulate: compensated\n' if compensated else ''
    os.makedirs(folder, exist_ok=True)
    path = f'{folder}/{name}.yaml'
    with open(path, 'w') as file:
        file.write(text)
    command = [generator, '--backend=c', '-Wno-all', '-o', folder, path]
    subprocess.run(command, check=True)
    files = subprocess.run([*command[:-1], '--list', path], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    library = f'{folder}/lib{name}.so'
    subprocess.run([compiler, '-std=c11', '-O3', '-march=native', '-fPIC', '-shared', '-Iruntime', f'-I{folder}', '-o',
                    library, *(f for f in files if f.endswith('.c')), 'runtime/cgtp.c', '-lm'], check=True)
    loaded = ctypes.CDLL(os.path.abspath(library))
    product = Product.in_dll(loaded, f'{name}_product')
    assert product.abi == ABI
    product.library = loaded
    return product, facts(generator, path)


def facts(generator, spec):
    """What the generator says of a product."""
    report = subprocess.run([generator, '--backend=c', '-Wno-all', '--print=json', spec], check=True, stdout=subprocess.PIPE)
    return json.loads(report.stdout)


def generated(product, graph, inputs):
    """The outputs of all kernels, {kernel: {name: array}}, of inputs by name; rows by slot as in the graph."""
    kind = [(torch.float32, torch.float64, torch.bfloat16, torch.float16)[number] for number in product.type]
    rows, results = (graph.items, graph.senders, graph.receivers, 1), {}
    for kernel in product.kernel[:product.kernels]:
        given = [inputs[kernel.input[i].name.decode()].to(kind[kernel.input[i].slot]).contiguous() for i in range(kernel.inputs)]
        made = {}
        for output in kernel.output[:kernel.outputs]:
            made[output.name.decode()] = torch.full((rows[product.index[output.slot]], product.dim[output.slot]),
                                                    torch.nan, dtype=kind[output.slot])
        pointers = [(c_void_p * len(arrays))(*(array.data_ptr() for array in arrays))
                    for arrays in (given, list(made.values()))]
        needed = kernel.workspace(byref(graph))
        workspace = torch.empty(needed, dtype=torch.uint8)
        status = kernel.run(byref(graph), *pointers, None, workspace.data_ptr(), needed, None)
        assert status == 0, status
        results[kernel.name.decode()] = made
    return results


def by_e3nn(report, sender, receiver, inputs, device='cpu', kind=torch.float32):
    """The same from e3nn: messages, their sums, and what autograd makes of them."""
    torch.set_default_dtype(kind)  # of its coefficients
    sender, receiver = sender.to(device), receiver.to(device)
    inputs = {name: array.to(device, kind) for name, array in inputs.items()}
    instructions = [(p['x'], p['y'], p['z'], p['mode'], p['weighted']) for p in report['paths']]
    product = o3.TensorProduct(*(report['irreps'][slot] for slot in 'xyz'), instructions, shared_weights=False,
                               internal_weights=False).to(device)
    x, y, w, gz = (inputs[name].clone().requires_grad_() for name in ('x', 'y', 'w', 'gz'))
    z = torch.zeros(NODES, report['dim']['z'], device=device).index_add(0, receiver, product(x[sender], y, w))
    gradients = torch.autograd.grad(z, (x, y, w), gz, create_graph=True)
    torch.set_default_dtype(torch.float32)
    again = torch.autograd.grad(gradients, (gz, x, y, w), [inputs[name] for name in ('ax', 'by', 'cw')])
    return {'forward': {'z': z}, 'backward': dict(zip(('gx', 'gy', 'gw'), gradients)),
            'double_backward': dict(zip(('d_gz', 'd_x', 'd_y', 'd_w'), again))}


def error(found, reference):
    def of(name):
        difference = found[name].detach().cpu().double() - reference[name]
        return (difference.square().mean() / reference[name].square().mean()).sqrt().item()
    return 2**24 * max(of(name) for name in reference)


def problem(report):
    """A graph, its edges, and numbers for all inputs of a product, of which the generator says this."""
    torch.manual_seed(1)
    receiver = torch.randint(NODES, (EDGES,)).sort().values.int()
    sender = torch.randint(NODES, (EDGES,)).int()
    graph = Graph(EDGES, NODES, NODES, sender.data_ptr(), receiver.data_ptr())
    row, by, start = torch.empty(NODES + 1).long(), torch.empty(EDGES).int(), torch.empty(NODES + 1).long()
    row[:] = torch.searchsorted(receiver, torch.arange(NODES + 1).int())
    by[:] = sender.sort(stable=True).indices.int()
    start[:] = torch.searchsorted(sender.sort().values, torch.arange(NODES + 1).int())
    graph.receiver_row, graph.by_sender, graph.sender_row = row.data_ptr(), by.data_ptr(), start.data_ptr()
    rows = {'item': EDGES, 'sender': NODES, 'receiver': NODES, 'shared': 1}
    inputs = {name: torch.randn(rows[report['index'][slot]], report['dim'][slot])
              for name, slot in zip(('x', 'y', 'w', 'gz', 'ax', 'by', 'cw'), 'xywzxyw')}
    graph.arrays = sender, receiver, row, by, start  # whose addresses it has
    return graph, sender, receiver, inputs


def main(folder, generator, compiler, *specs):
    torch.set_num_threads(1)
    print('| convolution | kernel | generated | compensated | e3nn |\n|---|---|---:|---:|---:|')
    for spec in specs:
        name = os.path.basename(spec)[:-len('.yaml')]
        exact, report = build(folder, generator, compiler, spec, f'{name}_double', 'float64', False)
        single, _ = build(folder, generator, compiler, spec, f'{name}_single', 'float32', False)
        compensated, _ = build(folder, generator, compiler, spec, f'{name}_compensated', 'float32', True)
        graph, sender, receiver, inputs = problem(report)
        reference = generated(exact, graph, inputs)
        columns = [generated(single, graph, inputs), generated(compensated, graph, inputs),
                   by_e3nn(report, sender.long(), receiver.long(), inputs)]
        for kernel in KERNELS:
            errors = (f'{error(column[kernel], reference[kernel]):.2f}' for column in columns)
            print('|', ' | '.join((name, kernel, *errors)), '|')


if __name__ == '__main__':
    main(*sys.argv[1:])
