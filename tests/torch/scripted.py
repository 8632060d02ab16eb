#!/usr/bin/env python3
"""Modules in TorchScript: numbers and derivatives are those of the module, in programs that are saved and loaded, also where a
wrapper passes what models pass. Writes what script.cpp reads. PACKAGE as of check.py, built with CGTP_SCRIPT=1.

    tests/torch/scripted.py PACKAGE
"""
import copy
import io
import os
import subprocess
import sys
from typing import Dict, Optional

import torch
from torch import Tensor

sys.dont_write_bytecode = True
from common import FOLDER, fails, module, near, rows  # noqa: E402
from tap import done, ok  # noqa: E402

NODES, EDGES = 5, 40


class Energy(torch.nn.Module):
    """As of models: forces by autograd inside of what is scripted."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, data: Dict[str, Tensor], training: bool = False) -> Dict[str, Tensor]:
        x = data['x']
        x.requires_grad_(True)
        energy = self.layer(x, data['y'], data['w'], data['edge_index']).pow(2).sum()
        forces = torch.autograd.grad([energy], [x], create_graph=training)[0]
        assert forces is not None
        return {'energy': energy, 'forces': forces}


class Pair(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, y, w: Optional[Tensor], sender, receiver, nodes: int):
        return self.layer(x, y, w, (sender, receiver), nodes)


def reloaded(program):
    stored = io.BytesIO()
    torch.jit.save(program, stored)
    stored.seek(0)
    return torch.jit.load(stored)


def derivatives(call, arrays, orders=2):
    arrays = [a.detach().requires_grad_() for a in arrays]
    found = [call(*arrays)]
    made = list(found)
    for order in range(orders):
        scalar = sum(f.pow(2).sum() for f in found)
        found = torch.autograd.grad(scalar, arrays, create_graph=order + 1 < orders)
        made += found
    return made


torch.manual_seed(0)
edges = torch.randint(0, NODES, (2, EDGES))
ascending = edges[:, edges[1].argsort(stable=True)]
for name, options, given in ('edges', {}, edges), ('edges', {'sorted': True}, ascending), ('edges', {'sender_row': 1}, edges), \
        ('edges_any', {}, edges), ('environment', {'internal_weights': False}, edges), ('weightless', {}, edges):
    m = module(name)
    layer = m.Convolution(**options)
    inputs = rows(m.PRODUCT, EDGES, NODES)
    if m.PRODUCT.index['w'] == 'shared':
        inputs[2] = inputs[2][0]
    none = [None] * (not m.PRODUCT.weight_numel)
    inputs = inputs[:3 - len(none)]
    program = reloaded(torch.jit.script(copy.deepcopy(layer)))
    orders = 2 if any(k.name == 'double_backward' for k in m.PRODUCT.kernels) else 1
    for number, (a, b) in enumerate(zip(derivatives(lambda *v: program(*v, *none, given, NODES), inputs, orders),
                                        derivatives(lambda *v: layer(*v, *none, given, NODES), inputs, orders))):
        near(a, b, f'{name}, {options}: array {number}')
    pair = reloaded(torch.jit.script(Pair(copy.deepcopy(layer))))
    ends = given[layer.sender_row], given[1 - layer.sender_row]
    near(pair(*inputs, *none, *ends, NODES), layer(*inputs, *none, given, NODES), f'{name}, {options}: a pair')
    wrong = given.clone()
    wrong[0, 7] = 99
    fails(RuntimeError, '99 at edge 7: it is the number of no node', lambda: program(*inputs, *none, wrong, NODES), name)
fails(NotImplementedError, 'shared cannot be scripted: its kernel forward', lambda: torch.jit.script(
    module('shared').TensorProduct()), 'other names of kernels')
layer, inputs = module('modes').TensorProduct(), rows(module('modes').PRODUCT, 6, 0)
program = reloaded(torch.jit.script(copy.deepcopy(layer)))
for number, (a, b) in enumerate(zip(derivatives(program, inputs), derivatives(layer, inputs))):
    near(a, b, f'modes: array {number}')
plain, both = module('g_mode_uvu_noweight').TensorProduct(), rows(module('g_mode_uvu_noweight').PRODUCT, 6, 0)[:2]
for number, (a, b) in enumerate(zip(derivatives(reloaded(torch.jit.script(copy.deepcopy(plain))), both), derivatives(plain, both))):
    near(a, b, f'without weights: array {number}')
more = inputs[0].view(2, 3, -1), inputs[1].view(2, 3, -1)[:, :1], inputs[2].view(2, 3, -1)
near(program(*more), layer(*more), 'modes: more dimensions, and what broadcasts')
ok(program.state_dict().keys() == layer.state_dict().keys(), 'modes: the state has the same keys')
x = inputs[0].detach().requires_grad_()
third = torch.autograd.grad(program(x, *inputs[1:]).pow(3).sum(), x, create_graph=True)[0]
third = torch.autograd.grad(third.pow(3).sum(), x, create_graph=True)[0]
fails(RuntimeError, 'no third derivatives', lambda: torch.autograd.grad(third.pow(2).sum(), x), 'modes')
own = module('modes').TensorProduct(internal_weights=True)
program, (x, y, _) = torch.jit.script(copy.deepcopy(own)), rows(module('modes').PRODUCT, 6, 0)
near(program(x, y), own(x, y), 'weights of its own')
program(x, y).sum().backward()
ok(program.weight.grad is not None, 'and they have a gradient')

m = module('edges')
model = Energy(m.Convolution())
data = dict(zip(('x', 'y', 'w', 'edge_index'), (*rows(m.PRODUCT, EDGES, NODES), edges)))
wanted = model({key: value.clone() for key, value in data.items()})
program = reloaded(torch.jit.script(copy.deepcopy(model).eval()))
for what, one in ('scripted', program), ('frozen', torch.jit.freeze(program)):
    for _ in range(3):  # TorchScript rewrites what it has run
        found = one({key: value.clone() for key, value in data.items()})
    for key in 'energy', 'forces':
        near(found[key], wanted[key], f'a model, {what}: {key}')
loss = program({key: value.clone().requires_grad_(key == 'w') for key, value in data.items()}, True)['forces'].pow(2).sum()
ok(loss.requires_grad, 'forces in training have a gradient')
torch.jit.save(program, os.path.join(FOLDER, 'script.pt'))
with open(os.path.join(FOLDER, 'script.in'), 'wb') as file:
    for value in (*data.values(), wanted['energy'], wanted['forces']):
        file.write(value.detach().contiguous().numpy().tobytes())
os.rename(f'{FOLDER}/libcgtp_script.so', f'{FOLDER}/away.so')
try:
    child = f'import sys; sys.path.insert(0, {os.path.dirname(FOLDER)!r}); import torch; ' \
            f'from {os.path.basename(FOLDER)}.edges import Convolution; torch.jit.script(Convolution())'
    said = subprocess.run([sys.executable, '-W', 'ignore', '-c', child], capture_output=True, text=True).stderr
    ok('Build it again with CGTP_SCRIPT=1' in said, 'a package without the library says how it is built', said[-500:])
finally:
    os.rename(f'{FOLDER}/away.so', f'{FOLDER}/libcgtp_script.so')
done()
